//! Whole commands beside their floors: start-up and pages beside `true`, ledgers beside `wc`, answers of any size.
//!
//! Every row is a pair of commands and how many times the first the second may cost. Started by anything but
//! `cargo bench`, it says so and does nothing.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a bench stands outside the layers: it lays down files, starts programs and prints its table"
)]

#[expect(dead_code, reason = "the bench of growth makes more")]
mod fixture;
#[expect(dead_code, reason = "the bench of idle ticks measures more")]
mod measure;
mod report;

use anyhow::{Context, Result, ensure};
use fixture::{DEPT, Fixture};
use measure::{Call, Measure, Meter};
use report::{Report, Row};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const HARNESS: &str = env!("CARGO_BIN_EXE_harness");
const RECORDS: usize = 100_000;
const OPEN: usize = 30;
const NONCE: &str = "7f3k2qx9";
/// The short and the long form of each answer, and how much more a linear parser may cost.
const ANSWER_BYTES: [usize; 2] = [1_000_000, 10_000_000];
const LINEAR: f64 = 10.5;
const RESIDENT_KB: u64 = 16 * 1024;

fn main() -> Result<ExitCode> {
    if !std::env::args().any(|argument| argument == "--bench") {
        println!("not run: `cargo bench` runs it");
        return Ok(ExitCode::SUCCESS);
    }
    let parser = build_parser()?;
    let mut fixture = Fixture::new(Path::new(HARNESS))?;
    fixture.grow_inbox(OPEN)?;
    let mut report = Report::default();
    measure_answers(&fixture, &parser, &mut report)?;
    fixture.grow_records(RECORDS)?;
    measure_commands(&fixture, &mut report)?;
    print!("{report}");
    Ok(if report.count("failed") == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Builds the program that parses an answer beside ours, in the same profile.
fn build_parser() -> Result<PathBuf> {
    let profile = Path::new(HARNESS).parent().context("the program lies in a folder")?;
    let target = profile.parent().context("the profile's folder lies in a folder")?;
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--quiet", "--locked", "--profile", "bench", "--example", "parse-answer"]);
    cargo.arg("--target-dir").arg(target).current_dir(env!("CARGO_MANIFEST_DIR"));
    let status = cargo.status().context("run cargo")?;
    ensure!(status.success(), "cargo ended with {status}");
    Ok(profile.join("examples/parse-answer"))
}

fn measure_commands(fixture: &Fixture, report: &mut Report) -> Result<()> {
    use Measure::{Instructions, Microseconds};
    let root = fixture.root().display().to_string();
    let ledger = fixture.root().join(format!("org-{DEPT}/.harness/runs.jsonl")).display().to_string();
    let harness = |words: &[&str]| call(fixture, HARNESS, &[words, &["--root", &root]].concat());
    let floor = |words: &[&str]| call(fixture, words[0], &words[1..]);
    let (nothing, lines) = (["/bin/true"], ["/usr/bin/wc", "-l", &ledger]);
    let rows: [(&str, Measure, Call, Call, f64); 6] = [
        ("`true` → `--version`", Microseconds, floor(&nothing), harness(&["--version"]), 1.5),
        ("`true` → `prompt`", Microseconds, floor(&nothing), harness(&["prompt", DEPT]), 2.0),
        ("`true` → `status`", Microseconds, floor(&nothing), harness(&["status"]), 3.0),
        ("`true` → `memory`", Microseconds, floor(&nothing), harness(&["memory", DEPT]), 3.0),
        ("`wc -l` of the ledger → `stats`", Microseconds, floor(&lines), harness(&["stats", DEPT]), 6.0),
        ("`wc -l` of the ledger → `stats`", Instructions, floor(&lines), harness(&["stats", DEPT]), 6.0),
    ];
    let meter = Meter::new();
    for (name, measure, floor, found, goal) in rows {
        let (floor, found) = (meter.count(&floor, measure)?, meter.count(&found, measure)?);
        report.add(Row { name: format!("100,000 records: {name}"), measure, floor, found, goal });
    }
    Ok(())
}

/// Answers of one and of ten megabytes: linear in their length, and no more memory than is stated.
fn measure_answers(fixture: &Fixture, parser: &Path, report: &mut Report) -> Result<()> {
    let meter = Meter::new();
    let file = fixture.home().join("answer.txt").display().to_string();
    let parse = call(fixture, &parser.display().to_string(), &[&file, NONCE]);
    for (name, piece) in [
        ("one line", &b"word "[..]),
        ("lines of nine bytes", b"one word\n"),
        ("fences in fences", b"````text\n```actions 7f3k2qx9\n"),
        ("bytes that are no text", b"\xff\xfe\xc3( word\n"),
    ] {
        let mut counts = Vec::new();
        for bytes in ANSWER_BYTES {
            std::fs::write(&file, piece.repeat(bytes / piece.len()))?;
            counts.push(meter.count(&parse, Measure::Instructions)?);
        }
        let [floor, found] = <[_; 2]>::try_from(counts).map_err(|_| anyhow::anyhow!("two counts"))?;
        let name = format!("answer of 1 → 10 MB, {name}");
        report.add(Row { name: name.clone(), measure: Measure::Instructions, floor, found, goal: LINEAR });
        let (floor, found) = (Ok(RESIDENT_KB), meter.count(&parse, Measure::ResidentKb)?);
        report.add(Row { name, measure: Measure::ResidentKb, floor, found, goal: 1.0 });
    }
    Ok(())
}

fn call(fixture: &Fixture, program: &str, arguments: &[&str]) -> Call {
    let arguments = arguments.iter().map(ToString::to_string).collect();
    Call { program: PathBuf::from(program), arguments, home: fixture.home() }
}
