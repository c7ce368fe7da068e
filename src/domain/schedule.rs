//! Schedules, `schedules/<name>.toml`: a prompt that arrives as a message at the times of a cron expression, or once.
//!
//! A slot is a moment at which a schedule fires. An expression that names its hours means the wall clock: each time it
//! names comes once, also on the day on which the clock shows it twice (the first counts) or never (it comes when the
//! gap ends; several in one gap come as one). One whose hours begin with `*` means every so often: it goes on through
//! the hour that comes twice, and has nothing in the hour that never comes. Seconds are not to be had.

mod due;

use super::hours::parse_zone;
use super::message::Provenance;
use super::time::{Time, parse_rfc3339, render_rfc3339};
use super::zone::Zone;
use chrono::{MappedLocalTime, NaiveDateTime, TimeDelta, TimeZone, Utc};
use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};
use serde::{Deserialize, Serialize};

pub use due::{Missed, Turn, turn};

/// The newest format this program knows.
pub const SCHEDULE_SCHEMA: u64 = 1;
/// The longest prompt of a schedule.
pub const PROMPT_MAX: usize = 16 * 1024;
/// The most schedules that a department may have.
pub const SCHEDULES_MAX: usize = 50;
/// Wall-clock times that are looked at for one slot: more than an hour has that comes twice.
const TRIES: usize = 200;
/// The longest gap that a zone ever had: a whole day.
const GAP_MINUTES: i64 = 26 * 60;

/// A schedule as its file says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScheduleFile {
    pub schema: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cron: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    pub timezone: String,
    pub prompt: String,
    /// `user`, or the department.
    pub by: String,
    pub provenance: String,
    pub created: String,
    /// When it was taken away by an action; it fires no more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
}

/// A schedule that can be asked for its slots.
#[derive(Clone, Debug)]
pub struct Schedule {
    pub file: ScheduleFile,
    pub created: Time,
    when: When,
    zone: Zone,
}

#[derive(Clone, Debug)]
enum When {
    Once(Time),
    /// By the wall clock.
    Named(Box<Cron>),
    /// Every so often.
    Every(Box<Cron>),
}

/// Whether a text may name a schedule; it is a file's name.
pub fn is_schedule_name(text: &str) -> bool {
    super::id::Dept::parse(text).is_ok()
}

/// Reads a schedule's file.
pub fn parse_schedule(text: &str) -> Result<Schedule, String> {
    let file: ScheduleFile = toml::from_str(text).map_err(|error| error.message().to_string())?;
    if file.schema != SCHEDULE_SCHEMA {
        return Err(format!("its schema is {}, and this program knows {SCHEDULE_SCHEMA}", file.schema));
    }
    Schedule::new(file)
}

/// What memory keeps, under `cron`, of a schedule that was made.
pub fn scheduled(name: &str, file: &ScheduleFile) -> String {
    let when = file.cron.as_deref().or(file.at.as_deref()).unwrap_or_default();
    format!("Scheduled {name}: {when} ({}).\n{}", file.timezone, file.prompt.trim_end())
}

/// What memory keeps, under `cron`, of a schedule that was ended.
pub fn unscheduled(name: &str) -> String {
    format!("Unscheduled {name}.")
}

/// A schedule's file as text.
pub fn render_schedule(file: &ScheduleFile) -> String {
    // Every field is a number or a text, which TOML can always write.
    toml::to_string(file).unwrap_or_default()
}

impl Schedule {
    /// Checks every field; the fault is a sentence that begins with the field.
    pub fn new(file: ScheduleFile) -> Result<Schedule, String> {
        let zone = parse_zone(&file.timezone).map_err(|what| format!("`timezone` {what}"))?;
        let created = parse_rfc3339(&file.created).ok_or("`created` is no time")?;
        if file.prompt.trim().is_empty() || file.prompt.len() > PROMPT_MAX {
            return Err(format!("`prompt` must have 1 to {PROMPT_MAX} bytes"));
        }
        let when = match (&file.cron, &file.at) {
            (Some(cron), None) => parse_cron(cron)?,
            (None, Some(at)) => When::Once(parse_at(at, &zone)?),
            _ => return Err("either `cron` or `at` is needed, and not both".to_string()),
        };
        let schedule = Schedule { file, created, when, zone };
        if !schedule.is_once() && !schedule.is_ended() && schedule.next_slot(created).is_none() {
            return Err("`cron` names no time that ever comes".to_string());
        }
        Ok(schedule)
    }

    pub fn is_once(&self) -> bool {
        matches!(self.when, When::Once(_))
    }

    pub fn is_ended(&self) -> bool {
        self.file.ended.is_some()
    }

    pub fn provenance(&self) -> Provenance {
        match self.file.provenance.as_str() {
            "human" => Provenance::Human,
            "department" => Provenance::Department,
            _ => Provenance::External,
        }
    }

    /// The first slot after a moment; none where there is none any more.
    pub fn next_slot(&self, after: Time) -> Option<Time> {
        if self.is_ended() {
            return None;
        }
        match &self.when {
            When::Once(at) => Some(*at).filter(|at| *at > after),
            When::Every(cron) => {
                let next = cron.find_next_occurrence(&after.with_timezone(&self.zone), false).ok()?;
                Some(next.with_timezone(&Utc)).filter(|next| *next > after)
            }
            When::Named(cron) => self.next_named(cron, after),
        }
    }

    /// The wall clock is searched as if it were a clock without changes, and each time found is then looked up in the
    /// zone. Times that the clock shows twice may lie behind: those are passed over.
    fn next_named(&self, cron: &Cron, after: Time) -> Option<Time> {
        let mut wall = Utc.from_utc_datetime(&after.with_timezone(&self.zone).naive_local());
        // The moment itself may be a time that is still to come, where it falls into a gap.
        wall -= TimeDelta::seconds(1);
        for _ in 0..TRIES {
            wall = cron.find_next_occurrence(&wall, false).ok()?;
            let slot = resolve(wall.naive_utc(), &self.zone)?;
            if slot > after {
                return Some(slot);
            }
        }
        None
    }
}

/// The moment at which a wall clock shows a time: the first of two, or the end of the gap it falls into.
fn resolve(wall: NaiveDateTime, zone: &Zone) -> Option<Time> {
    for minute in 0..=GAP_MINUTES {
        let shown = wall.checked_add_signed(TimeDelta::try_minutes(minute)?)?;
        match zone.from_local_datetime(&shown) {
            MappedLocalTime::Single(at) => return Some(at.with_timezone(&Utc)),
            MappedLocalTime::Ambiguous(first, second) => return Some(first.min(second).with_timezone(&Utc)),
            MappedLocalTime::None => {}
        }
    }
    None
}

fn parse_cron(text: &str) -> Result<When, String> {
    let shown = super::text::one_line(text, 80);
    let wrong =
        |why: &str| format!("`cron` is `{shown}`: {why}; write five fields, such as `0 9 * * mon-fri`");
    let hours = match text.split_whitespace().collect::<Vec<_>>()[..] {
        [_, hours, _, _, _] => hours,
        [alias] if alias.starts_with('@') => "named",
        _ => return Err(wrong("it has not five fields")),
    };
    let parser = CronParser::builder().seconds(Seconds::Disallowed).year(Year::Disallowed).build();
    let cron = parser.parse(text).map_err(|error| wrong(&error.to_string()))?;
    let every = hours.starts_with(['*', '?']) || text.trim() == "@hourly";
    Ok(if every { When::Every(Box::new(cron)) } else { When::Named(Box::new(cron)) })
}

/// RFC 3339, or a wall-clock time in the schedule's zone.
fn parse_at(text: &str, zone: &Zone) -> Result<Time, String> {
    if let Some(at) = parse_rfc3339(text) {
        return Ok(at);
    }
    let forms = ["%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M"];
    let wall = forms.iter().find_map(|form| NaiveDateTime::parse_from_str(text.trim(), form).ok());
    wall.and_then(|wall| resolve(wall, zone)).ok_or_else(|| {
        let shown = super::text::one_line(text, 60);
        format!(
            "`at` is `{shown}`; write a time such as 2026-12-01T09:00:00Z, or 2026-12-01T09:00 in the zone"
        )
    })
}

/// The seed of a slot's message id: the same slot of the same schedule is the same message.
pub fn slot_seed(dept: &str, name: &str, schedule: &Schedule, slot: Time) -> String {
    format!("schedule/{dept}/{name}/{}/{}", schedule.file.created, render_rfc3339(slot))
}

#[cfg(test)]
mod tests;
