//! The end of the ledger as a prompt shows it, gathered from the newest line backwards until there is enough.
//!
//! The lines of the last iterations are read whole. Of older ones only the history counts, and only that field is
//! read, so that a prompt costs little more than it shows. What comes out are lines again: memory, history and
//! refusals are worked out in one place, however the ledger was read.
//!
//! It reads no file: the caller hands in blocks of whole lines, the newest block first.

use super::{Line, RUN_OPENS, STEP_OPENS, StepLine, parse_line};

/// What stands before a step's history. No text in a line can hold it, because quotes in a text are escaped.
const HISTORY: &str = "\"history\":";
const NO_HISTORY: &str = "\"history\":[]";

/// Lines until there are so many entries of history and so many whole iterations.
#[derive(Debug)]
pub struct Recent {
    wanted_history: usize,
    wanted_iterations: usize,
    newest_first: Vec<Line>,
    history: usize,
    /// Iterations with a decision that have begun; the oldest may not be whole.
    iterations: usize,
}

impl Recent {
    pub fn new(history: usize, iterations: usize) -> Recent {
        let newest_first = Vec::new();
        Recent {
            wanted_history: history,
            wanted_iterations: iterations,
            newest_first,
            history: 0,
            iterations: 0,
        }
    }

    /// Takes what is still wanted of a block of lines that is older than those before.
    pub fn take(&mut self, block: &str) {
        for line in block.lines().rev() {
            match (self.has_iterations(), self.is_enough()) {
                (_, true) => return,
                (false, _) => self.take_line(line),
                (true, _) => self.take_history(line),
            }
        }
    }

    pub fn is_enough(&self) -> bool {
        self.has_iterations() && self.history >= self.wanted_history
    }

    /// The lines, oldest first.
    pub fn into_lines(mut self) -> Vec<Line> {
        self.newest_first.reverse();
        self.newest_first
    }

    fn has_iterations(&self) -> bool {
        self.iterations > self.wanted_iterations
    }

    fn take_line(&mut self, text: &str) {
        let Some(line) = parse_line(text) else { return };
        if let Line::Step(step) = &line {
            self.history += step.history.len();
            self.iterations += usize::from(step.decision.is_some() && !self.is_of_last_iteration(step));
        }
        self.newest_first.push(line);
    }

    fn is_of_last_iteration(&self, step: &StepLine) -> bool {
        let newer = self.newest_first.iter().rev().find_map(|line| match line {
            Line::Step(newer) if newer.decision.is_some() => Some(newer),
            _ => None,
        });
        newer.is_some_and(|newer| newer.run == step.run && newer.iteration == step.iteration)
    }

    fn take_history(&mut self, text: &str) {
        let history = find_history(text);
        if !history.is_empty() {
            self.history += history.len();
            self.newest_first.push(Line::Step(Box::new(StepLine { history, ..StepLine::default() })));
        }
    }
}

/// The history of a line, and nothing else of it. Whoever lays a line out in another way has it read whole.
fn find_history(text: &str) -> Vec<(u64, String)> {
    if text.starts_with(RUN_OPENS) || (text.starts_with(STEP_OPENS) && text.contains(NO_HISTORY)) {
        return Vec::new();
    }
    let Some(at) = text.find(HISTORY).filter(|_| text.starts_with(STEP_OPENS)) else {
        return match parse_line(text) {
            Some(Line::Step(step)) => step.history,
            _ => Vec::new(),
        };
    };
    let value = &text[at + HISTORY.len()..];
    let mut values = serde_json::Deserializer::from_str(value).into_iter();
    values.next().and_then(Result::ok).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ledger::{RunLine, history, memory_lines, parse_lines, render_line};
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
        lines.rchunks(4).for_each(|block| recent.take(&block.concat()));
        let (found, all) = (recent.into_lines(), parse_lines(&text));
        assert_eq!(memory_lines(&found, wanted.1), memory_lines(&all, wanted.1));
        let (found, all) = (history(&found), history(&all));
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
        recent.take(&ledger(&[3; 50]));
        assert!(recent.is_enough() && recent.into_lines().len() < 8);
    }

    #[test]
    fn a_line_laid_out_by_another_hand_counts_too() {
        let wanted = vec![(7, "x".to_string())];
        assert_eq!(find_history(r#"{ "line": "step", "history" : [ [7, "x"] ] }"#), wanted);
        assert_eq!(find_history(r#"{"line":"step","history": [[7,"x"]],"run":"r"}"#), wanted);
        assert_eq!(find_history(r#"{"line":"run","history":[[7,"x"]]}"#), []);
        assert_eq!(find_history("{\"line\":\"step\",\"history\":[[7,\"x"), []);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]
        #[test]
        fn the_end_says_the_same_as_the_whole(runs in prop::collection::vec(0usize..4, 0..12), history in 0usize..9, iterations in 0usize..5) {
            check(&runs, (history, iterations));
        }
    }
}
