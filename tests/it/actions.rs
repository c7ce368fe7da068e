//! Every action, carried out: which file it makes, what is in it, and what becomes of the message at hand.

use crate::desk::{MARK, SEND, acts, business, codes, director, key, with, worker};
use crate::sandbox::Sandbox;

#[test]
fn a_message_is_sent_with_its_thread() {
    let sandbox = business();
    let led_by = sandbox.sent(0);
    let send = with(&with(SEND, "to", r#"["rd", "management"]"#), "project", "\"platform\"");
    let run = worker(sandbox.reply(&acts(&[&send, MARK]))).status(0);
    let sent = run.only("org-business/outbox");
    let id = key(&sent, "id").unwrap();
    for (name, value) in [
        ("from", "business"),
        ("to", "[rd, management]"),
        ("kind", "Decision"),
        ("subject", "Look into it"),
        ("project", "platform"),
        ("ref", led_by.as_str()),
        ("thread", led_by.as_str()),
        ("hops", "1"),
        ("provenance", "department"),
        ("created", "2026-11-18T00:42:01Z"),
        ("status", "pending"),
    ] {
        assert_eq!(key(&sent, name), Some(value), "{name}");
    }
    assert!(sent.ends_with("---\nFind out why.\n"), "{sent}");
    for receiver in ["rd", "management"] {
        assert_eq!(run.read(&format!("org-{receiver}/inbox/{id}.md")), sent);
    }
    let step = run.last_step();
    assert_eq!(step["actions"][0]["target"], format!("{id} Decision to rd, management"));
    assert_eq!(
        step["history"][1][1],
        format!("20261118T004201Z sent {id} Decision to rd, management: Look into it")
    );
}

#[test]
fn a_ref_carries_its_own_thread_on() {
    let sandbox = business().message("business", "MarketSignal", "Another", "It is another matter.");
    let other = sandbox.sent(1);
    let send = with(SEND, "ref", &format!("\"{other}\""));
    let run = worker(sandbox.reply(&acts(&[&send]))).status(0);
    let sent = run.only("org-business/outbox");
    assert_eq!((key(&sent, "ref"), key(&sent, "thread")), (Some(other.as_str()), Some(other.as_str())));
}

#[test]
fn hops_grow_from_department_to_department() {
    let sandbox = business().reply(&acts(&[SEND, MARK]));
    let run = worker(sandbox).status(0);
    let answer = r#"{"do": "send_message", "to": ["business"], "kind": "Proposal", "subject": "A way", "body": "Do it so.", "confidence": 90, "reason": "it was asked for"}"#;
    let sandbox = run.then().reply(&acts(&[answer, MARK]));
    let led_by = sandbox.sent(0);
    let run = sandbox.run(["run-director", "rd", "--role", "worker", "--engine", "claude"]);
    let run = run.any_stdout().any_stderr();
    let arrived = run.only("org-business/inbox");
    assert_eq!((key(&arrived, "hops"), key(&arrived, "thread")), (Some("2"), Some(led_by.as_str())));
}

#[test]
fn a_mark_leaves_a_receipt_and_puts_the_message_away() {
    let sandbox = business();
    let id = sandbox.sent(0);
    let run = worker(sandbox.reply(&acts(&[MARK]))).status(0);
    assert_eq!(run.tree("org-business/inbox"), "");
    let kept = run.read(&format!("org-business/archive/inbox/2026-11/{id}.md"));
    assert_eq!(key(&kept, "status"), Some("actioned"));
    let run_id = run.last_run()["run"].as_str().unwrap().to_string();
    assert!(kept.contains(&run_id) && kept.contains("it is dealt with"), "{kept}");
}

#[test]
fn an_acknowledged_message_stays() {
    let sandbox = business();
    let id = sandbox.sent(0);
    let run = worker(sandbox.reply(&acts(&[&with(MARK, "status", "\"acknowledged\"")]))).status(0);
    assert_eq!(key(&run.read(&format!("org-business/inbox/{id}.md")), "status"), Some("acknowledged"));
}

#[test]
fn a_decision_is_logged() {
    let log = r#"{"do": "log_decision", "title": "Send fewer mails", "decision": "One a week.", "why": "Nobody reads three.", "refs": ["MSGID"], "project": "platform", "reason": "later readers ask"}"#;
    let sandbox = business();
    let (id, before) = (sandbox.sent(0), sandbox.read("org-business/decisions.md"));
    let run = worker(sandbox.reply(&acts(&[log]))).status(0);
    let run_id = run.last_run()["run"].as_str().unwrap().to_string();
    let entry = format!(
        "## 20261118T004201Z Send fewer mails ({run_id}/1/0)\n\nOne a week.\n\nWhy: Nobody reads three.\n\nRefs: {id}, project platform\n\n"
    );
    assert_eq!(run.read("org-business/decisions.md"), format!("{before}{entry}"));
    assert_eq!(run.last_step()["history"][1][1], "20261118T004201Z decided: Send fewer mails");
}

#[test]
fn a_fact_is_remembered_with_tags_refs_and_provenance() {
    let remember = r#"{"do": "remember", "text": "Opened mails halved.\nSince May.", "tags": ["mail", "market"], "refs": ["MSGID"], "reason": "it will matter again"}"#;
    let sandbox = business();
    let id = sandbox.sent(0);
    let run = worker(sandbox.reply(&acts(&[remember]))).status(0);
    let run_id = run.last_run()["run"].as_str().unwrap().to_string();
    assert_eq!(
        run.read("org-business/memory/2026-11-18.md"),
        format!(
            "- {run_id}/1/0 [mail, market] department refs: {id}\n  Opened mails halved.\n  Since May.\n"
        )
    );
}

#[test]
fn memory_is_curated_by_the_summarizer_alone() {
    let curate = r#"{"do": "curate_memory", "file": "MEMORY", "text": "Mails: one a week.", "reason": "the old text is stale"}"#;
    let run = director(business().reply(&acts(&[curate])), "summarizer").status(0);
    let memory = run.read("org-business/memory/MEMORY.md");
    assert!(memory.ends_with("---\nMails: one a week.\n"), "{memory}");
    let curate = with(curate, "file", "\"SELF\"");
    let run = director(run.then().reply(&acts(&[&curate])), "summarizer").status(0);
    assert!(run.read("org-business/memory/SELF.md").ends_with("---\nMails: one a week.\n"));
    let sandbox = run.then().reply(&acts(&[&curate])).reply(&acts(&[&curate]));
    let run = worker(sandbox).status(12);
    assert_eq!(codes(&run.last_step()["refusals"]), ["role_may_not"]);
    let long = with(&curate, "text", &format!("\"{}\"", "x\\n".repeat(201)));
    let run = director(run.then().reply(&acts(&[&long])).reply("no"), "summarizer").status(12);
    assert_eq!(codes(&run.last_step()["first_refusals"]), ["bad_field"]);
}

#[test]
fn the_weekly_is_written_by_the_documenter_alone() {
    let weekly = r#"{"do": "write_weekly", "text": "A quiet week.", "reason": "the week is over"}"#;
    let sandbox = business();
    let before = sandbox.read("org-business/weekly.md");
    let run = director(sandbox.reply(&acts(&[weekly])), "documenter").status(0);
    let run_id = run.last_run()["run"].as_str().unwrap().to_string();
    let entry = format!("## 20261118T004201Z ({run_id}/1/0)\n\nA quiet week.\n\n");
    assert_eq!(run.read("org-business/weekly.md"), format!("{before}{entry}"));
    let run = worker(run.then().reply(&acts(&[weekly])).reply("no")).status(12);
    assert_eq!(codes(&run.last_step()["first_refusals"]), ["role_may_not"]);
}

/// The message at hand waits for what was made, and no loop asks about it.
#[track_caller]
fn assert_waits(sandbox: &Sandbox, message: &str, waits_for: &str) {
    let text = sandbox.read(&format!("org-business/inbox/{message}.md"));
    assert_eq!((key(&text, "status"), key(&text, "waits_for")), (Some("acknowledged"), Some(waits_for)));
    let calls = sandbox.calls().len();
    let run = sandbox.clone().run(["run-loop", "business", "--engine", "claude"]).any_stderr();
    let run =
        run.stdout("business: done (0 steps, 0.00 USD): nothing to do, only approvals: one message is open, and it waits for the human\n");
    assert_eq!(run.calls().len(), calls);
}

#[test]
fn a_question_waits_for_its_answer() {
    let ask = r#"{"do": "ask_human", "question": "Which of the two?", "options": ["the first", "the second"], "unblocks": ["MSGID"], "due": "2026-11-20T09:00:00Z", "reason": "only you can say"}"#;
    let sandbox = business();
    let message = sandbox.sent(0);
    let run = worker(sandbox.reply(&acts(&[ask, MARK]))).status(0);
    let question = run.only("org-business/questions");
    let id = key(&question, "id").unwrap();
    assert!(id.starts_with("q-20261118-004201-"), "{id}");
    for (name, value) in [
        ("from", "business"),
        ("status", "pending"),
        ("options", "[the first, the second]"),
        ("due", "2026-11-20T09:00:00Z"),
    ] {
        assert_eq!(key(&question, name), Some(value), "{name}");
    }
    assert!(question.ends_with("---\nWhich of the two?\n"), "{question}");
    assert_eq!(run.last_step()["actions"][1]["code"], "held");
    assert_waits(&run, &message, id);
}

#[test]
fn an_escalation_waits_for_the_human() {
    let escalate = r#"{"do": "escalate", "id": "MSGID", "reason": "this is beyond the mandate"}"#;
    let sandbox = business();
    let message = sandbox.sent(0);
    let run = worker(sandbox.reply(&acts(&[escalate]))).status(0);
    let escalation = run.only("org-business/escalations");
    assert_eq!(
        (key(&escalation, "about"), key(&escalation, "status")),
        (Some(message.as_str()), Some("pending"))
    );
    assert!(escalation.ends_with("---\nthis is beyond the mandate\n"), "{escalation}");
    assert_waits(&run, &message, key(&escalation, "id").unwrap());
}

#[test]
fn what_needs_approval_waits_and_the_rest_is_carried_out() {
    let unsure = with(SEND, "confidence", "60");
    let remember = r#"{"do": "remember", "text": "Odd.", "tags": ["odd"], "reason": "worth knowing later"}"#;
    let sandbox = business();
    let message = sandbox.sent(0);
    let run = worker(sandbox.reply(&acts(&[&unsure, remember, MARK]))).status(0);
    assert_eq!(run.tree("org-business/outbox") + &run.tree("org-rd/inbox"), "");
    assert!(run.exists("org-business/memory/2026-11-18.md"));
    let approval = run.only("org-business/approvals");
    let id = key(&approval, "id").unwrap();
    for (name, value) in [
        ("status", "pending"),
        ("action", "send_message"),
        ("code", "confidence_low"),
        ("rule", "\"charter.toml [approval] confidence_below\""),
        ("confidence", "60"),
        ("about", message.as_str()),
        ("expires", "2026-11-21T00:42:01Z"),
    ] {
        assert_eq!(key(&approval, name), Some(value), "{name}");
    }
    let (_, exact) = approval.split_once("```json\n").unwrap();
    let (exact, _) = exact.split_once("\n```").unwrap();
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(exact).unwrap(),
        serde_json::from_str::<serde_json::Value>(&unsure).unwrap()
    );
    let step = run.last_step();
    let verdicts: Vec<&str> =
        (0..3).map(|index| step["actions"][index]["verdict"].as_str().unwrap()).collect();
    assert_eq!(verdicts, ["needs approval", "allow", "allow"]);
    assert_eq!(step["actions"][2]["code"], "held");
    assert_waits(&run, &message, id);
}

#[test]
fn an_approval_can_be_asked_for() {
    let request = format!(
        r#"{{"do": "request_approval", "action": {SEND}, "confidence": 55, "reason": "a human should see it"}}"#
    );
    let sandbox = business();
    let message = sandbox.sent(0);
    let run = worker(sandbox.reply(&acts(&[&request, MARK]))).status(0);
    let approval = run.only("org-business/approvals");
    assert_eq!((key(&approval, "code"), key(&approval, "action")), (Some("requested"), Some("send_message")));
    assert_eq!(
        (key(&approval, "confidence"), key(&approval, "why")),
        (Some("55"), Some("a human should see it"))
    );
    assert_eq!(run.tree("org-rd/inbox"), "");
    assert_waits(&run, &message, key(&approval, "id").unwrap());
}

#[test]
fn what_the_charter_refuses_cannot_be_asked_for() {
    let forbidden = with(SEND, "to", "[\"marketing\"]");
    let request = format!(
        r#"{{"do": "request_approval", "action": {forbidden}, "confidence": 55, "reason": "a human should see it"}}"#
    );
    let run = worker(business().reply(&acts(&[&request])).reply("no")).status(12);
    assert_eq!(codes(&run.last_step()["first_refusals"]), ["recipient_not_allowed"]);
    assert_eq!(run.tree("org-business/approvals"), "");
}

const DISPATCH: &str = r#"{"do": "dispatch", "pipeline": "coding", "args": {"project": "digest"}, "confidence": 90, "reason": "it has to be built"}"#;

#[test]
fn a_dispatch_waits_for_a_human_where_the_charter_says_so() {
    let sandbox = business()
        .settings("[engines.claude]\npreset = \"claude\"\n[pipelines.coding]\ncommand = [\"/bin/true\"]\n");
    let run = worker(sandbox.reply(&acts(&[DISPATCH]))).status(0);
    assert_eq!(key(&run.only("org-business/approvals"), "code"), Some("action_needs_approval"));
    assert!(run.folder("org-business/.harness/jobs").is_empty());
}

#[test]
fn a_dispatch_is_a_run_of_its_own_and_its_result_comes_back() {
    let settings = "[engines.claude]\npreset = \"claude\"\n[pipelines.coding]\ncommand = [\"/bin/echo\", \"built\", \"{project}\"]\n";
    let sandbox = business().settings(settings).charter("actions = [\"dispatch\"]", "actions = []");
    let run = worker(sandbox.reply(&acts(&[DISPATCH, MARK]))).status(0);
    let result = run.only("org-business/inbox");
    assert_eq!((key(&result, "from"), key(&result, "kind")), (Some("harness"), Some("System")));
    assert!(result.contains("built digest"), "{result}");
    assert!(run.folder("org-business/.harness/jobs").is_empty());
    assert_eq!(run.last_run()["kind"], "dispatch");
    // What was run can't be undone, and undoing the run that queued it says so.
    let job = run.last_run()["run"].as_str().unwrap().to_owned();
    let queued = run.last_step()["run"].as_str().unwrap().to_owned();
    let shown = run.then().run(["undo", &queued, "--dry-run"]).take_stdout();
    assert!(shown.contains(&format!("stays, the job was run as {job}, which ended as done")), "{shown}");
}

#[test]
fn a_pipeline_that_is_not_there_is_refused() {
    let run = worker(business().reply(&acts(&[DISPATCH])).reply("no")).status(12);
    assert_eq!(codes(&run.last_step()["first_refusals"]), ["unknown_pipeline"]);
}

#[test]
fn a_dispatch_for_a_task_that_is_not_there_is_refused() {
    let settings = "[engines.claude]\npreset = \"claude\"\n[pipelines.coding]\ncommand = [\"/bin/echo\", \"built\", \"{project}\"]\n";
    let action = with(DISPATCH, "task", "\"t-20261118-004201-zzzzzz\"");
    let run = worker(business().settings(settings).reply(&acts(&[&action])).reply("no")).status(12);
    assert_eq!(codes(&run.last_step()["first_refusals"]), ["unknown_task"]);
    assert!(run.calls().len() == 2 && !run.then().exists("org-business/.harness/jobs"));
}

/// What could not be carried out is not put before the human.
#[test]
fn an_approval_of_a_dispatch_that_can_not_be_is_refused() {
    let request = format!(
        r#"{{"do": "request_approval", "action": {DISPATCH}, "confidence": 55, "reason": "a human should see it"}}"#
    );
    let run = worker(business().reply(&acts(&[&request])).reply("no")).status(12);
    assert_eq!(codes(&run.last_step()["first_refusals"]), ["unknown_pipeline"]);
    assert_eq!(run.tree("org-business/approvals"), "");
}

/// While it waited, the pipeline was taken away.
#[test]
fn an_approved_dispatch_is_judged_by_the_pipelines_of_today() {
    const NONE: &str = "[engines.claude]\npreset = \"claude\"\n";
    let settings = format!("{NONE}[pipelines.coding]\ncommand = [\"/bin/true\"]\n");
    let run = worker(business().settings(&settings).reply(&acts(&[DISPATCH]))).status(0);
    let approval = run.only("org-business/approvals");
    let id = key(&approval, "id").unwrap();
    let run = run.then().settings(NONE).run(["approvals", "approve", id, "--why", "good"]);
    let said = run.any_stderr().take_stdout();
    assert!(said.contains("(unknown_pipeline)"), "{said}");
}

const VALIDATE: &str = r#"{"do": "validate", "id": "SENT", "verdict": "pass", "evidence": "SENT names the cause", "reason": "it says what was asked"}"#;

/// A message of business that is to be validated, and its id.
fn sent() -> (Sandbox, String) {
    let run = worker(business().reply(&acts(&[SEND, MARK]))).status(0);
    let id = key(&run.only("org-business/outbox"), "id").unwrap().to_string();
    (run.then(), id)
}

#[track_caller]
fn validate(sandbox: Sandbox, id: &str, replies: &[&str], status: i32) -> Sandbox {
    let sandbox = replies.iter().fold(sandbox, |sandbox, reply| sandbox.reply(reply));
    let run = sandbox.run([
        "run-director",
        "business",
        "--role",
        "validator",
        "--message",
        id,
        "--engine",
        "claude",
    ]);
    run.any_stdout().any_stderr().status(status).then()
}

#[test]
fn a_validator_passes_with_evidence() {
    let (sandbox, id) = sent();
    let answer = acts(&[&VALIDATE.replace("SENT", &id)]);
    let sandbox = validate(sandbox, &id, &[&answer], 0);
    assert_eq!(sandbox.last_step()["actions"][0]["target"], format!("{id} pass"));
    assert_eq!(sandbox.tree("org-business/inbox"), "");
}

#[test]
fn a_failed_validation_comes_back_as_a_message() {
    let (sandbox, id) = sent();
    let answer = acts(&[&with(&VALIDATE.replace("SENT", &id), "verdict", "\"fail\"")]);
    let sandbox = validate(sandbox, &id, &[&answer], 0);
    let notice = sandbox.only("org-business/inbox");
    assert_eq!((key(&notice, "from"), key(&notice, "kind")), (Some("harness"), Some("System")));
    assert_eq!(key(&notice, "ref"), Some(id.as_str()));
}

#[test]
fn a_verdict_on_made_up_or_no_evidence_is_refused() {
    let (sandbox, id) = sent();
    // A message that is there, and that the validator was not shown.
    let sandbox = sandbox.message("marketing", "Note", "Elsewhere", "Not for business.");
    let elsewhere = sandbox.only("org-marketing/inbox");
    let elsewhere = key(&elsewhere, "id").unwrap();
    let validate_with = |evidence: &str| acts(&[&with(&VALIDATE.replace("SENT", &id), "evidence", evidence)]);
    let cases = [
        ("unknown_evidence", validate_with("\"m-20261118-004201-zzzzzz says so\"")),
        ("unknown_evidence", validate_with(&format!("\"{id} says so, and {elsewhere} too\""))),
        ("no_evidence", validate_with("\"it looks good to me\"")),
        (
            "unknown_item",
            acts(&[&with(&VALIDATE.replace("SENT", &id), "id", "\"m-20261118-004201-zzzzzz\"")]),
        ),
        ("role_may_not", acts(&[SEND])),
    ];
    let mut sandbox = sandbox;
    for (code, answer) in cases {
        sandbox = validate(sandbox, &id, &[&answer, "no"], 12);
        assert_eq!(codes(&sandbox.last_step()["first_refusals"]), [code]);
    }
}

#[test]
fn a_job_that_died_is_escalated_and_not_tried_again() {
    let settings = "[engines.claude]\npreset = \"claude\"\n[pipelines.coding]\ncommand = [\"/bin/sh\", \"-c\", \"echo x >> count; sleep 60\"]\n";
    let sandbox = business().settings(settings).charter("actions = [\"dispatch\"]", "actions = []");
    let sandbox = sandbox.reply(&acts(&[DISPATCH, MARK]));
    let running = sandbox.start(&["run-director", "business", "--role", "worker", "--engine", "claude"]);
    crate::outcome::until("the job runs", || sandbox.exists("org-business/count"));
    running.signal(rustix::process::Signal::KILL);
    running.finish().status(137).any_stdout().any_stderr();
    sandbox.clone().run(["run-loop", "business", "--engine", "rules"]).any_stdout().any_stderr();
    let escalation = sandbox.only("org-business/escalations");
    assert_eq!((key(&escalation, "from"), key(&escalation, "status")), (Some("harness"), Some("pending")));
    assert!(
        escalation.contains("whether it did its work is unknown. It is not tried again by itself."),
        "{escalation}"
    );
    assert_eq!(sandbox.read("org-business/count"), "x\n");
}
