//! Adding an entry to a log once, however often it is tried.
//!
//! The entry's first line is its own, so it can be found again. An entry that a crash tore off half way is cut and
//! written anew; one that is whole is left.

use super::breakage::Breakage;
use super::dir::Dir;
use super::fault::{Result, StoreError};
use memchr::memrchr;
use std::io::{Read, Seek, SeekFrom};
use std::os::fd::AsFd;

/// How far back an entry is looked for beyond its own length: what others may have added meanwhile.
const BACK: u64 = 256 * 1024;

impl Dir {
    /// Adds an entry at the end of a file unless it is there.
    pub fn append_once(&self, name: &str, entry: &str) -> Result<()> {
        if self.breaks(Breakage::AppendWithoutCheck) {
            return self.append(name, entry.as_bytes());
        }
        let (start, bytes) = self.read_end(name, entry.len() as u64 + BACK)?;
        let first = entry.split_inclusive('\n').next().unwrap_or(entry).as_bytes();
        if let Some(at) = find_line(&bytes, first, start == 0) {
            let there = &bytes[at..];
            if there.starts_with(entry.as_bytes()) {
                return self.sync_file(name);
            }
            if entry.as_bytes().starts_with(there) {
                return self.write_anew(name, start + at as u64, entry);
            }
        } else if let Some(at) = torn_start(&bytes, entry.as_bytes()) {
            return self.write_anew(name, start + at as u64, entry);
        }
        let newline = if bytes.is_empty() || bytes.ends_with(b"\n") { "" } else { "\n" };
        self.append(name, format!("{newline}{entry}").as_bytes())
    }

    /// Cuts off what a crash left of an entry, and adds it whole.
    fn write_anew(&self, name: &str, torn_at: u64, entry: &str) -> Result<()> {
        if !self.breaks(Breakage::TornEntriesLeft) {
            self.truncate(name, torn_at)?;
        }
        self.append(name, entry.as_bytes())
    }

    /// Cuts off what stands after the last line end.
    pub(super) fn cut_torn_line(&self, name: &str) -> Result<()> {
        let (start, bytes) = self.read_end(name, BACK)?;
        match bytes.iter().rposition(|byte| *byte == b'\n') {
            Some(at) => self.truncate(name, start + at as u64 + 1),
            None if start == 0 => self.truncate(name, 0),
            None => Ok(()),
        }
    }

    /// Makes sure of a file that is there: whoever wrote it may have died before it was.
    fn sync_file(&self, name: &str) -> Result<()> {
        let failed = |error: std::io::Error| StoreError::io(self.join(name), "sync", error);
        if let Some((file, _)) = self.open_file(name)? {
            self.disk().sync_file(self.fd(), name, file.as_fd()).map_err(failed)?;
        }
        self.sync()
    }

    fn read_end(&self, name: &str, most: u64) -> Result<(u64, Vec<u8>)> {
        let failed = |error: std::io::Error| StoreError::io(self.join(name), "read", error);
        let Some((mut file, stat)) = self.open_file(name)? else { return Ok((0, Vec::new())) };
        let start = stat.size.saturating_sub(most);
        file.seek(SeekFrom::Start(start)).map_err(failed)?;
        let mut bytes = Vec::new();
        file.take(most).read_to_end(&mut bytes).map_err(failed)?;
        Ok((start, bytes))
    }
}

/// Where a whole line begins, searched from the end: what a plan added before stands there, and is looked through once
/// for each entry that comes after it.
fn find_line(bytes: &[u8], line: &[u8], from_start: bool) -> Option<usize> {
    let mut end = bytes.len();
    loop {
        let at = memrchr(b'\n', &bytes[..end]).map_or(0, |newline| newline + 1);
        if (at > 0 || from_start) && bytes[at..].starts_with(line) {
            return Some(at);
        }
        end = at.checked_sub(1)?;
    }
}

/// Where the entry's torn first line begins: what stands after the last line end, and is the entry's start.
fn torn_start(bytes: &[u8], entry: &[u8]) -> Option<usize> {
    let at = memrchr(b'\n', bytes).map_or(0, |newline| newline + 1);
    let rest = &bytes[at..];
    (!rest.is_empty() && entry.starts_with(rest)).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::super::disk::Disk;
    use super::*;

    #[test]
    fn an_entry_is_there_once_whatever_was_left_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let dir = Dir::open(folder.path(), Disk::new(None)).unwrap();
        let entry = "## one (r-1/1/0)\n\ntext\n\n";
        let read = || dir.read("log.md", 10_000).unwrap().unwrap().text;
        for cut in 0..=entry.len() {
            let before = format!("# Log\n\n{}", &entry[..cut]);
            dir.replace("log.md", before.as_bytes()).unwrap();
            dir.append_once("log.md", entry).unwrap();
            dir.append_once("log.md", entry).unwrap();
            assert_eq!(read(), format!("# Log\n\n{entry}"), "cut at {cut}");
        }
    }

    #[test]
    fn what_a_person_added_stays() {
        let folder = tempfile::tempdir().unwrap();
        let dir = Dir::open(folder.path(), Disk::new(None)).unwrap();
        dir.append_once("log.md", "- a\n  text\n").unwrap();
        dir.append("log.md", b"my own line").unwrap();
        dir.append_once("log.md", "- a\n  text\n").unwrap();
        dir.append_once("log.md", "- b\n").unwrap();
        assert_eq!(dir.read("log.md", 100).unwrap().unwrap().text, "- a\n  text\nmy own line\n- b\n");
    }
}
