//! The service on disk: the folder of unit files, which is the operating system's, and what the organisation keeps of it:
//! `service.json` (who pulses, and with which PATH) and `logs/` (what pulses said, within a size).

use super::charters::write_json;
use super::dir::{Dir, EntryKind};
use super::disk::Disk;
use super::fault::{Result, StoreError};
use super::org::Org;
use crate::domain::id::Dept;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

const NAME: &str = "service.json";
const LOGS: &str = "logs";
/// The largest unit file that is compared.
const UNIT_MAX: u64 = 64 * 1024;
/// A log that is larger is set aside before the next pulse writes to it; one older log is kept.
pub const LOG_MAX: u64 = 1024 * 1024;
/// Where `systemctl enable` puts its links.
const WANTS: [&str; 2] = ["timers.target.wants", "paths.target.wants"];

/// `service.json`: what was installed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Installed {
    pub schema: u64,
    pub target: String,
    /// Where the organisation was then: its units are named after that, and stay where it is moved.
    #[serde(default)]
    pub root: String,
    pub at: String,
    /// The PATH in which the engines were found.
    pub path: String,
    /// Whether installing turned lingering on, so that uninstalling turns it off.
    #[serde(default)]
    pub turned_lingering_on: bool,
}

impl Org {
    /// The root's own path, whole and without links: what a unit names.
    pub fn real_root(&self) -> Result<PathBuf> {
        std::fs::canonicalize(self.root.path())
            .map_err(|error| StoreError::io(self.root.path(), "find", error))
    }

    /// The root that installed units are named after, where the organisation was moved since. A copy of one that is still
    /// there is another organisation, and what is installed is not its own.
    pub fn moved_from(&self, installed: &Installed) -> Result<Option<String>> {
        let (before, now) = (Path::new(&installed.root), self.real_root()?);
        let moved = before.is_absolute() && before != now && !super::org::is_there(&before.join(".harness"));
        Ok(moved.then(|| installed.root.clone()))
    }

    /// What was installed; none where nothing is.
    pub fn installed(&self) -> Result<Option<Installed>> {
        let Some(text) = self.own.read(NAME, UNIT_MAX)? else { return Ok(None) };
        let wrong = |what: &dyn std::fmt::Display| StoreError::format(self.own.join(NAME), what);
        let installed: Installed = serde_json::from_str(&text.text).map_err(|error| wrong(&error))?;
        match installed.schema {
            1 => Ok(Some(installed)),
            other => Err(wrong(&format!("its schema is {other}, and this program knows 1"))),
        }
    }

    pub fn write_installed(&self, installed: &Installed) -> Result<()> {
        write_json(&self.own, NAME, installed)
    }

    /// Makes an empty log for each department, the owner's alone.
    pub fn make_logs(&self, depts: &[Dept]) -> Result<()> {
        let logs = self.own.make(LOGS)?;
        for dept in depts {
            let name = format!("{dept}.log");
            if logs.stat(&name)?.is_none() {
                logs.create(&name, b"")?;
            }
        }
        Ok(())
    }

    /// Sets a log aside that has grown too large. Whoever has it open goes on writing to the old one.
    pub fn rotate_log(&self, dept: &Dept) -> Result<()> {
        let Some(logs) = self.own.find(LOGS)? else { return Ok(()) };
        let (name, older) = (format!("{dept}.log"), format!("{dept}.log.1"));
        if logs.stat(&name)?.is_none_or(|stat| stat.size <= LOG_MAX) {
            return Ok(());
        }
        logs.remove(&older)?;
        logs.move_to(&name, &logs, &older)?;
        logs.create(&name, b"").map(|_| ())
    }

    /// The last lines that a department's pulses said.
    pub fn log_tail(&self, dept: &Dept, bytes: u64) -> Result<String> {
        match self.own.find(LOGS)? {
            Some(logs) => Ok(super::tail::read_tail(&logs, &format!("{dept}.log"), bytes)?.text),
            None => Ok(String::new()),
        }
    }

    /// Removes everything that the organisation keeps of a service.
    pub fn remove_service(&self) -> Result<()> {
        if let Some(logs) = self.own.find(LOGS)? {
            for entry in logs.list()?.iter().filter(|entry| entry.kind == EntryKind::File) {
                logs.remove(&entry.name)?;
            }
            let path = logs.path();
            match std::fs::remove_dir(path) {
                // Something of the user's is in it.
                Err(error) if error.kind() == std::io::ErrorKind::DirectoryNotEmpty => {}
                other => other.map_err(|error| StoreError::io(path, "remove", error))?,
            }
        }
        self.own.remove(NAME)
    }
}

/// The operating system's folder of the user's unit files.
#[derive(Clone, Debug)]
pub struct UnitFolder {
    dir: Dir,
}

impl UnitFolder {
    /// Opens it; absent where it is missing.
    pub fn find(path: &Path, disk: &Disk) -> Result<Option<UnitFolder>> {
        match super::org::is_there(path) {
            true => Ok(Some(UnitFolder { dir: Dir::open(path, disk.clone())? })),
            false => Ok(None),
        }
    }

    pub fn make(path: &Path, disk: &Disk) -> Result<UnitFolder> {
        std::fs::create_dir_all(path).map_err(|error| StoreError::io(path, "make the folder", error))?;
        Ok(UnitFolder { dir: Dir::open(path, disk.clone())? })
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// The names of the files in it.
    pub fn names(&self) -> Result<Vec<String>> {
        let entries = self.dir.list()?.into_iter();
        Ok(entries.filter(|entry| entry.kind == EntryKind::File).map(|entry| entry.name).collect())
    }

    pub fn read(&self, name: &str) -> Result<Option<String>> {
        Ok(self.dir.read(name, UNIT_MAX)?.map(|text| text.text))
    }

    pub fn write(&self, name: &str, text: &str) -> Result<()> {
        self.dir.replace(name, text.as_bytes())
    }

    /// Removes the folders that are empty now: those of the links, this one, and systemd's above it.
    pub fn remove_where_empty(self) {
        let above = self.dir.path().parent().filter(|above| above.ends_with("systemd"));
        let folders = WANTS.map(|wants| self.dir.join(wants));
        for folder in folders.iter().map(PathBuf::as_path).chain([self.dir.path()]).chain(above) {
            // A folder that holds something stays, and that is no error.
            let _ignored = std::fs::remove_dir(folder);
        }
    }

    /// Removes a unit with the links that enabling it left.
    pub fn remove(&self, name: &str) -> Result<()> {
        for wants in WANTS {
            if let Some(dir) = self.dir.find(wants)? {
                dir.remove(name)?;
            }
        }
        self.dir.remove(name)
    }
}
