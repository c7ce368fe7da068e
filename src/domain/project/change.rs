//! Changing a project: each change carries a key, is made once, and sets only what is still as it was when decided.
//!
//! A department plans a change while others, and the human, go on. So a change is no new text for the file but what to
//! set, with what stood there before: a field that somebody changed meanwhile is left as they set it, and the log says
//! so. The key in the log makes it happen once, however often a crash has it repeated.

use super::{DESCRIPTION_MAX, LogEntry, Project, ProjectStatus, parse_project};
use crate::domain::allowance::{Allowance, parse_usd, render_usd};
use crate::domain::message::Provenance;
use crate::domain::text::cut;
use crate::domain::time::{Time, parse_rfc3339};
use serde::{Deserialize, Serialize};

/// A change, as a plan holds it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProjectEffect {
    pub id: String,
    /// The action's id, or the message's; `-` for a person's own hand, which nothing repeats.
    pub key: String,
    pub at: String,
    /// A department, or `user`.
    pub by: String,
    #[serde(flatten)]
    pub change: Change,
}

/// What changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "lowercase")]
pub enum Change {
    /// A new project.
    Create { project: Box<NewProject> },
    /// Other values for some fields.
    Set { fields: Vec<FieldChange>, why: String },
    /// A BudgetAllocation: it adds to the budget.
    Allocate { usd: f64 },
}

/// What a new project is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NewProject {
    pub title: String,
    pub description: String,
    pub status: String,
    pub directive: Option<String>,
    pub budget_usd: Option<f64>,
    pub budget_tokens: Option<u64>,
    pub budget_runs: Option<u64>,
    pub provenance: String,
    pub why: String,
}

impl NewProject {
    fn into_project(self, effect: &ProjectEffect, created: Time) -> Project {
        Project {
            id: effect.id.clone(),
            title: self.title,
            description: cut(&self.description, DESCRIPTION_MAX).0.to_string(),
            status: ProjectStatus::parse(&self.status).unwrap_or(ProjectStatus::Proposed),
            status_by: None,
            directive: self.directive,
            allowance: Allowance { usd: self.budget_usd, tokens: self.budget_tokens, runs: self.budget_runs },
            by: effect.by.clone(),
            provenance: Provenance::parse(&self.provenance).unwrap_or(Provenance::External),
            created,
            log: Vec::new(),
            front: Default::default(),
        }
    }
}

/// One field, as it was when the change was decided and as it is to be. Empty is absent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FieldChange {
    pub field: String,
    pub before: String,
    pub after: String,
}

impl FieldChange {
    /// The change that takes this one back.
    pub fn back(&self) -> FieldChange {
        FieldChange { field: self.field.clone(), before: self.after.clone(), after: self.before.clone() }
    }
}

/// Why a change can't be made at all.
pub type Fault = String;

/// The file with the change made; none where it was made before. `text` is the file as it is.
pub fn apply(text: Option<&str>, effect: &ProjectEffect) -> Result<Option<String>, Fault> {
    let project = match text {
        Some(text) => Some(parse_project(text, &effect.id)?),
        None => Project::reserved(&effect.id),
    };
    if project.as_ref().is_some_and(|project| effect.key != "-" && project.has(&effect.key)) {
        return Ok(None);
    }
    let at = parse_rfc3339(&effect.at).ok_or("the change has no time")?;
    let mut project = match (&effect.change, project) {
        (Change::Create { .. }, Some(_)) => return Err("there is another project of that id".to_string()),
        (Change::Create { project }, None) => project.as_ref().clone().into_project(effect, at),
        (_, None) => return Err("there is no such project".to_string()),
        (_, Some(mut project)) => {
            // A reserved project gets its file with its first change.
            if text.is_none() {
                project.created = at;
            }
            project
        }
    };
    let what = make(&mut project, effect);
    let (at, key, by) = (effect.at.clone(), effect.key.clone(), effect.by.clone());
    project.log.push(LogEntry { at, key, by, what });
    Ok(Some(project.render()))
}

/// The file without a change that was made; none where the change made the project.
pub fn take_back(text: &str, effect: &ProjectEffect) -> Result<Option<String>, Fault> {
    let mut project = parse_project(text, &effect.id)?;
    if !project.has(&effect.key) {
        return Ok(Some(text.to_string()));
    }
    match &effect.change {
        Change::Create { .. } => return Ok(None),
        Change::Allocate { usd } => {
            let rest = project.allowance.usd.map(|all| all - usd);
            project.allowance.usd = rest.filter(|rest| *rest > 0.0);
        }
        Change::Set { fields, .. } => {
            fields.iter().for_each(|field| drop(project.set(&field.back(), &effect.by)));
        }
    }
    project.log.retain(|entry| entry.key != effect.key);
    Ok(Some(project.render()))
}

fn make(project: &mut Project, effect: &ProjectEffect) -> String {
    match &effect.change {
        Change::Create { project: new } => format!("{}: {}", project.status, new.why),
        Change::Allocate { usd } => {
            let all = project.allowance.usd.unwrap_or(0.0) + usd;
            project.allowance.usd = Some(all);
            format!("budget_usd +{} is {}", render_usd(*usd), render_usd(all))
        }
        Change::Set { fields, why } => {
            let told: Vec<String> = fields.iter().map(|field| project.set(field, &effect.by)).collect();
            format!("{}: {why}", told.join(", "))
        }
    }
}

impl Project {
    /// A field's value as text; empty where it has none.
    pub fn field(&self, name: &str) -> String {
        match name {
            "title" => self.title.clone(),
            "description" => self.description.clone(),
            "status" => self.status.name().to_string(),
            "directive" => self.directive.clone().unwrap_or_default(),
            "budget_usd" => self.allowance.usd.map(render_usd).unwrap_or_default(),
            "budget_tokens" => self.allowance.tokens.map(|count| count.to_string()).unwrap_or_default(),
            "budget_runs" => self.allowance.runs.map(|count| count.to_string()).unwrap_or_default(),
            _ => String::new(),
        }
    }

    /// Sets a field that is still as it was, and says what came of it.
    fn set(&mut self, change: &FieldChange, by: &str) -> String {
        let FieldChange { field, before, after } = change;
        let now = self.field(field);
        if now != *before && now != *after {
            return format!("{field} stays {}, changed meanwhile", short(&now));
        }
        match field.as_str() {
            "title" => self.title = after.clone(),
            "description" => self.description = cut(after, DESCRIPTION_MAX).0.to_string(),
            "status" => {
                self.status = ProjectStatus::parse(after).unwrap_or(self.status);
                self.status_by = Some(by.to_string());
            }
            "directive" => self.directive = Some(after.clone()).filter(|id| !id.is_empty()),
            "budget_usd" if after.is_empty() => self.allowance.usd = None,
            "budget_usd" => self.allowance.usd = parse_usd(after).or(self.allowance.usd),
            "budget_tokens" if after.is_empty() => self.allowance.tokens = None,
            "budget_tokens" => self.allowance.tokens = after.parse().ok().or(self.allowance.tokens),
            "budget_runs" if after.is_empty() => self.allowance.runs = None,
            "budget_runs" => self.allowance.runs = after.parse().ok().or(self.allowance.runs),
            _ => return format!("{field} is no field"),
        }
        match field.as_str() {
            "description" => "another description".to_string(),
            _ => format!("{field} {} -> {}", short(before), short(after)),
        }
    }
}

fn short(value: &str) -> String {
    if value.is_empty() { "none".to_string() } else { crate::domain::text::one_line(value, 60) }
}
