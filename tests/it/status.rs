//! `status`: what needs the human comes first, with the one command that deals with it.

use crate::sandbox::Sandbox;

#[test]
fn what_needs_the_human_comes_first() {
    let sandbox = Sandbox::new().dept("ops").dept("rd").message("rd", "Note", "Hello", "Body");
    let sandbox = sandbox
        .now("2026-11-18T03:42:01Z")
        .without_file(".harness/gate.json")
        .file("org-rd/inbox/bad.md", "---\n")
        .file("org-rd/notes.md", "Fine.\n")
        .file("org-rd/.harness/quarantine/x.md", "x\n")
        .file("org-rd/.harness/quarantine/x.md.reason", "inbox/x.md: no\n")
        .edit("org-rd/charter.toml", "agents_max = 8", "agents_max = 9")
        .file("org-ops/charter.md", "Short.\n")
        .file("org-Bad Name/x", "")
        .link("org-linked", "org-rd");
    sandbox.run(["status"]).stdout(
        "
        Needs you (7)
          the gate is tripped (closed): gate.json is missing
            harness gate enable
          org-Bad Name was passed over: not a department name
            ls -ld '[ROOT]/org-Bad Name'
          org-linked was passed over: a link is not followed
            ls -ld [ROOT]/org-linked
          ops: can't read [ROOT]/org-ops/charter.md: its prose has 6 characters; a charter that says less than 100 refuses everything; everything is refused
            harness charter check ops
          rd: inbox/bad.md is not a message: line 1: the front matter that opens with `---` is never closed
            harness inbox rd
          rd: its charter, playbook or prompts are not accepted
            harness charter accept rd
          rd: 1 set aside in quarantine
            ls [ROOT]/org-rd/.harness/quarantine

        Gate: tripped (closed)

        DEPARTMENT  OPEN  OLDEST  ACCEPTED
        ops         0     -       no
        rd          1     3h      no
        ",
    );
}

#[test]
fn one_department_can_be_asked_for() {
    let sandbox = Sandbox::new().organisation();
    let run = sandbox.run(["status", "rd"]);
    let run = run.stdout("Nothing needs you.\n\nGate: enabled (open)\n\nDEPARTMENT  OPEN  OLDEST  ACCEPTED\nrd          0     -       yes\n");
    let data = run.then().run(["status", "rd", "--json"]).json()["data"].clone();
    assert_eq!(data["departments"].as_array().unwrap().len(), 1);
    assert_eq!(data["gate"]["state"], "enabled");
}

#[test]
fn harness_alone_is_status() {
    let sandbox = Sandbox::new().dept("rd");
    let status = sandbox.start(&["status"]).finish().take_stdout();
    sandbox.run([]).stdout(&status);
}
