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
    /// Storms that go on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    storms: Vec<Storm>,
}

/// Events that were not delivered to a department, because too many came.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Storm {
    dept: String,
    /// The first one of them, and the last.
    pub from: String,
    pub to: String,
    pub refused: u64,
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
    /// With the storm that it ends, where there was one.
    New(Option<Storm>),
    /// It is the same as one just delivered, by this id.
    Again(String),
    /// So many came within the hour that this one is not delivered.
    Storm(Storm),
}

impl Events {
    /// Counts one that is not delivered.
    fn refuse(&mut self, dept: &Dept, now: Time) -> Storm {
        let at = render_rfc3339(now);
        let place = self.storms.iter().position(|storm| storm.dept == dept.as_str());
        let place = place.unwrap_or_else(|| {
            self.storms.push(Storm {
                dept: dept.to_string(),
                from: at.clone(),
                to: String::new(),
                refused: 0,
            });
            self.storms.len() - 1
        });
        let storm = &mut self.storms[place];
        (storm.to, storm.refused) = (at, storm.refused + 1);
        storm.clone()
    }

    /// The storm that is over, now that one is delivered again.
    fn calm(&mut self, dept: &Dept) -> Option<Storm> {
        let place = self.storms.iter().position(|storm| storm.dept == dept.as_str())?;
        Some(self.storms.remove(place))
    }
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
        log.schema = 1;
        if here().count() >= PER_HOUR {
            let storm = log.refuse(dept, now);
            write_json(&self.own, NAME, &log)?;
            return Ok(Taken::Storm(storm));
        }
        let over = log.calm(dept);
        let (dept, alike, at, id) =
            (dept.to_string(), alike.to_string(), render_rfc3339(now), id.to_string());
        log.events.push(Emitted { dept, alike, at, id });
        write_json(&self.own, NAME, &log)?;
        Ok(Taken::New(over))
    }
}
