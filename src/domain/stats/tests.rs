//! The fold counts what there is, in any order, and in one piece or several.

use super::*;
use crate::domain::ledger::{ActionLine, Line, Refusal, RunLine, StepLine};
use proptest::prelude::*;

fn run(day: u32, outcome: &str, usd: Option<f64>, changed: bool) -> Line {
    Line::Run(RunLine {
        at: format!("2026-11-{day:02}T08:00:00Z"),
        kind: "loop".into(),
        outcome: outcome.into(),
        steps: 2,
        cost_usd: usd,
        counted_usd: usd.unwrap_or(1.0),
        changed,
        ..RunLine::default()
    })
}

fn step(day: u32, role: &str, outcome: &str) -> StepLine {
    StepLine {
        at: format!("2026-11-{day:02}T07:59:00Z"),
        role: role.into(),
        engine: "claude".into(),
        outcome: outcome.into(),
        input_tokens: Some(100),
        cache_read_tokens: Some(300),
        output_tokens: Some(10),
        cost_usd: Some(0.25),
        counted_usd: 0.25,
        duration_s: 2.0,
        ..StepLine::default()
    }
}

fn action(name: &str, target: &str, verdict: &str) -> ActionLine {
    ActionLine { name: name.into(), target: target.into(), verdict: verdict.into(), ..ActionLine::default() }
}

fn refusal(code: &str) -> Refusal {
    Refusal { code: code.into(), message: "no".into() }
}

fn lines() -> Vec<Line> {
    let ghost = StepLine {
        first_refusals: vec![refusal("no_decision")],
        decision: Some("DONE".into()),
        ..step(2, "orchestrator", "ok")
    };
    let sent = StepLine {
        actions: vec![
            action("send_message", "m-1 Decision to rd, management", "allow"),
            action("dispatch", "x", "needs approval"),
        ],
        ..step(3, "worker", "ok")
    };
    let refused = StepLine {
        refusals: vec![refusal("kind_not_sent")],
        actions: vec![action("send_message", "Decision to marketing", "refuse")],
        ..step(3, "worker", "refused")
    };
    let mut all: Vec<Line> =
        [ghost, sent, refused].into_iter().map(|step| Line::Step(Box::new(step))).collect();
    all.push(run(2, "done", Some(0.5), true));
    all.push(run(3, "failed", None, false));
    all
}

fn fold<'a>(lines: impl Iterator<Item = &'a Line>) -> Stats {
    let mut stats = Stats::default();
    lines.for_each(|line| stats.take(&Counted::from(line), Time::MIN_UTC));
    stats
}

#[test]
fn everything_is_counted_once() {
    let all = lines();
    let stats = fold(all.iter());
    assert_eq!((stats.runs, stats.idle_runs, stats.asking_runs), (2, 1, 2));
    assert_eq!(stats.by_outcome["failed"], Tally { count: 1, usd: 1.0, unknown: 1 });
    assert_eq!(stats.by_outcome["done"], Tally { count: 1, usd: 0.5, unknown: 0 });
    assert_eq!((stats.ghosts, stats.orchestrator_steps, stats.repaired), (1, 1, 1));
    assert_eq!(stats.refusals, BTreeMap::from([("no_decision".into(), 1), ("kind_not_sent".into(), 1)]));
    let sent = |to: &str| stats.sent[&("Decision".to_string(), to.to_string())];
    assert_eq!((sent("rd"), sent("management"), stats.sent.len()), (1, 1, 2));
    assert_eq!(stats.actions, BTreeMap::from([("send_message".into(), 1)]));
    assert_eq!(stats.cache_share(), Some(0.75));
    assert_eq!(stats.idle_share(), Some(0.5));
    let day = stats.days[&NaiveDate::from_ymd_opt(2026, 11, 3).unwrap()];
    assert_eq!((day.runs, day.bad_runs, day.steps, day.refusals, day.usd), (1, 1, 2, 1, 0.5));
}

#[test]
fn what_was_before_is_left_out() {
    let since = parse_rfc3339("2026-11-03T00:00:00Z").unwrap();
    let mut stats = Stats::default();
    lines().iter().for_each(|line| stats.take(&Counted::from(line), since));
    assert_eq!((stats.runs, stats.steps_total(), stats.days.len()), (1, 2, 1));
}

#[test]
fn nothing_has_no_shares() {
    let stats = Stats::default();
    assert_eq!((stats.cache_share(), stats.idle_share(), stats.ghost_share()), (None, None, None));
    assert_eq!(stats.waits.quantile(0.5), None);
}

#[test]
fn half_of_the_decisions_came_within_the_median() {
    let mut waits = Waits::default();
    [40, 10, 30, 20].into_iter().for_each(|seconds| waits.took(seconds));
    assert_eq!(
        (waits.quantile(0.5), waits.quantile(0.9), waits.quantile(0.0)),
        (Some(20), Some(40), Some(10))
    );
}

#[test]
fn names_without_end_are_counted_under_one() {
    let steps = (0..1_000).map(|number| {
        Line::Step(Box::new(StepLine {
            refusals: vec![refusal(&format!("code{number}"))],
            ..step(1, "worker", "refused")
        }))
    });
    let all: Vec<Line> = steps.collect();
    let stats = fold(all.iter());
    assert_eq!(stats.refusals.len(), NAMES_MAX + 1);
    assert_eq!(stats.refusals.values().sum::<u64>(), 1_000);
    assert_eq!(stats.refusals[OTHERS], 800);
}

#[test]
fn a_row_is_a_day_of_a_department() {
    let stats = fold(lines().iter());
    let csv = render_csv(&[("rd".into(), stats.clone()), ("business".into(), stats)]);
    let rows: Vec<&str> = csv.lines().collect();
    assert_eq!(rows.len(), 5);
    assert!(rows[0].starts_with("date,department,runs,"), "{csv}");
    assert_eq!(rows[1], "2026-11-02,business,1,0,1,1,1,0.250000,100,300,10,0,0");
    assert_eq!(rows[4], "2026-11-03,rd,1,1,2,0,1,0.500000,200,600,20,0,0");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]
    #[test]
    fn order_and_pieces_make_no_difference(picks in proptest::collection::vec(0usize..5, 0..20), cut in 0usize..20) {
        let all = lines();
        let picked: Vec<&Line> = picks.iter().map(|at| &all[*at]).collect();
        let whole = fold(picked.iter().copied());
        let (head, tail) = picked.split_at(cut.min(picked.len()));
        let mut pieces = fold(tail.iter().copied());
        pieces.merge(&fold(head.iter().rev().copied()));
        prop_assert_eq!(whole, pieces);
    }
}
