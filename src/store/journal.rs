//! The journal: answers that were paid for and plans that are being carried out, each under a MAC.
//!
//! An entry is `journal/<run>.<step>.<kind>.json`: `{"schema": 1, "mac": "...", "content": "..."}`. The MAC covers the
//! root, the department, the file's name and the content, so that an entry that came with a folder from elsewhere, or
//! that somebody wrote by hand, is set aside instead of being carried out.

use super::dir::Dir;
use super::fault::{Fault, Result, StoreError};
use super::key::Key;
use super::org::{Department, Org};
use crate::domain::digest::same;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The largest entry that is read.
const ENTRY_MAX: u64 = 64 * 1024 * 1024;
const FOLDER: &str = ".harness/journal";
/// Plans that were carried out, for undoing.
const KEPT: &str = ".harness/undo";
/// How many of them are kept, and how many more there may be before the oldest go.
const KEPT_MOST: usize = 1_000;
const KEPT_SLACK: usize = 100;

/// What an entry holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EntryKind {
    Answer,
    Plan,
}

impl EntryKind {
    fn name(self) -> &'static str {
        match self {
            EntryKind::Answer => "answer",
            EntryKind::Plan => "plan",
        }
    }
}

/// An entry's place in the journal.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EntryName {
    pub run: String,
    pub step: u64,
    pub kind: EntryKind,
}

impl EntryName {
    pub fn file(&self) -> String {
        format!("{}.{}.{}.json", self.run, self.step, self.kind.name())
    }

    fn parse(file: &str) -> Option<EntryName> {
        let mut parts = file.strip_suffix(".json")?.rsplitn(3, '.');
        let kind = match parts.next()? {
            "answer" => EntryKind::Answer,
            "plan" => EntryKind::Plan,
            _ => return None,
        };
        let step = parts.next()?.parse().ok()?;
        Some(EntryName { run: parts.next()?.to_string(), step, kind })
    }
}

#[derive(Deserialize, Serialize)]
struct Envelope {
    schema: u64,
    mac: String,
    content: String,
}

/// What is kept of a run.
#[derive(Clone, Debug)]
pub enum Kept<T> {
    Plans(Vec<T>),
    /// This one was signed for another place, or with another key.
    NotHere(std::path::PathBuf),
}

/// The journal of one department.
#[derive(Clone, Debug)]
pub struct Journal {
    /// The department's folder; the journal's own is made by the first entry.
    parent: Dir,
    key: Key,
    /// What an entry is bound to.
    place: String,
}

impl Journal {
    pub fn of(org: &Org, department: &Department, key: &Key) -> Result<Journal> {
        let root = std::fs::canonicalize(org.root.path())
            .map_err(|error| StoreError::io(org.root.path(), "find", error))?;
        let place = format!("{}\0{}", root.display(), department.dept);
        Ok(Journal { parent: department.dir.clone(), key: key.clone(), place })
    }

    fn path(&self, file: &str) -> std::path::PathBuf {
        self.parent.join(FOLDER).join(file)
    }

    /// The entries there are, oldest first, and files that are none.
    pub fn entries(&self) -> Result<(Vec<EntryName>, Vec<String>)> {
        let (mut entries, mut strange) = (Vec::new(), Vec::new());
        let Some(dir) = self.parent.find(FOLDER)? else { return Ok((entries, strange)) };
        for entry in dir.list()? {
            match EntryName::parse(&entry.name) {
                Some(name) => entries.push(name),
                None => strange.push(entry.name),
            }
        }
        entries.sort();
        Ok((entries, strange))
    }

    fn mac(&self, file: &str, content: &str) -> String {
        self.key.sign("journal", format!("{}\0{file}\0{content}", self.place).as_bytes())
    }

    /// Writes an entry; this is the commit point of what it holds.
    pub fn write(&self, name: &EntryName, value: &impl Serialize) -> Result<()> {
        let file = name.file();
        let text = self.seal(&file, value)?;
        self.parent.make(FOLDER)?.create(&file, text.as_bytes()).map(|_| ())
    }

    /// Writes an entry anew, as when a plan has failed once more.
    pub fn rewrite(&self, name: &EntryName, value: &impl Serialize) -> Result<()> {
        let file = name.file();
        let text = self.seal(&file, value)?;
        self.parent.make(FOLDER)?.replace(&file, text.as_bytes())
    }

    fn seal(&self, file: &str, value: &impl Serialize) -> Result<String> {
        let failed = |error: serde_json::Error| StoreError::format(self.path(file), error);
        let content = serde_json::to_string(value).map_err(failed)?;
        let envelope = Envelope { schema: 1, mac: self.mac(file, &content), content };
        serde_json::to_string(&envelope).map_err(failed)
    }

    /// Reads an entry whose MAC is right; any other is a format fault.
    pub fn read<T: DeserializeOwned>(&self, name: &EntryName) -> Result<Option<T>> {
        self.read_in(FOLDER, name)
    }

    fn read_in<T: DeserializeOwned>(&self, folder: &str, name: &EntryName) -> Result<Option<T>> {
        let file = name.file();
        let path = self.parent.join(folder).join(&file);
        let Some(envelope) = self.envelope(folder, &file)? else { return Ok(None) };
        if !same(&envelope.mac, &self.mac(&file, &envelope.content)) {
            return Err(StoreError::format(&path, "its signature is not that of this organisation's key"));
        }
        let value =
            serde_json::from_str(&envelope.content).map_err(|error| StoreError::format(&path, error))?;
        Ok(Some(value))
    }

    fn envelope(&self, folder: &str, file: &str) -> Result<Option<Envelope>> {
        let Some(dir) = self.parent.find(folder)? else { return Ok(None) };
        let Some(text) = dir.read(file, ENTRY_MAX)? else { return Ok(None) };
        let path = self.parent.join(folder).join(file);
        serde_json::from_str(&text.text).map(Some).map_err(|error| StoreError::format(path, error))
    }

    /// Closes an entry. Not synced: a closed plan that a power loss brings back is carried out again, to the same end,
    /// and the journal's next entry or [`Journal::sync`] makes the removal last.
    pub fn remove(&self, name: &EntryName) -> Result<()> {
        match self.parent.find(FOLDER)? {
            Some(dir) => dir.remove_unsynced(&name.file()),
            None => Ok(()),
        }
    }

    /// Closes a plan and keeps it for undoing. Not synced, as in [`Journal::remove`]: what a power loss takes is the way
    /// back, never what was done.
    pub fn keep(&self, name: &EntryName) -> Result<()> {
        let Some(dir) = self.parent.find(FOLDER)? else { return Ok(()) };
        let file = name.file();
        if dir.stat(&file)?.is_none() {
            return Ok(());
        }
        dir.move_over_unsynced(&file, &self.parent.make(KEPT)?)
    }

    /// The kept plans of a run, in the order in which they were carried out: its end, number 0, came last.
    pub fn kept<T: DeserializeOwned>(&self, run: &str) -> Result<Kept<T>> {
        let names = self.kept_names()?.into_iter().filter(|name| name.run == run);
        let mut names: Vec<EntryName> = names.collect();
        names.sort_by_key(|name| name.step.wrapping_sub(1));
        let mut plans = Vec::new();
        for name in &names {
            let file = name.file();
            let Some(envelope) = self.envelope(KEPT, &file)? else { continue };
            if !same(&envelope.mac, &self.mac(&file, &envelope.content)) {
                return Ok(Kept::NotHere(self.parent.join(KEPT).join(&file)));
            }
            plans.extend(self.read_in(KEPT, name)?);
        }
        Ok(Kept::Plans(plans))
    }

    /// The kept plan of one step; none where it is gone, or was signed for another place.
    pub fn kept_step<T: DeserializeOwned>(&self, run: &str, step: u64) -> Result<Option<T>> {
        let name = EntryName { run: run.to_string(), step, kind: EntryKind::Plan };
        match self.read_in(KEPT, &name) {
            Err(error) if is_bad_entry(&error) => Ok(None),
            read => read,
        }
    }

    fn kept_names(&self) -> Result<Vec<EntryName>> {
        let Some(dir) = self.parent.find(KEPT)? else { return Ok(Vec::new()) };
        Ok(dir.list()?.iter().filter_map(|entry| EntryName::parse(&entry.name)).collect())
    }

    /// Drops the oldest of the kept plans where there are too many. Ids sort by time.
    pub fn prune_kept(&self) -> Result<()> {
        let mut names = self.kept_names()?;
        if names.len() <= KEPT_MOST + KEPT_SLACK {
            return Ok(());
        }
        names.sort_by_key(|name| name.run.split_once('-').map(|(_, rest)| rest.to_string()));
        let Some(dir) = self.parent.find(KEPT)? else { return Ok(()) };
        let oldest = names.len() - KEPT_MOST;
        names[..oldest].iter().try_for_each(|name| dir.remove_unsynced(&name.file()))
    }

    pub fn sync(&self) -> Result<()> {
        match self.parent.find(FOLDER)? {
            Some(dir) => dir.sync(),
            None => Ok(()),
        }
    }

    pub fn folder(&self) -> &'static str {
        FOLDER
    }
}

/// Whether an error says that the entry itself is bad, and not the disk.
pub fn is_bad_entry(error: &StoreError) -> bool {
    !matches!(error.fault, Fault::Io(_))
}
