//! Text that people and models read: what may reach a terminal, what fits a line, what fits a cap.
//!
//! It changes only how text looks, never what it means, and it knows nothing of colours or tables. What is hidden is
//! shown as `\u{202e}`, so that nobody approves what they couldn't see.
//!
//! Visible, by an allow-list: line feed, tab, printable characters, and the spaces that look like spaces. Not visible:
//! control characters (an escape sequence could rewrite the screen; a lone carriage return could overwrite a line),
//! bidirectional overrides and isolates, zero-width and other format characters, tags, variation selectors (but for
//! one that follows an emoji), private use, and what Unicode hasn't assigned. A carriage return before a line feed is
//! dropped.

mod fence;
mod glyph;

use std::borrow::Cow;

pub use fence::{escape_fence, escape_opening};

const CUT_MARK: char = '…';
/// Bytes that are looked at together.
const BLOCK: usize = 32;

/// The text with everything that a reader couldn't see written out.
pub fn visible(text: &str) -> Cow<'_, str> {
    let Some(start) = find_hidden(text) else { return Cow::Borrowed(text) };
    let (clean, rest) = text.split_at(start);
    let mut shown = String::with_capacity(text.len() + 64);
    shown.push_str(clean);
    let mut before = clean.chars().next_back();
    let mut rest = rest.chars().peekable();
    while let Some(c) = rest.next() {
        if is_shown(before, c) {
            shown.push(c);
        } else if !(c == '\r' && rest.peek() == Some(&'\n')) {
            shown.extend(c.escape_unicode());
        }
        before = Some(c);
    }
    Cow::Owned(shown)
}

/// The text on one line of at most `max_chars` characters, visible, and marked where it was cut.
pub fn one_line(text: &str, max_chars: usize) -> String {
    as_one_line(text, max_chars).into_owned()
}

/// The same, borrowed where nothing has to change.
pub fn as_one_line(text: &str, max_chars: usize) -> Cow<'_, str> {
    let start = text.trim();
    if start.len() <= max_chars && find_other(start.as_bytes(), is_printable).is_none() {
        return Cow::Borrowed(start);
    }
    // Every character shows as at least one, but for a carriage return that goes with its line feed.
    let enough = max_chars.saturating_add(1).saturating_mul(2);
    let head = find_char(start, enough).map_or(start, |end| &start[..end]);
    let shown = visible(head);
    let line =
        if shown.contains(['\n', '\t']) { shown.replace(['\n', '\t'], " ") } else { shown.into_owned() };
    let Some(last) = find_char(&line, max_chars) else { return Cow::Owned(line) };
    let fits = line[..last].char_indices().next_back().map_or(0, |(end, _)| end);
    line[..fits].chars().chain((max_chars > 0).then_some(CUT_MARK)).collect()
}

/// The longest start of the text that fits `max_bytes` and ends between characters, and how many bytes were left out.
pub fn cut(text: &str, max_bytes: usize) -> (&str, usize) {
    let end = text.floor_char_boundary(max_bytes);
    (&text[..end], text.len() - end)
}

/// Terminal columns of one line of visible text: wide characters take two, combining ones none.
pub fn width(text: &str) -> usize {
    text.chars().map(glyph::columns).sum()
}

/// Where the character of this number begins. There are never more of them than bytes.
fn find_char(text: &str, number: usize) -> Option<usize> {
    if text.len() <= number { None } else { text.char_indices().nth(number).map(|(at, _)| at) }
}

fn find_hidden(text: &str) -> Option<usize> {
    let is_plain = |byte| is_printable(byte) | (byte == b'\n') | (byte == b'\t');
    let mut at = 0;
    while let Some(plain) = find_other(&text.as_bytes()[at..], is_plain) {
        at += plain;
        let c = text[at..].chars().next()?;
        if !is_shown(text[..at].chars().next_back(), c) {
            return Some(at);
        }
        at += c.len_utf8();
    }
    None
}

fn is_printable(byte: u8) -> bool {
    byte.wrapping_sub(b' ') <= b'~' - b' '
}

/// The first byte that isn't plain. Most text is, and the compiler looks at a whole block of it at once, where the
/// test for one byte doesn't branch.
fn find_other(bytes: &[u8], is_plain: impl Fn(u8) -> bool) -> Option<usize> {
    if !is_plain(*bytes.first()?) {
        return Some(0);
    }
    let all_plain = |block: &[u8]| block.iter().fold(true, |all, &byte| all & is_plain(byte));
    let at = bytes.chunks_exact(BLOCK).take_while(|block| all_plain(block)).count() * BLOCK;
    // The rest is shorter than a block: with some of what was looked at before, it is one.
    if bytes.len() - at < BLOCK
        && let Some(last) = bytes.last_chunk::<BLOCK>()
        && all_plain(last)
    {
        return None;
    }
    bytes[at..].iter().position(|&byte| !is_plain(byte)).map(|other| at + other)
}

fn is_shown(before: Option<char>, c: char) -> bool {
    if glyph::is_emoji_selector(c) {
        // One selector chooses a form; a row of them is a way to hide a message.
        return before
            .is_some_and(|b| glyph::is_visible(b) && !b.is_whitespace() && !glyph::is_emoji_selector(b));
    }
    glyph::is_visible(c)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(input: &str, expected: &str) {
        assert_eq!(visible(input), expected, "{input:?}");
    }

    #[test]
    fn ordinary_text_is_borrowed() {
        for text in [
            "",
            "plain\ttext\n",
            "naïve café, 5 µm",
            "日本語　テキスト",
            "한국어",
            "e\u{301}",
            "⚠\u{fe0f} 🎉 1\u{fe0f}",
        ] {
            assert!(matches!(visible(text), Cow::Borrowed(same) if same == text), "{text:?}");
        }
    }

    #[test]
    fn what_could_deceive_is_written_out() {
        check("\u{1b}[2Jx", "\\u{1b}[2Jx");
        check("a\rb\r\nc", "a\\u{d}b\nc");
        check("\u{202e}gpj.exe", "\\u{202e}gpj.exe");
        check("a\u{200b}b\u{feff}", "a\\u{200b}b\\u{feff}");
        check("\u{9b}31m\u{7f}\0", "\\u{9b}31m\\u{7f}\\u{0}");
        check("\u{e0041}\u{e000}\u{e0100}", "\\u{e0041}\\u{e000}\\u{e0100}");
        check("\u{2028}\u{2003}\u{378}", "\\u{2028}\\u{2003}\\u{378}");
    }

    #[test]
    fn only_one_selector_after_something_visible_passes() {
        check("⚠\u{fe0f}\u{fe0e}\u{fe0f}", "⚠\u{fe0f}\\u{fe0e}\\u{fe0f}");
        check("\u{fe0f}a \u{fe0f}", "\\u{fe0f}a \\u{fe0f}");
        check("⚠\u{fe01}", "⚠\\u{fe01}");
    }

    #[test]
    fn one_line_fits_and_says_when_it_was_cut() {
        assert_eq!(one_line(" Fix the\r\ncache\tnow\n", 80), "Fix the cache now");
        assert_eq!(one_line("abcdef", 6), "abcdef");
        assert_eq!(one_line("abcdefg", 6), "abcde…");
        assert_eq!(one_line("日本語", 2), "日…");
        assert_eq!(one_line("abc", 1), "…");
        assert_eq!(one_line("abc", 0), "");
        assert_eq!(one_line("abc", usize::MAX), "abc");
        assert_eq!(one_line("\u{1b}x", 80), "\\u{1b}x");
    }

    #[test]
    fn cut_keeps_characters_whole() {
        assert_eq!(cut("héllo", 2), ("h", 5));
        assert_eq!(cut("héllo", 3), ("hé", 3));
        assert_eq!(cut("abc", 3), ("abc", 0));
        assert_eq!(cut("abc", 0), ("", 3));
    }

    #[test]
    fn width_counts_columns() {
        for (text, columns) in [
            ("abc", 3),
            ("日本", 4),
            ("e\u{301}", 1),
            ("🎉", 2),
            ("ｱ", 1),
            ("\u{1112}\u{1161}\u{11ab}", 2),
            ("", 0),
        ] {
            assert_eq!(width(text), columns, "{text:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn what_is_visible_stays_so(text in ".{0,60}|[\r\n\u{fe0f}\u{200d}\u{202e}a⚠ ]{0,20}") {
            let once = visible(&text).into_owned();
            prop_assert!(!once.contains(|c: char| c.is_control() && c != '\n' && c != '\t'));
            prop_assert_eq!(visible(&once), once.as_str());
        }

        #[test]
        fn one_line_is_never_longer(text in "[\r\n\ta-z日\u{1b}]{0,40}", max in 0usize..20) {
            let line = one_line(&text, max);
            prop_assert!(line.chars().count() <= max);
            prop_assert!(!line.contains(char::is_control));
        }

        #[test]
        fn cut_loses_nothing_it_does_not_count(text in ".{0,40}", max in 0usize..60) {
            let (head, left_out) = cut(&text, max);
            prop_assert!(head.len() <= max && text.starts_with(head));
            prop_assert_eq!(head.len() + left_out, text.len());
        }
    }
}
