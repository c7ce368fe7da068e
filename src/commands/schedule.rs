//! `harness schedule list|add|remove`: prompts that arrive at set times.

use super::app::{App, Result};
use super::send::read_body;
use crate::domain::id::{IdKind, new_id};
use crate::domain::memory::Entry;
use crate::domain::message::Provenance;
use crate::domain::schedule::{
    SCHEDULES_MAX, Schedule, ScheduleFile, is_schedule_name, render_schedule, scheduled, unscheduled,
};
use crate::domain::text::one_line;
use crate::domain::time::{render_local, render_rfc3339};
use crate::error::{CommandError, Kind};
use crate::store::org::{Department, Org};
use crate::ui::Answer;
use crate::ui::table::render_table;
use serde_json::{Value, json};

/// List, add or remove what a department does at set times
///
/// A schedule is a prompt that arrives as a message when its time comes: by a cron expression of five fields, or once.
/// Each slot comes exactly once, whatever the clock does. What was missed while the machine slept is up to the
/// department's missedRuns: latest, the default, brings the last slot of the past day, skip brings none.
///
/// Examples:
///   harness schedule add business monday --cron '0 9 * * mon' \
///       --timezone Europe/Berlin --prompt 'Review the budget.'
///   harness schedule add rd launch --at 2026-12-01T09:00:00Z \
///       --prompt 'The launch was today. How did it go?'
///   harness schedule list
///   harness schedule remove business monday
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct ScheduleArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// List schedules with their next slots
    ///
    /// Examples:
    ///   harness schedule list
    ///   harness schedule list business --json
    #[command(verbatim_doc_comment)]
    List(ListArgs),
    /// Add a schedule, and print its name alone
    ///
    /// Examples:
    ///   harness schedule add business monday --cron '0 9 * * mon' \
    ///       --timezone Europe/Berlin --prompt 'Review the budget.'
    ///   harness schedule add rd launch --at 2026-12-01T09:00:00Z \
    ///       --prompt 'The launch was today. How did it go?'
    #[command(verbatim_doc_comment)]
    Add(AddArgs),
    /// Remove a schedule
    ///
    /// Examples:
    ///   harness schedule remove business monday
    #[command(verbatim_doc_comment)]
    Remove(RemoveArgs),
}

#[derive(Debug, clap::Args)]
struct ListArgs {
    /// The department; all of them where none is named
    dept: Option<String>,
}

#[derive(Debug, clap::Args)]
struct AddArgs {
    /// The department
    dept: String,
    /// Its name: small letters, digits and hyphens
    name: String,
    /// Five fields: minute, hour, day of the month, month, day of the week
    #[arg(long, value_name = "EXPR", required_unless_present = "at", conflicts_with = "at")]
    cron: Option<String>,
    /// A time, for once: RFC 3339, or 2026-12-01T09:00 in the zone
    #[arg(long, value_name = "TIME")]
    at: Option<String>,
    /// What arrives, or - to read it from stdin
    #[arg(long, value_name = "TEXT|-")]
    prompt: String,
    /// A zone of the tz database [default: this machine's]
    #[arg(long, value_name = "ZONE")]
    timezone: Option<String>,
    /// Show what would be added, and add nothing
    #[arg(long)]
    dry_run: bool,
}

#[derive(Debug, clap::Args)]
struct RemoveArgs {
    /// The department
    dept: String,
    /// The schedule
    name: String,
    /// Show what would be removed, and remove nothing
    #[arg(long)]
    dry_run: bool,
}

pub fn run(args: &ScheduleArgs, app: &App<'_>) -> Result<Answer> {
    match &args.verb {
        Verb::List(args) => list(args, app),
        Verb::Add(args) => add(args, app),
        Verb::Remove(args) => remove(args, app),
    }
}

fn list(args: &ListArgs, app: &App<'_>) -> Result<Answer> {
    let org = app.org()?;
    let depts = match &args.dept {
        Some(name) => vec![app.department(&org, name)?.dept],
        None => org.departments()?.departments,
    };
    let (mut rows, mut data, mut warnings) = (Vec::new(), Vec::new(), Vec::new());
    for dept in depts {
        let Some(department) = org.department(&dept)? else { continue };
        let found = match department.schedules() {
            Ok(found) => found,
            // Among all of them, one that can't be read hides no other.
            Err(error) if args.dept.is_none() => {
                warnings.push(format!("{dept}: its schedules can't be listed: {error}"));
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        warnings.extend(
            found.refused.iter().map(|(file, why)| format!("{dept}: schedules/{file} is not used: {why}")),
        );
        for (name, schedule) in found.schedules.iter().filter(|(_, schedule)| !schedule.is_ended()) {
            let next = schedule.next_slot(app.ctx.now());
            let file = &schedule.file;
            let when = file.cron.clone().or_else(|| file.at.clone()).unwrap_or_default();
            rows.push(vec![
                dept.to_string(),
                name.clone(),
                when,
                file.timezone.clone(),
                next.map_or_else(|| "-".to_string(), render_local),
                one_line(&file.prompt, 60),
            ]);
            data.push(to_json(dept.as_str(), name, schedule, next.map(render_rfc3339)));
        }
    }
    let text = match rows.len() {
        0 => "There are no schedules.\n".to_string(),
        _ => render_table(&["DEPARTMENT", "NAME", "WHEN", "ZONE", "NEXT", "PROMPT"], &rows, app.ui.width()),
    };
    Ok(Answer::new("harness.schedule/1", json!({"schedules": data}), text).warnings(warnings))
}

fn to_json(dept: &str, name: &str, schedule: &Schedule, next: Option<String>) -> Value {
    let file = &schedule.file;
    json!({
        "dept": dept, "name": name, "cron": file.cron, "at": file.at, "timezone": file.timezone,
        "prompt": file.prompt, "by": file.by, "created": file.created, "next_at": next,
    })
}

fn usage(message: impl std::fmt::Display) -> CommandError {
    CommandError::new(Kind::Usage, message)
}

fn add(args: &AddArgs, app: &App<'_>) -> Result<Answer> {
    app.require_human("schedule add")?;
    let org = app.org()?;
    let department = app.department(&org, &args.dept)?;
    let AddArgs { dept, name, .. } = args;
    if !is_schedule_name(name) {
        return Err(usage(format!("`{}` can't be a schedule's name", one_line(name, 60)))
            .hint("small letters, digits and hyphens, such as `monday-review`"));
    }
    let file = ScheduleFile {
        schema: 1,
        cron: args.cron.clone(),
        at: args.at.clone(),
        timezone: args.timezone.clone().unwrap_or_else(|| app.ctx.timezone()),
        prompt: read_body(&args.prompt)?,
        by: "user".to_string(),
        provenance: "human".to_string(),
        created: render_rfc3339(app.ctx.now()),
        ended: None,
    };
    let schedule = Schedule::new(file).map_err(|what| usage(what).code("bad_schedule"))?;
    let Some(next) = schedule.next_slot(app.ctx.now()) else {
        return Err(usage("that time has passed").code("bad_schedule"));
    };
    let there = department.schedules()?.schedules;
    if there.iter().any(|(known, schedule)| known == name && !schedule.is_ended()) {
        return Err(CommandError::failed(format!("`{dept}` has a schedule `{name}`"))
            .code("schedule_exists")
            .hint(format!("take it away first: `harness schedule remove {dept} {name}`")));
    }
    if there.len() >= SCHEDULES_MAX {
        return Err(CommandError::refused(format!(
            "`{dept}` has {SCHEDULES_MAX} schedules, which is the most"
        )));
    }
    let data = to_json(dept, name, &schedule, Some(render_rfc3339(next)));
    if args.dry_run {
        return Ok(Answer::new("harness.schedule/1", data, render_schedule(&schedule.file)));
    }
    app.audit(&org, "schedule", &format!("{dept}: added {name}, next at {}", render_rfc3339(next)))?;
    department.add_schedule(name, &schedule.file)?;
    remember(app, &department, scheduled(name, &schedule.file))?;
    app.ui.notice(&format!(
        "It comes next at {}. To undo: harness schedule remove {dept} {name}",
        render_local(next)
    ));
    Ok(Answer::new("harness.schedule/1", data, format!("{name}\n")))
}

/// Each change of the schedules is an entry of memory of its own.
fn remember(app: &App<'_>, department: &Department, text: String) -> Result<()> {
    let now = app.ctx.now();
    let entry = Entry {
        day: now.format("%Y-%m-%d").to_string(),
        key: new_id(IdKind::Entry, now, &app.ctx.random()),
        tags: vec!["cron".to_string()],
        provenance: Provenance::Human,
        refs: Vec::new(),
        text,
    };
    Ok(department.append_memory(&entry)?)
}

fn remove(args: &RemoveArgs, app: &App<'_>) -> Result<Answer> {
    app.require_human("schedule remove")?;
    let org: Org = app.org()?;
    let department = app.department(&org, &args.dept)?;
    let RemoveArgs { dept, name, .. } = args;
    let texts = department.schedule_texts()?;
    let Some((_, text)) = texts.iter().find(|(path, _)| *path == format!("schedules/{name}.toml")) else {
        let names =
            texts.iter().filter_map(|(path, _)| path.strip_prefix("schedules/")?.strip_suffix(".toml"));
        let near = crate::domain::id::nearest(name, names);
        let error = CommandError::failed(format!("`{dept}` has no schedule `{}`", one_line(name, 60)))
            .code("no_schedule");
        return Err(match near {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error.hint(format!("`harness schedule list {dept}` shows what there is")),
        });
    };
    let data = json!({"dept": dept, "name": name, "dry_run": args.dry_run});
    if args.dry_run {
        return Ok(Answer::new("harness.schedule/1", data, format!("{dept}: {name} would be removed.\n")));
    }
    app.audit(&org, "schedule", &format!("{dept}: removed {name}: {}", one_line(text, 1_000)))?;
    department.remove_schedule(name)?;
    remember(app, &department, unscheduled(name))?;
    let text = format!("{dept}: {name} is removed. The audit log keeps what it said.\n");
    let undo =
        format!("harness schedule add {dept} {name}, with what the last line of .harness/audit.jsonl says");
    Ok(Answer::new("harness.schedule/1", data, text).undo(undo).account())
}
