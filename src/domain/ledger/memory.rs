//! The memory lines: `<ts> [<decision>] → <first action> (final:<outcome>)`, an iteration each.
//!
//! They are worked out here and nowhere else, whoever read the ledger and however much of each line.

use super::{Line, StepLine};
use crate::domain::time::to_ts;

/// What memory needs of a line.
pub(super) enum Entry<'a> {
    Step {
        run: &'a str,
        iteration: u64,
        at: &'a str,
        decision: Option<&'a str>,
        /// The first action carried out, and what it was about.
        action: Option<(&'a str, &'a str)>,
    },
    Run {
        run: &'a str,
        outcome: &'a str,
    },
}

impl<'a> Entry<'a> {
    fn of(line: &'a Line) -> Entry<'a> {
        match line {
            Line::Run(run) => Entry::Run { run: &run.run, outcome: &run.outcome },
            Line::Step(step) => Entry::Step {
                run: &step.run,
                iteration: step.iteration,
                at: &step.at,
                decision: step.decision.as_deref(),
                action: first_action(step),
            },
        }
    }
}

fn first_action(step: &StepLine) -> Option<(&str, &str)> {
    let actions = step.actions.iter().map(|action| (&*action.verdict, &*action.name, &*action.target));
    first_carried_out(&step.outcome, actions)
}

/// Name and target of the first action that was carried out, of those with their verdicts.
pub(super) fn first_carried_out<'a>(
    outcome: &str,
    mut actions: impl Iterator<Item = (&'a str, &'a str, &'a str)>,
) -> Option<(&'a str, &'a str)> {
    let carried = actions.find(|(verdict, ..)| outcome == "ok" && *verdict == "allow");
    carried.map(|(_, name, target)| (name, target))
}

/// The last `most` iterations of these lines, which are oldest first; newest first.
pub fn memory_lines(lines: &[Line], most: usize) -> Vec<String> {
    memory_of(lines.iter().map(Entry::of), most)
}

/// The same of what was kept of lines.
pub(super) fn memory_of<'a>(entries: impl Iterator<Item = Entry<'a>>, most: usize) -> Vec<String> {
    let mut iterations: Vec<Iteration> = Vec::new();
    let mut finals: Vec<(&str, &str)> = Vec::new();
    for entry in entries {
        match entry {
            Entry::Run { run, outcome } => finals.push((run, outcome)),
            Entry::Step { run, iteration, at, decision, action } => match iterations.last_mut() {
                Some(last) if last.run == run && last.number == iteration => {
                    last.decision = last.decision.or(decision);
                    last.action = last.action.or(action);
                }
                _ => iterations.push(Iteration { run, number: iteration, at, decision, action }),
            },
        }
    }
    let decided = iterations.iter().rev().filter_map(|iteration| Some((iteration, iteration.decision?)));
    decided.take(most).map(|(iteration, decision)| iteration.render(decision, &finals)).collect()
}

struct Iteration<'a> {
    run: &'a str,
    number: u64,
    at: &'a str,
    decision: Option<&'a str>,
    action: Option<(&'a str, &'a str)>,
}

impl Iteration<'_> {
    fn render(&self, decision: &str, finals: &[(&str, &str)]) -> String {
        let outcome = finals.iter().find(|(run, _)| *run == self.run).map_or("running", |(_, end)| end);
        let (name, target) = self.action.unwrap_or(("none", ""));
        // What was sent has its id in the history and the outbox; here it says to whom.
        let target = match (name, target.split_once(' ')) {
            ("send_message", Some((id, rest))) if id.starts_with("m-") => rest,
            _ => target,
        };
        let between = if target.trim_end().is_empty() { "" } else { " " };
        let ts = to_ts(self.at).unwrap_or_default();
        [&ts, " [", decision, "] → ", name, between, target.trim_end(), " (final:", outcome, ")"].concat()
    }
}
