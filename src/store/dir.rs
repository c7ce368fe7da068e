//! An open folder, and safe reading beneath it.
//!
//! Nothing here follows a link, blocks on a pipe, or reads more than it was told to. Every other file of the store
//! reads through this one.

use super::breakage::Breakage;
use super::disk::Disk;
use super::fault::{Fault, Result, StoreError};
use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;
use std::ffi::CString;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Who may look inside: everything under a `.harness/` is the owner's alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Privacy {
    Shared,
    Private,
}

/// An open folder. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Dir {
    fd: Arc<OwnedFd>,
    path: PathBuf,
    disk: Disk,
    privacy: Privacy,
}

/// What a folder holds under one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub name: String,
    pub kind: EntryKind,
}

/// The type of an entry, without following it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    File,
    Folder,
    Link,
    /// Whatever it is, its name can't be opened: it is shown with replacement characters.
    NotUtf8,
    Other,
}

/// Size and time of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    pub kind: EntryKind,
    pub size: u64,
    pub modified_s: i64,
    pub modified_ns: u32,
    /// When anything of it last changed, by the kernel's own clock: nobody can set it back.
    pub changed_s: i64,
    pub changed_ns: u32,
    pub inode: u64,
}

/// A file's text, with what the folder says of it.
#[derive(Clone, Debug)]
pub struct Text {
    pub text: String,
    pub stat: Stat,
}

/// An entry as the system lists it.
#[derive(Clone, Debug)]
pub(super) struct Listed {
    name: String,
    file_type: FileType,
    is_utf8: bool,
}

impl Dir {
    /// Opens a folder by a path that the user gave; links on the way to it are the user's own.
    pub fn open(path: &Path, disk: Disk) -> Result<Dir> {
        let private = path.file_name().is_some_and(|name| name == ".harness");
        let privacy = if private { Privacy::Private } else { Privacy::Shared };
        let known = disk.remembered().and_then(|remembered| remembered.folder(path));
        if let Some(fd) = known {
            return Ok(Dir { fd, path: path.to_path_buf(), disk, privacy });
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = rustix::fs::open(path, flags, Mode::empty()).map_err(|error| match error {
            Errno::NOTDIR => StoreError::new(path, "open", Fault::WrongType("not a folder")),
            error => StoreError::io(path, "open", error),
        })?;
        Ok(Dir::opened(fd, path.to_path_buf(), disk, privacy))
    }

    fn opened(fd: OwnedFd, path: PathBuf, disk: Disk, privacy: Privacy) -> Dir {
        let fd = Arc::new(fd);
        if let Some(mut remembered) = disk.remembered() {
            remembered.keep_folder(&path, &fd);
        }
        Dir { fd, path, disk, privacy }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn join(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    pub(super) fn disk(&self) -> &Disk {
        &self.disk
    }

    /// Whether a test has this promise broken.
    pub fn breaks(&self, breakage: Breakage) -> bool {
        self.disk.breaks(breakage)
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    pub(super) fn as_private(&self) -> Dir {
        Dir { privacy: Privacy::Private, ..self.clone() }
    }

    pub(super) fn file_mode(&self) -> Mode {
        Mode::from_raw_mode(if self.privacy == Privacy::Private { 0o600 } else { 0o644 })
    }

    /// The folder at a relative path such as `archive/inbox`; absent where any part of it is missing.
    pub fn find(&self, relative: &str) -> Result<Option<Dir>> {
        let mut dir = self.clone();
        for name in relative.split('/') {
            match dir.enter(name)? {
                Some(next) => dir = next,
                None => return Ok(None),
            }
        }
        Ok(Some(dir))
    }

    /// The folder at a relative path, made where it is missing.
    pub fn make(&self, relative: &str) -> Result<Dir> {
        let mut dir = self.clone();
        for name in relative.split('/') {
            dir = match dir.enter(name)? {
                Some(next) => next,
                None => dir.make_one(name)?,
            };
        }
        Ok(dir)
    }

    /// As [`Dir::make`], for what a plan writes. A folder that is still empty may be new, and whoever made it may have
    /// died before its entry was sure: then a power loss would take all that is put there.
    pub fn make_lasting(&self, relative: &str) -> Result<Dir> {
        let dir = self.make(relative)?;
        if dir.is_bare()? {
            let above = relative.rsplit_once('/').map_or(Ok(self.clone()), |(above, _)| self.make(above))?;
            above.sync_now()?;
        }
        Ok(dir)
    }

    /// Makes sure of the entries that are there.
    pub fn sync(&self) -> Result<()> {
        self.disk.sync_folder(self.fd()).map_err(|error| StoreError::io(&self.path, "sync the folder", error))
    }

    /// The same, also where folders are synced once for all: for an entry that others depend on at once.
    pub(super) fn sync_now(&self) -> Result<()> {
        let synced = self.disk.sync_folder_now(self.fd());
        synced.map_err(|error| StoreError::io(&self.path, "sync the folder", error))
    }

    fn make_one(&self, name: &str) -> Result<Dir> {
        let path = self.path.join(name);
        let private = self.privacy == Privacy::Private || name == ".harness";
        let mode = Mode::from_raw_mode(if private { 0o700 } else { 0o755 });
        let failed = |error: std::io::Error| StoreError::io(&path, "make the folder", error);
        self.disk.make_folder(self.fd(), name, mode).map_err(failed)?;
        self.disk.sync_folder_now(self.fd()).map_err(failed)?;
        let made = self.enter(name)?;
        made.ok_or_else(|| StoreError::io(&path, "make the folder", std::io::Error::from_raw_os_error(2)))
    }

    fn enter(&self, name: &str) -> Result<Option<Dir>> {
        let path = self.path.join(name);
        let private = self.privacy == Privacy::Private || name == ".harness";
        let privacy = if private { Privacy::Private } else { Privacy::Shared };
        let known = self.disk.remembered().and_then(|remembered| remembered.folder(&path));
        if let Some(fd) = known {
            return Ok(Some(Dir { fd, path, disk: self.disk.clone(), privacy }));
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match rustix::fs::openat(self.fd(), name, flags, Mode::empty()) {
            Ok(fd) => Ok(Some(Dir::opened(fd, path, self.disk.clone(), privacy))),
            Err(Errno::NOENT) => Ok(None),
            Err(Errno::NOTDIR | Errno::LOOP) => match self.stat(name)?.map(|stat| stat.kind) {
                Some(EntryKind::Link) => Err(StoreError::new(path, "open", Fault::Link)),
                _ => Err(StoreError::new(path, "open", Fault::WrongType("not a folder"))),
            },
            Err(error) => Err(StoreError::io(path, "open", error)),
        }
    }

    /// Size and time of what is there, without following it.
    pub fn stat(&self, name: &str) -> Result<Option<Stat>> {
        match rustix::fs::statat(self.fd(), name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(to_stat(&stat))),
            // No file has a name that is longer than names can be; a name with replacement characters may well be.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG) => Ok(None),
            Err(error) => Err(StoreError::io(self.path.join(name), "look at", error)),
        }
    }

    /// What the folder holds, but for names that begin with a dot, sorted by name.
    pub fn list(&self) -> Result<Vec<Entry>> {
        let listed = self.list_all()?;
        self.to_entries(listed.iter().filter(|listed| !listed.name.starts_with('.')))
    }

    /// Everything the folder holds, also what is hidden, sorted by name.
    pub fn list_every(&self) -> Result<Vec<Entry>> {
        self.to_entries(self.list_all()?.iter())
    }

    fn to_entries<'a>(&self, listed: impl Iterator<Item = &'a Listed>) -> Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for Listed { name, file_type, is_utf8 } in listed {
            let kind = match *file_type {
                _ if !is_utf8 => EntryKind::NotUtf8,
                FileType::Unknown => self.stat(name)?.map_or(EntryKind::Other, |stat| stat.kind),
                known => to_kind(known),
            };
            entries.push(Entry { name: name.clone(), kind });
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    /// The names that begin with a dot.
    pub fn list_hidden(&self) -> Result<Vec<String>> {
        let all = self.list_all()?;
        Ok(all
            .iter()
            .filter(|listed| listed.name.starts_with('.'))
            .map(|listed| listed.name.clone())
            .collect())
    }

    /// The first name that is no UTF-8 and is shown like this.
    pub(super) fn find_odd(&self, shown: &str) -> Result<Option<CString>> {
        let failed = |error: Errno| StoreError::io(&self.path, "list", error);
        for entry in self.entries()? {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name();
            if name.to_str().is_err() && name.to_string_lossy() == shown {
                return Ok(Some(name.to_owned()));
            }
        }
        Ok(None)
    }

    fn entries(&self) -> Result<rustix::fs::Dir> {
        let failed = |error: Errno| StoreError::io(&self.path, "list", error);
        // Each listing opens the folder anew: the position in a folder is shared by every copy of its handle.
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(self.fd(), ".", flags, Mode::empty()).map_err(failed)?;
        rustix::fs::Dir::new(fd).map_err(failed)
    }

    fn list_all(&self) -> Result<Arc<Vec<Listed>>> {
        let known = self.disk.remembered().and_then(|remembered| remembered.listing(self.fd()));
        if let Some(listing) = known {
            return Ok(listing);
        }
        let listing = Arc::new(self.list_anew()?);
        if let Some(mut remembered) = self.disk.remembered() {
            remembered.keep_listing(&self.path, self.fd(), &listing);
        }
        Ok(listing)
    }

    /// Whether nothing is in it. A folder that holds the mail of years is not read to its end for that.
    fn is_bare(&self) -> Result<bool> {
        let known = self.disk.remembered().and_then(|remembered| remembered.listing(self.fd()));
        if let Some(listing) = known {
            return Ok(listing.is_empty());
        }
        for entry in self.entries()? {
            let entry = entry.map_err(|error| StoreError::io(&self.path, "list", error))?;
            if !matches!(entry.file_name().to_bytes(), b"." | b"..") {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn list_anew(&self) -> Result<Vec<Listed>> {
        let failed = |error: Errno| StoreError::io(&self.path, "list", error);
        let mut entries = Vec::new();
        for entry in self.entries()? {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name().to_bytes();
            let is_utf8 = std::str::from_utf8(name).is_ok();
            let name = String::from_utf8_lossy(name).into_owned();
            if name != "." && name != ".." {
                let file_type = entry.file_type();
                entries.push(Listed { name, file_type, is_utf8 });
            }
        }
        Ok(entries)
    }

    /// Reads a file as text, at most `most` bytes of it; absent where it is missing.
    pub fn read(&self, relative: &str, most: u64) -> Result<Option<Text>> {
        let Some((bytes, stat)) = self.read_bytes(relative, most)? else { return Ok(None) };
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Some(Text { text, stat })),
            Err(_) => Err(StoreError::new(self.path.join(relative), "read", Fault::NotUtf8)),
        }
    }

    pub fn read_bytes(&self, relative: &str, most: u64) -> Result<Option<(Vec<u8>, Stat)>> {
        if self.disk.remembered().is_none() {
            return self.read_anew(relative, most);
        }
        let (dir, name) = match relative.rsplit_once('/') {
            Some((folder, name)) => (self.find(folder)?, name),
            None => (Some(self.clone()), relative),
        };
        let Some(dir) = dir else { return Ok(None) };
        let known = self.disk.remembered().and_then(|remembered| remembered.file(dir.fd(), name));
        if let Some((bytes, stat)) = known.filter(|(bytes, _)| bytes.len() as u64 <= most) {
            return Ok(Some((bytes.to_vec(), stat)));
        }
        let read = dir.read_anew(name, most)?;
        if let (Some((bytes, stat)), Some(mut remembered)) = (&read, self.disk.remembered()) {
            remembered.keep_file(&dir.path, dir.fd(), name, bytes, *stat);
        }
        Ok(read)
    }

    fn read_anew(&self, relative: &str, most: u64) -> Result<Option<(Vec<u8>, Stat)>> {
        let path = self.path.join(relative);
        let Some((file, stat)) = self.open_file(relative)? else { return Ok(None) };
        if stat.size > most {
            return Err(StoreError::new(path, "read", Fault::TooLarge { size: stat.size, most }));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(stat.size).unwrap_or(0));
        // It may grow while it is read: one byte more than allowed is enough to know.
        let read = file
            .take(most + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| StoreError::io(&path, "read", error))?;
        if read as u64 > most {
            return Err(StoreError::new(path, "read", Fault::TooLarge { size: read as u64, most }));
        }
        Ok(Some((bytes, stat)))
    }

    /// Makes a file or folder the owner's alone. A link or a pipe has no mode of its own that matters.
    pub fn make_private(&self, name: &str) -> Result<()> {
        let mode = match self.stat(name)?.map(|stat| stat.kind) {
            Some(EntryKind::File) => 0o600,
            Some(EntryKind::Folder) => 0o700,
            _ => return Ok(()),
        };
        let failed = |error: Errno| StoreError::io(self.path.join(name), "make private", error);
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        match rustix::fs::openat(self.fd(), name, flags, Mode::empty()) {
            Ok(fd) => rustix::fs::fchmod(&fd, Mode::from_raw_mode(mode)).map_err(failed),
            // What can't even be read is nobody else's to read here: the folder is the owner's alone.
            Err(Errno::ACCESS) => Ok(()),
            Err(error) => Err(failed(error)),
        }
    }

    /// Opens a regular file for reading; absent where it is missing.
    pub fn open_file(&self, relative: &str) -> Result<Option<(std::fs::File, Stat)>> {
        let path = self.path.join(relative);
        let (dir, name) = match relative.rsplit_once('/') {
            Some((folder, name)) => (self.find(folder)?, name),
            None => (Some(self.clone()), relative),
        };
        let Some(dir) = dir else { return Ok(None) };
        // A pipe opened without blocking comes back at once, and is then seen to be one.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let fd = match rustix::fs::openat(dir.fd(), name, flags, Mode::empty()) {
            Ok(fd) => fd,
            Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
            Err(Errno::NXIO) => {
                return Err(StoreError::new(path, "read", Fault::WrongType("a socket or device")));
            }
            Err(error) => return Err(StoreError::io(path, "read", error)),
        };
        let stat = rustix::fs::fstat(&fd).map_err(|error| StoreError::io(&path, "read", error))?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile
                if dir.privacy == Privacy::Private
                    && Mode::from_raw_mode(stat.st_mode).contains(Mode::WOTH) =>
            {
                let what =
                    "everyone may write to it, so nobody knows whose it is; look at it, then chmod 600";
                Err(StoreError::new(path, "read", Fault::Format(what.to_string())))
            }
            FileType::RegularFile => Ok(Some((std::fs::File::from(fd), to_stat(&stat)))),
            FileType::Directory => Err(StoreError::new(path, "read", Fault::WrongType("a folder"))),
            FileType::Fifo => Err(StoreError::new(path, "read", Fault::WrongType("a pipe"))),
            _ => Err(StoreError::new(path, "read", Fault::WrongType("a device or socket"))),
        }
    }
}

fn to_kind(kind: FileType) -> EntryKind {
    match kind {
        FileType::RegularFile => EntryKind::File,
        FileType::Directory => EntryKind::Folder,
        FileType::Symlink => EntryKind::Link,
        _ => EntryKind::Other,
    }
}

#[expect(clippy::unnecessary_cast, reason = "the types differ between systems")]
pub(super) fn to_stat(stat: &rustix::fs::Stat) -> Stat {
    Stat {
        kind: to_kind(FileType::from_raw_mode(stat.st_mode)),
        size: u64::try_from(stat.st_size).unwrap_or(0),
        modified_s: stat.st_mtime as i64,
        modified_ns: u32::try_from(stat.st_mtime_nsec).unwrap_or(0),
        changed_s: stat.st_ctime as i64,
        changed_ns: u32::try_from(stat.st_ctime_nsec).unwrap_or(0),
        inode: stat.st_ino as u64,
    }
}
