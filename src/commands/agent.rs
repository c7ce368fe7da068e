//! `harness agent`: the roster of a department, shown and changed by a person.

use super::app::{App, Result};
use super::boards::{Change, change, changed};
use super::task_show::load;
use crate::domain::agent::{Agent, NewAgent, Works};
use crate::domain::board::{Board, Deed};
use crate::domain::id::Dept;
use crate::domain::text::{one_line, visible};
use crate::domain::time::{render_local, render_rfc3339};
use crate::error::{CommandError, Kind};
use crate::ui::table::render_table;
use crate::ui::{Answer, bold};
use serde_json::{Value, json};

/// List a department's agents, add or retire one
///
/// An agent is who a task can be given to: a person, an engine, or a pipeline of org.toml.
///
/// Examples:
///   harness agent list rd
///   harness agent add rd ann --role 'User Researcher' \
///       --purpose 'Asks users and writes down what they say.'
///   harness agent retire rd ann --why 'moved to support'
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct AgentArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    List(ListArgs),
    Add(AddArgs),
    Show(ShowArgs),
    Retire(RetireArgs),
}

/// List who is on the roster
///
/// Examples:
///   harness agent list
///   harness agent list rd --all --json
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
struct ListArgs {
    /// The department [default: every one]
    dept: Option<String>,
    /// Those who have left too
    #[arg(long)]
    all: bool,
}

/// Put an agent on the roster
///
/// Prints its name. The role is in title case. With an engine or a pipeline of org.toml, a task that is given to the agent
/// is worked on by that; without, the agent is a person, or a program that looks at the board itself.
///
/// Examples:
///   harness agent add rd ann --role 'User Researcher' \
///       --purpose 'Asks users and writes down what they say.'
///   harness agent add technology builder --role Builder \
///       --purpose 'Builds and tests.' --pipeline coding
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
struct AddArgs {
    /// The department
    dept: String,
    /// A word in small letters, by which it is mentioned: @name
    name: String,
    /// What it is, in title case
    #[arg(long, value_name = "TEXT")]
    role: String,
    /// What it is for
    #[arg(long, value_name = "TEXT")]
    purpose: String,
    /// The engine that works for it
    #[arg(long, value_name = "NAME", conflicts_with = "pipeline")]
    engine: Option<String>,
    /// The pipeline that works for it
    #[arg(long, value_name = "NAME")]
    pipeline: Option<String>,
    /// Show what would change, and touch nothing
    #[arg(long)]
    dry_run: bool,
}

/// Show an agent and what it works on
///
/// Examples:
///   harness agent show rd ann
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
struct ShowArgs {
    /// The department
    dept: String,
    /// The agent
    name: String,
}

/// Take an agent off the roster
///
/// Its file stays, and its name is never given again. What it was working on goes back to inbox.
///
/// Examples:
///   harness agent retire rd ann --why 'the survey is over'
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
struct RetireArgs {
    /// The department
    dept: String,
    /// The agent
    name: String,
    /// Why
    #[arg(long, value_name = "TEXT")]
    why: String,
    /// Show what would change, and touch nothing
    #[arg(long)]
    dry_run: bool,
}

pub fn run(args: &AgentArgs, app: &App<'_>) -> Result<Answer> {
    match &args.verb {
        Verb::List(args) => list(args, app),
        Verb::Add(args) => add(args, app),
        Verb::Show(args) => show(args, app),
        Verb::Retire(args) => retire(args, app),
    }
}

fn works(agent: &Agent) -> String {
    match &agent.works {
        Works::ByItself => "by itself".to_string(),
        Works::Engine(name) => format!("engine {name}"),
        Works::Pipeline(name) => format!("pipeline {name}"),
    }
}

fn tasks_of<'a>(board: &'a Board, agent: &'a Agent) -> impl Iterator<Item = &'a crate::domain::task::Task> {
    board.open_tasks().filter(|task| task.owner.as_ref() == Some(&agent.name))
}

/// The tasks in which it was named and has not answered.
fn mentions_of<'a>(
    board: &'a Board,
    agent: &'a Agent,
) -> impl Iterator<Item = &'a crate::domain::task::Task> {
    board.open_tasks().filter(|task| task.mentioned.contains(&agent.name))
}

fn to_json(dept: &Dept, agent: &Agent, board: &Board) -> Value {
    let named = mentions_of(board, agent);
    let (engine, pipeline) = match &agent.works {
        Works::ByItself => (None, None),
        Works::Engine(name) => (Some(name), None),
        Works::Pipeline(name) => (None, Some(name)),
    };
    json!({
        "dept": dept,
        "name": agent.name,
        "role": agent.role,
        "purpose": agent.purpose,
        "engine": engine,
        "pipeline": pipeline,
        "active": agent.is_active(),
        "created": render_rfc3339(agent.created),
        "created_by": agent.created_by,
        "provenance": agent.provenance.name(),
        "retired": agent.retired.map(render_rfc3339),
        "retired_why": agent.retired_why,
        "tasks": tasks_of(board, agent).map(|task| task.id.as_str()).collect::<Vec<_>>(),
        "mentioned_in": named.map(|task| task.id.as_str()).collect::<Vec<_>>(),
    })
}

fn list(args: &ListArgs, app: &App<'_>) -> Result<Answer> {
    let org = app.org()?;
    let names: Vec<String> = match &args.dept {
        Some(name) => vec![name.clone()],
        None => org.departments()?.departments.iter().map(ToString::to_string).collect(),
    };
    let (mut rows, mut data, mut warnings) = (Vec::new(), Vec::new(), Vec::new());
    for name in &names {
        let department = app.department(&org, name)?;
        let loaded = load(app, &org, &department)?;
        let bad = loaded.unreadable.iter().filter(|file| file.file.starts_with("agents/"));
        warnings.extend(bad.map(|file| format!("org-{name}/{} can't be taken: {}", file.file, file.why)));
        for agent in loaded.board.agents().filter(|agent| args.all || agent.is_active()) {
            let count = tasks_of(&loaded.board, agent).count();
            let state = if agent.is_active() { format!("{count}") } else { "retired".to_string() };
            rows.push(vec![
                agent.name.clone(),
                name.clone(),
                agent.role.clone(),
                works(agent),
                state,
                one_line(&agent.purpose, 200),
            ]);
            data.push(to_json(&department.dept, agent, &loaded.board));
        }
    }
    let text = if rows.is_empty() {
        "Nobody is on the roster. `harness agent add` puts somebody there.\n".to_string()
    } else {
        render_table(&["NAME", "DEPARTMENT", "ROLE", "WORKS", "TASKS", "PURPOSE"], &rows, app.ui.width())
    };
    Ok(Answer::new("harness.agents/1", json!({"agents": data}), text).warnings(warnings))
}

fn add(args: &AddArgs, app: &App<'_>) -> Result<Answer> {
    if args.purpose.trim().is_empty() {
        return Err(CommandError::new(Kind::Usage, "say what it is for: `--purpose TEXT`"));
    }
    let works = match (&args.engine, &args.pipeline) {
        (Some(engine), _) => Works::Engine(engine.clone()),
        (None, Some(pipeline)) => Works::Pipeline(pipeline.clone()),
        (None, None) => Works::ByItself,
    };
    let new =
        NewAgent { name: args.name.clone(), role: args.role.clone(), purpose: args.purpose.clone(), works };
    let undo = format!("harness agent retire {} {} --why TEXT", args.dept, args.name);
    let told = change(
        app,
        &Change {
            dept: &args.dept,
            command: "agent add",
            deed: Deed::AddAgent(new),
            as_agent: None,
            dry_run: args.dry_run,
        },
    )?;
    let mut answer = changed("harness.agent/1", &told, Some(&undo));
    if !args.dry_run {
        app.ui.notice(answer.text.trim_end());
        answer.text = format!("{}\n", args.name);
    }
    Ok(answer)
}

fn show(args: &ShowArgs, app: &App<'_>) -> Result<Answer> {
    let org = app.org()?;
    let department = app.department(&org, &args.dept)?;
    let loaded = load(app, &org, &department)?;
    let Some(agent) = loaded.board.find_agent(&args.name) else {
        let error = CommandError::failed(format!(
            "there is no agent `{}` in `{}`",
            one_line(&args.name, 40),
            args.dept
        ));
        return Err(error
            .code("no_agent")
            .hint(format!("`harness agent list {}` shows who is there", args.dept)));
    };
    let mut text = format!("{} ({})\n", bold(&visible(&agent.name)), visible(&agent.role));
    text.push_str(&format!("  works        {}\n", visible(&works(agent))));
    text.push_str(&format!(
        "  since        {} by {}\n",
        render_local(agent.created),
        visible(&agent.created_by)
    ));
    if let Some(retired) = agent.retired {
        let why = agent.retired_why.as_deref().unwrap_or_default();
        text.push_str(&format!("  left         {}: {}\n", render_local(retired), visible(why)));
    }
    text.push_str(&format!("\n{}\n", visible(&agent.purpose)));
    let tasks: Vec<String> = tasks_of(&loaded.board, agent)
        .map(|task| format!("  {} {}: {}\n", task.id, task.status, one_line(&task.title, 100)))
        .collect();
    if !tasks.is_empty() {
        text.push_str(&format!("\n{}\n{}", bold("Tasks"), tasks.concat()));
    }
    let named: Vec<String> = mentions_of(&loaded.board, agent)
        .map(|task| format!("  {} {}: {}\n", task.id, task.status, one_line(&task.title, 100)))
        .collect();
    if !named.is_empty() {
        text.push_str(&format!("\n{}\n{}", bold("Mentioned in"), named.concat()));
    }
    Ok(Answer::new("harness.agent-show/1", to_json(&department.dept, agent, &loaded.board), text))
}

fn retire(args: &RetireArgs, app: &App<'_>) -> Result<Answer> {
    if args.why.trim().is_empty() {
        return Err(CommandError::new(Kind::Usage, "say why: `--why TEXT`"));
    }
    let deed = Deed::RetireAgent { name: args.name.clone(), why: args.why.clone() };
    let told = change(
        app,
        &Change { dept: &args.dept, command: "agent retire", deed, as_agent: None, dry_run: args.dry_run },
    )?;
    Ok(changed("harness.agent/1", &told, None))
}
