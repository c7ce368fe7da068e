//! `top` in a real terminal: tmux, where it is installed.

use crate::desk::{MARK, SEND, acts, business, with, worker};
use crate::outcome::{alive, not_run, until};
use crate::sandbox::{Sandbox, harness};
use std::process::Command;

/// A terminal of its own, with a shell in which `harness` sees the sandbox.
struct Tmux {
    sandbox: Sandbox,
}

impl Tmux {
    fn start(sandbox: &Sandbox, size: (u16, u16)) -> Option<Tmux> {
        let tmux = Tmux { sandbox: sandbox.clone() };
        let path = format!("PATH={}:/usr/bin:/bin", sandbox.dir().join("bin").display());
        let variables = [
            path,
            format!("HOME={}", sandbox.home().display()),
            format!("HARNESS_ROOT={}", sandbox.root().display()),
            format!("HARNESS_TEST_NOW={}", crate::sandbox::NOW),
            "TERM=screen-256color".to_string(),
            "LANG=C.UTF-8".to_string(),
            "PS1=$ ".to_string(),
        ];
        let mut args = vec!["new-session", "-d", "-x"];
        let (wide, tall) = (size.0.to_string(), size.1.to_string());
        args.extend([wide.as_str(), "-y", tall.as_str(), "env", "-i"]);
        args.extend(variables.iter().map(String::as_str));
        args.extend(["/bin/sh", "-i"]);
        match tmux.run(&args) {
            Ok(_) => Some(tmux),
            Err(why) => {
                not_run("top", &why);
                None
            }
        }
    }

    fn run(&self, args: &[&str]) -> Result<String, String> {
        let socket = self.sandbox.dir().join("tmux").display().to_string();
        let mut command = Command::new("tmux");
        command.args(["-u", "-f", "/dev/null", "-S", &socket]).args(args).env_remove("TMUX");
        let output = command.output().map_err(|_| "tmux is not here".to_string())?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn keys(&self, keys: &[&str]) {
        self.run(&[&["send-keys"], keys].concat()).unwrap();
    }

    fn screen(&self) -> String {
        self.run(&["capture-pane", "-p"]).unwrap()
    }

    #[track_caller]
    fn until(&self, what: &str) -> String {
        let mut last = String::new();
        let seen = std::time::Instant::now();
        while seen.elapsed() < std::time::Duration::from_secs(30) {
            last = self.screen();
            if last.contains(what) {
                return last;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        panic!("`{what}` is never seen:\n{last}");
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let _ = self.run(&["kill-server"]);
    }
}

fn waiting() -> Sandbox {
    let low = with(SEND, "confidence", "10");
    worker(business().reply(&acts(&[&low, MARK]))).then()
}

#[test]
fn an_approval_is_given_in_place_and_the_terminal_comes_back() {
    let sandbox = waiting();
    let Some(tmux) = Tmux::start(&sandbox, (110, 30)) else { return };
    tmux.keys(&["harness top", "Enter"]);
    let screen = tmux.until("Needs you (1)");
    assert!(screen.contains("gate enabled (open)") && screen.contains("waits for you"), "{screen}");
    tmux.keys(&["Tab"]);
    tmux.keys(&["a"]);
    let screen = tmux.until("y approve");
    assert!(screen.contains("send_message") && screen.contains("Look into it"), "{screen}");
    tmux.keys(&["y"]);
    tmux.until("Nothing needs you.");
    assert!(sandbox.only("org-business/approvals").contains("status: approved"));
    tmux.keys(&["q"]);
    tmux.until("$ ");
    tmux.keys(&["echo back-$((1+1)); stty -a | grep -o ' echo '", "Enter"]);
    let screen = tmux.until("back-2\n echo");
    assert!(!screen.contains("Departments"), "{screen}");
}

#[test]
fn a_department_is_paused_with_a_reason_and_resumed() {
    let sandbox = Sandbox::new().organisation();
    let Some(tmux) = Tmux::start(&sandbox, (80, 24)) else { return };
    tmux.keys(&["harness top", "Enter"]);
    let screen = tmux.until("Nothing needs you.");
    assert!(screen.contains("enter look/answer"), "all keys are shown at 80 columns:\n{screen}");
    tmux.keys(&["Down", "p"]);
    tmux.until("Pause management");
    tmux.keys(&["-l", "a holiday"]);
    tmux.keys(&["Enter"]);
    tmux.until("paused by user: a holiday");
    tmux.keys(&["p"]);
    tmux.until("Nothing needs you.");
    tmux.keys(&["q"]);
}

#[test]
fn a_panic_gives_the_terminal_back() {
    let sandbox = Sandbox::new().organisation();
    let Some(tmux) = Tmux::start(&sandbox, (100, 30)) else { return };
    tmux.keys(&["harness top; echo ended-$?", "Enter"]);
    tmux.until("Nothing needs you.");
    tmux.keys(&["!"]);
    let screen = tmux.until("ended-70");
    assert!(screen.contains("asked for by a test") && screen.contains("harness has a bug"), "{screen}");
    tmux.keys(&["stty -a | grep -o ' echo '; echo sane-$((2+3))", "Enter"]);
    tmux.until(" echo\nsane-5");
}

#[test]
fn a_signal_gives_the_terminal_back() {
    let sandbox = Sandbox::new().organisation();
    let Some(tmux) = Tmux::start(&sandbox, (100, 30)) else { return };
    tmux.keys(&["sh -c 'echo $$ >$HOME/pid; exec harness top'; echo ended-$?", "Enter"]);
    tmux.until("Nothing needs you.");
    let pid = std::fs::read_to_string(sandbox.home().join("pid")).unwrap();
    tmux.run(&["run-shell", &format!("kill -TERM {}", pid.trim())]).unwrap();
    let screen = tmux.until("ended-");
    assert!(!screen.contains("Departments"), "{screen}");
    tmux.keys(&["stty -a | grep -o ' echo '; echo sane-$((2+3))", "Enter"]);
    tmux.until(" echo\nsane-5");
}

#[test]
fn a_question_is_answered_in_place() {
    use crate::office::{act, action, office};
    let sandbox = office().message("business", "Note", "Hi", "Body");
    let ask = action("ask_human", serde_json::json!({"question": "Red?", "options": [], "unblocks": []}));
    act(&sandbox, "business", &[ask]);
    let Some(tmux) = Tmux::start(&sandbox, (100, 30)) else { return };
    tmux.keys(&["harness top", "Enter"]);
    tmux.until("asks");
    tmux.keys(&["Tab"]);
    tmux.keys(&["Enter"]);
    tmux.until("Answer q-");
    tmux.keys(&["-l", "rather green"]);
    tmux.keys(&["Enter"]);
    tmux.until("Nothing needs you.");
    let question = sandbox.only("org-business/questions");
    assert!(question.contains("status: answered") && question.contains("rather green"), "{question}");
    tmux.keys(&["q"]);
}

/// Where the answer is an id alone, a person still sees how to undo it; a script doesn't.
#[test]
fn at_a_terminal_what_changed_something_says_how_to_undo_it() {
    let sandbox = Sandbox::new().organisation();
    let Some(tmux) = Tmux::start(&sandbox, (120, 30)) else { return };
    tmux.keys(&["harness send --to rd --kind Note --subject Hi --body There", "Enter"]);
    tmux.until("To undo: harness message mark m-2026");
    tmux.keys(&["clear; harness directive add --title Hi --body There; echo over", "Enter"]);
    tmux.until("To undo: harness directive cancel d-2026");
    tmux.keys(&["clear; harness -q send --to rd --kind Note --subject Ho --body There; echo ended", "Enter"]);
    let screen = tmux.until("\nended");
    assert!(screen.contains("m-2026") && !screen.contains("To undo"), "{screen}");
    let (_, stdout, stderr) =
        sandbox.start(&["pause", "rd", "--why", "a holiday", "--quiet"]).finish().parts();
    assert_eq!((stdout.as_str(), stderr.as_str()), ("", ""), "an account of a change is left out");
}

/// Whoever closes the window leaves no process behind.
#[test]
fn a_terminal_that_goes_away_ends_it() {
    let sandbox = Sandbox::new().organisation();
    let Some(tmux) = Tmux::start(&sandbox, (80, 24)) else { return };
    tmux.keys(&["sh -c 'echo $$ > $HOME/pid; exec harness top'", "Enter"]);
    tmux.until("Nothing needs you.");
    let pid = std::fs::read_to_string(sandbox.home().join("pid")).unwrap().trim().parse().unwrap();
    drop(tmux);
    until("top has ended", || !alive(pid));
}

#[test]
fn a_running_department_streams_and_is_stopped() {
    let sandbox = business();
    let slow = "echo 'Half of them are old.'; sleep 60; echo DONE";
    let sandbox = sandbox.settings(&format!(
        "[engines.slow]\npreset = \"command\"\ncommand = [\"/bin/sh\", \"-c\", \"{slow}\"]\n"
    ));
    let mut run = sandbox.start(&["run-loop", "business", "--engine", "slow"]);
    let Some(tmux) = Tmux::start(&sandbox, (120, 30)) else {
        drop(run);
        return;
    };
    tmux.keys(&["harness top", "Enter"]);
    let screen = tmux.until("Half of them are old.");
    assert!(screen.contains("running"), "{screen}");
    tmux.keys(&["s"]);
    until("the run is stopped", || run.ended());
    drop(run.finish().status(13).any_stdout().any_stderr());
    tmux.keys(&["q"]);
}

#[test]
fn without_a_terminal_it_says_so() {
    assert!(harness().exists());
    let run = Sandbox::new().dept("rd").run(["top"]).status(1);
    run.stderr(
        "
        error: `harness top` needs a terminal
        hint: `harness status` shows the same once; `harness status --json` is for scripts
        ",
    );
}
