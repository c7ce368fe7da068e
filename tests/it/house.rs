//! Proves the sandbox itself: that it is sealed, that it compares, and that a test that says nothing fails.
//!
//! The program under test is `sh` here, so that these tests stand whatever `harness` does.

use crate::outcome::{Run, until};
use crate::sandbox::{NOW, Sandbox};
use rustix::process::Signal;
use std::panic::{AssertUnwindSafe, catch_unwind};

fn shell() -> Sandbox {
    Sandbox::of("/bin/sh")
}

fn sh(script: &str) -> Run {
    shell().run(["-c", script])
}

/// The message with which a test fails.
fn failure(test: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(test)).expect_err("it passed");
    panic.downcast_ref::<String>().cloned().unwrap_or_default()
}

#[test]
fn the_program_is_there() {
    Sandbox::new().run(["--version"]).any_stdout().any_stderr();
}

#[test]
fn the_environment_is_sealed() {
    let expected = format!(
        "GIT_CONFIG_NOSYSTEM=1\nHARNESS_ROOT=[ROOT]\nHARNESS_TEST_NOW={NOW}\nHARNESS_TEST_SEED=1\nHOME=[HOME]\n\
         LANG=C.UTF-8\nLOGNAME=tester\nPATH=[DIR]/bin:/usr/bin:/bin\nPWD=[DIR]\nTMPDIR=[DIR]/tmp\nTZ=UTC\nUSER=tester\n"
    );
    sh("env | grep -v ^_= | grep -v ^SHLVL= | grep -v ^OLDPWD= | sort").stdout(&expected);
}

#[test]
fn every_run_has_its_own_seed_and_may_have_its_own_time() {
    let sandbox = shell().run(["-c", "true"]).then().now("2027-01-01T00:00:00Z");
    let run = sandbox.run(["-c", "echo $HARNESS_TEST_SEED $HARNESS_TEST_NOW $X"]);
    let sandbox = run.stdout("2 2027-01-01T00:00:00Z\n").then().env("X", "y").without_env("HARNESS_TEST_NOW");
    sandbox.run(["-c", "echo $HARNESS_TEST_SEED $HARNESS_TEST_NOW $X"]).stdout("3 y\n");
}

#[test]
fn no_engine_is_a_real_one() {
    for engine in ["claude", "codex", "gemini", "opencode", "llm", "ollama"] {
        sh(&format!("command -v {engine}")).stdout(&format!("[DIR]/bin/{engine}\n"));
    }
    let sandbox = shell().without_engine("claude").without_engine("codex");
    sandbox.run(["-c", "command -v claude || command -v codex || command -v sh"]).stdout("[DIR]/bin/sh\n");
}

#[test]
fn files_of_every_kind_can_be_laid_down() {
    let sandbox = shell()
        .file("a/text", "\n        one\n          two\n")
        .bytes("a/bytes", &[0xff])
        .link("a/link", "/nowhere")
        .fifo("b/fifo");
    assert_eq!(sandbox.tree(""), "a/\na/bytes\na/link -> /nowhere\na/text\nb/\nb/fifo\n");
    assert_eq!(sandbox.read("a/text"), "one\n  two\n");
    assert!(sandbox.exists("a/link") && sandbox.exists("b/fifo") && !sandbox.exists("c"));
    let run = sandbox.run(["-c", "test -p $HARNESS_ROOT/b/fifo && echo $HARNESS_ROOT; pwd"]);
    run.stdout("[ROOT]\n[DIR]\n").then().run(["-c", "cat"]).stdout("");
}

#[test]
fn departments_and_messages_are_made_by_the_program() {
    let words = Sandbox::of("/bin/echo").organisation().dept("rd").message("rd", "Note", "Hi there", "Body");
    assert_eq!(words.sent(0), "send --to rd --kind Note --subject Hi there --body Body");
    assert!(failure(|| drop(Sandbox::of("/bin/false").dept("rd"))).contains("exit 0 was expected"));
}

#[test]
fn stdin_reaches_the_program() {
    shell().stdin("hello\n").run(["-c", "cat"]).stdout("hello\n");
}

#[test]
fn a_run_may_stand_elsewhere_and_be_taken_apart() {
    let sandbox = shell();
    let home = sandbox.home();
    let (status, stdout, stderr) = sandbox.cwd(home).run(["-c", "pwd; pwd >&2; exit 3"]).parts();
    assert_eq!((status, stdout.as_str(), stderr.as_str()), (3, "[HOME]\n", "[HOME]\n"));
}

#[test]
fn json_is_one_document() {
    assert_eq!(sh("echo '{\"a\": 1}'").json()["a"], 1);
    assert!(failure(|| drop(sh("echo '{} {}'").json())).contains("not one JSON document"));
}

#[test]
fn a_test_that_says_nothing_fails() {
    assert!(failure(|| drop(sh("echo x"))).contains("says nothing about its stdout"));
    assert!(failure(|| drop(sh("echo x >&2"))).contains("says nothing about its stderr"));
    assert!(failure(|| drop(sh("exit 3"))).contains("no exit code, so 0"));
    assert!(failure(|| drop(sh("echo x").then())).contains("says nothing about its stdout"));
    sh("echo x; echo y >&2").any_stdout().any_stderr();
}

#[test]
fn a_wrong_expectation_shows_the_difference() {
    let shown = failure(|| drop(sh("echo a; echo b; exit 3").status(3).stdout("a\nc\n")));
    assert!(shown.contains("stdout differs") && shown.contains("-c\n+b\n"), "{shown}");
    assert!(failure(|| drop(sh("exit 3").status(0))).contains("exit 0 was expected"));
    assert!(failure(|| drop(sh("echo a >&2").stderr("b\n"))).contains("stderr differs"));
}

#[test]
fn runs_can_be_started_and_signalled() {
    let sandbox = shell();
    let running = sandbox.start(&["-c", "echo here; exec sleep 60"]);
    until("it has written", || running.stdout() == "here\n");
    assert!(running.pid() > 1);
    running.signal(Signal::TERM);
    running.finish().status(143).stdout("here\n");
}

#[test]
fn what_a_run_leaves_behind_holds_nothing_up() {
    let run = sh("sleep 60 & echo $!").status(0);
    let pid: i32 = run.take_stdout().trim().parse().unwrap();
    rustix::process::kill_process(rustix::process::Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
}
