//! Reads a scenario's `args`: a command line a line, in words as a shell splits them, with no shell behind it.
//!
//! ```text
//! # a comment
//! send --to rd --kind Note --subject "Two words" --body 'it''s "raw"'
//! [10] HARNESS_TEST_NOW=2026-11-19T00:00:00Z run-loop rd
//! ```
//!
//! `[N]` is the status that a line must end with (0 where it isn't said; the last line's is in the file `status`).
//! Leading `NAME=value` words are variables of that line. Single quotes keep everything; a backslash keeps the next
//! character, outside quotes and in double quotes. No variable, glob or pipe is known.

#[derive(Debug, PartialEq)]
pub struct Line {
    pub status: i32,
    pub env: Vec<(String, String)>,
    pub words: Vec<String>,
}

pub fn parse(text: &str) -> Result<Vec<Line>, String> {
    let lines =
        text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
    lines.map(|(at, line)| parse_line(line).map_err(|fault| format!("args:{}: {fault}", at + 1))).collect()
}

fn parse_line(line: &str) -> Result<Line, String> {
    let mut words = split(line)?;
    let status = words.first().and_then(|word| word.strip_prefix('[')?.strip_suffix(']')?.parse().ok());
    if status.is_some() {
        words.remove(0);
    }
    let variables = words.iter().take_while(|word| variable(word).is_some()).count();
    let env = words.drain(..variables).filter_map(|word| variable(&word)).collect();
    Ok(Line { status: status.unwrap_or(0), env, words })
}

fn variable(word: &str) -> Option<(String, String)> {
    let (name, value) = word.split_once('=')?;
    let is_name =
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
    is_name.then(|| (name.to_owned(), value.to_owned()))
}

fn split(line: &str) -> Result<Vec<String>, String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match (c, quote) {
            ('\\', None | Some('"')) => {
                word.get_or_insert_default().push(chars.next().ok_or("it ends in a backslash")?);
            }
            (c, Some(open)) if c == open => quote = None,
            (c, Some(_)) => word.get_or_insert_default().push(c),
            ('"' | '\'', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (c, None) if c.is_whitespace() => words.extend(word.take()),
            (c, None) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    if quote.is_some() { Err("a quote is never closed".to_owned()) } else { Ok(words) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(line: &str, expected: &[&str]) {
        assert_eq!(split(line).unwrap(), expected, "{line}");
    }

    #[test]
    fn words_are_split_as_a_shell_splits_them() {
        check("", &[]);
        check("  a   b ", &["a", "b"]);
        check(r#"a "b c" '' d\ e"#, &["a", "b c", "", "d e"]);
        check(r#"'it''s' "say \"so\"" '\'"#, &["its", r#"say "so""#, r"\"]);
        check("$HOME * | x", &["$HOME", "*", "|", "x"]);
        assert!(split("'a").is_err() && split("a\\").is_err());
    }

    #[test]
    fn a_line_may_carry_its_status_and_variables() {
        let lines = parse("# note\n\n[10] A_1=b c=d e\nrun\n").unwrap();
        let (env, words) = (vec![("A_1".to_owned(), "b".to_owned())], vec!["c=d".to_owned(), "e".to_owned()]);
        assert_eq!(lines[0], Line { status: 10, env, words });
        assert_eq!(lines[1], Line { status: 0, env: vec![], words: vec!["run".to_owned()] });
        assert_eq!(parse("a\n'b\n"), Err("args:2: a quote is never closed".to_owned()));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]
        #[test]
        fn quoted_words_come_back(words in prop::collection::vec("[ -~]{0,8}", 0..5)) {
            let quoted: Vec<String> = words.iter().map(|w| format!("'{}'", w.replace('\'', r"'\''"))).collect();
            prop_assert_eq!(split(&quoted.join(" ")).unwrap(), words);
        }

        #[test]
        fn any_text_is_read_or_refused(text in "\\PC{0,40}") {
            let _ = parse(&text);
        }
    }
}
