//! What a run tells while it goes on: one vocabulary for people, for `--events` and for tests.

use super::ledger::{ActionLine, Refusal};
use serde_json::{Value, json};

/// One thing that happened.
#[derive(Clone, Debug)]
pub enum Event<'a> {
    /// A run began.
    Start {
        run: &'a str,
        dept: &'a str,
        kind: &'a str,
    },
    /// An engine is asked.
    Step {
        role: &'a str,
        mode: &'a str,
        engine: &'a str,
        item: Option<&'a str>,
    },
    /// Text of the answer, as it comes.
    Chunk(&'a str),
    /// A line of the engine's stderr, or a warning of its own.
    Stderr(&'a str),
    Decision {
        keyword: &'a str,
        id: Option<&'a str>,
        by: &'a str,
    },
    Action(&'a ActionLine),
    /// The verdict on an action of an answer that is refused: nothing comes of it, whatever the verdict.
    Judged(&'a ActionLine),
    Refused(&'a [Refusal]),
    Usage {
        input_tokens: Option<u64>,
        output_tokens: Option<u64>,
        cost_usd: Option<f64>,
    },
    /// Something a person should know: a message set aside, a plan finished after a crash.
    Notice(&'a str),
    /// The run's commit could not be made, and follows: why. Whoever shows how the run ended says it too.
    NotCommitted(&'a str),
    /// A run ended.
    Done {
        run: &'a str,
        outcome: &'a str,
        reason: &'a str,
    },
}

impl Event<'_> {
    /// The event as one JSON object.
    pub fn to_json(&self) -> Value {
        match self {
            Event::Start { run, dept, kind } => {
                json!({"event": "start", "run": run, "dept": dept, "kind": kind})
            }
            Event::Step { role, mode, engine, item } => {
                json!({"event": "step", "role": role, "mode": mode, "engine": engine, "item": item})
            }
            Event::Chunk(text) => json!({"event": "chunk", "text": text}),
            Event::Stderr(text) => json!({"event": "stderr", "text": text}),
            Event::Decision { keyword, id, by } => {
                json!({"event": "decision", "decision": keyword, "id": id, "by": by})
            }
            Event::Action(action) => {
                let mut value = serde_json::to_value(action).unwrap_or_default();
                value["event"] = json!("action");
                value
            }
            Event::Judged(action) => {
                let mut value = serde_json::to_value(action).unwrap_or_default();
                value["event"] = json!("action");
                value["answer"] = json!("refused");
                value
            }
            Event::Refused(refusals) => json!({"event": "refused", "refusals": refusals}),
            Event::Usage { input_tokens, output_tokens, cost_usd } => json!({
                "event": "usage",
                "input_tokens": input_tokens,
                "output_tokens": output_tokens,
                "cost_usd": cost_usd,
            }),
            Event::Notice(text) => json!({"event": "notice", "text": text}),
            Event::NotCommitted(why) => {
                json!({"event": "notice", "text": format!("not committed yet: {why}")})
            }
            Event::Done { run, outcome, reason } => {
                json!({"event": "done", "run": run, "outcome": outcome, "reason": reason})
            }
        }
    }
}

/// Who listens to a run.
pub trait Sink {
    fn hear(&mut self, event: &Event<'_>);
}

/// Nobody does.
#[derive(Debug)]
pub struct Silent;

impl Sink for Silent {
    fn hear(&mut self, _event: &Event<'_>) {}
}
