//! The crash matrix of `harness selftest`: what is compared after a crash and its recovery.
//!
//! Ids hold the run that made them, so a run that was killed before it decided anything and was then done again has
//! other ones. Everything else has to be the same: no file more, none less, and no line twice.

use super::text::one_line;
use std::collections::BTreeMap;

/// At which moment of an operation the process dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Death {
    Before,
    /// A write stops half way.
    Torn,
    After,
}

impl Death {
    pub const ALL: [Death; 3] = [Death::Before, Death::Torn, Death::After];

    pub fn word(self) -> &'static str {
        match self {
            Death::Before => "before",
            Death::Torn => "torn",
            Death::After => "after",
        }
    }

    pub fn parse(word: &str) -> Option<Death> {
        Death::ALL.into_iter().find(|death| death.word() == word)
    }
}

/// A text with every id replaced by its first letter: `m-20261118-004201-7f3k2q` is `m-?`, as is an action of a run.
pub fn hide_ids(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut shown = String::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        if is_id_at(bytes, at) {
            shown.push(char::from(bytes[at]));
            shown.push_str("-?");
            at += ID.len();
            at += skip_action(&bytes[at..]);
            continue;
        }
        if is_assignment_at(bytes, at) {
            shown.push_str("as-?");
            at += ASSIGNMENT;
            continue;
        }
        let next = text[at..].chars().next().map_or(1, char::len_utf8);
        shown.push_str(&text[at..at + next]);
        at += next;
    }
    shown
}

/// How long the step and index of an action are that follow a run's id: `/6/0`.
fn skip_action(rest: &[u8]) -> usize {
    let is_part = |byte: &u8| *byte == b'/' || byte.is_ascii_digit();
    let length = rest.iter().take_while(|byte| is_part(byte)).count();
    if rest.first() == Some(&b'/') && rest[..length].ends_with(b"/") { 0 } else { length }
}

/// The form of an id: a small letter, digits, and six characters of its end.
const ID: &[u8; 24] = b"a-00000000-000000-xxxxxx";

/// The length of the mark of an assignment, `as-` and twelve digits of a hash.
const ASSIGNMENT: usize = 15;

fn is_assignment_at(bytes: &[u8], at: usize) -> bool {
    let piece = bytes.get(at..at + ASSIGNMENT).and_then(|piece| piece.strip_prefix(b"as-"));
    let alone = at == 0 || !bytes[at - 1].is_ascii_alphanumeric();
    alone && piece.is_some_and(|hash| hash.iter().all(u8::is_ascii_hexdigit))
}

fn is_id_at(bytes: &[u8], at: usize) -> bool {
    let Some(piece) = bytes.get(at..at + ID.len()) else { return false };
    let fits = |(byte, form): (&u8, &u8)| match form {
        b'a' => byte.is_ascii_lowercase(),
        b'0' => byte.is_ascii_digit(),
        b'x' => byte.is_ascii_lowercase() || byte.is_ascii_digit(),
        other => byte == other,
    };
    let word = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let alone =
        !word(at.checked_sub(1).and_then(|before| bytes.get(before))) && !word(bytes.get(at + ID.len()));
    alone && piece.iter().zip(ID).all(fits)
}

/// What an organisation holds, as a bag: each file with its text, and each line of a log by itself.
pub type Bag = BTreeMap<String, u64>;

/// Puts files into a bag.
pub fn fill_bag(files: &[(String, String)]) -> Bag {
    let mut bag = Bag::new();
    for (path, text) in files {
        let path = hide_ids(path);
        let is_log = path.ends_with("decisions.md") || path.contains("/memory/");
        let pieces: Vec<&str> = if is_log { text.lines().collect() } else { vec![text.as_str()] };
        for piece in pieces {
            *bag.entry(format!("{path}\n{}", hide_ids(piece))).or_default() += 1;
        }
    }
    bag
}

/// How a bag differs from what was expected, a line for each thing.
pub fn compare_bags(expected: &Bag, found: &Bag) -> Vec<String> {
    let names: std::collections::BTreeSet<&String> = expected.keys().chain(found.keys()).collect();
    let count = |bag: &Bag, name: &String| bag.get(name).copied().unwrap_or(0);
    let differs = |name: &&String| count(expected, name) != count(found, name);
    let say = |name: &String| {
        let (path, text) = name.split_once('\n').unwrap_or((name, ""));
        let (found, expected) = (count(found, name), count(expected, name));
        format!("{path}: {found} times, and {expected} were expected: {}", one_line(text, 200))
    };
    names.into_iter().filter(differs).map(say).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_hidden_and_nothing_else() {
        let check = |text: &str, expected: &str| assert_eq!(hide_ids(text), expected);
        check("m-20261118-004201-7f3k2q", "m-?");
        check("id: m-20261118-004201-7f3k2q\nü r-20261118-004201-aaaaaa.", "id: m-?\nü r-?.");
        check("xm-20261118-004201-7f3k2q", "xm-20261118-004201-7f3k2q");
        check("m-20261118-004201-7f3k2q7", "m-20261118-004201-7f3k2q7");
        check("m-2026111-004201-7f3k2q", "m-2026111-004201-7f3k2q");
        check("- r-20261118-004201-7f3k2q/6/0 [x]", "- r-? [x]");
        check("assignment: as-014400b7efeb", "assignment: as-?");
        check("as-yet-unknown-things", "as-yet-unknown-things");
        check("org/m-20261118-004201-7f3k2q.md", "org/m-?.md");
        check("", "");
    }

    #[test]
    fn what_is_missing_doubled_or_changed_is_named() {
        let file = |path: &str, text: &str| (path.to_string(), text.to_string());
        let expected =
            fill_bag(&[file("a/m-20261118-004201-7f3k2q.md", "x"), file("decisions.md", "one\ntwo\n")]);
        let same = [file("a/m-20261118-004207-aaaaaa.md", "x"), file("decisions.md", "two\none\n")];
        assert!(compare_bags(&expected, &fill_bag(&same)).is_empty());
        let doubled = [same[0].clone(), same[0].clone(), file("decisions.md", "one\ntwo\ntwo\n")];
        assert_eq!(
            compare_bags(&expected, &fill_bag(&doubled)),
            ["a/m-?.md: 2 times, and 1 were expected: x", "decisions.md: 2 times, and 1 were expected: two"]
        );
        assert_eq!(
            compare_bags(&expected, &fill_bag(&same[1..])),
            ["a/m-?.md: 0 times, and 1 were expected: x"]
        );
        let changed = [file("a/m-20261118-004201-7f3k2q.md", "y"), same[1].clone()];
        assert_eq!(compare_bags(&expected, &fill_bag(&changed)).len(), 2);
    }
}
