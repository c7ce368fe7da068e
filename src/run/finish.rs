//! The end of a step: its plan is written, carried out and closed, with record, ledger line and log.

use super::ask::Answered;
use super::step::{RefusedAnswer, SavedAnswer, StepDone, StepEnd, saved_time};
use super::upkeep::is_upkeep;
use super::wake::is_beat;
use super::{Effects, Refused, Result, RunError, Shop};
use crate::domain::decision::Decision;
use crate::domain::event::Event;
use crate::domain::gate::Reading;
use crate::domain::ledger::{Line, Refusal, StepLine, render_line};
use crate::domain::message::Provenance;
use crate::domain::plan::{Effect, Finish, PLAN_SCHEMA, Plan, Planned};
use crate::domain::planning::Outcome;
use crate::domain::record::{StepRecord, render_step};
use crate::domain::request::RequestKind;
use crate::store::apply::apply_effects;
use crate::store::breakage::Breakage;
use crate::store::charters::LoadedCharter;
use crate::store::journal::{EntryKind, EntryName};
use crate::store::load::Loaded;
use serde_json::{Map, Value};

/// An answer that was understood and judged.
pub struct Settled {
    pub decision: Option<Decision>,
    pub actions: Vec<Map<String, Value>>,
    pub outcome: Outcome,
    pub provenance: Provenance,
}

/// What a step's record and ledger line are made of.
struct Ending<'a> {
    saved: &'a SavedAnswer,
    outcome_word: &'static str,
    decision: Option<&'a Decision>,
    actions: &'a [Map<String, Value>],
    outcome: Outcome,
    refusals: Vec<Refusal>,
    reason: String,
    provenance: Provenance,
}

impl Shop<'_> {
    /// A step whose answer stands.
    pub fn finish_settled(
        &self,
        saved: &SavedAnswer,
        settled: Settled,
        loaded: &Loaded,
        charter: &LoadedCharter,
    ) -> Result<StepDone> {
        let Settled { decision, actions, outcome, provenance } = settled;
        if let Some(decision) = &decision {
            self.tell(&Event::Decision {
                keyword: decision.keyword(),
                id: decision.id(),
                by: &saved.said.engine,
            });
        }
        for line in &outcome.lines {
            self.tell(&Event::Action(line));
        }
        // Putting a beat away is no progress: it would be answered for ever as often as it can come.
        let is_beat_mark = |effect: &Effect| matches!(effect, Effect::Mark { id, .. } if self.find_at_hand(id, loaded).is_some_and(|message| is_beat(&message)));
        let is_work = |effect: &Effect| is_progress(effect) && !is_beat_mark(effect);
        let changed = outcome.effects.iter().any(|planned| is_work(&planned.effect));
        let ending = Ending {
            saved,
            outcome_word: "ok",
            decision: decision.as_ref(),
            actions: &actions,
            outcome,
            refusals: Vec::new(),
            reason: String::new(),
            provenance,
        };
        let end = match self.close(ending, loaded, charter) {
            Ok(story) => {
                let end = decision.map_or(StepEnd::Acted { changed }, StepEnd::Decided);
                return Ok(done(end, &saved.said, story));
            }
            Err(RunError::Refused(Refused::Gate(why))) => StepEnd::Held(why),
            Err(error) => return Err(error),
        };
        Ok(done(end, &saved.said, vec!["the plan waits in the journal until the gate opens".to_string()]))
    }

    /// A step whose answer was refused twice.
    pub fn finish_refused(
        &self,
        saved: &SavedAnswer,
        refused: RefusedAnswer,
        loaded: &Loaded,
        charter: &LoadedCharter,
    ) -> Result<StepDone> {
        let outcome = self.escalate_thread(saved, &refused.refusals, loaded)?;
        let RefusedAnswer { end, refusals, actions } = refused;
        let outcome_word = if end == StepEnd::Ghost { "ghost" } else { "refused" };
        let ending = Ending {
            saved,
            outcome_word,
            decision: None,
            actions: &actions,
            outcome,
            refusals,
            reason: match saved.first_try {
                Some(_) => "The answer was refused twice, and nothing of it was carried out.".to_string(),
                None => "The answer was refused, and its run ended before a second try.".to_string(),
            },
            provenance: Provenance::Department,
        };
        let story = self.close(ending, loaded, charter)?;
        Ok(done(end, &saved.said, story))
    }

    /// A thread that has gone round too often becomes the human's, once; every further try is a refusal alone.
    fn escalate_thread(&self, saved: &SavedAnswer, refusals: &[Refusal], loaded: &Loaded) -> Result<Outcome> {
        let Some(refusal) = refusals.iter().find(|refusal| refusal.code == "thread_hops") else {
            return Ok(Outcome::default());
        };
        let at_hand = saved.item.as_ref().and_then(|id| self.find_at_hand(id, loaded));
        let Some(message) = at_hand else { return Ok(Outcome::default()) };
        let escalations = self.department.requests(RequestKind::Escalation, &self.key)?.requests;
        let mark = format!("Thread {}: ", message.thread);
        if escalations.iter().any(|escalation| escalation.body.starts_with(&mark)) {
            return Ok(Outcome::default());
        }
        Ok(self.plan_escalation(saved, &message.id, &format!("{mark}{}", refusal.message), loaded))
    }

    /// A step without an answer: the engine failed, or was stopped.
    pub fn finish_plain(
        &self,
        saved: &SavedAnswer,
        end: StepEnd,
        refusals: Vec<Refusal>,
        loaded: &Loaded,
        charter: &LoadedCharter,
    ) -> Result<StepDone> {
        let (outcome_word, reason) = match &end {
            StepEnd::Cancelled => ("cancelled", "Stopped before the engine had answered.".to_string()),
            StepEnd::Failed(why) | StepEnd::Held(why) => ("failed", why.clone()),
            _ => ("failed", String::new()),
        };
        let ending = Ending {
            saved,
            outcome_word,
            decision: None,
            actions: &[],
            outcome: Outcome::default(),
            refusals,
            reason,
            provenance: Provenance::Department,
        };
        let story = self.close(ending, loaded, charter)?;
        Ok(done(end, &saved.said, story))
    }

    /// Writes the plan, carries it out and closes it. From the moment the plan is there, all of it will happen once.
    /// Where the gate has closed meanwhile it waits, unless it only writes down how a step ended.
    fn close(&self, ending: Ending<'_>, loaded: &Loaded, charter: &LoadedCharter) -> Result<Vec<String>> {
        let saved = ending.saved;
        let said = &saved.said;
        self.tell(&Event::Usage {
            input_tokens: said.input_tokens,
            output_tokens: said.output_tokens,
            cost_usd: said.cost_usd,
        });
        let story = tell_story(&ending);
        if self.effects == Effects::Shown {
            return Ok(story);
        }
        let kind = if saved.mode == "ceo" { "ceo" } else { &saved.role };
        let record_name = self.department.free_record_name(saved_time(saved), kind)?;
        let line = self.step_line(&ending, loaded, &record_name);
        let mut plan = self.to_plan(&ending, line, record_name, charter);
        plan.before = self.before(&plan.effects)?;
        let name = EntryName { run: saved.run.clone(), step: saved.step, kind: EntryKind::Plan };
        if self.breaks(Breakage::PlanAfterEffects) {
            self.apply_effects(&plan)?;
        }
        if !self.breaks(Breakage::NoPlan) {
            self.journal.write(&name, &plan)?;
        }
        if !plan.effects.is_empty()
            && let Err(closed) = self.check_gate(Reading::Plan)
        {
            // The answer is in the plan, masked; as it came it may hold a secret, and the wait may be long.
            self.journal.remove(&EntryName { kind: EntryKind::Answer, ..name })?;
            return Err(closed);
        }
        let requests: Vec<Planned> = plan
            .effects
            .iter()
            .filter(|planned| matches!(planned.effect, Effect::Create { .. }))
            .cloned()
            .collect();
        self.carry_out(&name, plan)?;
        self.notify_of(&requests);
        Ok(story)
    }

    fn step_line(&self, ending: &Ending<'_>, loaded: &Loaded, record: &str) -> StepLine {
        let saved = ending.saved;
        let said = &saved.said;
        let last = loaded.live.history.last().map_or(0, |(ordinal, _)| *ordinal);
        let mask = |text: &str| self.redactor.mask(text).into_owned();
        let did = (last + 1..).zip(&ending.outcome.history).map(|(ordinal, line)| (ordinal, mask(line)));
        let came = loaded.live.new_arrivals().iter().map(|(ordinal, line)| (*ordinal, mask(line)));
        StepLine {
            schema: 1,
            at: saved.at.clone(),
            run: saved.run.clone(),
            step: saved.step,
            iteration: saved.iteration,
            role: saved.role.clone(),
            mode: saved.mode.clone(),
            engine: said.engine.clone(),
            item: saved.item.clone(),
            decision: ending
                .decision
                .map(|decision| decision.keyword().to_string())
                .or_else(|| saved.decision.clone()),
            provenance: ending.provenance.name().to_string(),
            outcome: ending.outcome_word.to_string(),
            actions: ending.outcome.lines.clone(),
            history: came.chain(did).collect(),
            refusals: self.mask_refusals(&ending.refusals),
            first_refusals: self.mask_refusals(&saved.first_refusals),
            input_tokens: said.input_tokens,
            cache_write_tokens: said.cache_write_tokens,
            cache_read_tokens: said.cache_read_tokens,
            output_tokens: said.output_tokens,
            cost_usd: said.cost_usd,
            counted_usd: said.counted_usd,
            prompt_bytes: saved.prompt_bytes,
            prefix_bytes: saved.prefix_bytes,
            prefix_sha256: saved.prefix_sha256.clone(),
            duration_s: (said.duration_s * 1000.0).round() / 1000.0,
            record: record.to_string(),
        }
    }

    /// A refusal names what it refuses, and that may be a secret.
    pub fn mask_refusals(&self, refusals: &[Refusal]) -> Vec<Refusal> {
        let masked = |refusal: &Refusal| Refusal {
            code: refusal.code.clone(),
            message: self.redactor.mask(&refusal.message).into_owned(),
        };
        refusals.iter().map(masked).collect()
    }

    fn to_plan(
        &self,
        ending: &Ending<'_>,
        line: StepLine,
        record_name: String,
        charter: &LoadedCharter,
    ) -> Plan {
        let saved = ending.saved;
        let mask = |text: &str| self.redactor.mask(text).into_owned();
        let outputs: Vec<String> =
            saved.first_try.iter().chain([&saved.said.text]).map(|text| mask(text)).collect();
        let record = render_step(
            &line,
            &StepRecord {
                dept: self.department.dept.as_str(),
                layers: &saved.layers,
                model: saved.said.model.as_deref(),
                decision: ending.decision.map(|decision| mask(&decision.to_string())),
                actions: ending.actions,
                results: &ending.outcome.results,
                outputs: &outputs,
                warnings: &saved.said.warnings,
                reason: &ending.reason,
            },
        );
        let works = saved.role == "worker" && !saved.said.text.is_empty();
        let worker_log = works.then(|| {
            let output = outputs.last().map(|text| text.trim_end()).unwrap_or_default();
            format!(
                "## {} {}/{} ({}, {})\n\n{output}\n\n",
                saved.at, saved.run, saved.step, saved.mode, saved.said.engine
            )
        });
        Plan {
            schema: PLAN_SCHEMA,
            run: saved.run.clone(),
            step: saved.step,
            dept: self.department.dept.to_string(),
            charter: charter.hash.clone(),
            role: saved.role.clone(),
            provenance: ending.provenance.name().to_string(),
            // Kept to be judged again; those of a refused answer may hold a secret, and lead to nothing.
            actions: if ending.refusals.is_empty() { ending.actions.to_vec() } else { Vec::new() },
            effects: self.sign_requests(ending.outcome.effects.clone()),
            before: Vec::new(),
            finish: Finish {
                record_name,
                record: mask(&record),
                ledger: render_line(&Line::Step(Box::new(line))),
                worker_log: worker_log.unwrap_or_default(),
            },
            failures: 0,
        }
    }

    /// What waits for a human carries a signature, so that nobody else can write or change it.
    fn sign_requests(&self, mut effects: Vec<Planned>) -> Vec<Planned> {
        for planned in &mut effects {
            let Effect::Create { path, text } = &mut planned.effect else { continue };
            let folder = path.split('/').next().unwrap_or_default();
            if let Some(kind) = RequestKind::ALL.into_iter().find(|kind| kind.folder() == folder) {
                *text = self.department.sign_request(text, &self.key, kind);
            }
        }
        effects
    }

    /// Carries out an open plan, whole, and closes it.
    pub fn carry_out(&self, name: &EntryName, mut plan: Plan) -> Result<()> {
        if self.breaks(Breakage::CloseBeforeEffects) {
            self.close_entries(name)?;
        }
        let applied = self.apply_effects(&plan);
        if self.breaks(Breakage::FinishAfterClose) {
            self.close_entries(name)?;
        }
        if let Err(error) = applied.and_then(|()| self.department.finish(&plan.finish)) {
            plan.failures += 1;
            // Where even this can't be written, the plan stays as it is and is tried again all the same.
            let _ignored = self.journal.rewrite(name, &plan);
            return Err(RunError::Store(error));
        }
        self.department.sync_notes()?;
        self.watch.note_written(&plan.effects);
        if plan.effects.is_empty() {
            return self.close_entries(name);
        }
        self.journal.remove(&EntryName { kind: EntryKind::Answer, ..name.clone() })?;
        Ok(self.journal.keep(name)?)
    }

    fn apply_effects(&self, plan: &Plan) -> crate::store::fault::Result<()> {
        apply_effects(&self.org, &self.department, &plan.effects)
    }

    /// Removes a step's entries. A power loss may bring either back: a plan is carried out again to the same end, and an
    /// answer whose step is in the ledger is only removed again.
    pub fn close_entries(&self, name: &EntryName) -> Result<()> {
        self.journal.remove(&EntryName { kind: EntryKind::Answer, ..name.clone() })?;
        self.journal.remove(&EntryName { kind: EntryKind::Plan, ..name.clone() })?;
        Ok(())
    }
}

/// Whether an effect moves anything on. Logs and memory don't: a director that only writes down its thoughts is standing
/// still.
pub(super) fn is_progress(effect: &Effect) -> bool {
    !matches!(effect, Effect::Append { .. }) && !is_upkeep(effect)
}

fn done(end: StepEnd, said: &Answered, story: Vec<String>) -> StepDone {
    StepDone { end, cost_usd: said.cost_usd, counted_usd: said.counted_usd, story }
}

fn tell_story(ending: &Ending<'_>) -> Vec<String> {
    let saved = ending.saved;
    let mut story = Vec::new();
    let item = saved.item.as_ref().map(|id| format!(" on {id}")).unwrap_or_default();
    let what = match ending.decision {
        Some(decision) => decision.to_string(),
        None => ending.outcome_word.to_string(),
    };
    story.push(format!("{}{item} by {}: {what}", saved.role, saved.said.engine));
    for (line, result) in ending.outcome.lines.iter().zip(&ending.outcome.results) {
        story.push(format!("{}: {}; {result}", line.name, line.verdict));
    }
    for refusal in &ending.refusals {
        story.push(format!("refused: {}: {}", refusal.code, refusal.message));
    }
    story
}

/// The name of a run's record.
pub fn run_record_name(shop: &Shop<'_>, line: &crate::domain::ledger::RunLine) -> Result<String> {
    let at = crate::domain::time::parse_rfc3339(&line.started).unwrap_or_default();
    Ok(shop.department.free_record_name(at, &line.kind)?)
}
