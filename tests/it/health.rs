//! `harness health`: a word for each way of not being well, a line a check, and nothing touched.

use crate::desk::business;
use crate::outcome::until;
use crate::sandbox::Sandbox;
use crate::service::tools;
use rustix::process::Signal;
use serde_json::Value;
use std::fs;

fn health(sandbox: &Sandbox) -> (i32, Value) {
    let (status, stdout, stderr) = sandbox.start(&["health", "--json"]).finish().parts();
    assert_eq!(stderr, "");
    let document: Value = serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout}"));
    assert_eq!(document["schema"], "harness.health/1");
    (status, document["data"].clone())
}

/// What one check said: its result, and the rest.
#[track_caller]
fn check(sandbox: &Sandbox, name: &str) -> (String, String) {
    let (status, data) = health(sandbox);
    let all = data["checks"].as_array().unwrap();
    let failed = all.iter().filter(|check| check["result"] == "failed").count();
    assert_eq!((status, &data["failed"]), (i32::from(failed > 0), &failed.into()), "{data}");
    let found =
        all.iter().find(|check| check["check"] == name).unwrap_or_else(|| panic!("no {name}: {data}"));
    (found["result"].as_str().unwrap().to_string(), found["what"].as_str().unwrap().to_string())
}

#[track_caller]
fn expect(sandbox: &Sandbox, name: &str, result: &str, part: &str) {
    let (found, what) = check(sandbox, name);
    assert!(found == result && what.contains(part), "{name}: {found}: {what}");
}

fn word(sandbox: &Sandbox) -> String {
    let (_, data) = health(sandbox);
    assert_eq!(data["state"], data["departments"][0]["state"]);
    data["state"].as_str().unwrap().to_string()
}

fn one() -> Sandbox {
    Sandbox::new().apart().dept("rd")
}

fn looping() -> Sandbox {
    one().edit("org-rd/.harness/director-config.json", "\"autoLoop\": false", "\"autoLoop\": true")
}

#[test]
fn a_fresh_organisation_is_off_and_nothing_fails() {
    let sandbox = Sandbox::new().organisation();
    let (status, data) = health(&sandbox);
    assert_eq!((status, &data["state"]), (0, &"off".into()));
    let results: Vec<String> = data["checks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|check| format!("{} {}", check["check"].as_str().unwrap(), check["result"].as_str().unwrap()))
        .collect();
    assert_eq!(
        results,
        [
            "gate passed",
            "last pulse not run",
            "departments passed",
            "engine found passed",
            "quota passed",
            "budget left passed",
            "stale runs passed",
            "unfinished journals passed",
            "commits passed",
            "ghost rate not run",
            "departments without a unit not run",
            "schedules passed",
            "disk passed",
            "clock passed",
            "stalled passed"
        ]
    );
}

#[test]
fn people_get_a_word_and_tables() {
    let text = one().run(["health"]).take_stdout();
    assert!(
        text.starts_with("off\n\nDEPARTMENT  IS   BECAUSE\nrd          off  autoLoop is off\n"),
        "{text}"
    );
    assert!(text.contains("passed   gate"), "{text}");
}

#[test]
fn it_touches_nothing() {
    let sandbox = looping();
    tools::pulse(&sandbox, "2026-11-18T00:00:00Z");
    let before = (sandbox.everything(), tools::home_files(&sandbox));
    health(&sandbox);
    // Not even where every write would fail.
    health(&sandbox.clone().env("HARNESS_TEST_FAULT", "fail-from:1:28"));
    assert_eq!((sandbox.everything(), tools::home_files(&sandbox)), before);
}

#[test]
fn every_state_has_its_word() {
    assert_eq!(word(&one()), "off");
    let sandbox = looping();
    assert_eq!(word(&sandbox), "never ran");
    expect(&sandbox, "last pulse", "failed", "never ran: ");
    tools::pulse(&sandbox, "2026-11-18T00:41:31Z");
    assert_eq!(word(&sandbox), "healthy");
    expect(&sandbox, "last pulse", "passed", "healthy: the last pulse was 30s ago");
    tools::pulse(&sandbox, "2026-11-18T00:30:01Z");
    assert_eq!(word(&sandbox), "stale");
    expect(&sandbox, "last pulse", "failed", "stale: the last pulse was 12m ago");
    sandbox.start(&["pause", "rd", "--why", "holidays"]).finish().any_stdout();
    assert_eq!(word(&sandbox), "blocked");
    expect(&sandbox, "departments", "passed", "");
}

#[test]
fn a_pulse_that_cannot_be_read_is_neither_old_nor_none() {
    let alive = |lay: &dyn Fn(&Sandbox)| {
        let sandbox = looping();
        lay(&sandbox);
        assert_eq!(word(&sandbox), "unreadable");
        check(&sandbox, "last pulse")
    };
    let path = |sandbox: &Sandbox| sandbox.root().join(".harness/alive");
    let (result, what) = alive(&|sandbox| fs::create_dir(path(sandbox)).unwrap());
    assert!(result == "failed" && what.contains("unreadable: can't read"), "{what}");
    let (_, what) = alive(&|sandbox| std::os::unix::fs::symlink("/etc/passwd", path(sandbox)).unwrap());
    assert!(what.contains("it is not a plain file"), "{what}");
    let (_, what) = alive(&|sandbox| tools::pulse(sandbox, "2026-11-19T00:00:00Z"));
    assert!(what.contains("the last pulse is in the future"), "{what}");
}

#[test]
fn a_broken_wake_json_is_named() {
    let sandbox = looping();
    tools::pulse(&sandbox, "2026-11-18T00:41:31Z");
    for text in ["{\"schema\": 1, \"depart", "[]", "{\"schema\": 7}", ""] {
        let sandbox = sandbox.clone().file(".harness/wake.json", text);
        assert_eq!(word(&sandbox), "unreadable", "{text}");
        expect(&sandbox, "last pulse", "failed", "wake.json");
    }
}

#[test]
fn a_config_that_cannot_be_read_fails() {
    let sandbox = one().file("org-rd/.harness/director-config.json", "{\"autoLoop\": maybe}");
    assert_eq!(word(&sandbox), "unreadable");
    expect(&sandbox, "departments", "failed", "rd is unreadable: ");
}

#[test]
fn what_no_tick_can_look_at_is_unreadable() {
    let sandbox = looping();
    tools::pulse(&sandbox, "2026-11-18T00:41:31Z");
    assert_eq!(word(&sandbox), "healthy");
    let inbox = sandbox.root().join("org-rd/inbox");
    fs::remove_dir_all(&inbox).unwrap();
    fs::write(&inbox, "x").unwrap();
    assert_eq!(word(&sandbox), "unreadable");
    expect(&sandbox, "departments", "failed", "org-rd/inbox: it is not a folder");
    fs::remove_file(&inbox).unwrap();
    fs::create_dir(&inbox).unwrap();
    // What the last tick could not do, where the folders look well.
    let broke =
        r#"{"schema":1,"at":0,"idle":{},"departments":{"rd":{"receipt":{"code":"broke","why":"so"}}}}"#;
    let sandbox = sandbox.file(".harness/wake.json", broke);
    assert_eq!(word(&sandbox), "unreadable");
    expect(&sandbox, "departments", "failed", "rd is unreadable: the last tick says broke: so");
}

#[test]
fn what_keeps_a_department_from_running_fails() {
    let sandbox = one();
    sandbox.start(&["gate", "disable", "--why", "for now"]).finish().any_stdout();
    expect(&sandbox, "gate", "failed", "disabled (closed): for now");
    assert_eq!(word(&sandbox), "blocked");
    let sandbox = one().file(".harness/gate.json", "{}");
    expect(&sandbox, "gate", "failed", "malformed");
    let sandbox = one().edit("org-rd/charter.toml", "schema = 1", "schema = 1\n# edited");
    expect(
        &sandbox,
        "departments",
        "failed",
        "rd is blocked: its charter, playbook or prompts are not accepted",
    );
    let blocked = r#"{"schema": 1, "at": "2026-11-18T00:00:00Z", "reason": "a plan failed five times"}"#;
    let sandbox = one().file("org-rd/.harness/blocked.json", blocked);
    expect(&sandbox, "departments", "failed", "a plan failed five times");
}

#[test]
fn an_engine_must_be_there_for_everybody() {
    let sandbox = one().without_engine("claude");
    expect(
        &sandbox,
        "engine found",
        "not run",
        "`claude` is not on PATH; mail that no other engine takes will wait",
    );
    let sandbox = sandbox.edit(".harness/org.toml", r#"["rules", "claude"]"#, r#"["claude"]"#);
    expect(&sandbox, "engine found", "failed", "a department has no other engine");
    let sandbox = one().edit(".harness/org.toml", "schema = 1", "schema = 1\nnonsense = 2");
    expect(&sandbox, "engine found", "failed", "org.toml");
}

#[test]
fn an_engine_in_your_path_alone_is_not_found_by_the_service() {
    let installed = r#"{"schema": 1, "target": "systemd", "at": "", "path": "/nowhere"}"#;
    let sandbox = one().file(".harness/service.json", installed);
    expect(&sandbox, "engine found", "failed", "bin/claude, and not in the service's PATH");
}

#[test]
fn quota_fails_where_nobody_else_can_be_asked() {
    let out =
        r#"{"schema": 1, "engines": {"claude": {"not_before": "2026-11-18T05:00:00Z", "why": "quota"}}}"#;
    let sandbox = one().file(".harness/engines.json", out);
    expect(&sandbox, "quota", "failed", "claude is out of quota until 2026-11-18T05:00:00Z");
    expect(&sandbox.clone().now("2026-11-18T05:00:01Z"), "quota", "passed", "no engine is out of quota");
    let both = sandbox.settings("[defaults]\nengine = [\"claude\", \"codex\"]\n[engines.claude]\npreset = \"claude\"\n[engines.codex]\npreset = \"codex\"\n");
    expect(&both, "quota", "passed", "others can be asked");
    expect(&one().file(".harness/engines.json", "{"), "quota", "failed", "engines.json");
}

#[test]
fn a_budget_that_is_used_up_fails() {
    expect(&one(), "budget left", "passed", "at least 100 % of usd_per_day");
    let sandbox = one().edit(".harness/org.toml", "usd_per_day = 10.0", "usd_per_day = 0.0");
    expect(&sandbox, "budget left", "failed", "usd_per_day of organisation is used up");
    expect(&one().file(".harness/budget.jsonl", "nonsense\n"), "budget left", "failed", "can't be read");
}

#[test]
fn a_dead_run_is_stale_and_a_long_one_is_not() {
    let sandbox = business().reply("#hang\n");
    let running = sandbox.start(&["run-loop", "business", "--engine", "claude"]);
    sandbox.until_asked(1);
    until("it is known", || sandbox.exists("org-business/.harness/active.json"));
    let later = sandbox.clone().now("2026-11-20T00:00:00Z");
    expect(&later, "stale runs", "passed", "1 runs, all alive");
    running.signal(Signal::KILL);
    running.finish().status(137).any_stdout().any_stderr();
    expect(&sandbox, "stale runs", "failed", "died; `harness recover business` finishes it");
    sandbox.start(&["recover", "business"]).finish().any_stdout().any_stderr();
    expect(&sandbox, "stale runs", "passed", "0 runs");
}

#[test]
fn a_long_run_of_the_only_department_is_no_silence() {
    let sandbox = business()
        .edit("org-business/.harness/director-config.json", "\"autoLoop\": false", "\"autoLoop\": true")
        .reply("#hang\n");
    tools::pulse(&sandbox, "2026-11-18T00:00:00Z");
    expect(&sandbox, "last pulse", "failed", "stale");
    let running = sandbox.start(&["run-loop", "business", "--engine", "claude"]);
    sandbox.until_asked(1);
    until("it is known", || sandbox.exists("org-business/.harness/active.json"));
    expect(&sandbox, "last pulse", "passed", "a run is under way");
    sandbox.start(&["stop-loop", "business"]).finish().any_stdout();
    running.finish().status(13).any_stdout().any_stderr();
}

#[test]
fn a_journal_that_nobody_works_on_fails() {
    let sandbox = one().file("org-rd/.harness/journal/r-1.1.plan.json", "{}");
    expect(
        &sandbox,
        "unfinished journals",
        "failed",
        "rd: 1 entries wait; `harness recover rd` finishes them",
    );
    expect(&one(), "unfinished journals", "passed", "nothing is half done");
}

#[test]
fn ghosts_are_counted() {
    // For nothing: five runs that spend and change nothing would pause the department.
    let free = |text: &str| format!("#usage 10 10 none\n{text}");
    let decide = |sandbox: &Sandbox, reply: &str| {
        let sandbox = sandbox.clone().reply(&free(reply));
        let line = ["run-director", "business", "--role", "orchestrator", "--engine", "claude"];
        drop(sandbox.start(&line).finish().parts());
    };
    let sandbox = business().edit(".harness/org.toml", "worst_case_usd = 1.00", "worst_case_usd = 0.00");
    (0..10).for_each(|_| decide(&sandbox, "DONE\n"));
    expect(&sandbox, "ghost rate", "passed", "0 of the last 10");
    let sandbox = sandbox.reply(&free("I would rather not say.\n"));
    decide(&sandbox, "Nor now.\n");
    expect(&sandbox, "ghost rate", "passed", "1 of the last 11");
    let sandbox = sandbox.reply(&free("Let me think.\n"));
    decide(&sandbox, "DONE\n");
    expect(&sandbox, "ghost rate", "failed", "2 of the last 12 decisions could not be read");
}

#[test]
fn a_new_department_has_no_unit_until_it_is_installed() {
    for target in ["systemd", "launchd", "cron"] {
        let sandbox = tools::machine().dept("rd");
        let install = ["service", "install", "--target", target, "--yes"];
        sandbox.start(&install).finish().any_stdout().any_stderr();
        expect(&sandbox, "departments without a unit", "passed", target);
        let sandbox = sandbox.dept("support");
        expect(
            &sandbox,
            "departments without a unit",
            "failed",
            "support: `harness service install` makes them",
        );
        sandbox.start(&install).finish().any_stdout().any_stderr();
        expect(&sandbox, "departments without a unit", "passed", "each of 2");
    }
    let sandbox = one().file(".harness/service.json", "{\"schema\": 9}");
    expect(&sandbox, "departments without a unit", "failed", "service.json");
}

#[test]
fn a_clock_that_went_back_is_seen() {
    let sandbox = one();
    expect(&sandbox, "clock", "passed", "");
    expect(&sandbox.now("2026-11-17T00:00:00Z"), "clock", "failed", "is from 2026-11-18T00:42:01Z");
}

const TASK: &str = "---\nschema: 1\nid: t-20261118-000000-aaaaaa\ntitle: Write it down\nstatus: in_progress\ncreated: 2026-11-18T00:00:00Z\n---\n";

fn escalations(sandbox: &Sandbox, dept: &str) -> Vec<String> {
    sandbox.folder(&format!("org-{dept}/escalations")).into_values().collect()
}

#[test]
fn work_that_nothing_moves_is_escalated_once() {
    let sandbox = one().dept("support").file("org-rd/tasks/t-20261118-000000-aaaaaa.md", TASK);
    let inside = sandbox.clone().env("HARNESS_RUN", "r-1");
    expect(&inside, "stalled", "failed", "task t-20261118-000000-aaaaaa (Write it down), last touched by rd");
    assert_eq!(escalations(&sandbox, "rd").len(), 0, "a run only reads");
    expect(&sandbox, "stalled", "failed", "nothing anywhere is open, waiting or scheduled");
    let once = escalations(&sandbox, "rd");
    assert!(once.len() == 1 && once[0].contains("rd touched it last"), "{once:?}");
    assert!(sandbox.read(".harness/audit.jsonl").contains("stalled, escalated in rd"));
    expect(&sandbox.clone().now("2026-11-18T09:00:00Z"), "stalled", "failed", "last touched by rd");
    assert_eq!(escalations(&sandbox, "rd"), once);
    let listed = sandbox.start(&["escalations", "list", "--json"]).finish().take_stdout();
    assert!(listed.contains("touched it last"), "{listed}");
    sandbox.start(&["verify"]).finish().any_stdout();

    let sandbox = sandbox.message("support", "Note", "Hello", "Somebody is at it.");
    expect(&sandbox, "stalled", "passed", "support: 1 message is open");
}

#[test]
fn what_waits_or_is_scheduled_moves() {
    let stalled = || one().file("org-rd/tasks/t-20261118-000000-aaaaaa.md", TASK);
    let moves = |sandbox: Sandbox, part: &str| {
        expect(&sandbox, "stalled", "passed", part);
        assert_eq!(escalations(&sandbox, "rd").len(), 0);
    };
    let weekly = ["schedule", "add", "rd", "weekly", "--cron", "0 9 * * 1", "--prompt", "x"];
    moves(stalled().run(weekly).any_stdout().any_stderr().then(), "schedule `weekly` comes at");
    let broken = stalled().file("org-rd/schedules/weekly.toml", "schema = 1\n");
    expect(&broken, "stalled", "failed", "");
    expect(&broken, "schedules", "failed", "org-rd/schedules/weekly.toml");
    moves(
        stalled().file("org-rd/questions/q-1.md", "---\nid: q-1\nstatus: pending\n---\n"),
        "q-1 waits for you",
    );
    // A due date brings up its own task and no other, and only where ticks run the department.
    let due = TASK.replace("created:", "due: 2027-01-01T00:00:00Z\ncreated:");
    let due = due.replace("status: in_progress", "status: inbox\npriority: low");
    let other = looping().file("org-rd/tasks/t-20261118-000000-bbbbbb.md", &due.replace("aaaaaa", "bbbbbb"));
    moves(other.clone(), "t-20261118-000000-bbbbbb is due at 2027-01-01T00:00:00Z");
    let id = "d-20261118-000000-dddddd";
    let directive = format!(
        "---\nschema: 1\nid: {id}\ntitle: A digest\nstatus: open\ncreated: 2026-11-18T00:00:00Z\n---\nDo it.\n"
    );
    let both = other.file(&format!(".harness/directives/{id}.md"), &directive);
    let (result, what) = check(&both, "stalled");
    assert!(result == "failed" && what.contains(id) && !what.contains("bbbbbb"), "{what}");
    // Consolidating memory is due some day too, and moves no work.
    let next = r#"{"schema": 1, "departments": {"rd": {"next_at": "2026-11-18T01:00:00Z"}}}"#;
    expect(&stalled().file(".harness/wake.json", next), "stalled", "failed", "");
    let done = TASK.replace("in_progress", "done");
    moves(one().file("org-rd/tasks/t-20261118-000000-aaaaaa.md", &done), "no directive and no task is open");
}

#[test]
fn a_stalled_directive_names_who_had_it_last() {
    let id = "d-20261118-000000-dddddd";
    let directive = format!(
        "---\nschema: 1\nid: {id}\ntitle: A digest\nmessage: m-20261118-000000-dddddd\nstatus: open\ncreated: 2026-11-18T00:00:00Z\n---\nDo it.\n"
    );
    let sandbox =
        Sandbox::new().apart().organisation().file(&format!(".harness/directives/{id}.md"), &directive);
    expect(&sandbox, "stalled", "failed", "last touched by business");
    for (dept, second) in [("rd", "10"), ("technology", "30"), ("marketing", "20")] {
        let then = sandbox.clone().now(&format!("2026-11-18T00:42:{second}Z"));
        let line =
            ["send", "--to", dept, "--kind", "Note", "--subject", "x", "--body", "y", "--directive", id];
        let message = then.start(&line).finish().take_stdout();
        let line = ["message", "mark", message.trim(), "--status", "actioned", "--why", "done with it"];
        then.start(&line).finish().any_stdout();
    }
    expect(&sandbox.now("2026-11-18T00:43:00Z"), "stalled", "failed", "last touched by technology");
}
