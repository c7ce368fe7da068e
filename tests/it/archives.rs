//! What is old is put away, and everything can still be found: `archive` and `prune`.

use crate::office::{data, done};
use crate::sandbox::Sandbox;

const LATER: &str = "2027-03-01T00:00:00Z";

fn worked() -> Sandbox {
    let sandbox =
        Sandbox::new().organisation().message("business", "Directive", "Grow", "Open a second shop.");
    sandbox.run(["run-loop", "business", "--engine", "rules"]).any_stdout().any_stderr().then()
}

#[test]
fn old_records_are_packed_and_nothing_is_lost() {
    let sandbox = worked();
    let records = sandbox.tree("org-business/.harness/director-runs");
    assert_eq!(records.lines().count(), 3);
    let run =
        data(&sandbox, &["runs", "list", "business"])["runs"][0]["run"]["run"].as_str().unwrap().to_owned();
    let shown = done(&sandbox, &["runs", "show", &run]);
    let sandbox = sandbox.now(LATER);
    assert_eq!(data(&sandbox, &["prune", "business", "--dry-run"])["departments"][0]["records"], 3);
    assert_eq!(sandbox.tree("org-business/.harness/director-runs"), records, "a dry run touches nothing");
    let pruned = data(&sandbox, &["prune"]);
    assert_eq!(pruned["departments"][0]["records"], 3);
    assert_eq!(sandbox.tree("org-business/.harness/director-runs"), "packed/\npacked/2026-11.md\n");
    assert_eq!(done(&sandbox, &["runs", "show", &run]), shown);
    assert!(!done(&sandbox, &["verify"]).contains("failed"));
    assert_eq!(data(&sandbox, &["charter", "test", "business", "--since", "2026-11-01"])["judged"], 4);
    // Again: nothing is old and loose.
    assert_eq!(data(&sandbox, &["prune"])["departments"][0]["records"], 0);
    // A ledger that was lost comes back from packed records too.
    let ledger = sandbox.read("org-business/.harness/runs.jsonl");
    let sandbox = sandbox.without_file("org-business/.harness/runs.jsonl");
    done(&sandbox, &["recover", "business"]);
    assert_eq!(sandbox.read("org-business/.harness/runs.jsonl"), ledger);
}

#[test]
fn a_record_that_was_changed_in_its_pack_is_found_out() {
    let sandbox = worked().now(LATER);
    done(&sandbox, &["prune"]);
    let path = "org-business/.harness/director-runs/packed/2026-11.md";
    let text = sandbox.read(path).replace("\"outcome\":\"done\"", "\"outcome\":\"gone\"");
    let sandbox = sandbox.bytes(path, text.as_bytes());
    let text = sandbox.run(["verify"]).status(1).take_stdout();
    assert!(text.contains("_loop.md and the ledger disagree"), "{text}");
}

#[test]
fn young_records_stay() {
    let sandbox = worked().now("2026-12-01T00:00:00Z");
    assert_eq!(data(&sandbox, &["prune"])["departments"][0]["records"], 0);
    assert_eq!(data(&sandbox, &["prune", "--older-than", "7d"])["departments"][0]["records"], 3);
    let run = sandbox.run(["prune", "--older-than", "soon"]).status(2);
    run.stderr("error: `soon` is no time\nhint: such as 90d or 2026-08-01\n");
}

#[test]
fn killed_while_packing_a_record_is_in_one_place_at_least() {
    for number in (1..40).step_by(2) {
        let sandbox = worked().now(LATER);
        let dying = sandbox.clone().env("HARNESS_TEST_FAULT", format!("die-before:{number}"));
        let _ = dying.run(["prune", "business"]).any_stdout().any_stderr().parts();
        let (_, verified, _) = sandbox.clone().run(["verify"]).parts();
        assert!(verified.contains("passed  business: ledger and records"), "die-before:{number}: {verified}");
        done(&sandbox, &["prune", "business"]);
        // A temporary file may be left; nothing ever reads one.
        assert_eq!(crate::office::names(&sandbox, "org-business/.harness/director-runs"), ["packed"]);
        assert_eq!(
            crate::office::names(&sandbox, "org-business/.harness/director-runs/packed"),
            ["2026-11.md"]
        );
        assert!(!done(&sandbox, &["verify"]).contains("failed"));
    }
}

#[test]
fn old_mail_goes_to_the_archive() {
    let sandbox = worked().now(LATER);
    assert_eq!(data(&sandbox, &["archive", "--dry-run", "business"])["departments"][0]["sent"], 2);
    assert_eq!(sandbox.tree("org-business/outbox").lines().count(), 2);
    assert_eq!(data(&sandbox, &["archive"])["departments"][0]["sent"], 2);
    assert_eq!(sandbox.tree("org-business/outbox"), "");
    assert_eq!(sandbox.tree("org-business/archive/outbox/2026-11").lines().count(), 2);
}
