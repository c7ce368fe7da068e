//! The sections of the page that are charts, each with a sentence, a legend and its numbers as a table.

use super::{Cell, DeptFacts, Facts, Figure, Table, headings, many, outcome_class, series_class, usd};
use crate::domain::chart::{
    BarOf, ColumnsOf, Edge, Lane, Series, Span, lay_out_bars, lay_out_columns, lay_out_flow, lay_out_strip,
};
use crate::domain::stats::{Day, Stats};
use crate::domain::time::{parse_rfc3339, render_elapsed};
use chrono::{Days, Local, NaiveDate, Timelike};
use std::collections::BTreeMap;

/// Columns that can be told apart.
const DAYS_MAX: usize = 92;
/// Departments with a colour of their own.
const OWN_COLOURS: usize = 7;
/// Names that fit on the circle.
const ON_CIRCLE: usize = 14;
const DAY_S: f64 = 86_400.0;
const YOU: &str = "you";
const OTHERS: &str = "others";

fn whole(value: f64) -> String {
    format!("{value:.0}")
}

/// Every day of the time asked for, also those on which nothing happened. Where they are too many, from the first on
/// which something did, and the latest of them.
fn days(facts: &Facts, total: &Stats) -> Vec<NaiveDate> {
    let (last, asked) = (facts.now.date_naive(), facts.since.date_naive());
    let first = match usize::try_from((last - asked).num_days()) {
        Ok(days) if days < DAYS_MAX => asked,
        _ => total.days.keys().next().copied().unwrap_or(last).max(asked),
    };
    let mut days: Vec<NaiveDate> =
        std::iter::successors(Some(last), |day| day.checked_sub_days(Days::new(1)))
            .take_while(|day| *day >= first)
            .take(DAYS_MAX)
            .collect();
    days.reverse();
    days
}

fn day_of(stats: &Stats, day: &NaiveDate) -> Day {
    stats.days.get(day).copied().unwrap_or_default()
}

/// The days in a table, one column a series.
fn day_table(days: &[NaiveDate], series: &[Series], number: &dyn Fn(f64) -> String) -> Table {
    let mut table = Table { head: headings(&["Day", "Of", "#Amount"]), rows: Vec::new() };
    for (index, day) in days.iter().enumerate() {
        for series in series.iter().filter(|series| series.values[index] > 0.0) {
            let value = number(series.values[index]);
            table.rows.push(vec![Cell::text(day.to_string()), Cell::text(&series.name), Cell::text(value)]);
        }
    }
    table
}

pub fn spend(facts: &Facts, total: &Stats) -> Figure {
    let days = days(facts, total);
    let of = |depts: &[DeptFacts]| -> Vec<f64> {
        days.iter().map(|day| depts.iter().map(|dept| day_of(&dept.stats, day).usd).sum()).collect()
    };
    let mut series: Vec<Series> = Vec::new();
    for (index, dept) in facts.departments.iter().take(OWN_COLOURS).enumerate() {
        let values = of(std::slice::from_ref(dept));
        series.push(Series { name: dept.name.clone(), class: series_class(index), values });
    }
    if let Some(rest) = facts.departments.get(OWN_COLOURS..).filter(|rest| !rest.is_empty()) {
        series.push(Series { name: OTHERS.to_string(), class: series_class(OWN_COLOURS), values: of(rest) });
    }
    let names: Vec<String> = days.iter().map(ToString::to_string).collect();
    let cap = facts.cap_usd.map(|cap| (cap, "daily limit"));
    let chart = lay_out_columns(&ColumnsOf { days: &names, series: &series, cap, number: &usd });
    let top = days.iter().map(|day| (day_of(total, day).usd, day)).max_by(|a, b| a.0.total_cmp(&b.0));
    let most = top
        .filter(|(most, _)| *most > 0.0)
        .map(|(most, day)| format!(" The most was {} on {day}.", usd(most)));
    Figure {
        id: "spend",
        title: "Spend per day",
        summary: format!("{} over {} days of UTC.{}", usd(total.usd), days.len(), most.unwrap_or_default()),
        legend: series.iter().map(|one| (one.class.clone(), one.name.clone())).collect(),
        table: day_table(&days, &series, &usd),
        columns: (!chart.marks.is_empty()).then_some(chart),
        ..Figure::default()
    }
}

pub fn runs(facts: &Facts, total: &Stats) -> Figure {
    let days = days(facts, total);
    let values = |of: &dyn Fn(Day) -> u64| days.iter().map(|day| of(day_of(total, day)) as f64).collect();
    let one =
        |name: &str, class: &str, values: Vec<f64>| Series { name: name.into(), class: class.into(), values };
    let series = [
        one("ended well or waits", "good", values(&|day| day.runs - day.bad_runs)),
        one("failed, refused or killed", "bad", values(&|day| day.bad_runs)),
        one("saved by the wake check", "off", values(&|day| day.calls_saved)),
    ];
    let names: Vec<String> = days.iter().map(ToString::to_string).collect();
    let chart = lay_out_columns(&ColumnsOf { days: &names, series: &series, cap: None, number: &whole });
    let bad: u64 = total.days.values().map(|day| day.bad_runs).sum();
    Figure {
        id: "runs",
        title: "Runs per day",
        summary: format!(
            "{}, of which {bad} failed, were refused or were killed.",
            many(total.runs as usize, "run")
        ),
        legend: series
            .iter()
            .filter(|one| one.values.iter().any(|value| *value > 0.0))
            .map(|one| (one.class.clone(), one.name.clone()))
            .collect(),
        table: day_table(&days, &series, &whole),
        columns: (!chart.marks.is_empty()).then_some(chart),
        ..Figure::default()
    }
}

pub fn outcomes(facts: &Facts) -> Figure {
    let mut table = Table { head: headings(&["Department", "Outcome", "#Runs", "#Spend"]), rows: Vec::new() };
    let mut rows = Vec::new();
    for dept in &facts.departments {
        let mut tallies: Vec<_> = dept.stats.by_outcome.iter().collect();
        tallies.sort_by_key(|(_, tally)| std::cmp::Reverse(tally.count));
        for (outcome, tally) in &tallies {
            let cells = [dept.name.clone(), (*outcome).clone(), tally.count.to_string(), usd(tally.usd)];
            table.rows.push(cells.iter().map(Cell::text).collect());
        }
        let piece = |(outcome, tally): &(&String, &crate::domain::stats::Tally)| {
            (outcome_class(outcome).to_string(), (*outcome).clone(), tally.count as f64)
        };
        rows.push(BarOf { name: dept.name.clone(), pieces: tallies.iter().map(piece).collect() });
    }
    let any = !table.rows.is_empty();
    let words = [("good", "done"), ("wait", "waits for somebody"), ("bad", "went wrong"), ("off", "stopped")];
    Figure {
        id: "outcomes",
        title: "Outcomes by department",
        summary: format!("How the runs of {} ended.", many(facts.departments.len(), "department")),
        legend: words.map(|(class, name)| (class.to_string(), name.to_string())).to_vec(),
        bars: any.then(|| lay_out_bars(&rows, &whole)),
        table,
        ..Figure::default()
    }
}

pub fn decisions(total: &Stats) -> Figure {
    let class = |name: &str| match name {
        "DONE" => "good",
        "ESCALATE" => "wait",
        _ => "busy",
    };
    counted("decisions", "Decisions", "decisions of directors", &total.decisions, &class)
}

pub fn refusals(total: &Stats) -> Figure {
    let mut figure =
        counted("refusals", "Refusals by code", "actions and answers refused", &total.refusals, &|_| "bad");
    if total.repaired > 0 {
        figure.summary.push_str(&format!(" {} answers were right the second time.", total.repaired));
    }
    figure
}

fn counted(
    id: &'static str,
    title: &'static str,
    what: &str,
    counts: &BTreeMap<String, u64>,
    class: &dyn Fn(&str) -> &'static str,
) -> Figure {
    let mut sorted: Vec<(&String, &u64)> = counts.iter().collect();
    sorted.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let bar = |(name, count): &(&String, &u64)| BarOf {
        name: (*name).clone(),
        pieces: vec![(class(name).to_string(), "count".to_string(), **count as f64)],
    };
    let rows: Vec<BarOf> = sorted.iter().take(12).map(bar).collect();
    let cells =
        |(name, count): &(&String, &u64)| vec![Cell::text(name.as_str()), Cell::text(count.to_string())];
    Figure {
        id,
        title,
        summary: format!("{} {what}.", counts.values().sum::<u64>()),
        bars: (!rows.is_empty()).then(|| lay_out_bars(&rows, &whole)),
        table: Table { head: headings(&["Name", "#Count"]), rows: sorted.iter().map(cells).collect() },
        ..Figure::default()
    }
}

/// The last 24 hours, a line for each department.
pub fn hours(facts: &Facts) -> Figure {
    let start = facts.now - chrono::TimeDelta::days(1);
    let mut table =
        Table { head: headings(&["Department", "Started", "#Took", "Outcome"]), rows: Vec::new() };
    let mut lanes = Vec::new();
    for dept in &facts.departments {
        let mut spans = Vec::new();
        for (run, _) in dept.runs.iter().rev() {
            let (Some(from), Some(to)) = (parse_rfc3339(&run.started), parse_rfc3339(&run.at)) else {
                continue;
            };
            if to < start {
                continue;
            }
            let local = from.with_timezone(&Local).format("%H:%M").to_string();
            let took = render_elapsed((to - from).num_seconds());
            let seconds =
                |time: crate::domain::time::Time| (time - start).num_milliseconds() as f64 / 1_000.0;
            spans.push(Span {
                from: seconds(from),
                to: seconds(to),
                class: outcome_class(&run.outcome).to_string(),
                title: format!("{} {local}, {took}: {}", dept.name, run.outcome),
            });
            table.rows.push(
                [dept.name.as_str(), &local, &took, &run.outcome].into_iter().map(Cell::text).collect(),
            );
        }
        lanes.push(Lane { name: dept.name.clone(), spans });
    }
    let count: usize = lanes.iter().map(|lane| lane.spans.len()).sum();
    Figure {
        id: "hours",
        title: "Last 24 hours",
        summary: format!("{}, each at its time, in the colour of its outcome.", many(count, "run")),
        strip: (count > 0).then(|| lay_out_strip(&lanes, DAY_S, &full_hours(start))),
        table,
        ..Figure::default()
    }
}

/// Every fourth full hour of local time.
fn full_hours(start: crate::domain::time::Time) -> Vec<(f64, String)> {
    let hours = (0..=24).map(|hour| start + chrono::TimeDelta::hours(hour));
    hours
        .filter_map(|time| {
            let local = time.with_timezone(&Local);
            let past = f64::from(local.minute() * 60 + local.second());
            let at = (time - start).num_seconds() as f64 - past;
            (local.hour().is_multiple_of(4) && at >= 0.0).then(|| (at, local.format("%H:00").to_string()))
        })
        .collect()
}

/// Who wrote to whom.
pub fn flow(facts: &Facts) -> Figure {
    let mut counts: BTreeMap<(String, String), (u64, Vec<String>)> = BTreeMap::new();
    for (dept, count) in &facts.from_user {
        counts.insert((YOU.to_string(), dept.clone()), (*count, Vec::new()));
    }
    for dept in &facts.departments {
        for ((kind, to), count) in &dept.stats.sent {
            let slot = counts.entry((dept.name.clone(), to.clone())).or_default();
            slot.0 += count;
            slot.1.push(format!("{kind} {count}"));
        }
    }
    let edges: Vec<Edge> = counts
        .iter()
        .map(|((from, to), (count, _))| Edge { from: from.clone(), to: to.clone(), count: *count })
        .collect();
    let total: u64 = edges.iter().map(|edge| edge.count).sum();
    let mut names: Vec<(String, String)> = vec![(YOU.to_string(), "busy".to_string())];
    let depts = facts.departments.iter().enumerate();
    names.extend(depts.map(|(index, dept)| (dept.name.clone(), series_class(index))));
    names.retain(|(name, _)| edges.iter().any(|edge| edge.from == *name || edge.to == *name));
    names.truncate(ON_CIRCLE);
    let row = |((from, to), (count, kinds)): (&(String, String), &(u64, Vec<String>))| {
        vec![Cell::text(from), Cell::text(to), Cell::text(kinds.join(", ")), Cell::text(count.to_string())]
    };
    Figure {
        id: "flow",
        title: "Who wrote to whom",
        summary: format!(
            "{} between {} correspondents; an arrow is as thick as they are many.",
            many(total as usize, "message"),
            names.len()
        ),
        flow: (total > 0).then(|| lay_out_flow(&names, &edges)),
        table: Table {
            head: headings(&["From", "To", "Kinds", "#Messages"]),
            rows: counts.iter().map(row).collect(),
        },
        ..Figure::default()
    }
}
