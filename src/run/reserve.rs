//! Paying for a call: reserved before the engine starts, settled when it has ended, kept through a crash.

use super::ask::{Answered, Ask};
use super::{Refused, Result, RunError, Shop};
use crate::domain::budget::{
    Book, BudgetLine, Settlement, Spend, WorstTokens, count_tokens, earliest, limits_for,
};
use crate::domain::event::Event;
use crate::domain::message::Message;
use crate::domain::settings::EngineSettings;
use crate::domain::time::{Time, render_rfc3339};
use crate::store::breakage::Breakage;
use crate::store::budget::Reserved;
use std::collections::BTreeMap;

/// Bytes of a prompt in a token, roughly.
const BYTES_PER_TOKEN: usize = 4;

impl Shop<'_> {
    /// Reserves what a client may cost at the most. There is no call without it.
    pub(super) fn reserve(&self, settings: &EngineSettings, ask: &Ask<'_>) -> Result<Spend> {
        let worst = worst_tokens(settings, ask);
        let spend = self.spend(ask, settings.worst_case_usd, worst.prompt + worst.answer);
        self.reserve_spend(&spend)?;
        Ok(spend)
    }

    /// Counts a run whose engine costs nothing, once.
    pub(super) fn count_run(&self, ask: &Ask<'_>) -> Result<()> {
        if self.counted.replace(true) || self.effects == super::Effects::Shown {
            return Ok(());
        }
        let spend = self.spend(ask, 0.0, 0);
        self.reserve_spend(&spend)?;
        let nothing = Settlement { known: true, tokens_known: true, ..Settlement::default() };
        Ok(self.org.settle(&spend.id, &nothing, (self.now)())?)
    }

    /// What a paused or cancelled directive or project has to do waits: no engine is asked about it, by whatever way.
    pub(super) fn check_held(&self, message: Option<&Message>) -> Result<()> {
        let Some(message) = message else { return Ok(()) };
        match self.org.portfolio()?.holds(message) {
            None => Ok(()),
            Some(hold) => Err(RunError::Refused(Refused::Held(format!("{}: {hold}", message.id)))),
        }
    }

    fn spend(&self, ask: &Ask<'_>, usd: f64, tokens: u64) -> Spend {
        let number = self.calls.get() + 1;
        self.calls.set(number);
        Spend {
            id: format!("{}/{number}", ask.run),
            at: render_rfc3339((self.now)()),
            dept: self.department.dept.to_string(),
            run: ask.run.to_string(),
            project: ask.at_hand.and_then(|message| message.project.clone()),
            directive: ask.at_hand.and_then(|message| message.directive.clone()),
            usd,
            tokens,
            runs: 0,
        }
    }

    pub(super) fn reserve_spend(&self, spend: &Spend) -> Result<()> {
        let portfolio = self.org.portfolio()?;
        let mut spend = spend.clone();
        spend.directive = portfolio.directive_of(spend.project.as_deref(), spend.directive.as_deref());
        let spend = &spend;
        let mut limits = limits_for(&self.settings.budget, spend);
        limits.extend(portfolio.limits_for(spend));
        match self.org.reserve(&limits, spend, (self.now)())? {
            Reserved::Yes(warnings) => {
                for warning in warnings {
                    self.tell(&Event::Notice(&format!("budget: {warning}")));
                }
                Ok(())
            }
            Reserved::No(why) => Err(RunError::Refused(Refused::Budget(why))),
        }
    }

    /// Why a spend would be refused now; nothing is reserved.
    pub(super) fn would_exceed(&self, spend: &Spend) -> Result<Option<String>> {
        let portfolio = self.org.portfolio()?;
        let mut spend = spend.clone();
        spend.directive = portfolio.directive_of(spend.project.as_deref(), spend.directive.as_deref());
        let mut limits = limits_for(&self.settings.budget, &spend);
        limits.extend(portfolio.limits_for(&spend));
        let book = Book::read(&self.org.budget_lines(earliest(&limits, (self.now)()))?);
        Ok(book.check(&limits, &spend, (self.now)()).err())
    }

    /// Settles a call by what it really cost, or by its declared worst case.
    pub(super) fn settle(&self, spend: &Spend, said: &Answered, worst: WorstTokens) -> Result<()> {
        let parts = [said.input_tokens, said.cache_write_tokens, said.cache_read_tokens];
        let prompt = parts.into_iter().flatten().reduce(u64::saturating_add);
        let (tokens, tokens_known) = count_tokens(prompt, said.output_tokens, said.cost_usd, worst);
        let known = said.cost_usd.is_some();
        let came_to = Settlement { usd: said.counted_usd, tokens, known, tokens_known };
        Ok(self.org.settle(&spend.id, &came_to, (self.now)())?)
    }

    /// Settles what a dead run had reserved: nobody knows what it cost, so it counts at the worst.
    pub(super) fn settle_dead(&self, run: &str) -> Result<()> {
        if self.breaks(Breakage::DeadNotSettled) {
            return Ok(());
        }
        let probe =
            Spend { dept: self.department.dept.to_string(), run: run.to_string(), ..Spend::default() };
        let limits = limits_for(&self.settings.budget, &probe);
        let now = (self.now)();
        let book = Book::read(&self.org.budget_lines(earliest(&limits, now))?);
        for spend in book.unsettled(run) {
            self.org.settle(&spend.id, &at_worst(&spend), now)?;
        }
        Ok(())
    }

    /// What the book counts for a run since it started, and whether all of it is known.
    pub(super) fn counted_for(&self, run: &str, since: Time) -> Result<(f64, bool)> {
        let lines = self.org.budget_lines(since)?;
        let start = format!("{run}/");
        let mut calls: BTreeMap<&str, (f64, bool)> = BTreeMap::new();
        for line in &lines {
            if let BudgetLine::Settle { id, usd, known, .. } = line
                && id.starts_with(&start)
            {
                let call = calls.entry(id.as_str()).or_insert((0.0, true));
                *call = (call.0.max(*usd), call.1 && *known);
            }
        }
        Ok(calls.into_values().fold((0.0, true), |(sum, all), (usd, known)| (sum + usd, all && known)))
    }
}

/// The tokens that a call may take at the most.
pub(super) fn worst_tokens(settings: &EngineSettings, ask: &Ask<'_>) -> WorstTokens {
    let prompt = ask.prompt.text.len().div_ceil(BYTES_PER_TOKEN) as u64;
    WorstTokens { prompt, answer: settings.worst_case_output_tokens as u64 }
}

/// A call of which nobody can say what it came to.
pub(super) fn at_worst(spend: &Spend) -> Settlement {
    Settlement { usd: spend.usd, tokens: spend.tokens, known: false, tokens_known: false }
}
