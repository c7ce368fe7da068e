//! The manual pages: sound source, and no command, option or file of the program left out.

use crate::outcome::not_run;
use crate::sandbox::Sandbox;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

const PAGES: [&str; 2] = ["harness.1", "harness-org.5"];

fn path(page: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("man").join(page)
}

/// The page as a reader sees it, without the marks of its source.
fn text(page: &str) -> String {
    let source = std::fs::read_to_string(path(page)).unwrap();
    source.replace("\\-", "-").replace("\\&", "").replace("\\(aq", "'")
}

/// The checkers that may be there, with the arguments that make them complain of anything.
const CHECKERS: [(&str, &[&str]); 2] =
    [("mandoc", &["-T", "lint", "-W", "warning"]), ("groff", &["-man", "-Tutf8", "-ww", "-z"])];

#[test]
fn pages_are_sound() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("man");
    let pages: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(pages.len() > 40 && pages.contains(&path("harness.1")), "{pages:?}");
    let mut checked = Vec::new();
    for (program, args) in CHECKERS {
        let Ok(output) = Command::new(program).args(args).args(&pages).output() else { continue };
        let said = [output.stdout, output.stderr].concat();
        assert!(said.is_empty(), "{program}:\n{}", String::from_utf8_lossy(&said));
        checked.push(program);
    }
    if checked.is_empty() {
        not_run("man::pages_are_sound", "neither mandoc nor groff is here");
    }
}

/// The commands that a help text lists, two spaces from the left.
fn listed(help: &str) -> Vec<String> {
    let lines = help.lines().take_while(|line| *line != "Options:");
    let commands = lines.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    commands
        .filter_map(|line| line.split_whitespace().next())
        .filter(|word| !word.starts_with(['<', '[']))
        .map(str::to_owned)
        .collect()
}

/// Every option in the help of a command, and of the commands beneath it.
fn check(page: &str, sandbox: &Sandbox, command: &[&str]) {
    let args: Vec<&str> = command.iter().copied().chain(["--help"]).collect();
    let help = sandbox.start(&args).finish().take_stdout();
    for option in help.split_whitespace().filter(|word| word.starts_with("--") && word.len() > 2) {
        let option = option.trim_end_matches(|c: char| !c.is_alphanumeric());
        assert!(page.contains(option), "{command:?} {option}");
    }
    if help.contains("\nCommands:\n") || command.is_empty() {
        let commands = help.split("Commands:\n").nth(1).map_or_else(|| listed(&help), listed);
        assert!(!commands.is_empty(), "{command:?}");
        for name in &commands {
            let deeper: Vec<&str> = command.iter().copied().chain([name.as_str()]).collect();
            assert!(page.contains(&deeper.join(" ")), "{deeper:?}");
            check(page, sandbox, &deeper);
        }
    }
}

#[test]
fn every_command_and_option_is_in_the_manual() {
    check(&text("harness.1"), &Sandbox::new(), &[]);
}

#[test]
fn every_file_that_init_makes_is_in_the_manual() {
    let (page, sandbox) = (text("harness-org.5"), Sandbox::new().dept("rd"));
    for folder in ["org-rd", ".harness"] {
        for line in sandbox.tree(folder).lines().filter(|line| !line.contains("accepted/")) {
            let name = line.trim_end_matches('/').rsplit('/').next().unwrap();
            assert!(page.contains(name), "{folder}/{line}");
        }
    }
}

/// The page of each command is made from its help; `UPDATE_MAN=1 cargo test --test it man` writes them anew.
#[test]
fn the_pages_of_commands_are_fresh() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("man");
    let fresh: BTreeMap<String, String> = director_harness::commands::manual_pages()
        .into_iter()
        .map(|(name, text)| (format!("harness-{name}.1"), text))
        .collect();
    let there: BTreeSet<String> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !PAGES.contains(&name.as_str()))
        .collect();
    if std::env::var_os("UPDATE_MAN").is_some() {
        there.iter().for_each(|name| std::fs::remove_file(folder.join(name)).unwrap());
        fresh.iter().for_each(|(name, text)| std::fs::write(folder.join(name), text).unwrap());
        return;
    }
    let stale: Vec<&String> = fresh
        .iter()
        .filter(|(name, text)| std::fs::read_to_string(folder.join(name)).ok().as_ref() != Some(*text))
        .map(|(name, _)| name)
        .chain(there.iter().filter(|name| !fresh.contains_key(*name)))
        .collect();
    assert!(stale.is_empty(), "stale in man/: {stale:?}; UPDATE_MAN=1 cargo test --test it man writes them");
}

#[test]
fn a_page_is_printed() {
    let sandbox = Sandbox::new();
    let page = sandbox.start(&["man", "approvals", "approve"]).finish().take_stdout();
    assert!(page.contains(".SH EXAMPLES") && page.contains(".TH HARNESS-APPROVALS-APPROVE"), "{page}");
    let main = sandbox.start(&["man"]).finish().take_stdout();
    assert_eq!(main, std::fs::read_to_string(path("harness.1")).unwrap());
    let error = sandbox.run(["man", "statsu"]).status(2).parts().2;
    assert!(error.contains("did you mean `harness man stats`?"), "{error}");
}
