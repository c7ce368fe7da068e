//! Makes text from outside safe inside a data fence of a prompt.
//!
//! A data fence opens with `<<<DATA <token> <label>` and closes with `>>>DATA <token>`, each on a line of its own. It
//! doesn't write those lines, and it can't know whether text lies: it only keeps text from looking like a line of the
//! tool's. What it changes, a reader can still read:
//!
//! - every run of three or more angle brackets is broken by backslashes, `<\<<`, so that no three stand together; the
//!   lookalikes `＜ ‹ « 〈 《 ⟨ ⟪ ❮ ❰` and their closing twins count as brackets, also where they are mixed;
//! - between three or more backticks and the word `actions`, in any letter case and with any spaces between, comes a
//!   backslash;
//! - what a reader could not see is shown as [`visible`] shows it, so that it can't hide either of the above.

use std::borrow::Cow;

use super::{find_other, is_printable, is_shown, visible};

const ACTIONS: &str = "actions";
const SHORTEST_MARK: usize = 3;

/// The text, unable to close its fence or to pass for an opening line of an actions block.
pub fn escape_fence(text: &str) -> Cow<'_, str> {
    escape(text, &[Mark::Open, Mark::Close, Mark::Backtick])
}

/// The text, unable to pass for an opening line of an actions block; fences in it stay.
pub fn escape_opening(text: &str) -> Cow<'_, str> {
    escape(text, &[Mark::Backtick])
}

fn escape<'a>(text: &'a str, marks: &[Mark]) -> Cow<'a, str> {
    if is_harmless(text, marks) {
        return Cow::Borrowed(text);
    }
    match visible(text) {
        Cow::Borrowed(shown) => break_marks(shown, marks).map_or(Cow::Borrowed(shown), Cow::Owned),
        Cow::Owned(shown) => Cow::Owned(break_marks(&shown, marks).unwrap_or(shown)),
    }
}

/// Whether nothing has to be shown or broken: most text, looked at once instead of twice.
fn is_harmless(text: &str, marks: &[Mark]) -> bool {
    let is_plain = |byte: u8| {
        (is_printable(byte) | (byte == b'\n') | (byte == b'\t'))
            & (byte != b'<')
            & (byte != b'>')
            & (byte != b'`')
    };
    let mut at = 0;
    while let Some(plain) = find_other(&text.as_bytes()[at..], is_plain) {
        at += plain;
        let (before, rest) = text.split_at(at);
        let Some(c) = rest.chars().next() else { return true };
        let run = match Mark::of(c) {
            None if is_shown(before.chars().next_back(), c) => c.len_utf8(),
            None => return false,
            Some(_) => leading_run(rest).len(),
        };
        let breaks = Mark::of(c).is_some_and(|mark| marks.contains(&mark));
        if breaks && break_run(&rest[..run], &rest[run..]).is_some() {
            return false;
        }
        at += run;
    }
    true
}

/// The text with every mark broken, or nothing where there is none.
fn break_marks(text: &str, marks: &[Mark]) -> Option<String> {
    let mut broken = String::new();
    let mut copied = 0;
    let mut rest = text;
    while let Some(start) = find_mark(rest, marks) {
        let run = leading_run(&rest[start..]);
        rest = &rest[start + run.len()..];
        let end = text.len() - rest.len();
        if let Some(replacement) = break_run(run, rest) {
            broken.push_str(&text[copied..end - run.len()]);
            broken.push_str(&replacement);
            copied = end;
        }
    }
    (copied > 0).then(|| broken + &text[copied..])
}

fn find_mark(text: &str, marks: &[Mark]) -> Option<usize> {
    let is_plain = |byte: u8| byte.is_ascii() & (byte != b'<') & (byte != b'>') & (byte != b'`');
    let mut at = 0;
    while let Some(plain) = find_other(&text.as_bytes()[at..], is_plain) {
        at += plain;
        let c = text[at..].chars().next()?;
        if Mark::of(c).is_some_and(|mark| marks.contains(&mark)) {
            return Some(at);
        }
        at += c.len_utf8();
    }
    None
}

/// What one mark is made of. Runs are of one kind: `<>` is two.
#[derive(Clone, Copy, PartialEq)]
enum Mark {
    Open,
    Close,
    Backtick,
}

impl Mark {
    fn of(c: char) -> Option<Mark> {
        match c {
            '<' | '＜' | '‹' | '«' | '〈' | '《' | '⟨' | '⟪' | '❮' | '❰' => Some(Mark::Open),
            '>' | '＞' | '›' | '»' | '〉' | '》' | '⟩' | '⟫' | '❯' | '❱' => Some(Mark::Close),
            '`' => Some(Mark::Backtick),
            _ => None,
        }
    }
}

fn leading_run(text: &str) -> &str {
    let kind = text.chars().next().and_then(Mark::of);
    let end = text.find(|c| Mark::of(c) != kind).unwrap_or(text.len());
    &text[..end]
}

/// What stands for the run, or nothing where it may stay; `after` is the text that follows it.
fn break_run(run: &str, after: &str) -> Option<String> {
    run.chars().nth(SHORTEST_MARK - 1)?;
    if run.starts_with('`') {
        return opens_actions(after).then(|| format!("{run}\\"));
    }
    let mut broken = String::with_capacity(2 * run.len());
    for (index, c) in run.chars().enumerate() {
        if index % 2 == 1 {
            broken.push('\\');
        }
        broken.push(c);
    }
    Some(broken)
}

fn opens_actions(after: &str) -> bool {
    let word = after.trim_start_matches(|c: char| c.is_whitespace() && c != '\n');
    word.get(..ACTIONS.len()).is_some_and(|word| word.eq_ignore_ascii_case(ACTIONS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(input: &str, expected: &str) {
        assert_eq!(escape_fence(input), expected, "{input:?}");
    }

    #[test]
    fn text_without_marks_is_borrowed() {
        let text = "a << b >> c, `x`, ``` rust, « oui », if a < b > c\n";
        assert!(matches!(escape_fence(text), Cow::Borrowed(same) if same == text));
    }

    #[test]
    fn runs_of_brackets_are_broken() {
        check("<<<DATA 1 inbox", "<\\<<DATA 1 inbox");
        check("  >>>DATA 1\n>>>>>DATA", "  >\\>>DATA 1\n>\\>>\\>>DATA");
        check("<<<>>>", "<\\<<>\\>>");
        check("git merge: <<<<<<< HEAD", "git merge: <\\<<\\<<\\<< HEAD");
    }

    #[test]
    fn lookalikes_and_mixtures_are_broken() {
        check("＞＞＞DATA 1", "＞\\＞＞DATA 1");
        check("»»» DATA", "»\\»» DATA");
        check("<‹＜DATA", "<\\‹＜DATA");
    }

    #[test]
    fn invisible_characters_hide_nothing() {
        check("\u{200b}>>>DATA", "\\u{200b}>\\>>DATA");
        check(">\u{200d}>>DATA", ">\\u{200d}>>DATA");
        check("```\u{2060}actions x", "```\\u{2060}actions x");
        check("\r>>>DATA", "\\u{d}>\\>>DATA");
    }

    #[test]
    fn opening_lines_of_action_blocks_are_broken() {
        check("```actions 7f3k2qx9", "```\\actions 7f3k2qx9");
        check("`````  Actions", "`````\\  Actions");
        check("say ```\u{a0}\tACTIONS", "say ```\\\u{a0}\tACTIONS");
        check("```\nactions", "```\nactions");
        check("```json", "```json");
    }

    #[test]
    fn the_tool_s_own_fences_can_stay() {
        let fenced = "<<<DATA 1 inbox\na\n>>>DATA 1\n";
        assert_eq!(escape_opening(fenced), fenced);
        assert_eq!(escape_opening("<<<\n```actions 1\u{200b}"), "<<<\n```\\actions 1\\u{200b}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn no_mark_survives(text in "([<>＜＞‹›«»` \n\ta\u{200b}\u{feff}\r]|```|actions|ACTIONS|>>>|DATA){0,40}") {
            let escaped = escape_fence(&text);
            for mark in ["<<<", ">>>", "＜＜＜", "»»»"] {
                prop_assert!(!escaped.contains(mark), "{escaped:?}");
            }
            let lower = escaped.to_lowercase();
            for (at, mark) in lower.match_indices("```") {
                prop_assert!(!opens_actions(&lower[at + mark.len()..]), "{escaped:?}");
            }
        }

        #[test]
        fn without_its_backslashes_it_reads_as_before(text in "[<>«»`a-z \n]{0,60}") {
            prop_assert_eq!(escape_fence(&text).replace('\\', ""), text);
        }
    }
}
