//! The chain through `budget.jsonl`: each line carries the signature of itself and of the line before.
//!
//! A line that was changed, taken out or added breaks it, and a book that was cut no longer has the line that is known
//! to have been its last. Lines of older programs carry none; after the first that has one, all must.

use crate::domain::audit::{Signature, signature};
use crate::domain::digest::same;
use crate::domain::request::Sign;

/// What stands between a line and its signature.
const MAC: &str = ",\"mac\":\"";

/// Why a book doesn't hold together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Break {
    /// A line, as it stands, is not the one that was written there.
    Line(String),
    /// The line that is known to have been written last is not among these.
    End,
}

/// A line with its signature, and its end; `before` is the signature of the line before, or nothing.
pub fn chain_line(json: &str, before: &str, sign: &Sign<'_>) -> String {
    let open = json.trim_end_matches('}');
    format!("{open}{MAC}{}\"}}\n", sign(&content(before, open)))
}

/// The signature at a line's end; nothing where it has none.
pub fn mac_of(line: &str) -> &str {
    line.rsplit_once(MAC).and_then(|(_, rest)| rest.strip_suffix("\"}")).unwrap_or_default()
}

fn content(before: &str, open: &str) -> String {
    format!("{before}\n{open}")
}

/// Follows the chain through whole lines. Where they are not the book from its start, the first is what the others
/// hang on, and its own place can't be told. `end` is the signature of the last line that is known of.
pub fn check_lines(text: &str, from_start: bool, end: Option<&str>, sign: &Sign<'_>) -> Result<(), Break> {
    let (mut before, mut ended) = ("", end.is_none());
    for (index, line) in text.lines().filter(|line| !line.trim().is_empty()).enumerate() {
        let mac = mac_of(line);
        let hangs = index > 0 || from_start;
        if hangs && !is_next(line, mac, before, sign) {
            return Err(Break::Line(line.to_string()));
        }
        ended |= end.is_some_and(|end| same(mac, end));
        before = mac;
    }
    if ended { Ok(()) } else { Err(Break::End) }
}

fn is_next(line: &str, mac: &str, before: &str, sign: &Sign<'_>) -> bool {
    if mac.is_empty() {
        return before.is_empty();
    }
    signature(line, &|open| sign(&content(before, open))) == Signature::Right
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::digest::sha256;

    fn sign(text: &str) -> String {
        sha256(format!("key{text}").as_bytes())
    }

    fn book(count: usize) -> Vec<String> {
        let mut lines: Vec<String> = vec!["{\"old\":1}\n".to_string()];
        for number in 0..count {
            let before = mac_of(lines[lines.len() - 1].trim_end()).to_string();
            lines.push(chain_line(&format!("{{\"usd\":{number}}}"), &before, &sign));
        }
        lines
    }

    #[track_caller]
    fn check(lines: &[String], from_start: bool, end: Option<&String>, holds: bool) {
        let end = end.map(|line| mac_of(line.trim_end()).to_string());
        let found = check_lines(&lines.concat(), from_start, end.as_deref(), &sign);
        assert_eq!(found.is_ok(), holds, "{found:?}");
    }

    #[test]
    fn a_book_holds_from_its_start_and_from_anywhere() {
        let lines = book(4);
        check(&lines, true, None, true);
        check(&lines, true, lines.last(), true);
        check(&lines[2..], false, lines.last(), true);
        // A crash may have left one more line than is known of.
        check(&lines, true, lines.get(3), true);
        check(&[], true, None, true);
    }

    #[test]
    fn every_change_breaks_it() {
        let lines = book(4);
        let end = lines.last();
        for index in 1..lines.len() {
            let mut without = lines.clone();
            without.remove(index);
            check(&without, true, end, false);
            let mut changed = lines.clone();
            changed[index] = changed[index].replace("usd", "USD");
            check(&changed, true, end, false);
            let mut bare = lines.clone();
            bare[index] = "{\"usd\":0}\n".to_string();
            check(&bare, true, end, false);
        }
        check(&lines[..4], true, end, false);
        check(&[], true, end, false);
        // Written anew without signatures, as an older program would have.
        let bare: Vec<String> = (0..4).map(|number| format!("{{\"usd\":{number}}}\n")).collect();
        check(&bare, true, None, true);
        check(&bare, true, end, false);
        check(&lines[2..], true, end, false);
    }
}
