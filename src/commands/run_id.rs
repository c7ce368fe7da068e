//! A run by its id or the end of it, and the department it belongs to.

use super::app::Result;
use crate::domain::ledger::Line;
use crate::error::CommandError;
use crate::store::org::{Department, Org};
use std::collections::BTreeMap;

/// The one run that an id's end names, among all departments.
pub fn find_run(org: &Org, wanted: &str) -> Result<(Department, String)> {
    let mut found: BTreeMap<String, Department> = BTreeMap::new();
    for dept in org.departments()?.departments {
        let Some(department) = org.department(&dept)? else { continue };
        for line in department.ledger_whole()? {
            let run = match line {
                Line::Run(run) => run.run,
                Line::Step(step) => step.run,
            };
            if !wanted.is_empty() && run.ends_with(wanted) {
                found.insert(run, department.clone());
            }
        }
    }
    match found.len() {
        1 => found.into_iter().next().map(|(run, department)| (department, run)),
        0 => None,
        _ => {
            let names: Vec<&str> = found.keys().map(String::as_str).take(8).collect();
            return Err(CommandError::failed(format!("`{wanted}` fits several runs"))
                .hint(format!("give more of it: {}", names.join(", "))));
        }
    }
    .ok_or_else(|| {
        CommandError::failed(format!("there is no run `{wanted}`"))
            .code("no_run")
            .hint("`harness runs list` lists them")
    })
}
