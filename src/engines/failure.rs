//! Why a call gave no answer, and what follows from that: whether another engine is asked instead,
//! and until when this one need not be.
//!
//! Kinds come from statuses, codes and named fields of what a client printed, never from its prose.

use std::fmt;

use super::field::one_line;
use super::usage::{Cost, Usage};

/// The furthest reset that is believed, in seconds.
const RESET_HORIZON_S: i64 = 31 * 24 * 60 * 60;

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FailureKind {
    /// The program is not installed, or could not be started.
    NotThere,
    /// Out of quota, rate or credit. `reset_at` is in Unix seconds, as the client gave it: see
    /// [`FailureKind::not_before`].
    Quota {
        reset_at: Option<i64>,
        retry_after_s: Option<u64>,
    },
    Overloaded,
    Auth,
    TooLong,
    /// It ended well and said nothing, or never asked the model.
    Empty,
    /// The model or its provider would not answer this.
    Refused,
    /// Another failure that the client reported, with its HTTP status where there is one.
    Api(Option<u16>),
    /// It exited with this code and gave no other reason.
    Exit(i32),
    /// It was stopped before its result was seen.
    Stopped,
    /// A signal ended it that nobody here sent.
    Signal,
    /// It ended well and what it printed holds no result.
    Unreadable,
}

impl FailureKind {
    /// The meaning of an HTTP status.
    pub fn of_status(status: u16) -> FailureKind {
        match status {
            401 | 403 => FailureKind::Auth,
            402 | 429 => FailureKind::Quota { reset_at: None, retry_after_s: None },
            413 => FailureKind::TooLong,
            502..=504 | 529 => FailureKind::Overloaded,
            other => FailureKind::Api(Some(other)),
        }
    }

    /// Whether the next engine of the list is asked instead. It is where this one could not take
    /// the question; not where it took it and did badly.
    pub fn falls_back(&self) -> bool {
        matches!(
            self,
            FailureKind::NotThere | FailureKind::Quota { .. } | FailureKind::Overloaded | FailureKind::Auth
        )
    }

    /// Whether it passes by itself: asking again at once would meet the same.
    pub fn passes(&self) -> bool {
        matches!(self, FailureKind::Quota { .. } | FailureKind::Overloaded)
    }

    /// Until when the engine need not be asked again, in Unix seconds. A reset that has passed, or
    /// is more than 31 days ahead, is a mistake of somebody's and says nothing.
    pub fn not_before(&self, now: i64) -> Option<i64> {
        let FailureKind::Quota { reset_at, retry_after_s } = self else { return None };
        let latest = now.saturating_add(RESET_HORIZON_S);
        let after = retry_after_s.map(|wait| now.saturating_add_unsigned(wait));
        [*reset_at, after].into_iter().flatten().find(|time| *time > now && *time <= latest)
    }
}

impl fmt::Display for FailureKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FailureKind::NotThere => f.write_str("the engine is not there"),
            FailureKind::Quota { .. } => f.write_str("out of quota"),
            FailureKind::Overloaded => f.write_str("the provider is overloaded"),
            FailureKind::Auth => f.write_str("not logged in"),
            FailureKind::TooLong => f.write_str("the prompt is too long"),
            FailureKind::Empty => f.write_str("an empty answer"),
            FailureKind::Refused => f.write_str("the model refused to answer"),
            FailureKind::Api(Some(status)) => write!(f, "the provider failed with status {status}"),
            FailureKind::Api(None) => f.write_str("the engine reported an error"),
            FailureKind::Exit(code) => write!(f, "the engine exited with {code}"),
            FailureKind::Stopped => f.write_str("the engine was stopped"),
            FailureKind::Signal => f.write_str("the engine died by a signal"),
            FailureKind::Unreadable => f.write_str("the engine's output holds no result"),
        }
    }
}

/// How long an engine rests that is out of quota or overloaded and gives no time: one minute, then
/// twice as long each time in a row, half an hour at the most.
pub fn rest_s(times_before: u32) -> i64 {
    (60 << times_before.min(5)).min(30 * 60)
}

#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    pub kind: FailureKind,
    /// One short line in the client's own words, for people; empty where it gave none.
    pub message: String,
    pub usage: Usage,
    pub cost: Cost,
}

impl Failure {
    /// The program could not be started: nothing was asked and nothing spent.
    pub fn not_there(program: &str) -> Failure {
        let message = one_line(&format!("`{program}` could not be started"));
        Failure { kind: FailureKind::NotThere, message, usage: Usage::default(), cost: Cost::Known(0.0) }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.message.as_str() {
            "" => write!(f, "{}", self.kind),
            message => write!(f, "{}: {message}", self.kind),
        }
    }
}

impl std::error::Error for Failure {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reset_counts_only_within_31_days() {
        let check = |reset_at, retry_after_s, expected| {
            let kind = FailureKind::Quota { reset_at, retry_after_s };
            assert_eq!(kind.not_before(1_000_000_000), expected);
        };
        check(Some(1_000_003_600), None, Some(1_000_003_600));
        check(Some(1_000_003_600), Some(5), Some(1_000_003_600));
        check(Some(900_000_000), None, None);
        check(Some(900_000_000), Some(5), Some(1_000_000_005));
        check(Some(1_000_000_000 + RESET_HORIZON_S), None, Some(1_000_000_000 + RESET_HORIZON_S));
        check(Some(1_000_000_001 + RESET_HORIZON_S), None, None);
        check(Some(i64::MAX), Some(u64::MAX), None);
        check(None, None, None);
        assert_eq!(FailureKind::Overloaded.not_before(1_000_000_000), None);
    }

    #[test]
    fn rests_grow_to_half_an_hour() {
        assert_eq!([0, 1, 2, 3, 4, 5, u32::MAX].map(rest_s), [60, 120, 240, 480, 960, 1_800, 1_800]);
        let passes = |status| FailureKind::of_status(status).passes();
        assert_eq!([402, 429, 503, 529].map(passes), [true; 4]);
        assert_eq!([400, 401, 413, 500].map(passes), [false; 4]);
    }

    #[test]
    fn what_could_not_be_asked_falls_back() {
        let falls_back = |status| FailureKind::of_status(status).falls_back();
        assert_eq!([401, 402, 403, 429, 503, 529].map(falls_back), [true; 6]);
        assert_eq!([400, 404, 413, 500].map(falls_back), [false; 4]);
        let others =
            [FailureKind::Empty, FailureKind::Exit(1), FailureKind::Stopped, FailureKind::Unreadable];
        assert!(!others.iter().any(FailureKind::falls_back));
        assert!(Failure::not_there("claude").kind.falls_back());
    }
}
