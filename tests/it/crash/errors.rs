//! A disk that fails, once and for good, at every operation: the command says so, and nothing is lost or doubled.

use super::proof::{Between, Problems, Proof};
use super::stage::Story;
use super::{is_slow, none, sample};

/// The number, and the words that a person is to read.
const ERRORS: [(i32, &str); 3] =
    [(5, "Input/output error"), (28, "No space left on device"), (30, "Read-only file system")];

/// The disk fails in the first run; then it works again.
fn fail(proof: &Proof, fault: &str, words: &str) -> Problems {
    proof.stage.reset();
    let ended = proof.stage.play(proof.stage.first().fault(fault));
    let mut problems = Vec::new();
    let root = proof.stage.root().display().to_string();
    let clear = ended
        .stderr
        .lines()
        .any(|line| line.starts_with("error: can't ") && line.contains(&root) && line.contains(words));
    if ended.status != 1 || !clear {
        problems.push(format!("exit {}, and not clear: {}", ended.status, ended.stderr));
    }
    let failed = proof.stage.tree();
    problems.extend(proof.finish(Between::Nobody));
    problems.extend(proof.compare(&failed, Between::Nobody));
    problems
}

#[track_caller]
fn fail_everywhere(story: Story, fault: &str, stride: u64) {
    let proof = Proof::new(story);
    for number in sample(proof.last(), stride) {
        // Which error it is hardly matters, so the short form takes them in turn.
        let turn = number as usize % ERRORS.len();
        for (code, words) in if is_slow() { &ERRORS[..] } else { &ERRORS[turn..=turn] } {
            let fault = format!("{fault}:{number}:{code}");
            none(&format!("{story:?} {fault}"), fail(&proof, &fault, words));
        }
    }
}

#[test]
fn an_error_once() {
    fail_everywhere(Story::Rules, "fail-once", 1);
}

#[test]
fn an_error_for_good() {
    fail_everywhere(Story::Rules, "fail-from", 2);
}

#[test]
fn an_error_in_a_step_that_asks_for_much() {
    fail_everywhere(Story::Script, "fail-once", 4);
    fail_everywhere(Story::Script, "fail-from", 7);
}
