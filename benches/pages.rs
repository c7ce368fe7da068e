//! What reading costs: prompts beside `cat`, prompts as decisions pile up, how much of two prompts is the same, the
//! pages of a hundred departments, and a ledger made anew from its records.
//!
//! Started by anything but `cargo bench`, it says so and does nothing.
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

use anyhow::{Result, ensure};
use fixture::{DEPT, Fixture};
use measure::{Call, Measure, Meter};
use report::{Report, Row};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const HARNESS: &str = env!("CARGO_BIN_EXE_harness");
const LETTERS: usize = 30;
const LETTER_BYTES: usize = 4096;
const FEW_RECORDS: usize = 1_000;
const MANY_RECORDS: usize = 100_000;
const FEW_DECISIONS: usize = 40;
const MANY_DECISIONS: usize = 10_000;
const DEPARTMENTS: usize = 100;
const REBUILDS: usize = 3;

fn main() -> Result<ExitCode> {
    if !std::env::args().any(|argument| argument == "--bench") {
        println!("not run: `cargo bench` runs it");
        return Ok(ExitCode::SUCCESS);
    }
    let mut report = Report::default();
    measure_prompt(&mut report)?;
    measure_many_departments(&mut report)?;
    measure_rebuild(&mut report)?;
    print!("{report}");
    Ok(if report.count("failed") == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn call(fixture: &Fixture, program: &str, arguments: &[&str]) -> Call {
    let arguments = arguments.iter().map(ToString::to_string).collect();
    Call { program: PathBuf::from(program), arguments, home: fixture.home() }
}

fn harness(fixture: &Fixture, words: &[&str]) -> Call {
    let root = fixture.root().display().to_string();
    call(fixture, HARNESS, &[words, &["--root", &root]].concat())
}

/// Entries as `log_decision` writes them.
fn write_decisions(fixture: &Fixture, count: usize) -> Result<()> {
    let mut text = "# Decisions\n".to_string();
    for number in 0..count {
        writeln!(
            text,
            "\n## 20260101T000000Z Decision {number} (r-20260101-000000-aaaaaa/2/{number})\n\nBuild what three customers asked for.\n\nWhy: they would miss it.\n"
        )?;
    }
    Ok(fs::write(fixture.department().join("decisions.md"), text)?)
}

fn measure_prompt(report: &mut Report) -> Result<()> {
    let mut fixture = Fixture::new(Path::new(HARNESS))?;
    let letters = fixture.write_letters(LETTERS, LETTER_BYTES)?;
    fixture.grow_records(FEW_RECORDS)?;
    let meter = Meter::new();
    let prompt = harness(&fixture, &["prompt", DEPT]);
    let letters: Vec<String> = letters.iter().map(|path| path.display().to_string()).collect();
    let cat = call(&fixture, "/bin/cat", &letters.iter().map(String::as_str).collect::<Vec<_>>());
    for (name, floor, goal) in
        [("`true`", call(&fixture, "/bin/true", &[]), 2.0), ("`cat` of the inputs", cat, 1.3)]
    {
        report.add(Row {
            name: format!("prompt, 30 inputs of 4 KB, 1,000 records: {name} → it"),
            measure: Measure::Microseconds,
            floor: meter.count(&floor, Measure::Microseconds)?,
            found: meter.count(&prompt, Measure::Microseconds)?,
            goal,
        });
    }
    let mut counts = Vec::new();
    for decisions in [FEW_DECISIONS, MANY_DECISIONS] {
        write_decisions(&fixture, decisions)?;
        counts
            .push([Measure::Instructions, Measure::SystemCalls].map(|measure| meter.count(&prompt, measure)));
    }
    let [few, many] = <[_; 2]>::try_from(counts).map_err(|_| anyhow::anyhow!("two sizes"))?;
    let goals = [(Measure::Instructions, 1.01), (Measure::SystemCalls, 1.0)];
    for ((few, many), (measure, goal)) in few.into_iter().zip(many).zip(goals) {
        let name = "prompt: 40 → 10,000 decisions".to_string();
        report.add(Row { name, measure, floor: few?, found: many?, goal });
    }
    measure_prefix(&fixture, report)
}

/// How many bytes of a prompt are not where the one before it had them.
fn measure_prefix(fixture: &Fixture, report: &mut Report) -> Result<()> {
    let meter = Meter::new();
    for role in ["orchestrator", "worker"] {
        let prompt = harness(fixture, &["prompt", DEPT, "--role", role]);
        let first = meter.output(&prompt)?;
        let same = meter.output(&prompt)?;
        // A message is put away, as a step would do, and another is at hand; the step's own entry is in the ledger.
        fixture.write_records(DEPT, FEW_RECORDS..FEW_RECORDS + 4)?;
        let mut inbox: Vec<PathBuf> = fs::read_dir(fixture.department().join("inbox"))?
            .map(|entry| Ok(entry?.path()))
            .collect::<Result<_>>()?;
        inbox.sort();
        fs::remove_file(&inbox[0])?;
        let next = meter.output(&prompt)?;
        ensure!(first != next, "the prompts of two steps are the same");
        for (name, other, goal) in [("nothing changed", &same, 0.0), ("the next step's", &next, 0.15)] {
            let common = first.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
            report.add(Row {
                name: format!("prefix, {role}: bytes of a prompt → those not common, {name}"),
                measure: Measure::Bytes,
                floor: Ok(other.len() as u64),
                found: Ok((other.len() - common) as u64),
                goal,
            });
        }
    }
    Ok(())
}

fn measure_many_departments(report: &mut Report) -> Result<()> {
    let names: Vec<String> = (0..DEPARTMENTS).map(|number| format!("dept-{number:03}")).collect();
    let fixture = Fixture::of(Path::new(HARNESS), &names)?;
    for name in &names {
        fixture.write_records(name, 0..MANY_RECORDS / DEPARTMENTS)?;
    }
    let meter = Meter::new();
    let ledgers: Vec<String> = names
        .iter()
        .map(|name| fixture.root().join(format!("org-{name}/.harness/runs.jsonl")).display().to_string())
        .collect();
    let lines: Vec<&str> = ["-l"].into_iter().chain(ledgers.iter().map(String::as_str)).collect();
    let (nothing, count) = (call(&fixture, "/bin/true", &[]), call(&fixture, "/usr/bin/wc", &lines));
    for (name, measure, floor, words, goal) in [
        ("`true` → `status`", Measure::Microseconds, &nothing, &["status"][..], 3.0),
        ("`true` → `memory` of one", Measure::Microseconds, &nothing, &["memory", "dept-000"], 3.0),
        ("`wc -l` of the ledgers → `stats`", Measure::Microseconds, &count, &["stats"], 6.0),
        ("16 MB → `stats`", Measure::ResidentKb, &nothing, &["stats"], 1.0),
        ("16 MB → `status`", Measure::ResidentKb, &nothing, &["status"], 1.0),
    ] {
        let found = meter.count(&harness(&fixture, words), measure)?;
        let floor =
            if measure == Measure::ResidentKb { Ok(16 * 1024) } else { meter.count(floor, measure)? };
        report.add(Row {
            name: format!("100 departments, 1,000 records each: {name}"),
            measure,
            floor,
            found,
            goal,
        });
    }
    Ok(())
}

/// The ledger is lost, and `recover` makes it anew from 100,000 records.
fn measure_rebuild(report: &mut Report) -> Result<()> {
    let mut fixture = Fixture::new(Path::new(HARNESS))?;
    fixture.grow_records(MANY_RECORDS)?;
    let own = fixture.department().join(".harness");
    let (ledger, records) = (own.join("runs.jsonl"), own.join("director-runs").display().to_string());
    let before = fs::read(&ledger)?;
    let cat = call(&fixture, "/usr/bin/find", &[&records, "-name", "*.md", "-exec", "/bin/cat", "{}", "+"]);
    let recover = harness(&fixture, &["recover", DEPT]);
    let meter = Meter::new();
    let (mut floors, mut founds) = (Vec::new(), Vec::new());
    for _ in 0..REBUILDS {
        floors.push(meter.time(&cat)?);
        fs::remove_file(&ledger)?;
        founds.push(meter.time(&recover)?);
        ensure!(fs::read(&ledger)? == before, "the ledger that was made anew is another");
    }
    report.add(Row {
        name: "rebuild: `cat` of 100,000 records → `recover` of a lost ledger".to_string(),
        measure: Measure::Microseconds,
        floor: floors.into_iter().min().ok_or_else(|| "nothing was timed".to_string()),
        found: founds.into_iter().min().ok_or_else(|| "nothing was timed".to_string()),
        goal: 2.0,
    });
    Ok(())
}
