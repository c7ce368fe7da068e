//! Asking a small program of the system something: its exit code and all it said, within a time limit.
//!
//! It runs under the same guard as an engine, so that whatever it starts goes with it.

use super::child::{self, ChildSpec, Flow, How, Limits, Output};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The most that is kept of what a tool says.
const SAID_MAX: usize = 1024 * 1024;

/// What is to be started. Nothing is inherited.
#[derive(Clone, Debug)]
pub struct Tool {
    /// Absolute; see `find`.
    pub program: PathBuf,
    pub args: Vec<OsString>,
    pub env: Vec<(OsString, OsString)>,
    pub cwd: PathBuf,
    pub stdin: Vec<u8>,
    pub limit: Duration,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Told {
    pub how: How,
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Told {
    pub fn is_ok(&self) -> bool {
        self.how == How::Exited && self.code == Some(0)
    }

    /// How it failed, in one line: what it said, or how it ended.
    pub fn complaint(&self) -> String {
        let said = [&self.stderr, &self.stdout].into_iter().find(|text| !text.trim().is_empty());
        let said = said.map(|text| crate::domain::text::one_line(text.trim(), 300)).unwrap_or_default();
        let ended = match (self.how, self.code) {
            (How::Exited, Some(code)) => format!("it exited with {code}"),
            (How::NotStarted { os_error }, _) => {
                format!("it can't be started: {}", io::Error::from_raw_os_error(os_error))
            }
            (How::TotalDeadline | How::StartDeadline | How::IdleDeadline, _) => {
                "it took too long and was ended".to_string()
            }
            (how, _) => format!("it was ended: {how:?}"),
        };
        if said.is_empty() { ended } else { format!("{ended}: {said}") }
    }
}

/// Runs a tool to its end. `guard` is the absolute path of this program.
pub fn ask(guard: &Path, tool: &Tool) -> io::Result<Told> {
    let limits = Limits {
        start: tool.limit,
        idle: tool.limit,
        total: tool.limit,
        after_result: tool.limit,
        stdout_bytes: SAID_MAX,
        stderr_bytes: SAID_MAX,
    };
    let spec = ChildSpec {
        program: tool.program.clone(),
        args: tool.args.clone(),
        env: tool.env.clone(),
        cwd: tool.cwd.clone(),
        stdin: tool.stdin.clone(),
        limits,
    };
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let ended = child::run(guard, &spec, &|| None, &mut |output| {
        match output {
            Output::Stdout(bytes) => stdout.extend_from_slice(bytes),
            Output::Stderr(bytes) => stderr.extend_from_slice(bytes),
            Output::Started { .. } => {}
        }
        Flow::Continue
    })?;
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ok(Told { how: ended.how, code: ended.code, stdout: text(stdout), stderr: text(stderr) })
}
