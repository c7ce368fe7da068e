//! `harness directive add|list|show|pause|resume|complete|cancel`: what the human wants of the organisation.

use super::app::{App, Result};
use super::charter::load;
use super::portfolio::{BudgetArgs, check_title, find_directive, warnings};
use super::send::read_body;
use super::trail::{render_trail, trail_json};
use crate::domain::allowance::render_usd;
use crate::domain::budget::Scope;
use crate::domain::directive::{
    DIRECTIVE_BODY_MAX, Directive, DirectiveStatus, Move, NewDirective, RECEIVER, is_deadline, is_past,
    render_directive,
};
use crate::domain::id::{IdKind, new_id};
use crate::domain::priority::Priority;
use crate::domain::text::{one_line, visible};
use crate::domain::time::{Time, render_age, render_rfc3339};
use crate::error::{CommandError, Kind};
use crate::run::trail::gather;
use crate::store::org::Department;
use crate::ui::table::{Align, Cell, render_columns, render_with_notes};
use crate::ui::{Answer, bold};
use serde_json::{Value, json};

/// Columns from which on a title has room beside the rest.
const WIDE: usize = 110;
/// Characters of a day: `2026-12-24`.
const DAY: usize = 10;

/// Give a directive, follow it, pause or end it
///
/// A directive arrives at business, and everything that comes of it carries its id. While it is paused or cancelled, its
/// work is held.
///
/// Examples:
///   harness directive add --title 'Weekly digest' \
///       --body 'Mail users a digest every Monday.'
///   harness directive list
///   harness directive show 7f3k2q
///   harness directive pause 7f3k2q --why 'after the holidays'
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct DirectiveArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    Add(AddArgs),
    List(ListArgs),
    Show(ShowArgs),
    /// Hold a directive, with a reason
    ///
    /// Its work is held: no engine is asked about its mail, its jobs stay queued, and nobody may send, spend or create for
    /// it. `harness directive resume` opens it again.
    ///
    /// Examples:
    ///   harness directive pause 7f3k2q --why 'waits for the audit'
    #[command(verbatim_doc_comment)]
    Pause(MoveArgs),
    /// Open a directive again, with a reason
    ///
    /// Whatever it was: paused, completed or cancelled. What was held goes on.
    ///
    /// Examples:
    ///   harness directive resume 7f3k2q --why 'the audit is through'
    #[command(verbatim_doc_comment)]
    Resume(MoveArgs),
    /// Say that a directive is carried out, with a reason
    ///
    /// It leaves the list of open ones. `harness directive resume` opens it again.
    ///
    /// Examples:
    ///   harness directive complete 7f3k2q --why 'it is out'
    #[command(verbatim_doc_comment)]
    Complete(MoveArgs),
    /// Give a directive up, with a reason
    ///
    /// Its work is held: no engine is asked about its mail, its jobs stay queued, and nobody may send, spend or create for
    /// it. `harness directive resume` opens it again.
    ///
    /// Examples:
    ///   harness directive cancel 7f3k2q --why 'nobody wants it'
    #[command(verbatim_doc_comment)]
    Cancel(MoveArgs),
}

/// Give a directive, and print its id alone
///
/// It arrives at business as a message of kind Directive. Everything that is sent, built or spent for it carries its id,
/// so that `directive show` can tell the whole story.
///
/// Examples:
///   harness directive add --title 'Weekly digest' \
///       --body 'Mail users a digest every Monday.' --budget-usd 50
///   harness directive add --title 'Second shop' --body - --priority high \
///       --deadline 2026-12-24 < plan.md
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
struct AddArgs {
    /// What it is about, in one line
    #[arg(long, value_name = "TEXT")]
    title: String,
    /// The text, or - to read it from stdin
    #[arg(long, value_name = "TEXT|-")]
    body: String,
    /// How urgent it is
    #[arg(long, value_name = "WORD", default_value = "medium")]
    priority: Priority,
    /// A date or an RFC 3339 time
    #[arg(long, value_name = "TIME")]
    deadline: Option<String>,
    #[command(flatten)]
    budget: BudgetArgs,
    /// Show what would be written, and write nothing
    #[arg(long)]
    dry_run: bool,
}

/// List directives, those that are not over unless --all
///
/// Examples:
///   harness directive list
///   harness directive list --all --json
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
struct ListArgs {
    /// Completed and cancelled ones too
    #[arg(long)]
    all: bool,
}

/// Show a directive with its whole trail: messages, projects, tasks, runs, cost, and a timeline
///
/// The runs are those that had a step about its mail or its tasks, and those in which agents and pipelines worked for it.
///
/// Examples:
///   harness directive show 7f3k2q
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
struct ShowArgs {
    /// Its id, or the end of it
    id: String,
}

#[derive(Debug, clap::Args)]
struct MoveArgs {
    /// Its id, or the end of it
    id: String,
    /// Why
    #[arg(long, value_name = "TEXT")]
    why: String,
    /// Show what would change, and touch nothing
    #[arg(long)]
    dry_run: bool,
}

pub fn run(args: &DirectiveArgs, app: &App<'_>) -> Result<Answer> {
    match &args.verb {
        Verb::Add(args) => add(args, app),
        Verb::List(args) => list(args, app),
        Verb::Show(args) => show(args, app),
        Verb::Pause(args) => set(args, app, DirectiveStatus::Paused),
        Verb::Resume(args) => set(args, app, DirectiveStatus::Open),
        Verb::Complete(args) => set(args, app, DirectiveStatus::Completed),
        Verb::Cancel(args) => set(args, app, DirectiveStatus::Cancelled),
    }
}

fn add(args: &AddArgs, app: &App<'_>) -> Result<Answer> {
    app.require_human("directive add")?;
    let org = app.org()?;
    check_title(&args.title)?;
    if let Some(deadline) = args.deadline.as_deref().filter(|deadline| !is_deadline(deadline)) {
        let what = format!("`{}` is no deadline", one_line(deadline, 60));
        return Err(CommandError::new(Kind::Usage, what).hint("give a date, such as 2026-12-24"));
    }
    if let Some(deadline) = args.deadline.as_deref().filter(|deadline| is_past(deadline, app.ctx.now())) {
        let what = format!("the deadline {} has passed", one_line(deadline, 60));
        return Err(CommandError::new(Kind::Usage, what).hint("give a date that is still to come, or none"));
    }
    let body = read_body(&args.body)?;
    if body.len() > DIRECTIVE_BODY_MAX {
        let what = format!("the body is longer than {DIRECTIVE_BODY_MAX} bytes");
        return Err(CommandError::new(Kind::Usage, what));
    }
    let now = app.ctx.now();
    let new = NewDirective {
        id: new_id(IdKind::Directive, now, &app.ctx.random()),
        title: args.title.trim().to_string(),
        body,
        priority: args.priority,
        allowance: args.budget.allowance()?,
        deadline: args.deadline.clone(),
        message: new_id(IdKind::Message, now, &app.ctx.random()),
        created: now,
    };
    check_receiver(&app.department(&org, RECEIVER)?)?;
    let text = render_directive(&new);
    if args.dry_run {
        let data = json!({"dry_run": true, "directive": text});
        return Ok(Answer::new("harness.directive_add/1", data, text));
    }
    give(app, &new)?;
    let data = json!({"id": new.id, "message": new.message});
    let undo = format!("harness directive cancel {} --why TEXT", new.id);
    Ok(Answer::new("harness.directive_add/1", data, format!("{}\n", new.id)).undo(undo))
}

/// Files a directive and lets it arrive at business.
pub(super) fn give(app: &App<'_>, new: &NewDirective) -> Result<()> {
    let org = app.org()?;
    let receiver = app.department(&org, RECEIVER)?;
    check_receiver(&receiver)?;
    app.audit(&org, "directive add", &format!("{} open: {}", new.id, new.title))?;
    org.create_directive(&new.id, &render_directive(new))?;
    org.deliver_directives(&receiver, new.created)?;
    Ok(())
}

fn check_receiver(receiver: &Department) -> Result<()> {
    if load(receiver)?.rules.receives("Directive") {
        return Ok(());
    }
    let what = format!("`{RECEIVER}` does not receive `Directive`");
    Err(CommandError::refused(what).code("kind_not_received"))
}

fn list(args: &ListArgs, app: &App<'_>) -> Result<Answer> {
    let org = app.org()?;
    let portfolio = org.portfolio()?;
    let spent = org.spent(&portfolio)?;
    let over =
        |one: &&Directive| matches!(one.status, DirectiveStatus::Completed | DirectiveStatus::Cancelled);
    let shown: Vec<&Directive> = portfolio.directives.iter().filter(|one| args.all || !over(one)).collect();
    let of = |one: &Directive| spent.get(&one.id).copied().unwrap_or(0.0);
    let text = match shown.is_empty() {
        true => "No directive is open.\n".to_string(),
        false => render_list(&shown, &of, app.ctx.now(), app.ui.width()),
    };
    let rows: Vec<Value> = shown
        .iter()
        .map(|one| {
            let mut data = to_json(one);
            data["spent_usd"] = json!(of(one));
            data
        })
        .collect();
    let answer = Answer::new("harness.directives/1", json!({"directives": rows}), text);
    Ok(answer.warnings(warnings(&portfolio)))
}

/// A row for each directive. Where its title would hardly show, it stands beneath, and of the deadline only the day.
fn render_list(shown: &[&Directive], spent: &dyn Fn(&Directive) -> f64, now: Time, columns: usize) -> String {
    let wide = columns >= WIDE;
    let rows: Vec<Vec<Cell>> = shown
        .iter()
        .map(|one| {
            let budget = one.allowance.usd.map(render_usd).unwrap_or_else(|| "-".to_string());
            let deadline = one.deadline.as_deref().unwrap_or("-");
            let day = deadline.get(..DAY).filter(|_| !wide).unwrap_or(deadline);
            let cells = [
                one.id.clone(),
                one.status.to_string(),
                one.priority.to_string(),
                render_age(one.created, now),
                day.to_string(),
                format!("{:.2} of {budget}", spent(one)),
            ];
            cells.into_iter().chain(wide.then(|| one.title.clone())).map(Cell::from).collect()
        })
        .collect();
    let mut headings = vec![
        ("ID", Align::Left),
        ("STATUS", Align::Least(6)),
        ("PRIORITY", Align::Least(6)),
        ("AGE", Align::Left),
        ("DEADLINE", Align::Left),
        ("USD SPENT", Align::Left),
    ];
    if wide {
        headings.push(("TITLE", Align::Left));
        return render_columns(&headings, &rows, columns);
    }
    let titles: Vec<String> = shown.iter().map(|one| one.title.clone()).collect();
    render_with_notes(&headings, &rows, &titles, columns)
}

fn to_json(one: &Directive) -> Value {
    json!({
        "id": one.id,
        "title": one.title,
        "status": one.status.name(),
        "status_at": one.status_why().map(|(at, _)| at),
        "status_why": one.status_why().map(|(_, why)| why),
        "priority": one.priority.name(),
        "deadline": one.deadline,
        "budget_usd": one.allowance.usd,
        "budget_tokens": one.allowance.tokens,
        "budget_runs": one.allowance.runs,
        "message": one.message,
        "created": render_rfc3339(one.created),
    })
}

fn show(args: &ShowArgs, app: &App<'_>) -> Result<Answer> {
    let org = app.org()?;
    let portfolio = org.portfolio()?;
    let one = find_directive(&portfolio, &args.id)?;
    let trail = gather(&org, &portfolio, &Scope::Directive(one.id.clone()))?;
    let mut data = to_json(one);
    data["body"] = json!(one.body);
    trail_json(&mut data, &trail);
    let since = match one.status_why() {
        Some((at, why)) => format!(" since {at}: {}", one_line(why, 200)),
        None => String::new(),
    };
    let mut text = format!("{}  {}\n", bold(&one.id), one_line(&one.title, 200));
    text.push_str(&format!("{} priority, {}{since}\n", one.priority, one.status));
    if let Some(deadline) = &one.deadline {
        text.push_str(&format!("Deadline: {deadline}\n"));
    }
    text.push_str(&format!("\n{}\n", visible(one.body.trim_end())));
    text.push_str(&render_trail(app, &trail, &one.allowance));
    Ok(Answer::new("harness.directive/1", data, text))
}

fn set(args: &MoveArgs, app: &App<'_>, status: DirectiveStatus) -> Result<Answer> {
    app.require_human("directive")?;
    if args.why.trim().is_empty() {
        return Err(CommandError::new(Kind::Usage, "say why: `--why TEXT`"));
    }
    let org = app.org()?;
    let portfolio = org.portfolio()?;
    let one = find_directive(&portfolio, &args.id)?;
    let (id, before) = (&one.id, one.status);
    let data = json!({"id": id, "before": before.name(), "status": status.name(), "dry_run": args.dry_run});
    if before == status {
        return Ok(Answer::new("harness.directive_move/1", data, format!("{id} is {status} already.\n")));
    }
    if args.dry_run {
        let text = format!("{id} would become {status}; it is {before}.\n");
        return Ok(Answer::new("harness.directive_move/1", data, text));
    }
    shift(app, id, status, args.why.trim())?;
    if status == DirectiveStatus::Open {
        org.deliver_directives(&app.department(&org, RECEIVER)?, app.ctx.now())?;
    }
    let undo = match (before, status) {
        (_, DirectiveStatus::Open) => format!("harness directive {} {id} --why ...", verb(before)),
        _ => format!("harness directive resume {id} --why ..."),
    };
    let held = if status.holds() { " Its work is held." } else { "" };
    let text = format!("{id} is {status}; it was {before}.{held} To undo: {undo}\n");
    Ok(Answer::new("harness.directive_move/1", data, text).account())
}

/// Moves a directive, in the human's name.
pub(super) fn shift(app: &App<'_>, id: &str, status: DirectiveStatus, why: &str) -> Result<()> {
    let org = app.org()?;
    app.audit(&org, "directive", &format!("{id} {status}: {why}"))?;
    Ok(org.move_directive(id, &Move { status, at: app.ctx.now(), why })?)
}

fn verb(status: DirectiveStatus) -> &'static str {
    match status {
        DirectiveStatus::Open => "resume",
        DirectiveStatus::Paused => "pause",
        DirectiveStatus::Completed => "complete",
        DirectiveStatus::Cancelled => "cancel",
    }
}
