//! Which processes belong to one engine or one run.
//!
//! Four ties, each of which something has slipped before: being a child of the guard, being in the engine's
//! group, carrying the run's mark, and having been seen as one of the family earlier. Whatever descends from
//! one of those belongs too. The process that asks never does, and a name is no tie.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io;

use super::stop::ProcessId;
use super::table::{self, Process, State};

#[derive(Debug, Default)]
pub struct Family {
    /// Its children belong to the family, it does not.
    pub root: Option<u32>,
    /// Only while nobody else can have got the number: its leader has not been reaped, or died just now.
    pub group: Option<u32>,
    pub mark: Option<OsString>,
    /// By pid and start time. Once the root is gone, this is what still ties its descendants.
    known: HashMap<u32, u64>,
}

impl Family {
    pub fn new(root: Option<u32>, group: Option<u32>, mark: Option<OsString>) -> Family {
        // An empty mark is nobody's: it would tie every process that merely has the variable.
        let mark = mark.filter(|mark| !mark.is_empty());
        Family { root, group, mark, known: HashMap::new() }
    }

    /// Those that run now, and are remembered. Nothing found is looked for once more, since a look can miss.
    pub fn alive(&mut self) -> io::Result<Vec<ProcessId>> {
        let found = self.look()?;
        if found.is_empty() { self.look() } else { Ok(found) }
    }

    /// The same, once. The table is no snapshot: one that forks and exits while it is read can be missed,
    /// both generations of it. The guard can afford that; it has a better proof.
    pub fn look(&mut self) -> io::Result<Vec<ProcessId>> {
        let all = table::list()?;
        let me = std::process::id();
        let seeds = all.iter().filter(|process| process.pid != me && self.is_tied(process)).map(|p| p.pid);
        let members = table::with_descendants(&all, seeds, me);
        let is_one = |process: &&Process| {
            process.state == State::Alive && members.contains(&process.pid) && Some(process.pid) != self.root
        };
        let alive: Vec<Process> = all.iter().filter(is_one).copied().collect();
        self.known = alive.iter().map(|process| (process.pid, process.start)).collect();
        Ok(alive.iter().map(ProcessId::from).collect())
    }

    fn is_tied(&self, process: &Process) -> bool {
        self.root == Some(process.parent)
            || self.group == Some(process.group)
            || self.known.get(&process.pid) == Some(&process.start)
            || (self.mark.is_some() && process.state == State::Alive && table::mark(process.pid) == self.mark)
    }
}
