//! Help as it is read: prose fills the terminal's lines, and what is laid out by hand stays as it was written.
//!
//! Help is written as comments, whose lines end where the source's do. Broken again at the terminal's width, they would
//! leave a ragged edge; so the lines of a paragraph are joined before they are.

use crate::domain::text::width;
use clap::Command;

const USAGE: &str = "Usage: ";

/// A tree of commands whose help can be broken at any width. It is built first: each command's own text is put in then.
pub fn fill(mut command: Command) -> Command {
    command.build();
    fill_built(command)
}

fn fill_built(command: Command) -> Command {
    let filled = command.get_long_about().map(|about| join_paragraphs(&about.to_string()));
    let command = match filled {
        Some(text) => command.long_about(text),
        None => command,
    };
    command.mut_subcommands(fill_built)
}

/// The line of usage broken as the rest is. An option stays beside its value, and a choice is whole.
pub fn break_usage(help: &str, columns: usize) -> String {
    let is_long = |line: &&str| width(&plain(line)) > columns && plain(line).starts_with(USAGE);
    let Some(long) = help.lines().find(is_long) else { return help.to_string() };
    let (mut broken, mut used) = (String::new(), 0);
    for part in parts_of(long) {
        let wide = width(&plain(&part));
        match used {
            0 => used = wide,
            _ if used + 1 + wide > columns => {
                broken.push_str(&format!("\n{:indent$}", "", indent = USAGE.len()));
                used = USAGE.len() + wide;
            }
            _ => {
                broken.push(' ');
                used += 1 + wide;
            }
        }
        broken.push_str(&part);
    }
    help.replacen(long, &broken, 1)
}

/// What may not be torn: a word, an option with its value, all within a bracket.
fn parts_of(usage: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    for word in usage.split(' ') {
        match parts.last_mut() {
            Some(last) if is_open(&plain(last)) || is_value_of(&plain(word), &plain(last)) => {
                last.push_str(&format!(" {word}"));
            }
            _ => parts.push(word.to_string()),
        }
    }
    parts
}

fn is_open(text: &str) -> bool {
    let count = |brackets: [char; 2]| text.matches(brackets).count();
    count(['<', '[']) > count(['>', ']'])
}

fn is_value_of(word: &str, before: &str) -> bool {
    word.starts_with('<') && before.starts_with('-') && !before.contains(' ')
}

/// Without colour.
fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

/// Each paragraph on one line. A line that begins with a space, such as an example, is nobody's continuation.
fn join_paragraphs(text: &str) -> String {
    let mut joined = String::new();
    let mut open = false;
    for line in text.lines() {
        let prose = !line.is_empty() && !line.starts_with(' ');
        match (open && prose, joined.is_empty()) {
            (true, _) => joined.push(' '),
            (false, false) => joined.push('\n'),
            (false, true) => {}
        }
        joined.push_str(line);
        open = prose;
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_are_joined_and_examples_are_not() {
        let text = "First line\n\nOne two\nthree.\n\nExamples:\n  harness do \\\n      --it\n  harness go";
        let filled = "First line\n\nOne two three.\n\nExamples:\n  harness do \\\n      --it\n  harness go";
        assert_eq!(join_paragraphs(text), filled);
        assert_eq!(join_paragraphs("a\nb\n  c\nd"), "a b\n  c\nd");
    }

    #[test]
    fn usage_is_broken_between_what_belongs_together() {
        let check = |usage: &str, expected: &str| {
            assert_eq!(break_usage(&format!("A\n\n{usage}\n\nB"), 30), format!("A\n\n{expected}\n\nB"));
        };
        check("Usage: harness do [OPTIONS]", "Usage: harness do [OPTIONS]");
        check(
            "Usage: harness do --kind <KIND> --subject <TEXT> <--to <DEPT>|--all>",
            "Usage: harness do\n       --kind <KIND>\n       --subject <TEXT>\n       <--to <DEPT>|--all>",
        );
        let bold = "\u{1b}[1mUsage:\u{1b}[0m harness \u{1b}[1mdo\u{1b}[0m --kind <KIND> <ID>";
        check(bold, &bold.replace(" --kind", "\n       --kind"));
    }

    #[test]
    fn those_beneath_are_filled_too() {
        let beneath = Command::new("b").long_about("x\ny");
        let filled = fill(Command::new("a").subcommand(beneath));
        let about = filled.find_subcommand("b").and_then(Command::get_long_about).map(ToString::to_string);
        assert_eq!(about.as_deref(), Some("x y"));
    }
}
