//! Budgets: what was spent and reserved in each span, and whether one more call fits.
//!
//! `budget.jsonl` has a line when a call is about to be made (`reserve`), one when it is over (`settle`), and one when a
//! limit was nearly reached (`warn`). A reservation counts until it is settled, so that a crash never makes spending
//! unseen. Unknown cost is counted at what was declared as the worst case. Days, weeks and months are those of UTC.

use super::settings::{Budget, Budgets};
use super::time::{Time, parse_rfc3339, render_rfc3339};
use chrono::{Datelike, Days, Months, NaiveDate, TimeZone, Utc};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

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
    },
    /// That 80 % of a limit were reached, said once.
    Warn {
        limit: String,
        until: String,
    },
}

impl BudgetLine {
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
}

impl Span {
    pub fn name(self) -> &'static str {
        match self {
            Span::Step => "step",
            Span::Run => "run",
            Span::Day => "day",
            Span::Week => "week",
            Span::Month => "month",
        }
    }

    /// When the span that holds `now` began and when it ends; a step and a run have no clock.
    pub fn bounds(self, now: Time) -> Option<(Time, Time)> {
        let day = now.date_naive();
        let (from, to) = match self {
            Span::Step | Span::Run => return None,
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
}

/// For whom a limit holds.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    Organisation,
    Department(String),
    Project(String),
    Directive(String),
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
    /// The key as it stands in `org.toml`: `usd_per_day`.
    pub fn key(&self) -> String {
        let unit = match self.unit {
            Unit::Usd => "usd",
            Unit::Tokens => "tokens",
            Unit::Runs => "runs",
        };
        format!("{unit}_per_{}", self.span.name())
    }

    fn covers(&self, spend: &Spend) -> bool {
        match &self.scope {
            Scope::Organisation => true,
            Scope::Department(name) => spend.dept == *name,
            Scope::Project(name) => spend.project.as_deref() == Some(name),
            Scope::Directive(name) => spend.directive.as_deref() == Some(name),
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
    set.map(|(unit, span, most)| Limit { scope: scope.clone(), unit, span, most }).collect()
}

/// What was spent and is reserved within a limit's span.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Used {
    pub spent: f64,
    pub reserved: f64,
}

/// The lines of the log, read for counting.
#[derive(Clone, Debug, Default)]
pub struct Book {
    spends: Vec<(Time, Spend)>,
    settled: BTreeMap<String, (f64, u64)>,
    warned: BTreeSet<(String, String)>,
}

impl Book {
    pub fn read(lines: &[BudgetLine]) -> Book {
        let mut book = Book::default();
        for line in lines {
            match line {
                BudgetLine::Reserve(spend) => {
                    if let Some(at) = parse_rfc3339(&spend.at) {
                        book.spends.push((at, spend.clone()));
                    }
                }
                BudgetLine::Settle { id, usd, tokens, .. } => {
                    book.settled.insert(id.clone(), (*usd, *tokens));
                }
                BudgetLine::Warn { limit, until } => {
                    book.warned.insert((limit.clone(), until.clone()));
                }
            }
        }
        book
    }

    /// How much of a limit is used; `run` is whose steps count for a limit per run.
    pub fn used(&self, limit: &Limit, run: &str, now: Time) -> Used {
        let mut used = Used::default();
        let bounds = limit.span.bounds(now);
        for (at, spend) in &self.spends {
            let inside = match (limit.span, bounds) {
                (Span::Step, _) => false,
                (Span::Run, _) => spend.run == run,
                (_, Some((from, to))) => *at >= from && *at < to,
                (_, None) => false,
            };
            if !inside || !limit.covers(spend) {
                continue;
            }
            match self.settled.get(&spend.id) {
                Some((usd, tokens)) => used.spent += limit.amount(*usd, *tokens, spend.runs),
                None => used.reserved += limit.amount(spend.usd, spend.tokens, spend.runs),
            }
        }
        used
    }

    /// Whether a run has a call in the book.
    pub fn has_run(&self, run: &str) -> bool {
        self.spends.iter().any(|(_, spend)| spend.run == run)
    }

    /// The reservations of a run that were never settled.
    pub fn unsettled(&self, run: &str) -> Vec<Spend> {
        let of_run = self.spends.iter().filter(|(_, spend)| spend.run == run);
        of_run
            .filter(|(_, spend)| !self.settled.contains_key(&spend.id))
            .map(|(_, spend)| spend.clone())
            .collect()
    }

    /// The first limit that one more call would exceed. Reaching a limit passes; exceeding it doesn't.
    pub fn check(&self, limits: &[Limit], spend: &Spend, now: Time) -> Result<(), String> {
        for limit in limits {
            let used = self.used(limit, &spend.run, now);
            let new = limit.amount(spend.usd, spend.tokens, spend.runs);
            let all = used.spent + used.reserved + new;
            if new > 0.0 && all > limit.most + 1e-9 {
                return Err(self.say(limit, used, new, now));
            }
        }
        Ok(())
    }

    fn say(&self, limit: &Limit, used: Used, new: f64, now: Time) -> String {
        let until = limit
            .span
            .bounds(now)
            .map(|(_, to)| format!(", until {}", render_rfc3339(to)))
            .unwrap_or_default();
        let Used { spent, reserved } = used;
        format!(
            "{} of {} is {}: {spent:.2} spent, {reserved:.2} reserved, and this call may take {new:.2}{until}",
            limit.key(),
            limit.scope,
            limit.most
        )
    }

    /// The limits of which 80 % are used and nobody was told yet, each with the line that says so.
    pub fn warnings(&self, limits: &[Limit], run: &str, now: Time) -> Vec<(String, BudgetLine)> {
        let mut warnings = Vec::new();
        for limit in limits {
            let Some((_, to)) = limit.span.bounds(now) else { continue };
            let used = self.used(limit, run, now);
            let all = used.spent + used.reserved;
            let key = (format!("{} {}", limit.scope, limit.key()), render_rfc3339(to));
            if limit.most > 0.0 && all >= limit.most * 0.8 && !self.warned.contains(&key) {
                let text = format!(
                    "{:.0} % of {} of {} are used",
                    all * 100.0 / limit.most,
                    limit.key(),
                    limit.scope
                );
                warnings.push((text, BudgetLine::Warn { limit: key.0, until: key.1 }));
            }
        }
        warnings
    }
}

/// When the longest span of some limits began: lines older than that don't count.
pub fn earliest(limits: &[Limit], now: Time) -> Time {
    let starts = limits.iter().filter_map(|limit| limit.span.bounds(now).map(|(from, _)| from));
    // A run may have begun the day before.
    starts.min().unwrap_or(now) - chrono::TimeDelta::days(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spend(id: &str, at: &str, usd: f64) -> Spend {
        Spend {
            id: id.into(),
            at: at.into(),
            dept: "rd".into(),
            run: "r-1".into(),
            usd,
            runs: 1,
            ..Spend::default()
        }
    }

    fn settle(id: &str, usd: f64) -> BudgetLine {
        BudgetLine::Settle { id: id.into(), at: String::new(), usd, tokens: 0, known: true }
    }

    const NOW: &str = "2026-11-18T12:00:00Z";

    #[test]
    fn a_reservation_counts_until_it_is_settled() {
        let now = parse_rfc3339(NOW).unwrap();
        let limit = Limit { scope: Scope::Organisation, unit: Unit::Usd, span: Span::Day, most: 3.0 };
        let mut lines =
            vec![BudgetLine::Reserve(spend("a", NOW, 1.0)), BudgetLine::Reserve(spend("b", NOW, 1.0))];
        let fits = |lines: &[BudgetLine]| {
            Book::read(lines).check(std::slice::from_ref(&limit), &spend("c", NOW, 1.0), now).is_ok()
        };
        assert!(fits(&lines), "a reservation that reaches a limit passes");
        lines.push(BudgetLine::Reserve(spend("c", NOW, 1.0)));
        assert!(!fits(&lines));
        lines.push(settle("a", 0.25));
        assert!(!fits(&lines));
        lines.push(settle("b", 0.75));
        assert!(fits(&lines));
    }

    #[test]
    fn spans_end_and_scopes_are_apart() {
        let now = parse_rfc3339(NOW).unwrap();
        let used = |scope: Scope, span: Span, at: &str| {
            let limit = Limit { scope, unit: Unit::Usd, span, most: 1.0 };
            Book::read(&[BudgetLine::Reserve(spend("a", at, 1.0))]).used(&limit, "r-1", now).reserved
        };
        assert_eq!(used(Scope::Organisation, Span::Day, "2026-11-18T00:00:00Z"), 1.0);
        assert_eq!(used(Scope::Organisation, Span::Day, "2026-11-17T23:59:59Z"), 0.0);
        assert_eq!(used(Scope::Organisation, Span::Week, "2026-11-16T00:00:00Z"), 1.0);
        assert_eq!(used(Scope::Organisation, Span::Week, "2026-11-15T23:59:59Z"), 0.0);
        assert_eq!(used(Scope::Organisation, Span::Month, "2026-11-01T00:00:00Z"), 1.0);
        assert_eq!(used(Scope::Department("rd".into()), Span::Day, NOW), 1.0);
        assert_eq!(used(Scope::Department("business".into()), Span::Day, NOW), 0.0);
        assert_eq!(used(Scope::Project("p".into()), Span::Day, NOW), 0.0);
    }

    #[test]
    fn eighty_percent_is_said_once() {
        let now = parse_rfc3339(NOW).unwrap();
        let limit = Limit { scope: Scope::Organisation, unit: Unit::Usd, span: Span::Day, most: 1.0 };
        let mut lines = vec![BudgetLine::Reserve(spend("a", NOW, 0.8))];
        let warnings = Book::read(&lines).warnings(std::slice::from_ref(&limit), "r-1", now);
        assert_eq!(warnings.len(), 1);
        lines.push(warnings[0].1.clone());
        assert!(Book::read(&lines).warnings(&[limit], "r-1", now).is_empty());
    }
}
