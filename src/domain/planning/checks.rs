//! Work that is handed out, and work that is checked.

use super::Planning;
use crate::domain::action::{Act, Action};
use crate::domain::id::IdKind;
use crate::domain::message::{Draft, Provenance, render_message};
use crate::domain::plan::Effect;
use crate::domain::time::render_rfc3339;
use serde_json::json;

impl Planning<'_> {
    pub(super) fn dispatch(&mut self, index: usize, action: &Action) -> (String, String) {
        let Act::Dispatch { pipeline, args, task, project } = &action.act else {
            return Default::default();
        };
        let id = self.id(IdKind::Job, index);
        let project = project.clone().or_else(|| self.project_of_job(task.as_deref(), args.get("project")));
        let mut job = json!({
            "schema": 1, "id": id, "pipeline": pipeline, "args": args, "task": task, "project": project,
            "run": self.facts.run, "created": render_rfc3339(self.facts.now),
            "provenance": self.facts.provenance.name(),
        });
        if let Some(directive) = self.facts.at_hand.and_then(|led| led.directive.as_ref()) {
            job["directive"] = json!(directive);
        }
        let path = format!(".harness/jobs/{id}.json");
        self.push(index, Effect::Create { path, text: format!("{job:#}\n") });
        (format!("{pipeline} {id}"), format!("job {id} is queued"))
    }

    /// The project whose money a job takes that names none: its task's, else that of the message that led to it. One
    /// among its arguments is what the program is told, and nobody else's.
    fn project_of_job(&self, task: Option<&str>, told: Option<&String>) -> Option<String> {
        let of_task = self.work.as_ref().zip(task).and_then(|(work, id)| work.project_of(id));
        let led = || self.facts.at_hand.and_then(|led| led.project.clone()).filter(|_| told.is_none());
        of_task.or_else(led)
    }

    pub(super) fn validate(
        &mut self,
        index: usize,
        id: &str,
        verdict: &str,
        evidence: &str,
    ) -> (String, String) {
        self.tell(format!("validated {id} as {verdict}"), evidence);
        if verdict != "pass" {
            let notice = self.id(IdKind::Message, index);
            let draft = Draft {
                id: notice.clone(),
                from: "harness".to_string(),
                to: vec![self.facts.dept.clone()],
                kind: "System".to_string(),
                subject: format!("Validation of {id}: {verdict}"),
                body: evidence.to_string(),
                amount_usd: None,
                project: None,
                directive: None,
                reference: Some(id.to_string()),
                thread: None,
                hops: 0,
                provenance: self.facts.provenance.max(Provenance::Department),
                vouched: None,
                created: self.moment(index),
            };
            let (dept, text) = (self.facts.dept.to_string(), render_message(&draft));
            self.push(index, Effect::Deliver { dept, id: notice, text });
        }
        (format!("{id} {verdict}"), format!("{id}: {verdict}"))
    }
}
