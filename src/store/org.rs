//! The organisation's root and its departments: which there are, and where each thing of theirs is.

use super::dir::{Dir, EntryKind};
use super::disk::Disk;
use super::fault::{Result, StoreError};
use super::identity::{Place, Seal};
use crate::domain::config::{DirectorConfig, parse_config};
use crate::domain::gate::{Gate, newer_gate, parse_gate, tripped};
use crate::domain::id::Dept;
use crate::domain::request::Binding;
use crate::domain::settings::{Settings, parse_settings};
use crate::domain::text::one_line;
use crate::domain::time::Time;
use std::path::Path;
use std::sync::Arc;

/// The largest settings file that is read.
const SETTINGS_MAX: u64 = 256 * 1024;
const GATE: &str = "gate.json";

/// An organisation that exists: a root with a `.harness` folder.
#[derive(Clone, Debug)]
pub struct Org {
    pub root: Dir,
    /// `<root>/.harness`.
    pub own: Dir,
    /// The user's key, where it is at hand.
    pub(super) seal: Option<Seal>,
    /// The key was looked for and can't be had; a copy that is only tried is never given one.
    pub(super) keyless: bool,
    /// What requests here are bound to.
    pub binding: Arc<Binding>,
    pub place: Place,
}

/// A department's folder.
#[derive(Clone, Debug)]
pub struct Department {
    pub dept: Dept,
    /// `org-<dept>`.
    pub dir: Dir,
    /// What its requests are bound to.
    pub binding: Arc<Binding>,
}

/// The departments there are, and what looks like one and isn't taken.
#[derive(Clone, Debug, Default)]
pub struct Found {
    pub departments: Vec<Dept>,
    /// The name, and why it was passed over.
    pub passed_over: Vec<(String, &'static str)>,
}

/// The folder's name for a department.
pub fn folder_name(dept: &Dept) -> String {
    format!("org-{dept}")
}

impl Org {
    /// An organisation in an open folder. Which one it is is for [`Org::sealed`] or [`Org::unsealed`] to find out.
    pub fn of(root: Dir, own: Dir) -> Org {
        let (seal, binding, place) = (None, Arc::default(), Place::Unknown);
        Org { root, own, seal, keyless: false, binding, place }
    }

    /// Opens the organisation; absent where there is none.
    pub fn find(root: &Path, disk: &Disk) -> Result<Option<Org>> {
        let root = match Dir::open(root, disk.clone()) {
            Ok(root) => root,
            Err(error) if is_missing(&error) => return Ok(None),
            Err(error) => return Err(error),
        };
        root.disk().writing().watch(root.path());
        Ok(root.find(".harness")?.map(|own| Org::of(root, own)))
    }

    pub fn departments(&self) -> Result<Found> {
        let mut found = Found::default();
        for entry in self.root.list()? {
            let Some(name) = entry.name.strip_prefix("org-") else { continue };
            match (entry.kind, Dept::parse(name)) {
                (EntryKind::Folder, Ok(dept)) => found.departments.push(dept),
                (EntryKind::Link, Ok(_)) => found.passed_over.push((entry.name, "a link is not followed")),
                (EntryKind::NotUtf8, _) => found.passed_over.push((entry.name, "its name is not UTF-8")),
                (EntryKind::Folder, Err(_)) => found.passed_over.push((entry.name, "not a department name")),
                _ => {}
            }
        }
        Ok(found)
    }

    pub fn department(&self, dept: &Dept) -> Result<Option<Department>> {
        let dir = self.root.find(&folder_name(dept))?;
        Ok(dir.map(|dir| self.department_in(dept, dir)))
    }

    /// A department in an open folder.
    pub fn department_in(&self, dept: &Dept, dir: Dir) -> Department {
        Department { dept: dept.clone(), dir, binding: self.binding.clone() }
    }

    /// `org.toml`; a missing one means the defaults.
    pub fn settings(&self) -> Result<Settings> {
        let text = self.own.read("org.toml", SETTINGS_MAX)?;
        let text = text.map_or_else(|| "schema = 1".to_string(), |text| text.text);
        parse_settings(&text).map_err(|fault| StoreError::format(self.own.join("org.toml"), fault))
    }

    /// The gate. Whatever goes wrong in reading it, it is closed.
    pub fn gate(&self, now: Time) -> Gate {
        if self.own.everyone_writes() {
            let path = self.own.path().display();
            return tripped(format!("everyone may write into {path}; look at what is there, then chmod 700"));
        }
        // Without its id nobody can say how the gate of this organisation was last set.
        if let Place::Bad(why) = &self.place {
            return tripped(why.clone());
        }
        let gate = match self.own.read(GATE, SETTINGS_MAX) {
            Ok(text) => parse_gate(text.map(|text| text.text).as_deref(), now),
            Err(error) => return tripped(format!("gate.json is unreadable: {error}")),
        };
        match self.gate_closed_before() {
            Some(before) if gate.is_open() => tripped(contradiction(&before)),
            _ => gate,
        }
    }

    /// When `alive` was last touched; none where it never was.
    pub fn last_pulse(&self) -> Option<Time> {
        let stat = self.own.stat("alive").ok().flatten()?;
        chrono::DateTime::from_timestamp(stat.modified_s, stat.modified_ns)
    }

    /// Sets the gate, and keeps beside the key how. One that a newer program wrote is not opened by this one; closing it
    /// is always right, and is done before it is kept: killed in between, the gate is closed either way.
    pub fn write_gate(&self, gate: &Gate) -> Result<()> {
        if gate.is_open()
            && let Ok(Some(text)) = self.own.read(GATE, SETTINGS_MAX)
            && let Some(schema) = newer_gate(&text.text)
        {
            let what = format!("its schema is {schema}, and this program knows 1");
            return Err(StoreError::format(self.own.join(GATE), what));
        }
        let json = serde_json::to_string_pretty(gate)
            .map_err(|error| StoreError::format(self.own.join(GATE), error))?;
        if gate.is_open() {
            self.mark_gate(&json)?;
            return self.own.replace(GATE, format!("{json}\n").as_bytes());
        }
        self.own.replace(GATE, format!("{json}\n").as_bytes())?;
        // It is closed, and that counts; where it can't be kept, only putting an older file back goes unnoticed.
        let _ignored = self.mark_gate(&json);
        Ok(())
    }
}

/// What is wrong with an open gate that was closed and that no command opened.
fn contradiction(before: &Gate) -> String {
    let (words, at, by) = (before.words(), &before.at, &before.by);
    let reason = one_line(&before.reason, 200);
    format!(
        "gate.json says enabled, but it was {words} at {at} by {by} ({reason}), and no command opened it since"
    )
}

impl Department {
    /// `.harness/director-config.json`; a missing one means the defaults.
    pub fn config(&self) -> Result<DirectorConfig> {
        let name = ".harness/director-config.json";
        match self.dir.read(name, SETTINGS_MAX)? {
            None => Ok(DirectorConfig::default()),
            Some(text) => {
                parse_config(&text.text).map_err(|fault| StoreError::format(self.dir.join(name), fault))
            }
        }
    }

    pub fn write_config(&self, config: &DirectorConfig) -> Result<()> {
        super::charters::write_json(&self.own()?, "director-config.json", config)
    }

    /// `.harness`, made where it is missing.
    pub fn own(&self) -> Result<Dir> {
        self.dir.make(".harness")
    }
}

fn is_missing(error: &StoreError) -> bool {
    matches!(&error.fault, super::fault::Fault::Io(error) if error.kind() == std::io::ErrorKind::NotFound)
}

/// Whether anything is there under a name.
pub fn is_there(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok()
}
