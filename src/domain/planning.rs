//! From judged actions to effects: what each action will change, by names that follow from run, step and index alone.

mod asks;
mod board;
mod checks;
mod letters;
mod notes;
mod projects;
mod references;
mod times;

pub use board::{BoardWork, deed_of, job_effect};
pub use references::named_action;

use super::action::{Act, Action};
use super::board::{Board, Deed};
use super::id::{Dept, IdKind, derived_id};
use super::ledger::ActionLine;
use super::message::{Message, Provenance, Status};
use super::plan::{Effect, Marking, Planned};
use super::portfolio::Portfolio;
use super::role::Role;
use super::text::one_line;
use super::time::{Time, render_rfc3339, render_ts};
use super::verdict::{Ruling, Verdict};
use chrono::Timelike;
use serde_json::{Map, json};
use std::collections::BTreeMap;

/// What planning needs to know of the step.
#[derive(Clone, Debug)]
pub struct StepFacts<'a> {
    pub dept: &'a Dept,
    pub run: &'a str,
    pub step: u64,
    pub now: Time,
    /// The message the step is about.
    pub at_hand: Option<&'a Message>,
    /// Every message that a `ref` may name.
    pub known: &'a [Message],
    pub provenance: Provenance,
    /// The approval that the actions are carried out by.
    pub vouched: Option<&'a str>,
    pub expires_hours: u64,
    /// Files that an action may replace, curated memory and schedules, as they are, by path.
    pub curated: &'a [(String, String)],
    /// Who answers.
    pub role: Role,
    /// The department's board as it is.
    pub board: Option<&'a Board>,
    /// The directives and projects there are.
    pub portfolio: &'a Portfolio,
}

/// One action with its verdict.
#[derive(Clone, Debug)]
pub struct Judged {
    pub action: Action,
    pub ruling: Ruling,
}

/// What a step's actions come to.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    pub effects: Vec<Planned>,
    pub lines: Vec<ActionLine>,
    /// What each action came to, in a sentence, in their order.
    pub results: Vec<String>,
    /// Lines for the history, without ordinals.
    pub history: Vec<String>,
}

/// The id of one action: `<run>/<step>/<index>`.
pub fn action_id(run: &str, step: u64, index: usize) -> String {
    format!("{run}/{step}/{index}")
}

/// How often a thread has gone round once it is answered: naming another message doesn't begin it anew.
pub fn hops_after(led_by: Option<&Message>, at_hand: Option<&Message>) -> u64 {
    led_by.into_iter().chain(at_hand).map(|message| message.hops + 1).max().unwrap_or(0)
}

/// Plans every action. Where one needs approval, the rest goes on and the message at hand waits for it.
pub fn plan_actions(judged: &[Judged], facts: &StepFacts<'_>) -> Outcome {
    let mut planning = Planning::of(facts);
    for (index, one) in judged.iter().enumerate() {
        planning.add(index, one);
    }
    planning.finish()
}

/// What it comes to where the director was asked about help for these tasks, and is done: they are not asked about again.
pub fn plan_offers(ids: &[String], facts: &StepFacts<'_>) -> Outcome {
    let mut planning = Planning::of(facts);
    planning.see_offers(ids);
    planning.outcome
}

/// A message to be moved on.
struct Mark {
    action: Option<usize>,
    id: String,
    status: Status,
    why: String,
    waits_for: Option<String>,
}

struct Planning<'a> {
    facts: &'a StepFacts<'a>,
    outcome: Outcome,
    /// Marks come last, the message at hand's the very last.
    marks: Vec<Mark>,
    /// What the message at hand waits for.
    waits: Option<String>,
    /// The board, as the actions so far leave it.
    work: Option<BoardWork>,
    /// The project that an earlier action of the same answer makes: what follows belongs to it.
    new_project: Option<String>,
    /// The project that each action made.
    projects: BTreeMap<usize, String>,
}

impl<'a> Planning<'a> {
    fn of(facts: &'a StepFacts<'a>) -> Planning<'a> {
        Planning {
            facts,
            outcome: Outcome::default(),
            marks: Vec::new(),
            waits: None,
            work: facts.board.map(|board| BoardWork::new(board.clone(), facts.run, facts.step)),
            new_project: None,
            projects: BTreeMap::new(),
        }
    }
}

impl Planning<'_> {
    fn add(&mut self, index: usize, judged: &Judged) {
        let action = &*self.with_real_ids(&judged.action);
        let (target, result) = match judged.ruling.verdict {
            Verdict::NeedsApproval => self.ask_approval(index, action, &judged.ruling, None),
            _ => self.carry_out(index, action),
        };
        self.outcome.results.push(result);
        self.outcome.lines.push(ActionLine {
            id: action_id(self.facts.run, self.facts.step, index),
            name: action.act.name().to_string(),
            target,
            verdict: judged.ruling.verdict.to_string(),
            code: judged.ruling.code.to_string(),
            rule: judged.ruling.rule.clone(),
            thread: self.thread_of(index, action),
            about: one_line(about(&action.act), 100),
        });
    }

    fn id(&self, kind: IdKind, index: usize) -> String {
        derived_id(kind, self.facts.now, &action_id(self.facts.run, self.facts.step, index))
    }

    /// When what an action sends is made: a microsecond after that of the action before, in the second of the step.
    fn moment(&self, index: usize) -> Time {
        let now = self.facts.now;
        let micros = now.timestamp_subsec_micros().saturating_add(u32::try_from(index).unwrap_or(u32::MAX));
        now.with_nanosecond(micros.min(999_999) * 1_000).unwrap_or(now)
    }

    fn push(&mut self, index: usize, effect: Effect) {
        self.outcome.effects.push(Planned { action: Some(index), effect });
    }

    /// A line for the history; words of an external text's making are not carried on by it.
    fn tell(&mut self, line: String, words: &str) {
        let ts = render_ts(self.facts.now);
        let words =
            if self.facts.provenance == Provenance::External { "(led by external text)" } else { words };
        self.outcome.history.push(format!("{ts} {line}: {}", one_line(words, 120)));
    }

    fn carry_out(&mut self, index: usize, action: &Action) -> (String, String) {
        match &action.act {
            Act::SendMessage { .. } => self.send(index, action),
            Act::MarkMessage { id, status } => self.mark(index, id, *status, &action.reason),
            Act::LogDecision { .. } => self.log_decision(index, action),
            Act::Remember { text, tags, refs } => self.remember(index, text, tags, refs),
            Act::CurateMemory { file, text } => self.curate(index, file, text),
            Act::WriteWeekly { text } => self.write_weekly(index, text),
            Act::Board { deed, .. } => self.on_board(index, deed, action),
            Act::CreateProject { .. } => self.create_project(index, action),
            Act::UpdateProject { .. } => self.update_project(index, action),
            Act::SummarizeDirective { id, text } => self.summarize_directive(index, id, text),
            Act::Dispatch { .. } => self.dispatch(index, action),
            Act::AskHuman { .. } => self.ask_human(index, action),
            Act::RequestApproval { action: inner, confidence } => {
                let inner = Action { confidence: Some(*confidence), ..(**inner).clone() };
                self.request(index, &inner, action)
            }
            Act::Escalate { id, to } => self.escalate(index, id, to.as_deref(), &action.reason),
            Act::Schedule { .. } => self.schedule(index, action),
            Act::Unschedule { name } => self.unschedule(index, name),
            Act::Validate { id, verdict, evidence } => match deed_of(&action.act, self.facts.at_hand) {
                Some(deed) => self.on_board(index, &deed, action),
                None => self.validate(index, id, verdict, evidence),
            },
        }
    }

    /// The marks, the message at hand's last. Where it waits for something, that is its mark.
    fn finish(mut self) -> Outcome {
        self.see_task();
        if let Some(task) = self.facts.at_hand.filter(|message| message.item.is_some())
            && let Some(waits) = self.waits.take()
        {
            self.hold_task(usize::MAX, &task.id, &waits);
        }
        self.write_board();
        let at_hand = self.facts.at_hand.map(|message| message.id.clone());
        let is_at_hand = |id: &str| at_hand.as_deref() == Some(id);
        let mut marks = std::mem::take(&mut self.marks);
        if let (Some(waits), Some(id)) = (self.waits.take(), at_hand.clone()) {
            for mark in marks.iter().filter(|mark| is_at_hand(&mark.id)) {
                if let Some(index) = mark.action {
                    self.outcome.results[index] = format!("held: {id} waits for {waits}");
                    let line = &mut self.outcome.lines[index];
                    line.code = "held".to_string();
                    line.target = format!("{id} {}, waits for {waits}", Status::Acknowledged);
                }
            }
            marks.retain(|mark| !is_at_hand(&mark.id));
            let why = format!("waits for {waits}");
            marks.push(Mark { action: None, id, status: Status::Acknowledged, why, waits_for: Some(waits) });
        }
        marks.sort_by_key(|mark| is_at_hand(&mark.id));
        for Mark { action, id, status, why, waits_for } in marks {
            let mark = Marking {
                status: status.name().to_string(),
                at: render_rfc3339(self.facts.now),
                by: self.facts.dept.to_string(),
                run: self.facts.run.to_string(),
                why,
                waits_for,
            };
            self.outcome.effects.push(Planned { action, effect: Effect::Mark { id, mark } });
        }
        self.outcome
    }
}

/// The words that tell a person what an action is about.
fn about(act: &Act) -> &str {
    match act {
        Act::SendMessage { subject, .. } => subject,
        Act::LogDecision { title, .. } | Act::CreateProject { title, .. } => title,
        Act::Remember { text, .. } => text,
        Act::AskHuman { question, .. } => question,
        Act::Board { deed: Deed::Create(new), .. } => &new.title,
        _ => "",
    }
}

/// The escalation that an orchestrator's ESCALATE comes to, as an action of its own.
pub fn escalation(id: &str, reason: &str) -> Action {
    let mut json = Map::new();
    json.insert("do".into(), json!("escalate"));
    json.insert("id".into(), json!(id));
    json.insert("reason".into(), json!(reason));
    Action {
        act: Act::Escalate { id: id.to_string(), to: None },
        reason: reason.to_string(),
        confidence: None,
        risk: super::action::Risk::None,
        json,
    }
}
