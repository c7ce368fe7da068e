//! `harness why`: every gate between a department and its next run, with its verdict and its evidence.

use super::app::{App, Result};
use crate::domain::health::stale_after_s;
use crate::domain::text::one_line;
use crate::domain::time::{Time, parse_since, parse_span, render_local, render_rfc3339};
use crate::domain::wake::{GAP_S, Past, find_past};
use crate::domain::why::{GATES, GateLine, State, from_receipt};
use crate::error::{CommandError, Kind};
use crate::run::look::{Eye, Inspection, inspect};
use crate::store::org::{Department, Org};
use crate::ui::Answer;
use crate::ui::table::render_table;
use serde_json::json;

/// How much of the receipts' end is looked through for a moment in the past.
const RECEIPTS_BYTES: u64 = 4 * 1024 * 1024;

/// Show why a department runs or doesn't
///
/// Every gate in the order in which a tick asks them: config, due, active hours, lock, safety gate, budget, quota, wake
/// check. Each has passed, failed or was not run, and says by what. With --at, a moment in the past is told from the
/// receipts of that time (or that no tick looked then: the machine slept, or nothing pulsed), and one still to come as if
/// nothing changed until then.
///
/// Examples:
///   harness why business
///   harness why business --at 2026-11-18T03:00:00Z
///   harness why business --at 2h
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct WhyArgs {
    /// The department
    dept: String,
    /// A time, a date, or a span back from now such as 2h
    #[arg(long, value_name = "TIME")]
    at: Option<String>,
}

pub fn run(args: &WhyArgs, app: &App<'_>) -> Result<Answer> {
    let org = app.org()?;
    let department = app.department(&org, &args.dept)?;
    let now = app.ctx.now();
    let at = match &args.at {
        None => now,
        Some(text) => parse_since(text, now).ok_or_else(|| {
            CommandError::new(Kind::Usage, format!("`{}` is no time", one_line(text, 60)))
                .hint("such as 2026-11-18T03:00:00Z, 2026-11-18, or 2h for two hours ago")
        })?,
    };
    let is_past = at < now && args.at.as_deref().is_some_and(|text| parse_span(text) != Some(0));
    if is_past { past(app, &org, &department, at) } else { present(app, &org, &department, at) }
}

fn present(app: &App<'_>, org: &Org, department: &Department, at: Time) -> Result<Answer> {
    let key = || app.key().ok();
    let dept = &department.dept;
    let entry = org.wake().departments.remove(dept.as_str()).unwrap_or_default();
    let Inspection { gates, entry, next_at, .. } = inspect(&Eye::resting(org, at, &key), department, entry);
    let verdict = match gates.iter().find(|line| line.verdict == State::Failed) {
        None => "It runs at the next tick.".to_string(),
        Some(line) => format!("It does not run: {}.", one_line(&line.evidence, 300)),
    };
    let mut text = table(app, &gates);
    text.push_str(&format!("\n{dept}: {verdict}\n"));
    let receipt = &entry.receipt;
    if !receipt.code.is_empty() {
        text.push_str(&format!(
            "Last receipt: {} at {}: {}\n",
            receipt.code,
            receipt.at,
            one_line(&receipt.why, 300)
        ));
    }
    // A folder that can't be read is the config gate's word already.
    for (file, why) in department.schedules().map(|found| found.refused).unwrap_or_default() {
        text.push_str(&format!("schedules/{file} can't be used: {}\n", one_line(&why, 200)));
    }
    let silent = silent_since(app, org, department, app.ctx.now())?;
    if let Some(since) = &silent {
        text.push_str(&format!(
            "No tick has looked at it since {since}: `harness service status` shows what should pulse.\n"
        ));
    }
    if let Some((when, what)) = &next_at {
        text.push_str(&format!("Next by time alone: {} ({what})\n", render_local(*when)));
    }
    let data = json!({
        "dept": dept,
        "at": render_rfc3339(at),
        "runs": gates.iter().all(|line| line.verdict == State::Passed),
        "gates": gates,
        "receipt": entry.receipt,
        "last_run": entry.settled.as_ref().map(|settled| &settled.run),
        "next_at": next_at.as_ref().map(|(when, _)| render_rfc3339(*when)),
        "silent_since": silent,
    });
    Ok(Answer::new("harness.why/1", data, text))
}

/// What the receipts say of a moment that has passed.
fn past(app: &App<'_>, org: &Org, department: &Department, at: Time) -> Result<Answer> {
    let receipts = department.receipts(RECEIPTS_BYTES)?;
    let stamp = render_rfc3339(at);
    if let Some(since) = silent_since(app, org, department, at)? {
        return Ok(nobody(app, department, &stamp, &format!("no tick has looked at it since {since}")));
    }
    let receipt = match find_past(&receipts, &stamp) {
        Past::Nothing => return Ok(nobody(app, department, &stamp, "no receipt reaches back so far")),
        Past::NoPulse(gap) => {
            let why = format!("{}: it slept, was off, or nothing pulsed", gap.why);
            return Ok(nobody(app, department, &stamp, &why));
        }
        Past::Stood(receipt) => receipt,
    };
    let gates = from_receipt(receipt);
    let ran = receipt.code == "ran";
    let text = format!(
        "{}\n{}: at {stamp} the receipt of {} stood: {}: {}\n",
        table(app, &gates),
        department.dept,
        receipt.at,
        receipt.code,
        one_line(&receipt.why, 300)
    );
    let data = json!({"dept": department.dept, "at": stamp, "runs": ran, "gates": gates, "receipt": receipt});
    Ok(Answer::new("harness.why/1", data, text))
}

/// Since when no tick has looked, where that was before the moment and is too long ago to be a matter of the interval.
fn silent_since(app: &App<'_>, org: &Org, department: &Department, at: Time) -> Result<Option<String>> {
    let last = org.looks()?.last(department.dept.as_str());
    let Some(last) = last.and_then(|last| chrono::DateTime::from_timestamp(last, 0)) else { return Ok(None) };
    let interval = department.config().map_or(0, |config| config.auto_interval_seconds);
    let silent = (app.ctx.now() - last).num_seconds() > GAP_S.max(stale_after_s(interval));
    Ok((silent && last < at).then(|| render_rfc3339(last)))
}

/// A moment of which no gate can tell anything.
fn nobody(app: &App<'_>, department: &Department, stamp: &str, why: &str) -> Answer {
    let gates: Vec<GateLine> = GATES.iter().map(|gate| GateLine::not_run(gate, why)).collect();
    let text = table(app, &gates) + &format!("\n{}: nothing is known of {stamp}: {why}.\n", department.dept);
    let data = json!({"dept": department.dept, "at": stamp, "runs": null, "gates": gates, "receipt": null, "why": why});
    Answer::new("harness.why/1", data, text)
}

fn table(app: &App<'_>, gates: &[GateLine]) -> String {
    let rows: Vec<Vec<String>> = gates
        .iter()
        .map(|line| {
            vec![line.gate.to_string(), line.verdict.words().to_string(), one_line(&line.evidence, 200)]
        })
        .collect();
    render_table(&["GATE", "VERDICT", "EVIDENCE"], &rows, app.ui.width())
}
