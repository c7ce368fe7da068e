//! Answers that can't be used: each has its code in record and ledger, is fed back once, and changes nothing.

use crate::desk::{MARK, SEND, acts, business, codes, with, worker};
use crate::sandbox::Sandbox;

/// An action that is fine in itself.
const GOOD: &str =
    r#"{"do": "remember", "text": "It was odd.", "tags": ["odd"], "reason": "worth knowing later"}"#;

/// Each answer is given twice in one run and once in the next, where a good one follows.
fn check(cases: &[(&str, String)]) {
    let mut sandbox = business();
    for (code, answer) in cases {
        sandbox = refused_twice(sandbox, code, answer);
        sandbox = repaired(sandbox, code, answer);
    }
}

fn refused_twice(sandbox: Sandbox, code: &str, answer: &str) -> Sandbox {
    let (before, calls) = (sandbox.work(), sandbox.calls().len());
    let run = worker(sandbox.reply(answer).reply(answer)).status(12);
    assert_eq!(run.work(), before, "{code} changed something");
    let asked = &run.calls()[calls..];
    assert_eq!(asked.len(), 2, "{code} is fed back once");
    assert!(!asked[0].stdin.contains("Your previous answer was refused"), "{code}");
    let (_, told) = asked[1].stdin.split_once("Your previous answer was refused").expect(code);
    assert!(told.contains(&format!("\n- {code}: ")), "{code}: {told}");
    let (step, ended) = (run.last_step(), run.last_run());
    assert_eq!(step["outcome"], "refused", "{code}");
    assert_eq!(codes(&step["refusals"])[0], code);
    assert_eq!(codes(&step["first_refusals"])[0], code);
    assert_eq!((&ended["outcome"], &ended["steps"]), (&"failed".into(), &1.into()));
    let record = run.record(&step);
    assert!(record.contains(&format!("## Refusals\n\n- {code}: ")), "{record}");
    assert!(record.contains("## Output, try 1\n") && record.contains("## Output, try 2\n"), "{record}");
    run.then()
}

fn repaired(sandbox: Sandbox, code: &str, answer: &str) -> Sandbox {
    let (sent, calls) = (sandbox.folder("org-rd/inbox").len(), sandbox.calls().len());
    // It leaves the message open, so that the next case finds it.
    let run = worker(sandbox.reply(answer).reply(&acts(&[SEND]))).status(0);
    let first = &run.calls()[calls].stdin;
    let (_, told) = first.split_once("## Refused in the step before").expect(code);
    assert!(told.contains(&format!("\n- {code}: ")), "{code}: {told}");
    assert_eq!(run.folder("org-rd/inbox").len(), sent + 1, "{code}");
    let step = run.last_step();
    assert_eq!(step["outcome"], "ok");
    assert_eq!(codes(&step["first_refusals"])[0], code);
    assert_eq!(codes(&step["refusals"]), Vec::<&str>::new());
    assert!(run.record(&step).contains(&format!("## Refusals of the first try\n\n- {code}: ")));
    run.then()
}

fn block(json: &str) -> String {
    format!("This is why.\n\n```actions NONCE\n{json}\n```\n")
}

#[test]
fn a_block_that_is_not_there_or_not_this_steps() {
    check(&[
        ("no_block", "I have done it all, and well.\n".into()),
        ("unclosed_block", format!("Here.\n\n```actions NONCE\n[{GOOD}]\n")),
        ("no_nonce", format!("Here.\n\n```actions\n[{GOOD}]\n```\n")),
        ("wrong_nonce", format!("Here.\n\n```actions aaaaaaaa\n[{GOOD}]\n```\n")),
        ("two_blocks", acts(&[GOOD]).repeat(2)),
        ("quoted_block", format!("> ```actions NONCE\n> [{GOOD}]\n> ```\n")),
        ("empty_without_reason", "```actions NONCE\n[]\n```\n".into()),
    ]);
}

#[test]
fn a_block_that_is_not_an_array_of_objects() {
    check(&[
        ("not_json", block(&format!("[{GOOD},]"))),
        ("not_array", block(GOOD)),
        ("not_object", block(&format!("[{GOOD}, 7]"))),
        ("duplicate_key", block(&format!("[{}]", GOOD.replace("\"tags\"", "\"text\": \"x\", \"tags\"")))),
        ("too_deep", block(&format!("[{{\"do\": {}1{}}}]", "[".repeat(40), "]".repeat(40)))),
        ("too_large", block(&format!("[{}{{}}]", "{},".repeat(1000)))),
    ]);
}

#[test]
fn an_action_that_is_none() {
    let without = |field: &str| {
        let mut json: serde_json::Value = serde_json::from_str(SEND).unwrap();
        json.as_object_mut().unwrap().remove(field);
        json.to_string()
    };
    check(&[
        ("unknown_action", acts(&[&with(GOOD, "do", "\"send_mail\"")])),
        ("unknown_field", acts(&[&with(SEND, "message", "\"the text\"")])),
        ("missing_field", acts(&[&without("body")])),
        ("missing_field", acts(&[&without("confidence")])),
        ("missing_field", acts(&[&without("reason")])),
        ("from_given", acts(&[&with(SEND, "from", "\"management\"")])),
        ("bad_field", acts(&[&with(GOOD, "reason", "\"because\"")])),
        ("bad_field", acts(&[&with(SEND, "to", "\"rd\"")])),
        ("missing_field", acts(&[&with(SEND, "kind", "\"BudgetAllocation\"")])),
    ]);
}

#[test]
fn a_refusal_names_line_action_and_field() {
    let answer = acts(&[GOOD, &with(SEND, "mood", "\"good\"")]);
    let run = worker(business().reply(&answer).reply(&acts(&[MARK])));
    let step = run.last_step();
    let told = step["first_refusals"][0]["message"].as_str().unwrap();
    assert!(told.starts_with("line 6, action 2 (send_message): "), "{told}");
    assert!(told.contains("`mood`"), "{told}");
    assert!(run.calls()[1].stdin.contains(told));
}

#[test]
fn one_bad_action_keeps_the_good_ones_back() {
    let sandbox = business();
    let before = sandbox.work();
    let answer = acts(&[SEND, GOOD, &with(SEND, "to", "[\"marketing\"]"), MARK]);
    let run = worker(sandbox.reply(&answer).reply(&answer)).status(12);
    assert_eq!(run.work(), before);
    assert_eq!(codes(&run.last_step()["refusals"]), ["recipient_not_allowed"]);
}

#[test]
fn every_fault_is_told_at_once() {
    let answer =
        acts(&[&with(SEND, "to", "[\"marketing\"]"), &with(GOOD, "colour", "1"), "{\"do\": \"fly\"}"]);
    let run = worker(business().reply(&answer).reply(&acts(&[MARK])));
    let step = run.last_step();
    assert_eq!(codes(&step["first_refusals"]), ["recipient_not_allowed", "unknown_field", "unknown_action"]);
}

#[test]
fn an_empty_array_with_a_sentence_is_an_answer() {
    let run =
        worker(business().reply("Nothing is to be done about this yet.\n\n```actions NONCE\n[]\n```\n"));
    let run = run.status(0);
    assert_eq!(run.last_step()["outcome"], "ok");
    assert_eq!(run.last_step()["actions"], serde_json::json!([]));
}

#[test]
fn both_tries_are_paid_for() {
    let sandbox = business().reply("#usage 10 20 0.25\nno\n");
    let run = worker(sandbox.reply(&format!("#usage 1 2 0.5\n{}", acts(&[MARK])))).status(0);
    let step = run.last_step();
    assert_eq!((&step["cost_usd"], &step["input_tokens"]), (&0.75.into(), &11.into()));
    assert_eq!(run.last_run()["cost_usd"], 0.75);
}

#[test]
fn a_nonce_is_good_for_one_try() {
    let run = worker(business().reply("no\n").reply(&acts(&[MARK]))).status(0);
    let nonces: Vec<String> = run
        .calls()
        .iter()
        .map(|call| call.stdin.rsplit_once("```actions ").unwrap().1.lines().next().unwrap().to_string())
        .collect();
    assert_ne!(nonces[0], nonces[1]);
}
