//! `harness status`: what needs the human, then the gate, the budgets and the departments.

use super::app::{App, Result};
use crate::domain::budget::Unit;
use crate::domain::stats::is_bad;
use crate::domain::text::one_line;
use crate::domain::time::{Time, parse_rfc3339, render_age, render_rfc3339, render_span};
use crate::run::survey::{DeptView, Need, Spent, Survey, Surveyor, Tone};
use crate::ui::bar::render_gauge;
use crate::ui::table::{Align, Cell, render_columns};
use crate::ui::wrap::render_wrapped;
use crate::ui::{Answer, BAD, BUSY, GOOD, WAITS, bold, faint};
use serde_json::{Value, json};

const GAUGE: usize = 10;
const SMALL_GAUGE: usize = 6;
/// Departments that are named where mail waits for a run by hand; the rest is counted.
const BY_HAND: usize = 5;
/// Columns of a need's age.
const AGE: usize = 5;

/// Show how the organisation is
///
/// It begins with what needs you: a row each, with its age, the reason, and the one command that deals with it. Then the
/// gate, the last pulse of `harness tick`, today's spending against the budget, and a line for each department: its state,
/// open mail, its board (to do/in progress/in review), how its last run ended, when it is looked at next, and how much
/// of its day's budget is used. A run under way shows how long it has taken and the last line of its output. `harness`
/// alone does the same.
///
/// Examples:
///   harness status
///   harness status business
///   harness status --json
#[derive(Debug, Default, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct StatusArgs {
    /// One department alone
    #[arg(value_name = "DEPT")]
    dept: Option<String>,
}

pub fn run(args: &StatusArgs, app: &App<'_>) -> Result<Answer> {
    let org = app.org()?;
    let only = args.dept.as_ref().map(|name| app.department(&org, name)).transpose()?;
    let now = app.ctx.now();
    let surveyor =
        Surveyor { org: &org, key: app.key().ok(), now, path: app.ctx.variable("PATH").unwrap_or_default() };
    let survey = surveyor.survey(only.as_ref().map(|department| &department.dept))?;
    let text = render(&survey, now, app.ui.width());
    let data = json!({
        "root": org.root.path(),
        "gate": survey.gate,
        "last_pulse": survey.pulse.map(render_rfc3339),
        "budget": survey.spent.iter().map(spent_json).collect::<Vec<_>>(),
        "needs_you": survey.needs.iter().map(|need| need_json(need, now)).collect::<Vec<_>>(),
        "departments": survey.departments.iter().map(|view| view_json(view, now)).collect::<Vec<_>>(),
    });
    Ok(Answer::new("harness.status/1", data, text))
}

fn need_json(need: &Need, now: Time) -> Value {
    json!({
        "dept": need.dept, "what": need.what, "command": need.command, "id": need.id,
        "since": need.since.map(render_rfc3339), "age_s": need.since.map(|since| (now - since).num_seconds().max(0)),
    })
}

fn spent_json(spent: &Spent) -> Value {
    json!({
        "limit": spent.limit.key(), "most": spent.limit.most, "spent": spent.used.spent,
        "reserved": spent.used.reserved,
    })
}

fn view_json(view: &DeptView, now: Time) -> Value {
    let live: Vec<Value> = view
        .live
        .iter()
        .map(|run| {
            json!({
                "run": run.run, "kind": run.kind, "role": run.role, "pid": run.pid, "last_line": run.last_line,
                "started": run.started.map(render_rfc3339),
                "elapsed_s": run.started.map(|started| (now - started).num_seconds().max(0)),
            })
        })
        .collect();
    json!({
        "dept": view.dept,
        "state": view.state(now).0,
        "open_messages": view.open,
        "oldest_message": view.oldest.map(render_rfc3339),
        "quarantined": view.quarantined,
        "accepted": view.accepted,
        "paused": view.paused,
        "blocked": view.blocked,
        "waiting": view.waiting,
        "board": {"inbox": view.board[0], "in_progress": view.board[1], "review": view.board[2]},
        "auto_loop": view.auto_loop,
        "interval_s": view.interval_s,
        "due_in_s": view.due.map(|due| (due - now).num_seconds().max(0)),
        "last_run": view.last.first(),
        "active_runs": live,
        "budget": view.spent.iter().map(spent_json).collect::<Vec<_>>(),
    })
}

/// How a state looks where there is colour.
fn style_of(tone: Tone) -> Option<anstyle::Style> {
    match tone {
        Tone::Good => Some(GOOD),
        Tone::Bad => Some(BAD),
        Tone::Waits => Some(WAITS),
        Tone::Busy => Some(BUSY),
        Tone::Plain => None,
    }
}

fn render(survey: &Survey, now: Time, columns: usize) -> String {
    let mut text = needs(&survey.needs, now, columns);
    text.push_str(&by_hand(survey, columns));
    text.push_str(&format!("\nGate: {}", survey.gate.words()));
    match survey.pulse {
        Some(pulse) => text.push_str(&format!("   Last pulse: {} ago\n", render_age(pulse, now))),
        None => text.push_str("   Last pulse: never\n"),
    }
    text.push_str(&budgets(&survey.spent, columns));
    text.push('\n');
    text.push_str(&departments(&survey.departments, now, columns));
    text
}

fn needs(needs: &[Need], now: Time, columns: usize) -> String {
    if needs.is_empty() {
        return "Nothing needs you.\n".to_string();
    }
    let mut text = format!("{}\n", bold(&format!("Needs you ({})", needs.len())));
    for need in needs {
        let age = need.since.map(|since| render_age(since, now)).unwrap_or_default();
        let dept = if need.dept.is_empty() { String::new() } else { format!("{}: ", need.dept) };
        let what = format!("{dept}{}", one_line(&need.what, 300));
        text.push_str(&render_wrapped(&format!("{age:>AGE$}  "), &what, columns));
        text.push_str(&format!("{:AGE$}  {}\n", "", faint(&one_line(&need.command, 300))));
    }
    text
}

/// Mail that waits where nothing runs by itself, so that a new organisation says how to go on. What needs the human goes
/// first: then this isn't said.
fn by_hand(survey: &Survey, columns: usize) -> String {
    let waits = |view: &&DeptView| view.open > 0 && !view.auto_loop && view.live.is_empty();
    let names: Vec<&str> = survey.departments.iter().filter(waits).map(|view| view.dept.as_str()).collect();
    let (Some(first), true) = (names.first(), survey.needs.is_empty()) else { return String::new() };
    let more = match names.len().saturating_sub(BY_HAND) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let some = names[..names.len().min(BY_HAND)].join(", ");
    let mut text = render_wrapped("", &format!("Mail waits for a run by hand: {some}{more}"), columns);
    text.push_str(&format!("{:AGE$}  {}\n", "", faint(&format!("harness run-loop {first}"))));
    text
}

/// The organisation's limits, those of a span on one line.
fn budgets(spent: &[Spent], columns: usize) -> String {
    let mut spans: Vec<(&str, Vec<String>)> = Vec::new();
    for one in spent {
        let span = one.limit.span.name();
        match spans.iter_mut().find(|(name, _)| *name == span) {
            Some((_, amounts)) => amounts.push(amount(one)),
            None => spans.push((span, vec![amount(one)])),
        }
    }
    let lines = spans.iter().map(|(span, amounts)| {
        let head = if *span == "day" { "Today: ".to_string() } else { format!("This {span}: ") };
        // A gap that no amount has inside keeps each of them whole.
        let amounts: Vec<String> = amounts.iter().map(|amount| amount.replace(' ', "\u{a0}")).collect();
        render_wrapped(&head, &amounts.join(" \u{a0} "), columns).replace('\u{a0}', " ")
    });
    lines.collect()
}

fn amount(spent: &Spent) -> String {
    let limit = &spent.limit;
    let all = spent.used.spent + spent.used.reserved;
    let amount = match limit.unit {
        Unit::Usd => format!("{all:.2} of {:.2} USD", limit.most),
        Unit::Tokens => format!("{all:.0} of {:.0} tokens", limit.most),
        Unit::Runs => format!("{all:.0} of {:.0} runs", limit.most),
    };
    format!("{amount} {}", gauge(spent, GAUGE))
}

fn gauge(spent: &Spent, columns: usize) -> String {
    format!("{} {:>3.0}%", render_gauge(spent.share(), columns), (spent.share() * 100.0).floor())
}

fn departments(views: &[DeptView], now: Time, columns: usize) -> String {
    let rows: Vec<Vec<Cell>> = views.iter().map(|view| row(view, now)).collect();
    let headings = [
        ("DEPARTMENT", Align::Least(10)),
        ("STATE", Align::Least(7)),
        ("MAIL", Align::Right),
        ("BOARD", Align::Left),
        ("LAST RUN", Align::Least(8)),
        ("NEXT", Align::Left),
        ("DAY'S BUDGET", Align::Left),
    ];
    let table = render_columns(&headings, &rows, columns);
    let mut lines = table.lines();
    let mut text = lines.next().map(|line| format!("{line}\n")).unwrap_or_default();
    for (line, view) in lines.zip(views) {
        text.push_str(&format!("{line}\n"));
        for run in &view.live {
            let said = if run.last_line.is_empty() { "no output yet" } else { &run.last_line };
            let line = one_line(&format!("{} of {}: {said}", run.role, run.run), columns.max(20) - 2);
            text.push_str(&format!("  {}\n", faint(&line)));
        }
    }
    text
}

fn row(view: &DeptView, now: Time) -> Vec<Cell> {
    let (word, tone) = view.state(now);
    let state = match style_of(tone) {
        Some(style) => Cell::styled(word, style),
        None => Cell::from(word),
    };
    let last = view.last.first().map(|run| {
        let age = parse_rfc3339(&run.at).map(|at| format!(" {} ago", render_age(at, now)));
        let text = format!("{}{}", run.outcome, age.unwrap_or_default());
        if is_bad(&run.outcome) { Cell::styled(text, BAD) } else { Cell::from(text) }
    });
    let next = match view.due {
        Some(due) if due > now => format!("in {}", render_span((due - now).num_seconds())),
        Some(_) => "next tick".to_string(),
        None => "by hand".to_string(),
    };
    let board = match view.board {
        [0, 0, 0] => "-".to_string(),
        [todo, doing, review] => format!("{todo}/{doing}/{review}"),
    };
    let fullest = view.spent.iter().max_by(|a, b| a.share().total_cmp(&b.share()));
    vec![
        Cell::from(view.dept.as_str()),
        state,
        Cell::from(view.open.to_string()),
        Cell::from(board),
        last.unwrap_or_else(|| Cell::from("never")),
        Cell::from(next),
        fullest.map_or_else(|| Cell::from("-"), |spent| Cell::from(gauge(spent, SMALL_GAUGE))),
    ]
}
