//! The end of the ledger as a prompt shows it, gathered from the newest line backwards until there is enough.
//!
//! Of the lines of the last iterations it reads what memory and refusals need. Of older ones only the history counts,
//! and only that field is read, so that a prompt costs little more than it shows.
//!
//! It reads no file: the caller hands in blocks of whole lines, the newest block first.

use super::Refusal;
use super::memory::memory_of;
use super::needed::{Kept, KeptStep, Needed};
use memchr::memrchr;

/// What a prompt shows of the ledger.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// Memory lines, newest first.
    pub decisions: Vec<String>,
    /// Entries with their ordinals, oldest first.
    pub history: Vec<(u64, String)>,
    /// Those of the last step, where it was refused.
    pub refusals: Vec<Refusal>,
}

/// Lines until there are so many entries of history and so many whole iterations.
#[derive(Debug)]
pub struct Recent {
    wanted_history: usize,
    wanted_iterations: usize,
    needed: Needed,
    newest_first: Vec<Kept>,
    history: Vec<(u64, String)>,
    /// Iterations with a decision that have begun; the oldest may not be whole.
    iterations: usize,
}

impl Recent {
    pub fn new(history: usize, iterations: usize) -> Recent {
        Recent {
            wanted_history: history,
            wanted_iterations: iterations,
            needed: Needed::new(),
            newest_first: Vec::new(),
            history: Vec::with_capacity(history),
            iterations: 0,
        }
    }

    /// Takes what is still wanted of a block of lines that is older than those before.
    pub fn take(&mut self, block: &[u8]) {
        let mut rest = block.strip_suffix(b"\n").unwrap_or(block);
        while !rest.is_empty() && !self.is_enough() {
            let start = memrchr(b'\n', rest).map_or(0, |end| end + 1);
            let line = &rest[start..];
            let from = self.history.len();
            if self.has_iterations() {
                self.needed.read_history(line, &mut self.history);
            } else {
                self.take_line(line);
            }
            self.history[from..].reverse();
            rest = &rest[..start.saturating_sub(1)];
        }
    }

    pub fn is_enough(&self) -> bool {
        self.has_iterations() && self.history.len() >= self.wanted_history
    }

    pub fn finish(mut self) -> Shown {
        self.history.reverse();
        let decisions = memory_of(self.newest_first.iter().rev().map(Kept::entry), self.wanted_iterations);
        let last = self.newest_first.into_iter().find_map(Kept::into_step);
        let refusals = last.map(|step| step.refusals).unwrap_or_default();
        Shown { decisions, history: self.history, refusals }
    }

    fn has_iterations(&self) -> bool {
        self.iterations > self.wanted_iterations
    }

    fn take_line(&mut self, text: &[u8]) {
        let Some(line) = self.needed.read_line(text, &mut self.history) else { return };
        if let Kept::Step(step) = &line {
            self.iterations += usize::from(step.decision.is_some() && !self.is_of_last_iteration(step));
        }
        self.newest_first.push(line);
    }

    fn is_of_last_iteration(&self, step: &KeptStep) -> bool {
        let newer = self.newest_first.iter().rev().find_map(|line| match line {
            Kept::Step(newer) if newer.decision.is_some() => Some(newer),
            _ => None,
        });
        newer.is_some_and(|newer| newer.run == step.run && newer.iteration == step.iteration)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ledger::{
        Line, RunLine, StepLine, history, last_refusals, memory_lines, parse_lines, render_line,
    };
    use proptest::prelude::*;

    /// Runs of an orchestrator's step, a worker's and the run's own line, with this much history each.
    fn ledger(runs: &[usize]) -> String {
        let mut text = String::new();
        let mut ordinal = 0;
        for (number, entries) in runs.iter().enumerate() {
            let mut entry = || {
                ordinal += 1;
                (ordinal, format!("entry \"history\":[] {ordinal}"))
            };
            let run = format!("r-{number}");
            let decision = Some("NEXT_WORKER".to_string());
            let step = StepLine { run: run.clone(), iteration: 1, decision, ..StepLine::default() };
            let history = (0..*entries).map(|_| entry()).collect();
            for step in [step.clone(), StepLine { history, ..step }] {
                text += &render_line(&Line::Step(Box::new(step)));
            }
            text += &render_line(&Line::Run(RunLine { run, outcome: "done".into(), ..RunLine::default() }));
        }
        text
    }

    fn check(runs: &[usize], wanted: (usize, usize)) {
        let text = ledger(runs);
        let mut recent = Recent::new(wanted.0, wanted.1);
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        lines.rchunks(4).for_each(|block| recent.take(block.concat().as_bytes()));
        let (found, all) = (recent.finish(), parse_lines(&text));
        assert_eq!(found.decisions, memory_lines(&all, wanted.1));
        assert_eq!(found.refusals, last_refusals(&all));
        let (found, all) = (found.history, history(&all));
        assert!(all.ends_with(&found), "{found:?}");
        assert!(found.len() >= wanted.0.min(all.len()), "{found:?}");
    }

    #[test]
    fn as_much_as_is_wanted_and_no_more_than_is_there() {
        check(&[], (4, 2));
        check(&[1, 2, 0, 3], (4, 2));
        check(&[5, 0, 0, 0, 0], (4, 2));
        check(&[5, 0, 0, 0, 0], (0, 0));
        let mut recent = Recent::new(2, 1);
        recent.take(ledger(&[3; 50]).as_bytes());
        assert!(recent.is_enough() && recent.newest_first.len() < 8);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]
        #[test]
        fn the_end_says_the_same_as_the_whole(runs in prop::collection::vec(0usize..4, 0..12), history in 0usize..9, iterations in 0usize..5) {
            check(&runs, (history, iterations));
        }
    }
}
