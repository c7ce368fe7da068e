//! What is wrong with an answer that should hold a decision, in a sentence that its author can act on.
//!
//! It finds nothing by itself: the grammar is in `decision.rs`.

use std::fmt;

use super::{DONE, ESCALATE};

/// The codes of all faults.
const CODES: [&str; 6] =
    ["no_decision", "done_in_prose", "missing_id", "bad_id", "missing_reason", "trailing_text"];

/// Whether an answer that was refused with this code had no decision in it.
pub fn is_ghost(code: &str) -> bool {
    CODES.contains(&code)
}

/// Why an answer has no decision that can be followed, and on which line. Every fault makes the answer a ghost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecisionFault {
    pub line: Option<usize>,
    pub kind: DecisionFaultKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DecisionFaultKind {
    NoDecision,
    DoneInProse,
    MissingId { keyword: &'static str },
    BadId { keyword: &'static str, found: String },
    MissingReason,
    TrailingText { keyword: &'static str, id: String },
}

impl DecisionFault {
    /// A stable name for records and counts.
    pub fn code(&self) -> &'static str {
        match self.kind {
            DecisionFaultKind::NoDecision => "no_decision",
            DecisionFaultKind::DoneInProse => "done_in_prose",
            DecisionFaultKind::MissingId { .. } => "missing_id",
            DecisionFaultKind::BadId { .. } => "bad_id",
            DecisionFaultKind::MissingReason => "missing_reason",
            DecisionFaultKind::TrailingText { .. } => "trailing_text",
        }
    }
}

impl fmt::Display for DecisionFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        match &self.kind {
            DecisionFaultKind::NoDecision => f.write_str("no line of the answer is a decision"),
            DecisionFaultKind::DoneInProse => {
                write!(
                    f,
                    "this is prose and no decision; where it is meant as one, write {DONE} alone on a line"
                )
            }
            DecisionFaultKind::MissingId { keyword } => write!(f, "{keyword} needs an id after it"),
            DecisionFaultKind::BadId { keyword, found } => {
                write!(f, "`{found}` after {keyword} is not an id")
            }
            DecisionFaultKind::MissingReason => write!(f, "{ESCALATE} needs a reason after the id"),
            DecisionFaultKind::TrailingText { keyword, id } => {
                write!(f, "nothing may follow the id; write `{keyword} {id}` alone on a line")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_is_a_ghost() {
        use DecisionFaultKind::*;
        let (keyword, text) = (DONE, String::new());
        let kinds = [
            NoDecision,
            DoneInProse,
            MissingId { keyword },
            BadId { keyword, found: text.clone() },
            MissingReason,
            TrailingText { keyword, id: text },
        ];
        let codes = kinds.map(|kind| DecisionFault { line: None, kind }.code());
        assert_eq!(codes, CODES);
        assert!(!is_ghost("secret"));
    }
}
