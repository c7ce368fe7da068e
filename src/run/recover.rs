//! Recovery, by whoever takes the lock next: what a dead run left is ended, finished and written down.
//!
//! | found | becomes | why |
//! |---|---|---|
//! | a process of the dead run | ended | it works for nobody |
//! | a plan | carried out, closed | it was decided; every effect can be repeated |
//! | a plan, and the gate closed | left | it waits until the gate opens |
//! | a plan by another charter | the rest judged again; what is now refused is set aside | rules count on every path |
//! | an approved action by another charter | settled again, unless it has begun | the outcome told must be true |
//! | a plan that failed five times | set aside, department blocked | trying on would never end |
//! | an answer without a plan | read, judged, planned, carried out | it was paid for |
//! | an entry without a right MAC | quarantine | it was not written here |
//! | files moved and not synced | synced | a power loss could take them yet |
//! | a run without an end | recorded as killed | every outcome has a reason |
//! | records, and no ledger | the ledger, written anew | it is derived from them |
//! | a temporary file of the department's runs | removed | nothing ever reads one |
//!
//! Recovering twice changes nothing.

use super::finish::is_progress;
use super::step::{ReadAnswer, RefusedAnswer, SavedAnswer, StepEnd};
use super::{Refused, Result, RunError, Shop};
use crate::domain::decision::Decision;
use crate::domain::event::Event;
use crate::domain::gate::Reading;
use crate::domain::ledger::{Line, RunLine};
use crate::domain::message::Provenance;
use crate::domain::plan::{Plan, Planned};
use crate::domain::role::Role;
use crate::domain::time::{Time, parse_rfc3339, render_rfc3339};
use crate::domain::verdict::{Circumstances, Verdict};
use crate::process::stop::{GRACE, end_marked};
use crate::store::apply::is_there;
use crate::store::breakage::Breakage;
use crate::store::charters::LoadedCharter;
use crate::store::fault::Fault;
use crate::store::journal::{EntryKind, EntryName, Kept, is_bad_entry};
use crate::store::lock::{Attempt, try_lock};
use crate::store::runs::Active;
use crate::store::sweep::{remove_first_temporary, remove_temporary};

/// How often a plan may fail before it is set aside.
const FAILURES_MAX: u64 = 5;

/// What recovery found and did.
#[derive(Clone, Debug, Default)]
pub struct Recovered {
    pub lines: Vec<String>,
    /// A decision that was paid for and not yet acted on.
    pub decision: Option<Decision>,
}

impl Shop<'_> {
    /// Recovery by itself, under the lock; none where another run holds it.
    pub fn recover_locked(&self) -> Result<Option<Recovered>> {
        let Attempt::Held(_lock) = try_lock(&self.department.own()?, "lock")? else { return Ok(None) };
        let charter = self.accepted_charter()?;
        self.recover(&charter).map(Some)
    }

    /// Puts right what a dead run left. The department's lock is held.
    pub fn recover(&self, charter: &LoadedCharter) -> Result<Recovered> {
        let mut recovered = Recovered::default();
        if let Some(blocked) = self.department.blocked()? {
            return Err(RunError::Refused(Refused::Blocked(blocked.reason)));
        }
        let dead = self.find_dead(&mut recovered)?;
        if let Some(active) = &dead {
            self.end_processes(active, &mut recovered)?;
            self.department.sync_moved()?;
        }
        if let Some(count) = self.department.rebuild_ledger()? {
            recovered
                .lines
                .push(format!("runs.jsonl was missing; its {count} lines are back, from the records"));
        }
        self.settle_journal(charter, &mut recovered)?;
        if let Some(active) = &dead {
            self.settle_dead(&active.run)?;
            self.record_killed(active, charter, &mut recovered)?;
            remove_temporary(&self.org, &self.department)?;
            self.department.remove_active()?;
        }
        remove_first_temporary(&self.department)?;
        for line in &recovered.lines {
            self.tell(&Event::Notice(line));
        }
        Ok(recovered)
    }

    /// The run that left `active.json`. One that can't be read names nobody: it is set aside, and that is said.
    fn find_dead(&self, recovered: &mut Recovered) -> Result<Option<Active>> {
        if self.department.is_active_newer()? {
            let what = "a newer program wrote .harness/active.json; run that one".to_string();
            return Err(RunError::Refused(Refused::Blocked(what)));
        }
        match self.department.active() {
            Err(error) if matches!(error.fault, Fault::Format(_)) => {
                let why = error.fault.to_string();
                self.department.quarantine(".harness", "active.json", &why)?;
                recovered.lines.push(format!("active.json was set aside in quarantine: {why}"));
                Ok(None)
            }
            found => Ok(found?),
        }
    }

    fn end_processes(&self, active: &Active, recovered: &mut Recovered) -> Result<()> {
        match end_marked(&active.run, GRACE) {
            Ok(left) if left.is_empty() => Ok(()),
            Ok(left) => {
                let pids: Vec<String> = left.iter().map(|process| process.pid.to_string()).collect();
                let reason = format!("processes of {} can't be ended: {}", active.run, pids.join(", "));
                Err(RunError::Refused(Refused::Blocked(reason)))
            }
            // Where nobody can look, nothing is claimed.
            Err(error) => {
                recovered.lines.push(format!("could not look for processes of {}: {error}", active.run));
                Ok(())
            }
        }
    }

    fn settle_journal(&self, charter: &LoadedCharter, recovered: &mut Recovered) -> Result<()> {
        let (entries, strange) = self.journal.entries()?;
        for file in strange {
            self.set_aside(&file, "it is no entry of the journal", recovered)?;
        }
        if !entries.is_empty() && !self.breaks(Breakage::FoundPlanIsSure) {
            self.journal.sync()?;
        }
        for name in &entries {
            match name.kind {
                EntryKind::Plan => self.settle_plan(name, charter, recovered)?,
                EntryKind::Answer => {
                    let plan = EntryName { kind: EntryKind::Plan, ..name.clone() };
                    if !entries.contains(&plan) {
                        self.settle_answer(name, charter, recovered)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn set_aside(&self, file: &str, why: &str, recovered: &mut Recovered) -> Result<()> {
        self.department.quarantine(self.journal.folder(), file, why)?;
        recovered.lines.push(format!("{file} was set aside in quarantine: {why}"));
        Ok(())
    }

    fn settle_plan(
        &self,
        name: &EntryName,
        charter: &LoadedCharter,
        recovered: &mut Recovered,
    ) -> Result<()> {
        let plan = match self.journal.read::<Plan>(name) {
            Ok(Some(plan)) => plan,
            Ok(None) => return Ok(()),
            Err(error) if is_bad_entry(&error) => {
                return self.set_aside(&name.file(), &error.fault.to_string(), recovered);
            }
            Err(error) => return Err(error.into()),
        };
        if !plan.effects.is_empty() {
            self.check_gate(Reading::RecoveredPlan)?;
        }
        if plan.failures >= FAILURES_MAX {
            let reason = format!("the plan {} failed {} times and was set aside", name.file(), plan.failures);
            self.set_aside(&name.file(), &reason, recovered)?;
            self.department.block(&render_rfc3339((self.now)()), &reason)?;
            return Err(RunError::Refused(Refused::Blocked(reason)));
        }
        let plan = match self.has_begun(&plan, None)? {
            _ if plan.charter == charter.hash => plan,
            // An approved action is settled as a whole: by today's charter, and with an outcome that is true.
            false if plan.is_approved() => {
                recovered.lines.push(format!("{} is settled again, by today's charter", plan.run));
                return Ok(self.journal.remove(name)?);
            }
            true if plan.is_approved() => plan,
            _ => self.judge_again(plan, charter, recovered)?,
        };
        self.carry_out(name, plan)?;
        recovered.lines.push(format!("finished step {} of {}", name.step, name.run));
        Ok(())
    }

    /// Whether anything of a plan, or of one of its actions, is there already: that is finished, and not judged again.
    fn has_begun(&self, plan: &Plan, action: Option<usize>) -> Result<bool> {
        let wanted = |planned: &&Planned| action.is_none_or(|index| planned.belongs_to(index));
        for planned in plan.effects.iter().filter(wanted) {
            if is_there(&self.org, &self.department, &planned.effect)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The charter changed since the plan was made: what it no longer lets pass is not carried out.
    fn judge_again(
        &self,
        mut plan: Plan,
        charter: &LoadedCharter,
        recovered: &mut Recovered,
    ) -> Result<Plan> {
        let receivers = self.org.receivers();
        let provenance =
            if plan.provenance == "external" { Provenance::External } else { Provenance::Department };
        let role = Role::parse(&plan.role).unwrap_or(Role::Worker);
        let at = Circumstances { dept: &self.department.dept, role, provenance, receivers: Some(&receivers) };
        let mut refused = Vec::new();
        for (index, action) in plan.actions.iter().enumerate() {
            let ruling = crate::domain::verdict::judge_action(&charter.rules, action, &at);
            let passes = match ruling.verdict {
                Verdict::Allow => true,
                Verdict::NeedsApproval => plan.only_asks_for(index),
                Verdict::Refuse => false,
            };
            if !passes && !self.has_begun(&plan, Some(index))? {
                let (number, run, step) = (index + 1, &plan.run, plan.step);
                let line = format!("action {number} of {run}/{step} was set aside: {}", ruling.message);
                recovered.lines.push(line);
                refused.push((index, ruling.code));
            }
        }
        plan.set_aside(&refused);
        Ok(plan)
    }

    /// An answer that was saved and not yet made into a plan.
    fn settle_answer(
        &self,
        name: &EntryName,
        charter: &LoadedCharter,
        recovered: &mut Recovered,
    ) -> Result<()> {
        let saved = match self.journal.read::<SavedAnswer>(name) {
            Ok(Some(saved)) => saved,
            Ok(None) => return Ok(()),
            Err(error) if is_bad_entry(&error) => {
                return self.set_aside(&name.file(), &error.fault.to_string(), recovered);
            }
            Err(error) => return Err(error.into()),
        };
        if self.department.has_step(&saved.run, saved.step)? {
            return Ok(self.journal.remove(name)?);
        }
        self.check_gate(Reading::RecoveredAnswer)?;
        let loaded = self.load_state(charter)?;
        let done = match self.read_answer(&saved, charter, &loaded)? {
            ReadAnswer::Settled(settled) => self.finish_settled(&saved, *settled, &loaded, charter)?,
            ReadAnswer::Refused { refusals, ghost, actions, .. } => {
                let end = if ghost { StepEnd::Ghost } else { StepEnd::Refused };
                let refused = RefusedAnswer { end, refusals, actions };
                self.finish_refused(&saved, refused, &loaded, charter)?
            }
        };
        if let StepEnd::Decided(decision) = done.end {
            recovered.decision = Some(decision);
        }
        recovered.lines.push(format!("read the saved answer of step {} of {}", name.step, name.run));
        Ok(())
    }

    /// The end of a run that died without one.
    fn record_killed(
        &self,
        active: &Active,
        charter: &LoadedCharter,
        recovered: &mut Recovered,
    ) -> Result<()> {
        let started = parse_rfc3339(&active.started).unwrap_or(Time::MIN_UTC);
        let tail = self.department.ledger_since(started)?;
        let ended = tail.iter().any(|line| matches!(line, Line::Run(run) if run.run == active.run));
        if (ended && !self.breaks(Breakage::EndWrittenAgain)) || self.breaks(Breakage::NoKilledLine) {
            return Ok(());
        }
        let steps: Vec<_> = tail
            .iter()
            .filter_map(|line| match line {
                Line::Step(step) if step.run == active.run => Some(step),
                _ => None,
            })
            .collect();
        let (usd, known) = self.counted_for(&active.run, started)?;
        // The call that the run died in is in no line, and counts all the same.
        let in_step = active.step > 0 && steps.iter().all(|step| step.step != active.step);
        let under_way = in_step || (steps.is_empty() && usd > 0.0);
        let changed = self.has_changed(&active.run)?;
        let when = if under_way { "while an engine was at work" } else { "without an end" };
        let what = match (changed, steps.is_empty()) {
            (true, _) => "what it had decided was carried out",
            (false, true) => "it had decided nothing",
            (false, false) => "it had changed nothing",
        };
        let line = RunLine {
            schema: 1,
            at: render_rfc3339((self.now)()),
            run: active.run.clone(),
            kind: active.kind.clone(),
            started: active.started.clone(),
            outcome: "killed".to_string(),
            reason: format!("the run died {when}; {what}"),
            iterations: steps.iter().map(|step| step.iteration).max().unwrap_or(u64::from(under_way)),
            steps: steps.len() as u64 + u64::from(under_way),
            // The book knows of the call that the run died in, too.
            cost_usd: known.then_some(usd),
            counted_usd: usd,
            changed,
            ..RunLine::default()
        };
        self.close_run(line, &[], &charter.hash)?;
        recovered.lines.push(format!("{} had died; it is recorded as killed", active.run));
        self.check_deaths()?;
        Ok(())
    }

    /// Whether a run changed anything, by the plans that were kept of it.
    fn has_changed(&self, run: &str) -> Result<bool> {
        match self.journal.kept::<Plan>(run) {
            Ok(Kept::Plans(plans)) => {
                Ok(plans.iter().flat_map(|plan| &plan.effects).any(|planned| is_progress(&planned.effect)))
            }
            // What can't be read can't say that nothing was done.
            Ok(Kept::NotHere(_)) => Ok(true),
            Err(error) if is_bad_entry(&error) => Ok(true),
            Err(error) => Err(error.into()),
        }
    }
}
