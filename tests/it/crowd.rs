//! Many processes on one department at once: each note is handled by one of them, and the others say who is at work.
//!
//! `HARNESS_SLOW_TESTS=1` starts 10,000 processes instead of 128.

use crate::crash::books;
use crate::crash::tree::Tree;
use crate::load::{drop_note, generous};
use crate::outcome::Running;
use crate::sandbox::Sandbox;
use std::collections::BTreeMap;

/// How many are started before the first is waited for.
const AT_ONCE: usize = 64;

#[test]
#[expect(clippy::print_stderr, reason = "how much was tried is the point of it")]
fn processes_side_by_side_handle_each_note_once() {
    let waves =
        if std::env::var_os("HARNESS_SLOW_TESTS").is_some_and(|value| value == "1") { 157 } else { 2 };
    let sandbox = generous(Sandbox::new().apart().organisation());
    let inbox = sandbox.root().join("org-business/inbox");
    let (mut ends, mut notes) = (BTreeMap::new(), 0);
    for wave in 0..waves {
        let sandbox = sandbox.clone().now(&format!("2026-11-18T{:02}:{:02}:00Z", wave / 60, wave % 60));
        (notes..notes + 3).for_each(|number| drop_note(&inbox, number));
        notes += 3;
        let start = |_| sandbox.start(&["run-loop", "business", "--engine", "rules", "--quiet"]);
        let crowd: Vec<Running> = (0..AT_ONCE).map(start).collect();
        for running in crowd {
            let (status, _, stderr) = running.finish().parts();
            assert!(matches!(status, 0 | 4), "exit {status}: {stderr}");
            *ends.entry(status).or_insert(0) += 1;
        }
    }
    eprintln!("crowd: {} processes, {notes} notes, by exit code {ends:?}", waves * AT_ONCE);
    let handled = sandbox.steps().into_iter().filter(|step| step["role"] == "worker");
    let mut items: Vec<String> = handled.map(|step| step["item"].as_str().unwrap().to_owned()).collect();
    items.sort();
    let expected: Vec<String> = (0..notes).map(|number| format!("n{number:06}")).collect();
    assert_eq!(items, expected, "each is handled by one step");
    assert_eq!(books::faults(&Tree::read(&sandbox.root())), Vec::<String>::new());
}
