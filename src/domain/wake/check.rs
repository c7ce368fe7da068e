//! Whether a department has something to do, and whether it is due.

use super::moments::{Moment, next_of};
use super::{Part, Parts, Settled};
use crate::domain::config::DirectorConfig;
use crate::domain::time::{Time, parse_rfc3339, render_rfc3339};
use chrono::TimeDelta;

/// After how many seconds of quiet a proactive department looks for work; the last one is repeated.
pub const IDLE_LADDER: [i64; 5] = [10 * 60, 30 * 60, 3_600, 3 * 3_600, 6 * 3_600];

/// Why a department is to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// No run of it is known.
    First,
    Changed(Vec<Part>),
    /// Its last run could have gone on.
    More,
    /// A failed run's next try, by its number.
    Retry(u64),
    /// Something became eligible by time.
    Time(String),
    /// A proactive department has been quiet for so many seconds.
    Beat(i64),
    /// maxQuietSeconds passed.
    Quiet(u64),
}

impl Cause {
    /// Whether it makes the department due at once.
    pub fn is_event(&self) -> bool {
        match self {
            Cause::First | Cause::Time(_) => true,
            Cause::Changed(parts) => parts.iter().any(|part| part.is_event()),
            _ => false,
        }
    }

    /// Whether something must be put into the inbox for the director to see it.
    pub fn is_beat(&self) -> bool {
        matches!(self, Cause::Beat(_) | Cause::Quiet(_))
    }
}

impl std::fmt::Display for Cause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Cause::First => f.write_str("no run of it is known yet"),
            Cause::Changed(parts) => {
                let names: Vec<&str> = parts.iter().map(|part| part.name()).collect();
                write!(f, "changed since the last run: {}", names.join(", "))
            }
            Cause::More => f.write_str("the last run left work that it could have gone on with"),
            Cause::Retry(number) => write!(f, "try {number} after a failed run"),
            Cause::Time(what) => f.write_str(what),
            Cause::Beat(seconds) => write!(f, "proactive, and quiet for {} minutes", seconds / 60),
            Cause::Quiet(seconds) => write!(f, "quiet for maxQuietSeconds ({seconds})"),
        }
    }
}

/// What the wake check needs to know.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    pub now: Time,
    pub config: &'a DirectorConfig,
    pub settled: Option<&'a Settled>,
    pub parts: &'a Parts,
    pub moments: &'a [Moment],
}

/// What the wake check says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    pub cause: Option<Cause>,
    /// In a sentence that stays the same as long as the verdict does.
    pub evidence: String,
    pub code: &'static str,
    /// When time alone changes the verdict.
    pub look_at: Option<Time>,
}

/// The wake check: a cause to run, or why there is none and until when.
pub fn check(facts: &Facts<'_>) -> Check {
    let found =
        |cause: Cause| Check { evidence: cause.to_string(), cause: Some(cause), code: "due", look_at: None };
    let Some(settled) = facts.settled else { return found(Cause::First) };
    let changed = changed_parts(&settled.parts, facts.parts);
    if !changed.is_empty() {
        return found(Cause::Changed(changed));
    }
    if settled.more {
        return found(Cause::More);
    }
    let (now, at) = (facts.now, settled_at(settled, facts.now));
    let due = |time: &Time| *time <= now;
    let retry = settled.retry_at.as_deref().and_then(parse_rfc3339);
    if retry.as_ref().is_some_and(due) {
        return found(Cause::Retry(settled.failures));
    }
    if let Some(moment) = facts.moments.iter().find(|moment| moment.at > at && moment.at <= now) {
        return found(Cause::Time(moment.what.clone()));
    }
    let beat = facts.config.proactive.unwrap_or(false).then(|| {
        let step = (settled.beats as usize).min(IDLE_LADDER.len() - 1);
        (at + TimeDelta::seconds(IDLE_LADDER[step]), IDLE_LADDER[step])
    });
    // What a run gave up on or was refused is not asked again for lack of anything else to do.
    let beat = beat.filter(|_| settled.failures == 0);
    if let Some((_, seconds)) = beat.filter(|(time, _)| due(time)) {
        return found(Cause::Beat(seconds));
    }
    let quiet = facts.config.max_quiet_seconds;
    let quiet = quiet.map(|seconds| (at + TimeDelta::seconds(seconds as i64), seconds));
    if let Some((_, seconds)) = quiet.filter(|(time, _)| due(time)) {
        return found(Cause::Quiet(seconds));
    }
    let next = next_of(facts.moments, now).map(|moment| moment.at);
    let times = [retry, beat.map(|(time, _)| time), quiet.map(|(time, _)| time), next];
    nothing(settled, retry, times.into_iter().flatten().filter(|time| *time > now).min())
}

fn nothing(settled: &Settled, retry: Option<Time>, look_at: Option<Time>) -> Check {
    let Settled { at, outcome, .. } = settled;
    // A look that found nothing open is settled too, and has no run.
    let run = if settled.run.is_empty() { "the last look" } else { &settled.run };
    let (code, evidence) = match retry {
        Some(retry) => (
            "waits_to_retry",
            format!(
                "nothing changed since {run}, which {outcome}; it is tried again at {}",
                render_rfc3339(retry)
            ),
        ),
        None if settled.gave_up => (
            "gave_up",
            format!("{} runs failed alike, the last {run}; it waits for you or a change", settled.failures),
        ),
        None => ("nothing_new", format!("nothing changed since {run} ({outcome}, {at})")),
    };
    Check { cause: None, evidence, code, look_at }
}

/// When the last run ended; a clock that went back must not make it the future.
fn settled_at(settled: &Settled, now: Time) -> Time {
    parse_rfc3339(&settled.at).unwrap_or(now).min(now)
}

fn changed_parts(before: &Parts, now: &Parts) -> Vec<Part> {
    Part::ALL.into_iter().filter(|part| before.get(part.name()) != now.get(part.name())).collect()
}

/// Whether a department is due: its interval has passed, or an event came.
pub fn due_at(cause: Option<&Cause>, settled: Option<&Settled>, config: &DirectorConfig, now: Time) -> Time {
    match (cause, settled) {
        (Some(cause), _) if cause.is_event() => now,
        (_, Some(settled)) => {
            settled_at(settled, now) + TimeDelta::seconds(config.auto_interval_seconds as i64)
        }
        (_, None) => now,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Time {
        parse_rfc3339(text).unwrap()
    }

    fn settled() -> Settled {
        Settled {
            run: "r-1".into(),
            at: "2026-11-18T00:00:00Z".into(),
            outcome: "done".into(),
            ..Settled::default()
        }
    }

    fn found(settled: Option<&Settled>, config: &DirectorConfig, now: &str) -> Check {
        check(&Facts { now: at(now), config, settled, parts: &Parts::new(), moments: &[] })
    }

    #[test]
    fn nothing_new_is_nothing_to_do() {
        let config = DirectorConfig::default();
        assert_eq!(found(None, &config, "2026-11-18T00:00:00Z").cause, Some(Cause::First));
        let quiet = found(Some(&settled()), &config, "2027-11-18T00:00:00Z");
        assert_eq!((quiet.cause, quiet.code, quiet.look_at), (None, "nothing_new", None));
    }

    #[test]
    fn mail_is_due_at_once_and_notes_after_the_interval() {
        let config = DirectorConfig::default();
        let now = at("2026-11-18T00:00:10Z");
        for (part, due) in [(Part::Inbox, now), (Part::Notes, at("2026-11-18T00:01:00Z"))] {
            let parts = Parts::from([(part.name().to_string(), "new".to_string())]);
            let facts =
                Facts { now, config: &config, settled: Some(&settled()), parts: &parts, moments: &[] };
            let cause = check(&facts).cause;
            assert_eq!(cause, Some(Cause::Changed(vec![part])));
            assert_eq!(due_at(cause.as_ref(), Some(&settled()), &config, now), due);
        }
    }

    #[test]
    fn a_moment_that_came_since_the_last_run_counts_once() {
        let config = DirectorConfig::default();
        let moments = [Moment { at: at("2026-11-18T01:00:00Z"), what: "a nudge".into() }];
        let look = |settled: &Settled, now: &str| {
            let facts = Facts {
                now: at(now),
                config: &config,
                settled: Some(settled),
                parts: &Parts::new(),
                moments: &moments,
            };
            check(&facts)
        };
        let before = look(&settled(), "2026-11-18T00:59:59Z");
        assert_eq!((before.cause, before.look_at), (None, Some(at("2026-11-18T01:00:00Z"))));
        assert_eq!(look(&settled(), "2026-11-18T01:00:00Z").cause, Some(Cause::Time("a nudge".into())));
        let after = Settled { at: "2026-11-18T01:00:00Z".into(), ..settled() };
        assert_eq!(look(&after, "2026-11-18T01:00:30Z").cause, None);
    }

    #[test]
    fn the_idle_ladder_is_climbed() {
        let config = DirectorConfig { proactive: Some(true), ..DirectorConfig::default() };
        for (beats, minutes) in [(0, 10), (1, 30), (2, 60), (3, 180), (4, 360), (9, 360)] {
            let settled = Settled { beats, ..settled() };
            let time = at("2026-11-18T00:00:00Z") + TimeDelta::minutes(minutes);
            let before = found(Some(&settled), &config, &render_rfc3339(time - TimeDelta::seconds(1)));
            assert_eq!((before.cause, before.look_at), (None, Some(time)));
            let beat = found(Some(&settled), &config, &render_rfc3339(time)).cause;
            assert_eq!(beat, Some(Cause::Beat(minutes * 60)));
        }
    }

    #[test]
    fn quiet_has_a_limit_where_one_is_set() {
        let config = DirectorConfig { max_quiet_seconds: Some(600), ..DirectorConfig::default() };
        assert_eq!(found(Some(&settled()), &config, "2026-11-18T00:09:59Z").cause, None);
        assert_eq!(found(Some(&settled()), &config, "2026-11-18T00:10:00Z").cause, Some(Cause::Quiet(600)));
    }

    #[test]
    fn a_failure_waits_for_its_next_try() {
        let config = DirectorConfig::default();
        let settled = Settled {
            failures: 1,
            outcome: "failed".into(),
            retry_at: Some("2026-11-18T00:05:00Z".into()),
            ..settled()
        };
        let waits = found(Some(&settled), &config, "2026-11-18T00:04:59Z");
        assert_eq!((waits.cause, waits.code), (None, "waits_to_retry"));
        assert_eq!(found(Some(&settled), &config, "2026-11-18T00:05:00Z").cause, Some(Cause::Retry(1)));
        let gave_up = Settled { retry_at: None, gave_up: true, failures: 4, ..settled };
        let end = found(Some(&gave_up), &config, "2027-11-18T00:00:00Z");
        assert_eq!((end.cause, end.code), (None, "gave_up"));
    }

    #[test]
    fn a_clock_that_went_back_holds_nothing_up_for_long() {
        let config = DirectorConfig::default();
        let now = at("2025-01-01T00:00:00Z");
        assert_eq!(due_at(Some(&Cause::More), Some(&settled()), &config, now), now + TimeDelta::seconds(60));
    }
}
