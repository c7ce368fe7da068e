//! Firing schedules: a slot that has come becomes a message, once.
//!
//! The message's id follows from department, schedule and slot, and delivery looks for it where it may have gone since.
//! So a crash between the message and the note of it, two ticks at once, or a clock that goes back deliver none twice.

use crate::domain::config::{DirectorConfig, MissedRuns};
use crate::domain::id::{IdKind, derived_id};
use crate::domain::message::{Draft, render_message};
use crate::domain::schedule::{Schedule, slot_seed, turn};
use crate::domain::text::one_line;
use crate::domain::time::Time;
use crate::domain::wake::Receipt;
use crate::store::fault::Result;
use crate::store::org::Department;
use chrono::TimeDelta;

/// What firing came to.
#[derive(Clone, Debug, Default)]
pub struct Fired {
    /// The next slot of each schedule.
    pub next: Vec<(Time, String)>,
    /// Messages that were delivered.
    pub delivered: usize,
    /// Files that can't be used, and why.
    pub refused: Vec<(String, String)>,
}

/// Fires what is due. The department may be running: mail takes no lock there.
pub fn fire_schedules(department: &Department, config: &DirectorConfig, now: Time) -> Result<Fired> {
    let mut fired = Fired::default();
    let found = department.schedules()?;
    if found.schedules.is_empty() {
        return Ok(Fired { refused: found.refused, ..fired });
    }
    let _held = department.lock_schedules()?;
    let found = department.schedules()?;
    fired.refused = found.refused;
    let before = department.dealt_with()?;
    let mut dealt = before.clone();
    let policy = config.missed_runs.unwrap_or(MissedRuns::Latest);
    let mut over = Vec::new();
    for (name, schedule) in &found.schedules {
        if schedule.is_ended() {
            over.push(name);
            continue;
        }
        let turn = turn(schedule, before.until(name, schedule), policy, now);
        if let Some(slot) = turn.fires {
            fired.delivered += usize::from(deliver(department, name, schedule, slot)?);
        }
        if let Some(missed) = &turn.missed {
            let why = format!("schedule `{name}`: {missed}; missedRuns is {}", word(policy));
            department.append_receipt(&Receipt::new(now, "missed", why))?;
        }
        dealt.set(name, schedule, turn.dealt);
        match turn.next {
            Some(next) => fired.next.push((next, name.clone())),
            None => over.push(name),
        }
    }
    dealt.keep(&found.schedules);
    // The messages are there for certain; only now is the note of them written.
    if dealt != before {
        department.write_dealt_with(&dealt)?;
    }
    for name in over {
        department.put_away_schedule(name, now)?;
    }
    Ok(fired)
}

/// The next slot of each schedule, with nothing fired; one that has come and not yet fired is told too.
pub fn next_slots(department: &Department, now: Time) -> Result<Vec<(Time, String)>> {
    let dealt = department.dealt_with()?;
    let found = department.schedules()?.schedules;
    let next = |(name, schedule): (String, Schedule)| {
        let until = dealt.until(&name, &schedule).unwrap_or(schedule.created);
        schedule.next_slot(until).map(|slot| (slot, name))
    };
    let mut slots: Vec<(Time, String)> = found.into_iter().filter_map(next).collect();
    slots.sort();
    Ok(slots.into_iter().filter(|(slot, _)| *slot > now - TimeDelta::days(1)).collect())
}

fn word(policy: MissedRuns) -> &'static str {
    match policy {
        MissedRuns::Skip => "skip",
        MissedRuns::Latest => "latest",
    }
}

/// Delivers a slot's message; whether it was new. Its text follows from the slot, never from the time of delivery.
fn deliver(department: &Department, name: &str, schedule: &Schedule, slot: Time) -> Result<bool> {
    let dept = &department.dept;
    let id = derived_id(IdKind::Message, slot, &slot_seed(dept.as_str(), name, schedule, slot));
    if department.find_delivered(&id)?.is_some() {
        return Ok(false);
    }
    let first = schedule.file.prompt.trim().lines().next().unwrap_or_default();
    let draft = Draft {
        id: id.clone(),
        from: "harness".to_string(),
        to: vec![dept.clone()],
        kind: "System".to_string(),
        subject: format!("Schedule {name}: {}", one_line(first, 100)),
        body: format!("{}\n", schedule.file.prompt.trim_end()),
        amount_usd: None,
        project: None,
        directive: None,
        reference: None,
        thread: None,
        hops: 0,
        provenance: schedule.provenance(),
        vouched: None,
        created: slot,
    };
    department.deliver(&id, &render_message(&draft))?;
    Ok(true)
}
