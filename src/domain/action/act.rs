//! What an action does, as a value.

use super::Action;
use crate::domain::board::Deed;
use crate::domain::id::Dept;
use crate::domain::message::Status;
use std::collections::BTreeMap;

/// What an action does.
#[derive(Clone, Debug, PartialEq)]
pub enum Act {
    SendMessage {
        to: Vec<Dept>,
        kind: String,
        subject: String,
        body: String,
        amount_usd: Option<f64>,
        reference: Option<String>,
        project: Option<String>,
        directive: Option<String>,
    },
    MarkMessage {
        id: String,
        status: Status,
    },
    LogDecision {
        title: String,
        decision: String,
        why: String,
        refs: Vec<String>,
        project: Option<String>,
    },
    Remember {
        text: String,
        tags: Vec<String>,
        refs: Vec<String>,
    },
    CurateMemory {
        file: String,
        text: String,
    },
    WriteWeekly {
        text: String,
    },
    /// A change of the board or the roster, by its name.
    Board {
        name: &'static str,
        deed: Deed,
    },
    CreateProject {
        title: String,
        description: Option<String>,
        directive: Option<String>,
        budget_usd: Option<f64>,
    },
    UpdateProject {
        id: String,
        /// The fields to set, by name.
        fields: Vec<(String, String)>,
    },
    SummarizeDirective {
        id: String,
        text: String,
    },
    Dispatch {
        pipeline: String,
        args: BTreeMap<String, String>,
        task: Option<String>,
        project: Option<String>,
    },
    AskHuman {
        question: String,
        options: Vec<String>,
        unblocks: Vec<String>,
        due: Option<String>,
    },
    RequestApproval {
        action: Box<Action>,
        confidence: u8,
    },
    Escalate {
        id: String,
        to: Option<String>,
    },
    Schedule {
        name: String,
        cron: Option<String>,
        at: Option<String>,
        timezone: String,
        prompt: String,
    },
    Unschedule {
        name: String,
    },
    Validate {
        id: String,
        verdict: String,
        evidence: String,
    },
}

impl Act {
    pub fn name(&self) -> &'static str {
        match self {
            Act::SendMessage { .. } => "send_message",
            Act::MarkMessage { .. } => "mark_message",
            Act::LogDecision { .. } => "log_decision",
            Act::Remember { .. } => "remember",
            Act::CurateMemory { .. } => "curate_memory",
            Act::WriteWeekly { .. } => "write_weekly",
            Act::Board { name, .. } => name,
            Act::CreateProject { .. } => "create_project",
            Act::UpdateProject { .. } => "update_project",
            Act::SummarizeDirective { .. } => "summarize_directive",
            Act::Dispatch { .. } => "dispatch",
            Act::AskHuman { .. } => "ask_human",
            Act::RequestApproval { .. } => "request_approval",
            Act::Escalate { .. } => "escalate",
            Act::Schedule { .. } => "schedule",
            Act::Unschedule { .. } => "unschedule",
            Act::Validate { .. } => "validate",
        }
    }
}
