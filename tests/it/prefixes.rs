//! How much of two successive prompts of a role is the same: what providers' caches live on.
//!
//! The template's departments as `init` makes them, with mail as departments write it and nothing added: a few messages
//! and a full inbox, drained in a loop. The prompts are those that were asked.

use crate::sandbox::Sandbox;
use chrono::{TimeDelta, TimeZone, Utc};
use director_harness::domain::id::{Dept, IdKind, derived_id};
use director_harness::domain::message::{Draft, Provenance, render_message};
use serde_json::json;

/// The least share that two successive prompts have in common, in percent.
const LEAST: usize = 85;

/// A department: who writes to it in which kind, about what, and what its worker sends in return, to whom.
struct Desk {
    dept: &'static str,
    mail: &'static [(&'static str, &'static str, &'static str)],
    sends: (&'static str, &'static str),
}

const DESKS: [Desk; 5] = [
    Desk {
        dept: "business",
        mail: &[
            ("rd", "Proposal", "A weekly digest of open questions, as a pilot of two weeks"),
            ("marketing", "MarketSignal", "Customers of the second tier ask for an export"),
            ("management", "ProgressUpdate", "The import tool is late by a week"),
            ("technology", "PlatformUpdate", "The old login goes away at the end of the month"),
            ("marketing", "Campaign", "October in figures, and what they say"),
        ],
        sends: ("Decision", "management"),
    },
    Desk {
        dept: "rd",
        mail: &[
            ("marketing", "MarketSignal", "Three customers left over the price of seats"),
            ("business", "Decision", "Go ahead with the digest, two weeks, no new tool"),
            ("technology", "FeasibilityResponse", "A digest by mail takes three days"),
            ("technology", "PlatformUpdate", "Queues are kept for seven days instead of two"),
        ],
        sends: ("Proposal", "business"),
    },
    Desk {
        dept: "technology",
        mail: &[
            ("management", "BuildRequest", "An export of open questions to a table"),
            ("rd", "FeasibilityQuery", "Could a digest name who is waiting?"),
            ("management", "ProjectSpinout", "The import tool becomes a project of its own"),
        ],
        sends: ("Capability", "management"),
    },
    Desk {
        dept: "management",
        mail: &[
            ("business", "Decision", "The export comes before the digest"),
            ("technology", "Capability", "Exports can be made by the hour"),
            ("business", "Priority", "Nothing new until the import tool is out"),
            ("technology", "BuildRequestResponse", "The export takes five days, from Monday"),
            ("marketing", "MarketSignal", "Two large customers compare us with paper"),
        ],
        sends: ("BuildRequest", "technology"),
    },
    Desk {
        dept: "marketing",
        mail: &[
            ("management", "LaunchReady", "The export is ready for the second tier"),
            ("technology", "Capability", "Exports can be made by the hour"),
            ("management", "ProjectKickoff", "The digest starts on Monday with two people"),
        ],
        sends: ("MarketSignal", "business"),
    },
];

const BODIES: [&str; 3] = [
    "We looked at the last quarter and found that most of the questions come up again each week. It takes two weeks of \
     one person and no new tool.\n\nPlease say whether we go ahead, and by when you need it.\n",
    "It changes on the first of the month. Who still uses the old way was told twice; four have not answered, and their \
     names are in the table of last week.\n",
    "Five of the nine who were asked would pay for it, two would not, and two want to see it first. The notes of the \
     talks are with us. If this is to be in the plan of the next quarter, we need your word by Friday.\n",
];

impl Desk {
    /// The organisation with so many messages open, and an engine that handles one after the other.
    fn with_mail(&self, count: usize) -> Sandbox {
        let start = Utc.with_ymd_and_hms(2026, 11, 16, 8, 3, 20).unwrap();
        let mut sandbox = Sandbox::new().apart().organisation();
        for number in 0..count {
            let (from, kind, subject) = self.mail[number % self.mail.len()];
            let created = start + TimeDelta::minutes(37 * i64::try_from(number).unwrap());
            let again = if number < self.mail.len() { String::new() } else { format!(" ({number})") };
            let id = derived_id(IdKind::Message, created, &number.to_string());
            let draft = Draft {
                id: id.clone(),
                from: from.to_string(),
                to: vec![Dept::parse(self.dept).unwrap()],
                kind: kind.to_string(),
                subject: format!("{subject}{again}"),
                body: BODIES[number % BODIES.len()].to_string(),
                amount_usd: None,
                project: None,
                directive: None,
                reference: None,
                thread: None,
                hops: 0,
                provenance: Provenance::Department,
                vouched: None,
                created,
            };
            sandbox = sandbox.file(&format!("org-{}/inbox/{id}.md", self.dept), &render_message(&draft));
        }
        let answers = sandbox.dir().join("answers");
        let (kind, to) = self.sends;
        let actions = json!([
            {"do": "send_message", "to": [to], "kind": kind, "subject": "What we make of it, and what is next",
             "body": "We take it up, and you hear from us on Friday.", "confidence": 85, "reason": "They wait for our word"},
            {"do": "mark_message", "id": "{{ message_id }}", "status": "actioned", "reason": "It is answered"}
        ]);
        let acts = format!("It is within our mandate.\n\n```actions {{{{ nonce }}}}\n{actions:#}\n```\n");
        let chooses = "The oldest comes first.\n\nNEXT_WORKER {{ message_id }}\n";
        crate::sandbox::write(&answers.join("orchestrator.txt"), chooses.as_bytes());
        crate::sandbox::write(&answers.join("worker.txt"), acts.as_bytes());
        let engine = format!("\n[engines.played]\npreset = \"script\"\nfolder = {answers:?}\n");
        let settings = sandbox.read(".harness/org.toml") + &engine;
        sandbox.file(".harness/org.toml", &settings)
    }

    /// The prompts that a loop of so many iterations asked, by role.
    fn asked(&self, sandbox: &Sandbox, iterations: usize) -> [Vec<String>; 2] {
        let most = iterations.to_string();
        let args = ["run-loop", self.dept, "--engine", "played", "--max-iterations", &most];
        let (status, stdout, stderr) = sandbox.start(&args).finish().parts();
        assert!([0, 11].contains(&status), "{stdout}{stderr}");
        let steps = sandbox.ledger(self.dept).into_iter().filter(|line| line["line"] == "step");
        let mut prompts = [Vec::new(), Vec::new()];
        for step in steps {
            let asked = format!("{}.{}.md", step["run"].as_str().unwrap(), step["step"]);
            let role = usize::from(step["role"] == "worker");
            prompts[role].push(sandbox.read(&format!("org-{}/.harness/asked/{asked}", self.dept)));
        }
        assert_eq!(prompts.each_ref().map(Vec::len), [iterations; 2]);
        prompts
    }
}

fn common(a: &str, b: &str) -> usize {
    a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count()
}

#[track_caller]
fn check(desk: &Desk, open: usize, iterations: usize) {
    let prompts = desk.asked(&desk.with_mail(open), iterations);
    for (role, prompts) in ["orchestrator", "worker"].iter().zip(prompts) {
        for (number, pair) in prompts.windows(2).enumerate() {
            let share = common(&pair[0], &pair[1]) * 100 / pair[1].len();
            assert!(share >= LEAST, "{role} of {}, {open} open, prompt {number}: {share} %", desk.dept);
        }
    }
}

#[test]
fn of_a_few_messages() {
    DESKS.iter().for_each(|desk| check(desk, 5, 5));
}

/// Fourteen iterations: by then all of the recent decisions that a prompt shows are there.
#[test]
fn of_a_full_inbox() {
    DESKS.iter().for_each(|desk| check(desk, 30, 14));
}

/// Every open message can be named by who decides, and is told once where there are many.
#[test]
fn who_decides_sees_every_open_message() {
    let desk = &DESKS[0];
    let sandbox = desk.with_mail(30);
    let prompts = desk.asked(&sandbox, 2);
    let history = |prompt: &str| {
        let (_, after) = prompt.split_once("\n## History\n").unwrap();
        after.split_once("\n## ").unwrap().0.to_string()
    };
    let inbox = |prompt: &str| prompt.split_once("\n## Inbox\n").unwrap().1.to_string();
    let ids: Vec<String> =
        sandbox.ledger(desk.dept)[0]["history"].as_array().unwrap().iter().map(told).collect();
    assert_eq!(ids.len(), 30, "the first step writes down what came");
    for id in &ids {
        assert_eq!(history(&prompts[0][0]).matches(&format!(" received {id} ")).count(), 1, "{id}");
        assert_eq!(inbox(&prompts[0][0]).matches(&format!("- {id} ")).count(), 1, "{id}");
    }
    let second = &prompts[0][1];
    assert_eq!(history(second).matches(" received m-").count(), 30, "once is enough");
    assert!(!inbox(second).contains(&format!("- {} ", ids[0])), "what was handled is open no more");
}

fn told(entry: &serde_json::Value) -> String {
    entry[1].as_str().unwrap().split(' ').nth(2).unwrap().to_string()
}

/// Where the history shows too little to tell of mail, the inbox tells it whole, as it does external subjects.
#[test]
fn what_the_history_can_not_show_stands_in_the_inbox() {
    let desk = &DESKS[0];
    let sandbox = desk.with_mail(6);
    let small = sandbox.read(".harness/org.toml") + "[live_state]\nhistory_entries = 32\n";
    let sandbox = sandbox.file("org-business/inbox/zz-dropped.md", "# From outside\n\nHello.\n");
    let prompt = |sandbox: &Sandbox, role: &str| {
        sandbox.start(&["prompt", "business", "--role", role]).finish().any_stderr().take_stdout()
    };
    let inbox = |prompt: &str| prompt.split_once("\n## Inbox\n").unwrap().1.to_string();
    let (decides, acts) = (prompt(&sandbox, "orchestrator"), prompt(&sandbox, "worker"));
    assert_eq!(inbox(&decides).matches(" from marketing: Customers").count(), 1, "{decides}");
    assert_eq!(inbox(&decides).matches(": October in figures").count(), 0, "{decides}");
    assert!(inbox(&decides).contains(" from file: From outside\n"), "{decides}");
    assert!(!acts.contains("From outside") && acts.contains(" from file: [external]\n"), "{acts}");
    let whole = prompt(&sandbox.file(".harness/org.toml", &small), "orchestrator");
    assert_eq!(inbox(&whole).matches(": October in figures").count(), 1, "{whole}");
    assert_eq!(whole.matches(" received m-").count(), 0, "{whole}");
}
