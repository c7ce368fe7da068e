//! What is wrong with the ledger `runs.jsonl`, as far as limits over time are counted from it.
//!
//! A line that is lost, damaged or dated ahead would let a department do more than its charter says, so that nothing is
//! run by such a ledger. It is derived from the records: moved away, the next run writes it anew from them.

use super::fault::Result;
use super::org::Department;
use super::runs::RECORDS;
use super::tail::Backwards;
use crate::domain::ledger::{Line, parse_lines};
use crate::domain::text::one_line;
use crate::domain::time::{Time, parse_rfc3339, render_rfc3339, render_ts};
use chrono::TimeDelta;
use std::collections::BTreeSet;

/// Of most departments a day is less.
const BLOCK: u64 = 16 * 1024;
/// The longest span that is counted from the ledger.
const COUNTED: TimeDelta = TimeDelta::days(1);
/// How far ahead of the clock a line may be: clocks are set.
const AHEAD: TimeDelta = TimeDelta::days(1);
/// Records of the last moments may be written just now, by a job beside this run.
const JUST_NOW: TimeDelta = TimeDelta::minutes(1);
/// A record is named by the second in which its line was written, or one before: at the span's edge it proves nothing.
const EDGE: TimeDelta = TimeDelta::hours(1);

impl Department {
    /// The first thing that is wrong with the ledger's last day.
    pub fn ledger_fault(&self, now: Time) -> Result<Option<String>> {
        match self.counted(now)? {
            Ok(recorded) => self.lost_record(&recorded, now),
            Err(why) => Ok(Some(why)),
        }
    }

    /// The same of the lines that are there: what is only shown looks through no folder of records, which grows.
    pub fn line_fault(&self, now: Time) -> Result<Option<String>> {
        Ok(self.counted(now)?.err())
    }

    /// The records whose lines are in the ledger's last day, or what is wrong with one of those lines.
    fn counted(&self, now: Time) -> Result<std::result::Result<BTreeSet<String>, String>> {
        let mut recorded = BTreeSet::new();
        let own = self.dir.find(".harness")?;
        let opened = own.map(|own| Backwards::open(&own, "runs.jsonl")).transpose()?.flatten();
        let Some(mut log) = opened else { return Ok(Ok(recorded)) };
        // A last line without its end was torn off by a crash, and is mended by the next one.
        let mut is_last = true;
        while let Some(block) = log.read_block(BLOCK)? {
            let whole = if is_last { block.rfind('\n').map_or("", |end| &block[..=end]) } else { &block };
            is_last &= block.is_empty();
            let lines = parse_lines(whole);
            match whole.lines().count() - lines.len() {
                0 => {}
                1 => return Ok(Err("a line of runs.jsonl can't be read".to_string())),
                count => return Ok(Err(format!("{count} lines of runs.jsonl can't be read"))),
            }
            if let Some(why) = lines.iter().find_map(|line| from_the_future(line, now)) {
                return Ok(Err(why));
            }
            let oldest = lines.first().and_then(|line| parse_rfc3339(line.at()));
            recorded.extend(lines.into_iter().map(record_of));
            if oldest.is_some_and(|oldest| oldest < now - COUNTED) {
                break;
            }
        }
        Ok(Ok(recorded))
    }

    /// A record of the last day whose line is not in the ledger.
    fn lost_record(&self, recorded: &BTreeSet<String>, now: Time) -> Result<Option<String>> {
        let (from, to) = (render_ts(now - COUNTED + EDGE), render_ts(now - JUST_NOW));
        let Some(dir) = self.dir.find(RECORDS)? else { return Ok(None) };
        let is_meant = |name: &&String| {
            name.as_str() > from.as_str() && name.as_str() < to.as_str() && name.ends_with(".md")
        };
        let names: Vec<String> = dir.list()?.into_iter().map(|entry| entry.name).collect();
        let lost = names.iter().filter(is_meant).find(|name| !recorded.contains(*name));
        Ok(lost.map(|name| format!("runs.jsonl lacks the line of the record {}", one_line(name, 80))))
    }
}

fn record_of(line: Line) -> String {
    match line {
        Line::Step(step) => step.record,
        Line::Run(run) => run.record,
    }
}

fn from_the_future(line: &Line, now: Time) -> Option<String> {
    let at = parse_rfc3339(line.at()).filter(|at| *at > now + AHEAD)?;
    let (run, at, now) = (one_line(line.run(), 60), render_rfc3339(at), render_rfc3339(now));
    Some(format!("runs.jsonl has a line from the future: {run} is of {at}, and it is {now}"))
}
