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
fn names_of_everything_that_has_one() {
    let sandbox = Sandbox::new().organisation();
    let done = |args: &[&str]| sandbox.start(args).finish().any_stderr().take_stdout().trim().to_string();
    let task = done(&["task", "add", "rd", "--title", "Ask ten users", "--description", "Do they read it?"]);
    let directive = done(&["directive", "add", "--title", "Weekly digest", "--body", "Mail it."]);
    let project = done(&["project", "add", "--title", "Digest", "--body", "One mail a week."]);
    done(&[
        "agent",
        "add",
        "rd",
        "ann",
        "--role",
        "Researcher",
        "--purpose",
        "Asks users and writes it down.",
    ]);
    done(&["schedule", "add", "rd", "monday", "--cron", "0 9 * * mon", "--prompt", "Look at it."]);
    let check = |words: &[&str], expected: &str| {
        let found = offered(&sandbox, words);
        assert!(found.iter().any(|one| one == expected), "{words:?}: {expected} is not in {found:?}");
    };
    for command in ["show", "assign", "move", "comment", "nudge"] {
        check(&["task", command, "t-"], &task);
    }
    check(&["task", "add", "rd", "--depends-on", ""], &task);
    check(&["task", "assign", &task, ""], "ann");
    check(&["directive", "pause", ""], &directive);
    check(&["project", "add", "--directive", ""], &directive);
    check(&["project", "show", ""], &project);
    check(&["task", "add", "rd", "--project", ""], &project);
    check(&["agent", "retire", "rd", ""], "ann");
    check(&["schedule", "remove", "rd", ""], "monday");
    check(&["config", "set", "rd", "auto"], "autoLoop");
    check(&["man", "approvals-a"], "approvals-approve");
    for words in [&["agent", "retire", "business", "ann"][..], &["schedule", "remove", "business", ""]] {
        assert!(offered(&sandbox, words).is_empty(), "{words:?}");
    }
}

#[test]
fn a_root_on_the_line_counts() {
    let other = Sandbox::new().apart().dept("kitchen");
    let root = other.root().display().to_string();
    let sandbox = Sandbox::new().organisation();
    assert_eq!(offered(&sandbox, &["--root", &root, "inbox", "k"]), ["kitchen"]);
    assert_eq!(offered(&sandbox, &[&format!("--root={root}"), "inbox", ""]), ["kitchen"]);
    assert_eq!(offered(&sandbox, &["inbox", "--root", &root, ""]), ["kitchen"]);
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

/// What a person sees who types a line and presses the key, in the shells that can be asked for it.
#[test]
fn zsh_and_fish_complete_departments_and_ids() {
    let sandbox =
        Sandbox::new().dept("kitchen").dept("garden").message("kitchen", "Note", "Pears", "Buy some.");
    let id = sandbox.sent(0);
    let scripts = sandbox.dir();
    for shell in ["zsh", "fish"] {
        let script = sandbox.start(&["completions", shell]).finish().take_stdout();
        std::fs::write(scripts.join(format!("script.{shell}")), &script).unwrap();
    }
    let variables = [
        ("PATH", format!("{}:/usr/bin:/bin", scripts.join("bin").display())),
        ("HOME", sandbox.home().display().to_string()),
        ("HARNESS_ROOT", sandbox.root().display().to_string()),
        ("TERM", "dumb".to_string()),
    ];
    let ask = |shell: &str, args: &[&str]| {
        let output = Command::new(shell).args(args).env_clear().envs(variables.clone()).output();
        match output {
            Ok(output) => {
                Some(String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
            }
            Err(_) => {
                not_run(&format!("completions::{shell}"), &format!("{shell} is not here"));
                None
            }
        }
    };
    let line = format!(
        "source '{}'; complete -C 'harness inbox '; complete -C 'harness message show '",
        scripts.join("script.fish").display()
    );
    if let Some(said) = ask("fish", &["--no-config", "-c", &line]) {
        assert!(said.contains("kitchen\ta department\n") && said.contains("garden\t"), "{said}");
        assert!(said.contains(&format!("{id}\tkitchen: Pears\n")), "{said}");
    }
    // zsh completes at a terminal alone, so it is given one; what it was told to add stands in a file.
    let typed = ZSH
        .replace("SCRIPT", &scripts.join("script.zsh").display().to_string())
        .replace("SEEN", &scripts.join("seen").display().to_string());
    if ask("zsh", &["-f", "-c", &typed]).is_some() {
        let seen = std::fs::read_to_string(scripts.join("seen")).unwrap_or_default();
        assert!(seen.contains("kitchen:a department") && seen.contains("garden:"), "{seen}");
        assert!(
            seen.contains(&format!("{id}:kitchen\\: Pears"))
                || seen.contains(&format!("{id}:kitchen: Pears")),
            "{seen}"
        );
    }
}

/// A line is typed and completed in a terminal of zsh's own; `_describe` writes down what it would offer.
const ZSH: &str = r#"
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "autoload -Uz compinit; compinit -u -D; source 'SCRIPT'; bindkey '^I' complete-word; _describe() { print -rl -- \"\${(P@)2}\" >> 'SEEN' }; print READY"
wait_for() { local line all; repeat 200; do zpty -r -t shell line && all+=$line; [[ $all == *$1* ]] && return; sleep 0.05; done }
wait_for $'\nREADY'
for line in 'harness inbox ' 'harness message show '; do
  before=$(cat 'SEEN' 2>/dev/null)
  zpty -w -n shell "$line"$'\t'
  repeat 200; do [[ $(cat 'SEEN' 2>/dev/null) != $before ]] && break; sleep 0.05; done
  zpty -w -n shell $'\x15'
done
zpty -d shell
"#;
