//! The template's organisation with the fake engine as every director: one step, what it did, what was refused.
//!
//! A step is `run-director --role worker`. Its actions are JSON; what came of them is read from the ledger.

use crate::outcome::Run;
use crate::sandbox::Sandbox;
use serde_json::{Value, json};

pub const REASON: &str = "because the test says so";
const WORKER: [&str; 3] = ["run-director", "--role", "worker"];

/// The five departments, and no engine but the fake one.
pub fn office() -> Sandbox {
    let engine = "engine = [\"rules\", \"claude\"]";
    Sandbox::new().apart().organisation().edit(".harness/org.toml", engine, "engine = [\"claude\"]")
}

/// An action with its reason and confidence.
pub fn action(name: &str, fields: Value) -> Value {
    let mut action = json!({"do": name, "reason": REASON});
    for (key, value) in fields.as_object().unwrap() {
        action[key] = value.clone();
    }
    action
}

/// A decision of business to management, with these fields beside or instead.
pub fn decision(fields: Value) -> Value {
    let mut action = action("send_message", json!({"to": ["management"], "kind": "Decision"}));
    for (key, value) in json!({"subject": "Go", "body": "Go on.", "confidence": 90}).as_object().unwrap() {
        action[key] = value.clone();
    }
    for (key, value) in fields.as_object().unwrap() {
        action[key] = value.clone();
    }
    action
}

pub fn note() -> Value {
    action("log_decision", json!({"title": "A title", "decision": "So be it.", "why": "It is good."}))
}

/// An answer with these actions, which can be given as soon as the prompt has told its nonce.
pub fn answer(actions: &[Value]) -> String {
    format!("This is what I think.\n\n```actions NONCE\n{}\n```\n", json!(actions))
}

/// One step of a department's worker, which answers with these actions.
#[track_caller]
pub fn act(sandbox: &Sandbox, dept: &str, actions: &[Value]) -> Run {
    step(&sandbox.clone().reply(&answer(actions)), dept).status(0).any_stdout().any_stderr()
}

/// One step whose answer is refused, and given again; the codes and messages of the refusals.
#[track_caller]
pub fn refused(sandbox: &Sandbox, dept: &str, actions: &[Value]) -> Vec<(String, String)> {
    let text = answer(actions);
    let run = step(&sandbox.clone().reply(&text).reply(&text), dept);
    run.status(12).any_stdout().any_stderr();
    let step = last_step(sandbox, dept);
    let text = |refusal: &Value, key: &str| refusal[key].as_str().unwrap().to_owned();
    step["refusals"].as_array().unwrap().iter().map(|one| (text(one, "code"), text(one, "message"))).collect()
}

/// The only refusal has this code, and its message holds this text.
#[track_caller]
pub fn refused_by(sandbox: &Sandbox, actions: &[Value], code: &str, text: &str) {
    let refusals = refused(sandbox, "business", actions);
    assert!(refusals.len() == 1 && refusals[0].0 == code && refusals[0].1.contains(text), "{refusals:?}");
}

#[track_caller]
pub fn step(sandbox: &Sandbox, dept: &str) -> Run {
    sandbox.start(&[&WORKER[..], &[dept]].concat()).finish()
}

/// The last step in a department's ledger.
#[track_caller]
pub fn last_step(sandbox: &Sandbox, dept: &str) -> Value {
    ledger(sandbox, dept).into_iter().rfind(|line| line["line"] == "step").expect("a step in the ledger")
}

pub fn ledger(sandbox: &Sandbox, dept: &str) -> Vec<Value> {
    let text = sandbox.read(&format!("org-{dept}/.harness/runs.jsonl"));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A rule of a charter as a test wants it, accepted.
#[track_caller]
pub fn rule(sandbox: Sandbox, dept: &str, from: &str, to: &str) -> Sandbox {
    let sandbox = sandbox.edit(&format!("org-{dept}/charter.toml"), from, to);
    done(&sandbox, &["charter", "accept", dept]);
    sandbox
}

/// Business may give money by itself.
#[track_caller]
pub fn generous(sandbox: Sandbox) -> Sandbox {
    let example = "amount_usd = 200.0}\nverdict = ";
    let (from, to) = (format!("{example}\"needs approval\""), format!("{example}\"allow\""));
    let sandbox = sandbox.edit("org-business/charter.toml", &from, &to);
    rule(sandbox, "business", "kinds = [\"BudgetAllocation\"]", "kinds = []")
}

/// A command that must succeed; its stdout.
#[track_caller]
pub fn done(sandbox: &Sandbox, args: &[&str]) -> String {
    sandbox.start(args).finish().any_stderr().take_stdout()
}

/// A command that prints JSON and exits as expected; its data.
#[track_caller]
pub fn data(sandbox: &Sandbox, args: &[&str]) -> Value {
    sandbox.start(&[args, &["--json"]].concat()).finish().any_stderr().json()["data"].clone()
}

/// The names in a folder of the root, sorted; none where it is missing.
pub fn names(sandbox: &Sandbox, folder: &str) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(sandbox.root().join(folder)) else { return Vec::new() };
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names.retain(|name| !name.starts_with(".tmp."));
    names
}

/// The id of the only approval, question or escalation in a folder of business.
#[track_caller]
pub fn only(sandbox: &Sandbox, folder: &str) -> String {
    let names = names(sandbox, &format!("org-business/{folder}"));
    assert_eq!(names.len(), 1, "{names:?}");
    names[0].trim_end_matches(".md").to_owned()
}

/// A message of another department in the inbox of business, as a delivery would have left it.
pub fn delivered(sandbox: Sandbox, id: &str, fields: &str) -> Sandbox {
    let text = format!(
        "---\nschema: 1\nid: {id}\nfrom: rd\nto: [business]\nkind: Proposal\nsubject: Try it\n{fields}created: 2026-11-18T00:00:00Z\nstatus: pending\n---\nA body.\n"
    );
    sandbox.bytes(&format!("org-business/inbox/{id}.md"), text.as_bytes())
}
