//! The board of a department: its tasks, its roster, and the one place where either is changed.
//!
//! A change is a [`Deed`], done by somebody at some time. [`Board::apply`] carries it out on the value or says by which
//! rule it is refused, so that people's commands, a director's actions and an agent's results obey the same rules.
//! What changed is told as changes of files; whoever holds the department's lock writes them.
//!
//! What holds of every board: a task in progress or in review has an owner and is not blocked; a blocked task has none;
//! the director owns nothing; nothing depends on itself, however far round; no two open tasks say the same; and what is
//! done was in review, with the verdict and the word that the charter asks for.

mod eligible;
mod graph;
mod making;
mod moves;
mod roster;
mod talk;
#[cfg(test)]
mod tests;
mod twins;

pub use eligible::{Idle, Item, ItemKind, moments_of};
pub use talk::{NUDGE_AFTER_S, NUDGE_GRACE_S, NUDGES_MAX, mentions_in};

use super::agent::{Agent, NewAgent, Works};
use super::charter::Board as BoardRules;
use super::digest::sha256;
use super::id::Dept;
use super::message::Provenance;
use super::task::{Comment, NewTask, Priority, Section, Task, TaskStatus};
use super::time::{Time, render_month};
use std::collections::{BTreeMap, BTreeSet};

/// Who does something on the board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Actor<'a> {
    Human,
    Director,
    Validator,
    Agent(&'a str),
    /// What the tool does by itself.
    Tool,
}

impl Actor<'_> {
    pub fn name(&self) -> &str {
        match self {
            Actor::Human => "user",
            Actor::Director => "director",
            Actor::Validator => "validator",
            Actor::Agent(name) => name,
            Actor::Tool => "harness",
        }
    }
}

/// When, by whom and by what something is done.
#[derive(Clone, Copy)]
pub struct At<'a> {
    pub actor: Actor<'a>,
    pub now: Time,
    /// The action's id, or `none` for a person's.
    pub source: &'a str,
    pub provenance: Provenance,
    /// The approval by which a human vouched for it.
    pub vouched: Option<&'a str>,
    /// The id of the so-manieth task that is made.
    pub new_id: &'a dyn Fn(usize) -> String,
}

/// Whether a person's own look stands for the validator's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vouch {
    No,
    ForValidator,
}

/// One part of a task that is split.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    pub title: String,
    pub description: String,
    pub priority: Option<Priority>,
}

/// What is to be changed in a task; what is absent stays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fields {
    pub title: Option<String>,
    pub description: Option<String>,
    pub priority: Option<Priority>,
    pub due: Option<Time>,
    pub project: Option<String>,
    pub depends_on: Option<Vec<String>>,
    pub not_twin_of: Vec<String>,
}

/// One change of the board.
#[derive(Clone, Debug, PartialEq)]
pub enum Deed {
    Create(NewTask),
    Update {
        id: String,
        fields: Fields,
    },
    Merge {
        id: String,
        duplicates: Vec<String>,
    },
    Split {
        id: String,
        parts: Vec<Part>,
    },
    Assign {
        id: String,
        owner: String,
    },
    Move {
        id: String,
        status: TaskStatus,
        comment: String,
        vouch: Vouch,
    },
    Comment {
        id: String,
        section: Section,
        text: String,
    },
    Depend {
        id: String,
        on: Vec<String>,
        drop: Vec<String>,
    },
    Nudge {
        id: String,
        text: String,
    },
    Validate {
        id: String,
        verdict: String,
        evidence: String,
    },
    /// What an agent's engine or pipeline came to.
    Result {
        id: String,
        /// The giving of the task that started the work.
        assignment: Option<String>,
        outcome: String,
        text: String,
    },
    /// The task waits for an approval, a question or an escalation.
    Hold {
        id: String,
        waits_for: String,
    },
    /// The director has looked: a mention is an item once.
    Seen {
        id: String,
    },
    /// The director has looked whether somebody should help: it is asked once for each giving of the task.
    Offered {
        id: String,
    },
    AddAgent(NewAgent),
    RetireAgent {
        name: String,
        why: String,
    },
}

impl Deed {
    /// Whether it may change what depends on what, or open again what others rest on.
    pub fn turns_dependencies(&self) -> bool {
        match self {
            Deed::Create(new) => !new.depends_on.is_empty(),
            Deed::Update { fields, .. } => fields.depends_on.is_some(),
            Deed::Move { status, .. } => *status == TaskStatus::Inbox,
            Deed::Merge { .. } | Deed::Depend { .. } => true,
            _ => false,
        }
    }
}

/// A rule that refuses a deed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoardFault {
    pub code: &'static str,
    pub message: String,
    pub hint: Option<String>,
}

impl BoardFault {
    fn hint(mut self, hint: impl Into<String>) -> BoardFault {
        self.hint = Some(hint.into());
        self
    }
}

fn fault(code: &'static str, message: impl Into<String>) -> BoardFault {
    BoardFault { code, message: message.into(), hint: None }
}

fn refuse<T>(code: &'static str, message: impl Into<String>) -> Result<T, BoardFault> {
    Err(fault(code, message))
}

/// Work that is to be started for an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    pub agent: String,
    pub works: Works,
    pub task: String,
    /// The mark of the assignment that starts it.
    pub assignment: Option<String>,
    pub project: Option<String>,
    /// The directive that led to it.
    pub directive: Option<String>,
}

/// What a deed came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// The task or agent it was about.
    pub target: String,
    pub what: String,
    pub created: Vec<String>,
    pub jobs: Vec<Job>,
}

/// Where a task or an agent stands on disk, and the hash of what it says there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    pub path: String,
    pub sha256: String,
}

/// A file that is to be changed. Paths are beneath the department's folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileChange {
    Create { path: String, text: String },
    Replace { path: String, before: String, text: String },
    Move { from: String, to: String, before: String, text: String },
}

/// A board as it was read, and what was changed since.
#[derive(Clone, Debug)]
pub struct Board {
    pub dept: Dept,
    pub rules: BoardRules,
    /// The names of `org.toml` that an agent may have.
    pub engines: Vec<String>,
    pub pipelines: Vec<String>,
    tasks: BTreeMap<String, Task>,
    agents: BTreeMap<String, Agent>,
    origins: BTreeMap<String, Origin>,
    changed: BTreeSet<String>,
}

impl Board {
    pub fn new(dept: Dept, rules: BoardRules) -> Board {
        Board {
            dept,
            rules,
            engines: Vec::new(),
            pipelines: Vec::new(),
            tasks: BTreeMap::new(),
            agents: BTreeMap::new(),
            origins: BTreeMap::new(),
            changed: BTreeSet::new(),
        }
    }

    pub fn add_task(&mut self, task: Task, origin: Origin) {
        self.origins.insert(task.id.clone(), origin);
        self.tasks.insert(task.id.clone(), task);
    }

    pub fn add_agent(&mut self, agent: Agent, origin: Origin) {
        self.origins.insert(agent_key(&agent.name), origin);
        self.agents.insert(agent.name.clone(), agent);
    }

    /// Every open task, by id.
    pub fn open_tasks(&self) -> impl Iterator<Item = &Task> {
        self.tasks.values().filter(|task| task.is_open())
    }

    /// A task, open or closed.
    pub fn find_task(&self, id: &str) -> Option<&Task> {
        self.tasks.get(id)
    }

    pub fn agents(&self) -> impl Iterator<Item = &Agent> {
        self.agents.values()
    }

    pub fn find_agent(&self, name: &str) -> Option<&Agent> {
        self.agents.get(name)
    }

    /// Carries out one deed, whole, or says what refuses it and changes nothing.
    pub fn apply(&mut self, deed: &Deed, at: &At<'_>) -> Result<Done, BoardFault> {
        let mut next = self.clone();
        let done = next.carry_out(deed, at)?;
        *self = next;
        Ok(done)
    }

    fn carry_out(&mut self, deed: &Deed, at: &At<'_>) -> Result<Done, BoardFault> {
        match deed {
            Deed::Create(new) => self.create(new, at),
            Deed::Update { id, fields } => self.update(id, fields, at),
            Deed::Merge { id, duplicates } => self.merge(id, duplicates, at),
            Deed::Split { id, parts } => self.split(id, parts, at),
            Deed::Assign { id, owner } => self.assign(id, owner, at),
            Deed::Move { id, status, comment, vouch } => self.shift(id, *status, comment, *vouch, at),
            Deed::Comment { id, section, text } => self.comment(id, *section, text, at),
            Deed::Depend { id, on, drop } => self.depend(id, on, drop, at),
            Deed::Nudge { id, text } => self.nudge(id, text, at),
            Deed::Validate { id, verdict, evidence } => self.validate(id, verdict, evidence, at),
            Deed::Result { id, assignment, outcome, text } => {
                self.take_result(id, assignment.as_deref(), (outcome, text), at)
            }
            Deed::Hold { id, waits_for } => self.hold(id, waits_for),
            Deed::Seen { id } => self.seen(id, at.now),
            Deed::Offered { id } => self.offered(id),
            Deed::AddAgent(new) => self.hire(new, at),
            Deed::RetireAgent { name, why } => self.retire(name, why, at),
        }
    }

    /// The files that are to change, by the tasks and agents that did.
    pub fn changes(&self) -> Vec<(String, FileChange)> {
        let change = |key: &String| {
            let (path, text) = match key.strip_prefix(AGENT_KEY) {
                Some(name) => (format!("agents/{name}.md"), self.agents.get(name)?.render()),
                None => {
                    let task = self.tasks.get(key)?;
                    (task_path(task), task.render())
                }
            };
            let change = match self.origins.get(key).cloned() {
                None => FileChange::Create { path, text },
                Some(origin) if origin.sha256 == sha256(text.as_bytes()) => return None,
                Some(origin) if origin.path == path => {
                    FileChange::Replace { path, before: origin.sha256, text }
                }
                Some(origin) => FileChange::Move { from: origin.path, to: path, before: origin.sha256, text },
            };
            Some((key.clone(), change))
        };
        self.changed.iter().filter_map(change).collect()
    }

    /// The tasks and agents that were changed so far; each is a key of [`Board::changes`].
    pub fn changed(&self) -> &BTreeSet<String> {
        &self.changed
    }

    /// An open task.
    fn open(&self, id: &str) -> Result<&Task, BoardFault> {
        match self.tasks.get(id) {
            Some(task) if task.is_open() => Ok(task),
            Some(task) => {
                let how =
                    task.merged_into.as_ref().map_or("done".to_string(), |to| format!("merged into {to}"));
                refuse("task_closed", format!("`{id}` is {how}"))
            }
            None => refuse("unknown_task", format!("there is no task `{}`", super::text::one_line(id, 60))),
        }
    }

    /// An open task, to be changed.
    fn edit(&mut self, id: &str) -> Result<&mut Task, BoardFault> {
        self.open(id)?;
        self.touch(id)
    }

    /// A task, open or not, to be changed.
    fn touch(&mut self, id: &str) -> Result<&mut Task, BoardFault> {
        self.changed.insert(id.to_string());
        self.tasks.get_mut(id).ok_or_else(|| fault("unknown_task", format!("there is no task `{id}`")))
    }

    fn insert(&mut self, task: Task) {
        self.changed.insert(task.id.clone());
        self.tasks.insert(task.id.clone(), task);
    }
}

/// What marks the key of an agent; no task's id begins so.
const AGENT_KEY: &str = "@";

fn agent_key(name: &str) -> String {
    format!("{AGENT_KEY}{name}")
}

/// Where a task's file belongs.
pub fn task_path(task: &Task) -> String {
    match task.closed.filter(|_| !task.is_open()) {
        Some(closed) => format!("archive/tasks/{}/{}.md", render_month(closed), task.id),
        None => format!("tasks/{}.md", task.id),
    }
}

fn say(task: &mut Task, section: Section, text: &str, at: &At<'_>) {
    task.add_comment(&Comment {
        section,
        at: at.now,
        by: at.actor.name().to_string(),
        source: at.source.to_string(),
        provenance: at.provenance,
        text: text.to_string(),
    });
    // What is said of a task is shown with it: it is trusted no more than the least of it.
    task.provenance = task.provenance.max(at.provenance);
}
