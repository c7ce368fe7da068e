//! An organisation as version 1 wrote it, frozen in `tests/fixtures/org-v1`: it must load for ever.
//!
//! Its files are never changed. A format that moves on keeps reading them.

use crate::sandbox::Sandbox;
use crate::scenarios::copy;
use std::path::Path;

fn frozen() -> Sandbox {
    let sandbox = Sandbox::new();
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/org-v1");
    copy(&fixture.join("root"), &sandbox.root());
    copy(&fixture.join("home"), &sandbox.home());
    let key = sandbox.home().join(".config/harness/key");
    std::fs::set_permissions(key, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    sandbox
}

#[test]
fn its_status_is_whole() {
    frozen().run(["status"]).stdout(
        "
        Nothing needs you.
        Mail waits for a run by hand: business, rd
               harness run-loop business

        Gate: enabled (open)   Last pulse: never
        Today: 0.00 of 10.00 USD ░░░░░░░░░░   0%   0 of 500 runs ░░░░░░░░░░   0%

        DEPARTMENT  STATE     MAIL  BOARD  LAST RUN  NEXT     DAY'S BUDGET
        business    has mail     2  -      never     by hand  ░░░░░░   0%
        management  idle         0  -      never     by hand  ░░░░░░   0%
        marketing   idle         0  -      never     by hand  ░░░░░░   0%
        rd          has mail     1  -      never     by hand  ░░░░░░   0%
        technology  idle         0  -      never     by hand  ░░░░░░   0%
        ",
    );
}

#[test]
fn its_messages_are_read_in_every_state() {
    let sandbox = frozen();
    for (id, status) in [
        ("jmdr0a", "pending"),
        ("dropped", "pending"),
        ("1x934c", "acknowledged"),
        ("y3sx9v", "actioned"),
        ("5j78aj", "archived"),
    ] {
        let run = sandbox.start(&["message", "show", id, "--json"]).finish();
        assert_eq!(run.json()["data"]["status"], status, "{id}");
    }
    let run = sandbox.run(["outbox", "business"]);
    run.stdout("ID                        AGE  KIND      TO          SUBJECT\nm-20261118-004201-000001  0s   Decision  management  Go: weekly digest\n");
}

#[test]
fn its_charters_and_prompts_are_read() {
    let sandbox = frozen();
    for dept in ["business", "rd", "technology", "management", "marketing"] {
        for role in ["orchestrator", "worker", "validator", "documenter", "summarizer"] {
            sandbox.start(&["prompt", dept, "--role", role]).finish().any_stdout();
        }
        sandbox.start(&["charter", "check", dept]).finish().any_stdout();
    }
    sandbox.run(["init"]).any_stdout();
}
