//! A year of slots in many zones, against a clock that is read minute by minute.

use super::due::AGE_LIMIT_S;
use super::*;
use crate::domain::config::MissedRuns;
use chrono::{Datelike, Timelike};
use std::collections::BTreeSet;

/// Zones with changes in either half of the year, of half an hour, at midnight, and with none.
const ZONES: [&str; 12] = [
    "Europe/Berlin",
    "America/New_York",
    "America/Los_Angeles",
    "America/Sao_Paulo",
    "America/St_Johns",
    "America/Havana",
    "Australia/Lord_Howe",
    "Australia/Sydney",
    "Pacific/Auckland",
    "Africa/Cairo",
    "Asia/Beirut",
    "Asia/Kathmandu",
];

/// An expression, and the same as a question about a wall clock: minutes, hours, weekdays from Monday.
struct Rule {
    cron: &'static str,
    minutes: &'static [u32],
    hours: &'static [u32],
    days: &'static [u32],
}

const ALL_DAYS: &[u32] = &[0, 1, 2, 3, 4, 5, 6];
const NAMED: [Rule; 4] = [
    Rule { cron: "30 2 * * *", minutes: &[30], hours: &[2], days: ALL_DAYS },
    Rule { cron: "0 0 * * *", minutes: &[0], hours: &[0], days: ALL_DAYS },
    Rule { cron: "15,45 0-3 * * *", minutes: &[15, 45], hours: &[0, 1, 2, 3], days: ALL_DAYS },
    Rule { cron: "0 2,9 * * sun-mon", minutes: &[0], hours: &[2, 9], days: &[6, 0] },
];

fn at(text: &str) -> Time {
    parse_rfc3339(text).unwrap()
}

fn schedule(cron: &str, zone: &str) -> Schedule {
    Schedule::new(ScheduleFile {
        schema: 1,
        cron: Some(cron.into()),
        at: None,
        timezone: zone.into(),
        prompt: "do it".into(),
        by: "user".into(),
        provenance: "human".into(),
        created: "2026-12-31T00:00:00Z".into(),
        ended: None,
    })
    .unwrap()
}

fn once(time: &str, zone: &str) -> Result<Schedule, String> {
    let file = schedule("0 0 * * *", zone).file;
    Schedule::new(ScheduleFile { cron: None, at: Some(time.into()), ..file })
}

impl Rule {
    fn names(&self, wall: NaiveDateTime) -> bool {
        self.minutes.contains(&wall.minute())
            && self.hours.contains(&wall.hour())
            && self.days.contains(&wall.weekday().num_days_from_monday())
    }

    /// The slots of a year, by reading the clock at every quarter of an hour: no rule here and no zone's change of this
    /// year lies between two of them.
    fn slots(&self, zone: Zone, from: Time, to: Time) -> Vec<Time> {
        let step = TimeDelta::minutes(15);
        let wall_at = |time: Time| time.with_timezone(&zone).naive_local();
        let mut latest = wall_at(from);
        let (mut slots, mut now) = (Vec::new(), from);
        while now < to {
            now += step;
            let shown = wall_at(now);
            // Every time that the clock shows for the first time or has jumped over counts now.
            let mut fires = false;
            while latest < shown {
                latest += step;
                fires |= self.names(latest);
            }
            if fires {
                slots.push(now);
            }
        }
        slots
    }
}

#[test]
fn a_year_of_slots_is_what_the_clock_shows() {
    let (from, to) = (at("2026-12-31T00:00:00Z"), at("2028-01-01T00:00:00Z"));
    for zone in ZONES {
        for rule in &NAMED {
            let schedule = schedule(rule.cron, zone);
            let mut slots = Vec::new();
            let mut after = from;
            while let Some(slot) = schedule.next_slot(after).filter(|slot| *slot <= to) {
                slots.push(slot);
                after = slot;
            }
            assert_eq!(slots, rule.slots(Zone::find(zone).unwrap(), from, to), "{} in {zone}", rule.cron);
        }
    }
}

#[test]
fn an_interval_goes_on_through_every_change() {
    let (from, to) = (at("2026-12-31T00:00:00Z"), at("2028-01-01T00:00:00Z"));
    for zone in ZONES {
        let schedule = schedule("*/30 * * * *", zone);
        let mut after = schedule.next_slot(from).unwrap();
        while let Some(slot) = schedule.next_slot(after).filter(|slot| *slot <= to) {
            assert_eq!(slot - after, TimeDelta::minutes(30), "{zone}: after {after}");
            after = slot;
        }
    }
}

/// A number that looks like chance and is the same each time.
fn chance(seed: &mut u64, most: u64) -> i64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    ((*seed >> 33) % most) as i64
}

/// A year of ticks at uneven distances, with the clock set now and then. What fires is a message: one that is there is
/// not delivered again.
fn live(zone: &str, rule: &Rule, policy: MissedRuns, jumps: bool) {
    let schedule = schedule(rule.cron, zone);
    let (from, to) = (at("2026-12-31T00:00:00Z"), at("2028-01-01T00:00:00Z"));
    let end = to + TimeDelta::days(3);
    let slots: BTreeSet<Time> = rule.slots(Zone::find(zone).unwrap(), from, end).into_iter().collect();
    let (mut seed, mut now, mut dealt) = (zone.len() as u64, from, None);
    let mut fired: BTreeSet<Time> = BTreeSet::new();
    let mut passed: BTreeSet<Time> = BTreeSet::new();
    let (mut latest, mut look_at) = (from, from);
    while now < to {
        now += TimeDelta::seconds(20 + chance(&mut seed, 220));
        if jumps && chance(&mut seed, 2_000) == 0 {
            // Back by up to half a day, or forward by up to two days; a tick looks at everything then.
            now += TimeDelta::seconds(chance(&mut seed, 216_000) - 43_200);
            look_at = now;
        }
        latest = latest.max(now);
        if now < look_at {
            continue;
        }
        let turn = turn(&schedule, dealt, policy, now);
        if let Some(slot) = turn.fires {
            assert!(slots.contains(&slot) && slot <= now, "{zone} {}: {slot} is no slot", rule.cron);
            assert!(fired.insert(slot), "{zone} {}: {slot} fired twice", rule.cron);
            assert!((now - slot).num_seconds() <= AGE_LIMIT_S);
        }
        if let Some(missed) = &turn.missed {
            passed.extend(slots.range(missed.first..=missed.last));
            if missed.older {
                passed.extend(slots.range(missed.first..now - TimeDelta::seconds(AGE_LIMIT_S)));
            }
        }
        dealt = Some(turn.dealt);
        look_at = turn.next.unwrap_or(to);
    }
    let due: BTreeSet<Time> = slots.range(..=latest).copied().collect();
    if jumps {
        let lost: Vec<_> =
            due.iter().filter(|slot| !fired.contains(slot) && !passed.contains(slot)).collect();
        assert!(lost.is_empty(), "{zone} {}: neither fired nor told of: {lost:?}", rule.cron);
        assert!(fired.is_disjoint(&passed), "{zone} {}", rule.cron);
    } else {
        assert_eq!(fired, due, "{zone} {}", rule.cron);
        assert!(passed.is_empty());
    }
}

#[test]
fn in_a_year_of_ticks_each_slot_fires_once() {
    for zone in ZONES {
        for rule in &NAMED[..3] {
            live(zone, rule, MissedRuns::Skip, false);
        }
    }
}

#[test]
fn whatever_the_clock_does_none_fires_twice_and_none_is_lost_in_silence() {
    for zone in ZONES {
        for policy in [MissedRuns::Skip, MissedRuns::Latest] {
            live(zone, &NAMED[2], policy, true);
        }
    }
}

#[test]
fn a_policy_decides_about_what_was_missed() {
    let daily = schedule("0 9 * * *", "UTC");
    let asleep = Some(at("2027-03-01T09:00:00Z"));
    let check = |policy, now: &str, fires: Option<&str>, count: Option<usize>| {
        let turn = turn(&daily, asleep, policy, at(now));
        assert_eq!((turn.fires, turn.missed.map(|missed| missed.count)), (fires.map(at), count), "{now}");
    };
    check(MissedRuns::Skip, "2027-03-02T08:59:00Z", None, None);
    check(MissedRuns::Skip, "2027-03-02T09:05:00Z", Some("2027-03-02T09:00:00Z"), None);
    check(MissedRuns::Skip, "2027-03-02T09:05:01Z", None, Some(1));
    check(MissedRuns::Latest, "2027-03-02T12:00:00Z", Some("2027-03-02T09:00:00Z"), None);
    check(MissedRuns::Latest, "2027-03-09T12:00:00Z", Some("2027-03-09T09:00:00Z"), Some(0));
    let weekly = schedule("0 9 * * mon", "UTC");
    let turn = turn(&weekly, asleep, MissedRuns::Latest, at("2027-03-11T00:00:00Z"));
    assert_eq!((turn.fires, turn.missed.map(|missed| missed.older)), (None, Some(true)));
}

#[test]
fn once_is_once() {
    let schedule = once("2027-03-28T02:30", "Europe/Berlin").unwrap();
    let slot = at("2027-03-28T01:00:00Z");
    assert_eq!(schedule.next_slot(schedule.created), Some(slot));
    let fired = turn(&schedule, None, MissedRuns::Latest, slot);
    assert_eq!((fired.fires, fired.next), (Some(slot), None));
    assert_eq!(turn(&schedule, Some(fired.dealt), MissedRuns::Latest, slot).fires, None);
    assert!(once("2027-03-28T02:30:00Z", "Europe/Berlin").is_ok() && once("tomorrow", "UTC").is_err());
}

#[test]
fn what_is_no_schedule_is_named() {
    let file = schedule("0 9 * * *", "UTC").file;
    let with = |change: fn(&mut ScheduleFile)| {
        let mut file = file.clone();
        change(&mut file);
        Schedule::new(file).unwrap_err()
    };
    assert!(with(|file| file.cron = Some("* * * *".into())).contains("five fields"));
    assert!(with(|file| file.cron = Some("0 0 9 * * *".into())).contains("five fields"));
    assert!(with(|file| file.cron = Some("61 9 * * *".into())).contains("`cron`"));
    assert!(with(|file| file.cron = Some("0 0 30 2 *".into())).contains("ever comes"));
    assert!(with(|file| file.at = Some("2027-01-01T00:00:00Z".into())).contains("not both"));
    assert!(with(|file| file.timezone = "Mars/Base".into()).contains("tz database"));
    assert!(with(|file| file.prompt = " ".into()).contains("`prompt`"));
}

#[test]
fn files_go_there_and_back() {
    let file = schedule("0 9 * * mon-fri", "Europe/Berlin").file;
    assert_eq!(parse_schedule(&render_schedule(&file)).unwrap().file, file);
    let newer = render_schedule(&file).replace("schema = 1", "schema = 2");
    assert!(parse_schedule(&newer).unwrap_err().contains("schema"));
}
