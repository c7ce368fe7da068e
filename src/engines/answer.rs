//! What comes out of a call: events while it runs, then an answer or a failure.
//!
//! An answer is text that isn't blank, from a process that ended by itself with 0, with no error
//! mark in what it printed. Everything else is a failure, which still carries the usage and cost that
//! were reported: a failed call may have been paid for.

use super::failure::{Failure, FailureKind};
use super::field::one_line;
use super::usage::{Cost, Usage};

/// How many warnings of one call are kept; the rest are counted.
const WARNINGS_LIMIT: usize = 20;

/// What a line of output said.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A further piece of the text. After a retry of the client's own, pieces may come twice.
    Text(String),
    /// The client tries again by itself.
    Retry {
        status: Option<u16>,
        delay_ms: Option<u64>,
    },
    Warning(String),
    /// The client has reported its result: only its exit is still to come.
    Result,
}

/// How the process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exit {
    pub code: Option<i32>,
    /// Nobody stopped it before its result was seen. Some clients exit with 0 when told to stop:
    /// the code alone doesn't say.
    pub clean: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    pub text: String,
    pub usage: Usage,
    pub cost: Cost,
    /// The model that answered, where the client says.
    pub model: Option<String>,
    pub warnings: Vec<String>,
}

/// What a reader has put together by the time the process has ended.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    pub text: String,
    pub usage: Usage,
    pub cost: Cost,
    pub model: Option<String>,
    /// The error mark, with the client's words for it.
    pub fault: Option<(FailureKind, String)>,
    text_lines: u64,
    warnings: Vec<String>,
    warnings_left_out: usize,
    last_error_line: String,
}

impl Gathered {
    /// Adds a line of plain text.
    pub fn text_line(&mut self, line: &str) -> Vec<Event> {
        if self.text_lines > 0 {
            self.text.push('\n');
        }
        self.text_lines += 1;
        self.text.push_str(line);
        vec![Event::Text(format!("{line}\n"))]
    }

    /// Keeps a warning, within the limit.
    pub fn warn(&mut self, text: &str) -> Vec<Event> {
        let line = one_line(text);
        if line.is_empty() || self.warnings.contains(&line) {
            return Vec::new();
        }
        if self.warnings.len() == WARNINGS_LIMIT {
            self.warnings_left_out += 1;
            return Vec::new();
        }
        self.warnings.push(line.clone());
        vec![Event::Warning(line)]
    }

    /// Remembers a line of standard error, in case nothing better explains a failure.
    pub fn error_line(&mut self, line: &str) {
        let line = one_line(line);
        if !line.is_empty() {
            self.last_error_line = line;
        }
    }

    pub fn last_error_line(&self) -> &str {
        &self.last_error_line
    }

    /// The verdict. A reported fault comes first: it says most, and a quota's reset must not be lost
    /// because the process was stopped after it.
    pub fn conclude(mut self, exit: Exit) -> Result<Answer, Failure> {
        if let Some((kind, message)) = self.fault.take() {
            return Err(self.failure(kind, &message));
        }
        let last_words = std::mem::take(&mut self.last_error_line);
        match exit.code {
            Some(0) if exit.clean && self.text.trim().is_empty() => Err(self.failure(FailureKind::Empty, "")),
            Some(0) if exit.clean => Ok(self.answer()),
            Some(code) if exit.clean => Err(self.failure(FailureKind::Exit(code), &last_words)),
            None if exit.clean => Err(self.failure(FailureKind::Signal, &last_words)),
            _ => Err(self.failure(FailureKind::Stopped, &last_words)),
        }
    }

    fn answer(mut self) -> Answer {
        if self.warnings_left_out > 0 {
            self.warnings.push(format!("and {} more warnings", self.warnings_left_out));
        }
        let Gathered { text, usage, cost, model, warnings, .. } = self;
        Answer { text, usage, cost, model, warnings }
    }

    fn failure(self, kind: FailureKind, message: &str) -> Failure {
        Failure { kind, message: one_line(message), usage: self.usage, cost: self.cost }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conclude(text: &str, code: Option<i32>, clean: bool) -> Result<String, FailureKind> {
        let gathered = Gathered { text: text.to_owned(), ..Gathered::default() };
        gathered.conclude(Exit { code, clean }).map(|answer| answer.text).map_err(|failure| failure.kind)
    }

    #[test]
    fn an_answer_is_text_from_a_process_that_ended_well() {
        assert_eq!(conclude("DONE", Some(0), true), Ok("DONE".to_owned()));
        assert_eq!(conclude(" \n", Some(0), true), Err(FailureKind::Empty));
        assert_eq!(conclude("half", Some(3), true), Err(FailureKind::Exit(3)));
        assert_eq!(conclude("half", Some(0), false), Err(FailureKind::Stopped));
        assert_eq!(conclude("half", None, true), Err(FailureKind::Signal));
        assert_eq!(conclude("half", None, false), Err(FailureKind::Stopped));
    }

    #[test]
    fn warnings_have_a_budget() {
        let mut gathered = Gathered { text: "x".to_owned(), ..Gathered::default() };
        let events: usize = (0..30).map(|n| gathered.warn(&format!("warning {n}")).len()).sum();
        assert_eq!(gathered.warn("warning 1"), Vec::new());
        let answer = gathered.conclude(Exit { code: Some(0), clean: true }).unwrap();
        assert_eq!((events, answer.warnings.len()), (20, 21));
        assert_eq!(answer.warnings[20], "and 10 more warnings");
    }
}
