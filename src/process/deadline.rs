//! When an engine's time is up, and by which of its limits.
//!
//! It reads no clock: it is handed the moments. Once the result is there, silence is no fault any more, and
//! whichever limit passes then ends a step that has what it needs.

use std::time::{Duration, Instant};

use super::child::{How, Limits};

#[derive(Debug)]
pub struct Deadlines {
    limits: Limits,
    started: Instant,
    heard: Option<Instant>,
    result: Option<Instant>,
}

impl Deadlines {
    pub fn new(limits: Limits, started: Instant) -> Deadlines {
        Deadlines { limits, started, heard: None, result: None }
    }

    pub fn heard(&mut self, now: Instant) {
        self.heard = Some(now);
    }

    /// The engine gave its result; only the first one counts.
    pub fn result_seen(&mut self, now: Instant) {
        self.result.get_or_insert(now);
    }

    /// How long until the nearest limit, zero where it has passed, and what to say then.
    pub fn nearest(&self, now: Instant) -> (Duration, How) {
        let Limits { start, idle, total, after_result, .. } = self.limits;
        let left =
            |since: Instant, limit: Duration| limit.saturating_sub(now.saturating_duration_since(since));
        let overall = left(self.started, total);
        let (quiet, how) = match (self.result, self.heard) {
            (Some(result), _) => return (left(result, after_result).min(overall), How::AfterResult),
            (None, Some(heard)) => (left(heard, idle), How::IdleDeadline),
            (None, None) => (left(self.started, start), How::StartDeadline),
        };
        if overall <= quiet { (overall, How::TotalDeadline) } else { (quiet, how) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits {
        start: Duration::from_secs(10),
        idle: Duration::from_secs(20),
        total: Duration::from_secs(100),
        after_result: Duration::from_secs(5),
        stdout_bytes: 0,
        stderr_bytes: 0,
    };

    /// Seconds since the start at which output and result came, and at which is asked.
    fn check(heard: Option<u64>, result: Option<u64>, now: u64, expected: (u64, How)) {
        let started = Instant::now();
        let at = |seconds| started + Duration::from_secs(seconds);
        let mut deadlines = Deadlines::new(LIMITS, started);
        heard.into_iter().for_each(|seconds| deadlines.heard(at(seconds)));
        result.into_iter().for_each(|seconds| deadlines.result_seen(at(seconds)));
        assert_eq!(deadlines.nearest(at(now)), (Duration::from_secs(expected.0), expected.1));
    }

    #[test]
    fn the_nearest_limit_is_told() {
        check(None, None, 4, (6, How::StartDeadline));
        check(None, None, 11, (0, How::StartDeadline));
        check(Some(3), None, 11, (12, How::IdleDeadline));
        check(Some(3), None, 23, (0, How::IdleDeadline));
        check(Some(90), None, 95, (5, How::TotalDeadline));
        check(Some(99), Some(98), 99, (1, How::AfterResult));
        check(Some(30), Some(30), 33, (2, How::AfterResult));
        check(Some(34), Some(30), 35, (0, How::AfterResult));
    }

    #[test]
    fn endless_limits_do_not_overflow() {
        let started = Instant::now();
        let endless = Limits { start: Duration::MAX, idle: Duration::MAX, total: Duration::MAX, ..LIMITS };
        assert_eq!(Deadlines::new(endless, started).nearest(started).0, Duration::MAX);
    }
}
