//! What the templates of a playbook see: the message or the task on the table, its project and its directive.

use crate::domain::agent::Agent;
use crate::domain::directive::Directive;
use crate::domain::message::{Message, TaskItem};
use crate::domain::portfolio::Portfolio;
use crate::domain::project::Project;
use minijinja::Value as TemplateValue;

/// What a result's template sees.
pub fn work_values(dept: &str, agent: &Agent, task: &Message, portfolio: &Portfolio) -> TemplateValue {
    minijinja::context! {
        agent => minijinja::context! { name => agent.name.as_str(), role => agent.role.as_str() },
        ..message_values(dept, task, portfolio)
    }
}

/// What a rule's templates see.
pub fn message_values(dept: &str, message: &Message, portfolio: &Portfolio) -> TemplateValue {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    minijinja::context! {
        dept => dept,
        message => minijinja::context! {
            id => message.id.as_str(),
            from => message.from.as_str(),
            kind => message.kind.as_str(),
            subject => message.subject.as_str(),
            body => message.body.as_str(),
            project => text(&message.project),
            directive => text(&message.directive),
            ref => text(&message.reference),
            thread => message.thread.as_str(),
        },
        task => task_values(message),
        project => project_values(message, portfolio),
        directive => directive_values(message, portfolio),
    }
}

/// The project that the message or the task belongs to; empty where there is none.
fn project_values(message: &Message, portfolio: &Portfolio) -> TemplateValue {
    let project = message.project.as_ref().and_then(|id| portfolio.project(id));
    let of = |text: fn(&Project) -> &str| project.as_ref().map(text).unwrap_or_default().to_string();
    minijinja::context! {
        id => of(|one| &one.id),
        title => of(|one| &one.title),
        status => of(|one| one.status.name()),
    }
}

/// The directive that it is for; empty where there is none.
fn directive_values(message: &Message, portfolio: &Portfolio) -> TemplateValue {
    let id = portfolio.directive_of(message.project.as_deref(), message.directive.as_deref());
    let directive = id.and_then(|id| portfolio.directive(&id));
    let of = |text: fn(&Directive) -> &str| directive.map(text).unwrap_or_default().to_string();
    minijinja::context! {
        id => of(|one| &one.id),
        title => of(|one| &one.title),
        status => of(|one| one.status.name()),
        priority => of(|one| one.priority.name()),
    }
}

/// The task on the table; empty where it is a message.
fn task_values(message: &Message) -> TemplateValue {
    let item = message.item.as_deref();
    let of = |text: fn(&TaskItem) -> &str| item.map(text).unwrap_or_default().to_string();
    let own = |text: &str| item.map(|_| text.to_string()).unwrap_or_default();
    minijinja::context! {
        id => own(&message.id),
        title => own(&message.subject),
        project => item.and(message.project.clone()).unwrap_or_default(),
        owner => of(|item| &item.owner),
        priority => of(|item| item.priority),
        verdict => of(|item| &item.verdict),
        description => of(|item| &item.description),
    }
}

/// Some text for everything that a template may see.
pub(super) fn sample_values() -> TemplateValue {
    let text = "sample text";
    minijinja::context! {
        dept => text,
        message => minijinja::context! {
            id => text, from => text, kind => text, subject => text, body => text,
            project => text, directive => text, ref => text, thread => text,
        },
        task => minijinja::context! {
            id => text, title => text, project => text, owner => text, priority => text, verdict => text,
            description => text,
        },
        agent => minijinja::context! { name => text, role => text },
        project => minijinja::context! { id => text, title => text, status => text },
        directive => minijinja::context! { id => text, title => text, status => text, priority => text },
    }
}
