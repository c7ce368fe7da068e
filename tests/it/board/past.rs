//! What a board keeps of its past, and what that still refuses: earlier assignments, the archive, projects that are not.

use super::{add, desk, no, task};
use crate::office::answer;
use crate::office::{act, action, data, done, names, refused};
use crate::sandbox::Sandbox;
use serde_json::json;

/// A task that was done by ann.
fn finished(sandbox: &Sandbox, title: &str, more: &[&str]) -> String {
    let id = add(sandbox, title, &[more, &["--owner", "ann"]].concat());
    done(sandbox, &["task", "move", &id, "review"]);
    done(sandbox, &["task", "move", &id, "done", "--vouch"]);
    id
}

#[test]
fn an_assignment_is_worked_on_once() {
    let sandbox =
        desk().edit(".harness/org.toml", "engine = [\"rules\", \"claude\"]", "engine = [\"claude\"]");
    done(
        &sandbox,
        &["agent", "add", "rd", "eve", "--role", "Thinker", "--purpose", "Thinks.", "--engine", "claude"],
    );
    let id = add(&sandbox, "Alpha", &["--owner", "eve"]);
    done(&sandbox, &["task", "move", &id, "inbox"]);
    done(&sandbox, &["task", "assign", &id, "eve"]);
    assert_eq!(names(&sandbox, "org-rd/.harness/jobs").len(), 2);
    sandbox.clone().reply("It is forty-two.").run(["run-loop", "rd"]).any_stdout().any_stderr();
    let shown = task(&sandbox, &id);
    assert_eq!(shown["status"], "review");
    assert_eq!(sandbox.calls().iter().filter(|call| call.stdin.contains("You are eve")).count(), 1);
    let said = shown["comments"].to_string();
    assert!(said.contains("forty-two") && said.contains("no longer this agent's"), "{said}");
}

#[test]
fn a_pipelines_assignment_is_worked_on_once() {
    let sandbox =
        desk().edit(".harness/org.toml", "engine = [\"rules\", \"claude\"]", "engine = [\"claude\"]");
    let settings = sandbox.read(".harness/org.toml")
        + "\n[pipelines.coding]\ncommand = [\"/bin/echo\", \"built {task}\"]\n";
    let sandbox = sandbox.bytes(".harness/org.toml", settings.as_bytes());
    done(
        &sandbox,
        &["agent", "add", "rd", "cid", "--role", "Builder", "--purpose", "Builds.", "--pipeline", "coding"],
    );
    let id = add(&sandbox, "Alpha", &["--owner", "cid"]);
    done(&sandbox, &["task", "move", &id, "inbox"]);
    done(&sandbox, &["task", "assign", &id, "cid"]);
    sandbox.clone().reply("DONE").run(["run-loop", "rd"]).any_stdout().any_stderr();
    let said = task(&sandbox, &id)["comments"].to_string();
    assert_eq!(said.matches("built t-").count(), 1, "{said}");
}

#[test]
fn a_way_round_through_the_archive_is_seen() {
    let sandbox = desk();
    let first = finished(&sandbox, "Alpha", &[]);
    let second = finished(&sandbox, "Beta", &["--depends-on", &first]);
    let third = finished(&sandbox, "Gamma", &["--depends-on", &second]);
    done(&sandbox, &["task", "move", &first, "inbox"]);
    let way = no(&sandbox, &["task", "depend", &first, "--on", &third], "cycle");
    assert!(way.contains(&format!("{first} -> {third} -> {second} -> {first}")), "{way}");
    // The director sees it too: `third` is on its board, named by another task, and `second` is not.
    add(&sandbox, "Delta", &["--depends-on", &third]);
    let turn = action("depend_task", json!({"id": first, "on": third}));
    let office =
        sandbox.edit(".harness/org.toml", "engine = [\"rules\", \"claude\"]", "engine = [\"claude\"]");
    assert_eq!(refused(&office, "rd", &[turn])[0].0, "cycle");
}

/// No deed makes a way round in the archive, but somebody's edit may: it does not come back to the board.
#[test]
fn what_waits_for_itself_in_the_archive_is_not_reopened() {
    let sandbox = desk();
    let first = finished(&sandbox, "Alpha", &[]);
    let second = finished(&sandbox, "Beta", &["--depends-on", &first]);
    let third = finished(&sandbox, "Gamma", &["--depends-on", &second]);
    let turned = format!("priority: medium\ndepends_on: [{third}]\n");
    let path = format!("org-rd/archive/tasks/2026-11/{first}.md");
    let sandbox = sandbox.edit(&path, "priority: medium\n", &turned);
    let way = no(&sandbox, &["task", "move", &first, "inbox"], "cycle");
    assert!(way.contains(&format!("{first} -> {third} -> {second} -> {first}")), "{way}");
    assert!(names(&sandbox, "org-rd/tasks").is_empty());
}

#[test]
fn a_task_belongs_to_a_project_that_is_there() {
    let sandbox =
        desk().edit(".harness/org.toml", "engine = [\"rules\", \"claude\"]", "engine = [\"claude\"]");
    let line = ["task", "add", "rd", "--title", "Alpha", "--description", "Words.", "--project", "nosuch"];
    let run = sandbox.start(&[&line[..], &["--json"]].concat()).finish().status(1);
    assert_eq!(run.json()["error"]["code"], "no_project");
    let create = |project: &str| {
        action(
            "create_task",
            json!({"title": "Alpha", "description": "Words.", "priority": "low", "project": project, "confidence": 90}),
        )
    };
    assert_eq!(refused(&sandbox, "rd", &[create("nosuch")])[0].0, "unknown_project");
    act(&sandbox, "rd", &[create("platform")]);
    let id = data(&sandbox, &["task", "list", "rd"])["tasks"][0]["id"].as_str().unwrap().to_string();
    let update = action("update_task", json!({"id": id, "project": "nosuch", "confidence": 90}));
    assert_eq!(refused(&sandbox, "rd", &[update])[0].0, "unknown_project");
}

#[test]
fn a_task_is_validated_by_hand() {
    let sandbox =
        desk().edit(".harness/org.toml", "engine = [\"rules\", \"claude\"]", "engine = [\"claude\"]");
    let id = add(&sandbox, "Alpha", &["--owner", "ann"]);
    done(&sandbox, &["task", "move", &id, "review"]);
    let seen = json!({"id": id, "verdict": "pass", "evidence": format!("{id} says it.")});
    let short = &id[id.len() - 6..];
    let line = ["run-director", "rd", "--role", "validator", "--message", short];
    sandbox.clone().reply(&answer(&[action("validate", seen)])).run(line).any_stdout().any_stderr();
    assert_eq!(task(&sandbox, &id)["verdict"], "pass");
    assert!(done(&sandbox, &["prompt", "rd", "--role", "validator", "--message", short]).contains(&id));
}

#[test]
fn who_is_named_in_a_task_sees_it() {
    let sandbox = desk();
    let id = add(&sandbox, "Alpha", &[]);
    done(&sandbox, &["task", "comment", &id, "@bob have a look"]);
    let shown = done(&sandbox, &["agent", "show", "rd", "bob"]);
    assert!(shown.contains("Mentioned in") && shown.contains(&id), "{shown}");
    no(&sandbox, &["task", "comment", &id, "Hm.", "--as", "nobody"], "unknown_agent");
}

#[test]
fn equal_titles_and_file_names_are_near_twins() {
    let sandbox = desk();
    add(&sandbox, "Launch", &[]);
    let line = |title: &'static str, text: &'static str| {
        ["task", "add", "rd", "--title", title, "--description", text]
    };
    no(&sandbox, &line("launch!", "Other words."), "near_twin");
    done(&sandbox, &line("Alpha", "Mend README.md."));
    no(&sandbox, &line("Beta", "Write the README.md anew"), "near_twin");
    let refused = sandbox.start(&line("Beta", "Write the README.md anew")).finish().status(3).any_stdout();
    let (_, _, stderr) = refused.any_stderr().parts();
    assert!(stderr.contains("`--not-twin-of`"), "{stderr}");
}

#[test]
fn memory_takes_no_secret() {
    let sandbox = desk();
    let key = ["sk", "-ant-", "api03-0123456789abcdefghijABCDEFGHIJ0123456789abcdefghij"].concat();
    let text = format!("The key is {key}.");
    no(&sandbox, &["memory", "add", "rd", "--tag", "keys", "--text", &text], "secret");
    done(&sandbox, &["memory", "add", "rd", "--tag", "keys", "--text", "The key is in the safe."]);
}
