//! What ticks look at: every department by its own last look, files changed in place, configs changed by hand; and what
//! a quiet one writes.

use crate::office::answer;
use crate::outcome::until;
use crate::sandbox::{Sandbox, write};
use crate::service::tools;
use crate::ticks::{check, pulse, ticking};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, SystemTime};

fn seconds() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs()
}

/// Says when departments were looked at, beside a file that was touched just now.
fn looked(sandbox: &Sandbox, at: &[(&str, u64)]) {
    let lines: String = at.iter().map(|(name, at)| format!("{at:012} {name}\n")).collect();
    write(&sandbox.root().join(".harness/alive"), lines.as_bytes());
}

/// The next tick looks at every file, as one does every ten minutes.
fn full_look(sandbox: &Sandbox) {
    let now = seconds();
    looked(sandbox, &[("*", now - now % 600 - 1)]);
}

fn note(sandbox: Sandbox) -> Sandbox {
    sandbox.message("business", "Note", "Hi", "Something to think about.")
}

fn receipts(sandbox: &Sandbox) -> Vec<Value> {
    let text = sandbox.read("org-business/.harness/receipts.jsonl");
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_backlog_is_one_of_the_department_that_nobody_looked_at() {
    let mark = crate::office::action("mark_message", json!({"id": "MSGID", "status": "archived"}));
    let run = |business_s: u64| {
        let sandbox = ticking();
        check(&sandbox, "2026-11-18T01:00:00Z", "nothing_open");
        let sandbox = (0..8).fold(sandbox, |sandbox, _| note(sandbox));
        let sandbox = (0..8).fold(sandbox, |sandbox, _| {
            sandbox.reply("NEXT_WORKER MSGID").reply(&answer(std::slice::from_ref(&mark)))
        });
        let now = seconds();
        looked(&sandbox, &[("*", 0), ("business", now - business_s), ("rd", now)]);
        (pulse(&sandbox)["run"]["outcome"].clone(), sandbox.calls().len(), receipts(&sandbox))
    };
    // The unit of another department pulsed all the while.
    let (outcome, calls, told) = run(7_200);
    assert_eq!((outcome, calls), (json!("max-iterations"), 10));
    assert!(told.iter().any(|receipt| receipt["code"] == "no_pulse"), "{told:?}");
    let (outcome, calls, told) = run(60);
    assert_eq!((outcome, calls), (json!("done"), 16));
    assert!(told.iter().all(|receipt| receipt["code"] != "no_pulse"), "{told:?}");
}

#[test]
fn a_named_tick_looks_at_what_it_names() {
    let sandbox = ticking();
    sandbox.clone().run(["tick", "business"]).any_stdout();
    let alive = sandbox.read(".harness/alive");
    assert!(alive.starts_with("000000000000 *\n") && alive.ends_with(" business\n"), "{alive}");
    sandbox.clone().run(["tick", "rd"]).any_stdout();
    sandbox.clone().run(["tick", "business"]).any_stdout();
    assert_eq!(sandbox.read(".harness/alive").lines().count(), 3);
    sandbox.clone().run(["tick"]).any_stdout();
    let alive = sandbox.read(".harness/alive");
    assert!(!alive.starts_with("000000000000 *\n") && alive.lines().count() == 3, "{alive}");
}

#[test]
fn health_fails_for_a_department_that_no_tick_looks_at() {
    let sandbox = Sandbox::new().apart().dept("rd").dept("support");
    let sandbox = ["rd", "support"].iter().fold(sandbox, |sandbox, dept| {
        let config = format!("org-{dept}/.harness/director-config.json");
        sandbox.edit(&config, "\"autoLoop\": false", "\"autoLoop\": true")
    });
    let at = |time: &str| chrono::DateTime::parse_from_rfc3339(time).unwrap().timestamp();
    let health = |support: i64| {
        tools::pulse(&sandbox, "2026-11-18T00:42:00Z");
        let path = sandbox.root().join(".harness/alive");
        let touched = std::fs::metadata(&path).unwrap().modified().unwrap();
        let fresh = at("2026-11-18T00:42:00Z");
        std::fs::write(&path, format!("{:012} *\n{fresh:012} rd\n{support:012} support\n", 0)).unwrap();
        std::fs::File::options().write(true).open(&path).unwrap().set_modified(touched).unwrap();
        let (status, stdout, _) = sandbox.start(&["health", "--json"]).finish().parts();
        let data = serde_json::from_str::<Value>(&stdout).unwrap()["data"].clone();
        let states: Vec<String> = data["departments"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| row["state"].as_str().unwrap().into())
            .collect();
        let departments =
            data["checks"].as_array().unwrap().iter().find(|check| check["check"] == "departments");
        (status, states.join(" "), departments.unwrap()["what"].as_str().unwrap().to_string())
    };
    let (status, states, _) = health(at("2026-11-18T00:41:31Z"));
    assert_eq!((status, states.as_str()), (0, "healthy healthy"));
    // Its timer was stopped, and the other one's goes on.
    let (status, states, what) = health(at("2026-11-18T00:39:00Z"));
    assert_eq!((status, states.as_str()), (1, "healthy stale"));
    assert!(
        what.starts_with("support is stale: a tick last looked at it 3m ago (stale after 180 s)"),
        "{what}"
    );
    let (status, states, what) = health(0);
    assert_eq!((status, states.as_str()), (1, "healthy never ran"), "{what}");
}

#[test]
fn a_file_changed_in_place_is_seen_by_a_full_look() {
    let sandbox = note(ticking()).reply("DONE").reply("DONE");
    check(&sandbox, "2026-11-18T00:42:01Z", "ran");
    check(&sandbox, "2026-11-18T00:50:00Z", "nothing_new");
    let inbox = sandbox.tree("org-business/inbox");
    let path = sandbox.root().join("org-business/inbox").join(inbox.trim());
    let folder = |path: &std::path::Path| std::fs::metadata(path.parent().unwrap()).unwrap().mtime_nsec();
    let before = folder(&path);
    let mut file = std::fs::File::options().append(true).open(&path).unwrap();
    std::io::Write::write_all(&mut file, b"And one thing more.\n").unwrap();
    assert_eq!(folder(&path), before, "the folder must stand as it did");
    full_look(&sandbox);
    check(&sandbox, "2026-11-18T00:51:00Z", "ran");
    assert_eq!(sandbox.calls().len(), 2);
}

#[test]
fn a_touched_file_among_many_costs_no_call() {
    let letter = "---\nkind: Note\nfrom: user\nsubject: x\n---\nThink.\n";
    let sandbox = (0..300).fold(ticking(), |sandbox, number| {
        sandbox.file(&format!("org-business/inbox/letter-{number}.md"), letter)
    });
    let sandbox = sandbox.reply("DONE");
    check(&sandbox, "2026-11-18T00:42:01Z", "ran");
    let one = sandbox.root().join("org-business/inbox/letter-7.md");
    let file = std::fs::File::options().write(true).open(&one).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(99)).unwrap();
    full_look(&sandbox);
    check(&sandbox, "2026-11-18T00:55:00Z", "nothing_new");
    assert_eq!(sandbox.calls().len(), 1);
}

/// Every file and folder with its times, but for `alive`.
fn times(sandbox: &Sandbox) -> BTreeMap<String, (i64, i64, i64, u64)> {
    let root = sandbox.root();
    let entries = walkdir::WalkDir::new(&root).sort_by_file_name().into_iter().map(Result::unwrap);
    let stat = |entry: walkdir::DirEntry| {
        let stat = entry.metadata().unwrap();
        (entry.path().display().to_string(), (stat.mtime(), stat.mtime_nsec(), stat.ctime_nsec(), stat.len()))
    };
    entries.map(stat).filter(|(path, _)| !path.ends_with("/.harness/alive")).collect()
}

#[test]
fn a_quiet_tick_writes_nothing_but_alive() {
    let sandbox = note(ticking()).reply("DONE");
    check(&sandbox, "2026-11-18T00:42:01Z", "ran");
    // What is as young as a look is looked at once more.
    until("it has come to rest", || {
        let before = times(&sandbox);
        sandbox.clone().now("2026-11-18T00:45:00Z").run(["tick"]).any_stdout();
        times(&sandbox) == before
    });
    let before = times(&sandbox);
    for (minute, full) in [(46, false), (47, true), (48, false), (49, true)] {
        if full {
            full_look(&sandbox);
        }
        sandbox.clone().now(&format!("2026-11-18T00:{minute}:00Z")).run(["tick"]).stdout("");
        assert_eq!(times(&sandbox), before, "{minute}");
    }
    assert!(sandbox.read(".harness/alive").len() < 64);
}

#[test]
fn a_config_changed_by_hand_is_audited_once() {
    let config = "org-business/.harness/director-config.json";
    let sandbox = ticking();
    check(&sandbox, "2026-11-18T00:42:01Z", "nothing_open");
    let sandbox = sandbox.edit(config, "\"autoIntervalSeconds\": 60", "\"autoIntervalSeconds\": 300");
    for _ in 0..3 {
        pulse(&sandbox);
    }
    let told = |sandbox: &Sandbox, text: &str| sandbox.read(".harness/audit.jsonl").matches(text).count();
    assert_eq!(told(&sandbox, "changed by hand: autoIntervalSeconds is 300 instead of 60"), 1);
    // What `config set` did is audited by itself.
    let sandbox = sandbox.run(["config", "set", "business", "maxIterations", "3"]).any_stdout().then();
    pulse(&sandbox);
    assert_eq!(told(&sandbox, "changed by hand"), 1);
    let sandbox = sandbox.file(config, "{");
    pulse(&sandbox);
    pulse(&sandbox);
    assert_eq!(told(&sandbox, "changed by hand: it can't be read"), 1);
    sandbox.run(["verify"]).any_stdout();
}

/// A line that can't be signed isn't written: it waits until the key can be read.
#[test]
fn a_config_changed_by_hand_is_audited_once_it_can_be_signed() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = ticking();
    check(&sandbox, "2026-11-18T00:42:01Z", "nothing_open");
    let sandbox = sandbox.edit(
        "org-business/.harness/director-config.json",
        "\"autoIntervalSeconds\": 60",
        "\"autoIntervalSeconds\": 300",
    );
    let key = sandbox.home().join(".config/harness/key");
    let mode = |mode: u32| std::fs::set_permissions(&key, std::fs::Permissions::from_mode(mode)).unwrap();
    let told = |sandbox: &Sandbox| sandbox.read(".harness/audit.jsonl").matches("changed by hand").count();
    mode(0o644);
    let sandbox = sandbox
        .run(["tick"])
        .stdout("DEPARTMENT  RECEIPT     WHY\nbusiness    unreadable  can't write [..]\n")
        .then();
    assert_eq!(told(&sandbox), 0);
    mode(0o600);
    for _ in 0..3 {
        pulse(&sandbox);
    }
    assert_eq!(told(&sandbox), 1);
    sandbox.run(["verify"]).any_stdout();
}

#[test]
fn a_config_that_can_not_be_read_is_that_departments_alone() {
    let sandbox =
        note(ticking()).reply("DONE").file("org-rd/.harness/director-config.json", "{\"autoLoop\": 7}");
    let run = sandbox.run(["tick", "--json"]).status(0);
    let rows = run.json()["data"]["departments"].clone();
    let receipt = |dept: &str| {
        let row = rows.as_array().unwrap().iter().find(|row| row["dept"] == dept).unwrap();
        row["receipt"].as_str().unwrap().to_string()
    };
    assert_eq!((receipt("rd").as_str(), receipt("business").as_str()), ("unreadable", "ran"));
    let sandbox = run.then().run(["tick", "--strict"]).status(1).any_stdout().then();
    // Settings that can't be read hold up everybody.
    let sandbox = sandbox.file(".harness/org.toml", "schema = 1\nnonsense = 2\n");
    sandbox.run(["tick"]).status(1).any_stdout();
}

#[test]
fn a_time_without_ticks_is_told_as_such() {
    let sandbox = ticking();
    check(&sandbox, "2026-11-18T01:00:00Z", "nothing_open");
    check(&sandbox, "2026-11-18T01:00:30Z", "nothing_new");
    let now = seconds();
    looked(&sandbox, &[("*", now - 4 * 3_600)]);
    check(&sandbox, "2026-11-18T06:00:00Z", "nothing_new");
    let why = |at: &str| {
        let sandbox = sandbox.clone().now("2026-11-18T06:30:00Z");
        sandbox.run(["why", "business", "--at", at, "--json"]).json()["data"].clone()
    };
    let asleep = why("2026-11-18T04:00:00Z");
    assert_eq!((&asleep["runs"], &asleep["receipt"]), (&Value::Null, &Value::Null));
    assert!(
        asleep["gates"].as_array().unwrap().iter().all(|gate| gate["verdict"] == "not_run"),
        "{asleep:#}"
    );
    assert!(asleep["why"].as_str().unwrap().starts_with("no tick looked from 2026-11-18T0"), "{asleep:#}");
    assert_eq!(why("2026-11-18T01:00:10Z")["receipt"]["code"], "nothing_open");
    assert_eq!(why("2026-11-18T06:10:00Z")["receipt"]["code"], "nothing_new");
    // And where nobody has looked since.
    tools::pulse(&sandbox, "2026-11-18T01:30:00Z");
    let silent = why("2026-11-18T02:00:00Z");
    assert_eq!(silent["why"], "no tick has looked at it since 2026-11-18T01:30:00Z");
    let now = sandbox.now("2026-11-18T06:30:00Z").run(["why", "business"]).take_stdout();
    assert!(
        now.contains("No tick has looked at it since 2026-11-18T01:30:00Z: `harness service status`"),
        "{now}"
    );
}

#[test]
fn a_long_run_of_one_department_keeps_nothing_back_of_the_others() {
    let sandbox = ticking().run(["config", "set", "rd", "autoLoop", "true"]).any_stdout().then();
    let sandbox = note(sandbox).reply("#hang\n");
    let running = sandbox.start(&["tick"]);
    sandbox.until_asked(1);
    let wake: Value = serde_json::from_str(&sandbox.read(".harness/wake.json")).unwrap();
    assert_eq!(wake["departments"]["marketing"]["receipt"]["code"], "off");
    sandbox.clone().run(["stop-loop", "business"]).any_stdout();
    running.finish().status(0).any_stdout();
}

#[test]
fn a_resolved_escalation_is_due_at_once() {
    let sandbox = note(ticking()).reply("ESCALATE MSGID the human must decide").reply("DONE");
    assert_eq!(pulse(&sandbox)["run"]["outcome"], "escalated");
    check(&sandbox, "2026-11-18T00:50:00Z", "nothing_new");
    let id = sandbox.tree("org-business/escalations").trim().trim_end_matches(".md").to_string();
    let later = sandbox.clone().now("2026-11-18T00:50:01Z");
    later.run(["escalations", "resolve", &id, "--why", "go on"]).any_stdout().any_stderr();
    check(&sandbox, "2026-11-18T00:50:02Z", "ran");
}

#[test]
fn a_watch_reacts_to_one_department_while_another_runs() {
    let sandbox = ticking().run(["config", "set", "rd", "autoLoop", "true"]).any_stdout().then();
    let sandbox = note(sandbox).reply("#hang\n").reply("DONE");
    let running = sandbox.start(&["watch", "--every", "3600"]);
    let ready = |call: &str| sandbox.home().join(format!(".fake/calls/{call}/ready")).exists();
    until("the first run goes on", || ready("01"));
    let sandbox = sandbox.message("rd", "Note", "Hi", "Something else.");
    until("the other one ran meanwhile", || running.stderr().contains(" rd: ran"));
    assert!(!running.stderr().contains("business: ran"));
    assert_eq!(sandbox.calls()[1].env["HARNESS_DEPT"], "rd");
    running.signal(Signal::INT);
    running.finish().status(130).any_stderr();
    sandbox.clone().run(["active-runs"]).stdout("Nothing runs.\n");
}
