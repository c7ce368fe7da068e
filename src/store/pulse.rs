//! `alive`: when the last pulse was. Every tick touches it first thing.

use super::dir::EntryKind;
use super::fault::{Fault, Result, StoreError};
use super::org::Org;
use crate::domain::time::Time;

const NAME: &str = "alive";

impl Org {
    /// When the last pulse was; none where there never was one.
    pub fn read_pulse(&self) -> Result<Option<Time>> {
        let Some(stat) = self.own.stat(NAME)? else { return Ok(None) };
        if stat.kind != EntryKind::File {
            return Err(StoreError::new(self.own.join(NAME), "read", Fault::WrongType("not a plain file")));
        }
        let at = chrono::DateTime::from_timestamp(stat.modified_s, stat.modified_ns);
        at.map(Some).ok_or_else(|| StoreError::format(self.own.join(NAME), "its time is none"))
    }
}
