//! `harness verify`: whether audit, requests, ledger, records, journals and revisions hold together.

use super::app::{App, Result};
use crate::run::verify::{Verdict, verify};
use crate::ui::Answer;
use crate::ui::table::render_table;
use serde_json::json;

/// Check that everything on disk holds together
///
/// That the organisation is the one its id names; that nothing that counts can be written by everyone; the audit chain, and
/// its end as it is kept beside your key; the budget's book; the signatures under approvals, questions and escalations,
/// and that none was put back after the audit log had it as resolved; the ledger against the records; the journals; and
/// the revisions: that letters still say what was sent, that every status moved by a run has that run in the ledger, and
/// that every decision carried out stands in the log. Each has passed, failed or not run, and says why. It changes
/// nothing. Exit 1 where one failed.
///
/// Examples:
///   harness verify
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct VerifyArgs {}

pub fn run(_args: &VerifyArgs, app: &App<'_>) -> Result<Answer> {
    let org = app.org()?;
    let checks = verify(&org, &app.key()?, app.ctx.now())?;
    let rows: Vec<Vec<String>> = checks
        .iter()
        .map(|check| vec![check.verdict.word().to_string(), check.name.clone(), check.what.clone()])
        .collect();
    let failed = checks.iter().filter(|check| check.verdict == Verdict::Failed).count();
    let text = render_table(&["RESULT", "CHECK", "WHAT"], &rows, app.ui.width().max(100));
    let data: Vec<_> = checks
        .iter()
        .map(|check| json!({"check": check.name, "result": check.verdict.word(), "what": check.what}))
        .collect();
    Ok(Answer::new("harness.verify/1", json!({"checks": data, "failed": failed}), text)
        .exit(u8::from(failed > 0)))
}
