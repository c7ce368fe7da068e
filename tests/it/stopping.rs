//! Runs that are stopped, interrupted or killed while an engine runs: the engine is gone, the run has an end, the lock
//! is free.

use crate::desk::{MARK, SEND, acts, business};
use crate::outcome::{Running, alive, until};
use crate::sandbox::Sandbox;
use rustix::process::Signal;
use serde_json::Value;
use std::process::Stdio;

/// A loop of business whose engine hangs and has left a process in a session of its own.
fn hanging() -> (Sandbox, Running, Vec<i32>) {
    hanging_with("#setsid-grandchild\n#hang\n")
}

fn hanging_with(reply: &str) -> (Sandbox, Running, Vec<i32>) {
    let sandbox = business().reply(reply);
    let running = sandbox.start(&["run-loop", "business", "--engine", "claude"]);
    sandbox.until_asked(1);
    until("the engine's process is known", || active(&sandbox)["engine_pid"].is_number());
    let mut pids = sandbox.calls()[0].grandchildren.clone();
    for key in ["guard_pid", "engine_pid"] {
        pids.push(i32::try_from(active(&sandbox)[key].as_i64().unwrap()).unwrap());
    }
    assert!(pids.iter().all(|pid| alive(*pid)));
    (sandbox, running, pids)
}

fn active(sandbox: &Sandbox) -> Value {
    let path = "org-business/.harness/active.json";
    let text = if sandbox.exists(path) { sandbox.read(path) } else { String::new() };
    serde_json::from_str(&text).unwrap_or_default()
}

/// Nothing of the run is left, it is recorded with this outcome, and the next one runs.
#[track_caller]
fn assert_over(sandbox: &Sandbox, pids: &[i32], outcome: &str) {
    let left: Vec<&i32> = pids.iter().filter(|pid| alive(**pid)).collect();
    assert!(left.is_empty(), "left: {left:?}");
    let ended = sandbox.last_run();
    assert_eq!(ended["outcome"], outcome);
    assert!(sandbox.record(&ended).contains(&format!("outcome: {outcome}\n")));
    assert!(!sandbox.exists("org-business/.harness/active.json"));
    assert_eq!(sandbox.tree("org-business/.harness/journal"), "");
    let run = sandbox.clone().reply("DONE").run(["run-loop", "business", "--engine", "claude"]);
    assert_eq!(run.any_stdout().any_stderr().status(0).last_run()["outcome"], "done");
}

#[test]
fn stop_loop_ends_the_run_with_everything_it_started() {
    let (sandbox, running, pids) = hanging();
    let before = sandbox.work();
    let run = sandbox.clone().run(["stop-loop", "business"]);
    run.stdout("business: r-[..] is stopped, and nothing of it is left.\n");
    let run = running.finish().status(13).any_stderr();
    run.stdout("business: cancelled (1 step, cost unknown, counted as 1.00 USD): stopped\n");
    assert_eq!(sandbox.work(), before);
    let step = sandbox.last_step();
    assert_eq!((&step["outcome"], &step["engine"]), (&"cancelled".into(), &"claude".into()));
    assert_eq!(
        (&step["cost_usd"], &step["counted_usd"]),
        (&Value::Null, &1.0.into()),
        "it may have cost something"
    );
    assert_over(&sandbox, &pids, "cancelled");
}

/// What can't be written down is said, and the run is ended all the same.
#[test]
fn a_full_disk_keeps_no_run_alive() {
    for command in [&["stop-loop", "business"][..], &["stop-all"]] {
        let (sandbox, running, pids) = hanging();
        let full = sandbox.clone().env("HARNESS_TEST_FAULT", "fail-from:1:28");
        let error = full.start(command).finish().status(1).parts().2;
        assert!(error.contains("can't be written down") && error.contains("No space left"), "{error}");
        running.finish().status(13).any_stdout().any_stderr();
        assert_over(&sandbox, &pids, "cancelled");
    }
}

#[test]
fn an_engine_that_ignores_sigterm_is_stopped_too() {
    let (sandbox, running, pids) = hanging_with("#ignore-term\n#setsid-grandchild\n#hang\n");
    sandbox.clone().run(["stop-loop", "business"]).any_stdout();
    running.finish().status(13).any_stdout().any_stderr();
    assert_over(&sandbox, &pids, "cancelled");
}

#[test]
fn sigterm_cancels() {
    let (sandbox, running, pids) = hanging();
    running.signal(Signal::TERM);
    running.finish().status(13).any_stdout().any_stderr();
    assert_over(&sandbox, &pids, "cancelled");
}

#[test]
fn the_keyboard_interrupts() {
    let (sandbox, running, pids) = hanging();
    running.signal(Signal::INT);
    running.finish().status(130).any_stdout().any_stderr();
    assert_over(&sandbox, &pids, "cancelled");
}

#[test]
fn the_keyboard_twice_does_not_wait_for_a_stubborn_engine() {
    let (sandbox, running, pids) = hanging_with("#ignore-term\n#hang\n");
    running.signal(Signal::INT);
    running.signal(Signal::INT);
    running.finish().status(130).any_stdout().any_stderr();
    assert_over(&sandbox, &pids, "cancelled");
}

#[test]
fn an_answer_that_comes_with_the_stop_is_not_carried_out() {
    let reply = format!("#ignore-term\n#linger\n{}", acts(&[SEND, MARK]));
    let sandbox = business().reply(&reply);
    let before = sandbox.work();
    let running = sandbox.start(&["run-director", "business", "--role", "worker", "--engine", "claude"]);
    let log = || {
        sandbox.exists("org-business/.harness/live.log")
            && sandbox.read("org-business/.harness/live.log").contains("```actions")
    };
    until("it has answered", log);
    running.signal(Signal::TERM);
    running.finish().status(13).any_stdout().any_stderr();
    assert_eq!(sandbox.work(), before);
    assert_eq!(sandbox.last_step()["outcome"], "cancelled");
}

#[test]
fn stopping_what_does_not_run_is_fine() {
    let run = business().run(["stop-loop", "business"]).stdout("Nothing runs in business.\n");
    run.then().run(["stop-loop", "busyness"]).status(1).any_stderr();
}

#[test]
fn active_runs_lists_what_is_alive() {
    let (sandbox, running, _) = hanging();
    let run = sandbox.clone().run(["active-runs", "--json"]);
    let document = run.json();
    let rows = document["data"]["runs"].as_array().unwrap();
    assert_eq!(rows.len(), 1);
    assert_eq!(
        (&rows[0]["dept"], &rows[0]["kind"], &rows[0]["role"]),
        (&"business".into(), &"loop".into(), &"orchestrator".into())
    );
    assert_eq!(rows[0]["pid"], running.pid());
    let table = sandbox.clone().run(["active-runs"]).take_stdout();
    assert!(table.starts_with("DEPARTMENT") && table.contains(rows[0]["run"].as_str().unwrap()), "{table}");
    running.signal(Signal::KILL);
    running.finish().status(137).any_stdout().any_stderr();
    sandbox.run(["active-runs"]).stdout("Nothing runs.\n");
}

#[test]
fn stop_all_trips_the_gate_and_proves_that_nothing_is_left() {
    let config = "{\"schema\": 1, \"autoLoop\": true, \"autoIntervalSeconds\": 60}\n";
    let sandbox =
        business().message("rd", "MarketSignal", "Odd", "It is odd.").reply("#hang\n").reply("#hang\n");
    let sandbox = sandbox.file("org-marketing/.harness/director-config.json", config);
    let running = ["business", "rd"].map(|dept| sandbox.start(&["run-loop", dept, "--engine", "claude"]));
    sandbox.until_asked(1);
    sandbox.until_asked(2);
    let run = sandbox.clone().run(["stop-all", "--why", "enough"]);
    run.stdout(
        "Gate: tripped (closed)\nbusiness: r-[..] stopped\nrd: r-[..] stopped\n\
         Nothing runs, every autoLoop is off, and no process of any run is left.\nTo go on: harness gate enable\n",
    );
    for run in running {
        run.finish().status(13).any_stdout().any_stderr();
    }
    sandbox.clone().run(["gate", "check"]).status(3).stdout("tripped (closed), since [..] by user: enough\n");
    assert!(sandbox.read("org-marketing/.harness/director-config.json").contains("\"autoLoop\": false"));
    for dept in ["business", "rd"] {
        assert_eq!(sandbox.ledger(dept).last().unwrap()["outcome"], "cancelled", "{dept}");
    }
    sandbox.run(["run-loop", "business"]).status(3).any_stderr();
}

#[test]
fn a_killed_run_takes_its_engine_with_it_and_is_recorded_by_the_next() {
    let (sandbox, running, pids) = hanging();
    let killed = active(&sandbox)["run"].clone();
    running.signal(Signal::KILL);
    running.finish().status(137).any_stdout().any_stderr();
    until("the guard has taken everything down", || pids.iter().all(|pid| !alive(*pid)));
    let run = sandbox.clone().reply("DONE").run(["run-loop", "business", "--engine", "claude"]).any_stdout();
    let run = run.stderr(&format!(
        "  {id} had died; it is recorded as killed\nbusiness: r-[..] starts\n  orchestrator asks claude about m-[..]\n  decides DONE\n",
        id = killed.as_str().unwrap()
    ));
    let runs = run.runs();
    assert_eq!((&runs[0]["run"], &runs[0]["outcome"]), (&killed, &"killed".into()));
    assert!(run.record(&runs[0]).contains("outcome: killed\n"));
    assert_eq!((runs.len(), &runs[1]["outcome"]), (2, &"done".into()));
}

#[test]
fn a_killed_run_can_be_recovered_by_itself_and_only_once() {
    let (sandbox, running, _) = hanging();
    running.signal(Signal::KILL);
    running.finish().status(137).any_stdout().any_stderr();
    sandbox.clone().run(["recover", "business"]).any_stderr().stdout("business: recovered.\n");
    assert_eq!(sandbox.last_run()["outcome"], "killed");
    let run = sandbox.run(["recover", "business"]).stdout("business: nothing was left to finish.\n");
    assert_eq!(run.runs().len(), 1);
}

#[test]
fn logs_follow_a_run_to_its_end() {
    let sandbox = business().reply("#wait go\nFirst I look at it.\nDONE\n");
    let running = sandbox.start(&["run-loop", "business", "--engine", "claude"]);
    sandbox.until_asked(1);
    let logs = sandbox.start(&["logs", "business", "-f"]);
    sandbox.go();
    running.finish().any_stdout().any_stderr();
    logs.finish().stdout("First I look at it.\nDONE\n");
    sandbox.run(["logs", "business"]).stdout("First I look at it.\nDONE\n");
}

#[test]
fn what_a_dead_run_was_writing_is_removed_wherever_that_was() {
    let (sandbox, running, _) = hanging();
    let run = active(&sandbox)["run"].as_str().unwrap().to_owned();
    running.signal(Signal::KILL);
    running.finish().status(137).any_stdout().any_stderr();
    let mut left = Vec::new();
    for folder in [
        "org-business",
        "org-business/tasks",
        "org-business/agents",
        "org-business/schedules",
        "org-business/outbox",
        "org-business/memory",
        "org-business/.harness",
        "org-business/.harness/asked",
        "org-business/.harness/director-runs",
        "org-rd/inbox",
        ".harness",
        ".harness/projects",
        ".harness/directives",
    ] {
        let path = format!("{folder}/.tmp.{run}.business.7.1");
        crate::sandbox::write(&sandbox.root().join(&path), b"half");
        left.push(path);
    }
    let of_another = ".harness/.tmp.r-20261118-004201-aaaaaa.rd.7.1";
    crate::sandbox::write(&sandbox.root().join(of_another), b"half");
    sandbox.clone().run(["recover", "business"]).any_stderr().stdout("business: recovered.\n");
    left.retain(|path| sandbox.exists(path));
    assert_eq!(left, Vec::<String>::new());
    assert!(sandbox.exists(of_another), "rd may be at work");
}

#[test]
fn a_closed_terminal_cancels_and_nohup_keeps_the_run() {
    let (sandbox, running, pids) = hanging();
    running.signal(Signal::HUP);
    running.finish().status(13).any_stdout().any_stderr();
    assert_over(&sandbox, &pids, "cancelled");
    let sandbox = business().reply("#wait go\nDONE\n");
    let (command, _) = sandbox.command(&["run-loop", "business", "--engine", "claude"]);
    let mut nohup = std::process::Command::new("/usr/bin/nohup");
    nohup.arg(command.get_program()).args(command.get_args()).env_clear();
    nohup.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    nohup.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = nohup.spawn().unwrap();
    sandbox.until_asked(1);
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), Signal::HUP).unwrap();
    sandbox.go();
    assert!(child.wait().unwrap().success());
    assert_eq!(sandbox.last_run()["outcome"], "done");
}

#[test]
fn a_run_that_died_says_what_came_of_it() {
    let (sandbox, running, _) = hanging();
    running.signal(Signal::KILL);
    running.finish().status(137).any_stdout().any_stderr();
    sandbox.clone().run(["recover", "business"]).any_stdout().any_stderr();
    let killed = sandbox.last_run();
    assert_eq!(killed["reason"], "the run died while an engine was at work; it had decided nothing");
    assert_eq!((&killed["steps"], &killed["changed"]), (&1.into(), &false.into()));
    let sandbox = sandbox
        .reply("NEXT_WORKER MSGID")
        .reply(&acts(&[SEND, MARK]))
        .message("business", "MarketSignal", "Odd", "It is odd.")
        .reply("#hang\n");
    let running = sandbox.start(&["run-loop", "business", "--engine", "claude"]);
    sandbox.until_asked(4);
    until("the third step's engine is known", || active(&sandbox)["step"] == 3);
    running.signal(Signal::KILL);
    running.finish().status(137).any_stdout().any_stderr();
    sandbox.clone().run(["recover", "business"]).any_stdout().any_stderr();
    let killed = sandbox.last_run();
    assert_eq!(
        killed["reason"],
        "the run died while an engine was at work; what it had decided was carried out"
    );
    assert_eq!((&killed["steps"], &killed["changed"]), (&3.into(), &true.into()));
}
