//! The gate: its verbs, and that a bad `gate.json` closes every way to an engine and to an effect.

use crate::office::{act, answer, data, decision, done, names, note, office, only, step};
use crate::sandbox::Sandbox;
use serde_json::json;
use std::os::unix::fs::PermissionsExt;

const GATE: &str = ".harness/gate.json";
const OPEN: &str =
    "{\"schema\":1,\"state\":\"enabled\",\"reason\":\"r\",\"by\":\"user\",\"at\":\"2026-11-18T00:00:00Z\"}";

#[test]
fn its_verbs_say_how_it_is_and_exit_by_it() {
    let sandbox = Sandbox::new().dept("rd");
    let check = |args: &[&str], status: i32, stdout: &str| {
        sandbox.start(args).finish().status(status).stdout(stdout);
    };
    let enabled = "enabled (open), since [..] by user: enabled by hand\n";
    let disabled = "disabled (closed), since 2026-11-18T00:42:01Z by user: holidays\n";
    let tripped = "tripped (closed), since 2026-11-18T00:42:01Z by user: fire\n";
    let (open, close) = ("To undo: harness gate enable\n", "To undo: harness gate disable --why TEXT\n");
    check(&["gate", "check"], 0, "enabled (open), since [..]\n");
    check(&["gate", "disable", "--why", "holidays"], 0, &format!("{disabled}{open}"));
    check(&["gate", "show"], 0, disabled);
    check(&["gate", "check"], 3, disabled);
    check(&["gate", "trip", "--why", "fire"], 0, &format!("{tripped}{open}"));
    check(&["gate", "check"], 3, tripped);
    check(&["gate", "enable"], 0, &format!("{enabled}{close}"));
    check(&["gate", "enable"], 0, &format!("{enabled}{close}"));
    check(&["gate", "check"], 0, enabled);
    assert_eq!(data(&sandbox, &["gate", "show"])["open"], true);
    let audit = sandbox.read(".harness/audit.jsonl");
    for told in ["disable: holidays", "trip: fire", "enable: enabled by hand"] {
        assert!(audit.contains(told), "{told}");
    }
    sandbox.start(&["gate", "trip"]).finish().status(2).any_stderr();
    sandbox.start(&["gate", "trip", "--why", " "]).finish().status(2).any_stderr();
}

/// Everything that is wrong with a gate file, and how it is brought about in place of the one that is there.
/// A way to damage the gate, and its name.
type Damage = (&'static str, fn(Sandbox) -> Sandbox);

fn damages() -> Vec<Damage> {
    vec![
        ("is missing", |sandbox| sandbox),
        ("is malformed", |sandbox| sandbox.bytes(GATE, &OPEN.as_bytes()[..40])),
        ("is malformed", |sandbox| sandbox.bytes(GATE, b"")),
        ("is malformed", |sandbox| sandbox.bytes(GATE, OPEN.replace("enabled", "open").as_bytes())),
        ("is malformed", |sandbox| sandbox.bytes(GATE, OPEN.replace('}', ",\"x\":1}").as_bytes())),
        ("schema 2", |sandbox| sandbox.bytes(GATE, OPEN.replace(":1", ":2").as_bytes())),
        ("is unreadable", |sandbox| sandbox.bytes(GATE, b"\xff\xfe{}")),
        ("is unreadable", |sandbox| {
            sandbox.bytes(".harness/open.json", OPEN.as_bytes()).link(GATE, "open.json")
        }),
        ("a folder", |sandbox| sandbox.file(".harness/gate.json/x", "")),
        ("a pipe", |sandbox| sandbox.fifo(GATE)),
        ("everyone may write", |sandbox| {
            let sandbox = sandbox.bytes(GATE, OPEN.as_bytes());
            let everyone = std::fs::Permissions::from_mode(0o666);
            std::fs::set_permissions(sandbox.root().join(GATE), everyone).unwrap();
            sandbox
        }),
    ]
}

fn clear(sandbox: &Sandbox) {
    let path = sandbox.root().join(GATE);
    let gone = if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
    assert!(gone.is_ok() || !sandbox.exists(GATE));
}

/// An open message, an approval that waits, an open plan of a run that died, and a job in the queue.
fn busy_office() -> Sandbox {
    let sandbox = office().message("business", "Note", "Hi", "Body").message("rd", "Note", "Hi", "Body");
    let unsure = decision(json!({"confidence": 10}));
    act(&sandbox, "business", &[unsure]);
    let dies = sandbox.clone().env("HARNESS_TEST_FAULT", format!("die-after:{}", plan_operation()));
    step(&dies.reply(&answer(&[note()])), "rd").status(137).any_stderr();
    assert!(!names(&sandbox, "org-rd/.harness/journal").is_empty());
    let pipeline = "\n[pipelines.touch]\ncommand = [\"/usr/bin/touch\", \"touched\"]\n";
    let settings = sandbox.read(".harness/org.toml") + pipeline;
    let job = json!({"schema": 1, "id": "j-20261118-004201-aaaaaa", "pipeline": "touch", "args": {}, "task": null,
        "project": null, "run": "r-20261118-004201-aaaaaa", "created": "2026-11-18T00:42:01Z",
        "provenance": "department"});
    let job_file = "org-marketing/.harness/jobs/j-20261118-004201-aaaaaa.json";
    sandbox.bytes(".harness/org.toml", settings.as_bytes()).bytes(job_file, job.to_string().as_bytes())
}

/// The number of the operation that puts a worker's plan in place.
fn plan_operation() -> usize {
    let sandbox = office().message("rd", "Note", "Hi", "Body");
    let trace = sandbox.dir().join("trace");
    let traced = sandbox.env("HARNESS_TEST_TRACE", &trace).reply(&answer(&[note()]));
    step(&traced, "rd").any_stdout().any_stderr();
    let text = std::fs::read_to_string(trace).unwrap();
    1 + text.lines().position(|line| line.contains("rename") && line.contains("plan")).unwrap()
}

const PATHS: [&[&str]; 6] = [
    &["run-loop", "business"],
    &["run-director", "business", "--role", "worker"],
    &["run-loop", "business", "--dry-run"],
    &["recover", "rd"],
    &["run-loop", "rd"],
    &["run-loop", "marketing"],
];

#[test]
fn a_gate_file_that_is_not_whole_closes_every_path() {
    let sandbox = busy_office();
    let (calls, approval) = (sandbox.calls().len(), only(&sandbox, "approvals"));
    let decisions = sandbox.read("org-rd/decisions.md");
    for (what, damage) in damages() {
        clear(&sandbox);
        let sandbox = damage(sandbox.clone());
        for path in PATHS {
            let (status, _, stderr) = sandbox.start(path).finish().parts();
            assert!(status == 3 && stderr.contains("the gate is tripped (closed)"), "{path:?}: {stderr}");
            assert!(stderr.contains(what), "{path:?}: {what}: {stderr}");
        }
        assert!(sandbox.start(&["gate", "check"]).finish().status(3).take_stdout().contains(what));
    }
    assert_eq!(sandbox.calls().len(), calls);
    assert_eq!(sandbox.read("org-rd/decisions.md"), decisions);
    assert!(!sandbox.exists("org-marketing/touched"));
    let waits = done(&sandbox, &["approvals", "approve", &approval]);
    assert!(waits.contains("approved, and waits: the gate is tripped (closed)"), "{waits}");
    assert!(names(&sandbox, "org-management/inbox").is_empty());
    clear(&sandbox);
    done(&sandbox, &["gate", "enable"]);
    done(&sandbox, &["recover", "rd"]);
    assert!(sandbox.read("org-rd/decisions.md").contains("A title"));
    assert!(done(&sandbox, &["approvals", "approve", &approval]).contains("approved, carried out"));
    assert_eq!(names(&sandbox, "org-management/inbox").len(), 1);
    done(&sandbox, &["run-loop", "marketing"]);
    assert!(sandbox.exists("org-marketing/touched"));
}

#[test]
fn a_gate_that_closes_while_an_engine_answers_keeps_its_plan_from_happening() {
    let sandbox = office().message("business", "Note", "Hi", "Body");
    let slow = sandbox.clone().reply(&format!("#sleep 300ms\n{}", answer(&[note()])));
    let running = slow.start(&["run-director", "business", "--role", "worker"]);
    crate::outcome::until("the engine is asked", || !sandbox.calls().is_empty());
    done(&sandbox, &["gate", "trip", "--why", "now"]);
    running.finish().status(3).any_stdout().any_stderr();
    assert!(!sandbox.read("org-business/decisions.md").contains("A title"));
    sandbox.start(&["recover", "business"]).finish().status(3).any_stderr();
    done(&sandbox, &["gate", "enable"]);
    done(&sandbox, &["recover", "business"]);
    assert_eq!(sandbox.read("org-business/decisions.md").matches("A title").count(), 1);
    assert_eq!(sandbox.calls().len(), 1);
}
