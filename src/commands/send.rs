//! `harness send`: puts a message into departments' inboxes.

use super::app::{App, Result};
use super::charter::load;
use super::portfolio::{find_directive, find_project};
use crate::domain::charter::RECEIVED_EVERYWHERE;
use crate::domain::id::{Dept, IdKind, is_id, nearest, new_id};
use crate::domain::message::{BODY_MAX, Draft, Provenance, SUBJECT_MAX, is_kind, render_message};
use crate::domain::project::{Change, Project, ProjectEffect, ProjectStatus};
use crate::domain::text::one_line;
use crate::domain::time::render_rfc3339;
use crate::domain::verdict::{Circumstances, Verdict, judge_action};
use crate::error::{CommandError, Kind};
use crate::store::fault::{Fault, StoreError};
use crate::store::org::{Department, Org};
use crate::ui::Answer;
use serde_json::{Map, json};
use std::io::Read;

/// Send a message to one or more departments
///
/// Prints the new message's id alone. The message is from you; inside a run it is from the department that runs, its
/// charter applies, and it counts as external. A kind that a department doesn't receive is refused.
///
/// Examples:
///   harness send --to business --kind Directive --subject 'Weekly digest' \
///       --body 'Mail users a digest every Monday.'
///   git log -5 | harness send --to technology --kind Note \
///       --subject 'Recent changes' --body -
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct SendArgs {
    /// The department that gets it; give it again for several
    #[arg(long, value_name = "DEPT", required = true)]
    to: Vec<String>,
    /// Its kind, such as Directive or Note
    #[arg(long, value_name = "KIND")]
    kind: String,
    /// What it is about, in one line
    #[arg(long, value_name = "TEXT")]
    subject: String,
    /// The text, or - to read it from stdin
    #[arg(long, value_name = "TEXT|-")]
    body: String,
    /// An amount in USD, for a BudgetAllocation
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    amount_usd: Option<f64>,
    /// The project it belongs to: its id, or the end of it
    #[arg(long, value_name = "ID")]
    project: Option<String>,
    /// The directive it belongs to: its id, or the end of it
    #[arg(long, value_name = "ID")]
    directive: Option<String>,
    /// The message it answers; it joins that one's thread
    #[arg(long = "ref", value_name = "ID")]
    reference: Option<String>,
    /// Show what would be sent, and send nothing
    #[arg(long)]
    dry_run: bool,
}

pub fn run(args: &SendArgs, app: &App<'_>) -> Result<Answer> {
    let org = app.org()?;
    check_words(args)?;
    let recipients = recipients(args, app, &org)?;
    let body = read_body(&args.body)?;
    let (project, directive) = belongings(args, &org)?;
    let allocated = allocated_project(args, project.as_ref())?;
    let (from, provenance) = sender(args, app, &org)?;
    let mut draft = Draft {
        id: new_id(IdKind::Message, app.ctx.now(), &app.ctx.random()),
        from,
        to: recipients.iter().map(|department| department.dept.clone()).collect(),
        kind: args.kind.clone(),
        subject: args.subject.trim().to_string(),
        body,
        amount_usd: args.amount_usd,
        project: project.map(|project| project.id),
        directive,
        reference: args.reference.clone(),
        thread: None,
        hops: 0,
        provenance,
        vouched: None,
        created: app.ctx.now(),
    };
    join_thread(&org, &mut draft)?;
    let text = render_message(&draft);
    if args.dry_run {
        return Ok(Answer::new("harness.send/1", json!({"dry_run": true, "message": text}), text));
    }
    let to: Vec<&str> = draft.to.iter().map(Dept::as_str).collect();
    app.audit(
        &org,
        "send",
        &format!("{} {} from {} to {}", draft.id, draft.kind, draft.from, to.join(", ")),
    )?;
    if let Err(error) = deliver(&recipients, &draft.id, &text) {
        // Written down before it was tried: what became of it is written down too, as far as the disk lets us.
        let _ignored = app.audit(&org, "send", &format!("{} failed: {}", draft.id, error.cause));
        return Err(error);
    }
    if let (Some(id), Some(usd)) = (allocated, draft.amount_usd) {
        org.change_project(&ProjectEffect {
            id,
            key: draft.id.clone(),
            at: render_rfc3339(draft.created),
            by: draft.from.clone(),
            change: Change::Allocate { usd },
        })?;
    }
    let undo = format!("harness message mark {} --status archived --why TEXT", draft.id);
    Ok(Answer::new("harness.send/1", json!({"id": draft.id, "to": to}), format!("{}\n", draft.id)).undo(undo))
}

/// The project whose budget a BudgetAllocation adds to, once: the message's id is the key.
fn allocated_project(args: &SendArgs, project: Option<&Project>) -> Result<Option<String>> {
    match project.filter(|_| args.kind == "BudgetAllocation") {
        Some(Project { id, status: ProjectStatus::Cancelled, .. }) => {
            Err(CommandError::refused(format!("the project {id} is cancelled: nothing is allocated to it"))
                .code("held"))
        }
        found => Ok(found.map(|project| project.id.clone())),
    }
}

/// The project and the directive that were named. A misspelt one would be in nobody's trail.
fn belongings(args: &SendArgs, org: &Org) -> Result<(Option<Project>, Option<String>)> {
    if args.project.is_none() && args.directive.is_none() {
        return Ok((None, None));
    }
    let portfolio = org.portfolio()?;
    let project = args.project.as_ref().map(|wanted| find_project(&portfolio, wanted)).transpose()?;
    let directive = args.directive.as_ref().map(|wanted| find_directive(&portfolio, wanted)).transpose()?;
    Ok((project, directive.map(|directive| directive.id.clone())))
}

/// Says that there is no such project, where there is none.
pub fn known_project(org: &Org, id: &str) -> Result<()> {
    if org.portfolio()?.project(id).is_some() {
        return Ok(());
    }
    let error = CommandError::failed(format!("there is no project `{}`", one_line(id, 60)));
    Err(error.code("no_project").hint("`harness project list` lists them; give the whole id"))
}

/// A message in its shortest form, for the demo.
pub struct Letter<'a> {
    pub to: &'a str,
    pub kind: &'a str,
    pub subject: &'a str,
    pub body: &'a str,
}

/// Sends a letter as `harness send` would, and gives its id back.
pub fn send(app: &App<'_>, letter: &Letter<'_>) -> Result<String> {
    Ok(run(&letter.to_args(), app)?.text.trim().to_string())
}

/// Whether a letter could be sent. Nothing is.
pub fn check_letter(app: &App<'_>, letter: &Letter<'_>) -> Result<()> {
    run(&SendArgs { dry_run: true, ..letter.to_args() }, app).map(|_| ())
}

impl Letter<'_> {
    fn to_args(&self) -> SendArgs {
        SendArgs {
            to: vec![self.to.to_string()],
            kind: self.kind.to_string(),
            subject: self.subject.to_string(),
            body: self.body.to_string(),
            amount_usd: None,
            project: None,
            directive: None,
            reference: None,
            dry_run: false,
        }
    }
}

fn usage(message: String) -> CommandError {
    CommandError::new(Kind::Usage, message)
}

fn check_words(args: &SendArgs) -> Result<()> {
    if !is_kind(&args.kind) {
        let kind = one_line(&args.kind, 60);
        let error = usage(format!("`{kind}` can't be a kind: a kind is one word of letters and digits"));
        let to = args.to.first().map_or("DEPT", String::as_str);
        return Err(error.hint(format!(
            "such as `--kind Note`; `harness charter show {}` lists what is received there",
            one_line(to, 60)
        )));
    }
    let length = args.subject.trim().chars().count();
    if length == 0 || args.subject.contains(['\n', '\r']) {
        let error = usage("the subject must be one line of text".to_string());
        return Err(error.hint("say in one line what it is about, and put the rest into `--body`"));
    }
    if length > SUBJECT_MAX {
        let error = usage(format!("the subject has {length} characters; the most is {SUBJECT_MAX}"));
        return Err(error.hint("shorten it, and put the rest into `--body`"));
    }
    for id in [&args.project, &args.directive, &args.reference].into_iter().flatten() {
        if !is_id(id) {
            let error = usage(format!("`{}` can't be an id", one_line(id, 60)));
            return Err(error.hint(
                "ids are listed by `harness inbox DEPT`, `harness project list` and `harness directive list`",
            ));
        }
    }
    match args.amount_usd {
        Some(0.0) if args.kind == "BudgetAllocation" => {
            Err(usage("a BudgetAllocation of nothing allocates nothing".to_string())
                .hint("give an amount above 0: `--amount-usd N`"))
        }
        Some(amount) if !amount.is_finite() || amount < 0.0 => {
            Err(usage("the amount must be 0 or more".to_string()).hint("give it in USD: `--amount-usd 250`"))
        }
        None if args.kind == "BudgetAllocation" => {
            Err(usage("a BudgetAllocation says how much".to_string()).hint("give `--amount-usd N`"))
        }
        _ => Ok(()),
    }
}

fn recipients(args: &SendArgs, app: &App<'_>, org: &Org) -> Result<Vec<Department>> {
    let mut recipients: Vec<Department> = Vec::new();
    for name in &args.to {
        let department = app.department(org, name)?;
        if recipients.iter().any(|known| known.dept == department.dept) {
            return Err(usage(format!("`{name}` is named twice")).hint("leave one of the two `--to` out"));
        }
        let charter = load(&department)?.rules;
        if !charter.receives(&args.kind) {
            let kinds = charter.receives.iter().map(String::as_str).chain(RECEIVED_EVERYWHERE);
            let near = nearest(&args.kind, kinds.clone());
            let listed = kinds.filter(|kind| *kind != "System").collect::<Vec<_>>().join(", ");
            let error = CommandError::refused(format!("`{name}` does not receive `{}`", args.kind))
                .code("kind_not_received");
            return Err(match near {
                Some(near) => error.hint(format!("did you mean `{near}`?")),
                None => error.hint(format!("`{name}` receives {listed}; see `harness charter show {name}`")),
            });
        }
        recipients.push(department);
    }
    if args.kind == "System" {
        let error = CommandError::refused("a System message comes from harness itself").code("kind_reserved");
        return Err(error.hint("send a Note, or tell of something that happened with `harness event emit`"));
    }
    Ok(recipients)
}

pub fn read_body(given: &str) -> Result<String> {
    let mut body = given.as_bytes().to_vec();
    if given == "-" {
        body.clear();
        let most = BODY_MAX as u64 + 1;
        let read = std::io::stdin().lock().take(most).read_to_end(&mut body);
        read.map_err(|error| CommandError::failed(format!("can't read the body from stdin: {error}")))?;
    }
    if body.len() > BODY_MAX {
        let error = usage(format!("the body is longer than {BODY_MAX} bytes"));
        return Err(error.hint("put the long text into a file, and name its path in the message"));
    }
    if body.contains(&0) {
        let error = usage("the body holds a zero byte".to_string());
        return Err(
            error.hint("a body is text: put other data into a file, and name its path in the message")
        );
    }
    String::from_utf8(body).map_err(|_| {
        usage("the body is not UTF-8 text".to_string())
            .hint("turn it into UTF-8 first, such as with `iconv -f latin1 -t utf-8`")
    })
}

/// You; inside a run, the department that runs, as far as its charter lets it.
fn sender(args: &SendArgs, app: &App<'_>, org: &Org) -> Result<(String, Provenance)> {
    if !app.inside_run() {
        return Ok(("user".to_string(), Provenance::Human));
    }
    let Some(name) = app.ctx.variable("HARNESS_DEPT") else {
        let what = "this is inside a run, but HARNESS_DEPT does not say of which department";
        return Err(CommandError::refused(what).code("inside_run"));
    };
    let department = app.department(org, name)?;
    let charter = load(&department)?.rules;
    let mut action = Map::new();
    action.insert("do".to_string(), json!("send_message"));
    action.insert("to".to_string(), json!(args.to));
    action.insert("kind".to_string(), json!(args.kind));
    action.extend(args.amount_usd.map(|amount| ("amount_usd".to_string(), json!(amount))));
    let at = Circumstances { provenance: Provenance::External, ..Circumstances::plain(&department.dept) };
    let ruling = judge_action(&charter, &action, &at);
    if ruling.verdict != Verdict::Allow {
        let error = CommandError::refused(&ruling.message).code(ruling.code);
        return Err(match ruling.verdict {
            Verdict::NeedsApproval => error.hint("answer with the action itself; it will wait for a human"),
            _ => ruling.hint.into_iter().fold(error, CommandError::hint),
        });
    }
    Ok((department.dept.to_string(), Provenance::External))
}

fn join_thread(org: &Org, draft: &mut Draft) -> Result<()> {
    let Some(reference) = draft.reference.clone() else { return Ok(()) };
    let found = super::message::find(org, &reference)?;
    draft.reference = Some(found.filed.message.id.clone());
    draft.thread = Some(found.filed.message.thread.clone());
    draft.hops = found.filed.message.hops.saturating_add(1);
    Ok(())
}

/// All copies are written and synced before the first gets its name, so that a full disk delivers none.
fn deliver(recipients: &[Department], id: &str, text: &str) -> Result<()> {
    let mut prepared = Vec::new();
    for department in recipients {
        let inbox = department.dir.make("inbox")?;
        let file = inbox.prepare(&format!("{id}.md"), text.as_bytes())?;
        prepared.push((inbox, file));
    }
    for (inbox, file) in prepared {
        inbox.commit(file, text.as_bytes()).map_err(|error| half_sent(recipients, id, error))?;
    }
    Ok(())
}

/// Some may have it and some not: whoever sends it again must not send it twice to the first.
fn half_sent(recipients: &[Department], id: &str, error: StoreError) -> CommandError {
    let has = |department: &&Department| matches!(department.find_delivered(id), Ok(Some(_)));
    let (have, lack): (Vec<&Department>, Vec<&Department>) = recipients.iter().partition(has);
    let names = |departments: &[&Department]| {
        departments.iter().map(|department| format!("`{}`", department.dept)).collect::<Vec<_>>().join(", ")
    };
    if matches!(error.fault, Fault::Conflict) {
        return CommandError::from(error).hint("send it again: it gets another id");
    }
    let (error, have, lack) = (CommandError::from(error), names(&have), names(&lack));
    match (have.as_str(), lack.as_str()) {
        ("", _) => error,
        (have, "") => error.code("half_sent").hint(format!("{have} has it already: don't send it again")),
        (have, lack) => {
            error.code("half_sent").hint(format!("{have} has it already: send it again to {lack} alone"))
        }
    }
}
