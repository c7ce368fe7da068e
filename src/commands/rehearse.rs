//! `harness rehearse`: fixtures as tests of a department's prompts and charter.

use super::app::{App, Result};
use super::running::{Order, run_department};
use super::trial::Trial;
use crate::domain::event::{Event, Sink};
use crate::domain::ledger::Line;
use crate::domain::rehearsal::{CaseResult, faults, parse_expected, render_junit, render_tap};
use crate::error::CommandError;
use crate::run::Effects;
use crate::run::cycle::Work;
use crate::store::cases::{Case, read_cases, stage_case};
use crate::ui::Answer;
use serde_json::json;
use std::path::PathBuf;

/// Run fixtures as tests of a department
///
/// Each folder in DIR is a case: messages/ holds the mail it begins with, 01.txt, 02.txt and so on are the engine's
/// answers in their order, and expected.toml says what has to come of it: outcome, decisions, actions, sent and
/// refusals, each optional, one at least. In an answer, {{ nonce }} and {{ message_id }} stand for those of its step.
///
/// Every case runs in a copy of the organisation with the files as they are now, so that a charter can be tried before
/// it is accepted. No model is asked and nothing real is touched. Exit 1 where a case fails.
///
/// Examples:
///   harness rehearse business --answers ./rehearsals
///   harness rehearse business --answers ./rehearsals \
///       --format junit > rehearsals.xml
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct RehearseArgs {
    /// The department
    dept: String,
    /// The folder of cases
    #[arg(long, value_name = "DIR")]
    answers: PathBuf,
    /// How results are printed
    #[arg(long, value_name = "FORMAT", default_value = "tap")]
    format: Format,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Format {
    Tap,
    Junit,
}

struct Silent;

impl Sink for Silent {
    fn hear(&mut self, _event: &Event<'_>) {}
}

pub fn run(args: &RehearseArgs, app: &App<'_>) -> Result<Answer> {
    let org = app.org()?;
    app.department(&org, &args.dept)?;
    let cases = read_cases(&args.answers)?;
    if cases.is_empty() {
        return Err(CommandError::failed(format!("there is no case in {}", args.answers.display()))
            .code("no_cases")
            .hint("a case is a folder with messages/, 01.txt and expected.toml"));
    }
    let results = cases
        .iter()
        .map(|case| Ok(CaseResult { name: case.name.clone(), faults: rehearse(args, app, case)? }))
        .collect::<Result<Vec<CaseResult>>>()?;
    let failed = results.iter().filter(|case| !case.faults.is_empty()).count();
    let text = match args.format {
        Format::Tap => render_tap(&results),
        Format::Junit => render_junit(&args.dept, &results),
    };
    let rows: Vec<_> = results.iter().map(|case| json!({"case": case.name, "faults": case.faults})).collect();
    let data = json!({"dept": args.dept, "cases": rows, "failed": failed});
    Ok(Answer::new("harness.rehearse/1", data, text).exit(u8::from(failed > 0)))
}

/// What is wrong with one case.
fn rehearse(args: &RehearseArgs, app: &App<'_>, case: &Case) -> Result<Vec<String>> {
    let Some(text) = &case.expected else { return Ok(vec!["it has no expected.toml".to_string()]) };
    let expected = match parse_expected(text) {
        Ok(expected) => expected,
        Err(why) => return Ok(vec![format!("expected.toml: {why}")]),
    };
    let trial = Trial::of(app, app.ctx.now(), 1)?;
    let org = trial.org()?;
    let department = trial.app().department(&org, &args.dept)?;
    stage_case(&org, &department, case)?;
    let before = department.ledger_whole()?.len();
    let order = Order {
        dept: &args.dept,
        kind: "loop",
        work: Work::Loop { max_iterations: 100 },
        engines: vec!["rehearsal".to_string()],
        effects: Effects::CarriedOut,
    };
    if let Err(error) = run_department(&trial.app(), &order, &mut Silent) {
        return Ok(vec![format!("it could not run: {}", error.cause)]);
    }
    let lines: Vec<Line> = department.ledger_whole()?.into_iter().skip(before).collect();
    Ok(faults(&expected, &lines))
}
