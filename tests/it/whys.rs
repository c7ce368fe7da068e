//! `why` and `schedulers`: every outcome has a reason that can be read.

use crate::sandbox::Sandbox;
use crate::ticks::{check, ticking};
use serde_json::Value;

const GATES: [&str; 8] =
    ["config", "due", "active hours", "lock", "safety gate", "budget", "quota", "wake check"];

#[track_caller]
fn why(sandbox: &Sandbox, now: &str) -> Value {
    sandbox.clone().now(now).run(["why", "business", "--json"]).json()["data"].clone()
}

/// The gates that did not pass, with their evidence.
#[track_caller]
fn failed(sandbox: &Sandbox, now: &str) -> Vec<(String, String)> {
    let data = why(sandbox, now);
    let gates = data["gates"].as_array().unwrap();
    let names: Vec<&str> = gates.iter().map(|gate| gate["gate"].as_str().unwrap()).collect();
    assert_eq!(names, GATES);
    assert_eq!(data["runs"], gates.iter().all(|gate| gate["verdict"] == "passed"));
    let text = |gate: &Value, key: &str| gate[key].as_str().unwrap().to_string();
    let not_passed = gates.iter().filter(|gate| gate["verdict"] != "passed");
    not_passed.map(|gate| (text(gate, "gate"), text(gate, "evidence"))).collect()
}

fn gates(failed: &[(String, String)]) -> Vec<&str> {
    failed.iter().map(|(gate, _)| gate.as_str()).collect()
}

#[test]
fn each_gate_says_no_for_its_own_reason() {
    let now = "2026-11-18T00:42:01Z";
    let sandbox = ticking().message("business", "Note", "Hi", "Think.").reply("DONE");
    assert_eq!(failed(&sandbox, now), []);
    let off = sandbox.clone().run(["config", "set", "business", "autoLoop", "false"]).any_stdout().then();
    assert_eq!(failed(&off, now), [("config".to_string(), "autoLoop is off".to_string())]);
    let sandbox = off.run(["config", "set", "business", "autoLoop", "true"]).any_stdout().then();
    let sandbox =
        sandbox.run(["config", "set", "business", "activeHours", "08:00-09:00 UTC"]).any_stdout().then();
    let closed = failed(&sandbox, now);
    assert_eq!(gates(&closed), ["active hours"]);
    assert!(closed[0].1.contains("from 2026-11-18T08:00:00Z"));
    let sandbox = sandbox.run(["config", "set", "business", "activeHours", "default"]).any_stdout().then();
    let sandbox = sandbox.run(["gate", "disable", "--why", "holiday"]).any_stdout().then();
    assert_eq!(gates(&failed(&sandbox, now)), ["safety gate"]);
    let sandbox = sandbox.run(["gate", "enable"]).any_stdout().then();
    check(&sandbox, now, "ran");
    let after = failed(&sandbox, "2026-11-18T00:42:30Z");
    assert_eq!(gates(&after), ["due", "wake check"]);
    assert!(after[1].1.contains("nothing changed since r-"));
    assert_eq!(gates(&failed(&sandbox, "2026-11-18T01:42:30Z")), ["wake check"]);
}

#[test]
fn it_changes_nothing() {
    let sandbox = ticking().message("business", "Note", "Hi", "Think.").reply("DONE");
    check(&sandbox, "2026-11-18T00:42:01Z", "ran");
    let before = (sandbox.tree(""), sandbox.read(".harness/wake.json"));
    why(&sandbox, "2026-11-18T00:42:30Z");
    sandbox.clone().run(["why", "business"]).any_stdout();
    sandbox.clone().run(["schedulers"]).any_stdout();
    assert_eq!((sandbox.tree(""), sandbox.read(".harness/wake.json")), before);
}

#[test]
fn the_past_is_told_from_receipts() {
    let sandbox = ticking().message("business", "Note", "Hi", "Think.").reply("DONE");
    check(&sandbox, "2026-11-18T01:00:00Z", "ran");
    check(&sandbox, "2026-11-18T02:00:00Z", "nothing_new");
    let at = |time: &str| {
        let run =
            sandbox.clone().now("2026-11-18T03:00:00Z").run(["why", "business", "--at", time, "--json"]);
        run.json()["data"].clone()
    };
    assert_eq!(at("2026-11-18T01:30:00Z")["receipt"]["code"], "ran");
    assert_eq!(at("2026-11-18T01:30:00Z")["runs"], true);
    assert_eq!(at("30m")["receipt"]["code"], "nothing_new");
    assert_eq!(at("2026-11-17")["receipt"], Value::Null);
    assert_eq!(at("2026-11-17")["gates"][0]["verdict"], "not_run");
    sandbox.run(["why", "business", "--at", "soon"]).status(2).any_stderr();
}

#[test]
fn schedulers_count_down() {
    let sandbox = ticking().message("business", "Note", "Hi", "Think.").reply("DONE");
    let row = |now: &str| {
        let run = sandbox.clone().now(now).run(["schedulers", "--json"]);
        run.json()["data"]["schedulers"].as_array().unwrap().clone()
    };
    check(&sandbox, "2026-11-18T01:00:00Z", "ran");
    assert_eq!(row("2026-11-18T01:00:20Z")[0]["secondsRemaining"], 40);
    assert_eq!(row("2026-11-18T01:02:00Z")[0]["secondsRemaining"], 0);
    assert_eq!(row("2026-11-18T01:02:00Z")[1]["secondsRemaining"], Value::Null);
    check(&sandbox, "2026-11-18T01:01:00Z", "nothing_new");
    assert_eq!(row("2026-11-18T01:11:00Z")[0]["calls_saved"], 10);
    assert_eq!(row("2026-11-18T01:02:00Z")[1]["closed"], "autoLoop is off");
    // Nothing is counted down to where nothing would run.
    sandbox.clone().run(["pause", "business", "--why", "holiday"]).any_stdout();
    let paused = row("2026-11-18T01:02:00Z")[0].clone();
    assert_eq!(
        (&paused["secondsRemaining"], &paused["closed"]),
        (&Value::Null, &"paused by user: holiday".into())
    );
    sandbox.clone().run(["gate", "disable", "--why", "night"]).any_stdout();
    let closed = row("2026-11-18T01:02:00Z")[0].clone();
    assert_eq!((&closed["secondsRemaining"], &closed["due_at"]), (&Value::Null, &Value::Null));
    assert_eq!(closed["closed"], "the gate is disabled (closed): night");
}
