//! Telling the human of work that nothing moves any more: once, in the department that touched it last.

use super::app::{App, Result};
use super::running::{Order, with_shop};
use crate::domain::event::Silent;
use crate::error::CommandError;
use crate::run::Effects;
use crate::run::cycle::Work;
use crate::run::stalled::Stalled;
use crate::store::org::Org;

/// Escalates what was not escalated before. What goes wrong is a warning: nobody's health depends on it.
pub fn escalate(app: &App<'_>, org: &Org, stalled: &[Stalled]) -> Vec<String> {
    // Reading is all that a run may do here.
    if app.inside_run() {
        return Vec::new();
    }
    let tried = stalled.iter().map(|one| (one, escalate_one(app, org, one)));
    tried
        .filter_map(|(one, tried)| Some(format!("{} could not be escalated: {}", one.id, tried.err()?.cause)))
        .collect()
}

fn escalate_one(app: &App<'_>, org: &Org, stalled: &Stalled) -> Result<()> {
    let name = format!("escalations/{}.md", stalled.escalation_id());
    let department = app.department(org, stalled.dept.as_str())?;
    if department.dir.stat(&name)?.is_some() {
        return Ok(());
    }
    let order = Order {
        dept: stalled.dept.as_str(),
        kind: "loop",
        work: Work::Loop { max_iterations: 1 },
        engines: Vec::new(),
        effects: Effects::CarriedOut,
    };
    with_shop(app, &order, &mut Silent, |shop, _| {
        shop.escalate_stalled(stalled).map_err(CommandError::failed)
    })
}
