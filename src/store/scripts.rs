//! Answers that were written before: the numbered ones of a `script` engine, and those of an earlier run.

use super::charters::write_json;
use super::dir::Dir;
use super::fault::{Result, StoreError};
use super::org::Department;
use crate::domain::ledger::{Line, StepLine};
use crate::domain::record::ledger_line;
use std::collections::BTreeMap;
use std::path::Path;

const ANSWER_MAX: u64 = 16 * 1024 * 1024;
const COUNTERS: &str = "scripts.json";

impl Department {
    /// The next answer of a folder: `01.txt`, `02.txt`, and so on, counted for this department; then that of the role,
    /// such as `worker.txt`, over and over.
    pub fn next_script(&self, folder: &Path, role: &str) -> Result<Option<String>> {
        let Some(answer) = self.peek_script(folder, role, 0)? else { return Ok(None) };
        let mut counters = self.script_counters()?;
        *counters.entry(folder.display().to_string()).or_default() += 1;
        write_json(&self.own()?, COUNTERS, &counters)?;
        Ok(Some(answer))
    }

    /// The answer that comes after `ahead` more, without counting it.
    pub fn peek_script(&self, folder: &Path, role: &str, ahead: u64) -> Result<Option<String>> {
        let counter = self.script_counters()?.get(&folder.display().to_string()).copied().unwrap_or(0);
        let dir = Dir::open(folder, self.dir.disk().clone())?;
        let numbered = dir.read(&format!("{:02}.txt", counter + ahead + 1), ANSWER_MAX)?;
        let answer = match numbered {
            Some(answer) => Some(answer),
            None => dir.read(&format!("{role}.txt"), ANSWER_MAX)?,
        };
        Ok(answer.map(|answer| answer.text))
    }

    fn script_counters(&self) -> Result<BTreeMap<String, u64>> {
        let own = self.own()?;
        let text = own.read(COUNTERS, 1024 * 1024)?.map(|text| text.text).unwrap_or_else(|| "{}".to_string());
        serde_json::from_str(&text).map_err(|error| StoreError::format(own.join(COUNTERS), error))
    }

    /// What an earlier run answered in this role to this item.
    pub fn recorded_answer(&self, run: &str, role: &str, item: Option<&str>) -> Result<Option<String>> {
        let records = self.records()?;
        for name in records.names()? {
            let Some(record) = records.read(&name)? else { continue };
            let Some(Ok(Line::Step(step))) = ledger_line(&record).map(serde_json::from_str::<Line>) else {
                continue;
            };
            let StepLine { run: of, role: in_role, item: about, outcome, .. } = *step;
            if of == run
                && in_role == role
                && outcome == "ok"
                && (role == "orchestrator" || about.as_deref() == item)
            {
                return Ok(output_of(&record));
            }
        }
        Ok(None)
    }
}

/// The last output that a record holds.
pub fn output_of(record: &str) -> Option<String> {
    let (_, after) = record.rsplit_once("\n## Output")?;
    let (_, after) = after.split_once("\n\n")?;
    let (open, rest) = after.split_once("text\n")?;
    let (text, _) = rest.split_once(&format!("\n{open}\n"))?;
    Some(text.to_string())
}
