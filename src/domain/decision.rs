//! The orchestrator's decision: finds the one line of an answer that says what happens next.
//!
//! An id is checked for its shape alone. Whether it is open or eligible, and whether this department has a CEO mode, is
//! judged where the state is known.
//!
//! ```text
//! answer   = { line }                       the last line that is a decision counts
//! line     = marks decision marks
//! decision = "DONE" [stop]
//!          | next [":"] space id [stop]
//!          | "ESCALATE" [":"] space id [stop] space [dash] reason
//! next     = "NEXT_WORKER_CEO_MODE" | "NEXT_WORKER" | "NEXT_VALIDATOR"
//! id       = [A-Za-z0-9] [A-Za-z0-9._:-]{0,127}
//! marks    = any of * ` # > and spaces; in front also the list marks "- ", "+ ", "1. ", "1) "
//! stop     = any of . , ; : !
//! ```
//!
//! Keywords are case-sensitive and whole words: `NEXT_WORKER_CEO_MODE` is never read as `NEXT_WORKER`, and `Done` is
//! prose. What models do and the grammar puts up with:
//!
//! - `*` and backticks around the keyword alone, and these, quotes or `<>` around the id alone;
//! - a stop after the keyword or the id. An id that itself ends in a stop can't be named.
//!
//! What it does not put up with:
//!
//! - `DONE with it` is prose: the word is too common. Without any decision, the fault points at that line.
//! - A line that starts with another keyword is meant as a decision, since no prose needs that word there. Where the
//!   last such line is malformed it is a fault, and no earlier line counts: a director who first wrote `DONE` and then
//!   a broken `ESCALATE` must not end the loop.
//! - `NEXT_WORKER m-1 because x` is malformed too. What follows could as well be `is not possible`, and asking again
//!   costs less than a step that nobody decided on.

mod fault;

use std::fmt;

pub use fault::{DecisionFault, DecisionFaultKind, is_ghost};

use super::text::one_line;

const LONGEST_ID: usize = 128;
const LONGEST_LIST_NUMBER: usize = 9;
const SHOWN_CHARS: usize = 40;

const DONE: &str = "DONE";
const NEXT_WORKER: &str = "NEXT_WORKER";
const NEXT_WORKER_CEO_MODE: &str = "NEXT_WORKER_CEO_MODE";
const NEXT_VALIDATOR: &str = "NEXT_VALIDATOR";
const ESCALATE: &str = "ESCALATE";

/// What the orchestrator decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    Done,
    NextWorker(String),
    NextWorkerCeoMode(String),
    NextValidator(String),
    Escalate { id: String, reason: String },
}

impl Decision {
    pub fn keyword(&self) -> &'static str {
        match self {
            Decision::Done => DONE,
            Decision::NextWorker(_) => NEXT_WORKER,
            Decision::NextWorkerCeoMode(_) => NEXT_WORKER_CEO_MODE,
            Decision::NextValidator(_) => NEXT_VALIDATOR,
            Decision::Escalate { .. } => ESCALATE,
        }
    }

    pub fn id(&self) -> Option<&str> {
        match self {
            Decision::Done => None,
            Decision::NextWorker(id) | Decision::NextWorkerCeoMode(id) | Decision::NextValidator(id) => {
                Some(id)
            }
            Decision::Escalate { id, .. } => Some(id),
        }
    }
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.keyword())?;
        if let Some(id) = self.id() {
            write!(f, " {id}")?;
        }
        match self {
            Decision::Escalate { reason, .. } => write!(f, " {reason}"),
            _ => Ok(()),
        }
    }
}

/// The last decision of an answer. Reads from the end, so what comes before it costs nothing.
pub fn parse_decision(text: &str) -> Result<Decision, DecisionFault> {
    let fault =
        |kind, start: usize| DecisionFault { line: Some(1 + text[..start].matches('\n').count()), kind };
    let mut done_in_prose = None;
    let mut end = text.len();
    for line in text.rsplit('\n') {
        let start = end - line.len();
        end = start.saturating_sub(1);
        match parse_line(strip_marks(line)) {
            None => {}
            Some(Ok(decision)) => return Ok(decision),
            Some(Err(DecisionFaultKind::DoneInProse)) => done_in_prose = done_in_prose.or(Some(start)),
            Some(Err(kind)) => return Err(fault(kind, start)),
        }
    }
    Err(match done_in_prose {
        Some(start) => fault(DecisionFaultKind::DoneInProse, start),
        None => DecisionFault { line: None, kind: DecisionFaultKind::NoDecision },
    })
}

/// Reads one line without its marks; prose is nothing.
fn parse_line(line: &str) -> Option<Result<Decision, DecisionFaultKind>> {
    let end = line.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(line.len());
    let (word, rest) = line.split_at(end);
    let takes_id =
        rest.is_empty() || rest.starts_with(|c: char| c.is_whitespace() || ['*', '`', ':'].contains(&c));
    let next =
        |keyword, decision: fn(String) -> Decision| takes_id.then(|| parse_next(keyword, rest).map(decision));
    match word {
        DONE if rest.chars().all(is_mark_or_stop) => Some(Ok(Decision::Done)),
        DONE => Some(Err(DecisionFaultKind::DoneInProse)),
        NEXT_WORKER_CEO_MODE => next(NEXT_WORKER_CEO_MODE, Decision::NextWorkerCeoMode),
        NEXT_WORKER => next(NEXT_WORKER, Decision::NextWorker),
        NEXT_VALIDATOR => next(NEXT_VALIDATOR, Decision::NextValidator),
        ESCALATE => takes_id.then(|| parse_escalate(rest)),
        _ => None,
    }
}

fn parse_next(keyword: &'static str, rest: &str) -> Result<String, DecisionFaultKind> {
    let (id, after) = parse_id(keyword, rest)?;
    if after.chars().all(is_mark_or_stop) {
        Ok(id)
    } else {
        Err(DecisionFaultKind::TrailingText { keyword, id })
    }
}

fn parse_escalate(rest: &str) -> Result<Decision, DecisionFaultKind> {
    let (id, after) = parse_id(ESCALATE, rest)?;
    let reason = after.trim_start_matches(|c| is_mark_or_stop(c) || ['-', '–', '—'].contains(&c));
    if reason.contains(char::is_alphanumeric) {
        Ok(Decision::Escalate { id, reason: reason.to_owned() })
    } else {
        Err(DecisionFaultKind::MissingReason)
    }
}

/// The id that starts `rest`, and what follows it.
fn parse_id<'a>(keyword: &'static str, rest: &'a str) -> Result<(String, &'a str), DecisionFaultKind> {
    let rest = rest.trim_start_matches(is_mark_or_stop);
    let (word, after) = rest.split_at(rest.find(char::is_whitespace).unwrap_or(rest.len()));
    let id = word.trim_start_matches(is_wrapper).trim_end_matches(|c| is_wrapper(c) || is_mark_or_stop(c));
    if id.is_empty() {
        Err(DecisionFaultKind::MissingId { keyword })
    } else if !has_id_shape(id) {
        Err(DecisionFaultKind::BadId { keyword, found: one_line(id, SHOWN_CHARS) })
    } else {
        Ok((id.to_owned(), after))
    }
}

fn has_id_shape(id: &str) -> bool {
    id.len() <= LONGEST_ID
        && id.starts_with(|c: char| c.is_ascii_alphanumeric())
        && id.bytes().all(|b| b.is_ascii_alphanumeric() || b"._:-".contains(&b))
}

fn strip_marks(line: &str) -> &str {
    let mut rest = line.trim();
    loop {
        let stripped = strip_list_mark(rest.trim_start_matches(is_mark));
        if stripped.len() == rest.len() {
            return rest.trim_end_matches(is_mark);
        }
        rest = stripped;
    }
}

/// A list mark needs a space after it: `-5` and `3.14` are no lists.
fn strip_list_mark(line: &str) -> &str {
    let digits = line.bytes().take(LONGEST_LIST_NUMBER).take_while(u8::is_ascii_digit).count();
    let ends: &[char] = if digits == 0 { &['-', '+'] } else { &['.', ')'] };
    match line[digits..].strip_prefix(ends) {
        Some(rest) if rest.starts_with(char::is_whitespace) => rest,
        _ => line,
    }
}

fn is_mark(c: char) -> bool {
    c.is_whitespace() || matches!(c, '*' | '`' | '#' | '>')
}

fn is_mark_or_stop(c: char) -> bool {
    is_mark(c) || matches!(c, '.' | ',' | ';' | ':' | '!')
}

fn is_wrapper(c: char) -> bool {
    matches!(c, '*' | '`' | '"' | '\'' | '<' | '>')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// `expected` is the decision as it would be written, or the line and the code of the fault.
    fn check(input: &str, expected: &str) {
        let found = match parse_decision(input) {
            Ok(decision) => decision.to_string(),
            Err(fault) => format!("{} {}", fault.line.unwrap_or(0), fault.code()),
        };
        assert_eq!(found, expected, "{input:?}");
    }

    #[test]
    fn each_keyword_is_read() {
        check("DONE", "DONE");
        check("NEXT_WORKER m-20261118-004201-7f3k2q", "NEXT_WORKER m-20261118-004201-7f3k2q");
        check("NEXT_WORKER_CEO_MODE m-1", "NEXT_WORKER_CEO_MODE m-1");
        check("NEXT_VALIDATOR m-1", "NEXT_VALIDATOR m-1");
        check("ESCALATE m-1 the budget is spent", "ESCALATE m-1 the budget is spent");
    }

    #[test]
    fn marks_around_a_line_are_stripped() {
        for line in [
            "**DONE**",
            "`DONE`",
            "## DONE ##",
            "> DONE",
            "- DONE",
            "+ DONE",
            "12. DONE",
            "1) **`DONE`**",
            "> * 2. DONE",
        ] {
            check(line, "DONE");
        }
        check("```\nNEXT_WORKER m-1\n```", "NEXT_WORKER m-1");
        check("  \t> **NEXT_WORKER m-1**  \r\n", "NEXT_WORKER m-1");
    }

    #[test]
    fn marks_and_stops_inside_a_line_are_put_up_with() {
        check("DONE.", "DONE");
        check("**DONE**.", "DONE");
        check("**NEXT_WORKER** `m-1`.", "NEXT_WORKER m-1");
        check("NEXT_WORKER: <m-1>", "NEXT_WORKER m-1");
        check("NEXT_VALIDATOR \"m-1\"", "NEXT_VALIDATOR m-1");
        check("**ESCALATE m-1:** out of money", "ESCALATE m-1 out of money");
        check("ESCALATE m-1 — out of money", "ESCALATE m-1 out of money");
    }

    #[test]
    fn the_last_decision_counts() {
        check("DONE\nNEXT_WORKER m-1\nThat is all.", "NEXT_WORKER m-1");
        check("NEXT_WORKER m-1\nDONE with it", "NEXT_WORKER m-1");
        check("NEXT_WORKER m-1 is tempting\n\nNEXT_WORKER m-2", "NEXT_WORKER m-2");
    }

    #[test]
    fn prose_is_no_decision() {
        for text in [
            "",
            "\n\n",
            "I am DONE",
            "Done",
            "done",
            "DONENESS",
            "UNDONE",
            "Decision: DONE",
            "NEXT_WORKERS m-1",
        ] {
            check(text, "0 no_decision");
        }
        check("NEXT_WORKER, NEXT_VALIDATOR and DONE are the choices", "0 no_decision");
        check("NEXT_WORKER_CEO m-1", "0 no_decision");
        check("3.14 DONE\n-DONE", "0 no_decision");
        check("a\nDONE with it\nb\nDONE for today\nc", "4 done_in_prose");
    }

    #[test]
    fn a_malformed_last_decision_is_a_fault_with_its_line() {
        check("NEXT_WORKER", "1 missing_id");
        check("NEXT_WORKER **", "1 missing_id");
        check("DONE\nESCALATE m-1\n", "2 missing_reason");
        check("DONE\n\nESCALATE m-1 --\n", "3 missing_reason");
        check("NEXT_WORKER m-1 because x", "1 trailing_text");
        check("NEXT_WORKER m-1, m-2", "1 trailing_text");
        check("NEXT_WORKER ../etc", "1 bad_id");
        check(&format!("NEXT_WORKER {}", "a".repeat(129)), "1 bad_id");
        check(&format!("NEXT_WORKER {}", "a".repeat(128)), &format!("NEXT_WORKER {}", "a".repeat(128)));
    }

    #[test]
    fn faults_say_what_to_write() {
        let fault = parse_decision("hm\nNEXT_WORKER m-1 because x").unwrap_err();
        assert_eq!(
            fault.to_string(),
            "line 2: nothing may follow the id; write `NEXT_WORKER m-1` alone on a line"
        );
    }

    #[test]
    fn long_hostile_answers_take_linear_time() {
        for line in ["DONE with it\n", "> - 1. * ", "NEXT_WORKER_", "\n", "1) "] {
            assert!(parse_decision(&line.repeat(1 << 17)).is_err());
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn never_panics(text in "([*`#>.:! \n-]|DONE|NEXT_WORKER|_CEO_MODE|ESCALATE|m-1|é|1\\.){0,30}") {
            if let Err(fault) = parse_decision(&text) {
                prop_assert!(fault.line.unwrap_or(1) <= 1 + text.matches('\n').count());
            }
        }

        #[test]
        fn what_is_written_is_read(
            before in "([a-z ]{0,20}\n){0,3}",
            keyword in "NEXT_WORKER|NEXT_VALIDATOR|NEXT_WORKER_CEO_MODE",
            id in "[A-Za-z0-9][A-Za-z0-9._:-]{0,40}[a-z0-9]",
        ) {
            let written = format!("{keyword} {id}");
            let read = parse_decision(&format!("{before}{written}\n"));
            prop_assert_eq!(read.map(|decision| decision.to_string()), Ok(written));
        }
    }
}
