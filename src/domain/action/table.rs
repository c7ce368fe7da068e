//! The one table of actions and their fields.

use super::{Field, Shape, Spec};
use crate::domain::role::Role;
use crate::domain::task::SECTIONS;

const PRIORITIES: &[&str] = &["high", "medium", "low"];

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
        name: "create_task",
        confidence: true,
        role: None,
        required: &[
            f("title", Shape::Line),
            f("description", Shape::Text),
            f("priority", Shape::OneOf(PRIORITIES)),
        ],
        optional: &[
            f("depends_on", Shape::IdOrIds),
            f("owner", Shape::Id),
            f("due", Shape::Time),
            f("project", Shape::Id),
            f("assists", Shape::Id),
            f("not_twin_of", Shape::IdOrIds),
        ],
    },
    Spec {
        name: "update_task",
        confidence: false,
        role: None,
        required: &[f("id", Shape::Id)],
        optional: &[
            f("title", Shape::Line),
            f("description", Shape::Text),
            f("priority", Shape::OneOf(PRIORITIES)),
            f("depends_on", Shape::IdOrIds),
            f("due", Shape::Time),
            f("project", Shape::Id),
            f("not_twin_of", Shape::IdOrIds),
        ],
    },
    Spec {
        name: "merge_task",
        confidence: true,
        role: None,
        required: &[f("id", Shape::Id), f("duplicates", Shape::IdOrIds)],
        optional: &[],
    },
    Spec {
        name: "split_task",
        confidence: true,
        role: None,
        required: &[f("id", Shape::Id), f("parts", Shape::Parts)],
        optional: &[],
    },
    Spec {
        name: "assign_task",
        confidence: false,
        role: None,
        required: &[f("id", Shape::Id), f("owner", Shape::Id)],
        optional: &[],
    },
    Spec {
        name: "move_task",
        confidence: true,
        role: None,
        required: &[
            f("id", Shape::Id),
            f("status", Shape::OneOf(&["done", "inbox"])),
            f("comment", Shape::Text),
        ],
        optional: &[],
    },
    Spec {
        name: "comment_task",
        confidence: false,
        role: None,
        required: &[f("id", Shape::Id), f("section", Shape::OneOf(SECTIONS)), f("text", Shape::Text)],
        optional: &[],
    },
    Spec {
        name: "depend_task",
        confidence: false,
        role: None,
        required: &[f("id", Shape::Id), f("on", Shape::IdOrIds)],
        optional: &[],
    },
    Spec {
        name: "nudge",
        confidence: false,
        role: None,
        required: &[f("id", Shape::Id), f("text", Shape::Text)],
        optional: &[],
    },
    Spec {
        name: "add_agent",
        confidence: true,
        role: None,
        required: &[f("name", Shape::Id), f("role", Shape::Line), f("purpose", Shape::Text)],
        optional: &[f("engine", Shape::Id), f("pipeline", Shape::Id)],
    },
    Spec {
        name: "create_project",
        confidence: true,
        role: None,
        required: &[f("title", Shape::Line)],
        optional: &[f("description", Shape::Text), f("directive", Shape::Id), f("budget_usd", Shape::Usd)],
    },
    Spec {
        name: "update_project",
        confidence: true,
        role: None,
        required: &[f("id", Shape::Id)],
        optional: &[
            f("title", Shape::Line),
            f("description", Shape::Text),
            f("status", Shape::OneOf(&["approved", "in_progress", "launched", "paused", "cancelled"])),
            f("directive", Shape::Id),
            f("budget_usd", Shape::Usd),
        ],
    },
    Spec {
        name: "summarize_directive",
        confidence: false,
        role: None,
        required: &[f("id", Shape::Id), f("text", Shape::Text)],
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
        required: &[f("id", Shape::Id), f("verdict", Shape::Verdict), f("evidence", Shape::Text)],
        optional: &[],
    },
];
