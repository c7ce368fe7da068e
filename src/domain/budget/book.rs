//! The lines of `budget.jsonl`, read for counting: what is used of a limit, and whether one more call fits.

use super::{BudgetLine, Limit, Scope, Span, Spend, Unit};
use crate::domain::text::one_line;
use crate::domain::time::{Time, parse_rfc3339, render_rfc3339};
use chrono::TimeDelta;
use std::collections::{BTreeMap, BTreeSet};

/// What was spent and is reserved within a limit's span.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Used {
    pub spent: f64,
    pub reserved: f64,
    /// How much of what was spent was not reported, and counts at the declared worst case.
    pub unknown: f64,
}

/// What was spent in one scope, over everything that the book holds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    pub usd: f64,
    pub reserved_usd: f64,
    /// How much of the money was not reported, and counts at the declared worst case.
    pub unknown_usd: f64,
    pub tokens: u64,
    pub runs: u64,
    /// Whether every call said what it cost; else some count at their worst case.
    pub known: bool,
}

#[derive(Clone, Copy, Debug)]
struct Settled {
    usd: f64,
    tokens: u64,
    known: bool,
    tokens_known: bool,
}

impl Settled {
    /// Two settlements of one call: money that was once counted is not given back by a later line.
    fn at_its_highest(self, other: Settled) -> Settled {
        Settled {
            usd: self.usd.max(other.usd),
            tokens: self.tokens.max(other.tokens),
            known: self.known && other.known,
            tokens_known: self.tokens_known && other.tokens_known,
        }
    }

    fn unknown(&self, unit: Unit) -> f64 {
        match unit {
            Unit::Usd if !self.known => self.usd,
            Unit::Tokens if !self.tokens_known => self.tokens as f64,
            _ => 0.0,
        }
    }
}

/// How far ahead of the clock a line may be: clocks are set. What is later was not written by one that was right.
const AHEAD_DAYS: i64 = 1;

/// The lines of the log, read for counting.
#[derive(Clone, Debug, Default)]
pub struct Book {
    spends: Vec<(Time, Spend)>,
    settled: BTreeMap<String, Settled>,
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
                BudgetLine::Settle { id, usd, tokens, known, tokens_known, .. } => {
                    let tokens_known = tokens_known.unwrap_or(*known);
                    let settled = Settled { usd: *usd, tokens: *tokens, known: *known, tokens_known };
                    let before = book.settled.get(id).copied();
                    let highest = before.map_or(settled, |before| before.at_its_highest(settled));
                    book.settled.insert(id.clone(), highest);
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
                (Span::Total, _) => true,
                // What is dated ahead of the clock was spent all the same: it counts now, and again when its day comes.
                (_, Some((from, _))) => *at >= from,
                (_, None) => false,
            };
            if !inside || !limit.scope.covers(spend) {
                continue;
            }
            match self.settled.get(&spend.id) {
                Some(settled) => {
                    used.spent += limit.amount(settled.usd, settled.tokens, spend.runs);
                    used.unknown += settled.unknown(limit.unit);
                }
                None => used.reserved += limit.amount(spend.usd, spend.tokens, spend.runs),
            }
        }
        used
    }

    /// When this share of a limit was reached within its span, what is reserved counted too.
    pub fn reached(&self, limit: &Limit, share: f64, now: Time) -> Option<Time> {
        let (from, _) = limit.span.bounds(now)?;
        let mut all = 0.0;
        let inside = self.spends.iter().filter(|(at, spend)| *at >= from && limit.scope.covers(spend));
        inside.map(|(at, spend)| (at, self.settled.get(&spend.id), spend)).find_map(|(at, settled, spend)| {
            all += match settled {
                Some(settled) => limit.amount(settled.usd, settled.tokens, spend.runs),
                None => limit.amount(spend.usd, spend.tokens, spend.runs),
            };
            (all >= share * limit.most).then_some(*at)
        })
    }

    /// What one project or directive has cost: spent and still reserved, in each unit.
    pub fn cost(&self, scope: &Scope) -> Cost {
        let mut cost = Cost { known: true, ..Cost::default() };
        for (_, spend) in self.spends.iter().filter(|(_, spend)| scope.covers(spend)) {
            cost.runs += spend.runs;
            match self.settled.get(&spend.id) {
                Some(settled) => {
                    cost.usd += settled.usd;
                    cost.unknown_usd += settled.unknown(Unit::Usd);
                    cost.tokens += settled.tokens;
                    cost.known &= settled.known;
                }
                None => cost.reserved_usd += spend.usd,
            }
        }
        cost
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

    /// What is wrong with a reservation from far ahead of the clock; none where there is none.
    pub fn from_the_future(&self, now: Time) -> Option<String> {
        let late = now + TimeDelta::days(AHEAD_DAYS);
        let (_, spend) = self.spends.iter().find(|(at, _)| *at > late)?;
        Some(format!(
            "budget.jsonl has an entry from the future: {} is of {}, and it is {} now; \
             set the clock right, or that entry",
            one_line(&spend.id, 60),
            one_line(&spend.at, 40),
            render_rfc3339(now)
        ))
    }

    /// The first limit that one more call would exceed. Reaching a limit passes; exceeding it doesn't. Nothing is spent
    /// by a book that doesn't agree with the clock.
    pub fn check(&self, limits: &[Limit], spend: &Spend, now: Time) -> Result<(), String> {
        if let Some(why) = self.from_the_future(now) {
            return Err(why);
        }
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
        let Used { spent, reserved, .. } = used;
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
            let until = match (limit.span, limit.span.bounds(now)) {
                (_, Some((_, to))) => render_rfc3339(to),
                // Said once for each height of the allowance: a raise may be used up too.
                (Span::Total, None) => format!("{} are used", limit.most),
                (_, None) => continue,
            };
            let used = self.used(limit, run, now);
            let all = used.spent + used.reserved;
            let key = (format!("{} {}", limit.scope, limit.key()), until);
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

#[cfg(test)]
mod tests {
    use super::super::limits_in_all;
    use super::*;
    use crate::domain::allowance::Allowance;

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
        BudgetLine::Settle {
            id: id.into(),
            at: String::new(),
            usd,
            tokens: 0,
            known: true,
            tokens_known: None,
        }
    }

    const NOW: &str = "2026-11-18T12:00:00Z";

    #[test]
    fn a_reservation_counts_until_it_is_settled() {
        let now = parse_rfc3339(NOW).unwrap();
        let limit =
            Limit { scope: Scope::Organisation, unit: Unit::Usd, span: Span::Day, most: 3.0, since: None };
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
            let limit = Limit { scope, unit: Unit::Usd, span, most: 1.0, since: None };
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
    fn a_second_settlement_never_lowers_what_was_counted() {
        let now = parse_rfc3339(NOW).unwrap();
        let limit =
            Limit { scope: Scope::Organisation, unit: Unit::Usd, span: Span::Day, most: 3.0, since: None };
        let unknown = BudgetLine::Settle {
            id: "a".into(),
            at: NOW.into(),
            usd: 1.0,
            tokens: 9,
            known: false,
            tokens_known: Some(true),
        };
        for lines in [[unknown.clone(), settle("a", 0.0)], [settle("a", 0.0), unknown]] {
            let lines: Vec<BudgetLine> =
                [BudgetLine::Reserve(spend("a", NOW, 1.0))].into_iter().chain(lines).collect();
            let book = Book::read(&lines);
            assert_eq!(book.used(&limit, "", now), Used { spent: 1.0, reserved: 0.0, unknown: 1.0 });
            let tokens = Limit { unit: Unit::Tokens, ..limit.clone() };
            assert_eq!(book.used(&tokens, "", now), Used { spent: 9.0, reserved: 0.0, unknown: 0.0 });
        }
    }

    #[test]
    fn what_is_dated_ahead_counts_now_and_far_ahead_closes_the_book() {
        let now = parse_rfc3339(NOW).unwrap();
        let limit =
            Limit { scope: Scope::Organisation, unit: Unit::Usd, span: Span::Day, most: 3.0, since: None };
        let check = |at: &str| {
            let book = Book::read(&[BudgetLine::Reserve(spend("a", at, 2.5)), settle("a", 2.5)]);
            book.check(std::slice::from_ref(&limit), &spend("b", NOW, 1.0), now).unwrap_err()
        };
        assert!(check("2026-11-19T11:59:59Z").contains("2.50 spent"));
        assert!(check("2026-11-19T12:00:01Z").contains("an entry from the future: a is of 2026-11-19T12"));
    }

    #[test]
    fn eighty_percent_is_said_once() {
        let now = parse_rfc3339(NOW).unwrap();
        let limit =
            Limit { scope: Scope::Organisation, unit: Unit::Usd, span: Span::Day, most: 1.0, since: None };
        let mut lines = vec![BudgetLine::Reserve(spend("a", NOW, 0.8))];
        let warnings = Book::read(&lines).warnings(std::slice::from_ref(&limit), "r-1", now);
        assert_eq!(warnings.len(), 1);
        lines.push(warnings[0].1.clone());
        assert!(Book::read(&lines).warnings(&[limit], "r-1", now).is_empty());
    }

    #[test]
    fn a_total_counts_for_good_and_each_height_of_it_warns_once() {
        let now = parse_rfc3339(NOW).unwrap();
        let of_apollo = |id: &str, at: &str| {
            BudgetLine::Reserve(Spend { project: Some("apollo".into()), ..spend(id, at, 1.0) })
        };
        let allowance = |usd: f64| Allowance { usd: Some(usd), ..Default::default() };
        let limits = |usd: f64| limits_in_all(Scope::Project("apollo".into()), &allowance(usd), now);
        let mut lines = vec![of_apollo("a", "2025-01-01T00:00:00Z"), settle("a", 0.5), of_apollo("b", NOW)];
        let book = Book::read(&lines);
        let next = Spend { project: Some("apollo".into()), ..spend("c", NOW, 0.5) };
        assert_eq!(book.check(&limits(2.0), &next, now), Ok(()), "reaching it passes");
        let why = book.check(&limits(1.9), &next, now).unwrap_err();
        assert!(why.starts_with("budget_usd of project apollo is 1.9: 0.50 spent, 1.00 reserved"), "{why}");
        let said = book.warnings(&limits(1.8), "r-1", now);
        assert_eq!(said.len(), 1);
        lines.push(said[0].1.clone());
        assert!(Book::read(&lines).warnings(&limits(1.8), "r-1", now).is_empty());
        assert_eq!(Book::read(&lines).warnings(&limits(1.7), "r-1", now).len(), 1);
        let cost = book.cost(&Scope::Project("apollo".into()));
        assert_eq!((cost.usd, cost.reserved_usd, cost.runs, cost.known), (0.5, 1.0, 2, true));
    }
}
