//! What the tool stops by itself: runs that die one after another, and departments that spend and change nothing.

use crate::office::{act, data, decision, names, note, office, step};
use crate::outcome::until;
use crate::sandbox::Sandbox;
use rustix::process::Signal;
use serde_json::json;

fn die(sandbox: &Sandbox) {
    let before = sandbox.calls().len();
    let running = sandbox.clone().reply("#hang\n").start(&["run-director", "rd", "--role", "worker"]);
    until("the engine is asked", || sandbox.calls().len() > before);
    running.signal(Signal::KILL);
    running.finish().status(137).any_stderr().any_stdout();
}

/// Nobody knows what a call cost that was killed: it counts at the worst, and is never called nothing.
#[test]
fn a_run_that_died_in_a_call_has_no_known_cost() {
    let sandbox = office();
    die(&sandbox);
    sandbox.start(&["recover", "rd"]).finish().any_stdout().any_stderr();
    let run = crate::office::ledger(&sandbox, "rd").pop().unwrap();
    assert_eq!((&run["outcome"], &run["cost_usd"]), (&json!("killed"), &json!(null)), "{run}");
    assert_eq!(run["counted_usd"], 1.0, "{run}");
    let listed = crate::office::done(&sandbox, &["runs", "list", "rd"]);
    assert!(listed.contains("unknown"), "{listed}");
    sandbox.run(["verify"]).any_stdout();
}

#[test]
fn a_run_that_died_before_it_asked_cost_nothing() {
    let sandbox = office().message("rd", "Note", "Hi", "Body");
    let active = json!({"schema": 1, "run": "r-20261118-004100-aaaaaa", "kind": "loop", "role": "",
        "started": "2026-11-18T00:41:00Z", "pid": 999_999_999, "start_time": 1, "boot": "b",
        "guard_pid": null, "engine_pid": null});
    let sandbox = sandbox.bytes("org-rd/.harness/active.json", active.to_string().as_bytes());
    sandbox.start(&["recover", "rd"]).finish().any_stdout().any_stderr();
    let text = sandbox.read("org-rd/.harness/runs.jsonl");
    assert!(text.contains("\"outcome\":\"killed\"") && text.contains("\"cost_usd\":0.0"), "{text}");
}

#[test]
fn who_runs_is_never_guessed_from_a_file_that_can_not_be_read() {
    let file = "org-rd/.harness/active.json";
    let sandbox = office().bytes(file, b"{\"schema\": 1, \"run\": ");
    let (status, _, stderr) = sandbox.start(&["recover", "rd"]).finish().parts();
    assert!(status == 0 && stderr.contains("active.json was set aside in quarantine"), "{stderr}");
    assert!(!sandbox.exists(file) && sandbox.exists("org-rd/.harness/quarantine/active.json"));
    let newer = b"{\"schema\": 9, \"run\": \"r-1\"}";
    let sandbox = office().message("rd", "Note", "Hi", "Body").bytes(file, newer);
    for args in [&["recover", "rd"][..], &["run-loop", "rd"]] {
        let (status, _, stderr) = sandbox.start(args).finish().parts();
        assert!(status == 3 && stderr.contains("a newer program wrote"), "{status} {stderr}");
    }
    assert_eq!((sandbox.read(file).as_bytes(), sandbox.calls().len()), (&newer[..], 0));
}

/// A log that can't be written keeps the engine from being asked, and then nothing is spent.
#[test]
fn what_was_reserved_for_a_call_that_never_began_is_given_back() {
    let sandbox = office().message("rd", "Note", "Hi", "Body").link("org-rd/.harness/live.log", "elsewhere");
    let (status, _, stderr) = step(&sandbox, "rd").parts();
    assert!(status == 1 && stderr.contains("live.log"), "{status} {stderr}");
    let limits = data(&sandbox, &["budget"]).to_string();
    let book = sandbox.read(".harness/budget.jsonl");
    assert_eq!(book.matches("\"line\":\"settle\"").count(), 1, "{book}");
    assert!(book.contains("\"usd\":0.0,"), "{book} {limits}");
}

#[test]
fn three_runs_in_a_row_that_died_trip_the_gate() {
    // A call that was killed counts at its worst, a dollar: five of them must be in the budget.
    let sandbox = office().edit(".harness/org.toml", "usd_per_day = 3.0", "usd_per_day = 9.0");
    (0..2).for_each(|_| die(&sandbox));
    act(&sandbox, "rd", &[note()]);
    (0..3).for_each(|_| die(&sandbox));
    let run = sandbox.clone().run(["run-loop", "rd"]).status(3).any_stderr();
    drop(run);
    let gate = data(&sandbox, &["gate", "show"]);
    let reason = gate["reason"].as_str().unwrap();
    assert_eq!((&gate["state"], &gate["by"]), (&"tripped".into(), &"harness".into()));
    assert!(
        reason.starts_with("3 runs of rd in a row died: r-") && reason.matches("r-").count() == 3,
        "{reason}"
    );
    let audit = sandbox.read(".harness/audit.jsonl");
    assert_eq!(audit.matches("tripped: 3 runs of rd").count(), 1);
    sandbox.run(["verify"]).any_stdout();
}

/// Spends a cent and changes nothing.
fn idle(sandbox: &Sandbox, dept: &str) {
    let reply = "There is nothing to do here.\n\n```actions NONCE\n[]\n```\n";
    step(&sandbox.clone().reply(reply), dept).any_stdout().any_stderr();
}

#[test]
fn five_runs_that_spend_and_change_nothing_pause_a_department_once() {
    let sandbox = office();
    let proposal = decision(json!({"to": ["business"], "kind": "Proposal"}));
    (0..4).for_each(|_| idle(&sandbox, "rd"));
    act(&sandbox, "rd", &[proposal]);
    (0..4).for_each(|_| idle(&sandbox, "rd"));
    assert!(!sandbox.exists("org-rd/.harness/paused.json"));
    idle(&sandbox, "rd");
    assert!(
        sandbox
            .read("org-rd/.harness/paused.json")
            .contains("5 runs in a row spent 0.05 USD and changed nothing")
    );
    assert_eq!(names(&sandbox, "org-rd/escalations").len(), 1);
    let calls = sandbox.calls().len();
    let run = step(&sandbox, "rd").status(3);
    run.stderr("error: the department is paused: 5 runs in a row spent 0.05 USD and changed nothing (by harness)\nhint: `harness resume rd` lets it run again\n");
    assert_eq!((sandbox.calls().len(), names(&sandbox, "org-rd/escalations").len()), (calls, 1));
    sandbox.run(["gate", "check"]).any_stdout();
}

#[test]
fn resumed_it_may_try_as_often_again() {
    let sandbox = office();
    (0..5).for_each(|_| idle(&sandbox, "rd"));
    for escalations in 1..3 {
        assert_eq!(names(&sandbox, "org-rd/escalations").len(), escalations);
        sandbox.start(&["resume", "rd"]).finish().any_stdout();
        (0..4).for_each(|_| idle(&sandbox, "rd"));
        assert!(!sandbox.exists("org-rd/.harness/paused.json"));
        idle(&sandbox, "rd");
        assert!(sandbox.exists("org-rd/.harness/paused.json"));
    }
}

#[test]
fn three_departments_paused_within_an_hour_trip_the_gate() {
    let sandbox = office();
    for dept in ["rd", "marketing"] {
        (0..5).for_each(|_| idle(&sandbox, dept));
    }
    let late = sandbox.clone().now("2026-11-18T01:30:00Z");
    sandbox.start(&["gate", "check"]).finish().any_stdout();
    (0..5).for_each(|_| idle(&late, "technology"));
    let gate = data(&sandbox, &["gate", "show"]);
    assert_eq!(
        gate["reason"],
        "3 departments were paused within an hour for spending without changing anything: marketing, rd, technology"
    );
    let audit = sandbox.read(".harness/audit.jsonl");
    assert_eq!(audit.matches("tripped: 3 departments were paused").count(), 1);
}

#[test]
fn departments_paused_hours_apart_or_by_a_human_trip_nothing() {
    let sandbox = office();
    for (dept, at) in [("rd", "00:00:00"), ("marketing", "03:00:00"), ("technology", "06:00:00")] {
        let then = sandbox.clone().now(&format!("2026-11-18T{at}Z"));
        (0..5).for_each(|_| idle(&then, dept));
    }
    let sandbox = sandbox.now("2026-11-18T06:10:00Z");
    sandbox.start(&["pause", "--all", "--why", "holidays"]).finish().any_stdout();
    sandbox.run(["gate", "check"]).any_stdout();
}

/// What a job was started for has come back: the department did not spend in vain.
#[test]
fn a_job_that_came_back_is_progress() {
    let sandbox = office();
    (0..4).for_each(|_| idle(&sandbox, "management"));
    let add = ["task", "add", "management", "--title", "Conditions: it", "--description", "Write them down."];
    let id = crate::office::done(&sandbox, &add).trim().to_string();
    crate::office::done(&sandbox, &["task", "assign", &id, "planner"]);
    let ledger = crate::office::ledger(&sandbox, "management");
    if !ledger.iter().any(|line| line["kind"] == "dispatch") {
        sandbox.start(&["run-loop", "management", "--engine", "rules"]).finish().any_stdout().any_stderr();
    }
    let ledger = crate::office::ledger(&sandbox, "management");
    let job = ledger.iter().find(|line| line["kind"] == "dispatch").unwrap();
    assert_eq!(
        (&job["outcome"], &job["task"], &job["agent"]),
        (&json!("done"), &json!(id), &json!("planner"))
    );
    (0..4).for_each(|_| idle(&sandbox, "management"));
    assert!(!sandbox.exists("org-management/.harness/paused.json"));
    idle(&sandbox, "management");
    assert!(sandbox.exists("org-management/.harness/paused.json"), "five in vain since then");
}
