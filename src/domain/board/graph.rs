//! What depends on what. Every check looks at each edge once.

use super::{Board, BoardFault, fault};
use crate::domain::task::{Task, TaskStatus};
use std::collections::BTreeSet;

impl Board {
    /// The dependencies of a task that are not done; such a task is blocked. One that is nowhere blocks too.
    pub fn blockers<'a>(&'a self, task: &'a Task) -> impl Iterator<Item = &'a str> {
        let is_done = |id: &&str| self.tasks.get(*id).is_some_and(|task| task.status == TaskStatus::Done);
        task.depends_on.iter().map(String::as_str).filter(move |id| !is_done(id))
    }

    pub fn is_blocked(&self, task: &Task) -> bool {
        self.blockers(task).next().is_some()
    }

    /// What any task on it, open or not, depends on and the board doesn't hold.
    pub fn unknown_dependencies(&self) -> BTreeSet<String> {
        let named = self.tasks.values().flat_map(|task| &task.depends_on);
        named.filter(|id| !self.tasks.contains_key(*id)).cloned().collect()
    }

    /// The open tasks that depend on one.
    pub(super) fn dependents(&self, id: &str) -> Vec<String> {
        let depends = |task: &&Task| task.depends_on.iter().any(|on| on == id);
        self.open_tasks().filter(depends).map(|task| task.id.clone()).collect()
    }

    /// Refuses what would make a task depend on itself, with the way round.
    pub(super) fn check_cycle(&self, id: &str) -> Result<(), BoardFault> {
        let Some(way) = self.find_cycle(id) else { return Ok(()) };
        Err(fault("cycle", format!("that would go round: {}", way.join(" -> "))))
    }

    /// The way from a task back to itself; each edge is followed once.
    fn find_cycle(&self, id: &str) -> Option<Vec<String>> {
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        let mut way: Vec<(&str, usize)> = vec![(id, 0)];
        while let Some((at, next)) = way.last_mut() {
            let edges = self.tasks.get(*at).map(|task| task.depends_on.as_slice()).unwrap_or_default();
            let Some(to) = edges.get(*next) else {
                way.pop();
                continue;
            };
            *next += 1;
            if to == id {
                let steps = way.iter().map(|(at, _)| at.to_string());
                return Some(steps.chain([id.to_string()]).collect());
            }
            if seen.insert(to) {
                way.push((to, 0));
            }
        }
        None
    }
}
