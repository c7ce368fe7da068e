//! One step: ask, read the answer, judge it, and either plan it or give the refusal back once.

use super::ask::{Answered, Ask, Before, Reply};
use super::finish::Settled;
use super::upkeep::{Material, material, material_text};
use super::{Result, Shop};
use crate::domain::decision::Decision;
use crate::domain::event::Event;
use crate::domain::judging::issued_ids;
use crate::domain::ledger::{ActionLine, Refusal};
use crate::domain::live_state::Moment;
use crate::domain::message::{Message, Provenance};
use crate::domain::prompt::{Context, Layer, Prompt, Selection, assemble_prompt};
use crate::domain::role::{Mode, Role};
use crate::domain::time::{Time, render_rfc3339};
use crate::domain::upkeep::Mark;
use crate::store::breakage::Breakage;
use crate::store::charters::LoadedCharter;
use crate::store::journal::{EntryKind, EntryName};
use crate::store::load::Loaded;
use crate::store::prompts::PromptFiles;
use crate::store::runs::Active;
use serde::{Deserialize, Serialize};
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
    /// What a summarizer or documenter has dealt with once its answer stands.
    #[serde(default)]
    pub upkeep: Option<Mark>,
    /// Whether it was shown entries that external text led to.
    #[serde(default)]
    pub shown_external: bool,
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
    Refused {
        refusals: Vec<Refusal>,
        /// The verdict on each action, where they could be read.
        verdicts: Vec<ActionLine>,
        ghost: bool,
        actions: Vec<serde_json::Map<String, serde_json::Value>>,
    },
}

impl ReadAnswer {
    /// An answer in which no action could be read.
    pub(super) fn refused(refusals: Vec<Refusal>) -> ReadAnswer {
        ReadAnswer::Refused { refusals, verdicts: Vec::new(), ghost: false, actions: Vec::new() }
    }
}

impl Shop<'_> {
    /// Takes one step. An answer that is refused gets one more try, with the refusals in its prompt.
    pub fn take_step(&self, input: &StepInput, charter: &LoadedCharter, loaded: &Loaded) -> Result<StepDone> {
        let mut repair: Vec<Refusal> = Vec::new();
        let mut first: Option<Answered> = None;
        loop {
            let nonce = crate::domain::id::suffix(&(self.random)());
            let material = material(&self.department, input.role, (self.now)())?;
            let prompt = self.prompt(input, loaded, &nonce, &repair, &material)?;
            if self.effects == super::Effects::CarriedOut {
                self.department.keep_prompt(
                    &input.active.run,
                    input.number,
                    &self.redactor.mask(&prompt.text),
                )?;
            }
            let items: Vec<Message> = loaded.live.eligible_items().cloned().collect();
            let ask = Ask {
                run: &input.active.run,
                role: input.role,
                mode: input.mode,
                prompt: &prompt,
                items: &items,
                at_hand: input.at_hand.as_ref(),
                nonce: &nonce,
                active: Some(&input.active),
                agent: None,
                portfolio: &loaded.live.portfolio,
                board: Some(&loaded.live.board),
                before: first.as_ref().map(|said| Before { engine: &said.engine, refusals: &repair }),
            };
            let first_try = first.as_ref().map(|said| FirstTry { said, refusals: &repair });
            let saved =
                |said: Answered| self.to_saved(input, said, &nonce, &prompt, &material, first_try.as_ref());
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
                Reply::Held { said, why } => {
                    return self.finish_plain(&saved(said), StepEnd::Held(why), Vec::new(), loaded, charter);
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
                ReadAnswer::Refused { refusals, verdicts, ghost, actions } => {
                    for verdict in verdicts {
                        // An action that isn't known is called what the answer called it.
                        let name = self.redactor.mask(&verdict.name).into_owned();
                        self.tell(&Event::Judged(&ActionLine { name, ..verdict }));
                    }
                    (refusals, ghost, actions)
                }
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

    pub(super) fn prompt(
        &self,
        input: &StepInput,
        loaded: &Loaded,
        nonce: &str,
        repair: &[Refusal],
        material: &Material,
    ) -> Result<Prompt> {
        let moment = Moment {
            now: render_rfc3339((self.now)()),
            nonce: nonce.to_string(),
            message: input.at_hand.clone(),
            repair: repair.to_vec(),
            material: material_text(material),
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
        material: &Material,
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
            upkeep: material.mark.clone(),
            shown_external: material.provenance == Some(Provenance::External),
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
}

/// When the answer came; what it creates is dated so, also after a crash.
pub fn saved_time(saved: &SavedAnswer) -> Time {
    crate::domain::time::parse_rfc3339(&saved.at).unwrap_or_default()
}
