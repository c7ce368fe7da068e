//! Schedules: slots that fire once, by tick, as messages from harness; the command and the actions.

use crate::desk::key;
use crate::office::{act, action, refused};
use crate::sandbox::{Sandbox, write};
use crate::ticks::{check, ticking};
use director_harness::domain::schedule::SCHEDULES_MAX;
use serde_json::json;

const PROMPT: &str = "Review the budget.";

fn with(sandbox: Sandbox, name: &str, when: [&str; 2]) -> Sandbox {
    let run = sandbox.run(["schedule", "add", "business", name, when[0], when[1], "--prompt", PROMPT]);
    run.stdout(&format!("{name}\n")).any_stderr().then()
}

fn hourly() -> Sandbox {
    with(ticking(), "hourly", ["--cron", "0 * * * *"])
}

/// Messages that schedules have sent, wherever they are by now.
fn fired(sandbox: &Sandbox) -> usize {
    let all = sandbox.tree("org-business");
    let mail = all.lines().filter(|line| line.contains("inbox/") && line.ends_with(".md"));
    mail.filter(|path| sandbox.read(&format!("org-business/{path}")).contains("Schedule ")).count()
}

#[test]
fn a_slot_becomes_a_message_once() {
    let sandbox = hourly().reply("DONE").reply("DONE");
    check(&sandbox, "2026-11-18T00:59:59Z", "nothing_open");
    assert_eq!(fired(&sandbox), 0);
    check(&sandbox, "2026-11-18T01:00:00Z", "ran");
    for now in ["2026-11-18T01:00:01Z", "2026-11-18T01:00:30Z", "2026-11-18T01:59:59Z"] {
        check(&sandbox, now, "nothing_new");
    }
    assert_eq!(fired(&sandbox), 1);
    check(&sandbox, "2026-11-18T02:00:10Z", "ran");
    assert_eq!((fired(&sandbox), sandbox.calls().len()), (2, 2));
    let inbox = sandbox.tree("org-business/inbox");
    let text = sandbox.read(&format!("org-business/inbox/{}", inbox.lines().next().unwrap()));
    assert_eq!((key(&text, "from"), key(&text, "kind")), (Some("harness"), Some("System")));
    assert_eq!(key(&text, "created"), Some("2026-11-18T01:00:00Z"));
    assert!(text.ends_with("---\nReview the budget.\n"), "{text}");
}

#[test]
fn a_lost_note_or_a_clock_set_back_fires_none_again() {
    let sandbox = hourly().reply("DONE").reply("DONE");
    check(&sandbox, "2026-11-18T01:00:00Z", "ran");
    let sandbox =
        sandbox.without_file("org-business/.harness/schedules.json").without_file(".harness/wake.json");
    check(&sandbox, "2026-11-18T01:00:30Z", "ran");
    check(&sandbox, "2026-11-18T00:30:00Z", "nothing_new");
    check(&sandbox, "2026-11-18T01:00:00Z", "nothing_new");
    check(&sandbox, "2026-11-18T01:01:00Z", "nothing_new");
    assert_eq!(fired(&sandbox), 1);
}

#[test]
fn a_tick_that_dies_fires_no_slot_twice_and_loses_none() {
    // The rules escalate what they don't know, and that costs nothing.
    let sandbox = hourly().run(["config", "set", "business", "engine", "rules"]).any_stdout().then();
    let (mut died, mut day, mut hour) = (0, 18, 1);
    for operation in 1..=24 {
        let now = format!("2026-11-{day}T{hour:02}:00:00Z");
        let fault = format!("die-{}:{operation}", ["before", "torn", "after"][operation % 3]);
        let dying = sandbox.clone().now(&now).env("HARNESS_TEST_FAULT", fault);
        let (status, _, _) = dying.run(["tick", "business"]).parts();
        died += usize::from(status == 137);
        // Three deaths in a row trip the gate, as they should; the human opens it, and the next tick goes on.
        sandbox.clone().now(&now).run(["tick", "business"]).parts();
        sandbox.clone().now(&now).run(["gate", "enable"]).any_stdout();
        sandbox.clone().now(&now).run(["tick", "business"]).any_stdout().any_stderr();
        let told = sandbox.read("org-business/.harness/receipts.jsonl");
        assert_eq!(fired(&sandbox), operation, "{now}, killed at {operation}: {told}");
        (day, hour) = if hour == 23 { (day + 1, 0) } else { (day, hour + 1) };
    }
    assert!(died > 12, "{died}");
    sandbox.now("2026-11-20T00:00:00Z").run(["verify"]).any_stdout();
}

#[test]
fn what_was_missed_is_up_to_the_policy_and_told() {
    let asleep = "2026-11-18T05:30:00Z";
    let latest = hourly().reply("DONE");
    check(&latest, "2026-11-18T00:59:00Z", "nothing_open");
    check(&latest, asleep, "ran");
    assert_eq!(fired(&latest), 1);
    assert!(latest.read("org-business/.harness/receipts.jsonl").contains("4 slots were missed"));
    let skip = hourly().run(["config", "set", "business", "missedRuns", "skip"]).any_stdout().then();
    check(&skip, "2026-11-18T00:59:00Z", "nothing_open");
    check(&skip, asleep, "nothing_new");
    assert_eq!(fired(&skip), 0);
    assert!(skip.read("org-business/.harness/receipts.jsonl").contains("5 slots were missed"));
}

#[test]
fn once_comes_once_and_is_put_away() {
    let sandbox = with(ticking(), "launch", ["--at", "2026-11-18T09:00"]).reply("DONE");
    check(&sandbox, "2026-11-18T08:59:59Z", "nothing_open");
    check(&sandbox, "2026-11-18T09:00:00Z", "ran");
    assert_eq!(sandbox.tree("org-business/schedules"), "");
    assert_eq!(sandbox.tree("org-business/archive/schedules"), "2026-11/\n2026-11/launch.toml\n");
    check(&sandbox, "2026-11-19T09:00:00Z", "nothing_new");
    assert_eq!(fired(&sandbox), 1);
}

#[test]
fn a_department_that_may_not_run_is_not_flooded() {
    let sandbox = hourly().run(["pause", "business", "--why", "holiday"]).any_stdout().then();
    for hour in 1..9 {
        check(&sandbox, &format!("2026-11-18T0{hour}:00:10Z"), "paused");
    }
    assert_eq!(fired(&sandbox), 0);
    let sandbox = sandbox.run(["resume", "business"]).any_stdout().then().reply("DONE");
    check(&sandbox, "2026-11-18T09:30:00Z", "ran");
    assert_eq!(fired(&sandbox), 1);
}

#[test]
fn the_command_lists_adds_and_removes() {
    let sandbox = hourly();
    let row = sandbox.clone().run(["schedule", "list", "--json"]).json()["data"]["schedules"][0].clone();
    assert_eq!(row["next_at"], "2026-11-18T01:00:00Z");
    assert_eq!((row["dept"].as_str(), row["timezone"].as_str()), (Some("business"), Some("UTC")));
    let again = ["schedule", "add", "business", "hourly", "--cron", "* * * * *", "--prompt", "x"];
    let sandbox = sandbox.run(again).status(1).any_stderr().then();
    for bad in ["61 * * * *", "* * * *", "0 0 9 * * *", "0 0 30 2 *"] {
        let args = ["schedule", "add", "business", "bad", "--cron", bad, "--prompt", "x"];
        sandbox.clone().run(args).status(2).any_stderr();
    }
    let past = ["schedule", "add", "business", "bad", "--at", "2020-01-01T00:00:00Z", "--prompt", "x"];
    let sandbox = sandbox.run(past).status(2).any_stderr().then();
    let sandbox = sandbox.run(["schedule", "remove", "business", "hourly", "--dry-run"]).any_stdout().then();
    assert!(sandbox.exists("org-business/schedules/hourly.toml"));
    let sandbox = sandbox.run(["schedule", "remove", "business", "hourly"]).any_stdout().then();
    assert!(!sandbox.exists("org-business/schedules/hourly.toml"));
    let sandbox = sandbox.run(["schedule", "remove", "business", "hourly"]).status(1).any_stderr().then();
    let audit = sandbox.read(".harness/audit.jsonl");
    assert!(audit.contains("added hourly") && audit.contains("removed hourly"));
    sandbox.env("HARNESS_RUN", "r-1").run(again).status(3).any_stderr();
}

#[test]
fn a_director_schedules_and_unschedules() {
    let plan = |name: &str| {
        action("schedule", json!({"name": name, "cron": "0 9 * * mon", "prompt": PROMPT, "confidence": 90}))
    };
    let sandbox = ticking().charter("\"curate_memory\",", "\"curate_memory\", \"schedule\", \"unschedule\",");
    act(&sandbox, "business", &[plan("monday")]);
    let text = sandbox.read("org-business/schedules/monday.toml");
    assert!(text.contains("by = \"business\"") && text.contains("provenance = \"department\""), "{text}");
    let codes = |actions: &[serde_json::Value]| -> Vec<String> {
        refused(&sandbox, "business", actions).into_iter().map(|(code, _)| code).collect()
    };
    assert_eq!(codes(&[plan("monday")]), ["schedule_exists"]);
    let never = action(
        "schedule",
        json!({"name": "never", "cron": "0 0 30 2 *", "prompt": PROMPT, "confidence": 90}),
    );
    assert_eq!(codes(&[never]), ["bad_schedule"]);
    assert_eq!(codes(&[action("unschedule", json!({"name": "tuesday"}))]), ["no_schedule"]);
    act(&sandbox, "business", &[action("unschedule", json!({"name": "monday"}))]);
    assert!(sandbox.read("org-business/schedules/monday.toml").contains("ended = "));
    let memory = sandbox.read("org-business/memory/2026-11-18.md");
    assert!(memory.contains("[cron] department\n  Scheduled monday: 0 9 * * mon"), "{memory}");
    assert!(memory.contains("[cron] department\n  Unscheduled monday.\n"), "{memory}");
    for number in 0..SCHEDULES_MAX {
        let text = format!("schema = 1\nat = \"2027-01-01T00:00:00Z\"\nprompt = \"Look {number}.\"\n");
        write(&sandbox.root().join(format!("org-business/schedules/s{number}.toml")), text.as_bytes());
    }
    assert_eq!(codes(&[plan("tuesday")]), ["too_many_schedules"]);
    for number in 0..SCHEDULES_MAX {
        std::fs::remove_file(sandbox.root().join(format!("org-business/schedules/s{number}.toml"))).unwrap();
    }
    // Without anything new in memory to consolidate, there is nothing to do when the slot would have come.
    let sandbox = sandbox.clone().without_file("org-business/memory/2026-11-18.md");
    check(&sandbox, "2026-11-23T09:00:00Z", "nothing_open");
    assert_eq!(fired(&sandbox), 0);
    act(&sandbox, "business", &[plan("monday")]);
}

#[test]
fn each_change_of_schedules_is_remembered() {
    let sandbox = Sandbox::new().apart().organisation();
    let add = [
        "schedule",
        "add",
        "rd",
        "monday",
        "--cron",
        "0 9 * * mon",
        "--timezone",
        "UTC",
        "--prompt",
        "Plan.",
    ];
    sandbox.start(&add).finish().any_stdout().any_stderr();
    sandbox.start(&["schedule", "remove", "rd", "monday"]).finish().any_stdout().any_stderr();
    let memory = sandbox.read("org-rd/memory/2026-11-18.md");
    assert!(memory.contains("[cron] human\n  Scheduled monday: 0 9 * * mon (UTC).\n  Plan.\n"), "{memory}");
    assert!(memory.contains("[cron] human\n  Unscheduled monday.\n"), "{memory}");
}
