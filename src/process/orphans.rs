//! The guard as the parent of every descendant that lost its own.
//!
//! On Linux a process can ask for that, and then has a proof that no list of processes gives: when the kernel
//! says that it has no child at all, no descendant is left either, wherever its session, group or environment
//! went. Elsewhere orphans go to the system, and nothing here does anything.

#[cfg(target_os = "linux")]
pub use adopting::{adopt, are_gone, kill_all, reap};
#[cfg(not(target_os = "linux"))]
pub use leaving::{adopt, are_gone, kill_all, reap};

#[cfg(target_os = "linux")]
mod adopting {
    use std::io;
    use std::time::{Duration, Instant};

    use rustix::io::Errno;
    use rustix::process::{
        Pid, Signal, WaitOptions, getpid, kill_process, set_child_subreaper, wait, waitpid,
    };

    use crate::process::table::{self, State};

    /// From now on, orphans become children of this process.
    pub fn adopt() -> io::Result<()> {
        Ok(set_child_subreaper(Some(getpid()))?)
    }

    /// Takes note of the children that ended, all but the engine.
    pub fn reap(engine: Pid) {
        for pid in children(State::Zombie).filter(|pid| *pid != engine) {
            let _ = waitpid(Some(pid), WaitOptions::NOHANG);
        }
    }

    /// Whether there is no child any more. Those that ended are reaped, the engine too.
    pub fn are_gone() -> bool {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => return false,
                Err(error) => return error == Errno::CHILD,
            }
        }
    }

    /// Kills every child, again and again, until none is left or the time is up.
    ///
    /// This is for one that forks and exits faster than the whole table can be read and judged. Its newest
    /// generation is a child of this process and has the highest pid, so that it is met first. The pid needs
    /// no second look: only this process could release it.
    pub fn kill_all(limit: Duration) {
        let begun = Instant::now();
        while !are_gone() && begun.elapsed() < limit {
            for pid in children(State::Alive) {
                let _ = kill_process(pid, Signal::KILL);
            }
        }
    }

    fn children(state: State) -> impl Iterator<Item = Pid> {
        let me = std::process::id();
        let all = table::newest_first().into_iter().flatten();
        let children = all.filter(move |process| process.parent == me && process.state == state);
        children.filter_map(|process| Pid::from_raw(i32::try_from(process.pid).ok()?))
    }
}

#[cfg(not(target_os = "linux"))]
mod leaving {
    use std::io;
    use std::thread;
    use std::time::Duration;

    use rustix::process::Pid;

    pub fn adopt() -> io::Result<()> {
        Ok(())
    }

    pub fn reap(_engine: Pid) {}

    /// Nothing speaks against it.
    pub fn are_gone() -> bool {
        true
    }

    pub fn kill_all(limit: Duration) {
        thread::sleep(limit);
    }
}
