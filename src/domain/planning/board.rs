//! What the board's changes come to: files, and jobs for agents.

use crate::domain::agent::Works;
use crate::domain::board::Job;
use crate::domain::id::{IdKind, derived_id};
use crate::domain::message::Provenance;
use crate::domain::plan::Effect;
use crate::domain::time::{Time, render_rfc3339};
use serde_json::json;

/// The job by which an agent's engine or pipeline gets its task; its id, and the file that queues it.
pub fn job_effect(job: &Job, seed: &str, run: &str, now: Time, provenance: Provenance) -> (String, Effect) {
    let id = derived_id(IdKind::Job, now, &format!("{seed}/{}/{}", job.task, job.agent));
    let (engine, pipeline) = match &job.works {
        Works::Engine(name) => (Some(name.as_str()), ""),
        Works::Pipeline(name) => (None, name.as_str()),
        Works::ByItself => (None, ""),
    };
    let mut file = json!({
        "schema": 1, "id": id, "pipeline": pipeline, "agent": job.agent, "args": {}, "task": job.task,
        "project": job.project, "run": run, "created": render_rfc3339(now), "provenance": provenance.name(),
    });
    if let Some(engine) = engine {
        file["engine"] = json!(engine);
    }
    let path = format!(".harness/jobs/{id}.json");
    (id, Effect::Create { path, text: format!("{file:#}\n") })
}
