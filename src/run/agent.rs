//! An agent's engine at work on a task: a job like any other, whose answer comes back as a comment and a move to review.

use super::ask::{Answered, Ask, Reply, Tried};
use super::{Refused, Result, RunError, Shop};
use crate::domain::agent::Agent;
use crate::domain::board::{Actor, At, Board, Deed};
use crate::domain::event::Event;
use crate::domain::id::{IdKind, derived_id};
use crate::domain::live_state::fence;
use crate::domain::message::{Message, Provenance};
use crate::domain::plan::{Effect, Planned};
use crate::domain::prompt::{AgentPrompt, assemble_agent_prompt};
use crate::domain::role::{Mode, Role};
use crate::domain::task::{Section, Task};
use crate::domain::text::{cut, one_line};
use crate::domain::time::{parse_rfc3339, render_rfc3339};
use crate::process::stop::ProcessId;
use crate::store::jobs::{Job, JobEnded, JobStarted};
use crate::store::prompts::PromptFiles;
use std::sync::Arc;

/// How much of a result a comment keeps.
const RESULT_KEPT: usize = 32 * 1024;

/// Why a job is not started whose task was taken away, or given anew since.
pub(super) const NOT_CURRENT: &str = "the task is no longer this agent's by the assignment that queued it";

/// Whether a task is still an agent's by the assignment that queued its job.
fn is_current(job: &Job, task: &Task) -> bool {
    job.agent.as_deref().is_some_and(|agent| task.is_work_of(agent, job.assignment.as_deref()))
}

/// How a job of an agent ended.
struct Worked {
    outcome: &'static str,
    reason: String,
    said: Answered,
}

impl Shop<'_> {
    /// Lets an agent's engine work on its task. It stays queued where the budget or every engine says not now.
    pub(super) fn run_agent(&self, job: &Job, engine: &str) -> Result<()> {
        let charter = self.accepted_charter()?;
        let board = self.department.board(&charter.rules, &self.settings, &self.key)?.board;
        let task = job.task.as_ref().and_then(|id| board.find_task(id)).filter(|task| is_current(job, task));
        let found = job.agent.as_ref().and_then(|name| board.find_agent(name)).zip(task);
        let Some((agent, task)) = found else {
            let reason = NOT_CURRENT.to_string();
            return self.end_agent(job, Worked { outcome: "cancelled", reason, said: Answered::default() });
        };
        let mut letter = Message::of_task(task, crate::domain::board::ItemKind::Delegate);
        letter.project = letter.project.or_else(|| job.project.clone());
        letter.directive = job.directive.clone();
        let run = derived_id(IdKind::Run, parse_rfc3339(&job.created).unwrap_or_default(), &job.id);
        let me = ProcessId::of(std::process::id());
        let started = JobStarted {
            run: run.clone(),
            at: render_rfc3339((self.now)()),
            pid: std::process::id(),
            start_time: me.as_ref().map_or(0, |me| me.start),
            boot: me.map(|me| me.boot).unwrap_or_default(),
        };
        self.department.write_job_started(&job.id, &started)?;
        self.tell(&Event::Start { run: &run, dept: self.department.dept.as_str(), kind: "dispatch" });
        let worked = match self.ask_agent(&run, engine, agent, &letter) {
            Ok(worked) => worked,
            // Nothing was asked: it may be tried again.
            Err(RunError::Refused(refused)) => {
                self.department.remove_job_started(&job.id)?;
                self.tell(&Event::Notice(&format!("{} stays queued: {refused}", job.id)));
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        self.end_agent(job, worked)
    }

    /// Whether a job may still be started; one of no agent may.
    pub(super) fn is_wanted(&self, job: &Job) -> Result<bool> {
        let (Some(_), Some(id)) = (&job.agent, &job.task) else { return Ok(true) };
        let (tasks, _) = self.department.open_tasks()?;
        Ok(tasks.iter().any(|task| task.id == *id && is_current(job, task)))
    }

    fn ask_agent(&self, run: &str, engine: &str, agent: &Agent, letter: &Message) -> Result<Worked> {
        self.check_held(Some(letter))?;
        let nonce = crate::domain::id::suffix(&(self.random)());
        let facts = AgentPrompt {
            dept: self.department.dept.as_str(),
            name: &agent.name,
            role: &agent.role,
            purpose: fence(&nonce, "purpose", &agent.purpose),
            task_id: &letter.id,
            task: fence(
                &nonce,
                "task",
                &format!("title: {}\n{}", one_line(&letter.subject, 200), letter.body),
            ),
            now: render_rfc3339((self.now)()),
        };
        let sources = Arc::new(PromptFiles::of(&self.org, &self.department)?);
        let prompt = assemble_agent_prompt(sources, &facts).map_err(|fault| {
            RunError::Refused(Refused::Charter(format!("can't make the prompt: {fault}")))
        })?;
        let portfolio = self.org.portfolio()?;
        let ask = Ask {
            run,
            role: Role::Worker,
            mode: Mode::Normal,
            prompt: &prompt,
            items: &[],
            at_hand: Some(letter),
            nonce: &nonce,
            active: None,
            agent: Some(agent),
            portfolio: &portfolio,
            board: None,
            before: None,
        };
        Ok(match self.ask_one(engine, &ask)? {
            Tried::Reply(reply) => match *reply {
                Reply::Answered(said) if said.text.trim().is_empty() => {
                    Worked { outcome: "failed", reason: "the engine said nothing".to_string(), said }
                }
                Reply::Answered(said) => {
                    Worked { outcome: "done", reason: format!("{engine} has answered"), said }
                }
                Reply::Failed { said, why } | Reply::Held { said, why } => {
                    Worked { outcome: "failed", reason: why, said }
                }
                Reply::Cancelled(said) => {
                    Worked { outcome: "cancelled", reason: "it was stopped".to_string(), said }
                }
            },
            Tried::Passed(said, why) => Worked { outcome: "failed", reason: why, said: *said },
            Tried::Next(why) if engine == "rules" => {
                let reason = format!("the playbook has no work rule for it: {why}");
                Worked { outcome: "failed", reason, said: Answered::default() }
            }
            Tried::Next(why) => {
                let not_before = self.org.not_before(engine, (self.now)())?;
                let what = format!("{engine}: {why}");
                return Err(RunError::Refused(Refused::NoEngine { what, not_before }));
            }
        })
    }

    fn end_agent(&self, job: &Job, worked: Worked) -> Result<()> {
        let output = self.redactor.mask(&worked.said.text).into_owned();
        let ended = JobEnded {
            at: render_rfc3339((self.now)()),
            outcome: worked.outcome.to_string(),
            reason: worked.reason,
            output,
            cost_usd: worked.said.cost_usd,
            counted_usd: Some(worked.said.counted_usd),
        };
        Ok(self.department.write_job_ended(&job.id, &ended)?)
    }

    /// What a job's end does to its task: the result as a comment, and where it was its owner's work, a move to review.
    /// None where there is no such task on the board any more.
    pub(super) fn result_on_board(&self, job: &Job, ended: &JobEnded) -> Result<Option<Vec<Planned>>> {
        let Some(id) = &job.task else { return Ok(None) };
        let charter = match self.department.charter() {
            Ok(charter) => charter,
            Err(_) => return Ok(None),
        };
        let mut board: Board = self.department.board(&charter.rules, &self.settings, &self.key)?.board;
        let told = |task: &Task| task.comments().iter().any(|comment| comment.source == job.id);
        if board.find_task(id).is_some_and(told) {
            // Told before: a crash came between the telling and the end of the job.
            return Ok(Some(Vec::new()));
        }
        let text = match cut(&ended.output, RESULT_KEPT) {
            (kept, 0) => format!("{}\n{kept}", ended.reason),
            (kept, lost) => format!("{}\n{kept}\n[cut: {lost} more bytes]", ended.reason),
        };
        let (actor, deed) = match &job.agent {
            Some(agent) => {
                let (id, assignment) = (id.clone(), job.assignment.clone());
                (Actor::Agent(agent), Deed::Result { id, assignment, outcome: ended.outcome.clone(), text })
            }
            None => {
                let text = format!("{} ended: {}.\n{text}", job.pipeline, ended.outcome);
                (Actor::Tool, Deed::Comment { id: id.clone(), section: Section::Evidence, text })
            }
        };
        let at = At {
            actor,
            now: parse_rfc3339(&ended.at).unwrap_or_default(),
            source: &job.id,
            provenance: self.result_trust(job),
            vouched: None,
            new_id: &|_| String::new(),
        };
        match board.apply(&deed, &at) {
            Err(_) => Ok(None),
            Ok(_) => {
                let changes = board.changes().into_iter();
                let effect = |change| Planned { action: None, effect: Effect::of_board(change, Vec::new()) };
                Ok(Some(changes.map(|(_, change)| effect(change)).collect()))
            }
        }
    }

    /// What a program printed, and what an engine with tools found, may come from anywhere.
    fn result_trust(&self, job: &Job) -> Provenance {
        let given =
            Provenance::parse(&job.provenance).unwrap_or(Provenance::External).max(Provenance::Department);
        match &job.engine {
            None => Provenance::External,
            Some(name) => match self.settings.engines.get(name) {
                Some(engine) if !engine.tools.is_empty() => Provenance::External,
                _ => given,
            },
        }
    }
}
