//! What must hold of every department's own books when all is quiet, whatever happened before.
//!
//! Nothing is under way: no journal entry, no `active.json`, nothing set aside, no temporary file. Every line of the
//! ledger stands there once and in its record, every record has its line, every run has one end, and every worker step
//! is in the worker's log once.

use super::tree::Tree;
use serde_json::Value;
use std::collections::BTreeMap;

/// Everything that is wrong with an organisation's books.
pub fn faults(tree: &Tree) -> Vec<String> {
    let mut faults = left_behind(tree);
    faults.extend(budget_faults(tree));
    for dept in departments(tree) {
        let books = Books::of(tree, &dept);
        faults.extend(books.ledger_faults().into_iter().map(|fault| format!("{dept}: {fault}")));
        faults.extend(books.record_faults().into_iter().map(|fault| format!("{dept}: {fault}")));
    }
    faults
}

pub fn departments(tree: &Tree) -> Vec<String> {
    let names = tree.0.keys().filter(|path| !path.contains('/'));
    names.filter_map(|path| path.strip_prefix("org-")).map(str::to_owned).collect()
}

/// The one file that belongs in quarantine, and its reason.
pub const BAD_MAIL: &str = "bad.md";

fn is_bad_mail(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    name == BAD_MAIL || name == format!("{BAD_MAIL}.reason")
}

fn left_behind(tree: &Tree) -> Vec<String> {
    let is_left = |path: &&String| {
        path.contains("/.tmp.")
            || path.contains(".harness/journal/")
            || (path.contains(".harness/quarantine/") && !is_bad_mail(path))
            || path.ends_with(".harness/active.json")
            || path.ends_with(".harness/blocked.json")
    };
    tree.0.keys().filter(is_left).map(|path| format!("left behind: {path}")).collect()
}

/// Every line of the budget's book can be read, and every call in it is settled.
fn budget_faults(tree: &Tree) -> Vec<String> {
    let text = tree.text(".harness/budget.jsonl").unwrap_or_default();
    let (mut faults, mut open) = (Vec::new(), BTreeMap::new());
    for line in text.lines() {
        let Ok(value) = serde_json::from_str::<Value>(line) else {
            faults.push(format!("budget.jsonl has a torn line: {line}"));
            continue;
        };
        let id = value["id"].to_string();
        match value["line"].as_str() {
            Some("reserve") => drop(open.insert(id, ())),
            Some("settle") => drop(open.remove(&id)),
            _ => {}
        }
    }
    faults.extend(open.into_keys().map(|id| format!("{id} is reserved and never settled")));
    faults
}

/// One department's ledger, records and log.
pub struct Books {
    pub lines: Vec<Value>,
    torn: Vec<String>,
    records: BTreeMap<String, String>,
    worker_log: String,
}

impl Books {
    pub fn of(tree: &Tree, dept: &str) -> Books {
        let own = format!("org-{dept}/.harness");
        let ledger = tree.text(&format!("{own}/runs.jsonl")).unwrap_or_default();
        let (mut lines, mut torn) = (Vec::new(), Vec::new());
        for line in ledger.split_inclusive('\n') {
            match serde_json::from_str(line) {
                Ok(value) if line.ends_with('\n') => lines.push(value),
                _ => torn.push(line.to_owned()),
            }
        }
        let folder = format!("{own}/director-runs");
        let names = tree.names_in(&folder).into_iter();
        let records = names.map(|name| (name.to_owned(), tree.text(&format!("{folder}/{name}")).unwrap()));
        let worker_log = tree.text(&format!("{own}/worker-log.md")).unwrap_or_default();
        Books { lines, torn, records: records.collect(), worker_log }
    }

    pub fn steps(&self) -> impl Iterator<Item = &Value> {
        self.lines.iter().filter(|line| line["line"] == "step")
    }

    pub fn ends(&self, run: &str) -> Vec<&Value> {
        self.lines.iter().filter(|line| line["line"] == "run" && line["run"] == run).collect()
    }

    fn ledger_faults(&self) -> Vec<String> {
        let mut faults: Vec<String> = self.torn.iter().map(|line| format!("torn line: {line}")).collect();
        let mut seen = BTreeMap::new();
        for line in &self.lines {
            *seen.entry((line["run"].to_string(), line["step"].to_string())).or_insert(0) += 1;
        }
        for ((run, step), count) in seen {
            if count > 1 {
                faults.push(format!("{run} step {step} stands in the ledger {count} times"));
            }
            let ends = self.ends(run.trim_matches('"')).len();
            if ends != 1 {
                faults.push(format!("{run} has {ends} ends"));
            }
        }
        for step in self.steps().filter(|step| step["role"] == "worker" && step["outcome"] == "ok") {
            let mark = format!("{}/{} (", step["run"].as_str().unwrap(), step["step"]);
            let count = self.worker_log.lines().filter(|line| line.contains(&mark)).count();
            if count != 1 {
                faults.push(format!("{mark} stands in the worker's log {count} times"));
            }
        }
        faults
    }

    fn record_faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        for line in &self.lines {
            let name = line["record"].as_str().unwrap_or_default();
            let record = self.records.get(name).map(String::as_str).unwrap_or_default();
            if !record.lines().any(|text| serde_json::from_str::<Value>(text).is_ok_and(|json| json == *line))
            {
                faults.push(format!("the record {name} doesn't hold its ledger line"));
            }
        }
        let without =
            self.records.keys().filter(|name| !self.lines.iter().any(|line| line["record"] == **name));
        faults.extend(without.map(|name| format!("the record {name} has no ledger line")));
        faults
    }
}
