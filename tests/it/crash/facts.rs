//! What a run has brought about, without the ids and times that differ from one run to the next.
//!
//! Every file outside `.harness/` that is new or changed, and every project, is a fact: its path and its text, with each id, time, date and
//! hash replaced by a word. Two trees with equal facts hold the same messages, decisions, questions and receipts, each
//! as often. What lies in `.harness/` is for `books`.

use super::tree::Tree;

/// `#` a digit, `@` a small letter or digit, `~` a letter; the rest as it is. The longest first.
const PATTERNS: [(&str, &str); 9] = [
    ("@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@", "HASH"),
    ("~-########-######-@@@@@@/##/", "STEP/"),
    ("~-########-######-@@@@@@/#/", "STEP/"),
    ("####-##-##T##:##:##Z", "TIME"),
    ("~-########-######-@@@@@@", "ID"),
    ("########T######Z", "TS"),
    (" as-@@@@@@@@@@@@\n", " ASSIGNMENT\n"),
    ("####-##-##", "DATE"),
    ("####-##", "MONTH"),
];

/// The facts, sorted.
pub type Facts = Vec<String>;

pub fn facts(start: &Tree, end: &Tree) -> Facts {
    let mut facts: Facts = end
        .files()
        .filter(|(path, _)| is_fact(path) && end.0.get(*path) != start.0.get(*path))
        .map(|(path, text)| format!("{}\n{}", plain(path), plain(&text)))
        .collect();
    let gone = start.files().filter(|(path, _)| !end.0.contains_key(*path));
    facts.extend(gone.map(|(path, _)| format!("{} is gone", plain(path))));
    facts.sort();
    facts
}

/// Projects are what directors make, though they lie beneath the root's `.harness/`.
fn is_fact(path: &str) -> bool {
    !path.contains(".harness/") || path.starts_with(".harness/projects/")
}

/// What one has and the other has not.
pub fn compare(expected: &Facts, found: &Facts) -> Vec<String> {
    let mut problems = Vec::new();
    let (mut left, mut right) = (expected.clone(), Vec::new());
    for fact in found {
        match left.iter().position(|other| other == fact) {
            Some(at) => {
                left.remove(at);
            }
            None => right.push(fact.clone()),
        }
    }
    problems.extend(left.iter().map(|fact| format!("missing: {fact}")));
    problems.extend(right.iter().map(|fact| format!("too much: {fact}")));
    problems
}

/// A text without what differs between runs.
pub fn plain(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        match PATTERNS.iter().find(|(pattern, _)| matches(pattern.as_bytes(), &bytes[at..])) {
            Some((pattern, word)) => {
                plain.extend_from_slice(word.as_bytes());
                at += pattern.len();
            }
            None => {
                plain.push(bytes[at]);
                at += 1;
            }
        }
    }
    // One in a few thousand looks like a number, and is written in quotes.
    String::from_utf8_lossy(&plain).replace("\"HASH\"", "HASH")
}

fn matches(pattern: &[u8], text: &[u8]) -> bool {
    pattern.len() <= text.len()
        && pattern.iter().zip(text).all(|(pattern, byte)| match pattern {
            b'#' => byte.is_ascii_digit(),
            b'@' => byte.is_ascii_digit() || byte.is_ascii_lowercase(),
            b'~' => byte.is_ascii_lowercase(),
            literal => literal == byte,
        })
}

#[test]
fn ids_and_times_are_left_out() {
    let check = |text: &str, expected: &str| assert_eq!(plain(text), expected);
    check("ref: m-20261118-004201-7f3k2q.", "ref: ID.");
    check("## 20261118T004201Z Go (r-20261118-004201-1x934c/2/0)", "## TS Go (STEP/0)");
    check("(r-20261118-004201-1x934c/10/0)", "(STEP/0)");
    check("at 2026-11-18T00:42:01Z", "at TIME");
    check("archive/inbox/2026-11/x.md", "archive/inbox/MONTH/x.md");
    check("memory/2026-11-18.md", "memory/DATE.md");
    check("é 12-3", "é 12-3");
}
