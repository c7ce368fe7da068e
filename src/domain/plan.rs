//! A plan: everything one step will change, written down before the first of it is changed.
//!
//! Its file in `journal/` is the commit point. Each effect can be carried out any number of times with the same end,
//! so that after a crash the whole plan is simply carried out again. The record, the ledger line and the log entry are
//! part of it: what follows from a step is never worked out twice.

use super::board::FileChange;
use super::ledger::{Line, render_line};
use super::message::Status;
use super::project::ProjectEffect;
use super::verdict::Verdict;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The newest format this program knows.
pub const PLAN_SCHEMA: u64 = 1;

/// One step's plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    pub schema: u64,
    pub run: String,
    pub step: u64,
    pub dept: String,
    /// The hash of the charter it was judged by.
    pub charter: String,
    pub role: String,
    /// `human`, `department` or `external`: the least trusted of what led to it.
    pub provenance: String,
    /// The actions as the director gave them, for judging again where the charter has changed.
    pub actions: Vec<Map<String, Value>>,
    pub effects: Vec<Planned>,
    /// What is changed, as it was before; for undoing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<Before>,
    pub finish: Finish,
    /// How often carrying it out has failed.
    #[serde(default)]
    pub failures: u64,
}

impl Plan {
    /// Whether it carries out what a human approved: then it is named by the approval.
    pub fn is_approved(&self) -> bool {
        self.run.starts_with("a-")
    }

    /// Whether an action that waits for a human may go on: asking is all that is planned for it.
    pub fn only_asks_for(&self, index: usize) -> bool {
        let asks =
            |effect: &Effect| matches!(effect, Effect::Create { path, .. } if path.starts_with("approvals/"));
        let mut own = self.effects.iter().filter(|planned| planned.belongs_to(index));
        own.any(|planned| asks(&planned.effect))
    }

    /// Leaves out some actions, by their places and with the codes that refuse them now. The ledger line and the record
    /// say so too: what they call allowed was carried out.
    pub fn set_aside(&mut self, refused: &[(usize, &str)]) {
        let is_refused = |index: usize| refused.iter().any(|(refused, _)| *refused == index);
        // A task that several actions changed is changed as a whole: where one of them is refused, it stays as it is.
        self.effects.retain(|planned| !planned.actions().any(is_refused));
        let Ok(Line::Step(mut step)) = serde_json::from_str(&self.finish.ledger) else { return };
        for (index, code) in refused {
            if let Some(action) = step.actions.get_mut(*index) {
                action.verdict = Verdict::Refuse.to_string();
                action.code = code.to_string();
            }
        }
        let line = render_line(&Line::Step(step));
        self.finish.record = self.finish.record.replace(self.finish.ledger.trim_end(), line.trim_end());
        self.finish.ledger = line;
    }
}

/// A file as it was before the plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Before {
    /// The path, the message's id, or `<dept>/<id>` of a message elsewhere.
    pub of: String,
    pub path: String,
    pub text: Option<String>,
}

/// One effect, and the action it belongs to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Planned {
    /// The action's place in the answer; absent for what the tool adds by itself.
    pub action: Option<usize>,
    #[serde(flatten)]
    pub effect: Effect,
}

impl Planned {
    /// The places of the actions that it comes from.
    fn actions(&self) -> impl Iterator<Item = usize> {
        let several = match &self.effect {
            Effect::Board { actions, .. } => actions.as_slice(),
            _ => &[],
        };
        self.action.into_iter().chain(several.iter().copied())
    }

    pub fn belongs_to(&self, action: usize) -> bool {
        self.actions().any(|index| index == action)
    }
}

/// One change on disk. Paths are beneath the department's folder; a project alone lies elsewhere.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "effect", rename_all = "lowercase")]
pub enum Effect {
    /// Into a department's inbox, once, however it fared there since.
    Deliver { dept: String, id: String, text: String },
    /// A new file.
    Create { path: String, text: String },
    /// An entry at the end of a log; its first line is its own.
    Append { path: String, text: String },
    /// Another text for a file, as long as it is what it was.
    Replace { path: String, before: Option<String>, text: String },
    /// A task or an agent as it is from now on; all that the answer does to it at once, so that it can be repeated.
    Board {
        /// The actions that it comes from.
        actions: Vec<usize>,
        path: String,
        /// Where it stands now, where that is another place.
        from: Option<String>,
        /// The hash of what it said; absent where it is new.
        before: Option<String>,
        text: String,
    },
    /// A change of a project, under the root's `.harness/projects/`; its key makes it happen once.
    Project(Box<ProjectEffect>),
    /// A message moved on.
    Mark { id: String, mark: Marking },
    /// A file taken away, as long as it is what it was.
    Remove { path: String, sha256: String },
    /// A message taken out of a department's inbox, as long as nobody has touched it there.
    Recall { dept: String, id: String, sha256: String },
}

/// How a message is moved on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Marking {
    pub status: String,
    pub at: String,
    pub by: String,
    pub run: String,
    pub why: String,
    pub waits_for: Option<String>,
}

impl Effect {
    /// A change of the board, by the actions it comes from.
    pub fn of_board(change: FileChange, actions: Vec<usize>) -> Effect {
        match change {
            FileChange::Create { path, text } => {
                Effect::Board { actions, path, from: None, before: None, text }
            }
            FileChange::Replace { path, before, text } => {
                Effect::Board { actions, path, from: None, before: Some(before), text }
            }
            FileChange::Move { from, to, before, text } => {
                Effect::Board { actions, path: to, from: Some(from), before: Some(before), text }
            }
        }
    }
}

impl Marking {
    pub fn status(&self) -> Status {
        Status::parse(&self.status).unwrap_or(Status::Acknowledged)
    }
}

/// What is written when the effects are there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Finish {
    pub record_name: String,
    pub record: String,
    /// A whole line of the ledger.
    pub ledger: String,
    /// An entry of `worker-log.md`; empty for none.
    pub worker_log: String,
}
