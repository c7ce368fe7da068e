//! Ticks over what is damaged, many departments at once, and clocks that went back: each is that department's own affair,
//! nobody is asked twice for it, and what is read grows with nothing.

use crate::office::office;
use crate::outcome::until;
use crate::sandbox::{Sandbox, write};
use crate::ticks::{check, pulse, ticking};
use rustix::process::Signal;
use serde_json::Value;
use std::time::{SystemTime, UNIX_EPOCH};

fn note(sandbox: Sandbox) -> Sandbox {
    sandbox.message("business", "Note", "Hi", "Something to think about.")
}

/// Business and rd are run by ticks.
fn two() -> Sandbox {
    ticking().run(["config", "set", "rd", "autoLoop", "true"]).any_stdout().then()
}

fn row(rows: &Value, dept: &str) -> Value {
    rows.as_array().unwrap().iter().find(|row| row["dept"] == dept).unwrap().clone()
}

fn tick(sandbox: &Sandbox) -> Value {
    sandbox.clone().run(["tick", "--json"]).json()["data"]["departments"].clone()
}

/// Says when everything was last looked at.
fn looked(sandbox: &Sandbox, ago: impl FnOnce(u64) -> u64) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    write(&sandbox.root().join(".harness/alive"), format!("{:012} *\n", ago(now)).as_bytes());
}

#[test]
fn a_department_that_takes_no_receipt_holds_up_no_other() {
    let sandbox = note(two()).reply("DONE");
    std::fs::create_dir(sandbox.root().join("org-rd/.harness/receipts.jsonl")).unwrap();
    let rows = tick(&sandbox);
    assert_eq!((&row(&rows, "business")["receipt"], sandbox.calls().len()), (&"ran".into(), 1));
    let rd = row(&rows, "rd");
    assert_eq!(rd["receipt"], "unreadable");
    assert!(rd["why"].as_str().unwrap().contains("receipts.jsonl"), "{rd}");
    // It is said once, and looked at again until it is put right.
    assert_eq!(row(&tick(&sandbox), "rd")["new"], false);
    std::fs::remove_dir(sandbox.root().join("org-rd/.harness/receipts.jsonl")).unwrap();
    assert_eq!(row(&tick(&sandbox), "rd")["receipt"], "nothing_new");
}

#[test]
fn a_wake_json_that_cant_be_kept_asks_nobody() {
    let sandbox = note(ticking()).reply("DONE");
    let path = sandbox.root().join(".harness/wake.json");
    std::fs::create_dir(&path).unwrap();
    let refused = |what: &str| {
        // Business alone: nothing else is written before it would run.
        let run = sandbox.clone().run(["tick", "business"]).status(1);
        let (_, _, stderr) = run.parts();
        assert!(
            stderr.contains("wake.json") && stderr.contains(what) && stderr.contains("hint:"),
            "{stderr}"
        );
        assert!(sandbox.calls().is_empty(), "an engine was asked, and what came of it can't be remembered");
    };
    refused("it is");
    std::fs::remove_dir(&path).unwrap();
    // A newer program's is never rewritten.
    let newer = "{\"schema\":2,\"at\":0,\"idle\":{},\n\"departments\":{}}\n";
    write(&path, newer.as_bytes());
    refused("its schema is 2, and this program knows 1");
    sandbox.clone().run(["config", "set", "business", "maxIterations", "5"]).any_stdout();
    assert_eq!(sandbox.read(".harness/wake.json"), newer);
    // A damaged one is made anew.
    write(&path, b"\xff{");
    assert_eq!(pulse(&sandbox)["receipt"], "ran");
}

#[test]
fn a_clock_that_went_back_is_overcome_at_once() {
    let sandbox = note(ticking()).reply("DONE");
    check(&sandbox, "2027-11-18T00:42:01Z", "ran");
    check(&sandbox, "2026-11-18T00:42:01Z", "nothing_new");
    check(&sandbox, "2026-11-18T00:42:31Z", "nothing_new");
    let wake: Value = serde_json::from_str(&sandbox.read(".harness/wake.json")).unwrap();
    let at = wake["at"].as_i64().unwrap();
    assert!(at < 1_800_000_000, "every tick of a year would look closely: {at}");
    assert_eq!(sandbox.calls().len(), 1);
    // Also where nothing else changes.
    let sandbox = Sandbox::new().organisation();
    let wake = |now: &str| {
        sandbox.clone().now(now).run(["tick"]).any_stdout();
        sandbox.read(".harness/wake.json")
    };
    let mut last = String::new();
    until("it has come to rest", || std::mem::replace(&mut last, wake("2027-11-18T00:42:01Z")) == last);
    let back: Value = serde_json::from_str(&wake("2026-11-18T00:42:01Z")).unwrap();
    assert!(back["at"].as_i64().unwrap() < 1_800_000_000, "{back}");
}

#[test]
fn a_backlog_is_one_also_for_runs_in_processes_of_their_own() {
    let mark = serde_json::json!({"id": "MSGID", "status": "archived"});
    let mark = crate::office::answer(&[crate::office::action("mark_message", mark)]);
    let sandbox = two();
    tick(&sandbox);
    let sandbox =
        (0..8).fold(sandbox, |sandbox, _| note(sandbox).message("rd", "Note", "Hi", "Something else."));
    let sandbox = (0..16).fold(sandbox, |sandbox, _| sandbox.reply("NEXT_WORKER MSGID").reply(&mark));
    looked(&sandbox, |now| now - 7_200);
    sandbox.clone().now("2026-11-18T06:00:00Z").run(["tick", "--jobs", "1"]).any_stdout();
    let asked = |dept: &str| sandbox.calls().iter().filter(|call| call.env["HARNESS_DEPT"] == dept).count();
    assert_eq!((asked("business"), asked("rd")), (10, 10));
}

#[test]
fn what_time_settles_is_settled_where_autoloop_is_off() {
    let sandbox = office();
    let spend = crate::office::decision(serde_json::json!({"confidence": 10}));
    crate::office::act(&sandbox, "business", &[spend]);
    check(&sandbox, "2026-11-18T00:42:10Z", "off");
    check(&sandbox, "2026-11-21T00:42:01Z", "off");
    let approvals = sandbox.tree("org-business/approvals");
    let text = sandbox.read(&format!("org-business/approvals/{}", approvals.trim()));
    assert!(text.contains("status: expired"), "{text}");
}

#[test]
fn the_first_directive_is_no_news_to_anybody_else() {
    let sandbox = two();
    let sandbox = sandbox.message("rd", "Note", "Hi", "Something to think about.").reply("DONE");
    assert_eq!(row(&tick(&sandbox), "rd")["receipt"], "ran");
    let args = ["directive", "add", "--title", "Grow", "--body", "Grow by a tenth."];
    sandbox.clone().run(args).any_stdout().any_stderr();
    assert_eq!(row(&tick(&sandbox.clone().now("2026-11-18T09:00:00Z")), "rd")["receipt"], "nothing_new");
    let asked = sandbox.calls();
    assert_eq!(asked.iter().filter(|call| call.env["HARNESS_DEPT"] == "rd").count(), 1);
}

#[test]
fn a_watch_sees_a_file_that_was_changed_in_place() {
    let sandbox = note(ticking()).reply("DONE").reply("DONE");
    assert_eq!(pulse(&sandbox)["receipt"], "ran");
    until("it has come to rest", || pulse(&sandbox)["new"] == false);
    let path = sandbox.root().join(format!("org-business/inbox/{}.md", sandbox.sent(0)));
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text + "And more.\n").unwrap();
    // The next look is a full one.
    looked(&sandbox, |now| now - now % 600 - 1);
    let sandbox = sandbox.now("2026-11-18T09:00:00Z");
    let running = sandbox.start(&["watch", "--every", "3600"]);
    until("the engine was asked about the change", || sandbox.calls().len() == 2);
    running.signal(Signal::INT);
    running.finish().status(130).any_stderr();
}

#[test]
fn a_watch_that_slept_works_off_a_backlog_in_portions() {
    let mark = serde_json::json!({"id": "MSGID", "status": "archived"});
    let mark = crate::office::answer(&[crate::office::action("mark_message", mark)]);
    let sandbox = ticking();
    check(&sandbox, "2026-11-18T01:00:00Z", "nothing_open");
    let sandbox = (0..8).fold(sandbox, |sandbox, _| note(sandbox));
    let sandbox = (0..8).fold(sandbox, |sandbox, _| sandbox.reply("NEXT_WORKER MSGID").reply(&mark));
    looked(&sandbox, |now| now - 7_200);
    sandbox.clone().run(["watch", "--ticks", "1"]).status(0).any_stderr();
    let receipts = sandbox.read("org-business/.harness/receipts.jsonl");
    assert!(receipts.contains("\"no_pulse\"") && receipts.contains("max-iterations"), "{receipts}");
    assert_eq!(sandbox.calls().len(), 10);
}

/// How often `wake.json` was opened for reading in a tick that looks closely at so many departments.
#[cfg(target_os = "linux")]
fn opened(depts: usize) -> usize {
    use rustix::fs::inotify::{CreateFlags, Reader, WatchFlags, add_watch, init};
    let names: Vec<String> = (0..depts).map(|number| format!("dept-{number}")).collect();
    let sandbox = Sandbox::new().apart();
    let args: Vec<&str> = ["init"].into_iter().chain(names.iter().map(String::as_str)).collect();
    sandbox.start(&args).finish().status(0).any_stdout().any_stderr();
    let sandbox = names.iter().fold(sandbox, |sandbox, dept| {
        let config = "{\"schema\": 1, \"autoLoop\": true, \"autoIntervalSeconds\": 60}\n";
        sandbox.file(&format!("org-{dept}/.harness/director-config.json"), config)
    });
    sandbox.clone().run(["tick"]).any_stdout();
    looked(&sandbox, |now| now - 7_200);
    let watch = init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).unwrap();
    add_watch(&watch, sandbox.root().join(".harness"), WatchFlags::OPEN).unwrap();
    let rows = sandbox.clone().now("2026-11-18T06:00:00Z").run(["tick", "--json"]).json();
    let rows = rows["data"]["departments"].as_array().unwrap();
    assert!(rows.len() == depts && rows.iter().all(|row| row["receipt"] == "nothing_new"), "{rows:?}");
    let mut buffer = [std::mem::MaybeUninit::uninit(); 4_096];
    let mut reader = Reader::new(watch, &mut buffer);
    let mut count = 0;
    while let Ok(event) = reader.next() {
        count += usize::from(event.file_name().is_some_and(|name| name.to_bytes() == b"wake.json"));
    }
    count
}

#[test]
#[cfg(target_os = "linux")]
fn wake_json_is_read_no_more_often_for_many_than_for_one() {
    let (one, many) = (opened(1), opened(20));
    assert!(one > 0 && many == one, "{one} times for one, {many} times for twenty");
}

#[test]
fn what_cant_be_read_has_its_gates_and_hides_no_other() {
    let sandbox = note(two());
    let state = sandbox.root().join("org-rd/.harness");
    std::fs::remove_dir_all(&state).unwrap();
    std::os::unix::fs::symlink(".harness", &state).unwrap();
    let data = sandbox.clone().run(["why", "rd", "--json"]).json()["data"].clone();
    let config = &data["gates"][0];
    assert_eq!((&config["gate"], &config["verdict"]), (&"config".into(), &"failed".into()));
    assert!(config["evidence"].as_str().unwrap().contains("it is a link"), "{config}");
    assert!(data["gates"].as_array().unwrap()[1..].iter().all(|gate| gate["verdict"] == "not_run"));
    let rows = sandbox.clone().run(["tick", "--dry-run", "--json"]).json()["data"]["departments"].clone();
    assert_eq!((&row(&rows, "business")["runs"], &row(&rows, "rd")["runs"]), (&true.into(), &false.into()));
}

#[test]
fn schedules_that_cant_be_listed_hide_no_other() {
    let sandbox = office();
    let add = ["schedule", "add", "business", "daily", "--cron", "0 9 * * *", "--prompt", "x"];
    let sandbox = sandbox.run(add).any_stdout().any_stderr().then();
    std::fs::remove_dir_all(sandbox.root().join("org-rd/schedules")).unwrap();
    let sandbox = sandbox.file("org-rd/schedules", "x\n");
    let (status, stdout, stderr) = sandbox.clone().run(["schedule", "list"]).parts();
    assert!(status == 0 && stdout.contains("daily"), "{stdout}");
    assert!(stderr.contains("warning: rd: its schedules can't be listed: "), "{stderr}");
    sandbox.run(["schedule", "list", "rd"]).status(1).any_stderr();
}
