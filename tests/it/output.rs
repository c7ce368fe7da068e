//! What the program prints: one JSON document, errors with hints, exit codes, colours, closed pipes.

use crate::sandbox::Sandbox;
use std::os::unix::ffi::OsStringExt;

#[test]
fn every_command_that_shows_state_has_one_document() {
    let sandbox = Sandbox::new().organisation().message("rd", "Note", "s", "b");
    let id = sandbox.sent(0);
    for (args, schema) in [
        (&["status"][..], "harness.status/1"),
        (&["stats"], "harness.stats/1"),
        (&["inbox", "rd"], "harness.inbox/1"),
        (&["outbox", "rd"], "harness.outbox/1"),
        (&["message", "show", &id], "harness.message/1"),
        (&["message", "thread", &id], "harness.thread/1"),
        (&["charter", "show", "rd"], "harness.charter/1"),
        (&["charter", "check", "rd"], "harness.charter-check/1"),
        (&["charter", "accept", "rd"], "harness.charter-accept/1"),
        (&["prompt", "rd"], "harness.prompt/1"),
        (&["schema", "charter"], "harness.schema/1"),
        (&["init"], "harness.init/1"),
        (&["send", "--to", "rd", "--kind", "Note", "--subject", "s", "--body", "b"], "harness.send/1"),
        (&["message", "mark", &id, "--status", "archived", "--why", "x"], "harness.mark/1"),
    ] {
        for args in [[&["--json"], args].concat(), [args, &["--json"]].concat()] {
            let document = sandbox.start(&args).finish().json();
            assert_eq!((&document["schema"], &document["ok"]), (&schema.into(), &true.into()), "{args:?}");
            assert!(document["warnings"].is_array() && !document["data"].is_null(), "{args:?}");
        }
    }
}

#[test]
fn a_failure_is_a_document_too() {
    let sandbox = Sandbox::new().dept("rd");
    let check = |args: &[&str], exit: i32, code: &str, hint: &str| {
        let args = [args, &["--json"]].concat();
        let run = sandbox.start(&args).finish().status(exit);
        let document = run.json();
        let error = &document["error"];
        assert_eq!((&document["schema"], &document["ok"]), (&"harness.error/1".into(), &false.into()));
        assert_eq!((&error["code"], &error["exit"]), (&code.into(), &exit.into()), "{args:?}");
        assert!(error["causes"].is_array() && error["message"].is_string());
        assert!(error["hints"][0].as_str().unwrap().contains(hint), "{error}");
    };
    check(&["inbox", "rf"], 1, "no_department", "there are: rd");
    check(&["sendd"], 2, "usage", "did you mean `send`?");
    check(&["prompt", "rd", "--mode", "ceo"], 2, "usage", "--mode ceo");
    check(&["message", "show", "x"], 1, "no_message", "harness inbox");
    check(
        &["send", "--to", "rd", "--kind", "Decision", "--subject", "s", "--body", "b"],
        3,
        "kind_not_received",
        "rd",
    );
    let action = r#"{"do": "dispatch", "from": "x"}"#;
    let run = sandbox.run(["charter", "check", "rd", "--json", "--action", action]).status(3);
    let document = run.json();
    assert_eq!((&document["ok"], &document["data"]["code"]), (&false.into(), &"from_given".into()));
}

#[test]
fn an_error_says_what_where_and_what_helps_once() {
    let sandbox = Sandbox::new().dept("rd").env("HARNESS_TEST_FAULT", "fail-from:1:28");
    let args = ["send", "--to", "rd", "--kind", "Note", "--subject", "s", "--body", "b"];
    sandbox.run(args).status(1).stderr(
        "
        error: can't add to [ROOT]/.harness/audit.jsonl: No space left on device (os error 28)
        hint: free some space: `df -h [ROOT]/.harness`
        ",
    );
}

#[test]
fn mistakes_on_the_command_line_are_one_sentence_with_hints() {
    let sandbox = Sandbox::new().dept("rd").without_env("HARNESS_ROOT");
    let check = |args: &[&str], stderr: &str| drop(sandbox.start(args).finish().status(2).stderr(stderr));
    check(
        &["sendd"],
        "error: unrecognized subcommand 'sendd'\nhint: did you mean `send`?\nhint: the form is `harness [OPTIONS] [COMMAND]`; see `harness --help`\n",
    );
    check(
        &["charter"],
        "error: `harness charter` does not say what to do: show, check, test, accept\nhint: the form is `harness charter [OPTIONS] <COMMAND>`; see `harness charter --help`\n",
    );
    check(
        &["inbox"],
        "error: the following required arguments were not provided: <DEPT>\nhint: the form is `harness inbox <DEPT>`; see `harness inbox --help`\n",
    );
    check(
        &["inbox", "rd", "--jsn"],
        "error: unexpected argument '--jsn' found\nhint: did you mean `--json`?\nhint: the form is `harness inbox --json <DEPT>`; see `harness inbox --help`\n",
    );
    check(
        &["inbox", "rd", "--root"],
        "error: a value is required for '--root <DIR>' but none was supplied\nhint: see `harness inbox --help`\n",
    );
    check(
        &["charter", "--color", "never", "show", "rd", "--color", "pink"],
        "error: invalid value 'pink' for '--color <WHEN>' [possible values: auto, always, never]\nhint: see `harness charter show --help`\n",
    );
    check(
        &["schema", "chartr"],
        "error: invalid value 'chartr' for '<FORMAT>' [possible values: actions, charter, config, message]\nhint: did you mean `charter`?\n",
    );
    check(
        &["message", "mark", "x", "--status", "archive", "--why", "y"],
        "error: invalid value 'archive' for '--status <STATUS>' [possible values: pending, acknowledged, actioned, archived]\nhint: did you mean `archived`?\n",
    );
}

#[test]
fn an_empty_root_is_none_and_forms_show_no_root() {
    let sandbox = Sandbox::new().dept("rd");
    let form = "error: the following required arguments were not provided: <DEPT>\nhint: the form is `harness inbox <DEPT>`; see `harness inbox --help`\n";
    let run = sandbox.run(["inbox"]).status(2).stderr(form);
    let none = run.then().env("HARNESS_ROOT", "");
    for verb in ["inbox", "tick"] {
        let run = none.start(&[verb, "rd"]).finish().status(1);
        run.stderr("error: there is no organisation in [HOME]\nhint: [..]\nhint: [..]\n");
        let run = none.start(&[verb, "rd", "--root", ""]).finish().status(2);
        run.stderr("error: a value is required for '--root <DIR>' but none was supplied\nhint: see `harness VERB --help`\n".replace("VERB", verb).as_str());
    }
    let odd = std::ffi::OsString::from_vec(b"/no\xffwhere".to_vec());
    none.env("HARNESS_ROOT", odd)
        .run(["inbox", "rd"])
        .status(1)
        .stderr("error: there is no organisation in /no[..]where\n[..]\n[..]\n");
}

#[test]
fn nothing_but_what_one_sees_reaches_the_terminal() {
    let hostile = "a\u{1b}[31mb\u{202e}c\u{9b}d";
    let file = format!(
        "---\nsubject: \"{hostile}\"\nto: [\"{hostile}\"]\nref: \"{hostile}\"\nthread: \"{hostile}\"\n---\n{hostile}\n"
    );
    let sandbox =
        Sandbox::new().dept("rd").file("org-rd/inbox/x.md", &file).file(&format!("org-{hostile}/x"), "");
    let sandbox = sandbox.file(&format!("org-rd/inbox/{hostile}.md"), "---\nkind: 1\n---\n");
    for args in [
        &["inbox", "rd"][..],
        &["message", "show", "x"],
        &["message", "thread", "x"],
        &["status"],
        &["prompt", "rd"],
    ] {
        for args in [args.to_vec(), [args, &["--json"]].concat()] {
            let (_, stdout, stderr) = sandbox.start(&args).finish().parts();
            assert!(
                !format!("{stdout}{stderr}").contains(['\u{1b}', '\u{202e}', '\u{9b}']),
                "{args:?}: {stdout}{stderr}"
            );
        }
    }
    let subject = sandbox.run(["message", "show", "x", "--json"]).json()["data"]["subject"].clone();
    assert_eq!(subject, hostile);
}

#[test]
fn colour_is_for_terminals_or_on_request() {
    let sandbox = Sandbox::new().dept("rd");
    let plain = sandbox.start(&["status"]).finish().take_stdout();
    assert!(!plain.contains('\u{1b}'));
    let coloured = sandbox.start(&["status", "--color", "always"]).finish().take_stdout();
    assert!(coloured.contains("\u{1b}[1mDEPARTMENT"), "{coloured}");
    for key in ["NO_COLOR", "CLICOLOR_FORCE"] {
        let run = sandbox.clone().env(key, "1").run(["status", "--color", "never"]);
        assert_eq!(run.take_stdout(), plain);
    }
    let stderr = sandbox.run(["inbox", "x", "--color", "always"]).status(1).parts().2;
    assert!(stderr.starts_with("\u{1b}[1m\u{1b}[31merror:\u{1b}[0m there is no department"), "{stderr:?}");
}

#[test]
fn a_closed_pipe_is_no_error_and_a_full_disk_is_one() {
    let shell = Sandbox::of("/bin/sh");
    let script =
        "harness init >/dev/null; harness prompt business | head -c 10; harness status | true; echo $?";
    let shell = shell.run(["-c", script]).stdout("# harness:0\n").then();
    if std::path::Path::new("/dev/full").exists() {
        let run = shell.run(["-c", "harness prompt business >/dev/full"]).status(1);
        run.stderr("error: can't write the answer to stdout: No space left on device (os error 28)\n");
    }
}

#[test]
fn without_an_organisation_there_is_a_welcome() {
    let run = Sandbox::new().run([]);
    let run = run.stdout("harness runs an organisation of LLM directors from plain files.\n\nThere is none in [ROOT] yet. To make one with five departments:\n\n  harness init --root ./org\n\nTo watch one work first, in a minute, with no key and nothing installed:\n\n  harness demo\n\n`harness --help` lists every command.\n");
    let run = run.then().run(["status"]).status(1).stderr(
        "error: there is no organisation in [ROOT]\nhint: make one: `harness init --root [ROOT]`\nhint: or name another root: `--root DIR`, or HARNESS_ROOT in the environment\n",
    );
    let run = run.then().run(["--json"]).status(1);
    assert_eq!(run.json()["error"]["code"], "no_organisation");
}

#[test]
fn help_and_version_are_answers() {
    let sandbox = Sandbox::new();
    let sandbox = sandbox.run(["--version"]).stdout("harness 0.1.0\n").then();
    let help = sandbox.start(&["--help"]).finish().take_stdout();
    for group in ["Start:", "Talk to it:", "Steer it:", "See it:", "Carry it:"] {
        assert!(help.contains(group), "{help}");
    }
    for command in ["init", "send", "inbox", "outbox", "message", "charter", "status", "prompt", "schema"] {
        let help = sandbox.start(&[command, "--help"]).finish().take_stdout();
        assert!(help.contains("Usage: harness"), "{command}");
    }
}

#[test]
fn times_are_utc_in_json_and_local_for_people() {
    let sandbox = Sandbox::new().dept("rd").message("rd", "Note", "s", "b").env("TZ", "Asia/Tokyo");
    let id = sandbox.sent(0);
    let sandbox = sandbox
        .run(["message", "show", &id])
        .stdout("s\nNote from user to rd, 2026-11-18 09:42, human\n[..]\n\nb\n\nIn org-rd/inbox: pending\n")
        .then();
    assert_eq!(
        sandbox.run(["message", "show", &id, "--json"]).json()["data"]["created"],
        "2026-11-18T00:42:01Z"
    );
}
