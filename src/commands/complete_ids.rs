//! The names that completions offer: departments, kinds, engines, and ids of what a command is about.

use super::app::{App, Result};
use crate::domain::request::{RequestKind, RequestStatus};
use crate::domain::text::one_line;
use crate::store::org::Department;

/// What is to be completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    Departments,
    Kinds,
    Engines,
    Requests(RequestKind),
    Messages,
    Runs,
    Nothing,
}

/// Runs of each department that are offered.
const RUNS: usize = 10;

impl Wanted {
    /// What an id is of, by the command it is given to.
    pub fn of_command(command: &str, value: &str) -> Wanted {
        match (command, value) {
            (_, "RUN") | ("runs" | "undo" | "replay", _) => Wanted::Runs,
            ("approvals", _) => Wanted::Requests(RequestKind::Approval),
            ("questions", _) => Wanted::Requests(RequestKind::Question),
            ("escalations", _) => Wanted::Requests(RequestKind::Escalation),
            ("message" | "send" | "run-director" | "prompt", _) => Wanted::Messages,
            _ => Wanted::Nothing,
        }
    }
}

/// Every name that fits, each with what it is.
pub fn known(app: &App<'_>, wanted: Wanted) -> Result<Vec<(String, String)>> {
    let org = app.org()?;
    let mut found = Vec::new();
    if wanted == Wanted::Engines {
        let settings = org.settings()?;
        found.extend(settings.engines.keys().map(|name| (name.clone(), "an engine of org.toml".to_string())));
        found.push(("rules".to_string(), "the embedded engine".to_string()));
        return Ok(found);
    }
    for dept in org.departments()?.departments {
        let Some(department) = org.department(&dept)? else { continue };
        // A department that can't be read hides no other.
        found.extend(of_department(app, &department, wanted).unwrap_or_default());
    }
    Ok(found)
}

fn of_department(app: &App<'_>, department: &Department, wanted: Wanted) -> Result<Vec<(String, String)>> {
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
        Wanted::Engines | Wanted::Nothing => Vec::new(),
    })
}
