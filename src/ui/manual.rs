//! A command's manual page, made from its help.

use clap::Command;
use clap_mangen::Man;

/// When the help was last written anew; a page whose date moved with the clock would never be the same twice.
const DATE: &str = "2026-11-18";

/// The source of a page. What a command's help says under `Examples:` has a section of its own.
pub fn render_page(command: &Command, name: &str) -> String {
    let title = format!("harness-{name}");
    let about =
        command.get_long_about().or_else(|| command.get_about()).map(ToString::to_string).unwrap_or_default();
    let (said, examples) = about.split_once("\nExamples:\n").unwrap_or((&about, ""));
    let page = Man::new(command.clone())
        .title(title.to_uppercase())
        .date(DATE)
        .source(format!("harness {}", env!("CARGO_PKG_VERSION")))
        .manual("User commands");
    let mut bytes = Vec::new();
    // Writing into memory doesn't fail.
    let _ignored = page
        .render_title(&mut bytes)
        .and_then(|()| page.render_name_section(&mut bytes))
        .and_then(|()| page.render_synopsis_section(&mut bytes));
    let mut text = String::from_utf8_lossy(&bytes).into_owned();
    text.push_str(".SH DESCRIPTION\n");
    text.push_str(&paragraphs(said.split_once('\n').map_or(said, |(_, rest)| rest)));
    let mut bytes = Vec::new();
    let _ignored = page.render_options_section(&mut bytes);
    text.push_str(&String::from_utf8_lossy(&bytes));
    let beneath: Vec<&Command> = command.get_subcommands().filter(|sub| !sub.is_hide_set()).collect();
    if !beneath.is_empty() {
        text.push_str(".SH COMMANDS\n");
    }
    for sub in beneath {
        let about = sub.get_about().map(ToString::to_string).unwrap_or_default();
        text.push_str(&format!(
            ".TP\n\\fBharness\\-{}\\-{}\\fR(1)\n{}\n",
            escape(name),
            escape(sub.get_name()),
            escape(&about)
        ));
    }
    if !examples.trim().is_empty() {
        let lines: Vec<String> =
            examples.trim_end().lines().map(|line| escape(line.strip_prefix("  ").unwrap_or(line))).collect();
        text.push_str(&format!(".SH EXAMPLES\n.nf\n{}\n.fi\n", lines.join("\n")));
    }
    text.push_str(".SH \"SEE ALSO\"\n.BR harness (1),\n.BR harness\\-org (5)\n");
    tidy(&text)
}

/// Without what every section repeats: an apostrophe defined once more, empty lines, and spaces at the ends of lines.
fn tidy(text: &str) -> String {
    let plain = text.replace("\\*(Aq", "\\(aq").replace(".br\n\n.br\n", ".br\n");
    let kept =
        plain.lines().filter(|line| !line.starts_with(".ie \\n(.g") && !line.starts_with(".el .ds Aq"));
    kept.map(|line| format!("{}\n", line.trim_end())).collect()
}

/// Text as roff takes it: no line of it is a request, no character of it a mark.
fn escape(text: &str) -> String {
    let plain = text.replace('\\', "\\e").replace('-', "\\-").replace('\'', "\\(aq").replace('`', "\\(ga");
    if plain.starts_with(['.', '\'']) { format!("\\&{plain}") } else { plain }
}

fn paragraphs(text: &str) -> String {
    let mut out = String::new();
    for line in text.trim().lines() {
        match line.trim() {
            "" => out.push_str(".PP\n"),
            line => out.push_str(&format!("{}\n", escape(line))),
        }
    }
    if out.is_empty() { "See the commands beneath.\n".to_string() } else { out }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_have_a_section_and_nothing_is_a_request() {
        let about = "Do it\n\nIt is done.\n.not a request\n\nExamples:\n  harness do it\n  harness do -x 'a'";
        let page = render_page(&Command::new("do").about("Do it").long_about(about), "do");
        assert!(page.contains("It is done.\n\\&.not a request\n"), "{page}");
        assert!(
            page.contains(".SH EXAMPLES\n.nf\nharness do it\nharness do \\-x \\(aqa\\(aq\n.fi\n"),
            "{page}"
        );
    }
}
