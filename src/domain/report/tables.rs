//! The sections of the page that are tables, and the numbers at its top.

use super::{Cell, Facts, Table, Tile, ago, headings, outcome_class, series_class, usd};
use crate::domain::ledger::RunLine;
use crate::domain::stats::{Stats, share};
use crate::domain::time::{Time, parse_rfc3339, render_age, render_local};

/// Rows of the tables of what was last.
const LATEST: usize = 12;

pub fn tiles(facts: &Facts, total: &Stats) -> Vec<Tile> {
    let actions: u64 = total.actions.values().sum();
    let refused: u64 = total.refusals.values().sum();
    let waiting = facts.needs.len();
    let tile = |name, value: String, class| Tile { name, value, class };
    let some = |count: u64, class| if count > 0 { class } else { "" };
    vec![
        tile("Spend", usd(total.usd), ""),
        tile("Runs", total.runs.to_string(), ""),
        tile("Actions", actions.to_string(), ""),
        tile("Refusals", refused.to_string(), some(refused, "bad")),
        tile("Waiting on you", waiting.to_string(), some(waiting as u64, "wait")),
        tile("Calls saved", total.calls_saved.to_string(), some(total.calls_saved, "good")),
        tile(
            "From cache",
            total.cache_share().map_or("-".to_string(), |part| format!("{:.0}%", part * 100.0)),
            "",
        ),
    ]
}

pub fn needs(facts: &Facts) -> Table {
    let rows = facts.needs.iter().map(|need| {
        let age = need.since.map_or("-".to_string(), |since| render_age(since, facts.now));
        let dept = if need.dept.is_empty() { String::new() } else { format!("{}: ", need.dept) };
        vec![
            Cell::of(format!("dot {}", need.class), format!("{dept}{}", need.what)),
            Cell::code(&need.command),
            Cell::of("faint", age),
        ]
    });
    Table { rows: rows.collect(), head: headings(&["What", "Command", "#Age"]) }
}

pub fn departments(facts: &Facts) -> Table {
    let rows = facts.departments.iter().enumerate().map(|(index, dept)| {
        let last = dept.runs.first().and_then(|(run, _)| parse_rfc3339(&run.at));
        let budget = match dept.budget {
            Some((spent, most)) if most > 0.0 => {
                let part = (spent / most * 100.0).clamp(0.0, 100.0);
                let class = if part >= 100.0 {
                    "bad"
                } else if part >= 80.0 {
                    "wait"
                } else {
                    "good"
                };
                Cell {
                    gauge: Some(part.round()),
                    class: class.to_string(),
                    ..Cell::text(format!("{:.0}% of {}", part.floor(), usd(most)))
                }
            }
            _ => Cell::of("faint", "-"),
        };
        vec![
            Cell::of(format!("dot {}", series_class(index)), &dept.name),
            Cell::of(dept.state.1, &dept.state.0),
            Cell::of("faint", last.map_or("never".to_string(), |at| ago(at, facts.now))),
            Cell::text(dept.open.to_string()),
            Cell::text(dept.stats.runs.to_string()),
            Cell::text(usd(dept.stats.usd)),
            Cell::text(
                share(dept.stats.idle_runs, dept.stats.asking_runs)
                    .map_or("-".to_string(), |part| format!("{:.0}%", part * 100.0)),
            ),
            budget,
        ]
    });
    let head =
        headings(&["Department", "State", "Last run", "#Inbox", "#Runs", "#Spend", "#Idle", "Day's budget"]);
    Table { rows: rows.collect(), head }
}

pub fn latest_runs(facts: &Facts) -> Table {
    let mut runs: Vec<(&str, &RunLine, &String)> = Vec::new();
    for dept in &facts.departments {
        runs.extend(dept.runs.iter().map(|(run, decision)| (dept.name.as_str(), run, decision)));
    }
    runs.sort_by(|a, b| (&b.1.at, b.0).cmp(&(&a.1.at, a.0)));
    let rows = runs.into_iter().take(LATEST).map(|(dept, run, decision)| {
        let at = parse_rfc3339(&run.at).map(render_local).unwrap_or_default();
        let cost = run.cost_usd.map_or_else(|| format!("unknown, counted as {}", usd(run.counted_usd)), usd);
        let reason = if run.outcome == "done" {
            run.outcome.clone()
        } else {
            format!("{}: {}", run.outcome, run.reason)
        };
        vec![
            Cell::of("faint", at),
            Cell::text(dept),
            Cell::of("faint", &run.kind),
            if decision.is_empty() { Cell::of("faint", "-") } else { Cell::code(decision) },
            Cell::of(format!("dot {}", outcome_class(&run.outcome)), reason),
            Cell::text(cost),
        ]
    });
    Table {
        rows: rows.collect(),
        head: headings(&["Ended", "Department", "Kind", "Decision", "Outcome", "#Cost"]),
    }
}

pub fn latest_decisions(facts: &Facts) -> Table {
    let all = facts.departments.iter().flat_map(|dept| {
        dept.decisions.iter().map(|(at, text)| (*at, dept.name.as_str(), [text.as_str(), ""]))
    });
    Table { head: headings(&["When", "Department", "Decided"]), rows: latest(all.collect(), 1) }
}

pub fn latest_refusals(facts: &Facts) -> Table {
    let all = facts.departments.iter().flat_map(|dept| {
        dept.refusals.iter().map(|(at, code, why)| (*at, dept.name.as_str(), [code.as_str(), why.as_str()]))
    });
    let mut rows = latest(all.collect(), 2);
    rows.iter_mut().for_each(|row| row[2].code = true);
    Table { head: headings(&["When", "Department", "Code", "Why"]), rows }
}

/// The newest of them, with so many texts each.
fn latest(mut all: Vec<(Time, &str, [&str; 2])>, texts: usize) -> Vec<Vec<Cell>> {
    all.sort_by(|a, b| (b.0, a.1).cmp(&(a.0, b.1)));
    let row = |(at, dept, words): &(Time, &str, [&str; 2])| {
        let mut row = vec![Cell::of("faint", render_local(*at)), Cell::text(dept)];
        row.extend(words.iter().take(texts).map(Cell::text));
        row
    };
    all.iter().take(LATEST).map(row).collect()
}
