//! cron: a piece of the user's crontab, put in and taken out with everything else left as it is.

use super::{Asked, Host, Placed, Result, Service, UnitState, check, failed};
use crate::domain::id::Dept;
use crate::domain::service_unit::{block_of, without_block};
use crate::run::verify::{Check, Verdict};

/// The crontab as it is. One that can't be read is never written: it would be lost.
fn read(host: &Host<'_>) -> Result<String> {
    match host.ask("crontab", &["-l"], "") {
        Asked::NotThere => Err(failed(
            "there is no `crontab` here",
            "install cron, or choose `--target systemd` or `--target launchd`",
        )),
        Asked::Told(told) if told.is_ok() => Ok(told.stdout),
        // There is no code for having none. Where it is said in other words, nothing is done.
        Asked::Told(told) if told.stderr.to_lowercase().contains("no crontab for") => Ok(String::new()),
        Asked::Told(told) => Err(failed(
            format!("the crontab can't be read: {}", told.complaint()),
            "try it by hand: `crontab -l`",
        )),
    }
}

fn write(host: &Host<'_>, crontab: &str) -> Result<()> {
    let written = match crontab.trim().is_empty() {
        true => host.must("crontab", &["-r"], ""),
        false => host.must("crontab", &["-"], crontab),
    };
    written.map(|_| ())
}

pub fn install(host: &Host<'_>, service: &Service) -> Result<Vec<Check>> {
    let root = &service.surroundings.root;
    let block: String = service.units.iter().map(|unit| unit.text.as_str()).collect();
    let mut crontab = without_block(&read(host)?, root);
    if !crontab.is_empty() && !crontab.ends_with('\n') {
        crontab.push('\n');
    }
    crontab.push_str(&block);
    write(host, &crontab)?;
    if block_of(&read(host)?, root).as_deref() != Some(block.as_str()) {
        return Err(failed(
            "the crontab was written and does not hold the lines",
            "look at it: `crontab -l`",
        ));
    }
    let lines = service.depts.len();
    Ok(vec![
        check("placed", Verdict::Passed, format!("{lines} lines in the crontab")),
        check("verified", Verdict::Passed, "crontab -l shows them"),
        check(
            "started",
            Verdict::NotRun,
            "whether cron runs is not for crontab to say; `harness service status` shows pulses",
        ),
    ])
}

pub fn uninstall(host: &Host<'_>, root: &str) -> Result<Vec<String>> {
    let before = read(host)?;
    let Some(block) = block_of(&before, root) else { return Ok(Vec::new()) };
    write(host, &without_block(&before, root))?;
    if block_of(&read(host)?, root).is_some() {
        return Err(failed("the crontab still holds the lines", "look at it: `crontab -l`"));
    }
    Ok(vec![format!("{} lines of the crontab", block.lines().count())])
}

pub fn departments(host: &Host<'_>, root: &str) -> Result<Vec<Dept>> {
    let block = block_of(&read(host)?, root).unwrap_or_default();
    Ok(block.lines().filter_map(department).collect())
}

/// The department of a line: the word after `tick`.
fn department(line: &str) -> Option<Dept> {
    let (_, after) = line.rsplit_once(" tick ")?;
    Dept::parse(after.split(' ').next()?).ok()
}

pub fn states(host: &Host<'_>, service: &Service) -> Result<Vec<UnitState>> {
    let block = block_of(&read(host)?, &service.surroundings.root).unwrap_or_default();
    let wanted: String = service.units.iter().map(|unit| unit.text.as_str()).collect();
    let state = |dept: &Dept| {
        let line = |text: &str| {
            text.lines().find(|line| department(line).as_ref() == Some(dept)).map(str::to_string)
        };
        let installed = match line(&block) {
            None => Placed::No,
            there if there == line(&wanted) => Placed::Yes,
            Some(_) => Placed::Differs,
        };
        let running = if installed == Placed::No { "stopped" } else { "not known" };
        let detail = if installed == Placed::No { "" } else { "cron does not tell; the last pulse does" };
        UnitState { dept: dept.clone(), installed, running: running.to_string(), detail: detail.to_string() }
    };
    Ok(service.depts.iter().map(state).collect())
}
