//! Help as it is read: prose fills the terminal's lines, and what is laid out by hand stays as it was written.
//!
//! Help is written as comments, whose lines end where the source's do. Broken again at the terminal's width, they would
//! leave a ragged edge; so the lines of a paragraph are joined before they are.

use clap::Command;

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
    fn those_beneath_are_filled_too() {
        let beneath = Command::new("b").long_about("x\ny");
        let filled = fill(Command::new("a").subcommand(beneath));
        let about = filled.find_subcommand("b").and_then(Command::get_long_about).map(ToString::to_string);
        assert_eq!(about.as_deref(), Some("x y"));
    }
}
