//! The part of a trail that is on boards: tasks, what became of them, and the jobs and agents that worked on them.

use super::{Trail, TrailRun};
use crate::domain::id::{IdKind, derived_id, made_at};
use crate::domain::ledger::{Line, RunLine};
use crate::domain::task::Task;
use crate::domain::text::one_line;
use crate::domain::time::{Time, render_rfc3339};
use crate::store::fault::Result;
use crate::store::org::Department;
use std::collections::BTreeSet;

/// What an action does to a task without a comment that would tell of it.
const UNTOLD: [&str; 5] = ["assign_task", "update_task", "depend_task", "merge_task", "split_task"];

/// The tasks of a department that belong, and its jobs that have not ended.
pub(super) fn gather(
    department: &Department,
    of_project: &dyn Fn(Option<&str>) -> bool,
    trail: &mut Trail,
) -> Result<()> {
    let dept = department.dept.to_string();
    let tasks = department.every_task()?.into_iter();
    let own = tasks.filter(|task| of_project(task.project.as_deref()));
    trail.tasks.extend(own.map(|task| (dept.clone(), task)));
    let jobs = department.jobs()?.into_iter().filter(|files| files.ended.is_none());
    let own = jobs.filter(|files| of_project(files.job.project.as_deref()));
    trail.jobs.extend(own.map(|files| (dept.clone(), files)));
    Ok(())
}

/// The runs of jobs that worked on these tasks, or for the project itself.
pub(super) fn runs_of_jobs(
    department: &Department,
    lines: &[Line],
    tasks: &[(String, Task)],
    of_project: &dyn Fn(Option<&str>) -> bool,
) -> Vec<TrailRun> {
    let ids: BTreeSet<&str> = tasks.iter().map(|(_, task)| task.id.as_str()).collect();
    // Older ledgers don't say what a job was for, but its result on the board carries its id.
    let told: BTreeSet<String> = tasks.iter().flat_map(|(_, task)| runs_told(task)).collect();
    let belongs = |line: &&RunLine| {
        let on_task = line.task.as_deref().is_some_and(|task| ids.contains(task));
        on_task || of_project(line.project.as_deref()) || told.contains(&line.run)
    };
    let jobs = lines.iter().filter_map(|line| match line {
        Line::Run(run) if run.kind == "dispatch" => Some(run),
        _ => None,
    });
    let run = |line: &RunLine| TrailRun {
        run: line.run.clone(),
        dept: department.dept.to_string(),
        kind: line.kind.clone(),
        agent: line.agent.clone(),
        task: line.task.clone(),
        at: line.started.clone(),
        outcome: line.outcome.clone(),
        steps: line.steps,
        cost_usd: line.cost_usd,
        counted_usd: line.counted_usd,
    };
    jobs.filter(belongs).map(run).collect()
}

fn runs_told(task: &Task) -> Vec<String> {
    let jobs = task.comments().into_iter().filter(|comment| comment.source.starts_with("j-"));
    // A job's id says when it was made, and its run's id follows from both.
    let run = |id: &str| Some(derived_id(IdKind::Run, made_at(id)?, id));
    jobs.filter_map(|comment| run(&comment.source)).collect()
}

/// What directors did to these tasks, from the ledger.
pub(super) fn changes(lines: &[Line], tasks: &[(String, Task)]) -> Vec<(String, String)> {
    let ids: BTreeSet<&str> = tasks.iter().map(|(_, task)| task.id.as_str()).collect();
    let steps = lines.iter().filter_map(|line| match line {
        Line::Step(step) => Some(step),
        Line::Run(_) => None,
    });
    let mut changes = Vec::new();
    for step in steps.filter(|step| step.outcome == "ok") {
        for action in step.actions.iter().filter(|action| UNTOLD.contains(&action.name.as_str())) {
            if action.target.split(' ').next().is_some_and(|id| ids.contains(id)) {
                changes.push((step.at.clone(), format!("{} {}", action.name, one_line(&action.target, 80))));
            }
        }
    }
    changes
}

/// What happened to the tasks, as their files tell it, and what is still queued.
pub(super) fn events(trail: &Trail) -> Vec<(String, String)> {
    let mut events = Vec::new();
    let mut tell = |at: Time, what: String| events.push((render_rfc3339(at), what));
    for (dept, task) in &trail.tasks {
        let (id, title) = (&task.id, one_line(&task.title, 80));
        tell(task.created, format!("{id} made in {dept} by {}: {title}", task.created_by));
        for comment in task.comments() {
            let text = one_line(&comment.text, 80);
            tell(comment.at, format!("{id} {} by {}: {text}", comment.section.name(), comment.by));
        }
        let end = task.merged_into.as_ref().map_or("done".to_string(), |into| format!("merged into {into}"));
        if let Some(closed) = task.closed.filter(|_| !task.is_open()) {
            tell(closed, format!("{id} {end}: {title}"));
        }
    }
    for (dept, files) in &trail.jobs {
        let state = if files.started.is_some() { "started" } else { "queued" };
        let job = &files.job;
        let whose = job.agent.as_deref().unwrap_or(&job.pipeline);
        let at = files.started.as_ref().map_or(&job.created, |started| &started.at);
        events.push((at.clone(), format!("{} of {dept} {state} for {whose}", job.id)));
    }
    events
}
