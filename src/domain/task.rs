//! A task of the board, as it stands in `tasks/<id>.md`: its front matter, its description and its comments.
//!
//! ```text
//! body     = description NL "## Context" NL entries ... "## Questions" NL entries
//! entry    = "- " time " " who " (" source ") " provenance NL { "  " line NL }
//! ```
//!
//! The six sections stand at the end, in their order. What is said in a comment is indented, so that no text can make a
//! heading or an entry of its own. What a person wrote between them stays as it is. The rules of the board are in
//! `board`.

use super::front_matter::{FrontMatter, FrontMatterFault, Value, parse_front_matter};
use super::id::is_id;
use super::message::Provenance;
pub use super::priority::Priority;
use super::time::{Time, parse_rfc3339, render_rfc3339};
pub use glance::{Glance, glance};
use std::fmt;

/// The newest format this program knows.
pub const TASK_SCHEMA: u64 = 1;

/// Where a task stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum TaskStatus {
    Inbox,
    InProgress,
    Review,
    Done,
}

impl TaskStatus {
    pub const ALL: [TaskStatus; 4] =
        [TaskStatus::Inbox, TaskStatus::InProgress, TaskStatus::Review, TaskStatus::Done];

    pub fn name(self) -> &'static str {
        match self {
            TaskStatus::Inbox => "inbox",
            TaskStatus::InProgress => "in_progress",
            TaskStatus::Review => "review",
            TaskStatus::Done => "done",
        }
    }

    pub fn parse(text: &str) -> Option<TaskStatus> {
        TaskStatus::ALL.into_iter().find(|status| status.name() == text)
    }
}

impl fmt::Display for TaskStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Where a comment belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
#[value(rename_all = "PascalCase")]
pub enum Section {
    Context,
    Progress,
    Evidence,
    Risks,
    Next,
    Questions,
}

/// The sections' names, as an action gives them.
pub const SECTIONS: &[&str] = &["Context", "Progress", "Evidence", "Risks", "Next", "Questions"];

impl Section {
    pub const ALL: [Section; 6] = [
        Section::Context,
        Section::Progress,
        Section::Evidence,
        Section::Risks,
        Section::Next,
        Section::Questions,
    ];

    pub fn name(self) -> &'static str {
        SECTIONS[self as usize]
    }

    pub fn parse(text: &str) -> Option<Section> {
        Section::ALL.into_iter().find(|section| section.name() == text)
    }
}

/// Something said about a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comment {
    pub section: Section,
    pub at: Time,
    pub by: String,
    /// The action it came by, or `none` for a person's.
    pub source: String,
    pub provenance: Provenance,
    pub text: String,
}

/// A task as it was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    pub id: String,
    pub title: String,
    pub status: TaskStatus,
    pub priority: Priority,
    /// Who works on it; in `inbox`, who is to go on with it after a review.
    pub owner: Option<String>,
    /// Who worked on it last.
    pub worker: Option<String>,
    /// The last time it was given to somebody: each has a mark of its own, which the work that it started carries.
    pub assignment: Option<String>,
    pub created_by: String,
    pub created: Time,
    /// When it was given to its owner, or its owner was last heard of.
    pub heard: Time,
    pub due: Option<Time>,
    /// The due date that the director has seen pass.
    pub due_told: Option<Time>,
    /// The giving of the task for which the director has looked whether somebody should help.
    pub help_told: Option<String>,
    pub depends_on: Vec<String>,
    pub project: Option<String>,
    /// The task that this one helps.
    pub assists: Option<String>,
    pub not_twin_of: Vec<String>,
    pub provenance: Provenance,
    /// The approval by which a human vouched for it.
    pub vouched: Option<String>,
    pub nudges: u64,
    pub nudged: Option<Time>,
    /// The validator's verdict on what is in review: pass, fail or not_run; and who gave it.
    pub verdict: Option<String>,
    pub verdict_by: Option<String>,
    /// Whose word it was that it is done.
    pub approved_by: Option<String>,
    /// The approvals, questions and escalations that it waits for.
    pub waits_for: Vec<String>,
    /// Who was named in a comment and has not yet looked.
    pub mentioned: Vec<String>,
    pub merged_into: Option<String>,
    /// When it was done or merged.
    pub closed: Option<Time>,
    body: String,
    front: FrontMatter,
}

/// What a new task says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewTask {
    pub title: String,
    pub description: String,
    pub priority: Priority,
    pub depends_on: Vec<String>,
    pub owner: Option<String>,
    pub due: Option<Time>,
    pub project: Option<String>,
    pub assists: Option<String>,
    pub not_twin_of: Vec<String>,
}

/// Why a file can't be taken as a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskFault {
    FrontMatter(FrontMatterFault),
    None,
    Schema(String),
    Field { key: &'static str, what: String },
}

impl fmt::Display for TaskFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TaskFault::FrontMatter(fault) => write!(f, "{fault}"),
            TaskFault::None => f.write_str("it has no front matter"),
            TaskFault::Schema(found) => {
                write!(f, "its schema is {found}, and this program knows {TASK_SCHEMA}")
            }
            TaskFault::Field { key, what } => write!(f, "`{key}` {what}"),
        }
    }
}

fn field<T>(key: &'static str, what: impl Into<String>) -> Result<T, TaskFault> {
    Err(TaskFault::Field { key, what: what.into() })
}

/// Reads a key by a parser; absent where the key is.
fn read<T>(
    front: &FrontMatter,
    key: &'static str,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<Option<T>, TaskFault> {
    match front.text(key) {
        None => Ok(None),
        Some(text) => match parse(text) {
            Some(value) => Ok(Some(value)),
            None => field(key, format!("can't be `{}`", super::text::one_line(text, 60))),
        },
    }
}

fn need<T>(key: &'static str, value: Option<T>) -> Result<T, TaskFault> {
    value.map_or_else(|| field(key, "is missing"), Ok)
}

/// Reads a task whose file's name gives it this id.
pub fn parse_task(text: &str, id: &str) -> Result<Task, TaskFault> {
    let split = parse_front_matter(text).map_err(TaskFault::FrontMatter)?;
    let front = split.front.ok_or(TaskFault::None)?;
    let schema = front.text("schema").unwrap_or("missing");
    if schema.parse::<u64>().is_ok_and(|schema| schema > TASK_SCHEMA) || schema.parse::<u64>().is_err() {
        return Err(TaskFault::Schema(super::text::one_line(schema, 20)));
    }
    let text_of = |key: &str| front.text(key).map(str::to_string);
    if text_of("id").as_deref() != Some(id) {
        return field("id", format!("is not `{id}`, which its name says"));
    }
    let created = need("created", read(&front, "created", parse_rfc3339)?)?;
    let task = Task {
        id: id.to_string(),
        title: need("title", text_of("title"))?,
        status: need("status", read(&front, "status", TaskStatus::parse)?)?,
        priority: need("priority", read(&front, "priority", Priority::parse)?)?,
        owner: text_of("owner"),
        worker: text_of("worker"),
        assignment: text_of("assignment"),
        created_by: text_of("created_by").unwrap_or_else(|| "file".to_string()),
        created,
        heard: read(&front, "heard", parse_rfc3339)?.unwrap_or(created),
        due: read(&front, "due", parse_rfc3339)?,
        due_told: read(&front, "due_told", parse_rfc3339)?,
        help_told: front.text("help_told").map(str::to_string),
        depends_on: front.list("depends_on"),
        project: text_of("project"),
        assists: text_of("assists"),
        not_twin_of: front.list("not_twin_of"),
        // What says nothing of where it comes from is trusted least.
        provenance: read(&front, "provenance", Provenance::parse)?.unwrap_or(Provenance::External),
        vouched: text_of("vouched"),
        nudges: read(&front, "nudges", |text| text.parse().ok())?.unwrap_or(0),
        nudged: read(&front, "nudged", parse_rfc3339)?,
        verdict: text_of("verdict"),
        verdict_by: text_of("verdict_by"),
        approved_by: text_of("approved_by"),
        // Earlier versions wrote one, as plain text.
        waits_for: front.list("waits_for"),
        mentioned: front.list("mentioned"),
        merged_into: text_of("merged_into"),
        closed: read(&front, "closed", parse_rfc3339)?,
        body: split.body.to_string(),
        front,
    };
    task.check()?;
    Ok(task)
}

impl Task {
    /// A new task on the board, in `inbox`.
    pub fn new(id: &str, new: &NewTask, by: &str, provenance: Provenance, now: Time) -> Task {
        let mut body = format!("{}\n", new.description.trim_end());
        for section in Section::ALL {
            body.push_str(&format!("\n## {}\n", section.name()));
        }
        Task {
            id: id.to_string(),
            title: new.title.trim().to_string(),
            status: TaskStatus::Inbox,
            priority: new.priority,
            owner: None,
            worker: None,
            assignment: None,
            created_by: by.to_string(),
            created: now,
            heard: now,
            due: new.due,
            due_told: None,
            help_told: None,
            depends_on: new.depends_on.clone(),
            project: new.project.clone(),
            assists: new.assists.clone(),
            not_twin_of: new.not_twin_of.clone(),
            provenance,
            vouched: None,
            nudges: 0,
            nudged: None,
            verdict: None,
            verdict_by: None,
            approved_by: None,
            waits_for: Vec::new(),
            mentioned: Vec::new(),
            merged_into: None,
            closed: None,
            body,
            front: FrontMatter::default(),
        }
    }

    /// What no rule of the board can lead to was not written by the tool.
    fn check(&self) -> Result<(), TaskFault> {
        let works = matches!(self.status, TaskStatus::InProgress | TaskStatus::Review);
        if works && self.owner.is_none() {
            return field("owner", format!("is missing, and the task is {}", self.status));
        }
        for id in self.depends_on.iter().chain(&self.assists).chain(&self.merged_into) {
            if !is_id(id) {
                return field("depends_on", format!("names `{}`", super::text::one_line(id, 60)));
            }
        }
        Ok(())
    }

    /// Whether an agent is at work on it by that very assignment.
    pub fn is_work_of(&self, agent: &str, assignment: Option<&str>) -> bool {
        self.status == TaskStatus::InProgress
            && self.owner.as_deref() == Some(agent)
            && self.assignment.as_deref() == assignment
    }

    /// Whether it is still on the board.
    pub fn is_open(&self) -> bool {
        self.status != TaskStatus::Done && self.merged_into.is_none()
    }

    /// The whole file.
    pub fn render(&self) -> String {
        let mut front = self.front.clone();
        front.set_number("schema", TASK_SCHEMA);
        front.set_text("id", &self.id);
        front.set_text("title", &self.title);
        front.set_text("status", self.status.name());
        front.set_text("priority", self.priority.name());
        let time = |time: Option<Time>| time.map(render_rfc3339);
        let texts = [
            ("owner", self.owner.clone()),
            ("worker", self.worker.clone()),
            ("assignment", self.assignment.clone()),
            ("created_by", Some(self.created_by.clone())),
            ("created", Some(render_rfc3339(self.created))),
            ("heard", Some(render_rfc3339(self.heard))),
            ("due", time(self.due)),
            ("due_told", time(self.due_told)),
            ("help_told", self.help_told.clone()),
            ("project", self.project.clone()),
            ("assists", self.assists.clone()),
            ("provenance", Some(self.provenance.name().to_string())),
            ("vouched", self.vouched.clone()),
            ("nudged", time(self.nudged)),
            ("verdict", self.verdict.clone()),
            ("verdict_by", self.verdict_by.clone()),
            ("approved_by", self.approved_by.clone()),
            ("merged_into", self.merged_into.clone()),
            ("closed", time(self.closed)),
        ];
        for (key, value) in texts {
            match value {
                Some(value) => front.set_text(key, value),
                None => front.remove(key),
            }
        }
        let lists = [
            ("depends_on", &self.depends_on),
            ("not_twin_of", &self.not_twin_of),
            ("waits_for", &self.waits_for),
            ("mentioned", &self.mentioned),
        ];
        for (key, items) in lists {
            match items.is_empty() {
                true => front.remove(key),
                false => front.set(key, Value::List(items.clone())),
            }
        }
        match self.nudges {
            0 => front.remove("nudges"),
            count => front.set_number("nudges", count),
        }
        front.render(&self.body)
    }
}

mod comments;
mod glance;
#[cfg(test)]
mod tests;
