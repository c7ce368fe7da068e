//! Runs that are killed or interrupted: this test binary again, with an ignored test for its run.

use std::cell::Cell;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use director_harness::process::MARK;
use director_harness::process::child::{self, Flow, Output};
use director_harness::process::interrupt::Interrupt;
use director_harness::process::stop::{self, ProcessId};
use rustix::process::{Pid, Signal};

use super::engine::{Engine, GUARD, assert_gone, five};

/// How long a guard whose run was killed may take.
const TAKEN_DOWN: Duration = Duration::from_secs(5);

#[test]
fn an_engine_knows_that_it_is_inside_a_run() {
    assert_eq!(stop::ancestor_run(), None);
    let mut driver = Driver::start("driver_inside");
    let line = driver.lines.find(|line| line.starts_with("inside ")).unwrap();
    assert!(line.starts_with("inside r-test-"), "{line}");
    driver.child.wait().unwrap();
}

/// This test binary again, as a run that can be killed.
struct Driver {
    child: Child,
    /// Its temporary folder, which it can't remove itself when it is killed.
    _folder: tempfile::TempDir,
    lines: Box<dyn Iterator<Item = String>>,
}

impl Driver {
    fn start(test: &str) -> Driver {
        let mut command = Command::new(std::env::current_exe().unwrap());
        let folder = tempfile::tempdir().unwrap();
        command
            .env("TMPDIR", folder.path())
            .args(["--ignored", "--exact", "--nocapture", &full_name(test)])
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let lines = Box::new(lines.map_while(|line: Result<String, _>| line.ok()));
        Driver { child, _folder: folder, lines }
    }

    /// The processes it says it has, once there are `count`.
    fn pids(&mut self, count: usize) -> Vec<ProcessId> {
        let pids =
            self.lines.by_ref().filter_map(|line| ProcessId::of(line.strip_prefix("pid ")?.parse().ok()?));
        pids.take(count).collect()
    }

    fn signal(&self, signal: Signal) {
        rustix::process::kill_process(Pid::from_child(&self.child), signal).unwrap();
    }
}

/// What the test runner calls a test of this file.
fn full_name(test: &str) -> String {
    let (_, module) = module_path!().split_once("::").unwrap();
    format!("{module}::{test}")
}

fn say(text: &str) {
    let mut stdout = std::io::stdout();
    stdout.write_all(text.as_bytes()).unwrap();
    stdout.flush().unwrap();
}

/// A run that says what its engine says, listens to signals, and tells how it ended.
fn drive(script: &str) {
    let engine = Engine::new(script);
    let interrupt = Interrupt::listen().unwrap();
    let mut on_output = |output: Output<'_>| {
        match output {
            Output::Started { guard, .. } => say(&format!("\npid {}\n", guard.pid)),
            Output::Stdout(bytes) => say(&String::from_utf8_lossy(bytes)),
            Output::Stderr(_) => {}
        }
        Flow::Continue
    };
    let is_told = Cell::new(false);
    let ask = || {
        let stop = interrupt.asked();
        if stop.is_some() && !is_told.replace(true) {
            say("asked\n");
        }
        stop
    };
    let ended = child::run(Path::new(GUARD), &engine.spec(), &ask, &mut on_output).unwrap();
    say(&format!("ended {:?} {}\n", ended.how, interrupt.is_from_keyboard()));
}

/// The guard, the engine, a child that ignores SIGTERM, a daemon with the mark and one without.
#[test]
#[ignore = "started by other tests, which kill it"]
fn driver_stubborn() {
    let stubborn = "sh -c 'trap \"\" TERM; $UP' & await; (setsid sh -c '$UP' &); await";
    let unmarked = "(env -i PATH=/usr/bin:/bin setsid sh -c '$UP' &); await";
    drive(&format!("trap '' TERM; {stubborn}; {unmarked}; sleep 60"));
}

#[test]
#[ignore = "started by another test"]
fn driver_inside() {
    let test = std::env::current_exe().unwrap();
    let probe =
        format!("env -i {} --ignored --exact --nocapture {}", test.display(), full_name("probe_inside"));
    drive(&probe);
}

#[test]
#[ignore = "started by another test"]
fn probe_inside() {
    assert!(std::env::var_os(MARK).is_none());
    say(&format!("\ninside {}\n", stop::ancestor_run().unwrap_or_default().display()));
}

#[test]
fn a_killed_run_takes_everything_with_it() {
    five(|| {
        let mut driver = Driver::start("driver_stubborn");
        let ids = driver.pids(5);
        assert_eq!(ids.len(), 5);
        driver.signal(Signal::KILL);
        driver.child.wait().unwrap();
        let begun = Instant::now();
        while ids.iter().any(ProcessId::is_alive) && begun.elapsed() < TAKEN_DOWN {
            thread::sleep(Duration::from_millis(20));
        }
        assert_gone(&ids);
    });
}

/// Sends the signals, and returns what the run said at its end and how long it took.
fn interrupted(first: Signal, second: Option<Signal>) -> (String, Duration) {
    let mut driver = Driver::start("driver_stubborn");
    let ids = driver.pids(5);
    let begun = Instant::now();
    driver.signal(first);
    // Only then: two of a kind that are both on their way are one to the operating system.
    assert!(driver.lines.any(|line| line == "asked"));
    second.into_iter().for_each(|signal| driver.signal(signal));
    let ended = driver.lines.find(|line| line.starts_with("ended ")).unwrap();
    let took = begun.elapsed();
    driver.child.wait().unwrap();
    assert_gone(&ids);
    (ended, took)
}

#[test]
fn one_interrupt_stops_cleanly() {
    five(|| {
        let (ended, took) = interrupted(Signal::INT, None);
        assert_eq!(ended, "ended Stopped true");
        assert!(took >= Duration::from_secs(2), "the engine had its 2 s: {took:?}");
        let (ended, _) = interrupted(Signal::TERM, Some(Signal::TERM));
        assert_eq!(ended, "ended Stopped false");
    });
}

#[test]
fn two_interrupts_stop_now() {
    five(|| {
        let (ended, took) = interrupted(Signal::INT, Some(Signal::INT));
        assert_eq!(ended, "ended Stopped true");
        assert!(took < Duration::from_millis(1800), "{took:?}");
    });
}
