//! What the rules of a playbook say and the tool refuses: another engine is asked, else the human, and nothing behind
//! it waits.

use crate::office::{answer, data, done, ledger, names, only};
use crate::sandbox::Sandbox;
use serde_json::{Value, json};

/// One rule for notes: it sends what the charter of business does not let it send.
const WRONG: &str = r#"schema = 1

[[rule]]
name = "wrong"
decision = "NEXT_WORKER"
why = "It once was right to do so."
[rule.when]
subject = "wrong*"
[[rule.actions]]
do = "send_message"
to = ["marketing"]
kind = "Order"
subject = "Do it"
body = "Now."
confidence = 90
reason = "It once was right to do so."

[[rule]]
name = "right"
decision = "NEXT_WORKER"
why = "Notes are put away."
[rule.when]
kind = "Note"
[[rule.actions]]
do = "mark_message"
id = "{{ message.id }}"
status = "archived"
reason = "A note, and nothing is asked."
"#;

/// An organisation whose business has the rules above and two notes, the wrong one first.
fn stuck(engines: &str) -> Sandbox {
    let sandbox = Sandbox::new()
        .apart()
        .organisation()
        .edit(".harness/org.toml", "engine = [\"rules\", \"claude\"]", engines)
        .file("org-business/playbook.toml", WRONG);
    done(&sandbox, &["charter", "accept", "business"]);
    sandbox.message("business", "Note", "Wrong one", "Hi.").message("business", "Note", "Another", "Ho.")
}

fn open(sandbox: &Sandbox) -> Vec<Value> {
    data(sandbox, &["inbox", "business"])["messages"].as_array().unwrap().clone()
}

/// The rules would say the same again: the human hears of it, and what came later is handled in the same run.
#[test]
fn what_a_rule_may_not_do_is_the_humans_and_the_rest_goes_on() {
    let sandbox = stuck("engine = [\"rules\"]");
    sandbox.start(&["run-loop", "business"]).finish().status(0).any_stdout().any_stderr();
    let open = open(&sandbox);
    assert_eq!((open.len(), &open[0]["subject"]), (1, &json!("Wrong one")), "{open:?}");
    let escalation = names(&sandbox, "org-business/escalations");
    assert_eq!(escalation.len(), 1);
    let told = sandbox.read(&format!("org-business/escalations/{}", escalation[0]));
    assert!(told.contains("kind_not_sent") && told.contains("no other engine can be asked"), "{told}");
    let step =
        ledger(&sandbox, "business").into_iter().find(|line| !line["first_refusals"][0].is_null()).unwrap();
    assert_eq!(
        (&step["outcome"], &step["first_refusals"][0]["code"]),
        (&json!("ok"), &json!("kind_not_sent"))
    );
    assert!(done(&sandbox, &["status"]).contains("kind_not_sent"), "the human sees it");
    let listed = done(&sandbox, &["escalations"]);
    assert!(
        listed.contains("kind_not_sent")
            && listed.contains(&format!("about {}", open[0]["id"].as_str().unwrap())),
        "{listed}"
    );
}

/// An engine that is only listed puts nothing right: it is as if there were none.
#[test]
fn where_the_next_engine_is_not_installed_the_human_hears_of_it_too() {
    let sandbox = stuck("engine = [\"rules\", \"claude\"]").without_engine("claude");
    sandbox.start(&["run-loop", "business"]).finish().status(0).any_stdout().any_stderr();
    let open = open(&sandbox);
    assert_eq!((open.len(), &open[0]["subject"]), (1, &json!("Wrong one")), "{open:?}");
    let told = sandbox.read(&format!("org-business/escalations/{}.md", only(&sandbox, "escalations")));
    assert!(told.contains("kind_not_sent") && told.contains("no other engine can be asked"), "{told}");
    assert!(told.contains(open[0]["id"].as_str().unwrap()), "{told}");
}

/// The next engine of the list gets the refusal, as it would its own.
#[test]
fn the_next_engine_puts_right_what_a_rule_may_not_do() {
    let sandbox = stuck("engine = [\"rules\", \"claude\"]");
    let mark =
        json!({"do": "mark_message", "id": sandbox.sent(0), "status": "actioned", "reason": "it is done so"});
    let sandbox = sandbox.reply(&answer(&[mark]));
    sandbox.start(&["run-loop", "business"]).finish().status(0).any_stdout().any_stderr();
    assert!(open(&sandbox).is_empty());
    let calls = sandbox.calls();
    assert_eq!(calls.len(), 1, "what the rules can do they do for nothing");
    assert!(calls[0].stdin.contains("kind_not_sent") && calls[0].stdin.contains("was refused"));
}

/// An hour later the same answer may stand: nobody is paid or asked for what passes by itself.
#[test]
fn what_passes_with_time_is_left_to_the_rules() {
    let sandbox = stuck("engine = [\"rules\", \"claude\"]")
        .edit("org-business/playbook.toml", "subject = \"wrong*\"", "subject = \"nothing*\"")
        .edit("org-business/charter.toml", "actions_per_hour = 60", "actions_per_hour = 1");
    done(&sandbox, &["charter", "accept", "business"]);
    sandbox.start(&["run-loop", "business"]).finish().status(12).any_stdout().any_stderr();
    assert_eq!((open(&sandbox).len(), sandbox.calls().len()), (1, 0));
    assert!(names(&sandbox, "org-business/escalations").is_empty());
}

/// The template's rules make tasks for each decision, however alike the titles; the board is told which are alike.
#[test]
fn two_directives_with_alike_titles_become_two_projects() {
    let sandbox = Sandbox::new().apart().organisation().edit(
        ".harness/org.toml",
        "engine = [\"rules\", \"claude\"]",
        "engine = [\"rules\"]",
    );
    for who in ["users", "partners", "users"] {
        let title = format!("A weekly digest for {who}");
        done(&sandbox, &["directive", "add", "--title", &title, "--body", "Mail them a digest."]);
    }
    for dept in ["business", "management"] {
        let run = sandbox.start(&["run-loop", dept, "--max-iterations", "40"]).finish();
        run.status(0).any_stdout().any_stderr();
    }
    let tasks = data(&sandbox, &["task", "list", "management", "--all"])["tasks"].as_array().unwrap().clone();
    let of = |title: &str| tasks.iter().filter(|task| task["title"] == title).count();
    for word in ["Conditions", "Page", "Order"] {
        let title = |who: &str| format!("{word}: A weekly digest for {who}");
        assert_eq!((of(&title("users")), of(&title("partners"))), (2, 1), "{tasks:?}");
    }
    assert_eq!(data(&sandbox, &["inbox", "management"])["messages"], json!([]));
    let projects = data(&sandbox, &["project", "list"])["projects"].as_array().unwrap().len();
    assert_eq!(projects, 5, "three, and the two that are always there");
}
