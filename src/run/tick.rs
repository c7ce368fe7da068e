//! One pulse: which departments have something to do, and running those that may.
//!
//! A quiet department costs ten stats, and every ten minutes one for each of its open files, since a file that is changed
//! in place moves no folder. One whose stamp moved, or whose moment has come, is looked at closely (`look`):
//! what a dead run left is settled, what expired and what a human decided is told, slots that have come are fired, and
//! then the gates are asked. Whoever runs the departments is handed in, so that the same pulse works on a clock and in
//! a process of the caller's choice. A pulse that dies has changed nothing that the next one doesn't find.

use super::gates::Bench;
use super::look::{Closer, Eye};
use crate::domain::audit::Deed;
use crate::domain::config::{changes, seen_config};
use crate::domain::health::stale_after_s;
use crate::domain::id::Dept;
use crate::domain::message::Message;
use crate::domain::portfolio::Portfolio;
use crate::domain::priority::Priority;
use crate::domain::settings::Settings;
use crate::domain::time::{Time, render_rfc3339};
use crate::domain::wake::check::{Cause, Check, Facts, check};
use crate::domain::wake::moments::next_of;
use crate::domain::wake::{GAP_S, Idle, Known, LONG_GAP_S, NO_PULSE, Receipt, Settled, Wake, parse_head};
use crate::store::fault::Result;
use crate::store::org::Department;
use crate::store::wake::Looked;
use std::collections::BTreeMap;

/// How many messages of an inbox say how urgent a department is.
const RANKED: usize = 512;
/// The code of a receipt for a department that can't be read.
const UNREADABLE: &str = "unreadable";

/// Who does the work of a pulse.
pub trait Crew {
    /// Finishes what a dead run left, and tells what expired and what a human decided. No engine is asked.
    fn settle(&mut self, dept: &Dept) -> std::result::Result<(), String>;

    /// Runs departments, in this order where not all can go at once, and says how each ended, in the same order.
    fn run(&mut self, due: &[Due]) -> Vec<Ran>;
}

/// A department that is to run.
#[derive(Clone, Debug)]
pub struct Due {
    pub dept: Dept,
    pub cause: Cause,
    /// The last run that this pulse knows of.
    pub last_run: Option<String>,
    /// Whether only a portion of what is open is to be worked off.
    pub fenced: bool,
}

/// How a department's run went.
#[derive(Clone, Debug)]
pub enum Ran {
    Ended {
        run: String,
        outcome: String,
        reason: String,
        /// Why what it wrote is not committed, where that is so.
        not_committed: Option<String>,
    },
    /// It was not needed, or could not begin; no engine was asked. The code is a receipt's.
    Not { code: String, why: String },
    /// A pulse of its own, in a process of its own, ran it and has written its receipt.
    Elsewhere(Box<Ran>, Receipt),
    /// Harness itself failed.
    Broke(String),
}

/// What a pulse says of one department.
#[derive(Clone, Debug)]
pub struct Report {
    pub dept: Dept,
    pub receipt: Receipt,
    /// Whether this pulse wrote the receipt, or it stood already.
    pub is_new: bool,
    pub ran: Option<Ran>,
    /// Whether a process of its own ran it, and has said what there was to say.
    pub elsewhere: bool,
}

/// What a pulse works with.
pub struct Tick<'a> {
    pub eye: Eye<'a>,
    /// The departments to look at, sorted.
    pub depts: Vec<Dept>,
}

/// What is to be written of a department.
struct Update {
    dept: Dept,
    department: Option<Department>,
    receipt: Receipt,
    idle: Idle,
    known: BTreeMap<String, Known>,
    next_at: Option<String>,
    interval_s: u64,
    healed: Option<Settled>,
    config: Option<serde_json::Value>,
}

/// What a first look found.
pub struct Seen {
    /// Departments that stand as they did.
    quiet: Vec<Dept>,
    /// Departments that must be looked at closely.
    moved: Vec<(Dept, Looked)>,
}

impl Seen {
    pub fn is_quiet(&self) -> bool {
        self.moved.is_empty()
    }

    /// The departments that must be looked at closely.
    pub fn moved(&self) -> impl Iterator<Item = &Dept> {
        self.moved.iter().map(|(dept, _)| dept)
    }
}

impl Tick<'_> {
    /// The first look: ten stats for each department, and no file of theirs read.
    pub fn look(&self) -> Result<Seen> {
        let Eye { org, now, pulse, .. } = &self.eye;
        let mut line = org.wake_line();
        let head = parse_head(&mut line);
        let org_look = org.look(pulse)?;
        // A clock that went back makes every moment that was worked out worthless.
        let went_back = now.timestamp() < head.at;
        let mut seen = Seen { quiet: Vec::new(), moved: Vec::new() };
        for dept in &self.depts {
            // One that can't be looked at holds up no other: the close look says why, of this one alone.
            let looked = org.look_at(dept, pulse).unwrap_or_else(|_| Looked::unseen()).with(&org_look);
            match head.idle.get(dept.as_str()) {
                Some(idle) if !went_back && self.is_idle(dept, idle, &looked) => {
                    seen.quiet.push(dept.clone())
                }
                _ => seen.moved.push((dept.clone(), looked)),
            }
        }
        Ok(seen)
    }

    /// What the first look found is looked at closely, and what is due is run.
    pub fn act(&self, seen: &Seen, crew: &mut dyn Crew) -> Result<Vec<Report>> {
        let wake = self.eye.org.wake_to_act_on()?;
        let mut reports: Vec<Report> = seen.quiet.iter().map(|dept| standing(&wake, dept)).collect();
        if !seen.is_quiet() {
            reports.extend(self.look_closely(&wake, &seen.moved, crew)?);
            reports.sort_by(|a, b| a.dept.cmp(&b.dept));
        }
        Ok(reports)
    }

    fn is_idle(&self, dept: &Dept, idle: &Idle, looked: &Looked) -> bool {
        let Eye { org, now, pulse, .. } = &self.eye;
        let stands = !looked.racy && idle.0 == looked.stamp() && idle.1.is_none_or(|at| now.timestamp() < at);
        if !stands || pulse.since_s(dept) > GAP_S {
            return false;
        }
        let files = || org.look_at_files(dept, pulse);
        !pulse.is_full(dept) || (idle.2 != 0 && files().is_ok_and(|stamp| stamp == idle.2))
    }

    fn look_closely(
        &self,
        wake: &Wake,
        moved: &[(Dept, Looked)],
        crew: &mut dyn Crew,
    ) -> Result<Vec<Report>> {
        let settings = self.eye.org.settings();
        let (mut updates, mut due) = (Vec::new(), Vec::new());
        for (dept, looked) in moved {
            let judged = match &settings {
                Err(error) => Err(error.to_string()),
                Ok(settings) => {
                    self.look_at(dept, looked, wake, settings, crew).map_err(|error| error.to_string())
                }
            };
            let (update, found) = judged.unwrap_or_else(|why| (self.unreadable(dept, &why), None));
            updates.push(update);
            due.extend(found);
        }
        let due = self.order(due)?;
        // A run may take hours: what is known of the others must not be written over what is seen of them meanwhile.
        let runs = |update: &Update| due.iter().any(|due| due.dept == update.dept);
        self.write(updates.iter_mut().filter(|update| !runs(update)).collect())?;
        self.write_fences(&due)?;
        let ran = if due.is_empty() { Vec::new() } else { crew.run(&due) };
        self.note_long_runs(&due)?;
        let mut ran: BTreeMap<&Dept, (&Due, Ran)> =
            due.iter().zip(ran).map(|(due, ran)| (&due.dept, (due, ran))).collect();
        for update in &mut updates {
            if let Some((due, ran)) = ran.get(&update.dept) {
                (update.receipt.code, update.receipt.why) = receipt_of(due, ran);
            }
        }
        let here = |update: &Update| {
            ran.get(&update.dept).is_some_and(|(_, ran)| !matches!(ran, Ran::Elsewhere(..)))
        };
        self.write(updates.iter_mut().filter(|update| here(update)).collect())?;
        let is_new = |update: &Update| {
            let known = wake.departments.get(update.dept.as_str());
            known.is_none_or(|entry| !entry.receipt.is_like(&update.receipt))
        };
        Ok(updates
            .into_iter()
            .map(|update| Report {
                is_new: is_new(&update),
                elsewhere: matches!(ran.get(&update.dept), Some((_, Ran::Elsewhere(..)))),
                ran: ran.remove(&update.dept).map(|(_, ran)| match ran {
                    Ran::Elsewhere(ran, _) => *ran,
                    here => here,
                }),
                receipt: update.receipt,
                dept: update.dept,
            })
            .collect())
    }

    fn look_at(
        &self,
        dept: &Dept,
        looked: &Looked,
        wake: &Wake,
        settings: &Settings,
        crew: &mut dyn Crew,
    ) -> Result<(Update, Option<Due>)> {
        let entry = wake.departments.get(dept.as_str()).cloned().unwrap_or_default();
        match self.eye.look_closer(dept, looked, &entry, &mut |dept| crew.settle(dept))? {
            None => Ok((self.unreadable(dept, "its folder is gone"), None)),
            Some(closer) => {
                self.tell_of_gap(&closer)?;
                self.audit_config(dept, &closer, entry.config.as_ref())?;
                self.judge(dept, closer, settings, entry.fenced)
            }
        }
    }

    fn judge(
        &self,
        dept: &Dept,
        closer: Closer,
        settings: &Settings,
        fenced: bool,
    ) -> Result<(Update, Option<Due>)> {
        let now = self.eye.now;
        let mut settled = closer.settled.clone();
        if let Some(settled) = &mut settled {
            super::wake::heal(settled, now);
        }
        let config = match &closer.config {
            Ok(config) => config,
            Err(why) => {
                let config = Some(seen_config(&closer.config));
                return Ok((Update { config, ..self.unreadable(dept, why) }, None));
            }
        };
        let (parts, moments) = (&closer.parts, &closer.moments);
        let check = check(&Facts { now, config, settled: settled.as_ref(), parts, moments });
        let bench = Bench {
            org: self.eye.org,
            department: &closer.department,
            settings,
            config,
            settled: settled.as_ref(),
            check: &check,
            now,
        };
        let (code, why, look_at, cause) = decide(&bench, closer.fault.as_deref())?;
        let slept = self.eye.pulse.since_s(dept) > LONG_GAP_S;
        let last_run = closer.settled.as_ref().map(|settled| settled.run.clone());
        let due = cause.map(|cause| Due { dept: dept.clone(), cause, last_run, fenced: fenced || slept });
        let moment = next_of(moments, now);
        let next = look_at.into_iter().chain(moment.map(|moment| moment.at)).min();
        let (stamp, files) = if due.is_some() { (0, 0) } else { (closer.stamp, closer.files) };
        let update = Update {
            dept: dept.clone(),
            receipt: Receipt::new(now, code, why),
            idle: Idle(stamp, next.map(|at| at.timestamp()), files),
            config: Some(seen_config(&closer.config)),
            next_at: moment.map(|moment| render_rfc3339(moment.at)),
            interval_s: config.auto_interval_seconds,
            healed: settled.filter(|settled| Some(settled) != closer.settled.as_ref()),
            known: closer.known,
            department: Some(closer.department),
        };
        Ok((update, due))
    }

    /// A time in which nobody looked gets a receipt of its own: `why --at` would else tell of it what stood before.
    fn tell_of_gap(&self, closer: &Closer) -> Result<()> {
        let (now, since) = (self.eye.now, self.eye.pulse.since_s(&closer.department.dept));
        let interval = closer.config.as_ref().map_or(0, |config| config.auto_interval_seconds);
        if since <= GAP_S.max(stale_after_s(interval)) {
            return Ok(());
        }
        let from = render_rfc3339(now - chrono::TimeDelta::seconds(since));
        let why = format!("no tick looked from {from} to {}", render_rfc3339(now));
        let receipt = Receipt { from: Some(from), ..Receipt::new(now, NO_PULSE, why) };
        closer.department.append_receipt(&receipt)
    }

    /// Every change of a config is audited, also one that was made with an editor.
    fn audit_config(&self, dept: &Dept, closer: &Closer, before: Option<&serde_json::Value>) -> Result<()> {
        let changed = before.and_then(|before| changes(before, &seen_config(&closer.config)));
        let Some(changed) = changed else { return Ok(()) };
        let what = format!("{dept}: director-config.json was changed by hand: {changed}");
        self.eye.org.write_audit(&Deed { at: self.eye.now, by: "harness", command: "tick", what: &what })
    }

    fn unreadable(&self, dept: &Dept, why: &str) -> Update {
        Update {
            dept: dept.clone(),
            department: self.eye.org.department(dept).ok().flatten(),
            receipt: Receipt::new(self.eye.now, UNREADABLE, why),
            idle: Idle::default(),
            known: BTreeMap::new(),
            next_at: None,
            interval_s: 60,
            healed: None,
            config: None,
        }
    }

    /// Where not all can go at once: Directives first, then priority, then whoever has waited longest.
    fn order(&self, mut due: Vec<Due>) -> Result<Vec<Due>> {
        if due.len() > 1 {
            let portfolio = self.eye.org.portfolio().unwrap_or_default();
            let mut ranked = Vec::new();
            for one in due {
                let department = self.eye.org.department(&one.dept)?;
                let inbox = department.map(|department| department.inbox_oldest(RANKED)).transpose();
                let mail = inbox.ok().flatten().unwrap_or_default().messages;
                ranked.push((rank(mail.iter().map(|filed| &filed.message), &portfolio), one));
            }
            ranked.sort_by(|(a, one), (b, other)| (a, &one.dept).cmp(&(b, &other.dept)));
            due = ranked.into_iter().map(|(_, one)| one).collect();
        }
        Ok(due)
    }

    /// A long run is no time in which nobody looked.
    fn note_long_runs(&self, due: &[Due]) -> Result<()> {
        if due.is_empty() {
            return Ok(());
        }
        let Eye { org, pulse, .. } = &self.eye;
        let now = org.touch_alive()?;
        if now.is_long_after(pulse) {
            let depts: Vec<Dept> = due.iter().map(|due| due.dept.clone()).collect();
            org.note_looks(Some(&depts), &now)?;
        }
        Ok(())
    }

    /// Says which departments work off a backlog, before they run: each may run in a process of its own.
    fn write_fences(&self, due: &[Due]) -> Result<()> {
        if !due.iter().any(|due| due.fenced) {
            return Ok(());
        }
        self.eye.org.update_wake(self.eye.now, |wake| {
            for due in due.iter().filter(|due| due.fenced) {
                wake.departments.entry(due.dept.to_string()).or_default().fenced = true;
            }
        })
    }

    fn write(&self, mut updates: Vec<&mut Update>) -> Result<()> {
        if updates.is_empty() {
            return Ok(());
        }
        let Eye { org, now, pulse, .. } = &self.eye;
        let before = org.wake();
        for update in &mut updates {
            let known = before.departments.get(update.dept.as_str());
            if known.is_none_or(|entry| !entry.receipt.is_like(&update.receipt))
                && let Some(department) = &update.department
                && let Err(error) = department.append_receipt(&update.receipt)
                && update.receipt.code != UNREADABLE
            {
                // That department's failure, and nobody else's: wake.json says so, and the next tick looks again.
                update.receipt = Receipt::new(*now, UNREADABLE, error.to_string());
                update.idle = Idle::default();
            }
        }
        org.update_wake(*now, |wake| {
            for update in updates {
                let name = update.dept.as_str();
                if update.department.is_none() {
                    wake.idle.remove(name);
                    wake.departments.remove(name);
                    continue;
                }
                wake.idle.insert(name.to_string(), update.idle);
                let entry = wake.departments.entry(name.to_string()).or_default();
                let seen_until = now.timestamp() - pulse.since_s(&update.dept);
                entry.take(update.receipt.clone(), update.interval_s, seen_until, *now);
                entry.parts = update.known.clone();
                entry.next_at = update.next_at.clone();
                if update.config.is_some() {
                    entry.config = update.config.clone();
                }
                if let (Some(healed), Some(settled)) = (&update.healed, &mut entry.settled)
                    && settled.run == healed.run
                {
                    *settled = healed.clone();
                }
            }
        })
    }
}

type Decided = (&'static str, String, Option<Time>, Option<Cause>);

/// The verdict: a cause to run by, or a receipt and when to look again.
fn decide(bench: &Bench<'_>, fault: Option<&str>) -> Result<Decided> {
    if let Some(fault) = fault {
        return Ok(("not_settled", fault.to_string(), None, None));
    }
    if !bench.config.auto_loop {
        return Ok(("off", "autoLoop is off".to_string(), None, None));
    }
    let Check { cause, evidence, code, look_at } = bench.check;
    let Some(cause) = cause else { return Ok((*code, evidence.clone(), *look_at, None)) };
    Ok(match bench.first_refusal()? {
        Some(asked) => (asked.line.code, asked.line.evidence, asked.look_at, None),
        None => ("due", cause.to_string(), None, Some(cause.clone())),
    })
}

fn standing(wake: &Wake, dept: &Dept) -> Report {
    let receipt = wake.departments.get(dept.as_str()).map(|entry| entry.receipt.clone()).unwrap_or_default();
    Report { dept: dept.clone(), receipt, is_new: false, ran: None, elsewhere: false }
}

fn receipt_of(due: &Due, ran: &Ran) -> (String, String) {
    match ran {
        Ran::Ended { run, outcome, .. } => ("ran".to_string(), format!("{run} {outcome}; {}", due.cause)),
        Ran::Not { code, why } => (code.clone(), why.clone()),
        Ran::Elsewhere(_, receipt) => (receipt.code.clone(), receipt.why.clone()),
        Ran::Broke(why) => ("broke".to_string(), why.clone()),
    }
}

/// Smaller goes first.
fn rank<'a>(mail: impl Iterator<Item = &'a Message>, portfolio: &Portfolio) -> (bool, u8, Time) {
    let open: Vec<&Message> = mail.filter(|message| message.waits_for.is_none()).collect();
    let priority = |message: &&Message| {
        let directive = message.directive.as_deref().and_then(|id| portfolio.directive(id));
        match (directive.map(|directive| directive.priority), message.extra("priority")) {
            (Some(Priority::High), _) | (None, Some("high")) => 0,
            (Some(Priority::Low), _) | (None, Some("low")) => 2,
            _ => 1,
        }
    };
    let no_directive = !open.iter().any(|message| message.kind == "Directive");
    let oldest = open.iter().map(|message| message.created).min().unwrap_or(Time::MAX_UTC);
    (no_directive, open.iter().map(priority).min().unwrap_or(3), oldest)
}
