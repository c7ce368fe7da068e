//! What is wrong with a command line, as an error like any other: one sentence, and hints.
//!
//! It reads the text that the parser of arguments makes: a first part up to a blank line, `tip:` lines, `Usage:`.

use crate::error::{CommandError, Kind};
use clap::error::ErrorKind;

/// The parser's complaint in our own form.
pub fn to_error(error: &clap::Error) -> CommandError {
    let text = error.render().to_string();
    let form = text.lines().find_map(|line| line.trim().strip_prefix("Usage: "));
    let command = form.map(command_of).unwrap_or_else(|| "harness".to_string());
    let found = if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        let commands = commands_of(&text).join(", ");
        CommandError::new(Kind::Usage, format!("`{command}` does not say what to do: {commands}"))
    } else {
        CommandError::new(Kind::Usage, sentence(&text))
    };
    let tips = text.lines().filter_map(|line| line.trim().strip_prefix("tip: ")).map(render_tip);
    let found = tips.fold(found, CommandError::hint);
    match form {
        Some(form) => found.hint(format!("the form is `{form}`; see `{command} --help`")),
        None if found.hints.is_empty() => found.hint(format!("see `{command} --help`")),
        None => found,
    }
}

/// Everything up to the first blank line, on one line.
fn sentence(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).take_while(|line| !line.is_empty()).collect();
    let joined = lines.join(" ");
    joined.strip_prefix("error: ").unwrap_or(&joined).to_string()
}

/// The names that a help text lists under its commands.
fn commands_of(help: &str) -> Vec<&str> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    lines.take_while(|line| !line.is_empty()).filter_map(|line| line.split_whitespace().next()).collect()
}

/// The words before the first option or argument: `harness message show`.
fn command_of(form: &str) -> String {
    let words = form.split_whitespace().take_while(|word| !word.starts_with(['[', '<', '-', '{']));
    words.collect::<Vec<_>>().join(" ")
}

/// `a similar value exists: 'worker'` as we ask it everywhere.
fn render_tip(tip: &str) -> String {
    match tip.split_once(": ") {
        Some((what, names)) if what.contains("similar") => {
            format!("did you mean {}?", names.replace('\'', "`"))
        }
        _ => tip.replace('\'', "`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complaints_are_one_sentence() {
        let check = |text: &str, expected: &str| assert_eq!(sentence(text), expected);
        check("error: a:\n  --b <B>\n  --c\n\nUsage: x\n", "a: --b <B> --c");
        check("", "");
        assert_eq!(command_of("harness message show [OPTIONS] <ID>"), "harness message show");
        assert_eq!(
            commands_of("Commands:\n  show  Show it\n  mark  Mark it\n\nOptions:\n"),
            ["show", "mark"]
        );
        assert_eq!(render_tip("some similar values exist: 'a', 'b'"), "did you mean `a`, `b`?");
        assert_eq!(
            render_tip("to pass '-x' as a value, use '-- -x'"),
            "to pass `-x` as a value, use `-- -x`"
        );
    }
}
