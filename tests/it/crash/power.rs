//! Power loss after every operation: each state that the disk may then be in is put there, and the next run recovers.

use super::model::{Dice, Model};
use super::proof::{AGAIN, Between, Problems, Proof};
use super::stage::Story;
use super::tree::Tree;
use super::{is_slow, none, sample};
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

/// The next run after a power loss, and what it must have brought about.
pub fn lose(proof: &Proof, state: &Tree) -> Problems {
    proof.stage.put(state);
    let mut problems = proof.finish(Between::Nobody);
    problems.extend(proof.compare(state, Between::Nobody));
    problems
}

/// The disk after a run that was left alone.
pub fn after_a_run(proof: &Proof) -> Model {
    let mut model = Model::new(&proof.stage.start);
    model.follow(&proof.operations, &proof.stage.root().display().to_string());
    model
}

/// The disk after a run that was killed and one that recovered: what the first had not synced is still unsure. Also
/// how many operations the first one did.
pub fn after_a_recovery(proof: &Proof, fault: &str) -> (Model, usize) {
    let mut model = Model::new(&proof.stage.start);
    let top = proof.stage.root().display().to_string();
    proof.stage.reset();
    model.follow(&proof.stage.traced(proof.stage.first().fault(fault)).1, &top);
    let killed_at = model.operations();
    model.follow(&proof.stage.traced(proof.stage.later(AGAIN)).1, &top);
    (model, killed_at)
}

/// States that were tried, each counted once.
#[derive(Default)]
struct Tried(HashSet<u64>);

impl Tried {
    #[track_caller]
    fn lose(&mut self, what: &str, proof: &Proof, states: &[Tree]) {
        for (number, state) in states.iter().enumerate() {
            let mut hasher = DefaultHasher::new();
            state.files().for_each(|file| file.hash(&mut hasher));
            if self.0.insert(hasher.finish()) {
                none(&format!("{what}, state {number}"), lose(proof, state));
            }
        }
    }

    #[track_caller]
    #[expect(clippy::print_stderr, reason = "how many states a test has tried is its result")]
    fn at_least(&self, least: usize) {
        eprintln!("{} states of the disk after a power loss", self.0.len());
        assert!(self.0.len() >= least, "{} states, and {least} were wanted", self.0.len());
    }
}

#[track_caller]
fn lose_everywhere(story: Story, stride: u64, least: usize) {
    let (proof, mut tried, mut dice) = (Proof::new(story), Tried::default(), Dice::new(7));
    let model = after_a_run(&proof);
    for after in sample(proof.last(), stride) {
        let states = model.states(after as usize, &mut dice, if is_slow() { 60 } else { 6 });
        tried.lose(&format!("{story:?}, power lost after operation {after}"), &proof, &states);
    }
    tried.at_least(least);
}

#[test]
fn after_every_operation() {
    lose_everywhere(Story::Rules, 1, 100);
}

#[test]
fn after_every_operation_of_a_step_that_asks_for_much() {
    lose_everywhere(Story::Script, 3, 50);
}

/// As many different states as `HARNESS_POWER_STATES` asks for, by ever other dice: what `.ci/run` tries beside the rest.
#[track_caller]
fn lose_so_often(story: Story) {
    let wanted = std::env::var("HARNESS_POWER_STATES").ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    let (proof, mut tried, mut round) = (Proof::new(story), Tried::default(), 0);
    let model = after_a_run(&proof);
    while tried.0.len() < wanted {
        let (before, mut dice) = (tried.0.len(), Dice::new(1_000 + round));
        for after in (1..=proof.last()).take_while(|_| wanted > 0) {
            let states = model.states(after as usize, &mut dice, 20);
            tried.lose(
                &format!("{story:?}, power lost after operation {after}, round {round}"),
                &proof,
                &states,
            );
            if tried.0.len() >= wanted {
                break;
            }
        }
        round += 1;
        assert!(tried.0.len() > before, "there are no more than {before} states, and {wanted} were wanted");
    }
    tried.at_least(wanted);
}

#[test]
fn as_often_as_is_asked_for() {
    lose_so_often(Story::Rules);
}

#[test]
fn as_often_as_is_asked_for_by_a_step_that_asks_for_much() {
    lose_so_often(Story::Script);
}

/// What a killed run had done and not synced, the recovery found done: it must be sure when the plan is closed.
#[track_caller]
fn recover_and_lose(story: Story, stride: usize) {
    let (proof, mut dice) = (Proof::new(story), Dice::new(11));
    let syncs = proof.numbers_of(&["sync", "sync-folder"]);
    for number in syncs.into_iter().step_by(if is_slow() { 1 } else { stride }) {
        let fault = format!("die-before:{number}");
        let (model, _) = after_a_recovery(&proof, &fault);
        for state in model.states(model.operations(), &mut dice, 0) {
            none(&format!("{story:?} {fault}, and power lost when all was done"), lose(&proof, &state));
        }
    }
}

#[test]
fn when_a_recovery_is_done() {
    recover_and_lose(Story::Rules, 1);
    recover_and_lose(Story::Script, 4);
}

/// Power loss at every operation of the run that recovers from a crash at every operation.
#[track_caller]
fn kill_and_lose(story: Story, stride: u64, again_stride: u64, least: usize) {
    let (proof, mut tried, mut dice) = (Proof::new(story), Tried::default(), Dice::new(13));
    for number in sample(proof.last(), stride) {
        let fault = format!("die-before:{number}");
        let (model, killed_at) = after_a_recovery(&proof, &fault);
        for later in sample((model.operations() - killed_at) as u64, again_stride) {
            let states = model.states(killed_at + later as usize, &mut dice, 1);
            tried.lose(&format!("{story:?} {fault}, power lost {later} later"), &proof, &states);
        }
    }
    tried.at_least(least);
}

#[test]
fn during_a_recovery() {
    kill_and_lose(Story::Rules, 13, 7, if is_slow() { 5_000 } else { 50 });
}

#[test]
fn during_a_recovery_of_a_step_that_asks_for_much() {
    kill_and_lose(Story::Script, 29, 11, if is_slow() { 5_000 } else { 20 });
}
