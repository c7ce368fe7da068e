//! `budget.jsonl`: reserving before a call and settling after it, under the organisation's lock.
//!
//! Whoever reads it checks that it is whole: what was cut from it, or changed in it, could be spent a second time.

use super::breakage::Breakage;
use super::fault::{Fault, Result, StoreError};
use super::lock::lock;
use super::org::Org;
use super::tail::{Tail, read_tail};
use crate::domain::budget::chain::{Break, chain_line, check_lines, mac_of};
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
        let end = self.book_end()?;
        let mut most = TAIL_FIRST;
        loop {
            let tail = read_tail(&self.own, NAME, most)?;
            let lines = self.parse(&tail.text)?;
            // The first of an end is what the others hang on, and may itself be forged.
            let oldest = lines.iter().skip(usize::from(!tail.whole)).find_map(|line| match line {
                BudgetLine::Reserve(spend) => parse_rfc3339(&spend.at),
                _ => None,
            });
            if (tail.whole || oldest.is_some_and(|oldest| oldest < since))
                && self.holds(&tail, end.as_deref())?
            {
                return Ok(lines);
            }
            most *= 4;
        }
    }

    /// Whether the end of the book is what was written; not yet known where its last line may stand further back.
    fn holds(&self, tail: &Tail, end: Option<&str>) -> Result<bool> {
        let Some(seal) = &self.seal else { return Ok(true) };
        let sign = |open: &str| seal.key.sign("budget", open.as_bytes());
        let what = match check_lines(whole_lines(&tail.text), tail.whole, end, &sign) {
            Ok(()) => return Ok(true),
            Err(Break::End) if !tail.whole => return Ok(false),
            Err(Break::End) => {
                let kept = self.book_mark_path().map(|path| path.display().to_string()).unwrap_or_default();
                format!(
                    "it was cut, put back or written anew: the line that was written last is not in it. Put that \
                     book back; to begin a new one, remove {kept}"
                )
            }
            Err(Break::Line(line)) => {
                let line = crate::domain::text::one_line(&line, 80);
                format!("a line of it was changed, or does not follow the one before: `{line}`")
            }
        };
        Err(StoreError::new(self.own.join(NAME), "read", Fault::Format(what)))
    }

    /// A line that can't be read might be a dollar spent: it closes the budget rather than being passed over. The torn
    /// last line of a crash is the exception, because what it stood for never began.
    fn parse(&self, text: &str) -> Result<Vec<BudgetLine>> {
        let mut lines = Vec::new();
        for line in whole_lines(text).lines().filter(|line| !line.trim().is_empty()) {
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
        let Some(seal) = &self.seal else { return self.own.append(NAME, format!("{json}\n").as_bytes()) };
        let before = whole_lines(&tail).lines().next_back().map_or("", mac_of);
        let line = chain_line(&json, before, &|open| seal.key.sign("budget", open.as_bytes()));
        self.own.append(NAME, line.as_bytes())?;
        // Where it can't be kept, the line before stays what is known: what is cut after that goes unnoticed.
        let _ignored = self.mark_book(mac_of(line.trim_end()));
        Ok(())
    }
}

/// A text without the line that a crash tore off.
fn whole_lines(text: &str) -> &str {
    text.rfind('\n').map_or("", |end| &text[..=end])
}
