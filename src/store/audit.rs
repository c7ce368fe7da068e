//! `audit.jsonl`: appending to the chain of `domain::audit`, and what is known of its end outside the root.
//!
//! A line is written and synced first, and then its place is written down beside the user's key. Killed in between,
//! that knows of one line less than there is; it never knows of one that isn't there.

use super::fault::{Fault, Result, StoreError};
use super::identity::{Known, Place, Seal};
use super::lock::lock;
use super::org::Org;
use super::tail::{Backwards, read_tail};
use crate::domain::audit::{
    Deed, Head, Recorded, check_head, find_recorded, has_signature, parse_deed, parse_entry, render_entry,
    torn_end,
};
use crate::domain::time::Time;

const LOG: &str = "audit.jsonl";
/// More than the longest line.
const TAIL: u64 = 16 * 1024;
const BLOCK: u64 = 32 * 1024;

impl Seal {
    /// Signs lines of the log.
    pub fn sign_line(&self) -> impl Fn(&str) -> String + '_ {
        |open| self.key.sign("audit", open.as_bytes())
    }
}

impl Org {
    /// Writes down what somebody did, before it is done: a deed without its line would be worse than the reverse.
    pub fn write_audit(&self, deed: &Deed<'_>) -> Result<()> {
        let _held = lock(&self.own, "lock")?;
        let mut org = self.clone();
        org.identify_at(deed.at)?;
        org.append_deed(deed)
    }

    /// Gives the organisation an id where it has none, as before the first signature of a run.
    pub fn settle_identity(&mut self, now: Time) -> Result<()> {
        if matches!(self.place, Place::Here | Place::Bad(_)) {
            return Ok(());
        }
        let _held = lock(&self.own, "lock")?;
        self.identify_at(now)
    }

    fn identify_at(&mut self, now: Time) -> Result<()> {
        if self.seal.is_none() || matches!(self.place, Place::Here | Place::Bad(_)) {
            return Ok(());
        }
        let (head, _) = self.audit_end()?;
        match self.identify(now, &head)? {
            Some(told) => {
                self.append_deed(&Deed { at: now, by: "harness", command: "organisation", what: &told })
            }
            None => Ok(()),
        }
    }

    /// The last good line, and what has to stand before the next one.
    fn audit_end(&self) -> Result<(Head, &'static str)> {
        let tail = read_tail(&self.own, LOG, TAIL)?.text;
        let head = tail.lines().rev().find_map(parse_entry).map_or_else(Head::first, |(head, _)| head);
        let start = if tail.is_empty() || tail.ends_with('\n') { "" } else { "\n" };
        Ok((head, start))
    }

    /// Whether the last good line carries a signature.
    pub fn is_audit_signed(&self) -> Result<bool> {
        let tail = read_tail(&self.own, LOG, TAIL)?.text;
        Ok(tail.lines().rev().find(|line| parse_entry(line).is_some()).is_some_and(has_signature))
    }

    /// Makes room for the next line. One that a crash or a full disk tore off was of something that was not done: left
    /// there, it would break the chain for ever. One that is known to have been whole stays, for `verify` to name.
    fn begin_line(&self) -> Result<(Head, &'static str)> {
        let (head, start) = self.audit_end()?;
        let is_torn = || Ok(torn_end(&read_tail(&self.own, LOG, TAIL)?.text).is_some());
        let was_whole = || Ok(self.known()?.is_some_and(|known| known.audit_seq > head.seq));
        if start.is_empty() || !is_torn()? || was_whole()? {
            return Ok((head, start));
        }
        self.own.cut_torn_line(LOG)?;
        Ok((head, ""))
    }

    /// A line without a signature behind one that has it would break the chain for ever: it is not written.
    fn append_deed(&self, deed: &Deed<'_>) -> Result<()> {
        if self.keyless && self.is_audit_signed()? {
            let what =
                "its lines are signed, and without your key there is no next one: see `harness verify`";
            return Err(StoreError::new(self.own.join(LOG), "write", Fault::Format(what.to_string())));
        }
        let (head, start) = self.begin_line()?;
        let entry = match &self.seal {
            Some(seal) => render_entry(&head, deed, Some(&seal.sign_line())),
            None => render_entry(&head, deed, None),
        };
        self.own.append(LOG, format!("{start}{entry}").as_bytes())?;
        if let Some((next, _)) = parse_entry(&entry) {
            // Where it can't be written down, `verify` says how far it is known.
            let _ignored = self.advance(&head, next);
        }
        Ok(())
    }

    /// Writes down how far the log has come. One that was cut or written anew keeps its old end, so that it shows.
    fn advance(&self, before: &Head, next: Head) -> Result<()> {
        let (Some(seal), Some(known)) = (&self.seal, self.known()?) else { return Ok(()) };
        if known.head() != *before && !self.has_line(&known.head(), before)? {
            return Ok(());
        }
        seal.remember(&Known { audit_seq: next.seq, audit_hash: next.hash, ..known })
    }

    /// Whether the log has a line, looked for from its end.
    fn has_line(&self, wanted: &Head, end: &Head) -> Result<bool> {
        if wanted.seq == 0 || wanted.seq > end.seq {
            return Ok(wanted.seq == 0);
        }
        let Some(mut log) = Backwards::open(&self.own, LOG)? else { return Ok(false) };
        while let Some(block) = log.read_block(BLOCK)? {
            for (head, _) in block.lines().rev().filter_map(parse_entry) {
                if head.seq <= wanted.seq {
                    return Ok(head == *wanted);
                }
            }
        }
        Ok(false)
    }

    /// The whole log; none where it is missing.
    pub fn audit_text(&self) -> Result<Option<String>> {
        Ok(self.own.read(LOG, u64::MAX - 1)?.map(|text| text.text))
    }

    /// Whether the log has all that is known to have been written.
    pub fn check_audit_end(&self) -> Result<()> {
        let Some(known) = self.known()? else { return Ok(()) };
        let (end, _) = self.audit_end()?;
        if self.has_line(&known.head(), &end)? {
            return Ok(());
        }
        let text = self.audit_text()?.unwrap_or_default();
        let what = check_head(&text, &known.head()).unwrap_or_else(|| "it was changed".to_string());
        Err(StoreError::format(self.own.join(LOG), what))
    }

    /// What the log says became of some requests, each an id and its department.
    pub fn recorded(&self, wanted: &[(&str, &str)]) -> Result<Vec<Recorded>> {
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        let text = self.audit_text()?.unwrap_or_default();
        Ok(match &self.seal {
            Some(seal) => find_recorded(&text, wanted, &seal.sign_line()),
            None => vec![Recorded::default(); wanted.len()],
        })
    }

    /// Hands over when, which command and what of every line that can be read, the newest block first.
    pub fn fold_audit(&self, take: &mut dyn FnMut(Time, &str, &str)) -> Result<()> {
        let Some(mut log) = Backwards::open(&self.own, LOG)? else { return Ok(()) };
        while let Some(block) = log.read_block(BLOCK)? {
            for deed in block.lines().filter_map(parse_deed) {
                take(deed.at, &deed.command, &deed.what);
            }
        }
        Ok(())
    }
}
