//! Stopping runs, and proving that nothing of them is left.

use crate::process::stop::{GRACE, ProcessId, end, end_marked};
use crate::store::fault::Result;
use crate::store::org::Department;
use std::time::Duration;

/// How long a run may take to stop cleanly: its engine has two seconds, and a plan half applied is finished first.
const CLEAN: Duration = Duration::from_secs(10);

/// What stopping a department came to.
#[derive(Clone, Debug)]
pub struct Stopped {
    /// The run that was there; none where nothing ran.
    pub run: Option<String>,
    /// Processes that are still there.
    pub left: Vec<u32>,
    /// Why it could not be looked, where it could not.
    pub not_looked: Option<String>,
}

impl Stopped {
    pub fn is_proved(&self) -> bool {
        self.left.is_empty() && self.not_looked.is_none()
    }
}

/// A run that may be alive: its id, and the process that leads it.
#[derive(Clone, Debug)]
pub struct Led {
    pub run: String,
    pub kind: String,
    pub role: String,
    pub started: String,
    pub process: ProcessId,
}

/// What `active.json` and the started jobs of a department name, alive or not.
pub fn led_runs(department: &Department) -> Result<Vec<Led>> {
    let mut led = Vec::new();
    if let Some(active) = department.active()? {
        let process = ProcessId { pid: active.pid, start: active.start_time, boot: active.boot };
        led.push(Led {
            run: active.run,
            kind: active.kind,
            role: active.role,
            started: active.started,
            process,
        });
    }
    for files in department.jobs()? {
        if let (Some(started), None) = (files.started, files.ended) {
            let process = ProcessId { pid: started.pid, start: started.start_time, boot: started.boot };
            let kind = "dispatch".to_string();
            led.push(Led { run: started.run, kind, role: files.job.pipeline, started: started.at, process });
        }
    }
    Ok(led)
}

/// Ends the runs of a department, with everything they started.
pub fn stop_department(department: &Department) -> Result<Stopped> {
    let mut stopped = Stopped { run: None, left: Vec::new(), not_looked: None };
    for led in led_runs(department)? {
        if led.process.is_alive() && !end(&led.process, CLEAN) {
            stopped.left.push(led.process.pid);
        }
        match end_marked(&led.run, GRACE) {
            Ok(still) => stopped.left.extend(still.iter().map(|process| process.pid)),
            Err(error) => stopped.not_looked = Some(error.to_string()),
        }
        stopped.run.get_or_insert(led.run);
    }
    stopped.left.sort_unstable();
    stopped.left.dedup();
    Ok(stopped)
}

/// Whether a run of the department is alive.
pub fn is_running(department: &Department) -> bool {
    led_runs(department).is_ok_and(|led| led.iter().any(|led| led.process.is_alive()))
}
