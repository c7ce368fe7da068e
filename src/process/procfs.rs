//! The process table as Linux shows it under `/proc`.
//!
//! Owned formats: `/proc/<pid>/stat`, of which the name in brackets may hold any byte, brackets and line ends
//! too, so that fields count from the last `)`; and `/proc/<pid>/environ`, entries that end in a zero byte,
//! as they were when the program started; and the line `SigIgn:` of `/proc/self/status`, a mask in hex whose lowest bit
//! is signal 1.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt;

use super::MARK;
use super::table::{Process, State};

/// Every process of the machine that may be seen.
pub fn list() -> io::Result<Vec<Process>> {
    Ok(newest_first()?.collect())
}

/// The same, each looked at only when it is asked for: the pids are of one moment, and the newest are the
/// ones that may be gone in the next.
pub fn newest_first() -> io::Result<impl Iterator<Item = Process>> {
    let names = fs::read_dir("/proc")?.flatten().map(|entry| entry.file_name());
    let mut pids: Vec<u32> = names.filter_map(|name| name.to_str()?.parse().ok()).collect();
    pids.sort_unstable_by(|a, b| b.cmp(a));
    Ok(pids.into_iter().filter_map(find))
}

pub fn find(pid: u32) -> Option<Process> {
    parse_stat(&fs::read(format!("/proc/{pid}/stat")).ok()?)
}

/// The value of the mark in the environment that `pid` was started with; None also where it may not be read.
pub fn mark(pid: u32) -> Option<OsString> {
    parse_mark(&fs::read(format!("/proc/{pid}/environ")).ok()?)
}

/// What names this boot of the machine.
pub fn boot() -> Option<String> {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(text.trim().to_string())
}

/// Whether this process ignores a signal.
pub fn is_ignored(signal: i32) -> Option<bool> {
    parse_ignored(&fs::read_to_string("/proc/self/status").ok()?, signal)
}

fn parse_ignored(status: &str, signal: i32) -> Option<bool> {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
    let mask = u64::from_str_radix(mask.trim(), 16).ok()?;
    Some(mask >> u32::try_from(signal).ok()?.checked_sub(1)? & 1 == 1)
}

fn parse_stat(stat: &[u8]) -> Option<Process> {
    let close = stat.iter().rposition(|byte| *byte == b')')?;
    let open = stat.iter().position(|byte| *byte == b'(')?;
    let pid = std::str::from_utf8(&stat[..open]).ok()?.trim().parse().ok()?;
    let fields: Vec<&str> = std::str::from_utf8(&stat[close + 1..]).ok()?.split_ascii_whitespace().collect();
    Some(Process {
        pid,
        parent: fields.get(1)?.parse().ok()?,
        group: fields.get(2)?.parse().ok()?,
        state: if matches!(*fields.first()?, "Z" | "X" | "x") { State::Zombie } else { State::Alive },
        start: fields.get(19)?.parse().ok()?,
    })
}

fn parse_mark(environ: &[u8]) -> Option<OsString> {
    environ
        .split(|byte| *byte == 0)
        .find_map(|entry| entry.strip_prefix(MARK.as_bytes())?.strip_prefix(b"="))
        .map(|value| OsString::from_vec(value.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(stat: &[u8], expected: Option<(u32, u32, u32, State, u64)>) {
        let found = parse_stat(stat).map(|p| (p.pid, p.parent, p.group, p.state, p.start));
        assert_eq!(found, expected, "{}", String::from_utf8_lossy(stat));
    }

    const REST: &[u8] = b" 1 7 7 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 8812 2048 1 18446744073709551615";

    #[test]
    fn reads_stat() {
        check(&[b"42 (sleep) S", REST].concat(), Some((42, 1, 7, State::Alive, 8812)));
        check(&[b"42 (a) Z) (b\n\xff) Z", REST].concat(), Some((42, 1, 7, State::Zombie, 8812)));
        check(b"42 (sleep) S 1 7", None);
        check(b"", None);
        check(b") (", None);
    }

    #[test]
    fn reads_the_mark() {
        let value = |environ: &[u8]| parse_mark(environ).map(|mark| mark.into_string().unwrap());
        assert_eq!(value(b"A=1\0HARNESS_RUN=r-1\0B=\0"), Some("r-1".into()));
        assert_eq!(value(b"HARNESS_RUN="), Some(String::new()));
        assert_eq!(value(b"XHARNESS_RUN=r-1\0HARNESS_RUNS=r-1\0A=HARNESS_RUN=r-1\0"), None);
    }

    #[test]
    fn reads_what_is_ignored() {
        let status = "Name:\tx\nSigIgn:\t0000000000001001\nSigCgt:\t0000000000000002\n";
        assert_eq!(
            [1, 2, 13, 64].map(|signal| parse_ignored(status, signal)),
            [true, false, true, false].map(Some)
        );
        assert_eq!(parse_ignored("Name:\tx\n", 1), None);
        assert_eq!((parse_ignored(status, 0), parse_ignored(status, -1)), (None, None));
    }

    #[test]
    fn finds_itself() {
        let me = find(std::process::id()).unwrap();
        assert_eq!(me.state, State::Alive);
        assert!(list().unwrap().contains(&me));
        assert!(boot().unwrap().len() > 8);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

        #[test]
        fn any_name_and_any_bytes_are_taken(name in proptest::collection::vec(any::<u8>(), 0..40)) {
            let _ = parse_stat(&name);
            let _ = parse_mark(&name);
            let stat = [b"42 (".as_slice(), &name, b") R", REST].concat();
            prop_assert_eq!(parse_stat(&stat).map(|p| (p.pid, p.start)), Some((42, 8812)));
        }
    }
}
