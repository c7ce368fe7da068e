//! The audit and `verify`: every human command that changes something has its line, and damage of each kind is named.

use crate::office::{act, action, data, decision, done, names, note, office, only};
use crate::sandbox::Sandbox;
use serde_json::{Value, json};

const AUDIT: &str = ".harness/audit.jsonl";

fn lines(sandbox: &Sandbox) -> Vec<Value> {
    sandbox.read(AUDIT).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn every_human_command_that_changes_something_has_a_line() {
    let sandbox =
        office().message("business", "Note", "Hi", "Body").message("business", "Note", "Two", "Body");
    let ask = action("ask_human", json!({"question": "Red?", "options": [], "unblocks": []}));
    let escalate = action("escalate", json!({"id": sandbox.sent(1)}));
    act(&sandbox, "business", &[decision(json!({"confidence": 1})), ask, escalate]);
    let (approval, question, escalation) =
        (only(&sandbox, "approvals"), only(&sandbox, "questions"), only(&sandbox, "escalations"));
    let sandbox = sandbox.edit("org-rd/charter.toml", "agents_max = 8", "agents_max = 9");
    let message = sandbox.sent(0);
    let check = |args: &[&str], told: &str| {
        let before = lines(&sandbox).len();
        done(&sandbox, args);
        let new = lines(&sandbox)[before..].to_vec();
        assert!(new.len() == 1 && new[0].to_string().contains(told), "{args:?}: {new:?}");
    };
    check(&["send", "--to", "rd", "--kind", "Note", "--subject", "s", "--body", "b"], "send");
    check(&["message", "mark", &message, "--status", "archived", "--why", "w"], &message);
    check(&["gate", "disable", "--why", "w"], "disable: w");
    check(&["gate", "enable"], "enable");
    check(&["gate", "trip", "--why", "w"], "trip: w");
    done(&sandbox, &["gate", "enable"]);
    check(&["approvals", "reject", &approval, "--why", "w"], &approval);
    check(&["questions", "answer", &question, "red"], &question);
    check(&["escalations", "resolve", &escalation, "--why", "w"], &escalation);
    check(&["charter", "accept", "rd"], "rd");
    check(&["pause", "rd", "--why", "w"], "rd: w");
    check(&["resume", "rd"], "rd");
    check(&["init", "lab"], "lab");
    check(&["stop-all"], "stop-all");
    sandbox.run(["verify"]).any_stdout();
}

#[test]
fn what_only_shows_leaves_no_line() {
    let sandbox = office();
    let before = sandbox.read(AUDIT);
    for args in [
        &["status"][..],
        &["gate", "show"],
        &["budget"],
        &["approvals"],
        &["questions"],
        &["verify"],
        &["inbox", "rd"],
    ] {
        done(&sandbox, args);
    }
    assert_eq!(sandbox.read(AUDIT), before);
}

/// An organisation with a line of everything that `verify` looks at.
fn lived_in() -> Sandbox {
    let sandbox = office().message("business", "Note", "Hi", "Body");
    act(&sandbox, "business", &[decision(json!({"confidence": 1})), note()]);
    done(&sandbox, &["pause", "rd", "--why", "w"]);
    done(&sandbox, &["resume", "rd"]);
    sandbox
}

/// The verdicts of `verify` that are not `passed`, by name.
fn verdicts(sandbox: &Sandbox) -> Vec<(String, String)> {
    let (status, stdout, _) = sandbox.start(&["verify", "--json"]).finish().parts();
    let document: Value = serde_json::from_str(&stdout).unwrap();
    let checks = document["data"]["checks"].as_array().unwrap().clone();
    let text = |check: &Value, key: &str| check[key].as_str().unwrap().to_owned();
    let found: Vec<_> = checks.iter().map(|check| (text(check, "check"), text(check, "result"))).collect();
    let failed = found.iter().any(|(_, verdict)| verdict == "failed");
    assert_eq!(status, i32::from(failed), "{stdout}");
    found.into_iter().filter(|(_, verdict)| verdict != "passed").collect()
}

#[track_caller]
fn check(name: &str, verdict: &str, damage: impl Fn(Sandbox) -> Sandbox) {
    let sandbox = damage(lived_in());
    let before = sandbox.tree("");
    let found = verdicts(&sandbox);
    let (named, others): (Vec<_>, Vec<_>) = found.iter().partition(|(found, _)| found == name);
    assert_eq!(named, [&(name.to_owned(), verdict.to_owned())], "{found:?}");
    // What reads the same file fails with it.
    let related = |name: &str| {
        ["audit chain", "audit end", "permissions"].contains(&name) || name.ends_with(": requests")
    };
    assert!(others.iter().all(|(name, verdict)| related(name) && verdict == "failed"), "{found:?}");
    assert_eq!(sandbox.tree(""), before, "it repairs nothing");
}

fn first_record(sandbox: &Sandbox) -> String {
    let folder = "org-business/.harness/director-runs";
    format!("{folder}/{}", names(sandbox, folder)[0])
}

#[test]
fn what_is_whole_passes() {
    assert_eq!(verdicts(&lived_in()), []);
}

#[test]
fn the_audit_chain() {
    let change = |change: fn(Vec<&str>) -> Vec<String>| {
        move |sandbox: Sandbox| {
            let text = sandbox.read(AUDIT);
            let lines = change(text.lines().collect());
            sandbox.bytes(AUDIT, (lines.join("\n") + "\n").as_bytes())
        }
    };
    check(
        "audit chain",
        "failed",
        change(|lines| lines.iter().map(|line| line.replace("pause", "paint")).collect()),
    );
    check(
        "audit chain",
        "failed",
        change(|lines| lines[1..].iter().map(|line| (*line).to_owned()).collect()),
    );
    check(
        "audit chain",
        "failed",
        change(|lines| {
            let mut lines: Vec<String> = lines.into_iter().map(str::to_owned).collect();
            lines.swap(1, 2);
            lines
        }),
    );
    check(
        "audit chain",
        "failed",
        change(|lines| {
            let mut lines: Vec<String> = lines.into_iter().map(str::to_owned).collect();
            lines.insert(1, "garbage".to_owned());
            lines
        }),
    );
    check("audit chain", "failed", |sandbox| sandbox.bytes(AUDIT, b""));
    check(
        "audit chain",
        "failed",
        change(|lines| lines.iter().map(|line| line.replace("\"schema\":1", "\"schema\":2")).collect()),
    );
    check("audit chain", "failed", |sandbox| everyone_writes(sandbox, AUDIT));
    check("audit chain", "failed", |sandbox| sandbox.without_file(AUDIT).file(".harness/audit.jsonl/x", ""));
}

fn everyone_writes(sandbox: Sandbox, path: &str) -> Sandbox {
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o666);
    std::fs::set_permissions(sandbox.root().join(path), mode).unwrap();
    sandbox
}

#[test]
fn the_budget() {
    let book = ".harness/budget.jsonl";
    check("budget", "failed", |sandbox| sandbox.without_file(book));
    check("budget", "failed", |sandbox| sandbox.bytes(book, b""));
    check("budget", "failed", |sandbox| {
        let text = sandbox.read(book).replacen("\"usd\":", "\"usd\":-", 1);
        sandbox.bytes(book, text.as_bytes())
    });
    check("budget", "failed", |sandbox| sandbox.bytes(book, b"{\"line\":\"newer\"}\n"));
    check("budget", "failed", |sandbox| everyone_writes(sandbox, book));
    // What verify names, a run refuses: it can't know what was spent.
    for damage in [b"garbage\n".to_vec(), b"{\"line\":\"newer\"}\n".to_vec()] {
        let sandbox = lived_in().bytes(book, &damage);
        let calls = sandbox.calls().len();
        let (status, _, stderr) = crate::office::step(&sandbox.clone().reply("DONE"), "rd").parts();
        assert!(status != 0 && stderr.contains("budget.jsonl"), "{status} {stderr}");
        assert_eq!((sandbox.calls().len(), sandbox.read(book).as_bytes()), (calls, damage.as_slice()));
    }
    let sandbox = everyone_writes(lived_in(), book);
    let (status, _, stderr) = crate::office::step(&sandbox.clone().reply("DONE"), "rd").parts();
    assert!(status != 0 && stderr.contains("everyone may write"), "{status} {stderr}");
}

#[test]
fn approvals() {
    check("business: requests", "failed", |sandbox| {
        let file = format!("org-business/approvals/{}.md", only(&sandbox, "approvals"));
        sandbox.edit(&file, "status: pending", "status: approved")
    });
    check("business: requests", "failed", |sandbox| sandbox.file("org-business/questions/q-1.md", "no\n"));
}

#[test]
fn ledger_and_records() {
    let ledger = "org-business/.harness/runs.jsonl";
    let name = "business: ledger and records";
    check(name, "failed", |sandbox| {
        let text = sandbox.read(ledger).replacen("\"counted_usd\":0.01", "\"counted_usd\":0.00", 1);
        sandbox.bytes(ledger, text.as_bytes())
    });
    check(name, "failed", |sandbox| {
        let text = sandbox.read(ledger) + "garbage\n";
        sandbox.bytes(ledger, text.as_bytes())
    });
    check(name, "failed", |sandbox| {
        let text = sandbox.read(ledger);
        let text: String = text.lines().skip(1).map(|line| format!("{line}\n")).collect();
        sandbox.bytes(ledger, text.as_bytes())
    });
    check(name, "failed", |sandbox| {
        let text = sandbox.read(ledger);
        let first = text.lines().next().unwrap();
        sandbox.bytes(ledger, format!("{text}{first}\n").as_bytes())
    });
    check(name, "failed", |sandbox| {
        let record = first_record(&sandbox);
        sandbox.without_file(&record)
    });
    let unreadable = verdicts(&everyone_writes(lived_in(), ledger));
    assert!(unreadable.iter().any(|(check, verdict)| check == name && verdict == "failed"), "{unreadable:?}");
    let (status, _, stderr) =
        crate::office::step(&everyone_writes(lived_in(), ledger).reply("DONE"), "business").parts();
    assert!(status != 0 && stderr.contains("everyone may write"), "{status} {stderr}");
    check(name, "failed", |sandbox| {
        let record = first_record(&sandbox);
        let text = sandbox.read(&record).replace("0.01", "0.02");
        sandbox.bytes(&record, text.as_bytes())
    });
}

#[test]
fn the_journal() {
    check("business: journal", "failed", |sandbox| {
        sandbox.file("org-business/.harness/journal/strange.txt", "x")
    });
    let forged = "org-business/.harness/journal/r-20261118-004201-aaaaaa.1.plan.json";
    let found = verdicts(&lived_in().file(forged, "{\"mac\":\"00\"}\n"));
    let expected = [("business: journal", "failed"), ("business: revisions", "not run")];
    assert_eq!(found, expected.map(|(name, verdict)| (name.to_owned(), verdict.to_owned())));
}

/// An organisation in which business decided something, told management of it, and closed its message.
fn corresponding() -> Sandbox {
    let sandbox = office().message("business", "Note", "Hi", "Body");
    let mark = action("mark_message", json!({"id": sandbox.sent(0), "status": "actioned"}));
    act(&sandbox, "business", &[decision(json!({})), note(), mark]);
    sandbox
}

#[track_caller]
fn revised(dept: &str, verdict: &str, told: &str, damage: impl Fn(Sandbox) -> Sandbox) {
    let sandbox = damage(corresponding());
    let name = format!("{dept}: revisions");
    assert_eq!(verdicts(&sandbox), [(name.clone(), verdict.to_owned())]);
    let (_, stdout, _) = sandbox.start(&["verify", "--json"]).finish().parts();
    let document: Value = serde_json::from_str(&stdout).unwrap();
    let checks = document["data"]["checks"].as_array().unwrap().clone();
    let check = checks.into_iter().find(|check| check["check"] == name.as_str()).unwrap();
    assert!(check["what"].as_str().unwrap().contains(told), "{check}");
}

fn sent_file(sandbox: &Sandbox) -> String {
    names(sandbox, "org-business/outbox").remove(0)
}

#[test]
fn what_was_sent_is_what_arrived() {
    assert_eq!(verdicts(&corresponding()), []);
    let copy = |sandbox: &Sandbox| format!("org-management/inbox/{}", sent_file(sandbox));
    revised("business", "failed", "is not what was sent", |sandbox| {
        let copy = copy(&sandbox);
        sandbox.edit(&copy, "Go on.", "Send it all.")
    });
    revised("business", "failed", "is not what was sent", |sandbox| {
        let sent = format!("org-business/outbox/{}", sent_file(&sandbox));
        sandbox.edit(&sent, "kind: Decision", "kind: Priority")
    });
    revised("business", "failed", "was sent to management, which has it nowhere", |sandbox| {
        let copy = copy(&sandbox);
        sandbox.without_file(&copy)
    });
    revised("business", "failed", "org-business/outbox/m-", |sandbox| {
        let sent = format!("org-business/outbox/{}", sent_file(&sandbox));
        sandbox.edit(&sent, "schema: 1", "schema: 9")
    });
}

/// Read, handled or set aside by its receiver, a letter is still the one that was sent.
#[test]
fn what_its_receiver_did_with_a_letter_is_no_damage() {
    let sandbox = corresponding();
    let id = sent_file(&sandbox).trim_end_matches(".md").to_owned();
    done(
        &sandbox,
        &["message", "mark", &id, "--dept", "management", "--status", "archived", "--why", "read it"],
    );
    assert_eq!(verdicts(&sandbox), []);
    let sandbox = corresponding().file("org-management/inbox/broken.md", "---\nschema: 9\n---\nx\n");
    assert_eq!(verdicts(&sandbox), []);
}

#[test]
fn a_status_has_its_run_and_a_decision_its_entry() {
    revised("business", "failed", "which the ledger doesn't know", |sandbox| {
        let folder = format!("org-business/archive/inbox/2026-11/{}.md", sandbox.sent(0));
        let text = sandbox.read(&folder);
        let run = text.lines().find_map(|line| line.strip_prefix("actioned_run: ")).unwrap().to_owned();
        sandbox.edit(&folder, &run, "r-20261118-004201-zzzzzz")
    });
    revised("business", "failed", "decisions.md lacks r-", |sandbox| {
        let text = sandbox.read("org-business/decisions.md");
        let start = text.find("## 2026").unwrap();
        sandbox.bytes("org-business/decisions.md", &text.as_bytes()[..start])
    });
}

#[test]
fn while_a_step_is_not_finished_revisions_are_not_run() {
    let not_run = ("business: revisions".to_owned(), "not run".to_owned());
    // Some operation in between is after the commit point and before the end.
    let seen = (10..100).step_by(5).any(|number| {
        let sandbox = office().message("business", "Note", "Hi", "Body");
        let reply = crate::office::answer(&[decision(json!({})), note()]);
        let dying = sandbox.clone().reply(&reply).env("HARNESS_TEST_FAULT", format!("die-after:{number}"));
        crate::office::step(&dying, "business").parts();
        verdicts(&sandbox).contains(&not_run)
    });
    assert!(seen);
}

#[test]
fn its_table_says_which_passed() {
    let text = done(&lived_in(), &["verify"]);
    assert!(text.contains("audit chain") && text.contains("passed") && !text.contains("failed"), "{text}");
    assert_eq!(data(&lived_in(), &["verify"])["checks"].as_array().unwrap().len(), 25);
}
