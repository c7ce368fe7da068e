//! What start-up costs, and what `prompt` and `inbox` cost as history grows: the table of BENCHMARKS.md.
//!
//! One organisation is grown in stages and measured at each, so that paths, key and mail are the same throughout. It
//! counts, and times the board alone. Started by anything but `cargo bench`, it says so and does nothing.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a bench stands outside the layers: it lays down files, starts programs and prints its table"
)]

#[expect(dead_code, reason = "the bench of pages makes more")]
mod fixture;
#[expect(dead_code, reason = "the bench of idle ticks measures more")]
mod measure;
mod report;

use anyhow::{Context, Result, ensure};
use fixture::{DEPT, Fixture};
use measure::{Call, Measure, Measured, Meter};
use report::{Report, Row};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const HARNESS: &str = env!("CARGO_BIN_EXE_harness");
const OPEN: usize = 10;
const FEW_RECORDS: usize = 1_000;
const MANY_RECORDS: usize = 100_000;
const ARCHIVED: usize = 10_000;
const TASKS: usize = 10_000;

/// How much more a start may cost than that of a bare clap program.
const START_GOAL: f64 = 1.3;
/// How much more a command may cost with a history than with none.
const HISTORY_GOAL: f64 = 1.1;
/// How much more the board may cost than reading its files once.
const BOARD_GOAL: f64 = 1.1;
/// How much more it may cost as the history gets longer.
const LENGTH_GOAL: f64 = 1.01;

fn main() -> Result<ExitCode> {
    if !std::env::args().any(|argument| argument == "--bench") {
        println!("not run: `cargo bench` runs it");
        return Ok(ExitCode::SUCCESS);
    }
    let bare = build_floor("bare-clap")?;
    let reader = build_floor("read-files")?;
    let mut fixture = Fixture::new(Path::new(HARNESS))?;
    let mut report = Report::default();
    measure_start(&fixture, &bare, &mut report)?;
    measure_growth(&mut fixture, &mut report)?;
    measure_board(&mut fixture, &reader, &mut report)?;
    print!("{report}");
    Ok(if report.count("failed") == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Builds a floor beside the program, in the same profile.
fn build_floor(name: &str) -> Result<PathBuf> {
    let profile = Path::new(HARNESS).parent().context("the program lies in a folder")?;
    let target = profile.parent().context("the profile's folder lies in a folder")?;
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--quiet", "--locked", "--profile", "bench", "--example", name, "--target-dir"]);
    let status = cargo.arg(target).current_dir(env!("CARGO_MANIFEST_DIR")).status().context("run cargo")?;
    ensure!(status.success(), "cargo ended with {status}");
    Ok(profile.join("examples").join(name))
}

fn call(fixture: &Fixture, program: &Path, arguments: &[&str]) -> Call {
    let arguments = arguments.iter().map(ToString::to_string).collect();
    Call { program: program.to_path_buf(), arguments, home: fixture.home() }
}

fn on_department(fixture: &Fixture, command: &str) -> Call {
    let root = fixture.root().display().to_string();
    call(fixture, Path::new(HARNESS), &[command, DEPT, "--root", &root])
}

/// Start-up beside a program that reads its arguments with clap and prints a line.
fn measure_start(fixture: &Fixture, bare: &Path, report: &mut Report) -> Result<()> {
    let meter = Meter::new();
    let version = call(fixture, Path::new(HARNESS), &["--version"]);
    let pairs = [
        ("--version", call(fixture, bare, &["--version"]), version, START_GOAL),
        // Reads a charter, what was accepted and every letter: a figure to know, and no start-up.
        ("inbox", call(fixture, bare, &[DEPT]), on_department(fixture, "inbox"), f64::INFINITY),
    ];
    for (name, floor, found, goal) in pairs {
        report.add(Row {
            name: format!("{name}: a bare clap program → `harness {name}`"),
            measure: Measure::Instructions,
            floor: meter.count(&floor, Measure::Instructions)?,
            found: meter.count(&found, Measure::Instructions)?,
            goal,
        });
    }
    Ok(())
}

/// The board beside a program that only reads its files.
fn measure_board(fixture: &mut Fixture, reader: &Path, report: &mut Report) -> Result<()> {
    fixture.grow_board(TASKS)?;
    let meter = Meter::new();
    let root = fixture.root().display().to_string();
    let list = call(fixture, Path::new(HARNESS), &["task", "list", DEPT, "--root", &root]);
    let shown = meter.output(&list)?;
    ensure!(shown.contains("INBOX (6666)"), "the board shows something else: {shown}");
    let floor = call(fixture, reader, &[&fixture.board().display().to_string()]);
    for measure in [Measure::Microseconds, Measure::Instructions, Measure::SystemCalls] {
        report.add(Row {
            name: "task list: reading 10,000 tasks once → `harness task list`".to_string(),
            measure,
            floor: meter.count(&floor, measure)?,
            found: meter.count(&list, measure)?,
            goal: BOARD_GOAL,
        });
    }
    Ok(())
}

/// What one command cost at each size.
struct Stages {
    command: &'static str,
    measure: Measure,
    none: Measured,
    few: Measured,
    many: Measured,
    archived: Measured,
}

fn measure_growth(fixture: &mut Fixture, report: &mut Report) -> Result<()> {
    fixture.grow_inbox(OPEN)?;
    let none = measure_all(fixture)?;
    fixture.grow_records(FEW_RECORDS)?;
    let few = measure_all(fixture)?;
    fixture.grow_records(MANY_RECORDS)?;
    let many = measure_all(fixture)?;
    let prompt = Meter::new().output(&on_department(fixture, "prompt"))?;
    ensure!(prompt.contains("(final:done)"), "the prompt shows nothing of the records");
    fixture.grow_archive(ARCHIVED)?;
    let archived = measure_all(fixture)?;
    let counts = none.into_iter().zip(few).zip(many).zip(archived);
    for ((command, measure), (((none, few), many), archived)) in measured().zip(counts) {
        add_rows(report, &Stages { command, measure, none, few, many, archived });
    }
    Ok(())
}

fn measured() -> impl Iterator<Item = (&'static str, Measure)> {
    let measures = [Measure::Instructions, Measure::SystemCalls];
    measures.into_iter().flat_map(|measure| [("prompt", measure), ("inbox", measure)])
}

fn measure_all(fixture: &Fixture) -> Result<Vec<Measured>> {
    let meter = Meter::new();
    measured().map(|(command, measure)| meter.count(&on_department(fixture, command), measure)).collect()
}

fn add_rows(report: &mut Report, stages: &Stages) {
    let Stages { command, measure, none, few, many, archived } = stages;
    let length_goal = match measure {
        Measure::Instructions => LENGTH_GOAL,
        _ => 1.0,
    };
    for (what, floor, found, goal) in [
        ("0 → 100,000 records", none, many, HISTORY_GOAL),
        ("1,000 → 100,000 records", few, many, length_goal),
        ("0 → 10,000 archived messages", many, archived, length_goal),
        ("nothing → both", none, archived, HISTORY_GOAL),
    ] {
        let (floor, found) = (floor.clone(), found.clone());
        report.add(Row { name: format!("{command}: {what}"), measure: *measure, floor, found, goal });
    }
}
