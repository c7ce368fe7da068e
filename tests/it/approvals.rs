//! Approvals: what asks for one, that nobody but the human resolves it, and that it is carried out once.

use crate::office::{
    act, action, answer, data, decision, done, names, note, office, only, refused_by, rule, step,
};
use crate::outcome::until;
use crate::sandbox::Sandbox;
use serde_json::{Value, json};

const KILLED: i32 = 137;

fn unsure() -> Value {
    decision(json!({"confidence": 10}))
}

/// An organisation in which business asked for approval of a decision, and its id.
fn asked() -> (Sandbox, String) {
    let sandbox = office().message("business", "Note", "Hi", "Body");
    act(&sandbox, "business", &[unsure()]);
    let id = only(&sandbox, "approvals");
    (sandbox, id)
}

fn file(id: &str) -> String {
    format!("org-business/approvals/{id}.md")
}

fn arrived(sandbox: &Sandbox) -> usize {
    names(sandbox, "org-management/inbox").len()
}

#[track_caller]
fn asks(action: Value, code: &str) {
    let sandbox = office().message("business", "Note", "Hi", "Body");
    let pipelines =
        sandbox.read(".harness/org.toml") + "\n[pipelines.touch]\ncommand = [\"/usr/bin/touch\", \"x\"]\n";
    let sandbox = sandbox.bytes(".harness/org.toml", pipelines.as_bytes());
    act(&sandbox, "business", &[action, note()]);
    let approval = data(&sandbox, &["approvals", "list"])["approvals"][0].clone();
    assert_eq!((&approval["code"], &approval["status"]), (&json!(code), &json!("pending")), "{approval}");
    assert!(sandbox.read("org-business/decisions.md").contains("A title"), "the rest is carried out");
    assert_eq!(arrived(&sandbox) + names(&sandbox, "org-business/.harness/jobs").len(), 0);
    let message = sandbox.read(&format!("org-business/inbox/{}.md", sandbox.sent(0)));
    assert!(message.contains("status: acknowledged") && message.contains("waits_for: a-"), "{message}");
}

#[test]
fn each_rule_of_the_charter_asks() {
    asks(unsure(), "confidence_low");
    asks(decision(json!({"kind": "BudgetAllocation", "amount_usd": 5})), "kind_needs_approval");
    asks(decision(json!({"amount_usd": 500.01})), "spend_high");
    asks(decision(json!({"risk": "risky"})), "risk_declared");
    asks(
        action("dispatch", json!({"pipeline": "touch", "args": {}, "confidence": 99})),
        "action_needs_approval",
    );
    let rubric = json!({"clarity": 20, "constraints": 20, "completeness": 20, "risk": 10, "dependencies": 10, "similarity": 10});
    asks(action("request_approval", json!({"action": decision(json!({})), "rubric": rubric})), "requested");
}

#[test]
fn the_numbers_themselves_are_inclusive() {
    let sandbox = office();
    act(&sandbox, "business", &[decision(json!({"confidence": 70}))]);
    act(&sandbox, "business", &[decision(json!({"amount_usd": 500.0}))]);
    assert_eq!((arrived(&sandbox), names(&sandbox, "org-business/approvals").len()), (2, 0));
}

#[test]
fn a_rubric_that_does_not_add_up_is_refused() {
    let rubric = json!({"clarity": 20, "constraints": 20, "completeness": 20, "risk": 10, "dependencies": 10, "similarity": 10});
    let request = action(
        "request_approval",
        json!({"action": decision(json!({})), "rubric": rubric, "confidence": 91}),
    );
    refused_by(&office(), &[request], "bad_field", "adds up to 90, and confidence says 91");
}

#[test]
fn one_waits_for_each_subject() {
    let (sandbox, id) = asked();
    let again = decision(json!({"confidence": 20, "subject": "Other", "body": "Other words."}));
    refused_by(&sandbox, &[again], "approval_pending", &format!("{id} already waits"));
    act(&sandbox, "business", &[decision(json!({"confidence": 20, "project": "apollo"}))]);
    assert_eq!(names(&sandbox, "org-business/approvals").len(), 2);
}

#[test]
fn what_is_shown_is_what_would_happen_and_safe_to_look_at() {
    let sandbox = office();
    act(&sandbox, "business", &[decision(json!({"confidence": 10, "body": "Go\u{1b}[2J\u{202e}on"}))]);
    let text = done(&sandbox, &["approvals", "show", &only(&sandbox, "approvals")]);
    assert!(text.contains("  to: [\"management\"]") && text.contains("  kind: Decision"), "{text}");
    assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text:?}");
}

#[test]
fn approved_it_is_carried_out_once_and_told() {
    let (sandbox, id) = asked();
    let said = done(&sandbox, &["approvals", "approve", &id[id.len() - 6..], "--why", "good idea"]);
    assert!(said.starts_with(&format!("{id}: approved, carried out: m-")), "{said}");
    assert_eq!(done(&sandbox, &["approvals", "approve", &id]), format!("{id}: was approved already\n"));
    assert_eq!(arrived(&sandbox), 1);
    let inbox = names(&sandbox, "org-management/inbox");
    let message = sandbox.read(&format!("org-management/inbox/{}", inbox[0]));
    assert!(
        message.contains(&format!("vouched: {id}")) && message.contains("provenance: department"),
        "{message}"
    );
    sandbox.start(&["approvals", "reject", &id, "--why", "no"]).finish().status(1).any_stderr();
    step(&sandbox.clone().reply(&answer(&[note()])), "business").any_stdout().any_stderr();
    let prompt = sandbox.calls().pop().unwrap().stdin;
    assert!(prompt.contains(&format!("Approval {id}: approved")), "{prompt}");
    assert!(!sandbox.read(&format!("org-business/inbox/{}.md", sandbox.sent(0))).is_empty());
    let open = data(&sandbox, &["inbox", "business"])["messages"].clone();
    assert_eq!(
        open.as_array().unwrap().len(),
        2,
        "the message at hand is open again, and its outcome beside it"
    );
}

#[test]
fn rejected_it_never_happens_and_the_director_hears_why() {
    let (sandbox, id) = asked();
    sandbox.start(&["approvals", "reject", &id]).finish().status(2).any_stderr();
    done(&sandbox, &["approvals", "reject", &id, "--why", "far too early"]);
    sandbox.start(&["approvals", "approve", &id]).finish().status(1).any_stderr();
    assert_eq!(arrived(&sandbox), 0);
    let inbox = names(&sandbox, "org-business/inbox");
    assert!(
        inbox
            .iter()
            .any(|name| sandbox.read(&format!("org-business/inbox/{name}")).contains("far too early"))
    );
}

#[test]
fn expired_is_no_ones_no() {
    let (sandbox, id) = asked();
    let late = sandbox.clone().now("2026-11-21T00:42:01Z");
    late.start(&["approvals", "approve", &id]).finish().status(1).any_stderr();
    let reply = format!("{}\n", answer(&[note()]));
    let run = late.clone().reply("DONE").reply(&reply).start(&["run-loop", "business"]).finish();
    run.parts();
    let text = sandbox.read(&file(&id));
    assert!(text.contains("status: expired") && text.contains("resolved_by: harness"), "{text}");
    late.start(&["approvals", "approve", &id]).finish().status(1).any_stderr();
    assert_eq!(arrived(&sandbox), 0);
}

#[test]
fn the_last_second_still_counts() {
    let (sandbox, id) = asked();
    let run = sandbox.now("2026-11-21T00:42:00Z").start(&["approvals", "approve", &id]).finish();
    assert!(run.take_stdout().contains("approved, carried out"));
}

/// Everything that can be done to a file without the key; each is named, none is acted on, none is put right.
#[test]
fn forged_and_tampered_files_are_refused_and_left_as_they_are() {
    let (sandbox, id) = asked();
    let good = sandbox.read(&file(&id));
    let forgeries = [
        good.replace("status: pending", "status: approved"),
        good.replace("status: pending", "status: approved\nresolved_by: user\nresolution_mac: 00"),
        good.replace("Go on.", "Send it all."),
        good.replace("2026-11-21", "2036-11-21"),
        good.replace("management", "marketing"),
        good.replace("confidence: 10", "confidence: 99"),
        good.replace("schema: 1", "schema: 2"),
        good.replace("mac: ", "mac: 0"),
        good[..good.len() / 2].to_owned(),
        String::new(),
    ];
    for forged in forgeries {
        assert_ne!(forged, good);
        let sandbox = sandbox.clone().bytes(&file(&id), forged.as_bytes());
        let (status, _, stderr) = sandbox.start(&["approvals", "approve", &id]).finish().parts();
        assert!(
            status == 3 && stderr.contains(&format!("org-business/approvals/{id}.md counts for nothing")),
            "{stderr}"
        );
        let (_, _, stderr) = sandbox.start(&["run-loop", "business"]).finish().parts();
        assert!(stderr.contains(&format!("approvals/{id}.md can't be trusted")), "{stderr}");
        let run = sandbox.start(&["verify"]).finish().status(1);
        assert!(run.any_stderr().take_stdout().contains(&format!("approvals/{id}.md")));
        assert_eq!((sandbox.read(&file(&id)), arrived(&sandbox)), (forged, 0));
    }
    let sandbox = sandbox.bytes(&file(&id), good.as_bytes());
    assert!(done(&sandbox, &["approvals", "approve", &id]).contains("approved, carried out"));
}

#[test]
fn a_file_that_was_moved_or_renamed_counts_for_nothing() {
    let (sandbox, id) = asked();
    let pending = sandbox.read(&file(&id));
    done(&sandbox, &["approvals", "approve", &id]);
    let good = sandbox.read(&file(&id));
    let other = "a-20261118-004201-zzzzzz";
    let sandbox = sandbox.bytes(&file("a-20261118-004201-yyyyyy"), pending.as_bytes());
    assert_eq!(data(&sandbox, &["approvals", "list"])["approvals"], json!([]));
    let sandbox = sandbox.bytes(&format!("org-rd/approvals/{id}.md"), good.as_bytes());
    let renamed = good.replace(&id, other);
    let sandbox = sandbox.bytes(&file(other), renamed.as_bytes());
    for dept in ["rd", "business"] {
        let (_, _, stderr) = sandbox.clone().reply("DONE").start(&["run-loop", dept]).finish().parts();
        assert!(stderr.contains("can't be trusted and counts for nothing"), "{stderr}");
    }
    assert_eq!(arrived(&sandbox), 1);
}

/// A dispatch leaves nothing behind that a second one would meet: the file alone says that it was carried out.
#[test]
fn a_file_put_back_as_it_was_does_not_happen_again() {
    let sandbox = office().message("business", "Note", "Hi", "Body");
    let count = sandbox.dir().join("count");
    let script = format!("echo once >> {}", count.display());
    let pipeline = format!("\n[pipelines.count]\ncommand = [\"/bin/sh\", \"-c\", \"{script}\"]\n");
    let settings = sandbox.read(".harness/org.toml") + &pipeline;
    let sandbox = sandbox.bytes(".harness/org.toml", settings.as_bytes());
    act(
        &sandbox,
        "business",
        &[action("dispatch", json!({"pipeline": "count", "args": {}, "confidence": 99}))],
    );
    let id = only(&sandbox, "approvals");
    done(&sandbox, &["approvals", "approve", &id]);
    let run = |sandbox: &Sandbox| {
        sandbox.clone().start(&["run-loop", "business", "--engine", "rules"]).finish().parts().2
    };
    run(&sandbox);
    assert_eq!(std::fs::read_to_string(&count).unwrap(), "once\n");
    let told = sandbox.read(&file(&id));
    let untold: String =
        told.lines().filter(|line| !line.starts_with("told:")).map(|line| format!("{line}\n")).collect();
    assert_ne!(told, untold);
    let sandbox = sandbox.bytes(&file(&id), untold.as_bytes());
    let stderr = run(&sandbox);
    assert!(
        stderr.contains(&format!("approvals/{id}.md counts for nothing: its outcome was told before, as m-")),
        "{stderr}"
    );
    run(&sandbox);
    assert_eq!(std::fs::read_to_string(&count).unwrap(), "once\n");
}

#[test]
fn todays_charter_has_the_last_word() {
    let (sandbox, id) = asked();
    let sandbox = rule(sandbox, "management", "\"Decision\", \"Priority\"", "\"Priority\"");
    let said = done(&sandbox, &["approvals", "approve", &id]);
    assert!(
        said.contains("approved, but today's rules refuse it") && said.contains("kind_not_received"),
        "{said}"
    );
    assert_eq!(arrived(&sandbox), 0);
}

#[test]
fn approved_while_a_run_holds_the_department_it_waits_for_that_run() {
    let (sandbox, id) = asked();
    let busy = sandbox.clone().message("business", "Note", "Again", "Body").reply("#sleep 400ms\nDONE");
    let calls = sandbox.calls().len();
    let running = busy.start(&["run-loop", "business"]);
    until("the engine is asked", || sandbox.calls().len() > calls);
    let said = done(&sandbox, &["approvals", "approve", &id]);
    assert!(said.contains("approved, waiting for r-"), "{said}");
    assert_eq!(arrived(&sandbox), 0);
    running.finish().any_stdout().any_stderr();
    sandbox.clone().reply("DONE").start(&["run-loop", "business"]).finish().any_stdout().any_stderr();
    assert_eq!(arrived(&sandbox), 1);
}

#[test]
fn two_that_approve_at_once_carry_it_out_once() {
    let (sandbox, id) = asked();
    let racing: Vec<_> = (0..8).map(|_| sandbox.start(&["approvals", "approve", &id])).collect();
    let ended: Vec<_> = racing.into_iter().map(|running| running.finish().parts()).collect();
    assert!(ended.iter().all(|(status, ..)| *status == 0), "{ended:?}");
    done(&sandbox, &["approvals", "approve", &id]);
    assert_eq!(arrived(&sandbox), 1);
    assert_eq!(names(&sandbox, "org-business/inbox").len(), 2);
}

/// Killed at an operation, the next `approve` brings it to the same end. A few deaths are enough here in every run.
#[test]
fn killed_at_any_operation_it_is_carried_out_once_by_the_next() {
    let every = if std::env::var_os("HARNESS_SLOW_TESTS").is_some() { 1 } else { 4 };
    for number in (1..).step_by(every) {
        let (sandbox, id) = asked();
        let fault = sandbox.clone().env("HARNESS_TEST_FAULT", format!("die-after:{number}"));
        let (status, ..) = fault.start(&["approvals", "approve", &id]).finish().parts();
        assert!(status == 0 || status == KILLED, "{number}: {status}");
        done(&sandbox, &["approvals", "approve", &id]);
        assert_eq!((arrived(&sandbox), names(&sandbox, "org-business/inbox").len()), (1, 2), "{number}");
        let text = sandbox.read(&file(&id));
        assert!(text.contains("status: approved") && text.contains("told:"), "{number}: {text}");
        if status == 0 {
            assert!(number > 10);
            break;
        }
    }
}

#[test]
fn not_from_inside_a_run() {
    let (sandbox, id) = asked();
    for value in [&b"r-1"[..], b"", b"\xff\xfe"] {
        let value = <std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(value).to_owned();
        let inside = sandbox.clone().env("HARNESS_RUN", value);
        for args in [
            &["approvals", "approve", &id][..],
            &["approvals", "reject", &id, "--why", "x"],
            &["questions", "answer", "q-1", "x"],
            &["escalations", "resolve", "e-1", "--why", "x"],
            &["gate", "enable"],
            &["gate", "disable", "--why", "x"],
            &["pause", "rd", "--why", "x"],
            &["resume", "rd"],
            &["charter", "accept", "rd"],
            &["run-loop", "rd"],
        ] {
            let (status, _, stderr) = inside.start(args).finish().parts();
            assert!(status == 3 && stderr.contains("inside a run"), "{args:?}: {status} {stderr}");
        }
        inside.start(&["approvals", "list"]).finish().any_stdout();
    }
    assert_eq!(arrived(&sandbox), 0);
}

/// A child that cleans its environment is still the run's: its parents say so.
#[test]
fn not_from_below_a_run_either() {
    let (sandbox, id) = asked();
    let script = format!("env -u HARNESS_RUN harness approvals approve {id}; echo $? > status");
    let pipeline = format!(
        "\n[pipelines.sly]\ncommand = [\"/bin/sh\", \"-c\", \"{script}\"]\nenv = [\"HARNESS_ROOT\"]\n"
    );
    let settings = sandbox.read(".harness/org.toml") + &pipeline;
    let job = json!({"schema": 1, "id": "j-20261118-004201-aaaaaa", "pipeline": "sly", "args": {}, "task": null,
        "project": null, "run": "r-20261118-004201-aaaaaa", "created": "2026-11-18T00:42:01Z", "provenance": "department"});
    let sandbox = sandbox.bytes(".harness/org.toml", settings.as_bytes());
    let sandbox =
        sandbox.bytes("org-rd/.harness/jobs/j-20261118-004201-aaaaaa.json", job.to_string().as_bytes());
    sandbox.start(&["run-loop", "rd"]).finish().any_stdout().any_stderr();
    assert_eq!(sandbox.read("org-rd/status"), "3\n");
    assert!(sandbox.read(&file(&id)).contains("status: pending"));
}

/// In the morning one reads what would happen, not which rule asks.
#[test]
fn the_list_says_in_a_line_what_would_happen() {
    let (sandbox, id) = asked();
    let listed = done(&sandbox, &["approvals"]);
    let row = listed.lines().nth(1).unwrap();
    assert!(row.starts_with(&id) && row.ends_with("send Decision to management: Go"), "{listed}");
    let status = done(&sandbox, &["status"]);
    assert!(status.contains("wants to send Decision to management: Go: because the test says"), "{status}");
    let shown = done(&sandbox, &["approvals", "show", &id]);
    let hash = data(&sandbox, &["approvals", "list"])["approvals"][0]["action_sha256"].clone();
    assert!(shown.contains(&format!("Its SHA-256: {}", hash.as_str().unwrap())), "{shown}");
}

/// A message that was asked for counts in its thread, and today's limit is the one that holds.
#[test]
fn approving_looks_at_the_messages_of_the_thread() {
    let (from, to) = ("messages_per_thread = 40", "messages_per_thread = 1");
    for ask in
        [unsure(), action("request_approval", json!({"action": decision(json!({})), "confidence": 90}))]
    {
        let sandbox = office().message("business", "Note", "Hi", "Body");
        act(&sandbox, "business", std::slice::from_ref(&ask));
        let id = only(&sandbox, "approvals");
        let limited = rule(sandbox, "business", from, to);
        let said = done(&limited, &["approvals", "approve", &id]);
        assert!(said.contains("approved, carried out"), "it is the only one: {said}");
        // One more of the same thread, sent meanwhile.
        let sandbox = office().message("business", "Note", "Hi", "Body");
        act(&sandbox, "business", &[ask.clone(), decision(json!({"to": ["rd"]}))]);
        let id = only(&sandbox, "approvals");
        let sandbox = rule(sandbox, "business", from, to);
        let said = done(&sandbox, &["approvals", "approve", &id]);
        let expected = "today's rules refuse it: 1 before and 1 now in its thread; the most is 1";
        assert!(said.contains(expected), "{said}");
        assert_eq!(arrived(&sandbox), 0);
    }
    // What was asked for counts, whichever is approved first, and for what is asked for later.
    let request = |to: &str| {
        let asked = decision(json!({"to": [to]}));
        action("request_approval", json!({"action": asked, "confidence": 90}))
    };
    let sandbox = office().message("business", "Note", "Hi", "Body");
    act(&sandbox, "business", &[request("management"), request("rd")]);
    let sandbox = rule(sandbox, "business", from, to);
    let first = names(&sandbox, "org-business/approvals").remove(0);
    let said = done(&sandbox, &["approvals", "approve", first.trim_end_matches(".md")]);
    assert!(said.contains("1 before and 1 now in its thread"), "{said}");
    let sandbox = rule(office().message("business", "Note", "Hi", "Body"), "business", from, to);
    act(&sandbox, "business", &[decision(json!({"to": ["rd"]}))]);
    refused_by(&sandbox, &[request("management")], "messages_per_thread", "1 before and 1 now");
    // What waits for a human counts as sent.
    let sandbox = rule(office().message("business", "Note", "Hi", "Body"), "business", from, to);
    let both = [request("management"), decision(json!({"to": ["rd"]}))];
    refused_by(&sandbox, &both, "messages_per_thread", "0 before and 2 now");
}
