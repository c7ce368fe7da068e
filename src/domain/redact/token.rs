//! Tokens that are known by their look: a prefix that an issuer gives them, a JSON web token, `Bearer` and a token.
//!
//! Lengths are the shortest in use or a little less. Where a prefix is also an ordinary start of a word (`sk-learn`),
//! the rest must be dense: 16 letters and digits in a row, of at least two of small, capital and digit.

use super::{SecretKind, Span};

/// How far a token is looked at before it is known to be one; what follows belongs to it without being judged.
const JUDGED_BYTES: usize = 96;
const DENSE_RUN: usize = 16;
const SHORTEST_BEARER: usize = 16;
const SHORTEST_JWT_PART: usize = 10;

struct Shape {
    prefix: &'static str,
    kind: SecretKind,
    length: Length,
    has: fn(u8) -> bool,
}

#[derive(Clone, Copy)]
enum Length {
    AtLeast(usize),
    Exactly(usize),
    DenseAtLeast(usize),
}

const fn shape(prefix: &'static str, kind: SecretKind, length: Length, has: fn(u8) -> bool) -> Shape {
    Shape { prefix, kind, length, has }
}

/// A prefix stands ahead of any that is its start.
const SHAPES: [Shape; 32] = [
    shape("sk-ant-", SecretKind::Anthropic, Length::AtLeast(16), is_dashed),
    shape("sk-proj-", SecretKind::OpenAi, Length::AtLeast(16), is_dashed),
    shape("sk-svcacct-", SecretKind::OpenAi, Length::AtLeast(16), is_dashed),
    shape("sk-", SecretKind::OpenAi, Length::DenseAtLeast(20), is_dashed),
    shape("ghp_", SecretKind::Github, Length::AtLeast(20), is_name),
    shape("gho_", SecretKind::Github, Length::AtLeast(20), is_name),
    shape("ghu_", SecretKind::Github, Length::AtLeast(20), is_dotted),
    shape("ghs_", SecretKind::Github, Length::AtLeast(20), is_dotted),
    shape("ghr_", SecretKind::Github, Length::AtLeast(20), is_name),
    shape("github_pat_", SecretKind::Github, Length::AtLeast(20), is_name),
    shape("glpat-", SecretKind::Gitlab, Length::AtLeast(20), is_dotted),
    shape("gldt-", SecretKind::Gitlab, Length::AtLeast(20), is_dashed),
    shape("glrt-", SecretKind::Gitlab, Length::AtLeast(20), is_dotted),
    shape("AKIA", SecretKind::Aws, Length::Exactly(16), is_capital),
    shape("ASIA", SecretKind::Aws, Length::Exactly(16), is_capital),
    shape("AIza", SecretKind::Google, Length::AtLeast(35), is_dashed),
    shape("GOCSPX-", SecretKind::Google, Length::AtLeast(24), is_dashed),
    shape("ya29.", SecretKind::Google, Length::DenseAtLeast(32), is_dotted),
    shape("xoxa-", SecretKind::Slack, Length::AtLeast(16), is_dashed),
    shape("xoxb-", SecretKind::Slack, Length::AtLeast(16), is_dashed),
    shape("xoxe-", SecretKind::Slack, Length::AtLeast(16), is_dashed),
    shape("xoxp-", SecretKind::Slack, Length::AtLeast(16), is_dashed),
    shape("xoxr-", SecretKind::Slack, Length::AtLeast(16), is_dashed),
    shape("xoxs-", SecretKind::Slack, Length::AtLeast(16), is_dashed),
    shape("xapp-", SecretKind::Slack, Length::AtLeast(16), is_dashed),
    shape("sk_live_", SecretKind::Stripe, Length::AtLeast(16), is_name),
    shape("rk_live_", SecretKind::Stripe, Length::AtLeast(16), is_name),
    shape("sk_test_", SecretKind::Stripe, Length::AtLeast(16), is_name),
    shape("rk_test_", SecretKind::Stripe, Length::AtLeast(16), is_name),
    shape("whsec_", SecretKind::Stripe, Length::AtLeast(24), is_base64),
    shape("npm_", SecretKind::Npm, Length::AtLeast(30), is_alphanumeric),
    shape("pypi-", SecretKind::Pypi, Length::DenseAtLeast(32), is_dashed),
];

/// The token that begins at the start of a word.
pub(super) fn find_at(text: &str, start: usize) -> Option<Span> {
    let word = &text.as_bytes()[start..];
    let (skip, length, kind) = find_shape(word).or_else(|| find_bearer(word)).or_else(|| {
        // A header is read to its end: once a run of its characters, or many `eyJ-` would take quadratic time.
        let is_run_start = start == 0 || !is_dashed(text.as_bytes()[start - 1]);
        if is_run_start { find_jwt(word) } else { None }
    })?;
    Some(Span { start: start + skip, end: start + skip + length, kind })
}

/// How much of the start is a credential: no space, quote or bracket in it.
pub(super) fn is_credential(byte: u8) -> bool {
    is_dotted(byte) || b"~+/=".contains(&byte)
}

/// Whether the start has a digit and a letter, as what was made by chance has and few words do.
pub(super) fn is_mixed(bytes: &[u8]) -> bool {
    let judged = &bytes[..bytes.len().min(JUDGED_BYTES)];
    judged.iter().any(u8::is_ascii_digit) && judged.iter().any(u8::is_ascii_alphabetic)
}

impl Shape {
    /// How long the token at the start of `word` is.
    fn measure(&self, word: &[u8]) -> Option<usize> {
        let body = word.strip_prefix(self.prefix.as_bytes())?;
        let judged = run(&body[..body.len().min(JUDGED_BYTES)], self.has);
        let fits = match self.length {
            Length::AtLeast(length) => judged >= length,
            Length::Exactly(length) => {
                judged == length && !body.get(length).is_some_and(u8::is_ascii_alphanumeric)
            }
            Length::DenseAtLeast(length) => judged >= length && is_dense(&body[..judged]),
        };
        fits.then(|| without_stops(&word[..self.prefix.len() + run(body, self.has)]))
    }
}

fn is_dense(body: &[u8]) -> bool {
    body.split(|b| !b.is_ascii_alphanumeric()).filter(|part| part.len() >= DENSE_RUN).any(|part| {
        let kinds: [fn(&u8) -> bool; 3] =
            [u8::is_ascii_digit, u8::is_ascii_lowercase, u8::is_ascii_uppercase];
        kinds.into_iter().filter(|&kind| part.iter().any(kind)).count() > 1
    })
}

/// Where a token starts in `word`, how long it is, and what.
type Found = (usize, usize, SecretKind);

fn find_shape(word: &[u8]) -> Option<Found> {
    SHAPES.iter().find_map(|shape| Some((0, shape.measure(word)?, shape.kind)))
}

/// Header, payload and signature, each base64 without padding; a header is JSON, so it begins with `{"`.
fn find_jwt(word: &[u8]) -> Option<Found> {
    if !word.starts_with(b"eyJ") {
        return None;
    }
    let header = run(word, is_dashed);
    let rest = word[header..].strip_prefix(b".")?;
    let payload = run(rest, is_dashed);
    let is_signed = rest.get(payload) == Some(&b'.');
    if header < SHORTEST_JWT_PART || payload < SHORTEST_JWT_PART || !(is_signed || rest.starts_with(b"eyJ")) {
        return None;
    }
    Some((0, without_stops(&word[..run(word, is_dotted)]), SecretKind::Jwt))
}

fn find_bearer(word: &[u8]) -> Option<Found> {
    const BEARER: &[u8] = b"bearer ";
    let scheme = word.get(..BEARER.len())?;
    let token = &word[BEARER.len()..];
    if !scheme.eq_ignore_ascii_case(BEARER) {
        return None;
    }
    let judged = run(&token[..token.len().min(JUDGED_BYTES)], is_credential);
    let is_token = judged >= SHORTEST_BEARER && is_mixed(&token[..judged]);
    is_token.then(|| (BEARER.len(), run(token, is_credential), SecretKind::Authorization))
}

/// The length without full stops at the end, which belong to the sentence.
fn without_stops(token: &[u8]) -> usize {
    token.len() - token.iter().rev().take_while(|&&b| b == b'.').count()
}

fn run(bytes: &[u8], has: fn(u8) -> bool) -> usize {
    bytes.iter().take_while(|&&byte| has(byte)).count()
}

fn is_alphanumeric(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

fn is_capital(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit()
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/=".contains(&byte)
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn is_dashed(byte: u8) -> bool {
    is_name(byte) || byte == b'-'
}

fn is_dotted(byte: u8) -> bool {
    is_dashed(byte) || byte == b'.'
}
