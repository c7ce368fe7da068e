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
fn a_department_that_cant_be_looked_at_holds_up_no_other() {
    let sandbox =
        note(ticking()).reply("DONE").run(["config", "set", "rd", "autoLoop", "true"]).any_stdout().then();
    let state = sandbox.root().join("org-rd/.harness");
    std::fs::remove_dir_all(&state).unwrap();
    std::os::unix::fs::symlink(".harness", &state).unwrap();
    let run = sandbox.clone().run(["tick", "--json"]);
    let rows = run.json()["data"]["departments"].clone();
    let row = |dept: &str| rows.as_array().unwrap().iter().find(|row| row["dept"] == dept).unwrap().clone();
    assert_eq!((&row("business")["receipt"], sandbox.calls().len()), (&"ran".into(), 1));
    assert_eq!(row("rd")["receipt"], "unreadable");
    sandbox.run(["tick", "--strict"]).status(1).any_stdout().any_stderr();
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
fn an_editor_s_copy_is_nothing_new() {
    let sandbox = note(ticking()).reply("DONE");
    check(&sandbox, "2026-11-18T00:42:01Z", "ran");
    let sandbox = sandbox.file("org-business/inbox/note.md~", "x\n").file("org-business/inbox/#n#", "x\n");
    check(&sandbox, "2026-11-18T09:00:00Z", "nothing_new");
    let sandbox = sandbox.file("org-business/inbox/note.md", "x\n").reply("DONE");
    check(&sandbox, "2026-11-18T09:00:01Z", "ran");
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
    let run = sandbox.run(["tick", "business", "--json"]);
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

/// Every department is run by ticks; business and rd have mail.
fn busy() -> Sandbox {
    let sandbox =
        ["business", "rd", "technology", "management", "marketing"].iter().fold(office(), |sandbox, dept| {
            sandbox.run(["config", "set", dept, "autoLoop", "true"]).any_stdout().then()
        });
    note(sandbox).message("rd", "Note", "Hi", "Something else.")
}

#[test]
fn departments_run_side_by_side_each_in_a_process_of_its_own() {
    let sandbox = busy().reply("#hang\n").reply("#hang\n");
    let running = sandbox.start(&["tick"]);
    let ready = |call: &str| sandbox.home().join(format!(".fake/calls/{call}/ready")).exists();
    crate::outcome::until("both engines run", || ready("01") && ready("02"));
    let active = sandbox.clone().run(["active-runs", "--json"]).json();
    let pids: Vec<u64> =
        active["data"]["runs"].as_array().unwrap().iter().map(|run| run["pid"].as_u64().unwrap()).collect();
    assert_eq!(pids.len(), 2);
    assert_ne!(pids[0], pids[1]);
    // Stopping one stops no other.
    sandbox.clone().run(["stop-loop", "rd"]).any_stdout();
    let active = sandbox.clone().run(["active-runs", "--json"]).json();
    assert_eq!(active["data"]["runs"].as_array().unwrap().len(), 1);
    sandbox.clone().run(["stop-loop", "business"]).any_stdout();
    running.finish().status(0).any_stdout();
    assert_eq!(sandbox.calls().len(), 2);
}

#[test]
fn a_stopped_tick_stops_what_it_started() {
    let sandbox = busy().reply("#hang\n").reply("#hang\n");
    let running = sandbox.start(&["tick"]);
    let ready = |call: &str| sandbox.home().join(format!(".fake/calls/{call}/ready")).exists();
    crate::outcome::until("both engines run", || ready("01") && ready("02"));
    running.signal(rustix::process::Signal::TERM);
    running.finish().status(0).any_stdout();
    sandbox.clone().run(["active-runs"]).stdout("Nothing runs.\n");
    // Stopped by hand is not tried again by itself.
    let row = pulse(&sandbox.clone().now("2026-11-18T05:00:00Z"));
    assert_eq!(row["receipt"], "nothing_new", "{row:#}");
    assert_eq!(sandbox.calls().len(), 2);
}

#[test]
fn where_places_are_short_directives_go_first() {
    // By their names, and by who has waited longest, business comes first.
    let letter = "---\nkind: Directive\nfrom: user\nsubject: Grow\n---\nGrow.\n";
    let sandbox = busy().file("org-rd/inbox/grow.md", letter).reply("DONE").reply("DONE");
    let run = sandbox.run(["tick", "--jobs", "1", "--json"]);
    let sandbox = run.status(0).any_stdout().then();
    let first = sandbox.calls()[0].env["HARNESS_DEPT"].clone();
    assert_eq!((first.as_str(), sandbox.calls().len()), (Some("rd"), 2));
}

#[test]
fn many_ticks_at_once_run_each_department_once() {
    let sandbox = (0..4).fold(busy(), |sandbox, _| sandbox.reply("DONE"));
    let ticks: Vec<_> = (0..200).map(|_| sandbox.start(&["tick", "--jobs", "64"])).collect();
    for tick in ticks {
        tick.finish().status(0).any_stdout().any_stderr();
    }
    assert_eq!(sandbox.calls().len(), 2);
    let records = sandbox.tree("org-business/.harness/director-runs");
    assert_eq!(records.lines().filter(|name| name.ends_with("_scheduler.md")).count(), 1, "{records}");
}

#[test]
fn an_idle_hour_asks_nobody() {
    let depts: Vec<String> = (0..100).map(|number| format!("dept-{number}")).collect();
    let mut args = vec!["init"];
    args.extend(depts.iter().map(String::as_str));
    let sandbox = Sandbox::new().apart();
    sandbox.start(&args).finish().status(0).any_stdout().any_stderr();
    // An engine is there that would be asked, and every call of it is counted.
    let config = "{\"schema\": 1, \"autoLoop\": true, \"autoIntervalSeconds\": 30, \"engine\": [\"rules\", \"claude\"]}\n";
    let letter = "---\nkind: Note\nfrom: user\nsubject: x\n---\nNobody knows what to do with this.\n";
    let sandbox = depts.iter().enumerate().fold(sandbox, |sandbox, (number, dept)| {
        let sandbox = sandbox.file(&format!("org-{dept}/.harness/director-config.json"), config);
        // Every tenth has mail that no rule decides.
        match number % 10 {
            0 => sandbox.file(&format!("org-{dept}/inbox/odd.md"), letter),
            _ => sandbox,
        }
    });
    let sandbox = (0..11).fold(sandbox, |sandbox, _| sandbox.reply("DONE"));
    let ran = |now: &str| {
        let run = sandbox.clone().now(now).run(["tick", "--json"]).json();
        let rows = run["data"]["departments"].as_array().unwrap().clone();
        rows.iter().filter(|row| row["receipt"] == "ran").count()
    };
    // What the director leaves open it was asked about, once each.
    assert_eq!((ran("2026-11-18T04:59:00Z"), sandbox.calls().len()), (10, 10));
    for minute in 0..60 {
        assert_eq!(ran(&format!("2026-11-18T05:{minute:02}:00Z")), 0, "{minute}");
    }
    assert_eq!(sandbox.calls().len(), 10, "an idle hour asked somebody");
    // The same organisation, the same engine: with something new it is asked.
    let sandbox = sandbox.clone().file("org-dept-5/inbox/new.md", letter);
    assert_eq!((ran("2026-11-18T06:00:00Z"), sandbox.calls().len()), (1, 11));
}

#[test]
fn a_proactive_department_looks_for_work_at_growing_distances() {
    let sandbox = ticking().run(["config", "set", "business", "proactive", "true"]).any_stdout().then();
    let sandbox = (0..3).fold(sandbox, |sandbox, _| sandbox.reply("DONE"));
    check(&sandbox, "2026-11-18T01:00:00Z", "nothing_open");
    for (before, at) in [
        ("2026-11-18T01:09:59Z", "2026-11-18T01:10:00Z"),
        ("2026-11-18T01:39:59Z", "2026-11-18T01:40:00Z"),
        ("2026-11-18T02:39:59Z", "2026-11-18T02:40:00Z"),
    ] {
        check(&sandbox, before, "nothing_new");
        check(&sandbox, at, "ran");
    }
    assert_eq!(sandbox.calls().len(), 3);
}

#[test]
fn a_beat_that_is_put_away_is_no_work_and_the_ladder_is_climbed() {
    let sandbox = ticking().run(["config", "set", "business", "proactive", "true"]).any_stdout().then();
    let sandbox =
        (0..3).fold(sandbox, |sandbox, _| sandbox.reply("NEXT_WORKER MSGID").reply(&answer(&[mark()])));
    check(&sandbox, "2026-11-18T01:00:00Z", "nothing_open");
    for (before, at) in [
        ("2026-11-18T01:09:59Z", "2026-11-18T01:10:00Z"),
        ("2026-11-18T01:39:59Z", "2026-11-18T01:40:00Z"),
        ("2026-11-18T02:39:59Z", "2026-11-18T02:40:00Z"),
    ] {
        check(&sandbox, before, "nothing_new");
        check(&sandbox, at, "ran");
    }
    assert_eq!(sandbox.calls().len(), 6);
}

#[test]
fn beats_that_find_nothing_pause_nobody() {
    let sandbox = ticking().run(["config", "set", "business", "proactive", "true"]).any_stdout().then();
    let sandbox = (0..7).fold(sandbox, |sandbox, _| sandbox.reply("DONE"));
    check(&sandbox, "2026-11-18T01:00:00Z", "nothing_open");
    for at in ["18T01:10", "18T01:40", "18T02:40", "18T05:40", "18T11:40", "18T17:40", "18T23:40"] {
        check(&sandbox, &format!("2026-11-{at}:00Z"), "ran");
    }
    assert!(!sandbox.exists("org-business/.harness/paused.json"));
}

#[test]
fn a_schedule_that_can_not_be_used_has_a_receipt_once() {
    let sandbox = ticking().file("org-business/schedules/weekly.toml", "schema = 1\n");
    check(&sandbox, "2026-11-18T00:42:01Z", "nothing_open");
    check(&sandbox, "2026-11-18T00:42:02Z", "nothing_new");
    let receipts = sandbox.read("org-business/.harness/receipts.jsonl");
    let told = receipts.lines().filter(|line| line.contains("schedule_unusable")).count();
    assert_eq!(told, 1, "{receipts}");
    let why = sandbox.run(["why", "business"]).take_stdout();
    assert!(why.contains("schedules/weekly.toml can't be used"), "{why}");
}

#[test]
fn quiet_has_a_limit_where_one_is_set() {
    let sandbox = ticking().run(["config", "set", "business", "maxQuietSeconds", "3600"]).any_stdout().then();
    let sandbox = sandbox.reply("DONE");
    check(&sandbox, "2026-11-18T01:00:00Z", "nothing_open");
    check(&sandbox, "2026-11-18T01:59:59Z", "nothing_new");
    check(&sandbox, "2026-11-18T02:00:00Z", "ran");
    assert_eq!(sandbox.calls().len(), 1);
}

#[test]
fn approvals_expire_and_are_told_by_a_tick() {
    let sandbox = ticking();
    let spend = crate::office::decision(serde_json::json!({"confidence": 10}));
    crate::office::act(&sandbox, "business", &[spend]);
    let sandbox = sandbox.reply("DONE");
    check(&sandbox, "2026-11-18T00:42:10Z", "nothing_open");
    check(&sandbox, "2026-11-21T00:42:00Z", "nothing_new");
    check(&sandbox, "2026-11-21T00:42:01Z", "ran");
    let approvals = sandbox.tree("org-business/approvals");
    let text = sandbox.read(&format!("org-business/approvals/{}", approvals.trim()));
    assert!(text.contains("status: expired"), "{text}");
}

#[test]
fn a_backlog_is_worked_off_in_portions() {
    let sandbox = ticking();
    check(&sandbox, "2026-11-18T01:00:00Z", "nothing_open");
    let sandbox = (0..8).fold(sandbox, |sandbox, _| note(sandbox));
    let sandbox =
        (0..8).fold(sandbox, |sandbox, _| sandbox.reply("NEXT_WORKER MSGID").reply(&answer(&[mark()])));
    // Nobody has looked for two hours, by the clock of the disk.
    let alive = std::fs::File::options().write(true).open(sandbox.root().join(".harness/alive")).unwrap();
    alive.set_modified(std::time::SystemTime::now() - std::time::Duration::from_secs(7_200)).unwrap();
    let row = pulse(&sandbox.clone().now("2026-11-18T03:00:00Z"));
    assert_eq!(row["run"]["outcome"], "max-iterations", "{row:#}");
    assert_eq!(sandbox.calls().len(), 10);
    check(&sandbox, "2026-11-18T03:00:30Z", "not_due");
    check(&sandbox, "2026-11-18T03:01:00Z", "ran");
    assert_eq!(sandbox.calls().len(), 16);
}
