//! What somebody without the key puts back, cuts or writes anew: the gate, the budget's book, the organisation's id.

use crate::office::{act, data, decision, done, note, office, only, step};
use crate::sandbox::{Sandbox, write};
use serde_json::{Value, json};

const GATE: &str = ".harness/gate.json";
const BOOK: &str = ".harness/budget.jsonl";

/// What is said of a file, and what was done to its text.
type Damage<'a> = (&'a str, &'a dyn Fn(&str) -> String);

/// A step is refused before an engine is asked, and says why.
#[track_caller]
fn refuses(sandbox: &Sandbox, status: i32, said: &str) {
    let calls = sandbox.calls().len();
    let (found, stdout, stderr) = step(sandbox, "rd").parts();
    let all = format!("{stdout}{stderr}");
    assert!(found == status && all.contains(said), "{found} {all}");
    assert_eq!(sandbox.calls().len(), calls);
}

/// What `status` says, whatever it wrapped.
fn status(sandbox: &Sandbox) -> String {
    let text = done(sandbox, &["status"]);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn an_open_gate_that_is_put_back_stays_closed() {
    for closing in [
        &["gate", "trip", "--why", "it writes to everybody"][..],
        &["gate", "disable", "--why", "it writes to everybody"],
        &["stop-all", "--why", "it writes to everybody"],
    ] {
        let sandbox = office();
        let open = sandbox.read(GATE);
        done(&sandbox, closing);
        let sandbox = sandbox.bytes(GATE, open.as_bytes());
        let said = "gate.json says enabled, but it was ";
        let told = sandbox.start(&["gate", "check"]).finish().status(3).take_stdout();
        assert!(told.contains(said) && told.contains("(it writes to everybody)"), "{told}");
        refuses(&sandbox, 3, said);
        assert!(status(&sandbox).contains(said));
        assert_eq!(sandbox.read(GATE), open, "nobody repairs it");
        done(&sandbox, &["gate", "enable"]);
        act(&sandbox, "rd", &[note()]);
        done(&sandbox, &["gate", "check"]);
    }
}

/// Moved, it is the same organisation; a copy has a gate of its own.
#[test]
fn a_closed_gate_goes_with_the_organisation() {
    let sandbox = office();
    let open = sandbox.read(GATE);
    done(&sandbox, &["gate", "trip", "--why", "now"]);
    let moved = sandbox.dir().join("moved");
    std::fs::rename(sandbox.root(), &moved).unwrap();
    write(&moved.join(GATE), open.as_bytes());
    let root = moved.to_str().unwrap();
    sandbox.start(&["--root", root, "gate", "check"]).finish().status(3).any_stdout();
    done(&sandbox, &["--root", root, "gate", "enable"]);
    done(&sandbox, &["--root", root, "gate", "check"]);
}

#[test]
fn an_organisation_whose_id_is_gone_has_a_closed_gate() {
    let sandbox = office();
    act(&sandbox, "rd", &[note()]);
    let id = sandbox.read(".harness/id.json");
    let sandbox = sandbox.without_file(".harness/id.json");
    refuses(&sandbox, 3, "id.json is gone, and the organisation had an id");
    let (code, _, stderr) = sandbox.start(&["gate", "enable"]).finish().parts();
    assert!(code == 1 && stderr.contains("it is still closed: [ROOT]/.harness/id.json is gone"), "{stderr}");
    let forged = id.replacen("\"id\": \"", "\"id\": \"0", 1).replacen("\"id\":\"", "\"id\":\"0", 1);
    let sandbox = sandbox.bytes(".harness/id.json", forged.as_bytes());
    refuses(&sandbox, 3, "id.json: its signature is not that of your key");
    let sandbox = sandbox.bytes(".harness/id.json", id.as_bytes());
    act(&sandbox, "rd", &[note()]);
}

/// Someone who tries it out removes it all and begins again in the same place.
#[test]
fn a_new_organisation_where_another_was_begins_anew() {
    let sandbox = office();
    act(&sandbox, "rd", &[note()]);
    done(&sandbox, &["gate", "trip", "--why", "now"]);
    std::fs::remove_dir_all(sandbox.root()).unwrap();
    std::fs::create_dir(sandbox.root()).unwrap();
    let sandbox = sandbox.now("2026-11-18T00:52:01Z");
    let (code, _, stderr) = sandbox.start(&["init"]).finish().parts();
    assert!(
        code == 0 && stderr.contains("another organisation was here before; this is a new one"),
        "{stderr}"
    );
    done(&sandbox, &["verify"]);
    let engine = "engine = [\"rules\", \"claude\"]";
    let sandbox = sandbox.edit(".harness/org.toml", engine, "engine = [\"claude\"]");
    let sandbox = sandbox.message("business", "Note", "Hi", "Body");
    act(&sandbox, "business", &[decision(json!({"confidence": 10}))]);
    let said = done(&sandbox, &["approvals", "approve", &only(&sandbox, "approvals")]);
    assert!(said.contains("approved, carried out"), "{said}");
    let (code, _, stderr) = sandbox.start(&["init"]).finish().any_stdout().parts();
    assert!(code == 0 && !stderr.contains("another organisation"), "{stderr}");
}

/// An organisation that has spent, on two days.
fn spent() -> Sandbox {
    let sandbox = office();
    act(&sandbox, "rd", &[note()]);
    let sandbox = sandbox.now("2026-11-18T00:52:01Z");
    act(&sandbox, "rd", &[note()]);
    sandbox
}

fn lines(text: &str) -> Vec<String> {
    text.lines().map(|line| format!("{line}\n")).collect()
}

#[test]
fn a_book_that_was_cut_or_changed_closes_the_budget() {
    const CUT: &str = "it was cut, put back or written anew";
    const CHANGED: &str = "a line of it was changed, or does not follow the one before";
    let bare = |text: &str| -> String {
        let plain = |line: &str| {
            let mut line: Value = serde_json::from_str(line).unwrap();
            line.as_object_mut().unwrap().remove("mac");
            format!("{line}\n")
        };
        text.lines().map(plain).collect()
    };
    let damage: [Damage<'_>; 8] = [
        (CUT, &|_| String::new()),
        (CUT, &|text| lines(text)[..2].concat()),
        (CUT, &bare),
        (CHANGED, &|text| lines(text)[1..].concat()),
        (CHANGED, &|text| text.replacen("\"usd\":0.01", "\"usd\":0.0", 1)),
        (CHANGED, &|text| text.replace("2026-11-18T00:4", "2026-10-18T00:4")),
        (CHANGED, &|text| [&lines(text)[..2], &lines(text)[3..]].concat().concat()),
        (CHANGED, &|text| bare(&lines(text)[0]) + &lines(text)[1..].concat()),
    ];
    for (said, damage) in damage {
        let sandbox = spent();
        let whole = sandbox.read(BOOK);
        let sandbox = sandbox.bytes(BOOK, damage(&whole).as_bytes());
        let damaged = sandbox.read(BOOK);
        assert_ne!(whole, damaged, "{said}");
        refuses(&sandbox, 1, said);
        assert!(sandbox.start(&["budget"]).finish().status(1).parts().2.contains(said), "{said}");
        assert!(status(&sandbox).contains(said));
        let (code, stdout, _) = sandbox.start(&["verify"]).finish().parts();
        assert!(code == 1 && stdout.contains("failed  budget"), "{stdout}");
        assert_eq!(sandbox.read(BOOK), damaged, "nobody repairs it");
        act(&sandbox.bytes(BOOK, whole.as_bytes()), "rd", &[note()]);
    }
    let sandbox = spent();
    std::fs::remove_file(sandbox.root().join(BOOK)).unwrap();
    refuses(&sandbox, 1, CUT);
}

/// The message says which file, removed, begins a new book.
#[test]
fn a_new_book_is_begun_by_the_human() {
    let sandbox = spent();
    std::fs::remove_file(sandbox.root().join(BOOK)).unwrap();
    let stderr = sandbox.start(&["budget"]).finish().status(1).parts().2;
    let kept = stderr.split("remove [HOME]/").nth(1).unwrap().lines().next().unwrap();
    std::fs::remove_file(sandbox.home().join(kept)).unwrap();
    act(&sandbox, "rd", &[note()]);
    assert_eq!(data(&sandbox, &["budget"])["limits"][0]["spent"], 0.01);
}

#[test]
fn a_log_that_was_cut_needs_the_human() {
    let sandbox = office();
    assert!(status(&sandbox).contains("Nothing needs you"));
    let log = sandbox.read(".harness/audit.jsonl");
    done(&sandbox, &["gate", "trip", "--why", "now"]);
    done(&sandbox, &["gate", "enable"]);
    let sandbox = sandbox.bytes(".harness/audit.jsonl", log.as_bytes());
    assert!(status(&sandbox).contains("audit.jsonl: it was cut: it has "), "{}", status(&sandbox));
}

/// What is tried in a scratch organisation leaves nothing beside the key.
#[test]
fn doctor_leaves_nothing_beside_the_key() {
    let sandbox = office();
    done(&sandbox, &["gate", "enable"]);
    let kept = || {
        let folder = sandbox.home().join(".config/harness/organisations");
        let mut names: Vec<_> =
            std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let before = kept();
    assert!(!before.is_empty());
    sandbox.clone().now("2026-11-18T00:52:01Z").start(&["doctor"]).finish().any_stdout().any_stderr().parts();
    assert_eq!(kept(), before);
}
