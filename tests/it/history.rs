//! An organisation with a past: ledgers that look like weeks of work, the same at every test.
//!
//! The numbers come from a small generator with a fixed seed, so that pictures and snapshots stand still.

use crate::sandbox::Sandbox;
use chrono::{TimeDelta, TimeZone, Utc};
use director_harness::domain::id::{IdKind, derived_id};
use director_harness::domain::ledger::{ActionLine, Line, Refusal, RunLine, StepLine, render_line};
use director_harness::domain::time::{Time, render_rfc3339, render_ts};

/// Kinds, and to whom they go.
type Sends = &'static [(&'static str, &'static str)];

/// The template's departments, each with how much it does and to whom it writes what.
const DEPARTMENTS: [(&str, u64, Sends); 5] = [
    ("business", 5, &[("Decision", "rd"), ("Decision", "management"), ("Priority", "management")]),
    ("rd", 6, &[("Proposal", "business"), ("FeasibilityQuery", "technology")]),
    (
        "technology",
        9,
        &[("Capability", "management"), ("FeasibilityResponse", "rd"), ("PlatformUpdate", "business")],
    ),
    (
        "management",
        7,
        &[("BuildRequest", "technology"), ("LaunchReady", "marketing"), ("ProgressUpdate", "business")],
    ),
    ("marketing", 3, &[("MarketSignal", "business"), ("MarketSignal", "rd"), ("Campaign", "business")]),
];

struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

/// So many lines of runs of one department, in one file.
pub fn long_ledger(lines: usize) -> String {
    let (dept, _, sends) = DEPARTMENTS[0];
    let start = Utc.with_ymd_and_hms(2025, 11, 18, 0, 0, 0).unwrap();
    let mut dice = Dice(1);
    let runs = (0..lines as i64 / 3)
        .map(|number| run_text(dept, start + TimeDelta::minutes(15 * number), sends, &mut dice));
    runs.collect()
}

/// Writes the ledgers of the last `days` days into the template's five departments.
pub fn with_history(sandbox: Sandbox, days: i64) -> Sandbox {
    let now = Utc.with_ymd_and_hms(2026, 11, 18, 0, 0, 0).unwrap();
    let mut sandbox = sandbox;
    for (index, (dept, pace, sends)) in DEPARTMENTS.into_iter().enumerate() {
        let mut dice = Dice(index as u64 + 7);
        let mut text = String::new();
        for day in (1..=days).rev() {
            let start = now - TimeDelta::days(day);
            let weekend = matches!(start.format("%u").to_string().as_str(), "6" | "7");
            let count = if weekend { 1 + pace / 3 } else { pace + dice.roll(pace) };
            for number in 0..count {
                let minutes = i64::try_from((number * 1_440 + dice.roll(900)) / count).unwrap();
                text += &run_text(dept, start + TimeDelta::minutes(minutes), sends, &mut dice);
            }
        }
        sandbox = sandbox.file(&format!("org-{dept}/.harness/runs.jsonl"), &text);
    }
    sandbox
}

/// One run of an orchestrator and a worker.
fn run_text(dept: &str, at: Time, sends: Sends, dice: &mut Dice) -> String {
    let run = derived_id(IdKind::Run, at, dept);
    let fate = dice.roll(40);
    let outcome = match fate {
        0 => "failed",
        1 => "refused",
        2 | 3 => "escalated",
        4 => "cancelled",
        _ => "done",
    };
    let mut usd = 0.0;
    let mut text = String::new();
    for (number, role) in [(1, "orchestrator"), (2, "worker")] {
        let mut step = step(&run, at, number, role, dice);
        usd += step.counted_usd;
        step.decision = Some(if outcome == "escalated" { "ESCALATE" } else { "NEXT_WORKER" }.to_string());
        if role == "worker" && outcome == "done" {
            let (kind, to) = sends[dice.roll(sends.len() as u64) as usize];
            step.actions = vec![
                action("send_message", &format!("m-x {kind} to {to}"), "allow"),
                action("mark_message", "m-y", "allow"),
            ];
        }
        if role == "worker" && outcome == "refused" {
            step.outcome = "refused".to_string();
            step.refusals = vec![Refusal {
                code: if dice.roll(2) == 0 { "kind_not_sent" } else { "confidence_missing" }.to_string(),
                message: "the charter of this department does not list it".to_string(),
            }];
        }
        text += &render_line(&Line::Step(Box::new(step)));
    }
    let kind = if dice.roll(3) == 0 { "loop" } else { "scheduler" };
    let line = RunLine {
        schema: 1,
        at: render_rfc3339(at + TimeDelta::seconds(40)),
        run,
        kind: kind.to_string(),
        started: render_rfc3339(at),
        outcome: outcome.to_string(),
        reason: reason(outcome).to_string(),
        iterations: 1,
        steps: 2,
        cost_usd: Some(usd),
        counted_usd: usd,
        changed: outcome == "done",
        beat: false,
        record: format!("{}_{kind}.md", render_ts(at)),
        ..RunLine::default()
    };
    text + &render_line(&Line::Run(line))
}

fn reason(outcome: &str) -> &'static str {
    match outcome {
        "failed" => "claude: the answer did not come within 600 s",
        "refused" => "the answer was refused twice",
        "escalated" => "needs a word of the human",
        "cancelled" => "stopped by the user",
        _ => "nothing is left to do",
    }
}

fn step(run: &str, at: Time, number: u64, role: &str, dice: &mut Dice) -> StepLine {
    let usd = (2 + dice.roll(30)) as f64 / 1_000.0;
    StepLine {
        schema: 1,
        at: render_rfc3339(at + TimeDelta::seconds(15 * i64::try_from(number).unwrap())),
        run: run.to_string(),
        step: number,
        iteration: 1,
        role: role.to_string(),
        mode: "normal".to_string(),
        engine: if dice.roll(4) == 0 { "claude" } else { "rules" }.to_string(),
        outcome: "ok".to_string(),
        input_tokens: Some(900 + dice.roll(600)),
        cache_read_tokens: Some(8_000 + dice.roll(2_000)),
        output_tokens: Some(200 + dice.roll(400)),
        cost_usd: Some(usd),
        counted_usd: usd,
        prompt_bytes: 36_000,
        prefix_bytes: 32_000,
        duration_s: 11.5,
        ..StepLine::default()
    }
}

fn action(name: &str, target: &str, verdict: &str) -> ActionLine {
    ActionLine {
        id: "r-x-2-0".to_string(),
        name: name.to_string(),
        target: target.to_string(),
        verdict: verdict.to_string(),
        code: "ok".to_string(),
        rule: "charter.toml".to_string(),
        thread: None,
        about: String::new(),
    }
}
