//! Directives: they arrive once, hold their work while they are paused, cost no more than they may, and leave a trail.

use crate::office::{act, data, decision, done, names, note, office, step};
use crate::sandbox::Sandbox;
use serde_json::json;

const IDLE: &str = "#usage 100 10 0.5\nNothing is to be done.\n\n```actions NONCE\n[]\n```\n";

/// An office with a directive; its id.
pub fn directed(options: &[&str]) -> (Sandbox, String) {
    let sandbox = office();
    let id = add(&sandbox, options);
    (sandbox, id)
}

pub fn add(sandbox: &Sandbox, options: &[&str]) -> String {
    let line = ["directive", "add", "--title", "Grow", "--body", "Open a second shop."];
    let stdout = done(sandbox, &[&line, options].concat());
    let id = stdout.strip_suffix('\n').unwrap().to_owned();
    assert!(id.starts_with("d-") && !id.contains(char::is_whitespace), "the id alone: {stdout}");
    id
}

fn message_of(sandbox: &Sandbox, id: &str) -> String {
    data(sandbox, &["directive", "show", id])["message"].as_str().unwrap().to_owned()
}

/// One step about a message: its status, and all that was said.
fn worker(sandbox: &Sandbox, message: &str) -> (i32, String) {
    let line = ["run-director", "business", "--role", "worker", "--message", message];
    let (status, stdout, stderr) = sandbox.start(&line).finish().parts();
    (status, stdout + &stderr)
}

fn stop(sandbox: &Sandbox, verb: &str, id: &str) {
    done(sandbox, &["directive", verb, id, "--why", "the human says so"]);
}

#[test]
fn one_is_added_and_arrives_at_business() {
    let (sandbox, id) = directed(&["--priority", "high", "--deadline", "2026-12-24", "--budget-usd", "50"]);
    let listed = data(&sandbox, &["directive", "list"])["directives"][0].clone();
    assert_eq!((&listed["id"], &listed["status"]), (&json!(id), &json!("open")));
    assert_eq!((&listed["priority"], &listed["deadline"]), (&json!("high"), &json!("2026-12-24")));
    assert_eq!((&listed["budget_usd"], &listed["spent_usd"]), (&json!(50.0), &json!(0.0)));
    let mail = data(&sandbox, &["inbox", "business"])["messages"][0].clone();
    assert_eq!((&mail["kind"], &mail["directive"]), (&json!("Directive"), &json!(id)));
    let message = done(&sandbox, &["message", "show", mail["id"].as_str().unwrap()]);
    assert!(message.contains("Open a second shop.\n\nPriority: high. Deadline: 2026-12-24. Budget: 50 USD."));
    let prompt = done(&sandbox, &["prompt", "business"]);
    assert!(
        prompt.contains(&format!("- {id} directive open, high, due 2026-12-24, 0.00 of 50 USD spent: Grow"))
    );
    sandbox.run(["verify"]).any_stdout();
}

/// Where there is little room the title stands beneath, and of the deadline only the day.
#[test]
fn the_list_fits() {
    let deadline = "2026-12-24T08:00:00Z";
    let options = ["--priority", "medium", "--deadline", deadline, "--budget-usd", "5000"];
    let (sandbox, id) = directed(&options);
    stop(&sandbox, "complete", &id);
    for (columns, lines, day) in [("80", 3, "2026-12-24"), ("120", 2, deadline)] {
        let args = ["directive", "list", "--all"];
        let text = sandbox.clone().env("COLUMNS", columns).start(&args).finish().take_stdout();
        assert_eq!(text.lines().count(), lines, "{text}");
        let most: usize = columns.parse().unwrap();
        assert!(text.lines().all(|line| line.chars().count() <= most), "{columns}: {text}");
        let parts = [id.as_str(), "completed", "medium", &format!(" {day} "), "0.00 of 5000", "Grow"];
        assert!(parts.iter().all(|part| text.contains(part)), "{text}");
    }
}

#[test]
fn what_can_not_be_one_is_refused() {
    let sandbox = office();
    for (options, status) in [
        (vec!["--deadline", "soon"], 2),
        (vec!["--budget-usd", "-1"], 2),
        (vec!["--budget-usd", "NaN"], 2),
        (vec!["--priority", "urgent"], 2),
        (vec!["--title", "again"], 2),
    ] {
        let line = ["directive", "add", "--title", "Grow", "--body", "More."];
        let run = sandbox.start(&[&line[..], &options].concat()).finish();
        assert_eq!(run.parts().0, status, "{options:?}");
    }
    for title in ["", " ", "two\nlines"] {
        let run = sandbox.start(&["directive", "add", "--title", title, "--body", "More."]).finish();
        assert_eq!(run.parts().0, 2, "{title:?}");
    }
    assert!(names(&sandbox, ".harness/directives").is_empty());
    let inside = sandbox.clone().env("HARNESS_RUN", "r-1");
    for line in
        [vec!["directive", "add", "--title", "a", "--body", "b"], vec!["project", "add", "--title", "a"]]
    {
        assert_eq!(inside.start(&line).finish().parts().0, 3, "{line:?}");
    }
}

#[test]
fn nothing_is_written_by_a_dry_run() {
    let (sandbox, id) = directed(&[]);
    let before = sandbox.everything();
    for line in [
        vec!["directive", "add", "--title", "Grow", "--body", "More.", "--dry-run"],
        vec!["directive", "pause", &id, "--why", "so", "--dry-run"],
        vec!["project", "add", "--title", "Shop", "--dry-run"],
        vec!["project", "update", "platform", "--status", "paused", "--why", "so", "--dry-run"],
    ] {
        done(&sandbox, &line);
        assert!(sandbox.everything() == before, "{line:?}");
    }
}

#[test]
fn its_work_is_held_while_it_is_paused_or_cancelled() {
    for verb in ["pause", "cancel"] {
        let (sandbox, id) = directed(&[]);
        let message = message_of(&sandbox, &id);
        stop(&sandbox, verb, &id);
        let (status, stdout, _) = sandbox.start(&["run-loop", "business"]).finish().parts();
        assert!(status == 0 && stdout.contains(&format!("the directive {id} is")), "{status} {stdout}");
        let (status, stderr) = worker(&sandbox, &message);
        assert!(status == 3 && stderr.contains("its work is held"), "{status} {stderr}");
        assert!(sandbox.calls().is_empty(), "nobody was asked");
        stop(&sandbox, "resume", &id);
        assert_eq!(worker(&sandbox.clone().reply(IDLE), &message).0, 0);
        assert_eq!(sandbox.calls().len(), 1);
    }
}

#[test]
fn the_mail_of_its_projects_is_held_too() {
    let (sandbox, id) = directed(&[]);
    let project =
        done(&sandbox, &["project", "add", "--title", "Shop", "--directive", &id]).trim().to_owned();
    let line =
        ["send", "--to", "rd", "--kind", "Note", "--subject", "s", "--body", "b", "--project", &project];
    let note = done(&sandbox, &line).trim().to_owned();
    let rd = || {
        let line = ["run-director", "rd", "--role", "worker", "--message", &note];
        sandbox.clone().reply(IDLE).start(&line).finish().parts().0
    };
    stop(&sandbox, "pause", &id);
    assert_eq!(rd(), 3);
    stop(&sandbox, "resume", &id);
    assert_eq!(rd(), 0);
    done(&sandbox, &["project", "update", &project, "--status", "paused", "--why", "so"]);
    assert_eq!(rd(), 3, "a project holds its own");
}

#[test]
fn what_can_not_be_read_holds_its_work() {
    let (sandbox, id) = directed(&[]);
    let message = message_of(&sandbox, &id);
    let path = format!(".harness/directives/{id}.md");
    let sandbox = sandbox.edit(&path, "status: open", "status: opne");
    let (status, stderr) = worker(&sandbox, &message);
    assert!(status == 3 && stderr.contains("can't be read"), "{status} {stderr}");
    let run = sandbox.start(&["directive", "list"]).finish();
    assert!(run.parts().2.contains("can't be read, and its work is held"));
}

/// What it may cost in all is refused at its number, in each unit, and 80 % are said once.
#[test]
fn it_costs_no_more_than_it_may() {
    for (options, word) in [
        (["--budget-usd", "0.99"], "budget_usd"),
        (["--budget-tokens", "10"], "budget_tokens"),
        (["--budget-runs", "0"], "budget_runs"),
    ] {
        let (sandbox, id) = directed(&options);
        let (status, stderr) = worker(&sandbox, &message_of(&sandbox, &id));
        assert_eq!(status, 3, "{stderr}");
        assert!(stderr.contains(&format!("{word} of directive {id} is {}", options[1])), "{stderr}");
        assert!(sandbox.calls().is_empty());
    }
    let (sandbox, id) = directed(&["--budget-usd", "1.0"]);
    let message = message_of(&sandbox, &id);
    let (status, stderr) = worker(&sandbox.clone().reply(IDLE), &message);
    assert!(
        status == 0 && stderr.contains(&format!("100 % of budget_usd of directive {id} are used")),
        "{stderr}"
    );
    let shown = data(&sandbox, &["directive", "show", &id]);
    assert_eq!((&shown["cost_usd"], &shown["spent_usd"]), (&json!(0.5), &json!(0.5)));
    let (status, stderr) = worker(&sandbox, &message);
    assert!(status == 3 && stderr.contains("0.50 spent"), "{stderr}");
    let rows = data(&sandbox, &["budget"])["limits"].as_array().unwrap().clone();
    let row = rows.iter().find(|row| row["scope"] == format!("directive {id}").as_str()).unwrap();
    assert_eq!(
        (&row["limit"], &row["spent"], &row["left"]),
        (&json!("budget_usd"), &json!(0.5), &json!(0.5))
    );
}

#[test]
fn a_project_s_cost_is_its_directive_s_too() {
    let (sandbox, id) = directed(&[]);
    let project =
        done(&sandbox, &["project", "add", "--title", "Shop", "--directive", &id]).trim().to_owned();
    let line = [
        "send",
        "--to",
        "business",
        "--kind",
        "Note",
        "--subject",
        "s",
        "--body",
        "b",
        "--project",
        &project,
    ];
    let note = done(&sandbox, &line).trim().to_owned();
    assert_eq!(worker(&sandbox.clone().reply(IDLE), &note).0, 0);
    let of = |what: &str, id: &str| data(&sandbox, &[what, "show", id])["spent_usd"].clone();
    assert_eq!((of("project", &project), of("directive", &id)), (json!(0.5), json!(0.5)));
}

#[test]
fn the_whole_trail_is_shown() {
    let (sandbox, id) = directed(&["--budget-usd", "50"]);
    let message = message_of(&sandbox, &id);
    act(&sandbox, "business", &[decision(json!({})), note()]);
    done(&sandbox, &["project", "add", "--title", "Shop", "--directive", &id]);
    stop(&sandbox, "pause", &id);
    let shown = data(&sandbox, &["directive", "show", &id]);
    let messages = shown["messages"].as_array().unwrap();
    let mut kinds: Vec<&str> = messages.iter().map(|one| one["kind"].as_str().unwrap()).collect();
    kinds.sort();
    assert_eq!(kinds, ["Decision", "Directive"], "what it led to carries its id");
    assert_eq!(shown["projects"][0]["title"], "Shop");
    assert_eq!(
        (&shown["runs"][0]["dept"], &shown["runs"][0]["outcome"]),
        (&json!("business"), &json!("done"))
    );
    assert_eq!((&shown["run_count"], &shown["status"]), (&json!(1), &json!("paused")));
    let told = shown["timeline"].as_array().unwrap();
    let told: Vec<&str> = told.iter().map(|one| one["what"].as_str().unwrap()).collect();
    for part in [
        format!("directive add by user: {id} open: Grow"),
        format!("directive by user: {id} paused: the human says so"),
        format!("{message} Directive from user to business: Grow"),
        "user: proposed: by hand".to_owned(),
        "of business, 1 steps about it".to_owned(),
    ] {
        assert!(told.iter().any(|one| one.contains(&part)), "{part}: {told:#?}");
    }
    let text = done(&sandbox, &["directive", "show", &id]);
    assert!(text.contains("Open a second shop.") && text.contains("of 50 USD spent"), "{text}");
}

/// Killed anywhere, the directive is there or not; and once it is there, it arrives, once.
#[test]
fn one_that_was_killed_on_its_way_arrives_once() {
    for death in ["die-before", "die-torn", "die-after"] {
        for number in 1.. {
            let sandbox = Sandbox::new().organisation();
            let args = ["directive", "add", "--title", "Grow", "--body", "More."];
            let run = sandbox.clone().env("HARNESS_TEST_FAULT", format!("{death}:{number}"));
            let status = run.start(&args).finish().parts().0;
            if status == 0 {
                assert!(number > 6, "{death} was never reached");
                break;
            }
            let count = names(&sandbox, ".harness/directives").len();
            let run = sandbox.start(&["run-loop", "business", "--engine", "rules"]).finish();
            assert_eq!(run.parts().0, 0, "{death}:{number}");
            sandbox.start(&["run-loop", "business", "--engine", "rules"]).finish().parts();
            let got = names(&sandbox, "org-business/archive/inbox/2026-11").len();
            assert_eq!(got, count, "{death}:{number}");
        }
    }
}

#[test]
fn a_move_says_how_to_undo_it_and_twice_is_fine() {
    let (sandbox, id) = directed(&[]);
    let end = &id[id.len() - 6..];
    let said = done(&sandbox, &["directive", "complete", end, "--why", "it is done"]);
    assert_eq!(
        said,
        format!("{id} is completed; it was open. To undo: harness directive resume {id} --why ...\n")
    );
    let said = done(&sandbox, &["directive", "complete", end, "--why", "it is done"]);
    assert_eq!(said, format!("{id} is completed already.\n"));
    assert_eq!(data(&sandbox, &["directive", "list"])["directives"], json!([]));
    assert_eq!(data(&sandbox, &["directive", "list", "--all"])["directives"][0]["status_why"], "it is done");
    let audit = sandbox.read(".harness/audit.jsonl");
    assert!(audit.contains(&format!("{id} completed: it is done")));
    assert_eq!(step(&sandbox.clone().reply(IDLE), "business").any_stdout().any_stderr().parts().0, 0);
}

/// The work is on boards and in jobs: a trail without them tells half of it.
#[test]
fn the_trail_has_tasks_and_what_agents_did() {
    let sandbox = Sandbox::new().apart().organisation();
    let add = ["directive", "add", "--title", "Weekly mail", "--body", "Mail them."];
    let id = done(&sandbox, &add).trim().to_string();
    for dept in ["business", "management", "technology", "management", "management"] {
        sandbox.start(&["run-loop", dept, "--engine", "rules"]).finish().any_stdout().any_stderr();
    }
    let shown = data(&sandbox, &["directive", "show", &id]);
    let project = shown["projects"][0]["id"].as_str().unwrap().to_string();
    assert_eq!(shown["projects"][0]["status"], "in_progress");
    let tasks = shown["tasks"].as_array().unwrap();
    let titles: Vec<&str> = tasks.iter().map(|task| task["title"].as_str().unwrap()).collect();
    assert_eq!(titles.len(), 3, "{titles:?}");
    assert!(tasks.iter().all(|task| task["project"] == project.as_str() && task["dept"] == "management"));
    let runs = shown["runs"].as_array().unwrap();
    let agents: Vec<&str> = runs.iter().filter_map(|run| run["agent"].as_str()).collect();
    assert!(agents.contains(&"planner") && agents.contains(&"writer"), "{runs:#?}");
    let told = shown["timeline"].as_array().unwrap();
    let told: Vec<&str> = told.iter().map(|one| one["what"].as_str().unwrap()).collect();
    for part in [
        "made in management by director: Conditions: Weekly mail",
        "Evidence by writer: The work ended: done.",
        "Evidence by validator: Verdict: pass.",
        "done: Conditions: Weekly mail",
        "assign_task t-",
        "writer at t-",
        "status approved -> in_progress",
    ] {
        assert!(told.iter().any(|one| one.contains(part)), "{part}: {told:#?}");
    }
    let first = told.iter().position(|one| one.contains("Directive from user")).unwrap();
    assert!(told.iter().skip(first).any(|one| one.contains("Decision from business")), "{told:#?}");
    // A ledger of an earlier version doesn't say what a job was for; the board does.
    let file = "org-management/.harness/runs.jsonl";
    let older: String = sandbox
        .read(file)
        .lines()
        .map(|line| {
            let mut line: serde_json::Value = serde_json::from_str(line).unwrap();
            let fields = line.as_object_mut().unwrap();
            if fields["line"] == "run" {
                fields.retain(|key, _| !["agent", "task", "project"].contains(&key.as_str()));
            }
            format!("{line}\n")
        })
        .collect();
    let sandbox = sandbox.bytes(file, older.as_bytes());
    let again = data(&sandbox, &["directive", "show", &id]);
    assert_eq!(again["runs"].as_array().unwrap().len(), runs.len());
    let of_project = data(&sandbox, &["project", "show", &project]);
    assert_eq!(of_project["tasks"].as_array().unwrap().len(), 3);
    let text = done(&sandbox, &["directive", "show", &id]);
    assert!(text.contains("TASK") && text.contains("Order: Weekly mail"), "{text}");
}

#[test]
fn a_deadline_that_has_passed_is_refused() {
    let sandbox = Sandbox::new().organisation();
    let add = |deadline: &str| {
        let args = ["directive", "add", "--title", "Grow", "--body", "More.", "--deadline", deadline];
        sandbox.start(&args).finish().parts()
    };
    for past in ["2026-11-17", "2020-01-01", "2026-11-18T00:00:00Z"] {
        let (status, _, stderr) = add(past);
        assert!(
            status == 2 && stderr.contains("has passed") && stderr.contains("hint: "),
            "{past}: {stderr}"
        );
    }
    assert!(names(&sandbox, ".harness/directives").is_empty());
    assert_eq!(add("2026-11-18").0, 0, "today is not over");
}

/// A person's letter is dated to the microsecond and an answer to the second: the letter comes first all the same.
#[test]
fn a_trail_begins_with_what_led_to_the_rest() {
    let sandbox = office().now("2026-11-18T00:42:01.7Z");
    let id = add(&sandbox, &[]);
    let letter = message_of(&sandbox, &id);
    act(&sandbox, "business", &[decision(json!({"directive": id, "ref": letter}))]);
    let shown = data(&sandbox, &["directive", "show", &id]);
    let kinds: Vec<&str> =
        shown["messages"].as_array().unwrap().iter().map(|one| one["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["Directive", "Decision"], "{shown:#}");
}

#[test]
fn a_queued_job_waits_while_it_is_paused() {
    let (sandbox, id) = directed(&[]);
    let pipeline = "\n[pipelines.touch]\ncommand = [\"/usr/bin/touch\", \"touched\"]\n";
    let settings = sandbox.read(".harness/org.toml") + pipeline;
    let job = json!({"schema": 1, "id": "j-20261118-004201-aaaaaa", "pipeline": "touch", "args": {}, "task": null,
        "project": null, "directive": id, "run": "r-20261118-004201-aaaaaa", "created": "2026-11-18T00:42:01Z",
        "provenance": "department"});
    let sandbox = sandbox.bytes(".harness/org.toml", settings.as_bytes());
    let path = "org-rd/.harness/jobs/j-20261118-004201-aaaaaa.json";
    let sandbox = sandbox.bytes(path, job.to_string().as_bytes());
    stop(&sandbox, "pause", &id);
    let stderr = sandbox.start(&["run-loop", "rd"]).finish().any_stdout().parts().2;
    assert!(stderr.contains(&format!("stays queued: the directive {id} is paused")), "{stderr}");
    assert!(!sandbox.exists("org-rd/touched"));
    stop(&sandbox, "resume", &id);
    done(&sandbox, &["run-loop", "rd"]);
    assert!(sandbox.exists("org-rd/touched"));
}
