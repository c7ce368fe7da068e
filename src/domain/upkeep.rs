//! When the summarizer and the documenter are due, from what was done before and what is new.
//!
//! Memory is consolidated two to three days after the last time, once there is something new: a run that happens from
//! the second day on does it, and by the third day a run is called for. The week is written down every seven days in
//! which something was done. A try that came to nothing is tried again a day later, not with every run.

use super::memory::Entry;
use super::time::{Time, parse_rfc3339, render_rfc3339};
use chrono::TimeDelta;
use serde::{Deserialize, Serialize};

/// `.harness/upkeep.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Upkeep {
    pub schema: u64,
    #[serde(default)]
    pub summarizer: Mark,
    #[serde(default)]
    pub documenter: Mark,
}

/// What one of the two did last.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Mark {
    pub done_at: Option<String>,
    /// Stamped when a try begins, so that one that dies counts.
    pub tried_at: Option<String>,
    /// The last day that was consolidated, and how many of its entries there were.
    #[serde(default)]
    pub day: String,
    #[serde(default)]
    pub entries: usize,
}

/// From when on something is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due {
    /// A run that happens from here on does it.
    pub from: Time,
    /// A run is called for.
    pub latest: Time,
}

impl Mark {
    fn time(text: &Option<String>) -> Option<Time> {
        text.as_deref().and_then(parse_rfc3339)
    }

    pub fn done(&self) -> Option<Time> {
        Mark::time(&self.done_at)
    }

    /// With a try that begins now.
    pub fn tried(&self, now: Time) -> Mark {
        Mark { tried_at: Some(render_rfc3339(now)), ..self.clone() }
    }

    /// A try that came to nothing: a day later is early enough for the next.
    fn not_before(&self) -> Option<Time> {
        let tried = Mark::time(&self.tried_at)?;
        let failed = self.done().is_none_or(|done| tried > done);
        failed.then(|| tried + TimeDelta::days(1))
    }

    fn due(&self, from: Time, latest: Time) -> Due {
        let after = |time: Time| self.not_before().map_or(time, |earliest| time.max(earliest));
        Due { from: after(from), latest: after(latest) }
    }

    /// The entries that came since, of all in their order.
    pub fn new_entries<'a>(&self, entries: &'a [Entry]) -> &'a [Entry] {
        let old = entries.iter().take_while(|entry| entry.day < self.day).count();
        let of_day = entries[old..].iter().take_while(|entry| entry.day == self.day).count();
        &entries[old + of_day.min(self.entries)..]
    }

    /// With all of these entries consolidated.
    pub fn consolidated(&self, entries: &[Entry], now: Time) -> Mark {
        let day = entries.last().map_or_else(|| self.day.clone(), |entry| entry.day.clone());
        let count = entries.iter().filter(|entry| entry.day == day).count();
        let at = Some(render_rfc3339(now));
        Mark { done_at: at.clone(), tried_at: at, day, entries: count }
    }

    /// When consolidation is due; never where nothing is new.
    pub fn summary_due(&self, entries: &[Entry]) -> Option<Due> {
        let first = self.new_entries(entries).first()?.at()?;
        let since = self.done().unwrap_or(first);
        Some(self.due(since + TimeDelta::days(2), since + TimeDelta::days(3)))
    }

    /// When the week is to be written down; `worked` is when the department first did something since the last time.
    pub fn weekly_due(&self, worked: Option<Time>) -> Option<Due> {
        let since = self.done().or(worked)?;
        worked?;
        Some(self.due(since + TimeDelta::days(7), since + TimeDelta::days(8)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::message::Provenance;

    fn at(text: &str) -> Time {
        parse_rfc3339(text).unwrap()
    }

    fn entry(day: &str, key: &str) -> Entry {
        Entry {
            day: day.into(),
            key: key.into(),
            tags: Vec::new(),
            provenance: Provenance::Department,
            refs: Vec::new(),
            text: String::new(),
        }
    }

    #[test]
    fn nothing_new_is_never_due() {
        let entries = [entry("2026-11-18", "a"), entry("2026-11-18", "b")];
        let done = Mark::default().consolidated(&entries, at("2026-11-20T12:00:00Z"));
        assert_eq!(done.summary_due(&entries), None);
        assert_eq!(done.weekly_due(None), None);
    }

    #[test]
    fn what_is_new_is_due_two_to_three_days_after_the_last_time() {
        let mut entries = vec![entry("2026-11-18", "a")];
        let due = Mark::default().summary_due(&entries).unwrap();
        assert_eq!((due.from, due.latest), (at("2026-11-20T00:00:00Z"), at("2026-11-21T00:00:00Z")));
        let done = Mark::default().consolidated(&entries, at("2026-11-18T12:00:00Z"));
        entries.push(entry("2026-11-18", "b"));
        assert_eq!(done.new_entries(&entries).len(), 1);
        assert_eq!(done.summary_due(&entries).unwrap().from, at("2026-11-20T12:00:00Z"));
    }

    #[test]
    fn a_try_that_failed_is_tried_again_a_day_later() {
        let entries = [entry("2026-11-01", "a")];
        let tried = Mark::default().tried(at("2026-11-18T12:00:00Z"));
        assert_eq!(tried.summary_due(&entries).unwrap().from, at("2026-11-19T12:00:00Z"));
        let week = tried.weekly_due(Some(at("2026-11-01T00:00:00Z"))).unwrap();
        assert_eq!(week.from, at("2026-11-19T12:00:00Z"));
    }
}
