//! The one table of actions and their fields.

use super::{Field, Shape, Spec};
use crate::domain::role::Role;

const fn f(name: &'static str, shape: Shape) -> Field {
    Field { name, shape }
}

/// The points of a rubric, each 0 to 100; the confidence is their sum.
pub const RUBRIC: [&str; 6] =
    ["clarity", "constraints", "completeness", "risk", "dependencies", "similarity"];

/// Every action there is.
pub const ACTIONS: &[Spec] = &[
    Spec {
        name: "send_message",
        confidence: true,
        role: None,
        required: &[
            f("to", Shape::Departments),
            f("kind", Shape::Kind),
            f("subject", Shape::Line),
            f("body", Shape::Text),
        ],
        optional: &[
            f("amount_usd", Shape::Usd),
            f("ref", Shape::Id),
            f("project", Shape::Id),
            f("directive", Shape::Id),
        ],
    },
    Spec {
        name: "mark_message",
        confidence: false,
        role: None,
        required: &[f("id", Shape::Id), f("status", Shape::OneOf(&["acknowledged", "actioned", "archived"]))],
        optional: &[],
    },
    Spec {
        name: "log_decision",
        confidence: false,
        role: None,
        required: &[f("title", Shape::Line), f("decision", Shape::Text), f("why", Shape::Text)],
        optional: &[f("refs", Shape::Ids), f("project", Shape::Id)],
    },
    Spec {
        name: "remember",
        confidence: false,
        role: None,
        required: &[f("text", Shape::Text), f("tags", Shape::Lines)],
        optional: &[f("refs", Shape::Ids)],
    },
    Spec {
        name: "curate_memory",
        confidence: false,
        role: Some(Role::Summarizer),
        required: &[f("file", Shape::OneOf(&["MEMORY", "SELF"])), f("text", Shape::Text)],
        optional: &[],
    },
    Spec {
        name: "write_weekly",
        confidence: false,
        role: Some(Role::Documenter),
        required: &[f("text", Shape::Text)],
        optional: &[],
    },
    Spec {
        name: "dispatch",
        confidence: true,
        role: None,
        required: &[f("pipeline", Shape::Id), f("args", Shape::Args)],
        optional: &[f("task", Shape::Id), f("project", Shape::Id)],
    },
    Spec {
        name: "ask_human",
        confidence: false,
        role: None,
        required: &[f("question", Shape::Text), f("options", Shape::Lines), f("unblocks", Shape::Ids)],
        optional: &[f("due", Shape::Time)],
    },
    Spec {
        name: "request_approval",
        confidence: false,
        role: None,
        required: &[f("action", Shape::Action)],
        optional: &[f("rubric", Shape::Rubric)],
    },
    Spec {
        name: "escalate",
        confidence: false,
        role: None,
        required: &[f("id", Shape::Id)],
        optional: &[f("to", Shape::Line)],
    },
    Spec {
        name: "schedule",
        confidence: true,
        role: None,
        required: &[f("name", Shape::Id), f("prompt", Shape::Text)],
        optional: &[f("cron", Shape::Line), f("at", Shape::Line), f("timezone", Shape::Line)],
    },
    Spec {
        name: "unschedule",
        confidence: false,
        role: None,
        required: &[f("name", Shape::Id)],
        optional: &[],
    },
    Spec {
        name: "validate",
        confidence: false,
        role: Some(Role::Validator),
        required: &[
            f("id", Shape::Id),
            f("verdict", Shape::OneOf(&["pass", "fail", "not_run"])),
            f("evidence", Shape::Text),
        ],
        optional: &[],
    },
];
