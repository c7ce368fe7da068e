//! The orchestrator's decisions, followed; and answers without one, which are ghosts.

use crate::desk::{MARK, SEND, acts, business, codes, director, key, run_loop, worker};
use crate::outcome::Run;
use crate::sandbox::Sandbox;

/// What each call of the fake engine was asked as.
fn roles(run: &Run) -> Vec<String> {
    run.calls().iter().map(|call| call.env["HARNESS_ROLE"].as_str().unwrap().to_string()).collect()
}

/// Which layer of the prompt a call got: the mode's own words are in the system prompt.
fn system(run: &Run, call: usize) -> String {
    let args = &run.calls()[call].args;
    args[args.iter().position(|arg| arg == "--system-prompt").unwrap() + 1].clone()
}

#[test]
fn done_ends_the_loop_with_open_mail() {
    let run = business()
        .reply("Nothing can be done today.\n\nDONE\n")
        .run(["run-loop", "business", "--engine", "claude"]);
    let run = run.any_stderr().stdout("business: done (1 step, 0.01 USD): the director decided so\n");
    assert_eq!(run.last_step()["decision"], "DONE");
    assert_eq!(run.last_run()["outcome"], "done");
}

#[test]
fn next_worker_works_on_what_was_named() {
    let sandbox = business().message("business", "MarketSignal", "The second", "It is more urgent.");
    let second = sandbox.sent(1);
    let sandbox = sandbox.reply(&format!("**NEXT_WORKER** `{second}`\n")).reply(&acts(&[MARK])).reply("DONE");
    let run = run_loop(sandbox);
    assert_eq!(roles(&run), ["orchestrator", "worker", "orchestrator"]);
    assert!(run.calls()[1].stdin.contains(&format!("Handle this message for business: `{second}`")));
    let (step, decided) = (run.steps().remove(1), run.steps().remove(0));
    assert_eq!((&step["item"], &step["decision"]), (&second.clone().into(), &"NEXT_WORKER".into()));
    assert_eq!((&decided["role"], &decided["decision"]), (&"orchestrator".into(), &"NEXT_WORKER".into()));
    assert!(run.exists(&format!("org-business/archive/inbox/2026-11/{second}.md")));
}

#[test]
fn ceo_mode_is_for_a_directive_of_business() {
    let sandbox =
        Sandbox::new().apart().organisation().message("business", "Directive", "Grow", "Grow by half.");
    let run = run_loop(sandbox.reply("NEXT_WORKER_CEO_MODE MSGID").reply(&acts(&[MARK]))).status(0);
    assert_eq!(roles(&run), ["orchestrator", "worker"]);
    assert!(run.calls()[1].stdin.contains("As CEO, turn this directive into work"));
    let step = run.last_step();
    assert_eq!((&step["mode"], &step["decision"]), (&"ceo".into(), &"NEXT_WORKER_CEO_MODE".into()));
    assert!(step["record"].as_str().unwrap().ends_with("_ceo.md"));
    let ceo = include_str!("../../prompts/department/departments/business/ceo.md");
    let own = ceo.lines().find(|line| line.len() > 40 && !line.contains("{{")).unwrap();
    assert!(system(&run, 1).contains(own) && !system(&run, 0).contains(own));
}

#[test]
fn ceo_mode_for_anything_else_is_refused() {
    let run =
        director(business().reply("NEXT_WORKER_CEO_MODE MSGID").reply("DONE"), "orchestrator").status(0);
    let step = run.last_step();
    assert_eq!((codes(&step["first_refusals"]), &step["outcome"]), (vec!["no_ceo_mode"], &"ok".into()));
    let sandbox = Sandbox::new().apart().organisation().message("rd", "MarketSignal", "Odd", "It is odd.");
    let sandbox = sandbox.reply("NEXT_WORKER_CEO_MODE MSGID").reply("DONE");
    let run = sandbox.run(["run-loop", "rd", "--engine", "claude"]).any_stdout().any_stderr();
    let step = &run.ledger("rd")[0];
    assert_eq!(codes(&step["first_refusals"]), ["no_ceo_mode"]);
    let run = run.then().run(["run-director", "rd", "--role", "worker", "--mode", "ceo"]).status(2);
    run.stderr("error: ceo mode is for the worker of `business` alone\n");
}

#[test]
fn next_validator_looks_at_what_was_sent() {
    let run = worker(business().reply(&acts(&[SEND]))).status(0);
    let sent = key(&run.only("org-business/outbox"), "id").unwrap().to_string();
    let validate = format!(
        r#"{{"do": "validate", "id": "{sent}", "verdict": "pass", "evidence": "{sent} says it", "reason": "it is what was asked"}}"#
    );
    let sandbox =
        run.then().reply(&format!("NEXT_VALIDATOR {sent}")).reply(&acts(&[&validate])).reply("DONE");
    let run = run_loop(sandbox).status(0);
    assert_eq!(roles(&run)[1..], ["orchestrator", "validator", "orchestrator"]);
    let step = &run.steps()[2];
    assert_eq!((&step["role"], &step["item"]), (&"validator".into(), &sent.into()));
    assert!(step["record"].as_str().unwrap().ends_with("_validator.md"));
}

#[test]
fn escalate_ends_the_loop_and_holds_the_message() {
    let sandbox = business();
    let id = sandbox.sent(0);
    let sandbox = sandbox.reply("This needs you.\n\nESCALATE MSGID it would cost more than we have\n");
    let run = sandbox.run(["run-loop", "business", "--engine", "claude"]).status(10).any_stderr();
    let run = run
        .stdout(&format!("business: escalated (1 step, 0.01 USD): {id}: it would cost more than we have\n"));
    let escalation = run.only("org-business/escalations");
    assert_eq!((key(&escalation, "about"), key(&escalation, "status")), (Some(id.as_str()), Some("pending")));
    assert!(escalation.ends_with("---\nit would cost more than we have\n"), "{escalation}");
    let held = run.read(&format!("org-business/inbox/{id}.md"));
    assert_eq!(key(&held, "waits_for"), key(&escalation, "id"));
    let step = run.last_step();
    assert_eq!((&step["decision"], &step["actions"][0]["do"]), (&"ESCALATE".into(), &"escalate".into()));
    let run = run_loop(run.then()).status(0);
    assert_eq!(run.calls().len(), 1, "what waits for the human is not asked about");
}

#[test]
fn an_escalation_with_a_secret_is_refused() {
    let secret = "ESCALATE MSGID the key is ghp_abcdefghijklmnopqrstuvwxyz0123456789\n";
    let run = director(business().reply(secret).reply("DONE"), "orchestrator").status(0);
    assert_eq!(codes(&run.last_step()["first_refusals"]), ["secret"]);
    assert!(run.folder("org-business/escalations").is_empty());
}

#[test]
fn what_is_not_open_or_not_sent_cannot_be_named() {
    for decision in ["NEXT_WORKER ", "NEXT_VALIDATOR ", "NEXT_WORKER_CEO_MODE "] {
        let answer = format!("{decision}m-20261118-004201-zzzzzz\n");
        let run = director(business().reply(&answer).reply(&answer), "orchestrator").status(12);
        let step = run.last_step();
        assert_eq!((codes(&step["refusals"]), &step["outcome"]), (vec!["not_eligible"], &"refused".into()));
    }
}

#[test]
fn a_ghost_gets_one_repair() {
    let run = run_loop(business().reply("I would think about it.").reply("So be it.\nDONE")).status(0);
    assert_eq!(run.calls().len(), 2);
    let told = &run.calls()[1].stdin;
    assert!(told.contains("Your previous answer could not be used:"), "{told}");
    assert!(told.contains("- no_decision: no line of the answer is a decision"), "{told}");
    let step = run.last_step();
    assert_eq!((&step["outcome"], codes(&step["first_refusals"])), (&"ok".into(), vec!["no_decision"]));
}

#[test]
fn a_ghost_again_fails_the_step() {
    let sandbox = business();
    let before = sandbox.work();
    let sandbox = sandbox.reply("Hm.").reply("Done, I think.");
    let run = sandbox.run(["run-loop", "business", "--engine", "claude"]).status(12).any_stderr();
    let run = run.stdout("business: failed (1 step, 0.02 USD): the answer held no decision, twice\n");
    let step = run.last_step();
    assert_eq!((&step["outcome"], codes(&step["refusals"])), (&"ghost".into(), vec!["no_decision"]));
    assert!(run.record(&step).contains("\noutcome: ghost\n"));
    assert_eq!(run.work(), before);
    assert_eq!(run.calls().len(), 2);
    let run = run_loop(run.then().reply("DONE"));
    assert!(run.calls()[2].stdin.contains("## Refused in the step before"));
}

#[test]
fn a_broken_decision_after_a_good_one_does_not_end_the_loop() {
    let run = director(business().reply("DONE\nESCALATE\n").reply("DONE"), "orchestrator").status(0);
    assert_eq!(codes(&run.last_step()["first_refusals"]), ["missing_id"]);
}
