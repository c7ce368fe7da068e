//! How a loop ends, what it costs in calls, and who may run at all.

use crate::desk::{MARK, SEND, acts, business, key, run_loop, worker};
use crate::outcome::{Run, until};
use crate::sandbox::Sandbox;
use std::collections::BTreeSet;

const NEXT: &str = "NEXT_WORKER MSGID";
const REMEMBER: &str =
    r#"{"do": "remember", "text": "Odd.", "tags": ["odd"], "reason": "worth knowing later"}"#;

/// So many messages, and what is needed to handle each.
fn letters(count: usize, replies: &[&str]) -> Sandbox {
    let sandbox = Sandbox::new().apart().organisation();
    (0..count).fold(sandbox, |sandbox, number| {
        let sandbox = sandbox.message("business", "MarketSignal", &format!("Letter {number}"), "It is odd.");
        replies.iter().fold(sandbox, |sandbox, reply| sandbox.reply(reply))
    })
}

#[track_caller]
fn said(run: Run, status: i32, stdout: &str) -> Run {
    run.status(status).stdout(stdout)
}

fn loop_of(sandbox: Sandbox) -> Run {
    sandbox.run(["run-loop", "business", "--engine", "claude"]).any_stderr()
}

#[test]
fn nothing_open_asks_nobody() {
    let run = loop_of(Sandbox::new().apart().organisation());
    let run = said(run, 0, "business: done (0 steps, 0.00 USD): nothing to do, no work: nothing is open\n");
    assert!(run.calls().is_empty());
    let ended = run.last_run();
    assert_eq!(
        (&ended["outcome"], &ended["reason"]),
        (&"done".into(), &"nothing to do, no work: nothing is open".into())
    );
    assert!(run.record(&ended).contains("nothing is open"));
}

#[test]
fn a_message_costs_two_calls_and_nothing_is_asked_after_the_last() {
    for count in [1, 5, 10] {
        let run = run_loop(letters(count, &[NEXT, &acts(&[MARK])])).status(0);
        assert_eq!(run.calls().len(), 2 * count);
        assert_eq!(run.tree("org-business/inbox"), "");
        assert_eq!(run.last_run()["iterations"], count);
    }
}

#[test]
fn automatic_routing_costs_one_call_a_message() {
    for count in [1, 5, 10] {
        let sandbox = letters(count, &[&acts(&[MARK])]);
        let config =
            "{\"schema\": 1, \"autoLoop\": false, \"autoIntervalSeconds\": 60, \"routing\": \"auto\"}\n";
        let run = run_loop(sandbox.file("org-business/.harness/director-config.json", config)).status(0);
        assert_eq!(run.calls().len(), count);
        assert_eq!(run.tree("org-business/inbox"), "");
        assert!(run.steps().iter().all(|step| step["role"] == "worker" && step["decision"] == "NEXT_WORKER"));
    }
}

#[test]
fn automatic_routing_takes_a_directive_to_the_ceo() {
    let sandbox = Sandbox::new().apart().organisation().message("business", "Directive", "Grow", "Grow.");
    let config = "{\"schema\": 1, \"autoLoop\": false, \"autoIntervalSeconds\": 60, \"routing\": \"auto\"}\n";
    let sandbox = sandbox.file("org-business/.harness/director-config.json", config).reply(&acts(&[MARK]));
    assert_eq!(run_loop(sandbox).status(0).last_step()["mode"], "ceo");
}

#[test]
fn max_iterations_ends_it() {
    let sandbox = letters(3, &[NEXT, &acts(&[MARK])]);
    let run =
        sandbox.run(["run-loop", "business", "--engine", "claude", "--max-iterations", "2"]).any_stderr();
    let run = said(
        run,
        11,
        "business: max-iterations (4 steps, 0.04 USD): 2 iterations, and there is still open mail\n",
    );
    assert_eq!(run.calls().len(), 4);
    assert_eq!(run.last_run()["outcome"], "max-iterations");
}

#[test]
fn max_iterations_comes_from_config_or_settings() {
    let config = "{\"schema\": 1, \"autoLoop\": false, \"autoIntervalSeconds\": 60, \"maxIterations\": 1}\n";
    let sandbox = letters(2, &[NEXT, &acts(&[MARK])]);
    let run = run_loop(sandbox.file("org-business/.harness/director-config.json", config)).status(11);
    assert_eq!(run.calls().len(), 2);
    let settings = "[defaults]\nmax_iterations = 1\n[engines.claude]\npreset = \"claude\"\n";
    let run = run_loop(letters(2, &[NEXT, &acts(&[MARK])]).settings(settings)).status(11);
    assert_eq!(run.calls().len(), 2);
}

#[test]
fn two_iterations_without_a_change_end_it() {
    let nothing = "There is nothing to be done about it now.\n\n```actions NONCE\n[]\n```\n";
    let sandbox = business().reply(NEXT).reply(nothing).reply(NEXT).reply(&acts(&[REMEMBER]));
    let run = loop_of(sandbox);
    let run = said(run, 11, "business: no-progress (4 steps, 0.04 USD): two iterations changed nothing\n");
    assert_eq!(run.last_run()["outcome"], "no-progress");
}

#[test]
fn progress_in_between_starts_the_count_anew() {
    let nothing = "There is nothing to be done about it now.\n\n```actions NONCE\n[]\n```\n";
    let sandbox = business().reply(NEXT).reply(nothing).reply(NEXT).reply(&acts(&[SEND]));
    let run = run_loop(sandbox.reply(NEXT).reply(nothing).reply("DONE")).status(0);
    assert_eq!(run.calls().len(), 7);
}

#[test]
fn steps_of_a_run_are_limited() {
    let sandbox = letters(2, &[NEXT, &acts(&[MARK])]).charter("steps_per_run = 30", "steps_per_run = 3");
    let run = loop_of(sandbox).status(3).any_stdout();
    assert_eq!(run.calls().len(), 3);
    let ended = run.last_run();
    assert_eq!(ended["outcome"], "refused");
    assert!(ended["reason"].as_str().unwrap().contains("steps_per_run"), "{ended}");
}

#[test]
fn runs_of_an_hour_are_limited_and_those_that_asked_nobody_do_not_count() {
    let sandbox = business().charter("runs_per_hour = 30", "runs_per_hour = 1");
    let run = worker(sandbox.reply(&acts(&[MARK]))).status(0);
    let sandbox = run.then().message("business", "MarketSignal", "Odd", "It is odd.");
    let run = loop_of(sandbox).status(3);
    let run = run.any_stdout();
    assert_eq!(run.calls().len(), 1);
    let run = run_loop(run.then().now("2026-11-18T01:42:01Z").reply("DONE")).status(0);
    assert_eq!(run.calls().len(), 2);

    let quiet = Sandbox::new().apart().organisation().charter("runs_per_hour = 30", "runs_per_hour = 1");
    let quiet = run_loop(quiet).status(0).then();
    run_loop(quiet).status(0);
}

#[test]
fn an_engine_that_is_not_there_is_no_step_and_counts_for_nothing() {
    let sandbox = business().charter("runs_per_hour = 30", "runs_per_hour = 1").without_engine("claude");
    for _ in 0..2 {
        let run = loop_of(sandbox.clone()).status(3);
        let run = run.stdout(
            "business: refused (0 steps, 0.00 USD): no engine can be asked now: claude: `claude` is not on PATH\n",
        );
        assert_eq!(run.last_run()["steps"], 0);
    }
}

#[test]
fn a_closed_gate_asks_nobody() {
    for verb in ["trip", "disable"] {
        let run = business().run(["gate", verb, "--why", "a test"]).any_stdout();
        let run = run.then().run(["run-loop", "business", "--engine", "claude"]).status(3);
        let run = run.stderr(
            "error: the gate is [..] (closed): a test\nhint: see `harness gate show`; `harness gate enable` opens it\n",
        );
        assert!(run.calls().is_empty());
        let run = run.then().run(["run-director", "business", "--role", "worker", "--engine", "claude"]);
        assert!(run.status(3).any_stderr().calls().is_empty());
    }
}

#[test]
fn a_gate_that_is_missing_or_broken_is_closed() {
    let sandbox = business();
    std::fs::remove_file(sandbox.root().join(".harness/gate.json")).unwrap();
    let run = loop_of(sandbox).status(3);
    let run =
        loop_of(run.then().file(".harness/gate.json", "{\"schema\": 1, \"state\": \"open\"}")).status(3);
    assert!(run.calls().is_empty());
}

/// Runs with a first answer during which the gate is closed: nobody is asked a second time.
fn closed_after_the_first_call(answer: &str, args: &[&str]) -> Sandbox {
    let sandbox = business().reply(&format!("#wait go\n{answer}"));
    let running = sandbox.start(args);
    sandbox.until_asked(1);
    sandbox.clone().run(["gate", "trip", "--why", "wait"]).any_stdout();
    sandbox.go();
    running.finish().status(3).any_stdout().any_stderr();
    assert_eq!(sandbox.calls().len(), 1);
    sandbox
}

#[test]
fn a_gate_that_closes_between_two_calls_stops_the_second() {
    let args = ["run-loop", "business", "--engine", "claude"];
    let sandbox = closed_after_the_first_call(NEXT, &args);
    assert_eq!(sandbox.last_step()["decision"], "NEXT_WORKER");
    let args = ["run-director", "business", "--role", "worker", "--engine", "claude"];
    let sandbox = closed_after_the_first_call("no", &args);
    let run = run_loop(sandbox.run(["gate", "enable"]).any_stdout().then().reply("DONE")).status(0);
    let refused = run.steps().remove(0);
    assert_eq!(
        (&refused["outcome"], &refused["refusals"][0]["code"]),
        (&"refused".into(), &"no_block".into())
    );
}

/// A worker whose answer is there when the gate has just been closed.
fn gate_closed_meanwhile() -> Sandbox {
    let sandbox = business().reply(&format!("#wait go\n{}", acts(&[SEND, MARK])));
    let running = sandbox.start(&["run-director", "business", "--role", "worker", "--engine", "claude"]);
    sandbox.until_asked(1);
    sandbox.clone().run(["gate", "trip", "--why", "wait"]).any_stdout();
    let before = sandbox.work();
    sandbox.go();
    running.finish().status(3).any_stdout().any_stderr();
    assert_eq!(sandbox.work(), before, "nothing was applied");
    assert!(sandbox.tree("org-business/.harness/journal").contains(".plan.json"));
    let ended = sandbox.last_run();
    assert_eq!((&ended["outcome"], &ended["cost_usd"]), (&"refused".into(), &0.01.into()));
    let again = loop_of(sandbox.clone()).status(3);
    assert_eq!(again.work(), before, "it waits as long as the gate is closed");
    sandbox
}

/// What the plan decided is there, once, and nobody was asked again.
#[track_caller]
fn assert_applied(run: &Run) {
    assert_eq!(key(&run.only("org-rd/inbox"), "kind"), Some("Decision"));
    assert_eq!(run.tree("org-business/inbox"), "");
    assert_eq!(run.tree("org-business/.harness/journal"), "");
    assert_eq!(run.calls().len(), 1);
    let steps: Vec<_> = run.steps().into_iter().filter(|step| step["role"] == "worker").collect();
    assert_eq!(steps.len(), 1);
}

#[test]
fn a_plan_waits_for_the_gate_and_the_next_run_applies_it() {
    let sandbox = gate_closed_meanwhile().run(["gate", "enable"]).any_stdout().then();
    assert_applied(&run_loop(sandbox).status(0));
}

#[test]
fn a_plan_waits_for_the_gate_and_recover_applies_it() {
    let sandbox = gate_closed_meanwhile();
    sandbox.clone().run(["recover", "business"]).status(3).any_stderr();
    let run = sandbox.run(["gate", "enable"]).any_stdout().then().run(["recover", "business"]);
    let run = run.stdout("business: recovered.\n").any_stderr();
    assert_applied(&run);
    let before = run.everything();
    let mut again = run.then().run(["recover", "business"]).any_stderr();
    again = again.stdout("business: nothing was left to finish.\n");
    let mut after = again.everything();
    after.retain(|path, _| !path.contains("audit"));
    assert!(
        after.iter().all(|(path, bytes)| before.get(path) == Some(bytes)),
        "recovering twice changes nothing"
    );
}

#[test]
fn a_department_that_was_never_accepted_does_not_run() {
    let sandbox = business();
    std::fs::remove_file(sandbox.root().join(".harness/accepted.json")).unwrap();
    let run = sandbox.run(["run-loop", "business", "--engine", "claude"]).status(3);
    let run = run.stderr("error: the department was never accepted\nhint: look at it and accept it: `harness charter accept business`\n");
    assert!(run.calls().is_empty());
}

#[test]
fn a_loop_that_comes_later_is_told_who_runs() {
    let sandbox = business().reply(&format!("#wait go\n{NEXT}")).reply(&acts(&[MARK]));
    let first = sandbox.start(&["run-loop", "business", "--engine", "claude"]);
    sandbox.until_asked(1);
    let others: Vec<_> =
        (0..4).map(|_| sandbox.start(&["run-loop", "business", "--engine", "claude"])).collect();
    for other in others {
        let run = other.finish().status(4);
        run.stderr("error: `business` is held by r-[..] (pid [..])\nhint: `harness logs business -f` shows it; `harness stop-loop business` ends it\n");
    }
    sandbox.go();
    first.finish().status(0).any_stdout().any_stderr();
    assert_eq!(sandbox.runs().len(), 1);
    assert_eq!(sandbox.calls().len(), 2);
}

#[test]
fn of_many_loops_started_together_one_runs() {
    let sandbox = business().reply(&format!("#wait go\n{NEXT}")).reply(&acts(&[MARK]));
    let mut running: Vec<_> =
        (0..32).map(|_| sandbox.start(&["run-loop", "business", "--engine", "claude"])).collect();
    until("31 have ended", || running.iter_mut().filter_map(|run| run.ended().then_some(())).count() == 31);
    sandbox.go();
    let mut codes: Vec<i32> = running.into_iter().map(|run| run.finish().parts().0).collect();
    codes.sort();
    assert_eq!((codes[0], &codes[1..]), (0, [4; 31].as_slice()));
    assert_eq!((sandbox.runs().len(), sandbox.calls().len()), (1, 2));
}

#[test]
fn two_departments_do_not_wait_for_each_other() {
    let sandbox = business().message("rd", "MarketSignal", "Odd", "It is odd.");
    let sandbox = sandbox.reply("#hang\n").reply("DONE");
    let slow = sandbox.start(&["run-loop", "business", "--engine", "claude"]);
    sandbox.until_asked(1);
    let run = sandbox.clone().run(["run-loop", "rd", "--engine", "claude"]).any_stdout().any_stderr();
    assert_eq!(run.ledger("rd").len(), 2);
    run.then().run(["stop-loop", "business"]).any_stdout();
    slow.finish().status(13).any_stdout().any_stderr();
}

/// The names of the events in a run with `--events`.
fn events(run: Run) -> (Vec<serde_json::Value>, BTreeSet<String>) {
    let text = run.any_stderr().take_stdout();
    let events: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let names = events.iter().map(|event| event["event"].as_str().unwrap().to_string()).collect();
    (events, names)
}

/// Everything but what the engines have cost: that is spent, whatever becomes of the answer.
fn untouched(sandbox: &Sandbox) -> std::collections::BTreeMap<String, crate::desk::Bytes> {
    let mut all = sandbox.everything();
    all.retain(|path, _| ![".harness/budget.jsonl", ".harness/lock"].contains(&path.as_str()));
    all
}

#[test]
fn a_dry_run_shows_verdicts_and_touches_nothing() {
    let sandbox = business().reply(NEXT).reply(&acts(&[SEND, MARK]));
    let before = untouched(&sandbox);
    let run = sandbox.run(["run-loop", "business", "--engine", "claude", "--dry-run"]);
    let run = run.any_stdout().stderr(
        "business: r-[..] starts\n  orchestrator asks claude about m-[..]\n  decides NEXT_WORKER m-[..]\n  \
         worker asks claude about m-[..]\n  would send_message m-[..] Decision to rd\n  would mark_message m-[..] actioned\n",
    );
    assert_eq!(untouched(&run), before);
    let unsure = acts(&[&crate::desk::with(SEND, "confidence", "10")]);
    let args = ["run-director", "business", "--role", "worker", "--engine", "claude", "--dry-run"];
    let run = run.then().reply(&unsure).run(args).any_stdout();
    let run = run.stderr(
        "business: r-[..] starts\n  worker asks claude about m-[..]\n  send_message a-[..]: needs approval, by charter.toml [approval] confidence_below\n",
    );
    assert_eq!(untouched(&run), before);
    let run = run.then().reply("no").reply("no").run(args).status(12).any_stdout().any_stderr();
    assert_eq!(untouched(&run), before);
}

#[test]
fn a_dry_run_that_costs_nothing_leaves_every_byte() {
    let sandbox = Sandbox::new().apart().organisation().message("business", "Directive", "Grow", "Grow.");
    let before = sandbox.everything();
    let run =
        sandbox.run(["run-loop", "business", "--engine", "rules", "--dry-run"]).any_stdout().any_stderr();
    assert_eq!(run.everything(), before);
}

#[test]
fn a_dry_run_of_a_script_shows_each_answer_in_turn() {
    let sandbox = business().file("answers/01.txt", "NEXT_WORKER {{ message_id }}\n");
    let answer = acts(&[MARK]).replace("NONCE", "{{ nonce }}").replace("MSGID", "{{ message_id }}");
    let folder = sandbox.root().join("answers").display().to_string();
    let sandbox = sandbox.file("answers/02.txt", &answer);
    let sandbox = sandbox.settings(&format!("[engines.told]\npreset = \"script\"\nfolder = \"{folder}\"\n"));
    let before = sandbox.everything();
    let run =
        sandbox.run(["run-loop", "business", "--engine", "told", "--dry-run"]).any_stdout().any_stderr();
    assert_eq!(run.everything(), before);
    let run = run.then().run(["run-loop", "business", "--engine", "told"]).any_stderr();
    said(run, 0, "business: done (2 steps, 0.00 USD): nothing to do, no work: nothing is open\n");
}

#[test]
fn events_are_one_object_a_line() {
    let sandbox =
        business().reply("#stderr careful\nWell.\nNEXT_WORKER MSGID").reply("no").reply(&acts(&[SEND, MARK]));
    let run = sandbox.run(["run-loop", "business", "--engine", "claude", "--events"]);
    let (events, names) = events(run);
    let expected = ["action", "chunk", "decision", "done", "refused", "start", "stderr", "step", "usage"]
        .map(String::from);
    assert_eq!(names, BTreeSet::from(expected));
    let of = |name: &str| events.iter().find(|event| event["event"] == name).unwrap();
    assert_eq!((&events[0]["event"], &events[0]["dept"]), (&"start".into(), &"business".into()));
    assert_eq!(of("step")["mode"], "normal");
    assert_eq!(of("stderr")["text"], "careful");
    assert_eq!(of("decision")["decision"], "NEXT_WORKER");
    assert_eq!((&of("action")["do"], &of("action")["verdict"]), (&"send_message".into(), &"allow".into()));
    assert_eq!(of("usage")["cost_usd"], 0.01);
    assert_eq!((&of("done")["outcome"], events.last().unwrap()), (&"done".into(), of("done")));
}

#[test]
fn a_run_has_a_document() {
    let run = business().reply("DONE").run(["run-loop", "business", "--engine", "claude", "--json"]);
    let document = run.json();
    assert_eq!((&document["schema"], &document["ok"]), (&"harness.run/1".into(), &true.into()));
    let data = &document["data"];
    assert_eq!((&data["dept"], &data["outcome"]), (&"business".into(), &"done".into()));
    assert_eq!(
        (&data["steps"], &data["iterations"], &data["cost_usd"]),
        (&1.into(), &1.into(), &0.01.into())
    );
    assert!(data["run"].as_str().unwrap().starts_with("r-20261118-004201-"));
    let run =
        run.then().reply("no").reply("no").run(["run-loop", "business", "--engine", "claude", "--json"]);
    let document = run.status(12).json();
    assert_eq!((&document["ok"], &document["data"]["outcome"]), (&false.into(), &"failed".into()));
}
