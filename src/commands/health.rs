//! `harness health`: how the organisation is, in one word, a word a department, and a line a check.

use super::app::{App, Result};
use super::service::{host, units_folder};
use crate::domain::service_unit::Target;
use crate::run::health::{Clinic, Health};
use crate::run::verify::Check;
use crate::store::org::Org;
use crate::ui::table::render_table;
use crate::ui::{Answer, bold};
use serde_json::{Value, json};

/// Show whether the organisation is well
///
/// One word for it and for each department: off, never ran, stale, unreadable, blocked or healthy. Then a line for each
/// check, which has passed, failed or not run. Exit 1 where one failed; what could not run fails nothing. It repairs
/// nothing. Work that is open and that nothing will ever move again is escalated, once, in the department that touched
/// it last.
///
/// Examples:
///   harness health
///   harness health --json
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct HealthArgs {}

pub fn run(_args: &HealthArgs, app: &App<'_>) -> Result<Answer> {
    let org = app.org()?;
    let health = examine(app, &org)?;
    let warnings = super::stalled::escalate(app, &org, &health.stalled);
    let exit = u8::from(health.failed() > 0);
    Ok(Answer::new("harness.health/1", data(&health), text(app, &health)).exit(exit).warnings(warnings))
}

/// Every check of the organisation as it is.
pub fn examine(app: &App<'_>, org: &Org) -> Result<Health> {
    let random = || app.ctx.random();
    let host = host(app, &random)?;
    let clinic = Clinic {
        org,
        host: &host,
        now: app.ctx.now(),
        user_path: app.ctx.variable("PATH").unwrap_or_default(),
        units: &|target: Target| units_folder(app, target).ok(),
    };
    Ok(clinic.examine()?)
}

fn text(app: &App<'_>, health: &Health) -> String {
    let mut text = format!("{}\n\n", bold(health.state.word()));
    let rows: Vec<Vec<String>> = health
        .words
        .iter()
        .map(|word| vec![word.dept.to_string(), word.state.word().to_string(), word.why.clone()])
        .collect();
    if !rows.is_empty() {
        text.push_str(&render_table(&["DEPARTMENT", "IS", "BECAUSE"], &rows, app.ui.width().max(100)));
        text.push('\n');
    }
    text + &check_table(app, &health.checks)
}

/// A line for each check.
pub fn check_table(app: &App<'_>, checks: &[Check]) -> String {
    let rows: Vec<Vec<String>> = checks
        .iter()
        .map(|check| vec![check.verdict.word().to_string(), check.name.clone(), check.what.clone()])
        .collect();
    render_table(&["RESULT", "CHECK", "WHAT"], &rows, app.ui.width().max(160))
}

/// The document of both health and doctor.
pub fn data(health: &Health) -> Value {
    let words: Vec<Value> = health
        .words
        .iter()
        .map(|word| json!({"dept": word.dept, "state": word.state.word(), "why": word.why}))
        .collect();
    let checks: Vec<Value> = health
        .checks
        .iter()
        .map(|check| json!({"check": check.name, "result": check.verdict.word(), "what": check.what}))
        .collect();
    json!({"state": health.state.word(), "departments": words, "checks": checks, "failed": health.failed()})
}
