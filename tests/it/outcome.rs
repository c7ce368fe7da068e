//! What a run of the program gave, and the comparisons that a test must make of it.
//!
//! Status, stdout and stderr are always compared: what a test says nothing about must be 0 and empty, and is looked
//! at when the [`Run`] is dropped. A status is the exit code, or 128 and the signal's number as a shell shows it.
//! A run that takes longer than [`LIMIT`] is ended and fails its test.

use crate::pattern::{compare, unindent};
use crate::sandbox::Sandbox;
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use std::cell::Cell;
use std::ops::Deref;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::Child;
use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(2);

/// Waits by looking, up to [`LIMIT`].
#[track_caller]
pub fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let started = Instant::now();
    while !condition() {
        assert!(started.elapsed() < LIMIT, "waited {LIMIT:?} in vain until {what}");
        std::thread::sleep(PAUSE);
    }
}

/// Says that a test, or a part of it, could not be tried here. `.ci/run` shows and counts what was left in this folder.
#[expect(clippy::print_stderr, reason = "a test that was not run must not look like one that passed")]
pub fn not_run(what: &str, why: &str) {
    eprintln!("not run: {what}: {why}");
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("not-run");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(what.replace("::", ".")), format!("{what}: {why}\n")).unwrap();
}

/// Whether a process still runs. One that is dead and that nobody has waited for yet does not, though a signal
/// would still reach it.
pub fn alive(pid: i32) -> bool {
    match std::fs::read_to_string(format!("/proc/{pid}/stat")) {
        Ok(stat) => !stat.rsplit(')').next().is_some_and(|after| after.trim_start().starts_with('Z')),
        Err(_) if std::path::Path::new("/proc/self/stat").exists() => false,
        Err(_) => Pid::from_raw(pid).is_some_and(|pid| test_kill_process(pid).is_ok()),
    }
}

/// A run that has started. Dropped without `finish`, it is killed.
pub struct Running {
    sandbox: Sandbox,
    child: Child,
    out: PathBuf,
    line: String,
}

impl Running {
    pub fn new(sandbox: Sandbox, child: Child, out: PathBuf, args: &[&str]) -> Self {
        Self { sandbox, child, out, line: args.join(" ") }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// What it has written so far.
    pub fn stdout(&self) -> String {
        self.stream("stdout")
    }

    /// What it has written so far.
    pub fn stderr(&self) -> String {
        self.stream("stderr")
    }

    fn stream(&self, name: &str) -> String {
        let bytes = std::fs::read(self.out.with_extension(name)).unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    #[track_caller]
    pub fn finish(mut self) -> Run {
        let line = self.line.clone();
        until(&format!("`{line}` ended"), || self.ended());
        let status = self.child.wait().unwrap();
        let status = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
        let places = self.sandbox.places();
        let (stdout, stderr) = (self.stdout(), places.hide(&self.stream("stderr")));
        let seen = Cell::new(Seen::default());
        Run { sandbox: self.sandbox.clone(), line, status, shown: places.hide(&stdout), stdout, stderr, seen }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Which of the three a test has spoken about.
#[derive(Clone, Copy, Default)]
struct Seen {
    status: bool,
    stdout: bool,
    stderr: bool,
}

/// A run that has ended. It lends its sandbox: `run.read("...")`.
pub struct Run {
    sandbox: Sandbox,
    line: String,
    status: i32,
    stdout: String,
    shown: String,
    stderr: String,
    seen: Cell<Seen>,
}

impl Run {
    #[track_caller]
    pub fn status(self, expected: i32) -> Self {
        self.seen.set(Seen { status: true, ..self.seen.get() });
        if self.status != expected {
            self.fail(&format!("exit {expected} was expected"));
        }
        self
    }

    #[track_caller]
    pub fn stdout(self, expected: &str) -> Self {
        let run = self.any_stdout();
        run.compare("stdout", expected, &run.shown);
        run
    }

    #[track_caller]
    pub fn stderr(self, expected: &str) -> Self {
        let run = self.any_stderr();
        run.compare("stderr", expected, &run.stderr);
        run
    }

    pub fn any_stdout(self) -> Self {
        self.seen.set(Seen { stdout: true, ..self.seen.get() });
        self
    }

    pub fn any_stderr(self) -> Self {
        self.seen.set(Seen { stderr: true, ..self.seen.get() });
        self
    }

    /// Stdout as one JSON document, nothing before and nothing after.
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        self.seen.set(Seen { stdout: true, ..self.seen.get() });
        match serde_json::from_str(&self.stdout) {
            Ok(document) => document,
            Err(error) => self.fail(&format!("stdout is not one JSON document: {error}")),
        }
    }

    /// Stdout as it came, for what a test takes from it.
    pub fn take_stdout(self) -> String {
        self.any_stdout().stdout.clone()
    }

    /// The three as they are compared: paths hidden.
    pub fn parts(self) -> (i32, String, String) {
        self.seen.set(Seen { status: true, stdout: true, stderr: true });
        (self.status, self.shown.clone(), self.stderr.clone())
    }

    /// The sandbox, for the next run in it.
    #[track_caller]
    pub fn then(self) -> Sandbox {
        self.sandbox.clone()
    }

    #[track_caller]
    fn compare(&self, stream: &str, expected: &str, actual: &str) {
        if let Err(difference) = compare(&unindent(expected), actual) {
            self.fail(&format!("{stream} differs:\n{difference}"));
        }
    }

    #[track_caller]
    fn fail(&self, why: &str) -> ! {
        self.seen.set(Seen { status: true, stdout: true, stderr: true });
        let Self { line, status, shown, stderr, .. } = self;
        panic!("`harness {line}`: {why}\nIt exited {status}.\nstdout:\n{shown}\nstderr:\n{stderr}");
    }

    fn unspoken(&self) -> Option<&'static str> {
        let seen = self.seen.get();
        match () {
            () if !seen.status && self.status != 0 => Some("the test expects no exit code, so 0"),
            () if !seen.stdout && !self.shown.is_empty() => Some("the test says nothing about its stdout"),
            () if !seen.stderr && !self.stderr.is_empty() => Some("the test says nothing about its stderr"),
            () => None,
        }
    }
}

impl Deref for Run {
    type Target = Sandbox;

    fn deref(&self) -> &Sandbox {
        &self.sandbox
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        if let Some(why) = self.unspoken().filter(|_| !std::thread::panicking()) {
            self.fail(why);
        }
    }
}
