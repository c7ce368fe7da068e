//! What the template's charter of business lets happen, written down a second time, and where effects may lie.

use director_harness::domain::directive::parse_directive;
use director_harness::domain::plan::{Effect, Planned};
use director_harness::domain::portfolio::Portfolio;
use director_harness::domain::project::{Change, FieldChange, ProjectEffect, parse_project};
use serde_json::{Map, Value};

pub const INSIDE: &str = "m-20261118-000000-aaaaaa";
pub const EXTERNAL: &str = "m-20261118-000001-bbbbbb";
pub const DEPARTMENTS: [&str; 5] = ["business", "management", "marketing", "rd", "technology"];
pub const TASK: &str = "t-20261118-000000-aaaaaa";
pub const REVIEWED: &str = "t-20261118-000001-bbbbbb";
pub const PROJECT: &str = "p-20261118-000000-cccccc";
pub const DIRECTIVE: &str = "d-20261118-000000-dddddd";
const LOGS: [&str; 3] = ["decisions.md", "weekly.md", "memory/2026-11-18.md"];
const CURATED: [&str; 2] = ["memory/MEMORY.md", "memory/SELF.md"];

/// Whether some effects may come of an answer by a role, led by external text or not.
pub fn check(
    actions: &[Map<String, Value>],
    effects: &[Planned],
    role: &str,
    external: bool,
) -> Result<(), String> {
    if actions.len() > 12 {
        return Err(format!("{} actions in a step", actions.len()));
    }
    if role == "orchestrator" && !effects.is_empty() {
        return Err("an orchestrator acted".to_owned());
    }
    effects.iter().try_for_each(|planned| {
        let action = planned.action.map(|index| &actions[index]);
        check_effect(&planned.effect, action, role, external)
    })
}

fn check_effect(
    effect: &Effect,
    action: Option<&Map<String, Value>>,
    role: &str,
    external: bool,
) -> Result<(), String> {
    let name = action.and_then(|action| action["do"].as_str()).unwrap_or("");
    match effect {
        Effect::Create { path, .. } if path.starts_with("archive/memory/") && role == "summarizer" => Ok(()),
        Effect::Create { path, .. } => check_created(path, name),
        Effect::Project(effect) => {
            check_project(effect, action.ok_or("a project of no action")?, role, external)
        }
        Effect::Append { path, .. } if *path == format!("directives/{DIRECTIVE}.md") => {
            if name == "summarize_directive" { Ok(()) } else { Err(format!("{name} summed up")) }
        }
        Effect::Append { path, .. } if LOGS.contains(&path.as_str()) => Ok(()),
        Effect::Replace { path, .. } if CURATED.contains(&path.as_str()) && role == "summarizer" => Ok(()),
        Effect::Mark { id, .. } if [INSIDE, EXTERNAL].contains(&id.as_str()) => Ok(()),
        Effect::Board { path, text, .. } => check_board(path, text, role),
        Effect::Deliver { dept, id, text } => {
            if !is_made(id, 'm') || text.contains("vouched") {
                return Err(format!("a message `{id}` by nobody's approval"));
            }
            check_delivered(dept, action.ok_or("a message of no action")?, role, external)
        }
        other => Err(format!("outside: {other:?}")),
    }
}

/// A task or an agent stays in its folder; no task is done without a verdict, and none is the director's.
fn check_board(path: &str, text: &str, role: &str) -> Result<(), String> {
    let (folder, file) = path.rsplit_once('/').ok_or("a file beside the charter")?;
    let stem = file.strip_suffix(".md").ok_or("a file of another kind")?;
    let placed = match folder {
        "tasks" => is_made(stem, 't'),
        "agents" => {
            stem.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
        }
        _ => false,
    };
    let lines: Vec<&str> = text.lines().take_while(|line| !line.is_empty()).collect();
    let wrong = ["status: done", "owner: business", "owner: director", "owner: lead", "owner: cid"];
    let forbidden = lines.iter().find(|line| wrong.contains(*line));
    match (placed, forbidden, role) {
        (true, None, "worker" | "validator") => Ok(()),
        _ => Err(format!("{role} wrote {path}: {forbidden:?}")),
    }
}

/// One directive and one project of it.
pub fn portfolio() -> Portfolio {
    let directive = format!(
        "---\nschema: 1\nid: {DIRECTIVE}\ntitle: Grow\nstatus: open\nmessage: {INSIDE}\ncreated: 2026-11-18T00:00:00Z\n---\n"
    );
    let project = format!(
        "---\nschema: 1\nid: {PROJECT}\ntitle: Shop\nstatus: proposed\nby: rd\ndirective: {DIRECTIVE}\ncreated: 2026-11-18T00:00:00Z\n---\n"
    );
    Portfolio {
        directives: vec![parse_directive(&directive, DIRECTIVE).unwrap()],
        projects: vec![parse_project(&project, PROJECT).unwrap()],
        unreadable: Vec::new(),
    }
}

/// A project is made under a name of the tool's, or moved on where it may; it gets no money by itself.
fn check_project(
    effect: &ProjectEffect,
    action: &Map<String, Value>,
    role: &str,
    external: bool,
) -> Result<(), String> {
    let sure = action["confidence"].as_u64().is_some_and(|confidence| (70..=100).contains(&confidence));
    let safe = action.get("risk").is_none_or(|risk| risk == "none");
    let poor = action.get("budget_usd").is_none_or(|usd| usd.as_f64() == Some(0.0));
    let done = match &effect.change {
        Change::Create { project } => {
            action["do"] == "create_project" && is_made(&effect.id, 'p') && project.status == "proposed"
        }
        Change::Set { fields, .. } => {
            let moves = ["approved", "paused", "cancelled"];
            let may = |field: &FieldChange| field.field != "status" || moves.contains(&field.after.as_str());
            action["do"] == "update_project" && effect.id == PROJECT && fields.iter().all(may)
        }
        Change::Allocate { .. } => false,
    };
    if done && sure && safe && poor && !external && role == "worker" {
        Ok(())
    } else {
        Err(format!("a {role} did {effect:?}"))
    }
}

/// A file is named by the tool, in the folder of its kind.
fn check_created(path: &str, name: &str) -> Result<(), String> {
    let (folder, file) = path.rsplit_once('/').ok_or("a file beside the charter")?;
    let (letter, end, may) = match folder {
        "outbox" => ('m', ".md", name == "send_message"),
        "approvals" => ('a', ".md", true),
        "questions" => ('q', ".md", name == "ask_human"),
        "escalations" => ('e', ".md", name == "escalate"),
        _ => return Err(format!("a file in {folder}")),
    };
    let made = file.strip_suffix(end).is_some_and(|id| is_made(id, letter));
    if may && made { Ok(()) } else { Err(format!("{name} made {path}")) }
}

fn is_made(id: &str, letter: char) -> bool {
    let shape = |c: char| if c.is_ascii_digit() || c.is_ascii_lowercase() { 'x' } else { c };
    id.len() == INSIDE.len() && id.starts_with(letter) && id.chars().map(shape).eq(INSIDE.chars().map(shape))
}

fn check_delivered(
    dept: &str,
    action: &Map<String, Value>,
    role: &str,
    external: bool,
) -> Result<(), String> {
    if action["do"] == "validate" {
        return if role == "validator" && dept == "business" {
            Ok(())
        } else {
            Err(format!("a verdict to {dept}"))
        };
    }
    let kind = action["kind"].as_str().unwrap_or("");
    let may = matches!((kind, dept), ("Decision", "rd" | "management") | ("Priority", "management"));
    let sure = action["confidence"].as_u64().is_some_and(|confidence| (70..=100).contains(&confidence));
    let cheap = action
        .get("amount_usd")
        .is_none_or(|amount| amount.as_f64().is_some_and(|usd| (0.0..=500.0).contains(&usd)));
    let safe = action.get("risk").is_none_or(|risk| risk == "none");
    let trusted = !external && action.get("ref").is_none_or(|id| id != EXTERNAL);
    if may && sure && cheap && safe && trusted && role == "worker" && action["do"] == "send_message" {
        Ok(())
    } else {
        Err(format!("{kind} to {dept} by a {role}"))
    }
}
