//! Every gate between a department and its next run, in order, each with its verdict and its evidence.

use serde::Serialize;

/// What a gate says. Absence is never success: one that was not looked at says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    Passed,
    Failed,
    NotRun,
}

impl State {
    pub fn words(self) -> &'static str {
        match self {
            State::Passed => "passed",
            State::Failed => "failed",
            State::NotRun => "not run",
        }
    }
}

/// One gate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GateLine {
    pub gate: &'static str,
    pub verdict: State,
    pub evidence: String,
    /// What a receipt calls it where it holds a run up.
    #[serde(skip)]
    pub code: &'static str,
}

impl GateLine {
    pub fn passed(gate: &'static str, evidence: impl Into<String>) -> GateLine {
        GateLine { gate, verdict: State::Passed, evidence: evidence.into(), code: "" }
    }

    pub fn failed(gate: &'static str, code: &'static str, evidence: impl Into<String>) -> GateLine {
        GateLine { gate, verdict: State::Failed, evidence: evidence.into(), code }
    }

    pub fn not_run(gate: &'static str, evidence: impl Into<String>) -> GateLine {
        GateLine { gate, verdict: State::NotRun, evidence: evidence.into(), code: "" }
    }
}

/// The gates, in the order in which they are asked.
pub const GATES: [&str; 8] =
    ["config", "due", "active hours", "lock", "safety gate", "budget", "quota", "wake check"];
