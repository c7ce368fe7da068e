//! Reading an answer in the state as it is now: a decision, or actions that are judged and planned.

use super::finish::Settled;
use super::step::{ReadAnswer, SavedAnswer, saved_time};
use super::upkeep::shown_trust;
use super::{Result, Shop};
use crate::domain::action::{Act, parse_action};
use crate::domain::action_block::{RawAction, parse_action_block};
use crate::domain::board::{Board, ItemKind};
use crate::domain::decision::{Decision, parse_decision};
use crate::domain::judging::{Bench, RefusedActions, judge_answer};
use crate::domain::ledger::Refusal;
use crate::domain::message::{Message, Provenance};
use crate::domain::planning::{Judged, StepFacts, escalation, plan_actions, plan_offers};
use crate::domain::role::Role;
use crate::domain::verdict::{Circumstances, Ruling, Verdict};
use crate::store::charters::LoadedCharter;
use crate::store::load::Loaded;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::BTreeSet;

impl Shop<'_> {
    /// Reads an answer in the state as it is now.
    pub fn read_answer(
        &self,
        saved: &SavedAnswer,
        charter: &LoadedCharter,
        loaded: &Loaded,
    ) -> Result<ReadAnswer> {
        let role = Role::parse(&saved.role).unwrap_or(Role::Worker);
        if role == Role::Orchestrator {
            return Ok(self.read_decision(saved, loaded));
        }
        let raw = match parse_action_block(&saved.said.text, &saved.nonce) {
            Ok(raw) => raw,
            Err(faults) => {
                let refusals = faults
                    .iter()
                    .map(|fault| Refusal { code: fault.code().into(), message: fault.to_string() });
                return Ok(ReadAnswer::refused(refusals.collect()));
            }
        };
        let actions = raw.iter().map(|entry| entry.value.clone()).collect();
        let at_hand = saved.item.as_ref().and_then(|id| self.find_at_hand(id, loaded));
        let receivers = self.org.receivers();
        let provenance = self.provenance(at_hand.as_ref(), &raw, loaded).max(shown_trust(saved));
        let pending = self.pending_subjects()?;
        let asked = self.questions_asked()?;
        let pipelines: Vec<String> = self.settings.pipelines.keys().cloned().collect();
        let schedules = self.schedule_names()?;
        let board = self.board_to_judge(&raw, loaded)?;
        let inbox = self.markable(loaded, at_hand.as_ref());
        let sent = self
            .department
            .sent_in(&threads_answered(&raw, at_hand.as_ref(), &[&inbox, &loaded.live.outbox]), None)?;
        let bench = Bench {
            charter: &charter.rules,
            at: Circumstances { dept: &self.department.dept, role, provenance, receivers: Some(&receivers) },
            inbox: &inbox,
            known: &loaded.live.outbox,
            at_hand: at_hand.as_ref(),
            redactor: &self.redactor,
            ledger: &loaded.ledger,
            sent: &sent,
            now: (self.now)(),
            shown: &saved.shown,
            pipelines: &pipelines,
            pending: &pending,
            asked: &asked,
            schedules: &schedules,
            board: &board,
            run: &saved.run,
            step: saved.step,
            portfolio: &loaded.live.portfolio,
        };
        Ok(match judge_answer(&raw, &bench) {
            Err(RefusedActions { refusals, verdicts }) => {
                ReadAnswer::Refused { refusals, verdicts, ghost: false, actions }
            }
            Ok(judged) => {
                let mut outcome = self.plan(saved, &judged, at_hand.as_ref(), provenance, charter, loaded);
                outcome.effects.extend(self.upkeep_effect(saved)?);
                ReadAnswer::Settled(Box::new(Settled { decision: None, actions, outcome, provenance }))
            }
        })
    }

    /// The board with as much of the archive as the answer's changes of dependencies must be judged by.
    fn board_to_judge<'a>(&self, raw: &[RawAction], loaded: &'a Loaded) -> Result<Cow<'a, Board>> {
        let turns = |entry: &RawAction| match parse_action(&entry.value).map(|action| action.act) {
            Ok(Act::Board { deed, .. }) => deed.turns_dependencies(),
            _ => false,
        };
        if !raw.iter().any(turns) {
            return Ok(Cow::Borrowed(&loaded.live.board));
        }
        let mut board = loaded.live.board.clone();
        self.department.add_ancestors(&mut board)?;
        Ok(Cow::Owned(board))
    }

    fn plan(
        &self,
        saved: &SavedAnswer,
        judged: &[Judged],
        at_hand: Option<&Message>,
        provenance: Provenance,
        charter: &LoadedCharter,
        loaded: &Loaded,
    ) -> crate::domain::planning::Outcome {
        let known: Vec<Message> = loaded.live.inbox.iter().chain(&loaded.live.outbox).cloned().collect();
        let curated = self.replaceable(loaded);
        plan_actions(
            judged,
            &StepFacts {
                dept: &self.department.dept,
                run: &saved.run,
                step: saved.step,
                now: saved_time(saved),
                at_hand,
                known: &known,
                provenance,
                vouched: None,
                expires_hours: charter.rules.approval.expires_hours,
                curated: &curated,
                role: Role::parse(&saved.role).unwrap_or(Role::Worker),
                board: Some(&loaded.live.board),
                portfolio: &loaded.live.portfolio,
            },
        )
    }

    /// The files that an action may replace, as they are.
    pub(super) fn replaceable(&self, loaded: &Loaded) -> Vec<(String, String)> {
        let mut files = curated_files(loaded).to_vec();
        // A folder that can't be listed has no schedule that could be replaced.
        files.extend(self.department.schedule_texts().unwrap_or_default());
        files
    }

    fn schedule_names(&self) -> Result<Vec<String>> {
        let found = self.department.schedules()?;
        let live = found.schedules.into_iter().filter(|(_, schedule)| !schedule.is_ended());
        let unusable = found.refused.into_iter().map(|(file, _)| file.trim_end_matches(".toml").to_string());
        Ok(live.map(|(name, _)| name).chain(unusable).collect())
    }

    /// The least trusted of what led to an answer: the message at hand, and every message it refers to. What a
    /// department makes of a human's words are its own.
    fn provenance(&self, at_hand: Option<&Message>, raw: &[RawAction], loaded: &Loaded) -> Provenance {
        let named = raw.iter().filter_map(|entry| entry.value.get("ref").and_then(Value::as_str));
        let referred = named.filter_map(|id| self.find_at_hand(id, loaded)).map(|message| message.provenance);
        let led_by = at_hand.map(|message| message.provenance).into_iter().chain(referred);
        led_by.fold(Provenance::Department, Provenance::max)
    }

    /// The message at hand: an open one, a task that is eligible, or for a validator one that was sent.
    pub fn find_at_hand(&self, id: &str, loaded: &Loaded) -> Option<Message> {
        let live = &loaded.live;
        let mut known = live.inbox.iter().chain(&live.outbox).chain(&live.items);
        let found = known.find(|message| message.id == id);
        if found.is_some() || loaded.live.inbox_beyond == 0 {
            return found.cloned();
        }
        let filed = self.department.find_in_inbox(id).ok().flatten();
        filed.map(|filed| filed.message).filter(|message| message.status.is_open())
    }

    /// The open messages that an answer may mark: those that were looked at, and the one at hand.
    fn markable<'a>(&self, loaded: &'a Loaded, at_hand: Option<&Message>) -> Cow<'a, [Message]> {
        let inbox = &loaded.live.inbox;
        let known =
            |message: &Message| inbox.iter().chain(&loaded.live.outbox).any(|there| there.id == message.id);
        match at_hand {
            Some(message) if message.item.is_none() && !known(message) => {
                Cow::Owned([&inbox[..], std::slice::from_ref(message)].concat())
            }
            _ => Cow::Borrowed(inbox),
        }
    }

    fn read_decision(&self, saved: &SavedAnswer, loaded: &Loaded) -> ReadAnswer {
        let refused = |code: &str, message: String, ghost: bool| ReadAnswer::Refused {
            refusals: vec![Refusal { code: code.to_string(), message }],
            verdicts: Vec::new(),
            ghost,
            actions: Vec::new(),
        };
        let decision = match parse_decision(&saved.said.text) {
            Ok(decision) => decision,
            Err(fault) => return refused(fault.code(), fault.to_string(), true),
        };
        if let Err((code, message)) = self.check_decision(&decision, loaded) {
            return refused(code, message, false);
        }
        if let Decision::Escalate { reason, .. } = &decision
            && let Some(kind) = self.redactor.find(reason)
        {
            let message = format!("the reason holds what looks like a secret ({kind})");
            return refused("secret", message, false);
        }
        let outcome = match &decision {
            Decision::Escalate { id, reason } => self.plan_escalation(saved, id, reason, loaded),
            Decision::Done => self.plan_done(saved, loaded),
            _ => Default::default(),
        };
        let provenance = Provenance::Department;
        ReadAnswer::Settled(Box::new(Settled {
            decision: Some(decision),
            actions: Vec::new(),
            outcome,
            provenance,
        }))
    }

    pub(super) fn plan_escalation(
        &self,
        saved: &SavedAnswer,
        id: &str,
        reason: &str,
        loaded: &Loaded,
    ) -> crate::domain::planning::Outcome {
        let ruling = Ruling {
            verdict: Verdict::Allow,
            code: "decided",
            rule: "ESCALATE".to_string(),
            message: String::new(),
            hint: None,
        };
        let at_hand = self.find_at_hand(id, loaded);
        let provenance = at_hand.as_ref().map_or(Provenance::Department, |message| message.provenance);
        let facts = StepFacts { at_hand: at_hand.as_ref(), provenance, ..self.decision_facts(saved, loaded) };
        plan_actions(&[Judged { action: escalation(id, reason), ruling }], &facts)
    }

    /// Done, with nothing open but whether somebody should help: that was asked, and is not asked again.
    fn plan_done(&self, saved: &SavedAnswer, loaded: &Loaded) -> crate::domain::planning::Outcome {
        if loaded.live.is_only_help() {
            let ids: Vec<String> = loaded.live.eligible_items().map(|message| message.id.clone()).collect();
            return plan_offers(&ids, &self.decision_facts(saved, loaded));
        }
        Default::default()
    }

    fn decision_facts<'a>(&'a self, saved: &'a SavedAnswer, loaded: &'a Loaded) -> StepFacts<'a> {
        StepFacts {
            dept: &self.department.dept,
            run: &saved.run,
            step: saved.step,
            now: saved_time(saved),
            at_hand: None,
            known: &[],
            provenance: Provenance::Department,
            vouched: None,
            expires_hours: 72,
            curated: &[],
            role: Role::Orchestrator,
            board: Some(&loaded.live.board),
            portfolio: &loaded.live.portfolio,
        }
    }

    /// Whether a decision names something that can be done.
    pub fn check_decision(
        &self,
        decision: &Decision,
        loaded: &Loaded,
    ) -> std::result::Result<(), (&'static str, String)> {
        let open = |id: &str| loaded.live.eligible_items().find(|message| message.id == id);
        let not_open = |id: &str| {
            Err((
                "not_eligible",
                format!("`{id}` is no open message and no eligible task of this department"),
            ))
        };
        let in_review = |id: &str| {
            let task = loaded.live.items.iter().find(|message| message.id == id);
            task.and_then(|message| message.item.as_ref())
                .is_some_and(|item| matches!(item.kind, ItemKind::Validate | ItemKind::Review))
        };
        match decision {
            Decision::Done => Ok(()),
            Decision::NextWorker(id) | Decision::Escalate { id, .. } if open(id).is_none() => not_open(id),
            Decision::NextWorkerCeoMode(id) => match open(id) {
                None => not_open(id),
                Some(_) if self.department.dept.as_str() != "business" => {
                    Err(("no_ceo_mode", "ceo mode is for business alone; use NEXT_WORKER".to_string()))
                }
                Some(message) if message.kind != "Directive" => Err((
                    "no_ceo_mode",
                    format!("`{id}` is a {}, and ceo mode is for a Directive; use NEXT_WORKER", message.kind),
                )),
                Some(_) => Ok(()),
            },
            Decision::NextValidator(id)
                if !in_review(id) && !loaded.live.outbox.iter().any(|message| message.id == *id) =>
            {
                Err((
                    "not_eligible",
                    format!("`{id}` is no message of the outbox shown here, and no task in review"),
                ))
            }
            _ => Ok(()),
        }
    }
}

/// The files that are curated as wholes, as they are now.
fn curated_files(loaded: &Loaded) -> [(String, String); 2] {
    [
        ("memory/MEMORY.md".to_string(), loaded.live.memory.clone()),
        ("memory/SELF.md".to_string(), loaded.live.style.clone()),
    ]
}

/// The threads that the messages of an answer may belong to: that of the message at hand, and of those they name. A
/// message for which approval is asked counts too.
fn threads_answered(raw: &[RawAction], at_hand: Option<&Message>, known: &[&[Message]]) -> BTreeSet<String> {
    let is = |action: &Map<String, Value>, wanted: &str| action.get("do").is_some_and(|name| name == wanted);
    let sends = |entry: &RawAction| match is(&entry.value, "request_approval") {
        true => entry.value.get("action").and_then(Value::as_object).cloned(),
        false => Some(entry.value.clone()),
    };
    let sends: Vec<_> = raw.iter().filter_map(sends).filter(|action| is(action, "send_message")).collect();
    let names = |message: &Message| {
        sends.iter().any(|action| action.get("ref").and_then(Value::as_str) == Some(&message.id))
    };
    let named = known.iter().flat_map(|messages| messages.iter()).filter(|message| names(message));
    let led = at_hand.filter(|_| !sends.is_empty());
    led.into_iter().chain(named).map(|message| message.thread.clone()).collect()
}
