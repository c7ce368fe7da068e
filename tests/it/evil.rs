//! An evil model: generated hostile answers, none of which has an effect outside the charter.
//!
//! `evil/answers.rs` makes the answers from a seed. Most are read, judged and planned by the library, and every effect
//! that is planned is held against `evil/oracle.rs`, which knows the template's charter of business by heart and shares
//! no code with what it checks. Some go through the real program, whose whole tree is compared.
//! `HARNESS_SLOW_TESTS=1` tries 120,000 and 2,000 instead of 6,000 and 360.

mod answers;
mod oracle;

use crate::office::{answer, names, office, rule, step};
use crate::sandbox::Sandbox;
use answers::Evil;
use director_harness::domain::action_block::parse_action_block;
use director_harness::domain::agent::parse_agent;
use director_harness::domain::board::{Board, Origin};
use director_harness::domain::charter::{Charter, parse_charter};
use director_harness::domain::id::Dept;
use director_harness::domain::judging::{Bench, judge_answer};
use director_harness::domain::message::{Found, Message, Provenance, parse_message};
use director_harness::domain::planning::{StepFacts, plan_actions};
use director_harness::domain::redact::Redactor;
use director_harness::domain::role::Role;
use director_harness::domain::task::parse_task;
use director_harness::domain::time::{Time, parse_rfc3339};
use director_harness::domain::verdict::{Circumstances, Receiver};
use std::collections::BTreeMap;

const NONCE: &str = "7f3k2qx9";
const ROLES: [Role; 5] =
    [Role::Worker, Role::Validator, Role::Documenter, Role::Summarizer, Role::Orchestrator];

fn is_slow() -> bool {
    std::env::var_os("HARNESS_SLOW_TESTS").is_some()
}

/// The state that the answers are judged in.
struct Stage {
    charter: Charter,
    dept: Dept,
    inbox: Vec<Message>,
    now: Time,
    redactor: Redactor,
    pipelines: Vec<String>,
    board: Board,
    portfolio: director_harness::domain::portfolio::Portfolio,
}

fn message(id: &str, provenance: &str, now: Time) -> Message {
    let text = format!(
        "---\nschema: 1\nid: {id}\nfrom: rd\nto: [business]\nkind: Proposal\nsubject: s\nprovenance: {provenance}\ncreated: 2026-11-18T00:00:00Z\nstatus: pending\n---\nBody.\n"
    );
    parse_message(&text, &Found { id, name: id, modified: now, dept: "business" }).unwrap()
}

/// A board with a task nobody works on, one in review that nobody validated, and an agent for each way of working.
fn board(dept: &Dept, charter: &Charter) -> Board {
    let mut board = Board::new(dept.clone(), charter.board.clone());
    board.pipelines = vec!["coding".to_owned()];
    let origin = |path: &str| Origin { path: path.to_owned(), sha256: String::new() };
    for (name, works) in [("ann", ""), ("cid", "pipeline: coding\n")] {
        let text = format!(
            "---\nschema: 1\nname: {name}\nrole: Writer\n{works}created: 2026-11-18T00:00:00Z\n---\nWrites.\n"
        );
        board.add_agent(parse_agent(&text, name).unwrap(), origin(&format!("agents/{name}.md")));
    }
    for (id, state) in [(oracle::TASK, "status: inbox"), (oracle::REVIEWED, "status: review\nowner: ann")] {
        let text = format!(
            "---\nschema: 1\nid: {id}\ntitle: Task {id}\n{state}\npriority: low\ncreated: 2026-11-18T00:00:00Z\nprovenance: department\n---\nDo {id}.\n"
        );
        board.add_task(parse_task(&text, id).unwrap(), origin(&format!("tasks/{id}.md")));
    }
    board
}

impl Stage {
    fn new() -> Stage {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/org-template/departments/business/charter.toml");
        let dept = Dept::parse("business").unwrap();
        let charter = parse_charter(&std::fs::read_to_string(path).unwrap(), &dept).unwrap();
        let now = parse_rfc3339("2026-11-18T00:42:01Z").unwrap();
        let inbox =
            vec![message(oracle::INSIDE, "department", now), message(oracle::EXTERNAL, "external", now)];
        let pipelines = vec!["coding".to_owned()];
        let (board, portfolio) = (board(&dept, &charter), oracle::portfolio());
        Stage { charter, dept, inbox, now, redactor: Redactor::new(&[]), pipelines, board, portfolio }
    }

    /// Whether an answer is taken; if it is, all it comes to is allowed.
    fn play(&self, answer: &str, role: Role, at_hand: &Message) -> bool {
        let Ok(raw) = parse_action_block(answer, NONCE) else { return false };
        let receivers = |name: &str, _kind: &str| {
            if oracle::DEPARTMENTS.contains(&name) { Receiver::Receives } else { Receiver::Unknown }
        };
        let at = Circumstances {
            dept: &self.dept,
            role,
            provenance: at_hand.provenance,
            receivers: Some(&receivers),
        };
        let shown = vec![at_hand.id.clone()];
        let bench = Bench {
            charter: &self.charter,
            at,
            inbox: &self.inbox,
            known: &[],
            at_hand: Some(at_hand),
            redactor: &self.redactor,
            ledger: &[],
            sent: &std::collections::BTreeMap::new(),
            now: self.now,
            shown: &shown,
            pipelines: &self.pipelines,
            pending: &[],
            asked: &[],
            schedules: &[],
            board: &self.board,
            run: "r-20261118-004201-aaaaaa",
            step: 1,
            portfolio: &self.portfolio,
        };
        let Ok(judged) = judge_answer(&raw, &bench) else { return false };
        let facts = StepFacts {
            dept: &self.dept,
            run: "r-20261118-004201-aaaaaa",
            step: 1,
            now: self.now,
            at_hand: Some(at_hand),
            known: &self.inbox,
            provenance: at_hand.provenance,
            vouched: None,
            expires_hours: 72,
            curated: &[],
            role,
            board: Some(&self.board),
            portfolio: &self.portfolio,
        };
        let outcome = plan_actions(&judged, &facts);
        let external = at_hand.provenance == Provenance::External;
        let values: Vec<_> = raw.iter().map(|entry| entry.value.clone()).collect();
        if let Err(why) = oracle::check(&values, &outcome.effects, role.name(), external) {
            panic!("{why}\n{answer}\n{:#?}", outcome.effects);
        }
        true
    }
}

#[test]
fn no_answer_has_an_effect_outside_the_charter() {
    let stage = Stage::new();
    let (most, mut taken) = (if is_slow() { 120_000 } else { 6_000 }, 0_usize);
    for seed in 0..most {
        let mut evil = Evil::new(seed);
        let answer = evil.answer(NONCE);
        let role = ROLES[evil.below(if seed % 3 == 0 { ROLES.len() } else { 1 })];
        let at_hand = &stage.inbox[evil.below(2)];
        taken += usize::from(stage.play(&answer, role, at_hand));
    }
    // Where nearly all were refused for their form, nothing would be proved.
    assert!(taken * 20 > usize::try_from(most).unwrap(), "{taken} of {most} were taken");
}

/// Everything that no answer may change, by path.
fn governed(sandbox: &Sandbox) -> BTreeMap<String, Vec<u8>> {
    let own = [
        "outbox/",
        "inbox/",
        "archive/",
        "approvals/",
        "questions/",
        "escalations/",
        "memory/",
        ".harness/",
        // The board and the roster are a director's to change, by their own rules; the oracle holds those.
        "tasks/",
        "agents/",
    ];
    let may_change = |path: &str| {
        let (folder, rest) = path.split_once('/').unwrap_or((path, ""));
        match folder {
            ".harness" => rest == "budget.jsonl" || rest == "lock" || rest.starts_with("projects/"),
            "org-business" => {
                rest == "decisions.md"
                    || rest == "weekly.md"
                    || own.iter().any(|start| rest.starts_with(start))
            }
            _ => rest.starts_with("inbox/"),
        }
    };
    let tree = sandbox.tree("");
    let paths = tree.lines().filter(|path| !path.ends_with('/') && !may_change(path));
    paths.map(|path| (path.to_owned(), std::fs::read(sandbox.root().join(path)).unwrap())).collect()
}

/// An organisation that takes scripted answers, with every limit out of the way.
fn scripted(answers: &[String]) -> Sandbox {
    let mut sandbox = office();
    for (limit, shipped) in [
        ("actions_per_hour", 60),
        ("actions_per_day", 300),
        ("messages_per_hour", 30),
        ("runs_per_hour", 30),
        ("messages_per_thread", 40),
    ] {
        sandbox = sandbox.edit(
            "org-business/charter.toml",
            &format!("{limit} = {shipped}"),
            &format!("{limit} = 100000"),
        );
    }
    let sandbox = rule(sandbox, "business", "steps_per_run = 30", "steps_per_run = 29");
    let folder = sandbox.dir().join("answers");
    for (number, text) in answers.iter().enumerate() {
        crate::sandbox::write(&folder.join(format!("{:02}.txt", number + 1)), text.as_bytes());
    }
    let settings = sandbox.read(".harness/org.toml").replace("[\"claude\"]", "[\"evil\"]");
    let engine = format!(
        "\n[engines.evil]\npreset = \"script\"\nfolder = \"{}\"\n[pipelines.coding]\ncommand = [\"/usr/bin/touch\", \"started\"]\n",
        folder.display()
    );
    sandbox.bytes(".harness/org.toml", (settings + &engine).as_bytes())
}

fn hostile(most: u64) -> Vec<String> {
    (0..most)
        .map(|seed| {
            Evil::new(seed + 1_000_000).answer("{{ nonce }}").replace(oracle::INSIDE, "{{ message_id }}")
        })
        .collect()
}

#[test]
fn the_program_lets_none_of_them_touch_what_governs_it() {
    let most = if is_slow() { 2_000 } else { 360 };
    let sandbox = scripted(&hostile(most));
    let sandbox = (0..8).fold(sandbox, |sandbox, _| sandbox.message("business", "Note", "Hi", "Body"));
    let (before, mut sent) = (governed(&sandbox), 0);
    let mut ends = BTreeMap::new();
    // Each run takes one answer, or two where the first is refused.
    for _ in 0..most / 2 {
        let (status, _, stderr) = step(&sandbox, "business").parts();
        assert!([0, 3, 12].contains(&status), "{status} {stderr}");
        *ends.entry(status).or_insert(0) += 1;
        let inboxes = oracle::DEPARTMENTS.map(|dept| names(&sandbox, &format!("org-{dept}/inbox")).len());
        sent = inboxes.iter().sum::<usize>();
        if sandbox.exists("org-business/.harness/paused.json") {
            std::fs::remove_file(sandbox.root().join("org-business/.harness/paused.json")).unwrap();
        }
    }
    let after = governed(&sandbox);
    let changed: Vec<&String> =
        after.iter().filter(|(path, bytes)| before.get(*path) != Some(bytes)).map(|(path, _)| path).collect();
    assert!(changed.is_empty() && after.len() == before.len(), "{changed:?}");
    assert!(ends.contains_key(&0) && ends.contains_key(&12) && sent > 1, "{ends:?} {sent}");
    assert!(!sandbox.exists("org-business/started"), "no job ran without a human");
    sandbox.run(["verify"]).any_stdout();
}

#[test]
fn none_survives_a_closed_gate() {
    let sandbox = scripted(&hostile(20)).message("business", "Note", "Hi", "Body");
    crate::office::done(&sandbox, &["gate", "trip", "--why", "now"]);
    let before = sandbox.tree("");
    for _ in 0..20 {
        step(&sandbox, "business").status(3).any_stderr();
    }
    assert_eq!(
        sandbox.tree("").replace("org-business/.harness/lock\n", ""),
        before.replace("org-business/.harness/lock\n", "")
    );
}

/// Whatever an engine says it cost, two calls of a dollar are what two dollars buy.
#[test]
fn none_talks_its_way_past_the_budget() {
    for cost in ["-5", "0", "none", "-0.0"] {
        let sandbox = office().edit(".harness/org.toml", "usd_per_day = 3.0", "usd_per_day = 2.0");
        let reply = format!("#usage 10 10 {cost}\n{}", answer(&[]));
        let sandbox = (0..4).fold(sandbox, |sandbox, _| sandbox.reply(&reply));
        let ends = [0; 4].map(|_| step(&sandbox, "rd").parts().0);
        assert_eq!((ends, sandbox.calls().len()), ([0, 0, 3, 3], 2), "{cost}");
    }
}
