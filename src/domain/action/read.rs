//! From a checked JSON object to an action.

use super::board::{board_deed, board_name};
use super::{Act, Action, ActionFault, Missing, RUBRIC, Risk, check_fields, fault};
use crate::domain::action_shape::{CURATED_BYTES, CURATED_LINES};
use crate::domain::allowance::render_usd;
use crate::domain::id::Dept;
use crate::domain::message::Status;
use crate::domain::schedule::{SCHEDULE_SCHEMA, Schedule, ScheduleFile, is_schedule_name};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Reads one action whole, or says everything that is wrong with it.
pub fn parse_action(json: &Map<String, Value>) -> Result<Action, Vec<ActionFault>> {
    check_fields(json, Missing::Refused)?;
    let risk = text(json, "risk").and_then(|risk| Risk::parse(&risk)).unwrap_or(Risk::None);
    let confidence = json.get("confidence").and_then(Value::as_u64).and_then(|n| u8::try_from(n).ok());
    let reason = text(json, "reason").unwrap_or_default();
    Ok(Action { act: to_act(json)?, reason, confidence, risk, json: json.clone() })
}

fn to_act(json: &Map<String, Value>) -> Result<Act, Vec<ActionFault>> {
    let need = |key: &str| text(json, key).unwrap_or_default();
    Ok(match need("do").as_str() {
        "send_message" => Act::SendMessage {
            to: lines(json, "to").iter().filter_map(|name| Dept::parse(name).ok()).collect(),
            kind: need("kind"),
            subject: need("subject"),
            body: need("body"),
            amount_usd: json.get("amount_usd").and_then(Value::as_f64),
            reference: text(json, "ref"),
            project: text(json, "project"),
            directive: text(json, "directive"),
        },
        "mark_message" => {
            let status = Status::parse(&need("status")).unwrap_or(Status::Acknowledged);
            Act::MarkMessage { id: need("id"), status }
        }
        "log_decision" => Act::LogDecision {
            title: need("title"),
            decision: need("decision"),
            why: need("why"),
            refs: lines(json, "refs"),
            project: text(json, "project"),
        },
        "remember" => {
            Act::Remember { text: need("text"), tags: lines(json, "tags"), refs: lines(json, "refs") }
        }
        "curate_memory" => Act::CurateMemory { file: need("file"), text: curated(&need("text"))? },
        "write_weekly" => Act::WriteWeekly { text: need("text") },
        "create_project" => Act::CreateProject {
            title: need("title"),
            description: text(json, "description"),
            directive: text(json, "directive"),
            budget_usd: json.get("budget_usd").and_then(Value::as_f64),
        },
        "update_project" => Act::UpdateProject { id: need("id"), fields: project_fields(json)? },
        "summarize_directive" => Act::SummarizeDirective { id: need("id"), text: need("text") },
        "dispatch" => Act::Dispatch {
            pipeline: need("pipeline"),
            args: args(json),
            task: text(json, "task"),
            project: text(json, "project"),
        },
        "ask_human" => Act::AskHuman {
            question: need("question"),
            options: lines(json, "options"),
            unblocks: lines(json, "unblocks"),
            due: text(json, "due"),
        },
        "request_approval" => requested(json)?,
        "escalate" => Act::Escalate { id: need("id"), to: text(json, "to") },
        "schedule" => scheduled(json)?,
        "unschedule" => Act::Unschedule { name: need("name") },
        "validate" => {
            Act::Validate { id: need("id"), verdict: verdict(&need("verdict")), evidence: need("evidence") }
        }
        name if let Some(name) = board_name(name) => Act::Board { name, deed: board_deed(json)? },
        name => return Err(vec![fault("unknown_action", "do", format!("is `{name}`, which is no action"))]),
    })
}

/// The verdict as it counts: a word that is none counts as a fail.
fn verdict(word: &str) -> String {
    let known = ["pass", "fail", "not_run"].into_iter().find(|known| *known == word);
    known.unwrap_or("fail").to_string()
}

fn project_fields(json: &Map<String, Value>) -> Result<Vec<(String, String)>, Vec<ActionFault>> {
    let texts = ["title", "description", "status", "directive"].into_iter();
    let mut fields: Vec<(String, String)> =
        texts.filter_map(|name| Some((name.to_string(), text(json, name)?.trim().to_string()))).collect();
    if let Some(usd) = json.get("budget_usd").and_then(Value::as_f64) {
        fields.push(("budget_usd".to_string(), render_usd(usd)));
    }
    if fields.is_empty() {
        let what = "names no field to change: title, description, status, directive or budget_usd";
        return Err(vec![fault("missing_field", "", what)]);
    }
    Ok(fields)
}

fn curated(text: &str) -> Result<String, Vec<ActionFault>> {
    if text.len() > CURATED_BYTES {
        let what = format!("has {} bytes; curated memory has at most {CURATED_BYTES}", text.len());
        return Err(vec![fault("bad_field", "text", what)]);
    }
    let count = text.lines().count();
    if count <= CURATED_LINES {
        return Ok(text.to_string());
    }
    Err(vec![fault(
        "bad_field",
        "text",
        format!("has {count} lines; curated memory has at most {CURATED_LINES}"),
    )])
}

/// A schedule is tried out: what could never fire is refused here.
fn scheduled(json: &Map<String, Value>) -> Result<Act, Vec<ActionFault>> {
    let name = text(json, "name").unwrap_or_default();
    if !is_schedule_name(&name) {
        return Err(vec![fault("bad_field", "name", "must be small letters, digits and hyphens")]);
    }
    let timezone = text(json, "timezone").unwrap_or_else(|| "UTC".to_string());
    let (cron, at) = (text(json, "cron"), text(json, "at"));
    let prompt = text(json, "prompt").unwrap_or_default();
    let file = ScheduleFile {
        schema: SCHEDULE_SCHEMA,
        cron: cron.clone(),
        at: at.clone(),
        timezone: timezone.clone(),
        prompt: prompt.clone(),
        by: String::new(),
        provenance: String::new(),
        created: "2026-01-01T00:00:00Z".to_string(),
        ended: None,
    };
    match Schedule::new(file) {
        Ok(_) => Ok(Act::Schedule { name, cron, at, timezone, prompt }),
        Err(what) => Err(vec![fault("bad_schedule", "", what)]),
    }
}

fn requested(json: &Map<String, Value>) -> Result<Act, Vec<ActionFault>> {
    let inner = json.get("action").and_then(Value::as_object).cloned().unwrap_or_default();
    if matches!(inner.get("do").and_then(Value::as_str), Some("request_approval" | "mark_message")) {
        return Err(vec![fault("bad_field", "action", "can't be a request_approval or a mark_message")]);
    }
    let in_action = |inner: ActionFault| ActionFault { field: format!("action.{}", inner.field), ..inner };
    let action =
        parse_action(&inner).map_err(|faults| faults.into_iter().map(in_action).collect::<Vec<_>>())?;
    let given = json.get("confidence").and_then(Value::as_u64);
    let sum = json.get("rubric").and_then(Value::as_object).map(|rubric| {
        RUBRIC.iter().filter_map(|point| rubric.get(*point).and_then(Value::as_u64)).sum::<u64>()
    });
    if let (Some(given), Some(sum)) = (given, sum)
        && given != sum
    {
        return Err(vec![fault(
            "bad_field",
            "rubric",
            format!("adds up to {sum}, and confidence says {given}"),
        )]);
    }
    let confidence = sum.or(given).unwrap_or(0);
    match u8::try_from(confidence) {
        Ok(confidence) if confidence <= 100 => {
            Ok(Act::RequestApproval { action: Box::new(action), confidence })
        }
        _ => Err(vec![fault("bad_field", "rubric", format!("adds up to {confidence}, and the most is 100"))]),
    }
}

pub(super) fn text(json: &Map<String, Value>, key: &str) -> Option<String> {
    json.get(key).and_then(Value::as_str).map(str::to_string)
}

pub(super) fn lines(json: &Map<String, Value>, key: &str) -> Vec<String> {
    let items = json.get(key).and_then(Value::as_array);
    items.into_iter().flatten().filter_map(Value::as_str).map(str::to_string).collect()
}

fn args(json: &Map<String, Value>) -> BTreeMap<String, String> {
    let map = json.get("args").and_then(Value::as_object);
    let texts = map.into_iter().flatten().filter_map(|(k, v)| v.as_str().map(|v| (k.clone(), v.to_string())));
    texts.collect()
}
