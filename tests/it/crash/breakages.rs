//! The protocol broken on purpose, one promise at a time: the tests of this folder must notice each.

use super::model::Dice;
use super::power::{after_a_recovery, after_a_run, lose};
use super::proof::{Between, Problems, Proof};
use super::stage::Story;
use director_harness::store::breakage::Breakage;

/// What has to happen for a breakage to show.
#[derive(Clone, Copy)]
enum By {
    Kill,
    Tear,
    KillWhileTheReceiverActs,
    PowerLoss,
    PowerLossAfterRecovery,
    /// So many operations after the recovering run has begun.
    PowerLossInRecovery(usize),
}

/// By what a breakage shows, at which operations, and words that one of the problems must have.
fn shown_by(breakage: Breakage) -> (By, &'static [&'static str], &'static str) {
    match breakage {
        Breakage::NoFileSync => (By::PowerLoss, &["rename", "rename-new"], "left behind: "),
        Breakage::NoFolderSync => (By::PowerLoss, &["append", "remove"], ""),
        Breakage::RemovedBeforeReplaced => (By::Kill, &["rename"], "the message is gone"),
        Breakage::SourceSyncedFirst => (By::PowerLoss, &["sync-folder"], "the message is gone"),
        Breakage::FoundIsSure => {
            (By::PowerLossAfterRecovery, &["sync-folder"], "missing: org-management/inbox")
        }
        // Late enough for an effect, and too early for the next entry of the journal.
        Breakage::FoundPlanIsSure => (By::PowerLossInRecovery(8), &["sync-folder"], ""),
        Breakage::AppendWithoutCheck => (By::Kill, &["sync"], "too much: org-business/decisions.md"),
        Breakage::TornEntriesLeft => (By::Tear, &["append"], "decisions.md"),
        Breakage::NoTombstoneCheck => {
            (By::KillWhileTheReceiverActs, &["sync-folder"], "too much: org-management/")
        }
        Breakage::AnswerNotSaved => (By::Kill, &["write"], "answers were paid for"),
        Breakage::NoPlan => (By::Kill, &["append"], "not one worker step"),
        Breakage::PlanAfterEffects => (By::Kill, &["rename-new"], "not one worker step"),
        Breakage::CloseBeforeEffects => (By::Kill, &["write"], ""),
        Breakage::FinishAfterClose => (By::Kill, &["append"], "not one worker step"),
        Breakage::ActiveRemovedFirst => (By::Kill, &["rename-new"], "has 0 ends"),
        Breakage::NoKilledLine => (By::Kill, &["append"], "has 0 ends"),
        Breakage::EndWrittenAgain => (By::Kill, &["remove"], "has 2 ends"),
        Breakage::ChangedAgain => (By::Kill, &["rename-new"], "too much: .harness/projects/"),
        Breakage::NoSweep => (By::Kill, &["sync"], "left behind: "),
        Breakage::DeadNotSettled => (By::Kill, &["append"], "is reserved and never settled"),
        Breakage::TornBudgetLeft => (By::Tear, &["append"], "budget.jsonl"),
        // What the gate holds back is in `gate_readings`.
        Breakage::GateUnread(_) => (By::Kill, &[], ""),
    }
}

fn try_at(proof: &Proof, by: By, number: u64) -> Problems {
    let dice = &mut Dice::new(number);
    let states = match by {
        By::Kill => return proof.kill(&format!("die-before:{number}"), Between::Nobody),
        By::Tear => return proof.kill(&format!("die-torn:{number}"), Between::Nobody),
        By::KillWhileTheReceiverActs => {
            return proof.kill(&format!("die-before:{number}"), Between::Receiver);
        }
        By::PowerLoss => after_a_run(proof).states(number as usize, dice, 0),
        By::PowerLossAfterRecovery => {
            let (model, _) = after_a_recovery(proof, &format!("die-before:{number}"));
            model.states(model.operations(), dice, 0)
        }
        By::PowerLossInRecovery(later) => {
            let (model, killed_at) = after_a_recovery(proof, &format!("die-before:{number}"));
            model.states(killed_at + later, dice, 0)
        }
    };
    states.iter().flat_map(|state| lose(proof, state)).collect()
}

#[track_caller]
#[expect(clippy::print_stderr, reason = "how each breakage shows itself is for reading")]
fn check(proof: &mut Proof, breakage: Breakage, name: &'static str) {
    proof.break_with(name);
    let (by, operations, words) = shown_by(breakage);
    // The last operations first: most promises are about what comes late in a step.
    let numbers = proof.numbers_of(operations).into_iter().rev();
    let mut problems = numbers.flat_map(|number| try_at(proof, by, number));
    let found = problems.find(|problem| problem.contains(words));
    let found = found.unwrap_or_else(|| panic!("nothing noticed {name}"));
    eprintln!("{name}: {}", found.lines().next().unwrap_or_default());
}

/// Those of one half of the list, so that the halves can run side by side.
#[track_caller]
fn each_is_noticed(half: usize) {
    let mut proof = Proof::new(Story::Rules);
    for (breakage, name) in Breakage::ALL.into_iter().skip(half).step_by(2) {
        if matches!(breakage, Breakage::AnswerNotSaved | Breakage::ChangedAgain) {
            // Only the script's answers are counted, and only they change projects.
            check(&mut Proof::new(Story::Script), breakage, name);
        } else {
            check(&mut proof, breakage, name);
        }
    }
}

#[test]
fn each_is_noticed_in_one_half() {
    each_is_noticed(0);
}

#[test]
fn each_is_noticed_in_the_other_half() {
    each_is_noticed(1);
}
