//! `harness pause` and `harness resume`: one department, or all, kept from running.

use super::app::{App, Result};
use crate::domain::time::render_rfc3339;
use crate::error::{CommandError, Kind};
use crate::store::org::{Department, Org};
use crate::ui::Answer;
use serde_json::json;

/// Keep a department from running
///
/// Its runs are refused until `resume`; mail still arrives. A run under way ends before it asks an engine again, and
/// what it has decided is carried out: `harness stop-loop` ends it at once.
///
/// Examples:
///   harness pause marketing --why 'new campaign manager'
///   harness pause --all --why holidays
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct PauseArgs {
    #[command(flatten)]
    which: Which,
    /// Why
    #[arg(long, value_name = "TEXT")]
    why: String,
}

/// Let a paused department run again
///
/// Examples:
///   harness resume marketing
///   harness resume --all
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct ResumeArgs {
    #[command(flatten)]
    which: Which,
}

#[derive(Debug, clap::Args)]
struct Which {
    /// The department
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    dept: Option<String>,
    /// Every department
    #[arg(long)]
    all: bool,
    /// Say what would happen, and touch nothing
    #[arg(long)]
    dry_run: bool,
}

impl Which {
    /// As they stand on the command line.
    fn words(&self) -> &str {
        self.dept.as_deref().unwrap_or("--all")
    }

    fn departments(&self, app: &App<'_>, org: &Org) -> Result<Vec<Department>> {
        if let Some(name) = &self.dept {
            return Ok(vec![app.department(org, name)?]);
        }
        let mut all = Vec::new();
        for dept in org.departments()?.departments {
            all.extend(org.department(&dept)?);
        }
        Ok(all)
    }
}

pub fn pause(args: &PauseArgs, app: &App<'_>) -> Result<Answer> {
    app.require_human("pause")?;
    if args.why.trim().is_empty() {
        return Err(CommandError::new(Kind::Usage, "say why: `--why TEXT`"));
    }
    let org = app.org()?;
    let departments = args.which.departments(app, &org)?;
    let names: Vec<String> = departments.iter().map(|department| department.dept.to_string()).collect();
    if args.which.dry_run {
        let text = format!("Would pause: {}.\n", names.join(", "));
        return Ok(Answer::new("harness.pause/1", json!({"paused": names, "dry_run": true}), text));
    }
    app.audit(&org, "pause", &format!("{}: {}", names.join(", "), args.why))?;
    for department in &departments {
        department.pause(&render_rfc3339(app.ctx.now()), "user", args.why.trim())?;
    }
    let text = format!("Paused: {}. To undo: harness resume {}\n", names.join(", "), args.which.words());
    Ok(Answer::new("harness.pause/1", json!({"paused": names}), text).account())
}

pub fn resume(args: &ResumeArgs, app: &App<'_>) -> Result<Answer> {
    app.require_human("resume")?;
    let org = app.org()?;
    let departments = args.which.departments(app, &org)?;
    let names: Vec<String> = departments.iter().map(|department| department.dept.to_string()).collect();
    if args.which.dry_run {
        let text = format!("Would let run again: {}.\n", names.join(", "));
        return Ok(Answer::new("harness.resume/1", json!({"resumed": names, "dry_run": true}), text));
    }
    app.audit(&org, "resume", &names.join(", "))?;
    for department in &departments {
        department.resume()?;
    }
    Ok(Answer::new(
        "harness.resume/1",
        json!({"resumed": names}),
        format!(
            "May run again: {}. To undo: harness pause {} --why TEXT\n",
            names.join(", "),
            args.which.words()
        ),
    )
    .account())
}

/// One department, for the live view.
#[cfg(feature = "top")]
pub fn pause_one(app: &App<'_>, dept: &str, why: &str) -> Result<Answer> {
    pause(
        &PauseArgs {
            which: Which { dept: Some(dept.to_string()), all: false, dry_run: false },
            why: why.to_string(),
        },
        app,
    )
}

#[cfg(feature = "top")]
pub fn resume_one(app: &App<'_>, dept: &str) -> Result<Answer> {
    resume(&ResumeArgs { which: Which { dept: Some(dept.to_string()), all: false, dry_run: false } }, app)
}
