//! What a tick costs when nothing is new: beside `--version`, beside a bare walk, and as history grows.
//!
//! Organisations of 10 and of 1,000 departments are made by `init`, every autoLoop is turned on, and ticks are made
//! until all is quiet; then one more is counted. It counts and never times. Started by anything but `cargo bench`, it
//! says so and does nothing.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a bench stands outside the layers: it lays down files, starts programs and prints its table"
)]

#[expect(dead_code, reason = "the bench of pages measures more")]
mod measure;
mod report;

use anyhow::{Context, Result, ensure};
use measure::{Call, Measure, Measured, Meter};
use report::{Report, Row};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use tempfile::TempDir;

const HARNESS: &str = env!("CARGO_BIN_EXE_harness");
const FEW: usize = 10;
const MANY: usize = 1_000;
const RECORDS: usize = 10_000;
const STATS: u64 = 10;
const HOUR_DEPTS: usize = 100;
const HOUR_TICKS: usize = 60;
const HOUR_BYTES: u64 = 4096;
const RESIDENT_KB: u64 = 12 * 1024;

fn main() -> Result<ExitCode> {
    if !std::env::args().any(|argument| argument == "--bench") {
        println!("not run: `cargo bench` runs it");
        return Ok(ExitCode::SUCCESS);
    }
    let walk = build_bare_walk()?;
    let mut report = Report::default();
    let few = Quiet::new(FEW)?;
    measure_few(&few, &mut report)?;
    measure_many(&Quiet::new(MANY)?, &walk, &mut report)?;
    measure_growth(&few, &mut report)?;
    measure_hour(&Quiet::new(HOUR_DEPTS)?, &mut report)?;
    print!("{report}");
    Ok(if report.count("failed") == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn build_bare_walk() -> Result<PathBuf> {
    let profile = Path::new(HARNESS).parent().context("the program lies in a folder")?;
    let target = profile.parent().context("the profile's folder lies in a folder")?;
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args([
        "build",
        "--quiet",
        "--locked",
        "--profile",
        "bench",
        "--example",
        "bare-walk",
        "--target-dir",
    ]);
    let status = cargo.arg(target).current_dir(env!("CARGO_MANIFEST_DIR")).status().context("run cargo")?;
    ensure!(status.success(), "cargo ended with {status}");
    Ok(profile.join("examples/bare-walk"))
}

/// An organisation in which nothing is new.
struct Quiet {
    folder: TempDir,
    depts: Vec<String>,
}

impl Quiet {
    fn new(count: usize) -> Result<Quiet> {
        // In memory where the system has such a folder: `init` syncs every file.
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir())?;
        let depts: Vec<String> = (0..count).map(|number| format!("dept-{number:04}")).collect();
        let quiet = Quiet { folder, depts };
        std::fs::create_dir(quiet.home())?;
        quiet.run(&[&["init".to_string()], &quiet.depts[..]].concat())?;
        let config =
            "{\"schema\": 1, \"autoLoop\": true, \"autoIntervalSeconds\": 60, \"engine\": [\"rules\"]}\n";
        for dept in &quiet.depts {
            std::fs::write(quiet.own(dept).join("director-config.json"), config)?;
        }
        quiet.settle()?;
        Ok(quiet)
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("root")
    }

    fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    fn own(&self, dept: &str) -> PathBuf {
        self.root().join(format!("org-{dept}/.harness"))
    }

    fn run(&self, arguments: &[String]) -> Result<()> {
        let mut command = Command::new(HARNESS);
        command.args(arguments).arg("--root").arg(self.root()).env_clear().env("HOME", self.home());
        let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status()?;
        ensure!(status.success(), "{} ended with {status}", arguments[0]);
        Ok(())
    }

    /// Ticks until one changes nothing: the last change must be older than the last look.
    fn settle(&self) -> Result<()> {
        let wake = || std::fs::read(self.root().join(".harness/wake.json")).unwrap_or_default();
        for _ in 0..20 {
            let before = wake();
            self.run(&["tick".to_string()])?;
            if before == wake() && !before.is_empty() {
                return Ok(());
            }
        }
        anyhow::bail!("the organisation does not come to rest")
    }

    fn tick(&self) -> Call {
        self.call(Path::new(HARNESS), vec!["tick".into(), "--root".into(), self.root().display().to_string()])
    }

    fn call(&self, program: &Path, arguments: Vec<String>) -> Call {
        Call { program: program.to_path_buf(), arguments, home: self.home() }
    }
}

fn measure_few(few: &Quiet, report: &mut Report) -> Result<()> {
    let meter = Meter::new();
    let version = few.call(Path::new(HARNESS), vec!["--version".into()]);
    report.add(Row {
        name: "tick: `harness --version` → an idle tick over 10 departments".to_string(),
        measure: Measure::Instructions,
        floor: meter.count(&version, Measure::Instructions)?,
        found: meter.count(&few.tick(), Measure::Instructions)?,
        goal: 1.5,
    });
    Ok(())
}

fn measure_many(many: &Quiet, walk: &Path, report: &mut Report) -> Result<()> {
    let meter = Meter::new();
    let bare = many.call(walk, vec![many.root().display().to_string()]);
    for (measure, goal) in [(Measure::Instructions, 3.0), (Measure::SystemCalls, 1.1)] {
        report.add(Row {
            name: "tick: a bare walk → an idle tick over 1,000 departments".to_string(),
            measure,
            floor: meter.count(&bare, measure)?,
            found: meter.count(&many.tick(), measure)?,
            goal,
        });
    }
    let trace = meter.trace(&many.tick())?;
    let of_departments = |line: &&str| line.contains("\"org-dept-");
    let counted = |what: &dyn Fn(&&str) -> bool| -> Measured {
        trace
            .as_ref()
            .map(|trace| trace.lines().filter(|line| what(line)).count() as u64)
            .map_err(Clone::clone)
    };
    let stats = counted(&|line| of_departments(line) && line.contains("stat"));
    let read = counted(&|line| of_departments(line) && line.contains("open"));
    let synced = counted(&|line| line.contains("sync"));
    let spawned = counted(&|line| ["clone", "fork", "execve("].iter().any(|call| line.contains(call)));
    let written = counted(&|line| line.contains("O_CREAT") || line.contains("rename"));
    let rows = [
        ("stats of files, 10 a department", Ok(STATS * MANY as u64), stats),
        ("files of departments opened, and 1 allowed for the ratio", Ok(1), read.map(|count| count + 1)),
        ("syncs, and 1 allowed for the ratio", Ok(1), synced.map(|count| count + 1)),
        ("processes, itself", Ok(1), spawned),
        ("files written, `alive`", Ok(1), written),
    ];
    for (what, floor, found) in rows {
        let name = format!("tick over 1,000 departments: {what}");
        report.add(Row { name, measure: Measure::SystemCalls, floor, found, goal: 1.0 });
    }
    report.add(Row {
        name: "tick over 1,000 departments: resident".to_string(),
        measure: Measure::ResidentKb,
        floor: Ok(RESIDENT_KB),
        found: meter.count(&many.tick(), Measure::ResidentKb)?,
        goal: 1.0,
    });
    Ok(())
}

fn measure_growth(few: &Quiet, report: &mut Report) -> Result<()> {
    let meter = Meter::new();
    let measures = [(Measure::Instructions, 1.01), (Measure::SystemCalls, 1.0)];
    let count =
        || measures.iter().map(|(measure, _)| meter.count(&few.tick(), *measure)).collect::<Result<Vec<_>>>();
    let before = count()?;
    for dept in &few.depts {
        grow(&few.own(dept))?;
    }
    few.settle()?;
    for (((measure, goal), floor), found) in measures.into_iter().zip(before).zip(count()?) {
        let name = "tick over 10 departments: 0 → 10,000 records each".to_string();
        report.add(Row { name, measure, floor, found, goal });
    }
    Ok(())
}

/// What an hour of ticks starts and writes in all.
fn measure_hour(quiet: &Quiet, report: &mut Report) -> Result<()> {
    let meter = Meter::new();
    let traces = (0..HOUR_TICKS).map(|_| meter.trace(&quiet.tick())).collect::<Result<Vec<_>>>()?;
    let summed = |count: &dyn Fn(&str) -> u64| -> Measured {
        traces.iter().map(|trace| trace.as_ref().map(|trace| count(trace)).map_err(Clone::clone)).sum()
    };
    let started = summed(&|trace| trace.lines().filter(|line| line.contains("execve(")).count() as u64);
    let written = summed(&|trace| trace.lines().filter_map(written_bytes).sum());
    let rows = [
        ("processes, each tick itself", Measure::SystemCalls, HOUR_TICKS as u64, started),
        (
            "bytes written, and 1 allowed for the ratio",
            Measure::SystemCalls,
            HOUR_BYTES,
            written.map(|bytes| bytes + 1),
        ),
    ];
    for (what, measure, floor, found) in rows {
        let name = format!("60 ticks over 100 departments: {what}");
        report.add(Row { name, measure, floor: Ok(floor), found, goal: 1.0 });
    }
    Ok(())
}

/// What a call of the write family says that it wrote.
fn written_bytes(line: &str) -> Option<u64> {
    let writes = ["write(", "writev(", "pwrite64(", "copy_file_range(", "sendfile("];
    let (_, result) = line.rsplit_once(" = ").filter(|_| writes.iter().any(|call| line.contains(call)))?;
    result.split_whitespace().next()?.parse().ok()
}

/// Records of runs and their lines in the ledger.
fn grow(own: &Path) -> Result<()> {
    let records = own.join("director-runs");
    std::fs::create_dir_all(&records)?;
    let mut ledger = String::new();
    for number in 0..RECORDS {
        let (day, second) = (1 + number / 1_000, number % 1_000);
        let stamp = format!("202601{day:02}T00{:02}{:02}Z", second / 60, second % 60);
        std::fs::write(records.join(format!("{stamp}_loop.md")), "a record\n")?;
        ledger.push_str(&format!(
            "{{\"line\":\"run\",\"schema\":1,\"at\":\"{stamp}\",\"run\":\"r-{number}\"}}\n"
        ));
    }
    Ok(std::fs::write(own.join("runs.jsonl"), ledger)?)
}
