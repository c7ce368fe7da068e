//! A simulation: the mail that comes in while it goes on, and what its ledgers say it cost.
//!
//! The mail is a file of TOML, an entry for each letter:
//!
//! ```toml
//! schema = 1
//! [[mail]]
//! at = "9h"                 # after the beginning: spans such as 9h or 2d, or "1d 9h 30m"
//! every = "1d"              # again and again until the end; once where it isn't given
//! from = "user"             # you; or "file", a plain file that somebody dropped, which counts as external
//! to = "business"
//! kind = "Directive"        # not for a file
//! subject = "Order {n}"     # {n} is 1, 2, 3 and so on
//! body = "Sell it."
//! ```

use super::ledger::Counted;
use super::time::{Time, parse_rfc3339, parse_span};
use chrono::TimeDelta;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

/// The newest format this program knows.
pub const MAIL_SCHEMA: u64 = 1;
/// More letters than this are a mistake in the file.
pub const LETTERS_MAX: usize = 100_000;

/// Who a letter is from.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Sender {
    #[default]
    User,
    File,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct MailFile {
    schema: u64,
    #[serde(default)]
    mail: Vec<Entry>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    at: String,
    every: Option<String>,
    #[serde(default)]
    from: Sender,
    to: String,
    kind: Option<String>,
    subject: String,
    body: String,
}

/// One letter and when it comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Post {
    pub at: Time,
    pub from: Sender,
    pub to: String,
    /// Empty for a file.
    pub kind: String,
    pub subject: String,
    pub body: String,
    /// Which entry of the file it is of, from 1 on.
    pub entry: usize,
}

/// The letters of a file between two moments, in the order in which they come.
pub fn parse_mail(text: &str, start: Time, end: Time) -> Result<Vec<Post>, String> {
    let file: MailFile = toml::from_str(text).map_err(|error| error.to_string())?;
    if file.schema != MAIL_SCHEMA {
        return Err(format!("its schema is {}, and this program knows {MAIL_SCHEMA}", file.schema));
    }
    let mut posts = Vec::new();
    for (index, entry) in file.mail.iter().enumerate() {
        entry.spread(index + 1, start, end, &mut posts)?;
    }
    posts.sort_by_key(|post| (post.at, post.entry));
    Ok(posts)
}

impl Entry {
    fn spread(&self, entry: usize, start: Time, end: Time, posts: &mut Vec<Post>) -> Result<(), String> {
        let fault = |what: &str| Err(format!("mail {entry}: {what}"));
        let Some(after) = parse_spans(&self.at) else {
            return fault("`at` is a span such as 9h or `1d 9h`");
        };
        let every = match self.every.as_deref().map(parse_spans) {
            None => None,
            Some(Some(seconds)) if seconds > 0 => Some(seconds),
            Some(_) => return fault("`every` is a span such as 90m or 1d"),
        };
        match (self.from, &self.kind) {
            (Sender::User, None) => return fault("`kind` is missing"),
            (Sender::File, Some(_)) => return fault("a file has no `kind`: it is a Note"),
            _ => {}
        }
        let mut at = start.checked_add_signed(TimeDelta::seconds(after));
        let mut number = 1;
        while let Some(time) = at.filter(|time| *time < end) {
            if posts.len() == LETTERS_MAX {
                return fault(&format!("there are more than {LETTERS_MAX} letters"));
            }
            let numbered = |text: &str| text.replace("{n}", &number.to_string());
            posts.push(Post {
                at: time,
                from: self.from,
                to: self.to.clone(),
                kind: self.kind.clone().unwrap_or_default(),
                subject: numbered(&self.subject),
                body: numbered(&self.body),
                entry,
            });
            number += 1;
            at = every.and_then(|seconds| time.checked_add_signed(TimeDelta::seconds(seconds)));
        }
        Ok(())
    }
}

/// Spans one after the other, in seconds; at most a hundred years.
fn parse_spans(text: &str) -> Option<i64> {
    let spans: Vec<i64> = text.split_whitespace().map(parse_span).collect::<Option<_>>()?;
    let sum = spans.iter().try_fold(0i64, |sum, span| sum.checked_add(*span))?;
    (!spans.is_empty() && sum <= 36_525 * 86_400).then_some(sum)
}

/// What the ledgers of a simulation say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    pub calls: u64,
    /// Calls by the engine that answered.
    pub by_engine: BTreeMap<String, u64>,
    pub prompt_bytes: u64,
    pub prefix_bytes: u64,
    /// Messages that were actioned or archived.
    pub handled: u64,
    /// Hours, counted from 1970, in which a letter came or was sent.
    busy_hours: BTreeSet<i64>,
    calls_by_hour: BTreeMap<i64, u64>,
}

impl Figures {
    /// Takes note of a letter that came.
    pub fn take_post(&mut self, at: Time) {
        self.busy_hours.insert(hour(at));
    }

    /// Takes a line of a ledger in; one from before the beginning is left out.
    pub fn take(&mut self, line: &Counted<'_>, start: Time) {
        let Counted::Step(step) = line else { return };
        let Some(at) = parse_rfc3339(step.at).filter(|at| *at >= start) else { return };
        self.calls += 1;
        *self.by_engine.entry(step.engine.to_string()).or_default() += 1;
        *self.calls_by_hour.entry(hour(at)).or_default() += 1;
        self.prompt_bytes += step.prompt_bytes;
        self.prefix_bytes += step.prefix_bytes;
        for action in step.actions.iter().filter(|action| action.verdict == "allow") {
            match action.name {
                "send_message" => {
                    self.busy_hours.insert(hour(at));
                }
                "mark_message" if !action.target.ends_with(" acknowledged") => self.handled += 1,
                _ => {}
            }
        }
    }

    /// Hours between two moments in which no letter came and none was sent, and the calls made in them.
    pub fn idle_hours(&self, start: Time, end: Time) -> (u64, u64) {
        let hours = hour(start)..hour(end - TimeDelta::seconds(1)) + 1;
        let idle = hours.filter(|hour| !self.busy_hours.contains(hour));
        idle.fold((0, 0), |(hours, calls), hour| {
            (hours + 1, calls + self.calls_by_hour.get(&hour).copied().unwrap_or(0))
        })
    }

    /// A share of the prompts' bytes; none where nothing was asked.
    pub fn prefix_share(&self) -> Option<f64> {
        (self.prompt_bytes > 0).then(|| self.prefix_bytes as f64 / self.prompt_bytes as f64)
    }

    /// Something for each message that was handled.
    pub fn per_message(&self, count: u64) -> Option<f64> {
        (self.handled > 0).then(|| count as f64 / self.handled as f64)
    }

    /// What asking at every interval would send, at the average prompt of those that were sent.
    pub fn heartbeat_bytes(&self, beats: u64) -> u64 {
        match self.calls {
            0 => 0,
            calls => (self.prompt_bytes as f64 / calls as f64 * beats as f64) as u64,
        }
    }
}

fn hour(at: Time) -> i64 {
    at.timestamp().div_euclid(3_600)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ledger::{ActionLine, Line, StepLine};

    fn at(text: &str) -> Time {
        parse_rfc3339(text).unwrap()
    }

    fn mail(text: &str) -> Result<Vec<Post>, String> {
        parse_mail(text, at("2026-11-18T00:00:00Z"), at("2026-11-20T00:00:00Z"))
    }

    #[test]
    fn letters_come_again_until_the_end() {
        let text = "schema = 1\n[[mail]]\nat = \"1d 9h\"\nto = \"rd\"\nfrom = \"file\"\nsubject = \"b\"\nbody = \"\"\n\
                    [[mail]]\nat = \"9h\"\nevery = \"1d\"\nto = \"rd\"\nkind = \"Note\"\nsubject = \"No {n}\"\nbody = \"{n}\"\n";
        let found = mail(text).unwrap();
        let shown: Vec<String> =
            found.iter().map(|post| format!("{} {} {:?}", post.at, post.subject, post.from)).collect();
        assert_eq!(
            shown,
            [
                "2026-11-18 09:00:00 UTC No 1 User",
                "2026-11-19 09:00:00 UTC b File",
                "2026-11-19 09:00:00 UTC No 2 User",
            ]
        );
    }

    #[test]
    fn a_wrong_file_is_refused_with_its_entry() {
        let entry =
            |line: &str| format!("schema = 1\n[[mail]]\nto = \"rd\"\nsubject = \"s\"\nbody = \"\"\n{line}");
        for (text, expected) in [
            ("schema = 2\n".to_string(), "its schema is 2"),
            (entry("at = \"soon\"\nkind = \"Note\"\n"), "mail 1: `at`"),
            (entry("at = \"\"\nkind = \"Note\"\n"), "mail 1: `at`"),
            (entry("at = \"1h\"\nevery = \"0h\"\nkind = \"Note\"\n"), "mail 1: `every`"),
            (entry("at = \"1h\"\n"), "mail 1: `kind` is missing"),
            (entry("at = \"1h\"\nfrom = \"file\"\nkind = \"Note\"\n"), "mail 1: a file has no `kind`"),
            (entry("at = \"0s\"\nevery = \"1s\"\nkind = \"Note\"\n"), "more than 100000 letters"),
            (entry("at = \"1h\"\nkind = \"Note\"\nwho = \"me\"\n"), "unknown field"),
        ] {
            let found = mail(&text).unwrap_err();
            assert!(found.contains(expected), "{text}: {found}");
        }
    }

    #[test]
    fn figures_are_those_of_the_steps() {
        let step = |moment: &str, action: &str, target: &str| {
            Line::Step(Box::new(StepLine {
                at: moment.into(),
                engine: "rules".into(),
                prompt_bytes: 100,
                prefix_bytes: 80,
                actions: vec![ActionLine {
                    name: action.into(),
                    target: target.into(),
                    verdict: "allow".into(),
                    ..ActionLine::default()
                }],
                ..StepLine::default()
            }))
        };
        let (start, end) = (at("2026-11-18T00:00:00Z"), at("2026-11-18T04:00:00Z"));
        let mut figures = Figures::default();
        figures.take_post(at("2026-11-18T01:10:00Z"));
        for line in [
            step("2026-11-17T23:00:00Z", "mark_message", "m-1 actioned"),
            step("2026-11-18T01:10:00Z", "mark_message", "m-1 actioned"),
            step("2026-11-18T02:10:00Z", "send_message", "m-2 Note to rd"),
            step("2026-11-18T03:10:00Z", "mark_message", "m-2 acknowledged"),
        ] {
            figures.take(&Counted::from(&line), start);
        }
        assert_eq!((figures.calls, figures.handled, figures.prompt_bytes), (3, 1, 300));
        assert_eq!(figures.idle_hours(start, end), (2, 1));
        assert_eq!(figures.prefix_share(), Some(0.8));
        assert_eq!(figures.per_message(figures.calls), Some(3.0));
        assert_eq!(figures.heartbeat_bytes(10), 1_000);
    }
}
