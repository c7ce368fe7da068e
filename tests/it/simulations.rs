//! Days of a whole organisation in a copy, on a clock that is set by hand.

use crate::sandbox::{Sandbox, write};
use serde_json::Value;

const MAIL: &str = r#"schema = 1
[[mail]]
at = "9h"
every = "1d"
to = "business"
kind = "Directive"
subject = "Order {n}: sell product {n}"
body = "Build and sell product {n}."
[[mail]]
at = "10h 30m"
from = "file"
to = "rd"
subject = "Somebody asks"
body = "Do you sell digests?"
"#;

const NOTE: &str = "schema = 1\n[[mail]]\nat = \"1h\"\nto = \"business\"\nkind = \"Note\"\nsubject = \"Hello\"\nbody = \"Hi\"\n";

/// A worker that is not sure of what it does.
const UNSURE: &str = r#"I would rather ask.

```actions {{ nonce }}
[
  {"do": "send_message", "to": ["rd"], "kind": "Decision", "subject": "Go", "body": "Start.", "confidence": 50,
   "reason": "It may be what they want."},
  {"do": "mark_message", "id": "{{ message_id }}", "status": "actioned", "reason": "It is answered by the other one."}
]
```
"#;

fn simulate(sandbox: &Sandbox, mail: &str, more: &[&str]) -> Value {
    let file = sandbox.dir().join("mail.toml");
    write(&file, mail.as_bytes());
    let (file, page) = (file.display().to_string(), sandbox.dir().join("page.html").display().to_string());
    let mut args = vec!["simulate", "--json", "--mail", &file, "-o", &page];
    args.extend(more);
    let run = sandbox.start(&args).finish();
    let data = run.json()["data"].clone();
    run.any_stdout();
    data
}

/// An organisation whose engine `unsure` answers every note in the same way.
fn unsure() -> Sandbox {
    let sandbox = Sandbox::new().organisation();
    let folder = sandbox.dir().join("answers");
    write(&folder.join("orchestrator.txt"), b"NEXT_WORKER {{ message_id }}\n");
    write(&folder.join("worker.txt"), UNSURE.as_bytes());
    let settings = format!(
        "{}\n[engines.unsure]\npreset = \"script\"\nfolder = \"{}\"\n",
        sandbox.read(".harness/org.toml"),
        folder.display()
    );
    sandbox.file(".harness/org.toml", &settings)
}

#[test]
fn days_pass_in_a_copy_and_the_same_seed_gives_the_same_figures() {
    let sandbox = Sandbox::new().organisation();
    let before = sandbox.tree("");
    let first = simulate(&sandbox, MAIL, &["--days", "2"]);
    assert_eq!(sandbox.tree(""), before, "nothing real is touched");
    assert_eq!(std::fs::read_dir(sandbox.dir().join("tmp")).unwrap().count(), 0);
    assert_eq!((&first["mail"], &first["days"]), (&3.into(), &2.into()));
    assert_eq!(first["until"], "2026-11-20T00:42:01Z");
    let cost = &first["cost"];
    assert_eq!(cost["heartbeat_calls"], 5 * 2 * 1_440);
    // Two directives go all the way round, and the file from outside is nobody's rule.
    assert!(cost["handled"].as_u64().unwrap() >= 10, "{first:#}");
    assert!(cost["calls"].as_u64().unwrap() < 200, "{first:#}");
    assert!(cost["idle_hours"].as_u64().unwrap() > 30, "{first:#}");
    assert_eq!(cost["idle_calls"], 0);
    assert_eq!(cost["by_engine"]["rules"], cost["calls"]);
    assert_eq!(first["stats"]["by_outcome"]["escalated"]["count"], 1, "{first:#}");
    assert!(first["stats"]["calls_saved"].as_u64().unwrap() > 5 * 2 * 1_300, "{first:#}");
    let page = std::fs::read_to_string(sandbox.dir().join("page.html")).unwrap();
    assert!(page.contains("sell product 1"), "the page is about what was simulated");
    assert!(page.contains("a simulation of "), "and says so");
    assert_eq!(simulate(&sandbox, MAIL, &["--days", "2"]), first);
    let again = std::fs::read_to_string(sandbox.dir().join("page.html")).unwrap();
    assert!(again == page, "the page is the same to the letter");
    // What would have come after the end is no part of it.
    let saved = first["stats"]["calls_saved"].as_u64().unwrap();
    assert!(saved <= 5 * 2 * 1_440, "{saved}");
    assert!(sandbox.calls().is_empty(), "no model is asked");
}

#[test]
fn approvals_are_answered_by_the_stated_policy() {
    let sandbox = unsure();
    let waits = |more: &[&str]| {
        let args = [&["--engine", "unsure"][..], more].concat();
        let data = simulate(&sandbox, NOTE, &args);
        let waits = &data["stats"]["approvals"];
        let count = |name: &str| waits[name].as_u64().unwrap_or_else(|| panic!("{waits}"));
        (count("approved"), count("rejected"), count("expired"), data["approvals_answered"].as_u64().unwrap())
    };
    // The approved decision is new mail for rd, whose scripted worker then asks again.
    let approved = waits(&["--days", "1", "--approvals", "approve", "--after", "8h"]);
    assert!(
        approved.0 >= 1 && approved.1 == 0 && approved.2 == 0 && approved.3 == approved.0,
        "{approved:?}"
    );
    let rejected = waits(&["--days", "1", "--approvals", "reject", "--after", "8h"]);
    assert!(rejected.0 == 0 && rejected.1 >= 1 && rejected.3 == rejected.1, "{rejected:?}");
    let left = waits(&["--days", "4"]);
    assert!(left.0 == 0 && left.1 == 0 && left.2 >= 1 && left.3 == 0, "{left:?}");
}

#[test]
fn schedules_come_at_their_times() {
    let sandbox = Sandbox::new().organisation();
    let args = [
        "schedule",
        "add",
        "rd",
        "morning",
        "--cron",
        "0 9 * * *",
        "--timezone",
        "UTC",
        "--prompt",
        "Look around.",
    ];
    sandbox.start(&args).finish().any_stdout().any_stderr();
    let data = simulate(&sandbox, "schema = 1\n", &["--days", "3"]);
    assert_eq!(
        data["stats"]["by_outcome"]["escalated"]["count"], 3,
        "one message a day, and no rule for it: {data:#}"
    );
}

#[test]
fn an_engine_that_would_cost_something_is_refused() {
    let sandbox = Sandbox::new().organisation();
    let error = sandbox.clone().run(["simulate", "--engine", "claude"]).status(3).parts().2;
    assert!(error.contains("a simulation costs nothing") && error.contains("hint:"), "{error}");
    let error = sandbox.clone().run(["simulate", "--engine", "cloud"]).status(2).parts().2;
    assert!(error.contains("there is no engine `cloud`"), "{error}");
    assert!(sandbox.calls().is_empty());
}

#[test]
fn a_page_that_cannot_be_written_is_told_before_anything_begins() {
    let sandbox = Sandbox::new().organisation();
    let (code, stdout, stderr) = sandbox.clone().run(["simulate", "-o", "/nowhere/page.html"]).parts();
    assert_eq!((code, stdout.as_str()), (1, ""));
    assert!(stderr.starts_with("error: can't open /nowhere"), "{stderr}");
    let mine = sandbox.dir().join("mine.html").display().to_string();
    write(&sandbox.dir().join("mine.html"), b"mine");
    let (code, _, stderr) = sandbox.run(["simulate", "-o", &mine]).parts();
    assert!(code == 1 && stderr.contains("is no report page"), "{stderr}");
}

#[test]
fn it_is_not_for_those_inside_a_run() {
    let (code, ..) = Sandbox::new().organisation().env("HARNESS_RUN", "x").run(["simulate"]).parts();
    assert_eq!(code, 3);
}

#[test]
fn wrong_mail_is_named_before_anything_begins() {
    let sandbox = Sandbox::new().organisation();
    let file = sandbox.dir().join("mail.toml");
    for (text, status, expected) in [
        ("schema = 1\n[[mail]]\nat = \"soon\"\n", 2, "missing field"),
        (&NOTE.replace("1h", "soon"), 2, "mail 1: `at`"),
        (&NOTE.replace("business", "busines"), 1, "did you mean `business`?"),
        (&NOTE.replace("\"Note\"", "\"Campaigm\""), 3, "mail 1: `business` does not receive `Campaigm`"),
        ("schema = 9\n", 2, "its schema is 9"),
    ] {
        write(&file, text.as_bytes());
        let path = file.display().to_string();
        let error = sandbox.clone().run(["simulate", "--mail", &path]).status(status).parts().2;
        assert!(error.contains(expected), "{text}: {error}");
    }
    std::fs::remove_file(&file).unwrap();
    let path = file.display().to_string();
    let error = sandbox.clone().run(["simulate", "--mail", &path]).status(1).parts().2;
    assert!(error.contains("mail.toml"), "{error}");
}
