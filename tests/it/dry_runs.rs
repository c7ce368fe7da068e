//! `--dry-run` of what steers the organisation: it says what would happen, and not a byte changes.

use crate::office::{act, action, data, decision, office, only, rule};
use crate::outcome::until;
use crate::sandbox::Sandbox;
use serde_json::json;

/// An organisation with something to decide of each kind.
fn undecided() -> (Sandbox, [String; 3]) {
    let sandbox =
        office().message("business", "Note", "Hi", "Body").message("business", "Note", "Two", "Body");
    let ask = action("ask_human", json!({"question": "Red?", "options": [], "unblocks": []}));
    let escalate = action("escalate", json!({"id": sandbox.sent(1)}));
    act(&sandbox, "business", &[decision(json!({"confidence": 1})), ask, escalate]);
    let ids = ["approvals", "questions", "escalations"].map(|folder| only(&sandbox, folder));
    (sandbox, ids)
}

#[track_caller]
fn shows(sandbox: &Sandbox, args: &[&str], told: &str) {
    let before = sandbox.everything();
    let args = [args, &["--dry-run"]].concat();
    let (status, stdout, stderr) = sandbox.start(&args).finish().parts();
    assert!(status == 0 && stdout.contains(told), "{args:?}: {status} {stdout}{stderr}");
    assert_eq!(data(sandbox, &args)["dry_run"], true, "{args:?}");
    assert!(sandbox.everything() == before, "{args:?} changed something");
}

#[test]
fn of_what_a_human_decides() {
    let (sandbox, [approval, question, escalation]) = undecided();
    shows(&sandbox, &["approvals", "approve", &approval], "would be approved and carried out");
    shows(&sandbox, &["approvals", "reject", &approval, "--why", "w"], "would be rejected");
    shows(&sandbox, &["questions", "answer", &question, "red"], "would be answered");
    shows(&sandbox, &["escalations", "resolve", &escalation, "--why", "w"], "would be resolved");
    let sandbox = rule(sandbox, "management", "\"Decision\", \"Priority\"", "\"Priority\"");
    shows(&sandbox, &["approvals", "approve", &approval], "but today's rules refuse it");
    crate::office::done(&sandbox, &["approvals", "reject", &approval, "--why", "w"]);
    shows(&sandbox, &["approvals", "reject", &approval, "--why", "w"], "was rejected already");
    sandbox.start(&["approvals", "approve", &approval, "--dry-run"]).finish().status(1).any_stderr();
}

#[test]
fn of_what_stops_and_starts() {
    let sandbox = office();
    shows(&sandbox, &["gate", "trip", "--why", "fire"], "Would be tripped (closed)");
    shows(&sandbox, &["gate", "disable", "--why", "w"], "Would be disabled (closed)");
    shows(&sandbox, &["gate", "enable"], "Would be enabled (open)");
    shows(&sandbox, &["pause", "rd", "--why", "w"], "Would pause: rd.");
    shows(&sandbox, &["resume", "--all"], "Would let run again: business,");
    shows(&sandbox, &["stop-loop", "rd"], "Would stop in rd: nothing.");
    shows(&sandbox, &["stop-all"], "Would trip the gate, stop nothing, and turn autoLoop off in nothing.");
    shows(&sandbox, &["recover", "rd"], "rd: nothing is left to finish.");
}

#[test]
fn of_a_run_shows_each_verdict_with_its_code_and_rule() {
    let low = decision(json!({"confidence": 1}));
    let wrong = decision(json!({"to": ["marketing"]}));
    let mark = action("mark_message", json!({"id": "MSGID", "status": "actioned"}));
    let standing = crate::office::answer(&[low.clone(), mark.clone()]);
    let refused = crate::office::answer(&[mark, wrong]);
    let sandbox = office().message("business", "Note", "Hi", "Body").reply("NEXT_WORKER MSGID");
    let before = sandbox.work();
    let run = sandbox.reply(&refused).reply(&standing).run(["run-loop", "business", "--dry-run"]);
    let run = run.stderr(
        "
        business: r-[..] starts
          orchestrator asks claude about m-[..]
          decides NEXT_WORKER m-[..]
          worker asks claude about m-[..]
          refused: recipient_not_allowed: [..]
          worker asks claude about m-[..]
          send_message a-[..]: needs approval, by charter.toml [approval] confidence_below
          would mark_message m-[..]
        ",
    );
    let run = run.stdout(
        "
        business: done (2 steps, 0.03 USD): shown, and nothing carried out
          orchestrator by claude about m-[..]
            decides NEXT_WORKER m-[..]
          worker by claude about m-[..]
            1. mark_message: allow (in_charter, charter.toml)
            2. send_message: refuse (recipient_not_allowed, charter.toml [sends] Decision)
            refused: recipient_not_allowed: line [..]
          worker by claude about m-[..]
            1. send_message a-[..]: needs approval (confidence_low, charter.toml [approval] confidence_below)
            2. mark_message m-[..] acknowledged, waits for a-[..]: allow (held, charter.toml)
        ",
    );
    assert!(run.work() == before, "nothing was carried out");
}

#[test]
fn of_a_run_tells_scripts_the_same() {
    let mark = action("mark_message", json!({"id": "MSGID", "status": "actioned"}));
    let sandbox = office().message("business", "Note", "Hi", "Body").reply("NEXT_WORKER MSGID");
    let sandbox = sandbox.reply(&crate::office::answer(&[mark]));
    let shown = data(&sandbox, &["run-loop", "business", "--dry-run"]);
    let (decides, acts) = (&shown["shown"][0], &shown["shown"][1]);
    assert_eq!((&shown["dry_run"], &decides["decision"]["decision"]), (&true.into(), &"NEXT_WORKER".into()));
    let verdict = ["do", "verdict", "code", "rule"].map(|key| acts["actions"][0][key].as_str().unwrap());
    assert_eq!(verdict, ["mark_message", "allow", "in_charter", "charter.toml"]);
}

#[test]
fn of_a_run_that_is_alive_and_of_one_that_is_dead() {
    let sandbox = office().message("business", "Note", "Hi", "Body").reply("#sleep 20s\nDONE");
    let running = sandbox.start(&["run-loop", "business"]);
    until("the engine is asked", || !sandbox.calls().is_empty());
    for args in [&["stop-loop", "business"][..], &["stop-all"]] {
        let (status, stdout, _) = sandbox.start(&[args, &["--dry-run"]].concat()).finish().parts();
        assert!(status == 0 && stdout.contains("r-2026"), "{stdout}");
    }
    let still = data(&sandbox, &["active-runs"])["runs"].as_array().unwrap().len();
    assert_eq!(still, 1, "it only said so");
    running.signal(rustix::process::Signal::KILL);
    running.finish().parts();
    until("the dead run is seen as dead", || {
        data(&sandbox, &["active-runs"])["runs"].as_array().unwrap().is_empty()
    });
    shows(&sandbox, &["recover", "business"], "and record it as killed");
    crate::office::done(&sandbox, &["recover", "business"]);
    shows(&sandbox, &["recover", "business"], "nothing is left to finish");
}

/// What only looks, or works in a folder of its own that is thrown away.
const LOOKS: [&str; 45] = [
    "doctor",
    "inbox",
    "outbox",
    "message",
    "message show",
    "message thread",
    "directive",
    "directive list",
    "directive show",
    "project",
    "project list",
    "project show",
    "questions",
    "questions list",
    "schedule",
    "schedule list",
    "event",
    "schedulers",
    "config",
    "config get",
    "service",
    "service print",
    "service status",
    "approvals",
    "approvals list",
    "approvals show",
    "charter",
    "charter show",
    "charter check",
    "charter test",
    "budget",
    "gate",
    "gate show",
    "gate check",
    "task",
    "task list",
    "task show",
    "agent",
    "agent list",
    "agent show",
    "escalations",
    "escalations list",
    "runs",
    "runs list",
    "runs show",
];
const LOOKS_TOO: [&str; 22] = [
    "status",
    "why",
    "top",
    "logs",
    "active-runs",
    "memory",
    "memory search",
    "memory show",
    "prompt",
    "stats",
    "health",
    "verify",
    "drill",
    "selftest",
    "replay",
    "simulate",
    "rehearse",
    "schema",
    "completions",
    "man",
    // It makes a new folder that it names, and nothing else.
    "demo",
    // It is many ticks, and `tick --dry-run` shows one.
    "watch",
];

/// Everything that changes something, as it is typed; the ids are those of things that are there.
fn changes(sandbox: &Sandbox, [approval, question, escalation]: &[String; 3]) -> Vec<(&'static str, String)> {
    let id = |args: &[&str]| crate::office::done(sandbox, args).lines().next().unwrap_or_default().to_owned();
    let directive = id(&["directive", "add", "--title", "Digest", "--body", "Weekly."]);
    let project = id(&["project", "add", "--title", "Digest", "--body", "Weekly."]);
    id(&["agent", "add", "rd", "ann", "--role", "Researcher", "--purpose", "Asks users."]);
    let task = id(&["task", "add", "rd", "--title", "Ask ten users", "--description", "Do they read it?"]);
    let other =
        id(&["task", "add", "rd", "--title", "Write it down", "--description", "All that they said."]);
    id(&["agent", "add", "rd", "bob", "--role", "Builder", "--purpose", "Builds."]);
    id(&["task", "assign", &task, "ann"]);
    id(&["schedule", "add", "rd", "monday", "--cron", "0 9 * * mon", "--prompt", "Look."]);
    let note = id(&["send", "--to", "rd", "--kind", "Note", "--subject", "Hi", "--body", "There."]);
    let template = sandbox.dir().join("template").display().to_string();
    id(&["export", "rd", "-o", &template]);
    let run =
        data(sandbox, &["runs", "list", "business"])["runs"][0]["run"]["run"].as_str().unwrap().to_owned();
    vec![
        ("init", "support".into()),
        ("send", "--to rd --kind Note --subject Hi --body There.".into()),
        ("message mark", format!("{note} --status archived --why done")),
        ("directive add", "--title Two --body Text.".into()),
        ("directive pause", format!("{directive} --why later")),
        ("directive resume", format!("{directive} --why now")),
        ("directive complete", format!("{directive} --why out")),
        ("directive cancel", format!("{directive} --why no")),
        ("project add", "--title Two --body Text.".into()),
        ("project update", format!("{project} --status paused --why later")),
        ("questions answer", format!("{question} red")),
        ("run-loop", "business --engine rules".into()),
        ("run-director", "rd --role orchestrator --engine rules".into()),
        ("tick", String::new()),
        ("schedule add", "rd friday --at 2027-12-01T09:00:00Z --prompt Look.".into()),
        ("schedule remove", "rd monday".into()),
        ("event emit", "deployed --to rd".into()),
        ("config set", "rd autoLoop true".into()),
        ("service install", "--target cron --yes".into()),
        ("service uninstall", "--target cron --yes".into()),
        ("approvals approve", approval.clone()),
        ("approvals reject", format!("{approval} --why no")),
        ("charter accept", "rd".into()),
        ("gate trip", "--why fire".into()),
        ("gate disable", "--why holidays".into()),
        ("gate enable", String::new()),
        ("pause", "rd --why later".into()),
        ("resume", "rd".into()),
        ("stop-loop", "rd".into()),
        ("stop-all", String::new()),
        ("task add", "rd --title New --description Something.".into()),
        ("task assign", format!("{other} ann")),
        ("task move", format!("{task} review --as ann")),
        ("task comment", format!("{task} --section Context seen")),
        ("task depend", format!("{task} --on {other}")),
        ("task nudge", format!("{task} well?")),
        ("agent add", "rd carl --role Builder --purpose Builds.".into()),
        ("agent retire", "rd bob --why moved".into()),
        ("escalations resolve", format!("{escalation} --why done")),
        ("memory add", "rd --tag lesson --text Test-first-helps.".into()),
        ("report", format!("-o {}", sandbox.dir().join("page.html").display())),
        ("recover", "rd".into()),
        ("commit", "rd".into()),
        ("undo", run),
        ("archive", String::new()),
        ("prune", String::new()),
        ("export", format!("rd -o {}", sandbox.dir().join("other").display())),
        ("import", format!("{template} --as sales")),
    ]
}

/// Every command there is either only looks, or has `--dry-run`, which touches nothing: in the organisation, in the
/// home folder, or beside them.
#[test]
fn every_command_that_changes_something_has_one() {
    let (sandbox, ids) = undecided();
    let changes = changes(&sandbox, &ids);
    // Somebody who was given a task has been silent for hours.
    let sandbox = sandbox.now("2026-11-18T06:42:01Z");
    let mut faults = Vec::new();
    for (path, help) in crate::help::all() {
        let name = path.join(" ");
        let looks = LOOKS.contains(&&*name) || LOOKS_TOO.contains(&&*name);
        match changes.iter().any(|(known, _)| *known == name) {
            true if looks => faults.push(format!("{name}: it can't be both")),
            true if !help.contains("--dry-run") => faults.push(format!("{name}: no --dry-run")),
            false if !looks => faults.push(format!("{name}: does it change something?")),
            _ => {}
        }
    }
    for (name, words) in &changes {
        let before = (sandbox.everything(), everything_in(&sandbox));
        let args: Vec<&str> = name.split(' ').chain(words.split_whitespace()).chain(["--dry-run"]).collect();
        let (status, stdout, stderr) = sandbox.start(&args).finish().parts();
        // A step that is only shown may come to any end, and a machine may have no cron and a department no repository;
        // but a form that is wrong is no test of anything.
        let any_end = name.starts_with("run-") || name.starts_with("service ") || *name == "commit";
        if [2, 70, 101].contains(&status) || (status != 0 && !any_end) {
            faults.push(format!("{args:?}: exit {status}: {stdout}{stderr}"));
        }
        if (sandbox.everything(), everything_in(&sandbox)) != before {
            faults.push(format!("{args:?} changed something"));
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

/// What lies beside the root: the home folder with its key, and where pages and templates would go.
fn everything_in(sandbox: &Sandbox) -> Vec<(String, u64)> {
    let home = walkdir::WalkDir::new(sandbox.home()).sort_by_file_name().into_iter();
    let beside = walkdir::WalkDir::new(sandbox.dir()).max_depth(1).sort_by_file_name().into_iter();
    home.chain(beside)
        .map(|entry| {
            let entry = entry.unwrap();
            let bytes = if entry.file_type().is_file() { entry.metadata().unwrap().len() } else { 0 };
            (entry.path().display().to_string(), bytes)
        })
        .collect()
}
