//! `harness active-runs`, `harness stop-loop` and `harness stop-all`: what runs now, and ending it with proof.

use super::app::{App, Result};
use crate::domain::gate::{Gate, GateState};
use crate::domain::time::{Time, parse_rfc3339, render_age};
use crate::error::CommandError;
use crate::run::stop::{Stopped, led_runs, stop_department};
use crate::store::org::{Department, Org};
use crate::ui::Answer;
use crate::ui::table::render_table;
use serde_json::json;

/// List what runs now
///
/// A row for each department whose run is alive: by process and start time, not by what a file says.
///
/// Examples:
///   harness active-runs
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct ActiveRunsArgs {}

/// End a department's run
///
/// The engine is ended with everything it started, a plan half applied is finished first, and the run is recorded as
/// cancelled. It never asks. With nothing running it says so and exits 0. Exit 1 where a process is left, which it names.
///
/// Examples:
///   harness stop-loop business
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct StopLoopArgs {
    /// The department
    dept: String,
    /// Say what would happen, and touch nothing
    #[arg(long)]
    dry_run: bool,
}

/// Stop everything, and prove it
///
/// Trips the gate first, so that nothing new starts; ends every run; turns every autoLoop off; then looks for processes
/// of any run, by pid and start time and by the mark in their environment. Exit 1 where one is left, which it names. It
/// never asks. `harness gate enable` opens the gate again.
///
/// Examples:
///   harness stop-all
///   harness stop-all --why 'spending too much'
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct StopAllArgs {
    /// Why, for the gate and the audit
    #[arg(long, value_name = "TEXT", default_value = "stop-all")]
    why: String,
    /// Say what would happen, and touch nothing
    #[arg(long)]
    dry_run: bool,
}

pub fn active_runs(_args: &ActiveRunsArgs, app: &App<'_>) -> Result<Answer> {
    let org = app.org()?;
    let (mut rows, mut data) = (Vec::new(), Vec::new());
    for dept in org.departments()?.departments {
        let Some(department) = org.department(&dept)? else { continue };
        // A department that can't be read hides no other's run.
        for led in led_runs(&department).unwrap_or_default() {
            if !led.process.is_alive() {
                continue;
            }
            let age = parse_rfc3339(&led.started).map(|at| render_age(at, app.ctx.now())).unwrap_or_default();
            let pid = led.process.pid;
            data.push(json!({
                "dept": dept, "run": led.run, "kind": led.kind, "role": led.role, "started": led.started, "pid": pid,
            }));
            rows.push(vec![dept.to_string(), led.run, led.kind, led.role, age, pid.to_string()]);
        }
    }
    let text = if rows.is_empty() {
        "Nothing runs.\n".to_string()
    } else {
        render_table(&["DEPARTMENT", "RUN", "KIND", "ROLE", "AGE", "PID"], &rows, app.ui.width())
    };
    Ok(Answer::new("harness.active-runs/1", json!({"runs": data}), text))
}

pub fn stop_loop(args: &StopLoopArgs, app: &App<'_>) -> Result<Answer> {
    app.require_human("stop-loop")?;
    let org = app.org()?;
    let department = app.department(&org, &args.dept)?;
    if args.dry_run {
        let runs = alive(&department)?;
        let text = format!("Would stop in {}: {}.\n", args.dept, listed(&runs));
        let data = json!({"dept": args.dept, "runs": runs, "dry_run": true});
        return Ok(Answer::new("harness.stop-loop/1", data, text));
    }
    // Stopping comes before everything else: a full disk must not keep a run alive.
    let audited = app.audit(&org, "stop-loop", &args.dept);
    let stopped = stop_department(&department)?;
    let text = match &stopped.run {
        None => format!("Nothing runs in {}.\n", args.dept),
        Some(run) => format!("{}: {run} is stopped, and nothing of it is left.\n", args.dept),
    };
    let data = json!({"dept": args.dept, "run": stopped.run, "left": stopped.left});
    prove(&args.dept, &stopped)?;
    audited.map_err(|error| untold(&text, error))?;
    Ok(Answer::new("harness.stop-loop/1", data, text).undo(format!("harness run-loop {}", args.dept)))
}

/// It was done, and could not be written down.
fn untold(done: &str, error: CommandError) -> CommandError {
    let what = format!("{} But it can't be written down: {}", done.trim_end(), error.cause);
    error.hints.into_iter().fold(CommandError::failed(what), CommandError::hint)
}

/// The runs of a department that are alive.
fn alive(department: &Department) -> Result<Vec<String>> {
    let led = led_runs(department)?.into_iter();
    Ok(led.filter(|led| led.process.is_alive()).map(|led| led.run).collect())
}

fn listed(names: &[String]) -> String {
    if names.is_empty() { "nothing".to_string() } else { names.join(", ") }
}

/// What `stop-all` would end and turn off.
fn show_all(org: &Org) -> Result<Answer> {
    let (mut runs, mut loops) = (Vec::new(), Vec::new());
    for dept in org.departments()?.departments {
        let Some(department) = org.department(&dept)? else { continue };
        runs.extend(alive(&department)?);
        if department.config().is_ok_and(|config| config.auto_loop) {
            loops.push(dept.to_string());
        }
    }
    let text = format!(
        "Would trip the gate, stop {}, and turn autoLoop off in {}.\n",
        listed(&runs),
        listed(&loops)
    );
    Ok(Answer::new("harness.stop-all/1", json!({"runs": runs, "loops": loops, "dry_run": true}), text))
}

/// Non-zero, with names, where something is left or could not be looked for.
fn prove(dept: &str, stopped: &Stopped) -> Result<()> {
    if stopped.is_proved() {
        return Ok(());
    }
    let run = stopped.run.clone().unwrap_or_default();
    if let Some(why) = &stopped.not_looked {
        return Err(CommandError::failed(format!(
            "{dept}: {run} was told to stop, but its processes can't be looked for: {why}"
        )));
    }
    let pids: Vec<String> = stopped.left.iter().map(ToString::to_string).collect();
    let error =
        CommandError::failed(format!("{dept}: processes of {run} are still there: {}", pids.join(", ")));
    Err(error.hint(format!("look at them: `ps -fp {}`", pids.join(","))))
}

pub fn stop_all(args: &StopAllArgs, app: &App<'_>) -> Result<Answer> {
    app.require_human("stop-all")?;
    let org = app.org()?;
    if args.dry_run {
        return show_all(&org);
    }
    // Whatever of it can't be done, the rest is: a full disk must not keep a run alive.
    let (mut data, mut faults) = (Vec::new(), Vec::new());
    let tripped = org.write_gate(&Gate::new(GateState::Tripped, &args.why, "user", app.ctx.now()));
    if let Err(error) = &tripped {
        faults.push(format!("the gate is not tripped: {error}"));
    }
    if let Err(error) = app.audit(&org, "stop-all", &args.why) {
        faults.push(format!("it can't be written down: {}", error.cause));
    }
    let mut text = "Gate: tripped (closed)\n".to_string();
    for dept in org.departments()?.departments {
        let Some(department) = org.department(&dept)? else { continue };
        match stop_department(&department) {
            Ok(stopped) => {
                if let Some(run) = &stopped.run {
                    text.push_str(&format!("{dept}: {run} stopped\n"));
                }
                if let Err(error) = prove(dept.as_str(), &stopped) {
                    faults.push(error.cause.to_string());
                }
                data.push(json!({"dept": dept, "run": stopped.run, "left": stopped.left}));
            }
            Err(error) => faults.push(format!("{dept}: {error}")),
        }
        if let Err(error) = turn_off(&org, &dept, app.ctx.now()) {
            faults.push(format!("{dept}: autoLoop could not be turned off: {error}"));
        }
    }
    if !faults.is_empty() {
        let hint = match tripped {
            Ok(()) => "the gate is tripped, so nothing new starts",
            Err(_) => "what ran was stopped; put that right, then once more: `harness stop-all`",
        };
        return Err(CommandError::failed(faults.join("; ")).hint(hint));
    }
    text.push_str("Nothing runs, every autoLoop is off, and no process of any run is left.\n");
    text.push_str("To go on: harness gate enable\n");
    Ok(Answer::new("harness.stop-all/1", json!({"departments": data, "gate": "tripped"}), text))
}

fn turn_off(org: &Org, dept: &crate::domain::id::Dept, now: Time) -> std::result::Result<(), String> {
    let Some(department) = org.department(dept).map_err(|error| error.to_string())? else { return Ok(()) };
    let mut config = department.config().map_err(|error| error.to_string())?;
    if !config.auto_loop {
        return Ok(());
    }
    config.auto_loop = false;
    department.write_config(&config).map_err(|error| error.to_string())?;
    // It was audited as a whole; that a tick may audit it once more is no reason to fail.
    org.remember_config(dept, &config, now);
    Ok(())
}

/// One department, for the live view.
#[cfg(feature = "top")]
pub fn stop_one(app: &App<'_>, dept: &str) -> Result<Answer> {
    stop_loop(&StopLoopArgs { dept: dept.to_string(), dry_run: false }, app)
}
