//! Which files of a department were written since its last commit.
//!
//! Every process that writes in a department notes each path before it writes it, in a file of its own under
//! `.harness/uncommitted/`, a JSON object a line. It holds that file's lock for as long as it lives: whoever commits
//! reads them all, and removes those whose writers have gone. Killed at any instant, a note may name a file that was not
//! written; never the other way round. Nothing is noted where there is no work tree or commits are off.

use super::dir::{Dir, EntryKind};
use super::fault::Result;
use super::git::find_repository;
use super::lock::{Attempt, Lock, try_lock};
use super::org::{Department, folder_name};
use super::write::TEMPORARY;
use crate::domain::commit::{NOTE_SCHEMA, Note, Written, is_kept};
use crate::domain::settings::parse_settings;
use std::collections::BTreeMap;
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

const FOLDER: &str = ".harness/uncommitted";
const LIST_MAX: u64 = 256 * 1024 * 1024;

/// What this process has noted.
#[derive(Debug, Default)]
pub struct Writing {
    root: Option<PathBuf>,
    /// By the department's folder; none where nothing is noted for it.
    lists: BTreeMap<String, Option<Lock>>,
    /// Whose writing it is, where that is another run than the one that writes: by folder and writer.
    instead: BTreeMap<(String, String), String>,
}

impl Writing {
    /// Says which organisation's departments are meant.
    pub fn watch(&mut self, root: &Path) {
        if self.root.as_deref() != Some(root) {
            self.root = Some(root.to_path_buf());
            self.lists.clear();
        }
    }

    /// The department's folder and the path beneath it.
    fn place(&self, path: &Path) -> Option<(PathBuf, String, String)> {
        let root = self.root.as_ref()?;
        let inside = path.strip_prefix(root).ok()?.to_str()?;
        let (folder, rest) = inside.split_once('/')?;
        let noted = folder.starts_with("org-") && is_kept(rest);
        noted.then(|| (root.clone(), folder.to_string(), rest.to_string()))
    }
}

impl Dir {
    /// Notes that a file is about to be written. What can't be noted is written all the same.
    pub(super) fn note(&self, name: &str, written: impl FnOnce() -> Written) {
        if name.starts_with(TEMPORARY) {
            return;
        }
        let Some((root, folder, path)) = self.disk().writing().place(&self.join(name)) else { return };
        let known = self.disk().writing().lists.contains_key(&folder);
        if !known {
            let list = self.open_list(&root, &folder).unwrap_or(None);
            self.disk().writing().lists.insert(folder.clone(), list);
        }
        let writing = self.disk().writing();
        let Some(Some(list)) = writing.lists.get(&folder) else { return };
        let by = self.disk().owner().to_string();
        let by = writing.instead.get(&(folder, by.clone())).cloned().unwrap_or(by);
        let note = Note { schema: NOTE_SCHEMA, path, by, written: written() };
        if let Ok(mut line) = serde_json::to_string(&note) {
            line.push('\n');
            // One write a line, so that a kill leaves whole lines.
            let _ignored = list.file().write_all(line.as_bytes());
        }
    }

    /// This process's own list for a department; none where nothing is to be noted.
    fn open_list(&self, root: &Path, folder: &str) -> Result<Option<Lock>> {
        let department = root.join(folder);
        if find_repository(&department).is_none() || !commits_are_on(root, self) {
            return Ok(None);
        }
        let lists = Dir::open(&department, self.disk().clone())?.make(FOLDER)?;
        let Attempt::Held(lock) = try_lock(&lists, &std::process::id().to_string())? else { return Ok(None) };
        let mut file = lock.file();
        // A dead process with the same number may have left one.
        let _end = file.seek(SeekFrom::End(0));
        Ok(Some(lock))
    }
}

fn commits_are_on(root: &Path, dir: &Dir) -> bool {
    let own = Dir::open(&root.join(".harness"), dir.disk().clone());
    let text = own.and_then(|own| own.read("org.toml", 256 * 1024)).ok().flatten();
    let text = text.map_or_else(|| "schema = 1".to_string(), |text| text.text);
    parse_settings(&text).is_ok_and(|settings| settings.git.commit)
}

/// The notes there are, and which lists may go once they are committed.
#[derive(Debug, Default)]
pub struct Noted {
    pub notes: Vec<Note>,
    done: Vec<(String, u64, Option<Lock>)>,
}

impl Department {
    /// Does something on behalf of another run of this department: what it writes there is committed as that run's.
    pub fn writing_for<T>(&self, run: &str, work: impl FnOnce() -> T) -> T {
        let disk = self.dir.disk();
        let place = (folder_name(&self.dept), disk.owner().to_string());
        disk.writing().instead.insert(place.clone(), format!("{run}.{}", self.dept));
        let done = work();
        disk.writing().instead.remove(&place);
        done
    }

    /// What was written since the last commit, each writer's notes in their order.
    pub fn noted(&self) -> Result<Noted> {
        self.noted_in(|_| true)
    }

    /// What this process wrote since the last commit.
    pub fn noted_here(&self) -> Result<Noted> {
        let own = std::process::id().to_string();
        self.noted_in(|name| name == own)
    }

    fn noted_in(&self, counts: impl Fn(&str) -> bool) -> Result<Noted> {
        let mut noted = Noted::default();
        let Some(dir) = self.dir.find(FOLDER)? else { return Ok(noted) };
        let own = std::process::id().to_string();
        let entries =
            dir.list()?.into_iter().filter(|entry| entry.kind == EntryKind::File && counts(&entry.name));
        let mut files: Vec<(i64, u32, String)> = Vec::new();
        for entry in entries {
            if let Some(stat) = dir.stat(&entry.name)? {
                files.push((stat.modified_s, stat.modified_ns, entry.name));
            }
        }
        files.sort();
        for (_, _, name) in files {
            // A lock that can be had is one whose writer has gone.
            let lock = match try_lock(&dir, &name)? {
                Attempt::Held(lock) => Some(lock),
                Attempt::Busy if name == own => None,
                Attempt::Busy => {
                    noted.read(&dir, &name)?;
                    continue;
                }
            };
            let size = noted.read(&dir, &name)?;
            noted.done.push((name, size, lock));
        }
        Ok(noted)
    }

    /// Forgets what was noted: it is committed.
    pub fn forget(&self, noted: Noted) -> Result<()> {
        let Some(dir) = self.dir.find(FOLDER)? else { return Ok(()) };
        for (name, size, lock) in noted.done {
            match lock {
                // Its writer has gone, and nobody else writes there.
                Some(_held) => dir.remove(&name)?,
                None => self.forget_own(&dir, &name, size)?,
            }
        }
        Ok(())
    }

    /// This process may have gone on writing since the list was read; what came after stays.
    fn forget_own(&self, dir: &Dir, name: &str, size: u64) -> Result<()> {
        let writing = self.dir.disk().writing();
        let Some(Some(list)) = writing.lists.get(&folder_name(&self.dept)) else { return Ok(()) };
        if dir.stat(name)?.is_some_and(|stat| stat.size == size) {
            let mut file = list.file();
            let _start = file.set_len(0).and_then(|()| file.seek(SeekFrom::Start(0)));
        }
        Ok(())
    }

    /// Whether anything was noted that a later commit has to take in.
    pub fn has_notes(&self) -> bool {
        let dir = self.dir.find(FOLDER).ok().flatten();
        let entries = dir.as_ref().and_then(|dir| dir.list().ok()).unwrap_or_default();
        let size = |name: &str| dir.as_ref().and_then(|dir| dir.stat(name).ok().flatten());
        entries.iter().any(|entry| size(&entry.name).is_some_and(|stat| stat.size > 0))
    }

    /// Makes sure of this process's own notes: what they tell of is sure already.
    pub fn sync_notes(&self) -> Result<()> {
        let writing = self.dir.disk().writing();
        if let Some(Some(list)) = writing.lists.get(&folder_name(&self.dept)) {
            let path = self.dir.join(FOLDER);
            list.file().sync_data().map_err(|error| super::fault::StoreError::io(path, "sync", error))?;
        }
        Ok(())
    }
}

impl Noted {
    fn read(&mut self, dir: &Dir, name: &str) -> Result<u64> {
        let Some(text) = dir.read(name, LIST_MAX)? else { return Ok(0) };
        // A line that a crash tore off names nothing that was written.
        self.notes.extend(text.text.lines().filter_map(|line| serde_json::from_str::<Note>(line).ok()));
        Ok(text.text.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::super::disk::Disk;
    use super::super::org::Org;
    use super::*;
    use crate::domain::id::Dept;

    fn organisation(git: &str) -> (tempfile::TempDir, Department) {
        let folder = tempfile::tempdir().unwrap();
        for name in [".harness", "org-rd/.git", "org-rd/inbox"] {
            std::fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        std::fs::write(folder.path().join(".harness/org.toml"), format!("schema = 1\n{git}")).unwrap();
        let org = Org::find(folder.path(), &Disk::new(None)).unwrap().unwrap();
        let department = org.department(&Dept::parse("rd").unwrap()).unwrap().unwrap();
        (folder, department)
    }

    fn paths(department: &Department) -> Vec<String> {
        department.noted().unwrap().notes.into_iter().map(|note| note.path).collect()
    }

    #[test]
    fn what_is_written_is_noted_until_it_is_committed() {
        let (_folder, department) = organisation("");
        let inbox = department.dir.make("inbox").unwrap();
        inbox.create("a.md", b"a").unwrap();
        inbox.move_to("a.md", &department.dir.make("archive").unwrap(), "a.md").unwrap();
        department.dir.append_once("decisions.md", "- one\n").unwrap();
        department.own().unwrap().append_once("runs.jsonl", "{}\n").unwrap();
        assert_eq!(paths(&department), ["inbox/a.md", "inbox/a.md", "archive/a.md", "decisions.md"]);
        department.forget(department.noted().unwrap()).unwrap();
        assert!(!department.has_notes());
        inbox.create("b.md", b"b").unwrap();
        assert_eq!(paths(&department), ["inbox/b.md"]);
    }

    #[test]
    fn what_is_written_for_another_run_is_noted_as_that_runs() {
        let (_folder, department) = organisation("");
        department.dir.append_once("decisions.md", "- one\n").unwrap();
        department.writing_for("r-2", || department.dir.append_once("weekly.md", "- two\n").unwrap());
        department.dir.append_once("decisions.md", "- three\n").unwrap();
        let by: Vec<String> = department.noted().unwrap().notes.into_iter().map(|note| note.by).collect();
        assert_eq!(by, ["user", "r-2.rd", "user"]);
    }

    #[test]
    fn nothing_is_noted_where_commits_are_off() {
        let (_folder, department) = organisation("[git]\ncommit = false\n");
        department.dir.append_once("decisions.md", "- one\n").unwrap();
        assert_eq!(paths(&department), Vec::<String>::new());
    }
}
