//! Killed at any point, at an operation of its own or between two of git's, the next run makes the commit whole.

use super::{DEPT, count, git, status, with_git};
use crate::sandbox::{Sandbox, write};
use std::fs;
use std::os::unix::fs::PermissionsExt;

const AGAIN: &str = "2026-11-18T01:42:01Z";

/// A second run, with nothing to do, and everything is committed.
#[track_caller]
fn check_healed(sandbox: Sandbox, what: &str) {
    let sandbox = sandbox.now(AGAIN).without_env("HARNESS_TEST_FAULT");
    let later = sandbox.start(&["run-loop", DEPT, "--engine", "rules"]).finish();
    let sandbox = later.any_stdout().any_stderr().then();
    let left = status(&sandbox, DEPT);
    // A record of a run that changed nothing goes with the next commit.
    let left: Vec<&str> =
        left.lines().filter(|line| !line.starts_with("?? .harness/director-runs/")).collect();
    assert_eq!(left, Vec::<&str>::new(), "{what}");
    let decisions = git(&sandbox, DEPT, &["show", "HEAD:decisions.md"]);
    assert_eq!(decisions.matches("Go: Grow").count(), 1, "{what}");
    git(&sandbox, DEPT, &["fsck", "--strict"]);
    assert!(count(&sandbox, DEPT) <= 3, "{what}");
}

#[test]
fn at_any_operation_of_the_run() {
    for number in (1..=80).step_by(7) {
        let sandbox = with_git();
        let dying = sandbox.clone().env("HARNESS_TEST_FAULT", format!("die-before:{number}"));
        let _ =
            dying.start(&["run-loop", DEPT, "--engine", "rules"]).finish().any_stdout().any_stderr().parts();
        check_healed(sandbox, &format!("die-before:{number}"));
    }
}

/// A git that kills whoever calls it, before or after its n-th call has done its work. Calls may come side by side:
/// making a folder is what gives each a number of its own.
fn killer(sandbox: &Sandbox, nth: u32, when: &str) {
    let count = sandbox.dir().join("calls");
    fs::create_dir(&count).unwrap();
    let path = sandbox.dir().join("bin/git");
    let text = format!(
        "#!/bin/sh\nn=1\nwhile ! mkdir {count}/$n 2>/dev/null; do n=$((n+1)); done\n\
         if [ $n -eq {nth} ] && [ {when} = before ]; then kill -9 $PPID; exit 1; fi\n\
         if [ $n -eq {nth} ] && [ {when} = within ]; then kill -9 $PPID; fi\n\
         /usr/bin/git \"$@\"\ncode=$?\n\
         if [ $n -eq {nth} ] && [ {when} = after ]; then kill -9 $PPID; fi\nexit $code\n",
        count = count.display()
    );
    write(&path, text.as_bytes());
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn at_any_call_of_git() {
    let sandbox = with_git();
    killer(&sandbox, 99, "never");
    sandbox.start(&["run-loop", DEPT, "--engine", "rules"]).finish().any_stdout().any_stderr();
    let calls = fs::read_dir(sandbox.dir().join("calls")).unwrap().count() as u32;
    assert!((5..=9).contains(&calls), "{calls}");
    for nth in 1..=calls {
        for when in ["before", "within", "after"] {
            let sandbox = with_git();
            killer(&sandbox, nth, when);
            let run = sandbox.start(&["run-loop", DEPT, "--engine", "rules"]).finish();
            let sandbox = run.status(137).any_stdout().any_stderr().then();
            fs::remove_file(sandbox.dir().join("bin/git")).unwrap();
            // What was killed within a call may still be at work.
            crate::outcome::until("git is done", || !sandbox.exists("org-business/.git/index.lock"));
            check_healed(sandbox, &format!("{when} call {nth}"));
        }
    }
}
