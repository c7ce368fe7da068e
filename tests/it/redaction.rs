//! Secrets in what an engine says: masked wherever it is written down, and no action carries one out.

use crate::desk::{MARK, SEND, acts, business, codes, with, worker};
use crate::outcome::until;
use crate::sandbox::Sandbox;

const TOKEN: &str = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
const VALUE: &str = "correct-horse-battery";

/// Business, whose engine is given a variable with a secret in it.
fn secretive() -> Sandbox {
    let settings = "[engines.claude]\npreset = \"claude\"\nenv = [\"MY_API_KEY\"]\n";
    business().settings(settings).env("MY_API_KEY", VALUE)
}

/// No file under the root holds a secret.
#[track_caller]
fn assert_masked(sandbox: &Sandbox) {
    for (path, bytes) in sandbox.everything() {
        let text = String::from_utf8_lossy(&bytes.0);
        for secret in [TOKEN, VALUE] {
            assert!(!text.contains(secret), "{path} holds {secret}");
        }
    }
}

#[test]
fn prose_is_masked_everywhere() {
    let answer = format!("The token is {TOKEN},\nthe value {VALUE}.\n\n{}", acts(&[MARK]));
    let args = ["run-director", "business", "--role", "worker", "--engine", "claude"];
    let run = secretive().reply(&answer).run(args).any_stdout().any_stderr();
    assert_masked(&run);
    for place in ["worker-log.md", "live.log"] {
        let text = run.read(&format!("org-business/.harness/{place}"));
        assert!(text.contains("The token is [secret:github],\nthe value [secret:env]."), "{place}: {text}");
    }
    let record = run.record(&run.last_step());
    assert!(record.contains("The token is [secret:github],\nthe value [secret:env]."), "{record}");
}

#[test]
fn nothing_of_it_reaches_the_terminal_or_the_events() {
    let answer = format!("The token is {TOKEN}.\n\n{}", acts(&[MARK]));
    // What `--stream` shows a terminal is looked at in `watched`.
    let args = ["run-director", "business", "--role", "worker", "--engine", "claude", "--events"];
    let (status, stdout, stderr) =
        secretive().reply(&format!("#stderr key {VALUE}\n{answer}")).run(args).parts();
    assert_eq!(status, 0);
    let both = stdout + &stderr;
    assert!(!both.contains(TOKEN) && !both.contains(VALUE), "{both}");
    assert!(both.contains("[secret:github]") && both.contains("[secret:env]"), "{both}");
}

#[test]
fn a_decisions_prose_is_masked_too() {
    let run = secretive()
        .reply(&format!("{TOKEN} and {VALUE}\nDONE"))
        .run(["run-loop", "business", "--engine", "claude"]);
    let run = run.any_stdout().any_stderr();
    assert_masked(&run);
    assert!(run.record(&run.last_step()).contains("[secret:github] and [secret:env]"));
}

#[test]
fn an_action_that_carries_one_is_refused_and_recorded_masked() {
    for secret in [TOKEN, VALUE] {
        let answer = acts(&[&with(SEND, "body", &format!("\"use {secret}\"")), MARK]);
        let sandbox = secretive();
        let before = sandbox.work();
        let run = worker(sandbox.reply(&answer).reply(&answer)).status(12);
        assert_eq!(codes(&run.last_step()["refusals"]), ["secret"]);
        assert_eq!(run.work(), before);
        assert_masked(&run);
        let prompt = &run.calls()[1].stdin;
        assert!(!prompt.contains(secret), "it is not told back either");
    }
}

#[test]
fn a_refusal_that_names_one_is_masked() {
    let answer = acts(&[&with(SEND, TOKEN, "1")]);
    let run = worker(secretive().reply(&answer).reply(&answer)).status(12);
    assert_eq!(codes(&run.last_step()["refusals"]), ["unknown_field"]);
    assert_masked(&run);
}

#[test]
fn what_a_failed_engine_printed_is_masked() {
    let run = worker(secretive().reply(&format!("#raw\n#stderr bad key {TOKEN}\n#exit 1\nand {VALUE}\n")))
        .status(12);
    assert_masked(&run);
    assert!(run.record(&run.last_step()).contains("[secret:github]"));
    let sandbox = secretive().reply(&format!("#raw\n#stderr bad key {TOKEN}\n#exit 1\n"));
    let args = ["run-director", "business", "--role", "worker", "--engine", "claude"];
    let (_, stdout, stderr) = sandbox.run(args).parts();
    assert!(!(stdout + &stderr).contains(TOKEN));
}

#[test]
fn a_quotas_reason_is_masked() {
    let reply = format!("#stderr {TOKEN}\n#error 429 reset=1795000000\n");
    let run = worker(secretive().reply(&reply)).status(12);
    assert!(run.exists(".harness/engines.json"));
    assert_masked(&run);
}

#[test]
fn a_private_key_in_the_stream_is_masked() {
    let key = format!(
        "-----BEGIN PRIVATE KEY-----\n{}\n{}\n-----END PRIVATE KEY-----",
        "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7",
        "VJTUt9Us8cKjMzEfYyjiWA4R4ypbHqGC0H0+tG3hGbN4MYHQ8DmV"
    );
    let run = worker(secretive().reply(&format!("Here:\n{key}\n\n{}", acts(&[MARK])))).status(0);
    for (path, bytes) in run.everything() {
        assert!(!String::from_utf8_lossy(&bytes.0).contains("VJTUt9Us8cKj"), "{path} holds the key");
    }
}

#[test]
fn a_plan_that_waits_holds_no_secret() {
    let answer = format!("The token is {TOKEN}.\n\n{}", acts(&[SEND, MARK]));
    let sandbox = secretive().reply(&format!("#wait go\n{answer}"));
    let running = sandbox.start(&["run-director", "business", "--role", "worker", "--engine", "claude"]);
    sandbox.until_asked(1);
    sandbox.clone().run(["gate", "trip", "--why", "wait"]).any_stdout();
    sandbox.go();
    running.finish().status(3).any_stdout().any_stderr();
    until("the plan is there", || sandbox.tree("org-business/.harness/journal").contains(".plan.json"));
    assert_masked(&sandbox);
}

#[test]
fn what_a_client_says_about_its_quota_is_masked_too() {
    let reset =
        r#"{"type": "rate_limit_event", "rate_limit_info": {"status": "rejected", "resetsAt": 1795000000}}"#;
    let result = format!(
        r#"{{"type": "result", "is_error": true, "api_error_status": 429, "num_turns": 1, "result": "no quota for {VALUE} and {TOKEN}"}}"#
    );
    let reply = format!("#raw\n#exit 1\n{reset}\n{result}\n");
    let args = ["run-director", "business", "--role", "worker", "--engine", "claude"];
    let run = secretive().reply(&reply).run(args).status(12);
    assert_masked(&run);
    let engines = run.read(".harness/engines.json");
    assert!(engines.contains("no quota for [secret:env] and [secret:github]"), "{engines}");
    let (_, stdout, stderr) = run.parts();
    let both = stdout + &stderr;
    assert!(both.contains("[secret:env]") && !both.contains(TOKEN) && !both.contains(VALUE), "{both}");
}
