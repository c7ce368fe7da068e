//! Whether what is on disk holds together: each check has passed, failed, or not run, and says which.

use super::revisions::{Revisions, revisions};
use crate::domain::audit::check_chain;
use crate::domain::budget::BudgetLine;
use crate::domain::ledger::Line;
use crate::domain::record::ledger_line;
use crate::domain::request::RequestKind;
use crate::domain::time::Time;
use crate::store::fault::{Fault, Result};
use crate::store::journal::{Journal, is_bad_entry};
use crate::store::key::Key;
use crate::store::org::{Department, Org};
use std::collections::BTreeSet;

/// The most faults of one check that are shown.
const FAULTS_SHOWN: usize = 20;

/// How a check went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Passed,
    Failed,
    NotRun,
}

impl Verdict {
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Passed => "passed",
            Verdict::Failed => "failed",
            Verdict::NotRun => "not run",
        }
    }
}

/// One check.
#[derive(Clone, Debug)]
pub struct Check {
    pub name: String,
    pub verdict: Verdict,
    pub what: String,
}

fn check(name: String, faults: Vec<String>, passed: String) -> Check {
    match faults.is_empty() {
        true => Check { name, verdict: Verdict::Passed, what: passed },
        false => Check { name, verdict: Verdict::Failed, what: faults.join("; ") },
    }
}

/// A check that could not be made is shown as such.
fn or_not_run(name: String, made: Result<Check>) -> Check {
    made.unwrap_or_else(|error| Check { name, verdict: Verdict::NotRun, what: error.to_string() })
}

/// Checks the organisation and every department of it.
pub fn verify(org: &Org, key: &Key) -> Result<Vec<Check>> {
    let mut checks = vec![
        or_not_run("audit chain".to_string(), audit(org)),
        or_not_run("budget".to_string(), budget(org)),
    ];
    for dept in org.departments()?.departments {
        let Some(department) = org.department(&dept)? else { continue };
        let named = |what: &str| format!("{dept}: {what}");
        checks.push(or_not_run(named("requests"), requests(&department, key, named("requests"))));
        checks
            .push(or_not_run(named("ledger and records"), ledger(&department, named("ledger and records"))));
        let name = named("journal");
        checks.push(or_not_run(name.clone(), journal(org, &department, key, name)));
        let name = named("revisions");
        checks.push(or_not_run(name.clone(), revised(org, &department, key, name)));
    }
    Ok(checks)
}

/// What steps changed is what they left; not run where a step isn't finished.
fn revised(org: &Org, department: &Department, key: &Key, name: String) -> Result<Check> {
    let (open, _) = Journal::of(org, department, key)?.entries()?;
    if !open.is_empty() {
        let what = format!(
            "{} of the journal isn't finished: `harness recover {}`",
            open[0].file(),
            department.dept
        );
        return Ok(Check { name, verdict: Verdict::NotRun, what });
    }
    let Revisions { letters, statuses, decisions, mut faults } = revisions(org, department)?;
    let count = faults.len();
    faults.truncate(FAULTS_SHOWN);
    if count > FAULTS_SHOWN {
        faults.push(format!("and {} more", count - FAULTS_SHOWN));
    }
    let passed = format!("{letters} letters, {statuses} receipts, {decisions} decisions");
    Ok(check(name, faults, passed))
}

fn audit(org: &Org) -> Result<Check> {
    let name = "audit chain".to_string();
    let Some(text) = org.own.read("audit.jsonl", u64::MAX - 1)? else {
        return Ok(Check { name, verdict: Verdict::Failed, what: "audit.jsonl is missing".to_string() });
    };
    let (faults, passed) = match check_chain(&text.text) {
        Ok(head) => (Vec::new(), format!("{} lines", head.seq)),
        Err((line, why)) => (vec![format!("audit.jsonl line {line}: {why}")], String::new()),
    };
    Ok(check(name, faults, passed))
}

/// The book can be read, and every run that cost something stands in it: one that was cut would let it be spent again.
fn budget(org: &Org) -> Result<Check> {
    let name = "budget".to_string();
    let lines = match org.budget_lines(Time::MIN_UTC) {
        Err(error) if matches!(error.fault, Fault::Format(_)) => {
            return Ok(check(name, vec![error.to_string()], String::new()));
        }
        lines => lines?,
    };
    let reserved: BTreeSet<&str> = lines.iter().filter_map(BudgetLine::run).collect();
    let (mut faults, mut runs) = (Vec::new(), BTreeSet::new());
    for dept in org.departments()?.departments {
        let Some(department) = org.department(&dept)? else { continue };
        for line in department.ledger_lines()?.1 {
            if let Line::Step(step) = line
                && step.counted_usd > 0.0
                && runs.insert(step.run.clone())
                && !reserved.contains(step.run.as_str())
            {
                faults.push(format!(
                    "budget.jsonl lacks {} of {dept}, which cost {}",
                    step.run, step.counted_usd
                ));
            }
        }
    }
    faults.truncate(FAULTS_SHOWN);
    Ok(check(name, faults, format!("{} lines, {} runs that cost something", lines.len(), runs.len())))
}

fn requests(department: &Department, key: &Key, name: String) -> Result<Check> {
    let (mut faults, mut count) = (Vec::new(), 0);
    for kind in RequestKind::ALL {
        let found = department.requests(kind, key)?;
        count += found.requests.len();
        faults.extend(found.refused.iter().map(|(file, why)| format!("{}/{file}: {why}", kind.folder())));
    }
    Ok(check(name, faults, format!("{count} signatures")))
}

/// Every line has its record with the same line in it, once; every record has its line.
fn ledger(department: &Department, name: String) -> Result<Check> {
    let (unread, lines) = department.ledger_lines()?;
    let records = department.records()?;
    let mut faults = Vec::new();
    if unread > 0 {
        faults.push(format!("{unread} lines of runs.jsonl can't be read"));
    }
    let mut seen = BTreeSet::new();
    for line in &lines {
        let record = match line {
            Line::Step(step) => &step.record,
            Line::Run(run) => &run.record,
        };
        if !seen.insert(record.clone()) {
            faults.push(format!("{record} stands in the ledger twice"));
            continue;
        }
        let text = records.read(record)?;
        let there =
            text.as_deref().and_then(ledger_line).and_then(|text| serde_json::from_str::<Line>(text).ok());
        match there {
            None => faults.push(format!("{record} is missing or holds no line")),
            Some(there) if there != *line => faults.push(format!("{record} and the ledger disagree")),
            Some(_) => {}
        }
    }
    let orphans = records.names()?.into_iter().filter(|name| !seen.contains(name));
    faults.extend(orphans.map(|name| format!("{name} has no line in the ledger")));
    faults.truncate(FAULTS_SHOWN);
    Ok(check(name, faults, format!("{} lines", lines.len())))
}

fn journal(org: &Org, department: &Department, key: &Key, name: String) -> Result<Check> {
    let journal = Journal::of(org, department, key)?;
    let (entries, strange) = journal.entries()?;
    let mut faults: Vec<String> = strange.into_iter().map(|file| format!("{file} is no entry")).collect();
    for entry in &entries {
        match journal.read::<serde_json::Value>(entry) {
            Err(error) if is_bad_entry(&error) => faults.push(format!("{}: {}", entry.file(), error.fault)),
            Err(error) => return Err(error),
            Ok(_) => {}
        }
    }
    let open = if entries.is_empty() {
        "nothing is open".to_string()
    } else {
        format!("{} entries wait", entries.len())
    };
    Ok(check(name, faults, open))
}
