//! `harness approvals list|show|approve|reject`: what waits for a human's word.

use super::app::{App, Result};
use super::requests::{FoundRequest, all, find, preview, resolve};
use crate::domain::request::{RequestKind, RequestStatus, headline};
use crate::domain::text::{one_line, visible};
use crate::domain::time::{parse_rfc3339, render_age, render_local};
use crate::error::{CommandError, Kind};
use crate::ui::table::render_table;
use crate::ui::{Answer, bold};
use serde_json::{Value, json};

const KIND: RequestKind = RequestKind::Approval;
const KEYS: [char; 4] = ['a', 'r', 's', 'q'];

/// List, show, approve or reject what waits for you
///
/// Without a verb: at a terminal it walks through what is pending, one key each; elsewhere it lists.
///
/// Examples:
///   harness approvals
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct ApprovalsArgs {
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    List(ListArgs),
    Show(IdArgs),
    Approve(ApproveArgs),
    Reject(RejectArgs),
}

/// List approvals, pending ones unless --all
///
/// Examples:
///   harness approvals list
///   harness approvals list --all
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
struct ListArgs {
    /// Those that are resolved too
    #[arg(long)]
    all: bool,
}

/// Show exactly what would happen
///
/// The action as it would be carried out, its hash, the rule that asks for you, and the director's reasoning.
///
/// Examples:
///   harness approvals show 7f3k2q
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
struct IdArgs {
    /// Its id, or the end of it
    id: String,
}

/// Approve one: it is judged again, and carried out once
///
/// Today's charter, limits, gate and budget judge it once more, and a refusal wins. It is carried out at once where the
/// department is free, else by the run that holds it. The resolution is signed and never changed.
///
/// Examples:
///   harness approvals approve 7f3k2q
///   harness approvals approve 7f3k2q --why 'go ahead, but only this once'
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
struct ApproveArgs {
    /// Its id, or the end of it
    id: String,
    /// A word to the director
    #[arg(long, value_name = "TEXT", default_value = "approved")]
    why: String,
    /// Say what would happen, and touch nothing
    #[arg(long)]
    dry_run: bool,
}

/// Reject one: it is not carried out, and the director is told why
///
/// Examples:
///   harness approvals reject 7f3k2q --why 'too early'
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
struct RejectArgs {
    /// Its id, or the end of it
    id: String,
    /// Why
    #[arg(long, value_name = "TEXT")]
    why: String,
    /// Say what would happen, and touch nothing
    #[arg(long)]
    dry_run: bool,
}

pub fn run(args: &ApprovalsArgs, app: &App<'_>) -> Result<Answer> {
    match &args.verb {
        None if app.ui.can_ask() => walk(app),
        None => list(&ListArgs { all: false }, app),
        Some(Verb::List(args)) => list(args, app),
        Some(Verb::Show(args)) => show(args, app),
        Some(Verb::Approve(args)) if args.dry_run => try_out(app, &args.id, RequestStatus::Approved),
        Some(Verb::Approve(args)) => decide(app, &args.id, RequestStatus::Approved, &args.why),
        Some(Verb::Reject(args)) if args.dry_run => try_out(app, &args.id, RequestStatus::Rejected),
        Some(Verb::Reject(args)) => decide(app, &args.id, RequestStatus::Rejected, &args.why),
    }
}

fn list(args: &ListArgs, app: &App<'_>) -> Result<Answer> {
    let org = app.org()?;
    let (mut found, warnings) = all(app, &org, KIND)?;
    found.retain(|one| args.all || one.is_pending());
    let rows: Vec<Vec<String>> = found
        .iter()
        .map(|one| {
            let request = &one.request;
            let action = request.action().map_or_else(|why| why, |action| headline(&action));
            let status = args.all.then(|| shown_status(app, one));
            let (id, dept) = (request.id.clone(), one.department.dept.to_string());
            let age = render_age(request.created, app.ctx.now());
            [id, dept].into_iter().chain(status).chain([age, action]).collect()
        })
        .collect();
    let status = args.all.then_some("STATUS");
    let headings: Vec<&str> =
        ["ID", "DEPARTMENT"].into_iter().chain(status).chain(["AGE", "WOULD"]).collect();
    let text = if rows.is_empty() {
        "Nothing waits for your approval.\n".to_string()
    } else {
        render_table(&headings, &rows, app.ui.width())
    };
    let data = json!({"approvals": found.iter().map(to_json).collect::<Vec<_>>()});
    Ok(Answer::new("harness.approvals/1", data, text).warnings(warnings))
}

fn shown_status(app: &App<'_>, one: &FoundRequest) -> String {
    match one.recorded {
        Some((recorded, _)) => recorded.to_string(),
        None if one.request.is_expired(app.ctx.now()) => "expired".to_string(),
        None => one.request.status.to_string(),
    }
}

fn to_json(one: &FoundRequest) -> Value {
    let request = &one.request;
    json!({
        "id": request.id,
        "dept": one.department.dept,
        "status": request.status.name(),
        "action": request.action().ok(),
        "action_sha256": request.text("action_sha256"),
        "code": request.text("code"),
        "why": request.text("why"),
        "confidence": request.text("confidence").and_then(|text| text.parse::<u8>().ok()),
        "rubric": request.text("rubric").map(rubric_json),
        "about": request.text("about"),
        "created": request.text("created"),
        "expires": request.text("expires"),
        "resolved_at": request.text("resolved_at"),
        "resolved_why": request.text("resolved_why"),
    })
}

/// The points of a rubric by their names.
fn rubric_json(text: &str) -> Value {
    let points = text.split(", ").filter_map(|point| point.rsplit_once(' '));
    points.filter_map(|(name, number)| Some((name.to_string(), json!(number.parse::<u64>().ok()?)))).collect()
}

fn show(args: &IdArgs, app: &App<'_>) -> Result<Answer> {
    let org = app.org()?;
    let one = find(app, &org, KIND, &args.id)?;
    Ok(Answer::new("harness.approval/1", to_json(&one), render(app, &one)?))
}

/// Exactly what would happen, safe to look at.
fn render(app: &App<'_>, one: &FoundRequest) -> Result<String> {
    let request = &one.request;
    let action = request
        .action()
        .map_err(|why| CommandError::refused(format!("`{}`: {why}", request.id)).code("tampered"))?;
    let line = |name: &str, key: &str| match request.text(key) {
        Some(text) => format!("{name:<12}{}\n", one_line(text, 300)),
        None => String::new(),
    };
    let expires = request.text("expires").and_then(parse_rfc3339).map(render_local).unwrap_or_default();
    let mut text = format!("{} of {}, {}\n", bold(&request.id), one.department.dept, shown_status(app, one));
    text.push_str(&line("Needs you:", "why"));
    text.push_str(&line("Rule:", "rule"));
    text.push_str(&line("Confidence:", "confidence"));
    text.push_str(&line("Rubric:", "rubric"));
    text.push_str(&line("About:", "about"));
    text.push_str(&line("Provenance:", "provenance"));
    text.push_str(&format!(
        "{:<12}{expires}\n\nThe director says: {}\n\nIf you approve:\n",
        "Expires:",
        visible(request.reasoning())
    ));
    for (key, value) in &action {
        let value = match value {
            Value::String(value) => value.clone(),
            other => other.to_string(),
        };
        let value = visible(&value).trim_end().replace('\n', "\n      ");
        text.push_str(&format!("  {key}: {value}\n"));
    }
    text.push_str(&format!("Its SHA-256: {}\n", request.text("action_sha256").unwrap_or("")));
    if let Some(at) = request.text("resolved_at") {
        let (by, why) =
            (request.text("resolved_by").unwrap_or(""), request.text("resolved_why").unwrap_or(""));
        text.push_str(&format!("\n{} at {at} by {by}: {}\n", request.status, one_line(why, 300)));
    }
    Ok(text)
}

fn try_out(app: &App<'_>, id: &str, status: RequestStatus) -> Result<Answer> {
    app.require_human("approvals")?;
    let org = app.org()?;
    let one = find(app, &org, KIND, id)?;
    let (id, what) = (&one.request.id, preview(app, &one, status)?);
    let data = json!({"id": id, "dept": one.department.dept, "status": status.name(), "what": what, "dry_run": true});
    Ok(Answer::new("harness.approval/1", data, format!("{id}: {what}\n")))
}

fn decide(app: &App<'_>, id: &str, status: RequestStatus, why: &str) -> Result<Answer> {
    app.require_human("approvals")?;
    if why.trim().is_empty() {
        return Err(CommandError::new(Kind::Usage, "say why: `--why TEXT`"));
    }
    let org = app.org()?;
    let one = find(app, &org, KIND, id)?;
    one.request
        .action()
        .map_err(|why| CommandError::refused(format!("`{}`: {why}", one.request.id)).code("tampered"))?;
    let what = resolve(app, &org, KIND, &one, status, why)?;
    let data =
        json!({"id": one.request.id, "dept": one.department.dept, "status": status.name(), "what": what});
    let undo = "there is no way back: your word is signed; `harness undo RUN` takes back what a run changed";
    Ok(Answer::new("harness.approval/1", data, format!("{}: {what}\n", one.request.id)).undo(undo))
}

/// For the live view: exactly what would happen, and doing it.
#[cfg(feature = "top")]
pub fn exact(app: &App<'_>, id: &str) -> Result<String> {
    let org = app.org()?;
    let text = render(app, &find(app, &org, KIND, id)?)?;
    Ok(anstream::adapter::strip_str(&text).to_string())
}

#[cfg(feature = "top")]
pub fn approve_one(app: &App<'_>, id: &str, why: &str) -> Result<Answer> {
    decide(app, id, RequestStatus::Approved, why)
}

#[cfg(feature = "top")]
pub fn reject_one(app: &App<'_>, id: &str, why: &str) -> Result<Answer> {
    decide(app, id, RequestStatus::Rejected, why)
}

/// One pending approval after another: a to approve, r to reject, s to skip, q to end.
fn walk(app: &App<'_>) -> Result<Answer> {
    app.require_human("approvals")?;
    let org = app.org()?;
    let (found, warnings) = all(app, &org, KIND)?;
    let mut decided = 0;
    let pending = |one: &&FoundRequest| one.is_pending() && !one.request.is_expired(app.ctx.now());
    let pending: Vec<&FoundRequest> = found.iter().filter(pending).collect();
    if pending.is_empty() {
        let text = "Nothing waits for your approval.\n";
        return Ok(Answer::new("harness.approvals/1", json!({"decided": 0}), text).warnings(warnings));
    }
    for (index, one) in pending.iter().enumerate() {
        app.ui.notice(&format!("{} of {}\n", index + 1, pending.len()));
        app.ui.notice_styled(&render(app, one)?);
        let status = match app.ui.ask_key("[a]pprove, [r]eject, [s]kip, [q]uit?", &KEYS) {
            'a' => RequestStatus::Approved,
            'r' => RequestStatus::Rejected,
            'q' => break,
            _ => continue,
        };
        let why =
            if status == RequestStatus::Rejected { app.ui.ask_line("Why?") } else { "approved".to_string() };
        let why = if why.trim().is_empty() { "no reason given".to_string() } else { why };
        let what = resolve(app, &org, KIND, one, status, &why)?;
        app.ui.notice(&format!("{}: {what}\n", one.request.id));
        decided += 1;
    }
    let text =
        if decided == 0 { "Nothing was decided.\n".to_string() } else { format!("{decided} decided.\n") };
    Ok(Answer::new("harness.approvals/1", json!({"decided": decided}), text).warnings(warnings))
}
