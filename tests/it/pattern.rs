//! Compares text with what a test expects, and shows the difference.
//!
//! In expected text `[..]` stands for any text within a line. `[ROOT]`, `[HOME]` and `[DIR]` stand for the sandbox's
//! folders: [`Places::hide`] puts them into the actual text before it is compared. Where gaps are asked for, a line
//! `...` stands for any number of lines.

use similar::TextDiff;

/// What the placeholders of paths stand for, the longest first.
pub struct Places(pub Vec<(String, &'static str)>);

impl Places {
    pub fn hide(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, (path, mark)| text.replace(path, mark))
    }

    pub fn show(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, (path, mark)| text.replace(mark, path))
    }
}

/// Equal line by line, `[..]` standing for any text; else the difference, ready to print.
pub fn compare(expected: &str, actual: &str) -> Result<(), String> {
    let (wanted, given) = (split(expected), split(actual));
    let equal = wanted.len() == given.len() && wanted.iter().zip(&given).all(|(w, g)| line_matches(w, g));
    if equal { Ok(()) } else { Err(difference(expected, actual)) }
}

/// As [`compare`], and a line `...` stands for any number of lines.
pub fn compare_with_gaps(expected: &str, actual: &str) -> Result<(), String> {
    if lines_match(&split(expected), &split(actual)) { Ok(()) } else { Err(difference(expected, actual)) }
}

fn split(text: &str) -> Vec<&str> {
    text.split('\n').collect()
}

fn lines_match(expected: &[&str], actual: &[&str]) -> bool {
    match expected.split_first() {
        None => actual.is_empty(),
        Some((&"...", rest)) => (0..=actual.len()).any(|skipped| lines_match(rest, &actual[skipped..])),
        Some((pattern, rest)) => actual
            .split_first()
            .is_some_and(|(line, others)| line_matches(pattern, line) && lines_match(rest, others)),
    }
}

pub fn line_matches(pattern: &str, line: &str) -> bool {
    let Some((start, rest)) = pattern.split_once("[..]") else { return pattern == line };
    let Some(mut line) = line.strip_prefix(start) else { return false };
    let mut parts: Vec<&str> = rest.split("[..]").collect();
    let end = parts.pop().unwrap_or("");
    for part in parts {
        let Some((_, after)) = line.split_once(part) else { return false };
        line = after;
    }
    line.ends_with(end)
}

/// A line that matches a pattern is shown as that pattern, so that only real differences stand out.
fn difference(expected: &str, actual: &str) -> String {
    let patterns: Vec<&str> = expected.split('\n').filter(|line| line.contains("[..]")).collect();
    let shown = |line: &str| {
        let pattern = patterns.iter().find(|pattern| line_matches(pattern, line));
        pattern.map_or_else(|| line.to_owned(), |pattern| (*pattern).to_owned())
    };
    let actual: Vec<String> = actual.split('\n').map(shown).collect();
    let actual = actual.join("\n");
    TextDiff::from_lines(expected, &actual).unified_diff().header("expected", "actual").to_string()
}

/// Text that begins with a line break is taken as a block: without that break and its common indentation.
pub fn unindent(text: &str) -> String {
    let Some(block) = text.strip_prefix('\n') else { return text.to_owned() };
    let indents =
        block.lines().filter(|line| !line.trim().is_empty()).map(|l| l.len() - l.trim_start().len());
    let indent = indents.min().unwrap_or(0);
    let lines: Vec<&str> = block.split('\n').map(|line| line.get(indent..).unwrap_or("")).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(expected: &str, actual: &str, equal: bool) {
        assert_eq!(compare(expected, actual).is_ok(), equal, "{expected:?} against {actual:?}");
    }

    #[test]
    fn text_is_compared_to_the_byte_but_for_its_marks() {
        check("", "", true);
        check("", "\n", false);
        check("a\n", "a", false);
        check("a [..] c", "a b c", true);
        check("a [..] c", "a c", false);
        check("[..]", "", true);
        check("[..]\nb\n", "a\na\nb\n", false);
        check("x[..]y[..]z", "x1y2yz", true);
        check("aa[..]aa", "aaa", false);
        check("...", "a", false);
    }

    #[test]
    fn a_gap_stands_for_any_lines() {
        for actual in ["a\nd\n", "a\nb\nc\nd\n"] {
            assert_eq!(compare_with_gaps("a\n...\nd\n", actual), Ok(()));
        }
        assert!(compare_with_gaps("a\n...\nd\n", "a\nb\n").is_err());
        assert_eq!(compare_with_gaps("...", ""), Ok(()));
    }

    #[test]
    fn the_difference_shows_what_differs_alone() {
        let shown = compare("took [..] s\nb\n", "took 3 s\nc\n").unwrap_err();
        assert!(shown.contains(" took [..] s\n-b\n+c\n"), "{shown}");
    }

    #[test]
    fn a_block_loses_its_indentation() {
        assert_eq!(unindent("\n    a\n      b\n\n    c\n"), "a\n  b\n\nc\n");
        assert_eq!(unindent("  a\n"), "  a\n");
        assert_eq!(unindent("\n        a\n    "), "a\n");
    }

    #[test]
    fn places_are_hidden_and_shown() {
        let places = Places(vec![("/t/x/root".into(), "[ROOT]"), ("/t/x".into(), "[DIR]")]);
        assert_eq!(places.hide("/t/x/root/a /t/x/b"), "[ROOT]/a [DIR]/b");
        assert_eq!(places.show("[ROOT]/a [DIR]/b"), "/t/x/root/a /t/x/b");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]
        #[test]
        fn text_equals_itself_and_a_cut_line_matches(text in "[a-z.\\[\\]\n]{0,40}", cut in 0usize..40) {
            prop_assert!(compare(&text, &text).is_ok() || text.contains("[..]"));
            let line = text.replace('\n', "");
            let at = cut.min(line.len());
            let pattern = format!("{}[..]{}", &line[..at], &line[at..]);
            prop_assert!(line.contains("[..]") || line_matches(&pattern, &line));
        }
    }
}
