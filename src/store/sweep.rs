//! Temporary files that a dead run left, and the mark that a department is blocked.

use super::breakage::Breakage;
use super::charters::write_json;
use super::dir::Dir;
use super::fault::Result;
use super::org::{Department, Org};
use super::write::TEMPORARY;
use serde::{Deserialize, Serialize};

/// Where a run writes.
const FOLDERS: [&str; 18] = [
    "inbox",
    "outbox",
    "tasks",
    "agents",
    "schedules",
    "approvals",
    "questions",
    "escalations",
    "memory",
    ".harness",
    ".harness/journal",
    ".harness/jobs",
    ".harness/director-runs",
    ".harness/asked",
    ".harness/uncommitted",
    ".harness/quarantine",
    "archive/inbox",
    "archive/memory",
];
const BLOCKED: &str = "blocked.json";
const PAUSED: &str = "paused.json";

/// Why a department is kept from running, by whom and since when.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Paused {
    pub schema: u64,
    pub at: String,
    pub by: String,
    pub reason: String,
}

/// Why a department doesn't run until a human has looked.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Blocked {
    pub schema: u64,
    pub at: String,
    pub reason: String,
}

/// Removes every temporary file of the department's runs, its own and those where it delivered to or changed a project. The department's
/// lock is held, so that whoever wrote them is dead: a run, or one that died while it recovered another.
pub fn remove_temporary(org: &Org, department: &Department) -> Result<()> {
    let dept = department.dept.as_str();
    remove_in(&department.dir, dept)?;
    for folder in FOLDERS {
        if let Some(dir) = department.dir.find(folder)? {
            remove_in(&dir, dept)?;
        }
    }
    // A run that trips the gate or moves a project on writes among the organisation's own files.
    remove_in(&org.own, dept)?;
    for folder in ["projects", "directives"] {
        if let Some(dir) = org.own.find(folder)? {
            remove_in(&dir, dept)?;
        }
    }
    for name in org.departments()?.departments {
        if let Some(other) = org.department(&name)?
            && let Some(inbox) = other.dir.find("inbox")?
        {
            remove_in(&inbox, dept)?;
        }
    }
    Ok(())
}

/// Removes what a run left that died before `active.json` could tell of it.
pub fn remove_first_temporary(department: &Department) -> Result<()> {
    remove_in(&department.own()?, department.dept.as_str())
}

fn remove_in(dir: &Dir, dept: &str) -> Result<()> {
    if dir.breaks(Breakage::NoSweep) {
        return Ok(());
    }
    for name in dir.list_hidden()?.into_iter().filter(|name| is_of_run(name, dept)) {
        dir.remove(&name)?;
    }
    Ok(())
}

/// `.tmp.<run>.<dept>.<pid>.<count>`; other departments' runs may be at work in the same folder.
fn is_of_run(name: &str, dept: &str) -> bool {
    let parts = name.strip_prefix(TEMPORARY).map(|rest| rest.split('.').collect::<Vec<_>>());
    matches!(parts.as_deref(), Some([_, of, _, _]) if *of == dept)
}

impl Department {
    /// Why the department is paused, where it is. A mark that can't be read still marks.
    pub fn paused(&self) -> Result<Option<Paused>> {
        let Some(own) = self.dir.find(".harness")? else { return Ok(None) };
        let Some(text) = own.read(PAUSED, 64 * 1024)? else { return Ok(None) };
        let unread = || Paused {
            schema: 1,
            at: String::new(),
            by: String::new(),
            reason: "paused.json is unreadable".to_string(),
        };
        Ok(Some(serde_json::from_str(&text.text).unwrap_or_else(|_| unread())))
    }

    pub fn pause(&self, at: &str, by: &str, reason: &str) -> Result<()> {
        let paused = Paused { schema: 1, at: at.to_string(), by: by.to_string(), reason: reason.to_string() };
        write_json(&self.own()?, PAUSED, &paused)
    }

    pub fn resume(&self) -> Result<()> {
        self.own()?.remove(PAUSED)
    }

    pub fn blocked(&self) -> Result<Option<Blocked>> {
        let Some(own) = self.dir.find(".harness")? else { return Ok(None) };
        let Some(text) = own.read(BLOCKED, 64 * 1024)? else { return Ok(None) };
        // A mark that can't be read still marks.
        let unread =
            Blocked { schema: 1, at: String::new(), reason: "blocked.json is unreadable".to_string() };
        Ok(Some(serde_json::from_str(&text.text).unwrap_or(unread)))
    }

    pub fn block(&self, at: &str, reason: &str) -> Result<()> {
        write_json(
            &self.own()?,
            BLOCKED,
            &Blocked { schema: 1, at: at.to_string(), reason: reason.to_string() },
        )
    }

    pub fn unblock(&self) -> Result<()> {
        self.own()?.remove(BLOCKED)
    }
}
