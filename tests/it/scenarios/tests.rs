//! Runs the scenarios, and proves that the runner sees a scenario that must fail.
//!
//! The runner's own scenarios are written to a temporary folder and play `sh`, so that they stand whatever `harness`
//! does.

use super::{Mode, Runner, sorted};
use crate::sandbox::{harness, write};
use std::path::Path;
use tempfile::TempDir;

/// A packaged crate carries no scenarios; where the folder is, it holds at least one.
#[test]
fn scenarios() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios");
    if !folder.exists() {
        return;
    }
    assert!(!sorted(&folder).is_empty(), "tests/scenarios is empty");
    let mode = if std::env::var_os("UPDATE_SCENARIOS").is_some() { Mode::Rewrite } else { Mode::Compare };
    let failures = Runner { program: harness().into(), mode }.run_all(&folder);
    assert!(failures.is_empty(), "{} failed\n{}", failures.len(), failures.join("\n"));
}

fn runner(mode: Mode) -> Runner {
    Runner { program: "/bin/sh".into(), mode }
}

fn scenario(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    files.iter().for_each(|(name, text)| write(&folder.path().join(name), text.as_bytes()));
    folder
}

#[track_caller]
fn check(files: &[(&str, &str)], expected: Result<(), &str>) {
    let result = runner(Mode::Compare).run(scenario(files).path());
    match expected {
        Ok(()) => assert_eq!(result, Ok(())),
        Err(part) => assert!(result.as_ref().is_err_and(|faults| faults.contains(part)), "{result:?}"),
    }
}

const ADD: (&str, &str) = ("args", "-c 'echo hi; cd $HARNESS_ROOT; echo new > b; echo $PWD >> a'");
const BEFORE: (&str, &str) = ("org/a", "old\n");
const AFTER: (&str, &str) = ("expected/a", "old\n[ROOT]\n");
const NEW: (&str, &str) = ("expected/b", "new\n");
const OUT: (&str, &str) = ("stdout", "hi\n");

#[test]
fn a_scenario_that_is_as_it_says_passes() {
    check(&[ADD, BEFORE, AFTER, NEW, OUT], Ok(()));
    check(&[ADD, BEFORE, ("expected/a", "[..]\n[ROOT]\n"), ("expected/b.any", ""), OUT], Ok(()));
    check(&[ADD, BEFORE, AFTER, ("expected/.ignore", "b\nc\n"), OUT], Ok(()));
}

#[test]
fn every_difference_is_seen() {
    check(&[ADD, BEFORE, AFTER, NEW], Err("+hi"));
    check(&[ADD, BEFORE, AFTER, NEW, ("stdout", "ho\n")], Err("stdout differs"));
    check(&[ADD, BEFORE, AFTER, OUT], Err("b is not expected"));
    check(&[ADD, BEFORE, AFTER, NEW, OUT, ("expected/c", "")], Err("c is missing"));
    check(&[ADD, BEFORE, AFTER, NEW, OUT, ("expected/c.any", "")], Err("c is missing"));
    check(&[ADD, BEFORE, AFTER, OUT, ("expected/b", "newer\n")], Err("-newer\n+new\n"));
    check(&[ADD, BEFORE, AFTER, NEW, OUT, ("status", "3\n")], Err("status differs"));
    check(&[ADD, BEFORE, AFTER, NEW, OUT, ("stderr", "x\n")], Err("stderr differs"));
    check(&[("args", "-c 'exit 3'")], Err("status differs"));
    check(&[("args", "-c 'printf \"\\377\" > $HARNESS_ROOT/x'"), ("expected/x", "y")], Err("is not text"));
    check(&[("args", "-c 'ln -s y $HARNESS_ROOT/x'"), ("expected/x", "y")], Err("x is Link"));
    check(&[("args", "\n")], Err("args has no line"));
    check(&[], Err("args: "));
}

#[test]
fn lines_run_in_order_in_one_world() {
    check(&[("args", "-c 'echo 1 > f'\n[3] -c 'exit 3'\n-c 'cat f'"), ("stdout", "1\n")], Ok(()));
    check(&[("args", "-c 'exit 3'\n-c true")], Err("exited 3"));
    check(&[("args", "[3] -c true\n-c true")], Err("exited 0"));
    check(&[("args", "X=y -c 'echo $X'"), ("stdout", "y\n")], Ok(()));
    check(&[("args", "-c 'echo \"$1\"' sh [HOME]/x"), ("stdout", "[HOME]/x\n")], Ok(()));
}

#[test]
fn replies_and_homes_are_laid_down() {
    let script = ("args", "-c 'claude </dev/null; claude </dev/null; cat $HOME/x'");
    let replies =
        [("replies/01.txt", "#raw\none\n"), ("replies/02.txt", "#raw\ntwo\n"), ("home/x", "three\n")];
    check(&[script, replies[0], replies[1], replies[2], ("stdout", "one\ntwo\nthree\n")], Ok(()));
}

#[test]
fn a_gitignore_is_kept_under_another_name() {
    let kept = [("org/d/dot.gitignore", "x\n"), ("expected/d/dot.gitignore", "x\n")];
    check(&[("args", "-c 'cat $HARNESS_ROOT/d/.gitignore'"), kept[0], kept[1], ("stdout", "x\n")], Ok(()));
}

#[test]
fn rewriting_makes_it_pass_and_keeps_what_matches() {
    let script = "-c 'cd $HARNESS_ROOT; echo now > a; echo 2 > b; echo 3 > c; ln -s a l; echo $PWD; exit 4'";
    let stale = [("expected/a", "[..]\n"), ("expected/b", "1\n"), ("expected/gone", ""), ("stderr", "old\n")];
    let folder =
        scenario(&[("args", script), ("expected/.ignore", "c\n"), stale[0], stale[1], stale[2], stale[3]]);
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).ok();
    assert!(runner(Mode::Compare).run(folder.path()).is_err());
    assert_eq!(runner(Mode::Rewrite).run(folder.path()), Ok(()));
    assert_eq!(runner(Mode::Compare).run(folder.path()), Ok(()));
    assert_eq!(read("expected/a").as_deref(), Some("[..]\n"));
    assert_eq!(read("expected/b").as_deref(), Some("2\n"));
    assert_eq!((read("expected/c"), read("expected/gone"), read("stderr")), (None, None, None));
    assert_eq!((read("stdout").as_deref(), read("status").as_deref()), (Some("[ROOT]\n"), Some("4\n")));
}

#[test]
fn every_failing_scenario_is_reported() {
    let names = ["001_good", "002_bad", "003_good", "004_bad"];
    let files = names.map(|name| (format!("{name}/args"), format!("-c 'test {name} = {}good'", &name[..4])));
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let failures = runner(Mode::Compare).run_all(scenario(&files).path());
    let reported: Vec<&str> = failures.iter().filter_map(|failure| failure.lines().next()).collect();
    assert_eq!(reported, ["== 002_bad", "== 004_bad"]);
}
