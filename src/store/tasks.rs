//! Tasks and the roster as files: reading a department's board, and the archive where something names it.
//!
//! Open tasks are `tasks/<id>.md`; what was done or merged is in `archive/tasks/YYYY-MM/`. The archive is only looked
//! into for what an open task names, or for what somebody asks for.

use super::dir::{Dir, EntryKind};
use super::fault::{Fault, Result, StoreError};
use super::key::Key;
use super::messages::Unreadable;
use super::org::Department;
use crate::domain::agent::{Agent, parse_agent};
use crate::domain::board::{Board, Origin};
use crate::domain::charter::Charter;
use crate::domain::digest::sha256;
use crate::domain::settings::{BUILT_IN, Settings};
use crate::domain::task::{Task, TaskStatus, parse_task};
use std::collections::BTreeSet;

/// The largest task that is read.
const TASK_MAX: u64 = 4 * 1024 * 1024;
const ARCHIVE: &str = "archive/tasks";

/// A board, and what lies in its folders and can't be taken.
#[derive(Clone, Debug)]
pub struct LoadedBoard {
    pub board: Board,
    /// With their folder.
    pub unreadable: Vec<Unreadable>,
}

impl Department {
    /// The board: every open task, the roster, and what the open tasks name in the archive.
    pub fn board(&self, charter: &Charter, settings: &Settings, key: &Key) -> Result<LoadedBoard> {
        self.board_with(charter, settings, key, origin)
    }

    /// The board for showing it: nothing on it can be changed, so that no file is hashed.
    pub fn board_to_show(&self, charter: &Charter, settings: &Settings, key: &Key) -> Result<LoadedBoard> {
        self.board_with(charter, settings, key, |folder, stem, _| Origin {
            path: format!("{folder}/{stem}.md"),
            sha256: String::new(),
        })
    }

    fn board_with(
        &self,
        charter: &Charter,
        settings: &Settings,
        key: &Key,
        origin: fn(&str, &str, &str) -> Origin,
    ) -> Result<LoadedBoard> {
        let mut board = Board::new(self.dept.clone(), charter.board.clone());
        board.engines = settings.engines.keys().cloned().chain(BUILT_IN.map(str::to_string)).collect();
        board.pipelines = settings.pipelines.keys().cloned().collect();
        let mut unreadable = Vec::new();
        self.each_file("agents", &mut unreadable, |name, text| {
            let agent = parse_agent(text, name)?;
            board.add_agent(agent, origin("agents", name, text));
            Ok(())
        })?;
        self.each_file("tasks", &mut unreadable, |id, text| {
            let mut task = parse_task(text, id).map_err(|fault| fault.to_string())?;
            task.waits_for.retain(|id| self.still_waits(id, key));
            board.add_task(task, origin("tasks", id, text));
            Ok(())
        })?;
        self.add_named(&mut board)?;
        Ok(LoadedBoard { board, unreadable })
    }

    /// A board of some tasks alone, with all that they name; for showing them.
    pub fn board_of(&self, charter: &Charter, key: &Key, ids: &[String]) -> Result<Board> {
        let mut board = Board::new(self.dept.clone(), charter.board.clone());
        let Some(dir) = self.dir.find("tasks")? else { return Ok(board) };
        for id in ids {
            if let Some((mut task, origin)) = self.read_task(&dir, "tasks", id)? {
                task.waits_for.retain(|id| self.still_waits(id, key));
                board.add_task(task, origin);
            }
        }
        for id in missing(&board) {
            if let Some((task, origin)) = self.read_task(&dir, "tasks", &id)? {
                board.add_task(task, origin);
            }
        }
        self.add_named(&mut board)?;
        Ok(board)
    }

    /// The tasks on the board, and nothing of the archive: what a glance needs.
    pub fn open_tasks(&self) -> Result<(Vec<Task>, Vec<Unreadable>)> {
        let (mut tasks, mut unreadable) = (Vec::new(), Vec::new());
        self.each_file("tasks", &mut unreadable, |id, text| {
            tasks.push(parse_task(text, id).map_err(|fault| fault.to_string())?);
            Ok(())
        })?;
        tasks.retain(Task::is_open);
        Ok((tasks, unreadable))
    }

    fn each_file(
        &self,
        folder: &str,
        unreadable: &mut Vec<Unreadable>,
        mut take: impl FnMut(&str, &str) -> std::result::Result<(), String>,
    ) -> Result<()> {
        let Some(dir) = self.dir.find(folder)? else { return Ok(()) };
        for entry in dir.list()? {
            let Some(stem) = entry.name.strip_suffix(".md") else { continue };
            let taken = match entry.kind {
                EntryKind::File => match dir.read(&entry.name, TASK_MAX) {
                    Ok(Some(text)) => take(stem, &text.text),
                    Ok(None) => Ok(()),
                    Err(error) if matches!(error.fault, Fault::Io(_)) => return Err(error),
                    Err(error) => Err(error.fault.to_string()),
                },
                _ => Err("it is no plain file".to_string()),
            };
            if let Err(why) = taken {
                unreadable.push(Unreadable { file: format!("{folder}/{}", entry.name), why });
            }
        }
        Ok(())
    }

    /// Adds the archived tasks that open ones name. The archive is listed only where there is such a name.
    fn add_named(&self, board: &mut Board) -> Result<()> {
        let mut missing = missing(board);
        if missing.is_empty() {
            return Ok(());
        }
        for (folder, dir) in self.archived_months()? {
            for id in missing.clone() {
                if let Some((task, origin)) = self.read_task(&dir, &folder, &id)? {
                    board.add_task(task, origin);
                    missing.remove(&id);
                }
            }
        }
        Ok(())
    }

    /// Adds what archived tasks depend on, however far back: without it a way round through the archive is not seen.
    /// Only what changes dependencies needs it.
    pub fn add_ancestors(&self, board: &mut Board) -> Result<()> {
        let mut wanted = board.unknown_dependencies();
        if wanted.is_empty() {
            return Ok(());
        }
        let months = self.archived_months()?;
        let mut looked_for = BTreeSet::new();
        while let Some(id) = wanted.pop_first() {
            if !looked_for.insert(id.clone()) {
                continue;
            }
            for (folder, dir) in &months {
                if let Some((task, origin)) = self.read_task(dir, folder, &id)? {
                    let further = task.depends_on.iter().filter(|on| board.find_task(on).is_none());
                    wanted.extend(further.cloned());
                    board.add_task(task, origin);
                    break;
                }
            }
        }
        Ok(())
    }

    fn archived_months(&self) -> Result<Vec<(String, Dir)>> {
        let Some(archive) = self.dir.find(ARCHIVE)? else { return Ok(Vec::new()) };
        let mut months = Vec::new();
        for entry in archive.list()?.into_iter().rev().filter(|entry| entry.kind == EntryKind::Folder) {
            if let Some(dir) = archive.find(&entry.name)? {
                months.push((format!("{ARCHIVE}/{}", entry.name), dir));
            }
        }
        Ok(months)
    }

    fn read_task(&self, dir: &Dir, folder: &str, id: &str) -> Result<Option<(Task, Origin)>> {
        let name = format!("{id}.md");
        let Some(text) = dir.read(&name, TASK_MAX)? else { return Ok(None) };
        let task = parse_task(&text.text, id).map_err(|fault| StoreError::format(dir.join(&name), fault))?;
        Ok(Some((task, origin(folder, id, &text.text))))
    }

    /// A task in the archive.
    pub fn archived_task(&self, id: &str) -> Result<Option<(Task, Origin)>> {
        for (folder, dir) in self.archived_months()? {
            if let Some(found) = self.read_task(&dir, &folder, id)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// The ids of every task in the archive, without reading one.
    pub fn archived_ids(&self) -> Result<Vec<String>> {
        let mut ids = Vec::new();
        for (_, dir) in self.archived_months()? {
            let names = dir.list()?.into_iter().filter(|entry| entry.kind == EntryKind::File);
            ids.extend(names.filter_map(|entry| entry.name.strip_suffix(".md").map(str::to_string)));
        }
        Ok(ids)
    }

    /// Every task that was done, newest month first.
    pub fn done_tasks(&self) -> Result<Vec<Task>> {
        let mut done = Vec::new();
        for (folder, dir) in self.archived_months()? {
            for entry in dir.list()?.into_iter().filter(|entry| entry.kind == EntryKind::File) {
                let Some(id) = entry.name.strip_suffix(".md") else { continue };
                done.extend(self.read_task(&dir, &folder, id)?.map(|(task, _)| task));
            }
        }
        done.retain(|task| task.status == TaskStatus::Done);
        Ok(done)
    }

    /// Every task there is, on the board and in the archive. One damaged file is no reason to show none.
    pub fn every_task(&self) -> Result<Vec<Task>> {
        let mut tasks = Vec::new();
        self.each_file("tasks", &mut Vec::new(), |id, text| {
            tasks.extend(parse_task(text, id));
            Ok(())
        })?;
        for (folder, _) in self.archived_months()? {
            self.each_file(&folder, &mut Vec::new(), |id, text| {
                tasks.extend(parse_task(text, id));
                Ok(())
            })?;
        }
        Ok(tasks)
    }

    /// One agent of the roster.
    pub fn agent(&self, name: &str) -> Result<Option<Agent>> {
        let path = format!("agents/{name}.md");
        let Some(text) = self.dir.read(&path, TASK_MAX)? else { return Ok(None) };
        parse_agent(&text.text, name).map(Some).map_err(|what| StoreError::format(self.dir.join(&path), what))
    }
}

/// What open tasks name and the board doesn't hold.
fn missing(board: &Board) -> BTreeSet<String> {
    let ids = board.open_tasks().flat_map(|task| task.depends_on.iter().chain(&task.assists));
    ids.filter(|id| board.find_task(id).is_none()).cloned().collect()
}

fn origin(folder: &str, stem: &str, text: &str) -> Origin {
    Origin { path: format!("{folder}/{stem}.md"), sha256: sha256(text.as_bytes()) }
}
