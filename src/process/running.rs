//! One engine while it runs, seen from the run: the guard's channel, two pipes, the clock.
//!
//! Nothing here blocks but the one `poll`, and that never for longer than a tick. The guard's end of the
//! channel is held by the guard alone, so the channel's end is the guard's end, and output is read only as
//! far as it is there then: a grandchild that escaped with a pipe in its hand holds nobody up.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::MARK;
use super::channel::{Order, Report};
use super::child::{ChildSpec, Ended, Flow, How, Output};
use super::deadline::Deadlines;
use super::family::Family;
use super::interrupt::Stop;
use super::link::Link;
use super::pipe::Pipe;
use super::stop::{ProcessId, end_all};

/// How often the interrupt is asked.
const TICK: Duration = Duration::from_millis(50);
/// How long the guard may take to clean up; its own waits add up to a little over 5 s.
const GUARD_LIMIT: Duration = Duration::from_secs(6);
/// The same where nobody wants to wait: long enough to kill and look.
const NOW_LIMIT: Duration = Duration::from_millis(500);
/// How long a guard that closed its channel may take to be gone.
const GOING_LIMIT: Duration = Duration::from_secs(1);
const GOING_BEAT: Duration = Duration::from_millis(1);
/// How long output that is still coming after the end is read.
const DRAIN_LIMIT: Duration = Duration::from_millis(250);
const CHUNK: usize = 64 * 1024;

pub struct Running {
    guard: Child,
    link: Link,
    told: Told,
    stdout: Pipe,
    stderr: Pipe,
    buffer: Vec<u8>,
    deadlines: Deadlines,
    started: Instant,
    mark: Option<OsString>,
    how: Option<How>,
    hurry: Option<Stop>,
    give_up: Option<Instant>,
}

#[derive(Clone, Copy)]
enum Source {
    Stdout,
    Stderr,
}

/// What the guard has reported.
#[derive(Default)]
struct Told {
    engine: Option<u32>,
    not_started: Option<i32>,
    exit: Option<Report>,
    left: Option<Option<u32>>,
}

impl Running {
    pub fn start(guard: &Path, spec: &ChildSpec) -> io::Result<Running> {
        let started = Instant::now();
        let (link, its_end) = Link::new(&spec.stdin)?;
        let mut child = spawn_guard(guard, spec, its_end)?;
        let stdout = child.stdout.take().map(OwnedFd::from);
        let stderr = child.stderr.take().map(OwnedFd::from);
        Ok(Running {
            guard: child,
            link,
            told: Told::default(),
            stdout: Pipe::new(stdout, spec.limits.stdout_bytes)?,
            stderr: Pipe::new(stderr, spec.limits.stderr_bytes)?,
            buffer: vec![0; CHUNK],
            deadlines: Deadlines::new(spec.limits, started),
            started,
            mark: spec.env.iter().find(|(name, _)| name == MARK).map(|(_, value)| value.clone()),
            how: None,
            hurry: None,
            give_up: None,
        })
    }

    /// Whether the guard is still there, or still has time to go.
    pub fn is_guarded(&self, now: Instant) -> bool {
        self.link.is_open() && self.give_up.is_none_or(|limit| now < limit)
    }

    /// Being told to stop outranks whatever else ended it.
    pub fn check_interrupt(&mut self, stop: Option<Stop>) {
        if stop.is_none() || stop == self.hurry || self.hurry == Some(Stop::Now) {
            return;
        }
        self.hurry = stop;
        self.how = Some(How::Stopped);
        match stop {
            Some(Stop::Now) => self.order(Order::Now, NOW_LIMIT),
            _ => self.order(Order::Stop, GUARD_LIMIT),
        }
    }

    pub fn check_deadlines(&mut self, now: Instant) {
        let (left, how) = self.deadlines.nearest(now);
        if left.is_zero() {
            self.end_because(how);
        }
    }

    /// Waits for the next thing to happen and deals with it.
    pub fn turn(&mut self, on_output: &mut dyn FnMut(Output<'_>) -> Flow) -> io::Result<()> {
        self.wait()?;
        self.read_output(Source::Stdout, on_output);
        self.read_output(Source::Stderr, on_output);
        self.link.send();
        for report in self.link.receive() {
            self.take_report(report, on_output);
        }
        Ok(())
    }

    pub fn finish(mut self, on_output: &mut dyn FnMut(Output<'_>) -> Flow) -> Ended {
        let told = self.told.left;
        let left = match told {
            Some(left) if self.guard_has_gone() => left,
            _ => self.clean_up(),
        };
        let until = Instant::now() + DRAIN_LIMIT;
        for source in [Source::Stdout, Source::Stderr] {
            while Instant::now() < until && self.read_output(source, on_output) {}
        }
        let (code, signal) = match self.told.exit {
            Some(Report::Exited(code)) => (Some(code), None),
            Some(Report::Killed(signal)) => (None, Some(signal)),
            _ => (None, None),
        };
        Ended {
            how: self.how(),
            code,
            signal,
            left,
            duration: self.started.elapsed(),
            stdout_bytes: self.stdout.read,
            stderr_bytes: self.stderr.read,
        }
    }

    fn how(&self) -> How {
        match (self.how, self.told.not_started, self.told.exit) {
            (Some(How::Stopped), ..) => How::Stopped,
            (_, Some(os_error), _) => How::NotStarted { os_error },
            (Some(how), ..) => how,
            (None, None, Some(_)) => How::Exited,
            (None, None, None) => How::GuardLost,
        }
    }

    /// Ends the engine, for the first reason that comes; none where it has ended by itself.
    fn end_because(&mut self, how: How) {
        if self.how.is_none() && self.told.exit.is_none() {
            self.how = Some(how);
            self.order(Order::Stop, GUARD_LIMIT);
        }
    }

    fn order(&mut self, order: Order, limit: Duration) {
        self.give_up = Some(Instant::now() + limit);
        self.link.order(order);
    }

    /// Waits until something can be read or sent, the nearest limit or the next tick.
    fn wait(&self) -> io::Result<()> {
        // A limit that has passed stays passed while the engine is being ended: that is no reason to spin.
        let is_ending = self.how.is_some() || self.told.exit.is_some();
        let nearest = self.deadlines.nearest(Instant::now()).0;
        let limit = if is_ending { TICK } else { nearest.min(TICK) };
        let timeout = Timespec::try_from(limit).map_err(io::Error::other)?;
        let pipes = [&self.stdout, &self.stderr].into_iter().filter_map(|pipe| pipe.file.as_ref());
        let pipes = pipes.map(|file| PollFd::new(file, PollFlags::IN));
        let mut fds: Vec<PollFd<'_>> = self.link.poll_fd().into_iter().chain(pipes).collect();
        match poll(&mut fds, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Reads once; false where there was nothing.
    fn read_output(&mut self, source: Source, on_output: &mut dyn FnMut(Output<'_>) -> Flow) -> bool {
        let pipe = match source {
            Source::Stdout => &mut self.stdout,
            Source::Stderr => &mut self.stderr,
        };
        let Some(bytes) = pipe.read(&mut self.buffer) else { return false };
        let now = Instant::now();
        self.deadlines.heard(now);
        let flow = match source {
            _ if bytes.is_empty() => Flow::Continue,
            Source::Stdout => on_output(Output::Stdout(bytes)),
            Source::Stderr => on_output(Output::Stderr(bytes)),
        };
        if flow == Flow::ResultSeen {
            self.deadlines.result_seen(now);
        }
        if pipe.is_over() {
            self.end_because(How::OutputCap);
        }
        true
    }

    fn take_report(&mut self, report: Report, on_output: &mut dyn FnMut(Output<'_>) -> Flow) {
        match report {
            Report::Started(pid) => {
                self.told.engine = u32::try_from(pid).ok();
                let engine = self.told.engine.and_then(ProcessId::of);
                if let Some(guard) = ProcessId::of(self.guard.id()) {
                    on_output(Output::Started { guard, engine });
                }
            }
            Report::NotStarted(os_error) => self.told.not_started = Some(os_error),
            Report::Exited(_) | Report::Killed(_) => {
                self.told.exit = Some(report);
                self.give_up.get_or_insert(Instant::now() + GUARD_LIMIT);
            }
            Report::Told(_) => self.how = Some(How::Stopped),
            Report::Left(left) => self.told.left = Some(left),
        }
    }

    fn guard_has_gone(&mut self) -> bool {
        let limit = Instant::now() + GOING_LIMIT;
        while Instant::now() < limit {
            match self.guard.try_wait() {
                Ok(None) => thread::sleep(GOING_BEAT),
                _ => return true,
            }
        }
        false
    }

    /// Does what a guard that is lost, stuck or silent did not; how many are left.
    fn clean_up(&mut self) -> Option<u32> {
        let mut family = Family::new(Some(self.guard.id()), self.told.engine, self.mark.take());
        // While the guard is there, its descendants are still known by it.
        let _ = family.alive();
        let _ = self.guard.kill();
        let _ = self.guard.wait();
        family.root = None;
        let left = end_all(&mut || family.alive(), Duration::ZERO).ok()?;
        u32::try_from(left.len()).ok()
    }
}

/// A group of its own keeps Ctrl-C at the terminal from reaching it: only the run decides what that means.
fn spawn_guard(guard: &Path, spec: &ChildSpec, channel: UnixStream) -> io::Result<Child> {
    let mut command = Command::new(guard);
    command.args([OsStr::new("guard"), OsStr::new("--"), spec.program.as_os_str()]).args(&spec.args);
    command.env_clear().envs(spec.env.iter().map(|(name, value)| (name, value))).current_dir(&spec.cwd);
    command.stdin(OwnedFd::from(channel)).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    command.spawn().map_err(|error| {
        let (guard, cwd) = (guard.display(), spec.cwd.display());
        io::Error::new(error.kind(), format!("cannot start the guard {guard} in {cwd}: {error}"))
    })
}
