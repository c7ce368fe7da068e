//! Completions: what is offered where, and that each shell takes its script.

use crate::desk::{MARK, SEND, acts, business, with, worker};
use crate::outcome::not_run;
use crate::sandbox::Sandbox;
use std::process::Command;

#[track_caller]
fn offered(sandbox: &Sandbox, words: &[&str]) -> Vec<String> {
    let args = [&["complete-words", "--"], words].concat();
    let text = sandbox.start(&args).finish().take_stdout();
    text.lines().map(|line| line.split('\t').next().unwrap().to_string()).collect()
}

#[test]
fn commands_options_departments_and_kinds() {
    let sandbox = Sandbox::new().organisation();
    let check =
        |words: &[&str], expected: &[&str]| assert_eq!(offered(&sandbox, words), expected, "{words:?}");
    check(&["stat"], &["stats", "status"]);
    check(&["approvals", "a"], &["approve"]);
    check(&["inbox", ""], &["business", "management", "marketing", "rd", "technology"]);
    check(&["status", "m"], &["management", "marketing"]);
    check(&["send", "--to", "te"], &["technology"]);
    check(&["send", "--kind", "Dir"], &["Directive"]);
    check(&["--root", &sandbox.root().display().to_string(), "status", "rd"], &["rd"]);
    check(&["run-loop", "--engine", "ru"], &["rules"]);
    check(&["run-director", "rd", "--role", "w"], &["worker"]);
    check(&["stats", "--si"], &["--since"]);
    check(&["inbox", "rd", ""], &[]);
    assert!(!offered(&sandbox, &[""]).contains(&"complete-words".to_string()));
}

#[test]
fn ids_of_what_waits_and_of_what_is_open() {
    let low = with(SEND, "confidence", "10");
    let sandbox = worker(business().reply(&acts(&[&low, MARK]))).then();
    let approval = sandbox.folder("org-business/approvals").into_keys().next().unwrap();
    assert_eq!(offered(&sandbox, &["approvals", "approve", ""]), [approval.trim_end_matches(".md")]);
    assert_eq!(offered(&sandbox, &["message", "show", "m-"]), [sandbox.sent(0)]);
    assert_eq!(offered(&sandbox, &["runs", "show", "r-"]).len(), 1);
}

#[test]
fn without_an_organisation_commands_are_still_offered() {
    let sandbox = Sandbox::new();
    assert_eq!(offered(&sandbox, &["ini"]), ["init"]);
    assert!(offered(&sandbox, &["inbox", ""]).is_empty());
}

/// Each shell that is here reads its script, and bash completes with it.
#[test]
fn shells_take_their_scripts() {
    let sandbox = Sandbox::new().organisation();
    for (shell, check) in [("bash", "-n"), ("zsh", "-n"), ("fish", "--no-execute")] {
        let script = sandbox.start(&["completions", shell]).finish().take_stdout();
        let path = sandbox.dir().join(format!("script.{shell}"));
        std::fs::write(&path, &script).unwrap();
        match Command::new(shell).arg(check).arg(&path).output() {
            Ok(output) => {
                assert!(output.status.success(), "{shell}: {}", String::from_utf8_lossy(&output.stderr))
            }
            Err(_) => not_run(&format!("completions::{shell}"), &format!("{shell} is not here")),
        }
    }
    let script = sandbox.dir().join("script.bash").display().to_string();
    let line = format!(
        "source '{script}'; COMP_WORDS=(harness status m); COMP_CWORD=2; _harness; echo \"${{COMPREPLY[*]}}\""
    );
    let shell = Sandbox::of("/bin/bash").run(["-c", "harness init"]).any_stdout().then();
    shell.run(["-c", &line]).stdout("management marketing\n");
}
