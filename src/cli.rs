//! The command line: arguments in, exit code out. Everything that goes wrong is told here, once.

mod help;
mod usage;

use crate::commands::app::App;
use crate::commands::{Command, TickArgs, run};
use crate::ctx::Ctx;
use crate::error::{CommandError, Kind};
use crate::ui::{Answer, Color, Failure, Format, Ui};
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use serde_json::json;
use std::ffi::OsString;
use std::path::PathBuf;

/// The help's own layout: commands by what one wants to do. A test holds it against the commands there are.
const HELP: &str = "\
{about-with-newline}
{usage-heading} {usage}

Start:
  init          Make an organisation and its departments
  demo          Watch an organisation work, in a minute
  doctor        Try everything that has to work

Talk to it:
  send          Send a message to one or more departments
  inbox         List a department's open messages
  outbox        List what a department sent
  message       Show one message, its thread, or mark it
  directive     Give a directive, follow it, pause or end it
  project       List projects, show one, make or change one
  questions     List what directors asked, or answer

Run it:
  run-loop      Run a department until its mail is handled
  run-director  Run one step of one role
  tick          Look at every department once, and run what is due
  watch         Run what is due, here and now, until interrupted
  schedule      List, add or remove what a department does at set times
  event         Tell departments that something happened
  schedulers    List how departments are run by themselves, and when each is due
  config        Show or change how a department is run
  service       Let the system's scheduler run the organisation

Steer it:
  approvals     List, show, approve or reject what waits for you
  charter       Show, check, test or accept a department's charter
  budget        Show budgets: spent, reserved, left, and until when
  gate          Show, check, close or open the safety gate
  pause         Keep a department from running
  resume        Let a paused department run again
  stop-loop     End a department's run
  stop-all      Stop everything, and prove it
  task          Show the board, or change a task on it
  agent         List a department's agents, add or retire one
  escalations   List what directors handed over, or resolve one

See it:
  status        Show how the organisation is
  why           Show why a department runs or doesn't
  top           Watch the organisation as it works
  logs          Show the running step's output
  runs          List runs, or show one with its steps
  active-runs   List what runs now
  memory        Show what a director remembers
  prompt        Print the prompt a director would get
  stats         Count runs, refusals, cost and tokens, day by day
  report        Write a page with pictures, to open in a browser
  health        Show whether the organisation is well

Trust it:
  verify        Check that everything on disk holds together
  recover       Finish what a dead run left
  drill         Kill runs on purpose, and prove recovery
  selftest      Kill runs at every operation on your own disk, and prove recovery
  commit        Commit what was written in a department
  undo          Take back what a run changed
  replay        Judge a run's answers by the rules of today
  simulate      Rehearse days of the whole organisation
  rehearse      Run fixtures as tests of a department
  archive       Move what is old to the archive folders
  prune         Pack old run records into a file for each month

Carry it:
  export        Write a department as a template
  import        Make a department from a template
  schema        Print the JSON Schema of a format
  completions   Print a shell's completions
  man           Print a manual page

Options:
{options}{after-help}";

/// What stands over the options of every command, beneath a command's own.
const EVERYWHERE: &str = "Everywhere";

/// Run an organisation of LLM directors from plain files
///
/// A department is a folder `org-<dept>`; the organisation is all of them under one root. Without a command: status.
#[derive(Debug, Parser)]
#[command(name = "harness", version, help_template = HELP, disable_help_subcommand = true)]
#[command(
    after_help = "`harness help COMMAND` or `harness COMMAND --help` says what a command does, with examples."
)]
struct Cli {
    #[command(flatten)]
    everywhere: Everywhere,
    #[command(subcommand)]
    command: Option<Command>,
}

/// What may stand anywhere on the line.
#[derive(Debug, clap::Args)]
struct Everywhere {
    // The variable is read by `ctx`: the parser would take it for a part of the line, and show it in every form.
    /// The organisation's root [default: $HARNESS_ROOT, else $HOME]
    #[arg(long, global = true, value_name = "DIR", help_heading = EVERYWHERE)]
    root: Option<PathBuf>,
    /// Print one JSON document on stdout
    #[arg(long, global = true, help_heading = EVERYWHERE)]
    json: bool,
    /// Use colour: auto, always or never [default: auto]
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", help_heading = EVERYWHERE)]
    #[arg(hide_default_value = true, hide_possible_values = true)]
    color: Color,
    /// Print what was asked for and what went wrong, no notices and no account of a change
    #[arg(long, short, global = true, help_heading = EVERYWHERE)]
    quiet: bool,
}

/// The command line as it is defined, for completions and manual pages.
pub fn command() -> clap::Command {
    Cli::command()
}

/// Runs the program and returns its exit code.
pub fn main(arguments: Vec<OsString>) -> u8 {
    let wants_json = arguments.iter().any(|argument| argument == "--json");
    let format = if wants_json { Format::Json } else { Format::Text };
    let plain = Ui { format, color: Color::Auto, quiet: false, columns: None };
    // Building the whole tree of commands to say one line would be most of the work.
    if arguments.len() == 2 && matches!(arguments[1].to_str(), Some("--version" | "-V")) {
        return plain.answer(&Answer::new("harness.version/1", json!(null), version()));
    }
    let outcome = std::panic::catch_unwind(|| match plain_tick(&arguments) {
        // Timers write the same short line every half minute.
        Some(cli) => run_cli(&cli, plain.format),
        None => parse_and_run(arguments, plain),
    });
    outcome.unwrap_or_else(|_| {
        let error = CommandError::new(Kind::Bug, "harness has a bug, and stopped")
            .hint("the lines above say where; nothing half done is left behind");
        fail(&plain, &error)
    })
}

/// `harness [--root DIR] tick [DEPT...] [--root DIR]` and no more, as services write it.
fn plain_tick(arguments: &[OsString]) -> Option<Cli> {
    let words: Vec<&str> = arguments.iter().skip(1).map(|word| word.to_str()).collect::<Option<_>>()?;
    let (root, rest) = match &words[..] {
        ["--root", dir, "tick", rest @ ..] | ["tick", rest @ .., "--root", dir] => {
            (Some(PathBuf::from(dir)), rest)
        }
        ["tick", rest @ ..] => (None, rest),
        _ => return None,
    };
    // An empty name is for the whole parser to refuse.
    if root.as_ref().is_some_and(|root| root.as_os_str().is_empty()) {
        return None;
    }
    let command = Some(Command::Tick(TickArgs::parse_plain(rest)?));
    let everywhere = Everywhere { root, json: false, color: Color::Auto, quiet: false };
    Some(Cli { everywhere, command })
}

fn version() -> String {
    format!("harness {}\n", env!("CARGO_PKG_VERSION"))
}

fn parse_and_run(arguments: Vec<OsString>, plain: Ui) -> u8 {
    let arguments = spell_help(arguments);
    match parse(&arguments) {
        Ok(cli) => run_cli(&cli, plain.format),
        Err(error) => refuse_arguments(&error, &arguments, &plain),
    }
}

/// `harness help [COMMAND...]` is `harness [COMMAND...] --help`.
fn spell_help(mut arguments: Vec<OsString>) -> Vec<OsString> {
    if find_verb(&arguments) == Some("help")
        && let Some(at) = arguments.iter().skip(1).position(|word| word == "help")
    {
        arguments.remove(at + 1);
        arguments.push("--help".into());
    }
    arguments
}

fn parse(arguments: &[OsString]) -> Result<Cli, clap::Error> {
    let read = |command: clap::Command| {
        command.try_get_matches_from(arguments).and_then(|matches| Cli::from_arg_matches(&matches))
    };
    // Every command gets a copy of what may stand anywhere, and most of the time went into copies for commands that
    // weren't called. Whatever the lean tree can't read, also a call for help, is for the whole one.
    match lean_tree(arguments).map(read) {
        Some(Ok(cli)) => Ok(cli),
        _ => read(whole_tree()),
    }
}

/// Every command, with help as wide as any other answer.
fn whole_tree() -> clap::Command {
    help::fill(Cli::command().term_width(help_width()))
}

fn help_width() -> usize {
    let columns = columns(&Ctx::from_process());
    Ui { format: Format::Text, color: Color::Auto, quiet: false, columns }.width()
}

/// What `COLUMNS` says.
fn columns(ctx: &Ctx) -> Option<usize> {
    ctx.variable("COLUMNS").and_then(|text| text.parse().ok()).filter(|columns| *columns >= 20)
}

/// A command line with no command but the one that is called.
fn lean_tree(arguments: &[OsString]) -> Option<clap::Command> {
    let verb = find_verb(arguments)?;
    let all = Command::augment_subcommands(clap::Command::new("harness"));
    let called = all.get_subcommands().find(|known| known.get_name() == verb)?.clone();
    Some(Everywhere::augment_args(clap::Command::new("harness")).subcommand(called))
}

/// The first word that is neither an option nor the value of one.
fn find_verb(arguments: &[OsString]) -> Option<&str> {
    let mut words = arguments.iter().skip(1);
    while let Some(word) = words.next() {
        match word.to_str()? {
            "--root" | "--color" => {
                words.next();
            }
            option if option.starts_with('-') => {}
            verb => return Some(verb),
        }
    }
    None
}

fn run_cli(cli: &Cli, format: Format) -> u8 {
    let ctx = Ctx::from_process();
    let format = if cli.everywhere.json { Format::Json } else { format };
    let (color, quiet) = (cli.everywhere.color, cli.everywhere.quiet);
    let ui = Ui { format, color, quiet, columns: columns(&ctx) };
    let named = cli.everywhere.root.clone().or_else(|| ctx.root_variable());
    let root = match named.or_else(|| ctx.home()) {
        Some(root) => root,
        None => {
            let error = CommandError::new(
                Kind::Usage,
                "neither --root nor HARNESS_ROOT nor HOME says where the root is",
            );
            return fail(&ui, &error.hint("name it: `--root DIR`"));
        }
    };
    let app = App { ctx: &ctx, ui, root };
    match run(cli.command.as_ref(), &app) {
        Ok(answer) => ui.answer(&answer),
        Err(error)
            if cli.command.is_none() && error.code == Some("no_organisation") && format == Format::Text =>
        {
            ui.answer(&Answer::new("harness.welcome/1", json!(null), welcome(&app)))
        }
        Err(error) => fail(&ui, &error),
    }
}

fn welcome(app: &App<'_>) -> String {
    format!(
        "harness runs an organisation of LLM directors from plain files.\n\n\
         There is none in {} yet. To make one with five departments:\n\n  \
         harness init --root ./org\n\n\
         To watch one work first, in a minute, with no key and nothing installed:\n\n  \
         harness demo\n\n`harness --help` lists every command.\n",
        app.root.display()
    )
}

fn refuse_arguments(error: &clap::Error, arguments: &[OsString], plain: &Ui) -> u8 {
    use clap::error::ErrorKind;
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        let help = help::break_usage(&error.render().ansi().to_string(), help_width());
        return plain_text(plain).answer(&Answer::new("harness.help/1", json!(null), help));
    }
    let mut all = Cli::command();
    // What lies beneath a command is put in then.
    all.build();
    fail(plain, &usage::to_error(error, &usage::named_command(arguments, &all)))
}

fn plain_text(ui: &Ui) -> Ui {
    Ui { format: Format::Text, ..*ui }
}

fn fail(ui: &Ui, error: &CommandError) -> u8 {
    let (exit, message) = (error.kind.exit(), error.cause.to_string());
    ui.failure(&Failure {
        code: error.code.unwrap_or(error.kind.code()),
        exit,
        causes: causes(&message, &error.cause),
        message,
        hints: &error.hints,
    });
    exit
}

/// What led to it, but for what the message says already.
fn causes(message: &str, error: &anyhow::Error) -> Vec<String> {
    error.chain().skip(1).map(ToString::to_string).filter(|cause| !message.contains(cause.as_str())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_lean_tree_reads_what_the_whole_one_reads() {
        for line in [
            "harness inbox rd",
            "harness --root /x inbox rd --json",
            "harness --root=/x --color never -q send --to rd --kind Note --subject s --body b",
            "harness message show 7f3k2q --quiet",
            "harness gate",
            "harness",
            "harness --json",
        ] {
            let arguments: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let whole = Cli::command()
                .term_width(help_width())
                .try_get_matches_from(&arguments)
                .and_then(|matches| Cli::from_arg_matches(&matches));
            let (lean, whole) = (parse(&arguments), whole);
            assert_eq!(format!("{lean:?}"), format!("{whole:?}"), "{line}");
        }
    }

    #[test]
    fn what_the_lean_tree_can_not_read_is_refused_by_the_whole_one() {
        for line in ["harness --root inbox rd", "harness inbox", "harness inbx rd", "harness inbox rd --help"]
        {
            let arguments: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let whole = whole_tree().try_get_matches_from(&arguments).unwrap_err();
            assert_eq!(parse(&arguments).unwrap_err().to_string(), whole.to_string(), "{line}");
        }
    }

    #[test]
    fn every_command_is_in_the_help_once_with_its_first_line() {
        let mut command = Cli::command();
        command.build();
        let shown: Vec<_> = command.get_subcommands().filter(|sub| !sub.is_hide_set()).collect();
        for sub in &shown {
            let about = sub.get_about().map(ToString::to_string).unwrap_or_default();
            let line = format!("  {:<13} {about}", sub.get_name());
            assert_eq!(HELP.lines().filter(|known| *known == line).count(), 1, "{line}");
        }
        let listed = HELP.lines().filter(|line| line.starts_with("  ")).count();
        assert_eq!(listed, shown.len());
    }
}
