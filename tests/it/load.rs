//! More of everything than anybody means to have: an inbox that was flooded, and one that is being filled while its
//! loop runs. Nothing is lost, nothing is handled twice, and what a run needs doesn't grow with it.

use crate::desk::{MARK, acts};
use crate::outcome::{not_run, until};
use crate::sandbox::Sandbox;
use rustix::process::Signal;
use std::fs;
use std::path::Path;

/// `HARNESS_SLOW_TESTS=1` takes the numbers of the long form.
fn many(short: usize, long: usize) -> usize {
    if std::env::var_os("HARNESS_SLOW_TESTS").is_some_and(|value| value == "1") { long } else { short }
}

/// Limits that leave room for the flood.
pub fn generous(sandbox: Sandbox) -> Sandbox {
    let limits = [
        ("actions_per_hour = 60", "actions_per_hour = 1000000"),
        ("actions_per_day = 300", "actions_per_day = 1000000"),
        ("steps_per_run = 30", "steps_per_run = 1000000"),
        ("runs_per_hour = 30", "runs_per_hour = 1000000"),
    ];
    let sandbox = limits
        .iter()
        .fold(sandbox, |sandbox, (from, to)| sandbox.edit("org-business/charter.toml", from, to));
    let sandbox = sandbox.file("org-business/playbook.toml", ARCHIVES);
    sandbox.clone().run(["charter", "accept", "business"]).any_stdout();
    sandbox
}

/// Every note is put away at once.
const ARCHIVES: &str = r#"schema = 1

[[rule]]
name = "note"
decision = "NEXT_WORKER"
why = "Notes of a flood are put away."
[rule.when]
kind = "Note"
[[rule.actions]]
do = "mark_message"
id = "{{ message.id }}"
status = "archived"
reason = "One of very many notes."
"#;

pub fn drop_note(inbox: &Path, number: usize) {
    let (beside, name) = (inbox.join(format!(".n{number}")), inbox.join(format!("n{number:06}.md")));
    fs::write(&beside, format!("# Note {number}\n\nSomething.\n")).unwrap();
    fs::rename(beside, name).unwrap();
}

/// The most memory that a process has needed, in KB.
fn peak_kb(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().split(' ').next()?.parse().ok()
}

#[test]
fn a_flooded_inbox_is_worked_off_from_its_oldest_end() {
    let count = many(3_000, 100_000);
    let sandbox = generous(Sandbox::new().apart().organisation());
    let inbox = sandbox.root().join("org-business/inbox");
    (0..count).for_each(|number| drop_note(&inbox, number));
    // The oldest by its time, though not by its name.
    let oldest = fs::File::options().write(true).open(inbox.join("n000777.md")).unwrap();
    oldest.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_000)).unwrap();
    let prompt = sandbox.clone().run(["prompt", "business"]).take_stdout();
    assert!(prompt.contains(&format!("[cut: {} more entries]", count - 40)), "the rest is counted");
    assert!(prompt.contains("n000777"));
    let run = sandbox.run(["run-loop", "business", "--engine", "rules", "--max-iterations", "1", "--quiet"]);
    let run = run.status(11).any_stdout();
    assert_eq!(run.last_step()["item"], "n000777");
    assert_eq!(fs::read_dir(&inbox).unwrap().count(), count - 1);
}

/// What a human names is at hand, also where no run would have come to it yet.
#[test]
fn a_message_from_the_far_end_can_be_named() {
    let sandbox = generous(Sandbox::new().apart().organisation());
    let inbox = sandbox.root().join("org-business/inbox");
    (0..300).for_each(|number| drop_note(&inbox, number));
    let mark = MARK.replace("MSGID", "n000299");
    let role = ["run-director", "business", "--role", "worker", "--message", "n000299", "--engine", "claude"];
    let run = sandbox.reply(&acts(&[&mark])).run(role).any_stdout().any_stderr();
    assert_eq!(run.last_step()["outcome"], "ok");
    assert!(!inbox.join("n000299.md").exists());
    assert_eq!(fs::read_dir(&inbox).unwrap().count(), 299);
}

/// A run looks at as much of an inbox as a prompt shows twice over, whatever else lies there.
#[test]
fn memory_does_not_grow_with_the_inbox() {
    let peak = |count: usize| {
        let sandbox = generous(Sandbox::new().apart().organisation()).reply("#hang\n");
        let inbox = sandbox.root().join("org-business/inbox");
        (0..count).for_each(|number| drop_note(&inbox, number));
        let running = sandbox.start(&["run-loop", "business", "--engine", "claude"]);
        sandbox.until_asked(1);
        let peak = peak_kb(running.pid());
        running.signal(Signal::TERM);
        running.finish().status(13).any_stdout().any_stderr();
        peak
    };
    let count = many(4_000, 100_000);
    let (Some(few), Some(flooded)) = (peak(200), peak(count)) else {
        return not_run("load::memory", "this system has no /proc");
    };
    // A name each, and not a message: those take 6 KB.
    let names = count as u64 * 400 / 1024;
    assert!(flooded < few + 4_000 + names, "{few} KB with few, {flooded} KB with {count}");
}

#[test]
fn nothing_that_arrives_while_a_loop_runs_is_lost_or_handled_twice() {
    let count = many(120, 10_000);
    let sandbox = generous(Sandbox::new().apart().organisation());
    let inbox = sandbox.root().join("org-business/inbox");
    let writer = {
        let inbox = inbox.clone();
        std::thread::spawn(move || (0..count).for_each(|number| drop_note(&inbox, number)))
    };
    until("the first has arrived", || fs::read_dir(&inbox).unwrap().next().is_some());
    loop {
        let over = writer.is_finished();
        let args = ["run-loop", "business", "--engine", "rules", "--max-iterations", "100", "--quiet"];
        let (status, _, stderr) = sandbox.clone().run(args).parts();
        assert!(matches!(status, 0 | 11), "exit {status}: {stderr}");
        if over && status == 0 {
            break;
        }
    }
    writer.join().unwrap();
    let months = fs::read_dir(sandbox.root().join("org-business/archive/inbox")).unwrap();
    let archived = months.flat_map(|month| fs::read_dir(month.unwrap().path()).unwrap()).count();
    assert_eq!((archived, fs::read_dir(&inbox).unwrap().count()), (count, 0));
    let marks = sandbox.steps().into_iter().filter(|step| step["role"] == "worker");
    assert_eq!(marks.count(), count, "each is handled by one step");
}
