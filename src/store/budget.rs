//! `budget.jsonl`: reserving before a call and settling after it, under the organisation's lock.

use super::breakage::Breakage;
use super::fault::{Fault, Result, StoreError};
use super::lock::lock;
use super::org::Org;
use super::tail::read_tail;
use crate::domain::budget::{Book, BudgetLine, Limit, Settlement, Spend, earliest};
use crate::domain::time::{Time, parse_rfc3339, render_rfc3339};

const NAME: &str = "budget.jsonl";
const TAIL_FIRST: u64 = 32 * 1024;

/// Whether a call was reserved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reserved {
    /// It was; with what should be said about limits that are nearly used up.
    Yes(Vec<String>),
    /// The limit that says no, with its numbers.
    No(String),
}

impl Org {
    /// The lines since a moment, or more.
    pub fn budget_lines(&self, since: Time) -> Result<Vec<BudgetLine>> {
        let mut most = TAIL_FIRST;
        loop {
            let tail = read_tail(&self.own, NAME, most)?;
            let lines = self.parse(&tail.text)?;
            let oldest = lines.iter().find_map(|line| match line {
                BudgetLine::Reserve(spend) => parse_rfc3339(&spend.at),
                _ => None,
            });
            if tail.whole || oldest.is_some_and(|oldest| oldest < since) {
                return Ok(lines);
            }
            most *= 4;
        }
    }

    /// A line that can't be read might be a dollar spent: it closes the budget rather than being passed over. The torn
    /// last line of a crash is the exception, because what it stood for never began.
    fn parse(&self, text: &str) -> Result<Vec<BudgetLine>> {
        let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
        let mut lines = Vec::new();
        for line in whole.lines().filter(|line| !line.trim().is_empty()) {
            let parsed = serde_json::from_str::<BudgetLine>(line).map_err(|error| error.to_string());
            let parsed = parsed.and_then(|line| line.check().map(|()| line)).map_err(|error| {
                let line = crate::domain::text::one_line(line, 80);
                let what = format!("a line of it can't be read ({error}): `{line}`");
                StoreError::new(self.own.join(NAME), "read", Fault::Format(what))
            })?;
            lines.push(parsed);
        }
        Ok(lines)
    }

    /// Reserves a call, durably, where every limit lets it.
    pub fn reserve(&self, limits: &[Limit], spend: &Spend, now: Time) -> Result<Reserved> {
        let _held = lock(&self.own, "lock")?;
        let lines = self.budget_lines(earliest(limits, now))?;
        let book = Book::read(&lines);
        let mut spend = spend.clone();
        spend.runs = u64::from(!book.has_run(&spend.run));
        if let Err(why) = book.check(limits, &spend, now) {
            return Ok(Reserved::No(why));
        }
        let mut lines = lines;
        lines.push(BudgetLine::Reserve(spend.clone()));
        let warnings = Book::read(&lines).warnings(limits, &spend.run, now);
        self.append_budget(&BudgetLine::Reserve(spend))?;
        for (_, line) in &warnings {
            self.append_budget(line)?;
        }
        Ok(Reserved::Yes(warnings.into_iter().map(|(text, _)| text).collect()))
    }

    /// Settles a reservation; of two settlements of the same call the higher counts.
    pub fn settle(&self, id: &str, came_to: &Settlement, now: Time) -> Result<()> {
        let _held = lock(&self.own, "lock")?;
        let Settlement { usd, tokens, known, tokens_known } = *came_to;
        self.append_budget(&BudgetLine::Settle {
            id: id.to_string(),
            at: render_rfc3339(now),
            usd,
            tokens,
            known,
            tokens_known: (tokens_known != known).then_some(tokens_known),
        })
    }

    fn append_budget(&self, line: &BudgetLine) -> Result<()> {
        let json =
            serde_json::to_string(line).map_err(|error| StoreError::format(self.own.join(NAME), error))?;
        // A torn line of a crash is cut off by the next one's line end, and is then seen to be damaged: so it is removed
        // here, where it is known to be nobody's.
        let tail = read_tail(&self.own, NAME, 64 * 1024)?.text;
        if !tail.is_empty() && !tail.ends_with('\n') && !self.own.breaks(Breakage::TornBudgetLeft) {
            let torn = tail.len() - tail.rfind('\n').map_or(0, |end| end + 1);
            let size = self.own.stat(NAME)?.map_or(0, |stat| stat.size);
            self.own.truncate(NAME, size - torn as u64)?;
        }
        self.own.append(NAME, format!("{json}\n").as_bytes())
    }
}
