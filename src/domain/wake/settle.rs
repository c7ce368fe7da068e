//! What a run leaves for the next tick: its fingerprint, and when to try again where it failed.

use super::{Parts, Settled};
use crate::domain::time::{Time, render_rfc3339};
use chrono::TimeDelta;

/// After how many seconds a failed run is tried again, one after the other.
const RETRIES: [i64; 3] = [5 * 60, 30 * 60, 3 * 3_600];

/// How a run ended.
#[derive(Clone, Debug)]
pub struct Ended<'a> {
    pub run: &'a str,
    pub at: Time,
    pub outcome: &'a str,
    pub parts: Parts,
    /// Whether something that could be done is still open.
    pub open: bool,
    pub changed: bool,
    /// Whether only a beat led to it.
    pub beat: bool,
    /// When the engines may be asked again, where a quota said so.
    pub not_before: Option<Time>,
}

/// What is known after a run, from what was known before it. A department that was stopped, refused or failed is left
/// alone until something changes or its next try comes; it is never asked the same at every tick.
pub fn settle(before: Option<&Settled>, ended: Ended<'_>) -> Settled {
    let same = before.filter(|before| before.parts == ended.parts);
    let tries = same.map_or(0, |before| before.failures);
    let stuck = matches!(ended.outcome, "failed" | "refused");
    let failures = if stuck { tries + 1 } else { 0 };
    // A refusal is no fault of the state: a budget is full again tomorrow, so its last step is repeated for ever.
    let last = RETRIES.len() as u64;
    let gave_up = ended.outcome == "failed" && failures > last;
    let wait = RETRIES[failures.clamp(1, last) as usize - 1];
    let retry = (stuck && !gave_up).then(|| (ended.at + TimeDelta::seconds(wait)).min(later(&ended)));
    // Where it made progress and could go on, it goes on; what it decided to leave stays as it is.
    let more = ended.open && ended.changed && matches!(ended.outcome, "escalated" | "max-iterations");
    let beats = match (ended.beat, ended.changed) {
        (true, false) => before.map_or(0, |before| before.beats) + 1,
        _ => 0,
    };
    Settled {
        run: ended.run.to_string(),
        at: render_rfc3339(ended.at),
        outcome: ended.outcome.to_string(),
        parts: ended.parts,
        more,
        failures,
        retry_at: retry.map(render_rfc3339),
        gave_up,
        beats,
    }
}

/// A quota that ends sooner than the next try is no reason to wait longer.
fn later(ended: &Ended<'_>) -> Time {
    ended.not_before.filter(|at| *at > ended.at).unwrap_or(Time::MAX_UTC)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::time::parse_rfc3339;

    fn at(text: &str) -> Time {
        parse_rfc3339(text).unwrap()
    }

    fn ended(outcome: &'static str, now: &str) -> Ended<'static> {
        let parts = Parts::from([("inbox".to_string(), "1".to_string())]);
        Ended {
            run: "r-1",
            at: at(now),
            outcome,
            parts,
            open: true,
            changed: false,
            beat: false,
            not_before: None,
        }
    }

    #[test]
    fn a_failure_is_tried_again_three_times_and_then_given_up() {
        let mut settled = settle(None, ended("failed", "2026-11-18T00:00:00Z"));
        for retry in ["2026-11-18T00:05:00Z", "2026-11-18T00:30:00Z", "2026-11-18T03:00:00Z"] {
            assert_eq!(settled.retry_at.as_deref(), Some(retry));
            assert!(!settled.gave_up);
            settled = settle(Some(&settled), ended("failed", "2026-11-18T00:00:00Z"));
        }
        assert!(settled.gave_up && settled.retry_at.is_none());
        let other = Ended { parts: Parts::new(), ..ended("failed", "2026-11-18T00:00:00Z") };
        assert_eq!(settle(Some(&settled), other).failures, 1);
        assert_eq!(settle(Some(&settled), ended("done", "2026-11-18T00:00:00Z")).failures, 0);
    }

    #[test]
    fn a_refusal_is_tried_for_ever_and_a_quota_sooner() {
        let mut settled = settle(None, ended("refused", "2026-11-18T00:00:00Z"));
        for _ in 0..9 {
            settled = settle(Some(&settled), ended("refused", "2026-11-18T00:00:00Z"));
        }
        assert_eq!(settled.retry_at.as_deref(), Some("2026-11-18T03:00:00Z"));
        let quota = Ended {
            not_before: Some(at("2026-11-18T01:00:00Z")),
            ..ended("refused", "2026-11-18T00:00:00Z")
        };
        assert_eq!(settle(Some(&settled), quota).retry_at.as_deref(), Some("2026-11-18T01:00:00Z"));
    }

    #[test]
    fn only_progress_goes_on() {
        let more = |outcome: &'static str, changed: bool, open: bool| {
            settle(None, Ended { changed, open, ..ended(outcome, "2026-11-18T00:00:00Z") }).more
        };
        assert!(more("escalated", true, true) && more("max-iterations", true, true));
        assert!(!more("escalated", true, false) && !more("max-iterations", false, true));
        assert!(!more("done", true, true) && !more("cancelled", true, true));
    }

    #[test]
    fn beats_climb_until_something_changes() {
        let beat = |changed: bool| Ended { beat: true, changed, ..ended("done", "2026-11-18T00:00:00Z") };
        let once = settle(None, beat(false));
        let twice = settle(Some(&once), beat(false));
        assert_eq!((once.beats, twice.beats), (1, 2));
        assert_eq!(settle(Some(&twice), beat(true)).beats, 0);
        assert_eq!(settle(Some(&twice), ended("done", "2026-11-18T00:00:00Z")).beats, 0);
    }
}
