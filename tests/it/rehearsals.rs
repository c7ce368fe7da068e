//! Fixtures as tests: what a department does with some mail and some answers, in a copy.

use crate::sandbox::{Sandbox, write};

const ANSWER: &str = r#"NEXT_WORKER {{ message_id }}

```actions {{ nonce }}
[
  {"do": "send_message", "to": ["rd"], "kind": "Decision", "subject": "Yes", "body": "Do it.", "confidence": 90,
   "reason": "The proposal is sound."},
  {"do": "mark_message", "id": "{{ message_id }}", "status": "actioned", "reason": "It is answered."}
]
```
"#;
const MESSAGE: &str = "---\nschema: 1\nid: m-20261118-000000-aaaaaa\nfrom: rd\nto: [business]\nkind: Proposal\nsubject: Try \
                       it\nthread: m-20261118-000000-aaaaaa\nhops: 0\nprovenance: department\ncreated: \
                       2026-11-18T00:00:00Z\nstatus: pending\n---\nShall we?\n";
const EXPECTED: &str = "schema = 1\noutcome = \"done\"\ndecisions = [\"NEXT_WORKER\"]\n\
                        actions = [\"send_message: allow\", \"mark_message: allow\"]\nsent = [\"Decision to rd\"]\nrefusals = []\n";

fn case(sandbox: &Sandbox, name: &str, expected: Option<&str>) {
    let folder = sandbox.dir().join("cases").join(name);
    write(&folder.join("messages/m-20261118-000000-aaaaaa.md"), MESSAGE.as_bytes());
    for number in 1..4 {
        write(&folder.join(format!("{number:02}.txt")), ANSWER.as_bytes());
    }
    if let Some(expected) = expected {
        write(&folder.join("expected.toml"), expected.as_bytes());
    }
}

fn rehearse(sandbox: Sandbox, format: &str) -> crate::outcome::Run {
    let answers = sandbox.dir().join("cases").display().to_string();
    sandbox.run(["rehearse", "business", "--answers", &answers, "--format", format])
}

#[test]
fn a_case_that_holds_passes_and_touches_nothing() {
    let sandbox = Sandbox::new().organisation();
    case(&sandbox, "yes", Some(EXPECTED));
    let before = sandbox.tree("");
    rehearse(sandbox.clone(), "tap").stdout("TAP version 13\n1..1\nok 1 - yes\n");
    assert_eq!(sandbox.tree(""), before);
    assert_eq!(std::fs::read_dir(sandbox.dir().join("tmp")).unwrap().count(), 0);
}

#[test]
fn a_case_that_does_not_hold_fails_with_what_differs() {
    let sandbox = Sandbox::new().organisation();
    case(&sandbox, "a-yes", Some(EXPECTED));
    case(&sandbox, "b-no", Some("schema = 1\nsent = [\"Decision to management\"]\n"));
    case(&sandbox, "c-nothing", None);
    let run = rehearse(sandbox.clone(), "tap").status(1);
    run.stdout(
        "TAP version 13\n1..3\nok 1 - a-yes\nnot ok 2 - b-no\n  # sent: expected [Decision to management], found [Decision to rd]\n\
         not ok 3 - c-nothing\n  # it has no expected.toml\n",
    );
    let xml = rehearse(sandbox, "junit").status(1).take_stdout();
    assert!(xml.contains("<testsuite name=\"business\" tests=\"3\" failures=\"2\""), "{xml}");
}

#[test]
fn a_charter_is_tried_before_it_is_accepted() {
    let sandbox = Sandbox::new().organisation();
    case(&sandbox, "yes", Some(EXPECTED));
    let sandbox = sandbox.edit(
        "org-business/charter.toml",
        "Decision = [\"rd\", \"management\"]",
        "Decision = [\"management\"]",
    );
    let text = rehearse(sandbox, "tap").status(1).take_stdout();
    assert!(text.contains("recipient_not_allowed"), "{text}");
}
