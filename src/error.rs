//! What a command can fail with: a kind that picks the exit code, a cause, and hints.
//!
//! Branch on the kind, never on the text of a message.

use crate::store::fault::StoreError;
use std::fmt;

/// How a command ended, where it didn't do what was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The command could not do what was asked.
    Failed,
    Usage,
    /// Refused before an engine was asked, or by the gate.
    Refused,
    /// Another run holds the department.
    Busy,
    /// A bug in harness.
    Bug,
}

impl Kind {
    pub fn exit(self) -> u8 {
        match self {
            Kind::Failed => 1,
            Kind::Usage => 2,
            Kind::Refused => 3,
            Kind::Busy => 4,
            Kind::Bug => 70,
        }
    }

    pub fn code(self) -> &'static str {
        match self {
            Kind::Failed => "failed",
            Kind::Usage => "usage",
            Kind::Refused => "refused",
            Kind::Busy => "busy",
            Kind::Bug => "bug",
        }
    }
}

/// A command's failure, ready to be shown.
#[derive(Debug)]
pub struct CommandError {
    pub kind: Kind,
    /// A finer code than the kind's, such as `kind_not_sent`.
    pub code: Option<&'static str>,
    pub cause: anyhow::Error,
    pub hints: Vec<String>,
}

impl CommandError {
    pub fn new(kind: Kind, message: impl fmt::Display) -> CommandError {
        CommandError { kind, code: None, cause: anyhow::anyhow!("{message}"), hints: Vec::new() }
    }

    pub fn failed(message: impl fmt::Display) -> CommandError {
        CommandError::new(Kind::Failed, message)
    }

    pub fn refused(message: impl fmt::Display) -> CommandError {
        CommandError::new(Kind::Refused, message)
    }

    pub fn hint(mut self, hint: impl fmt::Display) -> CommandError {
        self.hints.push(hint.to_string());
        self
    }

    pub fn code(mut self, code: &'static str) -> CommandError {
        self.code = Some(code);
        self
    }
}

impl From<StoreError> for CommandError {
    fn from(error: StoreError) -> CommandError {
        let hints = error.hint().into_iter().collect();
        CommandError { kind: Kind::Failed, code: None, cause: anyhow::Error::new(error), hints }
    }
}
