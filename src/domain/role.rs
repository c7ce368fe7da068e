//! The roles a director plays, and its modes.

use std::fmt;

/// What the director is asked to be in one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum Role {
    Orchestrator,
    Worker,
    Validator,
    Documenter,
    Summarizer,
}

impl Role {
    pub const ALL: [Role; 5] =
        [Role::Orchestrator, Role::Worker, Role::Validator, Role::Documenter, Role::Summarizer];

    pub fn name(self) -> &'static str {
        match self {
            Role::Orchestrator => "orchestrator",
            Role::Worker => "worker",
            Role::Validator => "validator",
            Role::Documenter => "documenter",
            Role::Summarizer => "summarizer",
        }
    }

    pub fn parse(text: &str) -> Option<Role> {
        Role::ALL.into_iter().find(|role| role.name() == text)
    }

    /// The orchestrator answers with a decision; every other role with an ACTIONS block.
    pub fn acts(self) -> bool {
        self != Role::Orchestrator
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How a worker works: `ceo` only at business, on a Directive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Mode {
    Normal,
    Ceo,
}

impl Mode {
    pub fn name(self) -> &'static str {
        match self {
            Mode::Normal => "normal",
            Mode::Ceo => "ceo",
        }
    }

    pub fn parse(text: &str) -> Option<Mode> {
        [Mode::Normal, Mode::Ceo].into_iter().find(|mode| mode.name() == text)
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The department and role in which ceo mode exists.
pub fn has_ceo_mode(dept: &str, role: Role) -> bool {
    dept == "business" && role == Role::Worker
}
