//! `harness doctor`: health, and what health does not try: engines in the service's environment, and a message through a
//! scratch organisation from end to end.

use super::app::{App, Result};
use super::health::{check_table, data, examine};
use super::init;
use super::running::{Order, run_department};
use super::send::{Letter, send};
use super::service::prove_path;
use crate::domain::event::Silent;
use crate::error::CommandError;
use crate::run::Effects;
use crate::run::cycle::Work;
use crate::run::service::prove::{clients, engine_lists};
use crate::run::verify::{Check, Verdict, verify};
use crate::store::org::Org;
use crate::store::scratch::Scratch;
use crate::ui::Answer;

/// Try everything that has to work
///
/// All the checks of `harness health`, and more: the key, each engine's own version command in the bare environment that
/// a service has, and a message through a scratch organisation, from end to end, by the embedded engine. It costs
/// nothing and leaves nothing behind. Exit 1 where a check failed; what could not run fails nothing.
///
/// Examples:
///   harness doctor
///   harness doctor --json
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct DoctorArgs {}

pub fn run(_args: &DoctorArgs, app: &App<'_>) -> Result<Answer> {
    app.require_human("doctor")?;
    let org = app.org()?;
    let mut health = examine(app, &org)?;
    health.checks.push(result("key", app.key().map(|_| "it is yours alone to read".to_string())));
    health.checks.extend(engines(app, &org));
    health.checks.push(result("end to end", end_to_end(app)));
    let text = check_table(app, &health.checks);
    let exit = u8::from(health.failed() > 0);
    Ok(Answer::new("harness.doctor/1", data(&health), text).exit(exit).warnings(warnings(&org)))
}

fn result(name: &str, tried: Result<String>) -> Check {
    let (verdict, what) = match tried {
        Ok(what) => (Verdict::Passed, what),
        Err(error) => (Verdict::Failed, error.cause.to_string()),
    };
    Check { name: name.to_string(), verdict, what }
}

/// Each engine's own version command, in the environment that a service would have.
fn engines(app: &App<'_>, org: &Org) -> Vec<Check> {
    let installed = org.installed().unwrap_or(None);
    match prove_path(app, org, installed.as_ref().map(|installed| installed.path.as_str())) {
        Ok(proof) => proof.checks,
        Err(error) => {
            let (name, what) = ("engines".to_string(), error.cause.to_string());
            vec![Check { name, verdict: Verdict::NotRun, what }]
        }
    }
}

/// What the tool can't prevent.
fn warnings(org: &Org) -> Vec<String> {
    let Ok(settings) = org.settings() else { return Vec::new() };
    let names: Vec<String> = settings.engines.keys().cloned().collect();
    let lists = engine_lists(&settings, &[]).into_iter().chain([names]).collect::<Vec<_>>();
    let with_tools = clients(&settings, &lists).into_iter().filter(|client| client.has_tools);
    with_tools
        .map(|client| {
            format!(
                "the engine {} has tools and runs as you: it could read your key and approve in your name; run it as another user, or give it no tools",
                client.name
            )
        })
        .collect()
}

/// A directive to the business department of a new organisation, answered by the rules of the template.
fn end_to_end(app: &App<'_>) -> Result<String> {
    let scratch = Scratch::make(&app.ctx.temporary(), "doctor", &app.ctx.random::<8>())?
        .known_in(app.ctx.config_folder());
    let there = App { ctx: app.ctx, ui: app.ui, root: scratch.path().to_path_buf() };
    let tried = go_through(&there, &scratch);
    app.forget(scratch.path())?;
    tried
}

fn go_through(there: &App<'_>, scratch: &Scratch) -> Result<String> {
    init::make_five(there)?;
    let letter = Letter {
        to: "business",
        kind: "Directive",
        subject: "A test of harness doctor",
        body: "This goes through a scratch organisation that is thrown away.",
    };
    let id = send(there, &letter)?;
    let order = Order {
        dept: "business",
        kind: "loop",
        work: Work::Loop { max_iterations: 10 },
        engines: vec!["rules".to_string()],
        effects: Effects::CarriedOut,
    };
    let (end, _) = run_department(there, &order, &mut Silent)?;
    let org = there.org()?;
    let answered = answers(&org, &id)?;
    let faults: Vec<String> = verify(&org, &there.key()?, there.ctx.now())?
        .into_iter()
        .filter(|check| check.verdict == Verdict::Failed)
        .map(|check| format!("{}: {}", check.name, check.what))
        .collect();
    match () {
        () if end.outcome.word() != "done" => {
            Err(CommandError::failed(format!("the run ended as {}: {}", end.outcome.word(), end.reason)))
        }
        () if answered == 0 => Err(CommandError::failed("the message was handled, and nothing was sent on")),
        () if !faults.is_empty() => Err(CommandError::failed(faults.join("; "))),
        () if !scratch.remove() => {
            Err(CommandError::failed(format!("{} can't be removed", scratch.path().display())))
        }
        () => Ok(format!("a message went through in {} steps, and {answered} came of it", end.steps)),
    }
}

/// How many messages of a thread lie in inboxes that are not its first.
pub fn answers(org: &Org, thread: &str) -> Result<usize> {
    let mut count = 0;
    for dept in org.departments()?.departments {
        let Some(department) = org.department(&dept)? else { continue };
        let mail = department.inbox()?;
        count += mail
            .messages
            .iter()
            .filter(|filed| filed.message.thread == thread && filed.message.id != thread)
            .count();
    }
    Ok(count)
}
