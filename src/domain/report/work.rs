//! The sections of the page about work: the board, and directives over time.

use super::{Cell, Facts, Figure, Table, TaskFacts, ago, headings, many, usd};
use crate::domain::chart::{BarOf, Lane, Span, lay_out_bars, lay_out_strip};
use crate::domain::text::one_line;
use crate::domain::time::{Time, render_local};

/// Tasks that are listed.
const TASKS: usize = 40;
/// Directives that are drawn, the newest.
const DIRECTIVES: usize = 16;
/// The words of a task's status, as a person says them, and the class of their colour.
const STATUSES: [(&str, &str, &str); 3] =
    [("inbox", "to do", "off"), ("in_progress", "in progress", "busy"), ("review", "in review", "wait")];

fn words(status: &str) -> (&'static str, &'static str) {
    STATUSES
        .iter()
        .find(|(name, ..)| *name == status)
        .map_or(("done", "good"), |(_, word, class)| (word, class))
}

pub fn board(facts: &Facts) -> Figure {
    let count = |tasks: &[TaskFacts], status: &str| tasks.iter().filter(|task| task.status == status).count();
    let mut table =
        Table { head: headings(&["Department", "#To do", "#In progress", "#In review"]), rows: Vec::new() };
    let mut rows = Vec::new();
    for dept in facts.departments.iter().filter(|dept| !dept.tasks.is_empty()) {
        let counts = STATUSES.map(|(status, word, class)| (class, word, count(&dept.tasks, status)));
        let pieces =
            counts.iter().map(|(class, word, count)| (class.to_string(), word.to_string(), *count as f64));
        rows.push(BarOf { name: dept.name.clone(), pieces: pieces.collect() });
        let cells = counts.iter().map(|(_, _, count)| Cell::text(count.to_string()));
        table.rows.push([Cell::text(&dept.name)].into_iter().chain(cells).collect());
    }
    let all: usize = facts.departments.iter().map(|dept| dept.tasks.len()).sum();
    Figure {
        id: "board",
        title: "Board",
        summary: format!("{} in {}.", many(all, "open task"), many(rows.len(), "department")),
        legend: STATUSES.map(|(_, word, class)| (class.to_string(), word.to_string())).to_vec(),
        bars: (all > 0).then(|| lay_out_bars(&rows, &|value| format!("{value:.0}"))),
        table,
        ..Figure::default()
    }
}

pub fn tasks(facts: &Facts) -> Table {
    let rank = |name: &str, order: &[&str]| order.iter().position(|known| *known == name);
    let mut all: Vec<(&str, &TaskFacts)> = Vec::new();
    for dept in &facts.departments {
        all.extend(dept.tasks.iter().map(|task| (dept.name.as_str(), task)));
    }
    all.sort_by_key(|(_, task)| {
        let status = rank(task.status, &["review", "in_progress", "inbox"]);
        (status, rank(task.priority, &["high", "medium", "low"]), task.created)
    });
    let row = |(dept, task): &(&str, &TaskFacts)| {
        let (word, class) = words(task.status);
        let due = task.due.map_or("-".to_string(), render_local);
        let late = task.due.is_some_and(|due| due < facts.now);
        vec![
            // It stays on one line beside a long title.
            Cell::of(format!("dot {class}"), word.replace(' ', "\u{a0}")),
            Cell::text(&task.title),
            Cell::text(dept),
            Cell::text(task.owner.as_deref().unwrap_or("-")),
            Cell::text(task.priority),
            Cell::of(if late { "bad" } else { "faint" }, due),
            Cell::of("faint", ago(task.created, facts.now)),
        ]
    };
    let head = headings(&["Status", "Task", "Department", "Owner", "Priority", "Due", "#Made"]);
    Table { head, rows: all.iter().take(TASKS).map(row).collect() }
}

fn class_of(status: &str) -> &'static str {
    match status {
        "open" => "busy",
        "completed" => "good",
        "cancelled" => "off",
        _ => "wait",
    }
}

/// A line of time for each directive, from when it was given to when it ended, or to now.
pub fn directives(facts: &Facts) -> Figure {
    let shown = facts.directives.len().saturating_sub(DIRECTIVES);
    let shown = &facts.directives[shown..];
    let start = shown.iter().map(|one| one.from).min().unwrap_or(facts.now);
    let seconds = |time: Time| (time - start).num_seconds() as f64;
    let whole = seconds(facts.now).max(3_600.0);
    let mut table = Table {
        head: headings(&[
            "Directive",
            "Status",
            "Priority",
            "Given",
            "Ended",
            "Deadline",
            "#Projects",
            "#Spend",
        ]),
        rows: Vec::new(),
    };
    let mut lanes = Vec::new();
    for one in shown {
        let end = one.to.unwrap_or(facts.now);
        let title = format!(
            "{}: {}, {} from {}",
            one_line(&one.title, 80),
            one.status,
            usd(one.usd),
            render_local(one.from)
        );
        let span = Span {
            from: seconds(one.from),
            to: seconds(end),
            class: class_of(&one.status).to_string(),
            title,
        };
        lanes.push(Lane { name: one_line(&one.title, 40), spans: vec![span] });
        table.rows.push(vec![
            Cell::text(format!("{} ({})", one.title, one.id)),
            Cell::of(format!("dot {}", class_of(&one.status)), &one.status),
            Cell::text(&one.priority),
            Cell::of("faint", render_local(one.from)),
            Cell::of("faint", one.to.map_or("-".to_string(), render_local)),
            Cell::text(one.deadline.as_deref().unwrap_or("-")),
            Cell::text(one.projects.to_string()),
            Cell::text(usd(one.usd)),
        ]);
    }
    let ticks: Vec<(f64, String)> = (0..=4)
        .map(|part| whole * f64::from(part) / 4.0)
        .map(|at| (at, (start + chrono::TimeDelta::seconds(at as i64)).format("%-d %b %H:%M").to_string()))
        .collect();
    let open = facts.directives.iter().filter(|one| one.status == "open").count();
    let words = [("busy", "open"), ("wait", "paused"), ("good", "completed"), ("off", "cancelled")];
    Figure {
        id: "directives",
        title: "Directives",
        summary: format!("{}, {open} of them open.", many(facts.directives.len(), "directive")),
        legend: words.map(|(class, name)| (class.to_string(), name.to_string())).to_vec(),
        strip: (!lanes.is_empty()).then(|| lay_out_strip(&lanes, whole, &ticks)),
        table,
        ..Figure::default()
    }
}
