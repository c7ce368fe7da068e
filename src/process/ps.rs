//! The process table where there is no `/proc`, from the system's own `ps`.
//!
//! Start times have seconds here, not ticks, and another process's environment can't be read: marks are never
//! found, and what an engine moved out of its group and its parents' reach stays. That is a stated limit.
//!
//! Owned format: a line of `ps -A -o pid=,ppid=,pgid=,state=,lstart=` in the C locale and UTC, as in
//! `  42     1     7 Ss   Tue Nov 17 20:01:02 2026`.

use std::ffi::OsString;
use std::io;
use std::process::{Command, Stdio};

use super::table::{Process, State};

const PS: &str = "/bin/ps";
const SYSCTL: &str = "/usr/sbin/sysctl";

/// Every process of the machine that may be seen.
pub fn list() -> io::Result<Vec<Process>> {
    ask_ps(&["-A"])
}

pub fn find(pid: u32) -> Option<Process> {
    ask_ps(&["-p", &pid.to_string()]).ok()?.into_iter().find(|process| process.pid == pid)
}

/// Never known here.
pub fn mark(_pid: u32) -> Option<OsString> {
    None
}

/// Never known here.
pub fn is_ignored(_signal: i32) -> Option<bool> {
    None
}

/// What names this boot of the machine.
pub fn boot() -> Option<String> {
    let output = Command::new(SYSCTL).args(["-n", "kern.bootsessionuuid"]).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_string();
    (!text.is_empty()).then_some(text)
}

fn ask_ps(which: &[&str]) -> io::Result<Vec<Process>> {
    let child = Command::new(PS)
        .args(which)
        .args(["-o", "pid=,ppid=,pgid=,state=,lstart="])
        .env_clear()
        .envs([("LC_ALL", "C"), ("TZ", "UTC")])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    // `ps` lists itself, a child of ours: left in, the last descendant would never be gone.
    let own = child.id();
    let output = child.wait_with_output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().filter_map(parse_line).filter(|process| process.pid != own).collect())
}

fn parse_line(line: &str) -> Option<Process> {
    let mut words = line.split_ascii_whitespace();
    let mut number = || words.next()?.parse::<u32>().ok();
    let (pid, parent, group) = (number()?, number()?, number()?);
    let state = if words.next()?.starts_with('Z') { State::Zombie } else { State::Alive };
    let started = words.collect::<Vec<&str>>().join(" ");
    let start = chrono::NaiveDateTime::parse_from_str(&started, "%a %b %e %H:%M:%S %Y").ok()?;
    Some(Process { pid, parent, group, state, start: u64::try_from(start.and_utc().timestamp()).ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(line: &str, expected: Option<(u32, u32, u32, State, u64)>) {
        assert_eq!(
            parse_line(line).map(|p| (p.pid, p.parent, p.group, p.state, p.start)),
            expected,
            "{line}"
        );
    }

    #[test]
    fn reads_lines() {
        let alive = Some((42, 1, 7, State::Alive, 1_794_945_662));
        check("   42     1     7 Ss   Tue Nov 17 20:01:02 2026", alive);
        check("42 1 7 S Tue Nov 17 20:01:02 2026    ", alive);
        check("42 1 7 Z Mon Nov  2 20:01:02 2026", Some((42, 1, 7, State::Zombie, 1_793_649_662)));
        check("42 1 7 S yesterday", None);
        check("PID PPID PGID S STARTED", None);
        check("", None);
    }

    /// Runs where this machine has the same `ps`; the table itself is tested through `procfs`.
    #[test]
    fn lists_itself_but_not_ps() {
        let me = std::process::id();
        for all in list().into_iter().filter(|all| !all.is_empty()) {
            assert!(all.iter().any(|process| process.pid == me));
            assert_eq!(find(me).map(|process| process.pid), Some(me));
        }
        assert_eq!(mark(me), None);
        assert_eq!(is_ignored(1), None);
        let _ = boot();
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

        #[test]
        fn any_line_is_taken(line in ".{0,60}") {
            let _ = parse_line(&line);
        }
    }
}
