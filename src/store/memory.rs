//! Memory as files: the entries of each day, and when they were last made into MEMORY.md and SELF.md.

use super::fault::{Result, StoreError};
use super::org::Department;
use crate::domain::memory::{Entry, is_day, parse_entries};
use crate::domain::upkeep::Upkeep;

/// The largest file of a day that is read.
const DAY_MAX: u64 = 16 * 1024 * 1024;
const UPKEEP: &str = ".harness/upkeep.json";

impl Department {
    /// The entries from a day on, oldest first; the empty text is before every day.
    pub fn memory_entries(&self, since: &str) -> Result<Vec<Entry>> {
        let Some(dir) = self.dir.find("memory")? else { return Ok(Vec::new()) };
        let mut entries = Vec::new();
        for entry in dir.list()? {
            let Some(day) = entry.name.strip_suffix(".md").filter(|day| is_day(day) && *day >= since) else {
                continue;
            };
            if let Some(text) = dir.read(&entry.name, DAY_MAX)? {
                entries.extend(parse_entries(day, &text.text));
            }
        }
        Ok(entries)
    }

    /// Adds an entry to its day.
    pub fn append_memory(&self, entry: &Entry) -> Result<()> {
        self.dir.make_lasting("memory")?.append_once(&format!("{}.md", entry.day), &entry.render())
    }

    /// What the summarizer and the documenter did last, with the file's text; a missing one means never.
    pub fn upkeep(&self) -> Result<(Upkeep, Option<String>)> {
        let Some(text) = self.dir.read(UPKEEP, 64 * 1024)? else { return Ok((Upkeep::default(), None)) };
        let wrong = |what: String| StoreError::format(self.dir.join(UPKEEP), what);
        let upkeep: Upkeep = serde_json::from_str(&text.text).map_err(|error| wrong(error.to_string()))?;
        if upkeep.schema > 1 {
            return Err(wrong(format!("its schema is {}, and this program knows 1", upkeep.schema)));
        }
        Ok((upkeep, Some(text.text)))
    }

    pub fn write_upkeep(&self, upkeep: &Upkeep) -> Result<()> {
        self.own()?.replace("upkeep.json", render_upkeep(upkeep).as_bytes())
    }
}

pub fn render_upkeep(upkeep: &Upkeep) -> String {
    let upkeep = Upkeep { schema: 1, ..upkeep.clone() };
    format!("{}\n", serde_json::to_string_pretty(&upkeep).unwrap_or_default())
}
