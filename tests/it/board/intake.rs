//! Goal intake: asked once, filed, and not asked of those who know.

use crate::office::{data, done, names};
use crate::sandbox::Sandbox;

fn run(sandbox: &Sandbox) -> String {
    sandbox.start(&["run-loop", "support", "--engine", "rules"]).finish().parts().2
}

/// The open question about a field.
fn question(sandbox: &Sandbox, words: &str) -> String {
    let open = data(sandbox, &["questions"])["questions"].clone();
    let found = open.as_array().unwrap().iter().find(|one| one["text"].as_str().unwrap().contains(words));
    found.expect(words)["id"].as_str().unwrap().to_string()
}

#[test]
fn a_department_without_an_objective_asks_once_and_files_the_answers() {
    let sandbox = Sandbox::new().apart().dept("support");
    assert!(run(&sandbox).contains("support has no objective and asks 5 questions"));
    assert_eq!(names(&sandbox, "org-support/questions").len(), 5);
    let asked = data(&sandbox, &["questions"])["questions"].to_string();
    let order = ["in one sentence", "How will you see", "By when", "Who is support", "never do"];
    assert!(order.map(|words| asked.find(words)).is_sorted(), "{asked}");
    let listed = done(&sandbox, &["questions"]);
    let first = data(&sandbox, &["questions"])["questions"][0]["text"].as_str().unwrap().to_string();
    assert!(first.len() > 60 && listed.contains(&first), "a person reads all of it: {listed}");
    assert!(!run(&sandbox).contains("asks"));
    assert_eq!(names(&sandbox, "org-support/questions").len(), 5);
    for (words, answer) in [
        ("in one sentence", "Answer everybody within a day."),
        ("How will you see", "median below 8 hours; nobody waits two days"),
        ("By when", "2027-03-31"),
        ("Who is support there for", "People who are stuck."),
    ] {
        done(&sandbox, &["questions", "answer", &question(&sandbox, words), answer]);
    }
    let goal = sandbox.read("org-support/goal.toml");
    assert!(goal.contains("objective = \"Answer everybody within a day.\"\n"), "{goal}");
    assert!(
        goal.contains("  \"nobody waits two days\",\n") && goal.contains("target_date = \"2027-03-31\""),
        "{goal}"
    );
    assert!(goal.contains("# What support is for"), "{goal}");
    let memory = sandbox.read("org-support/memory/2026-11-18.md");
    assert!(memory.contains("[intake] human") && memory.contains("People who are stuck."), "{memory}");
    assert!(names(&sandbox, "org-support/inbox").is_empty());
    // The last answer starts the work: one message tells the director.
    done(&sandbox, &["questions", "answer", &question(&sandbox, "never do"), "Promise a date."]);
    let mail = names(&sandbox, "org-support/inbox");
    assert_eq!(mail.len(), 1);
    let letter = sandbox.read(&format!("org-support/inbox/{}", mail[0]));
    assert!(letter.contains("kind: System") && letter.contains("the goal intake is complete"), "{letter}");
    assert!(done(&sandbox, &["prompt", "support"]).contains("Answer everybody within a day."));
    assert!(!run(&sandbox).contains("asks"));
    assert!(done(&sandbox, &["verify"]).contains("passed"));
}

#[test]
fn the_templates_five_know_what_they_are_for() {
    let sandbox = Sandbox::new().apart().organisation();
    for dept in ["business", "rd", "technology", "management", "marketing"] {
        sandbox.start(&["run-loop", dept, "--engine", "rules"]).finish().any_stdout().any_stderr();
        assert!(names(&sandbox, &format!("org-{dept}/questions")).is_empty(), "{dept}");
    }
}

/// What is in it is somebody's words: named, and neither worked by, asked for again nor written over.
#[test]
fn a_goal_that_can_not_be_read_stops_the_department_and_stays_as_it_is() {
    for broken in ["objective = [", "schema = 9\n", "schema = 1\nobjektive = \"x\"\n"] {
        let sandbox = Sandbox::new().apart().dept("support");
        run(&sandbox);
        let asked = question(&sandbox, "in one sentence");
        let sandbox = sandbox.bytes("org-support/goal.toml", broken.as_bytes());
        let sandbox = sandbox.message("support", "Note", "Hi", "Body");
        for args in [&["run-loop", "support"][..], &["run-director", "support"]] {
            let run = sandbox.start(&[args, &["--engine", "rules", "--json"]].concat()).finish().status(3);
            let error = run.any_stderr().json()["error"].clone();
            assert_eq!(error["code"], "goal_unusable", "{error}");
            assert!(error["message"].as_str().unwrap().contains("goal.toml"), "{error}");
            assert!(error["hints"][0].as_str().unwrap().contains("org-support/goal.toml"), "{error}");
        }
        let (_, health, _) = sandbox.start(&["health"]).finish().parts();
        assert!(health.contains("support is blocked") && health.contains("goal.toml"), "{health}");
        sandbox.start(&["questions", "answer", &asked, "Be there."]).finish().parts();
        assert_eq!(sandbox.read("org-support/goal.toml"), broken);
        assert_eq!(names(&sandbox, "org-support/questions").len(), 5, "and nothing more is asked");
        // Put right, it takes the answer that waited.
        let sandbox = sandbox.bytes("org-support/goal.toml", b"schema = 1\n");
        run(&sandbox);
        assert!(sandbox.read("org-support/goal.toml").contains("objective = \"Be there.\""));
    }
}

#[test]
fn a_target_date_that_has_passed_is_refused() {
    let sandbox = Sandbox::new().apart().dept("support");
    run(&sandbox);
    let asked = question(&sandbox, "By when");
    let (status, _, stderr) = sandbox.start(&["questions", "answer", &asked, "2020-01-01"]).finish().parts();
    assert!(status == 2 && stderr.contains("2020-01-01 has passed"), "{stderr}");
    done(&sandbox, &["questions", "answer", &asked, "when everybody has heard of it"]);
    assert!(sandbox.read("org-support/goal.toml").contains("when everybody has heard of it"));
}
