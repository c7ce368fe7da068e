//! The operating system's list of processes, and who descends from whom.
//!
//! It owns the words; `procfs` (Linux) and `ps` (elsewhere) read them. A process that has ended and waits
//! for its parent to ask after it is listed as a zombie: nothing of it runs any more.

use std::collections::{HashMap, HashSet};

#[cfg(target_os = "linux")]
pub use super::procfs::{boot, find, is_ignored, list, mark, newest_first};
#[cfg(not(target_os = "linux"))]
pub use super::ps::{boot, find, is_ignored, list, mark};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Alive,
    Zombie,
}

/// One process, as far as ending it needs to know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Process {
    pub pid: u32,
    pub parent: u32,
    pub group: u32,
    pub state: State,
    /// When it started, in the system's own unit: with the pid it names a process for as long as the machine
    /// is up.
    pub start: u64,
}

/// `seeds` and everything that descends from them, never entering `except`.
pub fn with_descendants(all: &[Process], seeds: impl IntoIterator<Item = u32>, except: u32) -> HashSet<u32> {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for process in all {
        children.entry(process.parent).or_default().push(process.pid);
    }
    let mut found = HashSet::new();
    let mut open: Vec<u32> = seeds.into_iter().collect();
    while let Some(pid) = open.pop() {
        if pid != except && found.insert(pid) {
            open.extend(children.get(&pid).into_iter().flatten());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pairs: &[(u32, u32)], seeds: &[u32], except: u32, expected: &[u32]) {
        let all: Vec<Process> = pairs
            .iter()
            .map(|&(pid, parent)| Process { pid, parent, group: pid, state: State::Alive, start: 0 })
            .collect();
        let found = with_descendants(&all, seeds.iter().copied(), except);
        assert_eq!(found, expected.iter().copied().collect());
    }

    #[test]
    fn follows_the_tree() {
        let tree = [(2, 1), (3, 2), (4, 3), (5, 1), (6, 5)];
        check(&tree, &[2], 0, &[2, 3, 4]);
        check(&tree, &[2, 6], 0, &[2, 3, 4, 6]);
        check(&tree, &[2], 3, &[2]);
        check(&tree, &[], 0, &[]);
    }

    #[test]
    fn ends_where_parents_go_in_a_circle() {
        check(&[(2, 3), (3, 2)], &[2], 0, &[2, 3]);
    }
}
