//! Private keys in PEM form: from `-----BEGIN ... PRIVATE KEY-----` to where the key's text ends.
//!
//! A key that was cut off counts as well, and so does one on a single line with `\n` written out, as in JSON. It
//! deliberately doesn't search for the closing line: what isn't base64 ends the key, so that nobody can hide a page of
//! prose from a record between two such lines. Public keys and certificates are no secrets.

use super::{SecretKind, Span};

const BEGIN: &str = "-----BEGIN ";
const END: &str = "-----END ";
const DASHES: &str = "-----";
const LONGEST_LABEL: usize = 48;
const LONGEST_HEADER: usize = 128;
const SHORTEST_LINE: usize = 16;
const HEADERS: [&str; 4] = ["Proc-Type: ", "DEK-Info: ", "Version: ", "Comment: "];

pub(super) fn find_at(text: &str, start: usize) -> Option<Span> {
    let mut end = start + label_end(&text[start..], BEGIN)?;
    let mut has_key = false;
    loop {
        let line = end + skip_breaks(&text[end..]);
        let rest = &text[line..];
        let key = measure_key_line(rest);
        let closing = label_end(rest, END);
        let Some(length) = closing.or(key).or_else(|| measure_header(rest)) else { break };
        has_key |= key.is_some();
        end = line + length;
        if closing.is_some() {
            break;
        }
    }
    has_key.then_some(Span { start, end, kind: SecretKind::PrivateKey })
}

/// Where a key begins that may go on after the text's end.
pub(super) fn find_open(text: &str) -> Option<usize> {
    let start = text.rfind(BEGIN)?;
    let mut rest = &text[start + label_end(&text[start..], BEGIN)?..];
    loop {
        rest = &rest[skip_breaks(rest)..];
        if label_end(rest, END).is_some() {
            return None;
        }
        let line = rest.find(['\n', '\r', '\\']).unwrap_or(rest.len());
        let is_key = rest[..line].bytes().all(|b| b.is_ascii_alphanumeric() || b"+/=".contains(&b));
        if rest.is_empty() {
            return Some(start);
        }
        if !is_key && measure_header(rest).is_none() {
            return None;
        }
        rest = &rest[line..];
    }
}

/// How long the `BEGIN` or `END` line of a private key at the start is.
fn label_end(text: &str, opening: &str) -> Option<usize> {
    let label = text.strip_prefix(opening)?;
    let window = &label[..label.floor_char_boundary(LONGEST_LABEL)];
    let dashes = window.find(DASHES)?;
    label[..dashes].contains("PRIVATE KEY").then_some(opening.len() + dashes + DASHES.len())
}

/// Spaces, line breaks, and line breaks written out.
fn skip_breaks(text: &str) -> usize {
    let mut rest = text;
    loop {
        let trimmed = rest.trim_start();
        let stripped =
            ["\\n", "\\r"].iter().find_map(|escape| trimmed.strip_prefix(escape)).unwrap_or(trimmed);
        if stripped.len() == rest.len() {
            return text.len() - rest.len();
        }
        rest = stripped;
    }
}

/// How long the line of base64 at the start is. A short one counts where the closing line follows.
fn measure_key_line(text: &str) -> Option<usize> {
    let length = text.bytes().take_while(|&b| b.is_ascii_alphanumeric() || b"+/=".contains(&b)).count();
    let is_last = || text[length + skip_breaks(&text[length..])..].starts_with(END);
    (length >= SHORTEST_LINE || length > 0 && is_last()).then_some(length)
}

fn measure_header(text: &str) -> Option<usize> {
    let is_header = HEADERS.iter().any(|header| text.starts_with(header));
    let window = &text[..text.floor_char_boundary(LONGEST_HEADER)];
    is_header.then(|| window.find(['\n', '\\']))?
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj";

    fn check(text: &str, rest: Option<&str>) {
        assert_eq!(find_at(text, 0).map(|span| &text[span.end..]), rest, "{text}");
    }

    #[test]
    fn whole_keys_are_found() {
        check(
            &format!(
                "-----BEGIN RSA PRIVATE KEY-----\n{LINE}\r\n{LINE}\nab==\n-----END RSA PRIVATE KEY-----\nx"
            ),
            Some("\nx"),
        );
        check(
            &format!("-----BEGIN PRIVATE KEY-----\\n{LINE}\\nab==\\n-----END PRIVATE KEY-----\\n\"}}"),
            Some("\\n\"}"),
        );
        let header = "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\n";
        check(
            &format!("-----BEGIN EC PRIVATE KEY-----\n{header}{LINE}\n-----END EC PRIVATE KEY-----"),
            Some(""),
        );
    }

    #[test]
    fn a_key_that_was_cut_off_is_found_and_prose_after_it_stays() {
        check(&format!("-----BEGIN PRIVATE KEY-----\n{LINE}\nand so on"), Some("\nand so on"));
    }

    #[test]
    fn a_key_that_may_go_on_is_open() {
        let check = |text: &str, open: bool| assert_eq!(find_open(text).is_some(), open, "{text}");
        let begin = "-----BEGIN PRIVATE KEY-----\n";
        check(begin, true);
        check(&format!("prose\n{begin}{LINE}\nab==\n"), true);
        check(&format!("{begin}Version: 1\n{LINE}\n"), true);
        check(&format!("{begin}{LINE}\n-----END PRIVATE KEY-----\n"), false);
        check(&format!("{begin}{LINE}\nand so on\n"), false);
        check("-----BEGIN CERTIFICATE-----\n", false);
        check("prose\n", false);
    }

    #[test]
    fn what_is_not_secret_stays() {
        check("-----BEGIN PRIVATE KEY----- is how it starts", None);
        check("-----BEGIN PRIVATE KEY-----\nComment: only words\n-----END PRIVATE KEY-----", None);
        check(&format!("-----BEGIN PUBLIC KEY-----\n{LINE}\n-----END PUBLIC KEY-----"), None);
        check(&format!("-----BEGIN CERTIFICATE-----\n{LINE}\n-----END CERTIFICATE-----"), None);
        check("-----", None);
    }
}
