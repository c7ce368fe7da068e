//! What the commands that run a department have in common: setting the shop up, and telling how it ended.

use super::app::{App, Result};
use crate::domain::allowance::render_cost;
use crate::domain::event::Sink;
use crate::domain::id::{IdKind, nearest, new_id};
use crate::domain::redact::Redactor;
use crate::domain::time::render_rfc3339;
use crate::error::{CommandError, Kind};
use crate::process::interrupt::Interrupt;
use crate::run::commit::Committed;
use crate::run::cycle::{Begun, RunEnd, RunOutcome, Work};
use crate::run::requests::Told;
use crate::run::{Effects, Refused, RunError, Shop, Slot, Watch};
use crate::store::disk::Disk;
use crate::store::journal::Journal;
use crate::store::org::Org;
use crate::store::runs::Active;
use crate::ui::{Answer, Shortfall};
use serde_json::json;
use std::cell::{Cell, RefCell};

/// How a department is to be run.
pub struct Order<'a> {
    pub dept: &'a str,
    pub kind: &'a str,
    pub work: Work,
    /// Engines by name; empty means as configured.
    pub engines: Vec<String>,
    pub effects: Effects,
}

/// Runs a department to its end; also whether it was interrupted from the keyboard.
pub fn run_department(app: &App<'_>, order: &Order<'_>, sink: &mut dyn Sink) -> Result<(RunEnd, bool)> {
    with_shop(app, order, sink, |shop, interrupt| match shop.run(order.kind, &order.work) {
        Ok(Begun::Ended(end)) => Ok((end, interrupt.is_from_keyboard())),
        Ok(Begun::Busy(active)) => Err(busy(order.dept, active)),
        Ok(Begun::Nothing(why)) => Err(CommandError::failed(why)),
        Err(error) => Err(to_command_error(order.dept, error)),
    })
}

/// How a run that a tick started went.
pub enum Scheduled {
    Ended(RunEnd),
    /// It was not needed after all.
    Nothing(String),
}

/// Runs a department that a tick found due.
pub fn run_scheduled(app: &App<'_>, order: &Order<'_>, slot: Slot, sink: &mut dyn Sink) -> Result<Scheduled> {
    with_watched_shop(app, order, Watch::scheduled(slot), sink, |shop, _| {
        match shop.run(order.kind, &order.work) {
            Ok(Begun::Ended(end)) => Ok(Scheduled::Ended(end)),
            Ok(Begun::Nothing(why)) => Ok(Scheduled::Nothing(why)),
            Ok(Begun::Busy(active)) => Err(busy(order.dept, active)),
            Err(error) => Err(to_command_error(order.dept, error)),
        }
    })
}

/// Finishes what a dead run left, and runs nothing.
pub fn recover_department(app: &App<'_>, order: &Order<'_>, sink: &mut dyn Sink) -> Result<Vec<String>> {
    with_shop(app, order, sink, |shop, _| match shop.recover_locked() {
        Ok(Some(recovered)) => Ok(recovered.lines),
        Ok(None) => Err(busy(order.dept, shop.department.active().unwrap_or(None))),
        Err(error) => Err(to_command_error(order.dept, error)),
    })
}

/// Brings what the human decided to the department, and runs nothing.
pub fn settle_department(app: &App<'_>, order: &Order<'_>, sink: &mut dyn Sink) -> Result<Vec<Told>> {
    with_shop(app, order, sink, |shop, _| match shop.settle_requests_locked() {
        Ok(Some(told)) => Ok(told),
        Ok(None) => Err(busy(order.dept, shop.department.active().unwrap_or(None))),
        Err(error) => Err(to_command_error(order.dept, error)),
    })
}

/// Commits what was written, under the department's lock, and runs nothing.
pub fn commit_department(app: &App<'_>, dept: &str) -> Result<Committed> {
    with_shop(app, &commit_order(dept), &mut Silent, |shop, _| {
        match shop.committed_locked().map_err(|error| to_command_error(dept, error))? {
            Some(committed) => Ok(committed),
            None => Err(busy(dept, shop.department.active().unwrap_or(None))),
        }
    })
}

/// What a commit of it would be. Nothing is touched.
pub fn show_commit(app: &App<'_>, dept: &str) -> Result<Committed> {
    with_shop(app, &commit_order(dept), &mut Silent, |shop, _| {
        shop.shown_commit().map_err(|error| to_command_error(dept, error))
    })
}

fn commit_order(dept: &str) -> Order<'_> {
    Order {
        dept,
        kind: "commit",
        work: Work::Loop { max_iterations: 1 },
        engines: vec!["rules".to_string()],
        effects: Effects::CarriedOut,
    }
}

/// Something done with a department's shop, and nothing run.
pub fn at_shop<T>(
    app: &App<'_>,
    order: &Order<'_>,
    work: impl FnOnce(&Shop<'_>) -> crate::run::Result<T>,
) -> Result<T> {
    let mut sink = crate::ui::sink::Progress::new(app.ui);
    with_shop(app, order, &mut sink, |shop, _| {
        work(shop).map_err(|error| to_command_error(order.dept, error))
    })
}

/// Nobody listens.
struct Silent;

impl Sink for Silent {
    fn hear(&mut self, _event: &crate::domain::event::Event<'_>) {}
}

fn busy(dept: &str, active: Option<Active>) -> CommandError {
    let by = active.map(|active| format!(" by {} (pid {})", active.run, active.pid)).unwrap_or_default();
    CommandError::new(Kind::Busy, format!("`{dept}` is held{by}"))
        .hint(format!("`harness logs {dept} -f` shows it; `harness stop-loop {dept}` ends it"))
}

/// Sets a shop up for one department, and works in it.
pub fn with_shop<T>(
    app: &App<'_>,
    order: &Order<'_>,
    sink: &mut dyn Sink,
    work: impl FnOnce(&Shop<'_>, &Interrupt) -> Result<T>,
) -> Result<T> {
    with_watched_shop(app, order, Watch::default(), sink, work)
}

fn with_watched_shop<T>(
    app: &App<'_>,
    order: &Order<'_>,
    watch: Watch,
    sink: &mut dyn Sink,
    work: impl FnOnce(&Shop<'_>, &Interrupt) -> Result<T>,
) -> Result<T> {
    let interrupt = Interrupt::listen()
        .map_err(|error| CommandError::failed(format!("can't listen for signals: {error}")))?;
    let run = new_id(IdKind::Run, app.ctx.now(), &app.ctx.random());
    // Temporary files carry the department's name, so that its recovery knows which are its own.
    let key = app.key()?;
    let mut org = open(app, &app.ctx.disk().owned_by(&run, order.dept))?;
    if order.effects == Effects::CarriedOut {
        org.settle_identity(app.ctx.now())?;
    }
    let department = app.department(&org, order.dept)?;
    let settings = org.settings()?;
    let engines = match order.engines.as_slice() {
        [] => department.config()?.engine.unwrap_or_else(|| settings.defaults.engine.clone()),
        named => named.to_vec(),
    };
    check_engines(&engines, &settings)?;
    let names = settings.engines.values().flat_map(|engine| &engine.env);
    let secrets: Vec<String> = names.filter_map(|name| app.ctx.variable(name).map(str::to_string)).collect();
    let shop = Shop {
        run_id: run,
        journal: Journal::of(&org, &department, &key)?,
        guard: app
            .ctx
            .program()
            .map_err(|error| CommandError::failed(format!("can't find this program: {error}")))?,
        redactor: Redactor::new(&secrets),
        variables: app.ctx.variables(),
        now: &|| app.ctx.now(),
        random: &|| app.ctx.random(),
        interrupt: &|| interrupt.asked(),
        sink: RefCell::new(sink),
        effects: order.effects,
        watch,
        counted: Cell::new(false),
        calls: Cell::new(0),
        asked: Cell::new(0),
        shown_scripts: Cell::new(0),
        notices: RefCell::default(),
        engines,
        settings,
        key,
        org,
        department,
    };
    let worked = work(&shop, &interrupt);
    shop.send_notices();
    worked
}

fn open(app: &App<'_>, disk: &Disk) -> Result<Org> {
    match Org::find(&app.root, disk)? {
        Some(org) => Ok(org.sealed(app.seal())),
        None => app.org(),
    }
}

pub fn check_engines(names: &[String], settings: &crate::domain::settings::Settings) -> Result<()> {
    let known =
        |name: &String| name == "rules" || name.starts_with("replay:") || settings.engines.contains_key(name);
    let Some(name) = names.iter().find(|name| !known(name)) else { return Ok(()) };
    let mut all: Vec<&str> = settings.engines.keys().map(String::as_str).collect();
    all.push("rules");
    let error = CommandError::new(Kind::Usage, format!("there is no engine `{name}`")).code("no_engine");
    let error = match nearest(name, all.iter().copied()) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error,
    };
    Err(error.hint(format!("org.toml has: {}", all.join(", "))))
}

/// A run that could not begin, or broke off, as an error with the way out.
pub fn to_command_error(dept: &str, error: RunError) -> CommandError {
    let refused = match error {
        RunError::Store(error) => return error.into(),
        RunError::Refused(refused) => refused,
    };
    let (code, hint) = way_out(dept, &refused);
    CommandError::refused(refused.to_string()).code(code).hint(hint)
}

/// A code for what said no, and what helps.
fn way_out(dept: &str, refused: &Refused) -> (&'static str, String) {
    match refused {
        Refused::Gate(_) => {
            ("gate_closed", "see `harness gate show`; `harness gate enable` opens it".to_string())
        }
        Refused::NotAccepted(_) => {
            ("not_accepted", format!("look at it and accept it: `harness charter accept {dept}`"))
        }
        Refused::Charter(_) => ("charter_unusable", format!("`harness charter check {dept}` says more")),
        Refused::Goal(_) => (
            "goal_unusable",
            format!("put org-{dept}/goal.toml right, or move it away: then {dept} asks you for its goal"),
        ),
        Refused::Paused(_) => ("paused", format!("`harness resume {dept}` lets it run again")),
        Refused::Blocked(_) => ("blocked", format!("look into it, then `harness recover {dept} --unblock`")),
        Refused::Limit(_) => {
            ("limit", format!("wait, or change it in charter.toml: `harness charter show {dept}`"))
        }
        Refused::Ledger(_) => (
            "ledger",
            format!(
                "look at it: `harness verify`; moved away, it is written anew from the records: \
                 `mv org-{dept}/.harness/runs.jsonl runs.jsonl.bad`"
            ),
        ),
        Refused::Budget(_) => ("budget", "see `harness budget`; limits are in .harness/org.toml".to_string()),
        Refused::Held(_) => {
            ("held", "`harness directive list` and `harness project list` show what is paused".to_string())
        }
        Refused::NoEngine { not_before: Some(at), .. } => (
            "no_engine",
            format!(
                "one may be asked again from {} on, as `harness health` shows; until then the playbook alone can \
                 answer: `harness run-loop {dept} --engine rules`",
                render_rfc3339(*at)
            ),
        ),
        Refused::NoEngine { .. } => (
            "no_engine",
            format!(
                "install one, name another in .harness/org.toml, or let the playbook alone answer: \
                 `harness run-loop {dept} --engine rules`; `harness doctor` tries each"
            ),
        ),
    }
}

/// The warning that what was written is not committed, where that is so.
pub fn unmade(why: Option<&str>) -> Vec<String> {
    why.map(|why| format!("not committed yet: {why}")).into_iter().collect()
}

/// How a run ended, for people and for scripts.
pub fn answer(dept: &str, end: &RunEnd, interrupted: bool) -> Answer {
    let cost = match end.cost_usd {
        Some(usd) => format!("{} USD", render_cost(usd)),
        None => format!("cost unknown, counted as {} USD", render_cost(end.counted_usd)),
    };
    let steps = if end.steps == 1 { "1 step".to_string() } else { format!("{} steps", end.steps) };
    let reason = crate::domain::text::one_line(&end.reason, 300);
    let text = format!("{dept}: {} ({steps}, {cost}): {reason}\n", end.outcome.word());
    let exit = match end.outcome {
        RunOutcome::Cancelled if interrupted => 130,
        outcome => outcome.exit(),
    };
    let data = json!({
        "dept": dept,
        "run": end.run,
        "outcome": end.outcome.word(),
        "reason": end.reason,
        "iterations": end.iterations,
        "steps": end.steps,
        "cost_usd": end.cost_usd,
        "counted_usd": end.counted_usd,
        "not_committed": end.not_committed,
    });
    let warnings = unmade(end.not_committed.as_deref());
    let answer = Answer::new("harness.run/1", data, text).warnings(warnings).exit(exit);
    let answer = match &end.refused {
        Some(refused) => answer.hint(way_out(dept, refused).1),
        None => answer,
    };
    match to_shortfall(dept, end) {
        Some(shortfall) => answer.shortfall(shortfall),
        None => answer,
    }
}

/// Why a run is not done, and what to do about it.
fn to_shortfall(dept: &str, end: &RunEnd) -> Option<Shortfall> {
    let (code, hint) = match end.outcome {
        RunOutcome::Done => return None,
        RunOutcome::Escalated => {
            ("escalated", "`harness escalations list` shows what waits for you".to_string())
        }
        RunOutcome::MaxIterations => {
            ("max_iterations", format!("`harness run-loop {dept}` goes on; --max-iterations allows more"))
        }
        RunOutcome::NoProgress => {
            ("no_progress", format!("`harness runs show {}` shows what was tried", end.run))
        }
        RunOutcome::Failed => ("step_failed", format!("`harness runs show {}` shows what was said", end.run)),
        RunOutcome::Refused => match &end.refused {
            Some(refused) => way_out(dept, refused),
            None => ("refused", format!("`harness why {dept}` shows what stands against it")),
        },
        RunOutcome::Cancelled => ("cancelled", format!("`harness run-loop {dept}` goes on where it was")),
    };
    let message = format!("`{dept}`: {}: {}", end.outcome.word(), end.reason);
    Some(Shortfall { code, message, hints: vec![hint] })
}
