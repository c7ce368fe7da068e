//! `harness schedulers`: how every department is run by itself, and when it is due next.

use super::app::{App, Result};
use crate::domain::config::DirectorConfig;
use crate::domain::gate::Gate;
use crate::domain::text::one_line;
use crate::domain::time::{Time, render_rfc3339};
use crate::domain::wake::Entry;
use crate::domain::wake::check::due_at;
use crate::store::charters::{Accepted, Standing};
use crate::store::org::Department;
use crate::ui::Answer;
use crate::ui::table::render_table;
use serde_json::{Value, json};

/// List how departments are run by themselves, and when each is due
///
/// secondsRemaining is how long until the department's interval has passed since its last run; 0 means that the next
/// tick looks whether there is something to do. New mail doesn't wait for it. Where nothing would run however long one
/// waits (autoLoop is off, the gate is closed, it is paused, blocked or not accepted) it is null, and `closed` says why.
///
/// Examples:
///   harness schedulers
///   harness schedulers --json
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct SchedulersArgs {}

pub fn run(_args: &SchedulersArgs, app: &App<'_>) -> Result<Answer> {
    let org = app.org()?;
    let (wake, now) = (org.wake(), app.ctx.now());
    let (gate, accepted) = (org.gate(now), org.accepted()?);
    let (mut rows, mut data) = (Vec::new(), Vec::new());
    for dept in org.departments()?.departments {
        let Some(department) = org.department(&dept)? else { continue };
        let entry = wake.departments.get(dept.as_str()).cloned().unwrap_or_default();
        let config = match department.config() {
            Ok(config) => config,
            Err(error) => {
                rows.push(vec![
                    dept.to_string(),
                    "?".into(),
                    String::new(),
                    String::new(),
                    error.to_string(),
                ]);
                data.push(json!({"dept": dept, "error": error.to_string()}));
                continue;
            }
        };
        let closed = what_closes(&gate, &accepted, &department, &config)?;
        let due = due_at(None, entry.settled.as_ref(), &config, now);
        let remaining = closed.is_none().then(|| (due - now).num_seconds().max(0));
        rows.push(vec![
            dept.to_string(),
            if config.auto_loop { "on" } else { "off" }.to_string(),
            format!("{} s", config.auto_interval_seconds),
            remaining.map_or_else(|| "-".to_string(), |seconds| format!("{seconds} s")),
            closed.clone().filter(|_| config.auto_loop).unwrap_or_else(|| shown(&entry)),
        ]);
        let mut row = to_json(dept.as_str(), &config, &entry, remaining, now);
        row["closed"] = json!(closed);
        data.push(row);
    }
    let text = render_table(&["DEPARTMENT", "AUTO", "EVERY", "REMAINING", "LAST"], &rows, app.ui.width());
    Ok(Answer::new("harness.schedulers/1", json!({"schedulers": data}), text))
}

/// Why nothing would run however long one waits.
fn what_closes(
    gate: &Gate,
    accepted: &Accepted,
    department: &Department,
    config: &DirectorConfig,
) -> Result<Option<String>> {
    if !config.auto_loop {
        return Ok(Some("autoLoop is off".to_string()));
    }
    if !gate.is_open() {
        return Ok(Some(format!("the gate is {}: {}", gate.words(), gate.reason)));
    }
    if let Some(paused) = department.paused()? {
        return Ok(Some(format!("paused by {}: {}", paused.by, paused.reason)));
    }
    if let Some(blocked) = department.blocked()? {
        return Ok(Some(format!("blocked: {}", blocked.reason)));
    }
    let accepted = matches!(accepted.standing(department)?, Standing::Accepted);
    Ok((!accepted).then(|| "it is not accepted as it is".to_string()))
}

fn shown(entry: &Entry) -> String {
    match entry.receipt.code.as_str() {
        "" => "no tick has looked yet".to_string(),
        code => format!("{code}: {}", one_line(&entry.receipt.why, 120)),
    }
}

fn to_json(dept: &str, config: &DirectorConfig, entry: &Entry, remaining: Option<i64>, now: Time) -> Value {
    json!({
        "dept": dept,
        "autoLoop": config.auto_loop,
        "autoIntervalSeconds": config.auto_interval_seconds,
        "secondsRemaining": remaining,
        "due_at": remaining.map(|seconds| render_rfc3339(now + chrono::TimeDelta::seconds(seconds))),
        "next_at": entry.next_at,
        "last_run": entry.settled.as_ref().map(|settled| json!({
            "run": settled.run, "at": settled.at, "outcome": settled.outcome,
        })),
        "receipt": entry.receipt,
        "calls_saved": entry.calls_saved(config.auto_interval_seconds, now),
    })
}
