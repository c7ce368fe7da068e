//! Properties that hold for any output at all.

use proptest::prelude::*;

use super::*;

/// Lines near enough to real ones to get past the first check.
fn any_line() -> impl Strategy<Value = String> {
    let real = [
        fixture!("claude-denied.out"),
        fixture!("claude-429.out"),
        fixture!("codex-ok.out"),
        fixture!("codex-401.out"),
        fixture!("gemini-empty.out"),
        fixture!("gemini-401.err"),
        fixture!("opencode-ok.out"),
        fixture!("opencode-401.out"),
        fixture!("llm-ok.err"),
        "prompt eval count: 28 token(s)\neval count: 1 token(s)\n{\n}",
    ];
    let lines: Vec<&str> = real.iter().flat_map(|text| text.lines()).collect();
    let cut =
        (prop::sample::select(lines.clone()), any::<prop::sample::Index>()).prop_map(|(line, index)| {
            let end = index.index(line.len() + 1);
            line.get(..end).unwrap_or(line).to_owned()
        });
    let with = "-?[0-9]{1,25}|[0-9]e[0-9]{1,3}|null|true|\\[\\]|\"x\"";
    let retyped =
        (prop::sample::select(lines.clone()), with).prop_map(|(line, with)| retype_numbers(line, &with));
    prop_oneof![prop::sample::select(lines).prop_map(str::to_owned), cut, retyped, ".{0,40}", "\\PC*"]
}

/// The line with another value for every number that is a field's.
fn retype_numbers(line: &str, with: &str) -> String {
    let mut parts = line.split("\":");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |done, part| {
        let rest = part.trim_start().trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        let part = if rest == part.trim_start() { part.to_owned() } else { format!("{with}{rest}") };
        format!("{done}\":{part}")
    })
}

#[test]
fn numbers_are_retyped() {
    assert_eq!(retype_numbers(r#"{"a":1.5,"b": 2,"c":"3"}"#, "null"), r#"{"a":null,"b":null,"c":"3"}"#);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_output_panics_or_answers_without_text(
        lines in prop::collection::vec((any_line(), any::<bool>()), 0..40),
        code in prop_oneof![Just(None), Just(Some(0)), any::<i32>().prop_map(Some)],
        clean in any::<bool>(),
    ) {
        for preset in Preset::ALL {
            let mut reader = Reader::new(preset);
            for (line, is_error) in &lines {
                if *is_error { reader.stderr_line(line) } else { reader.stdout_line(line) };
            }
            match reader.finish(Exit { code, clean }) {
                Ok(answer) => {
                    prop_assert!(!answer.text.trim().is_empty());
                    prop_assert!(clean && code == Some(0));
                }
                Err(failure) => {
                    prop_assert!(failure.message.chars().count() <= 201 && !failure.message.contains('\n'));
                    let _ = failure.kind.not_before(i64::MAX);
                }
            }
        }
    }
}
