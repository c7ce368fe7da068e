//! `harness replay`: a run's recorded answers, judged by the rules of today.

use super::app::{App, Result};
use super::run_id::find_run;
use super::running::{Order, at_shop};
use super::trial::Trial;
use crate::domain::id::Dept;
use crate::domain::ledger::Line;
use crate::domain::replay::{Came, Compared, Totals, compare};
use crate::domain::time::parse_rfc3339;
use crate::error::CommandError;
use crate::run::Effects;
use crate::run::cycle::Work;
use crate::run::replay::{Recorded, Replayed, moment};
use crate::store::journal::Journal;
use crate::store::org::Department;
use crate::store::rewind::{Moment, rewind};
use crate::store::scripts::output_of;
use crate::ui::Answer;
use serde_json::{Value, json};

/// Judge a run's answers by the rules of today
///
/// The organisation is copied and taken back to before the run. Then each answer that the run got goes through today's
/// parser, charter and limits, and is carried out in the copy. What would now be allowed, refused or different is shown
/// as a diff, `-` for then and `+` for now. No engine is asked, and nothing real is touched. Exit 1 where something
/// differs.
///
/// With --prompt, what each step would be asked today is compared with what it was asked then. The prompts of the last
/// 200 steps of a department are kept for that.
///
/// Examples:
///   harness replay 7f3k2q
///   harness replay 7f3k2q --prompt
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct ReplayArgs {
    /// The run's id, or the end of it
    run: String,
    /// Compare the prompts instead
    #[arg(long)]
    prompt: bool,
}

/// A step with what became of it.
struct Step {
    recorded: Recorded,
    replayed: Option<Replayed>,
}

pub fn run(args: &ReplayArgs, app: &App<'_>) -> Result<Answer> {
    let org = app.org()?;
    let (department, run) = find_run(&org, &args.run)?;
    let recorded = recorded_steps(&department, &run)?;
    let Some(first) = recorded.first() else {
        return Err(CommandError::failed(format!("{run} took no step, so there is nothing to replay"))
            .code("no_steps"));
    };
    let trial = Trial::of(app, moment(first), 1)?;
    let scratch = trial.org()?;
    let key = app.key()?;
    let kept = |dept: &Dept, run: &str, step: u64| match org.department(dept)? {
        Some(department) => Journal::of(&org, &department, &key)?.kept_step(run, step),
        None => Ok(None),
    };
    let at = started(&department, &run).unwrap_or(moment(first));
    rewind(&scratch, &Moment { dept: &department.dept, run: &run, at, kept: &kept })?;
    let steps = replay(&trial, &department, recorded)?;
    let warnings: Vec<String> = super::charter::standing_warning(&org, &department)?.into_iter().collect();
    let answer = if args.prompt { prompts(&run, &steps) } else { answers(&run, &steps) };
    Ok(answer.warnings(warnings))
}

fn started(department: &Department, run: &str) -> Option<crate::domain::time::Time> {
    let lines = department.ledger_whole().ok()?;
    lines.iter().find_map(|line| match line {
        Line::Run(ended) if ended.run == run => parse_rfc3339(&ended.started),
        _ => None,
    })
}

fn recorded_steps(department: &Department, run: &str) -> Result<Vec<Recorded>> {
    let lines = department.ledger_whole()?;
    let kind = lines.iter().find_map(|line| match line {
        Line::Run(ended) if ended.run == run => Some(ended.kind.clone()),
        _ => None,
    });
    let mut recorded = Vec::new();
    for line in lines {
        let Line::Step(line) = line else { continue };
        if line.run != run {
            continue;
        }
        let record = department.read_record(&line.record)?;
        let asked = matches!(line.outcome.as_str(), "ok" | "refused" | "ghost");
        recorded.push(Recorded {
            kind: kind.clone().unwrap_or_else(|| "loop".to_string()),
            output: record.as_deref().filter(|_| asked).and_then(output_of),
            prompt: department.kept_prompt(run, line.step)?,
            line: *line,
        });
    }
    Ok(recorded)
}

fn replay(trial: &Trial, department: &Department, recorded: Vec<Recorded>) -> Result<Vec<Step>> {
    let app = trial.app();
    let order = Order {
        dept: department.dept.as_str(),
        kind: "replay",
        work: Work::Loop { max_iterations: 1 },
        engines: vec!["rules".to_string()],
        effects: Effects::CarriedOut,
    };
    let mut steps = Vec::new();
    for recorded in recorded {
        trial.ctx.set_now(moment(&recorded));
        let replayed = at_shop(&app, &order, |shop| shop.replay_step(&recorded))?;
        steps.push(Step { recorded, replayed });
    }
    Ok(steps)
}

fn heading(step: &Step) -> String {
    let line = &step.recorded.line;
    let item = line.item.as_ref().map(|id| format!(" on {id}")).unwrap_or_default();
    format!("step {} {}{item}", line.step, line.role)
}

fn answers(run: &str, steps: &[Step]) -> Answer {
    let (mut text, mut totals, mut data) = (String::new(), Totals::default(), Vec::new());
    let mut differ = 0;
    for step in steps {
        let Some(replayed) = &step.replayed else {
            text.push_str(&format!(
                "{}: no answer to replay ({})\n",
                heading(step),
                step.recorded.line.outcome
            ));
            continue;
        };
        let then = Came::of_line(&step.recorded.line);
        let compared = compare(&step.recorded.line, &then, &replayed.came);
        totals.add(&then, &replayed.came);
        differ += usize::from(compared.differs());
        text.push_str(&format!(
            "{}: {}\n",
            heading(step),
            if compared.differs() { "different" } else { "same" }
        ));
        if compared.differs() {
            compared.lines.iter().for_each(|line| text.push_str(&format!("{line}\n")));
        }
        data.push(to_json(&compared));
    }
    let Totals { actions, refused, allowed, other } = totals;
    text.push_str(&format!(
        "{run}: {} steps, {differ} different; {actions} actions: {refused} now refused, {allowed} now allowed, {other} judged otherwise\n",
        steps.len()
    ));
    let totals = json!({"actions": actions, "now_refused": refused, "now_allowed": allowed, "other": other});
    let data = json!({"run": run, "steps": data, "different": differ, "totals": totals});
    Answer::new("harness.replay/1", data, text).exit(u8::from(differ > 0))
}

fn to_json(compared: &Compared) -> Value {
    json!({
        "step": compared.step, "role": compared.role, "item": compared.item, "same": !compared.differs(),
        "diff": compared.lines,
    })
}

fn prompts(run: &str, steps: &[Step]) -> Answer {
    let (mut text, mut data, mut differ) = (String::new(), Vec::new(), 0);
    for step in steps {
        let (then, now) = (step.recorded.prompt.as_deref(), step.replayed.as_ref());
        let (Some(then), Some(now)) = (then, now.map(|replayed| replayed.prompt.as_str())) else {
            text.push_str(&format!("{}: its prompt is not kept\n", heading(step)));
            continue;
        };
        let diff = similar::TextDiff::from_lines(then, now);
        let shown = diff.unified_diff().context_radius(2).header("then", "now").to_string();
        let same = then == now;
        differ += usize::from(!same);
        text.push_str(&format!("{}: {}\n", heading(step), if same { "same" } else { "different" }));
        text.push_str(&crate::domain::text::visible(&shown));
        data.push(json!({"step": step.recorded.line.step, "same": same, "diff": shown}));
    }
    text.push_str(&format!("{run}: {} steps, {differ} prompts different\n", steps.len()));
    let data = json!({"run": run, "steps": data, "different": differ});
    Answer::new("harness.replay-prompt/1", data, text).exit(u8::from(differ > 0))
}
