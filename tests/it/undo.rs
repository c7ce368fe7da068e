//! Undoing a run: everything that is still as the run left it goes back, nothing else is touched, and all of it is told.

use crate::office::data;
use crate::outcome::Run;
use crate::sandbox::Sandbox;
use std::collections::BTreeMap;
use std::fs;

const AGAIN: &str = "2026-11-18T01:42:01Z";

/// Every file, but for what a run may add to.
fn effects(sandbox: &Sandbox) -> BTreeMap<String, String> {
    let files = sandbox.tree("");
    let names = files.lines().filter(|name| !name.ends_with('/'));
    let own = |name: &&str| {
        !name.contains(".harness/") && !name.contains(".git/") && !name.ends_with("decisions.md")
    };
    names.filter(own).map(|name| (name.to_owned(), sandbox.read(name))).collect()
}

fn directive() -> Sandbox {
    Sandbox::new().organisation().message("business", "Directive", "Grow", "Open a second shop.")
}

fn run_loop(sandbox: Sandbox, dept: &str) -> Sandbox {
    sandbox.run(["run-loop", dept, "--engine", "rules"]).any_stdout().any_stderr().then()
}

/// The last run of a department.
fn last_run(sandbox: &Sandbox, dept: &str) -> String {
    let ledger = sandbox.read(&format!("org-{dept}/.harness/runs.jsonl"));
    let line: serde_json::Value = serde_json::from_str(ledger.lines().last().unwrap()).unwrap();
    line["run"].as_str().unwrap().to_owned()
}

fn undo(sandbox: Sandbox, run: &str) -> Run {
    sandbox.now(AGAIN).run(["undo", run, "--yes"])
}

#[test]
fn what_a_run_changed_goes_back_and_the_director_is_told() {
    let sandbox = directive();
    let before = effects(&sandbox);
    let sandbox = run_loop(sandbox, "business");
    let (ledger, run) = (sandbox.read("org-business/.harness/runs.jsonl"), last_run(&sandbox, "business"));
    let decisions = sandbox.read("org-business/decisions.md");
    let sandbox = undo(sandbox, &run).any_stdout().then();
    let mut after = effects(&sandbox);
    let told: Vec<String> = after.keys().filter(|name| !before.contains_key(*name)).cloned().collect();
    let [told] = &told[..] else { panic!("{told:?}") };
    let told = after.remove(told).unwrap();
    assert_eq!(after, before);
    assert!(
        told.contains("from: harness\n") && told.contains(&format!("subject: {run} was undone\n")),
        "{told}"
    );
    assert!(told.contains("was delivered to management: taken back"), "{told}");
    // Ledger and logs are only added to.
    let longer = sandbox.read("org-business/.harness/runs.jsonl");
    assert!(longer.starts_with(&ledger) && longer.lines().count() == ledger.lines().count() + 1);
    assert!(longer.lines().last().unwrap().contains("\"kind\":\"undo\""), "{longer}");
    let log = sandbox.read("org-business/decisions.md");
    assert!(log.starts_with(&decisions) && log.contains(&format!("The human took back {run}")), "{log}");
    // The next prompt shows it, and the books hold.
    let prompt = sandbox.clone().run(["prompt", "business"]).any_stderr().take_stdout();
    assert!(prompt.contains(&format!("{run} was undone")), "{prompt}");
    let verified = sandbox.run(["verify"]).take_stdout();
    assert!(!verified.contains("failed"), "{verified}");
}

#[test]
fn an_undo_is_undone_like_any_run() {
    let sandbox = run_loop(directive(), "business");
    let (done, run) = (effects(&sandbox), last_run(&sandbox, "business"));
    let sandbox = undo(sandbox, &run).any_stdout().then();
    let undone = last_run(&sandbox, "business");
    let sandbox = sandbox.now("2026-11-18T02:42:01Z").run(["undo", &undone, "--yes"]).any_stdout().then();
    let again = effects(&sandbox);
    let told = again.keys().filter(|name| !done.contains_key(*name)).count();
    assert_eq!(told, 1, "only the word about it is new");
    assert!(done.iter().all(|(name, text)| again.get(name) == Some(text)));
}

#[test]
fn what_was_handled_elsewhere_stays_and_is_shown_first() {
    let sandbox = run_loop(run_loop(directive(), "business"), "management");
    let run = sandbox.read("org-business/.harness/runs.jsonl").lines().next().unwrap().to_owned();
    let run = serde_json::from_str::<serde_json::Value>(&run).unwrap()["run"].as_str().unwrap().to_owned();
    let shown = sandbox.clone().run(["undo", &run, "--dry-run"]).take_stdout();
    let lines: Vec<&str> = shown.lines().collect();
    assert!(lines[1].ends_with("was delivered to management: stays, management has handled it"), "{shown}");
    let sandbox = undo(sandbox, &run).any_stdout().then();
    // The copy of what stays, stays too; what business had handled is open again.
    assert!(sandbox.tree("org-business/outbox").lines().count() > 0);
    assert!(sandbox.exists(&format!("org-business/inbox/{}.md", sandbox.sent(0))));
}

/// What became of the items that say so.
fn states(items: &serde_json::Value, what: &str) -> Vec<String> {
    let items = items["items"].as_array().unwrap().iter();
    let items = items.filter(|item| item["what"].as_str().unwrap().contains(what));
    items
        .map(|item| format!("{} {}", item["state"].as_str().unwrap(), item["why"].as_str().unwrap_or("-")))
        .collect()
}

#[test]
fn a_project_that_the_run_made_is_cancelled_and_comes_back() {
    let sandbox = run_loop(run_loop(directive(), "business"), "management");
    let status = |sandbox: &Sandbox| {
        let tree = sandbox.tree(".harness/projects");
        let name =
            tree.lines().find_map(|line| line.rsplit('/').next().filter(|name| name.starts_with("p-")));
        let text = sandbox.read(&format!(".harness/projects/{}", name.unwrap()));
        text.lines().find_map(|line| line.strip_prefix("status: ")).unwrap().to_owned()
    };
    assert_eq!(status(&sandbox), "proposed");
    let ledger = sandbox.read("org-management/.harness/runs.jsonl");
    let made = ledger.lines().find(|line| line.contains("create_project")).unwrap();
    let run = serde_json::from_str::<serde_json::Value>(made).unwrap()["run"].as_str().unwrap().to_owned();
    let undone = data(&sandbox.clone().now(AGAIN), &["undo", &run, "--yes"]);
    assert_eq!(states(&undone, "the project"), ["taken_back -"]);
    assert_eq!(status(&sandbox), "cancelled");
    let undo = undone["undo"].as_str().unwrap();
    data(&sandbox.clone().now("2026-11-18T02:42:01Z"), &["undo", undo, "--yes"]);
    assert_eq!(status(&sandbox), "proposed");
}

#[test]
fn a_task_that_went_on_since_is_not_said_to_be_as_before() {
    let sandbox = run_loop(run_loop(directive(), "business"), "management");
    let ledger = sandbox.read("org-management/.harness/runs.jsonl");
    let made = ledger.lines().find(|line| line.contains("create_task")).unwrap();
    let run = serde_json::from_str::<serde_json::Value>(made).unwrap()["run"].as_str().unwrap().to_owned();
    let sandbox = run_loop(sandbox.now(AGAIN), "management");
    let put_away = sandbox.tree("org-management/archive/tasks");
    let id = put_away
        .lines()
        .find_map(|line| line.rsplit('/').next().filter(|name| name.starts_with("t-")))
        .unwrap();
    let shown = data(&sandbox, &["undo", &run, "--dry-run"]);
    let said = states(&shown, &format!("tasks/{id} was made"));
    assert_eq!(said, [format!("stays it went on, and is archive/tasks/2026-11/{id} now")]);
}

#[test]
fn what_is_open_again_is_told_with_the_way_to_hold_it() {
    let sandbox = run_loop(directive(), "business");
    let run = last_run(&sandbox, "business");
    let text = undo(sandbox.clone(), &run).take_stdout();
    let open = format!("Open again, for the next run of business: {}\n", sandbox.sent(0));
    assert!(text.contains(&open) && text.contains("harness pause business --why TEXT\n"), "{text}");
}

#[test]
fn everything_since_a_moment_is_undone_newest_first() {
    let sandbox = directive();
    let before = effects(&sandbox);
    let sandbox = run_loop(run_loop(sandbox, "business").now(AGAIN), "management");
    // By itself, what business sent would stay: management has handled it.
    let since = "2026-11-18T00:00:00Z";
    let sandbox = sandbox.now("2026-11-18T02:42:01Z");
    let shown = data(&sandbox, &["undo", "--since", since, "--dry-run"]);
    assert_eq!(shown["runs"].as_array().unwrap()[0]["undo"], serde_json::Value::Null);
    let (code, _, stderr) = sandbox.clone().run(["undo", "--since", since]).parts();
    assert!(code == 1 && stderr.contains(&format!("`harness undo --since {since} --yes`")), "{stderr}");
    let undone = data(&sandbox, &["undo", "--since", since, "--yes"]);
    let runs = undone["runs"].as_array().unwrap();
    assert!(
        states(runs.last().unwrap(), "was delivered to management").iter().all(|said| said == "taken_back -")
    );
    let mut after = effects(&sandbox);
    after.retain(|name, text| before.contains_key(name) || !text.contains(" was undone"));
    assert_eq!(after.keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>());
    assert_eq!(after, before);
    let (code, _, stderr) = sandbox.clone().run(["undo", "--since", since, "--yes"]).parts();
    assert!(code == 1 && stderr.starts_with("error: no run since "), "{stderr}");
    let verified = sandbox.run(["verify"]).take_stdout();
    assert!(!verified.contains("failed"), "{verified}");
}

#[test]
fn only_the_named_departments_are_undone() {
    let sandbox = run_loop(run_loop(directive(), "business").now(AGAIN), "management");
    let undone = data(&sandbox, &["undo", "--since", "2026-11-18", "--dept", "business", "--dry-run"]);
    assert_eq!(undone["runs"].as_array().unwrap().len(), 1);
}

#[test]
fn a_file_that_was_changed_since_stays() {
    let sandbox = run_loop(directive(), "business");
    let run = last_run(&sandbox, "business");
    let outbox = sandbox.tree("org-business/outbox");
    let first = outbox.lines().next().unwrap();
    let path = format!("org-business/outbox/{first}");
    let changed = format!("{}mine\n", sandbox.read(&path));
    let sandbox = sandbox.file(&path, &changed);
    let said = undo(sandbox.clone(), &run).take_stdout();
    assert!(said.contains(&format!("outbox/{first} was made: stays, it was changed since")), "{said}");
    assert_eq!(sandbox.read(&path), changed);
}

#[test]
fn a_message_that_was_moved_on_since_stays() {
    let sandbox = run_loop(directive(), "business");
    let (run, id) = (last_run(&sandbox, "business"), sandbox.sent(0));
    let path = format!("org-business/archive/inbox/2026-11/{id}.md");
    let moved = sandbox.read(&path).replace(&format!("actioned_run: {run}"), "actioned_run: none");
    let sandbox = sandbox.file(&path, &moved);
    let said = undo(sandbox.clone(), &run).take_stdout();
    assert!(said.contains(&format!("{id} became actioned: stays, it was moved on since")), "{said}");
    assert!(sandbox.exists(&path));
}

const CURATED: &str = r#"
    [engines.played]
    preset = "script"
    folder = "SCRIPT"
"#;

#[test]
fn a_replaced_file_gets_its_old_text_back() {
    let sandbox = Sandbox::new().organisation().message("rd", "Note", "Hi", "What do we know?");
    let folder = sandbox.dir().join("script");
    let answer = "Curated.\n\n```actions {{ nonce }}\n[{\"do\": \"curate_memory\", \"file\": \"MEMORY\", \"text\": \"- new\", \
                  \"reason\": \"The old facts are over.\"}]\n```\n";
    crate::sandbox::write(&folder.join("01.txt"), answer.as_bytes());
    let settings = sandbox.read(".harness/org.toml");
    let engine = CURATED.replace("SCRIPT", &folder.display().to_string());
    let charter =
        sandbox.read("org-rd/charter.toml").replacen("\"remember\"", "\"remember\", \"curate_memory\"", 1);
    let sandbox = sandbox.file(".harness/org.toml", &format!("{settings}{engine}"));
    let sandbox = sandbox.bytes("org-rd/charter.toml", charter.as_bytes());
    let sandbox = sandbox.run(["charter", "accept", "rd", "--yes"]).any_stdout().any_stderr().then();
    let memory = sandbox.read("org-rd/memory/MEMORY.md");
    let run = sandbox.run(["run-director", "rd", "--role", "summarizer", "--engine", "played"]);
    let sandbox = run.any_stdout().any_stderr().then();
    assert!(
        sandbox.read("org-rd/memory/MEMORY.md").ends_with("\n---\n- new\n"),
        "replaced, under its own head"
    );
    let run = last_run(&sandbox, "rd");
    let sandbox = undo(sandbox, &run).any_stdout().then();
    assert_eq!(sandbox.read("org-rd/memory/MEMORY.md"), memory);
}

#[test]
fn a_receiver_at_work_keeps_its_mail() {
    let sandbox = run_loop(directive(), "business");
    let (run, before) = (last_run(&sandbox, "business"), effects(&sandbox));
    let lock = sandbox.root().join("org-management/.harness/lock");
    let held = fs::File::options().create(true).append(true).open(lock).unwrap();
    held.lock().unwrap();
    let (code, _, stderr) = undo(sandbox.clone(), &run).parts();
    assert!(code == 4 && stderr.starts_with("error: `management` is at work\n"), "{stderr}");
    assert_eq!(effects(&sandbox), before);
}

#[test]
fn without_a_yes_nothing_is_touched() {
    let sandbox = run_loop(directive(), "business");
    let (run, before) = (last_run(&sandbox, "business"), sandbox.tree(""));
    let (code, _, stderr) = sandbox.clone().run(["undo", &run]).parts();
    assert_eq!(code, 1);
    assert!(stderr.contains(&format!("hint: to do it: `harness undo {run} --yes`")), "{stderr}");
    sandbox.clone().run(["undo", &run, "--dry-run"]).any_stdout();
    assert_eq!(sandbox.tree(""), before);
}

#[test]
fn a_run_that_changed_nothing_or_is_not_there_is_a_word() {
    let sandbox = run_loop(Sandbox::new().organisation(), "business");
    let run = last_run(&sandbox, "business");
    let (code, _, stderr) = sandbox.clone().run(["undo", &run, "--yes"]).parts();
    assert_eq!(code, 1);
    assert!(
        stderr.starts_with(&format!("error: {run} changed nothing, or what it changed is no longer kept"))
    );
    let (code, _, stderr) = sandbox.run(["undo", "r-nothing", "--yes"]).parts();
    assert_eq!((code, stderr.lines().next().unwrap()), (1, "error: there is no run `r-nothing`"));
}

#[test]
fn doing_it_twice_changes_nothing_more() {
    let sandbox = run_loop(directive(), "business");
    let run = last_run(&sandbox, "business");
    let sandbox = undo(sandbox, &run).any_stdout().then();
    let before = effects(&sandbox);
    let (_, stdout, _) = sandbox.clone().now("2026-11-18T02:42:01Z").run(["undo", &run, "--yes"]).parts();
    assert!(!stdout.contains("taken back"), "{stdout}");
    let mut after = effects(&sandbox);
    after.retain(|name, _| before.contains_key(name));
    assert_eq!(after, before);
}

#[test]
fn a_plan_that_somebody_else_wrote_is_not_followed() {
    let sandbox = run_loop(directive(), "business");
    let run = last_run(&sandbox, "business");
    let kept = sandbox.tree("org-business/.harness/undo");
    let path = format!("org-business/.harness/undo/{}", kept.lines().next().unwrap());
    let forged = sandbox.read(&path).replace("outbox/", "charter.toml");
    fs::write(sandbox.root().join(&path), forged).unwrap();
    let (code, _, stderr) = sandbox.run(["undo", &run, "--yes"]).parts();
    assert_eq!(code, 1);
    assert!(stderr.contains("its signature is not that of this organisation's key"), "{stderr}");
}

#[test]
fn with_git_it_is_one_new_commit() {
    let sandbox = crate::commits::with_git();
    let sandbox = run_loop(sandbox, "business");
    let run = last_run(&sandbox, "business");
    let sandbox = undo(sandbox, &run).any_stdout().then();
    let log = crate::commits::git(&sandbox, "business", &["log", "--format=%s"]);
    assert_eq!(log.lines().count(), 3);
    assert_eq!(log.lines().next().unwrap(), format!("business: undid {run}"));
    assert_eq!(crate::commits::git(&sandbox, "business", &["status", "--porcelain"]), "");
}

#[test]
fn killed_at_any_point_it_is_done_whole_or_not_at_all() {
    let sandbox = run_loop(directive(), "business");
    let run = last_run(&sandbox, "business");
    let start = crate::crash::tree::Tree::read(&sandbox.root());
    let done = effects(&sandbox);
    let sandbox = undo(sandbox, &run).any_stdout().then();
    let undone = effects(&sandbox).into_keys().filter(|name| !name.contains("/inbox/")).collect::<Vec<_>>();
    let mut seen = [0, 0];
    for number in (1..50).step_by(2) {
        start.put(&sandbox.root());
        let dying = sandbox.clone().now(AGAIN).env("HARNESS_TEST_FAULT", format!("die-torn:{number}"));
        let _ = dying.run(["undo", &run, "--yes"]).any_stdout().any_stderr().parts();
        let sandbox =
            sandbox.clone().now(AGAIN).run(["recover", "business"]).any_stdout().any_stderr().then();
        let found = effects(&sandbox);
        if found == done {
            seen[0] += 1;
            continue;
        }
        seen[1] += 1;
        let names: Vec<String> = found.into_keys().filter(|name| !name.contains("/inbox/")).collect();
        assert_eq!(names, undone, "die-torn:{number}");
        assert!(sandbox.exists(&format!("org-business/inbox/{}.md", sandbox.sent(0))), "die-torn:{number}");
        let verified = sandbox.run(["verify"]).take_stdout();
        assert!(!verified.contains("failed"), "die-torn:{number}: {verified}");
    }
    assert!(seen[0] > 1 && seen[1] > 5, "{seen:?}");
}

#[test]
fn it_is_not_for_those_inside_a_run() {
    let sandbox = run_loop(directive(), "business");
    let run = last_run(&sandbox, "business");
    let (code, ..) = sandbox.env("HARNESS_RUN", "x").run(["undo", &run, "--yes"]).parts();
    assert_eq!(code, 3);
}

#[test]
fn the_rules_file_the_word_about_it() {
    let sandbox = run_loop(directive(), "business");
    let run = last_run(&sandbox, "business");
    let sandbox = undo(sandbox, &run).any_stdout().then();
    let sandbox = run_loop(sandbox.now("2026-11-18T02:42:01Z"), "business");
    assert_eq!(sandbox.tree("org-business/inbox"), "", "the directive was handled anew, and the word filed");
    assert!(!sandbox.exists("org-business/escalations"));
}

#[test]
fn an_organisation_that_was_moved_says_so() {
    let sandbox = run_loop(directive(), "business");
    let run = last_run(&sandbox, "business");
    let moved = sandbox.dir().join("moved");
    fs::rename(sandbox.root(), &moved).unwrap();
    let (code, _, stderr) =
        sandbox.now(AGAIN).run(["undo", &run, "--yes", "--root", moved.to_str().unwrap()]).parts();
    assert_eq!(code, 1, "{stderr}");
    assert!(stderr.contains("it was moved or copied here since"), "{stderr}");
    assert!(stderr.contains("hint: what was moved is undone where it stood"), "{stderr}");
}
