//! Runs the folders of `tests/scenarios`: whole trees before and after.
//!
//! | in `NNN_name/` | what it is |
//! |---|---|
//! | `args` | a command line a line (`scenarios/line.rs`); the last one is the one that is compared |
//! | `org/`, `home/` | the root and the home before; none: empty |
//! | `replies/` | the fake engine's answers, in the order of their names |
//! | `expected/` | the root after (`scenarios/tree.rs`) |
//! | `stdout`, `stderr`, `status` | of the last line; none: empty, empty, 0 |
//!
//! A new scenario is a folder with `args`: `UPDATE_SCENARIOS=1 cargo test scenarios` writes the rest, and leaves
//! alone what matches already, placeholders included. Scenarios run side by side, and all that fail are reported.

mod line;
mod tree;

pub use tree::copy;

use crate::pattern::compare;
use crate::sandbox::Sandbox;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

#[derive(Clone, Copy, PartialEq)]
enum Mode {
    Compare,
    Rewrite,
}

struct Runner {
    program: PathBuf,
    mode: Mode,
}

/// What the last line of a scenario gave.
struct Outcome {
    status: i32,
    stdout: String,
    stderr: String,
}

impl Runner {
    /// The failures of all scenarios in a folder, by name.
    fn run_all(&self, folder: &Path) -> Vec<String> {
        let scenarios = sorted(folder);
        let (next, failures) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
        let work = || {
            while let Some(scenario) = scenarios.get(next.fetch_add(1, Ordering::Relaxed)) {
                let name = scenario.file_name().unwrap().display();
                // One that hangs or can't be set up panics; the others are still to be reported.
                let run = catch_unwind(AssertUnwindSafe(|| self.run(scenario)));
                if let Err(faults) = run.unwrap_or_else(|_| Err("it panicked: see above".to_owned())) {
                    failures.lock().unwrap().push(format!("== {name}\n{faults}"));
                }
            }
        };
        let threads = std::thread::available_parallelism().map_or(2, usize::from);
        std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
        let mut failures = failures.into_inner().unwrap();
        failures.sort();
        failures
    }

    fn run(&self, scenario: &Path) -> Result<(), String> {
        let sandbox = prepare(&self.program, scenario);
        let outcome = run_lines(&sandbox, scenario)?;
        let compared = Compared { scenario, sandbox: &sandbox, outcome: &outcome };
        match self.mode {
            Mode::Rewrite => {
                compared.rewrite();
                Ok(())
            }
            Mode::Compare => {
                let faults = compared.faults();
                if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
            }
        }
    }
}

fn sorted(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

fn prepare(program: &Path, scenario: &Path) -> Sandbox {
    let sandbox = Sandbox::of(program);
    tree::copy(&scenario.join("org"), &sandbox.root());
    tree::copy(&scenario.join("home"), &sandbox.home());
    let replies = sorted(&scenario.join("replies"));
    replies.iter().fold(sandbox, |sandbox, path| sandbox.reply(&fs::read_to_string(path).unwrap()))
}

fn run_lines(sandbox: &Sandbox, scenario: &Path) -> Result<Outcome, String> {
    let text = fs::read_to_string(scenario.join("args")).map_err(|error| format!("args: {error}"))?;
    let lines = line::parse(&sandbox.places().show(&text))?;
    let mut last = None;
    for (index, line) in lines.iter().enumerate() {
        let sandbox = line.env.iter().fold(sandbox.clone(), |sandbox, (key, value)| sandbox.env(key, value));
        let args: Vec<&str> = line.words.iter().map(String::as_str).collect();
        let (status, stdout, stderr) = sandbox.start(&args).finish().parts();
        if index + 1 < lines.len() && status != line.status {
            let line = line.words.join(" ");
            return Err(format!("`{line}` exited {status}\nstdout:\n{stdout}\nstderr:\n{stderr}"));
        }
        last = Some(Outcome { status, stdout, stderr });
    }
    last.ok_or_else(|| "args has no line".to_owned())
}

struct Compared<'a> {
    scenario: &'a Path,
    sandbox: &'a Sandbox,
    outcome: &'a Outcome,
}

impl Compared<'_> {
    fn parts(&self) -> [(&'static str, String, &'static str); 3] {
        let Outcome { status, stdout, stderr } = self.outcome;
        [
            ("status", format!("{status}\n"), "0\n"),
            ("stdout", stdout.clone(), ""),
            ("stderr", stderr.clone(), ""),
        ]
    }

    fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        for (name, actual, default) in self.parts() {
            let expected =
                fs::read_to_string(self.scenario.join(name)).unwrap_or_else(|_| default.to_owned());
            if let Err(difference) = compare(&expected, &actual) {
                faults.push(format!("{name} differs:\n{difference}"));
            }
        }
        let expected = self.scenario.join("expected");
        faults.extend(tree::faults(&expected, &self.sandbox.root(), &self.sandbox.places()));
        faults
    }

    fn rewrite(&self) {
        for (name, actual, default) in self.parts() {
            let path = self.scenario.join(name);
            let expected = fs::read_to_string(&path).unwrap_or_else(|_| default.to_owned());
            if compare(&expected, &actual).is_ok() {
                continue;
            }
            if actual == default { fs::remove_file(path).unwrap() } else { fs::write(path, actual).unwrap() }
        }
        tree::rewrite(&self.scenario.join("expected"), &self.sandbox.root(), &self.sandbox.places());
    }
}

#[cfg(test)]
mod tests;
