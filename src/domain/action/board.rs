//! The board's actions, from their checked fields to what is to be done.

use super::read::{lines, text};
use super::{ActionFault, fault};
use crate::domain::agent::{NewAgent, Works};
use crate::domain::board::{Deed, Fields, Part, Vouch};
use crate::domain::task::{NewTask, Priority, Section, TaskStatus};
use crate::domain::time::{Time, parse_rfc3339};
use serde_json::{Map, Value};

/// The board's actions, by name.
const NAMES: [&str; 10] = [
    "create_task",
    "update_task",
    "merge_task",
    "split_task",
    "assign_task",
    "move_task",
    "comment_task",
    "depend_task",
    "nudge",
    "add_agent",
];

/// The name as the table has it, where it is one of the board's.
pub(super) fn board_name(name: &str) -> Option<&'static str> {
    NAMES.into_iter().find(|known| *known == name)
}

/// What an action of the board is to do.
pub(super) fn board_deed(json: &Map<String, Value>) -> Result<Deed, Vec<ActionFault>> {
    let need = |key: &str| text(json, key).unwrap_or_default();
    let id = need("id");
    Ok(match need("do").as_str() {
        "create_task" => Deed::Create(NewTask {
            title: need("title"),
            description: need("description"),
            priority: priority(json).unwrap_or(Priority::Medium),
            depends_on: ids(json, "depends_on"),
            owner: text(json, "owner"),
            due: time(json, "due"),
            project: text(json, "project"),
            assists: text(json, "assists"),
            not_twin_of: ids(json, "not_twin_of"),
        }),
        "update_task" => Deed::Update { id, fields: fields(json)? },
        "merge_task" => Deed::Merge { id, duplicates: ids(json, "duplicates") },
        "split_task" => Deed::Split { id, parts: parts(json) },
        "assign_task" => Deed::Assign { id, owner: need("owner") },
        "move_task" => Deed::Move {
            id,
            status: TaskStatus::parse(&need("status")).unwrap_or(TaskStatus::Inbox),
            comment: need("comment"),
            vouch: Vouch::No,
        },
        "comment_task" => Deed::Comment {
            id,
            section: Section::parse(&need("section")).unwrap_or(Section::Context),
            text: need("text"),
        },
        "depend_task" => Deed::Depend { id, on: ids(json, "on"), drop: Vec::new() },
        "nudge" => Deed::Nudge { id, text: need("text") },
        _ => Deed::AddAgent(agent(json)?),
    })
}

/// A list of ids, or one.
fn ids(json: &Map<String, Value>, key: &str) -> Vec<String> {
    text(json, key).map_or_else(|| lines(json, key), |one| vec![one])
}

fn priority(json: &Map<String, Value>) -> Option<Priority> {
    text(json, "priority").and_then(|text| Priority::parse(&text))
}

fn time(json: &Map<String, Value>, key: &str) -> Option<Time> {
    text(json, key).and_then(|text| parse_rfc3339(&text))
}

fn fields(json: &Map<String, Value>) -> Result<Fields, Vec<ActionFault>> {
    let fields = Fields {
        title: text(json, "title"),
        description: text(json, "description"),
        priority: priority(json),
        due: time(json, "due"),
        project: text(json, "project"),
        depends_on: json.contains_key("depends_on").then(|| ids(json, "depends_on")),
        not_twin_of: ids(json, "not_twin_of"),
    };
    if fields == Fields::default() {
        return Err(vec![fault(
            "missing_field",
            "title",
            "or another field to change is missing in update_task",
        )]);
    }
    Ok(fields)
}

fn parts(json: &Map<String, Value>) -> Vec<Part> {
    let parts =
        json.get("parts").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_object);
    let part = |part: &Map<String, Value>| Part {
        title: text(part, "title").unwrap_or_default(),
        description: text(part, "description").unwrap_or_default(),
        priority: priority(part),
    };
    parts.map(part).collect()
}

fn agent(json: &Map<String, Value>) -> Result<NewAgent, Vec<ActionFault>> {
    let need = |key: &str| text(json, key).unwrap_or_default();
    let works = match (text(json, "engine"), text(json, "pipeline")) {
        (Some(_), Some(_)) => {
            return Err(vec![fault("bad_field", "pipeline", "can't be given beside `engine`")]);
        }
        (Some(engine), None) => Works::Engine(engine),
        (None, Some(pipeline)) => Works::Pipeline(pipeline),
        (None, None) => Works::ByItself,
    };
    Ok(NewAgent { name: need("name"), role: need("role"), purpose: need("purpose"), works })
}
