//! `harness questions` and `harness escalations`: what directors asked, and what they handed over.

use super::app::{App, Result};
use super::requests::{FoundRequest, all, find, preview, resolve};
use crate::domain::request::{RequestKind, RequestStatus};
use crate::domain::text::{one_line, visible};
use crate::domain::time::{Time, parse_due, render_age};
use crate::error::{CommandError, Kind};
use crate::ui::{Answer, bold};
use serde_json::{Value, json};

/// List what directors asked, or answer
///
/// Without a verb: list. A question is asked once; what waits for it goes on when it is answered.
///
/// Examples:
///   harness questions
///   harness questions answer 7f3k2q 'the smaller one'
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct QuestionsArgs {
    #[command(subcommand)]
    verb: Option<QuestionVerb>,
}

#[derive(Debug, clap::Subcommand)]
enum QuestionVerb {
    /// List open questions, all with --all
    ///
    /// Examples:
    ///   harness questions list
    #[command(verbatim_doc_comment)]
    List(ListArgs),
    /// Answer one; the answer reaches the director, and what waited for it goes on
    ///
    /// Examples:
    ///   harness questions answer 7f3k2q 'the smaller one'
    #[command(verbatim_doc_comment)]
    Answer(AnswerArgs),
}

/// List what directors handed over, or resolve one
///
/// Without a verb: list. A message that was escalated waits until you resolve it.
///
/// Examples:
///   harness escalations
///   harness escalations resolve 7f3k2q --why 'I wrote to them myself'
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct EscalationsArgs {
    #[command(subcommand)]
    verb: Option<EscalationVerb>,
}

#[derive(Debug, clap::Subcommand)]
enum EscalationVerb {
    /// List open escalations, all with --all
    ///
    /// Examples:
    ///   harness escalations list
    #[command(verbatim_doc_comment)]
    List(ListArgs),
    /// Resolve one; the director is told, and the message goes on
    ///
    /// Examples:
    ///   harness escalations resolve 7f3k2q --why 'I wrote to them myself'
    #[command(verbatim_doc_comment)]
    Resolve(ResolveArgs),
}

#[derive(Debug, clap::Args)]
struct ListArgs {
    /// Those that are resolved too
    #[arg(long)]
    all: bool,
}

#[derive(Debug, clap::Args)]
struct AnswerArgs {
    /// Its id, or the end of it
    id: String,
    /// The answer; one of the options or any text
    #[arg(value_name = "TEXT")]
    text: String,
    /// Say what would happen, and touch nothing
    #[arg(long)]
    dry_run: bool,
}

#[derive(Debug, clap::Args)]
struct ResolveArgs {
    /// Its id, or the end of it
    id: String,
    /// What you decided, for the director
    #[arg(long, value_name = "TEXT")]
    why: String,
    /// Say what would happen, and touch nothing
    #[arg(long)]
    dry_run: bool,
}

pub fn questions(args: &QuestionsArgs, app: &App<'_>) -> Result<Answer> {
    match &args.verb {
        None => list(app, RequestKind::Question, false),
        Some(QuestionVerb::List(args)) => list(app, RequestKind::Question, args.all),
        Some(QuestionVerb::Answer(args)) if args.dry_run => try_out(app, RequestKind::Question, &args.id),
        Some(QuestionVerb::Answer(args)) => close(app, RequestKind::Question, &args.id, &args.text),
    }
}

pub fn escalations(args: &EscalationsArgs, app: &App<'_>) -> Result<Answer> {
    match &args.verb {
        None => list(app, RequestKind::Escalation, false),
        Some(EscalationVerb::List(args)) => list(app, RequestKind::Escalation, args.all),
        Some(EscalationVerb::Resolve(args)) if args.dry_run => {
            try_out(app, RequestKind::Escalation, &args.id)
        }
        Some(EscalationVerb::Resolve(args)) => close(app, RequestKind::Escalation, &args.id, &args.why),
    }
}

fn list(app: &App<'_>, kind: RequestKind, whole: bool) -> Result<Answer> {
    let org = app.org()?;
    let (mut found, warnings) = all(app, &org, kind)?;
    found.retain(|one| whole || one.is_pending());
    let (schema, nothing, how) = match kind {
        RequestKind::Question => (
            "harness.questions/1",
            "No question is open.\n",
            "Answer one: harness questions answer ID TEXT\n",
        ),
        _ => {
            let how = "Resolve one: harness escalations resolve ID --why TEXT\n";
            ("harness.escalations/1", "No escalation is open.\n", how)
        }
    };
    let mut text: String = found.iter().map(|one| tell(one, app.ctx.now())).collect();
    if found.is_empty() {
        text.push_str(nothing);
    } else if found.iter().any(FoundRequest::is_pending) {
        text.push_str(how);
    }
    let data = json!({kind.folder(): found.iter().map(to_json).collect::<Vec<_>>()});
    Ok(Answer::new(schema, data, text).warnings(warnings))
}

/// One with all that it says: what is asked of a person is never cut.
fn tell(one: &FoundRequest, now: Time) -> String {
    let request = &one.request;
    let status = if one.is_pending() { String::new() } else { format!("  {}", request.status) };
    let head =
        format!("{}  {}  {}{status}", request.id, one.department.dept, render_age(request.created, now));
    let mut text = format!("{}\n", bold(&visible(&head)));
    let mut line = |what: &str| text.push_str(&format!("  {}\n", visible(what)));
    request.body.trim().lines().for_each(&mut line);
    let options = request.list("options");
    if !options.is_empty() {
        line(&format!("one of: {}", options.join(" / ")));
    }
    for (word, key) in [("about", "about"), ("by", "due"), ("answer:", "resolved_why")] {
        if let Some(value) = request.text(key) {
            line(&format!("{word} {value}"));
        }
    }
    text.push('\n');
    text
}

fn to_json(one: &FoundRequest) -> Value {
    let request = &one.request;
    json!({
        "id": request.id,
        "dept": one.department.dept,
        "status": request.status.name(),
        "text": request.body.trim_end(),
        "options": request.list("options"),
        "unblocks": request.list("unblocks"),
        "about": request.text("about"),
        "due": request.text("due"),
        "created": request.text("created"),
        "answer": request.text("resolved_why"),
    })
}

fn try_out(app: &App<'_>, kind: RequestKind, id: &str) -> Result<Answer> {
    app.require_human(kind.folder())?;
    let org = app.org()?;
    let one = find(app, &org, kind, id)?;
    let (status, schema) = closed(kind);
    let (id, what) = (&one.request.id, preview(app, &one, status)?);
    let data = json!({"id": id, "dept": one.department.dept, "status": status.name(), "what": what, "dry_run": true});
    Ok(Answer::new(schema, data, format!("{id}: {what}\n")))
}

/// What it is when it is closed, and the schema that says so.
fn closed(kind: RequestKind) -> (RequestStatus, &'static str) {
    match kind {
        RequestKind::Question => (RequestStatus::Answered, "harness.question/1"),
        _ => (RequestStatus::Resolved, "harness.escalation/1"),
    }
}

/// A goal whose day has passed is no goal any more.
fn check_answer(one: &FoundRequest, text: &str, now: Time) -> Result<()> {
    let is_target = one.request.text("intake") == Some("target_date");
    if is_target && parse_due(text.trim()).is_some_and(|end| end < now) {
        let what = format!("{} has passed, and can't be the target date", one_line(text.trim(), 60));
        return Err(
            CommandError::new(Kind::Usage, what).hint("give a date that is still to come, or say `none`")
        );
    }
    Ok(())
}

pub fn close(app: &App<'_>, kind: RequestKind, id: &str, text: &str) -> Result<Answer> {
    app.require_human(kind.folder())?;
    if text.trim().is_empty() {
        return Err(CommandError::new(Kind::Usage, "the answer is empty"));
    }
    let org = app.org()?;
    let one = find(app, &org, kind, id)?;
    check_answer(&one, text, app.ctx.now())?;
    let (status, schema) = closed(kind);
    let what = resolve(app, &org, kind, &one, status, text)?;
    let data =
        json!({"id": one.request.id, "dept": one.department.dept, "status": status.name(), "what": what});
    let undo = "there is no way back: your word is signed; `harness send` says more";
    Ok(Answer::new(schema, data, format!("{}: {what}\n", one.request.id)).undo(undo))
}
