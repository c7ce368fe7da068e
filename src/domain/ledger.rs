//! The ledger `runs.jsonl`: one line a step and one a run, and what is read off its end.
//!
//! Memory, history, refusals, budgets and statistics all come from these lines. A line that can't be read is skipped
//! by readers and named by `verify`.

mod counted;
mod memory;
mod needed;
mod recent;

use serde::{Deserialize, Serialize};

pub use counted::{Counted, CountedRun, CountedStep, count_lines};
pub use memory::memory_lines;
pub use recent::{Recent, Shown};

/// How a line begins as it is written here.
const STEP_OPENS: &str = "{\"line\":\"step\",";
const RUN_OPENS: &str = "{\"line\":\"run\",";

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "lowercase")]
#[expect(
    clippy::large_enum_variant,
    reason = "a run's line is matched and built by value everywhere, and there are few"
)]
pub enum Line {
    Step(Box<StepLine>),
    Run(RunLine),
}

impl Line {
    /// The run it belongs to.
    pub fn run(&self) -> &str {
        match self {
            Line::Step(step) => &step.run,
            Line::Run(run) => &run.run,
        }
    }

    /// When it was written.
    pub fn at(&self) -> &str {
        match self {
            Line::Step(step) => &step.at,
            Line::Run(run) => &run.at,
        }
    }
}

/// One engine call and what came of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StepLine {
    pub schema: u64,
    pub at: String,
    pub run: String,
    pub step: u64,
    pub iteration: u64,
    pub role: String,
    pub mode: String,
    pub engine: String,
    /// The message or other item at hand.
    pub item: Option<String>,
    /// The iteration's decision.
    pub decision: Option<String>,
    /// The least trusted of what led to it.
    pub provenance: String,
    /// `ok`, `refused`, `ghost`, `failed` or `cancelled`.
    pub outcome: String,
    pub actions: Vec<ActionLine>,
    /// What this step adds to the history, with ordinals.
    pub history: Vec<(u64, String)>,
    pub refusals: Vec<Refusal>,
    /// The refusals of the first try, where the answer here is the second.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub first_refusals: Vec<Refusal>,
    pub input_tokens: Option<u64>,
    /// Tokens that a provider put into its cache, beside the input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write_tokens: Option<u64>,
    pub cache_read_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
    /// Absent where the engine reported none.
    pub cost_usd: Option<f64>,
    /// What it counts for in budgets: the cost, or the declared worst case.
    pub counted_usd: f64,
    pub prompt_bytes: u64,
    pub prefix_bytes: u64,
    pub prefix_sha256: String,
    pub duration_s: f64,
    pub record: String,
}

/// One action and its verdict.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ActionLine {
    pub id: String,
    #[serde(rename = "do")]
    pub name: String,
    pub target: String,
    pub verdict: String,
    pub code: String,
    /// The rule that gave the verdict, such as `charter.toml [sends]`; older lines have none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub rule: String,
    /// The thread of a message that was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
    /// What it is about in the director's words, for those who watch; the record has them whole.
    #[serde(skip)]
    pub about: String,
}

/// A refusal with its code.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    pub code: String,
    pub message: String,
}

/// How the reason of a run begins that was refused because none of its engines could be asked.
pub const NO_ENGINE: &str = "no engine can be asked now";

/// One run and how it ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunLine {
    pub schema: u64,
    pub at: String,
    pub run: String,
    /// `loop`, `scheduler`, `director` or `dispatch`.
    pub kind: String,
    pub started: String,
    /// `done`, `escalated`, `max-iterations`, `no-progress`, `failed`, `refused`, `cancelled`, `killed`.
    pub outcome: String,
    pub reason: String,
    pub iterations: u64,
    pub steps: u64,
    pub cost_usd: Option<f64>,
    pub counted_usd: f64,
    /// Whether anything but logs and memory came of it.
    pub changed: bool,
    /// Whether only a beat led to it: quiet for long enough, and nothing else.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub beat: bool,
    /// The agent whose work it was, the task and the project; a job alone has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    pub record: String,
}

/// The runs, newest first, that spent and changed nothing since something last changed. A job whose work was done is a
/// change: what it was started for has come back. A beat that finds nothing is none of them: the idle ladder and
/// maxQuietSeconds bound it, and pausing would end those for good.
pub fn idle_spending(newest_first: &[RunLine]) -> Vec<&RunLine> {
    let mut idle = Vec::new();
    for run in newest_first {
        match run.kind.as_str() {
            "dispatch" if run.outcome == "done" => break,
            "dispatch" => {}
            _ if run.counted_usd == 0.0 || run.beat => {}
            _ if run.changed => break,
            _ => idle.push(run),
        }
    }
    idle
}

/// The lines of a piece of the ledger that can be read, oldest first.
pub fn parse_lines(text: &str) -> Vec<Line> {
    text.lines().filter_map(parse_line).collect()
}

/// One line. Where its opening tells what it is, nothing has to be put aside until that is known: half the work.
fn parse_line(text: &str) -> Option<Line> {
    if text.starts_with(STEP_OPENS) {
        return serde_json::from_str(text).ok().map(Line::Step);
    }
    if text.starts_with(RUN_OPENS) {
        return serde_json::from_str(text).ok().map(Line::Run);
    }
    serde_json::from_str(text).ok()
}

/// The line of a run; a step's line is not looked into where its opening tells what it is.
pub fn parse_run(text: &str) -> Option<RunLine> {
    if text.starts_with(STEP_OPENS) {
        return None;
    }
    match parse_line(text) {
        Some(Line::Run(run)) => Some(run),
        _ => None,
    }
}

/// A line as it is written.
pub fn render_line(line: &Line) -> String {
    // Values of these types always have a JSON form.
    serde_json::to_string(line).unwrap_or_default() + "\n"
}

/// The order in which lines were written: by time, and a run's own line after its steps.
pub fn written_order(line: &Line) -> (String, String, bool, u64) {
    match line {
        Line::Step(step) => (step.at.clone(), step.run.clone(), false, step.step),
        Line::Run(run) => (run.at.clone(), run.run.clone(), true, 0),
    }
}

/// Every entry of the history in these lines, oldest first.
pub fn history(lines: &[Line]) -> Vec<(u64, String)> {
    let steps = lines.iter().filter_map(|line| match line {
        Line::Step(step) => Some(step),
        Line::Run(_) => None,
    });
    steps.flat_map(|step| step.history.iter().cloned()).collect()
}

/// The refusals of the last step, where it was refused.
pub fn last_refusals(lines: &[Line]) -> Vec<Refusal> {
    let last = lines.iter().rev().find_map(|line| match line {
        Line::Step(step) => Some(step),
        Line::Run(_) => None,
    });
    last.map(|step| step.refusals.clone()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(run: &str, iteration: u64, role: &str, decision: &str, action: Option<&str>) -> Line {
        let actions = action.map(|name| ActionLine {
            name: name.into(),
            target: "to rd".into(),
            verdict: "allow".into(),
            ..ActionLine::default()
        });
        Line::Step(Box::new(StepLine {
            at: "2026-11-18T00:42:01Z".into(),
            run: run.into(),
            iteration,
            role: role.into(),
            decision: (!decision.is_empty()).then(|| decision.into()),
            outcome: "ok".into(),
            actions: actions.into_iter().collect(),
            ..StepLine::default()
        }))
    }

    fn ended(run: &str, outcome: &str) -> Line {
        Line::Run(RunLine { run: run.into(), outcome: outcome.into(), ..RunLine::default() })
    }

    #[test]
    fn idle_spending_ends_at_what_changed_and_at_a_job_that_came_back() {
        let run = |kind: &str, outcome: &str, usd: f64, changed: bool| RunLine {
            kind: kind.into(),
            outcome: outcome.into(),
            counted_usd: usd,
            changed,
            ..RunLine::default()
        };
        let idle = || run("loop", "done", 1.0, false);
        let check = |older: RunLine, expected: usize| {
            let runs = [idle(), older.clone(), idle()];
            assert_eq!(idle_spending(&runs).len(), expected, "{older:?}");
        };
        check(run("dispatch", "done", 0.0, true), 1);
        check(run("dispatch", "failed", 1.0, true), 2);
        check(run("loop", "done", 1.0, true), 1);
        check(run("loop", "done", 0.0, true), 2);
        check(RunLine { beat: true, ..idle() }, 2);
        check(idle(), 3);
    }

    #[test]
    fn memory_is_newest_first_with_how_the_run_ended() {
        let lines = [
            step("r-1", 1, "orchestrator", "NEXT_WORKER", None),
            step("r-1", 1, "worker", "", Some("send_message")),
            step("r-1", 2, "orchestrator", "DONE", None),
            ended("r-1", "done"),
            step("r-2", 1, "orchestrator", "ESCALATE", None),
        ];
        assert_eq!(
            memory_lines(&lines, 12),
            [
                "20261118T004201Z [ESCALATE] → none (final:running)",
                "20261118T004201Z [DONE] → none (final:done)",
                "20261118T004201Z [NEXT_WORKER] → send_message to rd (final:done)",
            ]
        );
        assert_eq!(memory_lines(&lines, 1).len(), 1);
    }

    #[test]
    fn lines_go_there_and_back_and_garbage_is_skipped() {
        let line = step("r-1", 1, "worker", "DONE", Some("remember"));
        let text = format!("{}not json\n{}", render_line(&line), render_line(&ended("r-1", "done")));
        assert_eq!(parse_lines(&text), [line, ended("r-1", "done")]);
    }
}
