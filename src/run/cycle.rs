//! A run: under the department's lock, orchestrator and then worker or validator, on fresh state each time.

use super::recover::Recovered;
use super::step::{StepDone, StepEnd, StepInput};
use super::{Effects, Refused, Result, RunError, Shop};
use crate::domain::board::ItemKind;
use crate::domain::config::Routing;
use crate::domain::decision::Decision;
use crate::domain::directive::RECEIVER;
use crate::domain::event::Event;
use crate::domain::gate::Reading;
use crate::domain::ledger::Line;
use crate::domain::message::Message;
use crate::domain::role::{Mode, Role};
use crate::domain::time::{parse_rfc3339, render_rfc3339};
use crate::process::stop::ProcessId;
use crate::store::charters::LoadedCharter;
use crate::store::load::Loaded;
use crate::store::lock::{Attempt, Lock, try_lock};
use crate::store::runs::Active;

pub use super::closing::{RunEnd, RunOutcome};

/// How many files that were set aside are told one by one; the rest is counted.
const SET_ASIDE_TOLD: usize = 20;

/// What is to be run.
#[derive(Clone, Debug)]
pub enum Work {
    /// Until all is done.
    Loop { max_iterations: u64 },
    /// One step of one role.
    Director { role: Role, mode: Mode, message: Option<Box<Message>> },
}

/// Whether the run could begin.
pub enum Begun {
    Ended(RunEnd),
    /// Another run holds the department.
    Busy(Option<Active>),
    /// A scheduled run that was not needed after all, and left no record.
    Nothing(String),
}

/// A run under way.
pub(super) struct Run {
    pub active: Active,
    pub iterations: u64,
    pub steps: u64,
    pub cost_usd: Option<f64>,
    pub counted_usd: f64,
    pub story: Vec<String>,
    /// Iterations in a row that changed nothing.
    still: u64,
    pub changed: bool,
}

impl Run {
    fn take(&mut self, done: &StepDone) {
        self.cost_usd = self.cost_usd.zip(done.cost_usd).map(|(a, b)| a + b);
        self.counted_usd += done.counted_usd;
        self.changed |= matches!(
            done.end,
            StepEnd::Acted { changed: true } | StepEnd::Decided(Decision::Escalate { .. })
        );
        self.story.extend(done.story.iter().cloned());
    }
}

pub(super) type Ending = (RunOutcome, String);

impl Shop<'_> {
    /// Runs a department, from taking its lock to releasing it.
    pub fn run(&self, kind: &str, work: &Work) -> Result<Begun> {
        let own = self.department.own()?;
        let lock = match self.effects {
            // A lock file that isn't there is held by nobody, and showing makes none.
            Effects::Shown if own.stat("lock")?.is_none() => None,
            _ => match try_lock(&own, "lock")? {
                Attempt::Held(lock) => Some(lock),
                Attempt::Busy => return Ok(Begun::Busy(self.department.active().unwrap_or(None))),
            },
        };
        if self.is_overtaken() {
            return Ok(Begun::Nothing("another tick ran it meanwhile".to_string()));
        }
        let Some(mut end) = self.run_locked(kind, work, lock.as_ref())? else {
            return Ok(Begun::Nothing("nothing is open that it could act on".to_string()));
        };
        drop(lock);
        self.send_notices();
        // What the run dispatched is a run of its own, which holds up no other.
        if self.effects == Effects::CarriedOut && end.outcome != RunOutcome::Cancelled {
            self.run_jobs()?;
        }
        if self.effects == Effects::CarriedOut {
            end.not_committed = self.department.unmade_commit()?.map(|unmade| unmade.why);
        }
        Ok(Begun::Ended(end))
    }

    fn run_locked(&self, kind: &str, work: &Work, _lock: Option<&Lock>) -> Result<Option<RunEnd>> {
        let charter = self.accepted_charter()?;
        let recovered = match self.effects {
            Effects::CarriedOut => self.recover(&charter)?,
            Effects::Shown => Recovered::default(),
        };
        self.check_gate(Reading::Run)?;
        self.check_paused()?;
        if self.effects == Effects::CarriedOut {
            if self.department.dept.as_str() == RECEIVER {
                self.org.deliver_directives(&self.department, (self.now)())?;
            }
            self.department.put_away_sent((self.now)())?;
            self.settle_jobs()?;
            self.check_goal()?;
            if matches!(work, Work::Loop { .. }) {
                self.ask_goal(&charter)?;
            }
        }
        self.check_ledger()?;
        if self.finds_nothing(&charter)? {
            return Ok(None);
        }
        self.check_runs_per_hour(&charter)?;
        let mut run = self.begin(kind)?;
        let ended = match work {
            Work::Loop { max_iterations } => self
                .run_loop(&mut run, *max_iterations, recovered)
                .and_then(|ending| self.keep_up(&mut run, ending)),
            Work::Director { role, mode, message } => {
                self.run_director(&mut run, *role, *mode, message.as_deref().cloned())
            }
        };
        let mut said_no = None;
        let (outcome, reason) = match ended {
            Ok(ending) => ending,
            Err(RunError::Refused(refused)) => {
                let reason = refused.to_string();
                said_no = Some(refused);
                (RunOutcome::Refused, reason)
            }
            // The run has an end all the same: what is left is for the next one to recover.
            Err(error) => {
                // A call whose settlement could not be written counts at the worst; unsettled, it would for ever.
                let _ignored = self.settle_dead(&run.active.run);
                let _ignored = self.end(&run, RunOutcome::Failed, &error.to_string(), &charter);
                return Err(error);
            }
        };
        let reason = self.redactor.mask(&reason).into_owned();
        self.end(&run, outcome, &reason, &charter)?;
        let Run { active, iterations, steps, cost_usd, counted_usd, .. } = run;
        Ok(Some(RunEnd {
            run: active.run,
            outcome,
            reason,
            iterations,
            steps,
            cost_usd,
            counted_usd,
            not_committed: None,
            refused: said_no,
        }))
    }

    /// Limits are counted from the ledger: by one that can't be counted nothing is run.
    fn check_ledger(&self) -> Result<()> {
        match self.department.ledger_fault((self.now)())? {
            None => Ok(()),
            Some(why) => {
                let what = format!("{why}, so nobody can say what the limits of charter.toml leave");
                Err(RunError::Refused(Refused::Ledger(what)))
            }
        }
    }

    fn check_runs_per_hour(&self, charter: &LoadedCharter) -> Result<()> {
        let most = charter.rules.limits.runs_per_hour;
        let now = (self.now)();
        let recent = self.department.ledger_since(now - chrono::TimeDelta::hours(1))?;
        let count = recent
            .iter()
            .filter(|line| match line {
                Line::Run(run) if run.steps > 0 => {
                    parse_rfc3339(&run.at).is_some_and(|at| (now - at).num_seconds() < 3_600)
                }
                _ => false,
            })
            .count() as u64;
        if count < most {
            return Ok(());
        }
        let what = format!(
            "{count} runs in the last hour; the most is {most} (charter.toml [limits] runs_per_hour)"
        );
        Err(RunError::Refused(Refused::Limit(what)))
    }

    fn begin(&self, kind: &str) -> Result<Run> {
        let now = (self.now)();
        let me = ProcessId::of(std::process::id());
        let active = Active {
            schema: 1,
            run: self.run_id.clone(),
            kind: kind.to_string(),
            role: String::new(),
            started: render_rfc3339(now),
            pid: std::process::id(),
            start_time: me.as_ref().map_or(0, |me| me.start),
            boot: me.map(|me| me.boot).unwrap_or_default(),
            step: 0,
            guard_pid: None,
            engine_pid: None,
        };
        if self.effects == Effects::CarriedOut {
            self.department.write_active(&active)?;
        }
        self.tell(&Event::Start { run: &active.run, dept: self.department.dept.as_str(), kind });
        Ok(Run {
            active,
            iterations: 0,
            steps: 0,
            cost_usd: Some(0.0),
            counted_usd: 0.0,
            story: Vec::new(),
            still: 0,
            changed: false,
        })
    }

    fn run_loop(&self, run: &mut Run, max_iterations: u64, recovered: Recovered) -> Result<Ending> {
        let mut decision = recovered.decision;
        loop {
            if (self.interrupt)().is_some() {
                return Ok((RunOutcome::Cancelled, "stopped".to_string()));
            }
            self.check_gate(Reading::Iteration)?;
            self.check_paused()?;
            let charter = self.accepted_charter()?;
            if self.effects == Effects::CarriedOut {
                self.settle_requests(&charter)?;
            }
            let loaded = self.load(&charter)?;
            if loaded.live.eligible_items().next().is_none() {
                return Ok((RunOutcome::Done, nothing_open(&loaded)));
            }
            if run.iterations == max_iterations {
                return Ok((
                    RunOutcome::MaxIterations,
                    match max_iterations {
                        1 => "one iteration, and there is still open mail".to_string(),
                        most => format!("{most} iterations, and there is still open mail"),
                    },
                ));
            }
            run.iterations += 1;
            let decision =
                match decision.take().filter(|decision| self.check_decision(decision, &loaded).is_ok()) {
                    Some(decision) => decision,
                    None => match self.decide(run, &charter, &loaded) {
                        // Help is good to have: where nobody can be asked about it, there is nothing to do.
                        Err(RunError::Refused(Refused::NoEngine { .. } | Refused::Budget(_)))
                            if loaded.live.is_only_help() =>
                        {
                            run.iterations -= 1;
                            return Ok((RunOutcome::Done, nothing_open(&loaded)));
                        }
                        decided => match decided? {
                            Ok(decision) => decision,
                            Err(ending) => return Ok(ending),
                        },
                    },
                };
            if let Some(ending) = self.follow(run, &decision, &charter)? {
                return Ok(ending);
            }
            if self.effects == Effects::Shown {
                return Ok((RunOutcome::Done, "shown, and nothing carried out".to_string()));
            }
        }
    }

    /// Fresh state, with the directives and projects there are, and the mail that they hold.
    pub(super) fn load_state(&self, charter: &LoadedCharter) -> Result<Loaded> {
        let now = (self.now)();
        let mut loaded = self.department.load(charter, &self.settings, &self.key, now)?;
        self.org.add_portfolio(&mut loaded.live)?;
        // What a paused directive holds may be all that was looked at.
        if loaded.live.inbox_beyond > 0 && loaded.live.eligible_items().next().is_none() {
            loaded = self.department.load_whole(charter, &self.settings, &self.key, now)?;
            self.org.add_portfolio(&mut loaded.live)?;
        }
        Ok(loaded)
    }

    /// Fresh state, with what can't be taken in set aside.
    pub(super) fn load(&self, charter: &LoadedCharter) -> Result<Loaded> {
        self.take_note()?;
        let loaded = self.load_state(charter)?;
        if self.effects == Effects::Shown {
            return Ok(loaded);
        }
        for filed in &loaded.closed {
            self.department.put_away_closed(filed)?;
        }
        for (index, file) in loaded.unreadable.iter().enumerate() {
            self.department.quarantine("inbox", &file.file, &file.why)?;
            let what = format!("inbox/{} was set aside in quarantine: {}", file.file, file.why);
            // Somebody may have dropped thousands; each has its reason in quarantine.
            if index < SET_ASIDE_TOLD {
                self.tell(&Event::Notice(&what));
            }
        }
        let more = loaded.unreadable.len().saturating_sub(SET_ASIDE_TOLD);
        if more > 0 {
            self.tell(&Event::Notice(&format!("{more} more files of inbox/ were set aside in quarantine")));
        }
        Ok(loaded)
    }

    /// The iteration's decision: by the tool where only one thing can be done and the config says so, else asked.
    fn decide(
        &self,
        run: &mut Run,
        charter: &LoadedCharter,
        loaded: &Loaded,
    ) -> Result<std::result::Result<Decision, Ending>> {
        let config = self.department.config()?;
        let mut items = loaded.live.eligible_items();
        if config.routing == Some(Routing::Auto)
            && let Some(first) = items.next()
        {
            let ceo = self.department.dept.as_str() == "business" && first.kind == "Directive";
            let validates = first.item.as_ref().is_some_and(|item| item.kind == ItemKind::Validate);
            let decision = if ceo {
                Decision::NextWorkerCeoMode(first.id.clone())
            } else if validates {
                Decision::NextValidator(first.id.clone())
            } else {
                Decision::NextWorker(first.id.clone())
            };
            self.tell(&Event::Decision { keyword: decision.keyword(), id: decision.id(), by: "routing" });
            return Ok(Ok(decision));
        }
        let at_hand = loaded.live.eligible_items().next().cloned();
        let done = self.step(run, Role::Orchestrator, Mode::Normal, at_hand, None, charter, loaded)?;
        Ok(match done.end {
            StepEnd::Decided(decision) => Ok(decision),
            other => Err(failed(other)),
        })
    }

    #[expect(clippy::too_many_arguments, reason = "one call, whose parts have no other life together")]
    pub(super) fn step(
        &self,
        run: &mut Run,
        role: Role,
        mode: Mode,
        at_hand: Option<Message>,
        decision: Option<String>,
        charter: &LoadedCharter,
        loaded: &Loaded,
    ) -> Result<StepDone> {
        let most = charter.rules.limits.steps_per_run;
        if run.steps >= most {
            let what = format!(
                "{} steps in this run; the most is {most} (charter.toml [limits] steps_per_run)",
                run.steps
            );
            return Err(RunError::Refused(Refused::Limit(what)));
        }
        run.steps += 1;
        run.active.role = role.name().to_string();
        run.active.step = run.steps;
        let input = StepInput {
            role,
            mode,
            at_hand,
            number: run.steps,
            iteration: run.iterations,
            decision,
            active: run.active.clone(),
        };
        let asked = self.asked.get();
        let done = self.take_step(&input, charter, loaded);
        if matches!(done, Err(RunError::Refused(_))) && self.asked.get() == asked {
            // Nobody was asked: that is no step, and a run without one counts towards no limit.
            run.steps -= 1;
        }
        let done = done?;
        run.take(&done);
        Ok(done)
    }

    /// Does what was decided; an ending where the loop is over.
    fn follow(&self, run: &mut Run, decision: &Decision, charter: &LoadedCharter) -> Result<Option<Ending>> {
        let (role, mode, id) = match decision {
            Decision::Done => return Ok(Some((RunOutcome::Done, "the director decided so".to_string()))),
            Decision::Escalate { id, reason } => {
                return Ok(Some((RunOutcome::Escalated, format!("{id}: {reason}"))));
            }
            Decision::NextWorker(id) => (Role::Worker, Mode::Normal, id),
            Decision::NextWorkerCeoMode(id) => (Role::Worker, Mode::Ceo, id),
            Decision::NextValidator(id) => (Role::Validator, Mode::Normal, id),
        };
        if (self.interrupt)().is_some() {
            return Ok(Some((RunOutcome::Cancelled, "stopped".to_string())));
        }
        let loaded = self.load(charter)?;
        let Some(at_hand) = self.find_at_hand(id, &loaded) else { return Ok(None) };
        let keyword = Some(decision.keyword().to_string());
        let done = self.step(run, role, mode, Some(at_hand), keyword, charter, &loaded)?;
        match done.end {
            StepEnd::Acted { changed: true } => run.still = 0,
            StepEnd::Acted { changed: false } => run.still += 1,
            other => return Ok(Some(failed(other))),
        }
        Ok((run.still >= 2).then(|| (RunOutcome::NoProgress, "two iterations changed nothing".to_string())))
    }

    fn run_director(
        &self,
        run: &mut Run,
        role: Role,
        mode: Mode,
        message: Option<Message>,
    ) -> Result<Ending> {
        let charter = self.accepted_charter()?;
        let loaded = self.load(&charter)?;
        run.iterations = 1;
        let at_hand = message.or_else(|| loaded.live.eligible_items().next().cloned());
        let done = self.step(run, role, mode, at_hand, None, &charter, &loaded)?;
        Ok(match done.end {
            StepEnd::Decided(Decision::Escalate { id, reason }) => {
                (RunOutcome::Escalated, format!("{id}: {reason}"))
            }
            StepEnd::Decided(decision) => (RunOutcome::Done, decision.to_string()),
            StepEnd::Acted { .. } => (RunOutcome::Done, format!("the {role} has answered")),
            other => failed(other),
        })
    }
}

fn failed(end: StepEnd) -> Ending {
    match end {
        StepEnd::Cancelled => (RunOutcome::Cancelled, "stopped".to_string()),
        StepEnd::Held(why) => (RunOutcome::Refused, why),
        StepEnd::Failed(why) => (RunOutcome::Failed, why),
        StepEnd::Ghost => (RunOutcome::Failed, "the answer held no decision, twice".to_string()),
        _ => (RunOutcome::Failed, "the answer was refused twice".to_string()),
    }
}

/// Why there is nothing to do, in one of five reasons, and what is open all the same.
fn nothing_open(loaded: &Loaded) -> String {
    let inbox = &loaded.live.inbox;
    let mut holds: Vec<String> = Vec::new();
    for hold in inbox.iter().filter_map(|message| loaded.live.portfolio.holds(message)) {
        let hold = hold.to_string();
        if !holds.contains(&hold) {
            holds.push(hold);
        }
    }
    let held = if holds.is_empty() { String::new() } else { format!("; {}", holds.join(", ")) };
    let live = &loaded.live;
    let messages = match live.inbox.len() {
        0 => None,
        1 => Some(format!("one message is open, and it waits for the human{held}")),
        count => Some(format!("{count} messages are open, and all wait for the human{held}")),
    };
    let tasks = match live.board.open_tasks().count() {
        0 => None,
        1 => Some("one task is on the board".to_string()),
        count => Some(format!("{count} tasks are on the board")),
    };
    let open: Vec<String> = messages.into_iter().chain(tasks).collect();
    let open = if open.is_empty() { "nothing is open".to_string() } else { open.join("; ") };
    format!("nothing to do, {}: {open}", live.board.idle(live.inbox.len()).words())
}
