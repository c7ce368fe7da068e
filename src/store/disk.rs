//! Every operation that changes the disk, counted, in one place.
//!
//! In ordinary use each call is the system call and no more. A crash test hands in a [`Plan`]: at the n-th operation
//! the process dies before it, after it or half way through it, or the operation fails; a trace writes down what was
//! done, so that the states a power loss could leave can be built from it.

use super::breakage::Breakage;
use super::remembered::Remembered;
use super::written::Writing;
use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ffi::CStr;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What happens at the n-th operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mishap {
    DieBefore,
    DieAfter,
    /// A write stops half way and the process dies; for other operations, as `DieAfter`.
    DieTorn,
    /// The operation fails with this error number, this once.
    FailOnce(i32),
    /// A write stops half way and fails, as on a disk that fills up; for other operations, as `FailOnce`.
    FailTorn(i32),
    /// It fails, and so does every one after it.
    FailFrom(i32),
}

/// A mishap for a crash test, where to write down what was done, and which promise is not kept.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    pub mishap: Option<(u64, Mishap)>,
    pub trace: Option<PathBuf>,
    pub breakage: Option<Breakage>,
}

/// The disk. Cheap to clone; clones count together.
#[derive(Clone, Debug)]
pub struct Disk {
    owner: Arc<str>,
    /// Folders whose sync is put off, by device and inode; none while every sync is done at once.
    put_off: Arc<Mutex<Option<PutOff>>>,
    /// Which files of departments are written, for the commits that follow.
    writing: Arc<Mutex<Writing>>,
    /// Whether syncs are left out, as for what will be thrown away.
    unsynced: bool,
    /// What was read, where nobody else writes.
    remembered: Option<Arc<Mutex<Remembered>>>,
    test: Option<Arc<Test>>,
}

type PutOff = BTreeMap<(u64, u64), OwnedFd>;

#[derive(Debug)]
struct Test {
    plan: Plan,
    count: AtomicU64,
}

/// How much of a write is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent {
    Whole,
    Half,
}

/// One operation, as the trace tells it.
struct Step<'a> {
    name: &'static str,
    at: BorrowedFd<'a>,
    file: &'a str,
    to: Option<(BorrowedFd<'a>, &'a str)>,
    bytes: &'a [u8],
}

impl<'a> Step<'a> {
    fn new(name: &'static str, at: BorrowedFd<'a>, file: &'a str) -> Step<'a> {
        Step { name, at, file, to: None, bytes: &[] }
    }
}

impl Disk {
    /// The disk as it is, or with a crash test's plan.
    pub fn new(plan: Option<Plan>) -> Disk {
        let test = plan.map(|plan| Arc::new(Test { plan, count: AtomicU64::new(0) }));
        Disk {
            owner: "user".into(),
            put_off: Arc::default(),
            writing: Arc::default(),
            unsynced: false,
            remembered: None,
            test,
        }
    }

    /// A disk that syncs nothing.
    pub fn without_sync() -> Disk {
        Disk { unsynced: true, ..Disk::new(None) }
    }

    /// A disk for a scratch folder in which nobody else writes: it syncs nothing, and remembers what it has read.
    pub fn scratch() -> Disk {
        Disk { remembered: Some(Arc::default()), ..Disk::without_sync() }
    }

    /// What is remembered; none where others may write.
    pub(super) fn remembered(&self) -> Option<MutexGuard<'_, Remembered>> {
        self.remembered.as_ref().map(|known| known.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Something is written under a name, by whatever way.
    pub(super) fn forget(&self, at: BorrowedFd<'_>, name: &str) {
        if let Some(mut remembered) = self.remembered() {
            remembered.forget(at, name);
        }
    }

    /// A disk on which the process dies at an operation; a promise that a test has broken stays so.
    pub fn dying(&self, at: u64, mishap: Mishap) -> Disk {
        let breakage = self.test.as_ref().and_then(|test| test.plan.breakage);
        Disk::new(Some(Plan { mishap: Some((at, mishap)), trace: None, breakage }))
    }

    /// How many operations there were, where they are counted.
    pub fn operations(&self) -> u64 {
        self.test.as_ref().map_or(0, |test| test.count.load(Ordering::SeqCst))
    }

    /// The same disk, whose temporary files carry the run and its department, so that recovery knows its own.
    pub fn owned_by(&self, run: &str, dept: &str) -> Disk {
        Disk { owner: format!("{run}.{dept}").into(), ..self.clone() }
    }

    /// Whether a test has this promise broken. Never in a release build.
    pub fn breaks(&self, breakage: Breakage) -> bool {
        cfg!(debug_assertions) && self.test.as_ref().is_some_and(|test| test.plan.breakage == Some(breakage))
    }

    pub(super) fn writing(&self) -> MutexGuard<'_, Writing> {
        self.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn owner(&self) -> &str {
        &self.owner
    }

    /// Makes a folder; one that is there already is fine.
    pub fn make_folder(&self, at: BorrowedFd<'_>, name: &str, mode: Mode) -> io::Result<()> {
        self.perform(Step::new("make", at, name), |_| match rustix::fs::mkdirat(at, name, mode) {
            Ok(()) | Err(Errno::EXIST) => Ok(()),
            Err(error) => Err(error.into()),
        })
    }

    /// Makes a file that wasn't there, with these bytes, not yet synced.
    pub fn write_new(&self, at: BorrowedFd<'_>, name: &str, mode: Mode, bytes: &[u8]) -> io::Result<OwnedFd> {
        let step = Step { bytes, ..Step::new("write", at, name) };
        self.perform(step, |extent| {
            let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let file = std::fs::File::from(rustix::fs::openat(at, name, flags, mode)?);
            (&file).write_all(part(bytes, extent))?;
            Ok(OwnedFd::from(file))
        })
    }

    /// Adds bytes at a file's end, in one write. Where it fails half way, what it wrote is cut off again.
    pub fn append(
        &self,
        at: BorrowedFd<'_>,
        name: &str,
        file: BorrowedFd<'_>,
        bytes: &[u8],
    ) -> io::Result<()> {
        let mut done = 0;
        let added = self.perform(Step { bytes, ..Step::new("append", at, name) }, |extent| {
            let whole = part(bytes, extent);
            while done < whole.len() {
                done += rustix::io::write(file, &whole[done..])?;
            }
            Ok(())
        });
        if added.is_err() && done > 0 {
            // The error that led here is the one to report.
            let _ignored = cut_back(file, done as u64);
        }
        added
    }

    pub fn truncate(
        &self,
        at: BorrowedFd<'_>,
        name: &str,
        file: BorrowedFd<'_>,
        length: u64,
    ) -> io::Result<()> {
        let bytes = length.to_string();
        let step = Step { bytes: bytes.as_bytes(), ..Step::new("truncate", at, name) };
        self.perform(step, |_| Ok(rustix::fs::ftruncate(file, length)?))
    }

    pub fn sync_file(&self, at: BorrowedFd<'_>, name: &str, file: BorrowedFd<'_>) -> io::Result<()> {
        if self.unsynced || self.breaks(Breakage::NoFileSync) {
            return Ok(());
        }
        self.perform(Step::new("sync", at, name), |_| Ok(rustix::fs::fsync(file)?))
    }

    /// Does some work with each folder synced once, at its end, instead of after every change. Only for work that a
    /// plan on disk will repeat whole: until the end, none of it is certain to stay.
    pub fn with_folders_synced_once<T>(&self, work: impl FnOnce() -> T) -> io::Result<T> {
        *self.put_off() = Some(PutOff::new());
        let done = work();
        let folders = self.put_off().take().unwrap_or_default();
        for folder in folders.values() {
            self.sync_folder(folder.as_fd())?;
        }
        Ok(done)
    }

    fn put_off(&self) -> MutexGuard<'_, Option<PutOff>> {
        self.put_off.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn sync_folder(&self, at: BorrowedFd<'_>) -> io::Result<()> {
        if self.unsynced || self.breaks(Breakage::NoFolderSync) {
            return Ok(());
        }
        if let Some(folders) = self.put_off().as_mut() {
            let stat = rustix::fs::fstat(at)?;
            if let Entry::Vacant(place) = folders.entry((stat.st_dev, stat.st_ino)) {
                place.insert(at.try_clone_to_owned()?);
            }
            return Ok(());
        }
        self.sync_folder_now(at)
    }

    /// Syncs a folder also where that is put off: for an entry that others depend on at once.
    pub fn sync_folder_now(&self, at: BorrowedFd<'_>) -> io::Result<()> {
        if self.unsynced || self.breaks(Breakage::NoFolderSync) {
            return Ok(());
        }
        self.perform(Step::new("sync-folder", at, ""), |_| match rustix::fs::fsync(at) {
            // Some file systems have no folders to sync.
            Ok(()) | Err(Errno::INVAL | Errno::NOTSUP) => Ok(()),
            Err(error) => Err(error.into()),
        })
    }

    /// Renames and fails with `AlreadyExists` where the new name is taken.
    pub fn rename_new(&self, from: (BorrowedFd<'_>, &str), to: (BorrowedFd<'_>, &str)) -> io::Result<()> {
        let step = Step { to: Some(to), ..Step::new("rename-new", from.0, from.1) };
        self.perform(step, |_| {
            match rustix::fs::renameat_with(from.0, from.1, to.0, to.1, RenameFlags::NOREPLACE) {
                // A file system without that call: a hard link has the same promise.
                Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                    rustix::fs::linkat(from.0, from.1, to.0, to.1, AtFlags::empty())?;
                    Ok(rustix::fs::unlinkat(from.0, from.1, AtFlags::empty())?)
                }
                other => Ok(other?),
            }
        })
    }

    /// The same for a name that is no UTF-8.
    pub fn rename_odd(&self, from: (BorrowedFd<'_>, &CStr), to: (BorrowedFd<'_>, &str)) -> io::Result<()> {
        let step = Step { to: Some(to), ..Step::new("rename-odd", from.0, to.1) };
        self.perform(step, |_| Ok(rustix::fs::renameat(from.0, from.1, to.0, to.1)?))
    }

    pub fn rename_over(&self, from: (BorrowedFd<'_>, &str), to: (BorrowedFd<'_>, &str)) -> io::Result<()> {
        let step = Step { to: Some(to), ..Step::new("rename", from.0, from.1) };
        self.perform(step, |_| Ok(rustix::fs::renameat(from.0, from.1, to.0, to.1)?))
    }

    pub fn remove(&self, at: BorrowedFd<'_>, name: &str) -> io::Result<()> {
        self.perform(Step::new("remove", at, name), |_| {
            match rustix::fs::unlinkat(at, name, AtFlags::empty()) {
                Ok(()) | Err(Errno::NOENT) => Ok(()),
                Err(error) => Err(error.into()),
            }
        })
    }

    fn perform<T>(&self, step: Step<'_>, work: impl FnOnce(Extent) -> io::Result<T>) -> io::Result<T> {
        self.forget(step.at, step.file);
        if let Some((at, name)) = step.to {
            self.forget(at, name);
        }
        let Some(test) = &self.test else { return work(Extent::Whole) };
        let number = test.count.fetch_add(1, Ordering::SeqCst) + 1;
        let mishap = test.plan.mishap.filter(|(at, mishap)| match mishap {
            Mishap::FailFrom(_) => number >= *at,
            _ => number == *at,
        });
        match mishap.map(|(_, mishap)| mishap) {
            Some(Mishap::FailOnce(code) | Mishap::FailFrom(code)) => Err(io::Error::from_raw_os_error(code)),
            Some(Mishap::FailTorn(code)) => {
                let _unfinished = work(Extent::Half);
                Err(io::Error::from_raw_os_error(code))
            }
            Some(Mishap::DieBefore) => die(),
            Some(Mishap::DieTorn) => {
                let _unfinished = work(Extent::Half);
                die()
            }
            after => {
                let done = work(Extent::Whole)?;
                test.write_trace(&step)?;
                if after == Some(Mishap::DieAfter) { die() } else { Ok(done) }
            }
        }
    }
}

/// Takes back what a write that failed left at a file's end, unless somebody added to it since.
fn cut_back(file: BorrowedFd<'_>, written: u64) -> rustix::io::Result<()> {
    // After a write to a file's end, the place in it is the end of what was written.
    let end = rustix::fs::tell(file)?;
    let size = u64::try_from(rustix::fs::fstat(file)?.st_size).unwrap_or_default();
    if size == end { rustix::fs::ftruncate(file, end.saturating_sub(written)) } else { Ok(()) }
}

fn part(bytes: &[u8], extent: Extent) -> &[u8] {
    match extent {
        Extent::Whole => bytes,
        Extent::Half => &bytes[..bytes.len() / 2],
    }
}

/// Dies as by a kill -9: no destructor runs and nothing is flushed.
fn die() -> ! {
    let _ignored = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    std::process::abort()
}

impl Test {
    /// One JSON line: operation, folder, name, where to, bytes in hexadecimal.
    fn write_trace(&self, step: &Step<'_>) -> io::Result<()> {
        let Some(path) = &self.plan.trace else { return Ok(()) };
        let line = serde_json::json!({
            "op": step.name,
            "folder": folder_of(step.at),
            "file": step.file,
            "to_folder": step.to.map(|(at, _)| folder_of(at)),
            "to_file": step.to.map(|(_, name)| name),
            "bytes": crate::domain::digest::hex(step.bytes),
        });
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path)?;
        file.write_all(format!("{line}\n").as_bytes())
    }
}

fn folder_of(at: BorrowedFd<'_>) -> String {
    use std::os::fd::AsRawFd;
    let link = std::fs::read_link(format!("/proc/self/fd/{}", at.as_fd().as_raw_fd()));
    link.map(|path| path.display().to_string()).unwrap_or_default()
}
