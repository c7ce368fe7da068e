//! Gathers what the report page is made from: a survey, statistics, and what was last.

use super::survey::{DeptView, Need, Survey, Surveyor, Tone};
use crate::domain::directive::{DirectiveStatus, RECEIVER};
use crate::domain::ledger::Line;
use crate::domain::report::{DeptFacts, DirectiveFacts, Facts, NeedFacts, TaskFacts};
use crate::domain::stats::Stats;
use crate::domain::task::Task;
use crate::domain::time::{Time, parse_rfc3339, parse_ts};
use crate::store::fault::Result;
use crate::store::org::{Department, Org};
use std::collections::BTreeMap;

/// Decisions, refusals and older runs that are looked back for in each department.
const LATEST: usize = 12;

/// What is said about the page itself.
pub struct About {
    pub since: Time,
    pub command: String,
    /// The organisation it is about.
    pub root: String,
    pub version: String,
}

/// Everything the page says. A department whose numbers can't be read is a need, and hides no other.
pub fn gather(surveyor: &Surveyor<'_>, about: About) -> Result<Facts> {
    let mut survey = surveyor.survey(None)?;
    let mut departments = Vec::new();
    for view in std::mem::take(&mut survey.departments) {
        let Ok(Some(department)) = surveyor.org.department(&view.dept) else { continue };
        match gather_one(&view, &department, about.since, surveyor.now) {
            Ok(facts) => departments.push(facts),
            Err(error) => {
                let what = format!("its ledger is not in this page: {error}");
                let command = "harness verify".to_string();
                survey.needs.push(Need { dept: view.dept.to_string(), what, since: None, command, id: None });
            }
        }
    }
    let directives = directives(surveyor.org, &mut survey.needs);
    Ok(Facts {
        now: surveyor.now,
        since: about.since,
        command: about.command,
        version: about.version,
        root: about.root,
        gate: survey.gate.words().to_string(),
        cap_usd: cap(&survey),
        needs: survey.needs.iter().map(to_need).collect(),
        from_user: from_user(surveyor.org, about.since)?,
        directives,
        departments,
    })
}

fn to_task(task: Task) -> TaskFacts {
    TaskFacts {
        status: task.status.name(),
        priority: task.priority.name(),
        id: task.id,
        title: task.title,
        owner: task.owner,
        due: task.due,
        created: task.created,
    }
}

/// The directives there are. A log or a file that can't be read is a need, not the end of the page.
fn directives(org: &Org, needs: &mut Vec<Need>) -> Vec<DirectiveFacts> {
    let read = || -> Result<Vec<DirectiveFacts>> {
        let portfolio = org.portfolio()?;
        let spent = org.spent(&portfolio)?;
        let facts = portfolio.directives.iter().map(|one| {
            let ended = matches!(one.status, DirectiveStatus::Completed | DirectiveStatus::Cancelled);
            let moved = one.status_why().and_then(|(at, _)| parse_rfc3339(at));
            let projects =
                portfolio.projects.iter().filter(|project| project.directive.as_deref() == Some(&one.id));
            DirectiveFacts {
                id: one.id.clone(),
                title: one.title.clone(),
                status: one.status.name().to_string(),
                priority: one.priority.to_string(),
                deadline: one.deadline.clone(),
                from: one.created,
                to: moved.filter(|_| ended),
                usd: spent.get(&one.id).copied().unwrap_or(0.0),
                projects: projects.count(),
            }
        });
        Ok(facts.collect())
    };
    read().unwrap_or_else(|error| {
        let command = "harness directive list".to_string();
        needs.push(Need { dept: String::new(), what: error.to_string(), since: None, command, id: None });
        Vec::new()
    })
}

fn to_need(need: &Need) -> NeedFacts {
    let class = if need.id.is_some() { "wait" } else { "bad" };
    let (dept, what) = (need.dept.clone(), need.what.clone());
    NeedFacts { dept, what, command: need.command.clone(), since: need.since, class }
}

fn cap(survey: &Survey) -> Option<f64> {
    survey.spent.iter().find(|spent| spent.limit.key() == "usd_per_day").map(|spent| spent.limit.most)
}

fn class_of(tone: Tone) -> &'static str {
    match tone {
        Tone::Good => "good",
        Tone::Bad => "bad",
        Tone::Waits => "wait",
        Tone::Busy => "busy",
        Tone::Plain => "off",
    }
}

fn gather_one(view: &DeptView, department: &Department, since: Time, now: Time) -> Result<DeptFacts> {
    let mut stats = Stats::default();
    department.count_ledger(since, &mut |line| stats.take(line, since))?;
    let (word, tone) = view.state(now);
    let fullest = view.spent.iter().max_by(|a, b| a.share().total_cmp(&b.share()));
    let mut facts = DeptFacts {
        name: view.dept.to_string(),
        stats,
        state: (word, class_of(tone)),
        open: view.open,
        budget: fullest.map(|spent| (spent.used.spent + spent.used.reserved, spent.limit.most)),
        ..DeptFacts::default()
    };
    facts.tasks = department.open_tasks()?.0.into_iter().map(to_task).collect();
    let lines = department.ledger_since(now - chrono::TimeDelta::days(1))?;
    // The ledger's end reaches further back where the day was quiet.
    let tail = department.ledger_tail(LATEST, LATEST)?;
    take_latest(&mut facts, if lines.len() > tail.len() { &lines } else { &tail });
    Ok(facts)
}

/// Runs, decisions and refusals, newest first.
fn take_latest(facts: &mut DeptFacts, lines: &[Line]) {
    let mut decided: BTreeMap<&str, String> = BTreeMap::new();
    for line in lines {
        match line {
            Line::Run(run) => {
                facts.runs.push((run.clone(), decided.remove(run.run.as_str()).unwrap_or_default()));
            }
            Line::Step(step) => {
                if let Some(decision) = &step.decision {
                    let item = step.item.as_deref().map(|item| format!(" {item}")).unwrap_or_default();
                    decided.insert(&step.run, format!("{decision}{item}"));
                }
                let told = step.history.iter().filter_map(|(_, text)| text.split_once(" decided: "));
                let told = told.filter_map(|(ts, title)| Some((parse_ts(ts)?, title.to_string())));
                facts.decisions.extend(told);
                if let Some(at) = parse_rfc3339(&step.at) {
                    let refused = step.refusals.iter().chain(&step.first_refusals);
                    facts.refusals.extend(refused.map(|one| (at, one.code.clone(), one.message.clone())));
                }
            }
        }
    }
    facts.runs.reverse();
    facts.decisions.reverse();
    facts.refusals.reverse();
}

/// How many messages the human sent to each department, from the audit log. A directive is one too.
fn from_user(org: &Org, since: Time) -> Result<BTreeMap<String, u64>> {
    let mut sent = BTreeMap::new();
    org.fold_audit(&mut |at, command, what| {
        if at < since {
            return;
        }
        if command == "directive add" {
            *sent.entry(RECEIVER.to_string()).or_default() += 1;
        }
        let from_user = command == "send" && what.contains(" from user to ");
        let Some((_, to)) = what.rsplit_once(" to ").filter(|_| from_user) else { return };
        to.split(", ").for_each(|dept| *sent.entry(dept.to_string()).or_default() += 1);
    })?;
    Ok(sent)
}
