//! What a prompt shows of the board: its tasks and the roster, and the short list of what can be done.

use super::{LiveState, Moment, entries, subject};
use crate::domain::agent::Works;
use crate::domain::message::{Message, Provenance};
use crate::domain::role::Role;
use crate::domain::task::Task;
use crate::domain::text::one_line;

/// The open tasks, the most important first, and who is on the roster.
pub(super) fn board_text(live: &LiveState, role: Role, moment: &Moment) -> String {
    let mut tasks: Vec<&Task> = live.board.open_tasks().collect();
    tasks.sort_by(|a, b| (a.status, a.priority, &a.id).cmp(&(b.status, b.priority, &b.id)));
    let caps = &live.caps;
    // Lines that no prompt would show are not made.
    let shown = tasks.iter().take(caps.board_entries).map(|task| task_line(live, task, role, moment));
    let mut lines: Vec<String> = shown.collect();
    lines.resize(tasks.len(), String::new());
    let mut text = entries(&lines, caps.board_entries, caps.board_bytes);
    let agents: Vec<String> = live
        .board
        .agents()
        .filter(|agent| agent.is_active())
        .map(|agent| {
            let works = match &agent.works {
                Works::ByItself => String::new(),
                Works::Engine(name) => format!(", engine {name}"),
                Works::Pipeline(name) => format!(", pipeline {name}"),
            };
            format!("{} ({}{works})", agent.name, one_line(&agent.role, 60))
        })
        .collect();
    if !agents.is_empty() {
        text.push_str(&format!("Roster: {}\n", agents.join(", ")));
    }
    text
}

fn task_line(live: &LiveState, task: &Task, role: Role, moment: &Moment) -> String {
    let mut line = format!("- {} {} {}", task.id, task.status, task.priority);
    if let Some(owner) = &task.owner {
        line.push_str(&format!(", {owner}"));
    }
    let blockers: Vec<&str> = live.board.blockers(task).collect();
    if !blockers.is_empty() {
        line.push_str(&format!(", blocked by {}", blockers.join(", ")));
    }
    if let Some(verdict) = &task.verdict {
        line.push_str(&format!(", verdict {verdict}"));
    }
    if !task.waits_for.is_empty() {
        line.push_str(&format!(", waits for {}", task.waits_for.join(", ")));
    }
    format!("{line}: {}", title(task, role, moment))
}

/// A title as a role may see it: as with subjects, one who acts sees external words only of what is at hand.
fn title(task: &Task, role: Role, moment: &Moment) -> String {
    let at_hand = moment.message.as_ref().is_some_and(|message| message.id == task.id);
    if role.acts() && task.provenance == Provenance::External && !at_hand {
        return "[external]".to_string();
    }
    one_line(&task.title, 120)
}

/// What can be done on the board, a line each, in its order; open mail is in the inbox.
pub(super) fn eligible_text(live: &LiveState, role: Role, moment: &Moment) -> String {
    let line = |message: &Message| {
        let item = message.item.as_ref()?;
        let owner = if item.owner.is_empty() { String::new() } else { format!(", {}", item.owner) };
        let (id, kind, priority) = (&message.id, item.kind.name(), &item.priority);
        Some(format!("- {id} {kind} ({priority}{owner}): {}", subject(message, role, moment)))
    };
    let mut lines: Vec<String> = live.items.iter().filter_map(line).collect();
    let shown = lines.len();
    lines.resize(shown + live.items_more, String::new());
    entries(&lines, live.caps.eligible_entries.min(shown), usize::MAX)
}
