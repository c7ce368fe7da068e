//! Judging what an answer does to the board: by the board's own rules, on the board as the answer leaves it so far.

use super::{Bench, refuse};
use crate::domain::action::{Act, Action};
use crate::domain::agent::Works;
use crate::domain::board::{Board, BoardFault, Done};
use crate::domain::message::Provenance;
use crate::domain::planning::{BoardWork, deed_of};
use crate::domain::verdict::{Ruling, Verdict, strictest};

impl Bench<'_> {
    /// The ruling with the board's word. What is allowed is done to `work`; what waits for a human is only tried.
    pub(super) fn rule_board(
        &self,
        index: usize,
        action: &Action,
        ruling: Ruling,
        work: &mut BoardWork,
    ) -> Ruling {
        let action = match &action.act {
            Act::RequestApproval { action, .. } => action,
            _ => action,
        };
        let Some(deed) = deed_of(&action.act, self.at_hand) else { return ruling };
        if ruling.verdict == Verdict::Refuse {
            return ruling;
        }
        let (now, provenance) = (self.now, self.at.provenance);
        let mut trial = work.clone();
        let tried = trial.apply(index, &deed, self.at.role, provenance, now, None);
        let (tried, waits) = match tried {
            // What only lacks a human's word would be done with it.
            Err(fault) if fault.code == "needs_approval" => {
                let vouched =
                    work.clone().apply(index, &deed, self.at.role, provenance, now, Some("approved"));
                (vouched, Some(to_ruling(Verdict::NeedsApproval, fault)))
            }
            tried => (tried, None),
        };
        let done = match tried {
            Err(fault) => return to_ruling(Verdict::Refuse, fault),
            Ok(done) => done,
        };
        let rulings = [Some(ruling.clone()), waits, self.rule_pipeline(&done)];
        let ruling = strictest(rulings.into_iter().flatten().collect()).unwrap_or(ruling);
        if ruling.verdict == Verdict::Allow && !matches!(action.act, Act::RequestApproval { .. }) {
            *work = trial;
        }
        ruling
    }

    /// Giving a task to an agent that a pipeline works for starts that pipeline: the rules for `dispatch` count.
    fn rule_pipeline(&self, done: &Done) -> Option<Ruling> {
        let job = done.jobs.iter().find(|job| matches!(job.works, Works::Pipeline(_)))?;
        let lists = |names: &[String]| names.iter().any(|name| name == "dispatch");
        let what = format!("giving {} to {} starts a pipeline", job.task, job.agent);
        if !lists(&self.charter.actions) {
            return Some(refuse(
                "action_not_in_charter",
                "charter.toml actions",
                format!(
                    "{what}, and `dispatch` is not among the actions in the charter of `{}`",
                    self.at.dept
                ),
            ));
        }
        let wait = |code: &'static str, rule: &str| {
            let ruling = refuse(code, rule, format!("{what}, and that waits for a human"));
            Some(Ruling { verdict: Verdict::NeedsApproval, ..ruling })
        };
        if lists(&self.charter.approval.actions) {
            return wait("action_needs_approval", "charter.toml [approval] actions");
        }
        if self.at.provenance == Provenance::External && lists(&self.charter.approval.from_external) {
            return wait("external_led", "charter.toml [approval] from_external");
        }
        None
    }
}

fn to_ruling(verdict: Verdict, fault: BoardFault) -> Ruling {
    let rule = if fault.code == "needs_approval" { "charter.toml [board] done_needs" } else { "the board" };
    Ruling { verdict, code: fault.code, rule: rule.to_string(), message: fault.message, hint: fault.hint }
}

/// Judges one approved action by the board of today; none where it is no action of the board.
pub fn judge_on_board(
    action: &Action,
    at_hand: Option<&crate::domain::message::Message>,
    board: &Board,
    now: crate::domain::time::Time,
    approval: &str,
) -> Option<BoardFault> {
    let deed = deed_of(&action.act, at_hand)?;
    let mut work = BoardWork::new(board.clone(), approval, 0);
    let role = crate::domain::role::Role::Worker;
    work.apply(0, &deed, role, Provenance::Department, now, Some(approval)).err()
}
