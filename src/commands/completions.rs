//! `harness completions`: a shell's completions, with departments and ids.
//!
//! The scripts only ask: what fits is worked out by the hidden `complete-words`, from the command line itself and from
//! the organisation as it is, so that every shell offers the same and nothing in a script goes stale.

use super::app::{App, Result};
use super::complete_ids::{Wanted, known};
use crate::cli::command;
use crate::ui::Answer;
use clap::{Arg, Command};
use serde_json::json;
use std::path::PathBuf;

const BASH: &str = include_str!("completions/harness.bash");
const ZSH: &str = include_str!("completions/harness.zsh");
const FISH: &str = include_str!("completions/harness.fish");

/// Print a shell's completions
///
/// They complete commands, options, departments and ids; what is offered comes from the organisation at that moment.
/// Nothing is installed: the script goes to stdout.
///
/// Examples:
///   harness completions bash > ~/.local/share/bash-completion/completions/harness
///   harness completions zsh > ~/.zfunc/_harness
///   harness completions fish > ~/.config/fish/completions/harness.fish
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
}

/// What could stand at the end of a line
#[derive(Debug, clap::Args)]
pub struct WordsArgs {
    /// The words after `harness`; the last one is being typed
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

pub fn run(args: &CompletionsArgs) -> Answer {
    let (name, script) = match args.shell {
        Shell::Bash => ("bash", BASH),
        Shell::Zsh => ("zsh", ZSH),
        Shell::Fish => ("fish", FISH),
    };
    Answer::new("harness.completions/1", json!({"shell": name, "script": script}), script)
}

/// A candidate a line, with what it is after a tab.
pub fn words(args: &WordsArgs, app: &App<'_>) -> Result<Answer> {
    let (typed, before) =
        args.words.split_last().map_or(("", &[][..]), |(last, before)| (last.as_str(), before));
    let mut found = candidates(before, typed, app);
    found.retain(|(word, _)| word.starts_with(typed));
    found.sort();
    found.dedup();
    let text: String = found.iter().map(|(word, what)| format!("{word}\t{what}\n")).collect();
    let data: Vec<_> = found.iter().map(|(word, what)| json!({"word": word, "what": what})).collect();
    Ok(Answer::new("harness.complete-words/1", json!({"words": data}), text))
}

/// Where a line stands after some words.
struct Place {
    command: Command,
    /// The names of the commands on the way.
    path: Vec<String>,
    /// The positional words so far.
    positionals: Vec<String>,
    /// The option whose value is next.
    option: Option<Arg>,
    /// The root that the line names.
    root: Option<PathBuf>,
}

fn candidates(before: &[String], typed: &str, app: &App<'_>) -> Vec<(String, String)> {
    let place = walk(before);
    // The line that is typed names the organisation whose names it may hold.
    let root = place.root.clone().unwrap_or_else(|| app.root.clone());
    let app = &App { ctx: app.ctx, ui: app.ui, root };
    if let Some(option) = &place.option {
        return values(option, &place, app);
    }
    if typed.starts_with('-') {
        let options = place.command.get_arguments().filter(|arg| !arg.is_hide_set());
        let long = options.filter_map(|arg| Some((format!("--{}", arg.get_long()?), help(arg))));
        return long.collect();
    }
    let subs = place.command.get_subcommands().filter(|sub| !sub.is_hide_set());
    let mut found: Vec<(String, String)> = subs.map(|sub| (sub.get_name().to_string(), about(sub))).collect();
    let positionals: Vec<&Arg> = place.command.get_positionals().collect();
    let many = |arg: &&&Arg| arg.get_num_args().is_some_and(|range| range.max_values() > 1);
    let next = positionals.get(place.positionals.len()).or_else(|| positionals.last().filter(many));
    if let Some(arg) = next {
        found.extend(values(arg, &place, app));
    }
    found
}

fn walk(before: &[String]) -> Place {
    let mut command = command();
    command.build();
    let mut place = Place { command, path: Vec::new(), positionals: Vec::new(), option: None, root: None };
    for word in before {
        if let Some(option) = place.option.take() {
            if option.get_long() == Some("root") {
                place.root = Some(PathBuf::from(word));
            }
            continue;
        }
        if let Some(root) = word.strip_prefix("--root=") {
            place.root = Some(PathBuf::from(root));
        } else if let Some(name) = word.strip_prefix('-') {
            let named = place.command.get_arguments().find(|arg| is_named(arg, name)).cloned();
            place.option = named.filter(|arg| arg.get_action().takes_values() && !word.contains('='));
        } else if let Some(sub) = place.command.find_subcommand(word).cloned() {
            place.path.push(word.clone());
            place.command = sub;
        } else {
            place.positionals.push(word.clone());
        }
    }
    place
}

/// Whether a word without its first dash names an option.
fn is_named(arg: &Arg, name: &str) -> bool {
    let long = name.strip_prefix('-').map(|long| long.split('=').next().unwrap_or(long));
    match long {
        Some(long) => arg.get_long() == Some(long),
        None => arg.get_short().is_some_and(|short| name.starts_with(short)),
    }
}

fn help(arg: &Arg) -> String {
    arg.get_help().map(ToString::to_string).unwrap_or_default()
}

fn about(command: &Command) -> String {
    command.get_about().map(ToString::to_string).unwrap_or_default()
}

/// What an argument may be: its listed values, or names from the organisation.
fn values(arg: &Arg, place: &Place, app: &App<'_>) -> Vec<(String, String)> {
    let listed = arg.get_possible_values();
    if !listed.is_empty() {
        let value = |value: &clap::builder::PossibleValue| {
            let what = value.get_help().map(ToString::to_string).unwrap_or_default();
            (value.get_name().to_string(), what)
        };
        return listed.iter().map(value).collect();
    }
    let name =
        arg.get_value_names().and_then(|names| names.first()).map(ToString::to_string).unwrap_or_default();
    if name == "NAME" && place.path == ["man"] {
        return super::manual_pages()
            .into_iter()
            .map(|(name, _)| (name, "a manual page".to_string()))
            .collect();
    }
    let wanted = Wanted::find(&place.path, arg.get_long(), &name);
    if wanted == Wanted::Nothing {
        return Vec::new();
    }
    // A command about a task begins with the task's id, any other with its department.
    let in_dept = place.path.first().is_some_and(|first| first != "task");
    let dept = place.positionals.first().map(String::as_str).filter(|_| in_dept);
    // A completion never fails: what can't be read offers nothing.
    known(app, wanted, dept).unwrap_or_default()
}
