//! Engines that are there, not there, out of quota, broken, slow or stubborn: what is asked, what is counted, what is
//! left behind.

use crate::desk::{MARK, acts, business, run_loop, worker};
use crate::outcome::{Run, alive, until};
use crate::sandbox::Sandbox;
use std::collections::BTreeSet;

/// Two engines that the fake one plays, with a short deadline.
const TWO: &str = "
    [engines.claude]
    preset = \"claude\"
    timeout_seconds = 1
    worst_case_usd = 0.75
    [engines.second]
    preset = \"claude\"
    command = [\"codex\"]
    ";

/// Turned down after the client's own short pause, which is no time at which the quota is back.
const PAUSED: &str = "#raw\n#exit 1\n\
    {\"type\":\"system\",\"subtype\":\"api_retry\",\"error_status\":429,\"retry_delay_ms\":500}\n\
    {\"type\":\"result\",\"is_error\":true,\"api_error_status\":429,\"result\":\"slow down\",\"num_turns\":1}\n";

fn of_two(sandbox: Sandbox) -> Run {
    sandbox
        .run(["run-director", "business", "--role", "worker", "--engine", "claude,second"])
        .any_stdout()
        .any_stderr()
}

/// One step with this reply alone: it fails, and says why.
#[track_caller]
fn fails(reply: &str, why: &str) -> Run {
    fails_with("[engines.claude]\npreset = \"claude\"\n", reply, why)
}

#[track_caller]
fn fails_with(settings: &str, reply: &str, why: &str) -> Run {
    let sandbox = business().settings(settings);
    let before = sandbox.work();
    let run = worker(sandbox.reply(reply)).status(12);
    let (step, ended) = (run.last_step(), run.last_run());
    assert_eq!((&step["outcome"], &ended["outcome"]), (&"failed".into(), &"failed".into()));
    let reason = ended["reason"].as_str().unwrap();
    assert!(reason.starts_with("claude: ") && reason.contains(why), "{reason}");
    assert!(run.record(&step).contains(reason), "the record says why");
    assert_eq!(run.work(), before);
    assert_eq!(run.calls().len(), 1, "a bad answer is not asked for again");
    run
}

#[test]
fn one_that_is_not_there_is_passed_over() {
    let sandbox = business().settings(TWO).without_engine("claude").reply(&acts(&[MARK]));
    let run = of_two(sandbox).status(0);
    assert_eq!(run.last_step()["engine"], "second");
    let run = worker(run.then().message("business", "MarketSignal", "Odd", "It is odd.")).status(3);
    assert_eq!(run.calls().len(), 1);
}

#[test]
fn an_engine_that_org_toml_does_not_know_is_a_mistake() {
    let run = business().settings(TWO).run(["run-loop", "business", "--engine", "gpt"]).status(2);
    let run = run.stderr("error: there is no engine `gpt`\nhint: org.toml has: claude, second, rules\n");
    let run = run.then().run(["run-loop", "business", "--engine", "rules,secnd"]).status(2);
    run.stderr(
        "error: there is no engine `secnd`\nhint: did you mean `second`?\nhint: org.toml has: claude, second, rules\n",
    );
}

#[test]
fn an_overloaded_one_is_passed_over() {
    let run = of_two(business().settings(TWO).reply("#error 529\n").reply(&acts(&[MARK]))).status(0);
    assert_eq!(run.last_step()["engine"], "second");
    assert_eq!(run.calls().len(), 2);
}

#[test]
fn where_all_are_overloaded_the_step_has_failed() {
    let run = of_two(business().settings(TWO).reply("#error 529\n").reply("#error 529\n")).status(12);
    let reason = run.last_run()["reason"].as_str().unwrap().to_string();
    assert!(reason.contains("claude: ") && reason.contains("; second: "), "{reason}");
    assert_eq!((&run.last_step()["outcome"], &run.last_run()["steps"]), (&"failed".into(), &1.into()));
}

#[test]
fn a_quota_is_obeyed_by_every_department_until_its_reset() {
    // 1795000000 is 2026-11-18T11:06:40Z.
    let run = worker(business().settings(TWO).reply("#error 429 reset=1795000000\n")).status(12);
    assert!(run.last_run()["reason"].as_str().unwrap().contains("usage limit"), "{}", run.last_run());
    let states: serde_json::Value = serde_json::from_str(&run.read(".harness/engines.json")).unwrap();
    assert_eq!(states["engines"]["claude"]["not_before"], "2026-11-18T11:06:40Z");
    let sandbox = run.then().message("rd", "MarketSignal", "Odd", "It is odd.");
    let run = sandbox.run(["run-loop", "rd", "--engine", "claude"]).status(3);
    let run = run.stderr(
        "
        rd: r-[..] starts
        hint: one may be asked again from 2026-11-18T11:06:40Z on, as `harness health` shows; until then the playbook alone can answer: `harness run-loop rd --engine rules`
        ",
    );
    let run = run.stdout(
        "rd: refused (0 steps, 0.00 USD): no engine can be asked now: claude: out of quota until 2026-11-18T11:06:40Z\n",
    );
    assert_eq!(run.calls().len(), 1, "nobody was asked");
    let run = of_two(run.then().reply(&acts(&[MARK]))).status(0);
    assert_eq!(run.last_step()["engine"], "second");
    let later = run.then().now("2026-11-18T11:06:40Z").reply("DONE");
    let run = later.run(["run-loop", "rd", "--engine", "claude"]).any_stdout().any_stderr();
    assert_eq!(run.calls().len(), 3);
}

/// What every department obeys of an engine.
fn rest(run: &Run) -> (String, u64) {
    let states: serde_json::Value = serde_json::from_str(&run.read(".harness/engines.json")).unwrap();
    let state = &states["engines"]["claude"];
    (
        state["not_before"].as_str().unwrap_or_default().to_string(),
        state["rests"].as_u64().unwrap_or_default(),
    )
}

#[test]
fn one_that_gives_no_time_rests_for_a_while_that_grows_and_begins_anew() {
    for error in ["#error 529\n", "#error 429\n", PAUSED] {
        let run = worker(business().settings(TWO).reply(error)).status(12);
        assert_eq!(rest(&run), ("2026-11-18T00:43:01Z".to_string(), 1), "{error}");
        let sandbox = run.then().message("rd", "MarketSignal", "Odd", "It is odd.");
        let run = sandbox.now("2026-11-18T00:43:00Z").run(["run-loop", "rd", "--engine", "claude"]).status(3);
        let run = run.any_stderr().stdout("rd: refused (0 steps, 0.00 USD): no engine can be asked now: claude: it rests until 2026-11-18T00:43:01Z ([..])\n");
        assert_eq!(run.calls().len(), 1, "no department asks it");
        let run = worker(run.then().now("2026-11-18T00:43:01Z").reply(error)).status(12);
        assert_eq!(rest(&run), ("2026-11-18T00:45:01Z".to_string(), 2), "{error}");
        let run = worker(run.then().now("2026-11-18T00:45:01Z").reply(&acts(&[MARK]))).status(0);
        assert_eq!(rest(&run), (String::new(), 0), "it has answered");
    }
}

#[test]
fn an_api_error_fails_the_step_with_its_reason() {
    let run = fails("#error 500\n", "API Error: 500");
    assert!(run.record(&run.last_step()).contains("\"api_error_status\":500"), "what it printed is kept");
}

#[test]
fn one_that_exits_with_an_error() {
    fails("#raw\n#stderr no such option\n#exit 3\n", "no such option");
}

#[test]
fn one_that_prints_garbage() {
    fails("#raw\n#garbage\n", "the engine's output holds no result");
}

#[test]
fn garbage_before_a_good_answer_is_skipped() {
    let run = worker(business().reply(&format!("#garbage\n{}", acts(&[MARK])))).status(0);
    assert_eq!(run.last_step()["outcome"], "ok");
}

#[test]
fn one_that_says_nothing() {
    fails("#raw\n", "the engine's output holds no result");
    fails("", "an empty answer");
}

#[test]
fn one_that_floods() {
    let run = fails("#flood 20000000\n", "it printed more than 16777216 bytes and was ended");
    let record = run.record(&run.last_step());
    assert!(record.len() < 1_000_000, "what is kept is capped");
    assert!(record.contains("\n[cut: ") && record.contains(" more bytes]\n"), "and says so");
}

#[test]
fn one_that_hangs() {
    let run = fails_with(TWO, "#hang\n", "it took longer than 1 s and was ended");
    let step = run.last_step();
    assert_eq!((&step["cost_usd"], &step["counted_usd"]), (&serde_json::Value::Null, &0.75.into()));
}

#[test]
fn one_that_vanishes() {
    let sandbox = business().reply("#hang\n");
    let running = sandbox.start(&["run-director", "business", "--role", "worker", "--engine", "claude"]);
    sandbox.until_asked(1);
    let active = || -> serde_json::Value {
        serde_json::from_str(&sandbox.read("org-business/.harness/active.json")).unwrap_or_default()
    };
    until("the engine's process is known", || active()["engine_pid"].is_number());
    let pid = i32::try_from(active()["engine_pid"].as_i64().unwrap()).unwrap();
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(pid).unwrap(),
        rustix::process::Signal::KILL,
    )
    .unwrap();
    running.finish().status(12).any_stdout().any_stderr();
    assert_eq!(sandbox.last_step()["outcome"], "failed");
}

/// The processes that the first call left.
fn left(run: &Run) -> Vec<i32> {
    let left = run.calls()[0].grandchildren.clone();
    assert!(!left.is_empty());
    left
}

#[test]
fn one_that_ignores_sigterm_and_leaves_processes() {
    let run = fails_with(TWO, "#ignore-term\n#grandchild\n#setsid-grandchild\n#hang\n", "was ended");
    assert!(left(&run).iter().all(|pid| !alive(*pid)));
}

#[test]
fn grandchildren_that_hold_the_output_hold_nothing_up() {
    let reply = format!("#grandchild\n#setsid-grandchild\n{}", acts(&[MARK]));
    let run = worker(business().reply(&reply)).status(0);
    assert_eq!(run.last_step()["outcome"], "ok");
    assert!(left(&run).iter().all(|pid| !alive(*pid)));
}

#[test]
fn one_that_answers_and_stays_has_answered() {
    let run = worker(business().reply(&format!("#linger\n{}", acts(&[MARK])))).status(0);
    assert_eq!(run.last_step()["outcome"], "ok");
    assert_eq!(run.tree("org-business/inbox"), "");
}

#[test]
fn an_unknown_cost_is_counted_at_the_worst_case_and_shown_as_unknown() {
    let sandbox = business().settings(TWO).reply(&format!("#usage 10 20 none\n{}", acts(&[MARK])));
    let args = ["run-director", "business", "--role", "worker", "--engine", "claude"];
    let run = sandbox.run(args).any_stderr();
    let run =
        run.stdout("business: done (1 step, cost unknown, counted as 0.75 USD): the worker has answered\n");
    let (step, ended) = (run.last_step(), run.last_run());
    for line in [&step, &ended] {
        assert_eq!((&line["cost_usd"], &line["counted_usd"]), (&serde_json::Value::Null, &0.75.into()));
    }
    assert_eq!((&step["input_tokens"], &step["output_tokens"]), (&10.into(), &20.into()));
    assert!(run.record(&step).contains("cost_usd: unknown, counted as 0.75\n"));
    assert!(run.record(&ended).contains("cost_usd: unknown, counted as 0.75\n"));
    let run = run.then().run(["runs", "list"]);
    assert!(run.take_stdout().contains(" unknown\n"));
}

#[test]
fn the_environment_is_minimal() {
    let sandbox = business()
        .settings("[engines.claude]\npreset = \"claude\"\nenv = [\"MY_API_KEY\", \"NOT_SET\"]\n")
        .env("MY_API_KEY", "abcd1234efgh")
        .env("ANTHROPIC_BASE_URL", "http://example.invalid")
        .env("SSH_AUTH_SOCK", "/tmp/agent");
    let run = worker(sandbox.reply(&acts(&[MARK]))).status(0);
    let call = &run.calls()[0];
    let names: BTreeSet<&str> = call.env.keys().map(String::as_str).collect();
    let expected = [
        "API_TIMEOUT_MS",
        "CLAUDE_CODE_DISABLE_ATTACHMENTS",
        "CLAUDE_CODE_DISABLE_FILE_MENTIONS",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
        "CLAUDE_CODE_MAX_RETRIES",
        "HARNESS_DEPT",
        "HARNESS_ROLE",
        "HARNESS_RUN",
        "HOME",
        "LANG",
        "LOGNAME",
        "MY_API_KEY",
        "PATH",
        "TMPDIR",
        "USER",
    ];
    assert_eq!(names, BTreeSet::from(expected));
    assert_eq!(call.env["HARNESS_RUN"], run.last_run()["run"]);
    assert_eq!(
        (&call.env["HARNESS_DEPT"], &call.env["HARNESS_ROLE"]),
        (&"business".into(), &"worker".into())
    );
    assert_eq!(call.env["MY_API_KEY"], "abcd1234efgh");
}

#[test]
fn claude_gets_its_stable_part_as_the_system_prompt_and_no_tools() {
    let settings = "[engines.claude]\npreset = \"claude\"\nmodel = \"m-1\"\nargs = [\"--verbose\"]\n";
    let run = worker(business().settings(settings).reply(&acts(&[MARK]))).status(0);
    let call = &run.calls()[0];
    let at = call.args.iter().position(|arg| arg == "--system-prompt").unwrap() + 1;
    let mut args: Vec<&str> = call.args.iter().map(String::as_str).collect();
    args[at] = "(stable)";
    assert_eq!(
        args.join(" "),
        "-p --output-format stream-json --verbose --include-partial-messages --tools  --system-prompt (stable) \
         --no-session-persistence --setting-sources  --model m-1 --verbose"
    );
    let step = run.last_step();
    assert_eq!(call.args[at].len(), usize::try_from(step["prefix_bytes"].as_u64().unwrap()).unwrap());
    let whole = call.args[at].len() + call.stdin.len();
    assert_eq!(whole, usize::try_from(step["prompt_bytes"].as_u64().unwrap()).unwrap());
    assert!(call.stdin.contains(crate::desk::SUBJECT) && !call.args[at].contains(crate::desk::SUBJECT));
    assert_eq!(call.cwd, run.root().join("org-business").display().to_string());
}

#[test]
fn gemini_gets_its_stable_part_in_a_file_and_a_dry_run_writes_none() {
    let settings = "[engines.claude]\npreset = \"gemini\"\ncommand = [\"gemini\"]\n";
    let answer = serde_json::json!({"response": acts(&[MARK]), "stats": {"models": {}}});
    let sandbox = business().settings(settings).reply(&format!("#raw\n{answer}"));
    let args = ["run-director", "business", "--role", "worker", "--engine", "claude", "--dry-run"];
    let run = sandbox.run(args).any_stdout().any_stderr();
    let shown = run.calls().remove(0);
    assert!(!shown.env.contains_key("GEMINI_SYSTEM_MD") && !run.exists("org-business/.harness/system.md"));
    let run = worker(run.then().reply(&format!("#raw\n{answer}"))).status(0);
    let call = run.calls().remove(1);
    let path = run.root().join("org-business/.harness/system.md").display().to_string();
    assert_eq!(call.env["GEMINI_SYSTEM_MD"], path);
    let stable = run.read("org-business/.harness/system.md");
    assert!(stable.starts_with("# harness: ") && !call.stdin.contains("## Your role"), "{}", call.stdin);
    assert!(shown.stdin.starts_with(&stable), "all of it at once");
}

#[test]
fn any_program_can_be_an_engine() {
    let sandbox = business().reply(&format!("#raw\n{}", acts(&[MARK])));
    let program = sandbox.dir().join("bin/llm").display().to_string();
    let settings = format!("[engines.mine]\npreset = \"command\"\ncommand = [\"{program}\", \"--fast\"]\n");
    let args = ["run-director", "business", "--role", "worker", "--engine", "mine"];
    let run = sandbox.settings(&settings).run(args).any_stdout().any_stderr();
    let (step, call) = (run.last_step(), &run.calls()[0]);
    assert_eq!((&step["engine"], &step["outcome"]), (&"mine".into(), &"ok".into()));
    assert_eq!(step["cost_usd"], serde_json::Value::Null);
    assert_eq!(call.args, ["--fast"]);
    assert_eq!(call.stdin.len(), usize::try_from(step["prompt_bytes"].as_u64().unwrap()).unwrap());
}

#[test]
fn a_model_that_is_not_allowed_is_refused() {
    let settings =
        "[engines.claude]\npreset = \"claude\"\nmodel = \"m-2-20990101\"\nallow_models = [\"m-2\"]\n";
    let run = business().settings(settings).run(["run-loop", "business", "--engine", "claude"]).status(1);
    let run = run.stderr("error: can't read [ROOT]/.harness/org.toml: `engines.claude.model` is `m-2-20990101`, which is not in `allow_models`\nhint: put it right, or move it away: [ROOT]/.harness/org.toml\n");
    assert!(run.calls().is_empty());
}

/// Without an exact model the client would take its own default, and an argument would take any.
#[test]
fn an_allow_list_holds_whatever_else_could_name_a_model() {
    for (lines, said) in [
        (
            "",
            "`engines.claude.model` is missing: `allow_models` needs an exact model beside it, such as `model = \"m-2\"`",
        ),
        ("model = \"m-2\"\nargs = [\"--model\", \"m-3\"]\n", "`engines.claude.args` name a model"),
        ("model = \"m-2\"\nargs = [\"--model=m-3\"]\n", "`engines.claude.args` name a model"),
    ] {
        let settings = format!("[engines.claude]\npreset = \"claude\"\nallow_models = [\"m-2\"]\n{lines}");
        let run =
            business().settings(&settings).start(&["run-loop", "business", "--engine", "claude"]).finish();
        let (status, _, stderr) = run.parts();
        assert!(status == 1 && stderr.contains(said), "{status} {stderr}");
    }
}

#[test]
fn rules_come_first_and_the_model_gets_the_rest() {
    let sandbox = Sandbox::new().apart().organisation();
    let sandbox = sandbox.message("business", "ProgressUpdate", "On track: the digest", "All is well.");
    let run = sandbox.run(["run-loop", "business"]).any_stdout().any_stderr();
    assert!(run.calls().is_empty() && run.tree("org-business/inbox").is_empty());
    assert!(run.steps().iter().all(|step| step["engine"] == "rules" && step["cost_usd"] == 0.0));
    let sandbox = run.then().message("business", "ProgressUpdate", "Late: the digest", "It will be late.");
    let run = sandbox.reply("DONE").run(["run-loop", "business"]).any_stdout().any_stderr();
    assert_eq!((run.calls().len(), &run.last_step()["engine"]), (1, &"claude".into()));
}

#[test]
fn what_no_rule_covers_goes_to_the_human_where_there_is_no_other_engine() {
    let run = business().message("business", "ProgressUpdate", "Late: the digest", "It will be late.");
    let run = run.run(["run-loop", "business", "--engine", "rules"]).status(10).any_stdout().any_stderr();
    assert_eq!(run.folder("org-business/escalations").len(), 1);
    assert!(run.calls().is_empty());
}

#[test]
fn an_earlier_run_can_be_played_again() {
    let run = run_loop(business().reply("NEXT_WORKER MSGID").reply(&acts(&[crate::desk::SEND, MARK])));
    let (id, first) = (run.sent(0), run.last_run()["run"].as_str().unwrap().to_string());
    let sandbox = run.then();
    let away = sandbox.root().join(format!("org-business/archive/inbox/2026-11/{id}.md"));
    let text = std::fs::read_to_string(&away).unwrap();
    let (front, body) = text.rsplit_once("\n---\n").unwrap();
    let kept: Vec<&str> = front.lines().filter(|line| !line.contains("actioned")).collect();
    let sandbox = sandbox.file(
        &format!("org-business/inbox/{id}.md"),
        &format!("{}\nstatus: pending\n---\n{body}", kept.join("\n")),
    );
    std::fs::remove_file(away).unwrap();
    let engine = format!("replay:{first}");
    let run = sandbox.run(["run-loop", "business", "--engine", &engine]).any_stdout().any_stderr();
    assert_eq!(run.folder("org-rd/inbox").len(), 2);
    assert_eq!(run.last_step()["engine"], "replay");
    assert_eq!(run.calls().len(), 2);
}

#[test]
fn from_inside_an_engine_nobody_speaks_for_the_human() {
    let sandbox = business().env("HARNESS_RUN", "").env("HARNESS_DEPT", "business");
    for args in [
        ["run-loop", "business"].as_slice(),
        &["run-director", "business"],
        &["stop-loop", "business"],
        &["stop-all"],
        &["gate", "enable"],
        &["recover", "business"],
        &["demo"],
    ] {
        let run = sandbox.start(args).finish().status(3);
        run.stderr("error: `harness [..]` speaks for the human, and this is inside a run\nhint: [..]\n");
    }
}

/// A program behind `command` that clears its environment and asks to open the gate.
#[test]
fn a_cleared_environment_does_not_hide_that_it_is_inside_a_run() {
    let sandbox = business();
    let (bin, root, home) = (sandbox.dir().join("bin"), sandbox.root(), sandbox.home());
    let script = format!(
        "#!/bin/sh\nenv -i HOME={h} {b}/harness gate enable --root {r} >{h}/said 2>&1\necho $? >>{h}/said\necho nothing\n",
        h = home.display(),
        b = bin.display(),
        r = root.display()
    );
    let program = bin.join("sly");
    crate::sandbox::write(&program, script.as_bytes());
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&program, mode).unwrap();
    let settings = format!("[engines.sly]\npreset = \"command\"\ncommand = [\"{}\"]\n", program.display());
    let args = ["run-director", "business", "--role", "worker", "--engine", "sly"];
    let run = sandbox.settings(&settings).run(args).status(12).any_stdout().any_stderr();
    let said = std::fs::read_to_string(run.home().join("said")).unwrap();
    assert!(said.contains("speaks for the human") && said.ends_with("\n3\n"), "{said}");
}

#[test]
fn one_that_can_not_be_started_is_passed_over_and_costs_nothing() {
    let sandbox = business().settings(TWO).without_engine("claude").reply(&acts(&[MARK]));
    let program = sandbox.root().parent().unwrap().join("bin/claude");
    std::fs::write(&program, "#!/nowhere/interpreter\n").unwrap();
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let run = of_two(sandbox).status(0);
    assert_eq!(
        (&run.last_step()["engine"], &run.last_run()["counted_usd"]),
        (&"second".into(), &0.01.into())
    );
    let book = run.read(".harness/budget.jsonl");
    assert!(book.contains(r#""usd":0.0,"tokens":0,"known":true"#), "{book}");
    let run = worker(run.then().message("business", "MarketSignal", "Odd", "It is odd.")).status(3);
    assert!(run.last_run()["reason"].as_str().unwrap().contains("claude: it can't be started: No such file"));
}

#[test]
fn the_next_one_is_not_asked_where_the_gate_closed_meanwhile() {
    let sandbox = business().settings(TWO).reply("#wait go\n#error 529\n").reply(&acts(&[MARK]));
    let args = ["run-director", "business", "--role", "worker", "--engine", "claude", "--engine", "second"];
    let slow = sandbox.settings(&TWO.replace("timeout_seconds = 1", "timeout_seconds = 60"));
    let running = slow.start(&args);
    slow.until_asked(1);
    slow.clone().run(["gate", "trip", "--why", "enough"]).any_stdout();
    slow.go();
    let run = running.finish().status(3).any_stdout().any_stderr();
    assert_eq!(run.calls().len(), 1, "the second was not asked");
    let (step, ended) = (run.last_step(), run.last_run());
    assert_eq!((&step["engine"], &step["outcome"]), (&"claude".into(), &"failed".into()));
    assert_eq!((&ended["outcome"], &ended["steps"]), (&"refused".into(), &1.into()));
    assert!(ended["reason"].as_str().unwrap().contains("the gate is tripped"), "{ended}");
}

#[test]
fn tokens_that_went_into_the_cache_count() {
    let reply = format!("#usage 10 20 0.5 3000\n{}", acts(&[MARK]));
    let run = worker(business().reply(&reply)).status(0);
    let step = run.last_step();
    assert_eq!(step["cache_write_tokens"], 3000);
    assert!(run.record(&step).contains("cache_write_tokens: 3000\n"));
    let book = run.read(".harness/budget.jsonl");
    assert!(book.contains(r#""tokens":3030"#), "{book}");
    let stats = run.then().run(["stats", "business", "--json"]).take_stdout();
    assert!(stats.contains("\"cache_write\":3000") || stats.contains("\"cache_write\": 3000"), "{stats}");
}

#[test]
fn what_it_prints_to_stderr_has_a_budget() {
    let lines: String = (0..50).map(|number| format!("#stderr line {number}\n")).collect();
    let args = ["run-director", "business", "--role", "worker", "--engine", "claude"];
    let (_, _, stderr) = business().reply(&format!("{lines}{}", acts(&[MARK]))).run(args).parts();
    assert_eq!(stderr.matches("engine: line ").count(), 20, "{stderr}");
    assert!(stderr.contains("  engine: [cut: 30 more lines]\n"), "{stderr}");
}

#[test]
fn a_flood_on_stderr_is_named_as_such_and_what_is_kept_says_what_was_cut() {
    let line = format!("#stderr {}\n", "x".repeat(60_000)).repeat(20);
    let why = "it printed more than 1048576 bytes to stderr and was ended";
    let run = fails(&format!("#raw\n{line}#hang\n"), why);
    let record = run.record(&run.last_step());
    assert!(record.contains("\n[cut: ") && record.contains(" more bytes]\n"), "{}", record.len());
}

#[test]
fn a_run_that_the_budget_refused_asked_nobody_and_counts_towards_no_limit() {
    let settings = format!("{TWO}[budget.department]\nusd_per_day = 0.5\n");
    let args = ["run-director", "business", "--role", "worker", "--engine", "claude"];
    let sandbox = business().settings(&settings);
    let run = sandbox.clone().run(args).status(3).any_stdout();
    assert_eq!((&run.last_run()["outcome"], &run.last_run()["steps"]), (&"refused".into(), &0.into()));
    let (_, _, stderr) = run.parts();
    assert!(!stderr.contains("asks"), "{stderr}");
    let rows = crate::office::data(&sandbox, &["budget"])["limits"].as_array().unwrap().clone();
    let runs = rows.iter().find(|row| row["limit"] == "runs_per_day").unwrap();
    assert_eq!(runs["spent"], 0.0, "{runs}");
}
