//! `harness man`: the manual pages, those of each command made from its help.

use super::app::Result;
use crate::cli::command;
use crate::domain::id::nearest;
use crate::error::{CommandError, Kind};
use crate::ui::Answer;
use crate::ui::manual::render_page;
use serde_json::json;

const MAIN: &str = include_str!("../../man/harness.1");
const FORMATS: &str = include_str!("../../man/harness-org.5");

/// Print a manual page
///
/// Without a name, the page of the whole program. A command's page is named as the command is typed; harness-org is the
/// page of the files and their formats. The page is printed as its source, for `man -l -` or mandoc to show.
///
/// Examples:
///   harness man | man -l -
///   harness man approvals approve
///   harness man harness-org
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct ManArgs {
    /// The command, or harness-org
    #[arg(value_name = "NAME")]
    name: Vec<String>,
}

pub fn run(args: &ManArgs) -> Result<Answer> {
    let name = args.name.join("-");
    let name = name.strip_prefix("harness-").unwrap_or(&name);
    let text = match name {
        "" | "harness" => MAIN.to_string(),
        "org" => FORMATS.to_string(),
        name => {
            let pages = pages();
            let found = pages.iter().find(|(known, _)| known == name);
            let (_, text) = found.ok_or_else(|| unknown(name, &pages))?;
            text.clone()
        }
    };
    Ok(Answer::new("harness.man/1", json!({"name": name, "text": text}), text))
}

fn unknown(name: &str, pages: &[(String, String)]) -> CommandError {
    let error = CommandError::new(Kind::Usage, format!("there is no manual page `{name}`")).code("no_page");
    match nearest(name, pages.iter().map(|(known, _)| known.as_str())) {
        Some(near) => error.hint(format!("did you mean `harness man {near}`?")),
        None => error.hint("`harness --help` lists the commands"),
    }
}

/// The page of every command, and of every command beneath one, by its name.
pub fn pages() -> Vec<(String, String)> {
    let mut whole = command();
    whole.build();
    let mut pages = Vec::new();
    add_pages(&whole, "", &mut pages);
    pages
}

fn add_pages(command: &clap::Command, above: &str, pages: &mut Vec<(String, String)>) {
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        let name = format!("{above}{}", sub.get_name());
        pages.push((name.clone(), render_page(sub, &name)));
        add_pages(sub, &format!("{name}-"), pages);
    }
}
