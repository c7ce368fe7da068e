//! Running an engine through its guard, and reading what it says within its limits.
//!
//! The run holds one end of the guard's standard input for as long as the engine may live. Whatever happens
//! to this function, an early return, a panic or the death of the process, closes that end, and the guard
//! takes everything down. It judges no output: what was asked to stop has stopped, whatever its exit code
//! says, and the rest is for the caller to read.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::interrupt::Stop;
use super::running::Running;
use super::stop::ProcessId;

/// An engine to run. Nothing is inherited: what isn't named here isn't there.
#[derive(Debug, Clone)]
pub struct ChildSpec {
    /// Absolute; see `find`.
    pub program: PathBuf,
    pub args: Vec<OsString>,
    /// With the run's mark in it, which a guard uses to find strays: of one run, only one engine at a time.
    pub env: Vec<(OsString, OsString)>,
    pub cwd: PathBuf,
    pub stdin: Vec<u8>,
    pub limits: Limits,
}

#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// To the first byte of output.
    pub start: Duration,
    /// Between two of them.
    pub idle: Duration,
    /// From start to end.
    pub total: Duration,
    /// From the result to the end.
    pub after_result: Duration,
    pub stdout_bytes: usize,
    pub stderr_bytes: usize,
}

/// What comes from the engine while it runs.
#[derive(Debug)]
pub enum Output<'a> {
    /// It runs. `engine` is None where it had already gone when it was looked for.
    Started {
        guard: ProcessId,
        engine: Option<ProcessId>,
    },
    /// Bytes as they were read, cut anywhere; together never more than the cap.
    Stdout(&'a [u8]),
    Stderr(&'a [u8]),
}

/// What the reader of the output makes of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    Continue,
    /// The engine has given its result: from now on it is only expected to go.
    ResultSeen,
}

/// Why it came to an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// By itself.
    Exited,
    /// It never ran; the operating system said why.
    NotStarted { os_error: i32 },
    /// It said nothing at all for too long.
    StartDeadline,
    /// It fell silent.
    IdleDeadline,
    /// It took too long.
    TotalDeadline,
    /// It gave its result and then didn't go.
    AfterResult,
    /// It said too much.
    OutputCap,
    /// The run was told to stop, or somebody told the guard.
    Stopped,
    /// The guard went without a word; the run has cleaned up in its place.
    GuardLost,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    pub how: How,
    pub code: Option<i32>,
    /// The signal that ended it, where one did.
    pub signal: Option<i32>,
    /// How many of its processes could not be ended; None where that could not be seen.
    pub left: Option<u32>,
    pub duration: Duration,
    /// Bytes read, those beyond the cap too.
    pub stdout_bytes: u64,
    pub stderr_bytes: u64,
}

/// Runs an engine to its end. `guard` is the absolute path of this program; `interrupt` is asked several
/// times a second.
pub fn run(
    guard: &Path,
    spec: &ChildSpec,
    interrupt: &dyn Fn() -> Option<Stop>,
    on_output: &mut dyn FnMut(Output<'_>) -> Flow,
) -> io::Result<Ended> {
    let mut running = Running::start(guard, spec)?;
    while running.is_guarded(Instant::now()) {
        running.check_interrupt(interrupt());
        running.check_deadlines(Instant::now());
        running.turn(on_output)?;
    }
    running.check_interrupt(interrupt());
    Ok(running.finish(on_output))
}
