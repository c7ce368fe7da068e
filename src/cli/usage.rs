//! What is wrong with a command line, as an error like any other: one sentence, and hints.
//!
//! It reads the text that the parser of arguments makes: a first part up to a blank line, `tip:` lines, `Usage:`.

use crate::error::{CommandError, Kind};
use clap::error::ErrorKind;
use std::ffi::OsString;

/// The parser's complaint in our own form; the command is the one that was called, as far as it is known.
pub fn to_error(error: &clap::Error, called: &str) -> CommandError {
    let text = error.render().to_string();
    let form = text.lines().find_map(|line| line.trim().strip_prefix("Usage: "));
    let command = form.map(command_of).unwrap_or_else(|| called.to_string());
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

/// The command that the words of a command line name: `harness charter show`.
pub fn named_command(arguments: &[OsString], all: &clap::Command) -> String {
    let (mut name, mut command) = ("harness".to_string(), all);
    let mut words = arguments.iter().skip(1);
    while let Some(word) = words.next().and_then(|word| word.to_str()) {
        match command.find_subcommand(word) {
            Some(beneath) => {
                name = format!("{name} {}", beneath.get_name());
                command = beneath;
            }
            None if ["--root", "--color"].contains(&word) => drop(words.next()),
            None if word.starts_with('-') => {}
            None => break,
        }
    }
    name
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
    fn the_command_that_was_called_is_found() {
        let all = clap::Command::new("harness")
            .subcommand(clap::Command::new("send"))
            .subcommand(clap::Command::new("charter").subcommand(clap::Command::new("show")));
        let check = |line: &str, expected: &str| {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            assert_eq!(named_command(&words, &all), expected, "{line}");
        };
        check("harness", "harness");
        check("harness --root send -q charter --color never show send", "harness charter show");
        check("harness send --to charter", "harness send");
        check("harness x send", "harness");
    }

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
