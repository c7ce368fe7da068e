//! Budgets: what was spent and reserved in each span, and whether one more call fits.
//!
//! `budget.jsonl` has a line when a call is about to be made (`reserve`), one when it is over (`settle`), and one when a
//! limit was nearly reached (`warn`). A reservation counts until it is settled, so that a crash never makes spending
//! unseen. Unknown cost is counted at what was declared as the worst case. Days, weeks and months are those of UTC.

mod book;
pub mod chain;

pub use book::{Book, Cost, Used};

use super::allowance::Allowance;
use super::settings::{Budget, Budgets};
use super::time::{Time, parse_rfc3339};
use chrono::{Datelike, Days, Months, NaiveDate, TimeZone, Utc};
use serde::{Deserialize, Serialize};

/// One line of `budget.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "lowercase")]
pub enum BudgetLine {
    Reserve(Spend),
    Settle {
        id: String,
        at: String,
        usd: f64,
        tokens: u64,
        known: bool,
        /// Whether the tokens were reported; absent in older lines, where it went with the cost.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tokens_known: Option<bool>,
    },
    /// That 80 % of a limit were reached, said once.
    Warn {
        limit: String,
        until: String,
    },
}

impl BudgetLine {
    /// The run that reserved something.
    pub fn run(&self) -> Option<&str> {
        match self {
            BudgetLine::Reserve(spend) => Some(&spend.run),
            BudgetLine::Settle { .. } | BudgetLine::Warn { .. } => None,
        }
    }

    /// Whether it can be counted: a time that is none would never count, and less than nothing would give back.
    pub fn check(&self) -> Result<(), String> {
        let (usd, at) = match self {
            BudgetLine::Reserve(spend) => (spend.usd, &spend.at),
            BudgetLine::Settle { usd, at, .. } => (*usd, at),
            BudgetLine::Warn { .. } => return Ok(()),
        };
        if !usd.is_finite() || usd < 0.0 {
            return Err(format!("{usd} USD is no amount"));
        }
        match parse_rfc3339(at) {
            Some(_) => Ok(()),
            None => Err("its time is none".to_string()),
        }
    }
}

/// What a call may cost at the most, and for whom.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spend {
    /// `<run>/<step>/<try>`.
    pub id: String,
    pub at: String,
    pub dept: String,
    pub run: String,
    #[serde(default)]
    pub project: Option<String>,
    #[serde(default)]
    pub directive: Option<String>,
    pub usd: f64,
    pub tokens: u64,
    /// 1 with a run's first call, else 0.
    pub runs: u64,
}

/// What a call came to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Settlement {
    pub usd: f64,
    pub tokens: u64,
    /// Whether the cost, and the tokens, were reported; else they are the declared worst case.
    pub known: bool,
    pub tokens_known: bool,
}

/// The most tokens that a call may take: those of its prompt, and those of its answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorstTokens {
    pub prompt: u64,
    pub answer: u64,
}

/// The tokens that a call counts for, and whether all of them were reported. What wasn't is never nothing: it counts
/// at the worst, unless the call is known to have cost nothing.
pub fn count_tokens(
    prompt: Option<u64>,
    answer: Option<u64>,
    cost_usd: Option<f64>,
    worst: WorstTokens,
) -> (u64, bool) {
    match (prompt.unwrap_or(0).saturating_add(answer.unwrap_or(0)), cost_usd) {
        (0, Some(0.0)) => (0, true),
        (0, _) => (worst.prompt + worst.answer, false),
        _ => {
            let all = prompt.unwrap_or(worst.prompt).saturating_add(answer.unwrap_or(worst.answer));
            (all, prompt.is_some() && answer.is_some())
        }
    }
}

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unit {
    Usd,
    Tokens,
    Runs,
}

/// Over which time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Span {
    Step,
    Run,
    Day,
    Week,
    Month,
    /// For good: what a project or a directive may cost in all.
    Total,
}

impl Span {
    pub fn name(self) -> &'static str {
        match self {
            Span::Step => "step",
            Span::Run => "run",
            Span::Day => "day",
            Span::Week => "week",
            Span::Month => "month",
            Span::Total => "total",
        }
    }

    /// When the span that holds `now` began and when it ends; a step, a run and a total have no clock.
    pub fn bounds(self, now: Time) -> Option<(Time, Time)> {
        let day = now.date_naive();
        let (from, to) = match self {
            Span::Step | Span::Run | Span::Total => return None,
            Span::Day => (day, day.checked_add_days(Days::new(1))?),
            Span::Week => {
                let monday =
                    day.checked_sub_days(Days::new(u64::from(day.weekday().num_days_from_monday())))?;
                (monday, monday.checked_add_days(Days::new(7))?)
            }
            Span::Month => {
                let first = day.with_day(1)?;
                (first, first.checked_add_months(Months::new(1))?)
            }
        };
        let start = |date: NaiveDate| date.and_hms_opt(0, 0, 0).map(|naive| Utc.from_utc_datetime(&naive));
        Some((start(from)?, start(to)?))
    }
}

/// One limit of a budget.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    /// `organisation`, `department rd`, `project x`, `directive d-...`.
    pub scope: Scope,
    pub unit: Unit,
    pub span: Span,
    pub most: f64,
    /// Since when a total counts: lines before it are not looked for.
    pub since: Option<Time>,
}

/// For whom a limit holds.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    Organisation,
    Department(String),
    Project(String),
    Directive(String),
}

impl Scope {
    fn covers(&self, spend: &Spend) -> bool {
        match self {
            Scope::Organisation => true,
            Scope::Department(name) => spend.dept == *name,
            Scope::Project(name) => spend.project.as_deref() == Some(name),
            Scope::Directive(name) => spend.directive.as_deref() == Some(name),
        }
    }
}

impl std::fmt::Display for Scope {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Scope::Organisation => f.write_str("organisation"),
            Scope::Department(name) => write!(f, "department {name}"),
            Scope::Project(name) => write!(f, "project {name}"),
            Scope::Directive(name) => write!(f, "directive {name}"),
        }
    }
}

impl Limit {
    /// The key as it stands in `org.toml`, `usd_per_day`, or in the front matter of a project, `budget_usd`.
    pub fn key(&self) -> String {
        let unit = match self.unit {
            Unit::Usd => "usd",
            Unit::Tokens => "tokens",
            Unit::Runs => "runs",
        };
        match self.span {
            Span::Total => format!("budget_{unit}"),
            span => format!("{unit}_per_{}", span.name()),
        }
    }

    fn amount(&self, usd: f64, tokens: u64, runs: u64) -> f64 {
        match self.unit {
            Unit::Usd => usd,
            Unit::Tokens => tokens as f64,
            Unit::Runs => runs as f64,
        }
    }
}

/// Every limit that holds for a call.
pub fn limits_for(budgets: &Budgets, spend: &Spend) -> Vec<Limit> {
    let mut limits = limits_of(Scope::Organisation, &budgets.organisation);
    limits.extend(limits_of(Scope::Department(spend.dept.clone()), &budgets.department));
    if let Some(project) = &spend.project {
        limits.extend(limits_of(Scope::Project(project.clone()), &budgets.project));
    }
    if let Some(directive) = &spend.directive {
        limits.extend(limits_of(Scope::Directive(directive.clone()), &budgets.directive));
    }
    limits
}

/// The limits that one budget sets.
pub fn limits_of(scope: Scope, budget: &Budget) -> Vec<Limit> {
    let count = |number: Option<u64>| number.map(|number| number as f64);
    let rows = [
        (Unit::Usd, Span::Step, budget.usd_per_step),
        (Unit::Usd, Span::Run, budget.usd_per_run),
        (Unit::Usd, Span::Day, budget.usd_per_day),
        (Unit::Usd, Span::Week, budget.usd_per_week),
        (Unit::Usd, Span::Month, budget.usd_per_month),
        (Unit::Tokens, Span::Step, count(budget.tokens_per_step)),
        (Unit::Tokens, Span::Run, count(budget.tokens_per_run)),
        (Unit::Tokens, Span::Day, count(budget.tokens_per_day)),
        (Unit::Tokens, Span::Week, count(budget.tokens_per_week)),
        (Unit::Tokens, Span::Month, count(budget.tokens_per_month)),
        (Unit::Runs, Span::Day, count(budget.runs_per_day)),
        (Unit::Runs, Span::Week, count(budget.runs_per_week)),
        (Unit::Runs, Span::Month, count(budget.runs_per_month)),
    ];
    let set = rows.into_iter().filter_map(|(unit, span, most)| most.map(|most| (unit, span, most)));
    set.map(|(unit, span, most)| Limit { scope: scope.clone(), unit, span, most, since: None }).collect()
}

/// The limits that a project's or a directive's own allowance sets.
pub fn limits_in_all(scope: Scope, allowance: &Allowance, since: Time) -> Vec<Limit> {
    let rows = [
        (Unit::Usd, allowance.usd),
        (Unit::Tokens, allowance.tokens.map(|tokens| tokens as f64)),
        (Unit::Runs, allowance.runs.map(|runs| runs as f64)),
    ];
    let set = rows.into_iter().filter_map(|(unit, most)| most.map(|most| (unit, most)));
    let span = Span::Total;
    set.map(|(unit, most)| Limit { scope: scope.clone(), unit, span, most, since: Some(since) }).collect()
}

/// When the longest span of some limits began: lines older than that don't count.
pub fn earliest(limits: &[Limit], now: Time) -> Time {
    let start = |limit: &Limit| limit.since.or_else(|| limit.span.bounds(now).map(|(from, _)| from));
    let starts = limits.iter().filter_map(start);
    // A run may have begun the day before.
    starts.min().unwrap_or(now) - chrono::TimeDelta::days(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_that_were_not_reported_count_at_the_worst() {
        let worst = WorstTokens { prompt: 100, answer: 20 };
        let check = |prompt, answer, cost, expected| {
            assert_eq!(count_tokens(prompt, answer, cost, worst), expected);
        };
        check(Some(7), Some(3), None, (10, true));
        check(None, None, None, (120, false));
        check(None, None, Some(0.5), (120, false));
        check(Some(0), Some(0), None, (120, false));
        check(None, Some(3), None, (103, false));
        check(Some(7), None, Some(0.1), (27, false));
        check(Some(0), Some(0), Some(0.0), (0, true));
        check(None, None, Some(0.0), (0, true));
        check(Some(u64::MAX), Some(1), None, (u64::MAX, true));
    }
}
