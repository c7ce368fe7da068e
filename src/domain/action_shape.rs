//! The shapes of an action's fields: what each may hold.

use super::action::{ActionFault, Missing, RUBRIC, Risk, Shape, fault};
use super::id::{Dept, is_id};
use super::message::{BODY_MAX, SUBJECT_MAX, is_kind};
use super::time::parse_rfc3339;
use serde_json::{Map, Value};

/// The shortest reason that counts as one.
pub const REASON_MIN: usize = 10;
/// The most lines that curated memory may have.
pub const CURATED_LINES: usize = 200;
/// The most bytes that curated memory may have: what a prompt shows of it by default.
pub const CURATED_BYTES: usize = 16 * 1024;
/// The most entries of a list.
const LIST_MAX: usize = 50;

/// Whether a value has the shape; else a phrase that says what it should be.
pub(super) fn check(shape: Shape, value: &Value) -> Result<(), String> {
    let as_text = || value.as_str().ok_or_else(|| "must be text".to_string());
    match shape {
        Shape::Line => check_line(as_text()?),
        Shape::Text => check_text(as_text()?),
        Shape::Id => check_id(as_text()?),
        Shape::Kind if is_kind(as_text()?) => Ok(()),
        Shape::Kind => Err("must be one word such as `Decision`".to_string()),
        Shape::Ids => check_list(value, check_id),
        Shape::Lines => check_list(value, check_line),
        Shape::IdOrIds if value.is_string() => check_id(as_text()?),
        Shape::IdOrIds => match value.as_array().map(Vec::len) {
            Some(0) => Err("is empty".to_string()),
            _ => check_list(value, check_id),
        },
        Shape::Parts => check_parts(value),
        Shape::Verdict => check_line(as_text()?),
        Shape::Departments => {
            check_list(value, |name| {
                Dept::parse(name).map(|_| ()).map_err(|fault| format!("has an entry: {fault}"))
            })?;
            let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
            let twice = items.iter().enumerate().any(|(at, item)| items[..at].contains(item));
            match items.len() {
                0 => Err("must name at least one department".to_string()),
                _ if twice => Err("names a department twice".to_string()),
                _ => Ok(()),
            }
        }
        Shape::Usd => match value.as_f64() {
            Some(amount) if amount.is_finite() && (0.0..=1e9).contains(&amount) => Ok(()),
            _ => Err("must be a number of USD, 0 or more".to_string()),
        },
        Shape::Args => check_args(value),
        Shape::Action => {
            value.as_object().map(|_| ()).ok_or_else(|| "must be an action: a JSON object".to_string())
        }
        Shape::Rubric => check_rubric(value),
        Shape::Time => parse_rfc3339(as_text()?)
            .map(|_| ())
            .ok_or_else(|| "must be a time such as 2026-11-18T09:00:00Z".into()),
        Shape::OneOf(words) if words.contains(&as_text()?) => Ok(()),
        Shape::OneOf(words) => Err(format!("must be one of: {}", words.join(", "))),
    }
}

fn check_line(text: &str) -> Result<(), String> {
    if text.trim().is_empty() {
        return Err("is empty".to_string());
    }
    if text.contains(['\n', '\r']) {
        return Err("must be one line".to_string());
    }
    match text.chars().count() {
        count if count > SUBJECT_MAX => Err(format!("has {count} characters; the most is {SUBJECT_MAX}")),
        _ => Ok(()),
    }
}

fn check_text(text: &str) -> Result<(), String> {
    match text.len() {
        length if length > BODY_MAX => Err(format!("has {length} bytes; the most is {BODY_MAX}")),
        _ if text.trim().is_empty() => Err("is empty".to_string()),
        _ => Ok(()),
    }
}

fn check_id(text: &str) -> Result<(), String> {
    if is_id(text) { Ok(()) } else { Err("must be an id or a name".to_string()) }
}

fn check_list(value: &Value, check: impl Fn(&str) -> Result<(), String>) -> Result<(), String> {
    let items = value.as_array().ok_or("must be a list")?;
    if items.len() > LIST_MAX {
        return Err(format!("has {} entries; the most is {LIST_MAX}", items.len()));
    }
    for item in items {
        check(item.as_str().ok_or("must be a list of texts")?)?;
    }
    Ok(())
}

fn check_parts(value: &Value) -> Result<(), String> {
    let parts = value.as_array().ok_or("must be a list of 2 to 5 parts")?;
    if !(2..=5).contains(&parts.len()) {
        return Err(format!("has {} parts; there are 2 to 5", parts.len()));
    }
    for part in parts {
        let part = part.as_object().ok_or("must be a list of objects with title and description")?;
        if let Some(key) =
            part.keys().find(|key| !["title", "description", "priority"].contains(&key.as_str()))
        {
            let key = super::text::one_line(key, 40);
            return Err(format!(
                "has a part with `{key}`; a part has title, description and perhaps priority"
            ));
        }
        let text = |key: &str| part.get(key).and_then(Value::as_str);
        check_line(text("title").ok_or("has a part without a title")?)
            .map_err(|what| format!("has a part whose title {what}"))?;
        check_text(text("description").ok_or("has a part without a description")?)
            .map_err(|what| format!("has a part whose description {what}"))?;
        if part.contains_key("priority") && text("priority").and_then(super::task::Priority::parse).is_none()
        {
            return Err("has a part whose priority is not high, medium or low".to_string());
        }
    }
    Ok(())
}

fn check_args(value: &Value) -> Result<(), String> {
    let map = value.as_object().ok_or("must be an object of names and texts")?;
    for (name, text) in map {
        check_id(name).map_err(|_| "has a name that is none".to_string())?;
        let text = text.as_str().ok_or("must be an object of names and texts")?;
        if text.contains('\0') {
            return Err("has a text with a zero byte".to_string());
        }
    }
    Ok(())
}

fn check_rubric(value: &Value) -> Result<(), String> {
    let map = value.as_object().ok_or("must be an object of points")?;
    if let Some(name) = map.keys().find(|name| !RUBRIC.contains(&name.as_str())) {
        let name = super::text::one_line(name, 40);
        return Err(format!("has a point `{name}`; the points are {}", RUBRIC.join(", ")));
    }
    match RUBRIC.iter().find(|point| map.get(**point).and_then(Value::as_u64).is_none_or(|n| n > 100)) {
        Some(point) => Err(format!("needs `{point}` as a whole number from 0 to 100")),
        None => Ok(()),
    }
}

/// `reason`, `confidence` and `risk`, which every action may have.
pub(super) fn check_common(json: &Map<String, Value>, missing: Missing) -> Vec<ActionFault> {
    let mut faults = Vec::new();
    match json.get("reason") {
        Some(Value::String(reason)) if reason.trim().chars().count() >= REASON_MIN => {}
        Some(Value::String(_)) if missing == Missing::Refused => {
            faults.push(fault("bad_field", "reason", format!("is shorter than {REASON_MIN} characters")));
        }
        Some(Value::String(_)) | None => {}
        Some(_) => faults.push(fault("bad_field", "reason", "must be text")),
    }
    if let Some(confidence) = json.get("confidence")
        && confidence.as_u64().is_none_or(|n| n > 100)
    {
        faults.push(fault("bad_field", "confidence", "must be a whole number from 0 to 100"));
    }
    if let Some(risk) = json.get("risk")
        && risk.as_str().and_then(Risk::parse).is_none()
    {
        faults.push(fault("bad_field", "risk", "must be one of: none, risky, external"));
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::super::action::{Action, parse_action};
    use super::*;
    use proptest::prelude::*;

    fn parse(json: &str) -> Result<Action, Vec<ActionFault>> {
        let value: Value = serde_json::from_str(json).unwrap();
        parse_action(value.as_object().unwrap())
    }

    fn check(json: &str, expected: &[&str]) {
        let faults = parse(json).err().unwrap_or_default();
        let found: Vec<String> =
            faults.iter().map(|fault| format!("{} {}", fault.code, fault.field)).collect();
        assert_eq!(found, expected, "{json}");
    }

    const SEND: &str = r#""do":"send_message","to":["rd"],"kind":"Decision","subject":"s","body":"b","reason":"because of it","confidence":80"#;

    #[test]
    fn a_whole_action_is_read() {
        let action = parse(&format!("{{{SEND}}}")).unwrap();
        assert_eq!(action.confidence, Some(80));
        assert_eq!(action.act.name(), "send_message");
    }

    #[test]
    fn unknown_and_missing_fields_are_refused() {
        check(&format!(r#"{{{SEND},"message":"x"}}"#), &["unknown_field message"]);
        check(&format!(r#"{{{SEND},"from":"rd"}}"#), &["from_given from"]);
        check(r#"{"do":"send_messages"}"#, &["unknown_action do"]);
        check(r#"{"to":["rd"]}"#, &["missing_field do"]);
        check(
            r#"{"do":"mark_message"}"#,
            &["missing_field id", "missing_field status", "missing_field reason"],
        );
    }

    #[test]
    fn shapes_are_held() {
        check(&SEND_WITH("to", "\"rd\""), &["bad_field to"]);
        check(&SEND_WITH("to", "[]"), &["bad_field to"]);
        check(&SEND_WITH("to", "[\"rd\",\"rd\"]"), &["bad_field to"]);
        check(&SEND_WITH("to", "[\"../rd\"]"), &["bad_field to"]);
        check(&SEND_WITH("subject", "\"a\\nb\""), &["bad_field subject"]);
        check(&SEND_WITH("confidence", "101"), &["bad_field confidence"]);
        check(&SEND_WITH("confidence", "80.5"), &["bad_field confidence"]);
        check(&SEND_WITH("reason", "\"short\""), &["bad_field reason"]);
        check(&SEND_WITH("risk", "\"some\""), &["bad_field risk"]);
        check(&SEND_WITH("kind", "\"BudgetAllocation\""), &["missing_field amount_usd"]);
        let untagged = r#"{"do": "remember", "text": "t", "tags": [], "reason": "long enough"}"#;
        check(untagged, &["missing_field tags"]);
        check(&SEND_WITH("amount_usd", "-1"), &["bad_field amount_usd"]);
    }

    #[expect(non_snake_case, reason = "reads as the constant it varies")]
    fn SEND_WITH(key: &str, value: &str) -> String {
        let mut json: Value = serde_json::from_str(&format!("{{{SEND}}}")).unwrap();
        json[key] = serde_json::from_str(value).unwrap();
        json.to_string()
    }

    #[test]
    fn a_rubric_must_add_up() {
        let request = |rest: &str| {
            format!(r#"{{"do":"request_approval","action":{{{SEND}}},"reason":"needs a human",{rest}}}"#)
        };
        let rubric = r#""rubric":{"clarity":20,"constraints":10,"completeness":10,"risk":10,"dependencies":10,"similarity":10}"#;
        check(&request(&format!("{rubric},\"confidence\":70")), &[]);
        check(&request(&format!("{rubric},\"confidence\":71")), &["bad_field rubric"]);
        check(&request(r#""risk":"none""#), &["missing_field rubric"]);
    }

    proptest! {
        #[test]
        fn any_object_is_read_or_refused(keys in prop::collection::vec(("[a-z_]{1,12}", "[ -~]{0,20}"), 0..6)) {
            let mut map: Map<String, Value> = keys.into_iter().map(|(k, v)| (k, Value::String(v))).collect();
            map.insert("do".into(), Value::String("send_message".into()));
            prop_assert!(parse_action(&map).is_err());
        }
    }
}
