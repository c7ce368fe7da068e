//! The trail of a directive or a project: everything that carries its id, gathered from the whole organisation.

mod tasks;

use crate::domain::budget::{Book, Cost, Scope};
use crate::domain::ledger::Line;
use crate::domain::message::Message;
use crate::domain::portfolio::Portfolio;
use crate::domain::project::Project;
use crate::domain::task::Task;
use crate::domain::text::one_line;
use crate::domain::time::{Time, parse_rfc3339, render_rfc3339};
use crate::store::fault::Result;
use crate::store::jobs::JobFiles;
use crate::store::messages::Place;
use crate::store::org::{Department, Org};
use std::collections::{BTreeMap, BTreeSet};

/// Everything that belongs to one directive or project.
#[derive(Clone, Debug, Default)]
pub struct Trail {
    /// Oldest first, each once: the copy that holds the status.
    pub messages: Vec<Message>,
    pub projects: Vec<(Project, f64)>,
    /// Oldest first, with their department.
    pub tasks: Vec<(String, Task)>,
    /// Work that is queued or under way.
    pub jobs: Vec<(String, JobFiles)>,
    /// Oldest first.
    pub runs: Vec<TrailRun>,
    /// What departments said of it, oldest first.
    pub summaries: Vec<Summary>,
    pub cost: Cost,
    /// When and what, oldest first.
    pub timeline: Vec<(String, String)>,
}

/// A run that had to do with it.
#[derive(Clone, Debug, PartialEq)]
pub struct TrailRun {
    pub run: String,
    pub dept: String,
    /// `loop`, `scheduler`, `director` or `dispatch`.
    pub kind: String,
    /// Whose work it was, and at which task; for a job alone.
    pub agent: Option<String>,
    pub task: Option<String>,
    pub at: String,
    pub outcome: String,
    /// Its steps that were about this.
    pub steps: u64,
    /// What those steps cost; absent where one of them didn't say.
    pub cost_usd: Option<f64>,
    pub counted_usd: f64,
}

/// What a department said of a directive.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    pub dept: String,
    pub at: String,
    pub text: String,
}

/// Gathers the trail of a directive or a project.
pub fn gather(org: &Org, portfolio: &Portfolio, scope: &Scope) -> Result<Trail> {
    let mut trail = Trail::default();
    let spent = org.spent(portfolio)?;
    if let Scope::Directive(id) = scope {
        let of_it = portfolio.projects.iter().filter(|one| one.directive.as_deref() == Some(id));
        trail.projects = of_it.map(|one| (one.clone(), spent.get(&one.id).copied().unwrap_or(0.0))).collect();
    }
    let is_of = |project: Option<&str>, directive: Option<&str>| match scope {
        Scope::Directive(id) => portfolio.directive_of(project, directive).as_ref() == Some(id),
        Scope::Project(id) => project == Some(id),
        _ => false,
    };
    let belongs = |message: &Message| is_of(message.project.as_deref(), message.directive.as_deref());
    let of_project = |project: Option<&str>| project.is_some() && is_of(project, None);
    for dept in org.departments()?.departments {
        let Some(department) = org.department(&dept)? else { continue };
        gather_messages(&department, &belongs, &mut trail)?;
        tasks::gather(&department, &of_project, &mut trail)?;
        if let Scope::Directive(id) = scope {
            trail.summaries.extend(summaries(&department, id)?);
        }
    }
    trail.messages.sort_by_key(Message::place_in_story);
    trail.tasks.sort_by(|(_, a), (_, b)| (a.created, &a.id).cmp(&(b.created, &b.id)));
    let ids =
        trail.messages.iter().map(|message| &message.id).chain(trail.tasks.iter().map(|(_, task)| &task.id));
    let ids: BTreeSet<String> = ids.cloned().collect();
    let mut given = Vec::new();
    for dept in org.departments()?.departments {
        let Some(department) = org.department(&dept)? else { continue };
        let lines = department.ledger_whole()?;
        trail.runs.extend(runs_about(department.dept.as_str(), &lines, &ids));
        trail.runs.extend(tasks::runs_of_jobs(&department, &lines, &trail.tasks, &of_project));
        given.extend(tasks::changes(&lines, &trail.tasks));
    }
    trail.runs.sort_by(|a, b| (&a.at, &a.run).cmp(&(&b.at, &b.run)));
    trail.summaries.sort_by(|a, b| (&a.at, &a.dept).cmp(&(&b.at, &b.dept)));
    if portfolio.since().is_some() {
        trail.cost = Book::read(&org.budget_lines(Time::MIN_UTC)?).cost(scope);
    }
    trail.timeline = timeline(&trail, &moves(org, scope)?, given);
    Ok(trail)
}

/// Every message that belongs, once: the recipients' copies first, for they hold the status.
fn gather_messages(
    department: &Department,
    belongs: &dyn Fn(&Message) -> bool,
    trail: &mut Trail,
) -> Result<()> {
    for place in Place::ALL {
        for location in department.locations(place)? {
            // One damaged file elsewhere is no reason to show nothing; `inbox` names it.
            let Ok(Some(filed)) = department.read_at(&location) else { continue };
            let message = filed.message;
            if !belongs(&message) {
                continue;
            }
            let received = matches!(place, Place::Inbox | Place::Archive);
            match trail.messages.iter_mut().find(|known| known.id == message.id) {
                Some(known) if received => *known = message,
                Some(_) => {}
                None => trail.messages.push(message),
            }
        }
    }
    Ok(())
}

/// The runs of a department that had a step about one of these messages.
fn runs_about(dept: &str, lines: &[Line], ids: &BTreeSet<String>) -> Vec<TrailRun> {
    let mut runs: BTreeMap<String, TrailRun> = BTreeMap::new();
    for line in lines {
        let Line::Step(step) = line else { continue };
        if !step.item.as_ref().is_some_and(|item| ids.contains(item)) {
            continue;
        }
        let run = runs.entry(step.run.clone()).or_insert_with(|| TrailRun {
            run: step.run.clone(),
            dept: dept.to_string(),
            kind: String::new(),
            agent: None,
            task: None,
            at: step.at.clone(),
            outcome: "running".to_string(),
            steps: 0,
            cost_usd: Some(0.0),
            counted_usd: 0.0,
        });
        run.steps += 1;
        run.cost_usd = run.cost_usd.zip(step.cost_usd).map(|(a, b)| a + b);
        run.counted_usd += step.counted_usd;
    }
    for line in lines {
        if let Line::Run(end) = line
            && let Some(run) = runs.get_mut(&end.run)
        {
            (run.outcome, run.kind) = (end.outcome.clone(), end.kind.clone());
        }
    }
    runs.into_values().collect()
}

/// What a department wrote about a directive: `directives/<id>.md`, an entry under a heading each.
fn summaries(department: &Department, id: &str) -> Result<Vec<Summary>> {
    let Some(text) = department.dir.read(&format!("directives/{id}.md"), 16 * 1024 * 1024)? else {
        return Ok(Vec::new());
    };
    let mut found: Vec<Summary> = Vec::new();
    for line in text.text.lines() {
        let at = line.strip_prefix("## ").and_then(|rest| parse_rfc3339(rest.split(' ').next()?));
        match (at, found.last_mut()) {
            (Some(at), _) => found.push(Summary {
                dept: department.dept.to_string(),
                at: render_rfc3339(at),
                text: String::new(),
            }),
            (None, Some(last)) => last.text.push_str(&format!("{line}\n")),
            (None, None) => {}
        }
    }
    found.iter_mut().for_each(|one| one.text = one.text.trim().to_string());
    Ok(found)
}

/// What the human did with it, from the audit.
fn moves(org: &Org, scope: &Scope) -> Result<Vec<(String, String)>> {
    let (Scope::Directive(id) | Scope::Project(id)) = scope else { return Ok(Vec::new()) };
    let Some(text) = org.own.read("audit.jsonl", u64::MAX - 1)? else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for line in text.text.lines() {
        let Ok(entry) = serde_json::from_str::<serde_json::Value>(line) else { continue };
        let field = |key: &str| entry[key].as_str().unwrap_or_default().to_string();
        let (command, what) = (field("command"), field("what"));
        let about = command.starts_with("directive") || command.starts_with("project");
        if about && what.split(' ').next() == Some(id) {
            found.push((field("at"), format!("{command} by {}: {what}", field("by"))));
        }
    }
    Ok(found)
}

fn timeline(
    trail: &Trail,
    moves: &[(String, String)],
    changes: Vec<(String, String)>,
) -> Vec<(String, String)> {
    let mut events: Vec<(String, String)> = moves.to_vec();
    for message in &trail.messages {
        let (id, kind, from, to) = (&message.id, &message.kind, &message.from, message.to.join(", "));
        let subject = one_line(&message.subject, 80);
        events.push((render_rfc3339(message.created), format!("{id} {kind} from {from} to {to}: {subject}")));
        for receipt in message.receipts() {
            let what = format!("{id} {} by {}: {}", receipt.status, receipt.by, one_line(&receipt.why, 80));
            events.push((render_rfc3339(receipt.at), what));
        }
    }
    for (project, _) in &trail.projects {
        for entry in &project.log {
            events.push((entry.at.clone(), format!("{} {}: {}", project.id, entry.by, entry.what)));
        }
    }
    events.extend(changes);
    events.extend(tasks::events(trail));
    for run in &trail.runs {
        let cost = run.cost_usd.map_or("cost unknown".to_string(), |usd| format!("{usd:.2} USD"));
        let (id, dept, steps, outcome) = (&run.run, &run.dept, run.steps, &run.outcome);
        let about = match (&run.agent, &run.task) {
            (Some(agent), Some(task)) => format!("{agent} at {task}"),
            (None, Some(task)) => format!("a job for {task}"),
            _ if run.kind == "dispatch" => "a job".to_string(),
            _ => format!("{steps} steps about it"),
        };
        events.push((run.at.clone(), format!("{id} of {dept}, {about}, {cost}: {outcome}")));
    }
    for summary in &trail.summaries {
        events.push((summary.at.clone(), format!("{} says: {}", summary.dept, one_line(&summary.text, 80))));
    }
    // Stable: what happened in the same second stays in the order in which it is listed above.
    events.sort_by(|a, b| a.0.cmp(&b.0));
    events
}
