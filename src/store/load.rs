//! A department's live state, loaded from its files in one go.
//!
//! It reads the inbox, the outbox and the end of the ledger, and nothing that grows with history.

use super::charters::{CHARTER_MAX, LoadedCharter};
use super::fault::{Result, StoreError};
use super::key::Key;
use super::messages::{Filed, Location, Mail, Unreadable};
use super::org::Department;
use super::tail::{Backwards, find_forward, read_tail};
use crate::domain::goal::{Goal, parse_goal};
use crate::domain::id::made_at;
use crate::domain::ledger::{self, ActionLine, Counted, Line, Recent, Shown};
use crate::domain::live_state::{LiveState, history_shown};
use crate::domain::message::Message;
use crate::domain::settings::Settings;
use crate::domain::time::{Time, parse_rfc3339};
use chrono::TimeDelta;
use memchr::memmem::Finder;
use std::collections::{BTreeMap, BTreeSet};

/// The largest memory or notes file that is read.
const NOTES_MAX: u64 = 1024 * 1024;
const GOAL: &str = "goal.toml";
/// The fewest messages of an inbox that a run looks at, where there are as many.
const DESK_LEAST: usize = 64;
/// How much of the ledger's end is read at first, and at the most.
const TAIL_FIRST: u64 = 64 * 1024;
const TAIL_MOST: u64 = 1024 * 1024;
/// How much of it is read at a time where only what a prompt shows is wanted.
const BLOCK: u64 = 32 * 1024;

/// Live state, with the messages' files.
#[derive(Clone, Debug)]
pub struct Loaded {
    pub live: LiveState,
    pub inbox: Vec<Filed>,
    pub closed: Vec<Filed>,
    pub unreadable: Vec<Unreadable>,
    /// The ledger's lines of the last day, for limits over time.
    pub ledger: Vec<Line>,
}

impl Department {
    /// Loads everything a step of this department needs.
    pub fn load(&self, charter: &LoadedCharter, settings: &Settings, key: &Key, now: Time) -> Result<Loaded> {
        let ledger = self.ledger_since(now - TimeDelta::days(1))?;
        let mut loaded = self.load_with(charter, settings, key, (self.desk(settings, key)?, ledger))?;
        loaded.live.work_out(now);
        Ok(loaded)
    }

    /// The same with the whole inbox, however large.
    pub fn load_whole(
        &self,
        charter: &LoadedCharter,
        settings: &Settings,
        key: &Key,
        now: Time,
    ) -> Result<Loaded> {
        let ledger = self.ledger_since(now - TimeDelta::days(1))?;
        let mut loaded = self.load_with(charter, settings, key, (self.inbox()?, ledger))?;
        loaded.live.work_out(now);
        Ok(loaded)
    }

    fn load_with(
        &self,
        charter: &LoadedCharter,
        settings: &Settings,
        key: &Key,
        (mail, ledger): (Mail, Vec<Line>),
    ) -> Result<Loaded> {
        let Mail { messages, closed, unreadable, beyond, .. } = mail;
        let live = self.to_live_state(charter, settings, key, (&messages, beyond))?;
        Ok(Loaded { live, inbox: messages, closed, unreadable, ledger })
    }

    /// Loads what a prompt of this department shows, and no more of the ledger than that.
    pub fn live_state(&self, charter: &LoadedCharter, settings: &Settings, key: &Key) -> Result<LiveState> {
        let mail = self.desk(settings, key)?;
        self.to_live_state(charter, settings, key, (&mail.messages, mail.beyond))
    }

    /// As much of the inbox, oldest first, as holds twice what a prompt shows of messages that wait for nothing: held
    /// ones, however many, can't hide the rest.
    fn desk(&self, settings: &Settings, key: &Key) -> Result<Mail> {
        let enough = settings.live_state.inbox_entries.max(DESK_LEAST);
        let mut files = enough * 2;
        loop {
            let mail = self.inbox_oldest(files)?;
            let waits = |filed: &Filed| self.as_it_waits(filed, key).waits_for.is_some();
            if mail.beyond == 0 || mail.messages.iter().filter(|filed| !waits(filed)).count() >= enough {
                return Ok(mail);
            }
            files *= 4;
        }
    }

    /// The department's goal; none where there is no such file. One that can't be read is an error, and is never written.
    pub fn goal(&self) -> Result<Option<Goal>> {
        let Some(goal) = self.dir.read(GOAL, CHARTER_MAX)? else { return Ok(None) };
        parse_goal(&goal.text).map(Some).map_err(|what| StoreError::format(self.dir.join(GOAL), what))
    }

    fn to_live_state(
        &self,
        charter: &LoadedCharter,
        settings: &Settings,
        key: &Key,
        (inbox, inbox_beyond): (&[Filed], usize),
    ) -> Result<LiveState> {
        let text = |name: &str| Ok(self.dir.read(name, NOTES_MAX)?.map(|text| text.text).unwrap_or_default());
        let goal = self.goal()?.unwrap_or_default();
        let caps = settings.live_state.clone();
        let Shown { decisions, history, refusals } =
            self.recent_ledger(history_shown(&caps), caps.decisions_entries)?;
        let (sent, outbox_before) = self.recent_outbox(caps.outbox_entries)?;
        let mut live = LiveState {
            arrived: 0,
            items_more: 0,
            items: Vec::new(),
            board: self.board(&charter.rules, settings, key)?.board,
            charter: charter.rules.clone(),
            prose: charter.prose.clone(),
            memory: text("memory/MEMORY.md")?,
            style: text("memory/SELF.md")?,
            notes: text("notes.md")?,
            goal,
            decisions,
            inbox: inbox.iter().map(|filed| self.as_it_waits(filed, key)).collect(),
            inbox_beyond,
            outbox_before,
            outbox: sent.into_iter().map(|filed| filed.message).collect(),
            refusals,
            history,
            secret: key.fence(self.dept.as_str()),
            portfolio: Default::default(),
            spent: Default::default(),
            caps,
        };
        live.note_arrivals();
        Ok(live)
    }

    /// The message, waiting only where what it waits for is still open.
    fn as_it_waits(&self, filed: &Filed, key: &Key) -> Message {
        let mut message = filed.message.clone();
        message.waits_for = message.waits_for.filter(|id| self.still_waits(id, key));
        message
    }

    /// The ledger's end as far back as a prompt shows it; of its older lines, the history alone.
    fn recent_ledger(&self, history: usize, iterations: usize) -> Result<Shown> {
        let mut recent = Recent::new(history, iterations);
        let own = self.dir.find(".harness")?;
        let opened = own.map(|own| Backwards::open(&own, "runs.jsonl")).transpose()?.flatten();
        let Some(mut log) = opened else { return Ok(recent.finish()) };
        let mut blocks = 0;
        while !recent.is_enough()
            && blocks < TAIL_MOST / BLOCK
            && let Some(block) = log.read_lines(BLOCK)?
        {
            recent.take(block);
            blocks += 1;
        }
        Ok(recent.finish())
    }

    /// Whether a step stands in the ledger's end.
    pub fn has_step(&self, run: &str, step: u64) -> Result<bool> {
        let lines = self.ledger_tail(usize::MAX, usize::MAX)?;
        Ok(lines
            .iter()
            .any(|line| matches!(line, Line::Step(there) if there.run == run && there.step == step)))
    }

    /// How many lines of the ledger can't be read, and those that can.
    pub fn ledger_lines(&self) -> Result<(usize, Vec<Line>)> {
        let Some(own) = self.dir.find(".harness")? else { return Ok((0, Vec::new())) };
        let text = read_tail(&own, "runs.jsonl", u64::MAX - 1)?.text;
        let lines = ledger::parse_lines(&text);
        Ok((text.lines().count() - lines.len(), lines))
    }

    /// Every line of the ledger; for what looks back over all of it.
    pub fn ledger_whole(&self) -> Result<Vec<Line>> {
        self.ledger_since(Time::MIN_UTC)
    }

    /// The ledger's lines since a moment, oldest first, and perhaps some before it.
    pub fn ledger_since(&self, since: Time) -> Result<Vec<Line>> {
        let own = self.dir.find(".harness")?;
        let opened = own.map(|own| Backwards::open(&own, "runs.jsonl")).transpose()?.flatten();
        let Some(mut log) = opened else { return Ok(Vec::new()) };
        let mut blocks: Vec<Vec<Line>> = Vec::new();
        while let Some(block) = log.read_block(BLOCK)? {
            let lines = ledger::parse_lines(&block);
            let oldest = lines.iter().find_map(|line| parse_rfc3339(line.at()));
            blocks.push(lines);
            if oldest.is_some_and(|oldest| oldest < since) {
                break;
            }
        }
        Ok(blocks.into_iter().rev().flatten().collect())
    }

    /// What is meant by the first line of the ledger after a moment that means anything, without reading those before.
    pub fn find_in_ledger<T>(
        &self,
        after: Option<Time>,
        meant: &dyn Fn(&Line) -> Option<T>,
    ) -> Result<Option<T>> {
        let Some(own) = self.dir.find(".harness")? else { return Ok(None) };
        let read = |text: &str| ledger::parse_lines(text).pop();
        let is_before = |text: &str| {
            let at = parse_rfc3339(read(text)?.at())?;
            Some(after.is_some_and(|after| at <= after))
        };
        find_forward(&own, "runs.jsonl", &is_before, &|text| meant(&read(text)?))
    }

    /// Hands over every line of the ledger since a moment and perhaps some before it, block by block from the newest:
    /// what is kept of them is for the caller to say, and nothing of them is kept here.
    pub fn fold_ledger(&self, since: Time, take: &mut dyn FnMut(&Line)) -> Result<()> {
        let own = self.dir.find(".harness")?;
        let opened = own.map(|own| Backwards::open(&own, "runs.jsonl")).transpose()?.flatten();
        let Some(mut log) = opened else { return Ok(()) };
        while let Some(block) = log.read_block(BLOCK)? {
            let lines = ledger::parse_lines(&block);
            lines.iter().for_each(&mut *take);
            let oldest = lines.iter().find_map(|line| parse_rfc3339(line.at()));
            if oldest.is_some_and(|oldest| oldest < since) {
                break;
            }
        }
        Ok(())
    }

    /// The same with what is counted of each line alone, which costs a small part of that.
    pub fn count_ledger(&self, since: Time, take: &mut dyn FnMut(&Counted<'_>)) -> Result<()> {
        let own = self.dir.find(".harness")?;
        let opened = own.map(|own| Backwards::open(&own, "runs.jsonl")).transpose()?.flatten();
        let Some(mut log) = opened else { return Ok(()) };
        while let Some(block) = log.read_lines(BLOCK)? {
            let mut oldest = None;
            ledger::count_lines(block, &mut |line| {
                oldest = oldest.or_else(|| parse_rfc3339(line.at()));
                take(line);
            });
            if oldest.is_some_and(|oldest| oldest < since) {
                break;
            }
        }
        Ok(())
    }

    /// How many messages the department has sent in each of some threads, from their starts on. Lines that name none of
    /// them are not parsed, so that an old thread costs a reading of the log and no more.
    /// What asked for the approval that is named, if one is, is left out.
    pub fn sent_in(
        &self,
        threads: &BTreeSet<String>,
        but_for: Option<&str>,
    ) -> Result<BTreeMap<String, u64>> {
        let mut sent = BTreeMap::new();
        // An id says when the thread began; the day is for clocks that were set.
        let began = |id: &String| made_at(id).map_or(Time::MIN_UTC, |at| at - TimeDelta::days(1));
        let Some(since) = threads.iter().map(began).min() else { return Ok(sent) };
        let own = self.dir.find(".harness")?;
        let opened = own.map(|own| Backwards::open(&own, "runs.jsonl")).transpose()?.flatten();
        let Some(mut log) = opened else { return Ok(sent) };
        let finders: Vec<_> = threads.iter().map(|id| Finder::new(id.as_bytes())).collect();
        while let Some(block) = log.read_block(BLOCK)? {
            let named = |line: &&str| finders.iter().any(|finder| finder.find(line.as_bytes()).is_some());
            for line in block.lines().filter(named).flat_map(ledger::parse_lines) {
                let Line::Step(step) = line else { continue };
                let others = |action: &ActionLine| but_for.is_none_or(|id| action.target != id);
                let actions = step.actions.into_iter().filter(others);
                for thread in actions.filter_map(|action| action.thread) {
                    if step.outcome == "ok" && threads.contains(&thread) {
                        *sent.entry(thread).or_insert(0) += 1;
                    }
                }
            }
            let oldest = block.lines().flat_map(ledger::parse_lines).next();
            if oldest.and_then(|line| parse_rfc3339(line.at())).is_some_and(|oldest| oldest < since) {
                break;
            }
        }
        Ok(sent)
    }

    /// Enough of the ledger's end for so many entries of history and so many iterations.
    pub fn ledger_tail(&self, history: usize, iterations: usize) -> Result<Vec<Line>> {
        let Some(own) = self.dir.find(".harness")? else { return Ok(Vec::new()) };
        let mut most = TAIL_FIRST;
        loop {
            let tail = read_tail(&own, "runs.jsonl", most)?;
            let lines = ledger::parse_lines(&tail.text);
            let enough = ledger::history(&lines).len() >= history
                && ledger::memory_lines(&lines, iterations.saturating_add(1)).len() > iterations;
            if tail.whole || enough || most >= TAIL_MOST {
                return Ok(lines);
            }
            most *= 4;
        }
    }

    /// The last messages sent, oldest first, and how many there are before them: ids sort by time, so only these are
    /// read, with all that were sent in the same second as the first of them.
    fn recent_outbox(&self, most: usize) -> Result<(Vec<Filed>, usize)> {
        let locations = self.locations(super::messages::Place::Outbox)?;
        let first = locations.len().saturating_sub(most);
        let second = locations.get(first).and_then(|location| made_at(&location.id));
        let same = |location: &&Location| second.is_some() && made_at(&location.id) == second;
        let first_read = first - locations[..first].iter().rev().take_while(same).count();
        let mut sent = Vec::new();
        for location in &locations[first_read..] {
            // One that can't be read is shown by `outbox`; a prompt goes without it.
            if let Ok(Some(filed)) = self.read_at(location) {
                sent.push(filed);
            }
        }
        sent.sort_by(|a, b| (a.message.created, &a.message.id).cmp(&(b.message.created, &b.message.id)));
        sent.drain(..sent.len().saturating_sub(most));
        Ok((sent, first))
    }
}
