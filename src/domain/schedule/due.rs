//! What a schedule's turn comes to: the slot that fires, and those that are passed over.

use super::Schedule;
use crate::domain::config::MissedRuns;
use crate::domain::time::{Time, render_rfc3339};
use chrono::TimeDelta;

/// As late as this a slot is still on time: a timer pulses every minute at the most.
pub const ON_TIME_S: i64 = 5 * 60;
/// Older than this, a slot that was missed fires no more, whatever the policy.
pub const AGE_LIMIT_S: i64 = 24 * 3_600;

/// A schedule's turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The slot that fires now.
    pub fires: Option<Time>,
    pub missed: Option<Missed>,
    /// Up to where the schedule is dealt with after this turn.
    pub dealt: Time,
    /// The next slot.
    pub next: Option<Time>,
}

/// Slots that are passed over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missed {
    /// How many of them are within the age limit.
    pub count: usize,
    pub first: Time,
    pub last: Time,
    /// Whether the first ones are older than the limit; those are not counted.
    pub older: bool,
}

impl std::fmt::Display for Missed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (first, last) = (render_rfc3339(self.first), render_rfc3339(self.last));
        match (self.count, self.older) {
            (0, _) => write!(f, "everything from {first} on was missed, and is more than a day old"),
            (1, false) => write!(f, "1 slot was missed, at {last}"),
            (count, false) => write!(f, "{count} slots were missed, from {first} to {last}"),
            (count, true) => {
                write!(f, "{count} slots of the last day were missed, and all from {first} on before")
            }
        }
    }
}

/// Works out a schedule's turn. At most one slot fires: after a long sleep the latest, and only where the policy says so
/// and it is not too old.
pub fn turn(schedule: &Schedule, dealt: Option<Time>, policy: MissedRuns, now: Time) -> Turn {
    let dealt = dealt.unwrap_or(schedule.created);
    // A clock that was far ahead for a while dealt with slots that are yet to come. Which of them really fired is known
    // by their messages, so that nothing fires twice when they come again.
    let dealt = if dealt > now + TimeDelta::seconds(AGE_LIMIT_S) { now } else { dealt };
    let next = schedule.next_slot(now.max(dealt));
    let Some(first) = schedule.next_slot(dealt).filter(|slot| *slot <= now) else {
        return Turn { fires: None, missed: None, dealt, next };
    };
    let oldest = now - TimeDelta::seconds(AGE_LIMIT_S);
    let older = first < oldest;
    let mut recent = Vec::new();
    let mut slot = if older { schedule.next_slot(oldest - TimeDelta::seconds(1)) } else { Some(first) };
    while let Some(at) = slot.filter(|at| *at <= now) {
        recent.push(at);
        slot = schedule.next_slot(at);
    }
    let Some(last) = recent.last().copied() else {
        let missed = Missed { count: 0, first, last: first, older };
        return Turn { fires: None, missed: Some(missed), dealt: oldest, next };
    };
    let on_time = (now - last).num_seconds() <= ON_TIME_S;
    let fires = (on_time || policy == MissedRuns::Latest).then_some(last);
    let passed = if fires.is_some() { &recent[..recent.len() - 1] } else { &recent[..] };
    let missed = (older || !passed.is_empty()).then(|| Missed {
        count: passed.len(),
        first,
        last: passed.last().copied().unwrap_or(first),
        older,
    });
    Turn { fires, missed, dealt: last, next }
}
