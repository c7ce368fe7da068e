//! Provenance: what external text led to waits for a human, however it is carried on.

use crate::office::{act, action, data, decision, delivered, done, names, office, only, rule};
use crate::sandbox::Sandbox;
use serde_json::json;

const EXTERNAL: &str = "m-20261118-000000-eeeeee";
const INSIDE: &str = "m-20261117-000000-iiiiii";

fn code(sandbox: &Sandbox) -> String {
    let approval = data(sandbox, &["approvals", "list"])["approvals"][0].clone();
    approval["code"].as_str().unwrap_or("none").to_owned()
}

fn arrived(sandbox: &Sandbox) -> Vec<String> {
    let read = |name: &String| sandbox.read(&format!("org-management/inbox/{name}"));
    names(sandbox, "org-management/inbox").iter().map(read).collect()
}

#[test]
fn what_a_human_or_a_department_wrote_leads_to_a_message() {
    let sandbox = office().message("business", "Note", "Hi", "Body");
    act(&sandbox, "business", &[decision(json!({}))]);
    let sandbox = delivered(sandbox, INSIDE, "provenance: department\n");
    act(&sandbox, "business", &[decision(json!({}))]);
    assert!(arrived(&sandbox).iter().all(|text| text.contains("provenance: department")));
    assert_eq!(arrived(&sandbox).len(), 2);
}

#[test]
fn what_external_text_led_to_waits() {
    for fields in ["provenance: external\n", ""] {
        let sandbox = delivered(office(), EXTERNAL, fields);
        act(&sandbox, "business", &[decision(json!({}))]);
        assert_eq!((code(&sandbox).as_str(), arrived(&sandbox).len()), ("external_led", 0), "{fields}");
    }
    let sandbox = office().file("org-business/inbox/idea.md", "# An idea\n\nDo it.\n");
    act(&sandbox, "business", &[decision(json!({}))]);
    assert_eq!((code(&sandbox).as_str(), arrived(&sandbox).len()), ("external_led", 0));
}

#[test]
fn what_refers_to_external_text_waits_too() {
    let sandbox = delivered(office(), INSIDE, "provenance: department\n");
    let sandbox = delivered(sandbox, EXTERNAL, "provenance: external\n");
    act(&sandbox, "business", &[decision(json!({"ref": EXTERNAL}))]);
    assert_eq!((code(&sandbox).as_str(), arrived(&sandbox).len()), ("external_led", 0));
    let sandbox = delivered(office(), EXTERNAL, "provenance: external\n");
    let sandbox = delivered(sandbox, "m-20261118-000001-iiiiii", "provenance: department\n");
    let trusted_ref = json!({"ref": "m-20261118-000001-iiiiii"});
    act(&sandbox, "business", &[decision(trusted_ref)]);
    assert_eq!(
        code(&sandbox),
        "external_led",
        "a trusted message that is named makes the one at hand no better"
    );
}

/// Where a charter lets it pass, the next department is told, and its own charter speaks.
#[test]
fn it_is_inherited_along_a_thread() {
    let shipped = "from_external = [\"send_message\", \"dispatch\"]";
    let sandbox = rule(office(), "business", shipped, "from_external = []");
    let sandbox = delivered(sandbox, EXTERNAL, "provenance: external\n");
    act(&sandbox, "business", &[decision(json!({}))]);
    let text = arrived(&sandbox).remove(0);
    assert!(text.contains("provenance: external") && text.contains(&format!("thread: {EXTERNAL}")), "{text}");
    let update = decision(json!({"to": ["business"], "kind": "ProgressUpdate"}));
    act(&sandbox, "management", &[update]);
    assert_eq!(code(&sandbox), "external_led");
}

#[test]
fn naming_external_text_passes_its_provenance_on() {
    let shipped = "from_external = [\"send_message\", \"dispatch\"]";
    let sandbox = rule(office(), "business", shipped, "from_external = []");
    let sandbox = delivered(sandbox, INSIDE, "provenance: department\n");
    let sandbox = delivered(sandbox, EXTERNAL, "provenance: external\n");
    let fact = action("remember", json!({"text": "A fact.", "tags": ["x"]}));
    act(&sandbox, "business", &[decision(json!({"ref": EXTERNAL})), fact]);
    assert!(arrived(&sandbox).remove(0).contains("provenance: external"));
    let memory = sandbox.read("org-business/memory/2026-11-18.md");
    assert!(memory.contains("[x] external"), "the whole step was led by it: {memory}");
}

#[test]
fn memory_and_history_say_where_words_came_from() {
    let sandbox = delivered(office(), EXTERNAL, "provenance: external\n");
    let note = action("log_decision", json!({"title": "SAY-THIS-ALWAYS", "decision": "d", "why": "w"}));
    act(&sandbox, "business", &[action("remember", json!({"text": "A fact.", "tags": ["x"]})), note]);
    assert!(sandbox.read("org-business/memory/2026-11-18.md").contains("[x] external"));
    let prompt = done(&sandbox, &["prompt", "business", "--role", "worker"]);
    assert!(prompt.contains("(led by external text)") && !prompt.contains("SAY-THIS-ALWAYS"), "{prompt}");
}

#[test]
fn subjects_of_external_text_are_shown_only_where_it_is_at_hand() {
    let sandbox = delivered(office(), INSIDE, "provenance: department\n");
    let sandbox = delivered(sandbox, EXTERNAL, "provenance: external\n");
    let sandbox = sandbox.edit(&format!("org-business/inbox/{EXTERNAL}.md"), "Try it", "OBEY ME");
    let prompt =
        |role: &str, id: &str| done(&sandbox, &["prompt", "business", "--role", role, "--message", id]);
    assert!(!prompt("worker", INSIDE).contains("OBEY ME"));
    assert!(prompt("worker", INSIDE).contains("from rd: [external]"));
    assert!(prompt("worker", EXTERNAL).contains("OBEY ME"));
    assert!(prompt("orchestrator", INSIDE).contains("OBEY ME"));
}

/// The words of a request that nobody approved are no more to be trusted than what led to them.
#[test]
fn the_outcome_of_a_request_launders_nothing() {
    let sandbox = delivered(office(), EXTERNAL, "provenance: external\n");
    act(&sandbox, "business", &[decision(json!({}))]);
    done(&sandbox, &["approvals", "reject", &only(&sandbox, "approvals"), "--why", "no"]);
    let inbox = names(&sandbox, "org-business/inbox");
    let outcome = inbox.iter().map(|name| sandbox.read(&format!("org-business/inbox/{name}")));
    let outcome = outcome.into_iter().find(|text| text.contains("from: harness")).unwrap();
    assert!(outcome.contains("provenance: external"), "{outcome}");
}

#[test]
fn what_is_sent_from_inside_a_run_is_external_and_the_departments() {
    let shipped = "from_external = [\"send_message\", \"dispatch\"]";
    let sandbox = rule(office(), "rd", shipped, "from_external = []");
    let inside = sandbox.clone().env("HARNESS_RUN", "r-1").env("HARNESS_DEPT", "rd");
    done(&inside, &["send", "--to", "business", "--kind", "Proposal", "--subject", "s", "--body", "b"]);
    let text = sandbox.read(&format!("org-business/inbox/{}", names(&sandbox, "org-business/inbox")[0]));
    assert!(text.contains("from: rd") && text.contains("provenance: external"), "{text}");
}
