//! A disk that is full or read-only, and a process that dies at any of its operations: nothing is lost or half
//! written, and the same command again makes it whole.
//!
//! The disk counts its operations (`store/disk.rs`); `HARNESS_TEST_FAULT` says what happens at the n-th. A command is
//! tried with every n until it gets through.

use crate::outcome::Run;
use crate::sandbox::Sandbox;
use std::collections::BTreeMap;

const DEATHS: [&str; 3] = ["die-before", "die-torn", "die-after"];
const KILLED: i32 = 137;
const SEND: [&str; 11] =
    ["send", "--to", "rd", "--to", "lab", "--kind", "Note", "--subject", "s", "--body", "A whole body."];

/// Every file but temporary ones, locks and the audit, which tells of each try. Of the organisation's id, which is
/// random, only that it is there.
fn files(sandbox: &Sandbox) -> BTreeMap<String, String> {
    let tree = sandbox.tree("");
    let kept = tree.lines().filter(|line| {
        let name = line.rsplit('/').next().unwrap_or_default();
        !name.is_empty() && !name.starts_with(".tmp.") && name != "lock" && name != "audit.jsonl"
    });
    kept.map(|path| {
        let text = if path == ".harness/id.json" { String::new() } else { sandbox.read(path) };
        (path.to_owned(), text)
    })
    .collect()
}

fn try_with(sandbox: &Sandbox, fault: &str, args: &[&str]) -> Run {
    sandbox.clone().env("HARNESS_TEST_FAULT", fault).start(args).finish()
}

/// Dies at every operation in every way; after one more try all must be as if nothing had happened.
fn dies_everywhere(prepare: impl Fn() -> Sandbox, args: impl Fn(&Sandbox) -> Vec<String>) {
    let again = |sandbox: &Sandbox, fault: Option<&str>| {
        let args = args(sandbox);
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        match fault {
            Some(fault) => try_with(sandbox, fault, &args).parts(),
            None => sandbox.start(&args).finish().parts(),
        }
    };
    let undisturbed = prepare();
    assert_eq!(again(&undisturbed, None).0, 0);
    let expected = files(&undisturbed);
    for death in DEATHS {
        let mut number = 1;
        loop {
            let sandbox = prepare();
            let (status, _, stderr) = again(&sandbox, Some(&format!("{death}:{number}")));
            if status == 0 {
                break;
            }
            assert_eq!(status, KILLED, "{death}:{number}: {stderr}");
            sound(&sandbox, &format!("{death}:{number}"));
            let (status, _, stderr) = again(&sandbox, None);
            assert_eq!((status, stderr.as_str()), (0, ""), "after {death}:{number}");
            sound(&sandbox, &format!("after {death}:{number}"));
            assert_eq!(files(&sandbox), expected, "after {death}:{number}");
            number += 1;
        }
        assert!(number > 5, "{death} was never reached");
    }
}

/// No line of the audit is missing, and none is half written; a torn one is none.
#[track_caller]
fn sound(sandbox: &Sandbox, when: &str) {
    // `init` may have died before its first line.
    if !sandbox.exists(".harness/audit.jsonl") || !sandbox.read(".harness/audit.jsonl").contains('\n') {
        return;
    }
    let (_, stdout, _) = sandbox.start(&["verify"]).finish().parts();
    let damaged = stdout.lines().find(|line| line.starts_with("failed") && line.contains(" audit "));
    assert_eq!(damaged, None, "{when}");
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[test]
fn init_killed_anywhere_is_completed_by_the_next() {
    dies_everywhere(Sandbox::new, |_| words(&["init", "rd"]));
}

#[test]
fn a_mark_killed_anywhere_is_completed_by_the_next() {
    let prepare = || Sandbox::new().dept("rd").message("rd", "Note", "s", "b");
    let mark = |sandbox: &Sandbox| {
        words(&["message", "mark", &sandbox.sent(0), "--status", "actioned", "--why", "done"])
    };
    dies_everywhere(prepare, mark);
}

#[test]
fn a_mark_of_a_plain_file_killed_anywhere_is_completed_by_the_next() {
    let prepare = || {
        let sandbox = Sandbox::new().dept("rd").file("org-rd/inbox/a note.txt", "# A note\n");
        let file = std::fs::File::options()
            .write(true)
            .open(sandbox.root().join("org-rd/inbox/a note.txt"))
            .unwrap();
        file.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_000)).unwrap();
        sandbox
    };
    let id = prepare().run(["inbox", "rd", "--json"]).json()["data"]["messages"][0]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    dies_everywhere(prepare, |_| words(&["message", "mark", &id, "--status", "archived", "--why", "done"]));
}

#[test]
fn an_acceptance_killed_anywhere_is_completed_by_the_next() {
    let prepare =
        || Sandbox::new().dept("rd").edit("org-rd/charter.toml", "agents_max = 8", "agents_max = 9");
    dies_everywhere(prepare, |_| words(&["charter", "accept", "rd"]));
}

/// The bodies of a department's messages; every file there must be a whole message.
fn bodies(sandbox: &Sandbox, dept: &str) -> Vec<String> {
    let run = sandbox.start(&["inbox", dept, "--json"]).finish();
    let data = run.json()["data"].clone();
    assert_eq!(data["unreadable"], serde_json::json!([]));
    let messages = data["messages"].as_array().unwrap();
    let files =
        messages.iter().map(|message| format!("org-{dept}/inbox/{}.md", message["id"].as_str().unwrap()));
    files.map(|file| sandbox.read(&file).split("---\n").nth(2).unwrap().to_owned()).collect()
}

#[test]
fn a_message_killed_anywhere_is_whole_or_not_there() {
    for death in DEATHS {
        for number in 1.. {
            let sandbox = Sandbox::new().dept("rd").dept("lab");
            let (status, stdout, _) = try_with(&sandbox, &format!("{death}:{number}"), &SEND).parts();
            for dept in ["rd", "lab"] {
                let found = bodies(&sandbox, dept);
                assert!(found.len() <= 1 && found.iter().all(|body| body == "A whole body.\n"), "{found:?}");
                assert!(status != 0 || found.len() == 1);
            }
            assert_eq!(status == 0, !stdout.is_empty());
            sandbox.start(&SEND).finish().stdout("m-[..]\n");
            assert!(!bodies(&sandbox, "rd").is_empty() && !bodies(&sandbox, "lab").is_empty());
            if status == 0 {
                assert!(number > 5);
                break;
            }
        }
    }
}

#[test]
fn a_full_disk_delivers_to_all_or_says_to_whom() {
    for kind in ["fail-from", "fail-once"] {
        for number in 1.. {
            let sandbox = Sandbox::new().dept("rd").dept("lab");
            let (status, stdout, stderr) = try_with(&sandbox, &format!("{kind}:{number}:28"), &SEND).parts();
            let found = ["rd", "lab"].map(|dept| bodies(&sandbox, dept).len());
            if status == 0 {
                assert_eq!((found, stdout.is_empty()), ([1, 1], false));
                break;
            }
            assert!(status == 1 && stdout.is_empty(), "{status}");
            assert!(
                stderr.contains("No space left on device") && stderr.contains("hint: free some space"),
                "{stderr}"
            );
            let hint = match found {
                [0, 0] => "",
                [1, 0] => "hint: `rd` has it already: send it again to `lab` alone\n",
                _ => "hint: `rd`, `lab` has it already: don't send it again\n",
            };
            assert!(
                stderr.ends_with(hint) && (hint.is_empty() != stderr.contains("has it")),
                "{found:?}: {stderr}"
            );
            sandbox.start(&SEND).finish().stdout("m-[..]\n");
        }
    }
}

#[test]
fn a_write_that_stops_half_way_leaves_no_half_line() {
    for number in 1.. {
        let sandbox = Sandbox::new().dept("rd").dept("lab");
        let (status, _, stderr) = try_with(&sandbox, &format!("fail-torn:{number}:28"), &SEND).parts();
        let audit = sandbox.read(".harness/audit.jsonl");
        let whole = |line: &str| serde_json::from_str::<serde_json::Value>(line).is_ok();
        assert!(audit.ends_with('\n') && audit.lines().all(whole), "{number}: {audit}");
        sound(&sandbox, &format!("{number}: {stderr}"));
        if status == 0 && number > 20 {
            break;
        }
        sandbox.start(&SEND).finish().stdout("m-[..]\n");
        sound(&sandbox, &format!("after {number}"));
    }
}

#[test]
fn a_full_disk_stops_init_and_the_next_completes_it() {
    let undisturbed = Sandbox::new().dept("rd");
    let expected = files(&undisturbed);
    for number in 1.. {
        let sandbox = Sandbox::new();
        let (status, stdout, stderr) =
            try_with(&sandbox, &format!("fail-from:{number}:28"), &["init", "rd"]).parts();
        if status == 0 {
            assert!(number > 50);
            break;
        }
        assert!(status == 1 && stdout.is_empty() && stderr.contains("hint: free some space"), "{stderr}");
        sandbox.start(&["init", "rd"]).finish().any_stdout();
        assert_eq!(files(&sandbox), expected, "after {number}");
    }
}

#[test]
fn a_read_only_root_is_left_as_it_is() {
    let sandbox = Sandbox::new().dept("rd").dept("lab").message("rd", "Note", "s", "b");
    let sandbox = sandbox.edit("org-rd/charter.toml", "agents_max = 8", "agents_max = 9");
    let (before, id) = (sandbox.tree(""), sandbox.sent(0));
    let mark = ["message", "mark", &id, "--status", "archived", "--why", "x"];
    for args in [&["init", "new"][..], &SEND, &mark, &["charter", "accept", "rd"]] {
        let run = try_with(&sandbox, "fail-from:1:30", args).status(1);
        run.stderr("error: can't [..] [ROOT]/[..]: Read-only file system (os error 30)\nhint: that disk can only be read as it is mounted: `df [ROOT][..]` says which one it is\n");
        let after = sandbox.tree("").replace("org-rd/.harness/lock\n", "");
        assert_eq!(after, before, "{args:?}");
    }
    for args in [&["inbox", "lab"][..], &["status"], &["prompt", "lab"], &["charter", "show", "lab"]] {
        try_with(&sandbox, "fail-from:1:30", args).any_stdout();
    }
}
