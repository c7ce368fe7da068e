//! Statistics: one fold over the lines of ledgers, in any order, whose size does not grow with their number.
//!
//! What it keeps is counts by outcome, kind, code and day; never a line. Days are those of UTC, as in budgets. A cost
//! that an engine did not report is counted at its declared worst case, and `unknown` says how often that was so.

mod csv;
mod summary;

use super::decision::is_ghost;
use super::ledger::{Counted, CountedRun, CountedStep};
use super::time::{Time, parse_rfc3339};
use chrono::NaiveDate;
use std::collections::BTreeMap;

pub use csv::render_csv;
pub use summary::{Waits, share};

/// More names than the tool has; what a damaged ledger says beyond them is counted under one.
const NAMES_MAX: usize = 200;
const OTHERS: &str = "others";

/// How often, and what it cost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    pub count: u64,
    /// What counts in budgets: the cost, or the worst case where it is unknown.
    pub usd: f64,
    /// How many of them have an unknown cost.
    pub unknown: u64,
}

/// Tokens as engines reported them; each is in one count only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tokens {
    pub input: u64,
    pub cache_write: u64,
    pub cache_read: u64,
    pub output: u64,
}

/// One day of UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Day {
    pub runs: u64,
    /// Runs that ended otherwise than they should: failed, refused, killed.
    pub bad_runs: u64,
    pub steps: u64,
    pub ghosts: u64,
    pub refusals: u64,
    pub usd: f64,
    pub tokens: Tokens,
    pub calls_saved: u64,
}

/// Everything that is counted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stats {
    pub runs: u64,
    /// Runs that asked at least one engine and changed nothing.
    pub idle_runs: u64,
    pub asking_runs: u64,
    pub idle_usd: f64,
    pub by_outcome: BTreeMap<String, Tally>,
    pub by_kind: BTreeMap<String, u64>,
    pub steps: BTreeMap<String, Tally>,
    pub by_engine: BTreeMap<String, Tally>,
    pub orchestrator_steps: u64,
    /// Steps without a decision, or that needed a second try because of that.
    pub ghosts: u64,
    pub refusals: BTreeMap<String, u64>,
    /// Answers that were refused once and good the second time.
    pub repaired: u64,
    pub actions: BTreeMap<String, u64>,
    pub verdicts: BTreeMap<String, u64>,
    pub decisions: BTreeMap<String, u64>,
    /// Messages sent, by kind and recipient.
    pub sent: BTreeMap<(String, String), u64>,
    pub tokens: Tokens,
    pub duration_s: f64,
    pub usd: f64,
    pub unknown: u64,
    pub calls_saved: u64,
    pub days: BTreeMap<NaiveDate, Day>,
    pub waits: Waits,
}

impl Tally {
    fn add(&mut self, known: Option<f64>, counted: f64) {
        self.count += 1;
        self.usd += counted;
        // Nothing counted and nothing known is a run that asked nobody.
        self.unknown += u64::from(known.is_none() && counted > 0.0);
    }

    fn merge(&mut self, other: &Tally) {
        self.count += other.count;
        self.usd += other.usd;
        self.unknown += other.unknown;
    }
}

impl Tokens {
    pub fn total(&self) -> u64 {
        self.read() + self.output
    }

    /// What engines read, from a cache or not.
    pub fn read(&self) -> u64 {
        self.input + self.cache_write + self.cache_read
    }

    fn merge(&mut self, other: &Tokens) {
        self.input += other.input;
        self.cache_write += other.cache_write;
        self.cache_read += other.cache_read;
        self.output += other.output;
    }
}

impl Day {
    fn merge(&mut self, other: &Day) {
        self.runs += other.runs;
        self.bad_runs += other.bad_runs;
        self.steps += other.steps;
        self.ghosts += other.ghosts;
        self.refusals += other.refusals;
        self.usd += other.usd;
        self.tokens.merge(&other.tokens);
        self.calls_saved += other.calls_saved;
    }
}

/// Changes the place of a name, or the one for all others where there are too many.
fn change<V: Default>(map: &mut BTreeMap<String, V>, name: &str, how: impl FnOnce(&mut V)) {
    // The names that are there are as they are shown, so one that is found needs no second look.
    if let Some(place) = map.get_mut(name) {
        return how(place);
    }
    let name = if map.len() < NAMES_MAX { super::text::one_line(name, 60) } else { OTHERS.to_string() };
    how(map.entry(name).or_default());
}

fn add_one(count: &mut u64) {
    *count += 1;
}

fn or_none(name: &str) -> &str {
    if name.is_empty() { "none" } else { name }
}

/// Whether a run ended in a way that somebody should look at.
pub fn is_bad(outcome: &str) -> bool {
    matches!(outcome, "failed" | "refused" | "killed")
}

impl Stats {
    /// Counts a line, where it is of the time asked for.
    pub fn take(&mut self, line: &Counted<'_>, since: Time) {
        let Some(at) = parse_rfc3339(line.at()).filter(|at| *at >= since) else { return };
        let day = at.date_naive();
        match line {
            Counted::Run(run) => self.take_run(run, day),
            Counted::Step(step) => self.take_step(step, day),
        }
    }

    fn take_run(&mut self, run: &CountedRun<'_>, day: NaiveDate) {
        self.runs += 1;
        change(&mut self.by_outcome, or_none(run.outcome), |tally| tally.add(run.cost_usd, run.counted_usd));
        change(&mut self.by_kind, or_none(run.kind), add_one);
        if run.steps > 0 {
            self.asking_runs += 1;
            if !run.changed {
                self.idle_runs += 1;
                self.idle_usd += run.counted_usd;
            }
        }
        let day = self.days.entry(day).or_default();
        day.runs += 1;
        day.bad_runs += u64::from(is_bad(run.outcome));
    }

    fn take_step(&mut self, step: &CountedStep<'_>, day: NaiveDate) {
        let cost = |tally: &mut Tally| tally.add(step.cost_usd, step.counted_usd);
        change(&mut self.steps, or_none(step.role), cost);
        change(&mut self.by_engine, or_none(step.engine), cost);
        self.usd += step.counted_usd;
        self.unknown += u64::from(step.cost_usd.is_none() && step.counted_usd > 0.0);
        self.duration_s += step.duration_s;
        let tokens = Tokens {
            input: step.input_tokens.unwrap_or(0),
            cache_write: step.cache_write_tokens.unwrap_or(0),
            cache_read: step.cache_read_tokens.unwrap_or(0),
            output: step.output_tokens.unwrap_or(0),
        };
        self.tokens.merge(&tokens);
        let ghost = self.take_decision(step);
        let mut refusals = 0;
        for code in step.refusals.iter().chain(&step.first_refusals) {
            change(&mut self.refusals, or_none(code), add_one);
            refusals += 1;
        }
        self.repaired += u64::from(!step.first_refusals.is_empty() && step.outcome == "ok");
        self.take_actions(step);
        let day = self.days.entry(day).or_default();
        day.steps += 1;
        day.ghosts += u64::from(ghost);
        day.refusals += refusals;
        day.usd += step.counted_usd;
        day.tokens.merge(&tokens);
    }

    /// Counts an orchestrator's decision; whether it was a ghost.
    fn take_decision(&mut self, step: &CountedStep<'_>) -> bool {
        if step.role != "orchestrator" {
            return false;
        }
        self.orchestrator_steps += 1;
        let ghost = step.outcome == "ghost" || step.first_refusals.iter().any(|code| is_ghost(code));
        self.ghosts += u64::from(ghost);
        if let Some(decision) = step.decision {
            change(&mut self.decisions, decision, add_one);
        }
        ghost
    }

    fn take_actions(&mut self, step: &CountedStep<'_>) {
        for action in &step.actions {
            change(&mut self.verdicts, or_none(action.verdict), add_one);
            if step.outcome != "ok" || action.verdict != "allow" {
                continue;
            }
            change(&mut self.actions, or_none(action.name), add_one);
            if action.name == "send_message" {
                self.take_sent(action.target);
            }
        }
    }

    /// `m-... Decision to rd, management`, as the ledger has it.
    fn take_sent(&mut self, target: &str) {
        let Some((what, to)) = target.rsplit_once(" to ") else { return };
        let kind = what.split_whitespace().last().unwrap_or_default();
        for to in to.split(", ") {
            let key = (kind.to_string(), to.to_string());
            if self.sent.contains_key(&key) || self.sent.len() < NAMES_MAX {
                *self.sent.entry(key).or_default() += 1;
            }
        }
    }

    /// Counts the engine calls that the wake check made unnecessary, by day; days before a moment are left out.
    pub fn take_saved(&mut self, by_day: &BTreeMap<String, u64>, since: Time) {
        for (day, calls) in by_day {
            if let Ok(date) = day.parse::<NaiveDate>()
                && date >= since.date_naive()
            {
                self.calls_saved += calls;
                self.days.entry(date).or_default().calls_saved += calls;
            }
        }
    }

    /// This and another department's.
    pub fn merge(&mut self, other: &Stats) {
        self.runs += other.runs;
        self.idle_runs += other.idle_runs;
        self.asking_runs += other.asking_runs;
        self.idle_usd += other.idle_usd;
        self.orchestrator_steps += other.orchestrator_steps;
        self.ghosts += other.ghosts;
        self.repaired += other.repaired;
        self.tokens.merge(&other.tokens);
        self.duration_s += other.duration_s;
        self.usd += other.usd;
        self.unknown += other.unknown;
        self.calls_saved += other.calls_saved;
        self.waits.merge(&other.waits);
        self.merge_names(other);
        for (date, day) in &other.days {
            self.days.entry(*date).or_default().merge(day);
        }
    }

    fn merge_names(&mut self, other: &Stats) {
        for (mine, theirs) in [
            (&mut self.by_outcome, &other.by_outcome),
            (&mut self.steps, &other.steps),
            (&mut self.by_engine, &other.by_engine),
        ] {
            theirs.iter().for_each(|(name, tally)| change(mine, name, |mine| mine.merge(tally)));
        }
        for (mine, theirs) in [
            (&mut self.by_kind, &other.by_kind),
            (&mut self.refusals, &other.refusals),
            (&mut self.actions, &other.actions),
            (&mut self.verdicts, &other.verdicts),
            (&mut self.decisions, &other.decisions),
        ] {
            theirs.iter().for_each(|(name, count)| change(mine, name, |mine| *mine += count));
        }
        for (key, count) in &other.sent {
            *self.sent.entry(key.clone()).or_default() += count;
        }
    }
}

#[cfg(test)]
mod tests;
