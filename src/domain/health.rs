//! How the organisation is: one word for it and for each department, and the judgements behind the checks.
//!
//! Off, never ran, stale, unreadable, blocked and healthy are different words, because each wants something else of the
//! person who reads it. Nothing here repairs anything.

use super::decision::is_ghost;
use super::ledger::{Line, StepLine};
use super::time::{Time, render_age, render_rfc3339};
use std::fmt;

/// Three pulses of the slowest scheduler.
const STALE_SECONDS: i64 = 180;
/// So many of its own intervals may pass without a look at a department.
const STALE_INTERVALS: u64 = 3;

/// After how many seconds without a look a department with this interval is stale.
pub fn stale_after_s(interval_s: u64) -> i64 {
    i64::try_from(interval_s.saturating_mul(STALE_INTERVALS)).unwrap_or(i64::MAX).max(STALE_SECONDS)
}

/// How far a clock may be behind what was written.
const CLOCK_SLACK_SECONDS: i64 = 5;
/// Ghosts are counted in so many of the last steps.
pub const GHOST_WINDOW: usize = 50;
/// From this share on, in percent.
const GHOST_PERCENT: usize = 10;
/// A run writes records, journals and answers: with less than this it can't be relied on.
const DISK_MIN_BYTES: u64 = 32 * 1024 * 1024;
const DISK_MIN_FILES: u64 = 1_000;

/// How a department, or all of it, is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    Healthy,
    /// Nobody asked for it to run by itself.
    Off,
    /// It should pulse, and the last pulse was too long ago.
    Stale,
    /// It should pulse, and never did.
    NeverRan,
    /// Something has to be decided by a person first.
    Blocked,
    /// What says how it is can't be read.
    Unreadable,
}

impl State {
    pub fn word(self) -> &'static str {
        match self {
            State::Healthy => "healthy",
            State::Off => "off",
            State::Stale => "stale",
            State::NeverRan => "never ran",
            State::Blocked => "blocked",
            State::Unreadable => "unreadable",
        }
    }
}

/// What is known of the last pulse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pulse {
    Never,
    At(Time),
    Unreadable(String),
}

/// What is known of one department.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Whether it is to run by itself; the reason where that can't be read.
    pub auto_loop: Result<bool, String>,
    pub interval_s: u64,
    /// When a tick last looked at this very department.
    pub looked: Pulse,
    /// Why it does not run whatever comes, where that is so.
    pub blocked: Option<String>,
    /// Whether a run of it is alive.
    pub runs: bool,
}

/// A department's word, and why.
pub fn judge_department(standing: &Standing, now: Time) -> (State, String) {
    let stale_s = stale_after_s(standing.interval_s);
    match (&standing.auto_loop, &standing.blocked) {
        (Err(why), _) => (State::Unreadable, why.clone()),
        (Ok(_), Some(why)) => (State::Blocked, why.clone()),
        (Ok(false), None) => (State::Off, "autoLoop is off".to_string()),
        (Ok(true), None) if standing.runs => (State::Healthy, "a run is under way".to_string()),
        (Ok(true), None) => match (judge_pulse(&standing.looked, stale_s, now), &standing.looked) {
            ((State::NeverRan, _), _) => (State::NeverRan, "no tick has looked at it yet".to_string()),
            ((state @ (State::Healthy | State::Stale), _), Pulse::At(at)) => {
                let limit = format!("stale after {stale_s} s");
                (state, format!("a tick last looked at it {} ago ({limit})", render_age(*at, now)))
            }
            (judged, _) => judged,
        },
    }
}

/// The word that the last pulse gives, where pulses are wanted.
pub fn judge_pulse(pulse: &Pulse, stale_s: i64, now: Time) -> (State, String) {
    match pulse {
        Pulse::Unreadable(why) => (State::Unreadable, why.clone()),
        Pulse::Never => (State::NeverRan, "there was no pulse yet".to_string()),
        Pulse::At(at) if (*at - now).num_seconds() > CLOCK_SLACK_SECONDS => {
            (State::Unreadable, format!("the last pulse is in the future: {}", render_rfc3339(*at)))
        }
        Pulse::At(at) => {
            let state = if (now - *at).num_seconds() > stale_s { State::Stale } else { State::Healthy };
            (state, format!("the last pulse was {} ago", render_age(*at, now)))
        }
    }
}

/// One word for all: the one that needs a person most. Off is only what all of them are.
pub fn overall(states: &[State]) -> State {
    match states.iter().filter(|state| **state != State::Off).max() {
        Some(worst) => *worst,
        None => State::Off,
    }
}

/// What was counted of ghosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GhostRate {
    pub ghosts: usize,
    pub steps: usize,
}

impl GhostRate {
    pub fn is_too_high(self) -> bool {
        self.ghosts * 100 >= self.steps * GHOST_PERCENT && self.ghosts > 0
    }
}

impl fmt::Display for GhostRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of the last {} decisions could not be read", self.ghosts, self.steps)
    }
}

/// Ghosts among the last orchestrator steps of all departments. One that was put right at the second try counts too.
pub fn ghost_rate(lines: &[Line]) -> GhostRate {
    let mut steps: Vec<&StepLine> = lines
        .iter()
        .filter_map(|line| match line {
            Line::Step(step) if step.role == "orchestrator" => Some(step.as_ref()),
            _ => None,
        })
        .collect();
    steps.sort_by(|a, b| b.at.cmp(&a.at));
    steps.truncate(GHOST_WINDOW);
    let is_one = |step: &&&StepLine| {
        step.outcome == "ghost" || step.first_refusals.iter().any(|first| is_ghost(&first.code))
    };
    GhostRate { ghosts: steps.iter().filter(is_one).count(), steps: steps.len() }
}

/// Room on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    pub bytes: u64,
    /// Files that can still be made; 0 of 0 where the disk doesn't count them.
    pub files: u64,
    pub files_total: u64,
}

/// Whether there is room to work; how much there is, either way.
pub fn judge_room(room: Room) -> Result<String, String> {
    let said = format!("{} MiB are free", room.bytes / (1024 * 1024));
    match () {
        () if room.bytes < DISK_MIN_BYTES => {
            Err(format!("only {said}; {} are wanted", DISK_MIN_BYTES / (1024 * 1024)))
        }
        () if room.files_total > 0 && room.files < DISK_MIN_FILES => {
            Err(format!("{said}, but only {} more files can be made", room.files))
        }
        () => Ok(said),
    }
}

/// Whether the clock is behind something that was written already.
pub fn judge_clock(now: Time, written: &[(&str, Time)]) -> Result<String, String> {
    let late = written.iter().max_by_key(|(_, at)| *at);
    match late.filter(|(_, at)| (*at - now).num_seconds() > CLOCK_SLACK_SECONDS) {
        Some((what, at)) => {
            Err(format!("it is {}, and {what} is from {}", render_rfc3339(now), render_rfc3339(*at)))
        }
        None => Ok(format!("{}, and nothing was written later", render_rfc3339(now))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ledger::Refusal;
    use crate::domain::time::parse_rfc3339;

    fn at(text: &str) -> Time {
        parse_rfc3339(text).unwrap()
    }

    const NOW: &str = "2026-11-18T00:42:01Z";

    fn pulse(text: &str) -> State {
        judge_pulse(&Pulse::At(at(text)), stale_after_s(60), at(NOW)).0
    }

    #[test]
    fn each_way_of_not_being_healthy_has_its_word() {
        assert_eq!(pulse("2026-11-18T00:41:31Z"), State::Healthy);
        assert_eq!(pulse("2026-11-18T00:39:01Z"), State::Healthy);
        assert_eq!(pulse("2026-11-18T00:39:00Z"), State::Stale);
        assert_eq!(pulse("2026-11-18T00:42:06Z"), State::Healthy);
        assert_eq!(pulse("2026-11-18T00:42:07Z"), State::Unreadable);
        assert_eq!(judge_pulse(&Pulse::Never, 180, at(NOW)).0, State::NeverRan);
        assert_eq!(judge_pulse(&Pulse::Unreadable("x".into()), 180, at(NOW)).0, State::Unreadable);
    }

    #[test]
    fn a_department_is_stale_by_its_own_interval() {
        assert_eq!([30, 60, 61, 3_600].map(stale_after_s), [180, 180, 183, 10_800]);
        let state = |interval_s: u64, looked: &str| {
            let looked = Pulse::At(at(looked));
            let standing = Standing { auto_loop: Ok(true), interval_s, looked, blocked: None, runs: false };
            judge_department(&standing, at(NOW)).0
        };
        assert_eq!(state(60, "2026-11-18T00:39:01Z"), State::Healthy);
        assert_eq!(state(60, "2026-11-18T00:39:00Z"), State::Stale);
        assert_eq!(state(3_600, "2026-11-17T21:42:01Z"), State::Healthy);
        assert_eq!(state(3_600, "2026-11-17T21:42:00Z"), State::Stale);
    }

    #[test]
    fn a_department_is_judged_by_what_keeps_it_from_running_first() {
        let check = |auto: Result<bool, &str>, blocked: Option<&str>, runs: bool, state: State| {
            let standing = Standing {
                auto_loop: auto.map_err(str::to_string),
                interval_s: 60,
                looked: Pulse::Never,
                blocked: blocked.map(str::to_string),
                runs,
            };
            assert_eq!(judge_department(&standing, at(NOW)).0, state);
        };
        check(Err("broken"), Some("gate"), true, State::Unreadable);
        check(Ok(true), Some("gate"), false, State::Blocked);
        check(Ok(false), Some("paused"), false, State::Blocked);
        check(Ok(false), None, false, State::Off);
        check(Ok(true), None, false, State::NeverRan);
        // A long run of the only department keeps its own unit from pulsing.
        check(Ok(true), None, true, State::Healthy);
    }

    #[test]
    fn the_worst_word_stands_for_all() {
        use State::*;
        assert_eq!(overall(&[]), Off);
        assert_eq!(overall(&[Off, Off]), Off);
        assert_eq!(overall(&[Off, Healthy]), Healthy);
        assert_eq!(overall(&[Healthy, Stale, Off]), Stale);
        assert_eq!(overall(&[Stale, Unreadable, Blocked]), Unreadable);
    }

    fn steps(outcomes: &[&str]) -> Vec<Line> {
        let step = |(number, outcome): (usize, &&str)| {
            let first = Refusal { code: "no_decision".into(), message: String::new() };
            Line::Step(Box::new(StepLine {
                at: format!("2026-11-18T00:{:02}:{:02}Z", number / 60, number % 60),
                role: "orchestrator".into(),
                outcome: outcome.trim_start_matches("repaired ").to_string(),
                first_refusals: if outcome.starts_with("repaired") { vec![first] } else { Vec::new() },
                ..StepLine::default()
            }))
        };
        outcomes.iter().enumerate().map(step).collect()
    }

    #[test]
    fn ghosts_are_counted_in_the_last_fifty() {
        let rate = |outcomes: &[&str]| ghost_rate(&steps(outcomes));
        let mut outcomes = vec!["ok"; 50];
        assert!(!rate(&outcomes).is_too_high());
        outcomes[40..44].fill("ghost");
        assert_eq!(rate(&outcomes), GhostRate { ghosts: 4, steps: 50 });
        assert!(!rate(&outcomes).is_too_high());
        outcomes[44] = "repaired ok";
        assert!(rate(&outcomes).is_too_high());
        // Fifty later ones make them forgotten.
        outcomes.extend(vec!["ok"; 50]);
        assert_eq!(rate(&outcomes), GhostRate { ghosts: 0, steps: 50 });
        assert!(rate(&["ghost"]).is_too_high() && !rate(&[]).is_too_high());
    }

    #[test]
    fn room_and_clock_are_judged() {
        let room = |bytes, files, files_total| judge_room(Room { bytes, files, files_total }).is_ok();
        assert!(room(1 << 30, 1 << 20, 1 << 21) && room(1 << 30, 0, 0));
        assert!(!room(0, 1 << 20, 1 << 21) && !room(1 << 30, 0, 1 << 20));
        let clock = |written: &str| judge_clock(at(NOW), &[("audit.jsonl", at(written))]).is_ok();
        assert!(clock("2026-11-18T00:42:01Z") && clock("2026-11-18T00:42:06Z"));
        assert!(!clock("2026-11-18T00:42:07Z"));
        assert!(judge_clock(at(NOW), &[]).is_ok());
    }
}
