//! Stalled: a directive or a task is open, and nothing anywhere is open, waiting or scheduled that could move it.
//!
//! Nobody would ever hear of it: no mail, so no run; no run, so no word. It is escalated once, in the department that
//! touched it last. An escalation of this kind counts as nothing that waits: the thing stays stalled until it moves.

use super::Shop;
use super::notify::Notice;
use super::schedules::next_slots;
use super::stop::is_running;
use crate::domain::audit::Deed;
use crate::domain::board::moments_of;
use crate::domain::front_matter::{FrontMatter, parse_front_matter};
use crate::domain::id::{Dept, IdKind, derived_id};
use crate::domain::request::RequestKind;
use crate::domain::time::{Time, parse_rfc3339, render_rfc3339};
use crate::store::dir::Dir;
use crate::store::fault::Result;
use crate::store::messages::Place;
use crate::store::org::{Department, Org};

/// The largest directive, task or request that is looked at.
const ITEM_MAX: u64 = 1024 * 1024;
/// What says in an escalation that it is one of these.
pub const TOPIC: &str = "stalled";

/// Something open that nothing moves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stalled {
    pub id: String,
    /// `directive` or `task`.
    pub what: &'static str,
    pub title: String,
    pub created: Time,
    /// Who touched it last.
    pub dept: Dept,
}

impl Stalled {
    /// What a person can do about it.
    fn way_out(&self) -> String {
        match self.what {
            "directive" => format!(
                "Where it is done, `harness directive complete {}` says so; else `harness send` with `--directive {}` moves it.",
                self.id, self.id
            ),
            _ => format!("`harness task show {}` shows it; a message to {} moves it.", self.id, self.dept),
        }
    }

    /// The same however often it is found.
    pub fn escalation_id(&self) -> String {
        derived_id(IdKind::Escalation, self.created, &format!("stalled/{}", self.id))
    }
}

/// What there is, and whether it moves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Movement {
    /// No directive and no task is open.
    NothingOpen,
    /// What keeps it moving.
    Moves(String),
    Stalled(Vec<Stalled>),
}

/// Looks for open work that nothing moves.
pub fn find_stalled(org: &Org, now: Time) -> Result<Movement> {
    let mut departments = Vec::new();
    for dept in org.departments()?.departments {
        departments.extend(org.department(&dept)?);
    }
    let mut open = open_tasks(&departments)?;
    let directives = items(org.own.find("directives")?, |status| status == "open")?;
    if open.is_empty() && directives.is_empty() {
        return Ok(Movement::NothingOpen);
    }
    for department in &departments {
        if let Some(why) = what_moves(department, now)? {
            return Ok(Movement::Moves(format!("{}: {why}", department.dept)));
        }
    }
    // A nudge or a due date brings up its own task and no other.
    let mut comes = None;
    for department in &departments {
        for (at, id, what) in coming(department, now)? {
            open.retain(|task| task.id != id);
            comes = comes.max(Some(std::cmp::Reverse((at, what))));
        }
    }
    if let (Some(std::cmp::Reverse((at, what))), true) = (comes, open.is_empty() && directives.is_empty()) {
        return Ok(Movement::Moves(format!("{what} at {}", render_rfc3339(at))));
    }
    for item in directives {
        let Some(dept) = last_touched(&departments, &item.id)? else { continue };
        open.push(item.stalled("directive", dept));
    }
    Ok(Movement::Stalled(open))
}

struct Item {
    id: String,
    title: String,
    created: Time,
}

impl Item {
    fn stalled(self, what: &'static str, dept: Dept) -> Stalled {
        Stalled { id: self.id, what, title: self.title, created: self.created, dept }
    }
}

/// The files of a folder whose status is one of those wanted. What can't be read is for other checks to name.
fn items(folder: Option<Dir>, is_wanted: impl Fn(&str) -> bool) -> Result<Vec<Item>> {
    let Some(folder) = folder else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for entry in folder.list()? {
        let Some(id) = entry.name.strip_suffix(".md") else { continue };
        let Ok(Some(text)) = folder.read(&entry.name, ITEM_MAX) else { continue };
        let Ok(split) = parse_front_matter(&text.text) else { continue };
        let Some(front) = &split.front else { continue };
        if front.text("status").is_some_and(&is_wanted) && front.text("topic") != Some(TOPIC) {
            let title = front.text("title").unwrap_or_default().to_string();
            let created = front.text("created").and_then(parse_rfc3339).unwrap_or_default();
            found.push(Item { id: id.to_string(), title, created });
        }
    }
    Ok(found)
}

fn open_tasks(departments: &[Department]) -> Result<Vec<Stalled>> {
    let mut open = Vec::new();
    for department in departments {
        let tasks = items(department.dir.find("tasks")?, |status| status != "done")?;
        open.extend(tasks.into_iter().map(|task| task.stalled("task", department.dept.clone())));
    }
    Ok(open)
}

/// What in a department is open, waits or is scheduled.
fn what_moves(department: &Department, now: Time) -> Result<Option<String>> {
    let mail = department.inbox()?;
    if !mail.messages.is_empty() || !mail.unreadable.is_empty() {
        return Ok(Some(match mail.messages.len() + mail.unreadable.len() {
            1 => "1 message is open".to_string(),
            count => format!("{count} messages are open"),
        }));
    }
    if is_running(department) {
        return Ok(Some("a run is under way".to_string()));
    }
    for folder in [".harness/journal", ".harness/jobs"] {
        if let Some(dir) = department.dir.find(folder)?
            && !dir.list()?.is_empty()
        {
            return Ok(Some(format!("{folder} is not empty")));
        }
    }
    for kind in RequestKind::ALL {
        let waiting = items(department.dir.find(kind.folder())?, |status| status == "pending")?;
        if let Some(item) = waiting.first() {
            return Ok(Some(format!("{} waits for you", item.id)));
        }
    }
    let config = department.config()?;
    if config.auto_loop && (config.proactive == Some(true) || config.max_quiet_seconds.is_some()) {
        return Ok(Some("it looks for work by itself".to_string()));
    }
    // Not whatever comes by time: consolidating memory moves no work, and a schedule that can't be used never comes.
    if let Some((at, name)) = next_slots(department, now)?.into_iter().find(|(at, _)| *at > now) {
        return Ok(Some(format!("schedule `{name}` comes at {}", render_rfc3339(at))));
    }
    Ok(None)
}

/// What a department's tasks have before them: when, which task, and what.
fn coming(department: &Department, now: Time) -> Result<Vec<(Time, String, String)>> {
    if !department.config()?.auto_loop {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for task in department.open_tasks()?.0 {
        let moments = moments_of(&task).into_iter().filter(|(at, _)| *at > now);
        found.extend(moments.map(|(at, what)| (at, task.id.clone(), what)));
    }
    Ok(found)
}

/// Whose the newest message is that belongs to a directive: the one that received it and put it away, else the sender.
fn last_touched(departments: &[Department], directive: &str) -> Result<Option<Dept>> {
    let mut newest: Option<(Time, bool, Dept)> = None;
    for department in departments {
        for place in Place::ALL {
            for location in department.locations(place)? {
                let Some(filed) = department.read_at(&location).unwrap_or(None) else { continue };
                if filed.message.directive.as_deref() != Some(directive) {
                    continue;
                }
                let received = matches!(place, Place::Inbox | Place::Archive);
                let found = (filed.message.created, received, department.dept.clone());
                newest = newest.max(Some(found));
            }
        }
    }
    let first = || departments.iter().find(|there| there.dept.as_str() == "business").or(departments.first());
    Ok(newest.map(|(_, _, dept)| dept).or_else(|| first().map(|department| department.dept.clone())))
}

impl Shop<'_> {
    /// Hands a stalled thing over to the human, in this department, which touched it last.
    pub fn escalate_stalled(&self, stalled: &Stalled) -> super::Result<()> {
        let (id, now) = (stalled.escalation_id(), (self.now)());
        let dept = &self.department.dept;
        let text = format!(
            "the {} {} ({}) is open, and nothing anywhere is open, waiting or scheduled that could move it; {dept} touched it last",
            stalled.what, stalled.id, stalled.title
        );
        let mut front = FrontMatter::default();
        front.set_number("schema", 1);
        for (key, value) in
            [("id", id.as_str()), ("from", "harness"), ("topic", TOPIC), ("status", "pending")]
        {
            front.set_text(key, value);
        }
        front.set_text("item", stalled.id.as_str());
        front.set_text("created", render_rfc3339(now));
        front.set_text("provenance", "department");
        let signed = self.department.sign_request(
            &front.render(&format!("{text}. {}\n", stalled.way_out())),
            &self.key,
            RequestKind::Escalation,
        );
        let what = format!("{}: stalled, escalated in {dept}", stalled.id);
        self.org.write_audit(&Deed { at: now, by: "harness", command: "health", what: &what })?;
        self.department.dir.make("escalations")?.create(&format!("{id}.md"), signed.as_bytes())?;
        self.notify(Notice {
            kind: "escalation",
            id: id.clone(),
            text: text.clone(),
            command: format!("harness escalations resolve {id} --why TEXT"),
            alike: format!("stalled {}", stalled.id),
        });
        Ok(())
    }
}
