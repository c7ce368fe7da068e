//! JSON Schemas made from the tables that the parsers read, so that they can't drift apart.

use super::action::{ACTIONS, Field, RUBRIC, Shape, Spec};
use super::action_shape::REASON_MIN;
use super::message::SUBJECT_MAX;
use serde_json::{Map, Value, json};

/// The array inside an ACTIONS block.
pub fn actions() -> Value {
    let variants: Vec<Value> = ACTIONS.iter().map(action).collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "ACTIONS",
        "type": "array",
        "items": {"oneOf": variants},
    })
}

fn action(spec: &Spec) -> Value {
    let mut properties = Map::new();
    properties.insert("do".into(), json!({"const": spec.name}));
    for field in spec.required.iter().chain(spec.optional) {
        properties.insert(field.name.into(), shape(field.shape));
    }
    properties.insert("reason".into(), json!({"type": "string", "minLength": REASON_MIN}));
    properties.insert("confidence".into(), json!({"type": "integer", "minimum": 0, "maximum": 100}));
    properties.insert("risk".into(), json!({"enum": ["none", "risky", "external"]}));
    let mut required: Vec<&str> = vec!["do"];
    required.extend(spec.required.iter().map(|field: &Field| field.name));
    required.push("reason");
    if spec.confidence {
        required.push("confidence");
    }
    json!({
        "title": spec.name,
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

fn shape(shape: Shape) -> Value {
    let id = || json!({"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,95}$"});
    let line =
        || json!({"type": "string", "minLength": 1, "maxLength": SUBJECT_MAX, "pattern": "^[^\\r\\n]*$"});
    match shape {
        Shape::Line => line(),
        Shape::Text => json!({"type": "string", "minLength": 1}),
        Shape::Id => id(),
        Shape::Ids => json!({"type": "array", "items": id(), "maxItems": 50}),
        Shape::Departments => json!({
            "type": "array",
            "items": {"type": "string", "pattern": "^[a-z0-9][a-z0-9-]{0,62}$"},
            "minItems": 1,
            "maxItems": 50,
            "uniqueItems": true,
        }),
        Shape::IdOrIds => {
            json!({"oneOf": [id(), {"type": "array", "items": id(), "minItems": 1, "maxItems": 50}]})
        }
        Shape::Parts => json!({
            "type": "array",
            "minItems": 2,
            "maxItems": 5,
            "items": {
                "type": "object",
                "required": ["title", "description"],
                "additionalProperties": false,
                "properties": {
                    "title": line(),
                    "description": {"type": "string", "minLength": 1},
                    "priority": {"enum": ["high", "medium", "low"]},
                },
            },
        }),
        Shape::Verdict => json!({"enum": ["pass", "fail", "not_run"]}),
        Shape::Lines => json!({"type": "array", "items": line(), "maxItems": 50}),
        Shape::Kind => json!({"type": "string", "pattern": "^[A-Za-z][A-Za-z0-9]{0,39}$"}),
        Shape::Usd => json!({"type": "number", "minimum": 0, "maximum": 1e9}),
        Shape::Args => json!({"type": "object", "additionalProperties": {"type": "string"}}),
        Shape::Action => json!({"type": "object", "required": ["do"]}),
        Shape::Rubric => {
            let points: Map<String, Value> = RUBRIC
                .iter()
                .map(|point| (point.to_string(), json!({"type": "integer", "minimum": 0, "maximum": 100})))
                .collect();
            json!({"type": "object", "properties": points, "required": RUBRIC, "additionalProperties": false})
        }
        Shape::Time => json!({"type": "string", "format": "date-time"}),
        Shape::OneOf(words) => json!({"enum": words}),
    }
}

/// Whether what is wrong with a file is that a newer program wrote it: every reader says so in the same words.
pub fn tells_newer(what: &str) -> bool {
    let Some((found, known)) =
        what.strip_prefix("its schema is ").and_then(|rest| rest.split_once(", and this program knows "))
    else {
        return false;
    };
    matches!((found.parse::<u64>(), known.parse::<u64>()), (Ok(found), Ok(known)) if found > known)
}

/// A message's front matter.
pub fn message() -> Value {
    let text = || json!({"type": "string"});
    let time = || json!({"type": "string", "format": "date-time"});
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "message front matter",
        "type": "object",
        "properties": {
            "schema": {"const": super::message::MESSAGE_SCHEMA},
            "id": {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,95}$"},
            "from": text(),
            "to": {"type": "array", "items": text()},
            "kind": {"type": "string", "pattern": "^[A-Za-z][A-Za-z0-9]{0,39}$"},
            "subject": {"type": "string", "maxLength": SUBJECT_MAX},
            "amount_usd": {"type": "number", "minimum": 0},
            "project": text(),
            "directive": text(),
            "ref": text(),
            "thread": text(),
            "hops": {"type": "integer", "minimum": 0},
            "provenance": {"enum": ["human", "department", "external"]},
            "created": time(),
            "created_us": {"type": "integer", "minimum": 0, "maximum": 999_999},
            "status": {"enum": ["pending", "acknowledged", "actioned", "archived"]},
            "waits_for": text(),
        },
        "patternProperties": {
            "^(acknowledged|actioned|archived)_(by|run|why)$": text(),
            "^(acknowledged|actioned|archived)_at$": time(),
        },
        "required": ["id", "from", "to", "kind", "subject", "thread", "hops", "provenance", "created", "status"],
        "additionalProperties": true,
    })
}

#[cfg(test)]
mod tests {
    use super::tells_newer;

    #[test]
    fn readers_tell_a_newer_schema_in_the_same_words() {
        use crate::domain::{charter, directive, goal, message, playbook};
        let dept = crate::domain::id::Dept::parse("rd").unwrap();
        let found = message::Found { id: "x", name: "x", modified: Default::default(), dept: "rd" };
        let front = "---\nschema: 2\n---\n";
        let said = [
            charter::parse_charter("schema = 2", &dept).unwrap_err().to_string(),
            directive::parse_directive(front, "d-1").unwrap_err(),
            goal::parse_goal("schema = 2").unwrap_err(),
            message::parse_message(front, &found).unwrap_err().to_string(),
            playbook::parse_playbook("schema = 2").unwrap_err().to_string(),
        ];
        for what in said {
            assert!(tells_newer(&what), "{what}");
        }
        for what in
            ["its schema is 0, and this program knows 1", "its schema is x, and this program knows 1", ""]
        {
            assert!(!tells_newer(what), "{what}");
        }
    }

    /// `UPDATE_SCHEMAS=1 cargo test schemas_are_fresh` writes them anew.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test reads and writes the files it checks")]
    fn schemas_are_fresh() {
        let made = [
            ("charter", schemars::schema_for!(crate::domain::charter::Charter)),
            ("config", schemars::schema_for!(crate::domain::config::DirectorConfig)),
        ];
        for (name, schema) in made {
            let path = format!("{}/schemas/{name}.json", env!("CARGO_MANIFEST_DIR"));
            let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
            if std::env::var_os("UPDATE_SCHEMAS").is_some() {
                std::fs::write(&path, &text).unwrap();
            }
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text, "{path} is stale");
        }
    }
}
