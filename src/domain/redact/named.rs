//! Secrets that are known by what stands before them: a name that says so, `Authorization`, or a user in a URL.
//!
//! ```text
//! name ("=" | ":") [quote] value        API_KEY=..., "client_secret": "...", password := '...'
//! "Authorization" ":" scheme value      and with "="; only the value is masked
//! "://" user ":" password "@"           only the password is masked
//! ```
//!
//! A loud name has no small letter and ends in `_KEY`, `_TOKEN`, `_SECRET` or `PASSWORD`: any value of 12 characters or
//! more is a secret. A quiet one is the same in small letters, also as `apiKey` or `x-api-key`: its value must have a
//! digit and a letter, since prose and code are full of `sort_key: something`. Values that refer to a secret instead of
//! being one stay: `$NAME`, `<your key>`, paths, calls, ids, masks.

use super::token::{self, is_credential, is_mixed};
use super::{MASK_START, SecretKind, Span};

const LONGEST_NAME: usize = 64;
const MOST_SPACES: usize = 4;
const SHORTEST_VALUE: usize = 12;
const AWS_SECRET: usize = 40;
const SHORTEST_CREDENTIAL: usize = 8;
/// How far a value is looked at before it is known to be a secret.
const JUDGED_BYTES: usize = 128;
const LONGEST_AUTHORITY: usize = 512;

const LOUD: [&str; 5] = ["_KEY", "_TOKEN", "_SECRET", "PASSWORD", "PASSWD"];
const QUIET: [&str; 9] =
    ["_key", "_token", "_secret", "password", "passwd", "passphrase", "apikey", "accesskey", "secretkey"];
const QUIET_WHOLE: [&str; 6] =
    ["token", "secret", "accesstoken", "refreshtoken", "sessiontoken", "clientsecret"];
const PASSWORDS: [&str; 3] = ["password", "passwd", "passphrase"];
const HARMLESS: [&str; 8] = [
    "public_key",
    "primary_key",
    "foreign_key",
    "cache_key",
    "sort_key",
    "partition_key",
    "idempotency_key",
    "unique_key",
];
const SCHEMES: [&str; 4] = ["bearer ", "basic ", "token ", "apikey "];

/// The secret after the `=` or `:` at `at`.
pub(super) fn find_after(text: &str, at: usize) -> Option<Span> {
    if text[at..].starts_with("://") {
        return find_url_password(text, at + "://".len());
    }
    // The tool's own mask has the look of a named value, and `a::b` is a path in code.
    if text[..=at].ends_with(MASK_START) || text[at..].starts_with("::") {
        return None;
    }
    let name = Name::parse(name_before(text, at))?;
    let value = Value::parse(text, at + 1);
    if name.class == Class::Authorization {
        return find_credential(text, value.start);
    }
    if !name.makes_secret(&value) {
        return None;
    }
    let kind = match token::find_at(text, value.start) {
        Some(span) if span.start == value.start => span.kind,
        _ if name.is_aws() => SecretKind::Aws,
        _ => SecretKind::Named,
    };
    Some(Span { start: value.start, end: value.end(text), kind })
}

/// The word before a separator, without quotes and spaces between the two.
fn name_before(text: &str, at: usize) -> &str {
    let bytes = &text.as_bytes()[..at];
    let is_gap = |b: &&u8| matches!(**b, b' ' | b'"' | b'\'' | b'`' | b'\\');
    let end = at - bytes.iter().rev().take(MOST_SPACES).take_while(is_gap).count();
    let is_name = |b: &&u8| b.is_ascii_alphanumeric() || matches!(**b, b'_' | b'-');
    let length = bytes[..end].iter().rev().take(LONGEST_NAME).take_while(is_name).count();
    &text[end - length..end]
}

#[derive(PartialEq)]
enum Class {
    Loud,
    Quiet,
    Authorization,
}

struct Name {
    /// In small letters, with `_` for `-`.
    plain: String,
    class: Class,
}

impl Name {
    fn parse(word: &str) -> Option<Name> {
        let plain = word.to_ascii_lowercase().replace('-', "_");
        let ends = |list: &[&str]| list.iter().any(|end| plain.ends_with(end));
        let class = if ends(&HARMLESS) {
            return None;
        } else if plain.ends_with("authorization") {
            Class::Authorization
        } else if LOUD.iter().any(|end| word.ends_with(end))
            && !word.contains(|c: char| c.is_ascii_lowercase())
        {
            Class::Loud
        } else if ends(&QUIET) || QUIET_WHOLE.contains(&plain.as_str()) {
            Class::Quiet
        } else {
            return None;
        };
        Some(Name { plain, class })
    }

    fn is_aws(&self) -> bool {
        self.plain.contains("aws") || self.plain == "secretaccesskey"
    }

    fn makes_secret(&self, value: &Value<'_>) -> bool {
        let is_path = value.is_path() && !(self.is_aws() && value.judged.len() == AWS_SECRET);
        if value.judged.len() < SHORTEST_VALUE || value.is_reference() || is_path {
            return false;
        }
        let is_password = PASSWORDS.iter().any(|end| self.plain.ends_with(end));
        self.class == Class::Loud || is_password && value.is_tight || value.is_random()
    }
}

/// What stands after a separator, looked at no further than [`JUDGED_BYTES`].
struct Value<'a> {
    start: usize,
    judged: &'a str,
    quote: Option<char>,
    /// No space between separator and value: an assignment in a shell, or a quoted one.
    is_tight: bool,
}

impl<'a> Value<'a> {
    /// Reads from right after the separator, over the rest of `:=` and `=>`, spaces, and a quote.
    fn parse(text: &'a str, after: usize) -> Value<'a> {
        let rest = text[after..].strip_prefix(['=', '>']).unwrap_or(&text[after..]);
        let spaces = rest.bytes().take(MOST_SPACES).take_while(|&b| b == b' ' || b == b'\t').count();
        let rest = &rest[spaces..];
        let unescaped = rest.strip_prefix('\\').filter(|rest| rest.starts_with('"')).unwrap_or(rest);
        let quote = unescaped.chars().next().filter(|c| matches!(c, '"' | '\'' | '`'));
        let value = if quote.is_some() { &unescaped[1..] } else { rest };
        let window = &value[..value.floor_char_boundary(JUDGED_BYTES)];
        let is_tight = quote.is_some() || spaces == 0;
        Value {
            start: text.len() - value.len(),
            judged: &window[..value_end(window, quote)],
            quote,
            is_tight,
        }
    }

    fn end(&self, text: &str) -> usize {
        let value = &text[self.start..];
        let length = value_end(value, self.quote);
        let stops: &[char] = if self.quote.is_some() { &[] } else { &[',', ';', '.', ')', ']', '}'] };
        self.start + value[..length].trim_end_matches(stops).len().max(1)
    }

    /// It names a secret, a place or an item, and is none itself.
    fn is_reference(&self) -> bool {
        let value = self.judged;
        let variable = value.strip_prefix('$').is_some_and(|name| {
            name.starts_with(['{', '('])
                || name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
        });
        let word = value.bytes().take_while(|&b| b.is_ascii_alphanumeric() || b"_.:".contains(&b)).count();
        let is_code = word > 0 && value[word..].starts_with('(') || value[..word].contains("::");
        let mark =
            ["<", "{{", "%(", "***", "...", "sha256:", MASK_START].iter().any(|mark| value.starts_with(mark));
        variable || is_code || mark || is_own_id(value)
    }

    fn is_path(&self) -> bool {
        ["/", "./", "../", "~/"].iter().any(|start| self.judged.starts_with(start))
    }

    fn is_random(&self) -> bool {
        let is_file = self.judged.contains('/') && self.judged.contains('.');
        !is_file && is_mixed(self.judged.as_bytes()) && self.judged.bytes().all(|b| b.is_ascii_graphic())
    }
}

/// Where a value ends: at its quote, or at a space or any quote; at a line break, also one written out as in JSON.
fn value_end(value: &str, quote: Option<char>) -> usize {
    let bytes = value.as_bytes();
    let ends = |at: usize| match (bytes[at], quote) {
        (b'\n' | b'\r', _) => true,
        (b'\\', _) => bytes.get(at + 1).is_some_and(|next| b"nrt\"".contains(next)),
        (byte, Some(quote)) => char::from(byte) == quote,
        (byte, None) => byte.is_ascii_whitespace() || b"\"'`".contains(&byte),
    };
    (0..bytes.len()).find(|&at| ends(at)).unwrap_or(bytes.len())
}

/// `m-20261118-004201-7f3k2q`
fn is_own_id(value: &str) -> bool {
    let parts: Vec<&str> = value.trim_end_matches([',', '.', ';', ')']).splitn(5, '-').collect();
    let is_number = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    matches!(parts[..], [kind, day, time, end]
        if kind.len() == 1 && day.len() == 8 && is_number(day) && time.len() == 6 && is_number(time) && end.len() == 6)
}

/// What follows a scheme such as `Bearer`, from where the value of `Authorization` starts.
fn find_credential(text: &str, start: usize) -> Option<Span> {
    let value = &text[start..];
    let is_scheme =
        |scheme: &&&str| value.get(..scheme.len()).is_some_and(|word| word.eq_ignore_ascii_case(scheme));
    let start = start + SCHEMES.iter().find(is_scheme)?.len();
    let credential = text.as_bytes()[start..].iter().take_while(|&&b| is_credential(b)).count();
    let judged = &text.as_bytes()[start..start + credential];
    let is_secret = credential >= SHORTEST_CREDENTIAL && is_mixed(judged) || credential >= SHORTEST_VALUE;
    is_secret.then_some(Span { start, end: start + credential, kind: SecretKind::Authorization })
}

fn find_url_password(text: &str, start: usize) -> Option<Span> {
    let rest = &text[start..];
    let window = &rest[..rest.floor_char_boundary(LONGEST_AUTHORITY)];
    let end = window.find(|c: char| c.is_whitespace() || "/?#\"'`<>\\".contains(c)).unwrap_or(window.len());
    let at = window[..end].rfind('@')?;
    let colon = window[..at].find(':')?;
    let password = &window[colon + 1..at];
    let is_reference =
        password.is_empty() || password.starts_with(['$', '{', '*']) || password.starts_with(MASK_START);
    (!is_reference).then_some(Span { start: start + colon + 1, end: start + at, kind: SecretKind::Url })
}
