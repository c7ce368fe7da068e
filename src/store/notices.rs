//! `notify.json`: when each notification was last sent, so that alike ones are sent once in a while and not in a flood.

use super::charters::write_json;
use super::fault::Result;
use super::lock::lock;
use super::org::Org;
use crate::domain::time::{Time, parse_rfc3339, render_rfc3339};
use std::collections::BTreeMap;

const NAME: &str = "notify.json";

impl Org {
    /// Whether a notification is due; if so it counts as sent from now on, before the attempt, however that ends.
    pub fn stamp_notice(&self, key: &str, now: Time, seconds: i64) -> Result<bool> {
        let _held = lock(&self.own, "lock")?;
        let text = self.own.read(NAME, 1024 * 1024)?.map(|text| text.text).unwrap_or_default();
        // A damaged file costs a notification twice, never one that was needed.
        let mut sent: BTreeMap<String, String> = serde_json::from_str(&text).unwrap_or_default();
        let recent = |at: &String| parse_rfc3339(at).is_some_and(|at| (now - at).num_seconds() < seconds);
        if sent.get(key).is_some_and(recent) {
            return Ok(false);
        }
        sent.retain(|_, at| recent(at));
        sent.insert(key.to_string(), render_rfc3339(now));
        write_json(&self.own, NAME, &sent)?;
        Ok(true)
    }
}
