//! A run that dies while its engine works: nothing that it started is left, and the next run goes on.

use super::proof::labels;
use crate::outcome::until;
use crate::sandbox::Sandbox;
use std::fs;

const REPLY: &str = "```actions NONCE\n[]\n```\n\nNothing is to be done.\n\nDONE\n";

/// What a run started is found by the run's id, so no two runs that go on side by side may have the same.
fn office(seed: u64) -> Sandbox {
    let sandbox =
        Sandbox::new().organisation().message("business", "Directive", "Grow", "Open a second shop.");
    sandbox.env("HARNESS_TEST_SEED", seed.to_string())
}

/// Processes of any run of this sandbox: the run's mark and the sandbox's home are in their environment.
fn processes(sandbox: &Sandbox) -> Vec<String> {
    let home = format!("HOME={}", sandbox.home().display());
    let is_one = |environment: &[u8]| {
        let mut variables = environment.split(|byte| *byte == 0);
        variables.clone().any(|variable| variable == home.as_bytes())
            && variables.any(|variable| variable.starts_with(b"HARNESS_RUN="))
    };
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ones = entries.filter(|entry| fs::read(entry.path().join("environ")).is_ok_and(|text| is_one(&text)));
    ones.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// The operations of a run up to the engine's answer.
fn operations_beside_the_engine() -> Vec<u64> {
    let sandbox = office(7001).reply(REPLY);
    let trace = sandbox.dir().join("trace");
    let run =
        sandbox.clone().env("HARNESS_TEST_TRACE", &trace).run(["run-loop", "business", "--engine", "claude"]);
    drop(run.any_stdout().any_stderr());
    let text = fs::read_to_string(&trace).unwrap();
    let operations: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let labels = labels(&operations);
    let answered = labels.iter().position(|label| label.ends_with(".answer.json")).unwrap();
    let active: Vec<u64> =
        (0..answered).filter(|at| labels[*at] == "active.json").map(|at| at as u64 + 1).collect();
    // The first four tell that the run has begun; the rest, that its engine has.
    assert!(active.len() > 4, "{labels:?}");
    active[4..].to_vec()
}

#[test]
fn nothing_is_left_of_a_killed_run() {
    for number in operations_beside_the_engine() {
        let sandbox = office(7100 + number).reply("#hang\n");
        let dying = sandbox.clone().env("HARNESS_TEST_FAULT", format!("die-before:{number}"));
        drop(dying.run(["run-loop", "business", "--engine", "claude"]).status(137).any_stdout().any_stderr());
        let dead = sandbox.read("org-business/.harness/active.json");
        until(&format!("nothing is left of the run killed at {number}"), || processes(&sandbox).is_empty());
        let next = sandbox
            .clone()
            .env("HARNESS_TEST_SEED", "7003")
            .run(["run-loop", "business", "--engine", "rules"]);
        drop(next.status(0).any_stdout().any_stderr());
        let dead: serde_json::Value = serde_json::from_str(&dead).unwrap();
        let ledger = sandbox.read("org-business/.harness/runs.jsonl");
        let killed = ledger
            .lines()
            .filter(|line| line.contains("\"killed\"") && line.contains(dead["run"].as_str().unwrap()));
        assert_eq!(killed.count(), 1, "{ledger}");
        assert!(processes(&sandbox).is_empty());
    }
}

#[test]
fn an_engine_goes_with_its_run() {
    let sandbox = office(7002).reply("#ignore-term\n#hang\n");
    let running = sandbox.start(&["run-loop", "business", "--engine", "claude"]);
    until("the engine works", || !processes(&sandbox).is_empty());
    running.signal(rustix::process::Signal::KILL);
    drop(running.finish().status(137).any_stdout().any_stderr());
    until("nothing is left of the run", || processes(&sandbox).is_empty());
}
