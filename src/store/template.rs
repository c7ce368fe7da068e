//! The template compiled into the program, and laying it out for `init`.
//!
//! A file that exists is never overwritten, so that `init` can be run again after a crash or an upgrade.

use super::dir::Dir;
use super::disk::Disk;
use super::fault::{Result, StoreError};
use super::org::{Department, Org, folder_name};
use crate::domain::id::Dept;
use std::path::Path;

/// The departments of the template, in the order in which they are shown.
pub const FIVE: [&str; 5] = ["business", "rd", "technology", "management", "marketing"];

const ORG_TOML: &str = include_str!("../../org-template/org.toml");

/// What a department without an objective asks.
pub const INTAKE: &str = include_str!("../../org-template/intake.toml");

macro_rules! embedded {
    ($($name:literal),* $(,)?) => { &[$(($name, include_str!(concat!("../../org-template/", $name)))),*] };
}

/// What differs between departments: the generic one, and the five.
const DEPARTMENTS: &[(&str, &str)] = embedded![
    "department/charter.toml",
    "department/charter.md",
    "department/notes.md",
    "department/playbook.toml",
    "department/goal.toml",
    "departments/business/charter.toml",
    "departments/business/charter.md",
    "departments/business/notes.md",
    "departments/business/playbook.toml",
    "departments/business/goal.toml",
    "departments/rd/charter.toml",
    "departments/rd/charter.md",
    "departments/rd/notes.md",
    "departments/rd/playbook.toml",
    "departments/rd/goal.toml",
    "departments/technology/charter.toml",
    "departments/technology/charter.md",
    "departments/technology/notes.md",
    "departments/technology/playbook.toml",
    "departments/technology/goal.toml",
    "departments/management/charter.toml",
    "departments/management/charter.md",
    "departments/management/notes.md",
    "departments/management/playbook.toml",
    "departments/management/goal.toml",
    "departments/management/agents/planner.md",
    "departments/management/agents/writer.md",
    "departments/marketing/charter.toml",
    "departments/marketing/charter.md",
    "departments/marketing/notes.md",
    "departments/marketing/playbook.toml",
    "departments/marketing/goal.toml",
];

const SHARED: [(&str, &str); 8] = [
    ("decisions.md", include_str!("../../org-template/shared/decisions.md")),
    ("weekly.md", include_str!("../../org-template/shared/weekly.md")),
    ("memory/MEMORY.md", include_str!("../../org-template/shared/memory/MEMORY.md")),
    ("memory/SELF.md", include_str!("../../org-template/shared/memory/SELF.md")),
    ("AGENTS.md", include_str!("../../org-template/shared/AGENTS.md")),
    ("CLAUDE.md", include_str!("../../org-template/shared/CLAUDE.md")),
    (".gitignore", include_str!("../../org-template/shared/gitignore")),
    (".harness/director-config.json", include_str!("../../org-template/shared/director-config.json")),
];

const FOLDERS: [&str; 12] = [
    "inbox",
    "outbox",
    "archive/inbox",
    "archive/outbox",
    "archive/tasks",
    "tasks",
    "agents",
    "approvals",
    "questions",
    "schedules",
    ".harness/director-runs",
    ".harness/journal",
];

/// Which template a department is made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Template {
    /// One of the five, by its name.
    Own,
    Generic,
}

/// What laying out a department came to.
#[derive(Clone, Debug)]
pub struct LaidOut {
    pub department: Department,
    /// Files that were written now.
    pub written: usize,
    /// Whether everything that has to be accepted is the template's own text.
    pub is_template: bool,
}

fn files_of(dept: &Dept, template: Template) -> Vec<(&'static str, &'static str)> {
    let folder = match template {
        Template::Own if FIVE.contains(&dept.as_str()) => format!("departments/{dept}/"),
        _ => "department/".to_string(),
    };
    DEPARTMENTS.iter().filter_map(|(name, text)| Some((name.strip_prefix(&folder)?, *text))).collect()
}

/// Makes the root and its `.harness` where they are missing.
pub fn lay_out_root(root: &Path, disk: &Disk) -> Result<Org> {
    std::fs::create_dir_all(root).map_err(|error| StoreError::io(root, "make the folder", error))?;
    let root = Dir::open(root, disk.clone())?;
    root.disk().writing().watch(root.path());
    let own = root.make(".harness")?;
    create_missing(&own, "org.toml", ORG_TOML)?;
    for folder in ["directives", "projects"] {
        own.make(folder)?;
    }
    Ok(Org::of(root, own))
}

/// Looks at everything that would stop `init` half-way, before the first file is written.
pub fn check_targets(root: &Path, depts: &[Dept], disk: &Disk) -> Result<()> {
    if !super::org::is_there(root) {
        return Ok(());
    }
    let dir = Dir::open(root, disk.clone())?;
    for dept in depts {
        // A link, or a file in its place, is an error here.
        dir.find(&folder_name(dept))?;
    }
    if let Some(own) = dir.find(".harness")? {
        Org::of(dir, own).accepted_digests()?;
    }
    Ok(())
}

/// Makes a department's folder, and whatever of the template is missing in it. Run again, it completes what a crash left.
pub fn lay_out_department(org: &Org, dept: &Dept, template: Template) -> Result<LaidOut> {
    let laid_out = org.root.disk().with_folders_synced_once(|| lay_out(org, dept, template));
    laid_out.map_err(|error| StoreError::io(org.root.path(), "sync a folder of", error))?
}

fn lay_out(org: &Org, dept: &Dept, template: Template) -> Result<LaidOut> {
    let dir = org.root.make(&folder_name(dept))?;
    for folder in FOLDERS {
        dir.make(folder)?;
    }
    dir.make(".harness/quarantine")?;
    let own = files_of(dept, template);
    let mut written = 0;
    for (name, text) in own.iter().copied().chain(SHARED) {
        written += usize::from(create_missing(&dir, name, &text.replace("{{ dept }}", dept.as_str()))?);
    }
    let department = org.department_in(dept, dir);
    let pinned = department.pinned()?;
    let mut expected = own.iter().filter(|(name, _)| pinned.contains_key(*name));
    let is_template = pinned.len() == 3
        && expected.all(|(name, text)| pinned[*name] == text.replace("{{ dept }}", dept.as_str()));
    Ok(LaidOut { department, written, is_template })
}

/// Writes a file where there is none, and says whether it did.
fn create_missing(dir: &Dir, name: &str, text: &str) -> Result<bool> {
    let (folder, file) = match name.rsplit_once('/') {
        Some((folder, file)) => (dir.make(folder)?, file),
        None => (dir.clone(), name),
    };
    if folder.stat(file)?.is_some() {
        return Ok(false);
    }
    folder.create(file, text.as_bytes()).map(|_| true)
}
