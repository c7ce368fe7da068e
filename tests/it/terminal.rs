//! What happens only where a person sits at a terminal: a pseudo-terminal here, typed at key by key.

use crate::office::{act, data, decision, names, office};
use crate::outcome::until;
use crate::sandbox::Sandbox;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::json;
use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

const ASKS: &str = "[a]pprove, [r]eject, [s]kip, [q]uit? ";

/// The program at a terminal of its own.
struct Terminal {
    child: Child,
    keys: File,
    screen: Arc<Mutex<String>>,
    reader: JoinHandle<()>,
    /// How much of the screen was looked at.
    seen: usize,
}

impl Terminal {
    fn start(sandbox: &Sandbox, args: &[&str]) -> Terminal {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let end = || {
            let terminal = File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
            Stdio::from(terminal)
        };
        let mut command = sandbox.command(args).0;
        let child = command.stdin(end()).stdout(end()).stderr(end()).spawn().unwrap();
        let keys = File::from(master);
        let (mut output, screen) = (keys.try_clone().unwrap(), Arc::new(Mutex::new(String::new())));
        let shown = Arc::clone(&screen);
        // It ends when the last one at the other end is gone.
        let reader = std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = output.read(&mut bytes) {
                shown.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..count]));
            }
        });
        drop(command);
        Terminal { child, keys, screen, reader, seen: 0 }
    }

    /// Waits for a text that was not there yet; everything since the last one.
    #[track_caller]
    fn shows(&mut self, text: &str) -> String {
        let screen = Arc::clone(&self.screen);
        let seen = self.seen;
        until(text, || screen.lock().unwrap()[seen..].contains(text));
        let screen = self.screen.lock().unwrap();
        let end = seen + screen[seen..].find(text).unwrap() + text.len();
        self.seen = end;
        screen[seen..end].to_owned()
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    #[track_caller]
    fn ends(mut self, status: i32) -> String {
        until("the program ended", || self.child.try_wait().unwrap().is_some());
        until("all was read", || self.reader.is_finished());
        assert_eq!(self.child.wait().unwrap().code(), Some(status), "{}", self.screen.lock().unwrap());
        self.screen.lock().unwrap().clone()
    }
}

/// Three decisions that wait for approval, oldest first.
fn three() -> (Sandbox, Vec<String>) {
    let sandbox = office();
    for project in ["one", "two", "three"] {
        let sandbox = sandbox.clone().message("business", "Note", "Hi", "Body");
        act(&sandbox, "business", &[decision(json!({"confidence": 10, "project": project}))]);
    }
    let waiting = names(&sandbox, "org-business/approvals");
    let ids = waiting.iter().map(|name| name.trim_end_matches(".md").to_owned()).collect();
    (sandbox, ids)
}

fn statuses(sandbox: &Sandbox) -> Vec<String> {
    let listed = data(sandbox, &["approvals", "list", "--all"]);
    let mut statuses: Vec<String> = listed["approvals"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["status"].as_str().unwrap().to_owned())
        .collect();
    statuses.sort();
    statuses
}

#[test]
fn one_key_each_walks_through_what_is_pending() {
    let (sandbox, ids) = three();
    let mut terminal = Terminal::start(&sandbox, &["approvals"]);
    let first = terminal.shows(ASKS);
    assert!(first.contains("If you approve:") && first.contains("kind: Decision"), "{first}");
    terminal.press("a");
    let second = terminal.shows(ASKS);
    assert!(second.contains("approved, carried out: m-"), "{second}");
    terminal.press("r");
    terminal.shows("Why? ");
    terminal.press("far too early\n");
    let third = terminal.shows(ASKS);
    assert!(ids.iter().all(|id| [&first, &second, &third].iter().any(|screen| screen.contains(id.as_str()))));
    terminal.press("s");
    assert!(terminal.ends(0).contains("2 decided."));
    assert_eq!(statuses(&sandbox), ["approved", "pending", "rejected"]);
    assert_eq!(names(&sandbox, "org-management/inbox").len(), 1);
    let told = sandbox.tree("org-business/inbox");
    let told: String = told.lines().map(|name| sandbox.read(&format!("org-business/inbox/{name}"))).collect();
    assert!(told.contains("far too early"), "{told}");
}

/// An arrow key ends in the letter A, and what is typed ahead was typed before the next one could be read.
#[test]
fn only_a_key_pressed_at_the_question_counts() {
    let (sandbox, _) = three();
    let mut terminal = Terminal::start(&sandbox, &["approvals"]);
    terminal.shows(ASKS);
    for no_answer in ["\x1b[A", "aaa", "x", "\n", "ä"] {
        terminal.press(no_answer);
        terminal.shows(ASKS);
    }
    terminal.press("q");
    assert!(terminal.ends(0).contains("Nothing was decided."));
    assert_eq!(statuses(&sandbox), ["pending"; 3]);
}

#[test]
fn ctrl_c_and_a_line_that_breaks_decide_nothing() {
    for end in ["\x03", "\x04"] {
        let (sandbox, _) = three();
        let mut terminal = Terminal::start(&sandbox, &["approvals"]);
        terminal.shows(ASKS);
        terminal.press(end);
        assert!(terminal.ends(0).contains("Nothing was decided."));
        assert_eq!(statuses(&sandbox), ["pending"; 3]);
    }
}

#[test]
fn inside_a_run_nobody_walks() {
    let (sandbox, _) = three();
    let inside = sandbox.clone().env("HARNESS_RUN", "r-1");
    let screen = Terminal::start(&inside, &["approvals"]).ends(3);
    assert!(screen.contains("inside a run"), "{screen}");
    assert_eq!(statuses(&sandbox), ["pending"; 3]);
}
