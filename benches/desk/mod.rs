//! An organisation at work, for benches: limits out of the way, engines that start nothing or only wait.

use crate::measure::Call;
use anyhow::{Context, Result, ensure};
use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const HARNESS: &str = env!("CARGO_BIN_EXE_harness");
pub const DEPT: &str = "business";

pub struct Desk {
    folder: TempDir,
    notes: Cell<usize>,
}

/// `null` reads its answers from a folder, `slow` takes its time and has nothing to do, `stuck` never ends.
fn settings(folder: &Path) -> String {
    let mut text = "schema = 1\n".to_string();
    text +=
        &format!("[engines.null]\npreset = \"script\"\nfolder = \"{}\"\n", folder.join("answers").display());
    for (name, command) in [("slow", "cat >/dev/null; sleep 0.2; echo DONE"), ("stuck", "sleep 600")] {
        text += &format!("[engines.{name}]\npreset = \"command\"\nworst_case_usd = 0.0\n");
        text += &format!("command = [\"/bin/sh\", \"-c\", \"{command}\"]\n");
    }
    text + "[budget.organisation]\nruns_per_day = 1000000\n[git]\ncommit = false\n"
}

const ARCHIVES: &str = r#"schema = 1

[[rule]]
name = "note"
decision = "NEXT_WORKER"
why = "Notes are put away."
[rule.when]
kind = "Note"
[[rule.actions]]
do = "mark_message"
id = "{{ message.id }}"
status = "archived"
reason = "One of many notes."
"#;

impl Desk {
    pub fn new(names: &[String]) -> Result<Desk> {
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir())?;
        let desk = Desk { folder, notes: Cell::new(0) };
        fs::create_dir(desk.home())?;
        let init: Vec<&str> = ["init"].into_iter().chain(names.iter().map(String::as_str)).collect();
        desk.run(&init)?;
        fs::write(desk.root().join(".harness/org.toml"), settings(desk.folder.path()))?;
        for name in names {
            let path = desk.department(name).join("charter.toml");
            let raised: Vec<String> = fs::read_to_string(&path)?.lines().map(raise).collect();
            fs::write(path, raised.join("\n") + "\n")?;
            desk.run(&["charter", "accept", name])?;
        }
        Ok(desk)
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("root")
    }

    fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    fn department(&self, dept: &str) -> PathBuf {
        self.root().join(format!("org-{dept}"))
    }

    pub fn call(&self, arguments: &[&str]) -> Call {
        let mut arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
        arguments.extend(["--root".to_string(), self.root().display().to_string()]);
        Call { program: PathBuf::from(HARNESS), arguments, home: self.home() }
    }

    pub fn floor(&self, program: &str) -> Call {
        Call { program: PathBuf::from(program), arguments: Vec::new(), home: self.home() }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(HARNESS);
        command.args(arguments).arg("--root").arg(self.root()).env_clear().env("HOME", self.home());
        command.env("PATH", "/usr/bin:/bin").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    fn run(&self, arguments: &[&str]) -> Result<()> {
        let status = self.command(arguments).status()?;
        ensure!(status.success(), "{} ended with {status}", arguments.join(" "));
        Ok(())
    }

    pub fn configure(&self, dept: &str, keys: &str) -> Result<()> {
        let path = self.department(dept).join(".harness/director-config.json");
        Ok(fs::write(path, format!("{{\"schema\": 1, \"autoIntervalSeconds\": 60, {keys}}}\n"))?)
    }

    /// The playbook puts every note away.
    pub fn archive_notes(&self, dept: &str) -> Result<()> {
        fs::write(self.department(dept).join("playbook.toml"), ARCHIVES)?;
        self.run(&["charter", "accept", dept])
    }

    pub fn drop_notes(&self, dept: &str, count: usize) -> Result<()> {
        for _ in 0..count {
            self.notes.set(self.notes.get() + 1);
            let name = self.department(dept).join(format!("inbox/n{:05}.md", self.notes.get()));
            fs::write(name, format!("# Note {:05}\n\nSomething.\n", self.notes.get()))?;
        }
        Ok(())
    }

    /// As much as a prompt shows of everything: a letter of 64 KB, memory, notes and the charter's prose.
    pub fn fill_prompt(&self) -> Result<()> {
        let text =
            |bytes: usize| "Three customers want to see what a run did while it runs.\n".repeat(bytes / 58);
        let dept = self.department(DEPT);
        fs::write(dept.join("inbox/long.md"), format!("# A long letter\n\n{}", text(65_000)))?;
        fs::write(dept.join("memory/MEMORY.md"), text(16_000))?;
        fs::write(dept.join("notes.md"), text(8_000))?;
        fs::write(dept.join("charter.md"), text(16_000))?;
        self.run(&["charter", "accept", DEPT])
    }

    /// Answers for the engine `null`, each with so many actions.
    pub fn script(&self, actions: usize, answers: usize) -> Result<()> {
        let folder = self.folder.path().join("answers");
        fs::create_dir(&folder)?;
        for answer in 1..=answers {
            let action = |number: usize| {
                serde_json::json!({"do": "log_decision", "title": format!("Decision {answer}/{number}"),
                    "decision": "Build the view of a run.", "why": "Three customers asked for it.",
                    "reason": "so that later readers see it"})
            };
            let list: Vec<_> = (0..actions).map(action).collect();
            let block = serde_json::to_string_pretty(&list)?;
            let text = format!("It fits the objective.\n\n```actions {{{{ nonce }}}}\n{block}\n```\n");
            fs::write(folder.join(format!("{answer:02}.txt")), text)?;
        }
        Ok(())
    }

    /// How often an engine was asked, by the ledger.
    pub fn engine_calls(&self, dept: &str) -> Result<u64> {
        let path = self.department(dept).join(".harness/runs.jsonl");
        let text = fs::read_to_string(path).unwrap_or_default();
        let is_call =
            |line: &&str| line.contains("\"line\":\"step\"") && !line.contains("\"engine\":\"auto\"");
        Ok(text.lines().filter(is_call).count() as u64)
    }

    /// Starts a run whose engine never ends, and kills it.
    pub fn kill_a_run(&self, dept: &str) -> Result<()> {
        let mut run = self.command(&["run-loop", dept, "--engine", "stuck"]).spawn()?;
        let active = self.department(dept).join(".harness/active.json");
        let until = Instant::now() + Duration::from_secs(20);
        let works = |text: String| text.contains("engine_pid") && !text.contains("\"engine_pid\": null");
        while !fs::read_to_string(&active).is_ok_and(works) {
            ensure!(Instant::now() < until, "the engine was never started");
            std::thread::yield_now();
        }
        run.kill()?;
        run.wait().context("the run that was killed")?;
        Ok(())
    }
}

/// A line of a charter with its limit out of the way.
fn raise(line: &str) -> String {
    let limits = [
        "actions_per_step",
        "actions_per_hour",
        "actions_per_day",
        "messages_per_hour",
        "steps_per_run",
        "runs_per_hour",
    ];
    match limits.iter().find(|limit| line.starts_with(**limit)) {
        Some(limit) => format!("{limit} = 1000000"),
        None if line.starts_with("from_external") => "from_external = []".to_string(),
        None => line.to_string(),
    }
}
