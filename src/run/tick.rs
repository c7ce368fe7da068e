//! One pulse: which departments have something to do, and running those that may.
//!
//! A quiet department costs ten stats. One whose stamp moved, or whose moment has come, is looked at closely: what a
//! dead run left is settled, what expired and what a human decided is told, and then the gates are asked. Whoever runs
//! the departments is handed in, so that the same pulse works on a clock and in a process of the caller's choice. A
//! pulse that dies has changed nothing that the next one doesn't find.

use super::gates::Bench;
use crate::domain::config::DirectorConfig;
use crate::domain::id::Dept;
use crate::domain::message::Message;
use crate::domain::request::{RequestKind, RequestStatus};
use crate::domain::settings::Settings;
use crate::domain::time::{Time, parse_rfc3339, render_rfc3339};
use crate::domain::wake::check::{Cause, Check, Facts, check};
use crate::domain::wake::moments::{Moment, Sources, next_of};
use crate::domain::wake::{
    Entry, Idle, Known, LONG_GAP_S, Observation, Part, Parts, Receipt, Settled, Wake, digest_part,
};
use crate::store::fault::Result;
use crate::store::key::Key;
use crate::store::lock::{Attempt, try_lock};
use crate::store::org::{Department, Org};
use crate::store::wake::{Looked, Pulse};
use std::collections::BTreeMap;

/// How many messages of an inbox say how urgent a department is.
const RANKED: usize = 512;

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
    },
    /// It was not needed, or could not begin; no engine was asked. The code is a receipt's.
    Not {
        code: &'static str,
        why: String,
    },
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
}

/// What a pulse works with.
pub struct Tick<'a> {
    pub org: &'a Org,
    pub now: Time,
    pub pulse: Pulse,
    /// The user's key; only asked for where a department is looked at closely.
    pub key: &'a dyn Fn() -> Option<Key>,
    /// The departments to look at, sorted.
    pub depts: Vec<Dept>,
}

/// What a close look found.
struct Closer {
    department: Department,
    stamp: String,
    config: std::result::Result<DirectorConfig, String>,
    known: BTreeMap<String, Known>,
    parts: Parts,
    moments: Vec<Moment>,
    settled: Option<Settled>,
    fenced: bool,
    /// What could not be settled.
    fault: Option<String>,
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
    fenced: bool,
    healed: Option<Settled>,
}

impl Tick<'_> {
    /// The pulse.
    pub fn run(&self, crew: &mut dyn Crew) -> Result<Vec<Report>> {
        let wake = self.org.wake();
        let org_look = self.org.look(&self.pulse)?;
        // A clock that went back makes every moment that was worked out worthless.
        let all = wake.org != org_look.stamp || self.now.timestamp() < wake.at || self.long_gap();
        let mut quiet = Vec::new();
        let mut moved = Vec::new();
        for dept in &self.depts {
            let looked = self.org.look_at(dept, &self.pulse)?;
            match wake.idle.get(dept.as_str()) {
                Some(idle) if !all && self.is_idle(idle, &looked) => quiet.push(dept),
                _ => moved.push((dept, looked)),
            }
        }
        let mut reports: Vec<Report> = quiet.into_iter().map(|dept| standing(&wake, dept)).collect();
        if !moved.is_empty() || all {
            let stamp = if org_look.racy { String::new() } else { org_look.stamp };
            reports.extend(self.look_closely(&wake, &moved, &stamp, crew)?);
        }
        reports.sort_by(|a, b| a.dept.cmp(&b.dept));
        Ok(reports)
    }

    fn is_idle(&self, idle: &Idle, looked: &Looked) -> bool {
        !looked.racy && idle.0 == looked.stamp && idle.1.is_none_or(|at| self.now.timestamp() < at)
    }

    fn long_gap(&self) -> bool {
        self.pulse.since_last_s.is_some_and(|seconds| seconds > crate::domain::wake::GAP_S)
    }

    fn look_closely(
        &self,
        wake: &Wake,
        moved: &[(&Dept, Looked)],
        org_stamp: &str,
        crew: &mut dyn Crew,
    ) -> Result<Vec<Report>> {
        let settings = self.org.settings();
        let accepted = self.org.accepted_digests().unwrap_or_default();
        let (mut updates, mut due) = (Vec::new(), Vec::new());
        for (dept, looked) in moved {
            let entry = wake.departments.get(dept.as_str()).cloned().unwrap_or_default();
            let charter = accepted.get(dept.as_str()).cloned().unwrap_or_default();
            let judged = match &settings {
                Err(error) => Ok((self.update_unreadable(dept, &error.to_string()), None)),
                Ok(settings) => {
                    self.look_closer(dept, looked, &entry, &charter, crew).and_then(|found| match found {
                        None => Ok((self.update_unreadable(dept, "its folder is gone"), None)),
                        Some(closer) => self.judge(dept, closer, settings),
                    })
                }
            };
            let (update, found) =
                judged.unwrap_or_else(|error| (self.update_unreadable(dept, &error.to_string()), None));
            updates.push(update);
            due.extend(found);
        }
        let due = self.order(due)?;
        let ran = crew.run(&due);
        for (due, ran) in due.iter().zip(&ran) {
            let update = updates.iter_mut().find(|update| update.dept == due.dept);
            if let Some(update) = update {
                (update.receipt.code, update.receipt.why) = receipt_of(due, ran);
            }
        }
        self.write(&updates, org_stamp)?;
        let ran_of =
            |dept: &Dept| due.iter().zip(&ran).find(|(due, _)| due.dept == *dept).map(|(_, ran)| ran.clone());
        Ok(updates
            .into_iter()
            .map(|update| {
                let is_new = wake
                    .departments
                    .get(update.dept.as_str())
                    .is_none_or(|entry| !entry.receipt.is_like(&update.receipt));
                Report { ran: ran_of(&update.dept), receipt: update.receipt, is_new, dept: update.dept }
            })
            .collect())
    }

    /// Reads what has moved, after settling what had to be settled. None where the department is gone.
    fn look_closer(
        &self,
        dept: &Dept,
        looked: &Looked,
        entry: &Entry,
        charter: &str,
        crew: &mut dyn Crew,
    ) -> Result<Option<Closer>> {
        let Some(department) = self.org.department(dept)? else { return Ok(None) };
        let fault = match self.needs_settling(&department, looked)? {
            true => crew.settle(dept).err(),
            false => None,
        };
        let config = department.config().map_err(|error| error.to_string());
        let (known, racy) = self.read_parts(&department, entry)?;
        let mut parts: Parts =
            known.iter().map(|(name, known)| (name.clone(), known.digest.clone())).collect();
        parts.insert(Part::Charter.name().to_string(), charter.to_string());
        let moments = self.sources(&department)?.moments();
        let settled = self.org.wake().departments.remove(dept.as_str()).and_then(|entry| entry.settled);
        let fenced = entry.fenced || self.pulse.since_last_s.is_some_and(|seconds| seconds > LONG_GAP_S);
        // What settling changed, or what changed while this look went on, is seen by the next one.
        let stamp = if looked.racy || racy || fault.is_some() { String::new() } else { looked.stamp.clone() };
        Ok(Some(Closer { department, stamp, config, known, parts, moments, settled, fenced, fault }))
    }

    /// Whether something is left that needs no engine: a dead run, a plan, a request that is over or was answered.
    fn needs_settling(&self, department: &Department, looked: &Looked) -> Result<bool> {
        if is_held(department)? {
            return Ok(false);
        }
        if looked.active || department.has_journal()? {
            return Ok(true);
        }
        let Some(key) = (self.key)() else { return Ok(false) };
        for kind in RequestKind::ALL {
            let found = department.requests(kind, &key)?.requests;
            let waits = |request: &crate::domain::request::Request| {
                request.is_expired(self.now)
                    || (request.status != RequestStatus::Pending && !request.is_told())
            };
            if found.iter().any(waits) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The parts, each read only where its stat moved or was too young to be trusted.
    fn read_parts(&self, department: &Department, entry: &Entry) -> Result<(BTreeMap<String, Known>, bool)> {
        let mut known = BTreeMap::new();
        let mut any_racy = false;
        for part in Part::ALL.into_iter().filter(|part| part.path().is_some()) {
            let (stat, racy) = department.stat_part(part, &self.pulse)?;
            any_racy |= racy;
            let before = entry.parts.get(part.name()).filter(|before| before.stat == stat);
            let digest = match before {
                Some(before) => before.digest.clone(),
                None => {
                    let mut seen = Observation::new();
                    department.observe_part(part, &mut seen)?;
                    digest_part(part, &seen)
                }
            };
            let stat = if racy { String::new() } else { stat };
            known.insert(part.name().to_string(), Known { stat, digest });
        }
        Ok((known, any_racy))
    }

    /// Everything of the department that becomes eligible by time alone.
    fn sources(&self, department: &Department) -> Result<Sources> {
        let mut sources = Sources::default();
        let Some(key) = (self.key)() else { return Ok(sources) };
        for kind in RequestKind::ALL {
            for request in department.requests(kind, &key)?.requests {
                let expires = request.text("expires").and_then(parse_rfc3339);
                if let (RequestStatus::Pending, Some(at)) = (request.status, expires) {
                    sources.expiries.push((at, request.id.clone()));
                }
            }
        }
        Ok(sources)
    }

    fn judge(&self, dept: &Dept, closer: Closer, settings: &Settings) -> Result<(Update, Option<Due>)> {
        let mut settled = closer.settled.clone();
        if let Some(settled) = &mut settled {
            super::wake::heal(settled, self.now);
        }
        let healed = settled.clone().filter(|settled| Some(settled) != closer.settled.as_ref());
        let config = match &closer.config {
            Ok(config) => config,
            Err(why) => return Ok((self.update_unreadable(dept, why), None)),
        };
        let facts = Facts {
            now: self.now,
            config,
            settled: settled.as_ref(),
            parts: &closer.parts,
            moments: &closer.moments,
        };
        let check = check(&facts);
        let bench = Bench {
            org: self.org,
            department: &closer.department,
            settings,
            config,
            settled: settled.as_ref(),
            check: &check,
            now: self.now,
        };
        let (code, why, look_at, due) = self.decide(&bench, &closer)?;
        let due = due.map(|cause| Due {
            dept: dept.clone(),
            cause,
            last_run: closer.settled.as_ref().map(|settled| settled.run.clone()),
            fenced: closer.fenced,
        });
        let moment = next_of(&closer.moments, self.now);
        let next = look_at.into_iter().chain(moment.map(|moment| moment.at)).min();
        let stamp = if due.is_some() { String::new() } else { closer.stamp };
        let update = Update {
            dept: dept.clone(),
            receipt: Receipt { at: render_rfc3339(self.now), code: code.to_string(), why },
            idle: Idle(stamp, next.map(|at| at.timestamp())),
            known: closer.known,
            next_at: moment.map(|moment| render_rfc3339(moment.at)),
            interval_s: config.auto_interval_seconds,
            fenced: closer.fenced && due.is_some(),
            healed,
            department: Some(closer.department),
        };
        Ok((update, due))
    }

    /// The verdict: a cause to run by, or a receipt.
    fn decide(
        &self,
        bench: &Bench<'_>,
        closer: &Closer,
    ) -> Result<(&'static str, String, Option<Time>, Option<Cause>)> {
        if let Some(fault) = &closer.fault {
            return Ok(("not_settled", fault.clone(), None, None));
        }
        let Check { cause, evidence, code, look_at } = bench.check;
        let Some(cause) = cause.as_ref().filter(|_| bench.config.auto_loop) else {
            if !bench.config.auto_loop {
                return Ok(("off", "autoLoop is off".to_string(), None, None));
            }
            return Ok((*code, evidence.clone(), *look_at, None));
        };
        Ok(match bench.first_refusal()? {
            Some(asked) => (asked.line.code, asked.line.evidence, asked.look_at, None),
            None => ("due", cause.to_string(), None, Some(cause.clone())),
        })
    }

    fn update_unreadable(&self, dept: &Dept, why: &str) -> Update {
        let at = render_rfc3339(self.now);
        Update {
            dept: dept.clone(),
            department: self.org.department(dept).ok().flatten(),
            receipt: Receipt { at, code: "unreadable".to_string(), why: why.to_string() },
            idle: Idle::default(),
            known: BTreeMap::new(),
            next_at: None,
            interval_s: 60,
            fenced: false,
            healed: None,
        }
    }

    /// Where not all can go at once: Directives first, then priority, then whoever has waited longest.
    fn order(&self, mut due: Vec<Due>) -> Result<Vec<Due>> {
        if due.len() > 1 {
            let mut ranked = Vec::new();
            for one in due {
                let inbox = self
                    .org
                    .department(&one.dept)?
                    .map(|department| department.inbox_oldest(RANKED))
                    .transpose();
                let mail = inbox.ok().flatten().unwrap_or_default().messages;
                ranked.push((rank(mail.iter().map(|filed| &filed.message)), one));
            }
            ranked.sort_by(|(a, one), (b, other)| (a, &one.dept).cmp(&(b, &other.dept)));
            due = ranked.into_iter().map(|(_, one)| one).collect();
        }
        Ok(due)
    }

    fn write(&self, updates: &[Update], org_stamp: &str) -> Result<()> {
        let before = self.org.wake();
        for update in updates {
            let known = before.departments.get(update.dept.as_str());
            if known.is_none_or(|entry| !entry.receipt.is_like(&update.receipt))
                && let Some(department) = &update.department
            {
                department.append_receipt(&update.receipt)?;
            }
        }
        let seen_until = self.now.timestamp() - self.pulse.since_last_s.unwrap_or(0).max(0);
        self.org.update_wake(self.now, |wake| {
            wake.org = org_stamp.to_string();
            for update in updates {
                if update.department.is_none() {
                    wake.idle.remove(update.dept.as_str());
                    wake.departments.remove(update.dept.as_str());
                    continue;
                }
                wake.idle.insert(update.dept.to_string(), update.idle.clone());
                let entry = wake.departments.entry(update.dept.to_string()).or_default();
                entry.take(update.receipt.clone(), update.interval_s, seen_until, self.now);
                entry.parts = update.known.clone();
                entry.next_at = update.next_at.clone();
                entry.fenced = update.fenced && entry.settled.as_ref().is_none_or(|settled| settled.more);
                if let (Some(healed), Some(settled)) = (&update.healed, &mut entry.settled)
                    && settled.run == healed.run
                {
                    *settled = healed.clone();
                }
            }
        })
    }
}

fn standing(wake: &Wake, dept: &Dept) -> Report {
    let receipt = wake.departments.get(dept.as_str()).map(|entry| entry.receipt.clone()).unwrap_or_default();
    Report { dept: dept.clone(), receipt, is_new: false, ran: None }
}

fn receipt_of(due: &Due, ran: &Ran) -> (String, String) {
    match ran {
        Ran::Ended { run, outcome, .. } => ("ran".to_string(), format!("{run} {outcome}; {}", due.cause)),
        Ran::Not { code, why } => (code.to_string(), why.clone()),
        Ran::Broke(why) => ("broke".to_string(), why.clone()),
    }
}

/// Whether a run or a command holds the department.
fn is_held(department: &Department) -> Result<bool> {
    let Some(own) = department.dir.find(".harness")? else { return Ok(false) };
    Ok(own.stat("lock")?.is_some() && matches!(try_lock(&own, "lock")?, Attempt::Busy))
}

/// Smaller goes first.
fn rank<'a>(mail: impl Iterator<Item = &'a Message>) -> (bool, u8, Time) {
    let open: Vec<&Message> = mail.filter(|message| message.waits_for.is_none()).collect();
    let priority = |message: &&Message| match message.extra("priority") {
        Some("high") => 0,
        Some("low") => 2,
        _ => 1,
    };
    let no_directive = !open.iter().any(|message| message.kind == "Directive");
    let oldest = open.iter().map(|message| message.created).min().unwrap_or(Time::MAX_UTC);
    (no_directive, open.iter().map(priority).min().unwrap_or(3), oldest)
}
