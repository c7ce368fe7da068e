//! Projects and directives: what is made, changed, given money, and said of them.
//!
//! Projects lie under the root, where other departments and the human change them too: an effect says what to set and
//! what stood there, and carries the action's id as its key.

use super::{Planning, action_id};
use crate::domain::action::{Act, Action};
use crate::domain::id::IdKind;
use crate::domain::message::Provenance;
use crate::domain::plan::Effect;
use crate::domain::project::{Change, FieldChange, NewProject, ProjectEffect, ProjectStatus};
use crate::domain::time::render_rfc3339;

impl Planning<'_> {
    pub(super) fn create_project(&mut self, index: usize, action: &Action) -> (String, String) {
        let Act::CreateProject { title, description, directive, budget_usd } = &action.act else {
            return Default::default();
        };
        let id = self.id(IdKind::Project, index);
        let inherited = || self.facts.at_hand.and_then(|message| message.directive.clone());
        let project = NewProject {
            title: title.trim().to_string(),
            description: description.clone().unwrap_or_default(),
            status: ProjectStatus::Proposed.name().to_string(),
            directive: directive.clone().or_else(inherited),
            budget_usd: *budget_usd,
            budget_tokens: None,
            budget_runs: None,
            provenance: self.facts.provenance.max(Provenance::Department).name().to_string(),
            why: action.reason.clone(),
        };
        let key = action_id(self.facts.run, self.facts.step, index);
        self.change(index, &id, key, Change::Create { project: Box::new(project) });
        self.new_project = Some(id.clone());
        self.projects.insert(index, id.clone());
        self.tell(format!("created {id}"), title);
        (id.clone(), format!("{id} is proposed"))
    }

    pub(super) fn update_project(&mut self, index: usize, action: &Action) -> (String, String) {
        let Act::UpdateProject { id, fields } = &action.act else { return Default::default() };
        let Some(project) = self.facts.portfolio.project(id) else { return Default::default() };
        let change = |(field, after): &(String, String)| FieldChange {
            field: field.clone(),
            before: project.field(field),
            after: after.clone(),
        };
        let fields: Vec<FieldChange> = fields.iter().map(change).collect();
        let names: Vec<&str> = fields.iter().map(|field| field.field.as_str()).collect();
        let names = names.join(", ");
        let why = action.reason.clone();
        let key = action_id(self.facts.run, self.facts.step, index);
        self.change(index, id, key, Change::Set { fields: fields.clone(), why });
        self.tell(format!("changed {names} of {id}"), &action.reason);
        (id.clone(), format!("{names} of {id} changed"))
    }

    /// A BudgetAllocation adds to its project's budget, once: the message is the key.
    pub(super) fn allocate(&mut self, index: usize, message: &str, project: &str, usd: f64) {
        if self.facts.portfolio.project(project).is_some() || self.new_project.as_deref() == Some(project) {
            self.change(index, project, message.to_string(), Change::Allocate { usd });
        }
    }

    fn change(&mut self, index: usize, id: &str, key: String, change: Change) {
        let (at, by) = (render_rfc3339(self.facts.now), self.facts.dept.to_string());
        let effect = ProjectEffect { id: id.to_string(), key, at, by, change };
        self.push(index, Effect::Project(Box::new(effect)));
    }

    /// What a department says of a directive is in its own folder: only the human writes the directive.
    pub(super) fn summarize_directive(&mut self, index: usize, id: &str, text: &str) -> (String, String) {
        let action = action_id(self.facts.run, self.facts.step, index);
        let mut entry = format!("## {} ({action})\n\n", render_rfc3339(self.facts.now));
        for line in text.trim().lines() {
            // A summary can't begin an entry of its own.
            let mark = if line.starts_with("## ") { " " } else { "" };
            entry.push_str(&format!("{mark}{line}\n"));
        }
        entry.push('\n');
        let path = format!("directives/{id}.md");
        self.push(index, Effect::Append { path: path.clone(), text: entry });
        self.tell(format!("summarized {id}"), text);
        (id.to_string(), format!("in {path}"))
    }
}
