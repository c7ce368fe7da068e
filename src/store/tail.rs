//! Reading the end of a log that only grows, so that nothing costs more as history gets longer.

use super::dir::{Dir, Stat};
use super::fault::{Result, StoreError};
use rustix::buffer::spare_capacity;
use rustix::io::pread;
use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::PathBuf;

/// How much is looked at in one place of a log.
const PIECE: u64 = 32 * 1024;

/// The end of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tail {
    pub text: String,
    /// Whether it is the file from its start.
    pub whole: bool,
}

/// The last `most` bytes of a file, from the first whole line on; empty where it is missing.
pub fn read_tail(dir: &Dir, name: &str, most: u64) -> Result<Tail> {
    let failed = |error: std::io::Error| StoreError::io(dir.join(name), "read", error);
    let Some((mut file, stat)) = dir.open_file(name)? else {
        return Ok(Tail { text: String::new(), whole: true });
    };
    // One byte earlier: a line that begins exactly there is whole.
    let from = stat.size.saturating_sub(most).saturating_sub(1);
    file.seek(SeekFrom::Start(from)).map_err(failed)?;
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes).map_err(failed)?;
    let text = to_text(&bytes);
    if from == 0 {
        return Ok(Tail { text: text.into_owned(), whole: true });
    }
    let text = text.split_once('\n').map(|(_, rest)| rest.to_string()).unwrap_or_default();
    Ok(Tail { text, whole: false })
}

/// The first line that is meant, from a place on, in a log whose lines stand in the order of their times. `is_before`
/// says whether a line stands before that place, where it can be read: the place is found by halving, so that a long log
/// costs hardly more than a short one.
pub fn find_forward<T>(
    dir: &Dir,
    name: &str,
    is_before: &dyn Fn(&str) -> Option<bool>,
    meant: &dyn Fn(&str) -> Option<T>,
) -> Result<Option<T>> {
    let failed = |error: io::Error| StoreError::io(dir.join(name), "read", error);
    let Some((file, stat)) = dir.open_file(name)? else { return Ok(None) };
    let (mut low, mut high) = (0, stat.size);
    while high - low > PIECE {
        let middle = low + (high - low) / 2;
        let mut piece = Vec::new();
        (&file).seek(SeekFrom::Start(middle)).map_err(failed)?;
        (&file).take(PIECE).read_to_end(&mut piece).map_err(failed)?;
        // The first line is cut, and the last one may be.
        match to_text(&piece).lines().skip(1).find_map(is_before) {
            Some(true) => low = middle,
            Some(false) => high = middle,
            None => break,
        }
    }
    (&file).seek(SeekFrom::Start(low)).map_err(failed)?;
    let mut lines = BufReader::new(file);
    let mut line = Vec::new();
    if low > 0 {
        lines.read_until(b'\n', &mut line).map_err(failed)?;
    }
    loop {
        line.clear();
        if lines.read_until(b'\n', &mut line).map_err(failed)? == 0 {
            return Ok(None);
        }
        if let Some(found) = meant(to_text(&line).trim_end()) {
            return Ok(Some(found));
        }
    }
}

/// A log read from its end towards its start, in blocks of whole lines.
#[derive(Debug)]
pub struct Backwards {
    file: File,
    path: PathBuf,
    /// Where what was read begins.
    from: u64,
    /// What was read last. Its first line is cut where `whole_from` isn't 0.
    block: Vec<u8>,
    whole_from: usize,
}

impl Backwards {
    /// Opens the log; absent where it is missing.
    pub fn open(dir: &Dir, name: &str) -> Result<Option<Backwards>> {
        let opened = dir.open_file(name)?;
        let path = dir.join(name);
        let to_log = |(file, stat): (File, Stat)| Backwards {
            file,
            path,
            from: stat.size,
            block: Vec::new(),
            whole_from: 0,
        };
        Ok(opened.map(to_log))
    }

    /// The next older lines, of about `bytes`; nothing where the start was reached.
    pub fn read_block(&mut self, bytes: u64) -> Result<Option<Cow<'_, str>>> {
        Ok(self.read_lines(bytes)?.map(to_text))
    }

    /// The same as bytes, for a reader that looks at little of them.
    pub fn read_lines(&mut self, bytes: u64) -> Result<Option<&[u8]>> {
        if self.from == 0 {
            return Ok(None);
        }
        let size = bytes.min(self.from);
        self.from -= size;
        self.block = self.read_before(size).map_err(|error| StoreError::io(&self.path, "read", error))?;
        self.whole_from = match memchr::memchr(b'\n', &self.block) {
            _ if self.from == 0 => 0,
            Some(end) => end + 1,
            None => self.block.len(),
        };
        Ok(Some(&self.block[self.whole_from..]))
    }

    /// The bytes before those read so far, and after them the line that was cut: a log only grows, so reading that
    /// once more says the same, and costs less than moving it.
    fn read_before(&self, size: u64) -> io::Result<Vec<u8>> {
        let wanted = usize::try_from(size).unwrap_or(0) + self.whole_from;
        let mut block = Vec::with_capacity(wanted);
        while block.len() < wanted {
            let at = self.from + block.len() as u64;
            if pread(&self.file, spare_capacity(&mut block), at)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        block.truncate(wanted);
        Ok(block)
    }
}

fn to_text(bytes: &[u8]) -> Cow<'_, str> {
    // The lossy reading looks at every byte by itself, and is nearly never needed.
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

#[cfg(test)]
mod tests {
    use super::super::disk::Disk;
    use super::*;

    #[test]
    fn the_first_line_from_a_place_on_is_found_in_a_log_of_any_length() {
        let folder = tempfile::tempdir().unwrap();
        let dir = Dir::open(folder.path(), Disk::new(None)).unwrap();
        for count in [0, 1, 10, 20_000] {
            let text: String =
                (0..count).map(|number| format!("{number} {}\n", "x".repeat(number % 90))).collect();
            std::fs::write(folder.path().join("log"), text).unwrap();
            let number = |line: &str| line.split(' ').next()?.parse::<usize>().ok();
            for from in [0, 1, 7, 9_999, 19_999, 20_000] {
                let before = |line: &str| number(line).map(|number| number < from);
                let meant = |line: &str| number(line).filter(|number| *number >= from && number % 2 == 1);
                let expected = (from..count).find(|number| number % 2 == 1);
                assert_eq!(
                    find_forward(&dir, "log", &before, &meant).unwrap(),
                    expected,
                    "{from} of {count}"
                );
            }
        }
    }
    use proptest::prelude::*;

    fn read(text: &str, bytes: u64) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("log"), text).unwrap();
        let dir = Dir::open(folder.path(), Disk::new(None)).unwrap();
        let mut log = Backwards::open(&dir, "log").unwrap().unwrap();
        std::iter::from_fn(|| log.read_block(bytes).unwrap().map(Cow::into_owned)).collect()
    }

    fn check(text: &str, bytes: u64, expected: &[&str]) {
        assert_eq!(read(text, bytes), expected, "{text:?}");
    }

    #[test]
    fn blocks_hold_whole_lines_newest_first() {
        check("", 4, &[]);
        check("one\ntwo\nthree\n", 100, &["one\ntwo\nthree\n"]);
        check("one\ntwo\nthree\n", 7, &["three\n", "one\ntwo\n"]);
        check("one\na longer one\nx", 4, &["x", "", "", "a longer one\n", "one\n"]);
        check("no end", 3, &["", "no end"]);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(32) })]
        #[test]
        fn nothing_is_lost(text in "[ab→\n]{0,40}", bytes in 1u64..20) {
            let blocks: String = read(&text, bytes).into_iter().rev().collect();
            prop_assert_eq!(blocks, text);
        }
    }
}
