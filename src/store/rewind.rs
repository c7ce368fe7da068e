//! A scratch copy as the organisation was before a run: what that run and later ones did is taken out of it.
//!
//! The ledger ends before the run, messages, requests and tasks that came later are gone, and messages that were handled
//! since are open again. Where the plans of those runs are still kept, the board, memory, logs and projects go back too,
//! newest plan first. What a human changed by hand stays as it is now.

use super::dir::{Dir, EntryKind};
use super::directives::PROJECTS;
use super::fault::Result;
use super::messages::MESSAGE_MAX;
use super::org::{Department, Org};
use crate::domain::id::{Dept, made_at};
use crate::domain::ledger::{Line, StepLine, render_line};
use crate::domain::message::reopen;
use crate::domain::plan::{Effect, Plan};
use crate::domain::project::{ProjectEffect, take_back};
use crate::domain::replay::makes;
use crate::domain::time::{Time, parse_rfc3339};
use std::collections::BTreeSet;

/// The largest file that is taken back.
const FILE_MAX: u64 = 64 * 1024 * 1024;

/// A department's plan of a run's step, where it is still kept; 0 is the run's end.
pub type Kept<'a> = &'a dyn Fn(&Dept, &str, u64) -> Result<Option<Plan>>;

/// The moment to go back to: before a run of a department, which began then.
#[derive(Clone, Copy)]
pub struct Moment<'a> {
    pub dept: &'a Dept,
    pub run: &'a str,
    pub at: Time,
    pub kept: Kept<'a>,
}

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

/// Rewinds a scratch organisation.
pub fn rewind(org: &Org, moment: &Moment<'_>) -> Result<()> {
    let Moment { dept, run, at, kept } = *moment;
    let mut departments: Vec<Department> = Vec::new();
    for name in org.departments()?.departments {
        departments.extend(org.department(&name)?);
    }
    let mut past = Past::default();
    let mut projects: Vec<ProjectEffect> = Vec::new();
    for department in &departments {
        let own = department.dept == *dept;
        let lines = department.ledger_lines()?.1;
        let is_past = |line: &Line| parse_rfc3339(line.at()).is_some_and(|line_at| line_at <= at);
        let keep = match own.then(|| lines.iter().position(|line| is_of(line, run))).flatten() {
            Some(first) => first,
            None => lines.iter().take_while(|line| is_past(line)).count(),
        };
        let (stays, gone) = lines.split_at(keep);
        past.take(gone, run);
        for line in gone.iter().rev() {
            let (run, step) = plan_of(line);
            if let Some(plan) = kept(&department.dept, run, step)? {
                take_plan_back(department, &plan, &mut projects)?;
            }
        }
        let text: String = stays.iter().map(render_line).collect();
        if !gone.is_empty() {
            department.own()?.replace("runs.jsonl", text.as_bytes())?;
        }
    }
    take_projects_back(org, projects)?;
    departments.iter().try_for_each(|department| past.rewind_department(department, at))
}

/// The run and the step whose plan a line of the ledger closes.
fn plan_of(line: &Line) -> (&str, u64) {
    match line {
        Line::Step(step) => (&step.run, step.step),
        Line::Run(ended) => (&ended.run, 0),
    }
}

/// Puts the files of a plan back to what they were before it. Messages are told apart by their receipts.
fn take_plan_back(department: &Department, plan: &Plan, projects: &mut Vec<ProjectEffect>) -> Result<()> {
    let before = |of: &str| {
        let known = plan.before.iter().find(|before| before.of == of);
        known.and_then(|before| before.text.as_deref())
    };
    for planned in plan.effects.iter().rev() {
        match &planned.effect {
            Effect::Create { path, .. } => put(department, path, None)?,
            Effect::Replace { path, .. }
            | Effect::Remove { path, .. }
            | Effect::Board { path, from: None, .. } => put(department, path, before(path))?,
            Effect::Board { path, from: Some(from), .. } => {
                put(department, path, None)?;
                put(department, from, before(from))?;
            }
            Effect::Append { path, text } => cut_out(department, path, text)?,
            Effect::Project(effect) => projects.push(effect.as_ref().clone()),
            Effect::Deliver { .. } | Effect::Recall { .. } | Effect::Mark { .. } => {}
        }
    }
    Ok(())
}

fn put(department: &Department, path: &str, text: Option<&str>) -> Result<()> {
    let (folder, name) = path.rsplit_once('/').unwrap_or((".", path));
    match text {
        Some(text) => department.dir.make(folder)?.replace(name, text.as_bytes()),
        None if department.dir.stat(path)?.is_some() => department.dir.make(folder)?.remove(name),
        None => Ok(()),
    }
}

/// Takes an entry out of a log.
fn cut_out(department: &Department, path: &str, entry: &str) -> Result<()> {
    let entry = entry.trim_start_matches('\n');
    let Some(log) = department.dir.read(path, FILE_MAX)?.map(|text| text.text) else { return Ok(()) };
    match log.rfind(entry) {
        Some(at) if !entry.is_empty() => {
            let rest = format!("{}{}", &log[..at], &log[at + entry.len()..]);
            put(department, path, Some(&rest))
        }
        _ => Ok(()),
    }
}

/// Projects belong to all departments: the newest change goes first, whoever made it.
fn take_projects_back(org: &Org, mut effects: Vec<ProjectEffect>) -> Result<()> {
    let Some(dir) = org.own.find(PROJECTS)? else { return Ok(()) };
    effects.sort_by(|one, other| other.at.cmp(&one.at));
    for effect in &effects {
        let name = format!("{}.md", effect.id);
        let Some(text) = dir.read(&name, FILE_MAX)? else { continue };
        match take_back(&text.text, effect) {
            Ok(Some(text)) => dir.replace(&name, text.as_bytes())?,
            Ok(None) => dir.remove(&name)?,
            // What can't be read now is no better for having been taken back.
            Err(_) => {}
        }
    }
    Ok(())
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
            if makes(action) && made_at(made).is_some() {
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
