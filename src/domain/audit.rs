//! The audit chain: a line for every human command that changed something, each bound to the one before.
//!
//! A line is a JSON object whose last key, `hash`, is the SHA-256 of everything before it in the line; `prev` is the
//! hash of the line before, or 64 zeros in the first. Taking a line out, changing one or adding one in between breaks
//! the chain there. `mac`, before `hash`, is the signature of everything before it with the user's key: whoever lacks
//! the key can't write the chain anew. Lines of older programs have none; after the first that has one, all must.

use super::digest::{same, sha256};
use super::request::{RequestStatus, Sign};
use super::time::{Time, parse_rfc3339, render_rfc3339};
use serde_json::json;

/// The newest format this program knows.
const SCHEMA: u64 = 1;
/// How a line's signature begins.
const MAC: &str = ",\"mac\":\"";
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
pub fn render_entry(head: &Head, deed: &Deed<'_>, sign: Option<&Sign<'_>>) -> String {
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
    let mut open = open.trim_end_matches('}').to_string();
    if let Some(sign) = sign {
        let mac = sign(&open);
        open.push_str(&format!(",\"mac\":\"{mac}\""));
    }
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

/// Whether a line is signed, and rightly. Its hash is for [`parse_entry`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signature {
    None,
    Right,
    Wrong,
}

/// Whether a line carries a signature, right or wrong.
pub fn has_signature(line: &str) -> bool {
    // A quote within a text is escaped, so that this is the key itself.
    line.contains(MAC)
}

pub fn signature(line: &str, sign: &Sign<'_>) -> Signature {
    let Some((open, rest)) = line.rsplit_once(MAC) else { return Signature::None };
    let mac = rest.split('"').next().unwrap_or_default();
    if same(mac, &sign(open)) { Signature::Right } else { Signature::Wrong }
}

/// What the log says became of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    /// The first resolution, and when.
    pub resolved: Option<(RequestStatus, Time)>,
    /// Whether its outcome was carried out and told.
    pub told: bool,
}

/// How a line about a request begins.
fn about(id: &str, dept: &str) -> String {
    format!("{id} of {dept}: ")
}

/// What a line says of a resolution.
pub fn render_resolved(id: &str, dept: &str, status: RequestStatus, why: &str) -> String {
    format!("{}{status}: {why}", about(id, dept))
}

/// What a line says once it was carried out and told.
pub fn render_told(id: &str, dept: &str, what: &str) -> String {
    format!("{}told: {what}", about(id, dept))
}

/// Everything that a log says of some requests, each an id and its department. Lines that somebody without the key
/// wrote say nothing.
pub fn find_recorded(text: &str, wanted: &[(&str, &str)], sign: &Sign<'_>) -> Vec<Recorded> {
    let mut found = vec![Recorded::default(); wanted.len()];
    let mut signed = false;
    for line in text.lines() {
        let has_mac = has_signature(line);
        let mut named = wanted.iter().enumerate().filter(|(_, (id, _))| line.contains(id)).peekable();
        if named.peek().is_some() && (has_mac || !signed) && signature(line, sign) != Signature::Wrong {
            let deed = parse_deed(line);
            named.for_each(|(index, (id, dept))| take_deed(&mut found[index], deed.as_ref(), id, dept));
        }
        signed |= has_mac;
    }
    found
}

fn take_deed(recorded: &mut Recorded, deed: Option<&Done>, id: &str, dept: &str) {
    let Some((deed, rest)) = deed.and_then(|deed| Some((deed, deed.what.strip_prefix(&about(id, dept))?)))
    else {
        return;
    };
    let Some((word, _)) = rest.split_once(": ") else { return };
    if word == "told" {
        recorded.told = true;
    } else if let Some(status) = RequestStatus::parse(word) {
        recorded.resolved.get_or_insert((status, deed.at));
    }
}

/// Whether a log still has a line that is known to have been written; what is wrong where not.
pub fn check_head(text: &str, known: &Head) -> Option<String> {
    let line = usize::try_from(known.seq).unwrap_or(usize::MAX).checked_sub(1)?;
    match text.lines().nth(line) {
        None => {
            Some(format!("it was cut: it has {} lines, and {} were written", text.lines().count(), known.seq))
        }
        Some(line) if parse_entry(line).is_some_and(|(head, _)| head == *known) => None,
        Some(_) => Some(format!("it was written anew: line {} is not the one that was written", known.seq)),
    }
}

/// What a crash left of the last line: it has no line end, and is no whole line. What was to be done was not done.
pub fn torn_end(text: &str) -> Option<&str> {
    let end = text.rsplit('\n').next().filter(|end| !end.is_empty())?;
    parse_entry(end).is_none().then_some(end)
}

/// Follows the chain; the first fault, with its line. Whether a line that is torn off at the end was whole before is for
/// [`check_head`] to say.
pub fn check_chain(text: &str, sign: &Sign<'_>) -> Result<Head, (usize, &'static str)> {
    let whole = &text[..text.len() - torn_end(text).map_or(0, str::len)];
    // `init` writes the first line: a log without one was emptied.
    if whole.trim().is_empty() {
        return Err((1, "it is empty, and nothing that made this organisation left it so"));
    }
    let mut head = Head::first();
    let mut signed = false;
    for (index, line) in whole.lines().enumerate() {
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
        signed |= match signature(line, sign) {
            Signature::Right => true,
            Signature::None if !signed => false,
            Signature::None => return Err((number, "it carries no signature, and a line before it does")),
            Signature::Wrong => return Err((number, "its signature is not that of your key")),
        };
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

    fn sign(text: &str) -> String {
        sha256(format!("key{text}").as_bytes())
    }

    fn chain(count: usize) -> String {
        chain_from(count, 0)
    }

    /// The first lines carry no signature.
    fn chain_from(count: usize, bare: usize) -> String {
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
            let line = render_entry(&head, &deed, (number >= bare).then_some(&sign));
            head = parse_entry(&line).unwrap().0;
            text.push_str(&line);
        }
        text
    }

    #[test]
    fn a_chain_holds() {
        assert_eq!(check_chain(&chain(5), &sign).unwrap().seq, 5);
        assert_eq!(check_chain(&chain(1), &sign).unwrap().seq, 1);
    }

    #[test]
    fn every_change_breaks_it() {
        let text = chain(4);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            check_chain(&text.replace("sent \\\"1", "sent \\\"9"), &sign),
            Err((2, "its hash is not that of its text"))
        );
        let without = [lines[0], lines[2], lines[3]].join("\n");
        assert_eq!(check_chain(&without, &sign), Err((2, "it does not follow the line before")));
        let swapped = [lines[0], lines[2], lines[1], lines[3]].join("\n");
        assert!(check_chain(&swapped, &sign).is_err());
        // A line that was torn off is no fault of the chain, unless it is known to have been whole.
        let cut = &text[..text.len() - 20];
        assert_eq!(check_chain(cut, &sign).unwrap().seq, 3);
        let known = |lines: &str| check_chain(lines, &sign).unwrap();
        assert_eq!(check_head(cut, &known(&chain(3))), None);
        assert!(check_head(cut, &known(&text)).is_some());
        assert_eq!(check_chain(text.trim_end(), &sign).unwrap().seq, 4);
        assert!(check_chain(&format!("{}\n", &cut[..cut.len() - 1]), &sign).is_err());
        assert!(check_chain("", &sign).is_err() && check_chain("\n", &sign).is_err());
        let newer = text.replacen("\"schema\":1", "\"schema\":2", 1);
        assert_eq!(check_chain(&newer, &sign), Err((1, "a newer program wrote it")));
    }
}
