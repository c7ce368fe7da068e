//! The charter's limits: the number that is reached passes, the next is refused, and the refusal says the numbers.

use crate::office::{act, data, decision, delivered, done, ledger, names, note, office, refused_by, rule};
use crate::sandbox::Sandbox;
use serde_json::json;

const IN_THREAD: &str = "m-20261118-000000-aaaaaa";
const SECOND: &str = "m-20261118-000001-bbbbbb";
const AN_HOUR_LATER: &str = "2026-11-18T01:42:01Z";
const A_DAY_LATER: &str = "2026-11-19T00:42:01Z";

fn limited(limit: &str, shipped: u64, most: u64) -> Sandbox {
    rule(office(), "business", &format!("{limit} = {shipped}"), &format!("{limit} = {most}"))
}

#[test]
fn actions_per_step() {
    let sandbox = limited("actions_per_step", 12, 2);
    act(&sandbox, "business", &[note(), note()]);
    refused_by(
        &sandbox,
        &[note(), note(), note()],
        "actions_per_step",
        "3 actions in one answer; the most is 2",
    );
}

#[test]
fn actions_per_hour_and_the_hour_ends() {
    let sandbox = limited("actions_per_hour", 60, 3);
    act(&sandbox, "business", &[note(), note()]);
    refused_by(&sandbox, &[note(), note()], "actions_per_hour", "2 before and 2 now; the most is 3");
    act(&sandbox, "business", &[note()]);
    act(&sandbox.now(AN_HOUR_LATER), "business", &[note(), note()]);
}

#[test]
fn actions_per_day_and_the_day_ends() {
    let sandbox = limited("actions_per_day", 300, 2);
    act(&sandbox, "business", &[note(), note()]);
    let later = sandbox.now(AN_HOUR_LATER);
    refused_by(&later, &[note()], "actions_per_day", "2 before and 1 now; the most is 2");
    act(&later.now(A_DAY_LATER), "business", &[note()]);
}

#[test]
fn messages_per_hour() {
    let sandbox = limited("messages_per_hour", 30, 1);
    act(&sandbox, "business", &[decision(json!({})), note()]);
    let again = [decision(json!({}))];
    refused_by(&sandbox, &again, "messages_per_hour", "1 before and 1 now; the most is 1");
    assert_eq!(names(&sandbox, "org-management/inbox").len(), 1);
}

#[test]
fn messages_per_thread() {
    let sandbox = delivered(limited("messages_per_thread", 40, 2), IN_THREAD, "provenance: department\n");
    let send = || decision(json!({}));
    act(&sandbox, "business", &[send()]);
    let what = format!("1 before and 2 now in the thread {IN_THREAD}; the most is 2");
    refused_by(&sandbox, &[send(), send()], "messages_per_thread", &what);
    act(&sandbox, "business", &[send()]);
    refused_by(&sandbox, &[send()], "messages_per_thread", "2 before and 1 now");
    let other = delivered(sandbox, "m-20261117-000000-bbbbbb", "provenance: department\n");
    act(&other, "business", &[send()]);
}

/// However long ago: the whole thread counts.
#[test]
fn messages_per_thread_counts_from_the_threads_start() {
    let sandbox = delivered(limited("messages_per_thread", 40, 1), IN_THREAD, "provenance: department\n");
    act(&sandbox, "business", &[decision(json!({}))]);
    let later = sandbox.now("2026-12-30T00:42:01Z");
    refused_by(&later, &[decision(json!({}))], "messages_per_thread", "1 before and 1 now");
    let named = [decision(json!({"ref": IN_THREAD}))];
    refused_by(&later, &named, "messages_per_thread", "1 before and 1 now");
}

#[test]
fn a_thread_that_went_round_too_often_is_refused_and_escalated_once() {
    let sandbox = rule(office(), "business", "thread_hops = 12", "thread_hops = 3");
    let round =
        |hops: u64| format!("provenance: department\nthread: m-20261101-000000-zzzzzz\nhops: {hops}\n");
    let sandbox = delivered(sandbox, IN_THREAD, &round(2));
    act(&sandbox, "business", &[decision(json!({}))]);
    let sandbox =
        delivered(sandbox.without_file(&format!("org-business/inbox/{IN_THREAD}.md")), SECOND, &round(3));
    refused_by(&sandbox, &[decision(json!({}))], "thread_hops", "gone round 3 times, and the most is 3");
    let listed = data(&sandbox, &["escalations"])["escalations"].clone();
    assert_eq!((listed.as_array().unwrap().len(), &listed[0]["about"]), (1, &json!(SECOND)));
    assert!(sandbox.read(&format!("org-business/inbox/{SECOND}.md")).contains("waits_for: e-"));
    let sandbox = delivered(sandbox, "m-20261118-000002-cccccc", &round(4));
    refused_by(&sandbox, &[decision(json!({}))], "thread_hops", "gone round 4 times");
    assert_eq!(names(&sandbox, "org-business/escalations").len(), 1);
}

#[test]
fn naming_another_message_does_not_begin_a_thread_anew() {
    let sandbox = rule(office(), "business", "thread_hops = 12", "thread_hops = 3");
    let sandbox = delivered(sandbox, IN_THREAD, "provenance: department\nhops: 3\n");
    let sandbox = delivered(sandbox, SECOND, "provenance: department\n");
    refused_by(&sandbox, &[decision(json!({"ref": SECOND}))], "thread_hops", "the most is 3");
}

#[test]
fn steps_per_run() {
    let sandbox = limited("steps_per_run", 30, 1).message("business", "Note", "Hi", "Body");
    let run = sandbox.clone().reply("NEXT_WORKER MSGID").run(["run-loop", "business"]);
    run.status(3).any_stderr().stdout("business: refused (1 step, 0.01 USD): 1 steps in this run; the most is 1 (charter.toml [limits] steps_per_run)\n");
    assert_eq!(sandbox.calls().len(), 1);
}

#[test]
fn runs_per_hour_counts_those_that_asked() {
    let sandbox = limited("runs_per_hour", 30, 1);
    done(&sandbox, &["run-loop", "business"]);
    done(&sandbox, &["run-loop", "business"]);
    act(&sandbox, "business", &[note()]);
    let lines = ledger(&sandbox, "business").len();
    let run = sandbox.clone().run(["run-director", "business"]).status(3);
    run.stderr("error: 1 runs in the last hour; the most is 1 (charter.toml [limits] runs_per_hour)\nhint: wait, or change it in charter.toml: `harness charter show business`\n");
    assert_eq!((sandbox.calls().len(), ledger(&sandbox, "business").len()), (1, lines));
    act(&sandbox.now(AN_HOUR_LATER), "business", &[note()]);
}
