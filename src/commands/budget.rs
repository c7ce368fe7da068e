//! `harness budget`: what was spent, what is reserved, what is left, and until when.

use super::app::{App, Result};
use crate::domain::budget::{
    Book, Cost, Limit, Scope, Span, Spend, Unit, Used, earliest, limits_for, limits_of,
};
use crate::domain::id::Dept;
use crate::domain::portfolio::Portfolio;
use crate::domain::settings::Budgets;
use crate::domain::time::{Time, render_rfc3339};
use crate::ui::Answer;
use crate::ui::bar::render_gauge;
use crate::ui::table::render_table;
use serde_json::{Value, json};

const HEADINGS: [&str; 9] = ["FOR", "LIMIT", "MOST", "SPENT", "UNKNOWN", "RESERVED", "LEFT", "USED", "UNTIL"];
const UNKNOWN: &str =
    "UNKNOWN is the part of SPENT that no engine reported: it counts at the declared worst case.\n";

/// Show budgets: spent, reserved, left, and until when
///
/// A row for each limit of the organisation and its departments, and for what each directive and project may cost; one
/// that has no limit of its own has a row once it cost something. Reserved is what a call under way, or one that died,
/// may cost at the most. Unknown is the part of what was spent that no engine reported, counted at its declared worst
/// case. Limits are in .harness/org.toml; what isn't set has the default shown there.
///
/// Examples:
///   harness budget
///   harness budget business --json
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct BudgetArgs {
    /// One department alone
    dept: Option<String>,
}

/// A limit, and what is used of it.
struct Row {
    limit: Limit,
    used: Used,
}

impl Row {
    fn left(&self) -> f64 {
        (self.limit.most - self.used.spent - self.used.reserved).max(0.0)
    }

    fn cells(&self, now: Time) -> Vec<String> {
        let Row { limit, used } = self;
        let amount = |value: f64| number(limit.unit, value);
        let share = if limit.most > 0.0 { (used.spent + used.reserved) / limit.most } else { 1.0 };
        let counts = match limit.span {
            // It holds for each by itself: there is no sum to show.
            Span::Step | Span::Run => vec!["-".to_string(); 5],
            _ => {
                let (spent, unknown) = (amount(used.spent), amount(used.unknown));
                vec![spent, unknown, amount(used.reserved), amount(self.left()), bar(share)]
            }
        };
        let until = match (limit.span, limit.span.bounds(now)) {
            (_, Some((_, to))) => render_rfc3339(to),
            (Span::Total, None) => "for good".to_string(),
            (span, None) => format!("each {}", span.name()),
        };
        let head = [limit.scope.to_string(), limit.key(), amount(limit.most)];
        head.into_iter().chain(counts).chain([until]).collect()
    }

    fn json(&self, now: Time) -> Value {
        let Row { limit, used } = self;
        json!({
            "scope": limit.scope.to_string(), "limit": limit.key(), "most": limit.most, "spent": used.spent,
            "unknown": used.unknown, "reserved": used.reserved, "left": self.left(),
            "until": limit.span.bounds(now).map(|(_, to)| render_rfc3339(to)),
        })
    }
}

pub fn run(args: &BudgetArgs, app: &App<'_>) -> Result<Answer> {
    let org = app.org()?;
    let settings = org.settings()?;
    let now = app.ctx.now();
    let (depts, portfolio) = match &args.dept {
        Some(name) => (vec![app.department(&org, name)?.dept], Portfolio::default()),
        None => (org.departments()?.departments, org.portfolio()?),
    };
    let limits = all_limits(&settings.budget, &depts, &portfolio);
    let mut looked_at = limits_for(&settings.budget, &Spend { dept: String::new(), ..Spend::default() });
    looked_at.extend(limits.iter().cloned());
    let since =
        portfolio.since().map_or(earliest(&looked_at, now), |since| since.min(earliest(&looked_at, now)));
    let book = Book::read(&org.budget_lines(since)?);
    let rows: Vec<Row> =
        limits.into_iter().map(|limit| Row { used: book.used(&limit, "", now), limit }).collect();
    let spent: Vec<(Scope, Cost)> = portfolio
        .scopes()
        .into_iter()
        .map(|(_, scope)| (scope.clone(), book.cost(&scope)))
        .filter(|(_, cost)| *cost != Cost { known: true, ..Cost::default() })
        .collect();
    let mut table: Vec<Vec<String>> = rows.iter().map(|row| row.cells(now)).collect();
    let unlimited = |scope: &Scope| !rows.iter().any(|row| row.limit.scope == *scope);
    table.extend(spent.iter().filter(|(scope, _)| unlimited(scope)).map(cost_cells));
    let mut text = render_table(&HEADINGS, &table, app.ui.width().max(120));
    let any_unknown = rows.iter().any(|row| row.used.unknown > 0.0);
    if any_unknown || spent.iter().any(|(_, cost)| cost.unknown_usd > 0.0) {
        text.push_str(&format!("\n{UNKNOWN}"));
    }
    let data = json!({
        "limits": rows.iter().map(|row| row.json(now)).collect::<Vec<_>>(),
        "spent": spent.iter().map(cost_json).collect::<Vec<_>>(),
    });
    let warnings = book.from_the_future(now).map(|why| format!("nothing more is spent: {why}"));
    Ok(Answer::new("harness.budget/1", data, text).warnings(warnings.into_iter().collect()))
}

/// Every limit there is: the organisation's, each department's, and those of directives and projects, by the tables of
/// org.toml and by themselves.
fn all_limits(budgets: &Budgets, depts: &[Dept], portfolio: &Portfolio) -> Vec<Limit> {
    let mut limits = limits_of(Scope::Organisation, &budgets.organisation);
    for dept in depts {
        limits.extend(limits_of(Scope::Department(dept.to_string()), &budgets.department));
    }
    let own = portfolio.limits();
    for (_, scope) in portfolio.scopes() {
        let table = if matches!(scope, Scope::Project(_)) { &budgets.project } else { &budgets.directive };
        limits.extend(limits_of(scope.clone(), table));
        limits.extend(own.iter().filter(|limit| limit.scope == scope).cloned());
    }
    limits
}

/// What has cost something and has no limit of its own.
fn cost_cells((scope, cost): &(Scope, Cost)) -> Vec<String> {
    let usd = |value: f64| number(Unit::Usd, value);
    let dash = || "-".to_string();
    let counts = [usd(cost.usd), usd(cost.unknown_usd), usd(cost.reserved_usd)];
    let head = [scope.to_string(), "no limit".to_string(), dash()];
    head.into_iter().chain(counts).chain([dash(), dash(), "for good".to_string()]).collect()
}

fn cost_json((scope, cost): &(Scope, Cost)) -> Value {
    json!({
        "scope": scope.to_string(), "cost_usd": cost.usd, "unknown_usd": cost.unknown_usd,
        "reserved_usd": cost.reserved_usd, "tokens": cost.tokens, "runs": cost.runs,
    })
}

fn number(unit: Unit, value: f64) -> String {
    if unit == Unit::Usd { format!("{value:.2}") } else { format!("{value:.0}") }
}

fn bar(share: f64) -> String {
    format!("{} {:>3.0}%", render_gauge(share, 10), (share * 100.0).floor())
}
