//! Questions and escalations: what waits for them goes on once the human has spoken, and nothing is asked twice.

use crate::office::{act, action, data, done, names, office, only, refused};
use crate::sandbox::Sandbox;
use serde_json::{Value, json};

fn ask(unblocks: &[&str]) -> Value {
    action("ask_human", json!({"question": "Red or blue?", "options": ["red", "blue"], "unblocks": unblocks}))
}

fn open(sandbox: &Sandbox) -> String {
    sandbox.start(&["run-loop", "business", "--engine", "rules"]).finish().parts().1
}

fn inbox(sandbox: &Sandbox) -> String {
    let read = |name: &String| sandbox.read(&format!("org-business/inbox/{name}"));
    names(sandbox, "org-business/inbox").iter().map(read).collect()
}

#[test]
fn a_question_holds_what_it_names_until_it_is_answered() {
    let sandbox = office().message("business", "Note", "Hi", "Body");
    let message = sandbox.sent(0);
    act(&sandbox, "business", &[ask(&[&message])]);
    let id = only(&sandbox, "questions");
    assert!(inbox(&sandbox).contains(&format!("waits_for: {id}")));
    assert!(open(&sandbox).contains("one message is open, and it waits for the human"));
    let listed = data(&sandbox, &["questions"])["questions"][0].clone();
    assert_eq!((&listed["text"], &listed["options"]), (&json!("Red or blue?"), &json!(["red", "blue"])));
    sandbox.start(&["questions", "answer", &id, " "]).finish().status(2).any_stderr();
    done(&sandbox, &["questions", "answer", &id, "green"]);
    assert_eq!(
        done(&sandbox, &["questions", "answer", &id, "green"]),
        format!("{id}: was answered already\n")
    );
    assert!(
        inbox(&sandbox).contains("green") && inbox(&sandbox).contains(&format!("Question {id}: answered"))
    );
    assert!(data(&sandbox, &["questions"])["questions"].as_array().unwrap().is_empty());
    let prompt = done(&sandbox, &["prompt", "business", "--role", "orchestrator"]);
    assert!(prompt.contains(&message) && !prompt.contains("waits for q-"), "{prompt}");
}

#[test]
fn a_question_is_asked_once() {
    let sandbox = office().message("business", "Note", "Hi", "Body");
    act(&sandbox, "business", &[ask(&[])]);
    let refusals = refused(&sandbox, "business", &[ask(&[])]);
    assert_eq!(refusals[0].0, "asked_before", "{refusals:?}");
    let refusals = refused(&sandbox, "business", &[ask(&["m-20261118-000000-zzzzzz"])]);
    assert!(refusals.iter().any(|(code, _)| code == "unknown_item"), "{refusals:?}");
    only(&sandbox, "questions");
}

#[test]
fn an_escalation_holds_its_message_until_it_is_resolved() {
    let sandbox = office().message("business", "Note", "Hi", "Body");
    let run = sandbox.clone().reply("ESCALATE MSGID this is beyond me").run(["run-loop", "business"]);
    run.status(10).any_stdout().any_stderr();
    let id = only(&sandbox, "escalations");
    assert!(inbox(&sandbox).contains(&format!("waits_for: {id}")));
    assert_eq!(data(&sandbox, &["escalations"])["escalations"][0]["text"], "this is beyond me");
    open(&sandbox);
    only(&sandbox, "escalations");
    sandbox.start(&["escalations", "resolve", &id]).finish().status(2).any_stderr();
    done(&sandbox, &["escalations", "resolve", &id, "--why", "do it anyway"]);
    assert!(inbox(&sandbox).contains("do it anyway"));
    let run = sandbox.clone().reply("DONE").run(["run-loop", "business"]);
    run.any_stdout().any_stderr();
    assert!(sandbox.calls().last().unwrap().stdin.contains(&sandbox.sent(0)));
}

#[test]
fn a_question_that_is_due_unanswered_comes_back_as_expired() {
    let sandbox = office().message("business", "Note", "Hi", "Body");
    let message = sandbox.sent(0);
    let mut question = ask(&[&message]);
    question["due"] = json!("2026-11-18T06:00:00Z");
    act(&sandbox, "business", &[question]);
    let id = only(&sandbox, "questions");
    assert!(open(&sandbox).contains("only approvals"));
    let later = sandbox.clone().now("2026-11-18T06:00:00Z");
    later.start(&["questions", "answer", &id, "red"]).finish().status(1).any_stderr();
    open(&later);
    assert!(inbox(&later).contains(&format!("Question {id}: expired")), "{}", inbox(&later));
    let prompt = done(&later, &["prompt", "business", "--role", "orchestrator"]);
    assert!(prompt.contains(&message) && !prompt.contains("waits for q-"), "{prompt}");
}
