//! `harness undo`: takes back what a run changed, or all that ran since a moment.

mod since;

use super::app::{App, Result};
use super::run_id::find_run;
use super::running::{Order, at_shop, unmade};
use crate::domain::undo::{Item, Verdict};
use crate::error::CommandError;
use crate::run::Effects;
use crate::run::cycle::Work;
use crate::run::undo::{Undone, say};
use crate::ui::Answer;
use serde_json::{Value, json};

/// Take back what a run changed
///
/// Every file that is still as the run left it goes back to what it was, messages that nobody has touched are taken out
/// of the inboxes they went to, and what the run had handled is open again. What can't be undone is shown first: a
/// message that was handled elsewhere, a file that was changed since. Ledger, records and logs only get a line more, and
/// the director is told. In a git work tree it is one new commit. An undo is a run too, and can be undone. Changes of
/// projects are taken back by changes of their own; a project that the run made is cancelled.
///
/// What the run had handled is open again, so the next run takes it up, and rules that are as they were do the same once
/// more. Change them first, or `harness pause` the department.
///
/// With --since, every run that ended since then is undone, the newest first: of all departments, or those named with
/// --dept. Each undo is a run of its own, and told to its director.
///
/// It asks first, unless --yes is given. Exit 1 where nothing can be undone.
///
/// Examples:
///   harness undo 7f3k2q --dry-run
///   harness undo 7f3k2q --yes
///   harness undo --since 8h --dry-run
///   harness undo --since 2026-11-18T22:00:00Z --dept business --yes
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct UndoArgs {
    /// The run's id, or the end of it
    #[arg(required_unless_present = "since", conflicts_with = "since")]
    run: Option<String>,
    /// Undo all runs that ended since then: a span such as 8h, a date, or a time
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// With --since, only the runs of this department; may be given several times
    #[arg(long, value_name = "DEPT", requires = "since")]
    dept: Vec<String>,
    /// Don't ask
    #[arg(long, short)]
    yes: bool,
    /// Show what would be undone, and touch nothing
    #[arg(long)]
    dry_run: bool,
}

pub fn run(args: &UndoArgs, app: &App<'_>) -> Result<Answer> {
    app.require_human("undo")?;
    if let Some(time) = &args.since {
        return since::run(args, time, app);
    }
    let org = app.org()?;
    let (department, run) = find_run(&org, args.run.as_deref().unwrap_or_default())?;
    let dept = department.dept.to_string();
    let order = order(&dept);
    let items = match at_shop(app, &order, |shop| shop.show_undo(&run))? {
        Undone::Shown(items) => items,
        Undone::NothingKept => return Err(nothing_kept(&run)),
        other => return answer(&dept, &run, other),
    };
    let shown = list(&items);
    if args.dry_run {
        let text = format!("would undo {run} of {dept}:\n{shown}{}", open_again(&dept, &items));
        return Ok(Answer::new("harness.undo/1", data(&run, None, &items), text));
    }
    if !items.iter().any(|item| matches!(item.verdict, Verdict::Back(_))) {
        return Err(CommandError::failed(format!("nothing of {run} can be undone:\n{}", shown.trim_end()))
            .code("nothing_to_undo"));
    }
    let what = format!("{run} of {dept}");
    confirm(args, app, &what, &format!("{shown}{}", open_again(&dept, &items)), &format!("undo {run}"))?;
    app.audit(&org, "undo", &format!("{run} of {dept}"))?;
    let answer = answer(&dept, &run, at_shop(app, &order, |shop| shop.undo(&run))?)?;
    let waits = department.unmade_commit()?.map(|unmade| unmade.why);
    Ok(answer.warnings(unmade(waits.as_deref())))
}

fn order(dept: &str) -> Order<'_> {
    Order {
        dept,
        kind: "undo",
        work: Work::Loop { max_iterations: 1 },
        engines: vec!["rules".to_string()],
        effects: Effects::CarriedOut,
    }
}

/// Shows what would be done and asks, unless that was answered beforehand.
fn confirm(args: &UndoArgs, app: &App<'_>, what: &str, shown: &str, command: &str) -> Result<()> {
    if args.yes {
        return Ok(());
    }
    if !app.ui.can_ask() {
        let shown = shown.trim_end();
        return Err(CommandError::failed(format!("undoing {what} would change this:\n{shown}"))
            .code("not_confirmed")
            .hint(format!("to do it: `harness {command} --yes`")));
    }
    app.ui.notice(&format!("Undoing {what}:\n{shown}"));
    match app.ui.ask("Undo it?") {
        true => Ok(()),
        false => Err(CommandError::failed("nothing was changed").code("not_confirmed")),
    }
}

/// What the next run takes up again, and how to keep it from that.
fn open_again(dept: &str, items: &[Item]) -> String {
    let open: Vec<&str> = items.iter().filter_map(Item::opens).collect();
    match &open[..] {
        [] => String::new(),
        open => format!(
            "Open again, for the next run of {dept}: {}\nTo keep it from running until you have changed something: \
             harness pause {dept} --why TEXT\n",
            open.join(", ")
        ),
    }
}

fn nothing_kept(run: &str) -> CommandError {
    CommandError::failed(format!("{run} changed nothing, or what it changed is no longer kept"))
        .code("nothing_to_undo")
        .hint(format!("`harness runs show {run}` shows what it did"))
}

fn answer(dept: &str, run: &str, undone: Undone) -> Result<Answer> {
    match undone {
        Undone::Done { items, undo } => {
            let text = format!(
                "undid {run}, as {undo}:\n{}{}To take that back: harness undo {undo}\n",
                list(&items),
                open_again(dept, &items)
            );
            Ok(Answer::new("harness.undo/1", data(run, Some(&undo), &items), text))
        }
        Undone::Shown(items) => {
            Err(CommandError::failed(format!("nothing of {run} can be undone:\n{}", list(&items).trim_end()))
                .code("nothing_to_undo"))
        }
        Undone::NothingKept => Err(nothing_kept(run)),
        Undone::NotHere(path) => Err(CommandError::failed(format!(
            "{}: its signature is not that of this organisation's key in this folder: it was moved or copied here since, \
             the key is another, or somebody changed the file",
            path.display()
        ))
        .code("not_here")
        .hint("what was moved is undone where it stood: move it back, undo, and move it again")
        .hint("with git, `git revert` takes the run's commit back")),
        Undone::Busy(dept) => {
            Err(CommandError::new(crate::error::Kind::Busy, format!("`{dept}` is at work"))
                .hint(format!("wait, or end it: `harness stop-loop {dept}`")))
        }
    }
}

/// What can't be undone first.
fn list(items: &[Item]) -> String {
    let stays = items.iter().filter(|item| matches!(item.verdict, Verdict::Stays(_)));
    let rest = items.iter().filter(|item| !matches!(item.verdict, Verdict::Stays(_)));
    stays.chain(rest).map(|item| format!("  {}\n", say(item))).collect()
}

fn data(run: &str, undo: Option<&str>, items: &[Item]) -> Value {
    let open: Vec<&str> = items.iter().filter_map(Item::opens).collect();
    let items: Vec<Value> = items
        .iter()
        .map(|item| {
            let (state, why) = match &item.verdict {
                Verdict::Back(_) => ("taken_back", None),
                Verdict::Retracted(_) => ("retracted", None),
                Verdict::Already => ("already", None),
                Verdict::Stays(why) => ("stays", Some(why)),
            };
            json!({"what": item.what, "state": state, "why": why})
        })
        .collect();
    json!({"run": run, "undo": undo, "dry_run": undo.is_none(), "items": items, "open_again": open})
}
