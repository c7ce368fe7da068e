//! A run's recorded answers once more, in a scratch copy: read, judged and carried out by today's rules.

use super::ask::Answered;
use super::step::{ReadAnswer, RefusedAnswer, SavedAnswer, StepEnd, StepInput};
use super::upkeep::material;
use super::{Result, Shop};
use crate::domain::judging::issued_ids;
use crate::domain::ledger::StepLine;
use crate::domain::message::Provenance;
use crate::domain::replay::Came;
use crate::domain::role::{Mode, Role};
use crate::domain::time::{Time, parse_rfc3339};
use crate::store::load::Loaded;
use crate::store::runs::Active;

/// One step as it is recorded.
#[derive(Clone, Debug)]
pub struct Recorded {
    pub line: StepLine,
    /// The run's kind.
    pub kind: String,
    /// What the engine said; none where it said nothing.
    pub output: Option<String>,
    /// What it was asked, where that is still kept.
    pub prompt: Option<String>,
}

/// The same step by today's rules.
#[derive(Clone, Debug)]
pub struct Replayed {
    pub came: Came,
    /// What it would be asked today.
    pub prompt: String,
}

impl Shop<'_> {
    /// Replays one step in this scratch copy. The clock is set by the caller.
    pub fn replay_step(&self, recorded: &Recorded) -> Result<Option<Replayed>> {
        let Some(output) = &recorded.output else { return Ok(None) };
        let charter = self.accepted_charter()?;
        let loaded = self.load_state(&charter)?;
        let asked_with = recorded.prompt.as_deref().and_then(nonce_of_prompt);
        let nonce = nonce_of(output).or(asked_with).unwrap_or_default();
        let input = to_input(recorded, &loaded, self);
        let material = material(&self.department, input.role, (self.now)())?;
        let prompt = self.prompt(&input, &loaded, &nonce, &[], &material)?;
        let mut shown = issued_ids(&prompt.text);
        shown.extend(recorded.prompt.iter().flat_map(|prompt| issued_ids(prompt)));
        let line = &recorded.line;
        let saved = SavedAnswer {
            run: line.run.clone(),
            kind: recorded.kind.clone(),
            step: line.step,
            iteration: line.iteration,
            role: line.role.clone(),
            mode: line.mode.clone(),
            item: line.item.clone(),
            decision: line.decision.clone(),
            nonce,
            at: line.at.clone(),
            said: Answered { engine: "replay".to_string(), text: output.clone(), ..Answered::default() },
            first_try: None,
            first_refusals: Vec::new(),
            shown,
            layers: prompt.layers.clone(),
            prompt_bytes: prompt.text.len() as u64,
            prefix_bytes: prompt.stable_bytes as u64,
            prefix_sha256: prompt.prefix_sha256(),
            upkeep: None,
            shown_external: material.provenance == Some(Provenance::External),
        };
        let mut came = Came::default();
        match self.read_answer(&saved, &charter, &loaded)? {
            ReadAnswer::Settled(settled) => {
                came.decision = settled.decision.as_ref().map(|decision| decision.keyword().to_string());
                came.actions = settled.outcome.lines.clone();
                self.finish_settled(&saved, *settled, &loaded, &charter)?;
            }
            ReadAnswer::Refused { refusals, ghost, actions, .. } => {
                came.refusals = self.mask_refusals(&refusals);
                let end = if ghost { StepEnd::Ghost } else { StepEnd::Refused };
                self.finish_refused(&saved, RefusedAnswer { end, refusals, actions }, &loaded, &charter)?;
            }
        }
        Ok(Some(Replayed { came, prompt: self.redactor.mask(&prompt.text).into_owned() }))
    }
}

fn to_input(recorded: &Recorded, loaded: &Loaded, shop: &Shop<'_>) -> StepInput {
    let line = &recorded.line;
    StepInput {
        role: Role::parse(&line.role).unwrap_or(Role::Worker),
        mode: if line.mode == "ceo" { Mode::Ceo } else { Mode::Normal },
        at_hand: line.item.as_ref().and_then(|id| shop.find_at_hand(id, loaded)),
        number: line.step,
        iteration: line.iteration,
        decision: line.decision.clone(),
        active: Active {
            schema: 1,
            run: line.run.clone(),
            kind: recorded.kind.clone(),
            role: line.role.clone(),
            started: line.at.clone(),
            pid: 0,
            start_time: 0,
            boot: String::new(),
            step: 0,
            guard_pid: None,
            engine_pid: None,
        },
    }
}

/// When a step was taken.
pub fn moment(recorded: &Recorded) -> Time {
    parse_rfc3339(&recorded.line.at).unwrap_or_default()
}

/// The nonce in a prompt's tail, whose fences carry it.
fn nonce_of_prompt(prompt: &str) -> Option<String> {
    let (_, after) = prompt.rsplit_once("<<<DATA ")?;
    Some(after.chars().take_while(|c| c.is_ascii_alphanumeric()).collect())
}

/// The nonce of a recorded answer, which is that of its own step.
fn nonce_of(output: &str) -> Option<String> {
    let (_, after) = output.rsplit_once("```actions ")?;
    Some(after.chars().take_while(|c| c.is_ascii_alphanumeric()).collect())
}
