//! Carrying out a plan's effects: each can be done any number of times, and the end is the same.
//!
//! What is found done is synced all the same: whoever did it may have died before it was sure, and once the plan is
//! closed nobody would do it again after a power loss.

use super::breakage::Breakage;
use super::fault::{Fault, Result, StoreError};
use super::messages::Place;
use super::org::{Department, Org};
use crate::domain::digest::sha256;
use crate::domain::id::Dept;
use crate::domain::message::{Found, Receipt, parse_message};
use crate::domain::plan::{Effect, Finish, Marking, Planned};
use crate::domain::time::parse_rfc3339;

/// The largest file that is compared before it is replaced.
const FILE_MAX: u64 = 16 * 1024 * 1024;

/// Carries out a plan's effects. Each folder is synced once, at the end: until then the plan would repeat them all.
pub fn apply_effects(org: &Org, department: &Department, effects: &[Planned]) -> Result<()> {
    let work = || effects.iter().try_for_each(|planned| apply_effect(org, department, &planned.effect));
    let done = org.root.disk().with_folders_synced_once(work);
    done.map_err(|error| StoreError::io(department.dir.path(), "sync a folder of", error))?
}

/// Carries out one effect of a department's plan.
fn apply_effect(org: &Org, department: &Department, effect: &Effect) -> Result<()> {
    match effect {
        Effect::Deliver { dept, id, text } => deliver(org, dept, id, text),
        Effect::Create { path, text } => {
            let (folder, name) = split(path);
            department.dir.make_lasting(folder)?.create(name, text.as_bytes()).map(|_| ())
        }
        Effect::Append { path, text } => match path.rsplit_once('/') {
            Some((folder, name)) => department.dir.make_lasting(folder)?.append_once(name, text),
            None => department.dir.append_once(path, text),
        },
        Effect::Replace { path, before, text } => replace(department, path, before.as_deref(), text),
        Effect::Board { path, from, before, text, .. } => match (from, before) {
            (_, None) => {
                let (folder, name) = split(path);
                department.dir.make_lasting(folder)?.create(name, text.as_bytes()).map(|_| ())
            }
            (None, before) => replace(department, path, before.as_deref(), text),
            (Some(from), before) => refile(department, from, path, before.as_deref(), text),
        },
        Effect::Project(effect) => org.change_project(effect),
        Effect::Mark { id, mark } => apply_mark(department, id, mark),
        Effect::Remove { path, sha256 } => remove(department, path, sha256),
        Effect::Recall { dept, id, sha256 } => recall(org, dept, id, sha256),
    }
}

/// Whether an effect that creates or adds something is there already: then what it belongs to has begun.
pub fn is_there(org: &Org, department: &Department, effect: &Effect) -> Result<bool> {
    let read = |path: &str| Ok(department.dir.read(path, FILE_MAX)?.map(|now| now.text));
    Ok(match effect {
        Effect::Deliver { dept, id, .. } => {
            let receiver = Dept::parse(dept).ok().map(|dept| org.department(&dept)).transpose()?.flatten();
            receiver.map(|receiver| receiver.find_delivered(id)).transpose()?.flatten().is_some()
        }
        Effect::Create { path, .. } => department.dir.stat(path)?.is_some(),
        Effect::Append { path, text } => {
            let first = text.lines().next().unwrap_or(text);
            read(path)?.is_some_and(|log| log.lines().any(|line| line == first))
        }
        Effect::Replace { path, text, .. } | Effect::Board { path, text, .. } => {
            read(path)?.is_some_and(|now| now == *text)
        }
        Effect::Project(effect) => {
            org.portfolio()?.project(&effect.id).is_some_and(|project| project.has(&effect.key))
        }
        _ => false,
    })
}

fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or((".", path))
}

/// Into the inbox, unless it arrived earlier. One that is there with another content is a conflict, and stops.
fn deliver(org: &Org, dept: &str, id: &str, text: &str) -> Result<()> {
    let missing =
        || StoreError::format(org.root.join(&format!("org-{dept}")), "there is no such department any more");
    let dept = Dept::parse(dept).map_err(|_| missing())?;
    let receiver = org.department(&dept)?.ok_or_else(missing)?;
    let Some(there) = receiver.find_delivered(id)? else { return receiver.deliver(id, text) };
    let Some(filed) = receiver.read_at(&there)? else { return receiver.deliver(id, text) };
    let found = Found { id, name: id, modified: filed.message.created, dept: dept.as_str() };
    let ours =
        parse_message(text, &found).map_err(|fault| StoreError::format(receiver.dir.join(id), fault))?;
    if ours.digest() == filed.message.digest() {
        return receiver.sync_folder(&there.folder);
    }
    Err(StoreError::new(receiver.dir.join(&there.folder).join(&there.file), "deliver", Fault::Conflict))
}

fn replace(department: &Department, path: &str, before: Option<&str>, text: &str) -> Result<()> {
    let (folder, name) = split(path);
    // An empty file is like none: whoever planned may have seen either.
    let now = department.dir.read(path, FILE_MAX)?.filter(|now| !now.text.is_empty());
    let now = now.map(|now| sha256(now.text.as_bytes()));
    if now.as_deref() == Some(&sha256(text.as_bytes())) {
        return department.sync_folder(folder);
    }
    if now.as_deref() != before {
        return Err(StoreError::new(department.dir.join(path), "replace", Fault::Conflict));
    }
    department.dir.make_lasting(folder)?.replace(name, text.as_bytes())
}

/// Rewrites a file where it stands, and then moves it.
fn refile(department: &Department, from: &str, to: &str, before: Option<&str>, text: &str) -> Result<()> {
    let is_there = |path: &str| -> Result<bool> {
        Ok(department.dir.read(path, FILE_MAX)?.is_some_and(|now| now.text == text))
    };
    let ((old, old_name), (new, new_name)) = (split(from), split(to));
    if is_there(to)? && !is_there(from)? {
        department.sync_folder(new)?;
        return department.sync_folder(old);
    }
    replace(department, from, before, text)?;
    let old = department.dir.make(old)?;
    old.move_to(old_name, &department.dir.make_lasting(new)?, new_name)
}

/// Away with a file that is what it was. One that was changed since is somebody's, and stops.
fn remove(department: &Department, path: &str, was: &str) -> Result<()> {
    let (folder, name) = split(path);
    let Some(now) = department.dir.read(path, FILE_MAX)? else { return department.sync_folder(folder) };
    if sha256(now.text.as_bytes()) != was {
        return Err(StoreError::new(department.dir.join(path), "remove", Fault::Conflict));
    }
    department.dir.make(folder)?.remove(name)
}

/// Out of an inbox again. A message that was touched there meanwhile is the receiver's, and stays.
fn recall(org: &Org, dept: &str, id: &str, was: &str) -> Result<()> {
    let Ok(dept) = Dept::parse(dept) else { return Ok(()) };
    let Some(receiver) = org.department(&dept)? else { return Ok(()) };
    match receiver.dir.read(&format!("inbox/{id}.md"), FILE_MAX)? {
        Some(now) if sha256(now.text.as_bytes()) == was => {
            receiver.dir.make("inbox")?.remove(&format!("{id}.md"))
        }
        _ => receiver.sync_folder("inbox"),
    }
}

fn apply_mark(department: &Department, id: &str, mark: &Marking) -> Result<()> {
    let Some(filed) = department.find_in_inbox(id)? else {
        // Not in the inbox: it was put away, by this plan or by a human.
        return match department.find_delivered(id)? {
            Some(place) if place.place == Place::Archive => {
                department.sync_folder(&place.folder)?;
                department.sync_folder("inbox")
            }
            _ => Err(StoreError::format(department.dir.join("inbox").join(id), "the message is gone")),
        };
    };
    let status = mark.status();
    let receipt = Receipt {
        status,
        at: parse_rfc3339(&mark.at).unwrap_or_default(),
        by: mark.by.clone(),
        run: mark.run.clone(),
        why: mark.why.clone(),
    };
    let done = filed.message.receipt(status).is_some_and(|there| there == receipt)
        && filed.message.waits_for == mark.waits_for;
    match (done, status.is_open()) {
        (true, true) => department.sync_folder("inbox"),
        (true, false) => department.put_away_closed(&filed),
        (false, _) => department.mark(&filed, &receipt, mark.waits_for.as_deref()),
    }
}

impl Department {
    /// Makes sure of what a folder holds.
    fn sync_folder(&self, folder: &str) -> Result<()> {
        if self.dir.breaks(Breakage::FoundIsSure) {
            return Ok(());
        }
        self.dir.find(folder)?.map_or(Ok(()), |dir| dir.sync())
    }

    /// What is written once the effects are there.
    pub fn finish(&self, finish: &Finish) -> Result<()> {
        if finish.record_name.is_empty() {
            return Ok(());
        }
        self.write_record(&finish.record_name, &finish.record)?;
        if !finish.worker_log.is_empty() {
            self.append_worker_log(&finish.worker_log)?;
        }
        self.append_ledger(&finish.ledger)
    }
}
