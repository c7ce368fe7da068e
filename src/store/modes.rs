//! What everyone on the machine may write to. Nobody knows whose words stand in such a file, so they count for nothing.

use super::dir::Dir;
use super::fault::Result;
use super::org::{Department, Org};
use rustix::fs::{AtFlags, Mode};
use rustix::io::Errno;

/// What a department's rules, requests and own state are in.
const OF_A_DEPARTMENT: [&str; 11] = [
    "charter.toml",
    "charter.md",
    "playbook.toml",
    "prompts",
    "approvals",
    "questions",
    "escalations",
    ".harness",
    ".harness/journal",
    ".harness/director-runs",
    ".harness/director-config.json",
];

impl Dir {
    /// Whether everyone may write into this folder.
    pub fn everyone_writes(&self) -> bool {
        rustix::fs::fstat(self.fd()).is_ok_and(|stat| Mode::from_raw_mode(stat.st_mode).contains(Mode::WOTH))
    }

    /// Whether everyone may write to what has this name; a link has no mode of its own.
    fn everyone_writes_to(&self, relative: &str) -> Result<bool> {
        let (dir, name) = match relative.rsplit_once('/') {
            Some((folder, name)) => (self.find(folder)?, name),
            None => (Some(self.clone()), relative),
        };
        let Some(dir) = dir else { return Ok(false) };
        match rustix::fs::statat(dir.fd(), name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => {
                let is_link = rustix::fs::FileType::from_raw_mode(stat.st_mode).is_symlink();
                Ok(!is_link && Mode::from_raw_mode(stat.st_mode).contains(Mode::WOTH))
            }
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(false),
            Err(error) => Err(super::fault::StoreError::io(dir.join(name), "look at", error)),
        }
    }
}

impl Org {
    /// What everyone may write to of the organisation's own, by its path within the root.
    pub fn open_to_all(&self) -> Result<Vec<String>> {
        let mut open = Vec::new();
        if self.root.everyone_writes() {
            open.push(".".to_string());
        }
        if self.own.everyone_writes() {
            open.push(".harness".to_string());
        }
        for entry in self.own.list()? {
            if self.own.everyone_writes_to(&entry.name)? {
                open.push(format!(".harness/{}", entry.name));
            }
        }
        Ok(open)
    }
}

impl Department {
    /// What everyone may write to of what the department is ruled by, by its path within the root.
    pub fn open_to_all(&self) -> Result<Vec<String>> {
        let folder = super::org::folder_name(&self.dept);
        let mut open = Vec::new();
        if self.dir.everyone_writes() {
            open.push(folder.clone());
        }
        for name in OF_A_DEPARTMENT {
            if self.dir.everyone_writes_to(name)? {
                open.push(format!("{folder}/{name}"));
            }
        }
        Ok(open)
    }
}
