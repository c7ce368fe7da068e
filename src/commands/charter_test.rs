//! `harness charter test`: past actions, judged by the charter as it is now.

use super::app::{App, Result};
use super::charter::{load, standing_warning};
use crate::domain::ledger::{Line, Refusal, StepLine};
use crate::domain::message::Provenance;
use crate::domain::record::recorded_actions;
use crate::domain::role::Role;
use crate::domain::time::{parse_rfc3339, parse_since};
use crate::domain::verdict::{Circumstances, REFUSALS, Ruling, judge_action};
use crate::error::{CommandError, Kind};
use crate::ui::Answer;
use serde_json::{Value, json};

/// How many differences are shown.
const SHOWN: usize = 20;

/// Judge past actions by the charter as it is now
///
/// Every action of the runs since then is judged again, as a change of the charter would have it. What was allowed and
/// is now refused, or the other way round, is shown. Exit 1 where something differs.
///
/// Examples:
///   harness charter test business --since 7d
///   harness charter test business --since 2026-11-01
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct TestArgs {
    /// The department
    dept: String,
    /// Since when: a span such as 7d, a date, or a time
    #[arg(long, value_name = "TIME", default_value = "7d")]
    since: String,
}

struct Difference {
    run: String,
    action: String,
    before: String,
    now: String,
    why: String,
}

#[derive(Default)]
struct Tested {
    judged: usize,
    differences: Vec<Difference>,
}

pub fn run(args: &TestArgs, app: &App<'_>) -> Result<Answer> {
    let org = app.org()?;
    let department = app.department(&org, &args.dept)?;
    let since = parse_since(&args.since, app.ctx.now()).ok_or_else(|| {
        CommandError::new(Kind::Usage, format!("`{}` is no time", args.since))
            .hint("such as 7d, 2026-11-01 or 2026-11-01T09:00:00Z")
    })?;
    let warnings: Vec<String> = standing_warning(&org, &department)?.into_iter().collect();
    let charter = load(&department)?.rules;
    let receivers = |name: &str, kind: &str| org.receiver(name, kind);
    let mut tested = Tested::default();
    let records = department.records()?;
    for line in department.ledger_whole()? {
        let Line::Step(step) = line else { continue };
        let judged = !step.actions.is_empty() || step.outcome == "refused";
        if !judged || parse_rfc3339(&step.at).is_none_or(|at| at < since) {
            continue;
        }
        let Some(record) = records.read(&step.record)? else { continue };
        let at = Circumstances {
            dept: &department.dept,
            role: Role::parse(&step.role).unwrap_or(Role::Worker),
            provenance: if step.provenance == "external" {
                Provenance::External
            } else {
                Provenance::Department
            },
            receivers: Some(&receivers),
        };
        for (index, action) in recorded_actions(&record).iter().enumerate() {
            if let Some(before) = verdict_then(&step, index) {
                tested.judge(&step, action, before, &judge_action(&charter, action, &at));
            }
        }
    }
    Ok(answer(args, &tested).warnings(warnings))
}

/// How an action was judged then; none where something else than the charter refused the answer.
fn verdict_then(step: &StepLine, index: usize) -> Option<&str> {
    if step.outcome != "refused" {
        return step.actions.get(index).map(|line| line.verdict.as_str());
    }
    let place = format!("action {} (", index + 1);
    let by_charter = |refusal: &&Refusal| REFUSALS.contains(&refusal.code.as_str());
    let refused = step.refusals.iter().filter(by_charter).any(|refusal| refusal.message.contains(&place));
    refused.then_some("refuse")
}

impl Tested {
    fn judge(
        &mut self,
        step: &StepLine,
        action: &serde_json::Map<String, Value>,
        before: &str,
        now: &Ruling,
    ) {
        self.judged += 1;
        if now.verdict.to_string() == before {
            return;
        }
        self.differences.push(Difference {
            run: step.run.clone(),
            action: action.get("do").and_then(Value::as_str).unwrap_or("?").to_string(),
            before: before.to_string(),
            now: now.verdict.to_string(),
            why: now.message.clone(),
        });
    }

    /// How many went from one verdict to another.
    fn count(&self, is: impl Fn(&Difference) -> bool) -> usize {
        self.differences.iter().filter(|one| is(one)).count()
    }
}

fn answer(args: &TestArgs, tested: &Tested) -> Answer {
    let Tested { judged, differences } = tested;
    let refused = tested.count(|one| one.now == "refuse");
    let allowed = tested.count(|one| one.before == "refuse");
    let other = differences.len() - refused - allowed;
    let mut text = format!(
        "{judged} actions of {} since {} judged again, {} differ: {refused} now refused, {allowed} no longer refused, {other} \
         otherwise\n",
        args.dept,
        args.since,
        differences.len()
    );
    for one in differences.iter().take(SHOWN) {
        text.push_str(&format!(
            "  {} {}: was {}, now {}: {}\n",
            one.run, one.action, one.before, one.now, one.why
        ));
    }
    if differences.len() > SHOWN {
        text.push_str(&format!("  and {} more\n", differences.len() - SHOWN));
    }
    let shown: Vec<Value> = differences
        .iter()
        .map(|one| json!({"run": one.run, "do": one.action, "before": one.before, "now": one.now, "why": one.why}))
        .collect();
    let exit = u8::from(!differences.is_empty());
    let totals = json!({"now_refused": refused, "no_longer_refused": allowed, "other": other});
    let data = json!({"judged": judged, "totals": totals, "differences": shown});
    Answer::new("harness.charter-test/1", data, text).exit(exit)
}
