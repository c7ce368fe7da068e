//! `stats`: the ledgers counted, for people, scripts and spreadsheets.

use crate::desk::{MARK, SEND, acts, business, with, worker};
use crate::history::{long_ledger, with_history};
use crate::sandbox::Sandbox;
use crate::snapshot;

#[test]
fn it_fits_and_reads_at_any_width() {
    let sandbox = with_history(Sandbox::new().organisation(), 20);
    snapshot::at_widths(&sandbox, "stats", &["stats"]);
    snapshot::at_widths(&sandbox, "stats-dept", &["stats", "rd", "--since", "3d"]);
}

/// Every number reads alike, also those in brackets.
#[test]
fn thousands_are_set_apart_everywhere() {
    let run =
        r#"{"line":"run","schema":1,"at":"2026-11-18T00:40:01Z","run":"r-1","kind":"loop","outcome":"done"}"#;
    let step = r#"{"line":"step","schema":1,"at":"2026-11-18T00:40:01Z","run":"r-1","step":1,"role":"worker","outcome":"done"}"#;
    let lines = format!("{run}\n{step}\n").repeat(1_200);
    let sandbox = Sandbox::new().dept("rd").file("org-rd/.harness/runs.jsonl", &lines);
    let text = sandbox.start(&["stats"]).finish().take_stdout();
    assert!(text.contains("1,200 (loop 1,200)") && text.contains("1,200 (worker 1,200)"), "{text}");
}

#[test]
fn without_runs_it_says_so() {
    let sandbox = Sandbox::new().dept("rd");
    sandbox.run(["stats"]).stdout("1 department, from the beginning\n\nNo runs yet.\n");
}

#[test]
fn what_a_real_run_did_is_counted() {
    let low = with(SEND, "confidence", "10");
    let sandbox = business().reply(&acts(&[&low, MARK]));
    let run = worker(sandbox);
    let sandbox = run.then();
    let request = sandbox.folder("org-business/approvals");
    let id = request.keys().next().unwrap().trim_end_matches(".md").to_string();
    let later = sandbox.now("2026-11-18T01:12:01Z");
    let later = later.run(["approvals", "reject", &id, "--why", "no"]).any_stdout().any_stderr().then();
    let total = later.start(&["stats", "business", "--json"]).finish().json()["data"]["total"].clone();
    assert_eq!(total["runs"], 1, "{total}");
    assert_eq!(total["by_kind"]["director"], 1, "{total}");
    assert_eq!(total["verdicts"]["needs approval"], 1, "{total}");
    assert_eq!(total["approvals"]["rejected"], 1, "{total}");
    assert_eq!(total["approvals"]["median_s"], 1_800, "{total}");
    assert_eq!(total["days"][0]["date"], "2026-11-18", "{total}");
}

#[test]
fn a_spreadsheet_gets_a_line_a_day() {
    let sandbox = with_history(Sandbox::new().organisation(), 5);
    let csv = sandbox.start(&["stats", "--csv"]).finish().take_stdout();
    assert_eq!(csv.lines().count(), 1 + 5 * 5, "{csv}");
    let fields: Vec<usize> = csv.lines().map(|line| line.split(',').count()).collect();
    assert!(fields.iter().all(|count| *count == 13), "{csv}");
    let since = sandbox.start(&["stats", "rd", "--csv", "--since", "2026-11-16"]).finish().take_stdout();
    assert_eq!(since.lines().count(), 3, "{since}");
    let error = sandbox.clone().run(["stats", "--since", "tuesday"]).status(2).parts().2;
    assert!(error.contains("hint: a span such as `7d`"), "{error}");
    sandbox.run(["stats", "--csv", "--json"]).status(2).any_stdout();
}

#[test]
fn a_department_that_cannot_be_read_hides_no_other() {
    let sandbox = with_history(Sandbox::new().organisation(), 2);
    let sandbox =
        sandbox.without_file("org-rd/.harness/runs.jsonl").link("org-rd/.harness/runs.jsonl", "/etc/passwd");
    let run = sandbox.start(&["stats", "--json"]).finish();
    let document = run.json();
    assert_eq!(document["data"]["departments"].as_array().unwrap().len(), 4);
    assert!(document["warnings"][0].as_str().unwrap().starts_with("rd is not counted: "), "{document}");
}

/// What it keeps does not grow with the ledger: 100,000 lines are counted in less room than they take.
#[test]
fn a_long_history_is_counted_in_little_memory() {
    let text = long_ledger(100_000);
    assert!(text.len() > 40_000_000, "{}", text.len());
    let shell = Sandbox::of("/bin/sh").run(["-c", "harness init business"]).any_stdout().then();
    let shell = shell.bytes("org-business/.harness/runs.jsonl", text.as_bytes());
    drop(text);
    // An unoptimised program alone takes 27 of these 38 MiB.
    let run = shell.run(["-c", "ulimit -v 38912 && harness stats --json"]);
    assert_eq!(run.json()["data"]["total"]["runs"], 33_333);
}
