//! What a run leaves: records, the ledger's lines, the worker's log, the live output, and who runs now.

use super::charters::write_json;
use super::fault::{Fault, Result, StoreError};
use super::org::Department;
use super::tail::{Backwards, read_tail};
use crate::domain::ledger::{Line, RunLine, parse_run, render_line, written_order};
use crate::domain::record::ledger_line;
use crate::domain::time::{Time, render_ts};
use serde::{Deserialize, Serialize};
use std::io::Write;

/// The folder of records.
pub const RECORDS: &str = ".harness/director-runs";
const ACTIVE: &str = "active.json";
/// How much of the ledger's end is looked at for the last runs, piece by piece.
const RUNS_BLOCK: u64 = 4 * 1024;
const RUNS_BLOCKS: usize = 64;
const LIVE_TAIL: u64 = 4 * 1024;
/// The largest record that is read.
const RECORD_MAX: u64 = 64 * 1024 * 1024;

/// Who runs now: `active.json`. It proves nothing by itself; the lock does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Active {
    pub schema: u64,
    pub run: String,
    pub kind: String,
    pub role: String,
    pub started: String,
    pub pid: u32,
    pub start_time: u64,
    pub boot: String,
    /// The step for which an engine was started; 0 before the first.
    #[serde(default)]
    pub step: u64,
    /// The guard and the engine's process, where an engine runs.
    #[serde(default)]
    pub guard_pid: Option<u32>,
    #[serde(default)]
    pub engine_pid: Option<u32>,
}

impl Department {
    pub fn active(&self) -> Result<Option<Active>> {
        let Some(own) = self.dir.find(".harness")? else { return Ok(None) };
        let Some(text) = own.read(ACTIVE, 64 * 1024)? else { return Ok(None) };
        let active = serde_json::from_str(&text.text);
        active.map(Some).map_err(|error| StoreError::format(own.join(ACTIVE), error))
    }

    /// Whether a newer program wrote down who runs.
    pub fn is_active_newer(&self) -> Result<bool> {
        let text = self.own()?.read(ACTIVE, 64 * 1024)?.map(|text| text.text).unwrap_or_default();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        Ok(value.get("schema").and_then(serde_json::Value::as_u64).is_some_and(|schema| schema > 1))
    }

    pub fn write_active(&self, active: &Active) -> Result<()> {
        write_json(&self.own()?, ACTIVE, active)
    }

    pub fn remove_active(&self) -> Result<()> {
        self.own()?.remove(ACTIVE)
    }

    /// A record's name that is free: `<ts>_<kind>.md`, else `<ts>-2_<kind>.md`.
    pub fn free_record_name(&self, at: Time, kind: &str) -> Result<String> {
        let dir = self.dir.make(RECORDS)?;
        let ts = render_ts(at);
        let mut name = format!("{ts}_{kind}.md");
        let mut count = 1;
        while dir.stat(&name)?.is_some() {
            count += 1;
            name = format!("{ts}-{count}_{kind}.md");
        }
        Ok(name)
    }

    pub fn write_record(&self, name: &str, text: &str) -> Result<()> {
        self.dir.make(RECORDS)?.create(name, text.as_bytes()).map(|_| ())
    }

    pub fn append_ledger(&self, line: &str) -> Result<()> {
        self.own()?.append_once("runs.jsonl", line)
    }

    /// Writes the ledger anew from the records where it is missing; how many lines it then has.
    pub fn rebuild_ledger(&self) -> Result<Option<usize>> {
        let own = self.own()?;
        if own.stat("runs.jsonl")?.is_some() {
            return Ok(None);
        }
        let mut lines: Vec<Line> = Vec::new();
        let records = self.records()?;
        for name in records.names()? {
            match records.read(&name) {
                Ok(record) => lines.extend(
                    record.as_deref().and_then(ledger_line).and_then(|line| serde_json::from_str(line).ok()),
                ),
                Err(error) if matches!(error.fault, Fault::Io(_)) => return Err(error),
                // What is no text is no record of ours.
                Err(_) => {}
            }
        }
        if lines.is_empty() {
            return Ok(None);
        }
        lines.sort_by_cached_key(written_order);
        let text: String = lines.iter().map(render_line).collect();
        own.create("runs.jsonl", text.as_bytes())?;
        Ok(Some(lines.len()))
    }

    /// The last runs in the ledger, newest first; only its end is read.
    pub fn last_runs(&self, most: usize) -> Result<Vec<RunLine>> {
        let own = self.dir.find(".harness")?;
        let opened = own.map(|own| Backwards::open(&own, "runs.jsonl")).transpose()?.flatten();
        let Some(mut log) = opened else { return Ok(Vec::new()) };
        let (mut runs, mut blocks) = (Vec::new(), 0);
        while runs.len() < most
            && blocks < RUNS_BLOCKS
            && let Some(block) = log.read_block(RUNS_BLOCK)?
        {
            blocks += 1;
            runs.extend(block.lines().rev().filter_map(parse_run).take(most - runs.len()));
        }
        Ok(runs)
    }

    /// The end of the running step's output, or of the last one's.
    pub fn live_tail(&self, most: u64) -> String {
        let own = self.dir.find(".harness").ok().flatten();
        own.and_then(|own| read_tail(&own, "live.log", most).ok()).unwrap_or_default().text
    }

    /// The last line of the running step's output that says anything.
    pub fn live_line(&self) -> String {
        self.live_tail(LIVE_TAIL)
            .lines()
            .rev()
            .find(|line| !line.trim().is_empty())
            .unwrap_or_default()
            .trim()
            .to_string()
    }

    pub fn append_worker_log(&self, entry: &str) -> Result<()> {
        self.own()?.append_once("worker-log.md", entry)
    }

    /// The running step's output, empty at first. It is for looking at, and so never synced.
    pub fn open_live_log(&self) -> Result<LiveLog> {
        let own = self.own()?;
        let path = own.join("live.log");
        own.replace_unsynced("live.log", b"")?;
        let file = std::fs::OpenOptions::new().append(true).open(&path);
        file.map(|file| LiveLog { file }).map_err(|error| StoreError::io(&path, "open", error))
    }
}

/// Where the running step's output goes as it comes.
#[derive(Debug)]
pub struct LiveLog {
    file: std::fs::File,
}

impl LiveLog {
    /// Adds text. A full disk must not end an engine that was paid for: the answer itself is saved elsewhere.
    pub fn write(&mut self, text: &str) {
        let _ignored = self.file.write_all(text.as_bytes());
    }
}

/// The folder of prompts, the newest of which are kept for comparing.
const ASKED: &str = ".harness/asked";
/// How many are kept, and how many more there may be before the oldest go.
const ASKED_MOST: usize = 200;
const ASKED_SLACK: usize = 20;

impl Department {
    /// Keeps a step's prompt. It is for looking at, and so never synced.
    pub fn keep_prompt(&self, run: &str, step: u64, prompt: &str) -> Result<()> {
        let dir = self.dir.make(ASKED)?;
        dir.replace_unsynced(&format!("{run}.{step}.md"), prompt.as_bytes())?;
        let entries = dir.list()?;
        if entries.len() > ASKED_MOST + ASKED_SLACK {
            for entry in &entries[..entries.len() - ASKED_MOST] {
                dir.remove_unsynced(&entry.name)?;
            }
        }
        Ok(())
    }

    /// Puts the stable layers of a prompt where an engine reads them; the path. It is made anew for every call.
    pub fn put_system_prompt(&self, name: &str, text: &str) -> Result<std::path::PathBuf> {
        let own = self.own()?;
        own.replace_unsynced(name, text.as_bytes())?;
        Ok(own.join(name))
    }

    /// A step's prompt, where it is still kept.
    pub fn kept_prompt(&self, run: &str, step: u64) -> Result<Option<String>> {
        let Some(dir) = self.dir.find(ASKED)? else { return Ok(None) };
        Ok(dir.read(&format!("{run}.{step}.md"), RECORD_MAX)?.map(|text| text.text))
    }
}
