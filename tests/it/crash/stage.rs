//! A small organisation whose one run is played again and again from the same start, each time with another mishap.

use super::books::BAD_MAIL;
use super::tree::Tree;
use crate::sandbox::{Sandbox, harness};
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The run that dies is at a month's very end, and what follows is in the next: nothing may be dated twice.
const BEFORE: &str = "2026-11-30T23:59:58Z";
const AFTER: &str = "2026-12-01T00:20:00Z";
pub const KILLED: i32 = 137;

/// What is played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Story {
    /// A Directive, answered by the playbook: a decision, two messages and a mark.
    Rules,
    /// Three notes and a file that is none, answered by a script: approvals, a question, an escalation, memory, a message.
    Script,
}

impl Story {
    pub fn engine(self) -> &'static str {
        match self {
            Story::Rules => "rules",
            Story::Script => "played",
        }
    }
}

/// One call of the program.
#[derive(Clone, Debug)]
pub struct Call {
    args: Vec<String>,
    variables: Vec<(&'static str, String)>,
}

impl Call {
    pub fn of(line: &str, seed: u64) -> Call {
        let args = line.split(' ').map(str::to_owned).collect();
        let variables = vec![("HARNESS_TEST_SEED", seed.to_string()), ("HARNESS_TEST_NOW", AFTER.to_owned())];
        Call { args, variables }
    }

    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Call {
        self.variables.push((name, value.into()));
        self
    }

    /// Such as `die-before:17`.
    pub fn fault(self, fault: &str) -> Call {
        self.with("HARNESS_TEST_FAULT", fault)
    }
}

/// How a call ended.
#[derive(Clone, Debug)]
pub struct Ended {
    pub status: i32,
    pub stderr: String,
}

/// The organisation, and how it begins.
pub struct Stage {
    sandbox: Sandbox,
    pub story: Story,
    pub start: Tree,
    /// What is kept beside the user's key, at the start.
    known: Tree,
    /// A breakage of the protocol that every call is played with.
    pub breakage: Option<&'static str>,
}

impl Stage {
    pub fn new(story: Story) -> Stage {
        let mut sandbox = Sandbox::new().now(BEFORE).organisation();
        match story {
            Story::Rules => sandbox = sandbox.message("business", "Directive", "Grow", "Open a second shop."),
            Story::Script => sandbox = write_script(sandbox),
        }
        let (start, known) = (Tree::read(&sandbox.root()), Tree::read(&beside_key(&sandbox)));
        Stage { sandbox, story, start, known, breakage: None }
    }

    pub fn root(&self) -> PathBuf {
        self.sandbox.root()
    }

    pub fn tree(&self) -> Tree {
        Tree::read(&self.root())
    }

    pub fn reset(&self) {
        self.put(&self.start);
    }

    /// Lays out an organisation as it may have been. What is kept beside the key of its end isn't synced: it is as it
    /// was at the start, and never ahead of the files.
    pub fn put(&self, tree: &Tree) {
        tree.put(&self.root());
        self.known.put(&beside_key(&self.sandbox));
    }

    /// The run that a mishap is for: always the same ids at the same time.
    pub fn first(&self) -> Call {
        Call::of(&format!("run-loop business --engine {}", self.story.engine()), 1000)
            .with("HARNESS_TEST_NOW", BEFORE)
    }

    /// A later run of the same.
    pub fn later(&self, seed: u64) -> Call {
        Call::of(&format!("run-loop business --engine {}", self.story.engine()), seed)
    }

    pub fn trace_file(&self) -> PathBuf {
        self.sandbox.dir().join("trace")
    }

    /// Plays a call and returns the operations that it did, a JSON object each.
    pub fn traced(&self, call: Call) -> (Ended, Vec<serde_json::Value>) {
        let file = self.trace_file();
        let _ = fs::remove_file(&file);
        let ended = self.play(call.with("HARNESS_TEST_TRACE", file.display().to_string()));
        let text = fs::read_to_string(&file).unwrap_or_default();
        (ended, text.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
    }

    pub fn play(&self, call: Call) -> Ended {
        let mut command = Command::new(harness());
        command.args(&call.args).env_clear();
        command.env("PATH", "/usr/bin:/bin").env("HOME", self.sandbox.home()).env("TZ", "UTC");
        command.env("HARNESS_ROOT", self.root()).env("LANG", "C.UTF-8");
        command.envs(call.variables.iter().map(|(name, value)| (*name, value)));
        if let Some(breakage) = self.breakage {
            command.env("HARNESS_TEST_BREAK", breakage);
        }
        let output = command.stdin(Stdio::null()).stdout(Stdio::null()).output().unwrap();
        let status = output.status.code().unwrap_or_else(|| 128 + output.status.signal().unwrap_or(0));
        Ended { status, stderr: String::from_utf8_lossy(&output.stderr).into_owned() }
    }
}

fn beside_key(sandbox: &Sandbox) -> PathBuf {
    sandbox.home().join(".config/harness/organisations")
}

/// Three notes, and an answer to the first that is good for every role, so that it may be given any number of times.
fn write_script(sandbox: Sandbox) -> Sandbox {
    let mut sandbox = sandbox;
    for subject in ["First", "Second", "Third"] {
        sandbox = sandbox.message("business", "Note", subject, "What shall we do?");
    }
    // Not text, and so no message: it is set aside.
    sandbox = sandbox.bytes(&format!("org-business/inbox/{BAD_MAIL}"), b"\xff\xfe");
    // Money is given at once, and a project is there to get it and to be moved on.
    sandbox = crate::office::generous(sandbox);
    let project =
        crate::office::done(&sandbox, &["project", "add", "--title", "First shop"]).trim().to_owned();
    let mut ids: Vec<String> = (0..3).map(|ordinal| sandbox.sent(ordinal)).collect();
    ids.sort();
    let answer = SCRIPT.replace("FIRST", &ids[0]).replace("SECOND", &ids[1]).replace("THIRD", &ids[2]);
    let answer = answer.replace("PROJECT", &project);
    let folder = sandbox.dir().join("script");
    for number in 1..=40 {
        crate::sandbox::write(&folder.join(format!("{number:02}.txt")), answer.as_bytes());
    }
    let settings = sandbox.read(".harness/org.toml");
    let engine = format!("\n[engines.played]\npreset = \"script\"\nfolder = \"{}\"\n", folder.display());
    let path = sandbox.root().join(".harness/org.toml");
    fs::write(path, settings + &engine).unwrap();
    sandbox
}

const SCRIPT: &str = r#"The first note needs several things, and one of them a human.

```actions {{ nonce }}
[
  {"do": "log_decision", "title": "Ask first", "decision": "Nothing is spent before the answer.",
   "why": "It can't be undone.", "reason": "Later readers need to see it."},
  {"do": "remember", "text": "Two shops were asked about.\nNeither is decided.", "tags": ["shops"],
   "reason": "The next note may be about it."},
  {"do": "send_message", "to": ["management"], "kind": "Decision", "subject": "Wait", "body": "Wait for the answer.",
   "confidence": 90, "reason": "Management plans the week today."},
  {"do": "send_message", "to": ["rd", "management"], "kind": "Decision", "subject": "Unsure", "body": "Perhaps.",
   "confidence": 60, "reason": "It is likely to be asked for."},
  {"do": "request_approval", "action": {"do": "send_message", "to": ["marketing"], "kind": "BudgetAllocation",
   "subject": "Money", "body": "For the shop.", "amount_usd": 300.0, "confidence": 80,
   "reason": "Marketing needs it next week."}, "confidence": 80, "reason": "Money is a human's yes."},
  {"do": "create_project", "title": "Second shop", "description": "One more.", "budget_usd": 100.0, "confidence": 90,
   "reason": "It was asked for."},
  {"do": "update_project", "id": "PROJECT", "status": "approved", "title": "The first shop", "confidence": 90,
   "reason": "It goes well enough."},
  {"do": "send_message", "to": ["management"], "kind": "BudgetAllocation", "subject": "For the first shop",
   "body": "Use it well.", "amount_usd": 50.0, "project": "PROJECT", "confidence": 90, "reason": "It has to be paid."},
  {"do": "ask_human", "question": "Which of the two shops?", "options": ["north", "south"],
   "unblocks": ["SECOND"], "reason": "Only the owner knows that."},
  {"do": "escalate", "id": "THIRD", "reason": "This is beyond the charter."},
  {"do": "mark_message", "id": "FIRST", "status": "actioned", "reason": "Everything is under way."}
]
```

NEXT_WORKER FIRST
"#;
