//! Running this program beside itself, several at a time: a tick gives every department a process of its own, so that
//! stopping one run stops no other.
//!
//! They stand in the caller's group: Ctrl-C reaches all of them. A SIGTERM is handed on. When the caller dies they go
//! on to their own ends.

use super::interrupt::Stop;
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::OsString;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How often the running ones are asked whether they have ended.
const BEAT: Duration = Duration::from_millis(10);

/// One of them.
#[derive(Clone, Debug)]
pub struct Sibling {
    pub args: Vec<OsString>,
    /// Beside the environment of this process.
    pub env: Vec<(String, String)>,
}

/// How one ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SiblingEnd {
    /// Its exit code; none where a signal ended it.
    Exited(Option<i32>),
    /// There was no place for it in time.
    NotStarted,
    Failed(String),
}

/// Runs all of them, so many at once, in their order. After `patience` none is started any more.
pub fn run_siblings(
    program: &Path,
    siblings: &[Sibling],
    at_once: usize,
    patience: Duration,
    asked: &dyn Fn() -> Option<Stop>,
) -> Vec<SiblingEnd> {
    let until = Instant::now() + patience;
    let mut ends = vec![SiblingEnd::NotStarted; siblings.len()];
    let mut waiting = siblings.iter().enumerate();
    let mut running: Vec<(usize, Child)> = Vec::new();
    let mut told = None;
    loop {
        while running.len() < at_once && told.is_none() && Instant::now() < until {
            let Some((index, sibling)) = waiting.next() else { break };
            match start(program, sibling) {
                Ok(child) => running.push((index, child)),
                Err(error) => ends[index] = SiblingEnd::Failed(error.to_string()),
            }
        }
        running.retain_mut(|(index, child)| match child.try_wait() {
            Ok(None) => true,
            Ok(Some(status)) => {
                ends[*index] = SiblingEnd::Exited(status.code());
                false
            }
            Err(error) => {
                ends[*index] = SiblingEnd::Failed(error.to_string());
                false
            }
        });
        if running.is_empty()
            && (waiting.len() == 0 || told.is_some() || Instant::now() >= until || at_once == 0)
        {
            return ends;
        }
        if let Some(stop) = asked().filter(|stop| told != Some(*stop)) {
            told = Some(stop);
            running.iter().for_each(|(_, child)| tell(child));
        }
        thread::sleep(BEAT);
    }
}

/// Siblings that nobody waits for: whoever started them goes on, and asks now and then which have ended.
#[derive(Debug, Default)]
pub struct Crowd {
    running: Vec<Child>,
}

impl Crowd {
    pub fn start(&mut self, program: &Path, sibling: &Sibling) -> std::io::Result<()> {
        self.running.push(start(program, sibling)?);
        Ok(())
    }

    pub fn count(&self) -> usize {
        self.running.len()
    }

    /// Takes leave of those that have ended; whether there was one.
    pub fn reap(&mut self) -> bool {
        let before = self.count();
        self.running.retain_mut(|child| matches!(child.try_wait(), Ok(None)));
        self.count() < before
    }

    /// Waits until the last one has ended, and hands on whatever is asked meanwhile.
    pub fn wait(&mut self, asked: &dyn Fn() -> Option<Stop>) {
        let mut told = None;
        while self.count() > 0 {
            if let Some(stop) = asked().filter(|stop| told != Some(*stop)) {
                told = Some(stop);
                self.running.iter().for_each(tell);
            }
            self.reap();
            thread::sleep(BEAT);
        }
    }
}

fn start(program: &Path, sibling: &Sibling) -> std::io::Result<Child> {
    let mut command = Command::new(program);
    command.args(&sibling.args).envs(sibling.env.iter().map(|(name, value)| (name, value)));
    command.stdin(Stdio::null()).stdout(Stdio::null()).spawn()
}

fn tell(child: &Child) {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    // One that has ended meanwhile can't be told, and needn't be.
    let _ignored = pid.map(|pid| kill_process(pid, Signal::TERM));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Sibling {
        Sibling { args: vec!["-c".into(), script.into()], env: vec![("X".into(), "7".into())] }
    }

    #[test]
    fn they_run_side_by_side_and_each_end_is_known() {
        let siblings = [shell("exit $X"), shell("sleep 0.05"), shell("kill -9 $$")];
        let ends = run_siblings(Path::new("/bin/sh"), &siblings, 2, Duration::from_secs(60), &|| None);
        let exits = [Some(7), Some(0), None].map(SiblingEnd::Exited);
        assert_eq!(ends, exits);
    }

    #[test]
    fn whoever_finds_no_place_is_not_started() {
        let siblings = [shell("sleep 0.2"), shell("exit 0")];
        let ends = run_siblings(Path::new("/bin/sh"), &siblings, 1, Duration::from_millis(50), &|| None);
        assert_eq!(ends, [SiblingEnd::Exited(Some(0)), SiblingEnd::NotStarted]);
        let none = run_siblings(Path::new("/bin/sh"), &siblings, 0, Duration::from_secs(9), &|| None);
        assert_eq!(none, [SiblingEnd::NotStarted, SiblingEnd::NotStarted]);
    }

    #[test]
    fn nobody_waits_for_a_crowd_until_the_end() {
        let mut crowd = Crowd::default();
        crowd.start(Path::new("/bin/sh"), &shell("trap 'exit 5' TERM; sleep 30 & wait")).unwrap();
        crowd.start(Path::new("/bin/sh"), &shell("exit 0")).unwrap();
        let until = Instant::now() + Duration::from_secs(20);
        while !crowd.reap() && Instant::now() < until {
            thread::sleep(BEAT);
        }
        assert_eq!(crowd.count(), 1);
        let began = Instant::now();
        crowd.wait(&|| (began.elapsed() > Duration::from_millis(100)).then_some(Stop::Cleanly));
        assert!(crowd.count() == 0 && began.elapsed() < Duration::from_secs(20));
    }

    #[test]
    fn a_stop_is_handed_on() {
        let siblings = [shell("trap 'exit 5' TERM; sleep 0.3 & wait"), shell("exit 0")];
        let began = Instant::now();
        let asked = || (began.elapsed() > Duration::from_millis(150)).then_some(Stop::Cleanly);
        let ends = run_siblings(Path::new("/bin/sh"), &siblings, 1, Duration::from_secs(60), &asked);
        assert_eq!(ends, [SiblingEnd::Exited(Some(5)), SiblingEnd::NotStarted]);
    }
}
