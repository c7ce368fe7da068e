//! Holds what is written against a real YAML parser: every value comes back as the text that it was.

use super::*;
use proptest::prelude::*;

/// The scalars of a YAML document, and whether each stands there bare.
fn yaml_scalars(text: &str) -> Result<Vec<(String, bool)>, String> {
    use saphyr_parser::{Event, Parser, ScalarStyle};
    let mut scalars = Vec::new();
    for event in Parser::new_from_str(text) {
        match event.map_err(|error| error.to_string())?.0 {
            Event::Scalar(value, style, _, _) => {
                scalars.push((value.into_owned(), style == ScalarStyle::Plain));
            }
            Event::Alias(_) => return Err("an alias".to_string()),
            _ => {}
        }
    }
    Ok(scalars)
}

/// What some YAML reader takes for something else than text, in version 1.1 or 1.2.
fn means_more_than_text(bare: &str) -> bool {
    let lower = bare.to_lowercase();
    let words =
        ["", "~", "null", "true", "false", "yes", "no", "on", "off", "y", "n", ".nan", ".inf", "-.inf"];
    let number = lower.replace('_', "");
    words.contains(&lower.as_str())
        || number.parse::<f64>().is_ok()
        || number.bytes().all(|byte| byte.is_ascii_digit() || b":-.".contains(&byte))
        || ["0x", "0o", "0b"].iter().any(|prefix| number.starts_with(prefix))
}

#[track_caller]
fn check_yaml(texts: &[String]) {
    let mut written = FrontMatter::default();
    let (first, items) = texts.split_first().unwrap();
    written.set_text("subject", first.clone());
    written.set("to", Value::List(items.to_vec()));
    let rendered = written.render("");
    let document = rendered.trim_end_matches("---\n");
    let scalars = yaml_scalars(document).unwrap_or_else(|error| panic!("{error}:\n{document}"));
    let mut expected = vec!["subject", first, "to"];
    expected.extend(items.iter().map(String::as_str));
    assert_eq!(scalars.iter().map(|(text, _)| text.as_str()).collect::<Vec<_>>(), expected, "{document}");
    let values = scalars.iter().enumerate().filter(|(at, _)| ![0, 2].contains(at));
    for (_, (text, bare)) in values {
        assert!(!bare || !means_more_than_text(text), "{text} stands bare");
    }
}

#[test]
fn what_is_written_is_yaml_also_at_its_edges() {
    let texts = [
        "yes",
        "No",
        "~",
        "null",
        "12",
        "1_000",
        "0b11",
        "0o17",
        "1e5",
        ".5",
        "12:30:45",
        "2026-11-18",
        "- a",
        "? a",
        ": a",
        "a: b",
        "a:",
        "a #b",
        "#a",
        "&a",
        "*a",
        "!a",
        "|",
        ">",
        "%a",
        "@a",
        "`a",
        "'a'",
        "\"a\"",
        "[a]",
        "{a}",
        "a, b",
        "a]",
        " a",
        "a ",
        "",
        "---",
        "...",
        "\u{feff}",
        "\u{85}",
        "\u{2028}",
        "\u{fffe}",
        "\u{7f}",
        "a\tb",
        "é",
        "😀",
        "=",
        "<<",
        "a: [b]",
        "a:b",
        "http://a/b",
        "\\",
        "a\\b",
    ];
    for text in texts {
        check_yaml(&[text.to_string(), text.to_string()]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(128) })]

    #[test]
    fn what_is_written_is_yaml(
        texts in prop::collection::vec("\\PC{0,20}|[ -~\n\t]{0,20}|[0-9_:.eExob+-]{1,8}", 1..4),
    ) {
        check_yaml(&texts);
    }
}
