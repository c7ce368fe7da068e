//! The organisation at a glance: what needs the human, and how each department is.
//!
//! `status`, `report` and `top` show the same survey. It reads inboxes, pending requests and the ends of logs, never a
//! whole history, and changes nothing. What can't be read is a need of its own, and hides nothing else.

mod department;

use crate::domain::budget::{Book, Limit, Scope, Spend, Used, earliest, limits_for, limits_of};
use crate::domain::gate::Gate;
use crate::domain::id::Dept;
use crate::domain::ledger::{NO_ENGINE, RunLine};
use crate::domain::settings::Settings;
use crate::domain::stats::is_bad;
use crate::domain::time::{Time, parse_rfc3339, render_elapsed};
use crate::domain::wake::Wake;
use crate::run::service::prove::Client;
use crate::store::charters::Accepted;
use crate::store::fault::{Result, StoreError};
use crate::store::key::Key;
use crate::store::org::Org;
use std::path::Path;

/// Departments that one thread looks at; fewer are not worth a second.
const PER_THREAD: usize = 16;
const THREADS: usize = 8;
/// From which share of a limit the human is told.
const NEARLY: f64 = 0.8;
/// Runs in a row that ended badly, after which somebody should look.
const FAILING: usize = 3;

/// One thing that waits for a person.
#[derive(Clone, Debug)]
pub struct Need {
    /// Empty where it is the organisation's.
    pub dept: String,
    pub what: String,
    /// Since when, where that is known.
    pub since: Option<Time>,
    /// The one command that deals with it.
    pub command: String,
    /// The id of what waits, where it has one.
    pub id: Option<String>,
}

/// A run that is alive.
#[derive(Clone, Debug)]
pub struct LiveRun {
    pub run: String,
    pub kind: String,
    pub role: String,
    pub started: Option<Time>,
    pub pid: u32,
    /// The last line of its output, as it is in the log.
    pub last_line: String,
}

/// How much of a limit is used.
#[derive(Clone, Debug)]
pub struct Spent {
    pub limit: Limit,
    pub used: Used,
}

impl Spent {
    pub fn share(&self) -> f64 {
        let all = self.used.spent + self.used.reserved;
        if self.limit.most > 0.0 { all / self.limit.most } else { 1.0 }
    }
}

/// One department, as far as it could be read.
#[derive(Clone, Debug)]
pub struct DeptView {
    pub dept: Dept,
    pub open: usize,
    pub oldest: Option<Time>,
    pub quarantined: usize,
    pub accepted: bool,
    pub paused: bool,
    pub blocked: bool,
    /// Approvals, questions and escalations that wait for a word.
    pub waiting: usize,
    /// The last runs, newest first.
    pub last: Vec<RunLine>,
    pub live: Vec<LiveRun>,
    /// Open tasks that are to do, in progress and in review.
    pub board: [usize; 3],
    pub auto_loop: bool,
    pub interval_s: u64,
    /// Its own list of engines, where it has one.
    pub engine: Option<Vec<String>>,
    /// When it is looked at next, where it runs by itself.
    pub due: Option<Time>,
    pub spent: Vec<Spent>,
}

/// How a state is meant, for whoever colours it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    Good,
    Bad,
    /// It waits for the human.
    Waits,
    Busy,
    Plain,
}

impl DeptView {
    /// What it is at, in a word or two.
    pub fn state(&self, now: Time) -> (String, Tone) {
        if let Some(run) = self.live.first() {
            let since = run.started.map(|started| render_elapsed((now - started).num_seconds()));
            return (format!("running {}", since.unwrap_or_default()).trim_end().to_string(), Tone::Busy);
        }
        let failing = self.last.len() >= FAILING && self.last.iter().all(|run| is_bad(&run.outcome));
        let (word, tone) = match self {
            view if view.blocked => ("blocked", Tone::Bad),
            view if !view.accepted => ("not accepted", Tone::Bad),
            view if view.paused => ("paused", Tone::Plain),
            _ if failing => ("failing", Tone::Bad),
            view if view.waiting > 0 => ("waits for you", Tone::Waits),
            view if view.open > 0 => ("has mail", Tone::Plain),
            _ => ("idle", Tone::Good),
        };
        (word.to_string(), tone)
    }
}

/// Everything at a glance.
#[derive(Clone, Debug)]
pub struct Survey {
    pub gate: Gate,
    pub needs: Vec<Need>,
    pub departments: Vec<DeptView>,
    /// The organisation's limits.
    pub spent: Vec<Spent>,
    /// When something last looked whether anything is due.
    pub pulse: Option<Time>,
}

/// What a survey is made with.
pub struct Surveyor<'a> {
    pub org: &'a Org,
    /// Without it, nothing that waits can be told from a forgery, and none is shown.
    pub key: Option<Key>,
    pub now: Time,
    /// Where programs are looked for.
    pub path: &'a str,
}

/// What is in one file for all departments: read once.
struct Known {
    wake: Wake,
    accepted: Result<Accepted>,
}

impl Surveyor<'_> {
    /// Looks at some departments, or all.
    pub fn survey(&self, only: Option<&Dept>) -> Result<Survey> {
        let found = self.org.departments()?;
        let depts = match only {
            Some(dept) => vec![dept.clone()],
            None => found.departments,
        };
        let gate = self.org.gate(self.now);
        let mut needs = Vec::new();
        if !gate.is_open() {
            let what = format!("the gate is {}: {}", gate.words(), gate.reason);
            // One that is missing or can't be read is closed as of this look: since when, nobody knows.
            let since = parse_rfc3339(&gate.at).filter(|at| *at < self.now);
            needs.push(Need { since, ..organisation(what, "harness gate enable".to_string()) });
        }
        if let Err(error) = self.org.check_audit_end() {
            needs.push(organisation(error.to_string(), "harness verify".to_string()));
        }
        for (name, why) in found.passed_over {
            let command = format!("ls -ld {}", shell_word(&self.org.root.join(&name).display().to_string()));
            let since = self.written_at(Path::new(&name));
            let what = format!("{name} was passed over: {why}");
            needs.push(Need { since, ..organisation(what, command) });
        }
        let settings = self.org.settings();
        let (spent, by_dept) = self.budgets(settings.as_ref(), &depts, &mut needs);
        let mut departments = Vec::new();
        for (mut view, more) in self.look_at_all(&depts) {
            needs.extend(more);
            needs.extend(settings.as_ref().ok().and_then(|settings| self.no_engine(settings, &view)));
            view.spent = by_dept.iter().filter(|one| is_of(&one.limit, &view.dept)).cloned().collect();
            departments.push(view);
        }
        let pulse = self.org.last_pulse();
        Ok(Survey { gate, needs, departments, spent, pulse })
    }

    /// When a file was last written. A time that is still to come tells nothing.
    fn written_at(&self, path: &Path) -> Option<Time> {
        self.org.root.written_at(path).filter(|at| *at <= self.now)
    }

    /// Several side by side: most of the time goes into opening files.
    fn look_at_all(&self, depts: &[Dept]) -> Vec<(DeptView, Vec<Need>)> {
        let size = depts.len().div_ceil(THREADS).max(PER_THREAD);
        let known = Known { wake: self.org.wake(), accepted: self.org.accepted() };
        let look =
            |part: &[Dept]| -> Vec<_> { part.iter().filter_map(|dept| self.look(dept, &known)).collect() };
        if depts.len() <= size {
            return look(depts);
        }
        std::thread::scope(|scope| {
            let workers: Vec<_> = depts.chunks(size).map(|part| scope.spawn(|| look(part))).collect();
            // A panic in one of them is a bug, and is told as such by whoever called.
            workers.into_iter().flat_map(|worker| worker.join().unwrap_or_default()).collect()
        })
    }

    fn look(&self, dept: &Dept, known: &Known) -> Option<(DeptView, Vec<Need>)> {
        match self.org.department(dept) {
            Ok(Some(department)) => Some(department::look(self, &department, known)),
            Ok(None) => None,
            Err(error) => {
                let command = format!("ls -ld {}", shell_word(&error.path.display().to_string()));
                let since = self.written_at(&error.path);
                let need = Need { dept: dept.to_string(), since, ..organisation(error.to_string(), command) };
                Some((department::unseen(dept), vec![need]))
            }
        }
    }

    /// Mail that waits because none of the department's programs is there, and its playbook has no rule for it.
    fn no_engine(&self, settings: &Settings, view: &DeptView) -> Option<Need> {
        let list = view.engine.as_ref().unwrap_or(&settings.defaults.engine);
        let clients: Vec<Client> =
            list.iter().filter_map(|name| Client::of(name, settings.engines.get(name)?)).collect();
        let last =
            view.last.first().filter(|run| run.outcome == "refused" && run.reason.starts_with(NO_ENGINE));
        let asked_in_vain = clients.len() == list.len() || last.is_some();
        if view.open == 0 || !asked_in_vain || clients.is_empty() {
            return None;
        }
        if clients.iter().any(|client| client.find(self.path).is_some()) {
            return None;
        }
        let programs: Vec<String> = clients.iter().map(|client| format!("`{}`", client.program)).collect();
        let (verb, all) = if programs.len() == 1 { ("is", "") } else { ("are", "all ") };
        let what =
            format!("no engine can take its mail: {} {verb} {all}missing on PATH", programs.join(", "));
        let since = view.oldest.or(last.and_then(|run| parse_rfc3339(&run.at)));
        Some(Need { dept: view.dept.to_string(), since, ..organisation(what, "harness doctor".to_string()) })
    }

    /// What is used of the organisation's limits, and of each department's.
    fn budgets(
        &self,
        settings: std::result::Result<&Settings, &StoreError>,
        depts: &[Dept],
        needs: &mut Vec<Need>,
    ) -> (Vec<Spent>, Vec<Spent>) {
        let read = |settings: &Settings| -> Result<Book> {
            let probe = limits_for(&settings.budget, &Spend::default());
            let lines = self.org.budget_lines(earliest(&probe, self.now))?;
            Ok(Book::read(&lines))
        };
        let unread = |error: &StoreError| {
            let since = self.written_at(&error.path);
            Need { since, ..organisation(error.to_string(), "harness budget".to_string()) }
        };
        let read = settings
            .map_err(unread)
            .and_then(|settings| Ok((settings, read(settings).map_err(|error| unread(&error))?)));
        let (settings, book) = match read {
            Ok(read) => read,
            Err(need) => {
                needs.push(need);
                return Default::default();
            }
        };
        let used = |limit: Limit| Spent { used: book.used(&limit, "", self.now), limit };
        let timed = |limit: &Limit| limit.span.bounds(self.now).is_some();
        let limits = limits_of(Scope::Organisation, &settings.budget.organisation);
        let whole: Vec<Spent> = limits.into_iter().filter(timed).map(used).collect();
        let scopes = depts.iter().map(|dept| Scope::Department(dept.to_string()));
        let limits = scopes.flat_map(|scope| limits_of(scope, &settings.budget.department));
        let each: Vec<Spent> = limits.filter(timed).map(used).collect();
        for spent in whole.iter().chain(&each).filter(|spent| spent.share() >= NEARLY) {
            let percent = (spent.share() * 100.0).floor();
            let what = format!("{percent:.0}% of {} of the {} is used", spent.limit.key(), spent.limit.scope);
            let since = book.reached(&spent.limit, NEARLY, self.now);
            needs.push(Need { since, ..organisation(what, "harness budget".to_string()) });
        }
        (whole, each)
    }
}

fn is_of(limit: &Limit, dept: &Dept) -> bool {
    matches!(&limit.scope, Scope::Department(name) if name == dept.as_str())
}

fn organisation(what: String, command: String) -> Need {
    Need { dept: String::new(), what, since: None, command, id: None }
}

/// A path as a shell takes it.
pub fn shell_word(path: &str) -> String {
    let plain = path.chars().all(|c| c.is_alphanumeric() || "/._-+".contains(c));
    if plain { path.to_string() } else { format!("'{}'", path.replace('\'', "'\\''")) }
}
