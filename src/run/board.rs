//! A person's change of the board: under the department's lock, by the same rules as a director's, through the journal.

use super::{Effects, Result, Shop};
use crate::domain::board::{Actor, At, BoardFault, Deed, Done, FileChange};
use crate::domain::id::{IdKind, new_id};
use crate::domain::message::Provenance;
use crate::domain::plan::{Effect, Finish, PLAN_SCHEMA, Plan, Planned};
use crate::domain::planning::job_effect;
use crate::store::journal::{EntryKind, EntryName};
use crate::store::lock::{Attempt, try_lock};

/// What a change came to.
pub enum Changed {
    Busy,
    Refused(BoardFault),
    Done { done: Done, files: Vec<String> },
}

impl Shop<'_> {
    /// Carries out one deed for a person.
    pub fn change_board(&self, deed: &Deed, actor: Actor<'_>) -> Result<Changed> {
        let own = self.department.own()?;
        let _lock = match self.effects {
            Effects::Shown => None,
            Effects::CarriedOut => match try_lock(&own, "lock")? {
                Attempt::Held(lock) => Some(lock),
                Attempt::Busy => return Ok(Changed::Busy),
            },
        };
        let charter = self.accepted_charter()?;
        if self.effects == Effects::CarriedOut {
            self.recover(&charter)?;
        }
        let mut board = self.department.board(&charter.rules, &self.settings, &self.key)?.board;
        for id in named(deed) {
            if board.find_task(id).is_none()
                && let Some((task, origin)) = self.department.archived_task(id)?
            {
                board.add_task(task, origin);
            }
        }
        if deed.turns_dependencies() {
            self.department.add_ancestors(&mut board)?;
        }
        let now = (self.now)();
        let new_id = |_: usize| {
            let random = (self.random)();
            let mut six = [0; 6];
            six.copy_from_slice(&random[..6]);
            new_id(IdKind::Task, now, &six)
        };
        let at =
            At { actor, now, source: "none", provenance: Provenance::Human, vouched: None, new_id: &new_id };
        let done = match board.apply(deed, &at) {
            Ok(done) => done,
            Err(fault) => return Ok(Changed::Refused(fault)),
        };
        let changes = board.changes();
        let files = changes.iter().map(|(_, change)| path_of(change).to_string()).collect();
        if self.effects == Effects::Shown {
            return Ok(Changed::Done { done, files });
        }
        let mut effects: Vec<Planned> = changes
            .into_iter()
            .map(|(_, change)| Planned { action: None, effect: Effect::of_board(change, Vec::new()) })
            .collect();
        for (index, job) in done.jobs.iter().enumerate() {
            let seed = format!("{}/{index}", self.run_id);
            let (_, effect) = job_effect(job, &seed, &self.run_id, now, Provenance::Human);
            effects.push(Planned { action: None, effect });
        }
        self.write_board(effects, &charter.hash)?;
        Ok(Changed::Done { done, files })
    }

    fn write_board(&self, effects: Vec<Planned>, charter: &str) -> Result<()> {
        let name = EntryName { run: self.run_id.clone(), step: 0, kind: EntryKind::Plan };
        let plan = Plan {
            schema: PLAN_SCHEMA,
            run: self.run_id.clone(),
            step: 0,
            dept: self.department.dept.to_string(),
            charter: charter.to_string(),
            role: String::new(),
            provenance: Provenance::Human.name().to_string(),
            actions: Vec::new(),
            before: self.before(&effects)?,
            effects,
            finish: Finish::default(),
            failures: 0,
        };
        self.journal.write(&name, &plan)?;
        self.carry_out(&name, plan)?;
        Ok(self.journal.sync()?)
    }
}

/// The tasks that a deed names, which may lie in the archive.
fn named(deed: &Deed) -> Vec<&str> {
    match deed {
        Deed::Create(new) => {
            new.depends_on.iter().chain(&new.not_twin_of).chain(&new.assists).map(String::as_str).collect()
        }
        Deed::Depend { id, on, .. } => std::iter::once(id).chain(on).map(String::as_str).collect(),
        Deed::Assign { id, .. }
        | Deed::Move { id, .. }
        | Deed::Comment { id, .. }
        | Deed::Nudge { id, .. } => vec![id],
        _ => Vec::new(),
    }
}

fn path_of(change: &FileChange) -> &str {
    match change {
        FileChange::Create { path, .. } | FileChange::Replace { path, .. } => path,
        FileChange::Move { to, .. } => to,
    }
}
