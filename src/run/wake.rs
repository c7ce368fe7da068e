//! A run's part in the wake check: what it saw and wrote, and the fingerprint that it leaves.

use super::breaker::ToolEscalation;
use super::closing::RunOutcome;
use super::{Effects, Result, Shop};
use crate::domain::event::Event;
use crate::domain::id::{IdKind, derived_id};
use crate::domain::message::{Draft, Message, Provenance, render_message};
use crate::domain::plan::{Effect, Planned};
use crate::domain::request::{RequestKind, RequestStatus};
use crate::domain::template::Sources;
use crate::domain::time::{Time, parse_rfc3339};
use crate::domain::wake::check::Cause;
use crate::domain::wake::{Ended, Observation, Parts, Settled, digest_parts, seen_by_run, settle};
use crate::store::charters::LoadedCharter;
use crate::store::prompts::PromptFiles;
use std::cell::RefCell;

/// How the subject of a beat begins.
const BEAT_SUBJECT: &str = "Nothing has come in: ";

/// Whether a message is only a beat, which the tool itself put into a quiet inbox.
pub(super) fn is_beat(message: &Message) -> bool {
    message.from == "harness" && message.kind == "System" && message.subject.starts_with(BEAT_SUBJECT)
}

/// Why a tick runs a department, and what it knew of the run before.
#[derive(Clone, Debug)]
pub struct Slot {
    pub cause: Cause,
    pub last_run: Option<String>,
}

/// What a run saw at its last look, and what it has written since.
#[derive(Debug, Default)]
pub struct Watch {
    slot: Option<Slot>,
    seen: RefCell<Observation>,
    written: RefCell<Vec<String>>,
}

impl Watch {
    /// For a run that a tick starts.
    pub fn scheduled(slot: Slot) -> Watch {
        Watch { slot: Some(slot), ..Watch::default() }
    }

    /// Whether only a beat led to the run.
    pub(super) fn is_beat(&self) -> bool {
        self.slot.as_ref().is_some_and(|slot| slot.cause.is_beat())
    }

    /// Notes what effects changed. What was delivered here is mail that nobody has looked at yet.
    pub(super) fn note_written(&self, effects: &[Planned]) {
        let mut written = self.written.borrow_mut();
        for planned in effects {
            match &planned.effect {
                Effect::Create { path, .. }
                | Effect::Append { path, .. }
                | Effect::Replace { path, .. }
                | Effect::Board { path, .. } => written.push(path.clone()),
                Effect::Mark { id, .. } => written.push(format!("inbox/{id}.md")),
                // What an undo takes away is a change that the director has to look at; a project lies elsewhere.
                Effect::Deliver { .. }
                | Effect::Remove { .. }
                | Effect::Recall { .. }
                | Effect::Project(_) => {}
            }
        }
    }
}

impl Shop<'_> {
    /// Takes note of everything there is, before it is loaded: what comes later is new to the next run.
    pub(super) fn take_note(&self) -> Result<()> {
        if self.effects == Effects::CarriedOut {
            self.watch.seen.replace(self.department.observe()?);
            self.watch.written.borrow_mut().clear();
        }
        Ok(())
    }

    fn settled(&self) -> Option<Settled> {
        self.org.wake().departments.remove(self.department.dept.as_str()).and_then(|entry| entry.settled)
    }

    /// Whether another tick ran the department between this one's decision and its lock.
    pub(super) fn is_overtaken(&self) -> bool {
        let Some(slot) = &self.watch.slot else { return false };
        self.settled().map(|settled| settled.run) != slot.last_run
    }

    /// Whether a scheduled run has nothing to ask about. Then it is none, and only its look is remembered.
    pub(super) fn finds_nothing(&self, charter: &LoadedCharter) -> Result<bool> {
        let Some(slot) = &self.watch.slot else { return Ok(false) };
        self.settle_requests(charter)?;
        if self.load(charter)?.live.eligible_items().next().is_some() {
            return Ok(false);
        }
        if self.is_upkeep_due()? {
            return Ok(false);
        }
        if slot.cause.is_beat() {
            self.deliver_beat(slot)?;
            return Ok(false);
        }
        let run = slot.last_run.clone().unwrap_or_default();
        self.write_settled(&run, RunOutcome::Done, false)?;
        Ok(true)
    }

    /// The message that a proactive department gets when it has been quiet for long enough.
    fn deliver_beat(&self, slot: &Slot) -> Result<()> {
        let now = (self.now)();
        let last = slot.last_run.as_deref().unwrap_or("none");
        let id = derived_id(IdKind::Message, now, &format!("beat/{}/{last}", self.department.dept));
        let found = PromptFiles::of(&self.org, &self.department)?.find("beat.md").ok().flatten();
        let body = found.map(|source| source.text).unwrap_or_default();
        let draft = Draft {
            id: id.clone(),
            from: "harness".to_string(),
            to: vec![self.department.dept.clone()],
            kind: "System".to_string(),
            subject: format!("{BEAT_SUBJECT}{}", slot.cause),
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
        Ok(self.department.deliver(&id, &render_message(&draft))?)
    }

    /// Writes down the fingerprint after a run, however it ended. Where no tick is in use there is none to write.
    pub(super) fn settle_wake(&self, run: &str, outcome: RunOutcome, changed: bool) -> Result<()> {
        if self.effects == Effects::Shown || (self.watch.slot.is_none() && !self.org.has_wake()) {
            return Ok(());
        }
        self.write_settled(run, outcome, changed)
    }

    fn write_settled(&self, run: &str, outcome: RunOutcome, changed: bool) -> Result<()> {
        let before = self.settled();
        let may_go_on = matches!(outcome, RunOutcome::Escalated | RunOutcome::MaxIterations);
        let open = may_go_on && self.has_open_items()?;
        let ended = Ended {
            run,
            at: (self.now)(),
            outcome: outcome.word(),
            parts: self.parts_seen()?,
            open,
            changed,
            beat: self.watch.is_beat(),
            not_before: self.not_before()?,
        };
        let mut settled = settle(before.as_ref(), ended);
        if settled.gave_up && self.watch.slot.is_some() && before.is_none_or(|before| !before.gave_up) {
            self.escalate_failures(run, &settled)?;
            settled.parts = self.parts_seen()?;
        }
        let (dept, now) = (self.department.dept.to_string(), (self.now)());
        Ok(self.org.update_wake(now, |wake| {
            let entry = wake.departments.entry(dept).or_default();
            entry.fenced &= settled.more;
            entry.settled = Some(settled);
        })?)
    }

    fn has_open_items(&self) -> Result<bool> {
        let charter = self.accepted_charter()?;
        let loaded = self.load_state(&charter)?;
        Ok(loaded.live.eligible_items().next().is_some())
    }

    fn parts_seen(&self) -> Result<Parts> {
        let after = self.department.observe()?;
        // A human may have answered what the run's last step asked before the run has ended.
        let heard = |path: &&String| !self.is_answered(path);
        let written: Vec<String> = self.watch.written.borrow().iter().filter(heard).cloned().collect();
        let seen = seen_by_run(&self.watch.seen.borrow(), &after, &written);
        let mut parts = digest_parts(&seen);
        parts.extend(self.org.outer()?.parts(&self.department)?);
        Ok(parts)
    }

    /// Whether a path is a request that was resolved, and nobody has told the department yet.
    fn is_answered(&self, path: &str) -> bool {
        let Some((folder, file)) = path.split_once('/') else { return false };
        let kind = RequestKind::ALL.into_iter().find(|kind| kind.folder() == folder);
        let request = kind.map(|kind| self.department.request(kind, file.trim_end_matches(".md"), &self.key));
        matches!(request, Some(Ok(Some(request))) if request.status != RequestStatus::Pending && !request.is_told())
    }

    /// When the first of the engines that can't be asked now may be asked again.
    pub(super) fn not_before(&self) -> Result<Option<Time>> {
        let mut first: Option<Time> = None;
        for engine in &self.engines {
            if let Some(at) = self.org.not_before(engine, (self.now)())? {
                first = Some(first.map_or(at, |first| first.min(at)));
            }
        }
        Ok(first)
    }

    /// After the last try: the human's, once.
    fn escalate_failures(&self, run: &str, settled: &Settled) -> Result<()> {
        let dept = &self.department.dept;
        let text = format!("{} scheduled runs in a row failed on the same state", settled.failures);
        let path = self.escalate_by_tool(&ToolEscalation {
            run,
            topic: "failures",
            text: &text,
            body: format!(
                "{text}; it is not tried again until something changes. `harness runs show {run}` shows the last one, \
                 `harness run-loop {dept}` tries again.\n"
            ),
            command: format!("harness runs show {run}"),
        })?;
        self.watch.written.borrow_mut().push(path);
        self.tell(&Event::Notice(&format!("{dept}: {text}")));
        Ok(())
    }
}

/// A clock that went back must not hold a department up: what lies in the future is taken as now.
pub fn heal(settled: &mut Settled, now: Time) {
    let future = |text: &str| parse_rfc3339(text).is_some_and(|at| at > now);
    if future(&settled.at) {
        settled.at = crate::domain::time::render_rfc3339(now);
        settled.retry_at = settled.retry_at.take().map(|_| settled.at.clone());
    }
}
