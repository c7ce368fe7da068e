//! Charters that change between a plan and its recovery: what has begun is finished, the rest is judged by today's.

use crate::office::{act, action, answer, data, decision, done, last_step, names, note, office, only, rule};
use crate::sandbox::Sandbox;
use serde_json::{Value, json};

/// Business may send management no decisions any more, and a human accepted that.
fn without_management(sandbox: Sandbox) -> Sandbox {
    let charter = "org-business/charter.toml";
    let example =
        "action = {do = \"send_message\", to = [\"management\"], kind = \"Decision\"}\nverdict = \"allow\"";
    let sandbox = sandbox.edit(charter, example, &example.replace("allow", "refuse"));
    rule(sandbox, "business", "Decision = [\"rd\", \"management\"]", "Decision = [\"rd\"]")
}

fn arrived(sandbox: &Sandbox) -> usize {
    names(sandbox, "org-management/inbox").len()
}

fn open_plans(sandbox: &Sandbox) -> usize {
    names(sandbox, "org-business/.harness/journal").iter().filter(|name| name.ends_with(".plan.json")).count()
}

/// A world in which a command died with its plan made, at the first operation at which this holds.
fn died(
    make: impl Fn() -> Sandbox,
    args: impl Fn(&Sandbox) -> Vec<String>,
    at: impl Fn(&Sandbox) -> bool,
) -> Sandbox {
    for number in 1..200 {
        let sandbox = make();
        let args = args(&sandbox);
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let dying = sandbox.clone().env("HARNESS_TEST_FAULT", format!("die-after:{number}"));
        dying.start(&args).finish().parts();
        if open_plans(&sandbox) == 1 && at(&sandbox) {
            return sandbox;
        }
    }
    panic!("it never died there");
}

fn step_that_died(actions: Vec<Value>, at: impl Fn(&Sandbox) -> bool) -> Sandbox {
    let make = || office().message("business", "Note", "Hi", "Body").reply(&answer(&actions));
    let words = ["run-director", "business", "--role", "worker"];
    died(make, |_| words.map(str::to_owned).to_vec(), at)
}

fn recovered(sandbox: &Sandbox) -> String {
    let (status, _, stderr) = sandbox.start(&["recover", "business"]).finish().parts();
    assert_eq!(status, 0, "{stderr}");
    stderr
}

#[test]
fn what_todays_charter_refuses_is_set_aside_and_written_down() {
    let sandbox = step_that_died(vec![decision(json!({})), note()], |sandbox| {
        arrived(sandbox) == 0 && names(sandbox, "org-business/outbox").is_empty()
    });
    let sandbox = without_management(sandbox);
    let told = recovered(&sandbox);
    assert!(told.contains("action 1 of r-") && told.contains("was set aside:"), "{told}");
    assert_eq!((arrived(&sandbox), names(&sandbox, "org-business/outbox").len()), (0, 0));
    assert!(sandbox.read("org-business/decisions.md").contains("A title"), "the rest is carried out");
    let actions = last_step(&sandbox, "business")["actions"].clone();
    assert_eq!(
        (&actions[0]["verdict"], &actions[1]["verdict"]),
        (&json!("refuse"), &json!("allow")),
        "{actions}"
    );
    sandbox.run(["verify"]).any_stdout();
}

#[test]
fn what_would_now_wait_for_a_human_is_set_aside_too() {
    let sandbox =
        step_that_died(vec![note(), decision(json!({"confidence": 80}))], |sandbox| arrived(sandbox) == 0);
    let sandbox = rule(sandbox, "business", "confidence_below = 70", "confidence_below = 90");
    let told = recovered(&sandbox);
    assert!(told.contains("action 2 of r-") && told.contains("was set aside:"), "{told}");
    assert_eq!(arrived(&sandbox), 0);
    sandbox.run(["verify"]).any_stdout();
}

#[test]
fn a_request_that_was_planned_is_still_made() {
    let asks = decision(json!({"confidence": 10}));
    let sandbox = step_that_died(vec![asks], |sandbox| names(sandbox, "org-business/approvals").is_empty());
    let sandbox = rule(sandbox, "business", "confidence_below = 70", "confidence_below = 90");
    recovered(&sandbox);
    assert_eq!(names(&sandbox, "org-business/approvals").len(), 1);
}

#[test]
fn what_has_begun_is_finished() {
    let sandbox = step_that_died(vec![decision(json!({})), note()], |sandbox| {
        arrived(sandbox) == 0 && names(sandbox, "org-business/outbox").len() == 1
    });
    let sandbox = without_management(sandbox);
    let told = recovered(&sandbox);
    assert!(!told.contains("set aside"), "{told}");
    assert_eq!(arrived(&sandbox), 1);
    sandbox.run(["verify"]).any_stdout();
}

/// An organisation in which an approved decision died with its plan made.
fn approval_that_died(at: impl Fn(&Sandbox) -> bool) -> (Sandbox, String) {
    let make = || {
        let sandbox = office().message("business", "Note", "Hi", "Body");
        act(&sandbox, "business", &[decision(json!({"confidence": 10}))]);
        sandbox
    };
    let args =
        |sandbox: &Sandbox| ["approvals", "approve", &only(sandbox, "approvals")].map(str::to_owned).to_vec();
    let sandbox = died(make, args, at);
    let id = only(&sandbox, "approvals");
    (sandbox, id)
}

fn outcome(sandbox: &Sandbox, id: &str) -> String {
    let inbox = names(sandbox, "org-business/inbox");
    let mut told = inbox.iter().map(|name| sandbox.read(&format!("org-business/inbox/{name}")));
    told.find(|text| text.contains(&format!("Approval {id}: approved"))).expect("the outcome is told")
}

#[test]
fn an_approved_action_is_judged_by_the_charter_of_the_day_it_is_carried_out() {
    let (sandbox, id) = approval_that_died(|sandbox| names(sandbox, "org-business/outbox").is_empty());
    let sandbox = without_management(sandbox);
    let said = done(&sandbox, &["approvals", "approve", &id]);
    assert!(said.contains("approved, but today's rules refuse it"), "{said}");
    assert_eq!((arrived(&sandbox), open_plans(&sandbox)), (0, 0));
    let told = outcome(&sandbox, &id);
    assert!(told.contains("today's rules refuse it") && !told.contains("carried out"), "{told}");
    assert_eq!(done(&sandbox, &["approvals", "approve", &id]), format!("{id}: was approved already\n"));
    sandbox.run(["verify"]).any_stdout();
}

#[test]
fn an_approved_action_that_has_begun_is_finished() {
    let (sandbox, id) = approval_that_died(|sandbox| {
        names(sandbox, "org-business/outbox").len() == 1 && arrived(sandbox) == 0
    });
    let sandbox = without_management(sandbox);
    recovered(&sandbox);
    assert_eq!(arrived(&sandbox), 1);
    assert!(outcome(&sandbox, &id).contains("approved, carried out"));
    sandbox.run(["verify"]).any_stdout();
}

/// Some actions belong to a role. Approved, they are that role's still.
#[test]
fn an_approved_curation_replaces_memory() {
    let external = "---\nschema: 1\nid: m-20261118-000000-aaaaaa\nfrom: rd\nto: [business]\nkind: Note\nsubject: s\nprovenance: external\ncreated: 2026-11-18T00:00:00Z\nstatus: pending\n---\nBody.\n";
    let sandbox = office().bytes("org-business/inbox/m-20261118-000000-aaaaaa.md", external.as_bytes());
    let curate = action("curate_memory", json!({"file": "MEMORY", "text": "# Facts\n\nThree customers.\n"}));
    let run = sandbox.clone().reply(&answer(&[curate]));
    run.start(&["run-director", "business", "--role", "summarizer"]).finish().any_stdout().any_stderr();
    let id = only(&sandbox, "approvals");
    assert!(!sandbox.read("org-business/memory/MEMORY.md").contains("Three customers"));
    let said = done(&sandbox, &["approvals", "approve", &id]);
    assert!(said.contains("approved, carried out"), "{said}");
    assert!(sandbox.read("org-business/memory/MEMORY.md").ends_with("---\n# Facts\n\nThree customers.\n"));
    assert_eq!(data(&sandbox, &["approvals", "list"])["approvals"], json!([]));
    assert!(done(&sandbox, &["prompt", "business"]).contains("Three customers."), "the director reads it");
}
