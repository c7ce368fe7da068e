//! One run, one commit: exactly what the run wrote, in the user's name, whatever state the repository is in.

mod crash;
mod poison;
mod waiting;

use crate::outcome::Run;
use crate::sandbox::Sandbox;
use std::process::Command;

pub const DEPT: &str = "business";

/// Asks the real git about a department.
#[track_caller]
pub fn git(sandbox: &Sandbox, dept: &str, args: &[&str]) -> String {
    let output = Command::new("git")
        .args(args)
        .current_dir(sandbox.root().join(format!("org-{dept}")))
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", sandbox.home())
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "git {args:?}: {stdout}{stderr}");
    stdout.into_owned()
}

/// The template's five, each a repository, with a directive for business.
pub fn with_git() -> Sandbox {
    let sandbox = Sandbox::new();
    let sandbox = sandbox.run(["init", "--git"]).any_stdout().then();
    sandbox.message(DEPT, "Directive", "Grow", "Open a second shop.")
}

pub fn run_loop(sandbox: Sandbox) -> Run {
    sandbox.run(["run-loop", DEPT, "--engine", "rules"]).any_stdout()
}

fn count(sandbox: &Sandbox, dept: &str) -> usize {
    git(sandbox, dept, &["rev-list", "--all"]).lines().count()
}

fn status(sandbox: &Sandbox, dept: &str) -> String {
    git(sandbox, dept, &["status", "--porcelain", "--untracked-files=all"])
}

fn last_line(text: &str) -> String {
    text.trim_end().lines().last().unwrap_or_default().trim().to_owned()
}

#[test]
fn init_makes_repositories_whose_first_commit_is_what_it_wrote() {
    let sandbox = with_git();
    for dept in ["business", "rd", "technology", "management", "marketing"] {
        assert_eq!(count(&sandbox, dept), 1, "{dept}");
        let subject = git(&sandbox, dept, &["log", "-1", "--format=%s|%an <%ae>|%cn"]);
        assert_eq!(subject, format!("{dept}: made by harness init|Tester <tester@example.invalid>|Tester\n"));
    }
    assert_eq!(status(&sandbox, "rd"), "");
    // Again: nothing is missing, so nothing is written and nothing committed.
    let sandbox = sandbox.run(["init", "--git"]).any_stdout().then();
    assert_eq!(count(&sandbox, "rd"), 1);
}

#[test]
fn init_without_a_terminal_asks_nothing_and_makes_no_repository() {
    let sandbox = Sandbox::new().run(["init"]).any_stdout().then();
    assert!(!sandbox.exists("org-rd/.git"));
}

#[test]
fn a_run_ends_in_one_commit_with_its_trailers() {
    let sandbox = run_loop(with_git()).any_stderr().then();
    assert_eq!(count(&sandbox, DEPT), 2);
    assert_eq!(status(&sandbox, DEPT), "");
    let text = git(&sandbox, DEPT, &["log", "-1", "--format=%B|%an|%ae|%cI"]);
    let ledger = sandbox.read("org-business/.harness/runs.jsonl");
    let run =
        serde_json::from_str::<serde_json::Value>(ledger.lines().last().unwrap()).unwrap()["run"].clone();
    let expected = format!(
        "business: sent Decision, Priority to management; and 2 more\n\n\
         Harness-Run: {}\nHarness-Decision: NEXT_WORKER_CEO_MODE\nHarness-Cost: 0.0000 USD\n\
         |Tester|tester@example.invalid|2026-11-18T00:42:01+00:00\n",
        run.as_str().unwrap()
    );
    assert_eq!(text, expected);
    let trailers = git(&sandbox, DEPT, &["log", "-1", "--format=%(trailers:only,keyonly)"]);
    assert_eq!(trailers.trim(), "Harness-Run\nHarness-Decision\nHarness-Cost");
    git(&sandbox, DEPT, &["fsck", "--strict"]);
    // The scratch name is gone.
    assert_eq!(git(&sandbox, DEPT, &["for-each-ref", "--format=%(refname)"]), "refs/heads/main\n");
}

#[test]
fn a_run_that_changes_nothing_commits_nothing() {
    let sandbox = run_loop(with_git()).any_stderr().then();
    let sandbox = run_loop(sandbox.now("2026-11-18T01:42:01Z")).any_stderr().then();
    assert_eq!(count(&sandbox, DEPT), 2);
    // Its record goes with the next commit that has something to say.
    let sandbox = sandbox.message(DEPT, "Directive", "Grow more", "Open a third shop.");
    let sandbox = run_loop(sandbox.now("2026-11-18T02:42:01Z")).any_stderr().then();
    assert_eq!(count(&sandbox, DEPT), 3);
    assert_eq!(status(&sandbox, DEPT), "");
    assert_eq!(
        git(&sandbox, DEPT, &["log", "-1", "--format=%(trailers:key=Harness-Run,valueonly)"])
            .trim()
            .lines()
            .count(),
        2
    );
}

#[test]
fn what_others_deliver_is_committed_by_the_receivers_next_run_or_by_hand() {
    let sandbox = run_loop(with_git()).any_stderr().then();
    let delivered = status(&sandbox, "management");
    assert_eq!(delivered.lines().count(), 2, "{delivered}");
    assert!(delivered.lines().all(|line| line.starts_with("?? inbox/m-")), "{delivered}");
    let run = sandbox.run(["commit", "management", "--dry-run", "--json"]);
    assert_eq!(run.json()["data"]["files"].as_array().unwrap().len(), 2);
    let sandbox = run.then().run(["commit", "management"]).any_stdout().then();
    assert_eq!(status(&sandbox, "management"), "");
    let text = git(&sandbox, "management", &["log", "-1", "--format=%B"]);
    assert_eq!(text.trim(), "management: received 2 messages");
    let sandbox = sandbox.run(["commit", "management"]).stdout("management: nothing to commit\n").then();
    let sandbox =
        sandbox.run(["run-loop", "management", "--engine", "rules"]).any_stdout().any_stderr().then();
    assert_eq!(status(&sandbox, "management"), "");
    // One of the run, and one of each agent's work that it handed out: each names its own run, and no other.
    assert_eq!(count(&sandbox, "management"), 5);
    let log =
        git(&sandbox, "management", &["log", "-3", "--format=%s|%(trailers:key=Harness-Run,valueonly)"]);
    let told: Vec<&str> = log.lines().filter(|line| !line.is_empty()).collect();
    let ledger = crate::office::ledger(&sandbox, "management");
    let jobs: Vec<&str> = ledger
        .iter()
        .filter(|line| line["kind"] == "dispatch")
        .map(|line| line["run"].as_str().unwrap())
        .collect();
    assert_eq!((told.len(), jobs.len()), (3, 2), "{log}");
    for line in &told[..2] {
        let (subject, run) = line.split_once('|').unwrap();
        assert!(
            jobs.contains(&run) && subject.contains(" worked on t-") && subject.ends_with(": done"),
            "{log}"
        );
    }
    assert!(
        told[2].starts_with("management: sent BuildRequest to technology; made a project; and 3 more"),
        "{log}"
    );
}

#[test]
fn a_dirty_tree_of_the_humans_stays_theirs() {
    let sandbox = with_git()
        .edit("org-business/notes.md", "# ", "# My own ")
        .file("org-business/plan.txt", "mine, and not yet known to git\n")
        .file("org-business/staged.txt", "mine, and staged\n");
    let decisions = sandbox.read("org-business/decisions.md");
    let sandbox = sandbox.file("org-business/decisions.md", &format!("{decisions}A line of my own.\n"));
    git(&sandbox, DEPT, &["add", "staged.txt"]);
    let sandbox = run_loop(sandbox).any_stderr().then();
    assert_eq!(status(&sandbox, DEPT), " M decisions.md\n M notes.md\nA  staged.txt\n?? plan.txt\n");
    // The director's entry is committed, the human's line above it is not.
    let committed = git(&sandbox, DEPT, &["show", "HEAD:decisions.md"]);
    assert!(committed.contains("Go: Grow") && !committed.contains("A line of my own."), "{committed}");
    let diff = git(&sandbox, DEPT, &["diff", "decisions.md"]);
    let changed: Vec<&str> = diff.lines().filter(|line| line.starts_with(['+', '-'])).collect();
    assert_eq!(changed, ["--- a/decisions.md", "+++ b/decisions.md", "+A line of my own."]);
}

#[test]
fn what_is_staged_in_the_same_log_stays_staged() {
    let sandbox = with_git();
    let decisions = sandbox.read("org-business/decisions.md");
    let sandbox = sandbox.file("org-business/decisions.md", &format!("{decisions}A line of my own.\n"));
    git(&sandbox, DEPT, &["add", "decisions.md"]);
    let sandbox = run_loop(sandbox).any_stderr().then();
    assert_eq!(status(&sandbox, DEPT), "M  decisions.md\n");
    let diff = git(&sandbox, DEPT, &["diff", "--cached", "decisions.md"]);
    let changed: Vec<&str> = diff.lines().filter(|line| line.starts_with(['+', '-'])).skip(2).collect();
    assert_eq!(changed, ["+A line of my own."]);
}

#[test]
fn what_git_ignores_is_not_committed() {
    let sandbox = with_git();
    let ignored = sandbox.read("org-business/.gitignore");
    let sandbox = sandbox.file("org-business/.gitignore", &format!("{ignored}outbox/\n"));
    git(&sandbox, DEPT, &["commit", "-qam", "ignore"]);
    let sandbox = run_loop(sandbox).any_stderr().then();
    let files = git(&sandbox, DEPT, &["ls-files"]);
    assert!(!files.contains("outbox/") && files.contains("archive/inbox/2026-11/m-"), "{files}");
}

#[test]
fn commits_can_be_off() {
    let sandbox = with_git().edit(".harness/org.toml", "\ncommit = true", "\ncommit = false");
    let sandbox = run_loop(sandbox).any_stderr().then();
    assert_eq!(count(&sandbox, DEPT), 1);
    assert!(!sandbox.exists("org-business/.harness/uncommitted/1"));
    let run = sandbox.run(["commit", DEPT]).status(1);
    run.stdout("").stderr(
        "error: nothing is committed: commits are off: `[git] commit` in org.toml\nhint: make a repository: `git init \
         org-business`, or `harness init --git` for new departments\n",
    );
}

/// The run stands, with a word on stderr; once that is put right the next commit takes everything in.
#[track_caller]
fn check_word(prepare: impl FnOnce(&Sandbox), word: &str, repair: impl FnOnce(&Sandbox)) {
    let sandbox = with_git();
    prepare(&sandbox);
    let (status_code, _, stderr) =
        run_loop(sandbox.clone()).any_stderr().then().run(["runs", "list"]).parts();
    assert_eq!((status_code, stderr.as_str()), (0, ""));
    let run = sandbox.clone().run(["commit", DEPT]).status(1).stdout("");
    let (_, _, stderr) = run.any_stderr().then().run(["commit", DEPT]).parts();
    assert_eq!(stderr.lines().next().unwrap(), format!("error: not committed: {word}"));
    repair(&sandbox);
    let sandbox = sandbox.run(["commit", DEPT]).any_stdout().any_stderr().then();
    git(&sandbox, DEPT, &["show", "HEAD:decisions.md"])
        .contains("Go: Grow")
        .then_some(())
        .expect("committed");
}

#[test]
fn a_detached_head_is_a_word() {
    check_word(
        |sandbox| drop(git(sandbox, DEPT, &["checkout", "-q", "--detach"])),
        "HEAD is detached: no branch is checked out",
        |sandbox| drop(git(sandbox, DEPT, &["checkout", "-q", "main"])),
    );
}

#[test]
fn a_merge_under_way_is_a_word() {
    let merge = |sandbox: &Sandbox| {
        git(sandbox, DEPT, &["checkout", "-qb", "other"]);
        std::fs::write(sandbox.root().join("org-business/x"), "1").unwrap();
        git(sandbox, DEPT, &["add", "x"]);
        git(sandbox, DEPT, &["commit", "-qm", "x"]);
        git(sandbox, DEPT, &["checkout", "-q", "main"]);
        git(sandbox, DEPT, &["merge", "-q", "--no-ff", "--no-commit", "other"]);
    };
    check_word(merge, "a merge is under way", |sandbox| {
        git(sandbox, DEPT, &["commit", "-qm", "merged"]);
    });
}

#[test]
fn a_rebase_under_way_is_a_word() {
    let folder = |sandbox: &Sandbox| sandbox.root().join("org-business/.git/rebase-merge");
    check_word(
        |sandbox| std::fs::create_dir(folder(sandbox)).unwrap(),
        "a rebase is under way",
        |sandbox| std::fs::remove_dir(folder(sandbox)).unwrap(),
    );
}

#[test]
fn a_bare_repository_is_a_word() {
    check_word(
        |sandbox| drop(git(sandbox, DEPT, &["config", "core.bare", "true"])),
        "it is a bare repository, which has no work tree",
        |sandbox| drop(git(sandbox, DEPT, &["config", "core.bare", "false"])),
    );
}

#[test]
fn a_lock_of_another_git_is_waited_for_and_then_left() {
    let lock = |sandbox: &Sandbox| sandbox.root().join("org-business/.git/index.lock");
    let sandbox = with_git();
    std::fs::write(lock(&sandbox), "").unwrap();
    let run = run_loop(sandbox.clone()).any_stderr();
    let (_, _, stderr) = run.then().run(["commit", DEPT]).parts();
    assert!(
        stderr.starts_with("error: not committed: another git holds [ROOT]/org-business/.git/index.lock")
    );
    assert_eq!(count(&sandbox, DEPT), 1);
    std::fs::remove_file(lock(&sandbox)).unwrap();
    // The next run, which has nothing to do, brings it in.
    let sandbox = run_loop(sandbox.now("2026-11-18T01:42:01Z")).any_stderr().then();
    assert_eq!(count(&sandbox, DEPT), 2);
    assert_eq!(status(&sandbox, DEPT), "");
}

#[test]
fn a_lock_that_goes_in_time_holds_nothing_up() {
    let sandbox = with_git();
    let lock = sandbox.root().join("org-business/.git/index.lock");
    std::fs::write(&lock, "").unwrap();
    let waiting = sandbox.start(&["run-loop", DEPT, "--engine", "rules"]);
    crate::outcome::until("the run has ended but for its commit", || {
        sandbox.exists("org-business/.harness/runs.jsonl")
            && !sandbox.exists("org-business/.harness/active.json")
    });
    std::fs::remove_file(lock).unwrap();
    waiting.finish().any_stdout().any_stderr();
    assert_eq!(count(&sandbox, DEPT), 2);
}

#[test]
fn without_git_on_the_machine_runs_work_and_say_so() {
    let sandbox = with_git();
    let empty = sandbox.dir().join("empty");
    std::fs::create_dir(&empty).unwrap();
    let (code, _, stderr) =
        sandbox.clone().env("PATH", &empty).run(["run-loop", DEPT, "--engine", "rules"]).parts();
    assert_eq!(
        (code, last_line(&stderr).as_str()),
        (0, "warning: not committed yet: there is no git on PATH")
    );
    let sandbox = sandbox.run(["commit", DEPT]).any_stdout().then();
    assert_eq!(status(&sandbox, DEPT), "");
}

#[test]
fn nobody_known_to_git_is_a_word() {
    let sandbox = with_git();
    std::fs::write(sandbox.home().join(".gitconfig"), "[user]\n\tuseConfigOnly = true\n").unwrap();
    let (code, _, stderr) = run_loop(sandbox.clone()).any_stderr().then().run(["commit", DEPT]).parts();
    assert_eq!(code, 1);
    assert!(stderr.starts_with("error: not committed: git does not know who you are"), "{stderr}");
}

#[test]
fn a_submodule_gets_the_commit_in_its_own_repository() {
    let sandbox = with_git();
    let root = sandbox.root();
    std::fs::rename(root.join("org-business"), sandbox.dir().join("upstream")).unwrap();
    let clone = |args: &[&str]| {
        let status = Command::new("git")
            .args(["-c", "protocol.file.allow=always"])
            .args(args)
            .current_dir(&root)
            .env("HOME", sandbox.home())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .status();
        assert!(status.unwrap().success(), "{args:?}");
    };
    clone(&["init", "-q"]);
    clone(&["submodule", "--quiet", "add", "../upstream", "org-business"]);
    let sandbox = sandbox.message(DEPT, "Directive", "Grow", "Open a second shop.");
    let sandbox = run_loop(sandbox).any_stderr().then();
    assert_eq!(
        git(&sandbox, DEPT, &["log", "-1", "--format=%(trailers:key=Harness-Cost)"]).trim(),
        "Harness-Cost: 0.0000 USD"
    );
    assert_eq!(status(&sandbox, DEPT), "");
    assert!(sandbox.root().join("org-business/.git").is_file());
}

#[test]
fn a_repository_of_the_whole_organisation_counts_where_the_department_is_in_it() {
    let sandbox = Sandbox::new().organisation();
    git(&sandbox, "rd/..", &["init", "-q"]);
    let sandbox = sandbox.message(DEPT, "Directive", "Grow", "Open a second shop.");
    let (_, _, stderr) = run_loop(sandbox.clone()).any_stderr().then().run(["commit", DEPT]).parts();
    assert!(stderr.contains("the repository above org-business does not track it"), "{stderr}");
    git(&sandbox, DEPT, &["add", "."]);
    git(&sandbox, DEPT, &["commit", "-qm", "start"]);
    let sandbox = sandbox.message(DEPT, "Directive", "More", "And a third.");
    let sandbox = run_loop(sandbox.now("2026-11-18T01:42:01Z")).any_stderr().then();
    let files = git(&sandbox, DEPT, &["show", "--format=", "--name-only", "HEAD"]);
    assert!(
        files.lines().all(|line| line.starts_with("org-business/")) && files.contains("/outbox/"),
        "{files}"
    );
    assert_eq!(git(&sandbox, DEPT, &["status", "--porcelain", "."]), "");
}

#[test]
fn a_file_that_was_changed_since_is_left_to_whoever_changed_it() {
    let sandbox = with_git();
    let lock = sandbox.root().join("org-business/.git/index.lock");
    std::fs::write(&lock, "").unwrap();
    let sandbox = run_loop(sandbox).any_stderr().then();
    std::fs::remove_file(lock).unwrap();
    let outbox = git(&sandbox, DEPT, &["ls-files", "--others", "outbox"]);
    let first = outbox.lines().next().unwrap().to_owned();
    let text = sandbox.read(&format!("org-business/{first}"));
    let sandbox = sandbox.file(&format!("org-business/{first}"), &format!("{text}mine\n"));
    let run = sandbox.run(["commit", DEPT]).any_stdout();
    let sandbox =
        run.stderr(&format!("warning: left out: {first} was changed since it was written\n")).then();
    assert_eq!(status(&sandbox, DEPT), format!("?? {first}\n"));
}

#[test]
fn a_department_that_nobody_accepted_is_not_committed() {
    let sandbox = with_git();
    let charter = sandbox.read("org-business/charter.md");
    let sandbox = sandbox.file("org-business/charter.md", &format!("{charter}Another mandate.\n"));
    let (code, _, stderr) = sandbox.run(["commit", DEPT]).parts();
    assert_eq!(code, 3, "{stderr}");
}
