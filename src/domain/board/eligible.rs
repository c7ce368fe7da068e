//! What can be done next on the board, worked out before anybody is asked, and why there is nothing to do.

use super::{Board, NUDGE_AFTER_S, NUDGE_GRACE_S, NUDGES_MAX};
use crate::domain::agent::Works;
use crate::domain::charter::DoneNeeds;
use crate::domain::message::Provenance;
use crate::domain::task::{Priority, Task, TaskStatus};
use crate::domain::time::Time;
use chrono::TimeDelta;
use std::collections::BTreeSet;

/// Why a task is eligible. The first comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ItemKind {
    /// In review, and the validator has not looked.
    Validate,
    /// In review, and the director's to decide.
    Review,
    /// The director is named in a comment.
    Mention,
    /// Back from review, for its last worker.
    Rework,
    /// What it waited for is done.
    Unblocked,
    Delegate,
    /// Its day has come.
    Overdue,
    /// Its owner is silent.
    Nudge,
    /// Its owner was nudged as often as may be.
    Stuck,
    /// High, and nobody helps with it.
    Buddy,
    /// At work, and nobody works at its side.
    Helper,
}

impl ItemKind {
    const ALL: [ItemKind; 11] = [
        ItemKind::Validate,
        ItemKind::Review,
        ItemKind::Mention,
        ItemKind::Rework,
        ItemKind::Unblocked,
        ItemKind::Delegate,
        ItemKind::Overdue,
        ItemKind::Nudge,
        ItemKind::Stuck,
        ItemKind::Buddy,
        ItemKind::Helper,
    ];

    pub fn parse(text: &str) -> Option<ItemKind> {
        ItemKind::ALL.into_iter().find(|kind| kind.name() == text)
    }

    pub fn name(self) -> &'static str {
        match self {
            ItemKind::Validate => "validate",
            ItemKind::Review => "review",
            ItemKind::Mention => "mention",
            ItemKind::Rework => "rework",
            ItemKind::Unblocked => "unblocked",
            ItemKind::Delegate => "delegate",
            ItemKind::Overdue => "overdue",
            ItemKind::Nudge => "nudge",
            ItemKind::Stuck => "stuck",
            ItemKind::Buddy => "buddy",
            ItemKind::Helper => "helper",
        }
    }

    /// Whether it is only about help: good to have, asked about once, and nothing waits for it.
    pub fn is_help(self) -> bool {
        matches!(self, ItemKind::Buddy | ItemKind::Helper)
    }
}

/// A task that something can be done about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    pub id: String,
    pub kind: ItemKind,
    pub priority: Priority,
    pub title: String,
    pub owner: Option<String>,
    pub provenance: Provenance,
}

/// Why there is nothing to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Idle {
    NoWork,
    OnlyApprovals,
    OnlyBlocked,
    OnlyFresh,
    Mixed,
}

impl Idle {
    pub fn words(self) -> &'static str {
        match self {
            Idle::NoWork => "no work",
            Idle::OnlyApprovals => "only approvals",
            Idle::OnlyBlocked => "only blocked",
            Idle::OnlyFresh => "only fresh",
            Idle::Mixed => "mixed",
        }
    }
}

impl Board {
    /// What can be done, in the order in which it should be; one entry a task.
    pub fn eligible(&self, now: Time) -> Vec<Item> {
        let helped: BTreeSet<&str> = self.open_tasks().filter_map(|task| task.assists.as_deref()).collect();
        let at_work = || self.open_tasks().filter(|task| task.status == TaskStatus::InProgress);
        let beside: BTreeSet<&str> = at_work().filter_map(|task| task.assists.as_deref()).collect();
        // One whose work is in review has time to help.
        let busy: BTreeSet<&str> = at_work().filter_map(|task| task.owner.as_deref()).collect();
        let free = self.agents.values().any(|agent| agent.is_active() && !busy.contains(agent.name.as_str()));
        let help = |task: &Task| {
            let asked = task.help_told.as_deref() == Some(task.giving());
            let worked = task.status == TaskStatus::InProgress && task.assists.is_none() && free && !asked;
            // Nobody can help an engine or a program at its work.
            let owner = task.owner.as_ref().and_then(|owner| self.agents.get(owner));
            let worked = worked && owner.is_some_and(|agent| agent.works == Works::ByItself);
            match task.priority {
                Priority::High if worked && !helped.contains(task.id.as_str()) => Some(ItemKind::Buddy),
                Priority::High | Priority::Medium if worked && !beside.contains(task.id.as_str()) => {
                    Some(ItemKind::Helper)
                }
                _ => None,
            }
        };
        let item = |task: &Task| {
            let kind =
                self.kind_of(task, now).or_else(|| help(task).filter(|_| task.waits_for.is_empty()))?;
            let (id, title, owner) = (task.id.clone(), task.title.clone(), task.owner.clone());
            Some(Item { id, kind, priority: task.priority, title, owner, provenance: task.provenance })
        };
        let mut items: Vec<Item> = self.open_tasks().filter_map(item).collect();
        // Delegating goes by priority, whether a task was blocked before or not.
        let rank = |kind: ItemKind| if kind == ItemKind::Unblocked { ItemKind::Delegate } else { kind };
        items.sort_by(|a, b| (rank(a.kind), a.priority, &a.id).cmp(&(rank(b.kind), b.priority, &b.id)));
        items
    }

    fn kind_of(&self, task: &Task, now: Time) -> Option<ItemKind> {
        if !task.waits_for.is_empty() {
            return None;
        }
        let validates = self.rules.done_needs.contains(&DoneNeeds::Validator);
        if task.status == TaskStatus::Review {
            return Some(if validates && task.verdict.is_none() {
                ItemKind::Validate
            } else {
                ItemKind::Review
            });
        }
        if task.mentioned.iter().any(|name| name == "lead") {
            return Some(ItemKind::Mention);
        }
        if task.due.is_some_and(|due| due <= now) && task.due_told != task.due {
            return Some(ItemKind::Overdue);
        }
        match task.status {
            TaskStatus::Inbox if self.is_blocked(task) => None,
            TaskStatus::Inbox if task.owner.is_some() => Some(ItemKind::Rework),
            TaskStatus::Inbox if !task.depends_on.is_empty() => Some(ItemKind::Unblocked),
            TaskStatus::Inbox => Some(ItemKind::Delegate),
            TaskStatus::InProgress if nudge_at(task) > now => None,
            TaskStatus::InProgress if task.nudges >= NUDGES_MAX => Some(ItemKind::Stuck),
            TaskStatus::InProgress => Some(ItemKind::Nudge),
            TaskStatus::Review | TaskStatus::Done => None,
        }
    }

    /// Why there is nothing to do, where so many messages wait for the human and nothing is eligible.
    pub fn idle(&self, waiting: usize) -> Idle {
        let mut reasons = BTreeSet::new();
        if waiting > 0 {
            reasons.insert("approvals");
        }
        for task in self.open_tasks() {
            reasons.insert(match () {
                () if !task.waits_for.is_empty() => "approvals",
                () if self.is_blocked(task) => "blocked",
                () => "fresh",
            });
        }
        match reasons.iter().copied().collect::<Vec<_>>()[..] {
            [] => Idle::NoWork,
            ["approvals"] => Idle::OnlyApprovals,
            ["blocked"] => Idle::OnlyBlocked,
            ["fresh"] => Idle::OnlyFresh,
            _ => Idle::Mixed,
        }
    }
}

/// The moments at which an open task becomes eligible by time alone, each with what happens then. One that waits for a
/// person has none.
pub fn moments_of(task: &Task) -> Vec<(Time, String)> {
    if !task.waits_for.is_empty() || !task.is_open() {
        return Vec::new();
    }
    let silent = (task.status == TaskStatus::InProgress).then(|| nudge_at(task));
    let nudge = silent.map(|at| (at, format!("the owner of {} may be nudged", task.id)));
    let due = task.due.filter(|_| task.due_told != task.due).map(|at| (at, format!("{} is due", task.id)));
    nudge.into_iter().chain(due).collect()
}

/// When a silent owner may be nudged.
fn nudge_at(task: &Task) -> Time {
    let silent = task.heard + TimeDelta::seconds(NUDGE_AFTER_S);
    let grace = task.nudged.map(|last| last + TimeDelta::seconds(NUDGE_GRACE_S));
    grace.map_or(silent, |grace| grace.max(silent))
}
