//! What a prompt needs of one line of the ledger, and nothing else of it.
//!
//! A line as it is written here has its fields in a known order, so each is looked for after the one before, and its
//! value alone is read:
//!
//! ```text
//! {"line":"step", .. "at":.. "run":.. "iteration":.. "decision":.. "outcome":.. "actions":.. "history":.. "refusals":.. }
//! ```
//!
//! No text in a line can hold the name of a field with its quotes, because quotes in a text are escaped. A line of
//! another hand, in which a field isn't found in its place, is read whole; so is one that isn't UTF-8.

use super::memory::{Entry, first_carried_out};
use super::{Line, RUN_OPENS, Refusal, STEP_OPENS, parse_line};
use memchr::memchr2;
use memchr::memmem::Finder;
use serde::Deserialize;
use std::borrow::Cow;

/// What is kept of a line.
#[derive(Debug)]
pub enum Kept {
    Step(KeptStep),
    Run { run: String, outcome: String },
}

/// What is kept of a step.
#[derive(Debug)]
pub struct KeptStep {
    pub run: String,
    pub iteration: u64,
    at: String,
    pub decision: Option<String>,
    action: Option<(String, String)>,
    pub refusals: Vec<Refusal>,
}

impl Kept {
    pub fn entry(&self) -> Entry<'_> {
        match self {
            Kept::Run { run, outcome } => Entry::Run { run, outcome },
            Kept::Step(step) => Entry::Step {
                run: &step.run,
                iteration: step.iteration,
                at: &step.at,
                decision: step.decision.as_deref(),
                action: step.action.as_ref().map(|(name, target)| (&**name, &**target)),
            },
        }
    }

    pub fn into_step(self) -> Option<KeptStep> {
        match self {
            Kept::Step(step) => Some(step),
            Kept::Run { .. } => None,
        }
    }

    fn of(line: Line, history: &mut Vec<(u64, String)>) -> Kept {
        match line {
            Line::Run(run) => Kept::Run { run: run.run, outcome: run.outcome },
            Line::Step(mut step) => {
                history.append(&mut step.history);
                let actions =
                    step.actions.iter().map(|action| (&*action.verdict, &*action.name, &*action.target));
                let action = own(first_carried_out(&step.outcome, actions));
                Kept::Step(KeptStep {
                    run: step.run,
                    iteration: step.iteration,
                    at: step.at,
                    decision: step.decision,
                    action,
                    refusals: step.refusals,
                })
            }
        }
    }
}

fn own(pair: Option<(&str, &str)>) -> Option<(String, String)> {
    pair.map(|(name, target)| (name.to_string(), target.to_string()))
}

/// The names of the fields, ready to be found.
#[derive(Debug)]
pub struct Needed {
    at: Finder<'static>,
    run: Finder<'static>,
    iteration: Finder<'static>,
    decision: Finder<'static>,
    outcome: Finder<'static>,
    actions: Finder<'static>,
    history: Finder<'static>,
    refusals: Finder<'static>,
}

impl Needed {
    pub fn new() -> Needed {
        Needed {
            at: Finder::new("\"at\":"),
            run: Finder::new("\"run\":"),
            iteration: Finder::new("\"iteration\":"),
            decision: Finder::new("\"decision\":"),
            outcome: Finder::new("\"outcome\":"),
            actions: Finder::new("\"actions\":"),
            history: Finder::new("\"history\":"),
            refusals: Finder::new("\"refusals\":"),
        }
    }

    /// What memory and refusals need of a line; its history goes where that is gathered.
    pub fn read_line(&self, line: &[u8], history: &mut Vec<(u64, String)>) -> Option<Kept> {
        let known = std::str::from_utf8(line).ok().and_then(|text| {
            if text.starts_with(STEP_OPENS) {
                self.read_step(text, history).map(Kept::Step)
            } else if text.starts_with(RUN_OPENS) {
                self.read_run(text)
            } else {
                None
            }
        });
        known.or_else(|| parse_whole(line).map(|line| Kept::of(line, history)))
    }

    /// The history of a line.
    pub fn read_history(&self, line: &[u8], history: &mut Vec<(u64, String)>) {
        if line.starts_with(RUN_OPENS.as_bytes()) {
            return;
        }
        let opens = line.starts_with(STEP_OPENS.as_bytes());
        let value = self.history.find(line).filter(|_| opens);
        let known = value.and_then(|at| read_entries(&line[at + self.history.needle().len()..], history));
        if known.is_none()
            && let Some(line) = parse_whole(line)
        {
            Kept::of(line, history);
        }
    }

    fn read_step(&self, text: &str, history: &mut Vec<(u64, String)>) -> Option<KeptStep> {
        let mut fields = Fields { rest: text };
        let at = fields.read::<&str>(&self.at)?.to_string();
        let run = fields.read::<&str>(&self.run)?.to_string();
        let iteration = fields.read(&self.iteration)?;
        let decision = fields.read::<Option<&str>>(&self.decision)?.map(str::to_string);
        let outcome = fields.read::<&str>(&self.outcome)?;
        let actions = fields.read_list::<NeededAction<'_>>(&self.actions)?;
        let actions = actions.iter().map(|action| (&*action.verdict, &*action.name, &*action.target));
        let action = own(first_carried_out(outcome, actions));
        fields.go_to(&self.history)?;
        let entries = fields.rest;
        let refusals = fields.read_list(&self.refusals)?;
        read_entries(entries.as_bytes(), history)?;
        Some(KeptStep { run, iteration, at, decision, action, refusals })
    }

    fn read_run(&self, text: &str) -> Option<Kept> {
        let mut fields = Fields { rest: text };
        let run = fields.read::<&str>(&self.run)?.to_string();
        Some(Kept::Run { run, outcome: fields.read::<&str>(&self.outcome)?.to_string() })
    }
}

/// What is left of a line after the fields read so far.
struct Fields<'a> {
    rest: &'a str,
}

impl<'a> Fields<'a> {
    fn read<T: Deserialize<'a>>(&mut self, name: &Finder<'_>) -> Option<T> {
        self.go_to(name)?;
        read_value(self.rest)
    }

    /// Lists are mostly empty.
    fn read_list<T: Deserialize<'a>>(&mut self, name: &Finder<'_>) -> Option<Vec<T>> {
        self.go_to(name)?;
        if self.rest.starts_with("[]") { Some(Vec::new()) } else { read_value(self.rest) }
    }

    fn go_to(&mut self, name: &Finder<'_>) -> Option<()> {
        let at = name.find(self.rest.as_bytes())?;
        self.rest = &self.rest[at + name.needle().len()..];
        Some(())
    }
}

/// The value that a text begins with. A text with an escape in it can't be borrowed, and counts as not there.
fn read_value<'a, T: Deserialize<'a>>(text: &'a str) -> Option<T> {
    T::deserialize(&mut serde_json::Deserializer::from_str(text)).ok()
}

/// The entries that a text begins with, as they are written here: `[[7,"text"],[8,"text"]]`. One with an escape in it
/// is not for this: then there are none.
fn read_entries(text: &[u8], history: &mut Vec<(u64, String)>) -> Option<()> {
    if text.starts_with(b"[]") {
        return Some(());
    }
    let from = history.len();
    let read = read_all_entries(text, history);
    if read.is_none() {
        history.truncate(from);
    }
    read
}

fn read_all_entries(text: &[u8], history: &mut Vec<(u64, String)>) -> Option<()> {
    let mut rest = text.strip_prefix(b"[")?;
    loop {
        rest = rest.strip_prefix(b"[")?;
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let ordinal = std::str::from_utf8(&rest[..digits]).ok()?.parse().ok()?;
        rest = rest[digits..].strip_prefix(b",\"")?;
        let end = memchr2(b'"', b'\\', rest).filter(|end| rest[*end] == b'"')?;
        history.push((ordinal, std::str::from_utf8(&rest[..end]).ok()?.to_string()));
        rest = rest[end + 1..].strip_prefix(b"]")?;
        match rest.split_first()? {
            (b']', _) => return Some(()),
            (b',', more) => rest = more,
            _ => return None,
        }
    }
}

fn parse_whole(line: &[u8]) -> Option<Line> {
    parse_line(&String::from_utf8_lossy(line))
}

/// Some of an action's line.
#[derive(Default, Deserialize)]
#[serde(default)]
struct NeededAction<'a> {
    #[serde(rename = "do", borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    target: Cow<'a, str>,
    #[serde(borrow)]
    verdict: Cow<'a, str>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ledger::memory::memory_of;
    use crate::domain::ledger::{
        ActionLine, StepLine, last_refusals, memory_lines, parse_lines, render_line,
    };
    use proptest::prelude::*;

    fn read(text: &str) -> Vec<(u64, String)> {
        let mut history = Vec::new();
        Needed::new().read_history(text.as_bytes(), &mut history);
        let mut also = Vec::new();
        Needed::new().read_line(text.as_bytes(), &mut also);
        assert_eq!(history, also, "{text}");
        history
    }

    #[test]
    fn a_line_laid_out_by_another_hand_counts_too() {
        let wanted = vec![(7, "x".to_string())];
        assert_eq!(read(r#"{ "line": "step", "history" : [ [7, "x"] ] }"#), wanted);
        assert_eq!(read(r#"{"line":"step","history": [[7,"x"]],"run":"r"}"#), wanted);
        assert_eq!(read(r#"{"history":[[7,"x"]],"line":"step"}"#), wanted);
        assert_eq!(read(r#"{"line":"run","history":[[7,"x"]]}"#), []);
        assert_eq!(read("{\"line\":\"step\",\"history\":[[7,\"x"), []);
        assert_eq!(read("no json"), []);
    }

    #[test]
    fn a_line_that_is_not_utf8_counts_too() {
        let mut line = br#"{"line":"step","run":"r-1","decision":"DONE","history":[[7,"x"#.to_vec();
        line.extend(b"\xff\"]]}");
        let mut history = Vec::new();
        let found = Needed::new().read_line(&line, &mut history);
        assert!(matches!(found, Some(Kept::Step(step)) if step.run == "r-1"));
        assert_eq!(history, [(7, "x\u{fffd}".to_string())]);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]
        #[test]
        fn what_is_needed_is_what_the_whole_line_says(
            texts in prop::collection::vec(r#"([a-z" \\\\→\n]|"history":|"run":|"outcome":"ok",){0,6}"#, 8),
            entries in 0usize..3,
            decided in any::<bool>(),
        ) {
            let step = StepLine {
                at: "2026-11-18T00:42:01Z".into(),
                run: texts[0].clone(),
                iteration: 3,
                decision: decided.then(|| texts[1].clone()),
                item: Some(texts[2].clone()),
                outcome: if entries == 0 { texts[3].clone() } else { "ok".into() },
                actions: (0..entries).map(|_| ActionLine {
                    id: texts[4].clone(),
                    name: texts[5].clone(),
                    target: texts[6].clone(),
                    verdict: "allow".into(),
                    ..ActionLine::default()
                }).collect(),
                history: (0..entries as u64).map(|n| (n, texts[7].clone())).collect(),
                refusals: (0..entries).map(|_| Refusal { code: texts[2].clone(), message: texts[4].clone() }).collect(),
                record: texts[6].clone(),
                ..StepLine::default()
            };
            let text = render_line(&Line::Step(Box::new(step.clone())));
            let mut history = Vec::new();
            let found: Vec<Kept> = Needed::new().read_line(text.trim_end().as_bytes(), &mut history).into_iter().collect();
            let whole = parse_lines(&text);
            prop_assert_eq!(memory_of(found.iter().map(Kept::entry), 9), memory_lines(&whole, 9));
            let refusals = found.into_iter().find_map(Kept::into_step).map(|step| step.refusals);
            prop_assert_eq!(refusals.unwrap_or_default(), last_refusals(&whole));
            prop_assert_eq!(&history, &step.history);
            prop_assert_eq!(read(text.trim_end()), step.history);
        }
    }
}
