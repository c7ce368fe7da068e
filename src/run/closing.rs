//! How a run ends: its outcome, its record and its ledger line, through the journal like any other step's.

use super::cycle::Run;
use super::finish::run_record_name;
use super::notify::{Notice, subject};
use super::{Effects, Refused, Result, Shop};
use crate::domain::event::Event;
use crate::domain::ledger::{Line, RunLine, render_line};
use crate::domain::plan::{Finish, PLAN_SCHEMA, Plan, Planned};
use crate::domain::record::{RunStory, render_run};
use crate::domain::time::render_rfc3339;
use crate::store::breakage::Breakage;
use crate::store::charters::LoadedCharter;
use crate::store::journal::{EntryKind, EntryName};

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunOutcome {
    Done,
    Escalated,
    MaxIterations,
    NoProgress,
    Failed,
    Refused,
    Cancelled,
}

impl RunOutcome {
    pub fn word(self) -> &'static str {
        match self {
            RunOutcome::Done => "done",
            RunOutcome::Escalated => "escalated",
            RunOutcome::MaxIterations => "max-iterations",
            RunOutcome::NoProgress => "no-progress",
            RunOutcome::Failed => "failed",
            RunOutcome::Refused => "refused",
            RunOutcome::Cancelled => "cancelled",
        }
    }

    pub fn exit(self) -> u8 {
        match self {
            RunOutcome::Done => 0,
            RunOutcome::Refused => 3,
            RunOutcome::Escalated => 10,
            RunOutcome::MaxIterations | RunOutcome::NoProgress => 11,
            RunOutcome::Failed => 12,
            RunOutcome::Cancelled => 13,
        }
    }
}

/// A run's end.
#[derive(Clone, Debug)]
pub struct RunEnd {
    pub run: String,
    pub outcome: RunOutcome,
    pub reason: String,
    pub iterations: u64,
    pub steps: u64,
    pub cost_usd: Option<f64>,
    pub counted_usd: f64,
    /// Why what it wrote is not committed, where that is so.
    pub not_committed: Option<String>,
    /// What said no, where something did before an engine was asked.
    pub refused: Option<Refused>,
}

impl Shop<'_> {
    pub(super) fn end(
        &self,
        run: &Run,
        outcome: RunOutcome,
        reason: &str,
        charter: &LoadedCharter,
    ) -> Result<()> {
        self.tell(&Event::Done { run: &run.active.run, outcome: outcome.word(), reason });
        if self.effects == Effects::Shown {
            return Ok(());
        }
        let line = RunLine {
            schema: 1,
            at: render_rfc3339((self.now)()),
            run: run.active.run.clone(),
            kind: run.active.kind.clone(),
            started: run.active.started.clone(),
            outcome: outcome.word().to_string(),
            reason: self.redactor.mask(reason).into_owned(),
            iterations: run.iterations,
            steps: run.steps,
            cost_usd: run.cost_usd,
            counted_usd: run.counted_usd,
            changed: run.changed,
            beat: self.watch.is_beat(),
            ..RunLine::default()
        };
        if self.breaks(Breakage::ActiveRemovedFirst) {
            self.department.remove_active()?;
        }
        self.close_run(line, &run.story, &charter.hash)?;
        self.department.remove_active()?;
        self.commit();
        if outcome == RunOutcome::Failed {
            let dept = &self.department.dept;
            let command = format!("harness runs show {}", run.active.run);
            self.notify(Notice {
                kind: "failure",
                id: run.active.run.clone(),
                text: reason.to_string(),
                command,
                alike: format!("failure {dept} {}", subject(reason)),
            });
        }
        self.check_spending()?;
        self.settle_wake(&run.active.run, outcome, run.changed)
    }

    /// Writes a run's record and ledger line, through the journal like any other step's.
    pub fn close_run(&self, line: RunLine, story: &[String], charter: &str) -> Result<()> {
        self.close_run_with(line, &RunStory { entries: story, output: "" }, charter, Vec::new())
    }

    /// The same, with effects that belong to the run's end.
    pub fn close_run_with(
        &self,
        mut line: RunLine,
        story: &RunStory<'_>,
        charter: &str,
        effects: Vec<Planned>,
    ) -> Result<()> {
        line.record = run_record_name(self, &line)?;
        let entries: Vec<String> =
            story.entries.iter().map(|entry| self.redactor.mask(entry).into_owned()).collect();
        let output = self.redactor.mask(story.output);
        let story = RunStory { entries: &entries, output: &output };
        let record = render_run(self.department.dept.as_str(), &line, &story);
        let name = EntryName { run: line.run.clone(), step: 0, kind: EntryKind::Plan };
        let plan = Plan {
            schema: PLAN_SCHEMA,
            run: line.run.clone(),
            step: 0,
            dept: self.department.dept.to_string(),
            charter: charter.to_string(),
            role: String::new(),
            provenance: "department".to_string(),
            actions: Vec::new(),
            before: self.before(&effects)?,
            effects,
            finish: Finish {
                record_name: line.record.clone(),
                record,
                ledger: render_line(&Line::Run(line)),
                worker_log: String::new(),
            },
            failures: 0,
        };
        self.journal.write(&name, &plan)?;
        self.carry_out(&name, plan)?;
        self.journal.prune_kept()?;
        Ok(self.journal.sync()?)
    }
}
