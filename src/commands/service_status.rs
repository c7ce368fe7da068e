//! `harness service status`: what is installed, whether it runs, the last pulse, the next, and whether it outlives a
//! logout.

use super::app::{App, Result};
use super::service::Desk;
use crate::domain::id::Dept;
use crate::domain::service_unit::Target;
use crate::domain::time::{Time, render_age, render_rfc3339};
use crate::domain::wake::looks::Looks;
use crate::run::service::{Placed, Survives, UnitState};
use crate::ui::Answer;
use crate::ui::table::render_table;
use serde_json::json;

/// How much of a log's end is looked at for its last line.
const LAST_WORDS: u64 = 4 * 1024;

pub fn run(target: Option<Target>, app: &App<'_>) -> Result<Answer> {
    let random = || app.ctx.random();
    let desk = Desk::open(app, &random, target)?;
    let path = match &desk.installed {
        Some(installed) => installed.path.clone(),
        None => "/usr/bin:/bin".to_string(),
    };
    let service = desk.service_with(app, desk.org.departments()?.departments, path)?;
    let mut states = desk.host.states(&service)?;
    for state in states.iter_mut().filter(|state| state.running == "failed") {
        let said = desk.org.log_tail(&state.dept, LAST_WORDS).unwrap_or_default();
        if let Some(line) = said.lines().rev().find(|line| !line.trim().is_empty()) {
            state.detail.push_str(&format!("; it said: {line}"));
        }
    }
    let (now, pulse) = (app.ctx.now(), desk.org.read_pulse());
    let last = pulse.as_ref().ok().copied().flatten();
    let next = last.filter(|_| states.iter().any(runs)).map(|last| next_pulse(last, desk.target));
    let looks = desk.org.looks().unwrap_or_else(|_| Looks::none());
    let looked = |dept: &Dept| chrono::DateTime::from_timestamp(looks.last(dept.as_str())?, 0);
    let survives = desk.host.survives_logout(desk.target, &service.surroundings.user);
    let mut warnings = Vec::new();
    if let Err(error) = &pulse {
        warnings.push(format!("the last pulse is not known: {error}"));
    }
    let installed = states.iter().filter(|state| state.installed != Placed::No).count();
    let text = format!(
        "{}\n{}",
        table(app, &states, &|dept| {
            looked(dept).map_or("never".to_string(), |at| format!("{} ago", render_age(at.min(now), now)))
        }),
        summary(desk.target, installed, states.len(), &said(last, next, now), &survives)
    );
    let data = json!({
        "target": desk.target.name(),
        "installed": installed > 0,
        "departments": states.iter().map(|state| json!({
            "dept": state.dept, "installed": state.installed.word(), "running": state.running, "detail": state.detail,
            "last_look": looked(&state.dept).map(render_rfc3339),
        })).collect::<Vec<_>>(),
        "last_pulse": last.map(render_rfc3339),
        "next_pulse": next.map(render_rfc3339),
        "pulse_s": desk.target.pulse_seconds(),
        "survives_logout": match &survives { Survives::Yes => json!(true), Survives::No => json!(false), Survives::NotKnown(_) => json!(null) },
    });
    Ok(Answer::new("harness.service-status/1", data, text).warnings(warnings))
}

fn runs(state: &UnitState) -> bool {
    matches!(state.running.as_str(), "waiting" | "running" | "failed")
        || (state.installed != Placed::No && state.running == "not known")
}

fn next_pulse(last: Time, target: Target) -> Time {
    let seconds = i64::try_from(target.pulse_seconds()).unwrap_or(60);
    last + chrono::TimeDelta::seconds(seconds)
}

/// The last pulse and the next, in words.
fn said(last: Option<Time>, next: Option<Time>, now: Time) -> (String, String) {
    let last = last.map_or("never".to_string(), |last| match last > now {
        true => format!("{} (in the future)", render_rfc3339(last)),
        false => format!("{} ago ({})", render_age(last, now), render_rfc3339(last)),
    });
    let next = next.map_or("-".to_string(), |next| match next < now {
        true => "due now".to_string(),
        false => format!("in {} ({})", render_age(now, next), render_rfc3339(next)),
    });
    (last, next)
}

fn table(app: &App<'_>, states: &[UnitState], looked: &dyn Fn(&Dept) -> String) -> String {
    let rows: Vec<Vec<String>> = states
        .iter()
        .map(|state| {
            let detail = match state.installed {
                Placed::Differs => {
                    "it is not what would be installed now: harness service install".to_string()
                }
                _ => state.detail.clone(),
            };
            let UnitState { dept, installed, running, .. } = state;
            vec![dept.to_string(), installed.word().to_string(), running.clone(), looked(dept), detail]
        })
        .collect();
    render_table(&["DEPARTMENT", "INSTALLED", "RUNNING", "LOOKED AT", "NOTE"], &rows, app.ui.width().max(100))
}

fn summary(
    target: Target,
    installed: usize,
    all: usize,
    said: &(String, String),
    survives: &Survives,
) -> String {
    let survives = match (installed, survives) {
        (0, _) => "-".to_string(),
        (_, Survives::Yes) => "goes on at logout".to_string(),
        (_, Survives::No) => "stops at logout".to_string(),
        (_, Survives::NotKnown(why)) => format!("not known: {why}"),
    };
    let logout = match (target, survives.as_str()) {
        (Target::Systemd, "stops at logout") => "stops at logout (`loginctl enable-linger` changes that)",
        (Target::Launchd, "stops at logout") => "stops at logout, and starts again at the next login",
        (_, other) => other,
    };
    format!(
        "Target: {} ({installed} of {all} installed, a pulse every {} s)\nLast pulse: {}\nNext pulse: {}\nLogout: {logout}\n",
        target.name(),
        target.pulse_seconds(),
        said.0,
        said.1,
    )
}
