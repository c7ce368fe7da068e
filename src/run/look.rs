//! A close look at one department: what a tick judges by. What is read is only what has moved.

use super::gates::Bench;
use super::schedules::{fire_schedules, next_slots};
use super::upkeep::upkeep_due;
use crate::domain::board::moments_of;
use crate::domain::config::DirectorConfig;
use crate::domain::directive::RECEIVER;
use crate::domain::gate::Reading;
use crate::domain::id::Dept;
use crate::domain::request::{Request, RequestKind, RequestStatus};
use crate::domain::time::{Time, parse_rfc3339};
use crate::domain::wake::check::{Cause, Facts, check};
use crate::domain::wake::moments::{Moment, Sources, next_of};
use crate::domain::wake::{Entry, Known, Observation, Part, Parts, Receipt, Settled, digest_part};
use crate::domain::why::{GATES, GateLine};
use crate::store::breakage::Breakage;
use crate::store::fault::Result;
use crate::store::key::Key;
use crate::store::lock::{Attempt, try_lock};
use crate::store::org::{Department, Org};
use crate::store::pulse::Pulse;
use crate::store::wake::{Files, Looked, Outer};
use chrono::TimeDelta;
use std::cell::OnceCell;
use std::collections::BTreeMap;

/// What is asleep for a reason that no file announces is looked at again after so many seconds.
const LOOK_AGAIN_S: i64 = 60;

/// What a look works with.
pub struct Eye<'a> {
    pub org: &'a Org,
    pub now: Time,
    pub pulse: Pulse,
    /// The user's key; only asked for where a department is looked at closely.
    pub key: &'a dyn Fn() -> Option<Key>,
    /// What stands outside the departments, read once.
    pub outer: OnceCell<Outer>,
}

/// What a close look found.
pub(super) struct Closer {
    pub department: Department,
    /// 0 where the next tick must look again.
    pub stamp: u64,
    /// The stamp of every file, for the next full look.
    pub files: u64,
    pub config: std::result::Result<DirectorConfig, String>,
    pub known: BTreeMap<String, Known>,
    pub parts: Parts,
    pub moments: Vec<Moment>,
    pub settled: Option<Settled>,
    /// What could not be settled.
    pub fault: Option<String>,
}

/// The parts as they were read, and the stamp over all of their files; 0 where one of them is too young.
struct Read {
    known: BTreeMap<String, Known>,
    parts: Parts,
    files: u64,
}

/// Every gate of a department, as it is, with nothing settled, fired or written.
pub struct Inspection {
    pub gates: Vec<GateLine>,
    pub cause: Option<Cause>,
    pub entry: Entry,
    /// The next moment at which something becomes eligible by time alone, and what.
    pub next_at: Option<(Time, String)>,
}

impl<'a> Eye<'a> {
    /// For looking without a tick.
    pub fn resting(org: &'a Org, now: Time, key: &'a dyn Fn() -> Option<Key>) -> Eye<'a> {
        Eye { org, now, pulse: Pulse::unmoved(), key, outer: OnceCell::new() }
    }

    /// Reads what has moved, after settling what had to be settled. None where the department is gone.
    pub(super) fn look_closer(
        &self,
        dept: &Dept,
        looked: &Looked,
        entry: &Entry,
        settle: &mut dyn FnMut(&Dept) -> std::result::Result<(), String>,
    ) -> Result<Option<Closer>> {
        let Some(department) = self.org.department(dept)? else { return Ok(None) };
        if dept.as_str() == RECEIVER {
            // Added, and not yet there: whoever added it died in between.
            self.org.deliver_directives(&department, self.now)?;
        }
        let mut settled = entry.settled.clone();
        let mut fault = None;
        if self.needs_settling(&department, looked)? {
            fault = settle(dept).err();
            // Nothing else of a look changes it: for every other department the `wake.json` read once is enough, and a
            // run that has ended since is noticed under the department's lock.
            settled = self.org.wake().departments.remove(dept.as_str()).and_then(|entry| entry.settled);
        }
        let config = department.config().map_err(|error| error.to_string());
        let slots = self.fire(&department, config.as_ref().ok())?;
        let Read { known, parts, files } = self.read_parts(&department, entry)?;
        let moments = self.sources(&department, slots)?.moments();
        // What settling changed, or what changed while this look went on, is seen by the next one.
        let stamp = if looked.racy || files == 0 || fault.is_some() { 0 } else { looked.stamp() };
        Ok(Some(Closer { department, stamp, files, config, known, parts, moments, settled, fault }))
    }

    /// Whether something is left that needs no engine: a dead run, a plan, a request that is over or was answered.
    fn needs_settling(&self, department: &Department, looked: &Looked) -> Result<bool> {
        if is_held(department)? {
            return Ok(false);
        }
        if looked.active || department.has_journal()? {
            return Ok(true);
        }
        let waits = |request: &Request| {
            request.is_expired(self.now) || (request.status != RequestStatus::Pending && !request.is_told())
        };
        Ok(self.requests(department)?.iter().any(waits))
    }

    fn requests(&self, department: &Department) -> Result<Vec<Request>> {
        let Some(key) = (self.key)() else { return Ok(Vec::new()) };
        let mut all = Vec::new();
        for kind in RequestKind::ALL {
            all.extend(department.requests(kind, &key)?.requests);
        }
        Ok(all)
    }

    /// The parts, each read only where a stat of it moved or was too young to be trusted.
    fn read_parts(&self, department: &Department, entry: &Entry) -> Result<Read> {
        let mut known = BTreeMap::new();
        let mut files = Files::default();
        for part in Part::ALL {
            let found = department.stat_part(part, &self.pulse)?;
            files.add(&found);
            if part.path().is_none() {
                continue;
            }
            let stat = found.text();
            let before = entry.parts.get(part.name()).filter(|before| before.stat == stat);
            let digest = match before {
                Some(before) => before.digest.clone(),
                None => {
                    let mut seen = Observation::new();
                    department.observe_part(part, &mut seen)?;
                    digest_part(part, &seen)
                }
            };
            let stat = if found.racy { String::new() } else { stat };
            known.insert(part.name().to_string(), Known { stat, digest });
        }
        let mut parts: Parts =
            known.iter().map(|(name, known)| (name.clone(), known.digest.clone())).collect();
        parts.extend(self.outer()?.parts(department)?);
        Ok(Read { known, parts, files: files.stamp(department, &self.pulse)? })
    }

    fn outer(&self) -> Result<&Outer> {
        if self.outer.get().is_none() {
            let _already = self.outer.set(self.org.outer()?);
        }
        Ok(self.outer.get_or_init(Outer::default))
    }

    /// Fires schedules whose slot has come; the next slots. A department that may not run is asleep: what it misses is
    /// up to its policy when it wakes.
    fn fire(&self, department: &Department, config: Option<&DirectorConfig>) -> Result<Vec<(Time, String)>> {
        let Some(config) = config.filter(|config| config.auto_loop) else { return Ok(Vec::new()) };
        let unread = self.org.own.breaks(Breakage::GateUnread(Reading::Schedule));
        let closed = !self.org.gate(self.now).is_open() && !unread;
        if closed || department.paused()?.is_some() || department.blocked()?.is_some() {
            if department.schedules()?.schedules.is_empty() {
                return Ok(Vec::new());
            }
            let soon = self.now + TimeDelta::seconds(LOOK_AGAIN_S);
            return Ok(vec![(soon, "any, where the department may run again".to_string())]);
        }
        let fired = fire_schedules(department, config, self.now)?;
        for (file, why) in fired.refused {
            let why = format!("schedules/{file} can't be used: {why}");
            department.append_receipt_once(&Receipt::new(self.now, "schedule_unusable", why))?;
        }
        Ok(fired.next)
    }

    /// Everything of the department that becomes eligible by time alone.
    fn sources(&self, department: &Department, slots: Vec<(Time, String)>) -> Result<Sources> {
        let mut sources = Sources { slots, ..Sources::default() };
        for request in self.requests(department)? {
            let expires = request.text("expires").and_then(parse_rfc3339);
            if let (RequestStatus::Pending, Some(at)) = (request.status, expires) {
                sources.expiries.push((at, request.id.clone()));
            }
        }
        for task in department.open_tasks()?.0 {
            sources.items.extend(moments_of(&task));
        }
        for (role, due) in upkeep_due(department)? {
            sources.items.push((due.latest, format!("the {role} is due")));
        }
        Ok(sources)
    }
}

/// Whether a run or a command holds the department.
fn is_held(department: &Department) -> Result<bool> {
    let Some(own) = department.dir.find(".harness")? else { return Ok(false) };
    Ok(own.stat("lock")?.is_some() && matches!(try_lock(&own, "lock")?, Attempt::Busy))
}

/// Looks at a department without changing anything. What can't be read is told as the gate that it is.
pub fn inspect(eye: &Eye<'_>, department: &Department, entry: Entry) -> Inspection {
    inspect_whole(eye, department, &entry).unwrap_or_else(|error| Inspection {
        gates: unread(error.to_string()),
        cause: None,
        entry,
        next_at: None,
    })
}

fn unread(why: String) -> Vec<GateLine> {
    let mut gates = vec![GateLine::failed("config", "unreadable", why)];
    gates.extend(GATES[1..].iter().map(|gate| GateLine::not_run(gate, "the department can't be read")));
    gates
}

fn inspect_whole(eye: &Eye<'_>, department: &Department, entry: &Entry) -> Result<Inspection> {
    let (org, now) = (eye.org, eye.now);
    let (config, settings) = (department.config()?, org.settings()?);
    let Read { parts, .. } = eye.read_parts(department, entry)?;
    let moments = eye.sources(department, next_slots(department, now)?)?.moments();
    let next_at = next_of(&moments, now).map(|moment| (moment.at, moment.what.clone()));
    let settled = entry.settled.as_ref();
    let check = check(&Facts { now, config: &config, settled, parts: &parts, moments: &moments });
    let bench = Bench { org, department, settings: &settings, config: &config, settled, check: &check, now };
    let gates = bench.all()?;
    Ok(Inspection { gates, cause: check.cause.clone(), entry: entry.clone(), next_at })
}
