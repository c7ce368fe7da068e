//! The names that completions offer: departments, kinds, engines, and ids of what a command is about.

use super::app::{App, Result};
use super::task_show::load;
use crate::domain::config::KEYS;
use crate::domain::request::{RequestKind, RequestStatus};
use crate::domain::text::one_line;
use crate::store::org::{Department, Org};

/// What is to be completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    Departments,
    Kinds,
    Engines,
    Pipelines,
    Requests(RequestKind),
    Messages,
    Runs,
    Tasks,
    Directives,
    Projects,
    Agents,
    Schedules,
    /// The keys of a department's config.
    Keys,
    Nothing,
}

/// Runs of each department that are offered.
const RUNS: usize = 10;

impl Wanted {
    /// What a value is of: by the option it is given to, else by the command and the value's own name.
    pub fn find(command: &[String], option: Option<&str>, value: &str) -> Wanted {
        let first = command.first().map_or("", String::as_str);
        let second = command.get(1).map_or("", String::as_str);
        match (option, first, value) {
            (Some("to" | "dept"), _, _) | (_, _, "DEPT" | "DEPARTMENTS" | "DEPTS") => Wanted::Departments,
            (_, _, "KIND") => Wanted::Kinds,
            (Some("engine"), _, _) => Wanted::Engines,
            (Some("pipeline"), _, _) => Wanted::Pipelines,
            (Some("directive"), _, _) => Wanted::Directives,
            (Some("project"), _, _) => Wanted::Projects,
            (Some("owner" | "as"), "task", _) => Wanted::Agents,
            (_, _, "RUN") | (None, "runs" | "undo" | "replay", "ID") => Wanted::Runs,
            (_, "approvals", "ID") => Wanted::Requests(RequestKind::Approval),
            (_, "questions", "ID") => Wanted::Requests(RequestKind::Question),
            (_, "escalations", "ID") => Wanted::Requests(RequestKind::Escalation),
            (_, "message" | "send" | "run-director" | "prompt", "ID") => Wanted::Messages,
            (_, "task", "ID") => Wanted::Tasks,
            (None, "directive", "ID") => Wanted::Directives,
            (None, "project", "ID") => Wanted::Projects,
            (None, "task", "NAME") => Wanted::Agents,
            // A new one has a name of its own.
            (None, "agent", "NAME") if second != "add" => Wanted::Agents,
            (None, "schedule", "NAME") if second != "add" => Wanted::Schedules,
            (None, "config", "KEY") => Wanted::Keys,
            _ => Wanted::Nothing,
        }
    }
}

/// Every name that fits, each with what it is. Names that count within a department alone are those of `dept`, where
/// the line has one.
pub fn known(app: &App<'_>, wanted: Wanted, dept: Option<&str>) -> Result<Vec<(String, String)>> {
    let named = |names: Vec<&String>, what: &str| -> Vec<(String, String)> {
        names.into_iter().map(|name| (name.clone(), what.to_string())).collect()
    };
    if wanted == Wanted::Keys {
        return Ok(KEYS.iter().map(|(key, takes)| ((*key).to_string(), (*takes).to_string())).collect());
    }
    let org = app.org()?;
    let mut found = Vec::new();
    match wanted {
        Wanted::Engines => {
            found = named(org.settings()?.engines.keys().collect(), "an engine of org.toml");
            found.push(("rules".to_string(), "the embedded engine".to_string()));
            return Ok(found);
        }
        Wanted::Pipelines => {
            return Ok(named(org.settings()?.pipelines.keys().collect(), "a pipeline of org.toml"));
        }
        Wanted::Directives => {
            let all = org.portfolio()?.directives;
            return Ok(all.into_iter().map(|one| (one.id, one_line(&one.title, 60))).collect());
        }
        Wanted::Projects => {
            let all = org.portfolio()?.all_projects();
            return Ok(all.into_iter().map(|one| (one.id, one_line(&one.title, 60))).collect());
        }
        _ => {}
    }
    let within = matches!(wanted, Wanted::Agents | Wanted::Schedules);
    for name in org.departments()?.departments {
        if within && dept.is_some_and(|dept| dept != name.as_str()) {
            continue;
        }
        let Some(department) = org.department(&name)? else { continue };
        // A department that can't be read hides no other.
        found.extend(of_department(app, &org, &department, wanted).unwrap_or_default());
    }
    Ok(found)
}

fn of_department(
    app: &App<'_>,
    org: &Org,
    department: &Department,
    wanted: Wanted,
) -> Result<Vec<(String, String)>> {
    let dept = department.dept.to_string();
    Ok(match wanted {
        Wanted::Departments => vec![(dept, "a department".to_string())],
        Wanted::Kinds => {
            let receives = department.charter()?.rules.receives;
            receives.into_iter().map(|kind| (kind, "a kind of message".to_string())).collect()
        }
        Wanted::Messages => {
            let open = department.inbox()?.messages.into_iter().map(|filed| filed.message);
            open.map(|message| (message.id, format!("{dept}: {}", one_line(&message.subject, 60)))).collect()
        }
        Wanted::Requests(kind) => {
            let requests = department.requests(kind, &app.key()?)?.requests.into_iter();
            let pending = requests.filter(|request| request.status == RequestStatus::Pending);
            pending
                .map(|request| {
                    let what = format!("{dept}: {}", one_line(request.reasoning(), 60));
                    (request.id, what)
                })
                .collect()
        }
        Wanted::Runs => {
            let runs = department.last_runs(RUNS)?.into_iter();
            runs.map(|run| (run.run, format!("{dept}: {}", run.outcome))).collect()
        }
        Wanted::Tasks => {
            let (tasks, _) = department.open_tasks()?;
            tasks.into_iter().map(|one| (one.id, format!("{dept}: {}", one_line(&one.title, 60)))).collect()
        }
        Wanted::Agents => {
            let loaded = load(app, org, department)?;
            let active = loaded.board.agents().filter(|agent| agent.is_active());
            active.map(|agent| (agent.name.clone(), format!("{dept}: {}", agent.role))).collect()
        }
        Wanted::Schedules => {
            let all = department.schedules()?.schedules.into_iter();
            all.map(|(name, _)| (name, format!("{dept}: a schedule"))).collect()
        }
        Wanted::Engines
        | Wanted::Pipelines
        | Wanted::Directives
        | Wanted::Projects
        | Wanted::Keys
        | Wanted::Nothing => Vec::new(),
    })
}
