//! OS locks: a department's, and the organisation's.
//!
//! A lock dies with its holder, so its file's age and content prove nothing and the file is never removed. It is
//! taken with fs2's exclusive pair alone, and released explicitly: dropping a handle while another thread forks left
//! a copy behind, and with it a lock that nobody held.

use super::dir::Dir;
use super::fault::{Fault, Result, StoreError};
use fs2::FileExt;
use rustix::fs::OFlags;
use std::fs::File;

/// A lock that is held until it is dropped.
#[derive(Debug)]
pub struct Lock {
    file: File,
}

/// Whether a lock could be had at once.
#[derive(Debug)]
pub enum Attempt {
    Held(Lock),
    Busy,
}

impl Lock {
    /// The locked file, for one whose content belongs to the lock's holder.
    pub(super) fn file(&self) -> &File {
        &self.file
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing the file releases it too; this is for copies of the handle that a fork may have made.
        let _ignored = FileExt::unlock(&self.file);
    }
}

/// Takes the lock where it is free, and doesn't wait.
pub fn try_lock(dir: &Dir, name: &str) -> Result<Attempt> {
    loop {
        let file = open(dir, name)?;
        match FileExt::try_lock_exclusive(&file) {
            Ok(()) if is_current(dir, name, &file)? => return Ok(Attempt::Held(Lock { file })),
            // Somebody put another file in its place meanwhile; a lock on the old one protects nothing.
            Ok(()) => continue,
            Err(error) if error.raw_os_error() == fs2::lock_contended_error().raw_os_error() => {
                return Ok(Attempt::Busy);
            }
            Err(error) => return Err(StoreError::io(dir.join(name), "lock", error)),
        }
    }
}

/// Takes the lock, and waits for it. Only for locks that are held for moments.
pub fn lock(dir: &Dir, name: &str) -> Result<Lock> {
    loop {
        let file = open(dir, name)?;
        FileExt::lock_exclusive(&file).map_err(|error| StoreError::io(dir.join(name), "lock", error))?;
        if is_current(dir, name, &file)? {
            return Ok(Lock { file });
        }
    }
}

fn open(dir: &Dir, name: &str) -> Result<File> {
    let flags = OFlags::CREATE | OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    dir.disk().forget(dir.fd(), name);
    let fd = rustix::fs::openat(dir.fd(), name, flags, dir.file_mode())
        .map_err(|error| StoreError::io(dir.join(name), "lock", error))?;
    let stat = rustix::fs::fstat(&fd).map_err(|error| StoreError::io(dir.join(name), "lock", error))?;
    if rustix::fs::FileType::from_raw_mode(stat.st_mode) != rustix::fs::FileType::RegularFile {
        return Err(StoreError::new(dir.join(name), "lock", Fault::WrongType("not a plain file")));
    }
    Ok(File::from(fd))
}

fn is_current(dir: &Dir, name: &str, file: &File) -> Result<bool> {
    let held = rustix::fs::fstat(file).map_err(|error| StoreError::io(dir.join(name), "lock", error))?;
    Ok(dir.stat(name)?.is_some_and(|there| there.inode == held.st_ino))
}
