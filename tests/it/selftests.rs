//! `selftest`: the crash matrix in the user's own folder, and that it would see a broken promise.

use crate::sandbox::Sandbox;

fn selftest(sandbox: &Sandbox, every: &str) -> crate::outcome::Run {
    let folder = sandbox.dir().display().to_string();
    sandbox.start(&["selftest", "--every", every, "--dir", &folder, "--json"]).finish()
}

#[test]
fn every_crash_is_recovered_and_nothing_is_left_behind() {
    let sandbox = Sandbox::new();
    let before = std::fs::read_dir(sandbox.dir()).unwrap().count();
    let run = selftest(&sandbox, "41");
    let data = run.json()["data"].clone();
    let operations = data["operations"].as_u64().unwrap();
    assert!(operations > 50, "{data:#}");
    assert_eq!(data["cases"].as_u64().unwrap(), operations.div_ceil(41) * 6);
    assert_eq!(data["faults"], serde_json::json!([]));
    drop(run);
    let left = std::fs::read_dir(sandbox.dir()).unwrap();
    let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    assert!(
        left.len() <= before + 1 && !left.iter().any(|name| name.to_string_lossy().contains("selftest")),
        "{left:?}"
    );
}

#[test]
fn a_promise_that_is_broken_is_seen() {
    let sandbox = Sandbox::new().env("HARNESS_TEST_BREAK", "plan-after-effects");
    let run = selftest(&sandbox, "17").status(1);
    let faults = run.json()["data"]["faults"].as_array().unwrap().len();
    assert!(faults > 0, "the matrix saw nothing");
}

#[test]
fn no_run_dies_on_purpose_in_a_real_organisation() {
    let sandbox = Sandbox::new().organisation();
    let before = sandbox.tree("");
    let error = sandbox.clone().run(["die", "1", "before", "0"]).status(3).parts().2;
    assert!(error.contains("a part of `harness selftest`"), "{error}");
    assert_eq!(sandbox.tree(""), before);
}
