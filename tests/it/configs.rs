//! `config get|set`: a department's own settings, within their bounds and written down.

use crate::sandbox::Sandbox;

fn dept() -> Sandbox {
    Sandbox::new().dept("rd")
}

#[test]
fn a_key_is_set_shown_and_audited() {
    let sandbox = dept();
    let run = sandbox.run(["config", "set", "rd", "autoLoop", "true"]);
    let sandbox = run.stdout("rd: autoLoop is true. To undo: harness config set rd autoLoop false\n").then();
    let sandbox =
        sandbox.run(["config", "get", "rd"]).stdout("autoLoop = true\nautoIntervalSeconds = 60\n").then();
    let sandbox = sandbox.run(["config", "get", "rd", "activeHours"]).stdout("default\n").then();
    assert!(sandbox.read(".harness/audit.jsonl").contains("rd: autoLoop is true instead of false"));
    let config: serde_json::Value =
        serde_json::from_str(&sandbox.read("org-rd/.harness/director-config.json")).unwrap();
    assert_eq!(config["autoLoop"], true);
}

#[test]
fn bounds_are_refused_and_nothing_changes() {
    let sandbox = dept();
    let before = sandbox.read("org-rd/.harness/director-config.json");
    for (key, value) in [
        ("autoIntervalSeconds", "29"),
        ("autoIntervalSeconds", "3601"),
        ("autoIntervalSeconds", "-1"),
        ("autoLoop", "perhaps"),
        ("activeHours", "always"),
        ("missedRuns", "all"),
        ("maxQuietSeconds", "0"),
        ("engine", "nobody"),
        ("colour", "red"),
    ] {
        sandbox.clone().run(["config", "set", "rd", key, value]).status(2).any_stderr();
    }
    assert_eq!(sandbox.read("org-rd/.harness/director-config.json"), before);
    assert!(!sandbox.read(".harness/audit.jsonl").contains("\"config\""));
}

#[test]
fn a_dry_run_changes_nothing_and_a_run_may_not_change_it() {
    let sandbox = dept();
    let before = sandbox.read("org-rd/.harness/director-config.json");
    let run = sandbox.run(["config", "set", "rd", "proactive", "true", "--dry-run"]);
    let sandbox = run.stdout("rd: proactive would be true instead of default.\n").then();
    let inside = sandbox.env("HARNESS_RUN", "r-1");
    let sandbox = inside.run(["config", "set", "rd", "autoLoop", "true"]).status(3).any_stderr().then();
    assert_eq!(sandbox.read("org-rd/.harness/director-config.json"), before);
}
