//! The record of a step or a run, `<ts>_<kind>.md`: what a person reads to know what happened and why.
//!
//! Its last block is the ledger's own line, so that a ledger that was lost can be made again from the records.

use super::front_matter::FrontMatter;
use super::ledger::{Line, RunLine, StepLine, render_line};
use super::prompt::Layer;
use serde_json::{Map, Value};

/// What a step's record shows beside its ledger line.
#[derive(Clone, Debug, Default)]
pub struct StepRecord<'a> {
    pub dept: &'a str,
    pub layers: &'a [Layer],
    pub model: Option<&'a str>,
    /// The decision as a line, where the step took one.
    pub decision: Option<String>,
    /// The actions as they were given.
    pub actions: &'a [Map<String, Value>],
    pub results: &'a [String],
    /// Every answer of the step in full, the refused one too.
    pub outputs: &'a [String],
    pub warnings: &'a [String],
    pub reason: &'a str,
}

/// A code fence longer than any in the text.
fn fenced(info: &str, text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let ticks = "`".repeat(longest.max(2) + 1);
    format!("{ticks}{info}\n{}\n{ticks}\n", text.trim_end())
}

fn cost(known: Option<f64>, counted: f64) -> String {
    match known {
        Some(usd) => format!("{usd}"),
        None => format!("unknown, counted as {counted}"),
    }
}

/// The record of a step.
pub fn render_step(line: &StepLine, record: &StepRecord<'_>) -> String {
    let mut front = FrontMatter::default();
    front.set_number("schema", 1);
    for (key, value) in [
        ("dept", record.dept),
        ("run", &line.run),
        ("role", &line.role),
        ("mode", &line.mode),
        ("engine", &line.engine),
        ("at", &line.at),
        ("outcome", &line.outcome),
    ] {
        front.set_text(key, value);
    }
    front.set_number("step", line.step);
    front.set_number("iteration", line.iteration);
    for (key, value) in
        [("model", record.model), ("item", line.item.as_deref()), ("decision", line.decision.as_deref())]
    {
        if let Some(value) = value {
            front.set_text(key, value);
        }
    }
    for (key, tokens) in [
        ("input_tokens", line.input_tokens),
        ("cache_write_tokens", line.cache_write_tokens),
        ("cache_read_tokens", line.cache_read_tokens),
        ("output_tokens", line.output_tokens),
    ] {
        if let Some(tokens) = tokens {
            front.set_number(key, tokens);
        }
    }
    front.set_text("cost_usd", cost(line.cost_usd, line.counted_usd));
    front.set_number("duration_s", line.duration_s);
    front.set_number("prompt_bytes", line.prompt_bytes);
    front.set_number("prefix_bytes", line.prefix_bytes);
    front.set_text("prefix_sha256", &line.prefix_sha256);
    front.render(&step_body(line, record))
}

fn step_body(line: &StepLine, record: &StepRecord<'_>) -> String {
    let mut text = format!("\n# {} of {}: {}\n", line.role, record.dept, line.outcome);
    if !record.reason.is_empty() {
        text.push_str(&format!("\n{}\n", record.reason));
    }
    if let Some(decision) = &record.decision {
        text.push_str(&format!("\n## Decision\n\n{decision}\n"));
    }
    if !record.actions.is_empty() {
        text.push_str("\n## Actions\n");
    }
    for (index, action) in record.actions.iter().enumerate() {
        let verdict = line.actions.get(index);
        let name = action.get("do").and_then(Value::as_str).unwrap_or("?");
        let verdict = match verdict {
            None => "refused with the answer".to_string(),
            Some(line) if line.rule.is_empty() => format!("{} ({})", line.verdict, line.code),
            Some(line) => format!("{} ({}, {})", line.verdict, line.code, line.rule),
        };
        text.push_str(&format!("\n{}. {name}: {verdict}", index + 1));
        if let Some(result) = record.results.get(index) {
            text.push_str(&format!("; {result}"));
        }
        text.push_str("\n\n");
        text.push_str(&fenced("json", &format!("{:#}", Value::Object(action.clone()))));
    }
    for (heading, refusals) in
        [("Refusals of the first try", &line.first_refusals), ("Refusals", &line.refusals)]
    {
        if !refusals.is_empty() {
            text.push_str(&format!("\n## {heading}\n\n"));
        }
        for refusal in refusals {
            text.push_str(&format!("- {}: {}\n", refusal.code, refusal.message));
        }
    }
    text.push_str(&prompt_part(line, record.layers));
    for warning in record.warnings {
        text.push_str(&format!("\nWarning: {warning}\n"));
    }
    for (index, output) in record.outputs.iter().enumerate() {
        let which = if record.outputs.len() > 1 { format!(", try {}", index + 1) } else { String::new() };
        text.push_str(&format!("\n## Output{which}\n\n{}", fenced("text", output)));
    }
    text.push_str(&ledger_part(&Line::Step(Box::new(line.clone()))));
    text
}

fn prompt_part(line: &StepLine, layers: &[Layer]) -> String {
    let mut text = format!(
        "\n## Prompt\n\n{} bytes, of which {} are the stable prefix `{}`.\n\n",
        line.prompt_bytes, line.prefix_bytes, line.prefix_sha256
    );
    for layer in layers {
        let origin = if layer.origin.is_empty() { String::new() } else { format!(", {}", layer.origin) };
        text.push_str(&format!(
            "- {} {}: {}{origin}, {} bytes\n",
            layer.layer, layer.name, layer.state, layer.bytes
        ));
    }
    text
}

fn ledger_part(line: &Line) -> String {
    format!("\n## Ledger\n\n{}", fenced("json ledger", &render_line(line)))
}

/// What a run's record tells beside its line.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunStory<'a> {
    pub entries: &'a [String],
    /// What a program printed.
    pub output: &'a str,
}

/// The record of a run.
pub fn render_run(dept: &str, line: &RunLine, story: &RunStory<'_>) -> String {
    let mut front = FrontMatter::default();
    front.set_number("schema", 1);
    for (key, value) in [
        ("dept", dept),
        ("run", &line.run),
        ("kind", &line.kind),
        ("started", &line.started),
        ("ended", &line.at),
        ("outcome", &line.outcome),
        ("reason", &line.reason),
    ] {
        front.set_text(key, value);
    }
    front.set_number("iterations", line.iterations);
    front.set_number("steps", line.steps);
    front.set_text("cost_usd", cost(line.cost_usd, line.counted_usd));
    let mut text = format!("\n# Run of {dept}: {}\n\n{}\n", line.outcome, line.reason);
    if !story.entries.is_empty() {
        text.push('\n');
    }
    for entry in story.entries {
        text.push_str(&format!("- {entry}\n"));
    }
    if !story.output.is_empty() {
        text.push_str(&format!("\n## Output\n\n{}", fenced("text", story.output)));
    }
    text.push_str(&ledger_part(&Line::Run(line.clone())));
    front.render(&text)
}

/// The ledger's line that a record holds.
pub fn ledger_line(record: &str) -> Option<&str> {
    let (_, after) = record.rsplit_once("json ledger\n")?;
    after.lines().next()
}

/// The actions that a step's record holds, in their order.
pub fn recorded_actions(record: &str) -> Vec<Map<String, Value>> {
    let Some((_, after)) = record.split_once("\n## Actions\n") else { return Vec::new() };
    let section = after.split("\n## ").next().unwrap_or(after);
    let mut actions = Vec::new();
    let mut rest = section;
    while let Some((before, after)) = rest.split_once("json\n") {
        let ticks = &before[before.trim_end_matches('`').len()..];
        let Some((json, after)) = after.split_once(&format!("\n{ticks}\n")) else { break };
        if let Ok(Value::Object(action)) = serde_json::from_str(json) {
            actions.push(action);
        }
        rest = after;
    }
    actions
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_record_gives_back_its_line_and_its_actions() {
        let actions: Vec<Map<String, Value>> =
            [json!({"do": "remember", "text": "```json\n{}\n```\n## Actions"}), json!({"do": "x"})]
                .into_iter()
                .filter_map(|value| value.as_object().cloned())
                .collect();
        let line = StepLine { run: "r-1".into(), role: "worker".into(), ..StepLine::default() };
        let outputs = ["```actions x\n[]\n```\n## Ledger\n```json ledger\n{}".to_string()];
        let record = StepRecord { dept: "rd", actions: &actions, outputs: &outputs, ..StepRecord::default() };
        let text = render_step(&line, &record);
        assert_eq!(recorded_actions(&text), actions);
        assert_eq!(
            serde_json::from_str::<Line>(ledger_line(&text).unwrap()).unwrap(),
            Line::Step(Box::new(line))
        );
    }
}
