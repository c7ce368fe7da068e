//! `harness task list` and `harness task show`: the board in columns, and one task in full.

use super::app::{App, Result};
use super::boards::find_task;
use crate::domain::board::Board;
use crate::domain::id::Dept;
use crate::domain::task::{Priority, Section, Task, TaskStatus};
use crate::domain::text::{one_line, visible};
use crate::domain::time::{render_age, render_local, render_rfc3339};
use crate::error::CommandError;
use crate::store::glances::Wanted;
use crate::store::org::{Department, Org};
use crate::ui::columns::{Column, render_columns};
use crate::ui::{Answer, Format, bold};
use serde_json::{Value, json};

/// How many cards a column shows.
const CARDS: usize = 20;

/// Show the board in columns
///
/// The most important first. Each card has the end of the task's id, which every command takes. What is done is shown
/// with --all or --status done.
///
/// Examples:
///   harness task list
///   harness task list rd --status review
///   harness task list --owner ann --json
///   harness task list --blocked --priority high
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct ListArgs {
    /// The department [default: every one]
    dept: Option<String>,
    /// Those that stand there
    #[arg(long)]
    status: Option<TaskStatus>,
    /// Those of an agent
    #[arg(long, value_name = "NAME")]
    owner: Option<String>,
    /// Those that matter so much
    #[arg(long)]
    priority: Option<Priority>,
    /// Those that wait for another task
    #[arg(long)]
    blocked: bool,
    /// What is done too
    #[arg(long)]
    all: bool,
}

/// Show one task in full
///
/// Examples:
///   harness task show 7f3k2q
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct ShowArgs {
    /// The task's id, or the end of it
    id: String,
}

impl ListArgs {
    fn wants_done(&self) -> bool {
        self.all || self.status == Some(TaskStatus::Done)
    }

    /// What a look at every open task asks for.
    fn wanted(&self) -> Wanted<'_> {
        Wanted { priority: self.priority, owner: self.owner.as_deref(), blocked: self.blocked }
    }

    fn wants(&self, task: &Task, board: &Board) -> bool {
        self.status.is_none_or(|status| task.status == status)
            && self.priority.is_none_or(|priority| task.priority == priority)
            && self.owner.as_ref().is_none_or(|owner| task.owner.as_ref() == Some(owner))
            && (!self.blocked || (task.is_open() && board.is_blocked(task)))
    }
}

pub fn list(args: &ListArgs, app: &App<'_>) -> Result<Answer> {
    // What is done needs no look of this kind, and a document shows everything: there all of it is read.
    if app.ui.format == Format::Text && !args.wants_done() {
        return overview(args, app);
    }
    let org = app.org()?;
    let departments = match &args.dept {
        Some(name) => vec![app.department(&org, name)?],
        None => all_departments(&org)?,
    };
    let (mut text, mut rows, mut warnings) = (String::new(), Vec::new(), Vec::new());
    for department in &departments {
        let charter = department.charter()?;
        let loaded = department.board_to_show(&charter.rules, &org.settings()?, &app.key()?)?;
        for file in &loaded.unreadable {
            warnings.push(format!("org-{}/{} can't be taken: {}", department.dept, file.file, file.why));
        }
        let board = &loaded.board;
        let done = if args.wants_done() { department.done_tasks()? } else { Vec::new() };
        let mut tasks: Vec<&Task> =
            board.open_tasks().chain(&done).filter(|task| args.wants(task, board)).collect();
        tasks.sort_by(|a, b| (a.priority, &a.id).cmp(&(b.priority, &b.id)));
        if !tasks.is_empty() {
            let heading = if departments.len() > 1 {
                format!("{}\n", bold(department.dept.as_str()))
            } else {
                String::new()
            };
            text.push_str(&format!("{heading}{}\n", columns(args, &tasks, board, app)));
        }
        rows.extend(tasks.iter().map(|task| to_json(&department.dept, task, board, Shown::Short)));
    }
    if text.is_empty() {
        text = "No task is there.\n\n".to_string();
    }
    text.pop();
    Ok(Answer::new("harness.tasks/1", json!({"tasks": rows}), text).warnings(warnings))
}

/// The board at a glance: every task is counted, and those that are shown are read.
fn overview(args: &ListArgs, app: &App<'_>) -> Result<Answer> {
    let org = app.org()?;
    let departments = match &args.dept {
        Some(name) => vec![app.department(&org, name)?],
        None => all_departments(&org)?,
    };
    let (mut text, mut warnings) = (String::new(), Vec::new());
    for department in &departments {
        let seen = department.overview(&args.wanted(), CARDS)?;
        let bad = seen.unreadable.iter();
        warnings.extend(bad.map(|(file, why)| {
            format!("org-{}/tasks/{} can't be taken: {why}", department.dept, one_line(file, 100))
        }));
        let standings = [
            (TaskStatus::Inbox, &seen.inbox),
            (TaskStatus::InProgress, &seen.in_progress),
            (TaskStatus::Review, &seen.review),
        ];
        let shown: Vec<_> = standings
            .into_iter()
            .filter(|(status, _)| args.status.is_none_or(|only| only == *status))
            .collect();
        if shown.iter().all(|(_, standing)| standing.count == 0) {
            continue;
        }
        let ids: Vec<String> = shown.iter().flat_map(|(_, standing)| standing.first.clone()).collect();
        let board = department.board_of(&department.charter()?.rules, &app.key()?, &ids)?;
        let columns: Vec<Column> = shown
            .iter()
            .map(|(status, standing)| {
                let tasks = standing.first.iter().filter_map(|id| board.find_task(id));
                Column {
                    heading: heading(*status, standing.count),
                    cards: tasks.map(|task| card(task, &board, app)).collect(),
                    more: standing.count - standing.first.len(),
                }
            })
            .collect();
        if departments.len() > 1 {
            text.push_str(&format!("{}\n", bold(department.dept.as_str())));
        }
        text.push_str(&format!("{}\n", render_columns(&columns, app.ui.width())));
    }
    if text.is_empty() {
        text = "No task is there.\n\n".to_string();
    }
    text.pop();
    Ok(Answer::new("harness.tasks/1", Value::Null, text).warnings(warnings))
}

fn heading(status: TaskStatus, count: usize) -> String {
    format!("{} ({count})", status.name().to_uppercase().replace('_', " "))
}

fn all_departments(org: &Org) -> Result<Vec<Department>> {
    let mut all = Vec::new();
    for dept in org.departments()?.departments {
        all.extend(org.department(&dept)?);
    }
    Ok(all)
}

pub fn load(app: &App<'_>, org: &Org, department: &Department) -> Result<crate::store::tasks::LoadedBoard> {
    let charter = department.charter()?;
    Ok(department.board(&charter.rules, &org.settings()?, &app.key()?)?)
}

fn columns(args: &ListArgs, tasks: &[&Task], board: &Board, app: &App<'_>) -> String {
    let shown = |status: &TaskStatus| {
        args.status.map_or(*status != TaskStatus::Done || args.all, |only| only == *status)
    };
    let column = |status: TaskStatus| {
        let here: Vec<&&Task> = tasks.iter().filter(|task| task.status == status).collect();
        let heading = heading(status, here.len());
        let cards = here.iter().take(CARDS).map(|task| card(task, board, app)).collect();
        Column { heading, cards, more: here.len().saturating_sub(CARDS) }
    };
    let columns: Vec<Column> = TaskStatus::ALL.into_iter().filter(shown).map(column).collect();
    render_columns(&columns, app.ui.width())
}

/// The end of an id, by which every command finds it.
fn short(id: &str) -> &str {
    id.rsplit('-').next().unwrap_or(id)
}

fn card(task: &Task, board: &Board, app: &App<'_>) -> Vec<String> {
    let mut lines = vec![format!("{} {}", short(&task.id), task.priority), task.title.clone()];
    let owner = task.owner.as_ref().map(|owner| match task.status {
        TaskStatus::InProgress => format!("{owner}, {}", render_age(task.heard, app.ctx.now())),
        TaskStatus::Inbox => format!("rework for {owner}"),
        _ => owner.clone(),
    });
    lines.extend(owner);
    if task.status == TaskStatus::Review {
        lines.extend(task.verdict.as_ref().map(|verdict| format!("verdict {verdict}")));
    }
    if task.is_open() {
        let blockers: Vec<&str> = board.blockers(task).map(short).collect();
        if !blockers.is_empty() {
            lines.push(format!("blocked by {}", blockers.join(", ")));
        }
    }
    lines.extend(task.waits_for.iter().map(|id| format!("waits for {}", short(id))));
    lines
}

/// How much of a task is told.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    Short,
    Whole,
}

fn to_json(dept: &Dept, task: &Task, board: &Board, shown: Shown) -> Value {
    let mut value = json!({
        "id": task.id,
        "dept": dept,
        "title": task.title,
        "status": task.status.name(),
        "priority": task.priority.name(),
        "owner": task.owner,
        "worker": task.worker,
        "blocked": task.is_open() && board.is_blocked(task),
        "depends_on": task.depends_on,
        "due": task.due.map(render_rfc3339),
        "project": task.project,
        "assists": task.assists,
        "provenance": task.provenance.name(),
        "waits_for": task.waits_for.first(),
        "waits_for_all": task.waits_for,
        "verdict": task.verdict,
        "mentioned": task.mentioned,
        "merged_into": task.merged_into,
        "created": render_rfc3339(task.created),
        "created_by": task.created_by,
        "heard": render_rfc3339(task.heard),
    });
    if shown == Shown::Whole {
        let comments = task.comments().into_iter().map(|comment| {
            json!({
                "section": comment.section.name(),
                "at": render_rfc3339(comment.at),
                "by": comment.by,
                "source": comment.source,
                "provenance": comment.provenance.name(),
                "text": comment.text,
            })
        });
        value["description"] = json!(task.description());
        value["comments"] = comments.collect();
        value["blocked_by"] = board.blockers(task).collect();
        value["nudges"] = json!(task.nudges);
        value["not_twin_of"] = json!(task.not_twin_of);
    }
    value
}

pub fn show(args: &ShowArgs, app: &App<'_>) -> Result<Answer> {
    let (dept, id) = find_task(app, &args.id)?;
    let org = app.org()?;
    let department = app.department(&org, &dept)?;
    let mut loaded = load(app, &org, &department)?;
    if loaded.board.find_task(&id).is_none()
        && let Some((task, origin)) = department.archived_task(&id)?
    {
        loaded.board.add_task(task, origin);
    }
    let board = &loaded.board;
    let Some(task) = board.find_task(&id) else {
        let why = loaded.unreadable.iter().find(|file| file.file.contains(&id)).map(|file| file.why.clone());
        return Err(CommandError::failed(format!("`{id}` can't be read: {}", why.unwrap_or_default())));
    };
    let data = to_json(&department.dept, task, board, Shown::Whole);
    Ok(Answer::new("harness.task-show/1", data, page(&dept, task, board)))
}

fn page(dept: &str, task: &Task, board: &Board) -> String {
    let mut text = format!("{}\n", bold(&visible(&task.title)));
    let blockers: Vec<&str> = if task.is_open() { board.blockers(task).collect() } else { Vec::new() };
    let rows = [
        ("id", Some(task.id.clone())),
        ("department", Some(dept.to_string())),
        ("status", Some(format!("{}, {}", task.status, task.priority))),
        ("owner", task.owner.clone()),
        ("last worker", task.worker.clone().filter(|worker| task.owner.as_ref() != Some(worker))),
        ("blocked by", Some(blockers.join(", ")).filter(|text| !text.is_empty())),
        ("depends on", Some(task.depends_on.join(", ")).filter(|text| !text.is_empty())),
        ("assists", task.assists.clone()),
        ("project", task.project.clone()),
        ("due", task.due.map(render_local)),
        ("waits for", Some(task.waits_for.join(", ")).filter(|text| !text.is_empty())),
        ("verdict", task.verdict.clone()),
        ("merged into", task.merged_into.clone()),
        (
            "made",
            Some(format!(
                "{} by {} ({})",
                render_local(task.created),
                task.created_by,
                task.provenance.name()
            )),
        ),
        ("done", task.closed.map(render_local)),
    ];
    for (name, value) in rows {
        if let Some(value) = value {
            text.push_str(&format!("  {name:<12} {}\n", visible(&value)));
        }
    }
    text.push_str(&format!("\n{}\n", visible(task.description())));
    let comments = task.comments();
    for section in Section::ALL {
        let here: Vec<_> = comments.iter().filter(|comment| comment.section == section).collect();
        if here.is_empty() {
            continue;
        }
        text.push_str(&format!("\n{}\n", bold(section.name())));
        for comment in here {
            text.push_str(&format!("  {} {}\n", render_local(comment.at), visible(&comment.by)));
            for line in comment.text.lines() {
                text.push_str(&format!("    {}\n", visible(line)));
            }
        }
    }
    text
}
