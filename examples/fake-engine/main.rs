//! The model of the tests: a real process that plays scripted answers and writes down what it was given.
//!
//! It is linked as `claude` (or another engine's name) into a sandbox's `bin`. Call number `NN` takes
//! `$HOME/.fake/replies/NN.txt` and leaves `$HOME/.fake/calls/NN/`: `args` (a JSON array), `env` (a JSON object),
//! `cwd`, `stdin` (as it came), `grandchildren` (a pid a line, where any were left) and `ready` (written when everything
//! that must stand before a signal may come stands). Making the folder `NN` claims the number, so that calls side
//! by side never share one. It reaches no network and never lives longer than [`LIFE`].
#![expect(
    clippy::disallowed_methods,
    reason = "a program of the tests: it plays an engine from files and the environment"
)]

mod script;
mod stream;

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, setsid, test_kill_process_group};
use script::{Directive, Script};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::{Arc, atomic::AtomicBool};
use std::time::Duration;

/// How long a hanging engine or a grandchild may stay: far beyond any test's own limit.
const LIFE: Duration = Duration::from_secs(120);
/// The exit code of a test's own mistake: no reply left, no HOME, an unknown directive.
const MISTAKE: u8 = 97;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let played = match args.first().map(String::as_str) {
        Some("--version") => print(b"2.1.326 (Claude Code)\n").map(|()| 0),
        Some("--sleeper") => sleeper(),
        Some("--setsid-sleeper") => setsid().context("setsid").and_then(|_| sleeper()),
        _ => play(&args),
    };
    match played {
        Ok(code) => ExitCode::from(code),
        Err(mistake) => {
            let _ = writeln!(std::io::stderr(), "fake engine: {mistake:#}");
            ExitCode::from(MISTAKE)
        }
    }
}

fn sleeper() -> Result<u8> {
    std::thread::sleep(LIFE);
    Ok(0)
}

fn play(args: &[String]) -> Result<u8> {
    let home = std::env::var_os("HOME").context("HOME is not set: an engine must be given it")?;
    let fake = PathBuf::from(home).join(".fake");
    let (number, call) = claim(&fake.join("calls"))?;
    let prompt = record(&call, args)?;
    let reply = fake.join("replies").join(format!("{number:02}.txt"));
    let Ok(text) = std::fs::read_to_string(&reply) else { bail!("no reply {number:02} is scripted") };
    let script = script::parse(&text)?;
    set_up(&script, &call)?;
    std::fs::write(call.join("ready"), "")?;
    script.directives.iter().try_for_each(|directive| act(directive, &fake))?;
    answer(&script, &prompt, args)?;
    if script.has(&Directive::Linger) {
        std::thread::sleep(LIFE);
    }
    Ok(script.exit_code())
}

/// The first free number: making a folder succeeds for one process alone.
fn claim(calls: &Path) -> Result<(usize, PathBuf)> {
    std::fs::create_dir_all(calls)?;
    for number in 1..10_000 {
        let folder = calls.join(format!("{number:02}"));
        match std::fs::create_dir(&folder) {
            Ok(()) => return Ok((number, folder)),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error).context("claiming a call"),
        }
    }
    bail!("too many calls")
}

fn record(call: &Path, args: &[String]) -> Result<String> {
    std::fs::write(call.join("args"), serde_json::to_string(args)?)?;
    let env: std::collections::BTreeMap<String, String> = std::env::vars().collect();
    std::fs::write(call.join("env"), serde_json::to_string(&env)?)?;
    std::fs::write(call.join("cwd"), std::env::current_dir()?.display().to_string())?;
    let mut prompt = Vec::new();
    std::io::stdin().read_to_end(&mut prompt).context("reading the prompt")?;
    std::fs::write(call.join("stdin"), &prompt)?;
    Ok(String::from_utf8_lossy(&prompt).into_owned())
}

fn set_up(script: &Script, call: &Path) -> Result<()> {
    if script.has(&Directive::IgnoreTerm) {
        signal_hook::flag::register(signal_hook::consts::SIGTERM, Arc::new(AtomicBool::new(false)))?;
    }
    let mut left = String::new();
    for directive in &script.directives {
        match directive {
            Directive::Grandchild => left.push_str(&leave("--sleeper")?),
            Directive::SetsidGrandchild => left.push_str(&leave("--setsid-sleeper")?),
            _ => {}
        }
    }
    if !left.is_empty() {
        std::fs::write(call.join("grandchildren"), left)?;
    }
    Ok(())
}

/// Starts a process that holds our stdout and stderr and that nobody waits for.
fn leave(how: &str) -> Result<String> {
    let child = Command::new(std::env::current_exe()?).arg(how).stdin(Stdio::null()).spawn()?;
    let pid = Pid::from_child(&child);
    // Until it has its own session it would still die with our group, and the test would prove nothing. A session
    // brings a group of the same number; asking for the session itself says 0, which no Pid may be, where the session
    // we were started in lies outside our pid namespace.
    while how == "--setsid-sleeper" && test_kill_process_group(pid).is_err() {
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(format!("{}\n", child.id()))
}

fn act(directive: &Directive, fake: &Path) -> Result<()> {
    match directive {
        Directive::Wait(name) => wait_for(&fake.join(name))?,
        Directive::Sleep(time) => std::thread::sleep(*time),
        Directive::Hang => std::thread::sleep(LIFE),
        Directive::Stderr(line) => writeln!(std::io::stderr(), "{line}")?,
        Directive::Garbage => print(b"\xff\xfe not text\n{\"type\":\"result\",\"is_er\n[]\n\x00\x1b[31m\n")?,
        Directive::Flood(bytes) => flood(*bytes)?,
        _ => {}
    }
    Ok(())
}

fn wait_for(file: &Path) -> Result<()> {
    let begun = std::time::Instant::now();
    while !file.exists() {
        if begun.elapsed() > LIFE {
            bail!("{} never came", file.display());
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok(())
}

fn flood(bytes: usize) -> Result<()> {
    let line = [b"x".repeat(63), b"\n".to_vec()].concat();
    let all: Vec<u8> = line.iter().copied().cycle().take(bytes).collect();
    print(&all)
}

fn answer(script: &Script, prompt: &str, args: &[String]) -> Result<()> {
    let text = script::fill(&script.text, prompt);
    if script.has(&Directive::Raw) {
        return print(text.as_bytes());
    }
    stream::lines(&text, script, args).iter().try_for_each(|line| print(format!("{line}\n").as_bytes()))
}

/// Writes at once. A closed pipe means that nobody listens any more, which is no mistake of the test.
fn print(bytes: &[u8]) -> Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error).context("writing"),
        _ => Ok(()),
    }
}
