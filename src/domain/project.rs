//! A project: its front matter, its description and its log, as a file under the root's `.harness/projects/`.
//!
//! ```text
//! ---
//! schema: 1 · id · title · status · directive · budget_usd · by · provenance · created
//! ---
//! The description.
//!
//! ## Log
//!
//! - 2026-11-18T00:42:01Z r-20261118-004201-7f3k2q/1/0 management: created
//! ```
//!
//! Each change leaves a line in the log with the key of what made it: an action's id, or a message's. A change whose
//! key is there was made, and is never made again. How a file is changed is in `change`; keys this file doesn't know
//! survive.

mod change;

pub use change::{Change, FieldChange, NewProject, ProjectEffect, apply, take_back};

use super::allowance::Allowance;
use super::front_matter::{FrontMatter, parse_front_matter};
use super::message::Provenance;
use super::text::one_line;
use super::time::{Time, parse_rfc3339};
use std::fmt;

/// The newest format this program knows.
pub const PROJECT_SCHEMA: u64 = 1;

/// Projects that are always there: what belongs to no project of its own.
pub const RESERVED: [(&str, &str); 2] =
    [("platform", "What every product stands on"), ("org-ops", "Running the organisation itself")];

/// The longest description, in bytes.
pub const DESCRIPTION_MAX: usize = 64 * 1024;

const LOG: &str = "## Log";

/// How a project stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum ProjectStatus {
    Proposed,
    Approved,
    InProgress,
    Launched,
    Paused,
    Cancelled,
}

impl ProjectStatus {
    pub const ALL: [ProjectStatus; 6] = [
        ProjectStatus::Proposed,
        ProjectStatus::Approved,
        ProjectStatus::InProgress,
        ProjectStatus::Launched,
        ProjectStatus::Paused,
        ProjectStatus::Cancelled,
    ];

    pub fn name(self) -> &'static str {
        match self {
            ProjectStatus::Proposed => "proposed",
            ProjectStatus::Approved => "approved",
            ProjectStatus::InProgress => "in_progress",
            ProjectStatus::Launched => "launched",
            ProjectStatus::Paused => "paused",
            ProjectStatus::Cancelled => "cancelled",
        }
    }

    pub fn parse(text: &str) -> Option<ProjectStatus> {
        ProjectStatus::ALL.into_iter().find(|status| status.name() == text)
    }

    /// Whether its work waits: mail, jobs and spending that belong to it.
    pub fn holds(self) -> bool {
        matches!(self, ProjectStatus::Paused | ProjectStatus::Cancelled)
    }

    /// How a director may move it. What is cancelled stays so, and what is launched can only be paused or cancelled.
    pub fn may_become(self, next: ProjectStatus) -> bool {
        use ProjectStatus::{Approved, Cancelled, InProgress, Launched, Paused, Proposed};
        match self {
            Proposed => matches!(next, Approved | Paused | Cancelled),
            Approved => matches!(next, InProgress | Paused | Cancelled),
            InProgress => matches!(next, Launched | Paused | Cancelled),
            Launched => matches!(next, Paused | Cancelled),
            Paused => matches!(next, Approved | InProgress | Cancelled),
            Cancelled => false,
        }
    }
}

impl fmt::Display for ProjectStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A project as it was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Project {
    pub id: String,
    pub title: String,
    pub description: String,
    pub status: ProjectStatus,
    /// Who moved it to where it stands: a department, or `user`.
    pub status_by: Option<String>,
    pub directive: Option<String>,
    pub allowance: Allowance,
    /// Who made it: a department, `user`, or `harness`.
    pub by: String,
    pub provenance: Provenance,
    pub created: Time,
    pub log: Vec<LogEntry>,
    front: FrontMatter,
}

/// One line of a project's log.
#[derive(Clone, Debug, PartialEq)]
pub struct LogEntry {
    pub at: String,
    /// What made the change: an action's id, a message's, or `-` for a person's own hand.
    pub key: String,
    pub by: String,
    pub what: String,
}

impl fmt::Display for LogEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "- {} {} {}: {}", self.at, self.key, self.by, one_line(&self.what, 400))
    }
}

fn parse_entry(line: &str) -> Option<LogEntry> {
    let (head, what) = line.strip_prefix("- ")?.split_once(": ")?;
    let mut words = head.split(' ');
    let (at, key, by) = (words.next()?, words.next()?, words.next()?);
    let whole = words.next().is_none() && parse_rfc3339(at).is_some();
    whole.then(|| LogEntry { at: at.into(), key: key.into(), by: by.into(), what: what.into() })
}

/// Reads a project; `id` is what its file's name says.
pub fn parse_project(text: &str, id: &str) -> Result<Project, String> {
    let split = parse_front_matter(text).map_err(|fault| fault.to_string())?;
    let front = split.front.ok_or("it has no front matter")?;
    match front.text("schema").and_then(|text| text.parse::<u64>().ok()) {
        Some(schema) if schema <= PROJECT_SCHEMA => {}
        _ => {
            let found = one_line(front.text("schema").unwrap_or("missing"), 40);
            return Err(format!("its schema is {found}, and this program knows {PROJECT_SCHEMA}"));
        }
    }
    if front.text("id") != Some(id) {
        return Err("its id is not that of its name".to_string());
    }
    let needed = |key: &str| front.text(key).ok_or_else(|| format!("`{key}` is missing"));
    let bad = |key: &str, text: &str| format!("`{key}` can't be `{}`", one_line(text, 60));
    let status = needed("status")?;
    let status = ProjectStatus::parse(status).ok_or_else(|| bad("status", status))?;
    let created = needed("created")?;
    let created = parse_rfc3339(created).ok_or_else(|| bad("created", created))?;
    let provenance = front.text("provenance").unwrap_or("external");
    let provenance = Provenance::parse(provenance).ok_or_else(|| bad("provenance", provenance))?;
    let (description, log) = split_log(split.body);
    Ok(Project {
        id: id.to_string(),
        title: needed("title")?.to_string(),
        description: description.trim().to_string(),
        status,
        status_by: front.text("status_by").map(str::to_string),
        directive: front.text("directive").map(str::to_string),
        allowance: Allowance::parse(&front)?,
        by: needed("by")?.to_string(),
        provenance,
        created,
        log: log.lines().filter_map(parse_entry).collect(),
        front,
    })
}

/// The description and the log: what stands after the last heading of a log.
fn split_log(body: &str) -> (&str, &str) {
    let mut at = body.len();
    let mut found = None;
    for line in body.split_inclusive('\n').rev() {
        at -= line.len();
        if line.trim_end_matches(['\n', '\r']) == LOG {
            found = Some((at, at + line.len()));
            break;
        }
    }
    found.map_or((body, ""), |(start, end)| (&body[..start], &body[end..]))
}

impl Project {
    /// One of the reserved, as it is before anybody changed it.
    pub fn reserved(id: &str) -> Option<Project> {
        let (id, title) = RESERVED.into_iter().find(|(known, _)| *known == id)?;
        Some(Project {
            id: id.to_string(),
            title: title.to_string(),
            description: String::new(),
            status: ProjectStatus::InProgress,
            status_by: None,
            directive: None,
            allowance: Allowance::default(),
            by: "harness".to_string(),
            provenance: Provenance::Human,
            created: Time::UNIX_EPOCH,
            log: Vec::new(),
            front: FrontMatter::default(),
        })
    }

    /// One that a director is about to make, as far as it can be judged by.
    pub fn proposed(id: &str, title: &str, directive: Option<String>, usd: Option<f64>) -> Project {
        Project {
            id: id.to_string(),
            title: title.to_string(),
            description: String::new(),
            status: ProjectStatus::Proposed,
            status_by: None,
            directive,
            allowance: Allowance { usd, ..Allowance::default() },
            by: String::new(),
            provenance: Provenance::Department,
            created: Time::UNIX_EPOCH,
            log: Vec::new(),
            front: FrontMatter::default(),
        }
    }

    pub fn is_reserved(&self) -> bool {
        is_reserved(&self.id)
    }

    /// Whether a change with this key was made.
    pub fn has(&self, key: &str) -> bool {
        self.log.iter().any(|entry| entry.key == key)
    }

    /// The file. Keys that were read and aren't known are kept.
    pub fn render(&self) -> String {
        let mut front = self.front.clone();
        front.set_number("schema", PROJECT_SCHEMA);
        front.set_text("id", &self.id);
        front.set_text("title", &self.title);
        front.set_text("status", self.status.name());
        let optional = [("status_by", &self.status_by), ("directive", &self.directive)];
        for (key, value) in optional {
            match value {
                Some(value) => front.set_text(key, value),
                None => front.remove(key),
            }
        }
        self.allowance.write(&mut front);
        front.set_text("by", &self.by);
        front.set_text("provenance", self.provenance.name());
        front.set_text("created", super::time::render_rfc3339(self.created));
        let mut body = String::new();
        for line in self.description.trim().lines() {
            // A description can't begin a log of its own.
            let mark = if line.trim_end() == LOG { " " } else { "" };
            body.push_str(&format!("{mark}{line}\n"));
        }
        body.push_str(&format!("\n{LOG}\n\n"));
        for entry in &self.log {
            body.push_str(&format!("{entry}\n"));
        }
        front.render(&body)
    }
}

pub fn is_reserved(id: &str) -> bool {
    RESERVED.iter().any(|(known, _)| *known == id)
}

#[cfg(test)]
mod tests;
