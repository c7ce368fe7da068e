//! `harness budget`: what was spent, what is reserved, what is left, and until when.

use super::app::{App, Result};
use crate::domain::budget::{
    Book, Cost, Limit, Scope, Span, Spend, Unit, Used, earliest, limits_for, limits_of,
};
use crate::domain::id::Dept;
use crate::domain::portfolio::Portfolio;
use crate::domain::settings::Budgets;
use crate::domain::time::{Time, render_local_day, render_rfc3339};
use crate::ui::bar::render_gauge;
use crate::ui::table::{Align, Cell, render_columns};
use crate::ui::{Answer, bold};
use serde_json::{Value, json};

const HEADINGS: [(&str, Align); 8] = [
    ("LIMIT", Align::Left),
    ("MOST", Align::Right),
    ("USED", Align::Left),
    ("SPENT", Align::Right),
    ("UNKNOWN", Align::Right),
    ("RESERVED", Align::Right),
    ("LEFT", Align::Right),
    ("UNTIL", Align::Left),
];
/// Where in a row stand what was spent, and the unknown part of it.
const SPENT_AT: usize = 3;
const UNKNOWN_AT: usize = 4;
/// From which width on the unknown part has a column of its own; in a narrower table it is only marked.
const WIDE: usize = 96;
const UNKNOWN: &str =
    "UNKNOWN is the part of SPENT that no engine reported: it counts at the declared worst case.\n";
const MARKED: &str = "? No engine reported all of it: what is UNKNOWN counts at the declared worst case. --json has how much.\n";

/// A limit as it is shown, under whose it is.
type Cells = [String; HEADINGS.len()];

/// Show budgets: spent, reserved, left, and until when
///
/// Under each name, a row for each of its limits: those of the organisation, its departments, directives and projects.
/// What has no limit of its own has a row once it cost something. Reserved is what a call under way, or one that died,
/// may cost at the most. Unknown, shown or marked with ? where there is any, is the part of what was spent that no
/// engine reported, counted at its declared worst case. Limits are in .harness/org.toml; what isn't set has the default shown there.
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

    fn cells(&self, now: Time) -> Cells {
        let Row { limit, used } = self;
        let amount = |value: f64| number(limit.unit, value);
        let share = if limit.most > 0.0 { (used.spent + used.reserved) / limit.most } else { 1.0 };
        let counts = match limit.span {
            // It holds for each by itself: there is no sum to show.
            Span::Step | Span::Run => [(); 5].map(|()| "-".to_string()),
            _ => {
                let (spent, unknown) = (amount(used.spent), amount(used.unknown));
                [bar(share), spent, unknown, amount(used.reserved), amount(self.left())]
            }
        };
        let until = match (limit.span, limit.span.bounds(now)) {
            (_, Some((_, to))) => render_local_day(to),
            (Span::Total, None) => "for good".to_string(),
            (span, None) => format!("each {}", span.name()),
        };
        let [used, spent, unknown, reserved, left] = counts;
        [limit.key(), amount(limit.most), used, spent, unknown, reserved, left, until]
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
    let mut table: Vec<(&Scope, Cells)> = rows.iter().map(|row| (&row.limit.scope, row.cells(now))).collect();
    let unlimited = |scope: &Scope| !rows.iter().any(|row| row.limit.scope == *scope);
    let costs = spent.iter().filter(|(scope, _)| unlimited(scope));
    table.extend(costs.map(|(scope, cost)| (scope, cost_cells(cost))));
    let any_unknown =
        rows.iter().any(|row| row.used.unknown > 0.0) || spent.iter().any(|(_, cost)| cost.unknown_usd > 0.0);
    let text = render(&table, any_unknown, app.ui.width());
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

/// The rows, each under the name of what its limit holds for.
fn render(table: &[(&Scope, Cells)], any_unknown: bool, columns: usize) -> String {
    let has_column = any_unknown && columns >= WIDE;
    let shown = |index: &usize| has_column || *index != UNKNOWN_AT;
    let is_marked = |cells: &Cells| !has_column && cells[UNKNOWN_AT].contains(|c| ('1'..='9').contains(&c));
    let columns_of = 0..HEADINGS.len();
    let headings: Vec<(&str, Align)> =
        columns_of.clone().filter(shown).map(|index| HEADINGS[index]).collect();
    let to_row = |(_, cells): &(&Scope, Cells)| -> Vec<Cell> {
        let cell = |index: usize| match index == SPENT_AT && is_marked(cells) {
            true => Cell::from(format!("{}?", cells[index])),
            false => Cell::from(cells[index].as_str()),
        };
        columns_of.clone().filter(shown).map(cell).collect()
    };
    let rows: Vec<Vec<Cell>> = table.iter().map(to_row).collect();
    let rendered = render_columns(&headings, &rows, columns.saturating_sub(2));
    let mut lines = rendered.lines();
    let mut text = format!("  {}\n", lines.next().unwrap_or_default());
    let mut before = None;
    for ((scope, _), line) in table.iter().zip(lines) {
        if before.replace(*scope) != Some(*scope) {
            text.push_str(&format!("{}\n", bold(&scope.to_string())));
        }
        text.push_str(&format!("  {line}\n"));
    }
    if any_unknown {
        text.push_str(&format!("\n{}", if has_column { UNKNOWN } else { MARKED }));
    }
    text
}

/// What has cost something and has no limit of its own.
fn cost_cells(cost: &Cost) -> Cells {
    let usd = |value: f64| number(Unit::Usd, value);
    let dash = || "-".to_string();
    let [spent, unknown, reserved] = [cost.usd, cost.unknown_usd, cost.reserved_usd].map(usd);
    ["no limit".to_string(), dash(), dash(), spent, unknown, reserved, dash(), "for good".to_string()]
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
    format!("{} {:>3.0}%", render_gauge(share, 6), (share * 100.0).floor())
}
