//! A commit that could not be made is told wherever a person looks, and follows: a commit for each run that waited.

use super::{DEPT, count, git, run_loop, status, with_git};
use crate::office::{data, done};
use crate::sandbox::Sandbox;

const SECOND: &str = "2026-11-18T01:42:01Z";
const THIRD: &str = "2026-11-18T02:42:01Z";

fn lock(sandbox: &Sandbox) -> std::path::PathBuf {
    sandbox.root().join("org-business/.git/index.lock")
}

/// A department whose last run could not be committed.
fn waits() -> Sandbox {
    let sandbox = with_git();
    std::fs::write(lock(&sandbox), "").unwrap();
    run_loop(sandbox).any_stderr().then()
}

/// And a second run after it.
fn two_wait() -> Sandbox {
    let sandbox = waits().message(DEPT, "Directive", "Grow more", "Open a third shop.");
    run_loop(sandbox.now(SECOND)).any_stderr().then()
}

fn check<'a>(health: &'a serde_json::Value, name: &str) -> &'a serde_json::Value {
    health["checks"].as_array().unwrap().iter().find(|check| check["check"] == name).unwrap()
}

#[test]
fn it_is_told_by_the_run_by_status_and_by_health() {
    let sandbox = with_git();
    assert_eq!(check(&data(&sandbox, &["health"]), "commits")["result"], "passed");
    std::fs::write(lock(&sandbox), "").unwrap();
    let run = sandbox.run(["run-loop", DEPT, "--engine", "rules", "--json"]).status(0);
    let told = run.json();
    let why = told["data"]["not_committed"].as_str().unwrap().to_owned();
    assert!(why.starts_with("another git holds "), "{why}");
    assert_eq!(told["warnings"][0], format!("not committed yet: {why}"));
    let sandbox = run.any_stderr().then();
    let needs = data(&sandbox, &["status"])["needs_you"].clone();
    let rows = needs.as_array().unwrap();
    let row = rows.iter().find(|row| row["what"].as_str().unwrap().starts_with("not committed: another git"));
    let row = row.unwrap_or_else(|| panic!("{needs}"));
    assert_eq!(
        (row["dept"].as_str(), row["command"].as_str()),
        (Some(DEPT), Some("harness commit business"))
    );
    let (_, stdout, _) = sandbox.clone().run(["health", "--json"]).parts();
    let health: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    let failed = check(&health["data"], "commits").clone();
    assert_eq!(failed["result"], "failed", "{failed}");
    std::fs::remove_file(lock(&sandbox)).unwrap();
    done(&sandbox, &["commit", DEPT]);
    assert_eq!(check(&data(&sandbox, &["health"]), "commits")["result"], "passed");
    assert!(!sandbox.exists("org-business/.harness/not-committed.json"));
}

#[test]
fn a_tick_tells_it_once_for_each_run() {
    let sandbox = with_git();
    std::fs::write(lock(&sandbox), "").unwrap();
    for dept in [DEPT, "marketing"] {
        done(&sandbox, &["config", "set", dept, "autoLoop", "true"]);
        done(&sandbox, &["config", "set", dept, "engine", "rules"]);
    }
    // What marketing does with it goes to nobody: whichever of the two is first, business has no mail after.
    let sandbox = sandbox.message("marketing", "ProjectKickoff", "A shop", "It opens in May.").now(SECOND);
    let (code, _, stderr) = sandbox.clone().run(["tick"]).parts();
    let told: Vec<&str> = stderr.lines().filter(|line| line.contains("not committed yet")).collect();
    assert_eq!((code, told.len()), (0, 1), "{stderr}");
    assert!(told[0].starts_with("warning: business: not committed yet: another git holds "), "{stderr}");
    let (_, stdout, stderr) = sandbox.now(THIRD).run(["tick"]).parts();
    assert_eq!((stdout.as_str(), stderr.as_str()), ("", ""), "nothing ran, so nothing is told");
}

#[test]
fn each_run_that_waited_gets_its_own_commit() {
    let sandbox = two_wait();
    std::fs::remove_file(lock(&sandbox)).unwrap();
    let shown = data(&sandbox, &["commit", DEPT, "--dry-run"]);
    assert_eq!(count(&sandbox, DEPT), 1, "a dry run touches nothing");
    let made = data(&sandbox, &["commit", DEPT]);
    assert_eq!(made["files"], shown["files"]);
    let commits = made["commits"].as_array().unwrap();
    assert_eq!((commits.len(), count(&sandbox, DEPT)), (2, 3), "{made}");
    assert_eq!(status(&sandbox, DEPT), "");
    for (commit, of) in commits.iter().zip(["HEAD~1", "HEAD"]) {
        let trailer =
            git(&sandbox, DEPT, &["log", "-1", "--format=%(trailers:key=Harness-Run,valueonly)", of]);
        let runs: Vec<&str> = trailer.trim().lines().collect();
        assert_eq!(commit["runs"], serde_json::json!(runs));
        let files = git(&sandbox, DEPT, &["show", "--no-renames", "--format=", "--name-only", of]);
        let mut listed: Vec<&str> = files.lines().collect();
        listed.sort_unstable();
        let mut told: Vec<&str> =
            commit["files"].as_array().unwrap().iter().map(|path| path.as_str().unwrap()).collect();
        told.sort_unstable();
        assert_eq!(listed, told);
    }
    // Each commit holds its own entry of the shared log, and no more.
    let first = git(&sandbox, DEPT, &["show", "HEAD~1:decisions.md"]);
    assert!(first.contains("Go: Grow") && !first.contains("Go: Grow more"), "{first}");
    assert_eq!(
        git(&sandbox, DEPT, &["show", "HEAD:decisions.md"]),
        sandbox.read("org-business/decisions.md")
    );
    git(&sandbox, DEPT, &["fsck", "--strict"]);
}

#[test]
fn runs_that_wrote_the_same_file_share_a_commit_that_names_them() {
    let sandbox = two_wait();
    std::fs::remove_file(lock(&sandbox)).unwrap();
    // As if both had written it whole: what the first one wrote is gone.
    let folder = sandbox.root().join("org-business/.harness/uncommitted");
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let Some(line) = text.lines().find(|line| line.contains(r#""path":"outbox/"#)) else { continue };
        let mut note: serde_json::Value = serde_json::from_str(line).unwrap();
        note["path"] = "weekly.md".into();
        note["written"] = "moved".into();
        std::fs::write(&path, format!("{text}{note}\n")).unwrap();
    }
    let made = data(&sandbox, &["commit", DEPT]);
    assert_eq!(made["commits"].as_array().unwrap().len(), 1, "{made}");
    let trailers = git(&sandbox, DEPT, &["log", "-1", "--format=%(trailers:key=Harness-Run,valueonly)"]);
    assert_eq!(trailers.trim().lines().count(), 2, "{trailers}");
}

#[test]
fn a_dry_run_lists_what_would_be_committed_and_no_more() {
    let sandbox = run_loop(with_git()).any_stderr().then();
    assert_eq!(data(&sandbox, &["commit", DEPT, "--dry-run"])["files"], serde_json::json!([]));
    // A message that came and was taken up is written twice; only where it is now is committed.
    let sandbox = waits();
    std::fs::remove_file(lock(&sandbox)).unwrap();
    let shown = data(&sandbox, &["commit", DEPT, "--dry-run"]);
    let made = data(&sandbox, &["commit", DEPT]);
    assert_eq!((&shown["files"], &shown["subject"]), (&made["files"], &made["subject"]));
    assert!(
        !shown["files"].as_array().unwrap().iter().any(|path| path.as_str().unwrap().starts_with("inbox/"))
    );
    assert_eq!((&shown["commit"], shown["dry_run"].as_bool()), (&serde_json::Value::Null, Some(true)));
}

#[test]
fn what_is_put_away_is_one_commit_of_exactly_that() {
    let sandbox = run_loop(with_git()).any_stderr().then().now("2027-03-01T00:00:00Z");
    // What was delivered meanwhile is not part of it.
    let sandbox = sandbox.message(DEPT, "Directive", "Later", "Not yet.");
    let before = count(&sandbox, DEPT);
    done(&sandbox, &["archive", DEPT]);
    done(&sandbox, &["prune", DEPT]);
    assert_eq!(count(&sandbox, DEPT), before + 2);
    let subjects = git(&sandbox, DEPT, &["log", "-2", "--format=%s"]);
    assert_eq!(subjects, "business: packed 3 records\nbusiness: archived 2 messages\n");
    let packed = git(&sandbox, DEPT, &["show", "--no-renames", "--format=", "--name-only", "HEAD"]);
    assert!(packed.lines().all(|path| path.starts_with(".harness/director-runs/")), "{packed}");
    assert_eq!(packed.lines().count(), 4, "{packed}");
    let moved = git(&sandbox, DEPT, &["show", "--no-renames", "--format=", "--name-only", "HEAD~1"]);
    assert!(moved.lines().all(|path| path.contains("outbox/")), "{moved}");
    let left = status(&sandbox, DEPT);
    assert!(left.lines().count() == 1 && left.starts_with("?? inbox/m-"), "{left}");
}

#[test]
fn what_is_ignored_anywhere_is_asked_of_git() {
    let sandbox = with_git();
    std::fs::write(sandbox.root().join("org-business/.git/info/exclude"), "outbox/\n").unwrap();
    let sandbox = run_loop(sandbox).any_stderr().then();
    assert!(!git(&sandbox, DEPT, &["ls-files"]).contains("outbox/"));
    let sandbox = with_git();
    std::fs::create_dir_all(sandbox.home().join(".config/git")).unwrap();
    std::fs::write(sandbox.home().join(".config/git/ignore"), "outbox/\n").unwrap();
    let sandbox = run_loop(sandbox).any_stderr().then();
    assert!(!git(&sandbox, DEPT, &["ls-files"]).contains("outbox/"));
}
