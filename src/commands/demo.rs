//! `harness demo`: an organisation in a new folder, a directive, and rounds of the embedded engine until all is quiet.

use super::app::{App, Result};
use super::running::{Order, run_department};
use super::task_show::load;
use super::{directive, init};
use crate::domain::allowance::Allowance;
use crate::domain::directive::{DirectiveStatus, NewDirective};
use crate::domain::event::{Event, Sink};
use crate::domain::id::{IdKind, new_id};
use crate::domain::judging::issued_ids;
use crate::domain::ledger::ActionLine;
use crate::domain::priority::Priority;
use crate::domain::text::one_line;
use crate::error::{CommandError, Kind};
use crate::run::Effects;
use crate::run::cycle::{RunOutcome, Work};
use crate::store::template::FIVE;
use crate::ui::{Answer, bold};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// More rounds than the story has.
const ROUNDS: usize = 20;
const TITLE: &str = "A weekly digest for our users";
const BODY: &str = "Every Monday, users should get a short mail: what changed for them last week, and one thing worth trying. \
Start small. I want to see whether anybody reads it.";

/// What the human has seen when all is quiet.
const SEEN: &str = "Seen: the project is under way, its three tasks are done, and the launch is prepared.";

/// Watch an organisation work, in a minute
///
/// Makes an organisation of five departments in a new folder, gives it a directive, and runs the embedded engine until
/// all is quiet. The directive becomes a project with three tasks, one of which waits for another; agents of the roster
/// do them, a validator checks them, and they are done. It needs no key and nothing installed, and costs nothing. The
/// folder is left for you to look at, with a report page to open in a browser.
///
/// Examples:
///   harness demo
///   harness demo ./tour
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct DemoArgs {
    /// The folder to make; it must not exist yet [default: harness-demo, or harness-demo-2, ...]
    #[arg(value_name = "DIR")]
    dir: Option<PathBuf>,
}

pub fn run(args: &DemoArgs, app: &App<'_>) -> Result<Answer> {
    app.require_human("demo")?;
    let root = match &args.dir {
        Some(dir) if crate::store::org::is_there(dir) => {
            let error = CommandError::new(Kind::Usage, format!("{} is there already", dir.display()));
            return Err(error.hint("name a folder that isn't there yet"));
        }
        Some(dir) => dir.clone(),
        None => free_folder(),
    };
    let demo = App { ctx: app.ctx, ui: app.ui, root: root.clone() };
    init::make_five(&demo)?;
    say(app, &format!("Made {} with five departments: {}.", root.display(), FIVE.join(", ")));
    let given = give_directive(&demo)?;
    say(app, &format!("\n{}\n  {}\n  you -> business  Directive: {TITLE}", bold("The directive"), given.id));
    let names = BTreeMap::from([(given.message.clone(), TITLE.to_string())]);
    let mut told = Story { app, names, sent: 0, steps: 0 };
    for round in 1..=ROUNDS {
        if !run_round(&demo, &mut told, round)? {
            directive::shift(&demo, &given.id, DirectiveStatus::Completed, SEEN)?;
            say(app, &format!("\n{}\n  you complete {}: {SEEN}", bold("The end"), given.id));
            let page = super::report::write(&demo, &root.join("report.html"), "14d")?;
            return Ok(ending(&root, &given, &told, round - 1, &page));
        }
    }
    Err(CommandError::failed(format!("the organisation was not quiet after {ROUNDS} rounds")))
}

fn give_directive(demo: &App<'_>) -> Result<NewDirective> {
    let now = demo.ctx.now();
    let new = NewDirective {
        id: new_id(IdKind::Directive, now, &demo.ctx.random()),
        title: TITLE.to_string(),
        body: BODY.to_string(),
        priority: Priority::Medium,
        allowance: Allowance::default(),
        deadline: None,
        message: new_id(IdKind::Message, now, &demo.ctx.random()),
        created: now,
    };
    directive::give(demo, &new)?;
    Ok(new)
}

fn free_folder() -> PathBuf {
    let mut dir = PathBuf::from("harness-demo");
    let mut count = 1;
    while crate::store::org::is_there(&dir) {
        count += 1;
        dir = PathBuf::from(format!("harness-demo-{count}"));
    }
    dir
}

fn say(app: &App<'_>, text: &str) {
    app.ui.notice_styled(text);
}

/// Runs every department with open mail or eligible tasks once; false where there was none.
fn run_round(demo: &App<'_>, told: &mut Story<'_>, round: usize) -> Result<bool> {
    let org = demo.org()?;
    let mut busy = Vec::new();
    for name in FIVE {
        let department = demo.department(&org, name)?;
        let waiting = department.inbox()?.messages;
        let mail = waiting.iter().any(|filed| filed.message.waits_for.is_none());
        let board = load(demo, &org, &department)?.board;
        if mail || board.eligible(demo.ctx.now()).iter().any(|item| !item.kind.is_help()) {
            busy.push(name);
        }
    }
    if !busy.is_empty() {
        say(demo, &format!("\n{}", bold(&format!("Round {round}"))));
    }
    for dept in &busy {
        let order = Order {
            dept,
            kind: "loop",
            work: Work::Loop { max_iterations: 10 },
            engines: vec!["rules".to_string()],
            effects: Effects::CarriedOut,
        };
        say(demo, &format!("  {dept}"));
        let (end, _) = run_department(demo, &order, told)?;
        told.steps += end.steps;
        if end.outcome != RunOutcome::Done {
            return Err(CommandError::failed(format!("{dept}: {}: {}", end.outcome.word(), end.reason)));
        }
    }
    Ok(!busy.is_empty())
}

fn ending(root: &Path, given: &NewDirective, told: &Story<'_>, rounds: usize, page: &Path) -> Answer {
    let root = root.display();
    let url = super::report::url_path(page);
    let (id, message) = (&given.id, &given.message);
    let text = format!(
        "\nAll is quiet: {rounds} rounds, {} steps, {} messages, 0.00 USD.\n\n\
         Open the report in a browser:\n  file://{url}\n\nLook at it:\n  \
         harness directive show {id} --root {root}\n  \
         harness task list management --status done --root {root}\n  \
         harness message thread {message} --root {root}\n  \
         harness runs list --root {root}\n  \
         harness memory business --root {root}\n  \
         ls {root}/org-business\n",
        told.steps, told.sent
    );
    let data = json!({"root": root.to_string(), "directive": id, "message": message, "rounds": rounds, "steps": told.steps, "messages": told.sent, "report": page});
    Answer::new("harness.demo/1", data, text)
}

/// Tells what the departments do, a line for each thing, in words instead of ids.
struct Story<'a> {
    app: &'a App<'a>,
    /// What each message and task that came up is called.
    names: BTreeMap<String, String>,
    sent: u64,
    steps: u64,
}

impl Story<'_> {
    /// An action, with the name of what it makes or changes in the place of the id.
    fn tell(&mut self, action: &ActionLine) -> String {
        let (id, rest) = match action.target.split_once(' ') {
            Some((id, rest)) if is_issued(id) => (id, rest),
            None if is_issued(&action.target) => (action.target.as_str(), ""),
            _ => ("", action.target.as_str()),
        };
        if !id.is_empty() && !action.about.is_empty() {
            self.names.insert(id.to_string(), action.about.clone());
        }
        let known = self.names.get(id).map_or(action.about.as_str(), String::as_str);
        let name = if known.is_empty() { String::new() } else { format!(": {known}") };
        let what = format!("{} {}", action.name, one_line(rest, 100));
        format!("    {}{name}", what.trim_end())
    }
}

/// Whether a word is an id that the tool made.
fn is_issued(word: &str) -> bool {
    !issued_ids(word).is_empty()
}

impl Sink for Story<'_> {
    fn hear(&mut self, event: &Event<'_>) {
        let line = match event {
            Event::Decision { keyword, id, .. } => {
                let id = id.unwrap_or_default();
                let name = self.names.get(id).map(|name| format!("\n      {name}")).unwrap_or_default();
                format!("    decides {keyword} {id}{name}")
            }
            Event::Action(action) => {
                self.sent += u64::from(action.name == "send_message");
                self.tell(action)
            }
            Event::Notice(text) => format!("    {}", one_line(text, 200)),
            Event::NotCommitted(why) => format!("    not committed yet: {}", one_line(why, 200)),
            _ => return,
        };
        self.app.ui.notice(line.trim_end());
    }
}
