//! Pulses as a scheduler gives them: the line that cron would run, logs that stay small, work that is stalled.

use super::service;
use super::tools::{self, machine};
use crate::sandbox::Sandbox;
use std::fs;
use std::process::Command;

#[test]
fn the_line_that_cron_runs_is_a_pulse() {
    let sandbox = machine().dept("rd");
    service(&sandbox, "install --target cron --yes").any_stdout();
    let crontab = tools::get(&sandbox, "crontab");
    let line = crontab.lines().find(|line| line.starts_with("* * * * * ")).unwrap();
    let command = line.trim_start_matches("* * * * * ");
    // Nothing but what cron itself sets.
    let mut shell = Command::new("/bin/sh");
    shell.env_clear().env("PATH", "/usr/bin:/bin").args(["-c", command]).current_dir("/");
    let status = shell.status().unwrap();
    let log = sandbox.read(".harness/logs/rd.log");
    assert!(status.success(), "{log}");
    assert!(sandbox.exists(".harness/alive"));
    assert_eq!(log, "", "a quiet pulse says nothing");
    let data = service(&sandbox.without_env("HARNESS_TEST_NOW"), "status --json").json()["data"].clone();
    assert!(data["last_pulse"].is_string() && data["next_pulse"].is_string(), "{data}");
}

#[test]
fn a_log_that_has_grown_is_set_aside_once() {
    let sandbox = machine().dept("rd").dept("support");
    service(&sandbox, "install --target systemd --yes").any_stdout();
    let log = sandbox.root().join(".harness/logs/rd.log");
    let pulse = |sandbox: &Sandbox| drop(sandbox.start(&["tick", "rd"]).finish());
    for fill in [b'a', b'b'] {
        fs::write(&log, vec![fill; 1024 * 1024 + 1]).unwrap();
        pulse(&sandbox);
        assert_eq!(
            fs::metadata(&log).unwrap().len(),
            1024 * 1024 + 1,
            "without a service nothing is touched"
        );
        let serviced = sandbox.clone().env("HARNESS_SERVICE", "systemd");
        pulse(&serviced);
        assert_eq!(fs::metadata(&log).unwrap().len(), 0);
        assert_eq!(fs::read(log.with_extension("log.1")).unwrap()[0], fill);
        pulse(&serviced);
    }
    assert_eq!(
        sandbox.tree(".harness/logs"),
        "rd.log\nrd.log.1\nsupport.log\n",
        "one older log is kept, and no other is touched"
    );
}

#[test]
fn a_log_that_cannot_be_kept_small_stops_no_pulse() {
    let sandbox = machine().dept("rd").file(".harness/logs", "not a folder\n").env("HARNESS_SERVICE", "cron");
    let (status, _, stderr) = sandbox.run(["tick", "rd"]).parts();
    assert!(status == 0 && stderr.contains("logs"), "{stderr}");
}

#[test]
fn a_tick_that_ends_the_last_work_escalates_what_is_left_open() {
    let task = "---\nschema: 1\nid: t-20261118-000000-aaaaaa\ntitle: Write it down\nstatus: in_progress\ncreated: 2026-11-18T00:00:00Z\n---\n";
    let sandbox = Sandbox::new()
        .apart()
        .organisation()
        .run(["config", "set", "business", "autoLoop", "true"])
        .any_stdout()
        .then()
        .file("org-business/.harness/x", "")
        .message("business", "Note", "Hi", "There.")
        .reply("NEXT_WORKER MSGID")
        .reply(&crate::desk::acts(&[crate::desk::MARK]));
    fs::write(sandbox.root().join("stalled-task.md"), task).unwrap();
    let path = sandbox.root().join("org-rd/tasks/t-20261118-000000-aaaaaa.md");
    fs::rename(sandbox.root().join("stalled-task.md"), &path).unwrap();
    let count = |sandbox: &Sandbox| sandbox.folder("org-rd/escalations").len();
    // A tick in which nothing ran looks for nothing.
    sandbox.start(&["tick", "rd"]).finish();
    assert_eq!(count(&sandbox), 0);
    sandbox.start(&["tick", "business"]).finish().any_stderr();
    assert_eq!((sandbox.last_run()["outcome"].as_str(), count(&sandbox)), (Some("done"), 1));
}
