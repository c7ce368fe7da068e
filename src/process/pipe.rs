//! Reading one of an engine's two outputs without waiting and without end.
//!
//! Up to the cap bytes are handed on; beyond it they are counted and dropped, so that an engine that floods
//! while it is being ended is not stuck in a full pipe.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;

#[derive(Debug)]
pub struct Pipe {
    /// None once it has ended.
    pub file: Option<File>,
    /// All bytes that came, those beyond the cap too.
    pub read: u64,
    cap: usize,
}

impl Pipe {
    pub fn new(fd: Option<OwnedFd>, cap: usize) -> io::Result<Pipe> {
        let file = fd.map(File::from);
        if let Some(file) = &file {
            rustix::io::ioctl_fionbio(file, true)?;
        }
        Ok(Pipe { file, read: 0, cap })
    }

    /// What is there now, as far as the cap allows; None where nothing is.
    pub fn read<'a>(&mut self, buffer: &'a mut [u8]) -> Option<&'a [u8]> {
        let read = match self.file.as_mut()?.read(buffer) {
            Ok(0) => None,
            Ok(read) => Some(read),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                return None;
            }
            Err(_) => None,
        };
        let Some(read) = read else {
            self.file = None;
            return None;
        };
        let before = usize::try_from(self.read).unwrap_or(usize::MAX);
        let room = self.cap.saturating_sub(before).min(read);
        self.read += read as u64;
        Some(&buffer[..room])
    }

    pub fn is_over(&self) -> bool {
        self.read > self.cap as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    fn check(cap: usize, writes: &[&[u8]], expected: &[&[u8]], is_over: bool) {
        let (reader, mut writer) = UnixStream::pair().unwrap();
        let mut pipe = Pipe::new(Some(reader.into()), cap).unwrap();
        let mut buffer = [0; 16];
        assert_eq!(pipe.read(&mut buffer), None);
        for (written, expected) in writes.iter().zip(expected) {
            writer.write_all(written).unwrap();
            assert_eq!(pipe.read(&mut buffer), Some(*expected));
        }
        drop(writer);
        assert_eq!(pipe.read(&mut buffer), None);
        assert!(pipe.file.is_none());
        assert_eq!(pipe.read, writes.iter().map(|written| written.len() as u64).sum::<u64>());
        assert_eq!(pipe.is_over(), is_over);
    }

    #[test]
    fn hands_on_up_to_the_cap() {
        check(8, &[b"abcd", b"efgh"], &[b"abcd", b"efgh"], false);
        check(6, &[b"abcd", b"efgh", b"ij"], &[b"abcd", b"ef", b""], true);
        check(0, &[b"a"], &[b""], true);
    }
}
