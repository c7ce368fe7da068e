//! The gates between a department and its next run, looked at one after the other. `tick` and `why` share them.

use crate::domain::budget::{Book, Spend, earliest, limits_for};
use crate::domain::config::DirectorConfig;
use crate::domain::hours::parse_hours;
use crate::domain::settings::Settings;
use crate::domain::time::{Time, render_rfc3339};
use crate::domain::wake::Settled;
use crate::domain::wake::check::{Check, due_at};
use crate::domain::why::GateLine;
use crate::store::charters::Standing;
use crate::store::fault::Result;
use crate::store::lock::{Attempt, try_lock};
use crate::store::org::{Department, Org};
use chrono::TimeDelta;

/// What is refused for a reason that no file announces is looked at again after so many seconds.
const LOOK_AGAIN_S: i64 = 60;

/// What the gates are asked about.
pub struct Bench<'a> {
    pub org: &'a Org,
    pub department: &'a Department,
    pub settings: &'a Settings,
    pub config: &'a DirectorConfig,
    pub settled: Option<&'a Settled>,
    pub check: &'a Check,
    pub now: Time,
}

/// A gate's word, and when time alone changes it.
pub struct Asked {
    pub line: GateLine,
    pub look_at: Option<Time>,
}

impl Bench<'_> {
    /// The first gate that says no; none where the department may run.
    pub fn first_refusal(&self) -> Result<Option<Asked>> {
        for ask in Self::GATES {
            let asked = ask(self)?;
            if asked.line.verdict == crate::domain::why::State::Failed {
                return Ok(Some(asked));
            }
        }
        Ok(None)
    }

    /// Every gate's word.
    pub fn all(&self) -> Result<Vec<GateLine>> {
        Self::GATES.iter().map(|ask| Ok(ask(self)?.line)).collect()
    }

    const GATES: [fn(&Self) -> Result<Asked>; 8] = [
        Self::config,
        Self::due,
        Self::active_hours,
        Self::lock,
        Self::safety_gate,
        Self::budget,
        Self::quota,
        Self::wake_check,
    ];

    fn passed(&self, gate: &'static str, evidence: impl Into<String>) -> Result<Asked> {
        Ok(Asked { line: GateLine::passed(gate, evidence), look_at: None })
    }

    fn failed(
        &self,
        gate: &'static str,
        code: &'static str,
        evidence: impl Into<String>,
        look_at: Option<Time>,
    ) -> Result<Asked> {
        Ok(Asked { line: GateLine::failed(gate, code, evidence), look_at })
    }

    fn soon(&self) -> Option<Time> {
        Some(self.now + TimeDelta::seconds(LOOK_AGAIN_S))
    }

    fn config(&self) -> Result<Asked> {
        let gate = "config";
        if !self.config.auto_loop {
            return self.failed(gate, "off", "autoLoop is off", None);
        }
        if let Some(paused) = self.department.paused()? {
            let what = format!("paused by {}: {}", paused.by, paused.reason);
            return self.failed(gate, "paused", what, self.soon());
        }
        if let Some(blocked) = self.department.blocked()? {
            return self.failed(gate, "blocked", format!("blocked: {}", blocked.reason), self.soon());
        }
        let what = match self.org.standing(self.department)? {
            Standing::Accepted => {
                let every = self.config.auto_interval_seconds;
                return self.passed(gate, format!("autoLoop is on, every {every} s"));
            }
            Standing::Never => "the department was never accepted".to_string(),
            Standing::Changed(files) => format!("{} changed since it was accepted", files.join(", ")),
        };
        self.failed(gate, "not_accepted", what, self.soon())
    }

    fn due(&self) -> Result<Asked> {
        let due = due_at(self.check.cause.as_ref(), self.settled, self.config, self.now);
        if due > self.now {
            let what = format!("not before {}", render_rfc3339(due));
            return self.failed("due", "not_due", what, Some(due));
        }
        match (&self.check.cause, self.settled) {
            (Some(cause), _) if cause.is_event() => self.passed("due", "at once, by an event"),
            (_, Some(settled)) => {
                self.passed("due", format!("its interval has passed since {} ({})", settled.at, settled.run))
            }
            (_, None) => self.passed("due", "it has never run"),
        }
    }

    fn active_hours(&self) -> Result<Asked> {
        let gate = "active hours";
        let Some(text) = &self.config.active_hours else { return self.passed(gate, "none are set") };
        match parse_hours(text) {
            Ok(hours) if hours.is_open(self.now) => self.passed(gate, format!("within {text}")),
            Ok(hours) => {
                let next = hours.next_open(self.now);
                let from = next.map(|at| format!(", from {}", render_rfc3339(at))).unwrap_or_default();
                self.failed(gate, "outside_hours", format!("outside {text}{from}"), next)
            }
            Err(what) => self.failed(gate, "outside_hours", format!("`activeHours` {what}"), None),
        }
    }

    fn lock(&self) -> Result<Asked> {
        let Some(own) = self.department.dir.find(".harness")? else { return self.passed("lock", "free") };
        if own.stat("lock")?.is_none() {
            return self.passed("lock", "free");
        }
        match try_lock(&own, "lock")? {
            Attempt::Held(_) => self.passed("lock", "free"),
            Attempt::Busy => {
                let active = self.department.active().unwrap_or(None);
                let by = active.map_or_else(|| "a command".to_string(), |active| active.run);
                self.failed("lock", "busy", format!("held by {by}"), Some(self.now))
            }
        }
    }

    fn safety_gate(&self) -> Result<Asked> {
        let gate = self.org.gate(self.now);
        let what = format!("{}: {}", gate.words(), gate.reason);
        if gate.is_open() {
            return self.passed("safety gate", what);
        }
        self.failed("safety gate", "gate_closed", what, None)
    }

    fn engines(&self) -> &[String] {
        self.config.engine.as_deref().unwrap_or(&self.settings.defaults.engine)
    }

    /// Whether an engine of the list starts nothing and costs nothing.
    fn has_free_engine(&self) -> bool {
        let preset = |name: &String| self.settings.engines.get(name).map(|engine| engine.preset.as_str());
        self.engines().iter().any(|name| name == "rules" || matches!(preset(name), Some("rules" | "script")))
    }

    fn budget(&self) -> Result<Asked> {
        let worst = self.engines().iter().filter_map(|name| self.settings.engines.get(name));
        let least = worst.map(|engine| engine.worst_case_usd).fold(f64::INFINITY, f64::min);
        let usd = if self.has_free_engine() || !least.is_finite() { 0.0 } else { least };
        let spend = Spend { dept: self.department.dept.to_string(), usd, runs: 1, ..Spend::default() };
        let limits = limits_for(&self.settings.budget, &spend);
        let lines = match self.org.budget_lines(earliest(&limits, self.now)) {
            Ok(lines) => lines,
            Err(error) => return self.failed("budget", "budget", error.to_string(), self.soon()),
        };
        match Book::read(&lines).check(&limits, &spend, self.now) {
            Ok(()) => self.passed("budget", "there is some left"),
            Err(why) => self.failed("budget", "budget", why, self.soon()),
        }
    }

    fn quota(&self) -> Result<Asked> {
        let mut waits = Vec::new();
        for engine in self.engines().iter().filter(|name| self.settings.engines.contains_key(*name)) {
            if let Some(at) = self.org.not_before(engine, self.now)? {
                waits.push((at, engine));
            }
        }
        let Some((first, engine)) = waits.iter().min() else {
            return self.passed("quota", "no engine waits");
        };
        let what = format!("{engine} is not to be asked before {}", render_rfc3339(*first));
        let others = self.engines().len() > waits.len() || self.has_free_engine();
        if others { self.passed("quota", what) } else { self.failed("quota", "quota", what, Some(*first)) }
    }

    fn wake_check(&self) -> Result<Asked> {
        let Check { cause, evidence, code, look_at } = self.check;
        if cause.is_some() {
            return self.passed("wake check", evidence);
        }
        self.failed("wake check", code, evidence, *look_at)
    }
}
