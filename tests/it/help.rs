//! Help as a specification: every command says what it does, has examples, and the examples work.

use crate::sandbox::Sandbox;
use crate::snapshot;
use std::time::{Duration, Instant};

/// The commands that a help text lists.
fn listed(help: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut inside = false;
    for line in help.lines() {
        if !line.starts_with(' ') {
            inside = line.ends_with(':')
                && line != "Options:"
                && line != "Everywhere:"
                && line != "Examples:"
                && line != "Arguments:";
        } else if inside && line.starts_with("  ") && !line.starts_with("   ") {
            names.extend(line.split_whitespace().next().map(str::to_owned));
        }
    }
    names
}

/// Every command that does something, with its help.
///
/// Those that have others beneath them too.
fn leaves(sandbox: &Sandbox, path: &[String], found: &mut Vec<(Vec<String>, String)>) {
    let mut args: Vec<&str> = path.iter().map(String::as_str).collect();
    args.push("--help");
    let help = sandbox.start(&args).finish().take_stdout();
    let beneath = if path.is_empty() || help.contains("\nCommands:\n") { listed(&help) } else { Vec::new() };
    for name in &beneath {
        let deeper: Vec<String> = path.iter().cloned().chain([name.clone()]).collect();
        leaves(sandbox, &deeper, found);
    }
    if !path.is_empty() {
        found.push((path.to_vec(), help));
    }
}

fn examples(help: &str) -> Vec<String> {
    let parts = help.split("Examples:\n").skip(1);
    let lines = parts.flat_map(|part| part.lines().take_while(|line| line.starts_with("  ")));
    let mut all: Vec<String> = Vec::new();
    for line in lines {
        match all.last_mut() {
            Some(last) if last.ends_with('\\') => {
                last.pop();
                last.push_str(line.trim());
            }
            _ => all.push(line.trim().to_string()),
        }
    }
    all
}

pub fn all() -> Vec<(Vec<String>, String)> {
    // Wide enough that no example is broken into two lines.
    let (sandbox, mut found) = (Sandbox::new().env("COLUMNS", "400"), Vec::new());
    leaves(&sandbox, &[], &mut found);
    assert!(found.len() > 30, "{}", found.len());
    found
}

#[test]
fn every_command_has_an_imperative_line_and_examples_of_itself() {
    let mut faults = Vec::new();
    for (path, help) in all() {
        let (name, first) = (path.join(" "), help.lines().next().unwrap_or_default());
        if !first.starts_with(char::is_uppercase) || first.ends_with('.') {
            faults.push(format!("{name}: its first line is `{first}`"));
        }
        let examples = examples(&help);
        if !examples.iter().any(|example| example.contains(&format!("harness {name}"))) {
            faults.push(format!("{name}: no example of it"));
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn examples_fit_eighty_columns_and_prose_fills_the_line() {
    let narrow = Sandbox::new().env("COLUMNS", "80");
    let mut faults = Vec::new();
    for (path, help) in all() {
        let long =
            help.lines().find(|line| line.starts_with("  ") && line.contains("harness ") && line.len() > 80);
        faults.extend(long.map(|line| format!("{}: {line}", path.join(" "))));
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
    // Broken by the terminal alone: no line of a paragraph ends where its next word would still have fitted.
    let help = narrow.start(&["run-loop", "--help"]).finish().take_stdout();
    let prose = help.split("\n\n").nth(1).unwrap();
    let lines: Vec<&str> = prose.lines().collect();
    assert!(lines.len() > 2, "{prose}");
    for pair in lines.windows(2) {
        let next = pair[1].split(' ').next().unwrap();
        assert!(pair[0].len() <= 80 && pair[0].len() + 1 + next.len() > 80, "{prose}");
    }
    // What every command takes stands beneath what this one takes.
    assert!(help.find("--engine").unwrap() < help.find("\nEverywhere:\n").unwrap(), "{help}");
    assert!(help.find("\nEverywhere:\n").unwrap() < help.find("--root").unwrap(), "{help}");
}

/// Nobody says how wide: then it is 80 columns, as everywhere.
#[test]
fn help_fits_eighty_columns_where_no_width_is_known() {
    let mut faults = Vec::new();
    let sandbox = Sandbox::new();
    for (path, _) in all() {
        let args: Vec<&str> = path.iter().map(String::as_str).chain(["--help"]).collect();
        let help = sandbox.start(&args).finish().take_stdout();
        let wide = help.lines().filter(|line| line.chars().count() > 80);
        faults.extend(wide.map(|line| format!("{}: {line}", path.join(" "))));
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
    let help = sandbox.start(&["send", "--help"]).finish().take_stdout();
    let usage: Vec<&str> = help.lines().skip_while(|line| !line.starts_with("Usage: ")).take(2).collect();
    assert!(usage[0].starts_with("Usage: harness send ") && usage[1].starts_with("       "), "{help}");
}

/// Commands that go on until they are stopped, that need a terminal, or that change this machine's own scheduler.
const LEFT_OUT: [&str; 5] = ["watch", "top", "logs", "service", "selftest"];

/// Each example is typed in an organisation of its own. Its ids are made up, so it may fail; but never because its form
/// is wrong, and never with a bug.
#[test]
fn every_example_can_be_typed() {
    let base = Sandbox::of("/bin/sh").run(["-c", "harness init"]).any_stdout().then();
    for file in ["plan.md", "notes.md"] {
        std::fs::write(base.home().join(file), "What is to be done.\n").unwrap();
    }
    let mut faults = Vec::new();
    let mut typed = std::collections::BTreeSet::new();
    for (path, help) in all() {
        if LEFT_OUT.contains(&path[0].as_str()) {
            continue;
        }
        for example in examples(&help) {
            if !typed.insert(example.clone()) {
                continue;
            }
            let shell = base.clone().cwd(base.home());
            let started = Instant::now();
            let mut run = shell.start(&["-c", &format!("mkdir -p .local/share/bash-completion/completions .zfunc .config/fish/completions; {example}")]);
            while !run.ended() && started.elapsed() < Duration::from_secs(20) {
                std::thread::sleep(Duration::from_millis(5));
            }
            if !run.ended() {
                faults.push(format!("{example}: it does not end"));
                continue;
            }
            let (status, _, stderr) = run.finish().parts();
            if [2, 70, 101, 126, 127].contains(&status) {
                faults
                    .push(format!("{example}: exit {status}: {}", stderr.lines().next().unwrap_or_default()));
            }
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn help_can_be_asked_for_by_name() {
    let sandbox = Sandbox::new();
    for (name, same) in [
        (&["help"][..], &["--help"][..]),
        (&["help", "stats"], &["stats", "--help"]),
        (&["help", "charter", "accept"], &["charter", "accept", "--help"]),
        (&["--color", "never", "help", "send"], &["send", "--help"]),
    ] {
        let help = sandbox.start(same).finish().take_stdout();
        assert_eq!(sandbox.start(name).finish().take_stdout(), help, "{name:?}");
    }
    let (status, _, stderr) = sandbox.start(&["help", "nonsense"]).finish().parts();
    assert!(status == 2 && stderr.contains("nonsense"), "{status} {stderr}");
}

#[test]
fn help_fits_and_reads_at_any_width() {
    let sandbox = Sandbox::new();
    for (name, args) in [
        ("help-status", ["status", "--help"]),
        ("help-stats", ["stats", "--help"]),
        ("help-report", ["report", "--help"]),
    ] {
        snapshot::at_widths(&sandbox, name, &args);
    }
}
