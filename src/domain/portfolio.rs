//! The directives and projects there are, taken together: what is held, whose money a call takes, what is promised.

use super::allowance::{Allowance, render_usd};
use super::budget::{Limit, Scope, Spend, limits_in_all};
use super::directive::Directive;
use super::message::{Message, Provenance};
use super::project::{Project, ProjectStatus, is_reserved};
use super::role::Role;
use super::text::one_line;
use super::time::Time;
use std::collections::BTreeMap;

/// Everything under the root's `directives/` and `projects/`.
#[derive(Clone, Debug, Default)]
pub struct Portfolio {
    /// Oldest first.
    pub directives: Vec<Directive>,
    /// Oldest first; the reserved ones that were never changed are not among them.
    pub projects: Vec<Project>,
    /// Files that can't be read: the id that the name gives, and why. Their work is held.
    pub unreadable: Vec<(String, String)>,
}

/// What holds some work: the directive or project, and the word for why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hold {
    pub id: String,
    pub why: String,
}

impl std::fmt::Display for Hold {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let what = if self.id.starts_with("d-") { "the directive" } else { "the project" };
        write!(f, "{what} {} {}", self.id, self.why)
    }
}

impl Portfolio {
    pub fn directive(&self, id: &str) -> Option<&Directive> {
        self.directives.iter().find(|directive| directive.id == id)
    }

    /// A project by its id; a reserved one is always there.
    pub fn project(&self, id: &str) -> Option<Project> {
        let found = self.projects.iter().find(|project| project.id == id).cloned();
        found.or_else(|| Project::reserved(id).filter(|_| !self.is_unreadable(id)))
    }

    fn is_unreadable(&self, id: &str) -> bool {
        self.unreadable.iter().any(|(known, _)| known == id)
    }

    /// Every project, the reserved ones first.
    pub fn all_projects(&self) -> Vec<Project> {
        let reserved = super::project::RESERVED.into_iter().filter_map(|(id, _)| self.project(id));
        reserved.chain(self.projects.iter().filter(|project| !is_reserved(&project.id)).cloned()).collect()
    }

    /// The directive that something belongs to: the one it names, else its project's.
    pub fn directive_of(&self, project: Option<&str>, directive: Option<&str>) -> Option<String> {
        let of_project = || self.project(project?).and_then(|project| project.directive);
        directive.map(str::to_string).or_else(of_project)
    }

    /// What holds the work of a project and a directive; none where it may go on.
    pub fn held(&self, project: Option<&str>, directive: Option<&str>) -> Option<Hold> {
        let hold = |id: &str, why: String| Some(Hold { id: id.to_string(), why });
        if let Some(id) = project {
            if self.is_unreadable(id) {
                return hold(id, "can't be read".to_string());
            }
            if let Some(project) = self.project(id).filter(|project| project.status.holds()) {
                return hold(id, format!("is {}", project.status));
            }
        }
        // Both count: a message may name a directive that its project does not belong to.
        let named = directive.map(str::to_string);
        for id in named.into_iter().chain(self.directive_of(project, None)) {
            if self.is_unreadable(&id) {
                return hold(&id, "can't be read".to_string());
            }
            if let Some(directive) = self.directive(&id).filter(|directive| directive.status.holds()) {
                return hold(&id, format!("is {}", directive.status));
            }
        }
        None
    }

    pub fn holds(&self, message: &Message) -> Option<Hold> {
        self.held(message.project.as_deref(), message.directive.as_deref())
    }

    /// Everything that money is spent for, by its id.
    pub fn scopes(&self) -> Vec<(String, Scope)> {
        let projects =
            self.all_projects().into_iter().map(|one| (one.id.clone(), Scope::Project(one.id.clone())));
        let directives = self.directives.iter().map(|one| (one.id.clone(), Scope::Directive(one.id.clone())));
        projects.chain(directives).collect()
    }

    /// When the first of them began; none where there is nothing.
    pub fn since(&self) -> Option<Time> {
        let projects = self.projects.iter().map(|project| project.created);
        projects.chain(self.directives.iter().map(|directive| directive.created)).min()
    }

    /// A line for each that is not over, for a prompt: open directives first, then projects. Who acts sees no words of
    /// an external text's making.
    pub fn lines(&self, spent: &BTreeMap<String, f64>, role: Role) -> Vec<String> {
        let money = |id: &str, allowance: &Allowance| {
            let spent = spent.get(id).copied().unwrap_or(0.0);
            match allowance.usd {
                Some(usd) => format!(", {spent:.2} of {} USD spent", render_usd(usd)),
                None if spent > 0.0 => format!(", {spent:.2} USD spent"),
                None => String::new(),
            }
        };
        let open = self.directives.iter().filter(|one| {
            matches!(
                one.status,
                super::directive::DirectiveStatus::Open | super::directive::DirectiveStatus::Paused
            )
        });
        let mut lines: Vec<String> = open
            .map(|one| {
                let due = one.deadline.as_ref().map(|due| format!(", due {due}")).unwrap_or_default();
                let (id, status, priority) = (&one.id, one.status, one.priority);
                format!(
                    "- {id} directive {status}, {priority}{due}{}: {}",
                    money(id, &one.allowance),
                    one_line(&one.title, 120)
                )
            })
            .collect();
        let over = |one: &Project| matches!(one.status, ProjectStatus::Cancelled | ProjectStatus::Launched);
        for one in self.projects.iter().filter(|one| !over(one)) {
            let of = one.directive.as_ref().map(|id| format!(" of {id}")).unwrap_or_default();
            let hidden = role.acts() && one.provenance == Provenance::External;
            let title = if hidden { "[external]".to_string() } else { one_line(&one.title, 120) };
            let (id, status) = (&one.id, one.status);
            lines.push(format!("- {id} project {status}{of}{}: {title}", money(id, &one.allowance)));
        }
        lines
    }

    /// The limits that the project and the directive of a call set by themselves.
    pub fn limits_for(&self, spend: &Spend) -> Vec<Limit> {
        let project = spend.project.as_ref().and_then(|id| self.project(id));
        let directive = spend.directive.as_ref().and_then(|id| self.directive(id));
        let mut limits = Vec::new();
        if let Some(project) = project {
            let scope = Scope::Project(project.id.clone());
            limits.extend(limits_in_all(scope, &project.allowance, project.created));
        }
        if let Some(directive) = directive {
            let scope = Scope::Directive(directive.id.clone());
            limits.extend(limits_in_all(scope, &directive.allowance, directive.created));
        }
        limits
    }

    /// Every limit that a project or a directive sets by itself.
    pub fn limits(&self) -> Vec<Limit> {
        let row = |scope: Scope, allowance: &Allowance, since| limits_in_all(scope, allowance, since);
        let projects = self
            .projects
            .iter()
            .flat_map(|one| row(Scope::Project(one.id.clone()), &one.allowance, one.created));
        let directives = self
            .directives
            .iter()
            .flat_map(|one| row(Scope::Directive(one.id.clone()), &one.allowance, one.created));
        projects.chain(directives).collect()
    }

    /// What the projects of a directive may cost together, but for one of them. What is cancelled promises nothing.
    pub fn promised(&self, directive: &str, but: &str) -> f64 {
        let of_it = self.projects.iter().filter(|project| project.directive.as_deref() == Some(directive));
        let others = of_it.filter(|project| project.id != but && project.status != ProjectStatus::Cancelled);
        others.filter_map(|project| project.allowance.usd).sum()
    }
}
