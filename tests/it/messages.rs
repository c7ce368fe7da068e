//! Messages: sending, listing, showing, marking; threads, provenance, plain files, ids by their end.

use crate::outcome::Run;
use crate::sandbox::Sandbox;
use fs2::FileExt;

fn send<'a>(to: &'a str, kind: &'a str) -> [&'a str; 9] {
    ["send", "--to", to, "--kind", kind, "--subject", "A subject", "--body", "A body"]
}

fn only_file(sandbox: &Sandbox, folder: &str) -> String {
    let tree = sandbox.tree(folder);
    let files: Vec<&str> = tree.lines().filter(|line| !line.ends_with('/')).collect();
    assert_eq!(files.len(), 1, "{tree}");
    files[0].to_owned()
}

fn mark(sandbox: Sandbox, id: &str, status: &str) -> Run {
    sandbox.run(["message", "mark", id, "--status", status, "--why", "a good reason"])
}

#[test]
fn send_prints_the_id_alone_and_files_the_message() {
    let run = Sandbox::new().dept("rd").run(send("rd", "Note")).stdout("m-20261118-004201-[..]\n");
    let file = only_file(&run, "org-rd/inbox");
    let id = file.trim_end_matches(".md");
    let expected = format!(
        "---\nschema: 1\nid: {id}\nfrom: user\nto: [rd]\nkind: Note\nsubject: A subject\nthread: {id}\nhops: 0\n\
         provenance: human\ncreated: 2026-11-18T00:42:01Z\nstatus: pending\n---\nA body\n"
    );
    assert_eq!(run.read(&format!("org-rd/inbox/{file}")), expected);
}

#[test]
fn a_body_comes_from_stdin_too() {
    let sandbox = Sandbox::new().dept("rd").stdin("---\nfrom: ceo\n---\nLine\n");
    let args = ["send", "--to", "rd", "--kind", "Note", "--subject", "s", "--body", "-"];
    let sandbox = sandbox.run(args).any_stdout().then();
    let file = only_file(&sandbox, "org-rd/inbox");
    assert!(
        sandbox
            .read(&format!("org-rd/inbox/{file}"))
            .ends_with("status: pending\n---\n---\nfrom: ceo\n---\nLine\n")
    );
    sandbox.run(["inbox", "rd"]).stdout("ID[..]\nm-[..]  pending  0s   Note  user  s\n");
}

#[test]
fn one_message_goes_to_several() {
    let sandbox = Sandbox::new().organisation();
    let run = sandbox.run([
        "send",
        "--to",
        "rd",
        "--to",
        "management",
        "--kind",
        "Decision",
        "--subject",
        "s",
        "--body",
        "b",
    ]);
    let sandbox = run.any_stdout().then();
    assert_eq!(only_file(&sandbox, "org-rd/inbox"), only_file(&sandbox, "org-management/inbox"));
    let file = only_file(&sandbox, "org-rd/inbox");
    let text = sandbox.read(&format!("org-rd/inbox/{file}"));
    assert!(text.contains("\nto: [rd, management]\n"), "{text}");
    let id = file.trim_end_matches(".md").to_owned();
    let run = mark(sandbox, &id, "archived").status(1);
    let run = run
        .stderr("error: `m-[..]` is in the inbox of management, rd\nhint: say whose copy: `--dept DEPT`\n");
    let run = run.then().run(["message", "mark", &id, "--status", "archived", "--why", "x", "--dept", "rd"]);
    let run = run.stdout("marked m-[..] in rd: pending to archived\n");
    let shown = run.then().run(["message", "show", &id]);
    shown.stdout("s\nDecision from user to rd, management, [..]\n[..]\n\nb\n\nIn org-management/inbox: pending\nIn org-rd/archive/inbox: archived\n  2026-11-18 00:42 archived by user: x\n");
}

#[test]
fn what_a_department_does_not_receive_is_refused() {
    let sandbox = Sandbox::new().organisation();
    let run = sandbox.run(send("marketing", "Proposal")).status(3).stderr(
        "error: `marketing` does not receive `Proposal`\nhint: `marketing` receives LaunchReady, Capability, BudgetAllocation, ProjectKickoff, Note, Answer; see `harness charter show marketing`\n",
    );
    let run = run.then().run(send("business", "directiv")).status(3);
    let run = run.stderr("error: `business` does not receive `directiv`\nhint: did you mean `Directive`?\n");
    let run = run.then().run(send("business", "System")).status(3);
    let run = run.stderr("error: a System message comes from harness itself\nhint: send a Note, or [..] `harness event emit`\n");
    assert_eq!(run.tree("org-business/inbox"), "");
}

#[test]
fn a_department_that_is_not_there_is_guessed_or_listed() {
    let sandbox = Sandbox::new().organisation();
    let run = sandbox.run(send("busines", "Note")).status(1);
    let run = run.stderr("error: there is no department `busines`\nhint: did you mean `business`?\n");
    let run = run.then().run(send("Business", "Note")).status(2);
    let run =
        run.stderr("error: `Business` is not a department name: [..]\nhint: did you mean `business`?\n");
    run.then().run(send("zzz", "Note")).status(1).stderr(
        "error: there is no department `zzz`\nhint: there are: business, management, marketing, rd, technology\n",
    );
}

#[test]
fn a_project_or_directive_that_is_not_there_is_no_message_s() {
    let sandbox = Sandbox::new().dept("rd").message("rd", "Note", "s", "b");
    for what in ["project", "directive"] {
        let option = format!("--{what}");
        let args: Vec<&str> = send("rd", "Note").into_iter().chain([option.as_str(), "nosuch"]).collect();
        let run = sandbox.start(&args).finish().status(1);
        run.stderr(&format!(
            "error: there is no {what} `nosuch`\nhint: `harness {what} list --all` lists them\n"
        ));
    }
    assert_eq!(sandbox.tree("org-rd/inbox").lines().count(), 1);
    // The end of an id is enough, and the whole of it is written.
    let run = sandbox.run(["project", "add", "--title", "Shop"]).any_stdout();
    let sandbox = run.then();
    let list = sandbox.clone().run(["project", "list", "--json"]).json();
    let id = list["data"]["projects"][0]["id"].as_str().unwrap().to_owned();
    let end = &id[id.len() - 6..];
    let args: Vec<&str> = send("rd", "Note").into_iter().chain(["--project", end, "--dry-run"]).collect();
    let text = sandbox.start(&args).finish().any_stdout().take_stdout();
    assert!(text.contains(&format!("\nproject: {id}\n")), "{text}");
}

#[test]
fn hostile_words_are_refused_in_short() {
    let sandbox = Sandbox::new().dept("rd");
    let long = "k".repeat(100_000);
    for kind in ["../x", "a b", "Note\n", "\u{1b}[31mNote", "", "é", "1st", &long] {
        let (status, stdout, stderr) = sandbox.start(&send("rd", kind)).finish().parts();
        assert_eq!((status, stdout.as_str()), (2, ""), "{kind:?}");
        assert!(stderr.len() < 300 && stderr.contains("\nhint: ") && !stderr.contains('\u{1b}'), "{stderr}");
        assert!(stderr.contains("can't be a kind"), "{stderr}");
    }
    for id in ["../../etc", "a/b", ".x", "a b", "\u{202e}x", &long] {
        for option in ["--ref", "--project", "--directive"] {
            let args: Vec<&str> = send("rd", "Note").into_iter().chain([option, id]).collect();
            let (status, _, stderr) = sandbox.start(&args).finish().parts();
            assert_eq!(status, 2, "{option} {id:?}");
            assert!(
                stderr.contains("can't be an id") && stderr.contains("\nhint: ") && stderr.len() < 300,
                "{stderr}"
            );
        }
    }
    for id in ["../../etc/passwd", "\u{1b}[2J", "", &long] {
        let (status, _, stderr) = sandbox.start(&["message", "show", "--", id]).finish().parts();
        assert_eq!(status, 1, "{id:?}");
        assert!(
            stderr.contains("there is no message") && stderr.len() < 300 && !stderr.contains('\u{1b}'),
            "{stderr}"
        );
    }
    assert_eq!(sandbox.tree("org-rd/inbox"), "");
}

#[test]
fn subjects_bodies_and_amounts_have_bounds() {
    let sandbox = Sandbox::new().organisation();
    let check = |subject: &str, body: &str, rest: &[&str], stderr: &str| {
        let args =
            ["send", "--to", "marketing", "--kind", "BudgetAllocation", "--subject", subject, "--body", body];
        let args: Vec<&str> = args.into_iter().chain(rest.iter().copied()).collect();
        sandbox.start(&args).finish().status(2).stderr(stderr);
    };
    let amount = ["--amount-usd", "5"];
    let one_line = "error: the subject must be one line of text\nhint: say in one line [..] `--body`\n";
    check("", "b", &amount, one_line);
    check("a\nb", "b", &amount, one_line);
    let long = "error: the subject has 201 characters; the most is 200\nhint: shorten it, and put the rest into `--body`\n";
    check(&"s".repeat(201), "b", &amount, long);
    check("s", "b", &[], "error: a BudgetAllocation says how much\nhint: give `--amount-usd N`\n");
    let amount = "error: the amount must be 0 or more\nhint: give it in USD: `--amount-usd 250`\n";
    check("s", "b", &["--amount-usd=-1"], amount);
    check("s", "b", &["--amount-usd=nan"], amount);
    let twice = "error: `marketing` is named twice\nhint: leave one of the two `--to` out\n";
    check("s", "b", &["--amount-usd", "5", "--to", "marketing"], twice);
    for (bytes, stderr) in [
        (&b"a\0b"[..], "error: the body holds a zero byte\nhint: a body is text[..]\n"),
        (&b"\xff"[..], "error: the body is not UTF-8 text\nhint: turn it into UTF-8 first[..]\n"),
    ] {
        let piped = sandbox.clone().stdin("");
        std::fs::write(piped.dir().join("stdin"), bytes).unwrap();
        let args = ["send", "--to", "rd", "--kind", "Note", "--subject", "s", "--body", "-"];
        piped.run(args).status(2).stderr(stderr);
    }
    let long = sandbox.clone().stdin(&"é".repeat(200_000));
    let args = ["send", "--to", "rd", "--kind", "Note", "--subject", "s", "--body", "-"];
    long.run(args).status(2).stderr(
        "error: the body is longer than 262144 bytes\nhint: put the long text into a file, and name its path in the message\n",
    );
    assert_eq!(sandbox.tree("org-marketing/inbox"), "");
}

#[test]
fn a_dry_run_shows_the_message_and_sends_nothing() {
    let sandbox = Sandbox::new().dept("rd");
    let before = sandbox.tree("");
    let args: Vec<&str> = send("rd", "Note").into_iter().chain(["--dry-run"]).collect();
    let run = sandbox.start(&args).finish().any_stdout();
    assert_eq!(run.tree(""), before);
}

#[test]
fn an_answer_joins_the_thread_a_hop_further() {
    let sandbox = Sandbox::new().organisation().message("rd", "Note", "First", "Body");
    let first = sandbox.sent(0);
    let args: Vec<&str> = send("rd", "Answer").into_iter().chain(["--ref", &first[18..]]).collect();
    let sandbox = sandbox.now("2026-11-18T00:43:01Z");
    let run = sandbox.start(&args).finish().any_stdout();
    let second = run.then().run(["inbox", "rd", "--json"]).json()["data"]["messages"].clone();
    let answer =
        second.as_array().unwrap().iter().find(|message| message["kind"] == "Answer").unwrap().clone();
    assert_eq!((&answer["ref"], &answer["thread"]), (&first.clone().into(), &first.clone().into()));
    assert_eq!((&answer["hops"], &answer["provenance"]), (&1.into(), &"human".into()));
    let id = answer["id"].as_str().unwrap();
    sandbox.run(["message", "thread", id]).stdout(
        "ID[..]FROM, TO    SUBJECT\nm-[..]  1m   Note    user to rd  First\nm-[..]  0s   Answer  user to rd  A subject\n",
    );
}

#[test]
fn a_thread_that_claims_endless_hops_is_still_answered() {
    let text = format!("---\nhops: {}\n---\nx\n", u64::MAX);
    let sandbox = Sandbox::new().dept("rd").file("org-rd/inbox/loop.md", &text);
    let args: Vec<&str> = send("rd", "Note").into_iter().chain(["--ref", "loop"]).collect();
    sandbox.start(&args).finish().stdout("m-[..]\n");
}

#[test]
fn ids_go_by_their_end_where_it_is_enough() {
    let sandbox = Sandbox::new().dept("rd").message("rd", "Note", "One", "1");
    let id = sandbox.sent(0);
    let shown = format!(
        "One\nNote from user to rd, 2026-11-18 00:42, human\n{id}, thread {id}, hop 0\n\n1\n\nIn org-rd/inbox: pending\n"
    );
    let sandbox = sandbox.run(["message", "show", &id[18..]]).stdout(&shown).then();
    let sandbox = sandbox.file("org-rd/inbox/a-same.md", "a\n").file("org-rd/inbox/b-same.md", "b\n");
    let run = sandbox.run(["message", "show", "same"]).status(1);
    let run = run.stderr("error: `same` fits several messages\nhint: give more of the id: a-same, b-same\n");
    let run = run.then().run(["message", "show", "a-same"]).any_stdout();
    run.then().run(["message", "show", "nothing"]).status(1).stderr(
        "error: there is no message `nothing`\nhint: `harness inbox DEPT` and `harness outbox DEPT` list them\n",
    );
}

#[test]
fn statuses_move_on_with_a_receipt_and_never_back() {
    let sandbox = Sandbox::new().dept("rd").message("rd", "Note", "One", "1");
    let id = sandbox.sent(0);
    let run = mark(sandbox, &id, "acknowledged").stdout("marked m-[..] in rd: pending to acknowledged\n");
    let receipt = "status: acknowledged\nacknowledged_at: 2026-11-18T00:42:01Z\nacknowledged_by: user\nacknowledged_run: none\nacknowledged_why: a good reason\n---\n1\n";
    assert!(run.read(&format!("org-rd/inbox/{id}.md")).ends_with(receipt));
    let run = mark(run.then(), &id, "actioned").stdout("marked m-[..] in rd: acknowledged to actioned\n");
    assert_eq!(run.tree("org-rd/inbox"), "");
    assert!(run.exists(&format!("org-rd/archive/inbox/2026-11/{id}.md")));
    let run = mark(run.then(), &id, "actioned").stdout("m-[..] in rd is actioned already\n");
    let run = mark(run.then(), &id, "acknowledged").status(1);
    run.stderr("error: `m-[..]` is actioned and can't become acknowledged\nhint: statuses only move on; send the message again instead\n");
}

#[test]
fn a_mark_says_why_and_leaves_pending() {
    let sandbox = Sandbox::new().dept("rd").message("rd", "Note", "One", "1");
    let id = sandbox.sent(0);
    let usage = "error: a message is moved on from pending, and says why\nhint: `--status acknowledged|actioned|archived --why TEXT`\n";
    for (status, why) in [("pending", "because"), ("archived", " ")] {
        let args = ["message", "mark", &id, "--status", status, "--why", why];
        sandbox.start(&args).finish().status(2).stderr(usage);
    }
    let before = sandbox.tree("");
    let args = ["message", "mark", &id, "--status", "archived", "--why", "x", "--dry-run"];
    let run = sandbox.run(args).stdout("would mark m-[..] in rd: pending to archived\n");
    assert_eq!(run.tree(""), before);
}

#[test]
fn a_message_is_not_changed_under_a_run_s_hands() {
    let sandbox = Sandbox::new().dept("rd").message("rd", "Note", "One", "1");
    let id = sandbox.sent(0);
    let lock = std::fs::File::create(sandbox.root().join("org-rd/.harness/lock")).unwrap();
    FileExt::lock_exclusive(&lock).unwrap();
    let run = mark(sandbox, &id, "archived").status(4);
    run.stderr("error: a run holds `rd`\nhint: try again when it has ended\n");
}

#[test]
fn a_plain_file_is_a_note() {
    let sandbox = Sandbox::new().dept("rd").file("org-rd/inbox/idea.md", "Hello\n\n# Cache it\n");
    let message = sandbox.run(["inbox", "rd", "--json"]).json()["data"]["messages"][0].clone();
    for (key, value) in [
        ("id", "idea"),
        ("kind", "Note"),
        ("from", "file"),
        ("subject", "Cache it"),
        ("provenance", "external"),
        ("status", "pending"),
    ] {
        assert_eq!(message[key], value, "{key}");
    }
}

#[test]
fn a_plain_file_may_have_any_name_and_keeps_its_id() {
    let sandbox = Sandbox::new().dept("rd").file("org-rd/inbox/My idea, again.txt", "x\n");
    let id = sandbox.clone().run(["inbox", "rd", "--json"]).json()["data"]["messages"][0]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(id.starts_with("m-"), "{id}");
    // The rewrite makes the file newer; the id must not follow.
    let run = mark(sandbox.now("2027-01-01T00:00:00Z"), &id, "acknowledged").stdout("marked m-[..]\n");
    assert_eq!(run.tree("org-rd/inbox"), format!("{id}.md\n"));
    let run = mark(run.then(), &id, "actioned").stdout("marked m-[..]\n");
    assert_eq!(run.tree("org-rd/archive/inbox"), format!("2027-01/\n2027-01/{id}.md\n"));
    run.then().run(["message", "show", &id]).stdout(
        "My idea, again\nNote from file[..]\n[..]\n\nx\n\nIn org-rd/archive/inbox: actioned\n[..]\n[..]\n",
    );
}

#[test]
fn a_name_that_was_used_before_gets_an_id_of_its_own() {
    let sandbox = Sandbox::new().dept("rd").file("org-rd/inbox/todo.md", "first\n");
    let sandbox = mark(sandbox, "todo", "archived").stdout("marked todo in rd: pending to archived\n").then();
    let sandbox = sandbox.file("org-rd/inbox/todo.md", "second\n").file("org-rd/inbox/todo.txt", "third\n");
    let messages = sandbox.clone().run(["inbox", "rd", "--json"]).json()["data"]["messages"].clone();
    let ids: Vec<String> =
        messages.as_array().unwrap().iter().map(|m| m["id"].as_str().unwrap().to_owned()).collect();
    assert!(ids.len() == 2 && ids[0] != ids[1] && ids.iter().all(|id| id.starts_with("m-")), "{ids:?}");
    for id in &ids {
        mark(sandbox.clone(), id, "archived").stdout("marked m-[..]\n");
    }
    sandbox
        .run(["message", "show", "todo"])
        .stdout("todo\nNote from file[..]\n[..]\n\nfirst\n\nIn[..]\n[..]\n");
}

#[test]
fn unknown_keys_and_comments_survive_a_mark() {
    let text = "---\n# mine\nsubject: Fix: the thing\nx-odd:  [b,  a]\n---\nBody\n\n";
    let sandbox = Sandbox::new().dept("rd").file("org-rd/inbox/fix.md", text);
    let run = mark(sandbox, "fix", "acknowledged").any_stdout();
    let kept = run.read("org-rd/inbox/fix.md");
    assert!(
        kept.starts_with("---\n# mine\nsubject: Fix: the thing\nx-odd:  [b,  a]\nschema: 1\nid: fix\n"),
        "{kept}"
    );
    assert!(kept.ends_with("---\nBody\n\n"), "{kept}");
}

#[test]
fn a_status_without_its_receipt_is_no_message() {
    let sandbox = Sandbox::new().dept("rd").file("org-rd/inbox/x.md", "---\nstatus: actioned\n---\nx\n");
    let run = sandbox.run(["inbox", "rd"]).stdout("The inbox of rd is empty.\n");
    run.stderr("warning: org-rd/inbox/x.md is not a message: `status` is `actioned` without a receipt of who, which run and why\n");
}

fn inside(sandbox: Sandbox, dept: &str) -> Sandbox {
    sandbox.env("HARNESS_RUN", "").env("HARNESS_DEPT", dept)
}

#[test]
fn inside_a_run_send_is_from_the_department_and_its_charter_holds() {
    let sandbox = Sandbox::new().organisation();
    let led = "[\"send_message\", \"dispatch\"]   # what";
    let sandbox = sandbox.edit("org-business/charter.toml", led, "[]   # what");
    let run = inside(sandbox, "business").run(send("rd", "Decision"));
    let file = only_file(&run.stdout("m-[..]\n").then(), "org-rd/inbox");
    let sandbox = Sandbox::new().organisation().edit("org-business/charter.toml", led, "[]   # what");
    let run = inside(sandbox, "business").run(send("management", "ProgressUpdate")).status(3);
    let run = run.stderr("error: `management` does not receive `ProgressUpdate`\nhint: [..]\n");
    let run = run.then().run(send("rd", "MarketSignal")).status(3).stderr(
        "error: `send_message` of `MarketSignal` is not in the charter of `business`\nhint: `business` may send BudgetAllocation, Decision, Priority; see `harness charter show business`\n",
    );
    assert!(!file.is_empty());
    run.then()
        .run(send("rd", "Decision"))
        .stdout("m-[..]\n")
        .then()
        .run(["inbox", "rd", "--json"])
        .any_stdout();
}

#[test]
fn inside_a_run_a_message_is_external() {
    let sandbox = Sandbox::new().organisation();
    let led = "[\"send_message\", \"dispatch\"]   # what";
    let sandbox = inside(sandbox.edit("org-business/charter.toml", led, "[]   # what"), "business");
    let sandbox = sandbox.run(send("rd", "Decision")).any_stdout().then();
    let message = sandbox.run(["inbox", "rd", "--json"]).json()["data"]["messages"][0].clone();
    assert_eq!((&message["from"], &message["provenance"]), (&"business".into(), &"external".into()));
}

#[test]
fn inside_a_run_what_needs_a_human_is_not_sent() {
    let sandbox = inside(Sandbox::new().organisation(), "business");
    let run = sandbox.run(send("rd", "Decision")).status(3).stderr(
        "error: `send_message` waits for a human, because an external message led to it\nhint: answer with the action itself; it will wait for a human\n",
    );
    assert_eq!(run.tree("org-rd/inbox"), "");
    let run = run.then().env("HARNESS_DEPT", "").run(send("rd", "Decision")).status(3);
    run.stderr("error: this is inside a run, but HARNESS_DEPT does not say of which department\n");
}

#[test]
fn inside_a_run_the_amount_is_judged_too() {
    let led = "[\"send_message\", \"dispatch\"]   # what";
    let sandbox = Sandbox::new().organisation().edit("org-business/charter.toml", led, "[]   # what");
    let charter =
        sandbox.read("org-business/charter.toml").replace("kinds = [\"BudgetAllocation\"]", "kinds = []");
    let charter = charter.split("[[example]]").next().unwrap().to_owned();
    let sandbox = inside(sandbox.bytes("org-business/charter.toml", charter.as_bytes()), "business");
    let args = |amount| {
        [
            "send",
            "--to",
            "marketing",
            "--kind",
            "BudgetAllocation",
            "--subject",
            "s",
            "--body",
            "b",
            "--amount-usd",
            amount,
        ]
    };
    let run = sandbox.run(args("501")).status(3);
    let run = run.stderr(
        "error: 501 USD is above 500 USD\nhint: answer with the action itself; it will wait for a human\n",
    );
    run.then().run(args("500")).stdout("m-[..]\n");
}

#[test]
fn an_inbox_of_ten_thousand_files_is_read() {
    let sandbox = Sandbox::new().dept("rd");
    let folder = sandbox.root().join("org-rd/inbox");
    for number in 0..10_000 {
        std::fs::write(folder.join(format!("note-{number:05}.md")), "# Hello\n").unwrap();
    }
    let run = sandbox.run(["inbox", "rd"]);
    let text = run.take_stdout();
    assert_eq!(text.lines().count(), 10_001);
    assert!(text.lines().all(|line| line.len() <= 80));
}

#[test]
fn the_outbox_shows_what_was_sent() {
    let text = "---\nschema: 1\nid: m-1\nfrom: rd\nto: [business]\nkind: Proposal\nsubject: Build it\nthread: m-1\nhops: 0\nprovenance: department\ncreated: 2026-11-17T00:42:01Z\nstatus: pending\n---\nx\n";
    let sandbox = Sandbox::new().dept("rd");
    let run = sandbox.run(["outbox", "rd"]).stdout("rd has sent nothing in the last 30 days.\n");
    let run = run.then().file("org-rd/outbox/m-1.md", text).run(["outbox", "rd"]);
    run.stdout("ID   AGE  KIND      TO        SUBJECT\nm-1  24h  Proposal  business  Build it\n");
}

#[test]
fn a_send_that_failed_is_written_down_as_failed() {
    let sandbox = Sandbox::new().dept("support");
    std::fs::remove_dir(sandbox.root().join("org-support/inbox")).unwrap();
    let sandbox = sandbox.link("org-support/inbox", "/tmp");
    let args = ["send", "--to", "support", "--kind", "Note", "--subject", "Hello", "--body", "Hi"];
    sandbox.clone().run(args).status(1).parts();
    let audit = sandbox.read(".harness/audit.jsonl");
    let last = audit.lines().last().unwrap();
    assert!(last.contains(" failed: ") && last.contains("it is a link"), "{last}");
}
