//! Jobs that `dispatch` queued, each in up to three files of `.harness/jobs/`: what to do, that it was started, how it
//! ended. Started without ended is unknown: it may have happened, and is never tried again by itself.

use super::charters::write_json;
use super::dir::{Dir, EntryKind};
use super::fault::{Result, StoreError};
use super::org::Department;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

const FOLDER: &str = ".harness/jobs";
const JOB_MAX: u64 = 4 * 1024 * 1024;

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Job {
    pub schema: u64,
    pub id: String,
    /// Empty where an engine works.
    pub pipeline: String,
    /// The engine that works for an agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<String>,
    /// The agent whose task it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The giving of the task that queued it: once the task was given anew, it is another's work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assignment: Option<String>,
    pub args: BTreeMap<String, String>,
    pub task: Option<String>,
    pub project: Option<String>,
    /// The directive that led to it, whose money it takes too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directive: Option<String>,
    /// The run whose step queued it.
    pub run: String,
    pub created: String,
    pub provenance: String,
}

impl Job {
    /// What works: a pipeline, or an agent's engine.
    pub fn what(&self) -> &str {
        self.engine.as_deref().unwrap_or(&self.pipeline)
    }
}

/// That it was started, by which process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobStarted {
    pub run: String,
    pub at: String,
    pub pid: u32,
    pub start_time: u64,
    pub boot: String,
}

/// How it ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobEnded {
    pub at: String,
    /// `done`, `failed`, `cancelled` or `unknown`.
    pub outcome: String,
    pub reason: String,
    pub output: String,
    /// What an agent's engine cost, as far as it said; a program never says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted_usd: Option<f64>,
}

/// A job as its files say.
#[derive(Clone, Debug)]
pub struct JobFiles {
    pub job: Job,
    pub started: Option<JobStarted>,
    pub ended: Option<JobEnded>,
}

impl Department {
    pub fn jobs_folder(&self) -> Result<Dir> {
        self.dir.make(FOLDER)
    }

    /// Every job that is not yet settled, oldest first.
    pub fn jobs(&self) -> Result<Vec<JobFiles>> {
        let Some(dir) = self.dir.find(FOLDER)? else { return Ok(Vec::new()) };
        let mut jobs = Vec::new();
        for entry in dir.list()?.into_iter().filter(|entry| entry.kind == EntryKind::File) {
            let Some(id) = entry.name.strip_suffix(".json").filter(|id| !id.contains('.')) else { continue };
            let Some(job) = read::<Job>(&dir, &entry.name)? else { continue };
            jobs.push(JobFiles {
                job,
                started: read(&dir, &format!("{id}.started.json"))?,
                ended: read(&dir, &format!("{id}.ended.json"))?,
            });
        }
        Ok(jobs)
    }

    pub fn write_job_started(&self, id: &str, started: &JobStarted) -> Result<()> {
        write_json(&self.jobs_folder()?, &format!("{id}.started.json"), started)
    }

    /// A job that was not started after all.
    pub fn remove_job_started(&self, id: &str) -> Result<()> {
        self.jobs_folder()?.remove(&format!("{id}.started.json"))
    }

    pub fn write_job_ended(&self, id: &str, ended: &JobEnded) -> Result<()> {
        write_json(&self.jobs_folder()?, &format!("{id}.ended.json"), ended)
    }

    /// Removes the files of a job whose result is delivered and recorded. The job itself goes first.
    pub fn remove_job(&self, id: &str) -> Result<()> {
        let dir = self.jobs_folder()?;
        for name in [format!("{id}.json"), format!("{id}.started.json"), format!("{id}.ended.json")] {
            dir.remove(&name)?;
        }
        Ok(())
    }
}

fn read<T: DeserializeOwned>(dir: &Dir, name: &str) -> Result<Option<T>> {
    let Some(text) = dir.read(name, JOB_MAX)? else { return Ok(None) };
    serde_json::from_str(&text.text).map(Some).map_err(|error| StoreError::format(dir.join(name), error))
}
