//! kill -9 at every operation, before, after and half way through it; and again during the recovery.

use super::proof::{AGAIN, Between, Proof};
use super::stage::Story;
use super::{is_slow, none, sample};

#[track_caller]
fn kill_everywhere(story: Story, fault: &str, stride: u64, between: Between) {
    let proof = Proof::new(story);
    for number in sample(proof.last(), stride) {
        let fault = format!("{fault}:{number}");
        none(&format!("{story:?} {fault} {between:?}"), proof.kill(&fault, between));
    }
}

#[test]
fn before_every_operation() {
    kill_everywhere(Story::Rules, "die-before", 1, Between::Nobody);
}

/// Half way through what has a half way; in the long form, through everything.
#[track_caller]
fn tear_everywhere(story: Story, between: Between) {
    let proof = Proof::new(story);
    let numbers = if is_slow() { sample(proof.last(), 1) } else { proof.numbers_of(&["write", "append"]) };
    for number in numbers {
        let fault = format!("die-torn:{number}");
        none(&format!("{story:?} {fault} {between:?}"), proof.kill(&fault, between));
    }
}

#[test]
fn half_way_through_every_operation() {
    tear_everywhere(Story::Rules, Between::Nobody);
    tear_everywhere(Story::Script, Between::Nobody);
}

#[test]
fn after_every_operation() {
    // The same as before the next one, or should be.
    kill_everywhere(Story::Rules, "die-after", 7, Between::Nobody);
}

#[test]
fn while_the_receiver_acts() {
    kill_everywhere(Story::Rules, "die-before", 2, Between::Receiver);
}

#[test]
fn in_a_step_that_asks_for_much() {
    kill_everywhere(Story::Script, "die-before", 2, Between::Nobody);
    kill_everywhere(Story::Script, "die-after", 19, Between::Nobody);
}

/// Dies at every operation of the first run, and at every one of the run that recovers from it.
#[track_caller]
fn kill_twice(story: Story, stride: u64, again_stride: u64) {
    let proof = Proof::new(story);
    for number in sample(proof.last(), stride) {
        proof.stage.reset();
        proof.stage.play(proof.stage.first().fault(&format!("die-torn:{number}")));
        let dead = proof.stage.tree();
        let (_, operations) = proof.stage.traced(proof.stage.later(AGAIN));
        for again in sample(operations.len() as u64, again_stride) {
            let problems = proof.kill_again(&dead, &format!("die-torn:{again}"));
            none(&format!("{story:?} die-torn:{number}, then die-torn:{again}"), problems);
        }
    }
}

#[test]
fn and_again_during_the_recovery() {
    kill_twice(Story::Rules, 11, 9);
}

#[test]
fn and_again_during_the_recovery_of_a_step_that_asks_for_much() {
    kill_twice(Story::Script, 17, 13);
}
