//! Showing the trail of a directive or a project, for people and for scripts.

use super::app::App;
use crate::domain::allowance::{Allowance, render_usd};
use crate::domain::task::Task;
use crate::domain::text::{one_line, visible};
use crate::domain::time::{parse_rfc3339, render_local, render_rfc3339};
use crate::run::trail::Trail;
use crate::ui::bold;
use crate::ui::table::render_table;
use serde_json::{Value, json};

/// Adds the trail to a document.
pub fn trail_json(data: &mut Value, trail: &Trail) {
    let cost = &trail.cost;
    data["cost_usd"] = json!(cost.known.then_some(cost.usd));
    data["counted_usd"] = json!(cost.usd);
    data["spent_usd"] = json!(cost.usd);
    data["reserved_usd"] = json!(cost.reserved_usd);
    data["tokens"] = json!(cost.tokens);
    data["run_count"] = json!(cost.runs);
    let messages = trail.messages.iter().map(|message| {
        json!({
            "id": message.id, "from": message.from, "to": message.to, "kind": message.kind,
            "subject": message.subject, "status": message.status.name(), "project": message.project,
            "directive": message.directive, "created": render_rfc3339(message.created),
        })
    });
    data["messages"] = messages.collect();
    let projects = trail.projects.iter().map(|(project, spent)| {
        json!({
            "id": project.id, "title": project.title, "status": project.status.name(),
            "budget_usd": project.allowance.usd, "spent_usd": spent,
        })
    });
    data["projects"] = projects.collect();
    let tasks = trail.tasks.iter().map(|(dept, task)| {
        json!({
            "id": task.id, "dept": dept, "title": task.title, "status": task.status.name(),
            "priority": task.priority.name(), "owner": task.owner, "project": task.project,
            "depends_on": task.depends_on, "merged_into": task.merged_into, "verdict": task.verdict,
            "created": render_rfc3339(task.created), "closed": task.closed.map(render_rfc3339),
        })
    });
    data["tasks"] = tasks.collect();
    let jobs = trail.jobs.iter().map(|(dept, files)| {
        let job = &files.job;
        json!({
            "id": job.id, "dept": dept, "task": job.task, "agent": job.agent, "project": job.project,
            "what": job.what(), "created": job.created, "started": files.started.as_ref().map(|one| &one.at),
        })
    });
    data["jobs"] = jobs.collect();
    let runs = trail.runs.iter().map(|run| {
        json!({
            "run": run.run, "dept": run.dept, "kind": run.kind, "agent": run.agent, "task": run.task, "at": run.at, "outcome": run.outcome, "steps": run.steps,
            "cost_usd": run.cost_usd, "counted_usd": run.counted_usd,
        })
    });
    data["runs"] = runs.collect();
    let summaries = trail.summaries.iter();
    data["summaries"] =
        summaries.map(|one| json!({"dept": one.dept, "at": one.at, "text": one.text})).collect();
    data["timeline"] = trail.timeline.iter().map(|(at, what)| json!({"at": at, "what": what})).collect();
}

/// The trail as a person reads it.
pub fn render_trail(app: &App<'_>, trail: &Trail, allowance: &Allowance) -> String {
    let cost = &trail.cost;
    let of = allowance.usd.map(|usd| format!(" of {}", render_usd(usd))).unwrap_or_default();
    let unknown = if cost.known { "" } else { ", some of it unknown and counted at its worst" };
    let reserved = match cost.reserved_usd > 0.0 {
        true => format!(", {:.2} reserved", cost.reserved_usd),
        false => String::new(),
    };
    let mut text = format!(
        "\n{} {:.2}{of} USD spent{reserved}, {} tokens, {} runs{unknown}\n",
        bold("Cost:"),
        cost.usd,
        cost.tokens,
        cost.runs
    );
    if let Some(last) = trail.summaries.last() {
        text.push_str(&format!(
            "\n{} ({}, {})\n{}\n",
            bold("Summary"),
            last.dept,
            last.at,
            visible(&last.text)
        ));
    }
    let width = app.ui.width();
    if !trail.projects.is_empty() {
        let rows: Vec<Vec<String>> = trail
            .projects
            .iter()
            .map(|(one, spent)| {
                let budget = one.allowance.usd.map(render_usd).unwrap_or_else(|| "-".to_string());
                vec![
                    one.id.clone(),
                    one.status.to_string(),
                    format!("{spent:.2} of {budget}"),
                    one.title.clone(),
                ]
            })
            .collect();
        text.push('\n');
        text.push_str(&render_table(&["PROJECT", "STATUS", "USD SPENT", "TITLE"], &rows, width));
    }
    if !trail.tasks.is_empty() {
        let row = |(dept, task): &(String, Task)| {
            let owner = task.owner.clone().unwrap_or_else(|| "-".to_string());
            vec![task.id.clone(), dept.clone(), task.status.to_string(), owner, task.title.clone()]
        };
        let rows: Vec<Vec<String>> = trail.tasks.iter().map(row).collect();
        text.push('\n');
        text.push_str(&render_table(&["TASK", "DEPARTMENT", "STATUS", "OWNER", "TITLE"], &rows, width));
    }
    if !trail.timeline.is_empty() {
        let rows: Vec<Vec<String>> = trail
            .timeline
            .iter()
            .map(|(at, what)| {
                let at = parse_rfc3339(at).map(render_local).unwrap_or_else(|| at.clone());
                vec![at, one_line(what, 300)]
            })
            .collect();
        text.push('\n');
        text.push_str(&render_table(&["WHEN", "WHAT"], &rows, width.max(100)));
    }
    text
}
