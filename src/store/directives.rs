//! Directives as files under the root's `.harness/directives/`, and their arrival at business.
//!
//! A new one is written first, then its message is delivered, then the file says that it was. Whoever comes next makes
//! up for what a crash left undone: the message's id stands in the file, so that it never arrives twice.

use super::fault::{Result, StoreError};
use super::lock::lock;
use super::org::{Department, Org};
use crate::domain::budget::Book;
use crate::domain::directive::{Directive, Move, parse_directive};
use crate::domain::live_state::LiveState;
use crate::domain::portfolio::Portfolio;
use crate::domain::project::parse_project;
use crate::domain::time::Time;
use std::collections::BTreeMap;

/// The largest directive or project that is read.
const FILE_MAX: u64 = 1024 * 1024;
const DIRECTIVES: &str = "directives";
pub(super) const PROJECTS: &str = "projects";

impl Org {
    /// Every directive and project there is.
    pub fn portfolio(&self) -> Result<Portfolio> {
        let mut portfolio = Portfolio::default();
        for folder in [DIRECTIVES, PROJECTS] {
            let Some(dir) = self.own.find(folder)? else { continue };
            for entry in dir.list()? {
                let Some(id) = entry.name.strip_suffix(".md") else { continue };
                let text = match dir.read(&entry.name, FILE_MAX) {
                    Ok(Some(text)) => text.text,
                    Ok(None) => continue,
                    Err(error) => {
                        portfolio.unreadable.push((id.to_string(), error.fault.to_string()));
                        continue;
                    }
                };
                let read = match folder {
                    DIRECTIVES => parse_directive(&text, id).map(|one| portfolio.directives.push(one)),
                    _ => parse_project(&text, id).map(|one| portfolio.projects.push(one)),
                };
                if let Err(why) = read {
                    portfolio.unreadable.push((id.to_string(), why));
                }
            }
        }
        portfolio.directives.sort_by(|a, b| (a.given(), &a.id).cmp(&(b.given(), &b.id)));
        portfolio.projects.sort_by(|a, b| (a.created, &a.id).cmp(&(b.created, &b.id)));
        Ok(portfolio)
    }

    /// Adds the directives and projects to live state. Mail of one that is paused or cancelled waits for it.
    pub fn add_portfolio(&self, live: &mut LiveState) -> Result<()> {
        let portfolio = self.portfolio()?;
        for message in live.inbox.iter_mut().filter(|message| message.waits_for.is_none()) {
            message.waits_for = portfolio.holds(message).map(|hold| hold.id);
        }
        live.spent = self.spent(&portfolio)?;
        live.portfolio = portfolio;
        Ok(())
    }

    /// What each directive and project has cost, by its id. Where there is none, no log is read.
    pub fn spent(&self, portfolio: &Portfolio) -> Result<BTreeMap<String, f64>> {
        let Some(since) = portfolio.since() else { return Ok(BTreeMap::new()) };
        let book = Book::read(&self.budget_lines(since)?);
        let scopes = portfolio.scopes();
        Ok(scopes.into_iter().map(|(id, scope)| (id, book.cost(&scope).usd)).collect())
    }

    /// Writes a new directive; it has yet to arrive.
    pub fn create_directive(&self, id: &str, text: &str) -> Result<()> {
        let _held = lock(&self.own, "lock")?;
        self.own.make_lasting(DIRECTIVES)?.create(&format!("{id}.md"), text.as_bytes()).map(|_| ())
    }

    /// Delivers what has not yet arrived of the open directives, and says so in their files; how many those were.
    pub fn deliver_directives(&self, receiver: &Department, now: Time) -> Result<usize> {
        let waiting = |one: &Directive| !one.status.holds() && !one.is_delivered();
        if !self.portfolio()?.directives.iter().any(waiting) {
            return Ok(0);
        }
        let _held = lock(&self.own, "lock")?;
        let dir = self.own.make_lasting(DIRECTIVES)?;
        let mut count = 0;
        for directive in self.portfolio()?.directives.into_iter().filter(waiting) {
            receiver.deliver(&directive.message, &directive.to_message(&receiver.dept))?;
            dir.replace(&format!("{}.md", directive.id), directive.delivered(now).as_bytes())?;
            count += 1;
        }
        Ok(count)
    }

    /// Moves a directive to another status, as long as it is in one of those it may come from.
    pub fn move_directive(&self, id: &str, to: &Move<'_>) -> Result<()> {
        let _held = lock(&self.own, "lock")?;
        let dir = self.own.make(DIRECTIVES)?;
        let name = format!("{id}.md");
        let missing = || StoreError::format(dir.join(&name), "it is not there");
        let text = dir.read(&name, FILE_MAX)?.ok_or_else(missing)?.text;
        let directive = parse_directive(&text, id).map_err(|why| StoreError::format(dir.join(&name), why))?;
        dir.replace(&name, directive.moved(to).as_bytes())
    }
}
