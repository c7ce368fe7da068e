//! What the commands for tasks and agents have in common: finding a task, and changing the board.

use super::app::{App, Result};
use super::running::{Order, with_shop};
use crate::domain::board::{BoardFault, Deed, Done};
use crate::domain::id::{Match, match_id};
use crate::domain::message::Message;
use crate::domain::text::one_line;
use crate::error::{CommandError, Kind};
use crate::run::Effects;
use crate::run::board::Changed;
use crate::run::cycle::Work;
use crate::store::org::{Department, Org};
use crate::ui::sink::Progress;
use crate::ui::{Answer, Ui};
use serde_json::json;

/// A change that a person asks for.
pub struct Change<'a> {
    pub dept: &'a str,
    /// As it is audited.
    pub command: &'static str,
    pub deed: Deed,
    pub as_agent: Option<&'a str>,
    pub dry_run: bool,
}

/// What it came to.
pub struct Told {
    pub dept: String,
    pub done: Done,
    pub files: Vec<String>,
    pub dry_run: bool,
}

/// Changes the board for a person, by its rules.
pub fn change(app: &App<'_>, change: &Change<'_>) -> Result<Told> {
    app.require_human(change.command)?;
    let org = app.org()?;
    app.department(&org, change.dept)?;
    let effects = if change.dry_run { Effects::Shown } else { Effects::CarriedOut };
    let order = Order {
        dept: change.dept,
        kind: "board",
        work: Work::Loop { max_iterations: 1 },
        engines: vec!["rules".to_string()],
        effects,
    };
    let actor = super::task::speaker(change.as_agent);
    let quiet = Ui { quiet: true, ..app.ui };
    // Looked at first: what is refused changes nothing, and leaves no line in the audit.
    let mut sink = Progress::new(quiet);
    let shown = Order {
        effects: Effects::Shown,
        work: Work::Loop { max_iterations: 1 },
        engines: order.engines.clone(),
        ..order
    };
    let look = with_shop(app, &shown, &mut sink, |shop, _| {
        shop.change_board(&change.deed, actor)
            .map_err(|error| super::running::to_command_error(change.dept, error))
    })?;
    let done = |done: Done, files: Vec<String>| Told {
        dept: change.dept.to_string(),
        done,
        files,
        dry_run: change.dry_run,
    };
    match look {
        Changed::Refused(fault) => return Err(refused(fault)),
        Changed::Done { done: seen, files } if change.dry_run => return Ok(done(seen, files)),
        Changed::Done { done: seen, .. } => {
            app.audit(&org, change.command, &format!("{}: {}", change.dept, seen.what))?;
        }
        Changed::Busy => {}
    }
    let order = Order { effects: Effects::CarriedOut, ..shown };
    let changed = with_shop(app, &order, &mut Progress::new(quiet), |shop, _| {
        shop.change_board(&change.deed, actor)
            .map_err(|error| super::running::to_command_error(change.dept, error))
    })?;
    match changed {
        Changed::Done { done: made, files } => Ok(done(made, files)),
        Changed::Refused(fault) => Err(refused(fault)),
        Changed::Busy => Err(CommandError::new(Kind::Busy, format!("`{}` is held by a run", change.dept))
            .hint(format!("`harness active-runs` shows it; `harness stop-loop {}` ends it", change.dept))),
    }
}

/// A rule of the board said no.
fn refused(fault: BoardFault) -> CommandError {
    let error = CommandError::refused(&fault.message).code(fault.code);
    match fault.hint {
        // The rule names an action's field; a person has an option for it.
        Some(hint) if fault.code == "near_twin" => error.hint(hint.replace("not_twin_of", "--not-twin-of")),
        Some(hint) => error.hint(hint),
        None => error,
    }
}

/// What changed, and how to undo it.
pub fn changed(schema: &'static str, told: &Told, undo: Option<&str>) -> Answer {
    let Told { dept, done, files, dry_run } = told;
    let mut text = if *dry_run { format!("Would be: {}.\n", done.what) } else { format!("{}.\n", done.what) };
    for file in files {
        text.push_str(&format!("  {}org-{dept}/{file}\n", if *dry_run { "would change " } else { "" }));
    }
    if !done.jobs.is_empty() {
        let names: Vec<&str> = done.jobs.iter().map(|job| job.agent.as_str()).collect();
        text.push_str(&format!(
            "The work of {} is queued; the next run starts it: harness run-loop {dept}\n",
            names.join(", ")
        ));
    }
    if let Some(undo) = undo.filter(|_| !dry_run) {
        text.push_str(&format!("To undo: {undo}\n"));
    }
    let queued: Vec<_> = done.jobs.iter().map(|job| json!({"agent": job.agent, "task": job.task})).collect();
    let data = json!({
        "dept": dept, "target": done.target, "what": done.what, "id": done.created.first(), "created": done.created,
        "files": files, "queued": queued, "dry_run": dry_run,
    });
    Answer::new(schema, data, text)
}

/// The department and the whole id of a task that an id or the end of one names.
pub fn find_task(app: &App<'_>, wanted: &str) -> Result<(String, String)> {
    let org = app.org()?;
    let mut found: Vec<(String, String)> = Vec::new();
    for dept in org.departments()?.departments {
        let Some(department) = org.department(&dept)? else { continue };
        for id in task_ids(&department)?.into_iter().filter(|id| !wanted.is_empty() && id.ends_with(wanted)) {
            found.push((dept.to_string(), id));
        }
    }
    match match_id(wanted, found.iter().map(|(_, id)| id.as_str())) {
        Match::One(id) => {
            let dept = found.iter().find(|(_, known)| *known == id).map(|(dept, _)| dept.clone());
            Ok((dept.unwrap_or_default(), id))
        }
        Match::Many(ids) => Err(CommandError::failed(format!("`{wanted}` fits several tasks"))
            .code("ambiguous_id")
            .hint(format!("give more of the id: {}", ids.join(", ")))),
        Match::None => Err(CommandError::failed(format!("there is no task `{}`", one_line(wanted, 60)))
            .code("no_task")
            .hint("`harness task list` shows the board; `--all` also what is done")),
    }
}

/// The task, as what is at hand, that an id or the end of one names among what can be done; none where it names none.
pub fn find_item(app: &App<'_>, org: &Org, department: &Department, wanted: &str) -> Result<Option<Message>> {
    let board = super::task_show::load(app, org, department)?.board;
    let eligible = board.eligible(app.ctx.now());
    let Match::One(id) = match_id(wanted, eligible.iter().map(|item| item.id.as_str())) else {
        return Ok(None);
    };
    let item = eligible.iter().find(|item| item.id == id);
    Ok(item.and_then(|item| Some(Message::of_task(board.find_task(&item.id)?, item.kind))))
}

fn task_ids(department: &Department) -> Result<Vec<String>> {
    let mut ids = department.archived_ids()?;
    if let Some(dir) = department.dir.find("tasks")? {
        ids.extend(
            dir.list()?.into_iter().filter_map(|entry| entry.name.strip_suffix(".md").map(str::to_string)),
        );
    }
    Ok(ids)
}
