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

/// Which gate a receipt's code tells of.
fn gate_of(code: &str) -> Option<&'static str> {
    Some(match code {
        "off" | "paused" | "blocked" | "not_accepted" | "unreadable" | "charter_unusable" | "not_settled" => {
            "config"
        }
        "not_due" | "limit" | "no_slot" => "due",
        "outside_hours" => "active hours",
        "busy" => "lock",
        "gate_closed" => "safety gate",
        "budget" => "budget",
        "quota" | "no_engine" => "quota",
        "nothing_new" | "nothing_open" | "waits_to_retry" | "gave_up" => "wake check",
        _ => return None,
    })
}

/// What a receipt says of each gate. The wake check is asked first where it says no, so that the others were not asked;
/// any other gate stands behind those before it.
pub fn from_receipt(receipt: &super::wake::Receipt) -> Vec<GateLine> {
    let of = format!("by the receipt of {}", receipt.at);
    let failed = gate_of(&receipt.code);
    let place = failed.and_then(|failed| GATES.iter().position(|gate| *gate == failed));
    GATES
        .iter()
        .enumerate()
        .map(|(index, gate)| match place {
            Some(at) if at == index => GateLine::failed(gate, "", format!("{} ({of})", receipt.why)),
            Some(at) if index < at && failed != Some("wake check") => GateLine::passed(gate, of.clone()),
            Some(_) => GateLine::not_run(gate, format!("not asked ({of})")),
            None if receipt.code == "ran" => GateLine::passed(gate, of.clone()),
            None => GateLine::not_run(gate, format!("{}: {} ({of})", receipt.code, receipt.why)),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::wake::Receipt;

    fn states(code: &str) -> Vec<State> {
        let at = "2026-11-18T00:00:00Z".into();
        let receipt = Receipt { at, code: code.into(), why: "so".into(), from: None };
        from_receipt(&receipt).iter().map(|line| line.verdict).collect()
    }

    #[test]
    fn a_receipt_tells_of_every_gate() {
        use State::{Failed, NotRun, Passed};
        assert_eq!(states("ran"), [Passed; 8]);
        assert_eq!(states("outside_hours"), [Passed, Passed, Failed, NotRun, NotRun, NotRun, NotRun, NotRun]);
        assert_eq!(states("nothing_new"), [NotRun, NotRun, NotRun, NotRun, NotRun, NotRun, NotRun, Failed]);
        assert_eq!(states("broke"), [NotRun; 8]);
    }
}
