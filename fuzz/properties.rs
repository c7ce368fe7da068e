//! What must hold of every text that reaches a parser, whoever wrote it.
//!
//! Each function takes any bytes and panics where a promise is broken. The fuzz targets call them by the million, and
//! `tests/it/fuzz.rs` calls them some hundred times in every test run, so that both hold the same promises.

use director_harness::domain::action::parse_action;
use director_harness::domain::action_block::parse_action_block;
use director_harness::domain::charter::parse_charter;
use director_harness::domain::decision::parse_decision;
use director_harness::domain::front_matter::parse_front_matter;
use director_harness::domain::id::Dept;
use director_harness::domain::ledger::{memory_lines, parse_lines, render_line};
use director_harness::domain::message::{Found, parse_message};
use director_harness::domain::plan::Plan;
use director_harness::domain::playbook::parse_playbook;
use director_harness::domain::template::render_text;
use director_harness::domain::time::parse_rfc3339;

/// A property of bytes.
pub type Property = fn(&[u8]);

/// Every property, by the name of its fuzz target.
pub const ALL: [(&str, Property); 8] = [
    ("message", message),
    ("charter", charter),
    ("action_block", action_block),
    ("decision", decision),
    ("playbook", playbook),
    ("journal", journal),
    ("ledger", ledger),
    ("template", template),
];

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A message is read or refused; one that is read stays what it is when it is written again.
pub fn message(bytes: &[u8]) {
    let text = text(bytes);
    let modified = parse_rfc3339("2026-11-18T00:42:01Z").expect("a time");
    let found = Found { id: "m-20261118-004201-7f3k2q", name: "note.md", modified, dept: "business" };
    let Ok(message) = parse_message(&text, &found) else { return };
    assert!(!message.id.contains(['/', '\n', '\0']), "an id is safe as a file's name");
    let Ok(split) = parse_front_matter(&text) else { return };
    let Some(front) = split.front else { return };
    let again = front.render(split.body);
    let second = parse_message(&again, &found).expect("what was read once is read again");
    assert_eq!(message.digest(), second.digest());
}

/// A charter is read or refused, and never opens what its text doesn't name.
pub fn charter(bytes: &[u8]) {
    let text = text(bytes);
    let dept = Dept::parse("business").expect("a department");
    if let Ok(charter) = parse_charter(&text, &dept) {
        assert!(charter.actions.iter().all(|name| text.contains(name.as_str())));
    }
}

const NONCE: &str = "7f3k2qx9";

/// A block is read only where its opening line stands; actions are read whole or refused with a reason.
pub fn action_block(bytes: &[u8]) {
    let text = text(bytes);
    match parse_action_block(&text, NONCE) {
        Ok(actions) => {
            assert!(text.contains(NONCE), "a block without the nonce is quoted text");
            for action in actions {
                if let Err(faults) = parse_action(&action.value) {
                    assert!(!faults.is_empty(), "a refusal has a reason");
                }
            }
        }
        Err(faults) => assert!(!faults.is_empty(), "a refusal has a reason"),
    }
}

/// A decision is a line of the text; written out and read again, it is the same one.
pub fn decision(bytes: &[u8]) {
    let text = text(bytes);
    let Ok(decision) = parse_decision(&text) else { return };
    assert!(text.contains(decision.keyword()));
    assert_eq!(parse_decision(&decision.to_string()), Ok(decision));
}

pub fn playbook(bytes: &[u8]) {
    let text = text(bytes);
    if let Ok(playbook) = parse_playbook(&text) {
        assert!(playbook.rules.iter().all(|rule| !rule.name.is_empty()));
    }
}

/// A plan that is read is the plan that was written: what is carried out after a crash is what was judged before.
pub fn journal(bytes: &[u8]) {
    let Ok(plan) = serde_json::from_slice::<Plan>(bytes) else { return };
    let written = serde_json::to_string(&plan).expect("a plan has a JSON form");
    let again: Plan = serde_json::from_str(&written).expect("what was written is read");
    assert_eq!(again, plan);
}

/// Every line that is read can be written and read again, and memory never shows more than it was asked for.
pub fn ledger(bytes: &[u8]) {
    let lines = parse_lines(&text(bytes));
    for line in &lines {
        let again = parse_lines(&render_line(line));
        assert_eq!(again.first(), Some(line));
    }
    let memory = memory_lines(&lines, 12);
    assert!(memory.len() <= 12);
    assert!(memory.iter().all(|line| !line.contains('\n')), "a line each");
}

/// The most that a template may write here.
const OUTPUT: usize = 4096;

/// A template ends, and never writes more than it may.
pub fn template(bytes: &[u8]) {
    let values = minijinja::context! { dept => "business", role => "worker", mode => "normal" };
    if let Ok(output) = render_text(&text(bytes), &values, OUTPUT) {
        assert!(output.len() <= OUTPUT);
    }
}
