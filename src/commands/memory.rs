//! `harness memory`: what a director remembers of its own decisions.

use super::app::{App, Result};
use crate::domain::ledger::memory_lines;
use crate::domain::text::visible;
use crate::ui::Answer;
use serde_json::json;

/// Show what a director remembers
///
/// The last iterations, newest first, as they stand in its prompt, then MEMORY.md. --raw prints the lines alone.
///
/// Examples:
///   harness memory business
///   harness memory business --limit 3 --raw
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct MemoryArgs {
    /// The department
    dept: String,
    /// At most so many iterations
    #[arg(long, value_name = "N", default_value_t = 12)]
    limit: usize,
    /// The lines alone
    #[arg(long)]
    raw: bool,
}

pub fn run(args: &MemoryArgs, app: &App<'_>) -> Result<Answer> {
    let org = app.org()?;
    let department = app.department(&org, &args.dept)?;
    let lines = memory_lines(&department.ledger_tail(0, args.limit)?, args.limit);
    let memory =
        department.dir.read("memory/MEMORY.md", 1024 * 1024)?.map(|text| text.text).unwrap_or_default();
    let raw: String = lines.iter().map(|line| format!("{}\n", visible(line))).collect();
    let text = if args.raw {
        raw
    } else {
        let none = if lines.is_empty() { "none yet\n" } else { "" };
        let heading = crate::ui::bold("Recent decisions, newest first");
        format!("{heading}\n{raw}{none}\n{}\n", visible(memory.trim_end()))
    };
    Ok(Answer::new(
        "harness.memory/1",
        json!({"dept": args.dept, "decisions": lines, "memory": memory}),
        text,
    ))
}
