//! What nobody without the key can do: carry a resolution to another organisation, make one happen twice, turn a no
//! into a yes, cut the audit log, or have files count that everyone may write to.

use crate::office::{
    act, action, answer, data, decision, done, names, note, office, only, refused_by, rule, step,
};
use crate::sandbox::Sandbox;
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

const AUDIT: &str = ".harness/audit.jsonl";

/// What is said of a file, and what was done to its text.
type Damage<'a> = (&'a str, &'a dyn Fn(&str) -> String);

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

fn open_to_all(sandbox: &Sandbox, path: &str, mode: u32) {
    std::fs::set_permissions(sandbox.root().join(path), PermissionsExt::from_mode(mode)).unwrap();
}

/// The verdict of one check of `verify`, and what it says.
#[track_caller]
fn verdict(sandbox: &Sandbox, name: &str) -> (String, String) {
    let (_, stdout, _) = sandbox.start(&["verify", "--json"]).finish().parts();
    let document: Value = serde_json::from_str(&stdout).unwrap();
    let checks = document["data"]["checks"].as_array().unwrap().clone();
    let check = checks.into_iter().find(|check| check["check"] == name).unwrap();
    let text = |key: &str| check[key].as_str().unwrap().to_owned();
    (text("result"), text("what"))
}

#[track_caller]
fn fails(sandbox: &Sandbox, name: &str, words: &str) {
    let (result, what) = verdict(sandbox, name);
    assert!(result == "failed" && what.contains(words), "{name}: {result}: {what}");
    sandbox.start(&["verify"]).finish().status(1).any_stdout();
}

fn copy(from: &Path, to: &Path) {
    for entry in walkdir::WalkDir::new(from).into_iter().map(Result::unwrap) {
        let place = to.join(entry.path().strip_prefix(from).unwrap());
        if entry.file_type().is_dir() {
            std::fs::create_dir_all(&place).unwrap();
        } else {
            std::fs::copy(entry.path(), &place).unwrap();
        }
    }
}

/// The same user's other organisation, in another root.
fn elsewhere(sandbox: &Sandbox) -> Sandbox {
    sandbox.clone().env("HARNESS_ROOT", sandbox.dir().join("other"))
}

#[test]
fn a_resolution_of_another_organisation_counts_for_nothing() {
    let (sandbox, id) = asked();
    let other = elsewhere(&sandbox).now("2026-11-18T00:42:02Z");
    done(&other, &["init"]);
    done(&sandbox, &["approvals", "approve", &id]);
    let told = sandbox.read(&file(&id));
    let untold: String =
        told.lines().filter(|line| !line.starts_with("told:")).map(|line| format!("{line}\n")).collect();
    crate::sandbox::write(&sandbox.dir().join("other").join(file(&id)), untold.as_bytes());
    let (status, _, stderr) = other.start(&["approvals", "approve", &id]).finish().parts();
    assert!(status == 3 && stderr.contains("it was signed for another organisation"), "{stderr}");
    let (_, _, stderr) = other.start(&["run-loop", "business", "--engine", "rules"]).finish().parts();
    assert!(stderr.contains("it was signed for another organisation"), "{stderr}");
    assert!(std::fs::read_dir(sandbox.dir().join("other/org-management/inbox")).unwrap().next().is_none());
    fails(&other, "business: requests", "another organisation");
}

#[test]
fn a_copy_of_an_organisation_has_no_say_and_then_a_name_of_its_own() {
    let (sandbox, id) = asked();
    copy(&sandbox.root(), &sandbox.dir().join("other"));
    let other = elsewhere(&sandbox);
    let (status, _, stderr) = other.start(&["approvals", "approve", &id]).finish().parts();
    assert!(status == 3 && stderr.contains("this organisation is a copy of "), "{stderr}");
    fails(&other, "organisation", "it is a copy of ");
    done(&other, &["pause", "rd", "--why", "w"]);
    let log = std::fs::read_to_string(sandbox.dir().join("other").join(AUDIT)).unwrap();
    assert!(log.contains("has an id of its own from now on"), "{log}");
    assert_eq!(verdict(&other, "organisation").0, "passed");
    fails(&other, "business: requests", "another organisation");
    // The original is what it was.
    assert!(done(&sandbox, &["approvals", "approve", &id]).contains("approved, carried out"));
    sandbox.run(["verify"]).any_stdout();
}

#[test]
fn a_moved_organisation_stays_what_it_was() {
    let sandbox = office().message("business", "Note", "Hi", "Body");
    act(&sandbox, "business", &[unsure()]);
    done(&sandbox, &["approvals", "approve", &only(&sandbox, "approvals")]);
    act(&sandbox, "business", &[decision(json!({"confidence": 10, "project": "apollo"}))]);
    let waiting = data(&sandbox, &["approvals", "list"])["approvals"][0]["id"].as_str().unwrap().to_owned();
    std::fs::rename(sandbox.root(), sandbox.dir().join("other")).unwrap();
    let other = elsewhere(&sandbox);
    other.start(&["verify"]).finish().any_stdout();
    let what = verdict(&other, "organisation").1;
    assert!(what.contains("moved from "), "{what}");
    assert!(done(&other, &["approvals", "approve", &waiting]).contains("approved, carried out"));
    other.start(&["verify"]).finish().any_stdout();
    assert!(verdict(&other, "organisation").1.starts_with("id "));
    let log = std::fs::read_to_string(sandbox.dir().join("other").join(AUDIT)).unwrap();
    assert_eq!(log.matches("it was moved from ").count(), 1, "{log}");
}

#[test]
fn an_id_that_was_taken_away_or_changed_is_named() {
    let (sandbox, id) = asked();
    let good = sandbox.read(".harness/id.json");
    let refused = |sandbox: &Sandbox, words: &str| {
        let (status, _, stderr) = sandbox.start(&["approvals", "approve", &id]).finish().parts();
        assert!(status == 3 && stderr.contains(words), "{stderr}");
        fails(sandbox, "organisation", words);
    };
    refused(&sandbox.clone().without_file(".harness/id.json"), "is gone, and the organisation had an id");
    let forged = good.replacen("\"id\": \"", "\"id\": \"0", 1);
    refused(
        &sandbox.clone().bytes(".harness/id.json", forged.as_bytes()),
        "its signature is not that of your key",
    );
    refused(&sandbox.clone().bytes(".harness/id.json", b"{}"), "id.json");
    let sandbox = sandbox.bytes(".harness/id.json", good.as_bytes());
    assert!(done(&sandbox, &["approvals", "approve", &id]).contains("approved, carried out"));
}

/// An organisation of an earlier version has no id: it gets one, and what waits in it can still be resolved.
#[test]
fn an_organisation_without_an_id_gets_one() {
    let sandbox = office();
    for path in
        [sandbox.root().join(".harness/id.json"), sandbox.home().join(".config/harness/organisations")]
    {
        let _gone = std::fs::remove_file(&path).or_else(|_| std::fs::remove_dir_all(&path));
    }
    let unsigned: String = sandbox.read(AUDIT).lines().map(|line| unsign(line) + "\n").collect();
    let sandbox = sandbox.bytes(AUDIT, rechain(&unsigned).as_bytes());
    assert_eq!(verdict(&sandbox, "organisation").0, "not run");
    assert_eq!(verdict(&sandbox, "audit end").0, "not run");
    sandbox.start(&["verify"]).finish().any_stdout();
    done(&sandbox, &["pause", "rd", "--why", "w"]);
    assert!(sandbox.read(".harness/id.json").contains("adopted"));
    sandbox.start(&["verify"]).finish().any_stdout();
    assert_eq!(verdict(&sandbox, "audit end").0, "passed");
}

/// A line without its signature, which breaks the chain.
fn unsign(line: &str) -> String {
    let (open, _) = line.split_once(",\"mac\":").unwrap_or((line, ""));
    format!("{open},\"hash\":\"\"}}")
}

/// The chain as anybody can write it anew: without the key.
fn rechain(text: &str) -> String {
    let mut prev = "0".repeat(64);
    let mut log = String::new();
    for line in text.lines() {
        let open = line.rsplit_once(",\"hash\":").unwrap().0;
        let (start, rest) = open.split_once("\"prev\":\"").unwrap();
        let open = format!("{start}\"prev\":\"{prev}{}", &rest[64..]);
        prev = director_harness::domain::digest::sha256(open.as_bytes());
        log.push_str(&format!("{open},\"hash\":\"{prev}\"}}\n"));
    }
    log
}

#[test]
fn the_audit_log_can_not_be_cut_or_written_anew() {
    let (sandbox, _) = asked();
    done(&sandbox, &["pause", "rd", "--why", "w"]);
    done(&sandbox, &["resume", "rd"]);
    assert_eq!(verdict(&sandbox, "audit end").0, "passed");
    let good = sandbox.read(AUDIT);
    let lines: Vec<&str> = good.lines().collect();
    let with = |text: &str| sandbox.clone().bytes(AUDIT, text.as_bytes());
    let cut = lines[..lines.len() - 1].join("\n") + "\n";
    fails(&with(&cut), "audit end", "it was cut");
    fails(
        &with(&rechain(&good.replace("resume", "pause"))),
        "audit chain",
        "its signature is not that of your key",
    );
    fails(&with(&rechain(&good.replace("resume", "pause"))), "audit end", "it was written anew");
    let bare: String = good.lines().map(|line| unsign(line) + "\n").collect();
    fails(&with(&rechain(&bare)), "audit end", "it was written anew");
    let last: Value = serde_json::from_str(lines.last().unwrap()).unwrap();
    let added = json!({"schema": 1, "seq": lines.len() + 1, "at": "2026-11-18T00:42:01Z", "by": "user",
        "command": "gate", "what": "x", "prev": last["hash"]});
    let open = added.to_string().trim_end_matches('}').to_owned();
    let hash = director_harness::domain::digest::sha256(open.as_bytes());
    fails(&with(&format!("{good}{open},\"hash\":\"{hash}\"}}\n")), "audit chain", "it carries no signature");
    // A cut that is written over by later commands still shows.
    let sandbox = with(&cut);
    done(&sandbox, &["pause", "rd", "--why", "again"]);
    done(&sandbox, &["resume", "rd"]);
    fails(&sandbox, "audit end", "it was written anew");
}

/// Killed between a line and the note of its place beside the key, the log is whole and the next command catches up.
#[test]
fn killed_at_any_operation_the_log_stays_whole() {
    for number in 1..=12 {
        let sandbox = office();
        let dying = sandbox.clone().env("HARNESS_TEST_FAULT", format!("die-after:{number}"));
        let (status, ..) = dying.start(&["pause", "rd", "--why", "w"]).finish().parts();
        for name in ["audit chain", "audit end"] {
            assert_eq!(verdict(&sandbox, name).0, "passed", "{number}: {name}");
        }
        done(&sandbox, &["resume", "rd"]);
        let (_, what) = verdict(&sandbox, "audit end");
        let count = sandbox.read(AUDIT).lines().count();
        assert_eq!(what, format!("{count} of {count} lines are kept beside your key"), "{number}");
        if status == 0 {
            break;
        }
    }
}

/// The file as it was before the human spoke, put back: it says nothing new, and nobody can answer it otherwise.
#[test]
fn a_pending_file_put_back_is_not_open_again() {
    for (verb, status, other) in [("approve", "approved", "reject"), ("reject", "rejected", "approve")] {
        let (sandbox, id) = asked();
        let pending = sandbox.read(&file(&id));
        done(&sandbox, &["approvals", verb, &id, "--why", "w"]);
        let before = arrived(&sandbox);
        // Whatever stands in its way is taken out of it, too.
        for name in names(&sandbox, "org-business/inbox") {
            if sandbox.read(&format!("org-business/inbox/{name}")).contains("kind: System") {
                std::fs::remove_file(sandbox.root().join(format!("org-business/inbox/{name}"))).unwrap();
            }
        }
        let sandbox = sandbox.bytes(&file(&id), pending.as_bytes()).now("2026-11-18T01:42:01Z");
        let (code, _, stderr) = sandbox.start(&["approvals", other, &id, "--why", "w"]).finish().parts();
        assert!(code == 1 && stderr.contains(&format!("is {status} since 2026-11-18T00:42:01Z")), "{stderr}");
        let listed = sandbox.start(&["approvals", "list"]).finish().parts();
        assert!(
            listed.1.contains("Nothing waits") && listed.2.contains(&format!("has it as {status}")),
            "{listed:?}"
        );
        let told = sandbox.start(&["status"]).finish().parts().1;
        assert!(told.contains("says pending, and the"), "{told}");
        fails(&sandbox, "business: requests", &format!("says pending, and the audit log has it as {status}"));
        let run = sandbox.clone().reply("DONE").start(&["run-loop", "business"]).finish();
        run.parts();
        // The same word again finishes what a crash may have left, and that was nothing.
        done(&sandbox, &["approvals", verb, &id, "--why", "w"]);
        assert_eq!(arrived(&sandbox), before, "{verb}");
    }
}

#[test]
fn a_resolved_file_put_back_does_not_happen_again_even_where_its_traces_are_gone() {
    let (sandbox, id) = asked();
    done(&sandbox, &["approvals", "approve", &id]);
    let told = sandbox.read(&file(&id));
    let untold: String =
        told.lines().filter(|line| !line.starts_with("told:")).map(|line| format!("{line}\n")).collect();
    for folder in ["org-business/inbox", "org-management/inbox"] {
        for name in names(&sandbox, folder) {
            std::fs::remove_file(sandbox.root().join(folder).join(name)).unwrap();
        }
    }
    let sandbox = sandbox.bytes(&file(&id), untold.as_bytes());
    fails(&sandbox, "business: requests", "was put back");
    let stderr = sandbox.start(&["run-loop", "business", "--engine", "rules"]).finish().parts().2;
    assert!(stderr.contains("counts for nothing: the audit log says that it was carried out"), "{stderr}");
    assert_eq!(arrived(&sandbox), 0);
    // Nor where the log was cut, so that it no longer says so.
    let log = sandbox.read(AUDIT);
    let kept: Vec<&str> = log.lines().filter(|line| !line.contains(&id)).collect();
    let sandbox = sandbox.bytes(AUDIT, (kept.join("\n") + "\n").as_bytes());
    let stderr = sandbox.start(&["run-loop", "business", "--engine", "rules"]).finish().parts().2;
    assert!(stderr.contains("and waits: can't read") && stderr.contains("it was cut"), "{stderr}");
    assert_eq!(arrived(&sandbox), 0);
}

/// A resolution that nobody made hides no approval from `status`.
#[test]
fn a_forged_resolution_is_shown() {
    let (sandbox, id) = asked();
    let forged = sandbox
        .read(&file(&id))
        .replace("status: pending", "status: rejected\nresolved_by: user\nresolution_mac: 00\ntold: r-1");
    let sandbox = sandbox.bytes(&file(&id), forged.as_bytes());
    let told = sandbox.start(&["status"]).finish().parts().1;
    assert!(told.contains(&format!("approvals/{id}.md counts for nothing")), "{told}");
}

#[test]
fn status_tells_of_a_plan_that_waits_for_the_gate() {
    let sandbox = office().message("business", "Note", "Hi", "Body");
    let slow = sandbox.clone().reply(&format!("#wait go\n{}", answer(&[note()])));
    let running = slow.start(&["run-director", "business", "--role", "worker"]);
    crate::outcome::until("the engine is asked", || !sandbox.calls().is_empty());
    done(&sandbox, &["gate", "trip", "--why", "now"]);
    crate::sandbox::write(&sandbox.home().join(".fake/go"), b"");
    running.finish().status(3).any_stdout().any_stderr();
    let told = done(&sandbox, &["status"]);
    assert!(told.contains("a plan waits for the gate to open"), "{told}");
    done(&sandbox, &["gate", "enable"]);
    assert!(!done(&sandbox, &["status"]).contains("a plan waits"));
}

#[test]
fn one_answer_asks_once() {
    let again = decision(json!({"confidence": 20, "subject": "Other"}));
    refused_by(&office(), &[unsure(), again], "asked_twice", "approval of one subject is asked twice");
    let request = |body: &str| {
        action("request_approval", json!({"action": decision(json!({"body": body})), "confidence": 80}))
    };
    refused_by(&office(), &[request("One."), request("Two.")], "asked_twice", "one subject");
    let both = |to: Value| decision(json!({"confidence": 10, "to": to}));
    let turned = [both(json!(["management", "rd"])), both(json!(["rd", "management"]))];
    refused_by(&office(), &turned, "asked_twice", "one subject");
    let ask =
        |question: &str| action("ask_human", json!({"question": question, "options": [], "unblocks": []}));
    refused_by(&office(), &[ask("Red?"), ask(" red? ")], "asked_twice", "one question is asked twice");
}

#[test]
fn todays_limits_have_a_say_too() {
    let (sandbox, id) = asked();
    act(&sandbox, "business", &[decision(json!({}))]);
    let sandbox = rule(sandbox, "business", "messages_per_hour = 30", "messages_per_hour = 1");
    let dry = done(&sandbox, &["approvals", "approve", &id, "--dry-run"]);
    assert!(dry.contains("messages_per_hour"), "{dry}");
    let said = done(&sandbox, &["approvals", "approve", &id]);
    assert!(
        said.contains("approved, but today's rules refuse it: 1 before and 1 now; the most is 1"),
        "{said}"
    );
    assert_eq!(arrived(&sandbox), 1);
}

#[test]
fn todays_budget_has_a_say_too() {
    let sandbox = office().message("business", "Note", "Hi", "Body");
    let pipeline = "\n[pipelines.dear]\ncommand = [\"/usr/bin/touch\", \"started\"]\nworst_case_usd = 2.5\n";
    let settings = sandbox.read(".harness/org.toml") + pipeline;
    let sandbox = sandbox.bytes(".harness/org.toml", settings.as_bytes());
    act(
        &sandbox,
        "business",
        &[action("dispatch", json!({"pipeline": "dear", "args": {}, "confidence": 99}))],
    );
    let sandbox = sandbox.edit(".harness/org.toml", "usd_per_day = 3.0", "usd_per_day = 2.0");
    let id = only(&sandbox, "approvals");
    let said = done(&sandbox, &["approvals", "approve", &id]);
    assert!(said.contains("approved, but the budget refuses it"), "{said}");
    assert!(names(&sandbox, "org-business/.harness/jobs").is_empty());
}

#[test]
fn trying_an_approval_out_reads_the_gate() {
    let (sandbox, id) = asked();
    let dry = ["approvals", "approve", &id, "--dry-run"];
    assert_eq!(done(&sandbox, &dry), format!("{id}: would be approved and carried out\n"));
    done(&sandbox, &["gate", "trip", "--why", "now"]);
    let said = done(&sandbox, &dry);
    assert!(said.contains("would be approved, and would wait: the gate is tripped (closed): now"), "{said}");
    assert!(sandbox.read(&file(&id)).contains("status: pending"));
}

#[test]
fn a_rubric_is_kept_and_shown() {
    let sandbox = office();
    let rubric = json!({"clarity": 20, "constraints": 20, "completeness": 20, "risk": 10, "dependencies": 10, "similarity": 10});
    act(
        &sandbox,
        "business",
        &[action("request_approval", json!({"action": decision(json!({})), "rubric": rubric}))],
    );
    let id = only(&sandbox, "approvals");
    let shown = done(&sandbox, &["approvals", "show", &id]);
    assert!(shown.contains("Rubric:     clarity 20, constraints 20, completeness 20, risk 10"), "{shown}");
    assert_eq!(data(&sandbox, &["approvals", "show", &id])["rubric"], rubric);
    assert_eq!(data(&sandbox, &["approvals", "show", &id])["confidence"], 90);
    let forged = sandbox.read(&file(&id)).replace("clarity 20", "clarity 99");
    sandbox
        .bytes(&file(&id), forged.as_bytes())
        .start(&["approvals", "show", &id])
        .finish()
        .status(3)
        .any_stderr();
}

#[test]
fn what_everyone_may_write_to_is_refused_and_named() {
    for (path, mode) in [
        ("org-business/charter.toml", 0o666),
        ("org-business/charter.md", 0o646),
        ("org-business/playbook.toml", 0o666),
        ("org-business/approvals", 0o777),
        ("org-business/.harness", 0o777),
        ("org-business", 0o777),
    ] {
        let (sandbox, _) = asked();
        let calls = sandbox.calls().len();
        open_to_all(&sandbox, path, mode);
        let (status, _, stderr) = step(&sandbox.clone().reply("DONE"), "business").parts();
        assert!(status == 3 && stderr.contains(&format!("everyone may write to {path}")), "{path}: {stderr}");
        assert_eq!(sandbox.calls().len(), calls, "{path}");
        fails(&sandbox, "permissions", &format!("everyone may write to {path}"));
        let told = sandbox.start(&["status"]).finish().parts().1;
        assert!(told.contains("everyone may write to"), "{path}: {told}");
    }
    for (path, mode) in [("org-business/approvals", 0o777), ("file", 0o666)] {
        let (sandbox, id) = asked();
        let path = if path == "file" { file(&id) } else { path.to_owned() };
        open_to_all(&sandbox, &path, mode);
        let (status, _, stderr) = sandbox.start(&["approvals", "approve", &id]).finish().parts();
        assert!(status == 3 && stderr.contains("everyone may write"), "{path}: {status} {stderr}");
        fails(&sandbox, "business: requests", "everyone may write");
        assert_eq!(arrived(&sandbox), 0);
    }
    let sandbox = office();
    open_to_all(&sandbox, ".harness", 0o777);
    let said = sandbox.start(&["gate", "check"]).finish().status(3).take_stdout();
    assert!(said.starts_with("tripped (closed): everyone may write into "), "{said}");
    fails(&sandbox, "permissions", "everyone may write to .harness");
}

#[test]
fn a_gate_from_the_future_is_closed() {
    let sandbox = office();
    let early = sandbox.clone().now("2026-11-17T00:00:00Z");
    let said = early.start(&["gate", "check"]).finish().status(3).take_stdout();
    assert!(said.contains("gate.json is dated in the future, 2026-11-18T00:42:01Z"), "{said}");
    let (status, _, stderr) = step(&early.clone().reply("DONE"), "rd").parts();
    assert!(status == 3 && stderr.contains("dated in the future"), "{stderr}");
    fails(&early, "audit chain", "it is dated in the future");
    sandbox.now("2026-11-18T00:00:00Z").start(&["gate", "check"]).finish().any_stdout();
}

#[test]
fn nothing_is_run_by_a_ledger_that_can_not_be_counted() {
    let ledger = "org-business/.harness/runs.jsonl";
    let later = "2026-11-18T00:52:01Z";
    let lines = |text: &str, take: usize| -> String {
        text.lines().take(take).map(|line| format!("{line}\n")).collect()
    };
    let ahead = |text: &str| text.replace("\"at\":\"2026-11-18T", "\"at\":\"2026-11-20T");
    let damage: [Damage<'_>; 5] = [
        ("a line of runs.jsonl can't be read", &|text| format!("garbage\n{text}")),
        ("a line of runs.jsonl can't be read", &|text| format!("{text}garbage\n")),
        ("runs.jsonl lacks the line of the record 20261118T0042", &|text| lines(text, 1)),
        ("runs.jsonl lacks the line of the record 20261118T0042", &|_| String::new()),
        ("runs.jsonl has a line from the future: r-20261118-004201-", &|text| ahead(text)),
    ];
    for (said, damage) in damage {
        let (sandbox, _) = asked();
        let whole = sandbox.read(ledger);
        let sandbox = sandbox.bytes(ledger, damage(&whole).as_bytes()).now(later);
        let damaged = sandbox.read(ledger);
        let calls = sandbox.calls().len();
        let (status, _, stderr) = step(&sandbox, "business").parts();
        assert!(status == 3 && stderr.contains(said) && stderr.contains("hint: "), "{status} {stderr}");
        assert_eq!((sandbox.calls().len(), sandbox.read(ledger)), (calls, damaged), "{said}");
        let status = done(&sandbox, &["status"]).replace("\n       ", " ");
        // That would look through every record, which only the run does.
        assert!(status.contains(said) || said.contains("lacks the line"), "{status}");
        // Moved away, it is written anew from the records.
        std::fs::remove_file(sandbox.root().join(ledger)).unwrap();
        act(&sandbox, "business", &[note()]);
        assert!(sandbox.read(ledger).starts_with(&whole), "{said}");
    }
    // What a crash tore off is mended by the next line.
    let (sandbox, _) = asked();
    let torn = format!("{}{{\"line\":\"run\"", sandbox.read(ledger));
    act(&sandbox.bytes(ledger, torn.as_bytes()), "business", &[note()]);
}
