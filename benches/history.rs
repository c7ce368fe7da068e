//! What a commit costs beside the same commit by hand, and how long a simulated week takes.
//!
//! A run with commits on, less the same run with commits off, is what a commit adds; both are counted in processor time,
//! which a busy machine changes little. By hand the same files are added and committed with `git add` and `git commit`.
//! The three take turns. Started by anything but `cargo bench`, it says so and does nothing.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a bench stands outside the layers: it lays down files, starts programs and prints its table"
)]

use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

const HARNESS: &str = env!("CARGO_BIN_EXE_harness");
const DEPT: &str = "business";
const ROUNDS: usize = 60;
const COMMIT_GOAL: f64 = 1.5;
/// A week of five departments: so many letters, in so many seconds.
const LETTERS: usize = 500;
const WEEK_GOAL_S: f64 = 10.0;

fn main() -> Result<ExitCode> {
    if !std::env::args().any(|argument| argument == "--bench") {
        println!("not run: `cargo bench` runs it");
        return Ok(ExitCode::SUCCESS);
    }
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let commit = measure_commits(folder.path())?;
    let week = measure_week(folder.path())?;
    println!("| benchmark | measure | from | to | ratio | at most | result |");
    println!("|---|---|---:|---:|---:|---:|---|");
    println!("{}", commit.row);
    println!("{}", week.row);
    Ok(if commit.passed && week.passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

struct Measured {
    row: String,
    passed: bool,
}

fn word(passed: bool) -> &'static str {
    if passed { "passed" } else { "failed" }
}

/// An organisation whose departments are repositories, with commits on or off.
struct Place {
    root: PathBuf,
    home: PathBuf,
}

impl Place {
    fn new(folder: &Path, name: &str, commits: &str) -> Result<Place> {
        let place = Place { root: folder.join(name), home: folder.join(format!("{name}-home")) };
        fs::create_dir_all(&place.home)?;
        fs::write(
            place.home.join(".gitconfig"),
            "[user]\n\tname = Bench\n\temail = bench@example.invalid\n",
        )?;
        place.harness(&["init", "--git"])?;
        let settings = place.root.join(".harness/org.toml");
        let text = fs::read_to_string(&settings)?;
        fs::write(&settings, text.replace("\ncommit = true", &format!("\ncommit = {commits}")))?;
        Ok(place)
    }

    fn department(&self) -> PathBuf {
        self.root.join(format!("org-{DEPT}"))
    }

    fn command(&self, program: &str, args: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(args).env_clear().env("HOME", &self.home).env("PATH", "/usr/local/bin:/usr/bin:/bin");
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    fn harness(&self, args: &[&str]) -> Result<()> {
        finish(self.command(HARNESS, args).arg("--root").arg(&self.root), args)
    }

    fn git(&self, args: &[&str]) -> Result<()> {
        finish(self.command("git", args).current_dir(self.department()), args)
    }

    /// A message that a run handles by the rules, and the run; the run's processor time.
    fn run(&self, number: usize) -> Result<f64> {
        let subject = format!("Grow {number}");
        self.harness(&[
            "send",
            "--to",
            DEPT,
            "--kind",
            "Directive",
            "--subject",
            &subject,
            "--body",
            "Do it.",
        ])?;
        let before = spent()?;
        self.harness(&["run-loop", DEPT, "--engine", "rules", "--quiet"])?;
        Ok(spent()? - before)
    }
}

fn finish(command: &mut Command, args: &[&str]) -> Result<()> {
    let status = command.status().with_context(|| format!("start {args:?}"))?;
    ensure!(status.success(), "{args:?} ended with {status}");
    Ok(())
}

/// The processor time of all children that have ended, in ticks of the system's clock.
fn spent() -> Result<f64> {
    let stat = fs::read_to_string("/proc/self/stat").context("processor time is read off /proc")?;
    let after = stat.rsplit_once(')').context("the name in /proc/self/stat")?.1;
    let fields: Vec<&str> = after.split_whitespace().collect();
    Ok(fields[13].parse::<f64>()? + fields[14].parse::<f64>()?)
}

/// What the run left uncommitted, as `git add` takes it: what is new, changed and gone.
fn left(place: &Place) -> Result<Vec<String>> {
    let mut ask =
        place.command("git", &["status", "--porcelain", "-z", "--untracked-files=all", "--no-renames"]);
    let said = ask.current_dir(place.department()).stdout(Stdio::piped()).output()?;
    let text = String::from_utf8(said.stdout)?;
    Ok(text.split('\0').filter_map(|line| line.get(3..)).map(str::to_string).collect())
}

fn measure_commits(folder: &Path) -> Result<Measured> {
    let (with, without) = (Place::new(folder, "with", "true")?, Place::new(folder, "without", "false")?);
    // The first runs bring everything into memory.
    with.run(0)?;
    without.run(0)?;
    let (mut committed, mut plain, mut by_hand) = (0.0, 0.0, 0.0);
    for number in 1..=ROUNDS {
        committed += with.run(number)?;
        plain += without.run(number)?;
        let files = left(&without)?;
        ensure!(files.len() > 3, "a run that changes {files:?} is not worth measuring");
        let before = spent()?;
        let add: Vec<&str> =
            ["add", "--all", "--"].into_iter().chain(files.iter().map(String::as_str)).collect();
        without.git(&add)?;
        without.git(&["commit", "--quiet", "-m", "business: what was done"])?;
        by_hand += spent()? - before;
    }
    // A tick of the clock is ten milliseconds.
    let each = |ticks: f64| ticks * 10_000.0 / ROUNDS as f64;
    let ratio = (committed - plain) / by_hand;
    let passed = ratio <= COMMIT_GOAL;
    let row = format!(
        "| {ROUNDS} runs: `git add` and `git commit` by hand → what commits add | microseconds of processor | {:.0} | {:.0} | {ratio:.3} | {COMMIT_GOAL:.2} | {} |",
        each(by_hand),
        each(committed - plain),
        word(passed)
    );
    Ok(Measured { row, passed })
}

fn measure_week(folder: &Path) -> Result<Measured> {
    let place = Place::new(folder, "week", "false")?;
    let mail = folder.join("week.toml");
    let mut text = "schema = 1\n".to_string();
    let kinds = [
        ("business", "Directive"),
        ("rd", "MarketSignal"),
        ("technology", "FeasibilityQuery"),
        ("management", "Capability"),
        ("marketing", "LaunchReady"),
    ];
    for number in 0..LETTERS {
        let (dept, kind) = kinds[number % kinds.len()];
        let minute = number * 7 * 1_440 / LETTERS;
        text.push_str(&format!(
            "[[mail]]\nat = \"{minute}m\"\nto = \"{dept}\"\nkind = \"{kind}\"\nsubject = \"Matter {number}\"\nbody = \"Look into matter {number}.\"\n"
        ));
    }
    fs::write(&mail, text)?;
    let page = folder.join("week.html");
    let (mail, page) = (mail.display().to_string(), page.display().to_string());
    let began = Instant::now();
    place.harness(&["simulate", "--days", "7", "--mail", &mail, "-o", &page])?;
    let seconds = began.elapsed().as_secs_f64();
    let passed = seconds <= WEEK_GOAL_S;
    let row = format!(
        "| five departments, {LETTERS} letters: 10 s → a simulated week | milliseconds | 10,000 | {:.0} | {:.3} | 1.00 | {} |",
        seconds * 1_000.0,
        seconds / WEEK_GOAL_S,
        word(passed)
    );
    Ok(Measured { row, passed })
}
