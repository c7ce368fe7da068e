//! Finds what looks like a secret, and masks it as `[secret:github]` before it is written down.
//!
//! It knows the shapes of well-known tokens and the values it is given. It can't know a secret without a shape, a name
//! or a value, nor one that was encoded or split; and it reads no environment: values are handed in. Everything is one
//! pass over the text, with bounded looks ahead and back, so that hostile text can't slow it down.
//!
//! What counts, each in its own file:
//!
//! - a value of a named environment variable, of 8 characters or more, as it is or as JSON would write it;
//! - a token with a known prefix, a JSON web token, `Bearer` and a token (`token.rs`); a private key (`pem.rs`);
//! - a value after a name that says secret, and the password in a URL (`named.rs`).
//!
//! What must stay readable: prose, ids such as `m-20261118-004201-7f3k2q`, digests, UUIDs, paths, and masks.

mod named;
mod pem;
mod token;

use std::borrow::Cow;
use std::fmt;

const SHORTEST_VALUE: usize = 8;
/// How far back a secret of several lines is waited for.
const HELD_MAX: usize = 16 * 1024;
const MASK_START: &str = "[secret:";

/// What a secret was recognised as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecretKind {
    Anthropic,
    Authorization,
    Aws,
    Environment,
    Github,
    Gitlab,
    Google,
    Jwt,
    Named,
    Npm,
    OpenAi,
    PrivateKey,
    Pypi,
    Slack,
    Stripe,
    Url,
}

impl SecretKind {
    /// The word in the mask.
    pub fn label(self) -> &'static str {
        match self {
            SecretKind::Anthropic => "anthropic",
            SecretKind::Authorization => "authorization",
            SecretKind::Aws => "aws",
            SecretKind::Environment => "env",
            SecretKind::Github => "github",
            SecretKind::Gitlab => "gitlab",
            SecretKind::Google => "google",
            SecretKind::Jwt => "jwt",
            SecretKind::Named => "named",
            SecretKind::Npm => "npm",
            SecretKind::OpenAi => "openai",
            SecretKind::PrivateKey => "private-key",
            SecretKind::Pypi => "pypi",
            SecretKind::Slack => "slack",
            SecretKind::Stripe => "stripe",
            SecretKind::Url => "url",
        }
    }
}

impl fmt::Display for SecretKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label())
    }
}

/// A secret's place in a text.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Span {
    start: usize,
    end: usize,
    kind: SecretKind,
}

/// Masks secrets of known shape, and the values it was given.
#[derive(Clone)]
pub struct Redactor {
    values: Vec<String>,
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Redactor({} values)", self.values.len())
    }
}

impl Redactor {
    /// `secret_values` are the values of the environment variables that engines name; short ones are left alone.
    pub fn new(secret_values: &[String]) -> Redactor {
        let mut values: Vec<String> = Vec::new();
        for value in secret_values.iter().map(|value| value.trim()) {
            if value.chars().count() >= SHORTEST_VALUE {
                values.push(value.to_owned());
                values.push(json_form(value));
            }
        }
        values.sort();
        values.dedup();
        Redactor { values }
    }

    /// The text with every secret replaced by its mask.
    pub fn mask<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match replace(text, &self.value_spans(text)) {
            None => replace(text, &shape_spans(text)).map_or(Cow::Borrowed(text), Cow::Owned),
            Some(masked) => Cow::Owned(replace(&masked, &shape_spans(&masked)).unwrap_or(masked)),
        }
    }

    /// How much of a text that still grows can be masked by itself: whole lines, and no secret that has only begun.
    pub fn settled(&self, text: &str) -> usize {
        let line_start = |end: usize| text[..end].rfind('\n').map_or(0, |at| at + 1);
        let whole = line_start(text.len());
        let held = &text[text.floor_char_boundary(whole.saturating_sub(HELD_MAX))..whole];
        let key = pem::find_open(held).map(|at| whole - held.len() + at);
        let begun = self.values.iter().flat_map(|value| {
            let breaks = value.match_indices('\n').map(|(at, _)| &value[..=at]);
            breaks.filter(|start| text[..whole].ends_with(*start)).map(|start| whole - start.len())
        });
        begun.chain(key).map(line_start).min().unwrap_or(whole)
    }

    /// What the text's secret looks like, where it has one.
    pub fn find(&self, text: &str) -> Option<SecretKind> {
        if self.values.iter().any(|value| text.contains(value)) {
            return Some(SecretKind::Environment);
        }
        find_secret(text, 0).map(|span| span.kind)
    }

    /// Where the values stand, in order; values that overlap are one.
    fn value_spans(&self, text: &str) -> Vec<Span> {
        let hits = self.values.iter().flat_map(|value| text.match_indices(value));
        let mut spans: Vec<Span> = hits
            .map(|(start, value)| Span { start, end: start + value.len(), kind: SecretKind::Environment })
            .collect();
        spans.sort_by_key(|span| span.start);
        spans.dedup_by(|next, span| {
            let overlaps = next.start < span.end;
            if overlaps {
                span.end = span.end.max(next.end);
            }
            overlaps
        });
        spans
    }
}

fn json_form(value: &str) -> String {
    let quoted = serde_json::Value::from(value).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

fn shape_spans(text: &str) -> Vec<Span> {
    let mut from = 0;
    std::iter::from_fn(|| {
        let span = find_secret(text, from)?;
        from = span.end;
        Some(span)
    })
    .collect()
}

/// The first secret of known shape that begins at or after `from`, the start of the text or the end of a secret.
fn find_secret(text: &str, from: usize) -> Option<Span> {
    let bytes = text.as_bytes();
    (from..bytes.len()).find_map(|at| match bytes[at] {
        b'=' | b':' => named::find_after(text, at),
        b'-' => pem::find_at(text, at),
        b'A'..=b'Z' | b'a'..=b'z' if at == from || !bytes[at - 1].is_ascii_alphanumeric() => {
            token::find_at(text, at)
        }
        _ => None,
    })
}

fn replace(text: &str, spans: &[Span]) -> Option<String> {
    let last = spans.last()?;
    let mut masked = String::with_capacity(text.len());
    let mut copied = 0;
    for span in spans {
        masked.push_str(&text[copied..span.start]);
        masked.push_str(MASK_START);
        masked.push_str(span.kind.label());
        masked.push(']');
        copied = span.end;
    }
    masked.push_str(&text[last.end..]);
    Some(masked)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const BODY: &str = "Ab3dEf6hIj9lMn2pQr5tUv8xYz1bCd4fGh7jKl0n";

    fn check(input: &str, expected: &str) {
        let redactor =
            Redactor::new(&["correct-horse".to_owned(), "two\n\"lines\"".to_owned(), "short".to_owned()]);
        assert_eq!(redactor.mask(input), expected, "{input}");
        assert_eq!(redactor.find(input).is_some(), input != expected, "{input}");
    }

    #[test]
    fn a_growing_text_is_settled_up_to_what_may_go_on() {
        let redactor = Redactor::new(&["two\n\"lines\"".to_owned()]);
        let check =
            |text: &str, settled: &str| assert_eq!(&text[..redactor.settled(text)], settled, "{text}");
        check("", "");
        check("a line\nand half", "a line\n");
        check("a\nsay two\n", "a\n");
        check("a\nsay two\n\"lines\" \n", "a\nsay two\n\"lines\" \n");
        check("a\n-----BEGIN PRIVATE KEY-----\n", "a\n");
        let long = format!("-----BEGIN PRIVATE KEY-----\n{}", format!("{BODY}\n").repeat(1_000));
        check(&long, &long);
    }

    /// Tokens are put together here, so that no scanner takes this file for a leak.
    fn check_token(prefix: &str, kind: &str) {
        check(&format!("use {prefix}{BODY}, please"), &format!("use [secret:{kind}], please"));
        check(&format!("\"{prefix}{BODY}\""), &format!("\"[secret:{kind}]\""));
        check(&format!("x-{prefix}{BODY}."), &format!("x-[secret:{kind}]."));
    }

    #[test]
    fn tokens_with_a_known_prefix() {
        for (kind, prefixes) in [
            ("anthropic", &["sk-ant-", "sk-ant-api03-"][..]),
            ("openai", &["sk-", "sk-proj-", "sk-svcacct-"]),
            ("github", &["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"]),
            ("gitlab", &["glpat-"]),
            ("google", &["AIza", "GOCSPX-"]),
            ("slack", &["xoxa-", "xoxb-", "xoxp-", "xoxr-", "xoxs-"]),
            ("stripe", &["sk_live_", "rk_live_"]),
            ("npm", &["npm_"]),
            ("pypi", &["pypi-"]),
        ] {
            prefixes.iter().for_each(|prefix| check_token(prefix, kind));
        }
    }

    #[test]
    fn keys_of_aws() {
        check("id AKIAIOSFODNN7EXAMPLE", "id [secret:aws]");
        check("id ASIAIOSFODNN7EXAMPLE;", "id [secret:aws];");
        check(&format!("aws_secret_access_key = {BODY}"), "aws_secret_access_key = [secret:aws]");
        check(&format!("\"SecretAccessKey\": \"/{}\"", &BODY[1..]), "\"SecretAccessKey\": \"[secret:aws]\"");
        check("AKIAIOSFODNN7EXAMPLEX and AKIA", "AKIAIOSFODNN7EXAMPLEX and AKIA");
    }

    #[test]
    fn web_tokens_and_credentials() {
        let jwt = format!("eyJ{BODY}.eyJ{BODY}.{BODY}");
        check(&format!("got {jwt}."), "got [secret:jwt].");
        check(
            &format!("Authorization: Bearer {jwt}\nHost: x"),
            "Authorization: Bearer [secret:authorization]\nHost: x",
        );
        check(
            "{\"authorization\":\"Basic dXNlcjpwYXNz\"}",
            "{\"authorization\":\"Basic [secret:authorization]\"}",
        );
        check(&format!("curl -H 'bearer {BODY}'"), "curl -H 'bearer [secret:authorization]'");
        check("postgres://app:s3cret@db:5432/x", "postgres://app:[secret:url]@db:5432/x");
    }

    #[test]
    fn values_with_a_name() {
        check("export MY_API_KEY=abcdefghijkl", "export MY_API_KEY=[secret:named]");
        check("DB_PASSWORD=\"correct horse, battery\" x", "DB_PASSWORD=\"[secret:named]\" x");
        check("STRIPE_SECRET: abcdefghijkl, next", "STRIPE_SECRET: [secret:named], next");
        check("{\"client_secret\": \"abc123def456\"}", "{\"client_secret\": \"[secret:named]\"}");
        check("X-Api-Key: abc123def456", "X-Api-Key: [secret:named]");
        check("password=hunterhunter", "password=[secret:named]");
        check("{\\\"token\\\": \\\"abc123def456\\\"}", "{\\\"token\\\": \\\"[secret:named]\\\"}");
        check("MY_TOKEN=abcdefghijkl\\nnext", "MY_TOKEN=[secret:named]\\nnext");
        check(&format!("GH_TOKEN=ghp_{BODY}"), "GH_TOKEN=[secret:github]");
    }

    #[test]
    fn values_that_were_handed_in() {
        check("it is correct-horse!", "it is [secret:env]!");
        check("correct-horsecorrect-horse", "[secret:env][secret:env]");
        check("{\"a\": \"two\\n\\\"lines\\\"\"}", "{\"a\": \"[secret:env]\"}");
        check("this is short", "this is short");
        let overlapping =
            Redactor::new(&["abcdefgh".to_owned(), "efghijkl".to_owned(), "cdefghij".to_owned()]);
        assert_eq!(overlapping.mask("<abcdefghijkl>"), "<[secret:env]>");
        assert_eq!(format!("{overlapping:?}"), "Redactor(3 values)");
    }

    #[test]
    fn private_keys() {
        let key = format!("-----BEGIN OPENSSH PRIVATE KEY-----\n{BODY}\n-----END OPENSSH PRIVATE KEY-----");
        check(&format!("a\n{key}\nb"), "a\n[secret:private-key]\nb");
    }

    #[test]
    fn ordinary_text_stays() {
        for text in [
            "The password is in the vault; the token expires on Monday. Secret: none.",
            "ref m-20261118-004201-7f3k2q, session_token: m-20261118-004201-7f3k2q.",
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
            "550e8400-e29b-41d4-a716-446655440000 sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934c",
            "/home/me/projects/sk-learn-2024-comparison/src/npm_config_registry/main.rs",
            "API_KEY=$MY_API_KEY TOKEN_FILE=/run/secrets/token SSH_KEY=/home/me/.ssh/id_ed25519 DB_PASSWORD=${PASSWORD}",
            "MY_API_KEY=<your key here> GH_TOKEN=[secret:github] the_key = env::var(\"X\")",
            "pub Password: super::Win32::UnicodeString, sort_key: created_at_2024 and public_key=abc123def456ghi789, cache_key::Version2Stable",
            "git@github.com:a/b.git https://example.com:8080/a@b?key=1 ssh://git@host:22/x http://u:$PASS@h",
            "Authorization: Bearer <token>; Authorization: required; the bearer of this letter",
            "input_tokens: 123456789012, \"max_tokens\": 4096, eyJ and sk-ant-... and ghp_xxx",
            "NEXT_WORKER_CEO_MODE m-1: reason = \"at least 10 characters\"",
        ] {
            check(text, text);
        }
    }

    #[test]
    fn hostile_text_takes_linear_time() {
        const LIMIT: std::time::Duration = std::time::Duration::from_secs(20);
        let redactor = Redactor::new(&["aaaaaaaaaaaaaaab".to_owned()]);
        let started = std::time::Instant::now();
        for piece in [
            "sk-",
            "eyJ-",
            "a_key:",
            "a_key=\"",
            "://",
            "-----BEGIN PRIVATE KEY-----Version: ",
            "bearer ",
            "a",
        ] {
            redactor.mask(&piece.repeat(100_000 / piece.len()));
        }
        assert!(started.elapsed() < LIMIT, "{:?}", started.elapsed());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn nothing_is_found_in_what_was_masked(
            pieces in prop::collection::vec(
                "[ \n\"'=:,.@é\\\\-]{0,2}|(API_KEY|password|token|Authorization: Bearer |https://u:|sk-|ghp_|AKIA|eyJ)|[a-zA-Z0-9]{1,40}|abcdefgh",
                0..12,
            )
        ) {
            let redactor = Redactor::new(&["abcdefgh".to_owned()]);
            let text = pieces.concat();
            let masked = redactor.mask(&text);
            prop_assert_eq!(redactor.find(&masked), None, "{} -> {}", text, masked);
        }

        #[test]
        fn a_token_is_masked_wherever_it_stands(before in "[^a-zA-Z0-9]{0,10}", after in "[^a-zA-Z0-9_]{0,10}") {
            let token = format!("ghp_{BODY}");
            let masked = Redactor::new(&[]).mask(&format!("{before}{token}{after}")).into_owned();
            prop_assert!(!masked.contains(&token) && masked.contains("[secret:"), "{}", masked);
        }
    }
}
