//! What work costs: a whole step, loops and answers of any length, judging, recovering, departments side by side.
//!
//! The engines here start nothing (`script`, `rules`) or only wait, so that what is counted is the program's own. The
//! organisations lie in memory where the system has such a folder. Started by anything but `cargo bench`, it says so
//! and does nothing.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a bench stands outside the layers: it lays down files, starts programs and prints its table"
)]

mod desk;
#[expect(dead_code, reason = "the bench of idle ticks measures more")]
mod measure;
mod report;

use anyhow::{Context, Result, ensure};
use desk::{DEPT, Desk};
use measure::{Measure, Measured, Meter};
use report::{Report, Row};
use std::process::ExitCode;

/// A ratio that is stated and has no goal.
const NO_GOAL: f64 = f64::INFINITY;
/// How much more each further one may cost than each of the first.
const CONSTANT: f64 = 1.05;
const SIDE_BY_SIDE: usize = 10;
const ENGINE_MS: u64 = 200;
const ROUNDS: usize = 5;

fn main() -> Result<ExitCode> {
    if !std::env::args().any(|argument| argument == "--bench") {
        println!("not run: `cargo bench` runs it");
        return Ok(ExitCode::SUCCESS);
    }
    let mut report = Report::default();
    measure_step(&mut report)?;
    measure_loops(&mut report)?;
    measure_answers(&mut report)?;
    measure_judging(&mut report)?;
    measure_recovery(&mut report)?;
    measure_side_by_side(&mut report)?;
    print!("{report}");
    Ok(if report.count("failed") == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A worker's step with a prompt of about 120 KB and an answer of six actions, beside `true`.
fn measure_step(report: &mut Report) -> Result<()> {
    let desk = Desk::new(&[DEPT.to_string()])?;
    desk.fill_prompt()?;
    desk.script(6, 240)?;
    let meter = Meter::new();
    let step = desk.call(&["run-director", DEPT, "--role", "worker", "--engine", "null"]);
    let prompt = meter.output(&desk.call(&["prompt", DEPT, "--role", "worker"]))?.len();
    let name = |what: &str| format!("step, six actions, a prompt of {} KB: {what}", prompt / 1024);
    let row = |what: &str, measure, floor, found, goal| Row { name: name(what), measure, floor, found, goal };
    let floor = meter.count(&desk.floor("/bin/true"), Measure::Microseconds)?;
    let found = meter.count(&step, Measure::Microseconds)?;
    report.add(row("`true` → it, in memory", Measure::Microseconds, floor, found, 4.0));
    let version = meter.count(&desk.call(&["--version"]), Measure::Instructions)?;
    let found = meter.count(&step, Measure::Instructions)?;
    report.add(row("`--version` → it", Measure::Instructions, version, found, NO_GOAL));
    let trace = meter.trace(&step)?;
    let of = |names: &[&str]| count_lines(&trace, names);
    report.add(row(
        "renames and appends → syncs of files and folders",
        Measure::SystemCalls,
        of(&["rename", "O_APPEND"]),
        of(&["fsync(", "fdatasync("]),
        NO_GOAL,
    ));
    Ok(())
}

fn count_lines(trace: &std::result::Result<String, String>, names: &[&str]) -> Measured {
    let text = trace.as_ref().map_err(Clone::clone)?;
    let is_one = |line: &&str| !line.contains(" resumed>") && names.iter().any(|name| line.contains(name));
    Ok(text.lines().filter(is_one).count() as u64)
}

/// Loops over 1, 10 and 100 messages: each further message costs what each of the first did.
fn measure_loops(report: &mut Report) -> Result<()> {
    for routing in ["ask", "auto"] {
        let (mut counts, mut calls) = (Vec::new(), Vec::new());
        for messages in [1_u64, 10, 100] {
            let desk = Desk::new(&[DEPT.to_string()])?;
            let auto = if routing == "auto" { "\"routing\": \"auto\", " } else { "" };
            desk.configure(DEPT, &format!("{auto}\"autoLoop\": false, \"engine\": [\"rules\"]"))?;
            desk.archive_notes(DEPT)?;
            desk.drop_notes(DEPT, messages as usize)?;
            let run = desk.call(&["run-loop", DEPT, "--max-iterations", "1000", "--quiet"]);
            counts.push(Meter::new().count_once(&run, Measure::Instructions)?);
            calls.push(desk.engine_calls(DEPT)?);
            ensure!(calls.last() >= Some(&messages), "a message was not handled");
        }
        report.add(Row {
            name: format!("loop, routing {routing}: each of 2 to 10 messages → each of 11 to 100"),
            measure: Measure::Instructions,
            floor: each(&counts[0], &counts[1], 9),
            found: each(&counts[1], &counts[2], 90),
            goal: CONSTANT,
        });
        report.add(Row {
            name: format!("loop, routing {routing}: 100 messages → engine calls"),
            measure: Measure::Calls,
            floor: Ok(100),
            found: Ok(calls[2]),
            goal: if routing == "auto" { 1.0 } else { 2.01 },
        });
    }
    Ok(())
}

/// What each of some more costs.
fn each(fewer: &Measured, more: &Measured, count: u64) -> Measured {
    let (fewer, more) = (fewer.clone()?, more.clone()?);
    Ok(more.saturating_sub(fewer) / count)
}

/// Answers of 1, 10 and 100 actions, judged and carried out.
fn measure_answers(report: &mut Report) -> Result<()> {
    let mut counts = Vec::new();
    for actions in [1, 10, 100] {
        let desk = Desk::new(&[DEPT.to_string()])?;
        desk.drop_notes(DEPT, 1)?;
        desk.script(actions, 4)?;
        let step = desk.call(&["run-director", DEPT, "--role", "worker", "--engine", "null"]);
        counts.push(Meter::new().count_once(&step, Measure::Instructions)?);
    }
    report.add(Row {
        name: "answer: each of 2 to 10 actions → each of 11 to 100".to_string(),
        measure: Measure::Instructions,
        floor: each(&counts[0], &counts[1], 9),
        found: each(&counts[1], &counts[2], 90),
        goal: CONSTANT,
    });
    Ok(())
}

fn measure_judging(report: &mut Report) -> Result<()> {
    let desk = Desk::new(&[DEPT.to_string()])?;
    let meter = Meter::new();
    let action = r#"{"do":"log_decision","title":"A title","decision":"So be it.","why":"It is good.","reason":"so that it is known"}"#;
    let (show, check) =
        (desk.call(&["charter", "show", DEPT]), desk.call(&["charter", "check", DEPT, "--action", action]));
    report.add(Row {
        name: "judging: `charter show` → `charter check --action` of one action".to_string(),
        measure: Measure::Instructions,
        floor: meter.count(&show, Measure::Instructions)?,
        found: meter.count(&check, Measure::Instructions)?,
        goal: NO_GOAL,
    });
    Ok(())
}

/// `recover` where nothing is to be done, and after a run that was killed while its engine worked.
fn measure_recovery(report: &mut Report) -> Result<()> {
    let desk = Desk::new(&[DEPT.to_string()])?;
    desk.drop_notes(DEPT, 1)?;
    let (meter, recover) = (Meter::new(), desk.call(&["recover", DEPT]));
    let nothing = meter.count(&recover, Measure::Instructions)?;
    desk.kill_a_run(DEPT)?;
    report.add(Row {
        name: "recover: nothing to be done → a run that was killed while its engine worked".to_string(),
        measure: Measure::Instructions,
        floor: nothing,
        found: meter.count_once(&recover, Measure::Instructions)?,
        goal: NO_GOAL,
    });
    Ok(())
}

/// One tick over departments that each ask an engine of 200 ms, beside one over one of them.
fn measure_side_by_side(report: &mut Report) -> Result<()> {
    let names: Vec<String> = (0..SIDE_BY_SIDE).map(|number| format!("dept-{number}")).collect();
    let time = |names: &[String]| -> Result<u64> {
        let desk = Desk::new(names)?;
        names
            .iter()
            .try_for_each(|name| desk.configure(name, "\"autoLoop\": true, \"engine\": [\"slow\"]"))?;
        let tick = desk.call(&["tick", "--jobs", "10"]);
        let mut times = Vec::new();
        for _ in 0..ROUNDS {
            names.iter().try_for_each(|name| desk.drop_notes(name, 1))?;
            let before: u64 = names.iter().map(|name| desk.engine_calls(name)).sum::<Result<u64>>()?;
            times.push(Meter::new().time(&tick)?);
            let after: u64 = names.iter().map(|name| desk.engine_calls(name)).sum::<Result<u64>>()?;
            ensure!(after - before == names.len() as u64, "{} engines were asked", after - before);
        }
        times.into_iter().min().context("some rounds")
    };
    let (one, ten) = (time(&names[..1])?, time(&names)?);
    report.add(Row {
        name: format!("side by side: a tick over one department → ten, an engine of {ENGINE_MS} ms each"),
        measure: Measure::Microseconds,
        floor: Ok(one),
        found: Ok(ten),
        goal: 1.15,
    });
    Ok(())
}
