//! `harness project list|show|add|update`: what the organisation works on, and what that costs.

use super::app::{App, Result};
use super::portfolio::{BudgetArgs, check_title, find_directive, find_project, warnings};
use super::send::read_body;
use super::trail::{render_trail, trail_json};
use crate::domain::allowance::render_usd;
use crate::domain::budget::Scope;
use crate::domain::id::{IdKind, new_id};
use crate::domain::portfolio::Portfolio;
use crate::domain::project::{
    Change, DESCRIPTION_MAX, FieldChange, NewProject, Project, ProjectEffect, ProjectStatus,
};
use crate::domain::text::{one_line, visible};
use crate::domain::time::{render_age, render_rfc3339};
use crate::error::{CommandError, Kind};
use crate::run::trail::gather;
use crate::ui::table::render_table;
use crate::ui::{Answer, bold};
use serde_json::{Value, json};

/// List projects, show one, make or change one
///
/// Projects hold what is built and what it may cost in all. Directors make and move them too, within their charter.
///
/// Examples:
///   harness project list
///   harness project show platform
///   harness project add --title 'Weekly digest' --body 'One mail a week.' \
///       --budget-usd 20
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct ProjectArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    List(ListArgs),
    Show(ShowArgs),
    Add(AddArgs),
    Update(Box<UpdateArgs>),
}

/// List projects, those that are not cancelled unless --all
///
/// `platform` and `org-ops` are always there, for what belongs to no project of its own.
///
/// Examples:
///   harness project list
///   harness project list --status in_progress --json
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
struct ListArgs {
    /// Cancelled ones too
    #[arg(long)]
    all: bool,
    /// Those with this status alone
    #[arg(long, value_name = "STATUS")]
    status: Option<ProjectStatus>,
    /// Those of this directive alone
    #[arg(long, value_name = "ID")]
    directive: Option<String>,
}

/// Show a project with its trail: log, messages, runs, cost, and a timeline
///
/// Examples:
///   harness project show 7f3k2q
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
struct ShowArgs {
    /// Its id, or the end of it
    id: String,
}

/// Make a project, and print its id alone
///
/// Directors make projects too, with the action create_project; theirs begin as proposed.
///
/// Examples:
///   harness project add --title 'Weekly digest' --body 'One mail a week.' \
///       --directive 7f3k2q --budget-usd 20
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
struct AddArgs {
    /// What it is, in one line
    #[arg(long, value_name = "TEXT")]
    title: String,
    /// A description, or - to read it from stdin
    #[arg(long, value_name = "TEXT|-", default_value = "")]
    body: String,
    /// The directive it serves
    #[arg(long, value_name = "ID")]
    directive: Option<String>,
    /// How it stands
    #[arg(long, value_name = "STATUS", default_value = "proposed")]
    status: ProjectStatus,
    #[command(flatten)]
    budget: BudgetArgs,
    /// Show what would be written, and write nothing
    #[arg(long)]
    dry_run: bool,
}

/// Change a project, with a reason
///
/// While it is paused or cancelled its work is held: no engine is asked about its mail, its jobs stay queued, and nobody
/// may send, spend or create for it. A director can't move on what you paused or cancelled.
///
/// Examples:
///   harness project update 7f3k2q --status paused --why 'waits for the audit'
///   harness project update 7f3k2q --budget-usd 40 --why 'it is worth it'
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
struct UpdateArgs {
    /// Its id, or the end of it
    id: String,
    /// Another title
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Another description, or - to read it from stdin
    #[arg(long, value_name = "TEXT|-")]
    body: Option<String>,
    /// Another status
    #[arg(long, value_name = "STATUS")]
    status: Option<ProjectStatus>,
    /// Another directive
    #[arg(long, value_name = "ID")]
    directive: Option<String>,
    #[command(flatten)]
    budget: BudgetArgs,
    /// Why
    #[arg(long, value_name = "TEXT")]
    why: String,
    /// Show what would change, and touch nothing
    #[arg(long)]
    dry_run: bool,
}

pub fn run(args: &ProjectArgs, app: &App<'_>) -> Result<Answer> {
    match &args.verb {
        Verb::List(args) => list(args, app),
        Verb::Show(args) => show(args, app),
        Verb::Add(args) => add(args, app),
        Verb::Update(args) => update(args, app),
    }
}

fn list(args: &ListArgs, app: &App<'_>) -> Result<Answer> {
    let org = app.org()?;
    let portfolio = org.portfolio()?;
    let spent = org.spent(&portfolio)?;
    let directive = match &args.directive {
        Some(wanted) => Some(find_directive(&portfolio, wanted)?.id.clone()),
        None => None,
    };
    let wanted = |one: &Project| {
        let listed = match args.status {
            Some(status) => one.status == status,
            None => args.all || one.status != ProjectStatus::Cancelled,
        };
        listed && (directive.is_none() || one.directive == directive)
    };
    let shown: Vec<Project> = portfolio.all_projects().into_iter().filter(wanted).collect();
    let of = |one: &Project| spent.get(&one.id).copied().unwrap_or(0.0);
    let rows: Vec<Vec<String>> = shown
        .iter()
        .map(|one| {
            let budget = one.allowance.usd.map(render_usd).unwrap_or_else(|| "-".to_string());
            let fresh = one.log.is_empty();
            vec![
                one.id.clone(),
                one.status.to_string(),
                if fresh { "-".to_string() } else { render_age(one.created, app.ctx.now()) },
                format!("{:.2} of {budget}", of(one)),
                one.directive.clone().unwrap_or_else(|| "-".to_string()),
                one.title.clone(),
            ]
        })
        .collect();
    let headings = ["ID", "STATUS", "AGE", "USD SPENT", "DIRECTIVE", "TITLE"];
    let text = match rows.is_empty() {
        true => "There is no such project.\n".to_string(),
        false => render_table(&headings, &rows, app.ui.width()),
    };
    let rows: Vec<Value> = shown
        .iter()
        .map(|one| {
            let mut data = to_json(one);
            data["spent_usd"] = json!(of(one));
            data
        })
        .collect();
    let answer = Answer::new("harness.projects/1", json!({"projects": rows}), text);
    Ok(answer.warnings(warnings(&portfolio)))
}

fn to_json(one: &Project) -> Value {
    json!({
        "id": one.id,
        "title": one.title,
        "status": one.status.name(),
        "directive": one.directive,
        "budget_usd": one.allowance.usd,
        "budget_tokens": one.allowance.tokens,
        "budget_runs": one.allowance.runs,
        "by": one.by,
        "provenance": one.provenance.name(),
        "reserved": one.is_reserved(),
        "created": (!one.log.is_empty()).then(|| render_rfc3339(one.created)),
    })
}

fn show(args: &ShowArgs, app: &App<'_>) -> Result<Answer> {
    let org = app.org()?;
    let portfolio = org.portfolio()?;
    let one = find_project(&portfolio, &args.id)?;
    let mut trail = gather(&org, &portfolio, &Scope::Project(one.id.clone()))?;
    // What a person did by hand is told by the audit already.
    trail.timeline.extend(one.log.iter().filter(|entry| entry.key != "-").map(|entry| {
        let what = format!("{} {}: {}", entry.key, entry.by, entry.what);
        (entry.at.clone(), what)
    }));
    trail.timeline.sort_by(|a, b| a.0.cmp(&b.0));
    let mut data = to_json(&one);
    data["description"] = json!(one.description);
    trail_json(&mut data, &trail);
    let log = one.log.iter();
    data["log"] = log
        .map(|entry| json!({"at": entry.at, "key": entry.key, "by": entry.by, "what": entry.what}))
        .collect();
    let mut text = format!("{}  {}\n", bold(&one.id), one_line(&one.title, 200));
    let of = one.directive.as_ref().map(|id| format!(", of {id}")).unwrap_or_default();
    text.push_str(&format!("{}, by {}{of}\n", one.status, one.by));
    if !one.description.is_empty() {
        text.push_str(&format!("\n{}\n", visible(&one.description)));
    }
    text.push_str(&render_trail(app, &trail, &one.allowance));
    Ok(Answer::new("harness.project/1", data, text))
}

/// The description, bounded.
fn description(given: &str) -> Result<String> {
    let text = read_body(given)?;
    if text.len() > DESCRIPTION_MAX {
        let what = format!("the description is longer than {DESCRIPTION_MAX} bytes");
        return Err(CommandError::new(Kind::Usage, what));
    }
    Ok(text.trim().to_string())
}

fn directive_id(portfolio: &Portfolio, given: Option<&String>) -> Result<Option<String>> {
    match given {
        Some(wanted) => Ok(Some(find_directive(portfolio, wanted)?.id.clone())),
        None => Ok(None),
    }
}

fn add(args: &AddArgs, app: &App<'_>) -> Result<Answer> {
    app.require_human("project add")?;
    let org = app.org()?;
    check_title(&args.title)?;
    let allowance = args.budget.allowance()?;
    let effect = ProjectEffect {
        id: new_id(IdKind::Project, app.ctx.now(), &app.ctx.random()),
        key: "-".to_string(),
        at: render_rfc3339(app.ctx.now()),
        by: "user".to_string(),
        change: Change::Create {
            project: Box::new(NewProject {
                title: args.title.trim().to_string(),
                description: description(&args.body)?,
                status: args.status.name().to_string(),
                directive: directive_id(&org.portfolio()?, args.directive.as_ref())?,
                budget_usd: allowance.usd,
                budget_tokens: allowance.tokens,
                budget_runs: allowance.runs,
                provenance: "human".to_string(),
                why: "by hand".to_string(),
            }),
        },
    };
    if args.dry_run {
        let text = crate::domain::project::apply(None, &effect).map_err(CommandError::failed)?;
        let text = text.unwrap_or_default();
        let data = json!({"dry_run": true, "project": text});
        return Ok(Answer::new("harness.project_add/1", data, text));
    }
    app.audit(&org, "project add", &format!("{} {}: {}", effect.id, args.status, args.title.trim()))?;
    org.change_project(&effect)?;
    let undo = format!("harness project update {} --status cancelled --why TEXT", effect.id);
    Ok(Answer::new("harness.project_add/1", json!({"id": effect.id}), format!("{}\n", effect.id)).undo(undo))
}

fn update(args: &UpdateArgs, app: &App<'_>) -> Result<Answer> {
    app.require_human("project update")?;
    if args.why.trim().is_empty() {
        return Err(CommandError::new(Kind::Usage, "say why: `--why TEXT`"));
    }
    let org = app.org()?;
    let portfolio = org.portfolio()?;
    let one = find_project(&portfolio, &args.id)?;
    let fields = changes(args, &portfolio, &one)?;
    let told: Vec<String> = fields
        .iter()
        .map(|field| format!("{} {} -> {}", field.field, shown(&field.before), shown(&field.after)))
        .collect();
    let data = json!({"id": one.id, "changed": fields, "dry_run": args.dry_run});
    if fields.is_empty() {
        let text = format!("{} is so already.\n", one.id);
        return Ok(Answer::new("harness.project_update/1", data, text));
    }
    if args.dry_run {
        let text = format!("{} would change: {}\n", one.id, told.join(", "));
        return Ok(Answer::new("harness.project_update/1", data, text));
    }
    app.audit(&org, "project update", &format!("{} {}: {}", one.id, told.join(", "), args.why.trim()))?;
    let undo: Vec<String> = fields.iter().map(undo).collect();
    org.change_project(&ProjectEffect {
        id: one.id.clone(),
        key: "-".to_string(),
        at: render_rfc3339(app.ctx.now()),
        by: "user".to_string(),
        change: Change::Set { fields, why: args.why.trim().to_string() },
    })?;
    let undo = format!("harness project update {} {} --why ...", one.id, undo.join(" "));
    let text = format!("{}: {}. To undo: {undo}\n", one.id, told.join(", "));
    Ok(Answer::new("harness.project_update/1", data, text).account())
}

fn shown(value: &str) -> String {
    if value.is_empty() { "none".to_string() } else { one_line(value, 60) }
}

fn undo(field: &FieldChange) -> String {
    let option =
        if field.field == "description" { "body".to_string() } else { field.field.replace('_', "-") };
    match field.field.as_str() {
        "title" | "description" => format!("--{option} '{}'", one_line(&field.before, 60)),
        _ => format!("--{option} {}", shown(&field.before)),
    }
}

/// What the line asks for and isn't so already.
fn changes(args: &UpdateArgs, portfolio: &Portfolio, one: &Project) -> Result<Vec<FieldChange>> {
    let mut wanted: Vec<(&str, String)> = Vec::new();
    if let Some(title) = &args.title {
        check_title(title)?;
        wanted.push(("title", title.trim().to_string()));
    }
    if let Some(body) = &args.body {
        wanted.push(("description", description(body)?));
    }
    if let Some(status) = args.status {
        wanted.push(("status", status.name().to_string()));
    }
    if let Some(directive) = directive_id(portfolio, args.directive.as_ref())? {
        wanted.push(("directive", directive));
    }
    let allowance = args.budget.allowance()?;
    wanted.extend(allowance.usd.map(|usd| ("budget_usd", render_usd(usd))));
    wanted.extend(allowance.tokens.map(|tokens| ("budget_tokens", tokens.to_string())));
    wanted.extend(allowance.runs.map(|runs| ("budget_runs", runs.to_string())));
    if one.is_reserved() && args.status == Some(ProjectStatus::Cancelled) {
        let error = CommandError::refused(format!("`{}` is always there and can't be cancelled", one.id));
        return Err(error.code("reserved_project").hint("it can be paused: `--status paused`"));
    }
    if wanted.is_empty() {
        let error = CommandError::new(Kind::Usage, "say what to change");
        return Err(error.hint("such as `--status paused` or `--budget-usd 40`"));
    }
    let change =
        |(field, after): (&str, String)| FieldChange { field: field.into(), before: one.field(field), after };
    Ok(wanted.into_iter().map(change).filter(|change| change.before != change.after).collect())
}
