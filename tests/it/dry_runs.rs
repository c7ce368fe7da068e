//! `--dry-run` of what steers the organisation: it says what would happen, and not a byte changes.

use crate::office::{act, action, data, decision, office, only, rule};
use crate::outcome::until;
use crate::sandbox::Sandbox;
use serde_json::json;

/// An organisation with something to decide of each kind.
fn undecided() -> (Sandbox, [String; 3]) {
    let sandbox =
        office().message("business", "Note", "Hi", "Body").message("business", "Note", "Two", "Body");
    let ask = action("ask_human", json!({"question": "Red?", "options": [], "unblocks": []}));
    let escalate = action("escalate", json!({"id": sandbox.sent(1)}));
    act(&sandbox, "business", &[decision(json!({"confidence": 1})), ask, escalate]);
    let ids = ["approvals", "questions", "escalations"].map(|folder| only(&sandbox, folder));
    (sandbox, ids)
}

#[track_caller]
fn shows(sandbox: &Sandbox, args: &[&str], told: &str) {
    let before = sandbox.everything();
    let args = [args, &["--dry-run"]].concat();
    let (status, stdout, stderr) = sandbox.start(&args).finish().parts();
    assert!(status == 0 && stdout.contains(told), "{args:?}: {status} {stdout}{stderr}");
    assert_eq!(data(sandbox, &args)["dry_run"], true, "{args:?}");
    assert!(sandbox.everything() == before, "{args:?} changed something");
}

#[test]
fn of_what_a_human_decides() {
    let (sandbox, [approval, question, escalation]) = undecided();
    shows(&sandbox, &["approvals", "approve", &approval], "would be approved and carried out");
    shows(&sandbox, &["approvals", "reject", &approval, "--why", "w"], "would be rejected");
    shows(&sandbox, &["questions", "answer", &question, "red"], "would be answered");
    shows(&sandbox, &["escalations", "resolve", &escalation, "--why", "w"], "would be resolved");
    let sandbox = rule(sandbox, "management", "\"Decision\", \"Priority\"", "\"Priority\"");
    shows(&sandbox, &["approvals", "approve", &approval], "but today's rules refuse it");
    crate::office::done(&sandbox, &["approvals", "reject", &approval, "--why", "w"]);
    shows(&sandbox, &["approvals", "reject", &approval, "--why", "w"], "was rejected already");
    sandbox.start(&["approvals", "approve", &approval, "--dry-run"]).finish().status(1).any_stderr();
}

#[test]
fn of_what_stops_and_starts() {
    let sandbox = office();
    shows(&sandbox, &["gate", "trip", "--why", "fire"], "Would be tripped (closed)");
    shows(&sandbox, &["gate", "disable", "--why", "w"], "Would be disabled (closed)");
    shows(&sandbox, &["gate", "enable"], "Would be enabled (open)");
    shows(&sandbox, &["pause", "rd", "--why", "w"], "Would pause: rd.");
    shows(&sandbox, &["resume", "--all"], "Would let run again: business,");
    shows(&sandbox, &["stop-loop", "rd"], "Would stop in rd: nothing.");
    shows(&sandbox, &["stop-all"], "Would trip the gate, stop nothing, and turn autoLoop off in nothing.");
    shows(&sandbox, &["recover", "rd"], "rd: nothing is left to finish.");
}

#[test]
fn of_a_run_shows_each_verdict_with_its_code_and_rule() {
    let low = decision(json!({"confidence": 1}));
    let wrong = decision(json!({"to": ["marketing"]}));
    let mark = action("mark_message", json!({"id": "MSGID", "status": "actioned"}));
    let standing = crate::office::answer(&[low.clone(), mark.clone()]);
    let refused = crate::office::answer(&[mark, wrong]);
    let sandbox = office().message("business", "Note", "Hi", "Body").reply("NEXT_WORKER MSGID");
    let before = sandbox.work();
    let run = sandbox.reply(&refused).reply(&standing).run(["run-loop", "business", "--dry-run"]);
    let run = run.any_stderr().stdout(
        "
        business: done (2 steps, 0.03 USD): shown, and nothing carried out
          orchestrator by claude about m-[..]
            decides NEXT_WORKER m-[..]
          worker by claude about m-[..]
            1. mark_message: allow (in_charter, charter.toml)
            2. send_message: refuse (recipient_not_allowed, charter.toml [sends] Decision)
            refused: recipient_not_allowed: line [..]
          worker by claude about m-[..]
            1. send_message a-[..]: needs approval (confidence_low, charter.toml [approval] confidence_below)
            2. mark_message m-[..] acknowledged, waits for a-[..]: allow (held, charter.toml)
        ",
    );
    assert!(run.work() == before, "nothing was carried out");
}

#[test]
fn of_a_run_tells_scripts_the_same() {
    let mark = action("mark_message", json!({"id": "MSGID", "status": "actioned"}));
    let sandbox = office().message("business", "Note", "Hi", "Body").reply("NEXT_WORKER MSGID");
    let sandbox = sandbox.reply(&crate::office::answer(&[mark]));
    let shown = data(&sandbox, &["run-loop", "business", "--dry-run"]);
    let (decides, acts) = (&shown["shown"][0], &shown["shown"][1]);
    assert_eq!((&shown["dry_run"], &decides["decision"]["decision"]), (&true.into(), &"NEXT_WORKER".into()));
    let verdict = ["do", "verdict", "code", "rule"].map(|key| acts["actions"][0][key].as_str().unwrap());
    assert_eq!(verdict, ["mark_message", "allow", "in_charter", "charter.toml"]);
}

#[test]
fn of_a_run_that_is_alive_and_of_one_that_is_dead() {
    let sandbox = office().message("business", "Note", "Hi", "Body").reply("#sleep 20s\nDONE");
    let running = sandbox.start(&["run-loop", "business"]);
    until("the engine is asked", || !sandbox.calls().is_empty());
    for args in [&["stop-loop", "business"][..], &["stop-all"]] {
        let (status, stdout, _) = sandbox.start(&[args, &["--dry-run"]].concat()).finish().parts();
        assert!(status == 0 && stdout.contains("r-2026"), "{stdout}");
    }
    let still = data(&sandbox, &["active-runs"])["runs"].as_array().unwrap().len();
    assert_eq!(still, 1, "it only said so");
    running.signal(rustix::process::Signal::KILL);
    running.finish().parts();
    until("the dead run is seen as dead", || {
        data(&sandbox, &["active-runs"])["runs"].as_array().unwrap().is_empty()
    });
    shows(&sandbox, &["recover", "business"], "and record it as killed");
    crate::office::done(&sandbox, &["recover", "business"]);
    shows(&sandbox, &["recover", "business"], "nothing is left to finish");
}
