//! Organisations whose pages are looked at: a busy one, and one with hostile texts.

use crate::desk::{MARK, SEND, acts, business, with, worker};
use crate::history::with_history;
use crate::sandbox::Sandbox;

/// Two weeks of work, an approval that waits, a department that fails and one that is paused.
pub fn busy() -> Sandbox {
    let low = with(SEND, "confidence", "10");
    let sandbox = worker(business().reply(&acts(&[&low, MARK]))).then();
    let ledger = sandbox.read("org-business/.harness/runs.jsonl");
    let sandbox = with_history(sandbox, 14);
    let before = sandbox.read("org-business/.harness/runs.jsonl");
    let sandbox = sandbox.bytes("org-business/.harness/runs.jsonl", format!("{before}{ledger}").as_bytes());
    sandbox.run(["pause", "rd", "--why", "the lab moves house"]).any_stdout().then()
}

/// A text that would be markup wherever it were not escaped: a refusal's, a run's, a file's name.
pub fn hostile(text: &str) -> Sandbox {
    let sandbox = busy();
    let json = serde_json::to_string(text).unwrap();
    let name = "org-rd/.harness/runs.jsonl";
    let ledger = sandbox.read(name).replace("\"nothing is left to do\"", &json);
    let ledger = ledger
        .replace("\"kind_not_sent\"", &json)
        .replace("\"outcome\":\"done\"", &format!("\"outcome\":{json}"));
    let ledger = ledger.replace("FeasibilityQuery", &text.replace(['"', '\\'], "").replace(" to ", " "));
    let sandbox = sandbox.bytes(name, ledger.as_bytes());
    sandbox.file("org-rd/inbox/<b onclick=alert(3)>.md", "---\n")
}
