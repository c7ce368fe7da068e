//! Mail in a prompt: told in the history as it arrives, and named in the inbox as long as it is open.
//!
//! The history only grows at its end, so that two successive prompts have it in common; the inbox stands behind what
//! changes with every step. So a message has its whole line in the history, once, and in the inbox a short one. What the
//! history doesn't show (any more) has its whole line in the inbox, and so have the few that are next.

use super::{LiveState, Moment, WINDOW, cut_before, entries_of, history_shown, subject};
use crate::domain::message::{Message, Provenance, Status};
use crate::domain::role::Role;
use crate::domain::text::one_line;
use crate::domain::time::{render_rfc3339, render_ts};

/// How many of the oldest messages have their whole line in the inbox too.
const NEXT: usize = 2;

impl LiveState {
    /// Adds an entry of history for each open message that the shown part of it doesn't tell of. The step that is taken
    /// on this state writes them down.
    pub fn note_arrivals(&mut self) {
        // Half of what is shown for sure: were it more, mail alone could push out mail, for ever.
        let room = history_shown(&self.caps).saturating_sub(WINDOW) / 2;
        let told: Vec<&str> = self.told().collect();
        let new: Vec<String> = (self.inbox.iter().take(room.min(self.caps.inbox_entries)))
            .filter(|message| !told.contains(&message.id.as_str()))
            .map(arrival)
            .collect();
        let last = self.history.last().map_or(0, |(ordinal, _)| *ordinal);
        self.arrived = new.len();
        self.history.extend((last + 1..).zip(new));
    }

    /// The entries of history that the next step has to write down.
    pub fn new_arrivals(&self) -> &[(u64, String)] {
        &self.history[self.history.len() - self.arrived..]
    }

    fn shown_history(&self) -> impl Iterator<Item = &str> {
        let last = self.history.last().map_or(0, |(ordinal, _)| *ordinal);
        let before = cut_before(last, &self.caps);
        self.history.iter().filter(move |(ordinal, _)| *ordinal > before).map(|(_, line)| line.as_str())
    }

    /// The messages whose arrival the shown history tells.
    fn told(&self) -> impl Iterator<Item = &str> {
        self.shown_history().filter_map(arrived_id)
    }
}

/// External words stay out of what every role reads.
fn arrival(message: &Message) -> String {
    let subject = match message.provenance {
        Provenance::External => "[external]".to_string(),
        _ => one_line(&message.subject, 120),
    };
    let Message { id, kind, from, created, .. } = message;
    format!("{} received {id} {kind} from {from}: {subject}", render_ts(*created))
}

fn arrived_id(line: &str) -> Option<&str> {
    let mut words = line.split(' ').skip(1);
    (words.next() == Some("received")).then(|| words.next()).flatten()
}

/// Whether an entry of history tells of mail that came, and not of what the department did.
pub fn is_arrival(line: &str) -> bool {
    arrived_id(line).is_some()
}

pub(super) fn inbox_text(live: &LiveState, role: Role, moment: &Moment) -> String {
    let told: Vec<&str> = live.told().collect();
    let line = |(index, message): (usize, &Message)| {
        // An orchestrator sees external subjects, which the history doesn't show.
        let hidden = message.provenance == Provenance::External && !role.acts();
        if index < NEXT || hidden || !told.contains(&message.id.as_str()) {
            whole_line(message, role, moment)
        } else {
            short_line(message)
        }
    };
    let lines: Vec<String> = live.inbox.iter().enumerate().map(line).collect();
    entries_of(&lines, lines.len() + live.inbox_beyond, live.caps.inbox_entries, live.caps.inbox_bytes)
}

fn waits(message: &Message) -> String {
    message.waits_for.as_ref().map(|id| format!(", waits for {id}")).unwrap_or_default()
}

fn whole_line(message: &Message, role: Role, moment: &Moment) -> String {
    let created = render_rfc3339(message.created);
    let Message { id, status, kind, from, .. } = message;
    let (waits, subject) = (waits(message), subject(message, role, moment));
    format!("- {id} {status}{waits} {created} {kind} from {from}: {subject}")
}

fn short_line(message: &Message) -> String {
    let Message { id, status, kind, .. } = message;
    match (status, &message.waits_for) {
        (Status::Pending, None) => format!("- {id} {kind}"),
        _ => format!("- {id} {status}{} {kind}", waits(message)),
    }
}

/// What was sent and the history doesn't show: by a command inside a run, or long ago.
pub(super) fn outbox_text(live: &LiveState, role: Role, moment: &Moment) -> String {
    let untold = |message: &&Message| !live.shown_history().any(|line| line.contains(&message.id));
    let line = |message: &Message| {
        let (to, subject) = (message.to.join(", "), subject(message, role, moment));
        format!("- {} {} to {to}: {subject}\n", message.id, message.kind)
    };
    let lines: String = live.outbox.iter().filter(untold).map(line).collect();
    match live.outbox_before {
        before if before > 0 && !lines.is_empty() => format!("[cut: {before} earlier entries]\n{lines}"),
        _ => lines,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arrival_is_told_from_what_was_done() {
        assert_eq!(arrived_id("20261118T004201Z received m-1 Note from user: Hi"), Some("m-1"));
        assert!(!is_arrival("20261118T004201Z sent m-1 Note to rd: we received m-2"));
        assert!(!is_arrival("20261118T004201Z decided: received"));
    }
}
