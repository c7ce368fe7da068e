//! Every place that reads the gate, taken away one at a time: what the gate holds back there then happens.
//!
//! Each scene closes the gate at the moment before one reading and says whether something went through. With the
//! reading nothing does; without it something must, or nobody would notice that it is gone.

use crate::office::{act, answer, decision, done, names, note, office, only, step};
use crate::outcome::until;
use crate::sandbox::{Sandbox, write};
use director_harness::domain::gate::Reading;
use director_harness::store::breakage::Breakage;
use serde_json::json;

fn close(sandbox: &Sandbox) {
    done(sandbox, &["gate", "trip", "--why", "now"]);
}

/// Starts a run whose engine waits, closes the gate meanwhile, and lets it go on.
fn close_while_asked(sandbox: &Sandbox, args: &[&str], meanwhile: impl Fn(&Sandbox)) {
    let running = sandbox.start(args);
    until("the engine is asked", || !sandbox.calls().is_empty());
    close(sandbox);
    meanwhile(sandbox);
    write(&sandbox.home().join(".fake/go"), b"");
    running.finish().parts();
}

/// A step of rd that dies right after the journal's entry of this kind is in place.
fn dead_after(kind: &str) -> Sandbox {
    let reply = answer(&[note()]);
    let traced = office().message("rd", "Note", "Hi", "Body").reply(&reply);
    let trace = traced.dir().join("trace");
    step(&traced.clone().env("HARNESS_TEST_TRACE", &trace), "rd").any_stdout().any_stderr();
    let text = std::fs::read_to_string(trace).unwrap();
    let number = 1 + text.lines().position(|line| line.contains("rename") && line.contains(kind)).unwrap();
    let sandbox = office().message("rd", "Note", "Hi", "Body").reply(&reply);
    let dying = sandbox.clone().env("HARNESS_TEST_FAULT", format!("die-after:{number}"));
    step(&dying, "rd").status(137).any_stderr();
    sandbox
}

/// An organisation in which marketing has queued jobs, each a shell command.
fn queued(commands: &[&str]) -> Sandbox {
    let mut sandbox = office();
    let mut settings = sandbox.read(".harness/org.toml");
    for (number, command) in commands.iter().enumerate() {
        settings
            .push_str(&format!("\n[pipelines.p{number}]\ncommand = [\"/bin/sh\", \"-c\", \"{command}\"]\n"));
        let id = format!("j-20261118-004201-aaaaa{number}");
        let job = json!({"schema": 1, "id": id, "pipeline": format!("p{number}"), "args": {}, "task": null,
            "project": null, "run": "r-20261118-004201-aaaaaa", "created": "2026-11-18T00:42:01Z",
            "provenance": "department"});
        sandbox =
            sandbox.bytes(&format!("org-marketing/.harness/jobs/{id}.json"), job.to_string().as_bytes());
    }
    sandbox.bytes(".harness/org.toml", settings.as_bytes())
}

/// Pausing a department ends its run before it asks an engine again or takes anything more in.
#[test]
fn a_run_that_is_paused_meanwhile_goes_no_further() {
    let pause = |sandbox: &Sandbox| {
        until("the engine is asked", || !sandbox.calls().is_empty());
        done(sandbox, &["pause", "business", "--why", "enough"]);
        write(&sandbox.root().join("org-business/inbox/bad.md"), b"\xff\xfe");
        write(&sandbox.home().join(".fake/go"), b"");
    };
    let sandbox = office().message("business", "Note", "Hi", "Body");
    let sandbox = sandbox.reply("#wait go\nNEXT_WORKER MSGID").reply(&answer(&[note()]));
    let running = sandbox.start(&["run-loop", "business"]);
    pause(&sandbox);
    let (status, stdout, _) = running.finish().parts();
    assert!(status == 3 && stdout.contains("the department is paused: enough"), "{status} {stdout}");
    assert_eq!(sandbox.calls().len(), 1);
    let sandbox = office().message("business", "Note", "Hi", "Body");
    done(&sandbox, &["config", "set", "business", "routing", "auto"]);
    let sandbox = sandbox.reply(&format!("#wait go\n{}", answer(&[note()])));
    let running = sandbox.start(&["run-loop", "business"]);
    pause(&sandbox);
    let (status, stdout, _) = running.finish().any_stderr().parts();
    assert!(status == 3 && stdout.contains("the department is paused: enough"), "{status} {stdout}");
    assert!(sandbox.exists("org-business/inbox/bad.md"));
    assert!(sandbox.read("org-business/decisions.md").contains("A title"), "what was decided is done");
}

/// What closes the gate from within a job: a file that was made ready beforehand.
const CLOSE: &str = "cp ../closed.json ../.harness/gate.json";

fn closing_jobs(commands: &[&str]) -> Sandbox {
    let closed = "{\"schema\":1,\"state\":\"tripped\",\"reason\":\"now\",\"by\":\"user\",\"at\":\"2026-11-18T00:42:01Z\"}";
    queued(commands).bytes("closed.json", closed.as_bytes())
}

/// Whether something went through a closed gate.
fn goes_through(reading: Reading, broken: &dyn Fn(Sandbox) -> Sandbox) -> bool {
    match reading {
        Reading::Run => {
            let sandbox = office().dept("lab");
            close(&sandbox);
            broken(sandbox.clone()).start(&["run-loop", "lab"]).finish().parts();
            !names(&sandbox, "org-lab/questions").is_empty()
        }
        Reading::Iteration => {
            let sandbox = office().message("business", "Note", "Hi", "Body");
            done(&sandbox, &["config", "set", "business", "routing", "auto"]);
            let sandbox = broken(sandbox.reply(&format!("#wait go\n{}", answer(&[]))));
            close_while_asked(&sandbox, &["run-loop", "business"], |sandbox| {
                write(&sandbox.root().join("org-business/inbox/bad.md"), b"\xff\xfe");
            });
            !sandbox.exists("org-business/inbox/bad.md")
        }
        Reading::Engine => {
            let sandbox = office().message("business", "Note", "Hi", "Body");
            let second = "\n[engines.second]\npreset = \"claude\"\ncommand = [\"codex\"]\n";
            let settings = sandbox.read(".harness/org.toml") + second;
            let sandbox = sandbox.bytes(".harness/org.toml", settings.as_bytes());
            let sandbox = broken(sandbox.reply("#wait go\n#error 529\n").reply(&answer(&[note()])));
            let engines = ["--engine", "claude", "--engine", "second"];
            let args = [&["run-director", "business", "--role", "worker"][..], &engines].concat();
            close_while_asked(&sandbox, &args, |_| {});
            sandbox.calls().len() > 1
        }
        Reading::Plan => {
            let sandbox = office().message("business", "Note", "Hi", "Body");
            let sandbox = broken(sandbox.reply(&format!("#wait go\n{}", answer(&[note()]))));
            close_while_asked(&sandbox, &["run-director", "business", "--role", "worker"], |_| {});
            sandbox.read("org-business/decisions.md").contains("A title")
        }
        Reading::RecoveredPlan => {
            let sandbox = dead_after("plan");
            close(&sandbox);
            broken(sandbox.clone()).start(&["recover", "rd"]).finish().parts();
            sandbox.read("org-rd/decisions.md").contains("A title")
        }
        Reading::RecoveredAnswer => {
            let sandbox = dead_after("answer");
            close(&sandbox);
            broken(sandbox.clone()).start(&["recover", "rd"]).finish().parts();
            names(&sandbox, "org-rd/.harness/journal").iter().any(|name| name.contains("plan"))
        }
        Reading::Request => {
            let sandbox = office().message("business", "Note", "Hi", "Body");
            act(&sandbox, "business", &[decision(json!({"confidence": 10}))]);
            close(&sandbox);
            let id = only(&sandbox, "approvals");
            broken(sandbox.clone()).start(&["approvals", "approve", &id]).finish().parts();
            !names(&sandbox, "org-management/inbox").is_empty()
        }
        Reading::Job => {
            let sandbox = closing_jobs(&[CLOSE, "touch started"]);
            broken(sandbox.clone()).start(&["run-loop", "marketing"]).finish().parts();
            assert!(sandbox.read(".harness/gate.json").contains("tripped"), "the first job closes the gate");
            sandbox.exists("org-marketing/started")
        }
        Reading::JobResult => {
            let sandbox = closing_jobs(&[CLOSE]);
            broken(sandbox.clone()).start(&["run-loop", "marketing"]).finish().parts();
            assert!(sandbox.read(".harness/gate.json").contains("tripped"), "the job closes the gate");
            !names(&sandbox, "org-marketing/inbox").is_empty()
        }
        Reading::Schedule => {
            let sandbox = crate::ticks::ticking();
            let args = ["schedule", "add", "business", "hourly", "--cron", "0 * * * *", "--prompt", "Look."];
            done(&sandbox, &args);
            let sandbox = sandbox.reply("DONE");
            // A first look, so that the slot is one that comes and none that was missed.
            sandbox.start(&["tick", "business"]).finish().parts();
            close(&sandbox);
            broken(sandbox.clone().now("2026-11-18T01:00:00Z")).start(&["tick", "business"]).finish().parts();
            !names(&sandbox, "org-business/inbox").is_empty()
        }
    }
}

#[track_caller]
fn each_is_needed(part: usize) {
    for (breakage, name) in Breakage::GATE.into_iter().skip(part).step_by(2) {
        let Breakage::GateUnread(reading) = breakage else { panic!("{name} is no reading") };
        assert!(!goes_through(reading, &|sandbox| sandbox), "{name}: something went through a closed gate");
        let broken = |sandbox: Sandbox| sandbox.env("HARNESS_TEST_BREAK", name);
        assert!(goes_through(reading, &broken), "{name}: nothing noticed that the gate is not read there");
    }
}

#[test]
fn each_reading_is_needed_in_one_half() {
    each_is_needed(0);
}

#[test]
fn each_reading_is_needed_in_the_other_half() {
    each_is_needed(1);
}
