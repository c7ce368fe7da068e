//! Finding and ending processes: by pid, start time and boot, or by a run's mark in their environment.
//!
//! Never by name, and never by pid alone: pids come round again. What can't be found: a process that cleared
//! its environment and left its parents, when the run and its guard are both gone; and, where there is no
//! `/proc`, any mark.

use std::collections::HashSet;
use std::ffi::OsString;
use std::io;
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use serde::{Deserialize, Serialize};

use super::family::Family;
use super::table::{self, Process, State};

/// A grace in which a guard among those to be ended does its own work: it gives its engine 2 s.
pub const GRACE: Duration = Duration::from_secs(3);
/// How long SIGKILL is repeated before those that are left are named instead.
pub(super) const KILL_LIMIT: Duration = Duration::from_secs(3);
/// How often what is dying is looked at.
pub(super) const BEAT: Duration = Duration::from_millis(10);

/// One process for good: no later one is taken for it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ProcessId {
    pub pid: u32,
    pub start: u64,
    pub boot: String,
}

impl ProcessId {
    /// The process that has this pid now, running or ended but not yet reaped.
    pub fn of(pid: u32) -> Option<ProcessId> {
        table::find(pid).as_ref().map(ProcessId::from)
    }

    /// Whether it still runs; a zombie does not.
    pub fn is_alive(&self) -> bool {
        self.boot == boot_id() && is_running(self)
    }
}

impl From<&Process> for ProcessId {
    fn from(process: &Process) -> ProcessId {
        ProcessId { pid: process.pid, start: process.start, boot: boot_id().to_string() }
    }
}

/// When `pid` started, in the system's own unit.
pub fn start_time(pid: u32) -> Option<u64> {
    table::find(pid).map(|process| process.start)
}

/// What names this boot of the machine; empty where the system doesn't say.
pub fn boot_id() -> &'static str {
    static BOOT: OnceLock<String> = OnceLock::new();
    BOOT.get_or_init(|| table::boot().unwrap_or_default())
}

/// The processes that carry the mark of `run`, and what descends from them, this process aside.
pub fn marked(run: &str) -> io::Result<Vec<ProcessId>> {
    if run.is_empty() {
        return Ok(Vec::new());
    }
    Family::new(None, None, Some(run.into())).alive()
}

/// The mark of the nearest marked ancestor: this process was started inside that run, whatever its own
/// environment says. Always None where there is no `/proc`.
pub fn ancestor_run() -> Option<OsString> {
    let mut pid = table::find(std::process::id())?.parent;
    while pid > 0 {
        if let Some(mark) = table::mark(pid) {
            return Some(mark);
        }
        pid = table::find(pid)?.parent;
    }
    None
}

/// Ends one process: SIGTERM, `grace` to go by itself, SIGKILL. True when it is gone.
pub fn end(process: &ProcessId, grace: Duration) -> bool {
    let mut alive = || Ok(if process.is_alive() { vec![process.clone()] } else { Vec::new() });
    end_all(&mut alive, grace).is_ok_and(|left| left.is_empty())
}

/// Ends all that carry the mark of `run` and what they started, and names those that are left.
pub fn end_marked(run: &str, grace: Duration) -> io::Result<Vec<ProcessId>> {
    if run.is_empty() {
        return Ok(Vec::new());
    }
    let mut family = Family::new(None, None, Some(run.into()));
    end_all(&mut || family.alive(), grace)
}

/// Asks whatever `alive` finds to go, kills it after `grace`, and returns what stays nevertheless.
pub(super) fn end_all(
    alive: &mut dyn FnMut() -> io::Result<Vec<ProcessId>>,
    grace: Duration,
) -> io::Result<Vec<ProcessId>> {
    let begun = Instant::now();
    let mut asked = HashSet::new();
    loop {
        let left = alive()?;
        let passed = begun.elapsed();
        if left.is_empty() || passed >= grace + KILL_LIMIT {
            return Ok(left);
        }
        for process in left {
            if passed >= grace {
                signal(&process, Signal::KILL);
            } else if asked.insert(process.clone()) {
                signal(&process, Signal::TERM);
            }
        }
        thread::sleep(BEAT);
    }
}

/// Sends a signal to this process and to no later one of the same pid.
#[cfg(target_os = "linux")]
pub(super) fn signal(process: &ProcessId, signal: Signal) {
    use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};
    let Some(pid) = raw(process.pid) else { return };
    match pidfd_open(pid, PidfdFlags::empty()) {
        // The handle holds the pid: when the start time still fits, it can't change hands any more.
        Ok(handle) if is_running(process) => {
            let _ = pidfd_send_signal(handle, signal);
        }
        Err(_) if is_running(process) => {
            let _ = rustix::process::kill_process(pid, signal);
        }
        _ => {}
    }
}

/// Sends a signal to this process, as far as can be told just before.
#[cfg(not(target_os = "linux"))]
pub(super) fn signal(process: &ProcessId, signal: Signal) {
    if let Some(pid) = raw(process.pid).filter(|_| is_running(process)) {
        let _ = rustix::process::kill_process(pid, signal);
    }
}

fn is_running(process: &ProcessId) -> bool {
    table::find(process.pid).is_some_and(|now| now.start == process.start && now.state == State::Alive)
}

fn raw(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().and_then(Pid::from_raw)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command, Stdio};

    fn sleeper(script: &str, mark: &str) -> Child {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]).env(super::super::MARK, mark).stdout(Stdio::piped());
        command.spawn().unwrap()
    }

    fn unique(name: &str) -> String {
        format!("r-test-{}-{name}", std::process::id())
    }

    #[test]
    fn another_start_time_or_boot_is_another_process() {
        let me = ProcessId::of(std::process::id()).unwrap();
        assert!(me.is_alive());
        assert_eq!(Some(me.start), start_time(me.pid));
        assert!(!ProcessId { start: me.start + 1, ..me.clone() }.is_alive());
        assert!(!ProcessId { boot: "another".into(), ..me.clone() }.is_alive());
        let text = serde_json::to_string(&me).unwrap();
        assert_eq!(serde_json::from_str::<ProcessId>(&text).unwrap(), me);
    }

    #[test]
    fn a_later_process_of_the_same_pid_is_spared() {
        let mut child = sleeper("exec sleep 60", "");
        let real = ProcessId::of(child.id()).unwrap();
        assert!(end(&ProcessId { start: real.start + 1, ..real.clone() }, Duration::ZERO));
        assert!(real.is_alive());
        assert!(end(&real, Duration::from_secs(2)));
        assert!(!real.is_alive());
        child.wait().unwrap();
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_mark_is_compared_whole() {
        let (run, longer) = (unique("whole"), unique("whole2"));
        let mut children = [sleeper("exec sleep 60", &run), sleeper("exec sleep 60", &longer)];
        let ids = children.each_ref().map(|child| ProcessId::of(child.id()).unwrap());
        // A child shows its parent's environment until it has replaced itself.
        let begun = Instant::now();
        while marked(&run).unwrap() != [ids[0].clone()] && begun.elapsed() < KILL_LIMIT {
            thread::sleep(BEAT);
        }
        assert_eq!(end_marked(&run, Duration::from_secs(1)).unwrap(), []);
        assert!(!ids[0].is_alive());
        assert!(ids[1].is_alive());
        assert_eq!(end_marked(&longer, Duration::ZERO).unwrap(), []);
        assert_eq!(marked("").unwrap(), []);
        for child in &mut children {
            child.wait().unwrap();
        }
    }
}
