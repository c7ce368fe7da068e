//! `status`: what needs the human comes first, with the one command that deals with it.

use crate::desk::{MARK, SEND, acts, business, with, worker};
use crate::history::with_history;
use crate::outcome::until;
use crate::sandbox::Sandbox;
use crate::snapshot;

/// Says when something was last written; the sandbox's own clock is no clock of the disk's.
fn write_at(sandbox: &Sandbox, path: &str, at: &str) {
    let at = director_harness::domain::time::parse_rfc3339(at).unwrap();
    let file = std::fs::File::open(sandbox.root().join(path)).unwrap();
    file.set_modified(at.into()).unwrap();
}

#[test]
fn what_needs_the_human_comes_first() {
    let sandbox = Sandbox::new().dept("ops").dept("rd").message("rd", "Note", "Hello", "Body");
    let sandbox = sandbox
        .now("2026-11-18T03:42:01Z")
        .without_file(".harness/gate.json")
        .file("org-rd/inbox/bad.md", "---\n")
        .file("org-rd/notes.md", "Fine.\n")
        .file("org-rd/.harness/quarantine/x.md", "x\n")
        .file("org-rd/.harness/quarantine/x.md.reason", "inbox/x.md: no\n")
        .edit("org-rd/charter.toml", "agents_max = 8", "agents_max = 9")
        .file("org-ops/charter.md", "Short.\n")
        .file("org-Bad Name/x", "")
        .link("org-linked", "org-rd")
        .env("COLUMNS", "300");
    for (path, at) in [
        ("org-Bad Name", "2026-11-18T03:32:01Z"),
        ("org-ops/charter.md", "2026-11-15T03:42:01Z"),
        ("org-rd/inbox/bad.md", "2026-11-18T03:02:01Z"),
        ("org-rd/charter.toml", "2026-11-18T01:42:01Z"),
        ("org-rd/.harness/quarantine/x.md", "2026-10-18T01:42:01Z"),
        ("org-rd/.harness/quarantine/x.md.reason", "2026-11-18T03:41:21Z"),
    ] {
        write_at(&sandbox, path, at);
    }
    sandbox.run(["status"]).stdout(
        "
        Needs you (7)
               the gate is tripped (closed): gate.json is missing
               harness gate enable
          10m  org-Bad Name was passed over: not a department name
               ls -ld '[ROOT]/org-Bad Name'
        [..]  org-linked was passed over: a link is not followed
               ls -ld [ROOT]/org-linked
           3d  ops: can't read [ROOT]/org-ops/charter.md: its prose has 6 characters; a charter that says less than 100 refuses everything; everything is refused
               harness charter check ops
          40m  rd: inbox/bad.md is not a message: line 1: the front matter that opens with `---` is never closed
               harness inbox rd
           2h  rd: its charter, playbook or prompts are not accepted
               harness charter accept rd
          40s  rd: 1 set aside in quarantine
               ls [ROOT]/org-rd/.harness/quarantine

        Gate: tripped (closed)   Last pulse: never
        Today: 0.00 of 10.00 USD ░░░░░░░░░░   0%   0 of 500 runs ░░░░░░░░░░   0%

        DEPARTMENT  STATE         MAIL  BOARD  LAST RUN  NEXT     DAY'S BUDGET
        ops         not accepted     0  -      never     by hand  ░░░░░░   0%
        rd          not accepted     1  -      never     by hand  ░░░░░░   0%
        ",
    );
}

#[test]
fn one_department_can_be_asked_for() {
    let sandbox = Sandbox::new().organisation();
    let text = sandbox.run(["status", "rd"]).take_stdout();
    assert!(text.starts_with("Nothing needs you.\n\nGate: enabled (open)"), "{text}");
    assert!(text.contains("\nrd  ") && !text.contains("business"), "{text}");
}

#[test]
fn one_department_as_json() {
    let data = Sandbox::new().organisation().run(["status", "rd", "--json"]).json()["data"].clone();
    assert_eq!(data["departments"].as_array().unwrap().len(), 1);
    assert_eq!(data["gate"]["state"], "enabled");
    assert_eq!(data["departments"][0]["state"], "idle");
}

#[test]
fn harness_alone_is_status() {
    let sandbox = Sandbox::new().dept("rd");
    let status = sandbox.start(&["status"]).finish().take_stdout();
    sandbox.run([]).stdout(&status);
}

/// An approval that waits, a department that fails, one that is paused, one with a past.
#[test]
fn it_fits_and_reads_at_any_width() {
    let low = with(SEND, "confidence", "10");
    let sandbox = worker(business().reply(&acts(&[&low, MARK]))).then();
    let ledger = sandbox.read("org-business/.harness/runs.jsonl");
    let sandbox = with_history(sandbox, 3).file("org-business/.harness/runs.jsonl", &ledger);
    let run = sandbox.run(["pause", "rd", "--why", "the lab moves house"]).any_stdout();
    let failed = run
        .read("org-marketing/.harness/runs.jsonl")
        .replace("\"outcome\":\"done\"", "\"outcome\":\"failed\"");
    let sandbox = run.then().file("org-marketing/.harness/runs.jsonl", &failed);
    let sandbox = sandbox.now("2026-11-18T01:12:01Z");
    snapshot::at_widths(&sandbox, "status", &["status"]);
    let data = sandbox.start(&["status", "--json"]).finish().json()["data"].clone();
    let approval =
        data["needs_you"].as_array().unwrap().iter().find(|need| need["id"] != serde_json::Value::Null);
    assert_eq!(approval.unwrap()["age_s"], 1_800, "{data}");
}

/// The longest names, outcomes and numbers there are: words give way, and every column stays in its place.
#[test]
fn it_fits_eighty_columns_whatever_a_department_is_called() {
    let name = "a-department-with-a-name-of-very-many-words-that-goes-on";
    let run =
        r#"{"line":"run","schema":1,"at":"2026-11-17T00:42:01Z","run":"r-1","outcome":"max-iterations"}"#;
    let sandbox = Sandbox::new().dept(name).dept("rd");
    let sandbox = sandbox.file(&format!("org-{name}/.harness/runs.jsonl"), &format!("{run}\n"));
    for args in
        [["config", "set", name, "autoLoop", "true"], ["config", "set", name, "autoIntervalSeconds", "3600"]]
    {
        drop(sandbox.start(&args).finish().any_stdout());
    }
    let text = sandbox.start(&["status"]).finish().take_stdout();
    let table: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("DEPARTMENT")).collect();
    assert_eq!(table.len(), 3, "{text}");
    let columns = |line: &str| line.chars().count();
    assert!(table.iter().all(|line| columns(line) <= 80), "{text}");
    assert!(table[1].contains("max-") && table[1].contains("next tick"), "{text}");
    let gauge = |line: &str| line.chars().position(|c| c == '░' || c == 'D' && line.ends_with("BUDGET"));
    assert_eq!(gauge(table[1]), gauge(table[2]), "{text}");
}

/// An engine that is not there is said by the run, with what helps, and stands in status until it is or the mail is gone.
#[test]
fn mail_that_no_engine_can_take_needs_the_human() {
    let sandbox = Sandbox::new().dept("rd").message("rd", "Note", "Odd", "Body").without_engine("claude");
    let sandbox = sandbox.now("2026-11-18T01:42:01Z");
    let need =
        |sandbox: &Sandbox| sandbox.start(&["status", "--json"]).finish().json()["data"]["needs_you"].clone();
    assert_eq!(need(&sandbox), serde_json::json!([]), "a rule may take it");
    let (status, _, stderr) = sandbox.start(&["run-loop", "rd"]).finish().parts();
    assert_eq!(status, 3, "{stderr}");
    assert!(
        stderr.contains(
            "hint: install one, name another in .harness/org.toml, or let the playbook alone answer"
        ),
        "{stderr}"
    );
    let missing = |found: &serde_json::Value| {
        let rows = found.as_array().unwrap().iter().filter(|row| row["command"] == "harness doctor");
        rows.map(|row| format!("{}: {}", row["dept"].as_str().unwrap(), row["what"].as_str().unwrap()))
            .collect::<Vec<_>>()
    };
    let found = need(&sandbox);
    assert_eq!(missing(&found), ["rd: no engine can take its mail: `claude` is missing on PATH"], "{found}");
    let since = found.as_array().unwrap().iter().find(|row| row["command"] == "harness doctor").unwrap();
    assert_eq!(since["since"], "2026-11-18T00:42:01Z", "since the message came, not since the run: {found}");
    let hints = sandbox.start(&["run-loop", "rd", "--json"]).finish().any_stderr().status(3).json()["error"]
        ["hints"]
        .clone();
    assert!(hints[0].as_str().unwrap().contains("harness doctor"), "{hints}");
    // It is there again.
    std::os::unix::fs::symlink("/bin/true", sandbox.dir().join("bin/claude")).unwrap();
    assert!(missing(&need(&sandbox)).is_empty());
}

#[test]
fn a_run_under_way_shows_how_long_and_what_it_said_last() {
    let sandbox = business();
    let go = sandbox.dir().join("go");
    let slow = format!(
        "echo 'Half of them are old.'; while [ ! -e '{}' ]; do sleep 0.02; done; echo DONE",
        go.display()
    );
    let sandbox = sandbox.settings(&format!(
        "[engines.slow]\npreset = \"command\"\ncommand = [\"/bin/sh\", \"-c\", \"{slow}\"]\n"
    ));
    let mut run = sandbox.start(&["run-loop", "business", "--engine", "slow"]);
    let later = sandbox.clone().now("2026-11-18T00:43:13Z");
    until("the last line is shown", || {
        let text = later.start(&["status", "business"]).finish().take_stdout();
        let line = text.lines().find(|line| line.contains("Half of them are old."));
        text.contains("running 1m12s") && line.is_some_and(|line| line.starts_with("  orchestrator of r-"))
            || run.ended()
    });
    assert!(!run.ended());
    std::fs::write(go, "").unwrap();
    drop(run.finish().any_stdout().any_stderr());
}

/// A row says since when, where that is known: a closed gate, a limit of which most is used.
#[test]
fn gate_and_budget_say_since_when() {
    let spent = |id: &str, at: &str, usd: f64| {
        format!(
            "{{\"line\":\"reserve\",\"id\":\"{id}\",\"at\":\"{at}\",\"dept\":\"rd\",\"run\":\"r-1\",\"project\":null,\"directive\":null,\"usd\":{usd},\"tokens\":1,\"runs\":1}}\n"
        )
    };
    let lines = [spent("r-1/1", "2026-11-18T00:10:01Z", 2.0), spent("r-1/2", "2026-11-18T00:12:01Z", 0.5)];
    let sandbox = Sandbox::new().dept("rd").file(".harness/budget.jsonl", &lines.concat());
    drop(sandbox.start(&["gate", "disable", "--why", "lunch"]).finish().any_stdout());
    let later = sandbox.now("2026-11-18T01:12:01Z");
    later.run(["status"]).stdout(
        "
        Needs you (2)
          30m  the gate is disabled (closed): lunch
               harness gate enable
           1h  83% of usd_per_day of the department rd is used
               harness budget

        Gate: disabled (closed)   Last pulse: never
        Today: 2.50 of 10.00 USD ██▌░░░░░░░  25%   2 of 500 runs ▏░░░░░░░░░   0%

        DEPARTMENT  STATE  MAIL  BOARD  LAST RUN  NEXT     DAY'S BUDGET
        rd          idle      0  -      never     by hand  █████░  83%
        ",
    );
}

/// A clock that was set back makes a file one of tomorrow: then nobody knows since when.
#[test]
fn a_file_of_tomorrow_has_no_age() {
    let sandbox = Sandbox::new().dept("rd").file("org-rd/inbox/bad.md", "---\n");
    write_at(&sandbox, "org-rd/inbox/bad.md", "2030-01-01T00:00:00Z");
    let needs = sandbox.start(&["status", "--json"]).finish().json()["data"]["needs_you"].clone();
    assert_eq!(
        (needs.as_array().unwrap().len(), &needs[0]["since"]),
        (1, &serde_json::Value::Null),
        "{needs}"
    );
}

/// Where nothing needs the human and nothing runs by itself, a newcomer is told how to go on.
#[test]
fn mail_that_waits_for_a_run_by_hand_is_told() {
    let sandbox = Sandbox::new().dept("ops").dept("rd").message("rd", "Note", "Hello", "Body");
    let first = |sandbox: &Sandbox| {
        let text = sandbox.start(&["status"]).finish().take_stdout();
        text.split("\n\n").next().unwrap().to_string()
    };
    let told = "Nothing needs you.\nMail waits for a run by hand: rd\n       harness run-loop rd";
    assert_eq!(first(&sandbox), told);
    drop(sandbox.start(&["config", "set", "rd", "autoLoop", "true"]).finish().any_stdout());
    assert_eq!(first(&sandbox), "Nothing needs you.");
}

/// A refusal for another reason says nothing of engines.
#[test]
fn a_run_refused_for_its_budget_does_not_blame_the_engine() {
    let run = |reason: &str| {
        format!(
            "{{\"line\":\"run\",\"at\":\"2026-11-18T00:40:01Z\",\"run\":\"r-1\",\"outcome\":\"refused\",\"reason\":\"{reason}\"}}\n"
        )
    };
    let sandbox = Sandbox::new().dept("rd").message("rd", "Note", "Odd", "Body").without_engine("claude");
    let blamed = |sandbox: &Sandbox| {
        let needs = sandbox.start(&["status", "--json"]).finish().json()["data"]["needs_you"].to_string();
        needs.contains("no engine can take its mail")
    };
    let sandbox =
        sandbox.file("org-rd/.harness/runs.jsonl", &run("usd_per_day of department rd is 3: 3.00 spent"));
    assert!(!blamed(&sandbox));
    let sandbox = sandbox
        .file("org-rd/.harness/runs.jsonl", &run("no engine can be asked now: rules: no rule matches"));
    assert!(blamed(&sandbox));
}

/// A request that somebody resolved by hand is named, though only what is pending is read whole.
#[test]
fn a_forged_resolution_is_named() {
    let low = with(SEND, "confidence", "10");
    let sandbox = worker(business().reply(&acts(&[&low, MARK]))).then();
    let name = sandbox.folder("org-business/approvals").into_keys().next().unwrap();
    let sandbox =
        sandbox.edit(&format!("org-business/approvals/{name}"), "status: pending", "status: approved");
    let text = sandbox.start(&["status"]).finish().take_stdout();
    assert!(text.contains("counts for nothing"), "{text}");
}
