//! `audit.jsonl`: appending to the chain of `domain::audit`.

use super::fault::Result;
use super::lock::lock;
use super::org::Org;
use super::tail::{Backwards, read_tail};
use crate::domain::audit::{Deed, Head, parse_deed, parse_entry, render_entry};
use crate::domain::time::Time;

/// More than the longest line.
const TAIL: u64 = 16 * 1024;
const BLOCK: u64 = 32 * 1024;

impl Org {
    /// Writes down what somebody did, before it is done: a deed without its line would be worse than the reverse.
    pub fn write_audit(&self, deed: &Deed<'_>) -> Result<()> {
        let _held = lock(&self.own, "lock")?;
        let tail = read_tail(&self.own, "audit.jsonl", TAIL)?.text;
        let head = tail.lines().rev().find_map(parse_entry).map_or_else(Head::first, |(head, _)| head);
        // A line that a crash tore off stays as it is, for `verify` to name; the next one starts on a line of its own.
        let start = if tail.is_empty() || tail.ends_with('\n') { "" } else { "\n" };
        let line = format!("{start}{}", render_entry(&head, deed));
        self.own.append("audit.jsonl", line.as_bytes())
    }

    /// Hands over when, which command and what of every line that can be read, the newest block first.
    pub fn fold_audit(&self, take: &mut dyn FnMut(Time, &str, &str)) -> Result<()> {
        let Some(mut log) = Backwards::open(&self.own, "audit.jsonl")? else { return Ok(()) };
        while let Some(block) = log.read_block(BLOCK)? {
            for deed in block.lines().filter_map(parse_deed) {
                take(deed.at, &deed.command, &deed.what);
            }
        }
        Ok(())
    }
}
