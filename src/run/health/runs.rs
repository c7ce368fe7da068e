//! Runs that died without anybody having put that right, plans that wait for it, and commits that could not be made.

use super::{Ward, judged};
use crate::run::stop::led_runs;
use crate::run::verify::Check;

/// A run whose process is gone and that nobody recovered. How long a run takes proves nothing.
pub fn stale(wards: &[Ward]) -> Check {
    let (mut faults, mut alive) = (Vec::new(), 0);
    for ward in wards {
        let dept = &ward.department.dept;
        match led_runs(&ward.department) {
            Err(error) => faults.push(error.to_string()),
            Ok(led) => {
                let (living, dead): (Vec<_>, Vec<_>) =
                    led.into_iter().partition(|led| led.process.is_alive());
                alive += living.len();
                faults
                    .extend(dead.iter().map(|led| {
                        format!("{dept}: {} died; `harness recover {dept}` finishes it", led.run)
                    }));
            }
        }
    }
    judged("stale runs", faults, format!("{alive} runs, all alive"))
}

/// Entries of a journal that no living run works on.
pub fn journals(wards: &[Ward]) -> Check {
    let mut faults = Vec::new();
    for ward in wards.iter().filter(|ward| !ward.runs) {
        let dept = &ward.department.dept;
        let listed = ward
            .department
            .dir
            .find(".harness/journal")
            .and_then(|dir| dir.map(|dir| dir.list()).transpose());
        match listed {
            Ok(None) => {}
            Ok(Some(entries)) if entries.is_empty() => {}
            Ok(Some(entries)) => faults.push(format!(
                "{dept}: {} entries wait; `harness recover {dept}` finishes them",
                entries.len()
            )),
            Err(error) => faults.push(error.to_string()),
        }
    }
    judged("unfinished journals", faults, "nothing is half done")
}

/// What runs wrote and could not be committed. It stays until somebody puts that right.
pub fn commits(wards: &[Ward]) -> Check {
    let mut faults = Vec::new();
    for ward in wards {
        let dept = &ward.department.dept;
        match ward.department.unmade_commit() {
            Ok(None) => {}
            Ok(Some(unmade)) => faults.push(format!(
                "{dept}: not committed since {}: {}; put that right, then `harness commit {dept}`",
                unmade.since, unmade.why
            )),
            Err(error) => faults.push(error.to_string()),
        }
    }
    judged("commits", faults, "none waits")
}
