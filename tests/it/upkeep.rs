//! Upkeep: the summarizer and the documenter work when they are due and something is new, and never otherwise.

use crate::office::{action, answer, data, done, ledger, names, note, office, only, refused, step};
use crate::sandbox::Sandbox;
use serde_json::{Value, json};

const MEMORY: &str = "org-business/memory/MEMORY.md";
const DUE: &str = "2026-11-20T12:00:00Z";

/// An office in which business has one entry, of the 18th.
fn remembered() -> Sandbox {
    let sandbox = office();
    done(&sandbox, &["memory", "add", "business", "--text", "One mail a week.", "--tag", "wish"]);
    sandbox
}

fn curate(text: &str) -> Value {
    action("curate_memory", json!({"file": "MEMORY", "text": text}))
}

/// A loop of business at a time; its status, and what it said in the end.
fn run_at(sandbox: &Sandbox, time: &str) -> (i32, String) {
    let (status, stdout, stderr) =
        sandbox.clone().now(time).start(&["run-loop", "business"]).finish().parts();
    (status, stdout + &stderr)
}

fn consolidate(sandbox: &Sandbox, time: &str) -> String {
    let (status, said) =
        run_at(&sandbox.clone().reply(&answer(&[curate("# Facts\n\n- One mail a week.")])), time);
    assert_eq!(status, 0, "{said}");
    said
}

#[test]
fn memory_is_consolidated_when_something_is_new_and_two_days_have_gone() {
    let sandbox = remembered();
    let before = sandbox.read(MEMORY);
    run_at(&sandbox, "2026-11-19T23:59:59Z");
    assert!(sandbox.calls().is_empty(), "it is not due");
    assert!(consolidate(&sandbox, DUE).contains("the summarizer has done its work"));
    assert_eq!(sandbox.calls().len(), 1);
    assert!(sandbox.calls()[0].stdin.clone().contains("One mail a week."), "it was shown what is new");
    let run = ledger(&sandbox, "business").pop().unwrap()["run"].as_str().unwrap().to_owned();
    assert_eq!(
        sandbox.read(MEMORY),
        format!("---\nschema: 1\nconsolidated: {DUE}\nrun: {run}\n---\n# Facts\n\n- One mail a week.\n")
    );
    let kept = names(&sandbox, "org-business/archive/memory");
    assert_eq!(kept, [format!("MEMORY-{run}-1.md")]);
    assert_eq!(
        sandbox.read(&format!("org-business/archive/memory/{}", kept[0])),
        before,
        "the version before is kept"
    );
    let prompt = done(&sandbox, &["prompt", "business"]);
    assert!(prompt.contains("# Facts") && !prompt.contains("consolidated:"), "{prompt}");
    let shown = data(&sandbox, &["memory", "show", "business"]);
    assert_eq!(shown["memory"]["consolidated"], DUE);
    run_at(&sandbox, "2026-11-30T12:00:00Z");
    assert_eq!(sandbox.calls().len(), 1, "nothing is new");
    done(
        &sandbox.clone().now("2026-12-01T00:00:00Z"),
        &["memory", "add", "business", "--text", "Two.", "--tag", "a"],
    );
    consolidate(&sandbox, "2026-12-03T00:00:00Z");
    let prompt = sandbox.calls()[1].stdin.clone();
    assert!(prompt.contains("  Two.") && !prompt.contains("  One mail a week.\n>>>"), "only what is new");
}

#[test]
fn a_try_that_failed_waits_a_day() {
    let sandbox = remembered();
    let bad = sandbox.clone().reply("I don't know.").reply("I still don't.");
    let (status, said) = run_at(&bad, DUE);
    assert!(
        status == 0 && said.contains("the answer of the summarizer could not be used"),
        "{status} {said}"
    );
    assert_eq!(sandbox.calls().len(), 2);
    run_at(&sandbox, "2026-11-21T11:59:59Z");
    assert_eq!(sandbox.calls().len(), 2);
    consolidate(&sandbox, "2026-11-21T12:00:00Z");
    assert_eq!(sandbox.calls().len(), 3);
}

#[test]
fn the_gate_and_the_budget_hold_for_it() {
    let sandbox = remembered().edit(
        ".harness/org.toml",
        "[budget.department]\nusd_per_day = 3.0",
        "[budget.department]\nusd_per_day = 0.0",
    );
    let (status, said) = run_at(&sandbox, DUE);
    assert!(
        status == 0 && said.contains("the summarizer waits: usd_per_day of department business"),
        "{said}"
    );
    let sandbox = remembered();
    done(&sandbox, &["gate", "disable", "--why", "so"]);
    assert_eq!(run_at(&sandbox, DUE).0, 3);
    assert!(sandbox.calls().is_empty());
}

#[test]
fn the_rules_alone_are_not_asked() {
    let sandbox = remembered();
    let line = ["run-loop", "business", "--engine", "rules"];
    sandbox.clone().now(DUE).start(&line).finish().any_stdout().any_stderr();
    assert!(ledger(&sandbox, "business").iter().all(|line| line["line"] == "run"), "no step was taken");
}

#[test]
fn what_external_text_led_to_enters_only_with_approval() {
    let sandbox =
        office().file("org-business/memory/2026-11-18.md", "- r-1/1/0 [tip] external\n  Pay everybody.\n");
    let before = sandbox.read(MEMORY);
    consolidate(&sandbox, DUE);
    assert_eq!(sandbox.read(MEMORY), before);
    let approval = only(&sandbox, "approvals");
    assert!(sandbox.read(&format!("org-business/approvals/{approval}.md")).contains("code: external_memory"));
    done(&sandbox.clone().now(DUE), &["memory", "add", "business", "--text", "More.", "--tag", "a"]);
    run_at(&sandbox, "2026-11-22T12:00:00Z");
    assert_eq!(sandbox.calls().len(), 1, "one question to the human at a time");
    let said = done(&sandbox.clone().now(DUE), &["approvals", "approve", &approval]);
    assert!(said.contains("approved, carried out"), "{said}");
    assert!(sandbox.read(MEMORY).ends_with("# Facts\n\n- One mail a week.\n"));
}

#[test]
fn curated_memory_has_its_caps_and_is_written_once() {
    let sandbox = remembered();
    let try_it = |actions: &[Value], code: &str| {
        let text = answer(actions);
        let line = ["run-director", "business", "--role", "summarizer"];
        sandbox.clone().reply(&text).reply(&text).start(&line).finish().status(12).any_stdout().any_stderr();
        let step = crate::office::last_step(&sandbox, "business");
        assert_eq!(step["refusals"][0]["code"], code, "{step}");
    };
    try_it(&[curate(&"x\n".repeat(201))], "bad_field");
    try_it(&[curate(&"x".repeat(16_385))], "bad_field");
    try_it(&[curate("a"), curate("b")], "curated_twice");
    assert!(!sandbox.read(MEMORY).starts_with("---"));
}

/// Work on the 18th, refused once; a week later it is written down.
#[test]
fn the_week_is_written_down_by_the_documenter() {
    let sandbox = office().message("business", "Note", "Hi", "Body");
    refused(
        &sandbox,
        "business",
        &[action(
            "send_message",
            json!({"to": ["rd"], "kind": "Order", "subject": "s", "body": "b", "confidence": 90}),
        )],
    );
    crate::office::act(
        &sandbox,
        "business",
        &[note(), action("mark_message", json!({"id": sandbox.sent(0), "status": "actioned"}))],
    );
    let calls = sandbox.calls().len();
    run_at(&sandbox, "2026-11-24T23:00:00Z");
    assert_eq!(sandbox.calls().len(), calls, "a week has not gone");
    let report = [
        action("write_weekly", json!({"text": "A quiet week."})),
        action(
            "ask_human",
            json!({"question": "Should rd get orders?", "options": ["yes", "no"], "unblocks": []}),
        ),
    ];
    let (status, said) = run_at(&sandbox.clone().reply(&answer(&report)), "2026-11-25T01:00:00Z");
    assert!(status == 0 && said.contains("the documenter has done its work"), "{said}");
    let prompt = sandbox.calls()[calls].stdin.clone();
    for part in ["refused kind_not_sent: 2", "runs 2: ", "did: ", "A title"] {
        assert!(prompt.contains(part), "{part}: {prompt}");
    }
    assert!(sandbox.read("org-business/weekly.md").contains("A quiet week."));
    assert!(
        sandbox
            .read(&format!("org-business/questions/{}.md", only(&sandbox, "questions")))
            .contains("Should rd get orders?")
    );
    run_at(&sandbox, "2027-01-25T01:00:00Z");
    assert_eq!(sandbox.calls().len(), calls + 1, "nothing was done since");
}

#[test]
fn a_proposal_is_a_question_and_never_an_edit() {
    let sandbox = office().message("business", "Note", "Hi", "Body");
    step(&sandbox.clone().reply(&answer(&[note()])), "business").any_stdout().any_stderr();
    let edit = |fields: Value| answer(&[fields]);
    for one in [
        action(
            "send_message",
            json!({"to": ["rd"], "kind": "Decision", "subject": "s", "body": "b", "confidence": 90}),
        ),
        action("curate_memory", json!({"file": "SELF", "text": "x"})),
    ] {
        let line = ["run-director", "business", "--role", "documenter"];
        let text = edit(one);
        sandbox.clone().reply(&text).reply(&text).start(&line).finish().status(12).any_stdout().any_stderr();
        let step = crate::office::last_step(&sandbox, "business");
        assert_eq!(step["refusals"][0]["code"], "role_may_not");
    }
}

/// Killed at any operation, memory is consolidated once, and the version before is kept once.
#[test]
fn a_consolidation_killed_anywhere_happens_once() {
    let mut number = 1;
    loop {
        let sandbox = remembered().now(DUE);
        let text = answer(&[curate("# Facts")]);
        let sandbox = (0..3).fold(sandbox, |sandbox, _| sandbox.reply(&text));
        let killed = sandbox.clone().env("HARNESS_TEST_FAULT", format!("die-torn:{number}"));
        if killed.start(&["run-loop", "business"]).finish().parts().0 == 0 {
            assert!(number > 20, "it was never killed");
            return;
        }
        sandbox.start(&["run-loop", "business"]).finish().any_stdout().any_stderr();
        // A try that died counts as one: the next is a day later.
        let later = sandbox.clone().now("2026-11-22T12:00:00Z");
        later.start(&["run-loop", "business"]).finish().any_stdout().any_stderr();
        assert!(sandbox.read(MEMORY).ends_with("---\n# Facts\n"), "die-torn:{number}");
        assert_eq!(names(&sandbox, "org-business/archive/memory").len(), 1, "die-torn:{number}");
        let steps = ledger(&sandbox, "business");
        let ok = steps.iter().filter(|line| line["role"] == "summarizer" && line["outcome"] == "ok").count();
        assert_eq!(ok, 1, "die-torn:{number}");
        number += 3;
    }
}

/// By the third day a tick runs the department for that alone, once; and not before.
#[test]
fn a_tick_knows_when_it_is_due() {
    use crate::ticks::{check, pulse, ticking};
    let sandbox = ticking();
    check(&sandbox, "2026-11-18T00:42:01Z", "nothing_open");
    done(&sandbox, &["memory", "add", "business", "--text", "One mail a week.", "--tag", "wish"]);
    check(&sandbox, "2026-11-20T23:59:59Z", "nothing_new");
    assert!(sandbox.calls().is_empty());
    let due = sandbox.clone().now("2026-11-21T00:00:00Z").reply(&answer(&[curate("# Facts")]));
    let row = pulse(&due);
    assert_eq!((&row["receipt"], sandbox.calls().len()), (&json!("ran"), 1), "{row:#}");
    assert!(sandbox.read(MEMORY).ends_with("---\n# Facts\n"));
    check(&sandbox, "2026-12-21T00:00:00Z", "nothing_new");
}

/// Mail that was held is taken up by the next tick once its directive goes on.
#[test]
fn a_tick_takes_up_what_is_no_longer_held() {
    use crate::ticks::{check, pulse, ticking};
    let sandbox = ticking();
    let id = crate::directives::add(&sandbox, &[]);
    done(&sandbox, &["directive", "pause", &id, "--why", "so"]);
    pulse(&sandbox);
    check(&sandbox, "2026-11-18T09:00:00Z", "nothing_new");
    assert!(sandbox.calls().is_empty());
    done(&sandbox, &["directive", "resume", &id, "--why", "so"]);
    let sandbox = sandbox.now("2026-11-18T10:00:00Z").reply("DONE");
    let row = pulse(&sandbox);
    assert_eq!((&row["receipt"], sandbox.calls().len()), (&json!("ran"), 1), "{row:#}");
}
