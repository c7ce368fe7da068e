//! `harness task`: the board, shown and changed by a person.

use super::app::{App, Result};
use super::boards::{Change, change, changed, find_task};
use super::task_show;
use crate::domain::board::{Actor, Deed, Vouch};
use crate::domain::task::{NewTask, Priority, Section, TaskStatus};
use crate::domain::time::{Time, parse_due};
use crate::error::{CommandError, Kind};
use crate::ui::Answer;

/// Show the board, or change a task on it
///
/// A task is named by its id or any unambiguous part of the id's end. The rules of the board hold for you as for
/// directors, but for who may move what.
///
/// Examples:
///   harness task list rd
///   harness task add rd --title 'Ask ten users' \
///       --description 'Do they read the digest?'
///   harness task move 7f3k2q done --why 'read it, it is right' --vouch
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct TaskArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    List(task_show::ListArgs),
    Show(task_show::ShowArgs),
    Add(AddArgs),
    Assign(AssignArgs),
    Move(MoveArgs),
    Comment(CommentArgs),
    Depend(DependArgs),
    Nudge(NudgeArgs),
}

/// Put a task on the board
///
/// Prints its id. A task that says the same as an open one is refused, with that one's id; those it is much like must be
/// named with --not-twin-of. With --owner it is given to that agent at once.
///
/// Examples:
///   harness task add rd --title 'Ask ten users' \
///       --description 'Do they read the digest?' --priority high
///   harness task add rd --title 'Sum it up' --description - \
///       --depends-on 7f3k2q < notes.md
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
struct AddArgs {
    /// The department
    dept: String,
    /// What is to be done, in a line
    #[arg(long, value_name = "TEXT")]
    title: String,
    /// All that one needs to know to do it; - reads stdin
    #[arg(long, value_name = "TEXT|-")]
    description: String,
    /// How much it matters
    #[arg(long, default_value = "medium")]
    priority: Priority,
    /// Give it to this agent
    #[arg(long, value_name = "NAME")]
    owner: Option<String>,
    /// When it should be done: 2026-11-30T18:00:00Z, or a date, until its end
    #[arg(long, value_name = "TIME")]
    due: Option<String>,
    /// Tasks that must be done first
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    depends_on: Vec<String>,
    /// The project it belongs to
    #[arg(long, value_name = "ID")]
    project: Option<String>,
    /// The task it helps with; its description names one `Deliverable:`
    #[arg(long, value_name = "ID")]
    assists: Option<String>,
    /// Tasks that it is much like, and not the same as
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    not_twin_of: Vec<String>,
    /// Show what would change, and touch nothing
    #[arg(long)]
    dry_run: bool,
}

/// Give a task to an agent
///
/// The task is then in progress. Where the agent names an engine or a pipeline, that is queued, and the department's next
/// run starts it. A blocked task can't be given to anybody.
///
/// Examples:
///   harness task assign 7f3k2q ann
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
struct AssignArgs {
    /// The task's id, or the end of it
    id: String,
    /// An agent of the roster
    #[arg(value_name = "NAME")]
    owner: String,
    /// Show what would change, and touch nothing
    #[arg(long)]
    dry_run: bool,
}

/// Move a task on, or back
///
/// A task goes inbox, in_progress, review, done. Back to inbox from review, it waits for its last worker; a done one that
/// is reopened takes what rests on it back to inbox. Where the charter says so, done needs a validator's pass: with
/// --vouch your own look stands for it. Your word counts as the approval.
///
/// Examples:
///   harness task move 7f3k2q review --as ann
///   harness task move 7f3k2q done --why 'read it, it is right' --vouch
///   harness task move 7f3k2q inbox --why 'the second page is missing'
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
struct MoveArgs {
    /// The task's id, or the end of it
    id: String,
    /// Where it goes
    status: TaskStatus,
    /// Why; kept as a comment
    #[arg(long, value_name = "TEXT", default_value = "")]
    why: String,
    /// You have checked it yourself, in the validator's place
    #[arg(long)]
    vouch: bool,
    /// In the name of an agent
    #[arg(long = "as", value_name = "NAME")]
    as_agent: Option<String>,
    /// Show what would change, and touch nothing
    #[arg(long)]
    dry_run: bool,
}

/// Say something about a task
///
/// `@lead` asks the director to look, once. `@name` is kept for that agent: `agent show` lists it until it has answered.
///
/// Examples:
///   harness task comment 7f3k2q --section Questions '@lead is the list final?'
///   harness task comment 7f3k2q --section Progress --as ann 'half of it is done'
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
struct CommentArgs {
    /// The task's id, or the end of it
    id: String,
    /// What is to be said; - reads stdin
    #[arg(value_name = "TEXT|-")]
    text: String,
    /// Where it belongs
    #[arg(long, default_value = "Context")]
    section: Section,
    /// In the name of an agent
    #[arg(long = "as", value_name = "NAME")]
    as_agent: Option<String>,
    /// Show what would change, and touch nothing
    #[arg(long)]
    dry_run: bool,
}

/// Say what must be done before a task
///
/// What would go round is refused, and the way round is shown. A task that is then blocked goes back to inbox, unassigned.
///
/// Examples:
///   harness task depend 7f3k2q --on 3m9x1c
///   harness task depend 7f3k2q --drop 3m9x1c
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
struct DependArgs {
    /// The task's id, or the end of it
    id: String,
    /// Tasks that must be done first
    #[arg(long, value_name = "ID", value_delimiter = ',', required_unless_present = "drop")]
    on: Vec<String>,
    /// Tasks that need not
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    drop: Vec<String>,
    /// Show what would change, and touch nothing
    #[arg(long)]
    dry_run: bool,
}

/// Ask a silent owner how it goes
///
/// After 60 minutes without a word, then every 20 minutes, three times at the most.
///
/// Examples:
///   harness task nudge 7f3k2q 'is anything in your way?'
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
struct NudgeArgs {
    /// The task's id, or the end of it
    id: String,
    /// What to ask
    #[arg(value_name = "TEXT")]
    text: String,
    /// Show what would change, and touch nothing
    #[arg(long)]
    dry_run: bool,
}

pub fn run(args: &TaskArgs, app: &App<'_>) -> Result<Answer> {
    match &args.verb {
        Verb::List(args) => task_show::list(args, app),
        Verb::Show(args) => task_show::show(args, app),
        Verb::Add(args) => add(args, app),
        Verb::Assign(args) => {
            let (dept, id) = find_task(app, &args.id)?;
            let undo = format!("harness task move {id} inbox");
            let deed = Deed::Assign { id, owner: args.owner.clone() };
            let told = change(
                app,
                &Change { dept: &dept, command: "task assign", deed, as_agent: None, dry_run: args.dry_run },
            )?;
            Ok(changed("harness.task/1", &told, Some(&undo)))
        }
        Verb::Move(args) => shift(args, app),
        Verb::Comment(args) => comment(args, app),
        Verb::Depend(args) => depend(args, app),
        Verb::Nudge(args) => {
            let (dept, id) = find_task(app, &args.id)?;
            let text = line("the text", &args.text)?;
            let deed = Deed::Nudge { id, text };
            let told = change(
                app,
                &Change { dept: &dept, command: "task nudge", deed, as_agent: None, dry_run: args.dry_run },
            )?;
            Ok(changed("harness.task/1", &told, None))
        }
    }
}

/// One line of text that says something.
fn line(what: &str, text: &str) -> Result<String> {
    let text = text.trim();
    if text.is_empty() || text.contains(['\n', '\r']) || text.chars().count() > 200 {
        return Err(CommandError::new(
            Kind::Usage,
            format!("{what} must be one line of 1 to 200 characters"),
        ));
    }
    Ok(text.to_string())
}

fn time(text: &str) -> Result<Time> {
    parse_due(text).ok_or_else(|| {
        let text = crate::domain::text::one_line(text, 60);
        CommandError::new(
            Kind::Usage,
            format!("`{text}` is no time such as 2026-11-30T18:00:00Z or 2026-11-30"),
        )
    })
}

/// Ids that may be given by their ends.
fn whole_ids(app: &App<'_>, ids: &[String]) -> Result<Vec<String>> {
    ids.iter().map(|id| find_task(app, id).map(|(_, id)| id)).collect()
}

fn add(args: &AddArgs, app: &App<'_>) -> Result<Answer> {
    let description = super::send::read_body(&args.description)?;
    if description.trim().is_empty() {
        return Err(CommandError::new(Kind::Usage, "the description is empty"));
    }
    if let Some(project) = &args.project {
        super::send::known_project(&app.org()?, project)?;
    }
    let new = NewTask {
        title: line("the title", &args.title)?,
        description,
        priority: args.priority,
        depends_on: whole_ids(app, &args.depends_on)?,
        owner: args.owner.clone(),
        due: args.due.as_deref().map(time).transpose()?,
        project: args.project.clone(),
        assists: args.assists.as_ref().map(|id| find_task(app, id).map(|(_, id)| id)).transpose()?,
        not_twin_of: whole_ids(app, &args.not_twin_of)?,
    };
    let told = change(
        app,
        &Change {
            dept: &args.dept,
            command: "task add",
            deed: Deed::Create(new),
            as_agent: None,
            dry_run: args.dry_run,
        },
    )?;
    let id = told.done.created.first().cloned().unwrap_or_default();
    let mut answer = changed("harness.task/1", &told, None);
    // Scripts read the id alone.
    if !args.dry_run {
        app.ui.notice(answer.text.trim_end());
        answer.text = format!("{id}\n");
    }
    Ok(answer)
}

fn shift(args: &MoveArgs, app: &App<'_>) -> Result<Answer> {
    let (dept, id) = find_task(app, &args.id)?;
    let vouch = if args.vouch { Vouch::ForValidator } else { Vouch::No };
    let undo = (args.status == TaskStatus::Done).then(|| format!("harness task move {id} inbox"));
    let deed = Deed::Move { id, status: args.status, comment: args.why.clone(), vouch };
    let as_agent = args.as_agent.as_deref();
    let told =
        change(app, &Change { dept: &dept, command: "task move", deed, as_agent, dry_run: args.dry_run })?;
    Ok(changed("harness.task/1", &told, undo.as_deref()))
}

fn comment(args: &CommentArgs, app: &App<'_>) -> Result<Answer> {
    let (dept, id) = find_task(app, &args.id)?;
    let text = super::send::read_body(&args.text)?;
    if text.trim().is_empty() {
        return Err(CommandError::new(Kind::Usage, "the comment is empty"));
    }
    let deed = Deed::Comment { id, section: args.section, text };
    let as_agent = args.as_agent.as_deref();
    let told =
        change(app, &Change { dept: &dept, command: "task comment", deed, as_agent, dry_run: args.dry_run })?;
    Ok(changed("harness.task/1", &told, None))
}

fn depend(args: &DependArgs, app: &App<'_>) -> Result<Answer> {
    let (dept, id) = find_task(app, &args.id)?;
    let (on, drop) = (whole_ids(app, &args.on)?, whole_ids(app, &args.drop)?);
    let undo = (!on.is_empty()).then(|| format!("harness task depend {id} --drop {}", on.join(",")));
    let deed = Deed::Depend { id, on, drop };
    let told = change(
        app,
        &Change { dept: &dept, command: "task depend", deed, as_agent: None, dry_run: args.dry_run },
    )?;
    Ok(changed("harness.task/1", &told, undo.as_deref()))
}

/// The one who speaks.
pub fn speaker(as_agent: Option<&str>) -> Actor<'_> {
    as_agent.map_or(Actor::Human, Actor::Agent)
}
