//! `harness run-loop` and `harness run-director`: a department's director at work, now.

use super::app::{App, Result};
use super::running::{Order, answer, run_department};
use crate::domain::event::Sink;
use crate::domain::role::{Mode, Role, has_ceo_mode};
use crate::domain::shown::Showing;
use crate::error::{CommandError, Kind};
use crate::run::Effects;
use crate::run::cycle::Work;
use crate::ui::Answer;
use crate::ui::sink::{Lines, Progress};

/// Run a department until its mail is handled
///
/// The director decides one thing, a worker or validator does it, and so on, until nothing is open, it decides that it
/// is done or escalates, two iterations change nothing, or max-iterations is reached. With nothing open no engine is
/// asked. Killed at any instant, the next run goes on where this one was.
///
/// Exit: 0 done, 3 refused, 4 busy, 10 escalated, 11 max-iterations or no progress, 12 a step failed, 13 stopped.
///
/// Examples:
///   harness run-loop business
///   harness run-loop business --engine rules --max-iterations 3
///   harness run-loop business --dry-run
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct RunLoopArgs {
    /// The department
    dept: String,
    /// At most so many iterations [default: from the config, else org.toml]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1000))]
    max_iterations: Option<u64>,
    #[command(flatten)]
    how: How,
}

/// Run one step of one role
///
/// The role's prompt is asked once, and its answer is judged and carried out as in a loop. Without --message, the
/// oldest open message is the one at hand.
///
/// Examples:
///   harness run-director business --role worker --mode ceo --message 7f3k2q
///   harness run-director rd --role documenter
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct RunDirectorArgs {
    /// The department
    dept: String,
    /// The role
    #[arg(long, default_value = "orchestrator")]
    role: Role,
    /// The mode; ceo is for the worker of business alone
    #[arg(long, default_value = "normal")]
    mode: Mode,
    /// The message at hand: its id, or the end of it
    #[arg(long, value_name = "ID")]
    message: Option<String>,
    #[command(flatten)]
    how: How,
}

/// Options of both.
#[derive(Debug, clap::Args)]
struct How {
    /// The engine to ask, by its name in org.toml; a list by commas, or by giving it again
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    engine: Vec<String>,
    /// Ask and judge, show the verdict on each action with its rule, and carry nothing out; asking still costs
    #[arg(long)]
    dry_run: bool,
    /// Print each event as a JSON object on a line
    #[arg(long, conflicts_with = "json")]
    events: bool,
    /// Show the text of answers as it comes, at a terminal; scripts take --events
    #[arg(long)]
    stream: bool,
}

impl How {
    fn effects(&self) -> Effects {
        if self.dry_run { Effects::Shown } else { Effects::CarriedOut }
    }

    fn run(&self, app: &App<'_>, order: &Order<'_>) -> Result<Answer> {
        let mut sink: Box<dyn Sink> = match (self.events, self.stream) {
            (true, _) => Box::new(Lines::new(app.ui)),
            (false, stream) => {
                let progress = if stream { Progress::streaming(app.ui) } else { Progress::new(app.ui) };
                Box::new(if self.dry_run { progress.of_a_dry_run() } else { progress })
            }
        };
        let mut showing = Showing::new(sink.as_mut());
        let (end, from_keyboard) = run_department(app, order, &mut showing)?;
        let mut answer = answer(order.dept, &end, from_keyboard);
        if self.dry_run {
            answer.data["dry_run"] = true.into();
            answer.data["shown"] = showing.to_json();
            answer.text.push_str(&showing.render());
        }
        if self.events {
            answer.text.clear();
        }
        if end.steps > 0 && order.effects == Effects::CarriedOut {
            answer = answer.undo(format!("harness undo {}", end.run));
        }
        Ok(answer)
    }
}

pub fn run_loop(args: &RunLoopArgs, app: &App<'_>) -> Result<Answer> {
    app.require_human("run-loop")?;
    let org = app.org()?;
    let department = app.department(&org, &args.dept)?;
    let config = department.config()?;
    let max_iterations = match args.max_iterations.or(config.max_iterations) {
        Some(most) => most,
        None => org.settings()?.defaults.max_iterations,
    };
    let order = Order {
        dept: &args.dept,
        kind: "loop",
        work: Work::Loop { max_iterations },
        engines: args.how.engine.clone(),
        effects: args.how.effects(),
    };
    args.how.run(app, &order)
}

pub fn run_director(args: &RunDirectorArgs, app: &App<'_>) -> Result<Answer> {
    app.require_human("run-director")?;
    let org = app.org()?;
    if args.mode == Mode::Ceo && !has_ceo_mode(&args.dept, args.role) {
        return Err(CommandError::new(Kind::Usage, "ceo mode is for the worker of `business` alone"));
    }
    let department = app.department(&org, &args.dept)?;
    let message = match &args.message {
        Some(wanted) => {
            let item = super::boards::find_item(app, &org, &department, wanted)?;
            let message = match item {
                Some(task) => task,
                None => super::message::find_copy_of(&org, &department.dept, wanted)?.filed.message,
            };
            Some(Box::new(message))
        }
        None => None,
    };
    let order = Order {
        dept: &args.dept,
        kind: "director",
        work: Work::Director { role: args.role, mode: args.mode, message },
        engines: args.how.engine.clone(),
        effects: args.how.effects(),
    };
    args.how.run(app, &order)
}
