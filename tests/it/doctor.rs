//! `harness doctor` and `harness drill`: they pass where all is well, fail where something is not, and leave nothing.

use crate::outcome::Run;
use crate::sandbox::Sandbox;
use crate::service::tools;
use serde_json::Value;
use std::fs;
use std::time::{Duration, Instant};

fn doctor(sandbox: &Sandbox) -> (i32, Value) {
    let (status, stdout, _) = sandbox.start(&["doctor", "--json"]).finish().parts();
    let document: Value = serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout}"));
    (status, document)
}

#[track_caller]
fn check<'a>(document: &'a Value, name: &str) -> &'a Value {
    let all = document["data"]["checks"].as_array().unwrap();
    all.iter().find(|check| check["check"] == name).unwrap_or_else(|| panic!("no {name}: {document}"))
}

/// Organisations that the user's configuration folder knows of.
fn known(sandbox: &Sandbox) -> usize {
    let folder = sandbox.home().join(".config/harness/organisations");
    fs::read_dir(folder).map_or(0, |entries| entries.count())
}

fn temporary(sandbox: &Sandbox) -> usize {
    fs::read_dir(sandbox.dir().join("tmp")).unwrap().count()
}

#[test]
fn the_template_is_well() {
    // An id follows from the time: the scratch organisation has another one.
    let sandbox = Sandbox::new().organisation().now("2026-11-18T02:00:00Z");
    let (before, known_before) = (sandbox.everything(), known(&sandbox));
    let (status, document) = doctor(&sandbox);
    assert_eq!(known(&sandbox), known_before, "what is thrown away is not remembered");
    assert_eq!((status, &document["data"]["failed"]), (0, &0.into()), "{document}");
    assert_eq!(check(&document, "end to end")["result"], "passed");
    assert_eq!(check(&document, "key")["result"], "passed");
    let engine = check(&document, "engine claude");
    assert_eq!(engine["result"], "passed");
    assert!(engine["what"].as_str().unwrap().ends_with("bin/claude: 2.1.326 (Claude Code)"), "{engine}");
    assert_eq!((temporary(&sandbox), sandbox.everything() == before), (0, true));
    assert!(sandbox.calls().is_empty(), "no engine is asked");
}

#[test]
fn a_department_of_your_own_is_well_without_any_engine() {
    let sandbox = Sandbox::new().dept("support").without_engine("claude");
    let (status, document) = doctor(&sandbox);
    assert_eq!(status, 0, "{document}");
    assert_eq!(check(&document, "engine claude")["result"], "not run");
}

#[test]
fn an_engine_that_does_not_start_in_the_services_environment_fails() {
    let sandbox = Sandbox::new().dept("rd");
    tools::script(
        &sandbox,
        "claude",
        "[ -n \"$NVM_DIR\" ] || { echo 'node: not found' >&2; exit 127; }\necho 1\n",
    );
    let (status, document) = doctor(&sandbox.env("NVM_DIR", "/opt/nvm"));
    assert_eq!((status, &check(&document, "engine claude")["result"]), (1, &"failed".into()));
}

#[test]
fn the_services_own_path_is_the_one_that_counts() {
    let installed = r#"{"schema": 1, "target": "cron", "at": "", "path": "/usr/bin:/bin"}"#;
    let alone = "[defaults]\nengine = [\"claude\"]\n[engines.claude]\npreset = \"claude\"\n";
    let sandbox = Sandbox::new().dept("rd").settings(alone);
    assert_eq!(check(&doctor(&sandbox).1, "engine claude")["result"], "passed");
    let (status, document) = doctor(&sandbox.file(".harness/service.json", installed));
    assert_eq!((status, &check(&document, "engine claude")["result"]), (1, &"failed".into()));
}

#[test]
fn engines_with_tools_are_warned_about() {
    let sandbox = Sandbox::new().dept("rd");
    let warnings = |sandbox: &Sandbox| doctor(sandbox).1["warnings"].as_array().unwrap().len();
    assert_eq!(warnings(&sandbox), 0);
    let sandbox =
        sandbox.edit(".harness/org.toml", "preset = \"claude\"", "preset = \"claude\"\ntools = [\"Bash\"]");
    let (status, document) = doctor(&sandbox);
    let warning = document["warnings"][0].as_str().unwrap();
    assert!(status == 0 && warning.starts_with("the engine claude has tools and runs as you"), "{warning}");
}

#[test]
fn a_full_disk_is_found() {
    let sandbox = Sandbox::new().dept("rd");
    let (status, document) = doctor(&sandbox.clone().env("HARNESS_TEST_FAULT", "fail-from:1:28"));
    let end_to_end = check(&document, "end to end");
    assert_eq!((status, &end_to_end["result"]), (1, &"failed".into()));
    assert!(end_to_end["what"].as_str().unwrap().contains("No space left on device"), "{end_to_end}");
    assert_eq!(temporary(&sandbox), 0);
}

#[test]
fn an_unwritable_scratch_folder_fails_and_is_named() {
    let sandbox = Sandbox::new().dept("rd").env("TMPDIR", "/nowhere/at/all");
    let (status, document) = doctor(&sandbox);
    assert_eq!(status, 1);
    assert!(check(&document, "end to end")["what"].as_str().unwrap().contains("/nowhere/at/all"));
}

#[test]
fn neither_works_inside_a_run() {
    for command in ["doctor", "drill"] {
        let sandbox = Sandbox::new().dept("rd").env("HARNESS_RUN", "r-1");
        sandbox.run([command]).status(3).any_stderr();
    }
}

/// A drill is some thirty runs: on a loaded machine they take longer than one run may.
#[track_caller]
fn drill(sandbox: &Sandbox, line: &[&str]) -> Run {
    let (mut running, begun) = (sandbox.start(line), Instant::now());
    while !running.ended() && begun.elapsed() < Duration::from_secs(240) {
        std::thread::sleep(Duration::from_millis(20));
    }
    running.finish()
}

#[test]
fn a_drill_kills_recovers_stops_and_leaves_nothing() {
    let sandbox = Sandbox::new().apart();
    let run = drill(&sandbox, &["drill"]);
    run.stdout(
        "passed   an organisation: five departments in [DIR]/tmp/harness-drill-[..]
passed   an undisturbed run: a directive becomes [..] messages in [..] ms
passed   a run killed while its engine works: r-[..] and its engine are gone, it is recorded as killed, and the next run did the work once
passed   runs killed at other moments: [..] of 8 in the midst; each directive was carried out once
passed   everything on disk: [..] checks passed
passed   stop-all: two runs and their engines are gone, the gate is closed, every autoLoop is off, and nothing starts
passed   nothing is left: the scratch organisation is removed
",
    );
    assert_eq!((temporary(&sandbox), known(&sandbox), sandbox.tree("")), (0, 0, String::new()));
    // It was under the user's own key, which is there.
    assert!(sandbox.home().join(".config/harness/key").exists());
}

#[test]
fn a_drill_that_proves_nothing_fails() {
    let sandbox = Sandbox::new().apart();
    // An engine that is gone at once can't be killed at work.
    tools::executable(&sandbox.dir().join("bin/sleep"), "#!/bin/sh\nexit 0\n");
    let run = drill(&sandbox, &["drill", "--json"]).status(1);
    let steps = run.json()["data"]["steps"].clone();
    let results: Vec<&str> =
        steps.as_array().unwrap().iter().map(|step| step["result"].as_str().unwrap()).collect();
    assert_eq!(
        results,
        ["passed", "passed", "failed", "not run", "not run", "not run", "not run"],
        "{steps}"
    );
    assert_eq!(temporary(&sandbox), 0);
}

#[test]
fn a_drill_finds_a_recovery_that_keeps_a_death_to_itself() {
    let sandbox = Sandbox::new().apart().env("HARNESS_TEST_BREAK", "no-killed-line");
    let steps = drill(&sandbox, &["drill", "--json"]).status(1).json()["data"]["steps"].clone();
    assert_eq!(steps[2]["result"], "failed", "{steps}");
    assert!(steps[2]["what"].as_str().unwrap().contains("was killed, and no record says so"), "{steps}");
}
