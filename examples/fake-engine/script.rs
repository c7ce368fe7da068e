//! Reads a reply file: directives first, a `#word` a line, then the text that is answered.
//!
//! | directive | what it does |
//! |---|---|
//! | `#sleep 500ms`, `#sleep 2s` | waits before the answer |
//! | `#wait NAME` | waits until the file `$HOME/.fake/NAME` is there |
//! | `#stderr text` | a line on stderr |
//! | `#garbage` | lines that are not UTF-8 or not whole JSON, before the answer |
//! | `#flood N` | N bytes of lines of `x`, before the answer |
//! | `#hang` | never answers; `#linger` answers, then doesn't end |
//! | `#ignore-term` | SIGTERM does nothing |
//! | `#grandchild` | leaves a process that holds stdout; `#setsid-grandchild` one in a session of its own |
//! | `#usage IN OUT COST [WRITE]` | tokens and dollars of the report; the cost `none` leaves its field out; `WRITE` went to the cache |
//! | `#error STATUS [reset=UNIX]` | an API error on stdout, exit 1, as claude gives it |
//! | `#exit N` | the exit code, after the answer |
//! | `#raw` | the text as it is, not wrapped in claude's stream |
//!
//! An unknown `#word` is a mistake of the test and is refused; `# heading` is text. In the text `NONCE` stands for
//! the nonce of the prompt's last "```actions " line, and `MSGID` for the first message id after the prompt's last
//! "message at hand", else the prompt's last one.

use anyhow::{Context, Result, bail};
use std::time::Duration;

#[derive(Debug, PartialEq)]
pub enum Directive {
    Sleep(Duration),
    Wait(String),
    Stderr(String),
    Garbage,
    Flood(usize),
    Hang,
    Linger,
    IgnoreTerm,
    Grandchild,
    SetsidGrandchild,
    Usage(Usage),
    Error(ApiError),
    Exit(u8),
    Raw,
}

#[derive(Debug, PartialEq, Clone, Copy)]
pub struct Usage {
    pub input: u64,
    pub output: u64,
    pub cost: Option<f64>,
    pub cache_write: u64,
}

#[derive(Debug, PartialEq, Clone, Copy)]
pub struct ApiError {
    pub status: u16,
    pub reset: Option<i64>,
}

pub struct Script {
    pub directives: Vec<Directive>,
    pub text: String,
}

impl Script {
    pub fn has(&self, wanted: &Directive) -> bool {
        self.directives.contains(wanted)
    }

    pub fn usage(&self) -> Usage {
        let given =
            self.directives.iter().find_map(|d| if let Directive::Usage(u) = d { Some(*u) } else { None });
        given.unwrap_or(Usage { input: 1000, output: 100, cost: Some(0.01), cache_write: 0 })
    }

    pub fn error(&self) -> Option<ApiError> {
        self.directives.iter().find_map(|d| if let Directive::Error(e) = d { Some(*e) } else { None })
    }

    pub fn exit_code(&self) -> u8 {
        let given =
            self.directives.iter().find_map(|d| if let Directive::Exit(c) = d { Some(*c) } else { None });
        given.unwrap_or(u8::from(self.error().is_some()))
    }
}

pub fn parse(text: &str) -> Result<Script> {
    let mut directives = Vec::new();
    let mut rest = text;
    while let Some(line) = rest.lines().next().filter(|line| is_directive(line)) {
        directives.push(parse_directive(line).with_context(|| format!("in the directive `{line}`"))?);
        rest = rest[line.len()..].trim_start_matches('\r').strip_prefix('\n').unwrap_or("");
    }
    Ok(Script { directives, text: rest.to_owned() })
}

fn is_directive(line: &str) -> bool {
    line.strip_prefix('#').is_some_and(|word| word.starts_with(|c: char| c.is_ascii_lowercase()))
}

fn parse_directive(line: &str) -> Result<Directive> {
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    let rest = rest.trim();
    Ok(match word {
        "#sleep" => Directive::Sleep(parse_duration(rest)?),
        "#wait" if !rest.is_empty() => Directive::Wait(rest.to_owned()),
        "#stderr" => Directive::Stderr(rest.to_owned()),
        "#garbage" => Directive::Garbage,
        "#flood" => Directive::Flood(rest.parse()?),
        "#hang" => Directive::Hang,
        "#linger" => Directive::Linger,
        "#ignore-term" => Directive::IgnoreTerm,
        "#grandchild" => Directive::Grandchild,
        "#setsid-grandchild" => Directive::SetsidGrandchild,
        "#usage" => Directive::Usage(parse_usage(rest)?),
        "#error" => Directive::Error(parse_error(rest)?),
        "#exit" => Directive::Exit(rest.parse()?),
        "#raw" => Directive::Raw,
        _ => bail!("no such directive"),
    })
}

fn parse_duration(text: &str) -> Result<Duration> {
    match text.strip_suffix("ms") {
        Some(millis) => Ok(Duration::from_millis(millis.parse()?)),
        None => {
            Ok(Duration::from_secs(text.strip_suffix('s').context("give a time as 500ms or 2s")?.parse()?))
        }
    }
}

fn parse_usage(text: &str) -> Result<Usage> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let ([input, output, cost] | [input, output, cost, _]) = words[..] else {
        bail!("give input tokens, output tokens, cost, and tokens put into the cache where there are any");
    };
    let cache_write = words.get(3).map_or(Ok(0), |tokens| tokens.parse())?;
    let cost = if cost == "none" { None } else { Some(cost.parse()?) };
    Ok(Usage { input: input.parse()?, output: output.parse()?, cost, cache_write })
}

fn parse_error(text: &str) -> Result<ApiError> {
    let (status, rest) = text.split_once(' ').unwrap_or((text, ""));
    let reset = match rest {
        "" => None,
        given => Some(given.strip_prefix("reset=").context("only reset= may follow")?.parse()?),
    };
    Ok(ApiError { status: status.parse()?, reset })
}

/// Puts the prompt's nonce and message id where the reply asks for them; what isn't found stays as it is.
pub fn fill(text: &str, prompt: &str) -> String {
    let nonce =
        prompt.rsplit_once("```actions ").map(|(_, after)| after.split_whitespace().next().unwrap_or(""));
    let text = nonce.map_or_else(|| text.to_owned(), |nonce| text.replace("NONCE", nonce));
    let at_hand = prompt.rsplit_once("message at hand").and_then(|(_, after)| message_ids(after).next());
    let id = at_hand.or_else(|| message_ids(prompt).last());
    id.map_or_else(|| text.clone(), |id| text.replace("MSGID", id))
}

const ID_SHAPE: &str = "m-dddddddd-dddddd-xxxxxx";

fn message_ids(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices("m-").filter_map(|(at, _)| text.get(at..at + ID_SHAPE.len())).filter(|id| {
        id.chars().zip(ID_SHAPE.chars()).all(|(c, shape)| match shape {
            'd' => c.is_ascii_digit(),
            'x' => c.is_ascii_lowercase() || c.is_ascii_digit(),
            fixed => c == fixed,
        })
    })
}
