//! Files that are hostile: links, pipes, too large, not UTF-8, broken, newer than known. Nothing follows, blocks or
//! grows; what is wrong is named with its path, and what is right is still read.

use crate::sandbox::Sandbox;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

/// What can stand where a file should, and what is said of it.
type Trick = (fn(Sandbox, &str) -> Sandbox, &'static str);

const TRICKS: [Trick; 6] = [
    (|sandbox, path| sandbox.link(path, "/etc/passwd"), "it is a link, and links are not followed"),
    (|sandbox, path| sandbox.link(path, "nowhere"), "it is a link, and links are not followed"),
    (Sandbox::fifo, "it is a pipe"),
    (|sandbox, path| sandbox.bytes(&format!("{path}/x"), b""), "it is a folder"),
    (|sandbox, path| sandbox.bytes(path, b"schema = 1\n\xff\xfe"), "it is not UTF-8 text"),
    (huge, "it has 20000000 bytes, and the most is [..]"),
];

/// Takes no space on the disk, and would take much in memory.
fn huge(sandbox: Sandbox, path: &str) -> Sandbox {
    let sandbox = sandbox.bytes(path, b"");
    std::fs::File::options()
        .write(true)
        .open(sandbox.root().join(path))
        .unwrap()
        .set_len(20_000_000)
        .unwrap();
    sandbox
}

/// Each trick in the place of a file of `rd`, with a command that reads it.
#[track_caller]
fn each(path: &str, args: &[&str], status: i32) {
    for (trick, said) in TRICKS {
        let mut sandbox = Sandbox::new().dept("rd");
        if sandbox.exists(path) {
            sandbox = sandbox.without_file(path);
        }
        let sandbox = trick(sandbox, path);
        let run = sandbox.start(args).finish().status(status);
        run.stderr(&format!("error: [..]can't read [ROOT]/{path}: {said}\nhint: [..]\n"));
    }
}

#[test]
fn a_charter_that_is_none_refuses_everything() {
    for file in ["org-rd/charter.toml", "org-rd/charter.md"] {
        each(file, &["charter", "check", "rd"], 3);
        each(file, &["prompt", "rd"], 3);
        each(file, &["charter", "accept", "rd"], 3);
        each(file, &["send", "--to", "rd", "--kind", "Note", "--subject", "s", "--body", "b"], 3);
    }
}

#[test]
fn whatever_a_prompt_reads_is_read_safely() {
    for file in [
        "org-rd/memory/MEMORY.md",
        "org-rd/memory/SELF.md",
        "org-rd/notes.md",
        "org-rd/goal.toml",
        ".harness/org.toml",
    ] {
        each(file, &["prompt", "rd"], 1);
    }
    each(".harness/prompts/base/worker.md", &["prompt", "rd", "--role", "worker"], 1);
}

#[test]
fn prompts_of_a_department_are_plain_files() {
    let sandbox = Sandbox::new().dept("rd").link("org-rd/prompts/worker.md", "/etc/passwd");
    let run = sandbox.run(["prompt", "rd"]).status(1);
    run.stderr(
        "error: can't read [ROOT]/org-rd/prompts/worker.md: only plain files belong there\nhint: [..]\n",
    );
    let many = (0..65)
        .fold(Sandbox::new().dept("rd"), |sandbox, n| sandbox.file(&format!("org-rd/prompts/{n}.md"), "x"));
    let run = many.run(["charter", "accept", "rd"]).status(1);
    run.stderr(
        "error: can't read [ROOT]/org-rd/prompts: it holds 65 files, and the most is 64\nhint: [..]\n",
    );
}

#[test]
fn what_a_human_accepted_is_read_safely() {
    each(".harness/accepted.json", &["charter", "show", "rd"], 1);
}

#[test]
fn a_gate_that_can_not_be_read_is_closed() {
    for (trick, said) in &TRICKS[..4] {
        let sandbox =
            trick(Sandbox::new().dept("rd").without_file(".harness/gate.json"), ".harness/gate.json");
        let stdout = sandbox.run(["status", "--json"]).json();
        assert_eq!(stdout["data"]["gate"]["state"], "tripped");
        let reason = stdout["data"]["gate"]["reason"].as_str().unwrap().to_owned();
        assert!(reason.contains(said), "{reason}");
    }
}

#[test]
fn what_is_no_message_is_named_and_hides_no_other() {
    let sandbox = Sandbox::new().dept("rd").message("rd", "Note", "Fine", "Body");
    let sandbox = sandbox
        .link("org-rd/inbox/a-link.md", "/etc/passwd")
        .fifo("org-rd/inbox/b-pipe.md")
        .bytes("org-rd/inbox/c-folder/x", b"")
        .bytes("org-rd/inbox/d-binary.md", b"\xff\xfe")
        .bytes("org-rd/inbox/e-huge.md", &vec![b'x'; 1_100_000])
        .file("org-rd/inbox/f-open.md", "---\nid: f-open\n")
        .file("org-rd/inbox/g-twice.md", "---\nkind: Note\nkind: Note\n---\n")
        .file("org-rd/inbox/h-nested.md", "---\n  a: b\n---\n")
        .file("org-rd/inbox/i-newer.md", "---\nschema: 2\n---\n")
        .file("org-rd/inbox/j-other.md", "---\nid: k\n---\n")
        .file("org-rd/inbox/k-kind.md", "---\nkind: \"a b\"\n---\n")
        .file(
            "org-rd/inbox/m-20261118-000000-aaaaaa.md",
            "---\nid: m-20261118-000000-aaaaaa\nfrom: \"../x\"\n---\n",
        )
        .file("org-rd/inbox/m-escape.md", "---\nsubject: \"\\\u{1b}[2J\"\n---\n")
        .file("org-rd/inbox/n-long.md", &format!("---\na: {}\n---\n", "x".repeat(17_000)));
    let bad = sandbox.root().join("org-rd/inbox").join(OsStr::from_bytes(b"o-\xff.md"));
    std::fs::write(bad, "x").unwrap();
    let run = sandbox.run(["inbox", "rd"]).stdout("ID[..]\nm-[..]  pending  0s   Note  user  Fine\n");
    let run = run.stderr(
        "
        warning: org-rd/inbox/a-link.md is not a message: it is a link, and links are not followed
        warning: org-rd/inbox/b-pipe.md is not a message: it is a pipe, socket or device
        warning: org-rd/inbox/c-folder is not a message: it is a folder
        warning: org-rd/inbox/d-binary.md is not a message: it is not UTF-8 text
        warning: org-rd/inbox/e-huge.md is not a message: it has 1100000 bytes, and the most is 1048576
        warning: org-rd/inbox/f-open.md is not a message: line 1: the front matter that opens with `---` is never closed
        warning: org-rd/inbox/g-twice.md is not a message: line 3: the key `kind` stands there twice
        warning: org-rd/inbox/h-nested.md is not a message: line 2: `a` is not a key: front matter is flat
        warning: org-rd/inbox/i-newer.md is not a message: its schema is 2, and this program knows 1
        warning: org-rd/inbox/j-other.md is not a message: `id` is `k`, but the file's name says `j-other`
        warning: org-rd/inbox/k-kind.md is not a message: `kind` can't be `a b`
        warning: org-rd/inbox/m-20261118-000000-aaaaaa.md is not a message: `from` can't be `../x`
        warning: org-rd/inbox/m-escape.md is not a message: line 2: unknown escape `\\\\u{1b}`
        warning: org-rd/inbox/n-long.md is not a message: line 2: the front matter is larger than 16384 bytes
        warning: org-rd/inbox/o-[..].md is not a message: its name is not UTF-8
        ",
    );
    let run = run.then().run(["status", "rd"]).any_stdout();
    run.then().run(["prompt", "rd"]).any_stdout();
}

#[test]
fn a_damaged_copy_hides_no_whole_one() {
    let sandbox = Sandbox::new().organisation().message("rd", "Note", "Fine", "Body");
    let id = sandbox.sent(0);
    let sandbox = sandbox.file(&format!("org-business/inbox/{id}.md"), "---\nschema: 9\n---\n");
    let run = sandbox.run(["message", "show", &id]);
    run.stdout("Fine\n[..]\n[..]\n\nBody\n\nIn org-rd/inbox: pending\n");
}

#[test]
fn folders_that_are_links_or_files_are_not_entered() {
    let sandbox = Sandbox::new().dept("rd").link("org-lab", "org-rd");
    let run = sandbox.run(["inbox", "lab"]).status(1);
    let run = run.stderr("error: can't open [ROOT]/org-lab: it is a link, and links are not followed\nhint: replace the link by the file itself: `ls -l [ROOT]/org-lab`\n");
    let sandbox = run.then();
    std::fs::remove_dir(sandbox.root().join("org-rd/inbox")).unwrap();
    let outside = sandbox.dir().join("tmp");
    let sandbox = sandbox.link("org-rd/inbox", &outside.display().to_string());
    let args = ["send", "--to", "rd", "--kind", "Note", "--subject", "s", "--body", "b"];
    let run = sandbox.run(args).status(1);
    let run = run.stderr(
        "error: can't open [ROOT]/org-rd/inbox: it is a link, and links are not followed\nhint: [..]\n",
    );
    assert_eq!(std::fs::read_dir(outside).unwrap().count(), 0);
    let run = run.then().run(["inbox", "rd"]).status(1);
    run.stderr("error: can't open [ROOT]/org-rd/inbox: it is a link[..]\nhint: [..]\n");
}

#[test]
fn the_tool_s_own_folder_may_not_be_a_link() {
    let sandbox = Sandbox::new();
    let outside = sandbox.dir().join("tmp").display().to_string();
    let run = sandbox.link(".harness", &outside).run(["init", "rd"]).status(1);
    run.stderr("error: can't open [ROOT]/.harness: it is a link, and links are not followed\nhint: [..]\n");
}

#[test]
fn nothing_is_appended_through_a_link_or_a_pipe() {
    let args = ["send", "--to", "rd", "--kind", "Note", "--subject", "s", "--body", "b"];
    for (trick, said) in [&TRICKS[0], &TRICKS[2]] {
        let sandbox =
            trick(Sandbox::new().dept("rd").without_file(".harness/audit.jsonl"), ".harness/audit.jsonl");
        let run = sandbox.start(&args).finish().status(1);
        let run = run.stderr(&format!("error: can't read [ROOT]/.harness/audit.jsonl: {said}\nhint: [..]\n"));
        assert_eq!(run.tree("org-rd/inbox"), "");
    }
}

#[test]
fn a_newer_schema_is_refused_and_never_rewritten() {
    let newer = "its schema is 2, and this program knows 1";
    for (file, text, args, status) in [
        ("org-rd/charter.toml", "schema = 2\nnew = true\n", &["charter", "show", "rd"][..], 3),
        ("org-rd/goal.toml", "schema = 2\nnew = true\n", &["prompt", "rd"], 1),
        (".harness/org.toml", "schema = 2\nnew = true\n", &["prompt", "rd"], 1),
        ("org-rd/.harness/director-config.json", "{\"schema\": 2, \"new\": 1}", &["run-loop", "rd"], 1),
        (".harness/accepted.json", "{\"schema\": 2, \"new\": true}", &["charter", "accept", "rd"], 1),
        ("org-rd/playbook.toml", "schema = 2\nnew = true\n", &["charter", "accept", "rd"], 3),
    ] {
        let sandbox = Sandbox::new().dept("rd").file(file, text);
        let run = sandbox.start(args).finish().status(status);
        let run = run.stderr(&format!("error: can't [..] [ROOT]/{file}: {newer}\nhint: a newer harness wrote it: upgrade harness (this is [..])\n"));
        assert_eq!(run.read(file), text);
        drop(run.then().run(["init", "rd"]).parts());
        assert_eq!(sandbox.read(file), text);
    }
}

#[test]
fn a_newer_gate_is_closed() {
    let gate = r#"{"schema": 2, "state": "enabled", "quorum": 2}"#;
    let sandbox = Sandbox::new().dept("rd").file(".harness/gate.json", gate);
    let run = sandbox.run(["status"]).stdout(
        "
        Needs you (1)
               the gate is tripped (closed): gate.json has schema 2, and this program
               knows 1
               harness gate enable

        Gate: tripped (closed)   Last pulse: never
        Today: 0.00 of 10.00 USD ░░░░░░░░░░   0%   0 of 500 runs ░░░░░░░░░░   0%

        DEPARTMENT  STATE  MAIL  BOARD  LAST RUN  NEXT     DAY'S BUDGET
        rd          idle      0  -      never     by hand  ░░░░░░   0%
        ",
    );
    let run = run.then().run(["gate", "enable"]).status(1);
    let run = run.stderr(
        "error: can't read [ROOT]/.harness/gate.json: its schema is 2, and this program knows 1\nhint: a newer harness wrote it: upgrade harness (this is [..])\n",
    );
    assert_eq!(run.read(".harness/gate.json"), gate);
    run.then().run(["gate", "trip", "--why", "closing is always right"]).any_stdout();
}

#[test]
fn what_is_set_aside_is_the_owners_alone() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = Sandbox::new()
        .dept("rd")
        .bytes("org-rd/inbox/bad.md", b"\xff\xfe")
        .bytes("org-rd/inbox/folder.md/x", b"");
    sandbox.clone().run(["run-loop", "rd", "--engine", "rules"]).parts();
    let mode = |name: &str| {
        let path = sandbox.root().join("org-rd/.harness/quarantine").join(name);
        std::fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
    };
    assert_eq!((mode("bad.md"), mode("folder.md")), (0o600, 0o700));
}

/// Whatever a name is made of, a file that can't be taken leaves the inbox, and its reason says what it was.
#[test]
fn files_with_names_of_any_bytes_are_set_aside() {
    use std::os::unix::ffi::OsStringExt;
    let sandbox = Sandbox::new().apart().organisation();
    let inbox = sandbox.root().join("org-rd/inbox");
    let odd = |bytes: Vec<u8>| inbox.join(std::ffi::OsString::from_vec(bytes));
    std::fs::write(odd(b"caf\xe9.md".to_vec()), "# Hi\n").unwrap();
    std::fs::write(odd(vec![0xff; 255]), "# Hi\n").unwrap();
    std::fs::write(odd(vec![b'x'; 255]), b"\xff").unwrap();
    std::os::unix::fs::symlink("/nowhere", odd([vec![b'y'; 252], b".md".to_vec()].concat())).unwrap();
    let run = sandbox.run(["run-loop", "rd", "--engine", "rules"]).any_stdout().any_stderr();
    assert_eq!(run.tree("org-rd/inbox"), "");
    let left = run.tree("org-rd/.harness/quarantine");
    assert_eq!(left.lines().count(), 8, "{left}");
    let reason = run.read("org-rd/.harness/quarantine/caf\u{fffd}.md.reason");
    assert_eq!(reason, "inbox/caf\u{fffd}.md: its name is not UTF-8\n");
    run.then().run(["status", "rd"]).any_stdout();
}

/// One file that nobody may read hides no other: it is named, and set aside by the next run.
#[test]
fn a_file_that_nobody_may_read_hides_no_other() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = Sandbox::new().apart().organisation().file("org-rd/inbox/a.md", "# Hi\n");
    let sandbox = sandbox.file("org-rd/inbox/locked.md", "# Secret\n");
    let path = sandbox.root().join("org-rd/inbox/locked.md");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o0)).unwrap();
    if std::fs::read(&path).is_ok() {
        return crate::outcome::not_run("a file that nobody may read", "this user may read everything");
    }
    let run = sandbox.run(["inbox", "rd"]).stdout("ID[..]\na [..]  Hi\n");
    let run =
        run.stderr("warning: org-rd/inbox/locked.md is not a message: Permission denied (os error 13)\n");
    let run = run.then().run(["run-loop", "rd", "--engine", "rules"]).status(10).any_stdout().any_stderr();
    assert!(
        !run.exists("org-rd/inbox/locked.md") && run.exists("org-rd/.harness/quarantine/locked.md.reason")
    );
}

#[test]
fn thousands_of_files_that_are_no_messages_are_counted() {
    let sandbox = Sandbox::new().apart().organisation();
    for number in 0..500 {
        std::fs::write(sandbox.root().join(format!("org-rd/inbox/{number:03}.md")), b"\xff").unwrap();
    }
    let (_, _, stderr) = sandbox.start(&["inbox", "rd"]).finish().parts();
    assert_eq!(stderr.lines().count(), 21);
    assert!(
        stderr.ends_with("warning: 480 more files in org-rd/inbox are no messages; --json lists all\n"),
        "{stderr}"
    );
    let json = sandbox.clone().run(["inbox", "rd", "--json"]).json();
    assert_eq!(json["data"]["unreadable"].as_array().unwrap().len(), 500);
    let status = sandbox.clone().run(["status", "rd"]).any_stdout().take_stdout();
    assert!(
        status.starts_with("Needs you (6)\n") && status.contains("rd: 495 more files in inbox/"),
        "{status}"
    );
    let (_, _, told) = sandbox.start(&["run-loop", "rd", "--engine", "rules"]).finish().parts();
    assert_eq!(told.matches("was set aside").count(), 20, "{told}");
    assert!(told.contains("480 more files of inbox/ were set aside in quarantine"), "{told}");
    assert_eq!(sandbox.tree("org-rd/inbox"), "");
}
