//! One department: its mail, what waits in it, how its last runs ended, and what runs now.

use super::{DeptView, FAILING, Known, LiveRun, Need, Surveyor, shell_word};
use crate::domain::id::{Dept, made_at};
use crate::domain::request::{Request, RequestKind, RequestStatus, headline};
use crate::domain::stats::is_bad;
use crate::domain::task::TaskStatus;
use crate::domain::text::one_line;
use crate::domain::time::{Time, parse_rfc3339};
use crate::domain::wake::Wake;
use crate::domain::wake::check::due_at;
use crate::run::stop::led_runs;
use crate::store::charters::Standing;
use crate::store::fault::StoreError;
use crate::store::journal::{EntryKind, Journal};
use crate::store::org::Department;
use std::path::Path;

/// How many files of an inbox are read; the rest is counted.
const MAIL_READ: usize = 512;
/// How many files that are no messages are named; the rest is counted.
const UNREADABLE_SHOWN: usize = 5;

/// A department that can't be opened.
pub fn unseen(dept: &Dept) -> DeptView {
    DeptView {
        dept: dept.clone(),
        open: 0,
        oldest: None,
        quarantined: 0,
        accepted: false,
        paused: false,
        blocked: false,
        waiting: 0,
        last: Vec::new(),
        live: Vec::new(),
        board: [0; 3],
        auto_loop: false,
        interval_s: 0,
        engine: None,
        due: None,
        spent: Vec::new(),
    }
}

struct Look<'a> {
    surveyor: &'a Surveyor<'a>,
    department: &'a Department,
    view: DeptView,
    needs: Vec<Need>,
}

pub fn look(surveyor: &Surveyor<'_>, department: &Department, known: &Known) -> (DeptView, Vec<Need>) {
    let view = unseen(&department.dept);
    let mut look = Look { surveyor, department, view, needs: Vec::new() };
    look.mail();
    look.standing(known);
    look.holds();
    look.plans();
    look.requests();
    look.quarantine();
    look.board();
    look.runs();
    look.config(&known.wake);
    look.commits();
    (look.view, look.needs)
}

impl Look<'_> {
    fn need(&mut self, what: String, command: String) -> &mut Need {
        let dept = self.department.dept.to_string();
        self.needs.push(Need { dept, what, since: None, command, id: None });
        let last = self.needs.len() - 1;
        &mut self.needs[last]
    }

    /// What is wrong with a file, since it was written.
    fn need_of(&mut self, path: &Path, what: String, command: String) {
        self.need(what, command).since = self.surveyor.written_at(path);
    }

    /// What can't be read.
    fn unread(&mut self, error: &StoreError, command: String) {
        self.need_of(&error.path, error.to_string(), command);
    }

    /// When a file of the department was last written.
    fn written_at(&self, name: &str) -> Option<Time> {
        self.surveyor.written_at(&self.department.dir.join(name))
    }

    fn mail(&mut self) {
        let dept = self.department.dept.clone();
        match self.department.inbox_oldest(MAIL_READ) {
            Ok(mail) => {
                self.view.open = mail.messages.len() + mail.beyond;
                self.view.oldest = mail.messages.first().map(|first| first.message.created);
                for file in mail.unreadable.iter().take(UNREADABLE_SHOWN) {
                    let what = format!("inbox/{} is not a message: {}", file.file, file.why);
                    let path = self.department.dir.join("inbox").join(&file.file);
                    self.need_of(&path, what, format!("harness inbox {dept}"));
                }
                let more = mail.unreadable.len().saturating_sub(UNREADABLE_SHOWN);
                if more > 0 {
                    self.need(
                        format!("{more} more files in inbox/ are no messages"),
                        format!("harness inbox {dept}"),
                    );
                }
            }
            Err(error) => self.unread(&error, format!("harness inbox {dept}")),
        }
    }

    fn standing(&mut self, known: &Known) {
        let dept = self.department.dept.clone();
        let accept = format!("harness charter accept {dept}");
        let unread = |error: &StoreError| (error.to_string(), self.surveyor.written_at(&error.path));
        let standing = match &known.accepted {
            Ok(accepted) => accepted.standing(self.department).map_err(|error| unread(&error)),
            Err(error) => Err(unread(error)),
        };
        match (self.department.charter(), standing) {
            (Err(error), _) => {
                let what = format!("{error}; everything is refused");
                self.need_of(&error.path, what, format!("harness charter check {dept}"));
            }
            (Ok(_), Ok(Standing::Accepted)) => self.view.accepted = true,
            (Ok(_), Ok(standing)) => {
                let changed = match standing {
                    Standing::Changed(files) => files,
                    _ => vec!["charter.toml".to_string()],
                };
                let since = changed.iter().filter_map(|file| self.written_at(file)).min();
                self.need("its charter, playbook or prompts are not accepted".to_string(), accept).since =
                    since;
            }
            (Ok(_), Err((what, since))) => self.need(what, accept).since = since,
        }
        for path in self.department.open_to_all().unwrap_or_default() {
            let path = shell_word(&self.surveyor.org.root.join(&path).display().to_string());
            self.need(format!("everyone may write to {path}, so it is refused"), format!("chmod o-w {path}"));
        }
    }

    /// A plan that is made and not carried out: it waits until the gate opens.
    fn plans(&mut self) {
        let Some(key) = &self.surveyor.key else { return };
        let open = Journal::of(self.surveyor.org, self.department, key).and_then(|journal| journal.entries());
        let plans = open.map(|(entries, _)| entries).unwrap_or_default();
        let plans: Vec<_> = plans.iter().filter(|entry| entry.kind == EntryKind::Plan).collect();
        let count = plans.len();
        if count > 0 && !self.surveyor.org.gate(self.surveyor.now).is_open() {
            let what = if count == 1 { "a plan waits".to_string() } else { format!("{count} plans wait") };
            let since = plans.iter().filter_map(|plan| made_at(&plan.run)).min();
            self.need(format!("{what} for the gate to open"), "harness gate enable".to_string()).since =
                since;
        }
    }

    /// Why the department does not run.
    fn holds(&mut self) {
        let dept = self.department.dept.clone();
        if let Ok(Some(blocked)) = self.department.blocked() {
            self.view.blocked = true;
            let what = format!("blocked: {}", blocked.reason);
            self.need(what, format!("harness recover {dept} --unblock")).since = parse_rfc3339(&blocked.at);
        }
        if let Ok(Some(paused)) = self.department.paused() {
            self.view.paused = true;
            let what = format!("paused by {}: {}", paused.by, paused.reason);
            self.need(what, format!("harness resume {dept}")).since = parse_rfc3339(&paused.at);
        }
    }

    /// What waits for a word of the human.
    fn requests(&mut self) {
        let Some(key) = &self.surveyor.key else { return };
        for kind in RequestKind::ALL {
            let Ok(found) = self.department.requests(kind, key) else { continue };
            for (file, why) in found.refused {
                let what = format!("{}/{file} counts for nothing: {why}", kind.folder());
                let path = self.department.dir.join(kind.folder()).join(&file);
                self.need_of(&path, what, "harness verify".to_string());
            }
            let pending = found.requests.iter().filter(|request| request.status == RequestStatus::Pending);
            let pending: Vec<&Request> = pending.collect();
            let dept = self.department.dept.as_str();
            let wanted: Vec<(&str, &str)> = pending.iter().map(|one| (one.id.as_str(), dept)).collect();
            let recorded = self.surveyor.org.recorded(&wanted).unwrap_or_default();
            for (index, request) in pending.into_iter().enumerate() {
                match recorded.get(index).and_then(|recorded| recorded.resolved) {
                    None => {
                        self.view.waiting += 1;
                        self.request(kind, request);
                    }
                    Some((status, _)) => {
                        let file = format!("{}/{}.md", kind.folder(), request.id);
                        let what = format!("{file} says pending, and the audit log has it as {status}");
                        let path = self.department.dir.join(&file);
                        self.need_of(&path, what, "harness verify".to_string());
                    }
                }
            }
        }
    }

    fn request(&mut self, kind: RequestKind, request: &Request) {
        let id = &request.id;
        let (what, command) = match kind {
            RequestKind::Approval => ("wants to", format!("harness approvals show {id}")),
            RequestKind::Question => ("asks", format!("harness questions answer {id} TEXT")),
            RequestKind::Escalation => ("escalates", format!("harness escalations resolve {id} --why TEXT")),
        };
        let action = request.action().map(|action| format!(" {}:", headline(&action))).unwrap_or_default();
        let reasoning = one_line(request.reasoning(), 200);
        let (created, id) = (request.created, id.clone());
        let need = self.need(format!("{what}{action} {reasoning}"), command);
        need.since = Some(created);
        need.id = Some(id);
    }

    /// Runs whose commit could not be made.
    fn commits(&mut self) {
        let command = format!("harness commit {}", self.department.dept);
        match self.department.unmade_commit() {
            Ok(None) => {}
            Ok(Some(unmade)) => {
                let what = format!("not committed: {}", unmade.why);
                self.need(what, command).since = parse_rfc3339(&unmade.since);
            }
            Err(error) => self.unread(&error, command),
        }
    }

    fn quarantine(&mut self) {
        let dir = self.department.dir.find(".harness/quarantine");
        let mut since = None;
        if let Ok(Some(entries)) = dir.and_then(|dir| dir.map(|dir| dir.list()).transpose()) {
            // What is set aside keeps its own time; its reason was written when that happened.
            let written = |name: &str| self.written_at(&format!(".harness/quarantine/{name}"));
            since = entries.iter().filter_map(|entry| written(&entry.name)).max();
            self.view.quarantined = entries.iter().filter(|entry| !entry.name.ends_with(".reason")).count();
        }
        if self.view.quarantined > 0 {
            let path = self.department.dir.join(".harness/quarantine").display().to_string();
            let what = format!("{} set aside in quarantine", self.view.quarantined);
            self.need(what, format!("ls {}", shell_word(&path))).since = since;
        }
    }

    fn board(&mut self) {
        let dept = self.department.dept.clone();
        match self.department.open_tasks() {
            Ok((tasks, unreadable)) => {
                for task in tasks {
                    match task.status {
                        TaskStatus::Inbox => self.view.board[0] += 1,
                        TaskStatus::InProgress => self.view.board[1] += 1,
                        TaskStatus::Review => self.view.board[2] += 1,
                        TaskStatus::Done => {}
                    }
                }
                for file in unreadable {
                    let what = format!("{} is no task: {}", file.file, file.why);
                    let path = self.department.dir.join(&file.file);
                    self.need_of(&path, what, format!("harness task list {dept}"));
                }
            }
            Err(error) => self.unread(&error, format!("harness task list {dept}")),
        }
    }

    fn runs(&mut self) {
        let dept = self.department.dept.clone();
        match self.department.last_runs(FAILING) {
            Ok(last) => self.view.last = last,
            Err(error) => self.unread(&error, "harness verify".to_string()),
        }
        if let Ok(Some(why)) = self.department.line_fault(self.surveyor.now) {
            self.need(format!("{why}, and nothing is run by such a ledger"), "harness verify".to_string());
        }
        let bad = self.view.last.iter().filter(|run| is_bad(&run.outcome)).count();
        if let (true, Some(run)) = (bad >= FAILING, self.view.last.first().cloned()) {
            let what = format!(
                "its last {FAILING} runs ended badly, {} now: {}",
                run.outcome,
                one_line(&run.reason, 200)
            );
            self.need(what, format!("harness runs list {dept}")).since = parse_rfc3339(&run.at);
        }
        let led = led_runs(self.department).unwrap_or_default();
        for led in led.into_iter().filter(|led| led.process.is_alive()) {
            self.view.live.push(LiveRun {
                started: parse_rfc3339(&led.started),
                pid: led.process.pid,
                last_line: self.department.live_line(),
                run: led.run,
                kind: led.kind,
                role: led.role,
            });
        }
    }

    fn config(&mut self, wake: &Wake) {
        let dept = self.department.dept.clone();
        match self.department.config() {
            Ok(config) => {
                self.view.auto_loop = config.auto_loop;
                self.view.interval_s = config.auto_interval_seconds;
                let entry = wake.departments.get(dept.as_str());
                let settled = entry.and_then(|entry| entry.settled.as_ref());
                self.view.due = config.auto_loop.then(|| due_at(None, settled, &config, self.surveyor.now));
                self.view.engine = config.engine;
            }
            Err(error) => self.unread(&error, format!("harness status {dept}")),
        }
    }
}
