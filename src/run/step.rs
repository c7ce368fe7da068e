//! One step: ask, read the answer, judge it, and either plan it or give the refusal back once.

use super::ask::{Answered, Ask, Reply};
use super::finish::Settled;
use super::{Result, Shop};
use crate::domain::action_block::{RawAction, parse_action_block};
use crate::domain::decision::{Decision, parse_decision};
use crate::domain::event::Event;
use crate::domain::judging::{Bench, issued_ids, judge_answer};
use crate::domain::ledger::Refusal;
use crate::domain::live_state::Moment;
use crate::domain::message::{Message, Provenance};
use crate::domain::planning::{Judged, StepFacts, escalation, plan_actions};
use crate::domain::prompt::{Context, Layer, Prompt, Selection, assemble_prompt};
use crate::domain::role::{Mode, Role};
use crate::domain::time::{Time, render_rfc3339};
use crate::domain::verdict::{Circumstances, Ruling, Verdict};
use crate::store::breakage::Breakage;
use crate::store::charters::LoadedCharter;
use crate::store::journal::{EntryKind, EntryName};
use crate::store::load::Loaded;
use crate::store::prompts::PromptFiles;
use crate::store::runs::Active;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;

/// What a step is about.
#[derive(Clone, Debug)]
pub struct StepInput {
    pub role: Role,
    pub mode: Mode,
    pub at_hand: Option<Message>,
    pub number: u64,
    pub iteration: u64,
    /// The decision of the iteration that led here.
    pub decision: Option<String>,
    pub active: Active,
}

/// An answer as it is saved before it is read, with all that reading it needs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SavedAnswer {
    pub run: String,
    pub kind: String,
    pub step: u64,
    pub iteration: u64,
    pub role: String,
    pub mode: String,
    pub item: Option<String>,
    pub decision: Option<String>,
    pub nonce: String,
    pub at: String,
    pub said: Answered,
    /// The refused try before this one, and why it was refused.
    pub first_try: Option<String>,
    #[serde(default)]
    pub first_refusals: Vec<Refusal>,
    pub shown: Vec<String>,
    pub layers: Vec<Layer>,
    pub prompt_bytes: u64,
    pub prefix_bytes: u64,
    pub prefix_sha256: String,
}

/// How a step ended.
#[derive(Clone, Debug, PartialEq)]
pub enum StepEnd {
    Decided(Decision),
    Acted {
        changed: bool,
    },
    /// The plan is made, and waits for the gate.
    Held(String),
    Refused,
    Ghost,
    Failed(String),
    Cancelled,
}

/// A step's end and what it cost.
#[derive(Clone, Debug)]
pub struct StepDone {
    pub end: StepEnd,
    pub cost_usd: Option<f64>,
    pub counted_usd: f64,
    /// Lines for the run's record.
    pub story: Vec<String>,
}

/// An answer that was refused twice.
pub struct RefusedAnswer {
    pub end: StepEnd,
    pub refusals: Vec<Refusal>,
    pub actions: Vec<serde_json::Map<String, serde_json::Value>>,
}

/// A try that was refused, and why.
struct FirstTry<'a> {
    said: &'a Answered,
    refusals: &'a [Refusal],
}

/// What reading an answer came to.
pub enum ReadAnswer {
    Settled(Box<Settled>),
    Refused { refusals: Vec<Refusal>, ghost: bool, actions: Vec<serde_json::Map<String, serde_json::Value>> },
}

impl Shop<'_> {
    /// Takes one step. An answer that is refused gets one more try, with the refusals in its prompt.
    pub fn take_step(&self, input: &StepInput, charter: &LoadedCharter, loaded: &Loaded) -> Result<StepDone> {
        let mut repair: Vec<Refusal> = Vec::new();
        let mut first: Option<Answered> = None;
        loop {
            self.check_gate()?;
            let nonce = crate::domain::id::suffix(&(self.random)());
            let prompt = self.prompt(input, loaded, &nonce, &repair)?;
            let items: Vec<Message> = loaded.live.open_items().cloned().collect();
            let ask = Ask {
                run: &input.active.run,
                role: input.role,
                mode: input.mode,
                prompt: &prompt,
                items: &items,
                at_hand: input.at_hand.as_ref(),
                nonce: &nonce,
                active: &input.active,
            };
            let first_try = first.as_ref().map(|said| FirstTry { said, refusals: &repair });
            let saved = |said: Answered| self.to_saved(input, said, &nonce, &prompt, first_try.as_ref());
            let saved = match self.ask(&ask)? {
                Reply::Answered(said) => saved(said),
                Reply::Failed { said, why } => {
                    return self.finish_plain(
                        &saved(said),
                        StepEnd::Failed(why),
                        Vec::new(),
                        loaded,
                        charter,
                    );
                }
                Reply::Cancelled(said) => {
                    return self.finish_plain(&saved(said), StepEnd::Cancelled, Vec::new(), loaded, charter);
                }
            };
            self.save_answer(&saved, first.is_some())?;
            let (refusals, ghost, actions) = match self.read_answer(&saved, charter, loaded)? {
                ReadAnswer::Settled(settled) => {
                    return self.finish_settled(&saved, *settled, loaded, charter);
                }
                ReadAnswer::Refused { refusals, ghost, actions } => (refusals, ghost, actions),
            };
            let refusals = self.mask_refusals(&refusals);
            self.tell(&Event::Refused(&refusals));
            if first.is_some() {
                let end = if ghost { StepEnd::Ghost } else { StepEnd::Refused };
                let refused = RefusedAnswer { end, refusals, actions };
                return self.finish_refused(&saved, refused, loaded, charter);
            }
            repair = refusals;
            first = Some(saved.said);
        }
    }

    fn prompt(&self, input: &StepInput, loaded: &Loaded, nonce: &str, repair: &[Refusal]) -> Result<Prompt> {
        let moment = Moment {
            now: render_rfc3339((self.now)()),
            nonce: nonce.to_string(),
            message: input.at_hand.clone(),
            repair: repair.to_vec(),
        };
        let dept = self.department.dept.as_str();
        let selection = Selection { dept, role: input.role, mode: input.mode };
        let sources = Arc::new(PromptFiles::of(&self.org, &self.department)?);
        let context = Context { live: &loaded.live, moment: &moment };
        assemble_prompt(sources, &selection, Some(&context)).map_err(|fault| {
            super::RunError::Refused(super::Refused::Charter(format!("can't make the prompt: {fault}")))
        })
    }

    fn to_saved(
        &self,
        input: &StepInput,
        mut said: Answered,
        nonce: &str,
        prompt: &Prompt,
        first: Option<&FirstTry<'_>>,
    ) -> SavedAnswer {
        if let Some(first) = first {
            said.add(first.said);
        }
        SavedAnswer {
            run: input.active.run.clone(),
            kind: input.active.kind.clone(),
            step: input.number,
            iteration: input.iteration,
            role: input.role.name().to_string(),
            mode: input.mode.name().to_string(),
            item: input.at_hand.as_ref().map(|message| message.id.clone()),
            decision: input.decision.clone(),
            nonce: nonce.to_string(),
            at: render_rfc3339((self.now)()),
            first_try: first.map(|first| first.said.text.clone()),
            first_refusals: first.map(|first| first.refusals.to_vec()).unwrap_or_default(),
            shown: issued_ids(&prompt.text),
            layers: prompt.layers.clone(),
            prompt_bytes: prompt.text.len() as u64,
            prefix_bytes: prompt.stable_bytes as u64,
            prefix_sha256: prompt.prefix_sha256(),
            said,
        }
    }

    /// Saves what was paid for, before anything is made of it.
    fn save_answer(&self, saved: &SavedAnswer, again: bool) -> Result<()> {
        // The rules cost nothing: asking them again is cheaper than saving what they said.
        let costs_nothing = saved.said.engine == "rules";
        if self.effects == super::Effects::Shown || costs_nothing || self.breaks(Breakage::AnswerNotSaved) {
            return Ok(());
        }
        let name = EntryName { run: saved.run.clone(), step: saved.step, kind: EntryKind::Answer };
        if again {
            self.journal.rewrite(&name, saved)?
        } else {
            self.journal.write(&name, saved)?
        }
        Ok(())
    }

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
                return Ok(ReadAnswer::Refused {
                    refusals: refusals.collect(),
                    ghost: false,
                    actions: Vec::new(),
                });
            }
        };
        let actions = raw.iter().map(|entry| entry.value.clone()).collect();
        let at_hand = saved.item.as_ref().and_then(|id| self.find_at_hand(id, loaded));
        let receivers = |name: &str, kind: &str| self.org.receiver(name, kind);
        let provenance = self.provenance(at_hand.as_ref(), &raw, loaded);
        let pending = self.pending_subjects()?;
        let asked = self.questions_asked()?;
        let pipelines: Vec<String> = self.settings.pipelines.keys().cloned().collect();
        let bench = Bench {
            charter: &charter.rules,
            at: Circumstances { dept: &self.department.dept, role, provenance, receivers: Some(&receivers) },
            inbox: &loaded.live.inbox,
            known: &loaded.live.outbox,
            at_hand: at_hand.as_ref(),
            redactor: &self.redactor,
            ledger: &loaded.ledger,
            now: (self.now)(),
            shown: &saved.shown,
            pipelines: &pipelines,
            pending: &pending,
            asked: &asked,
        };
        Ok(match judge_answer(&raw, &bench) {
            Err(refusals) => ReadAnswer::Refused { refusals, ghost: false, actions },
            Ok(judged) => {
                let outcome = self.plan(saved, &judged, at_hand.as_ref(), provenance, charter, loaded);
                ReadAnswer::Settled(Box::new(Settled { decision: None, actions, outcome, provenance }))
            }
        })
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
        let curated = [
            ("memory/MEMORY.md".to_string(), loaded.live.memory.clone()),
            ("memory/SELF.md".to_string(), loaded.live.style.clone()),
        ];
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
            },
        )
    }

    /// The least trusted of what led to an answer: the message at hand, and every message it refers to. What a
    /// department makes of a human's words are its own.
    fn provenance(&self, at_hand: Option<&Message>, raw: &[RawAction], loaded: &Loaded) -> Provenance {
        let named = raw.iter().filter_map(|entry| entry.value.get("ref").and_then(Value::as_str));
        let referred = named.filter_map(|id| self.find_at_hand(id, loaded)).map(|message| message.provenance);
        let led_by = at_hand.map(|message| message.provenance).into_iter().chain(referred);
        led_by.fold(Provenance::Department, Provenance::max)
    }

    /// The message at hand: an open one, or for a validator one that was sent.
    pub fn find_at_hand(&self, id: &str, loaded: &Loaded) -> Option<Message> {
        loaded.live.inbox.iter().chain(&loaded.live.outbox).find(|message| message.id == id).cloned()
    }

    fn read_decision(&self, saved: &SavedAnswer, loaded: &Loaded) -> ReadAnswer {
        let refused = |code: &str, message: String, ghost: bool| ReadAnswer::Refused {
            refusals: vec![Refusal { code: code.to_string(), message }],
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
        let facts = StepFacts {
            dept: &self.department.dept,
            run: &saved.run,
            step: saved.step,
            now: saved_time(saved),
            at_hand: at_hand.as_ref(),
            known: &[],
            provenance: at_hand.as_ref().map_or(Provenance::Department, |message| message.provenance),
            vouched: None,
            expires_hours: 72,
            curated: &[],
        };
        plan_actions(&[Judged { action: escalation(id, reason), ruling }], &facts)
    }

    /// Whether a decision names something that can be done.
    pub fn check_decision(
        &self,
        decision: &Decision,
        loaded: &Loaded,
    ) -> std::result::Result<(), (&'static str, String)> {
        let open = |id: &str| loaded.live.open_items().find(|message| message.id == id);
        let not_open =
            |id: &str| Err(("not_eligible", format!("`{id}` is no open message of this department")));
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
            Decision::NextValidator(id) if !loaded.live.outbox.iter().any(|message| message.id == *id) => {
                Err(("not_eligible", format!("`{id}` is no message of the outbox shown here")))
            }
            _ => Ok(()),
        }
    }
}

/// When the answer came; what it creates is dated so, also after a crash.
pub fn saved_time(saved: &SavedAnswer) -> Time {
    crate::domain::time::parse_rfc3339(&saved.at).unwrap_or_default()
}

impl Answered {
    /// Adds what the first try cost.
    fn add(&mut self, first: &Answered) {
        let sum = |a: Option<u64>, b: Option<u64>| a.zip(b).map(|(a, b)| a + b).or(a).or(b);
        self.input_tokens = sum(self.input_tokens, first.input_tokens);
        self.cache_read_tokens = sum(self.cache_read_tokens, first.cache_read_tokens);
        self.output_tokens = sum(self.output_tokens, first.output_tokens);
        // Unknown and known add up to unknown, counted at what both are counted for.
        self.cost_usd = self.cost_usd.zip(first.cost_usd).map(|(a, b)| a + b);
        self.counted_usd += first.counted_usd;
        self.duration_s += first.duration_s;
    }
}
