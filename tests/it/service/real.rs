//! The units before real judges: systemd's own verifier, a real plist parser, and a shell behind cron's own rules.
//!
//! The roots are as hostile as a folder's name can be. A judge that isn't on this machine is named, and judges nothing.

use crate::sandbox::Sandbox;
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output};

const NAMES: [&str; 6] =
    ["plain", "with space", "50% %i %% %n", "$HOME ${PATH} $$", "it's \"quoted\"", "back\\slash \\% <&> ünï"];

fn not_run(why: &str) {
    // Past the capture of the test harness: a judge that was missing must be seen.
    let _ = std::io::stderr().write_all(format!("not run: {why}\n").as_bytes());
}

/// The files of a target for a department in a root of this name, and that root.
fn files(name: &str, target: &str) -> (Sandbox, PathBuf, Vec<Value>) {
    let sandbox = Sandbox::new();
    let root = sandbox.dir().join(name);
    let sandbox = sandbox.env("HARNESS_ROOT", &root);
    sandbox.start(&["init", "rd"]).finish().any_stdout();
    let document = sandbox.start(&["service", "print", "--target", target, "--json"]).finish().json();
    (sandbox, root, document["data"]["files"].as_array().unwrap().clone())
}

fn verify(sandbox: &Sandbox, files: &[Value]) -> Option<Output> {
    let folder = sandbox.dir().join("units");
    fs::create_dir_all(&folder).unwrap();
    let paths: Vec<PathBuf> = files
        .iter()
        .map(|file| {
            let path = folder.join(file["name"].as_str().unwrap());
            fs::write(&path, file["text"].as_str().unwrap()).unwrap();
            path
        })
        .collect();
    let mut command = Command::new("systemd-analyze");
    command.env("XDG_RUNTIME_DIR", &folder).args(["--user", "--man=no", "verify"]).args(paths);
    command.output().ok()
}

#[test]
fn systemd_takes_the_units_of_every_root() {
    for name in NAMES {
        let (sandbox, _, files) = files(name, "systemd");
        let Some(output) = verify(&sandbox, &files) else {
            return not_run("systemd-analyze is not here, so no unit was verified");
        };
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let ours: Vec<&str> = said.lines().filter(|line| line.contains("harness-rd-")).collect();
        assert!(output.status.success() && ours.is_empty(), "{name}: {said}");
    }
}

#[test]
fn systemd_would_refuse_a_broken_unit() {
    let (sandbox, _, mut files) = files("plain", "systemd");
    let text = files[0]["text"].as_str().unwrap().replace("ExecStart=/", "ExecStart=/nowhere/");
    files[0]["text"] = text.into();
    match verify(&sandbox, &files) {
        Some(output) => assert!(!output.status.success()),
        None => not_run("systemd-analyze is not here"),
    }
}

const READ_PLIST: &str =
    "import plistlib, json, sys; print(json.dumps(plistlib.loads(sys.stdin.buffer.read())))";

fn parse_plist(text: &str) -> Option<Value> {
    let mut command = Command::new("python3");
    command.args(["-c", READ_PLIST]).stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut child = command.spawn().ok()?;
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{text}");
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

#[test]
fn a_plist_parser_reads_what_was_meant() {
    for name in NAMES {
        let (_sandbox, root, files) = files(name, "launchd");
        let Some(plist) = parse_plist(files[0]["text"].as_str().unwrap()) else {
            return not_run("python3 is not here, so no plist was parsed");
        };
        let root = root.display().to_string();
        let words: Vec<&str> =
            plist["ProgramArguments"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
        assert_eq!(words[1..], ["--root", &root, "tick", "rd"]);
        assert_eq!(plist["WorkingDirectory"], root);
        assert_eq!(plist["WatchPaths"][0], format!("{root}/org-rd/inbox"));
        assert_eq!(
            (&plist["StartInterval"], &plist["RunAtLoad"], &plist["Nice"]),
            (&30.into(), &true.into(), &10.into())
        );
        assert_eq!(plist["EnvironmentVariables"]["USER"], "tester");
    }
}

/// What cron hands to the shell: `\%` becomes `%`, and any other `%` would end the command.
fn as_cron_reads(line: &str) -> String {
    let command = line.splitn(6, ' ').nth(5).unwrap();
    let (mut out, mut escaped) = (String::new(), false);
    for c in command.chars() {
        match (escaped, c) {
            (true, '%') => {
                out.pop();
                out.push('%');
            }
            (false, '%') => panic!("cron would end the command here: {out}"),
            _ => out.push(c),
        }
        escaped = !escaped && c == '\\';
    }
    out
}

#[test]
fn a_shell_behind_cron_does_what_was_meant() {
    for name in NAMES {
        let (sandbox, root, files) = files(name, "cron");
        let text = files[0]["text"].as_str().unwrap();
        let line = text.lines().find(|line| line.starts_with("* * * * * ")).unwrap();
        fs::create_dir_all(root.join(".harness/logs")).unwrap();
        // In place of the program, one that says how it was called.
        let program = crate::sandbox::harness().display().to_string();
        let shown = as_cron_reads(line)
            .replace(&format!("{program} "), "/bin/sh -c 'pwd; printf \"[%s]\" \"$@\"; echo; echo $USER' x ");
        let status = Command::new("/bin/sh").arg("-c").arg(&shown).current_dir("/").status().unwrap();
        assert!(status.success(), "{shown}");
        let root = root.display().to_string();
        let log = fs::read_to_string(format!("{root}/.harness/logs/rd.log")).unwrap();
        assert_eq!(log, format!("{root}\n[--root][{root}][tick][rd]\ntester\n"), "{name}");
        drop(sandbox);
    }
}
