//! `harness budget`: what was spent, what is reserved, what is left, and until when.

use super::app::{App, Result};
use crate::domain::budget::{Book, Limit, Scope, Spend, Unit, earliest, limits_for, limits_of};
use crate::domain::time::render_rfc3339;
use crate::ui::Answer;
use crate::ui::bar::render_gauge;
use crate::ui::table::render_table;
use serde_json::json;

/// Show budgets: spent, reserved, left, and until when
///
/// A row for each limit of the organisation and its departments, and for what directives and projects may cost in all.
/// Reserved is what a call under way, or one that died,
/// may cost at the most. Limits are in .harness/org.toml; what isn't set has the default shown there.
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

pub fn run(args: &BudgetArgs, app: &App<'_>) -> Result<Answer> {
    let org = app.org()?;
    let settings = org.settings()?;
    let now = app.ctx.now();
    let depts = match &args.dept {
        Some(name) => vec![app.department(&org, name)?.dept],
        None => org.departments()?.departments,
    };
    let mut limits = limits_of(Scope::Organisation, &settings.budget.organisation);
    for dept in &depts {
        limits.extend(limits_of(Scope::Department(dept.to_string()), &settings.budget.department));
    }
    if args.dept.is_none() {
        limits.extend(org.portfolio()?.limits());
    }
    let mut looked_at = limits_for(&settings.budget, &Spend { dept: String::new(), ..Spend::default() });
    looked_at.extend(limits.iter().cloned());
    let book = Book::read(&org.budget_lines(earliest(&looked_at, now))?);
    let rows: Vec<(Limit, f64, f64)> = limits
        .into_iter()
        .map(|limit| {
            let used = book.used(&limit, "", now);
            (limit, used.spent, used.reserved)
        })
        .collect();
    let table: Vec<Vec<String>> = rows
        .iter()
        .map(|(limit, spent, reserved)| {
            let until =
                limit.span.bounds(now).map(|(_, to)| render_rfc3339(to)).unwrap_or_else(|| "-".to_string());
            let left = (limit.most - spent - reserved).max(0.0);
            let share = if limit.most > 0.0 { (spent + reserved) / limit.most } else { 1.0 };
            vec![
                limit.scope.to_string(),
                limit.key(),
                number(limit.unit, limit.most),
                number(limit.unit, *spent),
                number(limit.unit, *reserved),
                number(limit.unit, left),
                bar(share),
                until,
            ]
        })
        .collect();
    let headings = ["FOR", "LIMIT", "MOST", "SPENT", "RESERVED", "LEFT", "USED", "UNTIL"];
    let text = render_table(&headings, &table, app.ui.width().max(100));
    let data: Vec<_> = rows
        .iter()
        .map(|(limit, spent, reserved)| {
            json!({
                "scope": limit.scope.to_string(), "limit": limit.key(), "most": limit.most, "spent": spent,
                "reserved": reserved, "left": (limit.most - spent - reserved).max(0.0),
                "until": limit.span.bounds(now).map(|(_, to)| render_rfc3339(to)),
            })
        })
        .collect();
    Ok(Answer::new("harness.budget/1", json!({"limits": data}), text))
}

fn number(unit: Unit, value: f64) -> String {
    if unit == Unit::Usd { format!("{value:.2}") } else { format!("{value:.0}") }
}

fn bar(share: f64) -> String {
    format!("{} {:>3.0}%", render_gauge(share, 10), (share * 100.0).floor())
}
