//! Runs that are killed at random, again and again, for a set time: in the end everything that arrived was handled
//! once, and the books agree.
//!
//! `HARNESS_SOAK_SECONDS` says for how long; `tests/soak` is the command for a whole night.

use crate::crash::books;
use crate::crash::model::Dice;
use crate::crash::tree::Tree;
use crate::sandbox::Sandbox;
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

const SECONDS: u64 = 6;

const BUSINESS: &str = r#"schema = 1

[[rule]]
name = "note"
decision = "NEXT_WORKER"
why = "Each note is passed on."
[rule.when]
kind = "Note"
[[rule.actions]]
do = "log_decision"
title = "{{ message.subject }}"
decision = "Passed on."
why = "Management plans with it."
reason = "Later readers need to see it."
[[rule.actions]]
do = "send_message"
to = ["management"]
kind = "Decision"
subject = "{{ message.subject }}"
body = "As it was noted."
confidence = 90
reason = "Management plans with it."
[[rule.actions]]
do = "mark_message"
id = "{{ message.id }}"
status = "actioned"
reason = "It was passed on."
"#;

const MANAGEMENT: &str = r#"schema = 1

[[rule]]
name = "decision"
decision = "NEXT_WORKER"
why = "Each decision is taken note of."
[rule.when]
kind = "Decision"
[[rule.actions]]
do = "mark_message"
id = "{{ message.id }}"
status = "actioned"
reason = "It was taken note of."
"#;

fn stage() -> Sandbox {
    let mut sandbox = Sandbox::new().apart().organisation();
    for (dept, playbook) in [("business", BUSINESS), ("management", MANAGEMENT)] {
        let charter = format!("org-{dept}/charter.toml");
        for limit in
            ["actions_per_hour", "actions_per_day", "messages_per_hour", "steps_per_run", "runs_per_hour"]
        {
            let text = sandbox.read(&charter);
            let line = text.lines().find(|line| line.starts_with(limit)).unwrap().to_owned();
            sandbox = sandbox.edit(&charter, &line, &format!("{limit} = 1000000"));
        }
        // A note that somebody dropped is external, and passing it on is what is tried here.
        let text = sandbox.read(&charter);
        if let Some(line) = text.lines().find(|line| line.starts_with("from_external")) {
            sandbox = sandbox.edit(&charter, line, "from_external = []");
        }
        sandbox = sandbox.file(&format!("org-{dept}/playbook.toml"), playbook);
        sandbox.clone().run(["charter", "accept", dept]).any_stdout();
    }
    sandbox
}

fn note(sandbox: &Sandbox, number: u64) {
    let inbox = sandbox.root().join("org-business/inbox");
    let (beside, name) = (inbox.join(format!(".{number}")), inbox.join(format!("note-{number:05}.md")));
    fs::write(&beside, format!("# Note {number:05}\n\nSomething.\n")).unwrap();
    fs::rename(beside, name).unwrap();
}

/// How often each subject stands among the messages of a folder.
fn subjects(tree: &Tree, folder: &str) -> BTreeMap<String, u64> {
    let mut count = BTreeMap::new();
    for (path, text) in tree.files().filter(|(path, _)| path.starts_with(folder) && path.ends_with(".md")) {
        let subject =
            text.lines().find_map(|line| line.strip_prefix("subject: ").or(line.strip_prefix("# ")));
        *count.entry(subject.unwrap_or(path).to_owned()).or_insert(0) += 1;
    }
    count
}

/// The gate trips after three runs in a row that died; here a human is at hand who opens it again.
fn open_gate(sandbox: &Sandbox) {
    let _ = sandbox.clone().run(["gate", "enable"]).any_stdout().any_stderr();
}

/// How many notes may wait before no more are dropped: runs that are killed early could else fall behind for good.
const BACKLOG: usize = 24;

fn waiting(sandbox: &Sandbox) -> usize {
    fs::read_dir(sandbox.root().join("org-business/inbox")).unwrap().count()
}

/// Runs until all is quiet. The last death may have been the one that trips the gate, so a second try is fair.
#[track_caller]
fn work_off(sandbox: &Sandbox, dept: &str) {
    let args = ["run-loop", dept, "--engine", "rules", "--max-iterations", "1000", "--quiet"];
    open_gate(sandbox);
    let first = sandbox.clone().run(args).parts();
    open_gate(sandbox);
    let (status, out, err) = if first.0 == 0 { first } else { sandbox.clone().run(args).parts() };
    assert_eq!(status, 0, "{out}{err}");
}

#[test]
#[expect(clippy::print_stderr, reason = "how much was tried is the point of it")]
fn nothing_is_lost_or_doubled_however_often_runs_are_killed() {
    let seconds = std::env::var("HARNESS_SOAK_SECONDS").ok().and_then(|text| text.parse().ok());
    let until = Instant::now() + Duration::from_secs(seconds.unwrap_or(SECONDS));
    let sandbox = stage();
    let mut dice = Dice::new(seconds.unwrap_or(7));
    note(&sandbox, 0);
    let begun = Instant::now();
    work_off(&sandbox, "business");
    // A run that nothing kills takes less than that: kills come anywhere in it, and after it.
    let longest = begun.elapsed().as_millis() as usize;
    let (mut notes, mut kills, mut runs) = (1, 0, 0);
    while Instant::now() < until {
        let dropped = dice.roll(3).min(BACKLOG.saturating_sub(waiting(&sandbox)));
        for _ in 0..dropped {
            note(&sandbox, notes);
            notes += 1;
        }
        open_gate(&sandbox);
        let running: Vec<_> = ["business", "management"]
            .map(|dept| sandbox.start(&["run-loop", dept, "--engine", "rules", "--quiet"]))
            .into();
        for mut run in running {
            std::thread::sleep(Duration::from_millis(dice.roll(longest) as u64));
            runs += 1;
            if !run.ended() {
                run.signal(Signal::KILL);
                kills += 1;
            }
            let _ = run.finish().parts();
        }
    }
    for dept in ["business", "management"] {
        work_off(&sandbox, dept);
    }
    eprintln!("soak: {notes} notes, {runs} runs, {kills} of them killed");
    assert!(kills > 0 && notes > 0, "nothing was tried");
    let tree = Tree::read(&sandbox.root());
    assert_eq!(books::faults(&tree), Vec::<String>::new());
    let expected: BTreeMap<String, u64> = (0..notes).map(|number| (format!("Note {number:05}"), 1)).collect();
    assert_eq!(subjects(&tree, "org-business/archive/inbox/"), expected, "each note is put away once");
    assert_eq!(subjects(&tree, "org-management/archive/inbox/"), expected, "each was passed on once");
    assert_eq!(subjects(&tree, "org-business/outbox/"), expected, "each was sent once");
    let decisions = tree.text("org-business/decisions.md").unwrap();
    let mut logged: Vec<&str> = decisions.lines().filter(|line| line.starts_with("## ")).collect();
    logged.sort_unstable();
    logged.dedup();
    assert_eq!(logged.len() as u64, notes, "each is logged once");
    sandbox.run(["verify"]).any_stdout();
}
