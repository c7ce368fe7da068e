//! The table of results, in Markdown, and the count of what passed, failed and was not run.

use crate::measure::{Measure, Measured};
use std::fmt;

/// Two counts, and how many times the first the second may be; infinite where there is no goal, and both are stated.
pub struct Row {
    pub name: String,
    pub measure: Measure,
    pub floor: Measured,
    pub found: Measured,
    pub goal: f64,
}

#[derive(Default)]
pub struct Report {
    rows: Vec<Row>,
}

/// A row with its outcome.
enum Outcome<'a> {
    Counted { floor: u64, found: u64, ratio: f64 },
    NotRun(&'a str),
}

impl Row {
    fn outcome(&self) -> Outcome<'_> {
        match (&self.floor, &self.found) {
            (Ok(floor), Ok(found)) => {
                Outcome::Counted { floor: *floor, found: *found, ratio: *found as f64 / *floor as f64 }
            }
            (Err(why), _) | (_, Err(why)) => Outcome::NotRun(why),
        }
    }

    fn verdict(&self) -> &'static str {
        match self.outcome() {
            Outcome::NotRun(_) => "not run",
            Outcome::Counted { .. } if self.goal.is_infinite() => "stated",
            Outcome::Counted { ratio, .. } if ratio <= self.goal => "passed",
            Outcome::Counted { .. } => "failed",
        }
    }
}

impl Report {
    pub fn add(&mut self, row: Row) {
        self.rows.push(row);
    }

    pub fn count(&self, verdict: &str) -> usize {
        self.rows.iter().filter(|row| row.verdict() == verdict).count()
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, measure, goal) = (&self.name, self.measure.name(), self.goal);
        write!(f, "| {name} | {measure} | ")?;
        match self.outcome() {
            Outcome::NotRun(why) => write!(f, "- | - | - | {goal:.2} | not run: {why} |"),
            Outcome::Counted { floor, found, ratio } => {
                let (floor, found) = (with_commas(floor), with_commas(found));
                let goal = if goal.is_infinite() { "-".to_string() } else { format!("{goal:.2}") };
                write!(f, "{floor} | {found} | {ratio:.3} | {goal} | {} |", self.verdict())
            }
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| benchmark | measure | from | to | ratio | at most | result |")?;
        writeln!(f, "|---|---|---:|---:|---:|---:|---|")?;
        self.rows.iter().try_for_each(|row| writeln!(f, "{row}"))?;
        let [passed, failed, not_run] = ["passed", "failed", "not run"].map(|verdict| self.count(verdict));
        writeln!(f, "\n{passed} passed, {failed} failed, {not_run} not run")
    }
}

fn with_commas(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().filter_map(|group| std::str::from_utf8(group).ok()).collect();
    groups.join(",")
}
