//! What the state of directives and projects allows: whether they are there, held, whose they are, and what is promised.

use super::refuse;
use crate::domain::action::{Act, Action};
use crate::domain::allowance::render_usd;
use crate::domain::board::{Deed, Fields};
use crate::domain::message::Message;
use crate::domain::planning::named_action;
use crate::domain::portfolio::Portfolio;
use crate::domain::project::{Project, ProjectStatus};
use crate::domain::task::NewTask;
use crate::domain::verdict::Ruling;
use std::borrow::Cow;

/// The directives and projects as the actions of an answer so far leave them. A project that one of them makes has the
/// name by which a later one may call it, `action-2`; its id is not known before the answer is planned.
pub(super) struct Ahead<'a> {
    portfolio: Cow<'a, Portfolio>,
    /// The project made last: what names none belongs to it.
    latest: Option<String>,
}

impl<'a> Ahead<'a> {
    pub(super) fn of(portfolio: &'a Portfolio) -> Ahead<'a> {
        Ahead { portfolio: Cow::Borrowed(portfolio), latest: None }
    }

    pub(super) fn rule(&self, action: &Action, led_by: Option<&Message>) -> Option<Ruling> {
        rule_portfolio(&self.portfolio, &self.with_project(action, led_by), led_by)
    }

    /// What is sent and names no project belongs to the one that was just made.
    fn with_project<'b>(&self, action: &'b Action, led_by: Option<&Message>) -> Cow<'b, Action> {
        let names_none = |message: &Message| message.project.is_none();
        match &action.act {
            Act::SendMessage { project: None, .. }
                if self.latest.is_some() && led_by.is_none_or(names_none) =>
            {
                let mut action = action.clone();
                if let Act::SendMessage { project, .. } = &mut action.act {
                    *project = self.latest.clone();
                }
                Cow::Owned(action)
            }
            _ => Cow::Borrowed(action),
        }
    }

    /// An action is allowed: what it makes, gives and changes counts for those after it.
    pub(super) fn move_on(&mut self, index: usize, action: &Action, led_by: Option<&Message>) {
        match &self.with_project(action, led_by).act {
            Act::CreateProject { title, directive, budget_usd, .. } => {
                let name = format!("action-{}", index + 1);
                let directive = directive.clone().or_else(|| led_by?.directive.clone());
                let project = Project::proposed(&name, title, directive, *budget_usd);
                self.portfolio.to_mut().projects.push(project);
                self.latest = Some(name);
            }
            Act::SendMessage { kind, project, amount_usd: Some(usd), .. } if kind == "BudgetAllocation" => {
                let id = project.clone().or_else(|| led_by?.project.clone());
                self.change(id.as_deref(), |project| {
                    project.allowance.usd = Some(project.allowance.usd.unwrap_or(0.0) + usd);
                });
            }
            Act::UpdateProject { id, fields } => {
                let budget = fields.iter().find(|(field, _)| field == "budget_usd");
                if let Some(usd) = budget.and_then(|(_, usd)| usd.parse().ok()) {
                    self.change(Some(id), |project| project.allowance.usd = Some(usd));
                }
            }
            _ => {}
        }
    }

    fn change(&mut self, id: Option<&str>, change: impl FnOnce(&mut Project)) {
        let projects = &mut self.portfolio.to_mut().projects;
        if let Some(project) = projects.iter_mut().find(|project| Some(project.id.as_str()) == id) {
            change(project);
        }
    }
}

/// The first rule of directives and projects that refuses an action; `led_by` is the message that one sent would answer.
pub fn rule_portfolio(portfolio: &Portfolio, action: &Action, led_by: Option<&Message>) -> Option<Ruling> {
    match &action.act {
        Act::SendMessage { kind, project, directive, amount_usd, .. } => {
            let inherited = |own: &Option<String>, of: fn(&Message) -> &Option<String>| {
                own.clone().or_else(|| led_by.and_then(|message| of(message).clone()))
            };
            let project = inherited(project, |message| &message.project);
            let directive = inherited(directive, |message| &message.directive);
            let held = || rule_held(portfolio, project.as_deref(), directive.as_deref());
            rule_made(portfolio, project.as_deref()).or_else(held).or_else(|| {
                let amount = amount_usd.filter(|_| kind == "BudgetAllocation")?;
                rule_allocation(portfolio, project.as_deref()?, amount)
            })
        }
        Act::Dispatch { project, .. } | Act::LogDecision { project, .. } => {
            let held = || rule_held(portfolio, project.as_deref(), None);
            rule_made(portfolio, project.as_deref()).or_else(held)
        }
        Act::CreateProject { title, directive, budget_usd, .. } => {
            let directive = directive.as_deref().or_else(|| led_by?.directive.as_deref());
            rule_new(portfolio, title, directive, budget_usd.unwrap_or(0.0))
        }
        Act::UpdateProject { id, fields } => rule_update(portfolio, id, fields),
        Act::SummarizeDirective { id, .. } => rule_directive(portfolio, id),
        Act::Board { deed: Deed::Create(NewTask { project, .. }), .. }
        | Act::Board { deed: Deed::Update { fields: Fields { project, .. }, .. }, .. } => {
            let id = project.as_deref()?;
            if portfolio.project(id).is_none() {
                Some(unknown(id))
            } else {
                rule_held(portfolio, Some(id), None)
            }
        }
        Act::RequestApproval { action, .. } => rule_portfolio(portfolio, action, led_by),
        _ => None,
    }
}

fn rule_held(portfolio: &Portfolio, project: Option<&str>, directive: Option<&str>) -> Option<Ruling> {
    let hold = portfolio.held(project, directive)?;
    Some(refuse("held", "directives and projects", format!("{hold}: its work waits for the human")))
}

fn rule_directive(portfolio: &Portfolio, id: &str) -> Option<Ruling> {
    if portfolio.directive(id).is_some() {
        return None;
    }
    Some(refuse("unknown_directive", "directives", format!("there is no directive `{id}`")))
}

/// A message may name a project that nobody here knows, but not one that no action of this answer makes.
fn rule_made(portfolio: &Portfolio, id: Option<&str>) -> Option<Ruling> {
    let id = id.filter(|id| named_action(id).is_some())?;
    portfolio.project(id).is_none().then(|| unknown(id))
}

fn unknown(id: &str) -> Ruling {
    let ruling = |what: String| refuse("unknown_project", "projects", what);
    if named_action(id).is_none() {
        return ruling(format!("there is no project `{}`", crate::domain::text::one_line(id, 60)));
    }
    let hint = "name the number of a create_project before it that waits for nobody's approval".to_string();
    Ruling { hint: Some(hint), ..ruling(format!("`{id}` makes no project of this answer")) }
}

/// Money goes to a project that is there, and no further than its directive's.
fn rule_allocation(portfolio: &Portfolio, project: &str, amount: f64) -> Option<Ruling> {
    let Some(project) = portfolio.project(project) else { return Some(unknown(project)) };
    let all = project.allowance.usd.unwrap_or(0.0) + amount;
    rule_promise(portfolio, project.directive.as_deref(), &project.id, all)
}

/// The projects of a directive may together cost no more than it may.
fn rule_promise(portfolio: &Portfolio, directive: Option<&str>, project: &str, usd: f64) -> Option<Ruling> {
    let directive = portfolio.directive(directive?)?;
    let most = directive.allowance.usd?;
    let others = portfolio.promised(&directive.id, project);
    if others + usd <= most + 1e-9 {
        return None;
    }
    let what = format!(
        "its projects would have {} USD together, and the budget of {} is {} USD",
        render_usd(others + usd),
        directive.id,
        render_usd(most)
    );
    Some(refuse("over_directive", "the directive's budget", what))
}

fn rule_new(portfolio: &Portfolio, title: &str, directive: Option<&str>, usd: f64) -> Option<Ruling> {
    if let Some(id) = directive
        && let Some(ruling) = rule_directive(portfolio, id).or_else(|| rule_held(portfolio, None, Some(id)))
    {
        return Some(ruling);
    }
    let plain = |title: &str| title.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    let alike = |one: &&Project| {
        plain(&one.title) == plain(title)
            && one.directive.as_deref() == directive
            && !matches!(one.status, ProjectStatus::Cancelled | ProjectStatus::Launched)
    };
    if let Some(twin) = portfolio.projects.iter().find(alike) {
        let what = format!("{} has that title and is {}", twin.id, twin.status);
        return Some(refuse("twin_project", "projects", what));
    }
    rule_promise(portfolio, directive, "", usd)
}

fn rule_update(portfolio: &Portfolio, id: &str, fields: &[(String, String)]) -> Option<Ruling> {
    if named_action(id).is_some() {
        let what = format!("`{id}` is only being made: change it in a later step");
        return Some(refuse("unknown_project", "projects", what));
    }
    let Some(project) = portfolio.project(id) else { return Some(unknown(id)) };
    let given = |name: &str| fields.iter().find(|(field, _)| field == name).map(|(_, value)| value.as_str());
    if project.is_reserved() {
        let what =
            format!("`{id}` is always there: its title, state and directive are not a director's to change");
        return Some(refuse("reserved_project", "projects", what));
    }
    if fields.iter().all(|(field, value)| project.field(field) == *value) {
        return Some(refuse("nothing_changes", "projects", format!("`{id}` is so already")));
    }
    if let Some(ruling) = given("directive").and_then(|directive| rule_directive(portfolio, directive)) {
        return Some(ruling);
    }
    // The project itself may be paused: a director may take up again what it paused.
    let directives = [project.directive.as_deref(), given("directive")];
    if let Some(ruling) = directives.into_iter().flatten().find_map(|id| rule_held(portfolio, None, Some(id)))
    {
        return Some(ruling);
    }
    if let Some(ruling) = given("status").and_then(|status| rule_status(&project, status)) {
        return Some(ruling);
    }
    let usd = given("budget_usd").and_then(|usd| usd.parse().ok()).or(project.allowance.usd)?;
    rule_promise(portfolio, given("directive").or(project.directive.as_deref()), id, usd)
}

fn rule_status(project: &Project, status: &str) -> Option<Ruling> {
    let next = ProjectStatus::parse(status)?;
    if next == project.status {
        return None;
    }
    if project.status.holds() && project.status_by.as_deref() == Some("user") {
        let what =
            format!("the human has {} `{}`, and the human alone moves it on", project.status, project.id);
        return Some(refuse("human_held", "projects", what));
    }
    if project.status.may_become(next) {
        return None;
    }
    let what = format!("`{}` is {} and can't become {next}", project.id, project.status);
    Some(refuse("status_back", "projects", what))
}
