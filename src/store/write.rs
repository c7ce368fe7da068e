//! Writing beneath an open folder: the one primitive that creates a file, replacing, appending and moving.
//!
//! A new file is written beside its place under a hidden name, synced, renamed, and its folder synced: a reader sees
//! the old state or the new one, and a crash leaves at most a hidden file that nothing ever reads.

use super::breakage::Breakage;
use super::dir::{Dir, Stat, to_stat};
use super::fault::{Fault, Result, StoreError};
use crate::domain::commit::Written;
use crate::domain::digest::sha256;
use rustix::fs::{Mode, OFlags};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, Ordering};

/// How every temporary file's name begins.
pub const TEMPORARY: &str = ".tmp.";

/// The largest file that is compared with another.
const COMPARED_MAX: u64 = 16 * 1024 * 1024;

/// What creating a file came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Created {
    New,
    /// It was there already, with the same bytes.
    Same,
}

static COUNT: AtomicU64 = AtomicU64::new(0);

/// `.tmp.user.<pid>.<count>` or `.tmp.<run>.<dept>.<pid>.<count>`: recovery removes those of its department.
fn temporary_name(owner: &str) -> String {
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("{TEMPORARY}{owner}.{}.{count}", std::process::id())
}

/// A file written and synced beside its place, waiting for its name.
#[derive(Debug)]
pub struct Prepared {
    dir: Dir,
    temporary: String,
    name: String,
    armed: bool,
}

impl Drop for Prepared {
    fn drop(&mut self) {
        if self.armed {
            // The error that led here is the one to report.
            let _ignored = self.dir.disk().remove(self.dir.fd(), &self.temporary);
        }
    }
}

impl Prepared {
    /// Gives the file its name; there already is for the caller to judge.
    fn rename_new(mut self) -> Result<bool> {
        let dir = &self.dir;
        match dir.disk().rename_new((dir.fd(), &self.temporary), (dir.fd(), &self.name)) {
            Ok(()) => {
                self.armed = false;
                self.sync()?;
                Ok(true)
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(StoreError::io(dir.join(&self.name), "create", error)),
        }
    }

    fn rename_over(mut self) -> Result<()> {
        let dir = &self.dir;
        let renamed = dir.disk().rename_over((dir.fd(), &self.temporary), (dir.fd(), &self.name));
        renamed.map_err(|error| StoreError::io(dir.join(&self.name), "replace", error))?;
        self.armed = false;
        self.sync()
    }

    fn sync(&self) -> Result<()> {
        self.dir.sync()
    }
}

impl Dir {
    /// Writes and syncs a file beside its place.
    pub fn prepare(&self, name: &str, bytes: &[u8]) -> Result<Prepared> {
        let failed = |error: std::io::Error| StoreError::io(self.join(name), "write", error);
        self.note(name, || Written::Whole { sha256: sha256(bytes) });
        let temporary = self.free_name()?;
        let prepared = Prepared { dir: self.clone(), temporary, name: name.to_string(), armed: true };
        let temporary = &prepared.temporary;
        let file = self.disk().write_new(self.fd(), temporary, self.file_mode(), bytes).map_err(failed)?;
        self.disk().sync_file(self.fd(), temporary, file.as_fd()).map_err(failed)?;
        Ok(prepared)
    }

    /// A temporary name that is free: a dead process with the same number may have left one.
    fn free_name(&self) -> Result<String> {
        loop {
            let name = temporary_name(self.disk().owner());
            if self.stat(&name)?.is_none() {
                return Ok(name);
            }
        }
    }

    /// Creates a file that only its owner may read, whatever the folder.
    pub fn create_private(&self, name: &str, bytes: &[u8]) -> Result<()> {
        self.as_private().create(name, bytes).map(|_| ())
    }

    /// The one primitive that creates a file: there already with equal bytes is done, with other bytes a conflict.
    pub fn create(&self, name: &str, bytes: &[u8]) -> Result<Created> {
        if self.stat(name)?.is_some() {
            return self.compare(name, bytes);
        }
        self.commit(self.prepare(name, bytes)?, bytes)
    }

    /// The second half of [`Dir::create`], for several files that are to appear as one as nearly as can be.
    pub fn commit(&self, prepared: Prepared, bytes: &[u8]) -> Result<Created> {
        let name = prepared.name.clone();
        if prepared.rename_new()? { Ok(Created::New) } else { self.compare(&name, bytes) }
    }

    fn compare(&self, name: &str, bytes: &[u8]) -> Result<Created> {
        let there = self.read_bytes(name, bytes.len() as u64);
        match there {
            Ok(Some((found, _))) if found == bytes => {
                // Its creator may have died between the rename and the sync.
                self.sync()?;
                Ok(Created::Same)
            }
            Err(error) if matches!(error.fault, Fault::Io(_)) => Err(error),
            _ => Err(StoreError::new(self.join(name), "create", Fault::Conflict)),
        }
    }

    /// Whether two files hold the same bytes; what can't be read is like nothing else.
    pub(super) fn is_same(&self, name: &str, other: &Dir, other_name: &str) -> bool {
        let read = |dir: &Dir, name: &str| dir.read_bytes(name, COMPARED_MAX).ok().flatten();
        let (one, other) = (read(self, name), read(other, other_name));
        one.zip(other).is_some_and(|((one, _), (other, _))| one == other)
    }

    /// Replaces a file, or creates it.
    pub fn replace(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let prepared = self.prepare(name, bytes)?;
        if self.breaks(Breakage::RemovedBeforeReplaced) {
            self.remove(name)?;
        }
        prepared.rename_over()
    }

    /// Replaces a file that is only for looking at: no sync, and no count as an operation.
    pub fn replace_unsynced(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let failed = |error: std::io::Error| StoreError::io(self.join(name), "write", error);
        let flags = OFlags::CREATE
            | OFlags::TRUNC
            | OFlags::WRONLY
            | OFlags::NOFOLLOW
            | OFlags::NONBLOCK
            | OFlags::CLOEXEC;
        self.disk().forget(self.fd(), name);
        let file = rustix::fs::openat(self.fd(), name, flags, self.file_mode())
            .map_err(|error| failed(error.into()))?;
        rustix::io::write(&file, bytes).map(|_| ()).map_err(|error| failed(error.into()))
    }

    /// Replaces a file that can be done without: readers see the old one or the new one, and a power loss may take
    /// both. No sync, and no count as an operation.
    pub fn replace_lazily(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let failed = |error: std::io::Error| StoreError::io(self.join(name), "replace", error);
        self.disk().forget(self.fd(), name);
        let temporary = self.free_name()?;
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(self.fd(), temporary.as_str(), flags, self.file_mode())
            .map_err(|error| failed(error.into()))?;
        let written = std::io::Write::write_all(&mut std::fs::File::from(fd), bytes);
        let renamed =
            written.and_then(|()| Ok(rustix::fs::renameat(self.fd(), temporary.as_str(), self.fd(), name)?));
        if renamed.is_err() {
            let _ignored = rustix::fs::unlinkat(self.fd(), temporary.as_str(), rustix::fs::AtFlags::empty());
        }
        renamed.map_err(failed)
    }

    /// Adds a line to a log that can be done without, in one write and unsynced.
    pub fn append_lazily(&self, name: &str, line: &str) -> Result<()> {
        let failed = |error: rustix::io::Errno| StoreError::io(self.join(name), "add to", error);
        let file = self.open_to_touch(name, OFlags::APPEND)?;
        rustix::io::write(&file, line.as_bytes()).map(|_| ()).map_err(failed)
    }

    /// Sets a file's times to now, making it where it is missing; its stat before and after.
    pub fn touch(&self, name: &str) -> Result<(Stat, Stat)> {
        let failed = |error: rustix::io::Errno| StoreError::io(self.join(name), "touch", error);
        let file = self.open_to_touch(name, OFlags::empty())?;
        let before = rustix::fs::fstat(&file).map_err(failed)?;
        let now = rustix::fs::Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_NOW };
        let times = rustix::fs::Timestamps { last_access: now, last_modification: now };
        rustix::fs::futimens(&file, &times).map_err(failed)?;
        let after = rustix::fs::fstat(&file).map_err(failed)?;
        Ok((to_stat(&before), to_stat(&after)))
    }

    /// Overwrites pieces of a file that is there, each at its place. No sync, and no count as an operation.
    pub fn write_at(&self, name: &str, pieces: &[(u64, String)]) -> Result<()> {
        let failed = |error: rustix::io::Errno| StoreError::io(self.join(name), "write", error);
        let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        self.disk().forget(self.fd(), name);
        let file = rustix::fs::openat(self.fd(), name, flags, rustix::fs::Mode::empty()).map_err(failed)?;
        for (place, text) in pieces {
            rustix::io::pwrite(&file, text.as_bytes(), *place).map_err(failed)?;
        }
        Ok(())
    }

    fn open_to_touch(&self, name: &str, how: OFlags) -> Result<std::os::fd::OwnedFd> {
        let flags =
            OFlags::CREATE | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | how;
        self.disk().forget(self.fd(), name);
        let opened = rustix::fs::openat(self.fd(), name, flags, self.file_mode());
        opened.map_err(|error| StoreError::io(self.join(name), "open", error))
    }

    /// Adds to a file's end, making it where it is missing, and syncs it.
    pub fn append(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let failed = |error: std::io::Error| StoreError::io(self.join(name), "add to", error);
        // An empty one is new too: whoever made it may have died before its entry was sure.
        let is_new = self.stat(name)?.is_none_or(|stat| stat.size == 0);
        let flags = OFlags::CREATE
            | OFlags::APPEND
            | OFlags::WRONLY
            | OFlags::NOFOLLOW
            | OFlags::NONBLOCK
            | OFlags::CLOEXEC;
        let file = rustix::fs::openat(self.fd(), name, flags, self.file_mode())
            .map_err(|error| failed(error.into()))?;
        let stat = rustix::fs::fstat(&file).map_err(|error| failed(error.into()))?;
        if rustix::fs::FileType::from_raw_mode(stat.st_mode) != rustix::fs::FileType::RegularFile {
            return Err(StoreError::new(self.join(name), "add to", Fault::WrongType("not a plain file")));
        }
        self.note(name, || Written::Added { text: String::from_utf8_lossy(bytes).into_owned() });
        self.disk().append(self.fd(), name, file.as_fd(), bytes).map_err(failed)?;
        self.disk().sync_file(self.fd(), name, file.as_fd()).map_err(failed)?;
        if is_new {
            self.disk().sync_folder(self.fd()).map_err(failed)?;
        }
        Ok(())
    }

    /// Cuts a file off after `length` bytes.
    pub fn truncate(&self, name: &str, length: u64) -> Result<()> {
        let failed = |error: std::io::Error| StoreError::io(self.join(name), "cut", error);
        let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = rustix::fs::openat(self.fd(), name, flags, Mode::empty())
            .map_err(|error| failed(error.into()))?;
        self.disk().truncate(self.fd(), name, file.as_fd(), length).map_err(failed)?;
        self.disk().sync_file(self.fd(), name, file.as_fd()).map_err(failed)
    }

    /// Moves a file to another folder, where its name must be free, or taken by the same bytes: a power loss may have
    /// left it in both.
    pub fn move_to(&self, name: &str, to: &Dir, new_name: &str) -> Result<()> {
        self.note(name, || Written::Gone);
        to.note(new_name, || Written::Moved);
        match self.disk().rename_new((self.fd(), name), (to.fd(), new_name)) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                if !self.is_same(name, to, new_name) {
                    return Err(StoreError::new(self.join(name), "move", Fault::Conflict));
                }
                to.sync()?;
                return self.remove(name);
            }
            Err(error) => return Err(StoreError::io(self.join(name), "move", error)),
        }
        // The new place first, and at once: a power loss leaves the file in both or in the new place, never in neither.
        if self.breaks(Breakage::SourceSyncedFirst) {
            self.sync_now()?;
        }
        to.sync_now()?;
        self.sync()
    }

    /// Moves a file whose name is no UTF-8, shown like this, to a name that is free; whether it is there.
    pub fn move_odd(&self, shown: &str, to: &Dir, new_name: &str) -> Result<bool> {
        let Some(name) = self.find_odd(shown)? else { return Ok(false) };
        to.note(new_name, || Written::Moved);
        let moved = self.disk().rename_odd((self.fd(), &name), (to.fd(), new_name));
        moved.map_err(|error| StoreError::io(self.join(shown), "move", error))?;
        to.sync_now()?;
        self.sync()?;
        Ok(true)
    }

    /// Moves a file over whatever has its name in another folder, where losing either after a power loss does no harm.
    pub fn move_over_unsynced(&self, name: &str, to: &Dir) -> Result<()> {
        let moved = self.disk().rename_over((self.fd(), name), (to.fd(), name));
        moved.map_err(|error| StoreError::io(self.join(name), "move", error))
    }

    /// Gives a log that can be done without another name, over whatever has it. No sync, and no count as an operation.
    pub fn rename_lazily(&self, name: &str, new_name: &str) -> Result<()> {
        self.disk().forget(self.fd(), name);
        self.disk().forget(self.fd(), new_name);
        let renamed = rustix::fs::renameat(self.fd(), name, self.fd(), new_name);
        renamed.map_err(|error| StoreError::io(self.join(name), "rename", error))
    }

    /// Removes a file whose return after a power loss would do no harm.
    pub fn remove_unsynced(&self, name: &str) -> Result<()> {
        self.note(name, || Written::Gone);
        self.disk().remove(self.fd(), name).map_err(|error| StoreError::io(self.join(name), "remove", error))
    }

    /// Removes a file; missing already is fine.
    pub fn remove(&self, name: &str) -> Result<()> {
        let failed = |error: std::io::Error| StoreError::io(self.join(name), "remove", error);
        self.note(name, || Written::Gone);
        self.disk().remove(self.fd(), name).map_err(failed)?;
        self.disk().sync_folder(self.fd()).map_err(failed)
    }
}

#[cfg(test)]
mod tests {
    use super::super::disk::Disk;
    use super::*;

    #[test]
    fn a_file_that_is_in_both_places_is_moved() {
        let folder = tempfile::tempdir().unwrap();
        let top = Dir::open(folder.path(), Disk::new(None)).unwrap();
        let (from, to) = (top.make("from").unwrap(), top.make("to").unwrap());
        for dir in [&from, &to] {
            dir.create("a", b"one").unwrap();
            dir.create("b", dir.path().display().to_string().as_bytes()).unwrap();
        }
        from.move_to("a", &to, "a").unwrap();
        assert!(from.stat("a").unwrap().is_none() && to.stat("a").unwrap().is_some());
        let error = from.move_to("b", &to, "b").unwrap_err();
        assert!(matches!(error.fault, Fault::Conflict));
        assert!(from.stat("b").unwrap().is_some());
    }
}
