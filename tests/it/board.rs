//! The board and the roster by a person's commands: every rule that a person can meet, and what is on disk afterwards.

mod actions;
mod intake;
mod past;

use crate::office::{data, done, names};
use crate::sandbox::Sandbox;
use serde_json::Value;

const LATER: &str = "2026-11-18T02:00:00Z";

/// rd, with two agents: ann is a person, bob is worked for by the rules.
pub fn desk() -> Sandbox {
    let sandbox = Sandbox::new().apart().organisation();
    done(&sandbox, &["agent", "add", "rd", "ann", "--role", "User Researcher", "--purpose", "Asks users."]);
    done(
        &sandbox,
        &["agent", "add", "rd", "bob", "--role", "Writer", "--purpose", "Writes.", "--engine", "rules"],
    );
    sandbox
}

/// A new task of rd; its id.
#[track_caller]
pub fn add(sandbox: &Sandbox, title: &str, more: &[&str]) -> String {
    let base = ["task", "add", "rd", "--title", title, "--description", &format!("Do: {title}")];
    done(sandbox, &[&base[..], more].concat()).trim().to_string()
}

#[track_caller]
fn no(sandbox: &Sandbox, args: &[&str], code: &str) -> String {
    let run = sandbox.start(&[args, &["--json"]].concat()).finish().status(3);
    let error = run.json()["error"].clone();
    assert_eq!(error["code"], code, "{error}");
    error["message"].as_str().unwrap().to_string()
}

fn task(sandbox: &Sandbox, id: &str) -> Value {
    data(sandbox, &["task", "show", id])
}

#[test]
fn a_task_goes_from_inbox_to_the_archive() {
    let sandbox = desk();
    let id = add(&sandbox, "Ask users", &["--priority", "high"]);
    let short = &id[id.len() - 6..];
    done(&sandbox, &["task", "assign", short, "ann"]);
    no(&sandbox, &["task", "move", short, "done"], "bad_move");
    done(&sandbox, &["task", "comment", short, "--section", "Progress", "--as", "ann", "Half of it."]);
    done(&sandbox, &["task", "move", short, "review", "--as", "ann"]);
    no(&sandbox, &["task", "move", short, "done"], "needs_validation");
    done(&sandbox, &["task", "move", short, "done", "--vouch", "--why", "It is right."]);
    assert!(names(&sandbox, "org-rd/tasks").is_empty());
    assert_eq!(names(&sandbox, "org-rd/archive/tasks/2026-11"), [format!("{id}.md")]);
    let shown = task(&sandbox, &id);
    assert_eq!(
        (&shown["status"], &shown["owner"], &shown["verdict"]),
        (&"done".into(), &"ann".into(), &"pass".into())
    );
    let said: Vec<&str> =
        shown["comments"].as_array().unwrap().iter().map(|one| one["text"].as_str().unwrap()).collect();
    assert_eq!(said, ["Half of it.", "It is right."]);
    assert_eq!(shown["provenance"], "human");
    assert!(done(&sandbox, &["task", "list", "rd", "--all"]).contains("DONE (1)"));
    assert!(done(&sandbox, &["task", "list", "rd"]).contains("No task is there."));
    assert!(done(&sandbox, &["verify"]).contains("passed"));
}

#[test]
fn reopening_sends_back_what_rests_on_it() {
    let sandbox = desk();
    let first = add(&sandbox, "Ask users", &[]);
    let second = add(&sandbox, "Sum up", &["--depends-on", &first]);
    assert!(no(&sandbox, &["task", "assign", &second, "ann"], "blocked").contains(&first));
    let message = no(&sandbox, &["task", "depend", &first, "--on", &second], "cycle");
    assert!(message.contains(&format!("{first} -> {second} -> {first}")), "{message}");
    for args in [["assign", "ann"], ["move", "review"]] {
        done(&sandbox, &["task", args[0], &first, args[1]]);
    }
    done(&sandbox, &["task", "move", &first, "done", "--vouch"]);
    done(&sandbox, &["task", "assign", &second, "ann"]);
    done(&sandbox, &["task", "move", &first, "inbox", "--why", "one is missing"]);
    let back = task(&sandbox, &second);
    assert_eq!(
        (&back["status"], &back["owner"], &back["blocked"]),
        (&"inbox".into(), &Value::Null, &true.into())
    );
    assert_eq!(names(&sandbox, "org-rd/tasks").len(), 2);
    assert!(names(&sandbox, "org-rd/archive/tasks/2026-11").is_empty());
}

#[test]
fn twins_owners_and_names_are_refused() {
    let sandbox = desk();
    let id = add(&sandbox, "Ask ten users", &[]);
    let again = ["task", "add", "rd", "--title", "ask ten USERS", "--description", "do ask ten users"];
    assert!(no(&sandbox, &again, "twin").contains(&id));
    let near = ["task", "add", "rd", "--title", "Ask ten buyers", "--description", "Other words."];
    assert!(no(&sandbox, &near, "near_twin").contains(&id));
    done(&sandbox, &[&near[..], &["--not-twin-of", &id[id.len() - 6..]]].concat());
    for name in ["lead", "director", "rd"] {
        no(&sandbox, &["task", "assign", &id, name], "not_an_owner");
    }
    no(&sandbox, &["task", "assign", &id, "eve"], "unknown_agent");
    no(&sandbox, &["agent", "add", "rd", "ann", "--role", "Writer", "--purpose", "P."], "agent_taken");
    no(&sandbox, &["agent", "add", "rd", "cid", "--role", "writer", "--purpose", "P."], "role_case");
    no(
        &sandbox,
        &["agent", "add", "rd", "cid", "--role", "Writer", "--purpose", "P.", "--engine", "gpt"],
        "unknown_engine",
    );
    no(
        &sandbox,
        &["agent", "add", "rd", "cid", "--role", "Writer", "--purpose", "P.", "--pipeline", "x"],
        "unknown_pipeline",
    );
    for name in ["c", "d", "e", "f", "g", "h"] {
        done(&sandbox, &["agent", "add", "rd", name, "--role", "Writer", "--purpose", "P."]);
    }
    no(&sandbox, &["agent", "add", "rd", "i", "--role", "Writer", "--purpose", "P."], "agents_max");
    done(&sandbox, &["agent", "retire", "rd", "h", "--why", "left"]);
    done(&sandbox, &["agent", "add", "rd", "i", "--role", "Writer", "--purpose", "P."]);
    no(&sandbox, &["agent", "add", "rd", "h", "--role", "Writer", "--purpose", "P."], "agent_taken");
}

#[test]
fn a_nudge_waits_for_its_time() {
    let sandbox = desk();
    let id = add(&sandbox, "Ask users", &["--owner", "ann"]);
    no(&sandbox, &["task", "nudge", &id, "well?"], "too_soon");
    let later = sandbox.clone().now(LATER);
    done(&later, &["task", "nudge", &id, "well?"]);
    no(&later, &["task", "nudge", &id, "well?"], "nudge_grace");
    assert_eq!(data(&later, &["agent", "show", "rd", "ann"])["mentioned_in"][0], id);
}

#[test]
fn a_dry_run_touches_nothing_and_a_refusal_leaves_no_trace() {
    let sandbox = desk();
    let id = add(&sandbox, "Ask users", &[]);
    let before = sandbox.everything();
    for args in [
        &["task", "assign", &id, "bob", "--dry-run"][..],
        &["task", "add", "rd", "--title", "Other", "--description", "Words.", "--dry-run"],
        &["task", "comment", &id, "Hm.", "--dry-run"],
        &["agent", "retire", "rd", "ann", "--why", "x", "--dry-run"],
    ] {
        assert!(done(&sandbox, args).starts_with("Would be: "));
        assert!(sandbox.everything() == before, "{args:?}");
    }
    no(&sandbox, &["task", "move", &id, "done"], "bad_move");
    assert!(sandbox.everything() == before);
}

#[test]
fn the_board_filters_and_names_what_it_cannot_read() {
    let sandbox = desk();
    let first = add(&sandbox, "Ask users", &["--priority", "high", "--owner", "ann"]);
    let second = add(&sandbox, "Sum up", &["--depends-on", &first, "--priority", "low"]);
    let ids = |args: &[&str]| {
        let tasks = data(&sandbox, &[&["task", "list"], args].concat())["tasks"].clone();
        tasks
            .as_array()
            .unwrap()
            .iter()
            .map(|task| task["id"].as_str().unwrap().to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(ids(&[]), [first.clone(), second.clone()]);
    assert_eq!(ids(&["--blocked"]), std::slice::from_ref(&second));
    assert_eq!(ids(&["--owner", "ann"]), std::slice::from_ref(&first));
    assert_eq!(ids(&["--status", "in_progress"]), std::slice::from_ref(&first));
    assert_eq!(ids(&["--priority", "low"]), std::slice::from_ref(&second));
    assert_eq!(ids(&["business"]), Vec::<String>::new());
    let sandbox = sandbox.file("org-rd/tasks/t-x.md", "---\nschema: 2\nid: t-x\n---\n");
    let (_, stdout, stderr) = sandbox.clone().run(["task", "list", "rd"]).parts();
    assert!(
        stdout.contains("Ask users") && stderr.contains("tasks/t-x.md can't be taken: its schema is 2"),
        "{stderr}"
    );
}

#[test]
fn the_board_is_the_humans_to_change() {
    let sandbox = desk();
    let id = add(&sandbox, "Ask users", &[]);
    let inside = sandbox.env("HARNESS_RUN", "r-1");
    no(&inside, &["task", "assign", &id, "ann"], "inside_run");
    no(&inside, &["agent", "retire", "rd", "ann", "--why", "x"], "inside_run");
    assert_eq!(task(&inside, &id)["status"], "inbox");
}

#[test]
fn a_due_date_is_still_to_come() {
    let sandbox = desk();
    let base = ["task", "add", "rd", "--title", "Ask", "--description", "Ask them.", "--due"];
    let due = |due: &'static str| [&base[..], &[due]].concat();
    for past in ["2026-11-17", "2026-11-18T00:42:00Z"] {
        assert!(no(&sandbox, &due(past), "past_due").contains("has passed"));
    }
    sandbox.start(&due("soon")).finish().status(2).any_stderr();
    let id = done(&sandbox, &due("2026-11-18")).trim().to_string();
    assert_eq!(task(&sandbox, &id)["due"], "2026-11-18T23:59:59Z", "a date lasts until its end");
}

/// The columns are counted at a glance, and the document by reading every file: they must agree.
#[test]
fn a_glance_counts_what_the_document_holds() {
    let sandbox = desk();
    let done_before = add(&sandbox, "Alpha", &["--owner", "ann"]);
    done(&sandbox, &["task", "move", &done_before, "review", "--as", "ann"]);
    done(&sandbox, &["task", "move", &done_before, "done", "--vouch", "--why", "It is right."]);
    let open = add(&sandbox, "Beta", &["--priority", "high"]);
    add(&sandbox, "Gamma", &["--depends-on", &open]);
    add(&sandbox, "Delta", &["--depends-on", &done_before, "--priority", "low"]);
    add(&sandbox, "Epsilon", &["--depends-on", &format!("{done_before},{open}"), "--priority", "low"]);
    add(&sandbox, "Zeta", &["--owner", "ann", "--priority", "low"]);
    // By hand: quoted, and waiting for what is nowhere.
    let text = "---\nschema: 1\nid: t-x\ntitle: Eta\nstatus: \"inbox\"\npriority: low\ndepends_on: [\"t-nowhere\"]\ncreated: 2026-11-18T00:00:00Z\n---\nHm.\n";
    let sandbox = sandbox.file("org-rd/tasks/t-x.md", text);
    for filter in [
        &[][..],
        &["--blocked"],
        &["--owner", "ann"],
        &["--owner", "bob"],
        &["--priority", "low"],
        &["--blocked", "--priority", "low"],
        &["--priority", "high", "--status", "inbox"],
    ] {
        let args = [&["task", "list", "rd"], filter].concat();
        let listed = data(&sandbox, &args)["tasks"].as_array().unwrap().clone();
        let of = |status: &str| listed.iter().filter(|task| task["status"] == status).count();
        let text = done(&sandbox, &args);
        match listed.is_empty() {
            true => assert!(text.contains("No task is there."), "{filter:?}: {text}"),
            false => assert!(text.contains(&format!("INBOX ({})", of("inbox"))), "{filter:?}: {text}"),
        }
        let shown = |task: &Value| text.contains(task["title"].as_str().unwrap());
        assert!(listed.iter().all(shown), "{filter:?}: {text}");
    }
    let blocked = data(&sandbox, &["task", "list", "rd", "--blocked"])["tasks"].as_array().unwrap().len();
    assert_eq!(blocked, 3);
}
