//! The audit chain: a line for every human command that changed something, each bound to the one before.
//!
//! A line is a JSON object whose last key, `hash`, is the SHA-256 of everything before it in the line; `prev` is the
//! hash of the line before, or 64 zeros in the first. Taking a line out, changing one or adding one in between breaks
//! the chain there.

use super::digest::sha256;
use super::time::{Time, parse_rfc3339, render_rfc3339};
use serde_json::json;

/// The newest format this program knows.
const SCHEMA: u64 = 1;
/// What stands before the first line.
pub const FIRST: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// One thing that somebody did.
#[derive(Clone, Debug)]
pub struct Deed<'a> {
    pub at: Time,
    pub by: &'a str,
    pub command: &'a str,
    /// What changed, in a sentence.
    pub what: &'a str,
}

/// The last good line of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    pub seq: u64,
    pub hash: String,
}

impl Head {
    pub fn first() -> Head {
        Head { seq: 0, hash: FIRST.to_string() }
    }
}

/// The next line of the log, with its line end.
pub fn render_entry(head: &Head, deed: &Deed<'_>) -> String {
    let entry = json!({
        "schema": SCHEMA,
        "seq": head.seq + 1,
        "at": render_rfc3339(deed.at),
        "by": deed.by,
        "command": deed.command,
        "what": super::text::one_line(deed.what, 2_000),
        "prev": head.hash,
    });
    let open = entry.to_string();
    let open = open.trim_end_matches('}');
    format!("{open},\"hash\":\"{}\"}}\n", sha256(open.as_bytes()))
}

/// A deed as a log has it. Whether it is in its place in the chain is for [`check_chain`] to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done {
    pub at: Time,
    pub command: String,
    pub what: String,
}

/// Reads what a line says was done.
pub fn parse_deed(line: &str) -> Option<Done> {
    let value: serde_json::Value = serde_json::from_str(line).ok()?;
    let text = |key: &str| value.get(key)?.as_str().map(str::to_string);
    Some(Done { at: parse_rfc3339(&text("at")?)?, command: text("command")?, what: text("what")? })
}

/// Reads a line's place in the chain, where its own hash is right.
pub fn parse_entry(line: &str) -> Option<(Head, String)> {
    let (open, rest) = line.trim_end().rsplit_once(",\"hash\":\"")?;
    let hash = rest.strip_suffix("\"}")?;
    if sha256(open.as_bytes()) != hash {
        return None;
    }
    let value: serde_json::Value = serde_json::from_str(&format!("{open}}}")).ok()?;
    let seq = value.get("seq")?.as_u64()?;
    let prev = value.get("prev")?.as_str()?.to_string();
    Some((Head { seq, hash: hash.to_string() }, prev))
}

/// Follows the chain; the first fault, with its line.
pub fn check_chain(text: &str) -> Result<Head, (usize, &'static str)> {
    // `init` writes the first line: a log without one was emptied.
    if text.trim().is_empty() {
        return Err((1, "it is empty, and nothing that made this organisation left it so"));
    }
    let mut head = Head::first();
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        if is_newer(line) {
            return Err((number, "a newer program wrote it"));
        }
        let Some((next, prev)) = parse_entry(line) else {
            return Err((number, "its hash is not that of its text"));
        };
        if prev != head.hash || next.seq != head.seq + 1 {
            return Err((number, "it does not follow the line before"));
        }
        head = next;
    }
    Ok(head)
}

fn is_newer(line: &str) -> bool {
    let schema =
        serde_json::from_str::<serde_json::Value>(line).ok().and_then(|line| line.get("schema")?.as_u64());
    schema.is_some_and(|schema| schema > SCHEMA)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::time::parse_rfc3339;

    fn chain(count: usize) -> String {
        let mut head = Head::first();
        let mut text = String::new();
        for number in 0..count {
            let what = format!("sent \"{number}\" }}");
            let deed = Deed {
                at: parse_rfc3339("2026-11-18T00:42:01Z").unwrap(),
                by: "user",
                command: "send",
                what: &what,
            };
            let line = render_entry(&head, &deed);
            head = parse_entry(&line).unwrap().0;
            text.push_str(&line);
        }
        text
    }

    #[test]
    fn a_chain_holds() {
        assert_eq!(check_chain(&chain(5)).unwrap().seq, 5);
        assert_eq!(check_chain(&chain(1)).unwrap().seq, 1);
    }

    #[test]
    fn every_change_breaks_it() {
        let text = chain(4);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            check_chain(&text.replace("sent \\\"1", "sent \\\"9")),
            Err((2, "its hash is not that of its text"))
        );
        let without = [lines[0], lines[2], lines[3]].join("\n");
        assert_eq!(check_chain(&without), Err((2, "it does not follow the line before")));
        let swapped = [lines[0], lines[2], lines[1], lines[3]].join("\n");
        assert!(check_chain(&swapped).is_err());
        let cut = &text[..text.len() - 20];
        assert!(check_chain(cut).is_err());
        assert!(check_chain("").is_err() && check_chain("\n").is_err());
        let newer = text.replacen("\"schema\":1", "\"schema\":2", 1);
        assert_eq!(check_chain(&newer), Err((1, "a newer program wrote it")));
    }
}
