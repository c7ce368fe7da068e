//! The report page as values: what each section says and where each mark of its charts stands.
//!
//! Facts in, a [`Page`] out; the template in `ui/page` only lays it out. Every text that came from outside is made
//! visible here, and escaped there.

mod figures;
mod tables;
mod work;

use super::chart::{Bars, Columns, Flow, Strip};
use super::ledger::RunLine;
use super::stats::Stats;
use super::text::one_line;
use super::time::{Time, render_age, render_local};
use serde::Serialize;
use std::collections::BTreeMap;

/// The longest text of a table's cell.
const CELL: usize = 240;

/// What the page is made from.
#[derive(Clone, Debug)]
pub struct Facts {
    pub now: Time,
    pub since: Time,
    /// The command that makes this page again.
    pub command: String,
    pub root: String,
    pub version: String,
    pub gate: String,
    pub departments: Vec<DeptFacts>,
    pub needs: Vec<NeedFacts>,
    /// What the organisation may spend a day.
    pub cap_usd: Option<f64>,
    /// Messages of the human, by department.
    pub from_user: BTreeMap<String, u64>,
    pub directives: Vec<DirectiveFacts>,
}

/// A directive, from when to when, and what it cost.
#[derive(Clone, Debug)]
pub struct DirectiveFacts {
    pub id: String,
    pub title: String,
    pub status: String,
    pub priority: String,
    pub deadline: Option<String>,
    pub from: Time,
    /// When it was completed or cancelled.
    pub to: Option<Time>,
    pub usd: f64,
    pub projects: usize,
}

/// A task on a board.
#[derive(Clone, Debug)]
pub struct TaskFacts {
    pub id: String,
    pub title: String,
    pub status: &'static str,
    pub priority: &'static str,
    pub owner: Option<String>,
    pub due: Option<Time>,
    pub created: Time,
}

/// One department.
#[derive(Clone, Debug, Default)]
pub struct DeptFacts {
    pub name: String,
    pub stats: Stats,
    /// A word, and the class of its colour.
    pub state: (String, &'static str),
    pub open: usize,
    /// Spent and most, of the limit of which most is used.
    pub budget: Option<(f64, f64)>,
    /// The last runs, newest first, each with its last decision.
    pub runs: Vec<(RunLine, String)>,
    /// What its director decided, newest first.
    pub decisions: Vec<(Time, String)>,
    /// When, which code, and why; newest first.
    pub refusals: Vec<(Time, String, String)>,
    /// Its open tasks.
    pub tasks: Vec<TaskFacts>,
}

/// One thing that waits for the human.
#[derive(Clone, Debug, Default)]
pub struct NeedFacts {
    pub dept: String,
    pub what: String,
    pub command: String,
    pub since: Option<Time>,
    pub class: &'static str,
}

/// A number at the top.
#[derive(Clone, Debug, Serialize)]
pub struct Tile {
    pub name: &'static str,
    pub value: String,
    pub class: &'static str,
}

/// A table: headings, which of them are numbers, and rows of cells.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Table {
    pub head: Vec<Heading>,
    pub rows: Vec<Vec<Cell>>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Heading {
    pub text: &'static str,
    pub number: bool,
}

/// A cell. Its class says how it looks, `code` whether it is a command.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Cell {
    pub text: String,
    pub class: String,
    pub code: bool,
    /// How far a gauge is filled, in percent, where the cell has one.
    pub gauge: Option<f64>,
}

/// A chart with its words and its numbers.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Figure {
    pub id: &'static str,
    pub title: &'static str,
    /// What one sees in it, in a sentence.
    pub summary: String,
    pub legend: Vec<(String, String)>,
    pub columns: Option<Columns>,
    pub bars: Option<Bars>,
    pub strip: Option<Strip>,
    pub flow: Option<Flow>,
    pub table: Table,
}

/// The page.
#[derive(Clone, Debug, Serialize)]
pub struct Page {
    pub period: String,
    pub root: String,
    pub generated: String,
    pub version: String,
    pub command: String,
    pub gate: String,
    pub tiles: Vec<Tile>,
    pub needs: Table,
    pub departments: Table,
    pub spend: Figure,
    pub runs: Figure,
    pub outcomes: Figure,
    pub decisions: Figure,
    pub hours: Figure,
    pub flow: Figure,
    pub refusals: Figure,
    pub board: Figure,
    pub tasks: Table,
    pub directives: Figure,
    pub latest_runs: Table,
    pub latest_decisions: Table,
    pub latest_refusals: Table,
}

impl Cell {
    /// Text from outside, on one line.
    pub fn text(text: impl AsRef<str>) -> Cell {
        Cell { text: one_line(text.as_ref(), CELL), ..Cell::default() }
    }

    pub fn of(class: impl Into<String>, text: impl AsRef<str>) -> Cell {
        Cell { class: class.into(), ..Cell::text(text) }
    }

    pub fn code(text: impl AsRef<str>) -> Cell {
        Cell { code: true, ..Cell::text(text) }
    }
}

/// Headings; those that begin with `#` are over numbers.
fn headings(names: &[&'static str]) -> Vec<Heading> {
    let heading =
        |name: &&'static str| Heading { text: name.trim_start_matches('#'), number: name.starts_with('#') };
    names.iter().map(heading).collect()
}

/// Money as a person reads it: more digits where there is little of it.
pub fn usd(value: f64) -> String {
    match value {
        0.0 => "$0".to_string(),
        value if value < 0.1 => format!("${value:.3}"),
        value => format!("${value:.2}"),
    }
}

/// So many of something, in words: one has no `s`.
fn many(number: usize, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {what}{plural}")
}

/// The class of an outcome's colour.
pub fn outcome_class(outcome: &str) -> &'static str {
    match outcome {
        "done" => "good",
        "escalated" | "max-iterations" | "no-progress" => "wait",
        "failed" | "refused" | "killed" => "bad",
        _ => "off",
    }
}

/// The class of a department's colour, by its place; those past the last share one.
fn series_class(index: usize) -> String {
    format!("s{}", index.min(7))
}

/// Puts the page together.
pub fn lay_out_page(facts: &Facts) -> Page {
    let mut total = Stats::default();
    facts.departments.iter().for_each(|dept| total.merge(&dept.stats));
    Page {
        period: format!("{} to {}", day(facts.since), day(facts.now)),
        root: one_line(&facts.root, CELL),
        generated: render_local(facts.now),
        version: facts.version.clone(),
        command: facts.command.clone(),
        gate: facts.gate.clone(),
        tiles: tables::tiles(facts, &total),
        needs: tables::needs(facts),
        departments: tables::departments(facts),
        spend: figures::spend(facts, &total),
        runs: figures::runs(facts, &total),
        outcomes: figures::outcomes(facts),
        decisions: figures::decisions(&total),
        hours: figures::hours(facts),
        flow: figures::flow(facts),
        refusals: figures::refusals(&total),
        board: work::board(facts),
        tasks: work::tasks(facts),
        directives: work::directives(facts),
        latest_runs: tables::latest_runs(facts),
        latest_decisions: tables::latest_decisions(facts),
        latest_refusals: tables::latest_refusals(facts),
    }
}

fn day(time: Time) -> String {
    time.format("%-d %b %Y").to_string()
}

fn ago(time: Time, now: Time) -> String {
    format!("{} ago", render_age(time, now))
}

#[cfg(test)]
mod tests;
