//! The manual pages: sound source, and no command, option or file of the program left out.

use crate::sandbox::Sandbox;
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
    let mut checked = Vec::new();
    for (program, args) in CHECKERS {
        for page in PAGES {
            let Ok(output) = Command::new(program).args(args).arg(path(page)).output() else { continue };
            let said = [output.stdout, output.stderr].concat();
            assert!(said.is_empty(), "{program} {page}:\n{}", String::from_utf8_lossy(&said));
            checked.push(program);
        }
    }
    if checked.is_empty() {
        let mut stderr = std::io::stderr();
        std::io::Write::write_all(&mut stderr, b"not run: neither mandoc nor groff is here\n").unwrap();
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
