//! `export` and `import`: how a department works goes along, what it did and knows does not.

use crate::desk::{MARK, SEND, acts, business, worker};
use crate::sandbox::Sandbox;

#[test]
fn a_department_goes_to_another_organisation() {
    let secret = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJ";
    let sandbox = worker(business().reply(&acts(&[SEND, MARK]))).then();
    let sandbox = sandbox
        .file("org-business/notes.md", &format!("# Notes\n\nThe key is {secret}.\n"))
        .file("org-business/prompts/worker.md", "Be brief.\n")
        .file("org-business/memory/MEMORY.md", "We lost a customer.\n");
    let folder = sandbox.dir().join("tpl").display().to_string();
    let run = sandbox.run(["export", "business", "-o", &folder]).any_stdout();
    let run = run.stderr("warning: notes.md: what looks like a secret was masked\n");
    let files: Vec<String> = walkdir::WalkDir::new(run.dir().join("tpl"))
        .sort_by_file_name()
        .into_iter()
        .filter_map(|entry| entry.ok().filter(|entry| entry.file_type().is_file()))
        .map(|entry| entry.path().strip_prefix(run.dir().join("tpl")).unwrap().display().to_string())
        .collect();
    let expected = [
        "charter.md",
        "charter.toml",
        "goal.toml",
        "notes.md",
        "playbook.toml",
        "prompts/worker.md",
        "template.toml",
    ];
    assert_eq!(files, expected);
    let all: String =
        files.iter().map(|name| std::fs::read_to_string(run.dir().join("tpl").join(name)).unwrap()).collect();
    assert!(!all.contains(secret) && !all.contains("lost a customer"), "{all}");

    let other = Sandbox::new().dept("rd");
    let run = other.run(["import", &folder, "--as", "sales", "--dry-run"]).any_stdout();
    assert!(!run.exists("org-sales"));
    let run = run.then().run(["import", &folder, "--as", "sales"]).any_stdout();
    assert!(run.read("org-sales/charter.toml").contains("department = \"sales\""));
    assert_eq!(run.read("org-sales/prompts/worker.md"), "Be brief.\n");
    assert!(run.exists("org-sales/memory/MEMORY.md") && run.exists("org-sales/inbox"));
    assert!(run.read(".harness/audit.jsonl").contains("\"command\":\"import\""));
    // What came from elsewhere counts for nothing until somebody has looked at it.
    let run = run.then().run(["run-loop", "sales", "--engine", "rules"]).status(3).any_stderr();
    let run = run.then().run(["charter", "accept", "sales", "--yes"]).any_stdout().any_stderr();
    run.then().run(["run-loop", "sales", "--engine", "rules"]).any_stdout().any_stderr();
}

#[test]
fn collisions_are_shown_and_nothing_is_written() {
    let sandbox = Sandbox::new().organisation();
    let folder = sandbox.dir().join("tpl").display().to_string();
    let run = sandbox.run(["export", "rd", "-o", &folder]).any_stdout();
    let sandbox = run
        .then()
        .edit("org-rd/charter.toml", "agents_max = 8", "agents_max = 2")
        .without_file("org-rd/notes.md");
    let before = sandbox.everything();
    let run = sandbox.run(["import", &folder]).status(1).stderr(
        "
        error: org-rd has other texts in charter.toml; nothing was written
        hint: import it under another name, and rd stays as it is: `--as DEPT`
        hint: `--dry-run` shows what would be written
        ",
    );
    assert!(run.everything() == before);
}

/// A department that is at work must never be removed with what came in.
#[test]
fn what_is_missing_in_a_live_department_comes_back_and_nobody_is_told_to_remove_it() {
    let sandbox = Sandbox::new().organisation();
    let folder = sandbox.dir().join("tpl").display().to_string();
    let run = sandbox.run(["export", "rd", "-o", &folder]).any_stdout();
    let run = run.then().without_file("org-rd/notes.md").run(["import", &folder]).stdout(
        "
        made org-rd from [DIR]/tpl: 1 files new, [..] there already
          notes.md
        Look at it and accept it: harness charter accept rd
        To undo: remove the files listed above from org-rd, and nothing else
        ",
    );
    run.then().run(["import", &folder]).stdout(
        "
        made org-rd from [DIR]/tpl: 0 files new, [..] there already
        ",
    );
}

#[test]
fn a_folder_that_is_no_template_is_refused() {
    let sandbox = Sandbox::new().dept("rd");
    let folder = sandbox.dir().join("stuff");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("charter.toml"), "x").unwrap();
    let folder = folder.display().to_string();
    let run = sandbox.run(["import", &folder]).status(1);
    let run = run.stderr("error: can't read [DIR]/stuff/template.toml: it is missing, so this folder is no template\nhint: [..]\n");
    let run = run.then().run(["export", "rd", "-o", &folder]).status(1).any_stderr();
    std::fs::write(run.dir().join("stuff/template.toml"), "schema = 2\n").unwrap();
    let error = run.then().run(["import", &folder]).status(1).parts().2;
    assert!(error.contains("its schema is 2, and this program knows 1"), "{error}");
}
