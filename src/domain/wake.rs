//! What a tick saw of each department, `wake.json`, and how that says whether there is something to do.
//!
//! It has two lines, and is one JSON document: the head, which is all that a quiet tick reads, and the departments.
//!
//! It is a cache with one exception: `settled`, the fingerprint after a department's last run. Without it a department
//! is looked at as if it had never run, which costs one call where something is undecided, and no action twice. `idle` is all that a quiet tick
//! reads: one stamp over ten stats, and the moment at which time alone changes the verdict. The rest is read for the
//! departments whose stamp has moved, or whose moment has come.
//!
//! A stat of a folder says nothing of a file that was changed in place. So every ten minutes the files in it are looked
//! at too, by name, size and times.
//!
//! `check` judges, `moments` holds every way in which something becomes eligible by time alone, `looks` when each
//! department was last looked at.

pub mod check;
pub mod looks;
pub mod moments;
mod settle;

use super::time::{Time, render_rfc3339};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

pub use settle::{Ended, settle};

/// The newest format this program knows.
pub const WAKE_SCHEMA: u64 = 1;

/// A part of a department's fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    Inbox,
    Board,
    Approvals,
    Questions,
    Escalations,
    Schedules,
    Notes,
    Config,
    /// What a human accepted: charter, playbook and prompts. It stands outside the department.
    Charter,
    /// Mail that a paused directive or project holds back; those stand outside the department too.
    Held,
}

impl Part {
    pub const ALL: [Part; 10] = [
        Part::Inbox,
        Part::Board,
        Part::Approvals,
        Part::Questions,
        Part::Escalations,
        Part::Schedules,
        Part::Notes,
        Part::Config,
        Part::Charter,
        Part::Held,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Part::Inbox => "inbox",
            Part::Board => "board",
            Part::Approvals => "approvals",
            Part::Questions => "questions",
            Part::Escalations => "escalations",
            Part::Schedules => "schedules",
            Part::Notes => "notes",
            Part::Config => "config",
            Part::Charter => "charter",
            Part::Held => "held mail",
        }
    }

    /// Where it is beneath the department's folder.
    pub fn path(self) -> Option<&'static str> {
        match self {
            Part::Inbox => Some("inbox"),
            Part::Board => Some("tasks"),
            Part::Approvals => Some("approvals"),
            Part::Questions => Some("questions"),
            Part::Escalations => Some("escalations"),
            Part::Schedules => Some("schedules"),
            Part::Notes => Some("notes.md"),
            Part::Config => Some(".harness/director-config.json"),
            Part::Charter | Part::Held => None,
        }
    }

    /// Whether a change of it is an event, which makes the department due at once.
    pub fn is_event(self) -> bool {
        matches!(self, Part::Inbox | Part::Approvals | Part::Questions | Part::Escalations | Part::Held)
    }
}

/// Every path whose stat is looked at: the parts, and what tells of a run that died. Daily memory, which may make
/// consolidation due, is left to the full look.
pub const LOOKED_AT: [&str; 10] = [
    "inbox",
    "tasks",
    "approvals",
    "questions",
    "escalations",
    "schedules",
    "notes.md",
    ".harness/director-config.json",
    ".harness/journal",
    ".harness/active.json",
];

/// A digest for each part, by its name.
pub type Parts = BTreeMap<String, String>;

/// Files beneath a department, each with a digest of what it holds.
pub type Observation = BTreeMap<String, String>;

/// `wake.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Wake {
    pub schema: u64,
    /// When it was last written, in seconds: a clock that is behind it has gone back.
    pub at: i64,
    pub idle: BTreeMap<String, Idle>,
    pub departments: BTreeMap<String, Entry>,
}

/// The first line of `wake.json`, as it stands in its text.
#[derive(Debug, Default, Deserialize)]
pub struct Head<'a> {
    schema: u64,
    pub at: i64,
    #[serde(borrow)]
    pub idle: BTreeMap<&'a str, Idle>,
}

/// All that a quiet tick needs: the stamp, 0 for one that never holds; from which second on to look again whatever the
/// stamp says; and the stamp of the last full look, over every file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Idle(pub u64, pub Option<i64>, #[serde(default)] pub u64);

/// What is known of one department.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Entry {
    /// The parts as they were last read, with the stat they had then.
    pub parts: BTreeMap<String, Known>,
    /// After the last run.
    pub settled: Option<Settled>,
    pub receipt: Receipt,
    /// The earliest moment at which something becomes eligible by time alone.
    pub next_at: Option<String>,
    /// Calls that were not made because nothing was new, up to `quiet_since`.
    pub calls_saved: u64,
    /// The same by day, as `2026-11-18`; the last days that there were.
    pub saved_by_day: BTreeMap<String, u64>,
    /// Since when it is quiet, in seconds.
    pub quiet_since: Option<i64>,
    /// Whether it works off what came while nobody looked.
    pub fenced: bool,
    /// Its config as it was last seen: the keys with their values, or why it could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config: Option<serde_json::Value>,
}

/// A part as it was last read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Known {
    pub stat: String,
    pub digest: String,
}

/// What a run left: the fingerprint after it, and how it ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settled {
    pub run: String,
    pub at: String,
    pub outcome: String,
    pub parts: Parts,
    /// It ended with work left that it could have gone on with.
    pub more: bool,
    /// Runs in a row that failed on this fingerprint.
    pub failures: u64,
    pub retry_at: Option<String>,
    /// All tries are used up, and it is the human's.
    pub gave_up: bool,
    /// Beats in a row that changed nothing.
    pub beats: u64,
}

/// What a tick did with a department, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Receipt {
    pub at: String,
    /// Such as `nothing_new`, `not_due`, `busy`, `ran`.
    pub code: String,
    pub why: String,
    /// From when on, where it tells of a time instead of a moment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
}

/// The code of a receipt that tells of a time in which no tick looked.
pub const NO_PULSE: &str = "no_pulse";
/// Receipts that tell of something beside the verdict, and don't end the one before.
const BESIDE: [&str; 4] = [NO_PULSE, "missed", "schedule_unusable", "event_storm"];

/// What receipts, oldest first, say of a moment that has passed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Past<'a> {
    /// No receipt reaches back so far.
    Nothing,
    /// No tick looked then: the machine slept, or nothing pulsed.
    NoPulse(&'a Receipt),
    /// This one stood.
    Stood(&'a Receipt),
}

/// What stood at a moment. Times of one form compare as they sort.
pub fn find_past<'a>(receipts: &'a [Receipt], at: &str) -> Past<'a> {
    let covers = |receipt: &&Receipt| {
        let from = receipt.from.as_deref();
        receipt.code == NO_PULSE && from.is_some_and(|from| from < at) && at < receipt.at.as_str()
    };
    if let Some(gap) = receipts.iter().rev().find(covers) {
        return Past::NoPulse(gap);
    }
    let stood = |receipt: &&Receipt| receipt.at.as_str() <= at && !BESIDE.contains(&receipt.code.as_str());
    receipts.iter().rev().find(stood).map_or(Past::Nothing, Past::Stood)
}

impl Receipt {
    pub fn new(at: Time, code: &str, why: impl Into<String>) -> Receipt {
        Receipt { at: render_rfc3339(at), code: code.to_string(), why: why.into(), from: None }
    }

    /// Whether it says the same; when it was said doesn't matter.
    pub fn is_like(&self, other: &Receipt) -> bool {
        self.code == other.code && self.why == other.why
    }
}

/// Receipts that stand for a call which was not made.
pub const QUIET: [&str; 2] = ["nothing_new", "nothing_open"];

impl Entry {
    /// Calls that were not made: one for every interval in which a tick found nothing new.
    pub fn calls_saved(&self, interval_s: u64, now: Time) -> u64 {
        self.calls_saved + self.stretch(interval_s, now.timestamp())
    }

    /// The same for each day in UTC.
    pub fn calls_saved_by_day(&self, interval_s: u64, now: Time) -> BTreeMap<String, u64> {
        let mut days = self.saved_by_day.clone();
        self.add_stretch(&mut days, interval_s, now.timestamp());
        days
    }

    fn stretch(&self, interval_s: u64, until: i64) -> u64 {
        let quiet = self.quiet_since.map_or(0, |since| until.saturating_sub(since).max(0));
        quiet as u64 / interval_s.max(1)
    }

    /// A call that was saved belongs to the day on which it would have been made.
    fn add_stretch(&self, days: &mut BTreeMap<String, u64>, interval_s: u64, until: i64) {
        let Some(since) = self.quiet_since.filter(|since| *since < until) else { return };
        let calls_until = |moment: i64| (moment - since).max(0) as u64 / interval_s.max(1);
        let first = since.div_euclid(DAY_S).max(until.div_euclid(DAY_S) - SAVED_DAYS as i64);
        for day in first..=until.div_euclid(DAY_S) {
            let calls = calls_until(until.min((day + 1) * DAY_S - 1)) - calls_until(day * DAY_S - 1);
            if let Some(date) = chrono::DateTime::from_timestamp(day * DAY_S, 0).filter(|_| calls > 0) {
                *days.entry(date.format("%Y-%m-%d").to_string()).or_default() += calls;
            }
        }
    }

    /// Takes a new receipt over. `seen_until` is when a tick last looked before now.
    pub fn take(&mut self, receipt: Receipt, interval_s: u64, seen_until: i64, now: Time) {
        let is_quiet = QUIET.contains(&receipt.code.as_str());
        let asleep = seen_until < now.timestamp() - GAP_S;
        if !is_quiet || asleep {
            let until = if asleep { seen_until } else { now.timestamp() };
            self.calls_saved += self.stretch(interval_s, until);
            let mut days = std::mem::take(&mut self.saved_by_day);
            self.add_stretch(&mut days, interval_s, until);
            while days.len() > SAVED_DAYS {
                days.pop_first();
            }
            self.saved_by_day = days;
            self.quiet_since = None;
        }
        if is_quiet && self.quiet_since.is_none() {
            self.quiet_since = Some(now.timestamp());
        }
        if !self.receipt.is_like(&receipt) {
            self.receipt = receipt;
        }
    }
}

/// Longer than this between two looks, and nobody was looking.
pub const GAP_S: i64 = 600;
/// How often the files in a department's folders are looked at too.
pub const FULL_LOOK_S: i64 = 600;
/// Longer than this, and what came meanwhile is worked off in small portions.
pub const LONG_GAP_S: i64 = 3_600;
/// How many iterations a run has then.
pub const BACKLOG_ITERATIONS: u64 = 5;

const DAY_S: i64 = 86_400;
/// For how many days what was saved is remembered day by day.
const SAVED_DAYS: usize = 400;

/// A short digest of some texts, in their order.
pub fn digest<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let mut hash = Sha256::new();
    for text in texts {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text.as_bytes());
    }
    super::digest::hex(&hash.finalize()[..8])
}

/// A part's digest from the files observed in it.
pub fn digest_part(part: Part, seen: &Observation) -> String {
    let Some(path) = part.path() else { return String::new() };
    let inside = |name: &str| name == path || (name.starts_with(path) && name[path.len()..].starts_with('/'));
    let files = seen.iter().filter(|(name, _)| inside(name));
    digest(files.flat_map(|(name, digest)| [name.as_str(), digest.as_str()]))
}

/// The digest of every part that lies in the department.
pub fn digest_parts(seen: &Observation) -> Parts {
    let inner = Part::ALL.into_iter().filter(|part| part.path().is_some());
    inner.map(|part| (part.name().to_string(), digest_part(part, seen))).collect()
}

/// What counts as seen by a run: what it saw at its last look, and what it then wrote itself. Mail that came since, and
/// a human's word that it has not heard, are left out, so that the next tick finds them new.
pub fn seen_by_run(before: &Observation, after: &Observation, written: &[String]) -> Observation {
    let mut seen = Observation::new();
    for (path, digest) in after {
        let own = written.contains(path);
        match before.get(path) {
            Some(known) if known != digest && !own && !path.starts_with("inbox/") => {
                seen.insert(path.clone(), known.clone());
            }
            Some(_) => {
                seen.insert(path.clone(), digest.clone());
            }
            None if own => {
                seen.insert(path.clone(), digest.clone());
            }
            None => {}
        }
    }
    seen
}

/// The text of `wake.json`.
pub fn render_wake(wake: &Wake) -> String {
    let Wake { schema, at, idle, departments } = wake;
    // Maps of texts to numbers and texts: JSON can always write them.
    let idle = serde_json::to_string(idle).unwrap_or_default();
    let departments = serde_json::to_string(departments).unwrap_or_default();
    format!("{{\"schema\":{schema},\"at\":{at},\"idle\":{idle},\n\"departments\":{departments}}}\n")
}

/// Reads the first line, with a brace in the place of its last comma; what can't be read is as good as none.
pub fn parse_head(line: &mut Vec<u8>) -> Head<'_> {
    if line.ends_with(b",\n") {
        line.truncate(line.len() - 2);
        line.push(b'}');
    }
    let head = serde_json::from_slice::<Head<'_>>(line).ok();
    head.filter(|head| head.schema == WAKE_SCHEMA).unwrap_or_default()
}

/// The schema of a `wake.json` that a newer program wrote; none where it did not, or where it is damaged.
pub fn newer_wake(text: &str) -> Option<u64> {
    #[derive(Deserialize)]
    struct Numbered {
        schema: u64,
    }
    let schema = serde_json::from_str::<Numbered>(text).ok()?.schema;
    (schema > WAKE_SCHEMA).then_some(schema)
}

/// Reads `wake.json`; what can't be read is as good as none.
pub fn parse_wake(text: &str) -> Wake {
    serde_json::from_str::<Wake>(text).ok().filter(|wake| wake.schema == WAKE_SCHEMA).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::time::parse_rfc3339;

    fn seen(files: &[(&str, &str)]) -> Observation {
        files.iter().map(|(path, digest)| (path.to_string(), digest.to_string())).collect()
    }

    #[test]
    fn what_came_during_a_run_is_new_to_the_next() {
        let before = seen(&[("inbox/a", "1"), ("approvals/x", "1"), ("notes.md", "1")]);
        let after = seen(&[("inbox/a", "2"), ("inbox/b", "1"), ("approvals/x", "2"), ("notes.md", "2")]);
        let parts = |seen: &Observation| digest_parts(seen);
        let settled = parts(&seen_by_run(&before, &after, &[]));
        let now = parts(&after);
        for (part, new) in [("inbox", true), ("approvals", true), ("notes", true), ("board", false)] {
            assert_eq!(settled[part] != now[part], new, "{part}");
        }
        let own = ["approvals/x".to_string(), "inbox/b".to_string(), "notes.md".to_string()];
        assert_eq!(parts(&seen_by_run(&before, &after, &own)), now);
    }

    #[test]
    fn a_folder_is_no_prefix_of_another() {
        let one = seen(&[("tasks/a", "1")]);
        let other = seen(&[("tasks/a", "1"), ("tasks-old/a", "1")]);
        assert_eq!(digest_part(Part::Board, &one), digest_part(Part::Board, &other));
    }

    #[test]
    fn saved_calls_are_counted_by_interval_and_not_while_nobody_looked() {
        let at = |text: &str| parse_rfc3339(text).unwrap();
        let quiet = || Receipt { code: "nothing_new".into(), ..Receipt::default() };
        let mut entry = Entry::default();
        let (start, hour) = (at("2026-11-18T00:00:00Z"), at("2026-11-18T01:00:00Z"));
        entry.take(quiet(), 60, start.timestamp(), start);
        assert_eq!(entry.calls_saved(60, hour), 60);
        // It slept from 00:10 to 01:00.
        entry.take(quiet(), 60, at("2026-11-18T00:10:00Z").timestamp(), hour);
        assert_eq!(entry.calls_saved(60, hour), 10);
        let ran = Receipt { code: "ran".into(), ..Receipt::default() };
        entry.take(ran, 60, at("2026-11-18T01:04:30Z").timestamp(), at("2026-11-18T01:05:00Z"));
        assert_eq!(entry.calls_saved(60, at("2026-11-18T02:00:00Z")), 15);
        assert_eq!(entry.saved_by_day, BTreeMap::from([("2026-11-18".to_string(), 15)]));
    }

    #[test]
    fn saved_calls_belong_to_the_day_on_which_they_would_have_been_made() {
        let at = |text: &str| parse_rfc3339(text).unwrap();
        let quiet_since = Some(at("2026-11-17T23:58:30Z").timestamp());
        let entry = Entry { quiet_since, ..Entry::default() };
        let now = at("2026-11-19T00:00:30Z");
        let days = entry.calls_saved_by_day(60, now);
        let shown: Vec<(&str, u64)> = days.iter().map(|(day, calls)| (day.as_str(), *calls)).collect();
        assert_eq!(shown, [("2026-11-17", 1), ("2026-11-18", 1_440), ("2026-11-19", 1)]);
        assert_eq!(days.values().sum::<u64>(), entry.calls_saved(60, now));
        let mut old = Entry { quiet_since: Some(0), ..Entry::default() };
        old.take(Receipt { code: "ran".into(), ..Receipt::default() }, 60, now.timestamp(), now);
        assert_eq!(old.saved_by_day.len(), SAVED_DAYS);
    }

    #[test]
    fn the_head_is_the_first_line() {
        let idle =
            BTreeMap::from([("rd".to_string(), Idle(7, Some(9), 3)), ("x".to_string(), Idle(8, None, 0))]);
        let departments = BTreeMap::from([("rd".to_string(), Entry::default())]);
        let wake = Wake { schema: 1, at: 5, idle: idle.clone(), departments };
        let text = render_wake(&wake);
        assert_eq!(parse_wake(&text), wake);
        let mut line = text.split_inclusive('\n').next().unwrap().as_bytes().to_vec();
        let head = parse_head(&mut line);
        assert_eq!(head.at, 5);
        assert!(head.idle.iter().all(|(name, found)| idle[*name] == *found) && head.idle.len() == 2);
        let mut older = b"{\"schema\":1,\"at\":5,\"idle\":{\"rd\":[7,9]},\n".to_vec();
        assert_eq!(parse_head(&mut older).idle["rd"], Idle(7, Some(9), 0));
        for damaged in ["", "{", "[]\n", "{\"schema\":2,\"at\":5,\"idle\":{},\n"] {
            assert!(parse_head(&mut damaged.as_bytes().to_vec()).idle.is_empty(), "{damaged}");
        }
    }

    #[test]
    fn a_time_in_which_nobody_looked_is_told_as_such() {
        let receipt = |at: &str, code: &str, from: Option<&str>| Receipt {
            at: at.into(),
            code: code.into(),
            from: from.map(str::to_string),
            ..Receipt::default()
        };
        let receipts = [
            receipt("2026-11-18T01:00:00Z", "nothing_new", None),
            receipt("2026-11-18T07:00:00Z", NO_PULSE, Some("2026-11-18T02:00:00Z")),
            receipt("2026-11-18T07:00:00Z", "missed", None),
            receipt("2026-11-18T08:00:00Z", "ran", None),
        ];
        let at = |time: &str| find_past(&receipts, &format!("2026-11-18T{time}Z"));
        assert_eq!(at("00:59:59"), Past::Nothing);
        assert_eq!(at("02:00:00"), Past::Stood(&receipts[0]));
        assert_eq!(at("03:00:00"), Past::NoPulse(&receipts[1]));
        assert_eq!(at("07:00:00"), Past::Stood(&receipts[0]));
        assert_eq!(at("08:00:00"), Past::Stood(&receipts[3]));
    }

    #[test]
    fn a_damaged_file_is_as_good_as_none() {
        for text in ["", "{", "[]", "{\"schema\":2,\"at\":0,\"idle\":{},\"departments\":{}}"] {
            assert_eq!(parse_wake(text), Wake::default(), "{text}");
        }
    }
}
