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
        let (Some(way), _) = self.find_cycle(id) else { return Ok(()) };
        Err(fault("cycle", format!("that would go round: {}", way.join(" -> "))))
    }

    /// The way from a task back to itself, and how many edges were looked at: each once.
    fn find_cycle(&self, id: &str) -> (Option<Vec<String>>, usize) {
        let mut looked = 0;
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        let mut way: Vec<(&str, usize)> = vec![(id, 0)];
        while let Some((at, next)) = way.last_mut() {
            let edges = self.tasks.get(*at).map(|task| task.depends_on.as_slice()).unwrap_or_default();
            let Some(to) = edges.get(*next) else {
                way.pop();
                continue;
            };
            *next += 1;
            looked += 1;
            if to == id {
                let steps = way.iter().map(|(at, _)| at.to_string());
                return (Some(steps.chain([id.to_string()]).collect()), looked);
            }
            if seen.insert(to) {
                way.push((to, 0));
            }
        }
        (None, looked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::board::Origin;
    use crate::domain::charter::Board as BoardRules;
    use crate::domain::id::Dept;
    use crate::domain::task::parse_task;

    /// A ladder: both tasks of a rung depend on both of the rung below, so that there are 2^rungs ways down.
    fn ladder(rungs: usize) -> Board {
        let rules = BoardRules { done_needs: Vec::new(), agents_max: 1 };
        let mut board = Board::new(Dept::parse("rd").unwrap(), rules);
        for (rung, side) in (0..rungs).flat_map(|rung| [(rung, 'a'), (rung, 'b')]) {
            let id = format!("t-{rung:05}{side}");
            let on = match rung.checked_sub(1) {
                Some(below) => format!("depends_on: [t-{below:05}a, t-{below:05}b]\n"),
                None => String::new(),
            };
            let text = format!(
                "---\nschema: 1\nid: {id}\ntitle: T\nstatus: inbox\npriority: low\ncreated: 2026-11-18T00:00:00Z\n{on}---\nDo.\n"
            );
            let origin = Origin { path: String::new(), sha256: String::new() };
            board.add_task(parse_task(&text, &id).unwrap(), origin);
        }
        board
    }

    #[test]
    fn every_edge_is_looked_at_once() {
        for rungs in [10, 100, 1_000] {
            let board = ladder(rungs);
            let top = format!("t-{:05}a", rungs - 1);
            // The other task of the top rung is out of reach.
            assert_eq!(board.find_cycle(&top), (None, 4 * (rungs - 1) - 2));
        }
    }

    #[test]
    fn a_way_round_is_found_however_long() {
        let mut board = ladder(2_000);
        let top = "t-01999a".to_string();
        board.tasks.get_mut("t-00000b").unwrap().depends_on.push(top.clone());
        let (way, looked) = board.find_cycle(&top);
        assert_eq!(way.map(|way| (way.len(), way[0].clone())), Some((2_001, top)));
        assert!(looked <= 8_000, "{looked}");
    }
}
