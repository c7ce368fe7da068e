//! The guard: the engine's parent, a small process that outlives its run by just long enough to clean up.
//!
//! It takes the engine's standard input from the run, starts the engine in a group of its own, and waits for
//! one of three things: the engine's end, an order, or the end of the channel, which is the run's death. It
//! then ends whatever the engine started and goes with the engine's exit code, or 128 and the signal's
//! number. It has no time limit, reads no output and knows no files: those are the run's.
//!
//! `guard -- PROGRAM [ARGUMENT...]`; `channel` has what is said on its standard input.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};

use super::MARK;
use super::channel::{Order, Report, read_input};
use super::family::Family;
use super::orders::Orders;
use super::orphans;
use super::stop::{BEAT, KILL_LIMIT, ProcessId, signal};

/// How long an engine that was told to stop may take; a client with a tool at work took 1.6 s.
const STOP_GRACE: Duration = Duration::from_secs(2);
/// How long what an engine left behind may take.
const LEFTOVER_GRACE: Duration = Duration::from_millis(200);
/// How often orphans that ended are reaped while the engine runs.
const REAP_EVERY: Duration = Duration::from_secs(1);

const USAGE: u8 = 2;
const NOT_STARTED: u8 = 127;

/// Runs the engine that `args` (what follows the verb) names, and cleans up after it.
pub fn guard(args: &[OsString]) -> ExitCode {
    let [dashes, program, args @ ..] = args else {
        return complain(USAGE, "usage: guard -- PROGRAM [ARGUMENT...]");
    };
    if dashes != "--" {
        return complain(USAGE, "usage: guard -- PROGRAM [ARGUMENT...]");
    }
    match Guard::start(program, args) {
        Ok(Some(mut guard)) => ExitCode::from(guard.watch()),
        Ok(None) => ExitCode::from(NOT_STARTED),
        Err(error) => complain(NOT_STARTED, &format!("{}: {error}", program.display())),
    }
}

fn complain(code: u8, text: &str) -> ExitCode {
    // Nobody may be there to read it; the code says it too.
    let _ = writeln!(io::stderr(), "harness guard: {text}");
    ExitCode::from(code)
}

struct Guard {
    orders: Orders,
    engine: Pid,
    exit: Option<Report>,
    family: Family,
}

impl Guard {
    /// None where the run went away before the engine was to start.
    fn start(program: &OsStr, args: &[OsString]) -> io::Result<Option<Guard>> {
        let mut orders = Orders::listen()?;
        let Ok(input) = read_input(&mut orders.channel) else { return Ok(None) };
        let engine = orphans::adopt().and_then(|()| start_engine(program, args, input));
        let engine = engine.inspect_err(|error| {
            orders.report(Report::NotStarted(error.raw_os_error().unwrap_or(0)));
            orders.report(Report::Left(Some(0)));
        })?;
        let family = Family::new(Some(std::process::id()), Some(engine.id()), std::env::var_os(MARK));
        let engine = Pid::from_child(&engine);
        orders.report(Report::Started(engine.as_raw_nonzero().get()));
        Ok(Some(Guard { orders, engine, exit: None, family }))
    }

    fn watch(&mut self) -> u8 {
        let grace = self.wait_for_the_end();
        let left = self.wind_down(grace);
        if self.orders.was_terminated() {
            self.orders.report(Report::Told(Signal::TERM.as_raw()));
        }
        self.orders.report(Report::Left(left));
        exit_code(self.exit)
    }

    /// Returns how long what is there then may take to go.
    fn wait_for_the_end(&mut self) -> Duration {
        let mut reaped = Instant::now();
        loop {
            if self.engine_has_exited() {
                return LEFTOVER_GRACE;
            }
            if reaped.elapsed() >= REAP_EVERY {
                orphans::reap(self.engine);
                reaped = Instant::now();
            }
            match self.orders.wait(None) {
                Some(Order::Stop) => return STOP_GRACE,
                Some(Order::Now) => return Duration::ZERO,
                None => {}
            }
        }
    }

    /// Ends the engine and all it started; how many are left, None where that can't be seen.
    fn wind_down(&mut self, grace: Duration) -> Option<u32> {
        let begun = Instant::now();
        if !self.engine_has_exited() && !grace.is_zero() {
            self.signal_group(Signal::TERM);
            // One that is stopped, as by asking for the terminal, hears nothing until it goes on.
            self.signal_group(Signal::CONT);
        }
        if self.wait_for_the_family(begun + grace) { Some(0) } else { self.kill_the_family() }
    }

    fn kill_the_family(&mut self) -> Option<u32> {
        let limit = Instant::now() + KILL_LIMIT;
        loop {
            let alive = self.family.look();
            let count = alive.as_ref().ok().map(|alive| u32::try_from(alive.len()).unwrap_or(u32::MAX));
            let has_exited = self.engine_has_exited();
            if has_exited && count.is_none_or(|count| count == 0) && self.is_alone() {
                return count;
            }
            if Instant::now() >= limit {
                return count.map(|count| count.max(1));
            }
            self.signal_group(Signal::KILL);
            alive.iter().flatten().for_each(|process| signal(process, Signal::KILL));
            if has_exited {
                self.is_alone();
                orphans::kill_all(BEAT);
            } else {
                self.orders.wait(Some(BEAT));
            }
        }
    }

    /// Waits until all are gone (true), the time is up or the run can't wait. What is outside the group is
    /// asked to go only after the engine went: until then ending its tools is the engine's business.
    fn wait_for_the_family(&mut self, until: Instant) -> bool {
        let mut asked: HashSet<ProcessId> = HashSet::new();
        while Instant::now() < until {
            if self.engine_has_exited() {
                let Ok(alive) = self.family.look() else { return false };
                if alive.is_empty() && self.is_alone() {
                    return true;
                }
                for process in alive.into_iter().filter(|process| asked.insert(process.clone())) {
                    signal(&process, Signal::TERM);
                }
            }
            if self.orders.wait(Some(BEAT)) == Some(Order::Now) {
                return false;
            }
        }
        false
    }

    /// Looks without reaping, and tells the run the first time.
    fn engine_has_exited(&mut self) -> bool {
        if self.exit.is_none() {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
            let status = rustix::process::waitid(WaitId::Pid(self.engine), options).ok().flatten();
            self.exit = status.and_then(|status| {
                let exited = status.exit_status().map(Report::Exited);
                exited.or_else(|| status.terminating_signal().map(Report::Killed))
            });
            self.exit.into_iter().for_each(|exit| self.orders.report(exit));
        }
        self.exit.is_some()
    }

    /// Whether no child is left. Where that can be asked, the engine is reaped on the way, and with it goes
    /// the claim on its group's number.
    fn is_alone(&mut self) -> bool {
        if cfg!(target_os = "linux") {
            self.family.group = None;
        }
        orphans::are_gone()
    }

    fn signal_group(&self, signal: Signal) {
        if self.family.group.is_some() {
            let _ = rustix::process::kill_process_group(self.engine, signal);
        }
    }
}

/// The engine gets its input from a thread: it may print before it reads, or never read at all.
fn start_engine(program: &OsStr, args: &[OsString], input: Vec<u8>) -> io::Result<Child> {
    let mut engine = Command::new(program).args(args).stdin(Stdio::piped()).process_group(0).spawn()?;
    let stdin = engine.stdin.take().map(|stdin| File::from(OwnedFd::from(stdin)));
    let write = move || stdin.map(|mut stdin| stdin.write_all(&input));
    if let Err(error) = thread::Builder::new().spawn(write) {
        let _ = engine.kill();
        return Err(error);
    }
    Ok(engine)
}

fn exit_code(exit: Option<Report>) -> u8 {
    let code = match exit {
        Some(Report::Exited(code)) => code,
        Some(Report::Killed(signal)) => 128 + signal,
        _ => 128 + Signal::KILL.as_raw(),
    };
    u8::try_from(code).unwrap_or(u8::MAX)
}
