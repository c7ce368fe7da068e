//! The actions of a rule, rendered for what is on the table.
//!
//! `if` beside an action's fields says when it belongs to the answer: a template that renders to nothing or to `false`
//! leaves the action out. `action-2` counts the actions as they stand in the rule, and is renumbered where one before
//! it is left out.

use super::{FIELD_MAX, Rule};
use crate::domain::action::find_spec;
use crate::domain::planning::named_action;
use crate::domain::template::render_text;
use minijinja::Value as TemplateValue;
use serde_json::{Map, Value};

/// The key that says when an action is part of the answer.
const IF: &str = "if";

/// The actions of a rule that belong to the answer, with their texts rendered.
pub fn render_actions(rule: &Rule, values: &TemplateValue) -> Result<Vec<Value>, String> {
    let mut kept: Vec<(usize, &toml::Table)> = Vec::new();
    for (index, action) in rule.actions.iter().enumerate() {
        if belongs(action, values)? {
            kept.push((index, action));
        }
    }
    let place = |index: usize| kept.iter().position(|(kept, _)| *kept == index);
    let render = |(_, action): &(usize, &toml::Table)| {
        let action = render_action(action, values)?;
        let fields = action.into_iter().map(|(key, value)| Ok((key, renumber(value, &place)?)));
        Ok(Value::Object(fields.collect::<Result<Map<String, Value>, String>>()?))
    };
    kept.iter().map(render).collect()
}

/// Whether an action can be rendered at all.
pub(super) fn check_action(action: &toml::Table, values: &TemplateValue) -> Result<(), String> {
    belongs(action, values)?;
    render_action(action, values).map(|_| ())
}

fn belongs(action: &toml::Table, values: &TemplateValue) -> Result<bool, String> {
    let Some(condition) = action.get(IF) else { return Ok(true) };
    let text = condition.as_str().ok_or("`if` must be a text, such as \"{{ message.directive }}\"")?;
    let text = render_text(text, values, FIELD_MAX).map_err(|what| format!("`if`: {what}"))?;
    let text = text.trim();
    Ok(!text.is_empty() && !text.eq_ignore_ascii_case("false"))
}

/// A reference to an action of the rule, as the answer counts.
fn renumber(value: Value, place: &dyn Fn(usize) -> Option<usize>) -> Result<Value, String> {
    Ok(match value {
        Value::String(text) => match named_action(&text) {
            None => Value::String(text),
            Some(index) => match place(index) {
                Some(index) => Value::String(format!("action-{}", index + 1)),
                None => return Err(format!("`{text}` is not in this answer")),
            },
        },
        Value::Array(items) => {
            let items = items.into_iter().map(|item| renumber(item, place));
            Value::Array(items.collect::<Result<Vec<Value>, String>>()?)
        }
        other => other,
    })
}

/// An action with its texts rendered. An optional field that renders to nothing is left out.
fn render_action(action: &toml::Table, values: &TemplateValue) -> Result<Map<String, Value>, String> {
    let name = action.get("do").and_then(toml::Value::as_str).unwrap_or("");
    let optional =
        |key: &str| find_spec(name).is_some_and(|spec| spec.optional.iter().any(|field| field.name == key));
    let mut rendered = Map::new();
    // The action's name first, as a person would write it.
    rendered.insert("do".to_string(), Value::String(name.to_string()));
    for (key, value) in action.iter().filter(|(key, _)| *key != IF) {
        let value = serde_json::to_value(value).map_err(|error| error.to_string())?;
        let value = render_value(value, values).map_err(|what| format!("`{key}`: {what}"))?;
        if !(optional(key) && value.as_str().is_some_and(str::is_empty)) {
            rendered.insert(key.clone(), value);
        }
    }
    Ok(rendered)
}

fn render_value(value: Value, values: &TemplateValue) -> Result<Value, String> {
    Ok(match value {
        Value::String(text) => Value::String(render_text(&text, values, FIELD_MAX)?),
        Value::Array(items) => {
            let items = items.into_iter().map(|item| render_value(item, values));
            Value::Array(items.collect::<Result<Vec<Value>, String>>()?)
        }
        Value::Object(map) => {
            let entries = map.into_iter().map(|(key, value)| Ok((key, render_value(value, values)?)));
            Value::Object(entries.collect::<Result<Map<String, Value>, String>>()?)
        }
        other => other,
    })
}

#[cfg(test)]
mod tests {
    use super::super::parse_playbook;
    use super::*;
    use serde_json::json;

    const RULE: &str = r#"
schema = 1
[[rule]]
name = "a"
decision = "NEXT_WORKER"
why = "because of that"
when = { kind = "Note" }
[[rule.actions]]
do = "create_project"
if = "{{ not message.project }}"
title = "T"
[[rule.actions]]
do = "create_task"
title = "One"
project = "{{ message.project or 'action-1' }}"
[[rule.actions]]
do = "create_task"
title = "Two"
depends_on = ["action-2"]
"#;

    fn answer(project: &str) -> Result<Vec<Value>, String> {
        let playbook = parse_playbook(RULE).unwrap();
        let message = minijinja::context! { project => project };
        render_actions(&playbook.rules[0], &minijinja::context! { message })
    }

    #[test]
    fn what_does_not_apply_is_left_out_and_the_rest_renumbered() {
        let fields = |actions: &[Value]| {
            let field = |at: usize, key: &str| actions[at][key].clone();
            (actions.len(), field(actions.len() - 2, "project"), field(actions.len() - 1, "depends_on"))
        };
        assert_eq!(fields(&answer("").unwrap()), (3, json!("action-1"), json!(["action-2"])));
        let inside = answer("p-1").unwrap();
        assert_eq!(fields(&inside), (2, json!("p-1"), json!(["action-1"])));
        assert!(inside.iter().all(|action| action.get("if").is_none()));
        let lost = answer("action-1").unwrap_err();
        assert_eq!(lost, "`action-1` is not in this answer");
    }

    #[test]
    fn a_condition_is_checked_when_the_playbook_is_read() {
        let broken = RULE.replace("not message.project", "message.nothing");
        assert!(parse_playbook(&broken).unwrap_err().0.contains("`if`"));
    }
}
