//! A person at a terminal: the spinner and the stream are there, and nowhere else. `script` gives a terminal.

use crate::desk::{MARK, acts};
use crate::outcome::not_run;
use crate::sandbox::Sandbox;
use std::path::Path;

const TOKEN: &str = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
const STEP: &str = "harness run-director business --role worker --engine claude";

/// A shell with an organisation, a message and one scripted answer.
fn shell() -> Sandbox {
    let shell = Sandbox::of("/bin/sh").apart().env("TERM", "xterm");
    let start =
        "harness init >/dev/null && harness send --to business --kind MarketSignal --subject s --body b";
    let answer = format!("#sleep 400ms\nThe token is {TOKEN}.\n\n{}", acts(&[MARK]));
    shell.run(["-c", start]).any_stdout().then().reply(&answer)
}

/// What a terminal is sent.
fn at_terminal(command: &str) -> Option<String> {
    if !Path::new("/usr/bin/script").exists() {
        not_run("watched", "script is not here");
        return None;
    }
    let (status, stdout, stderr) = shell().run(["-c", &format!("script -qec '{command}' /dev/null")]).parts();
    assert_eq!(status, 0, "{stdout}{stderr}");
    Some(stdout + &stderr)
}

#[test]
fn a_spinner_turns_while_an_engine_thinks() {
    let Some(text) = at_terminal(STEP) else { return };
    assert!(text.contains("claude thinks"), "{text:?}");
    assert!(text.contains("asks claude about"), "{text:?}");
}

#[test]
fn text_comes_as_it_is_written_and_masked() {
    let Some(text) = at_terminal(&format!("{STEP} --stream")) else { return };
    assert!(text.contains("The token is [secret:github]."), "{text:?}");
    assert!(!text.contains(TOKEN), "{text:?}");
}

#[test]
fn without_a_terminal_there_is_neither() {
    for options in ["", " --stream"] {
        let (status, stdout, stderr) = shell().run(["-c", &format!("{STEP}{options}")]).parts();
        assert_eq!(status, 0);
        let both = stdout + &stderr;
        assert!(
            !both.contains("thinks") && !both.contains("The token is") && !both.contains('\u{1b}'),
            "{both:?}"
        );
        assert!(both.contains("asks claude about"), "{both:?}");
    }
}
