//! An engine for tests: a shell script that says `pid N` for each process it makes.
//!
//! Each of them is looked up at once, by pid and start time, and must be gone in the end.

use std::cell::RefCell;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use director_harness::process::MARK;
use director_harness::process::child::{self, ChildSpec, Ended, Flow, Limits, Output};
use director_harness::process::interrupt::Stop;
use director_harness::process::lines::LineBuffer;
use director_harness::process::stop::{self, ProcessId};

pub const GUARD: &str = env!("CARGO_BIN_EXE_harness");
/// A limit that no test means to reach.
const FAR: Duration = Duration::from_secs(60);

/// What an engine's script can call: `up` is said by a process once it has given its pid, `await` waits for
/// it.
const PRELUDE: &str = "mkfifo fifo; await() { read -r _ <fifo; }; echo pid $$\n";
const UP: &str = "echo pid $$; echo up >fifo; exec sleep 60";

fn unique_run() -> String {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    format!("r-test-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

pub struct Engine {
    pub run: String,
    pub folder: tempfile::TempDir,
    pub script: String,
    stdin: Vec<u8>,
    limits: Limits,
    result: Option<&'static str>,
}

/// What is left of an engine that ran.
pub struct Outcome {
    pub ended: Ended,
    pub stdout: String,
    pub stderr: String,
}

impl Engine {
    pub fn new(script: &str) -> Engine {
        let limits = Limits {
            start: FAR,
            idle: FAR,
            total: FAR,
            after_result: FAR,
            stdout_bytes: 8 << 20,
            stderr_bytes: 8 << 20,
        };
        let script = format!("{PRELUDE}{}", script.replace("$UP", UP));
        let folder = tempfile::tempdir().unwrap();
        Engine { run: unique_run(), folder, script, stdin: Vec::new(), limits, result: None }
    }

    pub fn limits(mut self, change: impl FnOnce(&mut Limits)) -> Engine {
        change(&mut self.limits);
        self
    }

    pub fn stdin(mut self, bytes: Vec<u8>) -> Engine {
        self.stdin = bytes;
        self
    }

    /// The line that is the engine's result.
    pub fn result(mut self, line: &'static str) -> Engine {
        self.result = Some(line);
        self
    }

    pub fn spec(&self) -> ChildSpec {
        ChildSpec {
            program: PathBuf::from("/bin/sh"),
            args: vec!["-c".into(), OsString::from(&self.script)],
            env: vec![("PATH".into(), "/usr/bin:/bin".into()), (MARK.into(), OsString::from(&self.run))],
            cwd: self.folder.path().into(),
            stdin: self.stdin.clone(),
            limits: self.limits,
        }
    }

    pub fn run(self) -> Outcome {
        self.run_until(&|_| None)
    }

    /// Runs it, asking `interrupt` with what has come on standard output, and proves that all is gone.
    pub fn run_until(self, interrupt: &dyn Fn(&str) -> Option<Stop>) -> Outcome {
        let seen = RefCell::new(String::new());
        let (mut stderr, mut ids) = (Vec::new(), Vec::new());
        let mut lines = LineBuffer::new(1 << 20);
        let mut on_output = |output: Output<'_>| {
            let mut flow = Flow::Continue;
            match output {
                Output::Started { guard, engine } => ids.extend([Some(guard), engine].into_iter().flatten()),
                Output::Stderr(bytes) => stderr.extend_from_slice(bytes),
                Output::Stdout(bytes) => lines.push(bytes, &mut |line| {
                    ids.extend(
                        line.text.strip_prefix("pid ").and_then(|pid| ProcessId::of(pid.parse().ok()?)),
                    );
                    if Some(&*line.text) == self.result {
                        flow = Flow::ResultSeen;
                    }
                    seen.borrow_mut().push_str(&format!("{}\n", line.text));
                }),
            }
            flow
        };
        let ask = || interrupt(&seen.borrow());
        let ended = child::run(Path::new(GUARD), &self.spec(), &ask, &mut on_output).unwrap();
        assert!(!ids.is_empty(), "at least the guard is known");
        assert_gone(&ids);
        assert_eq!(processes_in(self.folder.path()), Vec::<PathBuf>::new());
        assert_eq!(stop::marked(&self.run).unwrap(), []);
        assert_eq!(ended.left, Some(0));
        let stderr = String::from_utf8(stderr).unwrap();
        Outcome { ended, stdout: seen.into_inner(), stderr }
    }
}

pub fn assert_gone(ids: &[ProcessId]) {
    let alive: Vec<&ProcessId> = ids.iter().filter(|id| id.is_alive()).collect();
    assert!(alive.is_empty(), "survivors: {alive:?}");
}

/// The processes that work in a folder: another tie than those that the product goes by.
fn processes_in(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    entries.filter(|process| std::fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd == folder)).collect()
}

/// Runs a shape five times side by side.
pub fn five(shape: impl Fn() + Sync) {
    thread::scope(|scope| {
        for _ in 0..5 {
            scope.spawn(&shape);
        }
    });
}

#[track_caller]
pub fn assert_took(outcome: &Outcome, at_least: f64, at_most: f64) {
    let took = outcome.ended.duration.as_secs_f64();
    assert!((at_least..at_most).contains(&took), "took {took} s, not {at_least} to {at_most}");
}

pub fn said_pids(text: &str, count: usize) -> bool {
    text.lines().filter(|line| line.starts_with("pid ")).count() >= count
}
