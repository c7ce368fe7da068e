//! `schema`: the formats for other programs, held against what the tool really reads and writes.

use crate::sandbox::Sandbox;
use serde_json::Value;

fn schema(format: &str) -> Value {
    Sandbox::new().run(["schema", format]).json()
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn every_format_has_one_and_needs_no_organisation() {
    for format in ["actions", "charter", "config", "message"] {
        assert!(
            schema(format)["$schema"].as_str().unwrap().starts_with("https://json-schema.org/"),
            "{format}"
        );
    }
}

#[test]
fn the_template_s_charter_has_only_what_the_schema_knows() {
    let (schema, sandbox) = (schema("charter"), Sandbox::new().organisation());
    for dept in ["business", "rd", "technology", "management", "marketing"] {
        let charter: toml::Table = sandbox.read(&format!("org-{dept}/charter.toml")).parse().unwrap();
        let known = keys(&schema["properties"]);
        assert!(charter.keys().all(|key| known.contains(&key.as_str())), "{dept}");
        let needed = schema["required"].as_array().unwrap();
        assert!(needed.iter().all(|key| charter.contains_key(key.as_str().unwrap())), "{dept}");
    }
    assert_eq!(schema["additionalProperties"], false);
}

#[test]
fn a_config_has_only_what_the_schema_knows() {
    let sandbox = Sandbox::new().dept("rd");
    let config: Value = serde_json::from_str(&sandbox.read("org-rd/.harness/director-config.json")).unwrap();
    let schema = schema("config");
    assert!(keys(&config).iter().all(|key| keys(&schema["properties"]).contains(key)));
}

#[test]
fn what_send_writes_is_what_the_schema_says() {
    let sandbox = Sandbox::new().dept("rd").message("rd", "Note", "s", "b");
    let text = sandbox.read(&format!("org-rd/inbox/{}.md", sandbox.sent(0)));
    let front = text.split("---\n").nth(1).unwrap();
    let written: Vec<&str> = front.lines().map(|line| line.split_once(':').unwrap().0).collect();
    let schema = schema("message");
    assert!(written.iter().all(|key| keys(&schema["properties"]).contains(key)), "{written:?}");
    assert!(
        schema["required"].as_array().unwrap().iter().all(|key| written.contains(&key.as_str().unwrap()))
    );
}

#[test]
fn every_action_of_the_template_has_a_shape() {
    let schema = schema("actions");
    let shapes = schema["items"]["oneOf"].as_array().unwrap();
    let names: Vec<&str> = shapes.iter().map(|shape| shape["title"].as_str().unwrap()).collect();
    let charter: toml::Table = Sandbox::new().dept("rd").read("org-rd/charter.toml").parse().unwrap();
    let used = charter["actions"].as_array().unwrap();
    assert!(used.iter().all(|name| names.contains(&name.as_str().unwrap())), "{names:?}");
    assert!(shapes.iter().all(|shape| shape["additionalProperties"] == false));
}
