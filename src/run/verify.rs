//! Whether what is on disk holds together: each check has passed, failed, or not run, and says which.

use super::revisions::{Revisions, revisions};
use crate::domain::audit::{Recorded, check_chain, check_head, parse_deed, torn_end};
use crate::domain::budget::BudgetLine;
use crate::domain::ledger::Line;
use crate::domain::record::ledger_line;
use crate::domain::request::{Request, RequestKind};
use crate::domain::time::{Time, is_future, render_rfc3339};
use crate::store::fault::{Fault, Result};
use crate::store::identity::Place;
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
    made.unwrap_or_else(|error| {
        // What can't be trusted has failed; only what could not be looked at has not run.
        let failed = !matches!(error.fault, Fault::Io(_));
        let verdict = if failed { Verdict::Failed } else { Verdict::NotRun };
        Check { name, verdict, what: error.to_string() }
    })
}

/// Checks the organisation and every department of it.
pub fn verify(org: &Org, key: &Key, now: Time) -> Result<Vec<Check>> {
    let mut checks = vec![
        organisation(org),
        or_not_run("permissions".to_string(), permissions(org)),
        or_not_run("audit chain".to_string(), audit(org, key, now)),
        or_not_run("audit end".to_string(), audit_end(org)),
        or_not_run("budget".to_string(), budget(org)),
    ];
    for dept in org.departments()?.departments {
        let Some(department) = org.department(&dept)? else { continue };
        let named = |what: &str| format!("{dept}: {what}");
        checks.push(or_not_run(named("requests"), requests(org, &department, key, named("requests"))));
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

/// Whether what is signed here is signed for this organisation.
fn organisation(org: &Org) -> Check {
    let (verdict, what) = match &org.place {
        Place::Here => (Verdict::Passed, format!("id {}", org.binding.org.as_deref().unwrap_or_default())),
        Place::MovedFrom(from) => {
            (Verdict::Passed, format!("moved from {from}; the next command that changes something notes it"))
        }
        Place::Unknown if org.binding.org.is_none() => (
            Verdict::NotRun,
            "it has no id yet; the next command that changes something gives it one".to_string(),
        ),
        Place::Unknown => (
            Verdict::NotRun,
            "nothing is written down of it beside your key; the next command that changes something does"
                .to_string(),
        ),
        Place::CopyOf(of) => {
            (Verdict::Failed, format!("it is a copy of {of}; what was signed there counts for nothing"))
        }
        Place::Bad(why) => (Verdict::Failed, why.clone()),
    };
    Check { name: "organisation".to_string(), verdict, what }
}

/// What everyone may write to is nobody's word.
fn permissions(org: &Org) -> Result<Check> {
    let mut open = org.open_to_all()?;
    for dept in org.departments()?.departments {
        if let Some(department) = org.department(&dept)? {
            open.extend(department.open_to_all()?);
        }
    }
    let mut faults: Vec<String> = open.iter().map(|path| format!("everyone may write to {path}")).collect();
    faults.truncate(FAULTS_SHOWN);
    Ok(check("permissions".to_string(), faults, "nothing that counts can be written by everyone".to_string()))
}

fn audit(org: &Org, key: &Key, now: Time) -> Result<Check> {
    let name = "audit chain".to_string();
    let Some(text) = org.audit_text()? else {
        return Ok(Check { name, verdict: Verdict::Failed, what: "audit.jsonl is missing".to_string() });
    };
    let sign = |open: &str| key.sign("audit", open.as_bytes());
    let (mut faults, passed) = match check_chain(&text, &sign) {
        Ok(head) if torn_end(&text).is_some() => {
            (Vec::new(), format!("{} lines; what a crash left of another goes with the next", head.seq))
        }
        Ok(head) => (Vec::new(), format!("{} lines", head.seq)),
        Err((line, why)) => (vec![format!("audit.jsonl line {line}: {why}")], String::new()),
    };
    let ahead = text
        .lines()
        .enumerate()
        .find(|(_, line)| parse_deed(line).is_some_and(|deed| is_future(deed.at, now)));
    faults
        .extend(ahead.map(|(index, _)| format!("audit.jsonl line {}: it is dated in the future", index + 1)));
    Ok(check(name, faults, passed))
}

/// The log has every line that is known, outside the root, to have been written.
fn audit_end(org: &Org) -> Result<Check> {
    let name = "audit end".to_string();
    let Some(known) = org.known()? else {
        let what = "no end of it is kept beside your key; it is from the next command on".to_string();
        return Ok(Check { name, verdict: Verdict::NotRun, what });
    };
    let text = org.audit_text()?.unwrap_or_default();
    let fault = check_head(&text, &known.head()).map(|why| {
        let kept = org.known_path().map(|path| path.display().to_string()).unwrap_or_default();
        format!("audit.jsonl: {why}. Where you put a backup back yourself, remove {kept}")
    });
    let passed = format!("{} of {} lines are kept beside your key", known.audit_seq, text.lines().count());
    Ok(check(name, fault.into_iter().collect(), passed))
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

fn requests(org: &Org, department: &Department, key: &Key, name: String) -> Result<Check> {
    let (mut faults, mut count) = (Vec::new(), 0);
    for kind in RequestKind::ALL {
        let folder = kind.folder();
        let found = department.requests(kind, key)?;
        count += found.requests.len();
        faults.extend(found.refused.iter().map(|(file, why)| format!("{folder}/{file}: {why}")));
        let dept = department.dept.as_str();
        let wanted: Vec<(&str, &str)> = found.requests.iter().map(|one| (one.id.as_str(), dept)).collect();
        for (request, recorded) in found.requests.iter().zip(org.recorded(&wanted)?) {
            faults
                .extend(put_back(request, &recorded).map(|why| format!("{folder}/{}.md {why}", request.id)));
        }
    }
    faults.truncate(FAULTS_SHOWN);
    Ok(check(name, faults, format!("{count} signatures")))
}

/// What is wrong with a file of which the audit log says otherwise.
fn put_back(request: &Request, recorded: &Recorded) -> Option<String> {
    let (status, at) = recorded.resolved?;
    if status != request.status {
        let since = render_rfc3339(at);
        return Some(format!("says {}, and the audit log has it as {status} since {since}", request.status));
    }
    let again = recorded.told && !request.is_told();
    again.then(|| "was put back: the audit log says that it was carried out and told".to_string())
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
