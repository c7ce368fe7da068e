//! `harness undo --since`: every run that ended since a moment is undone, the newest first.
//!
//! Each is undone by itself, as it would be by its id: when its turn comes, what later runs did on top of it is gone
//! already. Stopped in between, the same command goes on where it was.

use super::{UndoArgs, confirm, data, list, nothing_kept, order};
use crate::commands::app::{App, Result};
use crate::commands::running::{at_shop, unmade};
use crate::domain::ledger::Line;
use crate::domain::time::{Time, parse_rfc3339, parse_since};
use crate::domain::undo::{Item, Verdict};
use crate::error::{CommandError, Kind};
use crate::run::undo::Undone;
use crate::store::org::{Department, Org};
use crate::ui::Answer;
use serde_json::{Value, json};

/// A run that changed something.
struct Ran {
    at: Time,
    run: String,
    department: Department,
}

pub fn run(args: &UndoArgs, time: &str, app: &App<'_>) -> Result<Answer> {
    let org = app.org()?;
    let since = parse_since(time, app.ctx.now()).ok_or_else(|| {
        CommandError::new(Kind::Usage, format!("`{time}` is no time"))
            .hint("such as 8h or 2026-11-18T22:00:00Z")
    })?;
    let mut shown: Vec<(Ran, Vec<Item>)> = Vec::new();
    for ran in runs_since(args, app, &org, since)? {
        let dept = ran.department.dept.to_string();
        match at_shop(app, &order(&dept), |shop| shop.show_undo(&ran.run))? {
            Undone::Shown(items) => shown.push((ran, items)),
            Undone::NothingKept => {}
            other => return super::answer(&dept, &ran.run, other),
        }
    }
    // One that was undone before has nothing left that could go back; what stays now may go once newer runs are undone.
    let mut goes = false;
    shown.retain(|(_, items)| {
        let stays = items.iter().any(|item| matches!(item.verdict, Verdict::Stays(_)));
        let back = items.iter().any(|item| matches!(item.verdict, Verdict::Back(_)));
        goes |= back;
        back || (stays && goes)
    });
    if shown.is_empty() {
        return Err(CommandError::failed(format!(
            "no run since {time} changed anything that could be undone"
        ))
        .code("nothing_to_undo")
        .hint("`harness runs list` shows what ran"));
    }
    let told: String = shown
        .iter()
        .map(|(ran, items)| format!("{} of {}:\n{}", ran.run, ran.department.dept, list(items)))
        .collect();
    let note = "Each is judged as things are now; the newest goes first, so that more of the older ones may go back.\n";
    let count = if shown.len() == 1 { "1 run".to_string() } else { format!("{} runs", shown.len()) };
    if args.dry_run {
        let rows: Vec<Value> = shown.iter().map(|(ran, items)| data(&ran.run, None, items)).collect();
        let text = format!("would undo {count}:\n{told}{note}");
        return Ok(Answer::new("harness.undo-since/1", json!({"dry_run": true, "runs": rows}), text));
    }
    confirm(args, app, &count, &format!("{told}{note}"), &format!("undo --since {time}"))?;
    app.audit(&org, "undo", &format!("{count} since {time}"))?;
    carry_out(app, shown.into_iter().map(|(ran, _)| ran).collect())
}

/// The runs of the departments that are meant, newest first; an undo itself is none of them.
fn runs_since(args: &UndoArgs, app: &App<'_>, org: &Org, since: Time) -> Result<Vec<Ran>> {
    let mut departments = Vec::new();
    match args.dept.is_empty() {
        true => {
            for dept in org.departments()?.departments {
                departments.extend(org.department(&dept)?);
            }
        }
        false => {
            for name in &args.dept {
                departments.push(app.department(org, name)?);
            }
        }
    }
    let mut found: Vec<Ran> = Vec::new();
    for department in &departments {
        for line in department.ledger_since(since)? {
            let Line::Run(ended) = line else { continue };
            let Some(at) = parse_rfc3339(&ended.at).filter(|at| *at >= since) else { continue };
            if ended.kind != "undo" {
                found.push(Ran { at, run: ended.run, department: department.clone() });
            }
        }
    }
    // Within a second, what stands later in a ledger came later.
    found.reverse();
    found.sort_by_key(|ran| std::cmp::Reverse(ran.at));
    Ok(found)
}

fn carry_out(app: &App<'_>, runs: Vec<Ran>) -> Result<Answer> {
    let (mut text, mut rows, mut warnings) = (String::new(), Vec::new(), Vec::new());
    let mut open: Vec<String> = Vec::new();
    let mut departments: Vec<Department> = Vec::new();
    for Ran { run, department, .. } in runs {
        let dept = department.dept.to_string();
        match at_shop(app, &order(&dept), |shop| shop.undo(&run))? {
            Undone::Done { items, undo } => {
                text.push_str(&format!("undid {run} of {dept}, as {undo}:\n{}", list(&items)));
                open.extend(items.iter().filter_map(|item| Some(format!("{} of {dept}", item.opens()?))));
                rows.push(data(&run, Some(&undo), &items));
            }
            Undone::Shown(items) => {
                text.push_str(&format!("nothing of {run} of {dept} can be undone:\n{}", list(&items)));
                rows.push(data(&run, None, &items));
            }
            Undone::NothingKept => warnings.push(nothing_kept(&run).cause.to_string()),
            other => return super::answer(&dept, &run, other),
        }
        if !departments.iter().any(|known| known.dept == department.dept) {
            departments.push(department);
        }
    }
    for department in departments {
        let waits = department.unmade_commit()?.map(|unmade| unmade.why);
        warnings.extend(unmade(waits.as_deref()));
    }
    if !open.is_empty() {
        text.push_str(&format!(
            "Open again, for the next runs: {}\nTo keep them from running until you have changed something: \
             harness pause --all --why TEXT\n",
            open.join(", ")
        ));
    }
    text.push_str("To take one of these back: harness undo with its own id\n");
    Ok(Answer::new("harness.undo-since/1", json!({"dry_run": false, "runs": rows}), text).warnings(warnings))
}
