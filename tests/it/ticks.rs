//! `tick`: what runs, what doesn't, and the receipt that says why.

use crate::office::{answer, office};
use crate::outcome::Run;
use crate::sandbox::Sandbox;
use serde_json::Value;

/// The five departments with the fake engine; business is run by ticks.
pub fn ticking() -> Sandbox {
    office().run(["config", "set", "business", "autoLoop", "true"]).any_stdout().then()
}

/// One pulse of business, and its row.
#[track_caller]
pub fn pulse(sandbox: &Sandbox) -> Value {
    let run = sandbox.clone().run(["tick", "business", "--json"]);
    run.json()["data"]["departments"][0].clone()
}

#[track_caller]
pub fn check(sandbox: &Sandbox, now: &str, receipt: &str) {
    let row = pulse(&sandbox.clone().now(now));
    assert_eq!(row["receipt"], receipt, "{now}: {row:#}");
}

fn note(sandbox: Sandbox) -> Sandbox {
    sandbox.message("business", "Note", "Hi", "Something to think about.")
}

fn runs(run: Run) -> Vec<String> {
    run.any_stdout().then().tree("org-business/.harness/director-runs").lines().map(str::to_owned).collect()
}

#[test]
fn a_quiet_tick_says_nothing_and_is_alive() {
    let sandbox = Sandbox::new().organisation();
    let sandbox = sandbox.run(["tick"]).stdout("").then();
    assert!(sandbox.exists(".harness/alive") && sandbox.exists(".harness/wake.json"));
}

#[test]
fn mail_is_handled_and_recorded_as_the_schedulers() {
    let sandbox = note(ticking()).reply("NEXT_WORKER MSGID").reply(&answer(&[mark()]));
    let row = pulse(&sandbox);
    assert_eq!((row["receipt"].as_str(), row["run"]["outcome"].as_str()), (Some("ran"), Some("done")));
    let records = sandbox.tree("org-business/.harness/director-runs");
    assert!(records.contains("20261118T004201Z_scheduler.md"), "{records}");
    assert_eq!(sandbox.calls().len(), 2);
    check(&sandbox, "2026-11-18T09:00:00Z", "nothing_new");
}

fn mark() -> Value {
    crate::office::action("mark_message", serde_json::json!({"id": "MSGID", "status": "archived"}))
}

#[test]
fn what_the_director_left_open_is_not_asked_again() {
    let sandbox = note(ticking()).reply("DONE");
    assert_eq!(pulse(&sandbox)["receipt"], "ran");
    for minute in 1..=60 {
        let now = format!("2026-11-18T{:02}:{:02}:00Z", 1 + minute / 60, minute % 60);
        check(&sandbox, &now, "nothing_new");
    }
    assert_eq!(sandbox.calls().len(), 1);
}

#[test]
fn new_mail_is_due_at_once_and_a_note_after_the_interval() {
    let sandbox = note(ticking()).reply("DONE").reply("DONE").reply("DONE");
    check(&sandbox, "2026-11-18T00:42:01Z", "ran");
    let sandbox = note(sandbox);
    check(&sandbox, "2026-11-18T00:42:02Z", "ran");
    let sandbox = sandbox.file("org-business/notes.md", "Be brief.\n");
    check(&sandbox, "2026-11-18T00:42:03Z", "not_due");
    check(&sandbox, "2026-11-18T00:43:01Z", "not_due");
    check(&sandbox, "2026-11-18T00:43:02Z", "ran");
    assert_eq!(sandbox.calls().len(), 3);
}

#[test]
fn a_touched_file_is_nothing_new() {
    let sandbox = note(ticking()).reply("DONE");
    check(&sandbox, "2026-11-18T00:42:01Z", "ran");
    let notes = sandbox.read("org-business/notes.md");
    let sandbox =
        sandbox.file("org-business/notes.md", "other\n").bytes("org-business/notes.md", notes.as_bytes());
    check(&sandbox, "2026-11-18T09:00:00Z", "nothing_new");
    assert_eq!(sandbox.calls().len(), 1);
}

#[test]
fn nothing_open_is_no_run() {
    let sandbox = ticking();
    check(&sandbox, "2026-11-18T00:42:01Z", "nothing_open");
    check(&sandbox, "2026-11-18T00:42:02Z", "nothing_new");
    assert_eq!(runs(sandbox.clone().run(["tick"])), Vec::<String>::new());
    assert!(sandbox.calls().is_empty());
}

#[test]
fn what_is_off_paused_or_gated_is_not_run() {
    let off = note(office());
    assert_eq!(pulse(&off)["receipt"], "off");
    let sandbox = note(ticking()).reply("DONE");
    let sandbox = sandbox.run(["gate", "disable", "--why", "holiday"]).any_stdout().then();
    check(&sandbox, "2026-11-18T00:42:01Z", "gate_closed");
    let sandbox = sandbox.run(["gate", "enable"]).any_stdout().then();
    let sandbox = sandbox.run(["pause", "business", "--why", "holiday"]).any_stdout().then();
    check(&sandbox, "2026-11-18T00:42:02Z", "paused");
    let sandbox = sandbox.run(["resume", "business"]).any_stdout().then();
    assert!(sandbox.calls().is_empty());
    check(&sandbox, "2026-11-18T00:43:02Z", "ran");
    assert_eq!(sandbox.calls().len(), 1);
}

#[test]
fn hours_are_kept() {
    let sandbox = note(ticking()).reply("DONE");
    let sandbox =
        sandbox.run(["config", "set", "business", "activeHours", "08:00-18:00 UTC"]).any_stdout().then();
    check(&sandbox, "2026-11-18T07:59:59Z", "outside_hours");
    check(&sandbox, "2026-11-18T08:00:00Z", "ran");
}

#[test]
fn a_failed_run_is_tried_again_three_times_and_then_escalated_once() {
    let fail = "#exit 1\n";
    let sandbox = (0..5).fold(note(ticking()), |sandbox, _| sandbox.reply(fail));
    check(&sandbox, "2026-11-18T01:00:00Z", "ran");
    for (before, at) in [
        ("2026-11-18T01:04:59Z", "2026-11-18T01:05:00Z"),
        ("2026-11-18T01:34:59Z", "2026-11-18T01:35:00Z"),
        ("2026-11-18T04:34:59Z", "2026-11-18T04:35:00Z"),
    ] {
        check(&sandbox, before, "waits_to_retry");
        check(&sandbox, at, "ran");
    }
    assert_eq!(sandbox.calls().len(), 4);
    assert_eq!(sandbox.tree("org-business/escalations").lines().count(), 1);
    for now in ["2026-11-18T04:36:00Z", "2026-11-19T00:00:00Z", "2026-12-18T00:00:00Z"] {
        check(&sandbox, now, "gave_up");
    }
    assert_eq!(sandbox.calls().len(), 4);
    assert_eq!(sandbox.tree("org-business/escalations").lines().count(), 1);
}

#[test]
fn strict_tells_of_a_failed_run() {
    let failing = || note(ticking()).reply("#exit 1\n");
    failing().run(["tick"]).status(0).any_stdout();
    failing().run(["tick", "--strict"]).status(12).any_stdout();
}

#[test]
fn a_config_is_read_again_each_time() {
    let sandbox = note(office()).reply("DONE");
    assert_eq!(pulse(&sandbox)["receipt"], "off");
    let config = "{\"schema\": 1, \"autoLoop\": true, \"autoIntervalSeconds\": 60}\n";
    let sandbox = sandbox.file("org-business/.harness/director-config.json", config);
    assert_eq!(pulse(&sandbox)["receipt"], "ran");
    let sandbox = sandbox.file("org-business/.harness/director-config.json", "{");
    let run = sandbox.run(["tick", "business", "--json"]).status(1);
    assert_eq!(run.json()["data"]["departments"][0]["receipt"], "unreadable");
}

#[test]
fn a_dead_run_is_settled_by_the_next_tick() {
    let sandbox = note(ticking()).reply("#hang\n").reply("DONE");
    let running = sandbox.start(&["tick", "business"]);
    crate::outcome::until("the engine runs", || sandbox.home().join(".fake/calls/01/ready").exists());
    running.signal(rustix::process::Signal::KILL);
    running.finish().status(137);
    assert_eq!(pulse(&sandbox)["receipt"], "ran");
    let ledger = sandbox.read("org-business/.harness/runs.jsonl");
    assert!(ledger.contains("\"outcome\":\"killed\"") && ledger.contains("\"outcome\":\"done\""), "{ledger}");
}
