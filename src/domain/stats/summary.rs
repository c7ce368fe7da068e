//! What is worked out from the counts: shares, how long people were waited for, and the JSON form.

use super::{Day, Stats, Tally, Tokens};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// A part of a whole; none where there is no whole.
pub fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// How many approvals there were, how they ended, and how long each decision of the human took.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Waits {
    pub pending: u64,
    pub approved: u64,
    pub rejected: u64,
    pub expired: u64,
    /// Seconds from asking to a human's word.
    latencies: Vec<i64>,
}

impl Waits {
    /// A human's word after so many seconds.
    pub fn took(&mut self, seconds: i64) {
        self.latencies.push(seconds.max(0));
    }

    pub fn merge(&mut self, other: &Waits) {
        self.pending += other.pending;
        self.approved += other.approved;
        self.rejected += other.rejected;
        self.expired += other.expired;
        self.latencies.extend(&other.latencies);
    }

    /// The time within which this share of the decisions came: the smallest that so many reach.
    pub fn quantile(&self, share: f64) -> Option<i64> {
        let mut sorted = self.latencies.clone();
        sorted.sort_unstable();
        let place = (share * sorted.len() as f64).ceil() as usize;
        sorted.get(place.clamp(1, sorted.len().max(1)) - 1).copied()
    }
}

fn tallies(map: &BTreeMap<String, Tally>) -> Value {
    let mut out = Map::new();
    for (name, tally) in map {
        let each = (tally.count > 0).then(|| tally.usd / tally.count as f64);
        let value = json!({
            "count": tally.count, "cost_usd": round(tally.usd), "cost_usd_each": each.map(round),
            "unknown_cost": tally.unknown,
        });
        out.insert(name.clone(), value);
    }
    Value::Object(out)
}

/// Sums of floats carry noise in their last digits; a millionth of a dollar is enough.
fn round(usd: f64) -> f64 {
    (usd * 1e6).round() / 1e6
}

fn tokens(tokens: &Tokens) -> Value {
    json!({
        "input": tokens.input,
        "cache_write": tokens.cache_write,
        "cache_read": tokens.cache_read,
        "output": tokens.output,
    })
}

impl Stats {
    pub fn steps_total(&self) -> u64 {
        self.steps.values().map(|tally| tally.count).sum()
    }

    /// Of the tokens that engines read, those that came from a provider's cache.
    pub fn cache_share(&self) -> Option<f64> {
        share(self.tokens.cache_read, self.tokens.read())
    }

    pub fn idle_share(&self) -> Option<f64> {
        share(self.idle_runs, self.asking_runs)
    }

    pub fn ghost_share(&self) -> Option<f64> {
        share(self.ghosts, self.orchestrator_steps)
    }

    /// The whole as JSON.
    pub fn to_json(&self) -> Value {
        json!({
            "runs": self.runs,
            "by_outcome": tallies(&self.by_outcome),
            "by_kind": self.by_kind,
            "steps": self.steps_total(),
            "by_role": tallies(&self.steps),
            "by_engine": tallies(&self.by_engine),
            "decisions": self.decisions,
            "ghosts": self.ghosts,
            "ghost_share": self.ghost_share(),
            "refusals": self.refusals,
            "repaired": self.repaired,
            "actions": self.actions,
            "verdicts": self.verdicts,
            "cost_usd": round(self.usd),
            "unknown_cost": self.unknown,
            "idle_runs": self.idle_runs,
            "idle_share": self.idle_share(),
            "idle_cost_usd": round(self.idle_usd),
            "calls_saved": self.calls_saved,
            "tokens": tokens(&self.tokens),
            "cache_share": self.cache_share(),
            "engine_s": (self.duration_s * 10.0).round() / 10.0,
            "approvals": self.waits_json(),
            "days": self.days.iter().map(|(date, day)| day_json(&date.to_string(), day)).collect::<Vec<_>>(),
        })
    }

    fn waits_json(&self) -> Value {
        json!({
            "pending": self.waits.pending, "approved": self.waits.approved, "rejected": self.waits.rejected,
            "expired": self.waits.expired, "median_s": self.waits.quantile(0.5), "p90_s": self.waits.quantile(0.9),
        })
    }
}

fn day_json(date: &str, day: &Day) -> Value {
    json!({
        "date": date, "runs": day.runs, "bad_runs": day.bad_runs, "steps": day.steps, "ghosts": day.ghosts,
        "refusals": day.refusals, "cost_usd": round(day.usd), "tokens": tokens(&day.tokens),
        "calls_saved": day.calls_saved,
    })
}
