//! Names of things: department slugs, and ids that a person can read and that sort by time.
//!
//! An id made here is `<letter>-<yyyymmdd>-<hhmmss>-<six characters>`. An id taken over from a file's name may be any
//! text of the safe alphabet below, so that it can always be a file name and never a path.

use super::time::{Time, parse_ts};
use sha2::{Digest, Sha256};
use std::fmt;

/// Letters that can't be mistaken for one another.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// The longest id taken from a file's name.
const ID_MAX: usize = 96;

/// What an id names; its first letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdKind {
    Message,
    Approval,
    Run,
    Question,
    Escalation,
    Job,
    Directive,
    Project,
    Task,
    /// An entry of memory that a person adds.
    Entry,
}

impl IdKind {
    pub fn letter(self) -> char {
        match self {
            IdKind::Message => 'm',
            IdKind::Approval => 'a',
            IdKind::Run => 'r',
            IdKind::Question => 'q',
            IdKind::Escalation => 'e',
            IdKind::Job => 'j',
            IdKind::Directive => 'd',
            IdKind::Project => 'p',
            IdKind::Task => 't',
            IdKind::Entry => 'n',
        }
    }
}

/// A new id from the time and six characters of [`suffix`].
pub fn new_id(kind: IdKind, now: Time, random: &[u8; 6]) -> String {
    format!("{}-{}-{}", kind.letter(), now.format("%Y%m%d-%H%M%S"), suffix(random))
}

/// The id of what an action creates: the same for the same run, step and index, however often it is worked out.
pub fn derived_id(kind: IdKind, at: Time, seed: &str) -> String {
    let digest = Sha256::digest(seed.as_bytes());
    let mut bytes = [0u8; 6];
    bytes.copy_from_slice(&digest[..6]);
    new_id(kind, at, &bytes)
}

/// Random bytes as characters of the alphabet.
pub fn suffix(random: &[u8]) -> String {
    random.iter().map(|byte| ALPHABET[usize::from(byte & 31)] as char).collect()
}

/// Whether a text may be an id: one safe file name, never a path, never hidden.
pub fn is_id(text: &str) -> bool {
    text.len() <= ID_MAX
        && text.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
        && !text.contains("..")
}

/// The endings of what editors, downloads and careful writers put beside a file, and of what they save it from.
const LEFTOVERS: [&str; 11] =
    ["~", ".bak", ".tmp", ".temp", ".swp", ".swo", ".swx", ".orig", ".rej", ".part", ".crdownload"];

/// Whether a file by its name is another program's copy or working file, and never something to read: one that is
/// hidden, `note.md~`, `#note.md#`, `~$note.md`, `note.md.bak`, `note.md.tmp`.
pub fn is_leftover(name: &str) -> bool {
    let autosave = name.len() > 1 && name.starts_with('#') && name.ends_with('#');
    let lower = name.to_ascii_lowercase();
    name.starts_with(['.', '~']) || autosave || LEFTOVERS.iter().any(|ending| lower.ends_with(ending))
}

/// Whether an id was made by [`new_id`]: such a one never comes twice.
pub fn is_made_id(text: &str) -> bool {
    let digits = |part: &str, length: usize| part.len() == length && part.bytes().all(|b| b.is_ascii_digit());
    let parts: Vec<&str> = text.split('-').collect();
    let [letter, date, time, end] = parts[..] else { return false };
    letter.len() == 1 && digits(date, 8) && digits(time, 6) && end.len() == 6 && is_id(text)
}

/// When an id was made, where it is one that [`new_id`] made.
pub fn made_at(id: &str) -> Option<Time> {
    if !is_made_id(id) {
        return None;
    }
    let (date, time) = id[2..].split_once('-')?;
    parse_ts(&format!("{date}T{}Z", &time[..6]))
}

/// Why a text isn't a department's name.
#[derive(Debug, PartialEq, Eq)]
pub struct NotADepartment(pub String);

impl fmt::Display for NotADepartment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = super::text::one_line(&self.0, 80);
        write!(f, "`{shown}` is not a department name: use a-z, 0-9 and -, at most 63, not first a -")
    }
}

/// A department's name: `[a-z0-9][a-z0-9-]{0,62}`, and so never a path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Dept(String);

impl Dept {
    pub fn parse(text: &str) -> Result<Dept, NotADepartment> {
        let ok = (1..=63).contains(&text.len())
            && !text.starts_with('-')
            && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
        if ok { Ok(Dept(text.to_string())) } else { Err(NotADepartment(text.to_string())) }
    }

    /// The name that a text comes nearest to as it stands: `Sales & Co` would be `sales-co`.
    pub fn suggest(text: &str) -> Option<Dept> {
        let lower = text.to_lowercase();
        let words: Vec<&str> =
            lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
        Dept::parse(super::text::cut(&words.join("-"), 63).0.trim_end_matches('-')).ok()
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Dept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl serde::Serialize for Dept {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

/// The one candidate that a part of an id's end names.
#[derive(Debug, PartialEq, Eq)]
pub enum Match {
    One(String),
    None,
    Many(Vec<String>),
}

/// Finds what `wanted` names: the id itself, else the only one that ends in it.
pub fn match_id<'a>(wanted: &str, candidates: impl Iterator<Item = &'a str>) -> Match {
    let mut found: Vec<String> = Vec::new();
    for candidate in candidates {
        if candidate == wanted {
            return Match::One(wanted.to_string());
        }
        if !wanted.is_empty() && candidate.ends_with(wanted) && !found.iter().any(|id| id == candidate) {
            found.push(candidate.to_string());
        }
    }
    match found.len() {
        0 => Match::None,
        1 => Match::One(found.remove(0)),
        _ => Match::Many(found),
    }
}

/// The known name nearest to a mistyped one.
pub fn nearest<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|name| (strsim::jaro_winkler(&wanted.to_lowercase(), &name.to_lowercase()), name))
        .filter(|(score, _)| *score > 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::time::parse_rfc3339;

    #[test]
    fn ids_read_and_sort_by_time() {
        let now = parse_rfc3339("2026-11-18T00:42:01Z").unwrap();
        assert_eq!(new_id(IdKind::Message, now, &[7, 15, 3, 18, 2, 22]), "m-20261118-004201-7f3j2p");
        let first = derived_id(IdKind::Message, now, "r-1/1/0");
        assert_eq!(first, derived_id(IdKind::Message, now, "r-1/1/0"));
        assert_ne!(first, derived_id(IdKind::Message, now, "r-1/1/1"));
    }

    #[test]
    fn ids_are_file_names_and_never_paths() {
        for good in ["m-20261118-004201-7f3k2q", "hello", "Note.2", "a_b"] {
            assert!(is_id(good), "{good}");
        }
        for bad in ["", ".x", "../x", "a/b", "a b", "a..b", "-x", "é", &"a".repeat(97)] {
            assert!(!is_id(bad), "{bad}");
        }
    }

    #[test]
    fn copies_of_other_programs_are_told_by_their_names() {
        for left in [
            ".x.md",
            ".note.md.swp",
            ".DS_Store",
            ".#note.md",
            "note.md~",
            "~$note.md",
            "#note.md#",
            "note.bak",
            "note.md.BAK",
            "note.tmp",
            "note.md.part",
        ] {
            assert!(is_leftover(left), "{left}");
        }
        for kept in ["note.md", "note", "#1.md", "a#", "bak", "tmp.md", "m-20261118-004201-7f3k2q.md", "#"] {
            assert!(!is_leftover(kept), "{kept}");
        }
    }

    #[test]
    fn made_ids_are_told_from_names() {
        assert!(is_made_id("m-20261118-004201-7f3k2q"));
        for name in ["todo", "m-2026-11-18", "m-20261118-004201-7f3k2", "m-20261118-004201-7f3k2q-2", ""] {
            assert!(!is_made_id(name), "{name}");
        }
    }

    #[test]
    fn a_made_id_tells_when() {
        let at = made_at("m-20261118-004201-7f3k2q").map(super::super::time::render_rfc3339);
        assert_eq!(at.as_deref(), Some("2026-11-18T00:42:01Z"));
        for none in ["todo", "m-20261318-004201-7f3k2q", "m-20261118-996201-7f3k2q"] {
            assert_eq!(made_at(none), None, "{none}");
        }
    }

    #[test]
    fn departments_are_slugs() {
        for good in ["business", "r-d", "0", &"a".repeat(63)] {
            assert!(Dept::parse(good).is_ok(), "{good}");
        }
        for bad in ["", "-a", "A", "a/b", "..", "a b", "é", &"a".repeat(64), "a\n"] {
            assert!(Dept::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn names_that_are_none_have_one_that_is_near() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(Dept::suggest(text).as_ref().map(Dept::as_str), expected, "{text}");
        };
        check("Sales & Co", Some("sales-co"));
        check("BUSINESS", Some("business"));
        check("../etc", Some("etc"));
        check(&"a-".repeat(60), Some("a-".repeat(32).trim_end_matches('-')));
        check("é", None);
        check("", None);
    }

    #[test]
    fn an_ending_names_one_id_or_none() {
        let ids = ["m-1-aaa", "m-2-bba", "t-1-aaa"];
        let check = |wanted: &str, found: Match| assert_eq!(match_id(wanted, ids.into_iter()), found);
        check("bba", Match::One("m-2-bba".into()));
        check("m-1-aaa", Match::One("m-1-aaa".into()));
        check("aaa", Match::Many(vec!["m-1-aaa".into(), "t-1-aaa".into()]));
        check("zzz", Match::None);
        check("", Match::None);
    }

    #[test]
    fn the_nearest_name_is_near() {
        assert_eq!(nearest("busines", ["business", "rd"]), Some("business"));
        assert_eq!(nearest("directive", ["Directive", "Decision"]), Some("Directive"));
        assert_eq!(nearest("zzz", ["business", "rd"]), None);
    }
}
