//! The safety gate: whether any engine may be asked and any plan applied.
//!
//! It fails closed. Missing, unreadable, malformed or dated in the future counts as tripped; there is no state in
//! between.

use super::time::{Time, is_future, parse_rfc3339, render_rfc3339};
use serde::{Deserialize, Serialize};

/// The three states of the gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GateState {
    /// Runs are allowed.
    Enabled,
    /// Closed by a human.
    Disabled,
    /// Closed by the tool.
    Tripped,
}

/// The gate with who set it, when and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gate {
    pub schema: u64,
    pub state: GateState,
    pub reason: String,
    pub by: String,
    pub at: String,
}

impl Gate {
    pub fn new(state: GateState, reason: &str, by: &str, at: Time) -> Gate {
        Gate { schema: 1, state, reason: reason.to_string(), by: by.to_string(), at: render_rfc3339(at) }
    }

    pub fn is_open(&self) -> bool {
        self.state == GateState::Enabled
    }

    /// `enabled (open)`, `tripped (closed)`.
    pub fn words(&self) -> &'static str {
        match self.state {
            GateState::Enabled => "enabled (open)",
            GateState::Disabled => "disabled (closed)",
            GateState::Tripped => "tripped (closed)",
        }
    }
}

/// The places that read the gate. A test takes each away and must notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// Before a run does anything.
    Run,
    /// Before each further iteration of a loop.
    Iteration,
    /// Before an engine is asked.
    Engine,
    /// Before a plan is carried out.
    Plan,
    /// Before a dead run's plan is carried out.
    RecoveredPlan,
    /// Before a dead run's answer is made into a plan.
    RecoveredAnswer,
    /// Before what a human decided is carried out and told.
    Request,
    /// Before a dispatched job starts.
    Job,
    /// Before a job's result is delivered.
    JobResult,
    /// Before a schedule that is due becomes a message.
    Schedule,
}

/// The schema of a gate that another program wrote, where it is not the one known here.
pub fn newer_gate(text: &str) -> Option<u64> {
    let value: serde_json::Value = serde_json::from_str(text).ok()?;
    value["schema"].as_u64().filter(|schema| *schema != 1)
}

/// A gate that nobody set and that is closed all the same.
pub fn tripped(reason: String) -> Gate {
    Gate { schema: 1, state: GateState::Tripped, reason, by: "harness".to_string(), at: String::new() }
}

/// Reads `gate.json`; whatever is wrong with it, the gate is tripped and says why.
pub fn parse_gate(text: Option<&str>, now: Time) -> Gate {
    let Some(text) = text else { return tripped("gate.json is missing".to_string()) };
    // The schema is looked at first: a newer file may well have keys that are unknown here.
    if let Some(schema) = newer_gate(text) {
        return tripped(format!("gate.json has schema {schema}, and this program knows 1"));
    }
    match serde_json::from_str::<Gate>(text) {
        Ok(gate) if !gate.is_open() => gate,
        Ok(gate) => match parse_rfc3339(&gate.at) {
            None => tripped(format!("gate.json says no time at which it was opened, but `{}`", gate.at)),
            Some(at) if is_future(at, now) => tripped(format!(
                "gate.json is dated in the future, {}, and it is {}",
                gate.at,
                render_rfc3339(now)
            )),
            Some(_) => gate,
        },
        Err(error) => tripped(format!("gate.json is malformed: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_file_opens_it() {
        let check = |text: Option<&str>, open: bool| {
            let now = parse_rfc3339("2026-11-18T00:42:01Z").unwrap();
            assert_eq!(parse_gate(text, now).is_open(), open, "{text:?}");
        };
        let good = r#"{"schema":1,"state":"enabled","reason":"r","by":"user","at":"2026-11-18T00:00:00Z"}"#;
        check(Some(good), true);
        check(None, false);
        check(Some(""), false);
        check(Some(&good[..40]), false);
        check(Some(&good.replace("enabled", "disabled")), false);
        check(Some(&good.replace("enabled", "ENABLED")), false);
        check(Some(&good.replace("\"schema\":1", "\"schema\":2")), false);
        check(Some(&good.replace("T00:00:00", "T01:42:01")), true);
        check(Some(&good.replace("T00:00:00", "T01:42:02")), false);
        check(Some(&good.replace("2026-11-18", "2036-11-18")), false);
        check(Some(&good.replace("2026-11-18T00:00:00Z", "yesterday")), false);
        check(Some("null"), false);
        check(Some("[]"), false);
        check(Some(r#"{"state":"enabled"}"#), false);
    }
}
