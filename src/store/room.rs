//! How much room there is on the organisation's disk, and what else the clock is held against.

use super::fault::{Result, StoreError};
use super::org::Org;
use super::tail::read_tail;
use crate::domain::audit::parse_entry;
use crate::domain::health::Room;
use crate::domain::time::{Time, parse_rfc3339};
use std::os::fd::AsFd;

const WAKE: &str = "wake.json";
/// The largest `wake.json` that is read.
const WAKE_MAX: u64 = 64 * 1024 * 1024;
/// More than the longest line of the audit.
const TAIL: u64 = 16 * 1024;

impl Org {
    pub fn room(&self) -> Result<Room> {
        let stat = rustix::fs::fstatvfs(self.root.fd().as_fd())
            .map_err(|error| StoreError::io(self.root.path(), "ask for the room of", error))?;
        let bytes = stat.f_bavail.saturating_mul(stat.f_frsize);
        Ok(Room { bytes, files: stat.f_favail, files_total: stat.f_files })
    }

    /// When the audit was last written to.
    pub fn last_audited(&self) -> Result<Option<Time>> {
        let tail = read_tail(&self.own, "audit.jsonl", TAIL)?.text;
        let line = tail.lines().rev().find(|line| parse_entry(line).is_some());
        let at = line.and_then(|line| serde_json::from_str::<serde_json::Value>(line).ok());
        Ok(at.and_then(|line| line["at"].as_str().and_then(parse_rfc3339)))
    }

    /// What the last tick left; none where there was none. Unlike a tick, whoever asks here wants to know of a damage.
    pub fn read_wake(&self) -> Result<Option<serde_json::Value>> {
        let Some(text) = self.own.read(WAKE, WAKE_MAX)? else { return Ok(None) };
        let value: serde_json::Value = serde_json::from_str(&text.text)
            .map_err(|error| StoreError::format(self.own.join(WAKE), error))?;
        match value["schema"].as_u64() {
            Some(1) => Ok(Some(value)),
            _ => Err(StoreError::format(self.own.join(WAKE), "its schema is not 1")),
        }
    }
}
