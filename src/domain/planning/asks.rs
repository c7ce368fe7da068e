//! What waits for a human: questions, escalations, approvals.

use super::{Mark, Planning};
use crate::domain::action::{Act, Action, RUBRIC};
use crate::domain::digest::sha256;
use crate::domain::front_matter::{FrontMatter, Value};
use crate::domain::id::IdKind;
use crate::domain::message::Status;
use crate::domain::plan::Effect;
use crate::domain::time::render_rfc3339;
use crate::domain::verdict::{Ruling, Verdict};

impl Planning<'_> {
    pub(super) fn ask_human(&mut self, index: usize, action: &Action) -> (String, String) {
        let Act::AskHuman { question, options, unblocks, due } = &action.act else {
            return Default::default();
        };
        let id = self.id(IdKind::Question, index);
        let mut front = self.head(&id);
        front.set("options", Value::List(options.clone()));
        front.set("unblocks", Value::List(unblocks.clone()));
        if let Some(due) = due {
            front.set_text("due", due);
        }
        front.set_text("reason", &action.reason);
        let text = front.render(&format!("{}\n", question.trim_end()));
        self.push(index, Effect::Create { path: format!("questions/{id}.md"), text });
        for blocked in unblocks {
            self.hold(index, blocked, &id, "waits for an answer of the human");
        }
        self.tell(format!("asked the human {id}"), question);
        (id.clone(), format!("{id} waits for an answer"))
    }

    /// The keys that questions, escalations and approvals have in common.
    pub(super) fn head(&self, id: &str) -> FrontMatter {
        let mut front = FrontMatter::default();
        front.set_number("schema", 1);
        front.set_text("id", id);
        front.set_text("from", self.facts.dept.as_str());
        front.set_text("run", self.facts.run);
        front.set_text("status", "pending");
        front.set_text("created", render_rfc3339(self.facts.now));
        front.set_text("provenance", self.facts.provenance.name());
        front
    }

    pub(super) fn hold(&mut self, index: usize, id: &str, waits_for: &str, why: &str) {
        if self.facts.at_hand.is_some_and(|message| message.id == id) {
            self.waits = Some(waits_for.to_string());
        } else if self.is_task(id) {
            self.hold_task(index, id, waits_for);
        } else {
            self.marks.push(Mark {
                action: Some(index),
                id: id.to_string(),
                status: Status::Acknowledged,
                why: why.to_string(),
                waits_for: Some(waits_for.to_string()),
            });
        }
    }

    pub(super) fn escalate(
        &mut self,
        index: usize,
        id: &str,
        to: Option<&str>,
        reason: &str,
    ) -> (String, String) {
        let escalation = self.id(IdKind::Escalation, index);
        let mut front = self.head(&escalation);
        front.set_text("about", id);
        if let Some(to) = to {
            front.set_text("to", to);
        }
        let text = front.render(&format!("{}\n", reason.trim_end()));
        self.push(index, Effect::Create { path: format!("escalations/{escalation}.md"), text });
        self.hold(index, id, &escalation, "escalated to the human");
        self.tell(format!("escalated {id} as {escalation}"), reason);
        (id.to_string(), format!("{escalation} waits for the human"))
    }

    pub(super) fn request(&mut self, index: usize, inner: &Action, outer: &Action) -> (String, String) {
        let ruling = Ruling {
            verdict: Verdict::NeedsApproval,
            code: "requested",
            rule: "request_approval".to_string(),
            message: outer.reason.clone(),
            hint: None,
        };
        let rubric = outer.json.get("rubric").and_then(serde_json::Value::as_object);
        self.ask_approval(index, inner, &ruling, rubric.map(render_rubric))
    }

    /// Writes the exact action down; nothing of it is carried out until a human has approved it.
    pub(super) fn ask_approval(
        &mut self,
        index: usize,
        action: &Action,
        ruling: &Ruling,
        rubric: Option<String>,
    ) -> (String, String) {
        let id = self.id(IdKind::Approval, index);
        let json = serde_json::Value::Object(action.json.clone());
        let exact = format!("{json:#}");
        let mut front = self.head(&id);
        front.set_text("role", self.facts.role.name());
        front.set_text("action", action.act.name());
        front.set_text("code", ruling.code);
        front.set_text("rule", &ruling.rule);
        front.set_text("action_sha256", sha256(exact.as_bytes()));
        if let Some(confidence) = action.confidence {
            front.set_number("confidence", confidence);
        }
        if let Some(rubric) = rubric {
            front.set_text("rubric", rubric);
        }
        let expires =
            self.facts.now + chrono::TimeDelta::hours(i64::try_from(self.facts.expires_hours).unwrap_or(72));
        front.set_text("expires", render_rfc3339(expires));
        if let Some(message) = self.facts.at_hand {
            front.set_text("about", &message.id);
        }
        front.set_text("why", &ruling.message);
        let text = front.render(&format!("{}\n\n```json\n{exact}\n```\n", action.reason.trim_end()));
        self.push(index, Effect::Create { path: format!("approvals/{id}.md"), text });
        self.waits.get_or_insert_with(|| id.clone());
        self.tell(format!("asked approval {id} of {}", action.act.name()), &ruling.message);
        (id.clone(), format!("waits for approval as {id}"))
    }
}

/// `clarity 20, constraints 10, ...`: the points that make up the confidence.
fn render_rubric(points: &serde_json::Map<String, serde_json::Value>) -> String {
    let points = RUBRIC.iter().filter_map(|point| Some(format!("{point} {}", points.get(*point)?)));
    points.collect::<Vec<_>>().join(", ")
}
