//! Past answers by the rules of today: `replay`, `replay --prompt` and `charter test`.

use crate::office::{data, done};
use crate::sandbox::Sandbox;

fn worked() -> (Sandbox, String) {
    let sandbox =
        Sandbox::new().organisation().message("business", "Directive", "Grow", "Open a second shop.");
    let sandbox = sandbox.run(["run-loop", "business", "--engine", "rules"]).any_stdout().any_stderr().then();
    let run = last_run(&sandbox);
    (sandbox, run)
}

fn last_run(sandbox: &Sandbox) -> String {
    let ledger = sandbox.read("org-business/.harness/runs.jsonl");
    let line: serde_json::Value = serde_json::from_str(ledger.lines().last().unwrap()).unwrap();
    line["run"].as_str().unwrap().to_owned()
}

fn forbid_priority(sandbox: Sandbox) -> Sandbox {
    sandbox.edit("org-business/charter.toml", "Priority = [\"management\"]", "Priority = [\"rd\"]")
}

#[test]
fn the_same_rules_give_the_same_run() {
    let (sandbox, run) = worked();
    let before = sandbox.tree("");
    let replayed = data(&sandbox, &["replay", &run]);
    assert_eq!(replayed["different"], 0);
    assert_eq!(replayed["steps"].as_array().unwrap().len(), 2);
    assert_eq!(replayed["totals"]["actions"], 4);
    assert_eq!(sandbox.tree(""), before, "nothing real is touched");
    assert_eq!(std::fs::read_dir(sandbox.dir().join("tmp")).unwrap().count(), 0, "the copy is gone");
}

#[test]
fn a_changed_charter_shows_what_it_would_refuse() {
    let (sandbox, run) = worked();
    let replay = forbid_priority(sandbox).run(["replay", &run]).status(1).any_stderr();
    let text = replay.take_stdout();
    assert!(text.contains("- send_message Priority to management: allow (in_charter)\n"), "{text}");
    assert!(text.contains("+ refused: recipient_not_allowed: "), "{text}");
    assert!(
        text.ends_with("2 steps, 1 different; 4 actions: 4 now refused, 0 now allowed, 0 judged otherwise\n"),
        "{text}"
    );
}

#[test]
fn limits_count_as_they_stood_then() {
    let (sandbox, run) = worked();
    // Everything that came later counts for nothing.
    let sandbox =
        sandbox.message("business", "Directive", "More", "And a third.").now("2026-11-18T01:42:01Z");
    let sandbox = sandbox.run(["run-loop", "business", "--engine", "rules"]).any_stdout().any_stderr().then();
    let sandbox =
        sandbox.run(["run-loop", "management", "--engine", "rules"]).any_stdout().any_stderr().then();
    assert_eq!(data(&sandbox, &["replay", &run])["different"], 0);
    let sandbox = sandbox.edit("org-business/charter.toml", "actions_per_step = 12", "actions_per_step = 3");
    let text = sandbox.run(["replay", &run]).status(1).any_stderr().take_stdout();
    assert!(text.contains("+ refused: actions_per_step"), "{text}");
}

#[test]
fn boards_projects_and_logs_go_back_too() {
    // Tasks and a project are made, worked on by agents, checked and put away.
    let (sandbox, _) = worked();
    let mut sandbox = sandbox;
    for (minute, dept) in
        [(1, "management"), (2, "technology"), (3, "management"), (4, "marketing"), (5, "management")]
    {
        sandbox = sandbox.now(&format!("2026-11-18T01:0{minute}:00Z"));
        sandbox = sandbox.run(["run-loop", dept, "--engine", "rules"]).any_stdout().any_stderr().then();
    }
    let ledger = crate::office::ledger(&sandbox, "management");
    let acted =
        |name: &str| ledger.iter().any(|line| line.to_string().contains(&format!("\"do\":\"{name}\"")));
    assert!(acted("create_project") && acted("move_task") && acted("validate") && acted("update_project"));
    for line in ledger.iter().filter(|line| line["steps"].as_u64().is_some_and(|steps| steps > 0)) {
        let run = line["run"].as_str().unwrap();
        let replayed = data(&sandbox, &["replay", run]);
        assert_eq!(replayed["different"], 0, "{run}: {replayed:#}");
        let prompts = data(&sandbox, &["replay", run, "--prompt"]);
        assert_eq!(prompts["different"], 0, "{run}: {prompts:#}");
    }
}

#[test]
fn a_prompt_is_the_same_until_something_in_it_changes() {
    let (sandbox, run) = worked();
    assert_eq!(data(&sandbox, &["replay", &run, "--prompt"])["different"], 0);
    let notes = sandbox.read("org-business/notes.md");
    let sandbox = sandbox.file("org-business/notes.md", &format!("{notes}Never on Sundays.\n"));
    let text = sandbox.run(["replay", &run, "--prompt"]).status(1).take_stdout();
    assert_eq!(text.matches("\n+Never on Sundays.\n").count(), 2, "{text}");
    let gone = |line: &&str| line.starts_with('-') && !line.starts_with("---");
    assert_eq!(text.lines().filter(gone).count(), 0, "only what was added differs: {text}");
}

#[test]
fn a_prompt_that_is_not_kept_is_a_word() {
    let (sandbox, run) = worked();
    std::fs::remove_dir_all(sandbox.root().join("org-business/.harness/asked")).unwrap();
    let text = sandbox.run(["replay", &run, "--prompt"]).take_stdout();
    assert!(text.contains("step 1 orchestrator") && text.contains(": its prompt is not kept\n"), "{text}");
}

#[test]
fn a_run_without_steps_has_nothing_to_replay() {
    let sandbox = Sandbox::new().organisation();
    let sandbox = sandbox.run(["run-loop", "business", "--engine", "rules"]).any_stdout().any_stderr().then();
    let run = last_run(&sandbox);
    let run_again = sandbox.run(["replay", &run]).status(1);
    run_again.stderr(&format!("error: {run} took no step, so there is nothing to replay\n"));
}

#[test]
fn charter_test_counts_what_is_now_refused() {
    let (sandbox, _) = worked();
    let tested = data(&sandbox, &["charter", "test", "business", "--since", "7d"]);
    assert_eq!((&tested["judged"], &tested["differences"]), (&4.into(), &serde_json::json!([])));
    let run = forbid_priority(sandbox).run(["charter", "test", "business", "--since", "7d"]).status(1);
    let text = run.any_stderr().take_stdout();
    assert!(text.starts_with("4 actions of business since 7d judged again, 1 differ: 1 now refused, 0 no longer refused, 0 otherwise\n"), "{text}");
    assert!(text.contains(" send_message: was allow, now refuse: "), "{text}");
}

#[test]
fn charter_test_counts_what_is_no_longer_refused() {
    // What business may not send is refused twice; then its charter allows it.
    let sandbox = Sandbox::new().organisation().message("business", "Note", "Hi", "Tell marketing.");
    let answer = "NEXT_WORKER {{ message_id }}\n\n```actions {{ nonce }}\n[{\"do\": \"send_message\", \"to\": [\"rd\"], \"kind\": \
                  \"Priority\", \"subject\": \"x\", \"body\": \"y\", \"confidence\": 90, \"reason\": \"They should know it.\"}]\n```\n";
    let folder = sandbox.dir().join("script");
    for number in 1..9 {
        crate::sandbox::write(&folder.join(format!("{number:02}.txt")), answer.as_bytes());
    }
    let settings = sandbox.read(".harness/org.toml");
    let engine = format!("\n[engines.played]\npreset = \"script\"\nfolder = \"{}\"\n", folder.display());
    let sandbox = sandbox.bytes(".harness/org.toml", (settings + &engine).as_bytes());
    let run = sandbox.run(["run-director", "business", "--role", "worker", "--engine", "played"]);
    let sandbox = run.status(12).any_stdout().any_stderr().then();
    assert_eq!(data(&sandbox, &["charter", "test", "business"])["judged"], 1);
    let sandbox = sandbox.edit(
        "org-business/charter.toml",
        "Priority = [\"management\"]",
        "Priority = [\"management\", \"rd\"]",
    );
    let sandbox = sandbox.edit("org-rd/charter.toml", "receives = [", "receives = [\"Priority\", ");
    done(&sandbox, &["charter", "accept", "rd"]);
    let text = sandbox.run(["charter", "test", "business"]).status(1).any_stderr().take_stdout();
    assert!(text.starts_with("1 actions of business since 7d judged again, 1 differ: 0 now refused, 1 no longer refused, 0 otherwise\n"), "{text}");
    assert!(text.contains(" send_message: was refuse, now allow: "), "{text}");
}
