//! A director's desk: what the tests of runs have in common, on top of the sandbox.
//!
//! [`business`] is the template's organisation with one open message. Scripted answers
//! are made with [`acts`], and what a run left is read back from the ledger and the records.

use crate::outcome::Run;
use crate::sandbox::Sandbox;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;

/// The subject of the message that every desk begins with.
pub const SUBJECT: &str = "Fewer mails are opened";
pub const MARK: &str =
    r#"{"do": "mark_message", "id": "MSGID", "status": "actioned", "reason": "it is dealt with"}"#;
pub const SEND: &str = r#"{"do": "send_message", "to": ["rd"], "kind": "Decision", "subject": "Look into it", "body": "Find out why.", "confidence": 90, "reason": "rd can find out why"}"#;

/// An answer with these actions.
pub fn acts(actions: &[&str]) -> String {
    format!("This is what I do about it.\n\n```actions NONCE\n[\n{}\n]\n```\n", actions.join(",\n"))
}

/// An action with one field set to another value.
pub fn with(action: &str, field: &str, value: &str) -> String {
    let mut json: Value = serde_json::from_str(action).unwrap();
    json[field] = serde_json::from_str(value).unwrap();
    json.to_string()
}

/// An organisation with one message in the inbox of business.
pub fn business() -> Sandbox {
    Sandbox::new().apart().organisation().message(
        "business",
        "MarketSignal",
        SUBJECT,
        "Half of what it was in May.",
    )
}

/// One step of the worker of business, whose answers are scripted.
#[track_caller]
pub fn worker(sandbox: Sandbox) -> Run {
    director(sandbox, "worker")
}

/// One step of a role of business.
#[track_caller]
pub fn director(sandbox: Sandbox, role: &str) -> Run {
    let run = sandbox.run(["run-director", "business", "--role", role, "--engine", "claude"]);
    run.any_stdout().any_stderr()
}

#[track_caller]
pub fn run_loop(sandbox: Sandbox) -> Run {
    sandbox.run(["run-loop", "business", "--engine", "claude"]).any_stdout().any_stderr()
}

/// What a file holds; a comparison that fails shows its size alone.
#[derive(Clone, PartialEq)]
pub struct Bytes(pub Vec<u8>);

impl std::fmt::Debug for Bytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}

impl Sandbox {
    /// The lines of a department's ledger.
    pub fn ledger(&self, dept: &str) -> Vec<Value> {
        let path = format!("org-{dept}/.harness/runs.jsonl");
        let text = if self.exists(&path) { self.read(&path) } else { String::new() };
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The ledger's steps of business.
    pub fn steps(&self) -> Vec<Value> {
        self.ledger("business").into_iter().filter(|line| line["line"] == "step").collect()
    }

    /// The ledger's runs of business.
    pub fn runs(&self) -> Vec<Value> {
        self.ledger("business").into_iter().filter(|line| line["line"] == "run").collect()
    }

    #[track_caller]
    pub fn last_step(&self) -> Value {
        self.steps().pop().expect("there is a step in the ledger")
    }

    #[track_caller]
    pub fn last_run(&self) -> Value {
        self.runs().pop().expect("there is a run in the ledger")
    }

    /// The record that a line of business's ledger names.
    #[track_caller]
    pub fn record(&self, line: &Value) -> String {
        self.read(&format!("org-business/.harness/director-runs/{}", line["record"].as_str().unwrap()))
    }

    /// The files of one folder of a department, by name.
    pub fn folder(&self, path: &str) -> BTreeMap<String, String> {
        let Ok(entries) = fs::read_dir(self.root().join(path)) else { return BTreeMap::new() };
        let files = entries.map(|entry| entry.unwrap()).filter(|entry| entry.file_type().unwrap().is_file());
        files
            .map(|entry| {
                let text = String::from_utf8_lossy(&fs::read(entry.path()).unwrap()).into_owned();
                (entry.file_name().into_string().unwrap(), text)
            })
            .collect()
    }

    /// The one file of a folder.
    #[track_caller]
    pub fn only(&self, path: &str) -> String {
        let files = self.folder(path);
        assert_eq!(files.len(), 1, "{path}: {:?}", files.keys());
        files.into_values().next().unwrap()
    }

    /// Everything under the root, to compare: paths and bytes, folders too.
    pub fn everything(&self) -> BTreeMap<String, Bytes> {
        let root = self.root();
        let entries = walkdir::WalkDir::new(&root).min_depth(1).into_iter().map(|entry| entry.unwrap());
        entries
            .map(|entry| {
                let name = entry.path().strip_prefix(&root).unwrap().display().to_string();
                let bytes =
                    if entry.file_type().is_file() { fs::read(entry.path()).unwrap() } else { Vec::new() };
                (name, Bytes(bytes))
            })
            .collect()
    }

    /// Everything but what the tool keeps for itself.
    pub fn work(&self) -> BTreeMap<String, Bytes> {
        let mut all = self.everything();
        all.retain(|path, _| !path.contains(".harness"));
        all
    }

    /// Waits until the fake engine's call of this number stands.
    pub fn until_asked(&self, call: u32) {
        let ready = self.home().join(format!(".fake/calls/{call:02}/ready"));
        crate::outcome::until("the engine is ready", || ready.exists());
    }

    /// Lets an engine go on that waits with `#wait go`.
    pub fn go(&self) {
        crate::sandbox::write(&self.home().join(".fake/go"), b"");
    }

    /// Writes the organisation's settings.
    pub fn settings(self, text: &str) -> Sandbox {
        self.file(".harness/org.toml", &format!("schema = 1\n{}", crate::pattern::unindent(text)))
    }

    /// Changes the charter of business, and accepts it.
    pub fn charter(self, from: &str, to: &str) -> Sandbox {
        self.charter_edits(&[(from, to)])
    }

    /// Makes several changes that only hold together.
    pub fn charter_edits(self, edits: &[(&str, &str)]) -> Sandbox {
        let mut text = self.read("org-business/charter.toml");
        for (from, to) in edits {
            assert!(text.contains(from), "the charter holds no `{from}`");
            text = text.replacen(from, to, 1);
        }
        let sandbox = self.file("org-business/charter.toml", &text);
        let run = sandbox.run(["charter", "accept", "business", "--yes"]).any_stdout().any_stderr();
        run.then()
    }
}

/// The codes of some refusals.
pub fn codes(refusals: &Value) -> Vec<&str> {
    refusals.as_array().unwrap().iter().map(|refusal| refusal["code"].as_str().unwrap()).collect()
}

/// One key of a front matter.
pub fn key<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let front =
        text.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n")).map(|(front, _)| front)?;
    front.lines().find_map(|line| line.strip_prefix(key).and_then(|rest| rest.strip_prefix(": ")))
}
