//! What a week's ledger tells the documenter: outcomes against decisions, repeated deferrals, refusals by code.

use super::ledger::{Line, StepLine};
use super::live_state::is_arrival;
use super::message::Message;
use super::text::one_line;
use std::collections::BTreeMap;

/// From how many steps on a message that is still open counts as put off again and again.
const DEFERRED: usize = 3;
/// The most lines of each part.
const LINES_MAX: usize = 40;

/// The facts of some ledger lines, a line each; empty where nothing was done.
pub fn week_facts(lines: &[Line], open: &[Message]) -> Vec<String> {
    let steps: Vec<&StepLine> = lines
        .iter()
        .filter_map(|line| match line {
            Line::Step(step) => Some(step.as_ref()),
            Line::Run(_) => None,
        })
        .collect();
    if steps.is_empty() {
        return Vec::new();
    }
    let mut facts = runs(lines);
    facts.extend(decisions(&steps));
    facts.extend(deferrals(&steps, open));
    facts.extend(refusals(&steps));
    let told = steps.iter().flat_map(|step| &step.history).map(|(_, line)| line);
    let told: Vec<String> = told.filter(|line| !is_arrival(line)).cloned().collect();
    let cut = told.len().saturating_sub(LINES_MAX);
    if cut > 0 {
        facts.push(format!("[cut: {cut} earlier entries]"));
    }
    facts.extend(told[cut..].iter().map(|line| format!("did: {}", one_line(line, 200))));
    facts
}

fn counted<'a>(words: impl Iterator<Item = &'a str>) -> Vec<(String, usize)> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    words.for_each(|word| *counts.entry(word).or_insert(0) += 1);
    let mut counts: Vec<(String, usize)> =
        counts.into_iter().map(|(word, count)| (word.to_string(), count)).collect();
    counts.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    counts.truncate(LINES_MAX);
    counts
}

fn list(counts: &[(String, usize)]) -> String {
    let parts: Vec<String> = counts.iter().map(|(word, count)| format!("{word} {count}")).collect();
    parts.join(", ")
}

fn runs(lines: &[Line]) -> Vec<String> {
    let runs = lines.iter().filter_map(|line| match line {
        Line::Run(run) => Some(run),
        Line::Step(_) => None,
    });
    let runs: Vec<_> = runs.filter(|run| run.steps > 0).collect();
    let outcomes = counted(runs.iter().map(|run| run.outcome.as_str()));
    let cost: Option<f64> = runs.iter().map(|run| run.cost_usd).sum();
    let cost = match cost {
        Some(usd) => format!("{usd:.2} USD"),
        None => {
            let counted: f64 = runs.iter().map(|run| run.counted_usd).sum();
            format!("cost unknown, counted as {counted:.2} USD")
        }
    };
    match runs.is_empty() {
        true => Vec::new(),
        false => vec![format!("runs {}: {}; {cost}", runs.len(), list(&outcomes))],
    }
}

/// How what was decided came out.
fn decisions(steps: &[&StepLine]) -> Vec<String> {
    let acted = || steps.iter().filter(|step| step.role != "orchestrator");
    let keywords = counted(acted().filter_map(|step| step.decision.as_deref()));
    let line = |(keyword, count): &(String, usize)| {
        let of_it = acted().filter(|step| step.decision.as_deref() == Some(keyword));
        format!("decided {keyword} {count}: {}", list(&counted(of_it.map(|step| step.outcome.as_str()))))
    };
    keywords.iter().map(line).collect()
}

/// Messages that were taken up again and again and are still open.
fn deferrals(steps: &[&StepLine], open: &[Message]) -> Vec<String> {
    let acted = steps.iter().filter(|step| step.role != "orchestrator");
    let taken = counted(acted.filter_map(|step| step.item.as_deref()));
    let again =
        taken.iter().filter(|(id, count)| *count >= DEFERRED && open.iter().any(|message| message.id == *id));
    again.map(|(id, count)| format!("put off {id}: {count} steps, and still open")).collect()
}

fn refusals(steps: &[&StepLine]) -> Vec<String> {
    let all = steps.iter().flat_map(|step| step.refusals.iter().chain(&step.first_refusals));
    let codes = counted(all.map(|refusal| refusal.code.as_str()));
    codes.iter().map(|(code, count)| format!("refused {code}: {count}")).collect()
}
