//! What a run leaves to be read: records, ledger, memory lines, logs; and what is made again where it was lost.

use crate::desk::{MARK, SEND, acts, business, director, key, run_loop, worker};
use crate::outcome::Run;
use crate::sandbox::Sandbox;
use serde_json::Value;

/// One iteration that sends and marks.
fn ran() -> Run {
    run_loop(business().reply("I look.\n\nNEXT_WORKER MSGID").reply(&acts(&[SEND, MARK]))).status(0)
}

fn ledger_block(record: &str) -> Value {
    let (_, block) = record.rsplit_once("```json ledger\n").unwrap();
    let (line, end) = block.split_once('\n').unwrap();
    assert_eq!(end, "```\n", "the ledger's line is the last thing in a record");
    serde_json::from_str(line).unwrap()
}

#[test]
fn there_is_a_record_for_every_step_and_run() {
    let run = ran();
    let names: Vec<String> = run.folder("org-business/.harness/director-runs").into_keys().collect();
    assert_eq!(
        names,
        ["20261118T004201Z_loop.md", "20261118T004201Z_orchestrator.md", "20261118T004201Z_worker.md"]
    );
    for line in run.ledger("business") {
        assert_eq!(ledger_block(&run.record(&line)), line);
    }
    let run = director(run.then().reply("DONE"), "orchestrator").status(0);
    assert!(run.exists("org-business/.harness/director-runs/20261118T004201Z-2_orchestrator.md"));
    assert!(run.exists("org-business/.harness/director-runs/20261118T004201Z_director.md"));
}

#[test]
fn a_steps_record_tells_all() {
    let run = ran();
    let (decided, worked) = (run.steps().remove(0), run.last_step());
    let record = run.record(&worked);
    let id = run.sent(0);
    for (name, value) in [
        ("schema", "1"),
        ("dept", "business"),
        ("run", worked["run"].as_str().unwrap()),
        ("role", "worker"),
        ("mode", "normal"),
        ("engine", "claude"),
        ("at", "2026-11-18T00:42:01Z"),
        ("outcome", "ok"),
        ("step", "2"),
        ("iteration", "1"),
        ("item", id.as_str()),
        ("decision", "NEXT_WORKER"),
        ("input_tokens", "1000"),
        ("cache_read_tokens", "0"),
        ("output_tokens", "100"),
        ("cost_usd", "\"0.01\""),
    ] {
        assert_eq!(key(&record, name), Some(value), "{name}");
    }
    assert!(record.contains("\nduration_s: ") && !record.contains("\nduration_s: \""), "{record}");
    // A digest that reads like a number, such as 0b1..., stands in quotes.
    let digest = key(&record, "prefix_sha256").map(|text| text.trim_matches('"'));
    assert_eq!(digest, worked["prefix_sha256"].as_str());
    let number = |name: &str| worked[name].as_u64().unwrap();
    assert!(number("prompt_bytes") > number("prefix_bytes") && number("prefix_bytes") > 5_000);
    let sent = key(&run.only("org-business/outbox"), "id").unwrap().to_string();
    for part in [
        format!("\n1. send_message: allow (in_charter, charter.toml); {sent} was sent to rd\n"),
        format!("\n2. mark_message: allow (in_charter, charter.toml); {id} is actioned\n"),
        "\n- 1 base/worker.md: found, embedded, ".to_string(),
        "\n- 4 org-business/prompts/worker.md: missing, 0 bytes\n".to_string(),
        "\n- 7 closer/worker.md: found, embedded, ".to_string(),
        "\n## Output\n\n````text\nThis is what I do about it.\n".to_string(),
    ] {
        assert!(record.contains(&part), "{part}: {record}");
    }
    let record = run.record(&decided);
    assert!(record.contains(&format!("\n## Decision\n\nNEXT_WORKER {id}\n")), "{record}");
    assert!(record.contains("I look.\n\nNEXT_WORKER"), "{record}");
}

#[test]
fn a_runs_record_tells_its_story() {
    let run = ran();
    let (id, ended) = (run.sent(0), run.last_run());
    let record = run.record(&ended);
    for (name, value) in [
        ("kind", "loop"),
        ("started", "2026-11-18T00:42:01Z"),
        ("ended", "2026-11-18T00:42:01Z"),
        ("outcome", "done"),
        ("reason", "\"nothing to do, no work: nothing is open\""),
        ("iterations", "1"),
        ("steps", "2"),
        ("cost_usd", "\"0.02\""),
    ] {
        assert_eq!(key(&record, name), Some(value), "{name}");
    }
    assert!(record.contains(&format!("\n- orchestrator on {id} by claude: NEXT_WORKER {id}\n")), "{record}");
    assert!(record.contains("\n- send_message: allow; m-"), "{record}");
}

#[test]
fn runs_show_prints_the_run_and_its_steps() {
    let run = ran();
    let id = run.last_run()["run"].as_str().unwrap().to_string();
    let sandbox = run.then();
    let text = sandbox.clone().run(["runs", "show", &id]).take_stdout();
    assert_eq!(sandbox.run(["runs", "show", &id[id.len() - 6..]]).take_stdout(), text);
    let order: Vec<usize> = ["_loop.md\n", "_orchestrator.md\n", "_worker.md\n"]
        .iter()
        .map(|name| text.find(name).expect(name))
        .collect();
    assert!(order.is_sorted());
    let list = business().run(["runs", "list"]).stdout("No runs yet.\n");
    list.then().run(["runs", "show", "zzzzzz"]).status(1).any_stderr();
}

#[test]
fn steps_of_one_second_are_shown_in_their_order_also_without_a_ledger() {
    let sandbox = business().message("business", "MarketSignal", "Odd", "It is odd.");
    let next = ["NEXT_WORKER MSGID\n", &acts(&[MARK])].map(str::to_string);
    let sandbox = next.iter().chain(&next).fold(sandbox, |sandbox, reply| sandbox.reply(reply));
    let run = run_loop(sandbox).status(0);
    let id = run.last_run()["run"].as_str().unwrap().to_string();
    let steps = |sandbox: &Sandbox| -> Vec<u64> {
        let shown = crate::office::data(sandbox, &["runs", "show", &id]);
        shown["records"].as_array().unwrap().iter().map(|record| record["step"].as_u64().unwrap()).collect()
    };
    assert_eq!(steps(&run), [0, 1, 2, 3, 4]);
    assert_eq!(steps(&run.then().without_file("org-business/.harness/runs.jsonl")), [0, 1, 2, 3, 4]);
}

#[test]
fn the_list_of_runs_is_newest_first() {
    let run = ran();
    let run = run.then().now("2026-11-18T02:00:00Z").run(["run-loop", "business"]).any_stdout().any_stderr();
    let document = run.then().run(["runs", "list", "--json"]).json();
    let rows = document["data"]["runs"].as_array().unwrap().clone();
    assert_eq!(rows.len(), 2);
    assert_eq!((&rows[0]["run"]["steps"], &rows[1]["run"]["steps"]), (&0.into(), &2.into()));
}

/// Where there is little room the reason stands beneath its run; an id, which one copies, is whole.
#[test]
fn the_list_of_runs_fits() {
    let name = "a-department-with-a-name-of-very-many-words-that-goes-on";
    let run = |id: &str, outcome: &str| {
        format!(
            "{{\"line\":\"run\",\"schema\":1,\"at\":\"2026-11-17T00:42:01Z\",\"run\":\"{id}\",\"kind\":\"director\",\"outcome\":\"{outcome}\",\"steps\":12,\"reason\":\"{}\"}}\n",
            "it goes on and on ".repeat(20)
        )
    };
    let ids = ["r-20261117-004201-aaaaaa", "r-20261117-004201-bbbbbb"];
    let sandbox = Sandbox::new()
        .dept(name)
        .dept("rd")
        .file(&format!("org-{name}/.harness/runs.jsonl"), &run(ids[0], "max-iterations"))
        .file("org-rd/.harness/runs.jsonl", &run(ids[1], "done"));
    for (columns, lines) in [("80", 5), ("140", 3)] {
        let text = sandbox.clone().env("COLUMNS", columns).start(&["runs", "list"]).finish().take_stdout();
        assert_eq!(text.lines().count(), lines, "{text}");
        let most: usize = columns.parse().unwrap();
        assert!(text.lines().all(|line| line.chars().count() <= most), "{columns}: {text}");
        assert!(ids.iter().all(|id| text.contains(id)) && text.contains("it goes on and on"), "{text}");
    }
}

#[test]
fn memory_lines_have_their_form_and_stand_in_the_next_prompt() {
    let run = ran();
    let first = "20261118T004201Z [NEXT_WORKER] → send_message Decision to rd (final:done)";
    let run = run.then().run(["memory", "business", "--raw"]).stdout(&format!("{first}\n"));
    let sandbox =
        run.then().now("2026-11-18T01:00:00Z").message("business", "MarketSignal", "Odd", "It is odd.");
    let run = run_loop(sandbox.reply("ESCALATE MSGID this is not mine to decide\n")).status(10);
    let odd = run.sent(1);
    let second = format!("20261118T010000Z [ESCALATE] → escalate {odd} (final:escalated)");
    let run = run.then().run(["memory", "business", "--raw"]).stdout(&format!("{second}\n{first}\n"));
    let run = run.then().run(["memory", "business", "--raw", "--limit", "1"]).stdout(&format!("{second}\n"));
    let sandbox = run.then().message("business", "MarketSignal", "Odder", "It is odder.");
    let run = run_loop(sandbox.reply("DONE"));
    let prompt = run.calls().pop().unwrap().stdin;
    let (_, section) =
        prompt.split_once("## Recent decisions (your own memory, newest first)\n\n<<<DATA ").unwrap();
    let (section, _) = section.split_once(">>>DATA ").unwrap();
    let lines: Vec<&str> = section.lines().skip(1).collect();
    assert_eq!(lines, [second, first.to_string()]);
}

#[test]
fn the_heading_of_memory_stands_also_above_nothing() {
    let run = run_loop(business().reply("DONE"));
    let prompt = &run.calls()[0].stdin;
    assert!(prompt.contains("## Recent decisions (your own memory, newest first)\n\n## Inbox\n"), "{prompt}");
}

#[test]
fn twelve_iterations_are_remembered_however_many_there_were() {
    let mut sandbox = business().charter("runs_per_hour = 30", "runs_per_hour = 60");
    for minute in 10..25 {
        let now = format!("2026-11-18T01:{minute}:00Z");
        sandbox = sandbox.now(&now).reply("NEXT_WORKER MSGID").reply(&acts(&[SEND])).reply("DONE");
        sandbox = run_loop(sandbox).status(0).then();
    }
    let lines = sandbox.clone().run(["memory", "business", "--raw"]).take_stdout();
    assert_eq!(lines.lines().count(), 12);
    assert!(lines.starts_with("20261118T012400Z [DONE] → none (final:done)\n"), "{lines}");
    let prompt = sandbox.calls().pop().unwrap().stdin;
    assert_eq!(prompt.matches(" (final:done)\n").count() + prompt.matches(" (final:running)\n").count(), 12);
}

#[test]
fn every_workers_output_is_in_its_log() {
    let run = ran();
    let run_id = run.last_run()["run"].as_str().unwrap().to_string();
    let log = run.read("org-business/.harness/worker-log.md");
    assert!(
        log.starts_with(&format!("## 2026-11-18T00:42:01Z {run_id}/2 (normal, claude)\n\nThis is what I do")),
        "{log}"
    );
    assert!(!log.contains("I look."), "an orchestrator is no worker");
    let sandbox = run.then().message("business", "MarketSignal", "Odd", "It is odd.");
    let run = worker(sandbox.reply(&acts(&[MARK]))).status(0);
    let longer = run.read("org-business/.harness/worker-log.md");
    assert!(longer.starts_with(&log) && longer.len() > log.len());
}

#[test]
fn the_live_log_holds_the_last_steps_text() {
    let run = ran();
    let log = run.read("org-business/.harness/live.log");
    assert!(log.starts_with("This is what I do about it.\n") && log.ends_with("```\n"), "{log}");
    let mine = "#raw\nNothing to do here.\n\n```actions NONCE\n[]\n```\nThe last line has no end.";
    let sandbox = run.then().message("business", "MarketSignal", "Odd", "It is odd.").reply(mine);
    let settings = format!(
        "[engines.mine]\npreset = \"command\"\ncommand = [\"{}\"]\n",
        sandbox.dir().join("bin/llm").display()
    );
    let args = ["run-director", "business", "--role", "worker", "--engine", "mine"];
    let run = sandbox.settings(&settings).run(args).any_stdout().any_stderr();
    assert!(run.read("org-business/.harness/live.log").ends_with("```\nThe last line has no end.\n"));
}

#[test]
fn a_lost_ledger_is_made_again_from_the_records() {
    let run = ran();
    let sandbox =
        run.then().now("2026-11-18T01:00:00Z").message("business", "MarketSignal", "Odd", "It is odd.");
    let run = run_loop(sandbox.reply("no").reply("ESCALATE MSGID this is not mine\n")).status(10);
    let ledger = run.read("org-business/.harness/runs.jsonl");
    assert_eq!(ledger.lines().count(), 5);
    let path = run.root().join("org-business/.harness/runs.jsonl");
    std::fs::remove_file(&path).unwrap();
    let run = run.then().run(["recover", "business"]).stdout("business: recovered.\n");
    let run = run.stderr("  runs.jsonl was missing; its 5 lines are back, from the records\n");
    assert_eq!(run.read("org-business/.harness/runs.jsonl"), ledger);
    run.then().run(["recover", "business"]).stdout("business: nothing was left to finish.\n");

    let sandbox = ran().then();
    let before = sandbox.read("org-business/.harness/runs.jsonl");
    std::fs::remove_file(sandbox.root().join("org-business/.harness/runs.jsonl")).unwrap();
    let run = sandbox.now("2026-11-18T02:00:00Z").run(["run-loop", "business"]).any_stdout().any_stderr();
    assert!(run.read("org-business/.harness/runs.jsonl").starts_with(&before), "the next run does it too");
}

/// A department that has been at work for a while.
fn settled() -> Sandbox {
    let mut sandbox = business().charter("runs_per_hour = 30", "runs_per_hour = 60");
    let notes = "Prefer small steps. Ask before spending. Write plainly.\n".repeat(10);
    sandbox = sandbox.file("org-business/notes.md", &notes);
    let log = r#"{"do": "log_decision", "title": "One mail a week, and no more than that", "decision": "One.", "why": "Three are not read.", "reason": "later readers ask"}"#;
    for minute in 10..22 {
        let now = format!("2026-11-18T01:{minute}:00Z");
        let sandbox_now = sandbox.now(&now).message(
            "business",
            "MarketSignal",
            &format!("News {minute}"),
            "More of the same.",
        );
        sandbox = worker(sandbox_now.reply(&acts(&[log, SEND, MARK]))).status(0).then();
    }
    sandbox
}

/// The prompt as it was given: the system argument, then stdin.
fn prompt(sandbox: &Sandbox, call: usize) -> String {
    let call = &sandbox.calls()[call];
    let at = call.args.iter().position(|arg| arg == "--system-prompt").unwrap() + 1;
    format!("{}{}", call.args[at], call.stdin)
}

#[test]
fn two_successive_prompts_share_most_of_their_bytes() {
    let sandbox = settled();
    let calls = sandbox.calls().len();
    let (first, second) = (prompt(&sandbox, calls - 2), prompt(&sandbox, calls - 1));
    let shared = first.bytes().zip(second.bytes()).take_while(|(a, b)| a == b).count();
    let share = shared as f64 / second.len() as f64;
    assert!(share >= 0.85, "{share:.3} of {} bytes", second.len());
    let steps = sandbox.steps();
    let hashes: std::collections::BTreeSet<&str> =
        steps.iter().map(|step| step["prefix_sha256"].as_str().unwrap()).collect();
    assert_eq!(hashes.len(), 1, "the stable prefix is the same in every step");
    let record = sandbox.record(steps.last().unwrap());
    // A hash that could be read as a number stands in quotes.
    let recorded = key(&record, "prefix_sha256").map(|hash| hash.trim_matches('"'));
    assert_eq!(recorded, hashes.first().copied());
}
