//! Undoing a run: what it changed goes back to what it was, as far as it is still as the run left it.
//!
//! It is a run of its own, of kind `undo`, through the journal like any other: killed at any instant, the next run
//! finishes it. The ledger, records and logs are only added to. Receivers are locked meanwhile, so that no message is
//! taken back from under the hands of a director who is reading it.

use super::{Result, Shop};
use crate::domain::digest::sha256;
use crate::domain::id::{Dept, IdKind, derived_id};
use crate::domain::ledger::{Line, RunLine};
use crate::domain::message::{Draft, Found, Provenance, parse_message, render_message};
use crate::domain::plan::{Before, Effect, Planned};
use crate::domain::project::{Change, ProjectEffect};
use crate::domain::record::RunStory;
use crate::domain::time::{parse_rfc3339, render_rfc3339, render_ts};
use crate::domain::undo::{
    Item, Letter, Net, NetMark, ProjectUndo, Verdict, judge_file, judge_project, net_effect, retraction,
};
use crate::store::jobs::Job;
use crate::store::journal::Kept;
use crate::store::lock::{Attempt, Lock, try_lock};
use crate::store::messages::MESSAGE_MAX;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// The largest file that is kept as it was before a change.
const BEFORE_MAX: u64 = 16 * 1024 * 1024;

/// What undoing came to.
pub enum Undone {
    /// It is done, as this run.
    Done { items: Vec<Item>, undo: String },
    /// What would be done; nothing is touched.
    Shown(Vec<Item>),
    /// Another run holds this department.
    Busy(Dept),
    /// Nothing of it is kept any more, or it changed nothing.
    NothingKept,
    /// What is kept of it was signed for another place, or with another key: this file.
    NotHere(PathBuf),
}

impl Shop<'_> {
    /// What effects will change, as it is now.
    pub(super) fn before(&self, effects: &[Planned]) -> Result<Vec<Before>> {
        let mut before: Vec<Before> = Vec::new();
        for planned in effects {
            let (of, path) = match &planned.effect {
                Effect::Replace { path, .. } | Effect::Remove { path, .. } => (path.clone(), path.clone()),
                Effect::Board { path, from, .. } => {
                    let stands = from.as_ref().unwrap_or(path);
                    (stands.clone(), stands.clone())
                }
                Effect::Mark { id, .. } => (id.clone(), self.inbox_path(id)?),
                Effect::Recall { dept, id, .. } => {
                    let text = self.read_letter(dept, id)?;
                    before.push(Before { of: format!("{dept}/{id}"), path: String::new(), text });
                    continue;
                }
                Effect::Create { .. }
                | Effect::Append { .. }
                | Effect::Deliver { .. }
                | Effect::Project(_) => continue,
            };
            if !before.iter().any(|known| known.of == of) {
                let text = self.department.dir.read(&path, BEFORE_MAX)?.map(|text| text.text);
                before.push(Before { of, path, text });
            }
        }
        Ok(before)
    }

    /// The file that an open message stands in; a dropped one may have another name than its id.
    fn inbox_path(&self, id: &str) -> Result<String> {
        let path = format!("inbox/{id}.md");
        if self.department.dir.stat(&path)?.is_some() {
            return Ok(path);
        }
        let mail = self.department.inbox()?.messages;
        let file = mail.into_iter().find(|filed| filed.message.id == id).map(|filed| filed.file);
        Ok(file.map_or(path, |file| format!("inbox/{file}")))
    }

    fn read_letter(&self, dept: &str, id: &str) -> Result<Option<String>> {
        let Ok(dept) = Dept::parse(dept) else { return Ok(None) };
        let Some(receiver) = self.org.department(&dept)? else { return Ok(None) };
        Ok(receiver.dir.read(&format!("inbox/{id}.md"), MESSAGE_MAX)?.map(|text| text.text))
    }

    /// What undoing a run of this department would be. Nothing is touched, not even a lock.
    pub fn show_undo(&self, run: &str) -> Result<Undone> {
        self.accepted_charter()?;
        let net = match self.journal.kept(run)? {
            Kept::Plans(plans) => net_effect(&plans),
            Kept::NotHere(path) => return Ok(Undone::NotHere(path)),
        };
        if net == Net::default() {
            return Ok(Undone::NothingKept);
        }
        Ok(Undone::Shown(self.judge_net(run, &net)?))
    }

    /// Undoes a run of this department.
    pub fn undo(&self, run: &str) -> Result<Undone> {
        let own = self.department.own()?;
        let Attempt::Held(_lock) = try_lock(&own, "lock")? else {
            return Ok(Undone::Busy(self.department.dept.clone()));
        };
        let charter = self.accepted_charter()?;
        self.recover(&charter)?;
        let net = match self.journal.kept(run)? {
            Kept::Plans(plans) => net_effect(&plans),
            Kept::NotHere(path) => return Ok(Undone::NotHere(path)),
        };
        if net == Net::default() {
            return Ok(Undone::NothingKept);
        }
        let _receivers = match self.lock_receivers(&net)? {
            Ok(locks) => locks,
            Err(busy) => return Ok(Undone::Busy(busy)),
        };
        let items = self.judge_net(run, &net)?;
        if !items.iter().any(|item| matches!(item.verdict, Verdict::Back(_))) {
            return Ok(Undone::Shown(items));
        }
        self.carry_out_undo(run, &items, &charter.hash)?;
        Ok(Undone::Done { items, undo: self.run_id.clone() })
    }

    /// Locks every department that a message would be taken from; else the one that is at work.
    fn lock_receivers(&self, net: &Net) -> Result<std::result::Result<Vec<Lock>, Dept>> {
        let others = net.delivered.iter().chain(&net.recalled).map(|letter| letter.dept.as_str());
        let others: BTreeSet<&str> = others.filter(|dept| *dept != self.department.dept.as_str()).collect();
        let mut locks = Vec::new();
        for name in others {
            let Ok(dept) = Dept::parse(name) else { continue };
            let Some(department) = self.org.department(&dept)? else { continue };
            match try_lock(&department.own()?, "lock")? {
                Attempt::Held(lock) => locks.push(lock),
                Attempt::Busy => return Ok(Err(dept)),
            }
        }
        Ok(Ok(locks))
    }

    fn judge_net(&self, run: &str, net: &Net) -> Result<Vec<Item>> {
        let mut items = Vec::new();
        let mut stay: BTreeSet<&str> = BTreeSet::new();
        for letter in &net.delivered {
            let item = self.judge_delivered(letter)?;
            if matches!(item.verdict, Verdict::Stays(_)) {
                stay.insert(&letter.id);
            }
            items.push(item);
        }
        for letter in &net.recalled {
            items.push(self.judge_recalled(letter)?);
        }
        let made = |id: &str| {
            net.projects.iter().any(|done| done.id == id && matches!(done.change, Change::Create { .. }))
        };
        for (index, done) in net.projects.iter().enumerate().rev() {
            // With a project goes all that was done to it.
            if matches!(done.change, Change::Create { .. }) || !made(&done.id) {
                items.push(self.judge_project((run, index), net, done, &stay));
            }
        }
        for (path, file) in &net.files {
            let now = self.department.dir.read(path, BEFORE_MAX)?.map(|text| text.text);
            let mut item = judge_file(path, file, now.as_deref());
            let sent = path.strip_prefix("outbox/").and_then(|name| name.strip_suffix(".md"));
            let job = path.strip_prefix(".harness/jobs/").and_then(|name| name.strip_suffix(".json"));
            if sent.is_some_and(|id| stay.contains(id)) {
                item.verdict = Verdict::Stays("what it is the copy of stays".to_string());
            } else if let Some(id) = job
                && let Some(why) = self.came_of_job(id, file.after.as_deref())?
            {
                item.verdict = Verdict::Stays(why);
            } else if item.verdict == Verdict::Already
                && file.before.is_none()
                && file.after.is_some()
                && let Some(place) = self.department.find_put_away(path)?
            {
                // It is gone from there because it went on, not because it never was.
                item.verdict = Verdict::Stays(format!("it went on, and is {place} now"));
            }
            items.push(item);
        }
        for (id, mark) in &net.marks {
            items.push(self.judge_mark(id, mark)?);
        }
        let ts = render_ts((self.now)());
        for (index, (path, first)) in net.logged.iter().enumerate() {
            let undo = format!("{}/0/{index}", self.run_id);
            let said = retraction(path, first, run, &undo, &ts);
            items.push(Item { what: format!("{path} got an entry"), verdict: Verdict::Retracted(said) });
        }
        Ok(items)
    }

    fn judge_project(
        &self,
        (run, index): (&str, usize),
        net: &Net,
        done: &ProjectEffect,
        stay: &BTreeSet<&str>,
    ) -> Item {
        let undo = ProjectUndo {
            run,
            done: &net.projects,
            key: format!("{}/undo/{index}", self.run_id),
            at: render_rfc3339((self.now)()),
        };
        let mut item = match self.org.project(&done.id) {
            Ok(now) => judge_project(done, now.as_ref(), &undo),
            Err(error) => {
                Item { what: format!("the project {}", done.id), verdict: Verdict::Stays(error.to_string()) }
            }
        };
        // Money that a message gave goes with the message.
        if stay.contains(done.key.as_str()) && matches!(item.verdict, Verdict::Back(_)) {
            item.verdict = Verdict::Stays("the message that gave it stays".to_string());
        }
        item
    }

    /// What came of a job that was queued; none where it still waits, or was taken back before it began.
    fn came_of_job(&self, id: &str, text: Option<&str>) -> Result<Option<String>> {
        if self.department.dir.stat(&format!(".harness/jobs/{id}.started.json"))?.is_some() {
            return Ok(Some("the job was started".to_string()));
        }
        let Some(job) = text.and_then(|text| serde_json::from_str::<Job>(text).ok()) else { return Ok(None) };
        let created = parse_rfc3339(&job.created).unwrap_or_default();
        let run = super::dispatch::run_of(&job);
        let ended = self.department.ledger_since(created)?.into_iter().find_map(|line| match line {
            Line::Run(line) if line.run == run => Some(line.outcome),
            _ => None,
        });
        Ok(ended.map(|outcome| format!("the job was run as {run}, which ended as {outcome}")))
    }

    /// A message that nobody has touched where it went comes back.
    fn judge_delivered(&self, letter: &Letter) -> Result<Item> {
        let Letter { dept, id, text } = letter;
        let what = format!("{id} was delivered to {dept}");
        let now = self.read_letter(dept, id)?;
        let receiver = Dept::parse(dept).ok().map(|dept| self.org.department(&dept)).transpose()?.flatten();
        let was_handled = match &receiver {
            Some(receiver) => receiver.find_delivered(id)?.is_some(),
            None => false,
        };
        let verdict = match now {
            Some(now) if now == *text => Verdict::Back(vec![Effect::Recall {
                dept: dept.clone(),
                id: id.clone(),
                sha256: sha256(now.as_bytes()),
            }]),
            Some(_) => Verdict::Stays(format!("{dept} is at it already")),
            None if was_handled => Verdict::Stays(format!("{dept} has handled it")),
            None => Verdict::Already,
        };
        Ok(Item { what, verdict })
    }

    /// A message that an undo took back goes out again.
    fn judge_recalled(&self, letter: &Letter) -> Result<Item> {
        let Letter { dept, id, text } = letter;
        let there = self.read_letter(dept, id)?;
        let verdict = match there {
            Some(_) => Verdict::Already,
            None => Verdict::Back(vec![Effect::Deliver {
                dept: dept.clone(),
                id: id.clone(),
                text: text.clone(),
            }]),
        };
        Ok(Item { what: format!("{id} was taken back from {dept}"), verdict })
    }

    /// A message that stands as the run left it is open again, as it was.
    fn judge_mark(&self, id: &str, mark: &NetMark) -> Result<Item> {
        let what = format!("{id} became {}", mark.last.status);
        let stays = |why: &str| Ok(Item { what: what.clone(), verdict: Verdict::Stays(why.to_string()) });
        let Some(before) = mark.before.as_ref().and_then(|before| before.text.clone()) else {
            return stays("what it was before is not kept");
        };
        let Some(place) = self.department.find_delivered(id)? else { return stays("it is gone") };
        let path = format!("{}/{}", place.folder, place.file);
        let now = self.department.dir.read(&path, MESSAGE_MAX)?.map(|text| text.text).unwrap_or_default();
        if now == before {
            return Ok(Item { what, verdict: Verdict::Already });
        }
        let found = Found { id, name: id, modified: (self.now)(), dept: self.department.dept.as_str() };
        let Ok(message) = parse_message(&now, &found) else { return stays("it can't be read") };
        let status = mark.last.status();
        let receipt = message.receipt(status);
        let as_left = message.status == status
            && message.waits_for == mark.last.waits_for
            && receipt.is_some_and(|receipt| {
                receipt.run == mark.last.run && parse_rfc3339(&mark.last.at) == Some(receipt.at)
            });
        if !as_left {
            return stays("it was moved on since");
        }
        let inbox = format!("inbox/{id}.md");
        let in_place = path == inbox;
        let sha = sha256(now.as_bytes());
        let mut effects =
            vec![Effect::Replace { path: inbox, before: in_place.then(|| sha.clone()), text: before }];
        if !in_place {
            effects.push(Effect::Remove { path, sha256: sha });
        }
        Ok(Item { what, verdict: Verdict::Back(effects) })
    }

    fn carry_out_undo(&self, run: &str, items: &[Item], charter: &str) -> Result<()> {
        let now = (self.now)();
        let mut effects: Vec<Planned> = items
            .iter()
            .flat_map(|item| item.verdict.effects())
            .map(|effect| Planned { action: None, effect: effect.clone() })
            .collect();
        let story: Vec<String> = items.iter().map(say).collect();
        effects.push(self.undo_message(run, &story));
        let stays = items.iter().filter(|item| matches!(item.verdict, Verdict::Stays(_))).count();
        let reason = match stays {
            0 => format!("undid {run}"),
            count => format!("undid {run}; {count} of its {} changes stay", items.len()),
        };
        let line = RunLine {
            schema: 1,
            at: render_rfc3339(now),
            run: self.run_id.clone(),
            kind: "undo".to_string(),
            started: render_rfc3339(now),
            outcome: "done".to_string(),
            reason,
            cost_usd: Some(0.0),
            changed: true,
            ..RunLine::default()
        };
        let story = RunStory { entries: &story, output: "" };
        self.close_run_with(line, &story, charter, effects)?;
        self.commit_as(format!("undid {run}"));
        Ok(())
    }

    /// What the director reads in its next prompt.
    fn undo_message(&self, run: &str, story: &[String]) -> Planned {
        let now = (self.now)();
        let dept = &self.department.dept;
        let id = derived_id(IdKind::Message, now, &format!("{}/undo", self.run_id));
        let body = format!(
            "The human undid the run {run}. What it had changed, and what became of that:\n\n{}\n",
            story.iter().map(|line| format!("- {line}")).collect::<Vec<_>>().join("\n")
        );
        let draft = Draft {
            id: id.clone(),
            from: "harness".to_string(),
            to: vec![dept.clone()],
            kind: "System".to_string(),
            subject: format!("{run} was undone"),
            body,
            amount_usd: None,
            project: None,
            directive: None,
            reference: None,
            thread: None,
            hops: 0,
            provenance: Provenance::Department,
            vouched: None,
            created: now,
        };
        let text = render_message(&draft);
        Planned { action: None, effect: Effect::Deliver { dept: dept.to_string(), id, text } }
    }
}

/// One change and what became of it, in a line.
pub fn say(item: &Item) -> String {
    match &item.verdict {
        Verdict::Back(_) => format!("{}: taken back", item.what),
        Verdict::Retracted(_) => format!("{}: stays, and the log says that it was undone", item.what),
        Verdict::Already => format!("{}: is as it was before", item.what),
        Verdict::Stays(why) => format!("{}: stays, {why}", item.what),
    }
}
