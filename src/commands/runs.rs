//! `harness runs list|show`: what was run, and one run in full.

use super::app::{App, Result};
use crate::domain::allowance::render_cost;
use crate::domain::front_matter::parse_front_matter;
use crate::domain::ledger::{Line, RunLine};
use crate::domain::text::visible;
use crate::domain::time::{Time, parse_rfc3339, render_age, render_local};
use crate::error::CommandError;
use crate::store::org::{Department, Org};
use crate::ui::Answer;
use crate::ui::table::{Align, Cell, render_columns, render_with_notes};
use serde_json::json;

/// Columns from which on a reason has room beside its run.
const WIDE: usize = 120;

/// List runs, or show one with its steps
///
/// A run is one invocation, with a record for itself and for each of its steps.
///
/// Examples:
///   harness runs list business
///   harness runs show 7f3k2q
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct RunsArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    List(ListArgs),
    Show(ShowArgs),
}

/// List the latest runs, newest first
///
/// Examples:
///   harness runs list
///   harness runs list business --limit 5
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
struct ListArgs {
    /// One department alone
    dept: Option<String>,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
}

/// Show one run: its record, and the records of its steps
///
/// Examples:
///   harness runs show 7f3k2q
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
struct ShowArgs {
    /// The run's id, or the end of it
    id: String,
}

pub fn run(args: &RunsArgs, app: &App<'_>) -> Result<Answer> {
    match &args.verb {
        Verb::List(args) => list(args, app),
        Verb::Show(args) => show(args, app),
    }
}

fn departments(app: &App<'_>, org: &Org, only: Option<&str>) -> Result<Vec<Department>> {
    if let Some(name) = only {
        return Ok(vec![app.department(org, name)?]);
    }
    let mut all = Vec::new();
    for dept in org.departments()?.departments {
        all.extend(org.department(&dept)?);
    }
    Ok(all)
}

fn list(args: &ListArgs, app: &App<'_>) -> Result<Answer> {
    let org = app.org()?;
    let mut runs: Vec<(String, RunLine)> = Vec::new();
    for department in departments(app, &org, args.dept.as_deref())? {
        for line in department.ledger_tail(0, args.limit)? {
            if let Line::Run(run) = line {
                runs.push((department.dept.to_string(), run));
            }
        }
    }
    runs.sort_by(|a, b| (&b.1.at, &b.1.run).cmp(&(&a.1.at, &a.1.run)));
    runs.truncate(args.limit);
    let text = if runs.is_empty() {
        "No runs yet.\n".to_string()
    } else {
        render(&runs, app.ctx.now(), app.ui.width())
    };
    let data: Vec<_> = runs.iter().map(|(dept, run)| json!({"dept": dept, "run": run})).collect();
    Ok(Answer::new("harness.runs/1", json!({"runs": data}), text))
}

/// A row for each run. Where its reason would hardly show, it stands beneath, and the age instead of the time.
fn render(runs: &[(String, RunLine)], now: Time, columns: usize) -> String {
    let wide = columns >= WIDE;
    let rows: Vec<Vec<Cell>> = runs
        .iter()
        .map(|(dept, run)| {
            let ended = parse_rfc3339(&run.at);
            let when =
                ended.map(|at| if wide { render_local(at) } else { render_age(at, now) }).unwrap_or_default();
            let cost = run.cost_usd.map_or_else(|| "unknown".to_string(), render_cost);
            let reason = wide.then(|| run.reason.clone());
            let cells = [&run.run, &when, dept, &run.kind, &run.outcome, &run.steps.to_string(), &cost];
            cells.into_iter().chain(&reason).map(|cell| Cell::from(cell.as_str())).collect()
        })
        .collect();
    let mut headings = vec![
        ("RUN", Align::Left),
        (if wide { "ENDED" } else { "AGE" }, Align::Left),
        ("DEPARTMENT", Align::Least(10)),
        ("KIND", Align::Least(4)),
        ("OUTCOME", Align::Least(7)),
        ("STEPS", Align::Right),
        ("USD", Align::Right),
    ];
    if wide {
        headings.push(("REASON", Align::Left));
        return render_columns(&headings, &rows, columns);
    }
    let reasons: Vec<String> = runs.iter().map(|(_, run)| run.reason.clone()).collect();
    render_with_notes(&headings, &rows, &reasons, columns)
}

/// A record of the run that is looked for; its own has no step.
struct Found {
    run: String,
    step: u64,
    name: String,
    record: String,
}

/// The records that the ledger names; no other file is opened.
fn by_ledger(department: &Department, id: &str) -> Result<Vec<Found>> {
    let mut lines: Vec<(String, u64, String)> = Vec::new();
    department.fold_ledger(Time::MIN_UTC, &mut |line| {
        if line.run().ends_with(id) {
            let (step, record) = match line {
                Line::Step(step) => (step.step, &step.record),
                Line::Run(run) => (0, &run.record),
            };
            lines.push((line.run().to_string(), step, record.clone()));
        }
    })?;
    let mut found = Vec::new();
    for (run, step, name) in lines.into_iter().filter(|(.., name)| !name.is_empty()) {
        if let Some(record) = department.read_record(&name)? {
            found.push(Found { run, step, name, record });
        }
    }
    Ok(found)
}

fn by_records(department: &Department, id: &str) -> Result<Vec<Found>> {
    let mut found = Vec::new();
    let records = department.records()?;
    for name in records.names()? {
        let Some(record) = records.read(&name)? else { continue };
        let front = parse_front_matter(&record).ok().and_then(|split| split.front);
        let Some(front) = front else { continue };
        let run = front.text("run").unwrap_or_default().to_string();
        if run.ends_with(id) {
            let step = front.text("step").and_then(|step| step.parse().ok()).unwrap_or(0);
            found.push(Found { run, step, name, record });
        }
    }
    Ok(found)
}

fn show(args: &ShowArgs, app: &App<'_>) -> Result<Answer> {
    let org = app.org()?;
    let departments = departments(app, &org, None)?;
    let mut found: Vec<Found> = Vec::new();
    for department in departments.iter().filter(|_| !args.id.is_empty()) {
        found.extend(by_ledger(department, &args.id)?);
    }
    if found.is_empty() && !args.id.is_empty() {
        // A ledger that was lost: the records say the same, and take longer to look through.
        for department in &departments {
            found.extend(by_records(department, &args.id)?);
        }
    }
    // The run's own record, then its steps as they were taken: those of one second have names of any order.
    found.sort_by_key(|found| found.step);
    let runs: std::collections::BTreeSet<&str> = found.iter().map(|found| found.run.as_str()).collect();
    match runs.len() {
        0 => Err(CommandError::failed(format!("there is no record of a run `{}`", args.id))
            .hint("`harness runs list` lists them")),
        1 => {
            let text: String = found
                .iter()
                .map(|found| format!("{}\n\n{}\n", found.name, visible(found.record.trim_end())))
                .collect();
            let records: Vec<_> = found
                .iter()
                .map(|found| json!({"name": found.name, "step": found.step, "text": found.record}))
                .collect();
            Ok(Answer::new("harness.run-records/1", json!({"run": found[0].run, "records": records}), text))
        }
        _ => {
            let names: Vec<&str> = runs.into_iter().take(8).collect();
            Err(CommandError::failed(format!("`{}` fits several runs", args.id))
                .hint(format!("give more of it: {}", names.join(", "))))
        }
    }
}
