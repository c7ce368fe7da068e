//! A scratch copy as the organisation was before a run: what that run and later ones did is taken out of it.
//!
//! It is as near as the files tell: the ledger ends before the run, messages, requests and tasks that came later are
//! gone, and messages that were handled since are open again. Memory and logs stay as they are now.

use super::dir::{Dir, EntryKind};
use super::fault::Result;
use super::messages::MESSAGE_MAX;
use super::org::{Department, Org};
use crate::domain::id::made_at;
use crate::domain::ledger::{Line, StepLine, render_line};
use crate::domain::message::reopen;
use crate::domain::time::{Time, parse_rfc3339};
use std::collections::BTreeSet;

/// Folders of things that are named by their ids.
const FOLDERS: [&str; 6] = ["inbox", "outbox", "approvals", "questions", "escalations", "tasks"];
const BY_MONTH: [&str; 3] = ["archive/inbox", "archive/outbox", "archive/tasks"];

/// What is to be taken back.
#[derive(Debug, Default)]
struct Past {
    /// Runs that have not happened yet.
    runs: BTreeSet<String>,
    /// What they made.
    made: BTreeSet<String>,
    /// What the run was about, which was there whatever its date says.
    kept: BTreeSet<String>,
}

/// Rewinds a scratch organisation to before a run of a department, which began at a moment.
pub fn rewind(org: &Org, dept: &str, run: &str, at: Time) -> Result<()> {
    let mut departments: Vec<Department> = Vec::new();
    for name in org.departments()?.departments {
        departments.extend(org.department(&name)?);
    }
    let mut past = Past::default();
    for department in &departments {
        let own = department.dept.as_str() == dept;
        let lines = department.ledger_lines()?.1;
        let is_past = |line: &Line| parse_rfc3339(line.at()).is_some_and(|line_at| line_at <= at);
        let keep = match own.then(|| lines.iter().position(|line| is_of(line, run))).flatten() {
            Some(first) => first,
            None => lines.iter().take_while(|line| is_past(line)).count(),
        };
        let (kept, gone) = lines.split_at(keep);
        past.take(gone, run);
        let text: String = kept.iter().map(render_line).collect();
        if !gone.is_empty() {
            department.own()?.replace("runs.jsonl", text.as_bytes())?;
        }
    }
    departments.iter().try_for_each(|department| past.rewind_department(department, at))
}

fn is_of(line: &Line, run: &str) -> bool {
    match line {
        Line::Step(step) => step.run == run,
        Line::Run(ended) => ended.run == run,
    }
}

impl Past {
    fn take(&mut self, gone: &[Line], run: &str) {
        for line in gone {
            match line {
                Line::Run(ended) => drop(self.runs.insert(ended.run.clone())),
                Line::Step(step) => self.take_step(step, run),
            }
        }
    }

    fn take_step(&mut self, step: &StepLine, run: &str) {
        self.runs.insert(step.run.clone());
        for action in &step.actions {
            let made = action.target.split(' ').next().unwrap_or_default();
            if action.name != "mark_message" && made_at(made).is_some() {
                self.made.insert(made.to_string());
            }
        }
        if step.run == run {
            self.kept.extend(step.item.clone());
        }
    }

    fn rewind_department(&self, department: &Department, at: Time) -> Result<()> {
        for folder in FOLDERS {
            if let Some(dir) = department.dir.find(folder)? {
                self.rewind_folder(department, &dir, folder, at)?;
            }
        }
        for folder in BY_MONTH {
            let Some(months) = department.dir.find(folder)? else { continue };
            for month in months.list()?.into_iter().filter(|entry| entry.kind == EntryKind::Folder) {
                if let Some(dir) = months.find(&month.name)? {
                    self.rewind_folder(department, &dir, folder, at)?;
                }
            }
        }
        Ok(())
    }

    fn rewind_folder(&self, department: &Department, dir: &Dir, folder: &str, at: Time) -> Result<()> {
        for entry in dir.list()?.into_iter().filter(|entry| entry.kind == EntryKind::File) {
            let Some(id) = entry.name.strip_suffix(".md") else { continue };
            let came_later = made_at(id).is_some_and(|made| made > at);
            if self.made.contains(id) || (came_later && !self.kept.contains(id)) {
                dir.remove(&entry.name)?;
                continue;
            }
            if folder.ends_with("inbox")
                && let Some(text) = dir.read(&entry.name, MESSAGE_MAX)?
                && let Some(open) = reopen(&text.text, &|run, moved| self.runs.contains(run) || moved > at)
            {
                dir.remove(&entry.name)?;
                department.dir.make("inbox")?.replace(&entry.name, open.as_bytes())?;
            }
        }
        Ok(())
    }
}
