//! What the commands for directives and projects have in common: finding one by its id, budgets, titles.

use super::app::Result;
use crate::domain::allowance::{Allowance, USD_MAX, is_usd};
use crate::domain::directive::Directive;
use crate::domain::id::{Match, match_id};
use crate::domain::message::SUBJECT_MAX;
use crate::domain::portfolio::Portfolio;
use crate::domain::project::Project;
use crate::domain::text::one_line;
use crate::error::{CommandError, Kind};

/// What something may cost in all.
#[derive(Debug, Default, clap::Args)]
pub struct BudgetArgs {
    /// What it may cost in all, in USD
    #[arg(long, value_name = "N")]
    pub budget_usd: Option<f64>,
    /// How many tokens it may take in all
    #[arg(long, value_name = "N")]
    pub budget_tokens: Option<u64>,
    /// How many runs it may take in all
    #[arg(long, value_name = "N")]
    pub budget_runs: Option<u64>,
}

impl BudgetArgs {
    pub fn allowance(&self) -> Result<Allowance> {
        if self.budget_usd.is_some_and(|usd| !is_usd(usd)) {
            return Err(CommandError::new(Kind::Usage, format!("a budget is between 0 and {USD_MAX} USD")));
        }
        Ok(Allowance { usd: self.budget_usd, tokens: self.budget_tokens, runs: self.budget_runs })
    }
}

pub fn check_title(title: &str) -> Result<()> {
    let length = title.trim().chars().count();
    if length == 0 || title.contains(['\n', '\r']) {
        return Err(CommandError::new(Kind::Usage, "the title must be one line of text"));
    }
    if length > SUBJECT_MAX {
        let what = format!("the title has {length} characters; the most is {SUBJECT_MAX}");
        return Err(CommandError::new(Kind::Usage, what));
    }
    Ok(())
}

/// The directive that an id or the end of one names.
pub fn find_directive<'a>(portfolio: &'a Portfolio, wanted: &str) -> Result<&'a Directive> {
    let ids = portfolio.directives.iter().map(|one| one.id.as_str());
    let id = one_id(portfolio, wanted, ids, "directive")?;
    portfolio.directive(&id).ok_or_else(|| none(wanted, "directive"))
}

/// The project that an id or the end of one names.
pub fn find_project(portfolio: &Portfolio, wanted: &str) -> Result<Project> {
    let all = portfolio.all_projects();
    let id = one_id(portfolio, wanted, all.iter().map(|one| one.id.as_str()), "project")?;
    portfolio.project(&id).ok_or_else(|| none(wanted, "project"))
}

fn none(wanted: &str, what: &str) -> CommandError {
    CommandError::failed(format!("there is no {what} `{}`", one_line(wanted, 60)))
        .code("not_found")
        .hint(format!("`harness {what} list --all` lists them"))
}

fn one_id<'a>(
    portfolio: &Portfolio,
    wanted: &str,
    ids: impl Iterator<Item = &'a str>,
    what: &str,
) -> Result<String> {
    match match_id(wanted, ids) {
        Match::One(id) => Ok(id),
        Match::Many(ids) => {
            let error = CommandError::failed(format!("`{wanted}` fits several")).code("ambiguous_id");
            Err(error.hint(format!("give more of the id: {}", ids.join(", "))))
        }
        Match::None => {
            let damaged =
                portfolio.unreadable.iter().find(|(id, _)| !wanted.is_empty() && id.ends_with(wanted));
            Err(match damaged {
                Some((id, why)) => CommandError::failed(format!("`{id}` can't be read: {why}")),
                None => none(wanted, what),
            })
        }
    }
}

/// A warning for each file that can't be read.
pub fn warnings(portfolio: &Portfolio) -> Vec<String> {
    let named = |(id, why): &(String, String)| {
        format!("{} can't be read, and its work is held: {why}", one_line(id, 100))
    };
    portfolio.unreadable.iter().map(named).collect()
}
