//! A piece of the user's crontab between two marks, a line for each department.
//!
//! Escaping: words stand in single quotes for the shell. Cron itself turns a percent sign into a line end, whatever the
//! quotes, unless a backslash is before it; and it counts backslashes, so that one of the path's own directly before a
//! percent sign would take that one's place. There the quotes are closed and opened again in between.

use super::{CRON_PULSE_SECONDS, NICE, Surroundings, Target, UnitFault, UnitFile, log_path, organisation_id};
use crate::domain::id::Dept;

/// The longest command that the common crons take; what is longer is cut off and run nevertheless.
pub const CRON_LINE_MAX: usize = 990;

pub fn render(surroundings: &Surroundings, depts: &[Dept]) -> Result<UnitFile, UnitFault> {
    let (begin, end) = marks(&surroundings.root);
    let mut text = format!("{begin}\n# A pulse every {CRON_PULSE_SECONDS} s: cron knows no shorter time.\n");
    for dept in depts {
        let line = line(surroundings, dept);
        if line.len() > CRON_LINE_MAX {
            return Err(UnitFault::CronLineTooLong { dept: dept.to_string(), bytes: line.len() });
        }
        text.push_str(&format!("{line}\n"));
    }
    text.push_str(&format!("{end}\n"));
    Ok(UnitFile { name: String::new(), text })
}

fn line(surroundings: &Surroundings, dept: &Dept) -> String {
    let Surroundings { program, root, .. } = surroundings;
    let environment: String = surroundings
        .variables(Target::Cron)
        .iter()
        .map(|(name, value)| format!("{name}={} ", word(value)))
        .collect();
    let (program, root, log) = (word(program), word(root), word(&log_path(root, dept)));
    format!(
        "* * * * * cd {root} && env {environment}nice -n {NICE} {program} --root {root} tick {dept} >>{log} 2>&1"
    )
}

fn word(value: &str) -> String {
    let is_plain = value.chars().all(|c| c.is_ascii_alphanumeric() || "/._-+,@:".contains(c));
    if is_plain {
        return value.to_string();
    }
    let mut text = "'".to_string();
    for c in value.chars() {
        match c {
            '\'' => text.push_str("'\\''"),
            '%' if text.ends_with('\\') => text.push_str("''\\%"),
            '%' => text.push_str("\\%"),
            other => text.push(other),
        }
    }
    text + "'"
}

fn marks(root: &str) -> (String, String) {
    let id = organisation_id(root);
    (format!("# harness {id} begins; `harness service uninstall` removes it"), format!("# harness {id} ends"))
}

/// The lines of this organisation in a crontab; none where it has none.
pub fn block_of(crontab: &str, root: &str) -> Option<String> {
    let (begin, end) = marks(root);
    let mut block = String::new();
    for line in crontab.lines().skip_while(|line| *line != begin) {
        block.push_str(&format!("{line}\n"));
        if line == end {
            return Some(block);
        }
    }
    None
}

/// A crontab without the lines of this organisation. Everything else stays as it is; a piece that never ends is not
/// ours to judge, and stays too.
pub fn without_block(crontab: &str, root: &str) -> String {
    match block_of(crontab, root) {
        Some(block) => crontab.replacen(&block, "", 1),
        None => crontab.to_string(),
    }
}
