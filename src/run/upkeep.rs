//! Upkeep at the end of a loop: the summarizer consolidates memory and the documenter writes the week down, when due.
//!
//! Each is a step like any other, with gate, budget, limits and journal. It comes once the mail is handled. Nothing new
//! means no call, and a try that came to nothing is stamped before it begins, so that it isn't tried with every run.

use super::cycle::{Ending, Run, RunOutcome};
use super::step::{SavedAnswer, StepEnd};
use super::{Effects, Result, RunError, Shop};
use crate::domain::digest::sha256;
use crate::domain::ledger::Line;
use crate::domain::memory::stale_points;
use crate::domain::message::Provenance;
use crate::domain::plan::{Effect, Planned};
use crate::domain::request::{RequestKind, RequestStatus};
use crate::domain::role::{Mode, Role};
use crate::domain::time::{Time, parse_rfc3339, render_rfc3339};
use crate::domain::upkeep::{Due, Mark, Upkeep};
use crate::domain::week::week_facts;
use crate::store::fault::Result as StoreResult;
use crate::store::memory::render_upkeep;
use crate::store::org::Department;
use chrono::TimeDelta;

/// The file that says what was done last.
pub const UPKEEP: &str = ".harness/upkeep.json";
/// How much of the new entries one step is shown.
const MATERIAL_BYTES: usize = 32 * 1024;

/// What a summarizer or documenter is shown beside live state, and what it has dealt with once it has answered.
#[derive(Clone, Debug, Default)]
pub struct Material {
    pub lines: Vec<String>,
    pub mark: Option<Mark>,
    pub provenance: Option<Provenance>,
}

/// What a role is shown of memory or of the week; nothing for the others.
pub fn material(department: &Department, role: Role, now: Time) -> StoreResult<Material> {
    match role {
        Role::Summarizer => memory_material(department, now),
        Role::Documenter => week_material(department, now),
        _ => Ok(Material::default()),
    }
}

/// The new entries, oldest first, as many as fit; only those count as dealt with.
fn memory_material(department: &Department, now: Time) -> StoreResult<Material> {
    let mark = department.upkeep()?.0.summarizer;
    let entries = department.memory_entries(&mark.day)?;
    let new = mark.new_entries(&entries);
    let (mut lines, mut bytes, mut shown) = (Vec::new(), 0, 0);
    for entry in new {
        let stale = entry.stale(now).map(|age| format!(" ({age})")).unwrap_or_default();
        let line = format!("{}{stale} {}", entry.day, entry.render().trim_end());
        if shown > 0 && bytes + line.len() > MATERIAL_BYTES {
            break;
        }
        bytes += line.len();
        shown += 1;
        lines.push(line);
    }
    if shown < new.len() {
        lines.push(format!("[cut: {} more entries, which come next time]", new.len() - shown));
    }
    let dealt_with = &entries[..entries.len() - new.len() + shown];
    for name in ["MEMORY", "SELF"] {
        let text = department.dir.read(&format!("memory/{name}.md"), 1024 * 1024)?;
        let text = text.map(|text| text.text).unwrap_or_default();
        lines.extend(stale_points(&text, now).into_iter().map(|point| format!("in {name}: {point}")));
    }
    Ok(Material {
        lines,
        mark: Some(mark.consolidated(dealt_with, now)),
        provenance: new[..shown].iter().map(|entry| entry.provenance).max(),
    })
}

fn week_material(department: &Department, now: Time) -> StoreResult<Material> {
    let mark = department.upkeep()?.0.documenter;
    // The first report is late by as much as a run is; it looks back no further than two weeks.
    let since = mark.done().unwrap_or(now - TimeDelta::days(14));
    let mut lines = department.ledger_since(since)?;
    lines.retain(|line| parse_rfc3339(line.at()).is_some_and(|at| at > since));
    let open: Vec<_> = department.inbox()?.messages.into_iter().map(|filed| filed.message).collect();
    let at = Some(render_rfc3339(now));
    let mark = Mark { done_at: at.clone(), tried_at: at, ..mark };
    Ok(Material { lines: week_facts(&lines, &open), mark: Some(mark), provenance: None })
}

/// When the department first did something since a moment; upkeep itself is not work.
fn worked_since(department: &Department, since: Option<Time>) -> StoreResult<Option<Time>> {
    department.find_in_ledger(since, &|line| {
        let Line::Step(step) = line else { return None };
        let at = parse_rfc3339(&step.at)?;
        let upkeep = matches!(step.role.as_str(), "summarizer" | "documenter");
        let done = !upkeep && step.outcome == "ok";
        (done && since.is_none_or(|since| at > since)).then_some(at)
    })
}

/// When the summarizer and the documenter of a department are due next; for whoever decides when to run.
pub fn upkeep_due(department: &Department) -> StoreResult<Vec<(Role, Due)>> {
    let (upkeep, _) = department.upkeep()?;
    let entries = department.memory_entries(&upkeep.summarizer.day)?;
    let worked = worked_since(department, upkeep.documenter.done())?;
    let summary = upkeep.summarizer.summary_due(&entries).map(|due| (Role::Summarizer, due));
    let week = upkeep.documenter.weekly_due(worked).map(|due| (Role::Documenter, due));
    Ok(summary.into_iter().chain(week).collect())
}

impl Shop<'_> {
    /// Takes the steps of upkeep that are due once a loop is done; its ending says what came of them.
    pub(super) fn keep_up(&self, run: &mut Run, (outcome, mut reason): Ending) -> Result<Ending> {
        if outcome != RunOutcome::Done || self.effects == Effects::Shown {
            return Ok((outcome, reason));
        }
        for role in self.roles_due()? {
            if (self.interrupt)().is_some() {
                return Ok((RunOutcome::Cancelled, "stopped".to_string()));
            }
            match self.keep_up_by(run, role) {
                Ok(StepEnd::Cancelled) => return Ok((RunOutcome::Cancelled, "stopped".to_string())),
                Ok(StepEnd::Acted { .. }) => reason.push_str(&format!("; the {role} has done its work")),
                Ok(StepEnd::Failed(why)) => reason.push_str(&format!("; the {role} failed: {why}")),
                Ok(_) => reason.push_str(&format!("; the answer of the {role} could not be used")),
                Err(RunError::Refused(why)) => reason.push_str(&format!("; the {role} waits: {why}")),
                Err(error) => return Err(error),
            }
        }
        Ok((outcome, reason))
    }

    /// Whether a run has upkeep to do, also where no mail is open.
    pub(super) fn is_upkeep_due(&self) -> Result<bool> {
        Ok(!self.roles_due()?.is_empty())
    }

    fn roles_due(&self) -> Result<Vec<Role>> {
        // The rules know nothing of upkeep: without another engine there is nobody to ask.
        if self.engines.iter().all(|name| name == "rules") {
            return Ok(Vec::new());
        }
        let mut roles = Vec::new();
        for (role, due) in upkeep_due(&self.department)? {
            if due.from <= (self.now)() && !self.waits_for_approval(role)? {
                roles.push(role);
            }
        }
        Ok(roles)
    }

    fn keep_up_by(&self, run: &mut Run, role: Role) -> Result<StepEnd> {
        let charter = self.accepted_charter()?;
        let now = (self.now)();
        let (upkeep, _) = self.department.upkeep()?;
        let tried = match role {
            Role::Documenter => Upkeep { documenter: upkeep.documenter.tried(now), ..upkeep },
            _ => Upkeep { summarizer: upkeep.summarizer.tried(now), ..upkeep },
        };
        self.department.write_upkeep(&tried)?;
        let loaded = self.load_state(&charter)?;
        Ok(self.step(run, role, Mode::Normal, None, None, &charter, &loaded)?.end)
    }

    /// What it said last time waits for a human: asking again would only say the same.
    fn waits_for_approval(&self, role: Role) -> Result<bool> {
        let found = self.department.requests(RequestKind::Approval, &self.key)?.requests;
        let of_role = |text: Option<&str>| text == Some(role.name());
        Ok(found.iter().any(|one| one.status == RequestStatus::Pending && of_role(one.text("role"))))
    }

    /// The effect by which a step of upkeep counts as done: part of its plan, so that it counts once and never too soon.
    pub(super) fn upkeep_effect(&self, saved: &SavedAnswer) -> Result<Option<Planned>> {
        let Some(mark) = &saved.upkeep else { return Ok(None) };
        let (upkeep, text) = self.department.upkeep()?;
        let done = match saved.role.as_str() {
            "documenter" => Upkeep { documenter: mark.clone(), ..upkeep },
            _ => Upkeep { summarizer: mark.clone(), ..upkeep },
        };
        let before = text.map(|text| sha256(text.as_bytes()));
        let effect = Effect::Replace { path: UPKEEP.to_string(), before, text: render_upkeep(&done) };
        Ok(Some(Planned { action: None, effect }))
    }
}

/// What the closers of the summarizer and the documenter show.
pub fn material_text(material: &Material) -> String {
    material.lines.iter().map(|line| format!("{line}\n")).collect()
}

/// Whether a step changed nothing but the note that it was taken.
pub fn is_upkeep(effect: &Effect) -> bool {
    matches!(effect, Effect::Replace { path, .. } if path == UPKEEP)
}

/// The least trusted of what a step was shown of memory.
pub fn shown_trust(saved: &SavedAnswer) -> Provenance {
    match saved.shown_external {
        true => Provenance::External,
        false => Provenance::Department,
    }
}
