//! `harness stats`: what was done and what it cost, counted from the ledgers.

use super::app::{App, Result};
use crate::domain::request::{RequestKind, RequestStatus};
use crate::domain::stats::{Day, Stats, Tally, render_csv, share};
use crate::domain::time::{Time, parse_rfc3339, parse_since, render_rfc3339, render_span};
use crate::domain::wake::Wake;
use crate::error::{CommandError, Kind};
use crate::store::org::Department;
use crate::ui::bar::render_bar;
use crate::ui::table::{Align, Cell, render_columns};
use crate::ui::wrap::render_wrapped;
use crate::ui::{Answer, bold, faint};
use chrono::NaiveDate;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Days that are shown where nobody said since when.
const DAYS_SHOWN: usize = 14;
/// A damaged ledger may name any year; then only days with something are shown.
const DAYS_FILLED: i64 = 3_660;
const BAR: usize = 16;

/// Count runs, refusals, cost and tokens, day by day
///
/// Without a department, all of them together; without --since, from the beginning. Every number comes from the ledgers
/// (.harness/runs.jsonl of each department). Days are those of UTC, as in budgets. A cost that an engine did not report
/// is counted at its declared worst case, and the line says how often. An idle run is one that asked an engine and
/// changed nothing. The cache share is that of the tokens read.
///
/// The last 14 days are shown, or all since --since; --json and --csv have every day.
///
/// Examples:
///   harness stats
///   harness stats business --since 7d
///   harness stats --since 2026-11-01 --csv > november.csv
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct StatsArgs {
    /// One department alone
    #[arg(value_name = "DEPT")]
    dept: Option<String>,
    /// From then on: a span such as 7d, a date, or a time
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Print the days as comma-separated values, a line for each day of each department
    #[arg(long, conflicts_with = "json")]
    csv: bool,
}

pub fn run(args: &StatsArgs, app: &App<'_>) -> Result<Answer> {
    let since = since(app, args.since.as_deref())?;
    let (departments, warnings) = count(app, args.dept.as_deref(), since)?;
    let mut total = Stats::default();
    departments.iter().for_each(|(_, stats)| total.merge(stats));
    let text = if args.csv {
        render_csv(&departments)
    } else {
        let shown = if args.since.is_some() { usize::MAX } else { DAYS_SHOWN };
        render(&heading(&departments, args), &total, shown, app.ui.width())
    };
    let data = json!({
        "since": args.since.as_ref().map(|_| render_rfc3339(since)),
        "total": total.to_json(),
        "departments": departments
            .iter()
            .map(|(dept, stats)| json!({"dept": dept, "stats": stats.to_json()}))
            .collect::<Vec<_>>(),
    });
    Ok(Answer::new("harness.stats/1", data, text).warnings(warnings))
}

/// The moment that --since names; the beginning where it names none.
pub fn since(app: &App<'_>, text: Option<&str>) -> Result<Time> {
    let Some(text) = text else { return Ok(Time::MIN_UTC) };
    parse_since(text, app.ctx.now()).ok_or_else(|| {
        CommandError::new(Kind::Usage, format!("`{text}` is no time"))
            .code("bad_time")
            .hint("a span such as `7d` or `36h`, a date such as `2026-11-01`, or a time such as `2026-11-01T08:00:00Z`")
    })
}

/// The numbers of each department.
pub type Counted = Vec<(String, Stats)>;

/// Counts each department. One that can't be read is named, and hides no other.
pub fn count(app: &App<'_>, only: Option<&str>, since: Time) -> Result<(Counted, Vec<String>)> {
    let org = app.org()?;
    let wake = org.wake();
    if let Some(name) = only {
        let department = app.department(&org, name)?;
        return Ok((vec![(name.to_string(), count_one(app, &wake, &department, since)?)], Vec::new()));
    }
    let (mut counted, mut warnings) = (Vec::new(), Vec::new());
    for dept in org.departments()?.departments {
        let Some(department) = org.department(&dept)? else { continue };
        match count_one(app, &wake, &department, since) {
            Ok(stats) => counted.push((dept.to_string(), stats)),
            Err(error) => warnings.push(format!("{dept} is not counted: {}", error.cause)),
        }
    }
    Ok((counted, warnings))
}

fn count_one(app: &App<'_>, wake: &Wake, department: &Department, since: Time) -> Result<Stats> {
    let mut stats = Stats::default();
    department.count_ledger(since, &mut |line| stats.take(line, since))?;
    if let Some(entry) = wake.departments.get(department.dept.as_str()) {
        let interval = department.config()?.auto_interval_seconds;
        stats.take_saved(&entry.calls_saved_by_day(interval, app.ctx.now()), since);
    }
    let key = app.key()?;
    for request in department.requests(RequestKind::Approval, &key)?.requests {
        let waits = &mut stats.waits;
        if request.created < since {
            continue;
        }
        match request.status {
            RequestStatus::Pending if request.is_expired(app.ctx.now()) => waits.expired += 1,
            RequestStatus::Pending => waits.pending += 1,
            RequestStatus::Expired => waits.expired += 1,
            RequestStatus::Rejected => waits.rejected += 1,
            _ => waits.approved += 1,
        }
        let by_a_human = matches!(request.status, RequestStatus::Approved | RequestStatus::Rejected);
        if let (true, Some(at)) = (by_a_human, request.text("resolved_at").and_then(parse_rfc3339)) {
            waits.took((at - request.created).num_seconds());
        }
    }
    Ok(stats)
}

/// The numbers of a whole organisation since a moment, for people and for scripts.
pub fn summary(app: &App<'_>, heading: &str, since: Time) -> Result<(String, Value, Vec<String>)> {
    let (departments, warnings) = count(app, None, since)?;
    let mut total = Stats::default();
    departments.iter().for_each(|(_, stats)| total.merge(stats));
    Ok((render(&bold(heading), &total, usize::MAX, app.ui.width()), total.to_json(), warnings))
}

fn heading(departments: &[(String, Stats)], args: &StatsArgs) -> String {
    let of = match (&args.dept, departments.len()) {
        (Some(dept), _) => dept.clone(),
        (None, 1) => "1 department".to_string(),
        (None, count) => format!("{count} departments"),
    };
    let since =
        args.since.as_ref().map_or("from the beginning".to_string(), |since| format!("since {since}"));
    bold(&format!("{of}, {since}"))
}

fn render(heading: &str, stats: &Stats, days: usize, columns: usize) -> String {
    let mut text = format!("{heading}\n\n");
    if stats.runs == 0 && stats.steps_total() == 0 && stats.calls_saved == 0 {
        text.push_str("No runs yet.\n");
        return text;
    }
    text.push_str(&facts(stats, columns));
    text.push('\n');
    text.push_str(&outcomes(stats, columns));
    if !stats.refusals.is_empty() {
        text.push('\n');
        text.push_str(&counts("REFUSAL", &stats.refusals, columns));
    }
    text.push('\n');
    text.push_str(&day_by_day(stats, days, columns));
    text
}

fn percent(part: Option<f64>) -> String {
    part.map_or("-".to_string(), |part| format!("{:.0}%", part * 100.0))
}

fn number(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn facts(stats: &Stats, columns: usize) -> String {
    let kinds: Vec<String> =
        stats.by_kind.iter().map(|(kind, count)| format!("{kind} {}", number(*count))).collect();
    let roles: Vec<String> =
        stats.steps.iter().map(|(role, tally)| format!("{role} {}", number(tally.count))).collect();
    let unknown = match stats.unknown {
        0 => String::new(),
        count => format!(", {} steps of unknown cost counted at their worst", number(count)),
    };
    let waits = &stats.waits;
    let latency = match (waits.quantile(0.5), waits.quantile(0.9)) {
        (Some(median), Some(most)) => {
            format!("; half within {}, nine in ten within {}", render_span(median), render_span(most))
        }
        _ => String::new(),
    };
    let lines = [
        ("Runs", format!("{} ({})", number(stats.runs), kinds.join(", "))),
        ("Steps", format!("{} ({})", number(stats.steps_total()), roles.join(", "))),
        ("Cost", format!("{:.2} USD{unknown}", stats.usd)),
        (
            "Idle",
            format!(
                "{} of {} runs that asked an engine changed nothing ({}), for {:.2} USD",
                number(stats.idle_runs),
                number(stats.asking_runs),
                percent(stats.idle_share()),
                stats.idle_usd
            ),
        ),
        ("Saved", format!("{} engine calls by the wake check", number(stats.calls_saved))),
        (
            "Ghosts",
            format!(
                "{} of {} decisions ({})",
                number(stats.ghosts),
                number(stats.orchestrator_steps),
                percent(stats.ghost_share())
            ),
        ),
        (
            "Tokens",
            format!(
                "{} read, {} of them from a cache; {} written",
                number(stats.tokens.read()),
                percent(stats.cache_share()),
                number(stats.tokens.output)
            ),
        ),
        (
            "Approvals",
            format!(
                "{} approved, {} rejected, {} expired, {} pending{latency}",
                number(waits.approved),
                number(waits.rejected),
                number(waits.expired),
                number(waits.pending)
            ),
        ),
    ];
    lines.iter().map(|(name, line)| render_wrapped(&format!("{name:<10} "), line, columns)).collect()
}

fn outcomes(stats: &Stats, columns: usize) -> String {
    let mut rows: Vec<(&String, &Tally)> = stats.by_outcome.iter().collect();
    rows.sort_by_key(|(_, tally)| std::cmp::Reverse(tally.count));
    let rows: Vec<Vec<Cell>> = rows
        .into_iter()
        .map(|(outcome, tally)| {
            let part = share(tally.count, stats.runs).unwrap_or(0.0);
            vec![
                Cell::from(outcome.as_str()),
                number(tally.count).into(),
                percent(Some(part)).into(),
                format!("{:.2}", tally.usd).into(),
                format!("{:.4}", tally.usd / tally.count.max(1) as f64).into(),
                render_bar(part, BAR).into(),
            ]
        })
        .collect();
    let headings = [
        ("OUTCOME", Align::Left),
        ("RUNS", Align::Right),
        ("SHARE", Align::Right),
        ("USD", Align::Right),
        ("USD EACH", Align::Right),
        ("", Align::Left),
    ];
    render_columns(&headings, &rows, columns)
}

fn counts(name: &str, counts: &BTreeMap<String, u64>, columns: usize) -> String {
    let most = counts.values().copied().max().unwrap_or(1);
    let mut rows: Vec<(&String, &u64)> = counts.iter().collect();
    rows.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let rows: Vec<Vec<Cell>> = rows
        .into_iter()
        .map(|(name, count)| {
            let bar = render_bar(*count as f64 / most as f64, BAR);
            vec![Cell::from(name.as_str()), number(*count).into(), bar.into()]
        })
        .collect();
    render_columns(&[(name, Align::Left), ("COUNT", Align::Right), ("", Align::Left)], &rows, columns)
}

/// Every day from the first to the last, also those on which nothing happened.
fn every_day(stats: &Stats) -> Vec<(NaiveDate, Day)> {
    let ends = stats.days.keys().next().zip(stats.days.keys().next_back());
    match ends {
        Some((first, last)) if (*last - *first).num_days() < DAYS_FILLED => first
            .iter_days()
            .take_while(|day| day <= last)
            .map(|day| (day, stats.days.get(&day).copied().unwrap_or_default()))
            .collect(),
        _ => stats.days.iter().map(|(date, day)| (*date, *day)).collect(),
    }
}

fn day_by_day(stats: &Stats, most: usize, columns: usize) -> String {
    let all = every_day(stats);
    let hidden = all.len().saturating_sub(most);
    let days = &all[hidden..];
    let top_runs = days.iter().map(|(_, day)| day.runs).max().unwrap_or(0).max(1);
    let top_usd = days.iter().map(|(_, day)| day.usd).fold(0.0, f64::max);
    let rows: Vec<Vec<Cell>> = days
        .iter()
        .map(|(date, day)| {
            let usd_share = if top_usd > 0.0 { day.usd / top_usd } else { 0.0 };
            vec![
                Cell::from(date.to_string()),
                number(day.runs).into(),
                render_bar(day.runs as f64 / top_runs as f64, 10).into(),
                number(day.bad_runs).into(),
                number(day.steps).into(),
                number(day.calls_saved).into(),
                format!("{:.2}", day.usd).into(),
                render_bar(usd_share, BAR).into(),
            ]
        })
        .collect();
    let headings = [
        ("DAY", Align::Left),
        ("RUNS", Align::Right),
        ("", Align::Left),
        ("BAD", Align::Right),
        ("STEPS", Align::Right),
        ("SAVED", Align::Right),
        ("USD", Align::Right),
        ("", Align::Left),
    ];
    let mut text = render_columns(&headings, &rows, columns);
    if hidden > 0 {
        text.push_str(&faint(&format!("and {hidden} days before; --since shows them\n")));
    }
    text
}
