//! `events.json`: what was emitted in the last hour, so that duplicates collapse and a storm is capped.

use super::charters::write_json;
use super::fault::Result;
use super::lock::lock;
use super::org::Org;
use crate::domain::id::Dept;
use crate::domain::time::{Time, parse_rfc3339, render_rfc3339};
use serde::{Deserialize, Serialize};

const NAME: &str = "events.json";
/// Alike events within so many seconds are one.
pub const WINDOW_S: i64 = 60;
/// So many events may reach a department within an hour.
pub const PER_HOUR: usize = 30;

#[derive(Default, Serialize, Deserialize)]
struct Events {
    schema: u64,
    #[serde(default)]
    events: Vec<Emitted>,
}

#[derive(Clone, Serialize, Deserialize)]
struct Emitted {
    dept: String,
    /// What makes two alike: the type, and a digest of the text.
    alike: String,
    at: String,
    id: String,
}

/// Whether an event is to be delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Taken {
    New,
    /// It is the same as one just delivered, by this id.
    Again(String),
    /// So many came within the hour that this one is not delivered.
    Storm(usize),
}

impl Org {
    /// Notes an event, where it is a new one. It counts from now on, also where delivering it fails.
    pub fn take_event(&self, dept: &Dept, alike: &str, id: &str, now: Time) -> Result<Taken> {
        let _held = lock(&self.own, "lock")?;
        let text = self.own.read(NAME, 4 * 1024 * 1024)?.map(|text| text.text).unwrap_or_default();
        // A damaged file costs a duplicate at the most.
        let mut log: Events = serde_json::from_str(&text).unwrap_or_default();
        let age =
            |event: &Emitted| parse_rfc3339(&event.at).map_or(i64::MAX, |at| (now - at).num_seconds().abs());
        log.events.retain(|event| age(event) < 3_600);
        let here = || log.events.iter().filter(|event| event.dept == dept.as_str());
        if let Some(again) = here().find(|event| event.alike == alike && age(event) < WINDOW_S) {
            return Ok(Taken::Again(again.id.clone()));
        }
        let count = here().count();
        if count >= PER_HOUR {
            return Ok(Taken::Storm(count));
        }
        let (dept, alike, at, id) =
            (dept.to_string(), alike.to_string(), render_rfc3339(now), id.to_string());
        log.events.push(Emitted { dept, alike, at, id });
        log.schema = 1;
        write_json(&self.own, NAME, &log)?;
        Ok(Taken::New)
    }
}
