//! What a dry run shows: each step that was asked, and the verdict on each action, put together from its events.
//!
//! It listens in between, so that whoever listened before still hears everything.

use super::event::{Event, Sink};
use super::ledger::{ActionLine, Refusal};
use super::text::{one_line, visible};
use serde_json::{Value, json};

/// One answer and what the rules say to it.
#[derive(Clone, Debug, Default)]
struct ShownStep {
    role: String,
    mode: String,
    engine: String,
    item: Option<String>,
    decision: Option<(String, Option<String>)>,
    actions: Vec<ActionLine>,
    refusals: Vec<Refusal>,
}

/// A listener that keeps what was decided and judged.
pub struct Showing<'a> {
    inner: &'a mut dyn Sink,
    steps: Vec<ShownStep>,
}

impl<'a> Showing<'a> {
    pub fn new(inner: &'a mut dyn Sink) -> Showing<'a> {
        Showing { inner, steps: Vec::new() }
    }

    /// Every answer in its order, for scripts.
    pub fn to_json(&self) -> Value {
        self.steps.iter().map(ShownStep::to_json).collect()
    }

    /// The same for people.
    pub fn render(&self) -> String {
        self.steps.iter().map(ShownStep::render).collect()
    }

    /// The answer at hand; a decision that nobody was asked for stands by itself.
    fn last(&mut self) -> &mut ShownStep {
        if self.steps.is_empty() {
            self.steps.push(ShownStep::default());
        }
        let last = self.steps.len() - 1;
        &mut self.steps[last]
    }
}

impl Sink for Showing<'_> {
    fn hear(&mut self, event: &Event<'_>) {
        match event {
            Event::Step { role, mode, engine, item } => self.steps.push(ShownStep {
                role: role.to_string(),
                mode: mode.to_string(),
                engine: engine.to_string(),
                item: item.map(str::to_string),
                ..ShownStep::default()
            }),
            Event::Decision { keyword, id, by } => {
                if *by == "routing" {
                    let role = "orchestrator".to_string();
                    self.steps.push(ShownStep { role, engine: by.to_string(), ..ShownStep::default() });
                }
                self.last().decision = Some((keyword.to_string(), id.map(str::to_string)));
            }
            Event::Action(action) | Event::Judged(action) => self.last().actions.push((*action).clone()),
            Event::Refused(refusals) => self.last().refusals.extend(refusals.iter().cloned()),
            _ => {}
        }
        self.inner.hear(event);
    }
}

impl ShownStep {
    fn to_json(&self) -> Value {
        let decision = self.decision.as_ref().map(|(keyword, id)| json!({"decision": keyword, "id": id}));
        json!({
            "role": self.role,
            "mode": self.mode,
            "engine": self.engine,
            "item": self.item,
            "decision": decision,
            "verdict": if self.refusals.is_empty() { "stands" } else { "refused" },
            "actions": self.actions,
            "refusals": self.refusals,
        })
    }

    fn render(&self) -> String {
        let item = self.item.as_ref().map(|id| format!(" about {id}")).unwrap_or_default();
        let mut text = format!("  {} by {}{item}\n", self.role, self.engine);
        if let Some((keyword, id)) = &self.decision {
            let id = id.as_ref().map(|id| format!(" {id}")).unwrap_or_default();
            text.push_str(&format!("    decides {keyword}{id}\n"));
        }
        for (index, action) in self.actions.iter().enumerate() {
            let ActionLine { name, target, verdict, code, rule, .. } = action;
            let what = format!("{name} {}", one_line(target, 120));
            let number = index + 1;
            text.push_str(&format!("    {number}. {}: {verdict} ({code}, {rule})\n", what.trim_end()));
        }
        for refusal in &self.refusals {
            let message = one_line(&refusal.message, 300);
            text.push_str(&format!("    refused: {}: {message}\n", refusal.code));
        }
        visible(&text).into_owned()
    }
}
