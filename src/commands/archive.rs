//! `harness archive` and `harness prune`: what is old is put away, and nothing is lost.

use super::app::{App, Result};
use crate::domain::redact::Redactor;
use crate::domain::time::parse_since;
use crate::error::{CommandError, Kind};
use crate::run::commit::{Committed, Committing, Scope};
use crate::store::charters::Standing;
use crate::store::lock::{Attempt, try_lock};
use crate::store::org::{Department, Org};
use crate::ui::Answer;
use crate::ui::table::render_table;
use serde_json::{Value, json};

/// Move what is old to the archive folders
///
/// Sent messages older than 30 days go to archive/outbox/, by month, and closed messages that a crash left in an inbox
/// to archive/inbox/. Every run does this for its own department; here it is done for all of them, or those named. In a
/// git work tree it is one commit of exactly what was moved.
///
/// Examples:
///   harness archive
///   harness archive business --dry-run
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct ArchiveArgs {
    /// The departments; all of them where none is named
    #[arg(value_name = "DEPT")]
    depts: Vec<String>,
    /// Show how much would be moved, and touch nothing
    #[arg(long)]
    dry_run: bool,
}

/// Pack old run records into a file for each month
///
/// A packed record is the same text in .harness/director-runs/packed/YYYY-MM.md: it can be read and searched there, and
/// every command finds it as before. The ledger keeps its lines, so that `verify` still passes. Nothing is lost. In a git
/// work tree it is one commit of exactly what was packed.
///
/// Examples:
///   harness prune
///   harness prune business --older-than 30d --dry-run
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct PruneArgs {
    /// The departments; all of them where none is named
    #[arg(value_name = "DEPT")]
    depts: Vec<String>,
    /// How old a record must be: a span such as 90d, or a date
    #[arg(long, value_name = "TIME", default_value = "90d")]
    older_than: String,
    /// Show how much would be packed, and touch nothing
    #[arg(long)]
    dry_run: bool,
}

/// Nothing of what was put away has to be brought back.
fn kept(answer: Answer, dry_run: bool) -> Answer {
    let undo = "nothing is lost: every command finds it where it is now";
    if dry_run { answer } else { answer.undo(undo).account() }
}

fn departments(app: &App<'_>, org: &Org, named: &[String]) -> Result<Vec<Department>> {
    if !named.is_empty() {
        return named.iter().map(|name| app.department(org, name)).collect();
    }
    let mut all = Vec::new();
    for dept in org.departments()?.departments {
        all.extend(org.department(&dept)?);
    }
    Ok(all)
}

pub fn archive(args: &ArchiveArgs, app: &App<'_>) -> Result<Answer> {
    app.require_human("archive")?;
    let org = app.org()?;
    let departments = departments(app, &org, &args.depts)?;
    if !args.dry_run {
        app.audit(&org, "archive", &names(&departments))?;
    }
    let now = app.ctx.now();
    let (mut rows, mut data, mut warnings) = (Vec::new(), Vec::new(), Vec::new());
    for department in &departments {
        let closed = department.inbox()?.closed;
        let old = department.old_sent(now)?;
        let (sent, mail) = (old.len(), closed.len());
        if !args.dry_run && sent + mail > 0 {
            let _lock = hold(department)?;
            department.put_away_sent(now)?;
            closed.iter().try_for_each(|filed| department.put_away_closed(filed))?;
            let subject = format!("archived {}", count(sent + mail, "message"));
            warnings.extend(commit(app, &org, department, subject)?);
        }
        rows.push(vec![department.dept.to_string(), sent.to_string(), mail.to_string()]);
        data.push(json!({"dept": department.dept, "sent": sent, "closed": mail}));
    }
    let verb = if args.dry_run { "Would move" } else { "Moved" };
    let table = render_table(&["DEPARTMENT", "SENT", "CLOSED"], &rows, app.ui.width());
    let data = json!({"dry_run": args.dry_run, "departments": data});
    let answer = Answer::new("harness.archive/1", data, format!("{verb} to the archive:\n{table}"));
    Ok(kept(answer.warnings(warnings), args.dry_run))
}

pub fn prune(args: &PruneArgs, app: &App<'_>) -> Result<Answer> {
    app.require_human("prune")?;
    let org = app.org()?;
    let departments = departments(app, &org, &args.depts)?;
    let before = parse_since(&args.older_than, app.ctx.now()).ok_or_else(|| {
        CommandError::new(Kind::Usage, format!("`{}` is no time", args.older_than))
            .hint("such as 90d or 2026-08-01")
    })?;
    if !args.dry_run {
        app.audit(&org, "prune", &format!("records of {} before {}", names(&departments), args.older_than))?;
    }
    let (mut rows, mut data, mut warnings) = (Vec::new(), Vec::new(), Vec::new());
    for department in &departments {
        let (records, packs) = match args.dry_run {
            true => (department.count_old_records(before)?, None),
            false => {
                let _lock = hold(department)?;
                let packed = department.pack_records(before)?;
                if packed.records > 0 {
                    let subject = format!("packed {}", count(packed.records, "record"));
                    warnings.extend(commit(app, &org, department, subject)?);
                }
                (packed.records, Some(packed.packs))
            }
        };
        let shown = packs.map_or_else(|| "-".to_string(), |packs: usize| packs.to_string());
        rows.push(vec![department.dept.to_string(), records.to_string(), shown]);
        data.push(json!({"dept": department.dept, "records": records, "packs": packs}));
    }
    let verb = if args.dry_run { "Would pack" } else { "Packed" };
    let table = render_table(&["DEPARTMENT", "RECORDS", "PACKS"], &rows, app.ui.width());
    let data: Value = json!({"dry_run": args.dry_run, "departments": data});
    let text = format!("{verb} records older than {}:\n{table}", args.older_than);
    Ok(kept(Answer::new("harness.prune/1", data, text).warnings(warnings), args.dry_run))
}

/// Commits exactly what was put away, under the department's lock. Git runs only in accepted departments.
fn commit(app: &App<'_>, org: &Org, department: &Department, subject: String) -> Result<Vec<String>> {
    if org.standing(department)? != Standing::Accepted {
        return Ok(Vec::new());
    }
    let committing = Committing {
        org,
        department,
        variables: app.ctx.variables(),
        redactor: &Redactor::new(&[]),
        now: app.ctx.now(),
        scope: Scope::Here,
        subject: Some(subject),
    };
    Ok(match committing.commit() {
        Committed::Later(why) => vec![format!("{}: not committed yet: {why}", department.dept)],
        Committed::Done { left, .. } => left,
        Committed::Nothing | Committed::Off(_) => Vec::new(),
    })
}

fn count(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

fn hold(department: &Department) -> Result<crate::store::lock::Lock> {
    match try_lock(&department.own()?, "lock")? {
        Attempt::Held(lock) => Ok(lock),
        Attempt::Busy => Err(CommandError::new(Kind::Busy, format!("`{}` is at work", department.dept))
            .hint("wait until its run has ended, and do it again: what is done stays done")),
    }
}

fn names(departments: &[Department]) -> String {
    let names: Vec<&str> = departments.iter().map(|department| department.dept.as_str()).collect();
    names.join(", ")
}
