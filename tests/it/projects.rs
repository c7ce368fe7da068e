//! Projects: made and changed by people and by directors, held while they are paused, and given money once a message.

use crate::office::{data, done, office};
use crate::sandbox::Sandbox;
use serde_json::json;

fn add(sandbox: &Sandbox, options: &[&str]) -> String {
    let stdout = done(sandbox, &[&["project", "add", "--title", "Shop"], options].concat());
    let id = stdout.strip_suffix('\n').unwrap().to_owned();
    assert!(id.starts_with("p-") && !id.contains(char::is_whitespace), "the id alone: {stdout}");
    id
}

fn show(sandbox: &Sandbox, id: &str) -> serde_json::Value {
    data(sandbox, &["project", "show", id])
}

#[test]
fn one_is_made_listed_shown_and_changed() {
    let sandbox = office();
    let id = add(&sandbox, &["--body", "A second one.", "--budget-usd", "20"]);
    let listed = data(&sandbox, &["project", "list"])["projects"].as_array().unwrap().clone();
    let ids: Vec<&str> = listed.iter().map(|one| one["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["platform", "org-ops", &id]);
    let said = done(
        &sandbox,
        &["project", "update", &id, "--status", "approved", "--title", "Store", "--why", "it is good"],
    );
    assert_eq!(
        said,
        format!(
            "{id}: title Shop -> Store, status proposed -> approved. \
             To undo: harness project update {id} --title 'Shop' --status proposed --why ...\n"
        )
    );
    let shown = show(&sandbox, &id);
    assert_eq!((&shown["title"], &shown["status"]), (&json!("Store"), &json!("approved")));
    assert_eq!((&shown["description"], &shown["budget_usd"]), (&json!("A second one."), &json!(20.0)));
    assert_eq!(shown["log"][1]["what"], "title Shop -> Store, status proposed -> approved: it is good");
    assert_eq!(data(&sandbox, &["project", "list", "--status", "launched"])["projects"], json!([]));
    assert!(sandbox.read(".harness/audit.jsonl").contains(&format!("{id} title Shop -> Store")));
}

#[test]
fn the_reserved_ones_are_always_there() {
    let sandbox = office();
    assert!(!sandbox.exists(".harness/projects/platform.md"), "nobody changed it yet");
    let shown = show(&sandbox, "platform");
    assert_eq!((&shown["status"], &shown["reserved"]), (&json!("in_progress"), &json!(true)));
    done(&sandbox, &["project", "update", "org-ops", "--budget-usd", "5", "--why", "to begin with"]);
    assert_eq!(show(&sandbox, "org-ops")["budget_usd"], 5.0);
}

#[test]
fn money_that_is_sent_adds_to_the_budget_once() {
    let sandbox = office();
    let id = add(&sandbox, &[]);
    let send = |project: &str| {
        let line = [
            "send",
            "--to",
            "management",
            "--kind",
            "BudgetAllocation",
            "--subject",
            "s",
            "--body",
            "b",
            "--amount-usd",
            "12.5",
            "--project",
            project,
        ];
        sandbox.start(&line).finish().parts()
    };
    assert_eq!(show(&sandbox, &id)["budget_usd"], json!(null));
    assert_eq!(send(&id).0, 0);
    assert_eq!(send(&id).0, 0);
    assert_eq!(show(&sandbox, &id)["budget_usd"], 25.0);
    let (status, _, stderr) = send("apollo");
    assert!(status == 1 && stderr.contains("there is no project `apollo`"), "{stderr}");
    assert_eq!(send("platform").0, 0);
    assert_eq!(show(&sandbox, "platform")["budget_usd"], 12.5);
}

#[test]
fn files_are_the_owner_s_alone() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = office();
    let id = add(&sandbox, &[]);
    let mode =
        |path: &str| std::fs::metadata(sandbox.root().join(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&format!(".harness/projects/{id}.md")), 0o600);
    assert_eq!(mode(".harness/projects"), 0o700);
}
