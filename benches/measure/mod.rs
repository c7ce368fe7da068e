//! Measures what a command costs: its instructions by callgrind, its system calls by strace, the shortest of its times.
//!
//! The first two are counts: the same on a busy machine as on an idle one. The command gets an environment that
//! holds HOME and nothing else. A tool that isn't there gives `not run` and why; a command that fails is an error,
//! because the cost of failing says nothing.

use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A count, or why there is none.
pub type Measured = std::result::Result<u64, String>;

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    Instructions,
    SystemCalls,
    /// The most memory that was resident, in kilobytes, by GNU time.
    ResidentKb,
    /// The shortest of many runs, in microseconds: whatever else the machine does only adds to a time.
    Microseconds,
    /// How often an engine was asked.
    Calls,
    /// Counted by the bench itself.
    Bytes,
}

/// How often a command is run for its shortest time.
const RUNS: usize = 201;

impl Measure {
    pub fn name(self) -> &'static str {
        match self {
            Measure::Instructions => "instructions",
            Measure::SystemCalls => "system calls",
            Measure::ResidentKb => "kilobytes",
            Measure::Microseconds => "microseconds",
            Measure::Calls => "engine calls",
            Measure::Bytes => "bytes",
        }
    }

    fn tool(self) -> &'static str {
        match self {
            Measure::Instructions => "valgrind",
            Measure::SystemCalls => "strace",
            Measure::ResidentKb => "time",
            Measure::Microseconds | Measure::Calls | Measure::Bytes => "true",
        }
    }
}

/// A command as it is measured.
#[derive(Clone, Debug)]
pub struct Call {
    pub program: PathBuf,
    pub arguments: Vec<String>,
    pub home: PathBuf,
}

/// Runs commands under the tools there are.
pub struct Meter {
    scratch: PathBuf,
}

impl Meter {
    pub fn new() -> Meter {
        Meter {
            scratch: Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}.count", std::process::id())),
        }
    }

    pub fn count(&self, call: &Call, measure: Measure) -> Result<Measured> {
        self.output(call)?;
        self.count_once(call, measure)
    }

    /// The same without a run before it that fills the caches: for what can be done only once.
    pub fn count_once(&self, call: &Call, measure: Measure) -> Result<Measured> {
        if measure == Measure::Microseconds {
            return self.shortest(call).map(Ok);
        }
        let Some(tool) = find_program(measure.tool()) else {
            return Ok(Err(format!("{} is not installed", measure.tool())));
        };
        let mut command = sealed(&tool, call);
        match measure {
            Measure::Instructions => command
                .args(["--tool=callgrind", "--quiet"])
                .arg(format!("--callgrind-out-file={}", self.scratch.display())),
            Measure::SystemCalls => command.arg("-f").arg("-o").arg(&self.scratch),
            _ => command.args(["-f", "%M", "-o"]).arg(&self.scratch),
        };
        let output = command.arg(&call.program).args(&call.arguments).output()?;
        if !output.status.success() {
            return Ok(Err(format!("{} failed: {}", measure.tool(), last_line(&output.stderr))));
        }
        let text = std::fs::read_to_string(&self.scratch).context("read what the tool counted")?;
        let count = match measure {
            Measure::Instructions => parse_instructions(&text),
            Measure::SystemCalls => Some(count_system_calls(&text)),
            _ => text.trim().parse().ok(),
        };
        Ok(count.ok_or_else(|| format!("{} printed no count", measure.tool())))
    }

    /// Every system call of the command, a line each, or why there is none.
    pub fn trace(&self, call: &Call) -> Result<std::result::Result<String, String>> {
        Ok(match self.count(call, Measure::SystemCalls)? {
            Ok(_) => Ok(std::fs::read_to_string(&self.scratch).context("read what strace wrote")?),
            Err(why) => Err(why),
        })
    }

    /// The time of one run, in microseconds.
    pub fn time(&self, call: &Call) -> Result<u64> {
        let start = std::time::Instant::now();
        self.output(call)?;
        Ok(start.elapsed().as_micros() as u64)
    }

    fn shortest(&self, call: &Call) -> Result<u64> {
        let mut shortest = u64::MAX;
        for _ in 0..RUNS {
            shortest = shortest.min(self.time(call)?);
        }
        Ok(shortest)
    }

    /// What the command prints, by itself.
    pub fn output(&self, call: &Call) -> Result<String> {
        let output: Output = sealed(&call.program, call).args(&call.arguments).output()?;
        let shown = || format!("{} {}", call.program.display(), call.arguments.join(" "));
        let said = || format!("{}; {}", last_line(&output.stdout), last_line(&output.stderr));
        ensure!(output.status.success(), "{} failed: {}", shown(), said());
        Ok(String::from_utf8(output.stdout)?)
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        let _missing_where_nothing_was_counted = std::fs::remove_file(&self.scratch);
    }
}

fn sealed(program: &Path, call: &Call) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("HOME", &call.home).stdin(Stdio::null());
    command
}

/// A program on the PATH. Looked for here because a sealed command has no PATH to be found by.
fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

fn last_line(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).lines().last().unwrap_or("it said nothing").to_string()
}

/// Callgrind's file has one line `totals: <count>`, or `summary:` in older versions.
fn parse_instructions(text: &str) -> Option<u64> {
    let count =
        |line: &str| line.strip_prefix("totals:").or(line.strip_prefix("summary:"))?.trim().parse().ok();
    text.lines().find_map(count)
}

/// One line a call; signals, ends, and the second halves of interrupted calls are none. Nor is `brk`, by which the
/// allocator gets memory: the heap begins at a random place, so that one command needs now one more and now one less.
fn count_system_calls(text: &str) -> u64 {
    let is_none = |line: &str| [" resumed>", " --- ", " brk("].iter().any(|none| line.contains(none));
    let is_call = |line: &&str| line.contains('(') && !is_none(line);
    text.lines().filter(is_call).count() as u64
}
