//! The user's notifier: JSON on stdin for what needs them, alike ones once in 30 minutes, and no harm from one that fails.

use crate::office::{act, action, answer, decision, done, names, office, only, step};
use crate::outcome::until;
use crate::sandbox::Sandbox;
use serde_json::{Value, json};

/// An organisation whose notifier appends what it is given to a file beside the root.
fn noted() -> Sandbox {
    let sandbox = office().message("business", "Note", "Hi", "Body");
    let heard = sandbox.dir().join("heard");
    with_notifier(sandbox, &["/bin/sh", "-c", &format!("cat >> {}", heard.display())])
}

fn with_notifier(sandbox: Sandbox, command: &[&str]) -> Sandbox {
    let settings = format!("{}\n[notify]\ncommand = {}\n", sandbox.read(".harness/org.toml"), json!(command));
    sandbox.bytes(".harness/org.toml", settings.as_bytes())
}

fn heard(sandbox: &Sandbox) -> Vec<Value> {
    let text = std::fs::read_to_string(sandbox.dir().join("heard")).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn kinds(sandbox: &Sandbox) -> Vec<String> {
    heard(sandbox).iter().map(|notice| notice["kind"].as_str().unwrap().to_owned()).collect()
}

fn ask(question: &str) -> Value {
    action("ask_human", json!({"question": question, "options": [], "unblocks": []}))
}

#[test]
fn each_kind_comes_as_one_document() {
    let sandbox = noted();
    let escalate = action("escalate", json!({"id": sandbox.sent(0)}));
    act(&sandbox, "business", &[decision(json!({"confidence": 1})), ask("Red or blue?")]);
    let id = only(&sandbox, "approvals");
    assert_eq!(kinds(&sandbox), ["approval", "question"]);
    let first = heard(&sandbox)[0].clone();
    let expected = json!({"schema": "harness.notice/1", "kind": "approval", "dept": "business", "id": id,
        "text": first["text"], "command": format!("harness approvals show {id}"), "at": "2026-11-18T00:42:01Z"});
    assert_eq!(first, expected);
    done(&sandbox, &["approvals", "reject", &id, "--why", "no"]);
    act(&sandbox.clone().now("2026-11-18T00:42:02Z"), "business", &[escalate]);
    assert_eq!(kinds(&sandbox), ["approval", "question", "escalation"]);
    step(&sandbox.clone().reply("#exit 3\n"), "rd").status(12).any_stdout().any_stderr();
    assert_eq!(kinds(&sandbox).last().unwrap(), "failure");
}

#[test]
fn alike_ones_come_once_in_thirty_minutes() {
    let sandbox = noted();
    let fail = |at: &str| {
        let sandbox = sandbox.clone().now(&format!("2026-11-18T{at}Z")).reply("#exit 3\n");
        step(&sandbox, "rd").status(12).any_stdout().any_stderr();
        kinds(&sandbox).len()
    };
    assert_eq!(["00:00:00", "00:29:59", "00:30:00", "00:59:59"].map(fail), [1, 1, 2, 2]);
}

/// Two messages that are handed over for the same reason are two things to know.
#[test]
fn two_escalations_within_thirty_minutes_are_both_told() {
    let sandbox = noted().message("business", "Note", "Ho", "Body");
    for number in [0, 1] {
        let escalate = action("escalate", json!({"id": sandbox.sent(number)}));
        act(&sandbox, "business", &[escalate]);
    }
    assert_eq!(kinds(&sandbox), ["escalation", "escalation"]);
    let fail = |reply: &str| {
        step(&sandbox.clone().reply(reply), "rd").status(12).any_stdout().any_stderr();
    };
    ["#exit 3\n", "no block\n"].into_iter().for_each(fail);
    assert_eq!(kinds(&sandbox)[2..], ["failure", "failure"]);
}

#[test]
fn a_notifier_that_is_missing_or_fails_harms_nothing() {
    for (command, said) in [
        (&["no-such-program"][..], "the notifier failed: `no-such-program` is not on PATH"),
        (&["/bin/sh", "-c", "exit 7"], "the notifier failed: it exited with 7"),
        (&["/bin/sh", "-c", "exec <&-; yes"], "the notifier failed: "),
    ] {
        let sandbox = with_notifier(office(), command);
        let run = step(&sandbox.clone().reply(&answer(&[ask("Red?")])), "rd");
        let (status, _, stderr) = run.parts();
        assert!(status == 0 && stderr.contains(said), "{stderr}");
        assert_eq!(names(&sandbox, "org-rd/questions").len(), 1);
    }
}

/// It holds nobody up who waits for the department, is ended with what it started, and is tried once in a run.
#[test]
fn a_notifier_that_hangs_is_ended() {
    let sandbox = office();
    let pid = sandbox.dir().join("pid");
    let hangs = format!("echo $$ >> {}; sleep 1000", pid.display());
    let sandbox = with_notifier(sandbox, &["/bin/sh", "-c", &hangs]);
    let reply = answer(&[ask("Red?"), ask("Blue?")]);
    let running = sandbox.clone().reply(&reply).start(&["run-director", "--role", "worker", "rd"]);
    until("the notifier hangs", || pid.exists());
    done(&sandbox, &["recover", "rd"]);
    let (status, _, stderr) = running.finish().parts();
    assert!(status == 0 && stderr.contains("the notifier failed: it was ended"), "{stderr}");
    assert!(stderr.contains("1 more of this run are not sent"), "{stderr}");
    let pid = std::fs::read_to_string(pid).unwrap().trim().parse().unwrap();
    assert!(!crate::outcome::alive(pid));
    assert_eq!(names(&sandbox, "org-rd/questions").len(), 2);
}
