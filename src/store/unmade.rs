//! The mark that a department's commit could not be made: why, and since when.
//!
//! It is there from the first try that failed until one succeeds, so that `status`, `health` and a tick can tell.

use super::charters::write_json;
use super::fault::Result;
use super::org::Department;
use crate::domain::time::{Time, render_rfc3339};
use serde::{Deserialize, Serialize};

const MARK: &str = "not-committed.json";

/// Why what was written is not committed.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Unmade {
    pub schema: u64,
    /// When a commit first could not be made.
    pub since: String,
    pub why: String,
}

impl Department {
    /// Why the last commit could not be made, where that is so. A mark that can't be read still marks.
    pub fn unmade_commit(&self) -> Result<Option<Unmade>> {
        let Some(own) = self.dir.find(".harness")? else { return Ok(None) };
        let Some(text) = own.read(MARK, 64 * 1024)? else { return Ok(None) };
        let unread = || Unmade { schema: 1, since: String::new(), why: format!("{MARK} is unreadable") };
        Ok(Some(serde_json::from_str(&text.text).unwrap_or_else(|_| unread())))
    }

    /// Marks that a commit could not be made; the first time stays.
    pub fn mark_unmade(&self, now: Time, why: &str) -> Result<()> {
        let known = self.unmade_commit()?;
        if known.as_ref().is_some_and(|known| known.why == why) {
            return Ok(());
        }
        let since = known.map(|known| known.since).filter(|since| !since.is_empty());
        let since = since.unwrap_or_else(|| render_rfc3339(now));
        write_json(&self.own()?, MARK, &Unmade { schema: 1, since, why: why.to_string() })
    }

    /// Takes the mark away, where there is one.
    pub fn unmark_unmade(&self) -> Result<()> {
        match self.unmade_commit()? {
            Some(_) => self.own()?.remove(MARK),
            None => Ok(()),
        }
    }
}
