//! Deliberate breakages of the protocol, for the tests that must notice each of them.
//!
//! Each takes one promise away at one place, and says what then goes wrong. A release build knows none of them:
//! [`super::disk::Disk::breaks`] is false there whatever it is asked.

use crate::domain::gate::Reading;

/// A promise that is not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Breakage {
    /// A file's data is never synced: a power loss leaves a name without its content.
    NoFileSync,
    /// A folder is never synced: a power loss takes the plan and leaves its effects.
    NoFolderSync,
    /// The file is taken away before the new one has its name: a crash in between loses it.
    RemovedBeforeReplaced,
    /// A move makes sure of the old folder first: a power loss in between loses the file.
    SourceSyncedFirst,
    /// What is found done counts as sure: a power loss after the plan was closed takes it back.
    FoundIsSure,
    /// A plan that is found counts as sure: a power loss takes it and leaves what was carried out of it.
    FoundPlanIsSure,
    /// A log's entry is added without looking: recovery adds it again.
    AppendWithoutCheck,
    /// What a crash tore off stays in a log.
    TornEntriesLeft,
    /// Only the inbox is looked through before a delivery: what was read and put away arrives again.
    NoTombstoneCheck,
    /// An answer is read without being saved: a crash pays for it twice.
    AnswerNotSaved,
    /// Nothing is written down before the effects.
    NoPlan,
    /// The plan is written once its effects are there.
    PlanAfterEffects,
    /// The plan is closed before its effects are there: a crash loses them.
    CloseBeforeEffects,
    /// The record and the ledger line are left for after the closing: a crash loses them.
    FinishAfterClose,
    /// `active.json` goes before the run's end is written: a crash leaves a run without one.
    ActiveRemovedFirst,
    /// A dead run gets no end.
    NoKilledLine,
    /// A dead run gets an end whether or not it has one.
    EndWrittenAgain,
    /// A project is changed without looking for the change: recovery makes it again.
    ChangedAgain,
    /// Temporary files stay.
    NoSweep,
    /// What a dead run had reserved is left open: nobody ever says what it came to.
    DeadNotSettled,
    /// What a crash tore off stays in the budget's book: nothing can be reserved any more.
    TornBudgetLeft,
    /// The gate is not read at one of its places.
    GateUnread(Reading),
}

impl Breakage {
    pub const ALL: [(Breakage, &str); 21] = [
        (Breakage::NoFileSync, "no-file-sync"),
        (Breakage::NoFolderSync, "no-folder-sync"),
        (Breakage::RemovedBeforeReplaced, "removed-before-replaced"),
        (Breakage::SourceSyncedFirst, "source-synced-first"),
        (Breakage::FoundIsSure, "found-is-sure"),
        (Breakage::FoundPlanIsSure, "found-plan-is-sure"),
        (Breakage::AppendWithoutCheck, "append-without-check"),
        (Breakage::TornEntriesLeft, "torn-entries-left"),
        (Breakage::NoTombstoneCheck, "no-tombstone-check"),
        (Breakage::AnswerNotSaved, "answer-not-saved"),
        (Breakage::NoPlan, "no-plan"),
        (Breakage::PlanAfterEffects, "plan-after-effects"),
        (Breakage::CloseBeforeEffects, "close-before-effects"),
        (Breakage::FinishAfterClose, "finish-after-close"),
        (Breakage::ActiveRemovedFirst, "active-removed-first"),
        (Breakage::NoKilledLine, "no-killed-line"),
        (Breakage::EndWrittenAgain, "end-written-again"),
        (Breakage::ChangedAgain, "changed-again"),
        (Breakage::NoSweep, "no-sweep"),
        (Breakage::DeadNotSettled, "dead-not-settled"),
        (Breakage::TornBudgetLeft, "torn-budget-left"),
    ];

    /// Every place that reads the gate.
    pub const GATE: [(Breakage, &str); 10] = [
        (Breakage::GateUnread(Reading::Run), "gate-run"),
        (Breakage::GateUnread(Reading::Iteration), "gate-iteration"),
        (Breakage::GateUnread(Reading::Engine), "gate-engine"),
        (Breakage::GateUnread(Reading::Plan), "gate-plan"),
        (Breakage::GateUnread(Reading::RecoveredPlan), "gate-recovered-plan"),
        (Breakage::GateUnread(Reading::RecoveredAnswer), "gate-recovered-answer"),
        (Breakage::GateUnread(Reading::Request), "gate-request"),
        (Breakage::GateUnread(Reading::Job), "gate-job"),
        (Breakage::GateUnread(Reading::JobResult), "gate-job-result"),
        (Breakage::GateUnread(Reading::Schedule), "gate-schedule"),
    ];

    pub fn parse(name: &str) -> Option<Breakage> {
        Breakage::ALL
            .into_iter()
            .chain(Breakage::GATE)
            .find(|(_, known)| *known == name)
            .map(|(breakage, _)| breakage)
    }
}
