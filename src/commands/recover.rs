//! `harness recover`: finishes what a dead run left, now.

use super::app::{App, Result};
use super::running::{Order, recover_department};
use crate::run::Effects;
use crate::run::cycle::Work;
use crate::run::stop::is_running;
use crate::store::journal::Journal;
use crate::store::org::{Department, Org};
use crate::ui::Answer;
use crate::ui::sink::Progress;
use serde_json::json;

/// Finish what a dead run left
///
/// Every run does this first; here it is done by itself. Processes of the dead run are ended, an open plan is carried
/// out, a saved answer is read, and the run is recorded as killed. Doing it twice changes nothing.
///
/// Examples:
///   harness recover business
///   harness recover business --unblock
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct RecoverArgs {
    /// The department
    dept: String,
    /// Let it run again after a plan was set aside
    #[arg(long)]
    unblock: bool,
    /// Say what would happen, and touch nothing
    #[arg(long)]
    dry_run: bool,
}

pub fn run(args: &RecoverArgs, app: &App<'_>) -> Result<Answer> {
    app.require_human("recover")?;
    let org = app.org()?;
    let department = app.department(&org, &args.dept)?;
    if args.dry_run {
        return show(args, app, &org, &department);
    }
    app.audit(&org, "recover", &args.dept)?;
    if args.unblock {
        department.unblock()?;
    }
    let order = Order {
        dept: &args.dept,
        kind: "loop",
        work: Work::Loop { max_iterations: 1 },
        engines: vec!["rules".to_string()],
        effects: Effects::CarriedOut,
    };
    let lines = recover_department(app, &order, &mut Progress::new(app.ui))?;
    let text = match lines.len() {
        0 => format!("{}: nothing was left to finish.\n", args.dept),
        _ => format!("{}: recovered.\n", args.dept),
    };
    Ok(Answer::new("harness.recover/1", json!({"dept": args.dept, "done": lines}), text))
}

/// What a dead run left, as far as it can be seen without touching it.
fn show(args: &RecoverArgs, app: &App<'_>, org: &Org, department: &Department) -> Result<Answer> {
    let (entries, strange) = Journal::of(org, department, &app.key()?)?.entries()?;
    let mut left: Vec<String> =
        entries.iter().map(|entry| format!("would finish {}", entry.file())).collect();
    left.extend(strange.iter().map(|file| format!("would set {file} aside in quarantine")));
    if let Some(active) = department.active()?.filter(|_| !is_running(department)) {
        left.push(format!("would end what is left of {} and record it as killed", active.run));
    }
    if args.unblock && department.blocked()?.is_some() {
        left.push("would let the department run again".to_string());
    }
    let text = match left.len() {
        0 => format!("{}: nothing is left to finish.\n", args.dept),
        _ => left.iter().map(|line| format!("{}: {line}\n", args.dept)).collect(),
    };
    Ok(Answer::new("harness.recover/1", json!({"dept": args.dept, "left": left, "dry_run": true}), text))
}
