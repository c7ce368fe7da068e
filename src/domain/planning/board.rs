//! What an answer does to the board: deeds one after another on a copy of it, then the files and jobs they come to.
//!
//! `action-2` in place of an id names what the second action of the same answer makes.

use super::references::named_action;
use super::{Planning, action_id};
use crate::domain::action::{Act, Action};
use crate::domain::agent::Works;
use crate::domain::board::{Actor, At, Board, BoardFault, Deed, Done, Job};
use crate::domain::id::{IdKind, derived_id};
use crate::domain::message::{Message, Provenance};
use crate::domain::plan::{Effect, Planned};
use crate::domain::role::Role;
use crate::domain::time::{Time, render_rfc3339};
use serde_json::json;
use std::collections::BTreeMap;

/// A board that the actions of one answer change, one after another.
#[derive(Clone, Debug)]
pub struct BoardWork {
    board: Board,
    run: String,
    step: u64,
    /// What each action made.
    made: BTreeMap<usize, String>,
    /// The actions that changed each task or agent.
    by: BTreeMap<String, Vec<usize>>,
}

/// The deed that an action is on the board; none where it is none. A verdict is one where a task is at hand.
pub fn deed_of(act: &Act, at_hand: Option<&Message>) -> Option<Deed> {
    match act {
        Act::Board { deed, .. } => Some(deed.clone()),
        Act::Validate { id, verdict, evidence } if at_hand.is_some_and(|message| message.item.is_some()) => {
            Some(Deed::Validate { id: id.clone(), verdict: verdict.clone(), evidence: evidence.clone() })
        }
        _ => None,
    }
}

impl BoardWork {
    /// The project that a task belongs to.
    pub(super) fn project_of(&self, task: &str) -> Option<String> {
        self.board.find_task(task)?.project.clone()
    }

    pub fn new(board: Board, run: &str, step: u64) -> BoardWork {
        BoardWork { board, run: run.to_string(), step, made: BTreeMap::new(), by: BTreeMap::new() }
    }

    /// The task that an action made.
    pub(super) fn made(&self, index: usize) -> Option<&String> {
        self.made.get(&index)
    }

    /// Does what one action says.
    pub fn apply(
        &mut self,
        index: usize,
        deed: &Deed,
        role: Role,
        provenance: Provenance,
        now: Time,
        vouched: Option<&str>,
    ) -> Result<Done, BoardFault> {
        let actor = if role == Role::Validator { Actor::Validator } else { Actor::Director };
        self.apply_as(index, deed, actor, provenance, now, vouched)
    }

    fn apply_as(
        &mut self,
        index: usize,
        deed: &Deed,
        actor: Actor<'_>,
        provenance: Provenance,
        now: Time,
        vouched: Option<&str>,
    ) -> Result<Done, BoardFault> {
        let source = action_id(&self.run, self.step, index);
        let new_id = |count: usize| match count {
            0 => derived_id(IdKind::Task, now, &source),
            count => derived_id(IdKind::Task, now, &format!("{source}/{count}")),
        };
        // A department's words are no longer the human's, whoever led to them.
        let provenance = provenance.max(Provenance::Department);
        let at = At { actor, now, source: &source, provenance, vouched, new_id: &new_id };
        let before = self.board.changed().clone();
        let done = self.board.apply(&resolve(deed, &self.made), &at)?;
        if let Some(id) = done.created.first() {
            self.made.insert(index, id.clone());
        }
        // What the deed names counts as changed by it too, also where another action changed it before.
        let named = done.target.split(' ').next().map(str::to_string);
        let changed = self.board.changed().iter().filter(|key| !before.contains(*key)).cloned();
        for key in changed.chain(named).chain(done.created.iter().cloned()) {
            let by = self.by.entry(key).or_default();
            if !by.contains(&index) {
                by.push(index);
            }
        }
        Ok(done)
    }
}

/// The deed with `action-N` replaced by the id of what that action made.
fn resolve(deed: &Deed, made: &BTreeMap<usize, String>) -> Deed {
    let one = |id: &mut String| {
        if let Some(real) = named_action(id).and_then(|index| made.get(&index)) {
            *id = real.clone();
        }
    };
    let mut deed = deed.clone();
    match &mut deed {
        Deed::Create(new) => {
            new.depends_on.iter_mut().chain(&mut new.not_twin_of).chain(&mut new.assists).for_each(one)
        }
        Deed::Update { id, fields } => {
            one(id);
            fields.depends_on.iter_mut().flatten().chain(&mut fields.not_twin_of).for_each(one);
        }
        Deed::Merge { id, duplicates } => {
            one(id);
            duplicates.iter_mut().for_each(one);
        }
        Deed::Depend { id, on, .. } => {
            one(id);
            on.iter_mut().for_each(one);
        }
        Deed::Split { id, .. }
        | Deed::Assign { id, .. }
        | Deed::Move { id, .. }
        | Deed::Comment { id, .. }
        | Deed::Nudge { id, .. }
        | Deed::Validate { id, .. }
        | Deed::Result { id, .. }
        | Deed::Hold { id, .. }
        | Deed::Seen { id }
        | Deed::Offered { id } => one(id),
        Deed::AddAgent(_) | Deed::RetireAgent { .. } => {}
    }
    deed
}

impl Planning<'_> {
    /// Whether a task of the board is meant.
    pub(super) fn is_task(&self, id: &str) -> bool {
        self.work.as_ref().is_some_and(|work| work.board.find_task(id).is_some())
    }

    /// Does what an action says to the board. It was judged on the same board, so that a refusal here is one that the
    /// judging has missed: it is said in the record, and nothing is changed.
    pub(super) fn on_board(&mut self, index: usize, deed: &Deed, action: &Action) -> (String, String) {
        let facts = self.facts;
        let Some(work) = &mut self.work else { return (String::new(), "there is no board here".to_string()) };
        let done = match work.apply(index, deed, facts.role, facts.provenance, facts.now, facts.vouched) {
            Ok(done) => done,
            Err(fault) => return (String::new(), format!("not done: {}", fault.message)),
        };
        for job in &done.jobs {
            // Whose money it takes: its task's project, else that of the message that led here, and its directive.
            let (project, directive) =
                facts.at_hand.map(|led| (led.project.clone(), led.directive.clone())).unwrap_or_default();
            let job = &Job { project: job.project.clone().or(project), directive, ..job.clone() };
            let seed = action_id(facts.run, facts.step, index);
            let (_, effect) = job_effect(job, &seed, facts.run, facts.now, facts.provenance);
            self.push(index, effect);
        }
        let words = match deed {
            Deed::Create(new) => new.title.clone(),
            _ => action.reason.clone(),
        };
        self.tell(format!("{} {}", action.act.name(), done.target), &words);
        (done.target, done.what)
    }

    /// A task waits for an approval, a question or an escalation.
    pub(super) fn hold_task(&mut self, index: usize, id: &str, waits_for: &str) {
        let deed = Deed::Hold { id: id.to_string(), waits_for: waits_for.to_string() };
        self.by_tool(index, &deed);
    }

    /// The task at hand was looked at: what mentioned the director in it, or its passed date, is an item no more.
    pub(super) fn see_task(&mut self) {
        if let Some(message) = self.facts.at_hand.filter(|message| message.item.is_some()) {
            let id = message.id.clone();
            let help = message.item.as_ref().is_some_and(|item| item.kind.is_help());
            self.by_tool(usize::MAX, &if help { Deed::Offered { id } } else { Deed::Seen { id } });
        }
    }

    /// The director was asked whether somebody should help with these, and is done.
    pub(super) fn see_offers(&mut self, ids: &[String]) {
        for id in ids {
            self.by_tool(usize::MAX, &Deed::Offered { id: id.clone() });
        }
        self.write_board();
    }

    fn by_tool(&mut self, index: usize, deed: &Deed) {
        let facts = self.facts;
        if let Some(work) = &mut self.work {
            // A task that this very answer has closed waits for nothing.
            let _closed = work.apply_as(index, deed, Actor::Tool, facts.provenance, facts.now, facts.vouched);
        }
    }

    /// The files that the answer changes, each once, with all that was done to it.
    pub(super) fn write_board(&mut self) {
        let Some(work) = self.work.take() else { return };
        for (key, change) in work.board.changes() {
            let mut actions = work.by.get(&key).cloned().unwrap_or_default();
            actions.retain(|index| *index != usize::MAX);
            let action = actions.first().copied();
            self.outcome.effects.push(Planned { action, effect: Effect::of_board(change, actions) });
        }
    }
}

/// The job by which an agent's engine or pipeline gets its task; its id, and the file that queues it.
pub fn job_effect(job: &Job, seed: &str, run: &str, now: Time, provenance: Provenance) -> (String, Effect) {
    let id = derived_id(IdKind::Job, now, &format!("{seed}/{}/{}", job.task, job.agent));
    let (engine, pipeline) = match &job.works {
        Works::Engine(name) => (Some(name.as_str()), ""),
        Works::Pipeline(name) => (None, name.as_str()),
        Works::ByItself => (None, ""),
    };
    let mut file = json!({
        "schema": 1, "id": id, "pipeline": pipeline, "agent": job.agent, "args": {}, "task": job.task,
        "project": job.project, "run": run, "created": render_rfc3339(now), "provenance": provenance.name(),
    });
    if let Some(assignment) = &job.assignment {
        file["assignment"] = json!(assignment);
    }
    if let Some(directive) = &job.directive {
        file["directive"] = json!(directive);
    }
    if let Some(engine) = engine {
        file["engine"] = json!(engine);
    }
    let path = format!(".harness/jobs/{id}.json");
    (id, Effect::Create { path, text: format!("{file:#}\n") })
}
