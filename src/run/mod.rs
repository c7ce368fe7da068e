//! The imperative shell: loads a snapshot, asks the domain, lets process and store act, and records.
//!
//! It holds no rules of its own and prints nothing; what happens is told to a [`Sink`].

mod agent;
pub mod ask;
pub mod board;
mod breaker;
mod client;
pub mod closing;
pub mod commit;
pub mod cycle;
pub mod dispatch;
pub mod finish;
pub mod gates;
pub mod gather;
pub mod git;
pub mod health;
mod intake;
mod listen;
pub mod look;
mod notify;
mod reading;
pub mod recover;
pub mod replay;
pub mod requests;
mod reserve;
mod revisions;
pub mod schedules;
pub mod service;
pub mod stalled;
pub mod step;
pub mod stop;
pub mod survey;
pub mod tick;
pub mod trail;
pub mod undo;
pub mod upkeep;
pub mod verify;
mod wake;

use crate::domain::event::{Event, Sink};
use crate::domain::gate::Reading;
use crate::domain::redact::Redactor;
use crate::domain::settings::Settings;
use crate::domain::time::Time;
use crate::process::interrupt::Stop;
use crate::store::breakage::Breakage;
use crate::store::charters::{LoadedCharter, Standing};
use crate::store::fault::StoreError;
use crate::store::journal::Journal;
use crate::store::key::Key;
use crate::store::org::{Department, Org};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::path::PathBuf;

pub use wake::{Slot, Watch};

/// Everything a run works with.
pub struct Shop<'a> {
    pub run_id: String,
    pub org: Org,
    pub department: Department,
    pub settings: Settings,
    pub key: Key,
    pub journal: Journal,
    pub redactor: Redactor,
    /// This program, which guards the engines.
    pub guard: PathBuf,
    /// The environment, of which engines get what they are named.
    pub variables: &'a BTreeMap<String, String>,
    pub now: &'a dyn Fn() -> Time,
    pub random: &'a dyn Fn() -> [u8; 8],
    pub interrupt: &'a dyn Fn() -> Option<Stop>,
    pub sink: RefCell<&'a mut dyn Sink>,
    /// The engines to ask, in order.
    pub engines: Vec<String>,
    pub effects: Effects,
    /// What the run saw and wrote, for the wake check after it.
    pub watch: Watch,
    /// Whether this run is counted, and how many calls it has made.
    pub counted: Cell<bool>,
    pub calls: Cell<u64>,
    /// How often an engine was asked.
    pub asked: Cell<u64>,
    /// How many scripted answers were shown and not counted.
    pub shown_scripts: Cell<u64>,
    /// What the human is to be told once nobody waits for this run.
    pub notices: RefCell<Vec<notify::Notice>>,
}

/// Whether what is decided is carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effects {
    CarriedOut,
    /// Everything but the effects: nothing is written.
    Shown,
}

/// Why a run can't begin or go on, before an engine is asked.
#[derive(Clone, Debug)]
pub enum Refused {
    Gate(String),
    NotAccepted(Standing),
    Charter(String),
    /// `goal.toml` can't be read.
    Goal(String),
    Blocked(String),
    Paused(String),
    Limit(String),
    /// `runs.jsonl` can't be counted.
    Ledger(String),
    Budget(String),
    /// What it is about belongs to a directive or project that is paused or cancelled.
    Held(String),
    /// No engine can be asked now.
    NoEngine {
        what: String,
        /// From when on one may be asked again, where one is out of quota or rests.
        not_before: Option<Time>,
    },
}

/// What goes wrong in the shell itself.
#[derive(Debug)]
pub enum RunError {
    Store(StoreError),
    Refused(Refused),
}

impl From<StoreError> for RunError {
    fn from(error: StoreError) -> RunError {
        RunError::Store(error)
    }
}

/// What the functions of this layer return.
pub type Result<T> = std::result::Result<T, RunError>;

impl Shop<'_> {
    /// Tells whoever listens. What comes from outside may hold a secret, whoever tells of it: it is masked here.
    pub fn tell(&self, event: &Event<'_>) {
        let mut sink = self.sink.borrow_mut();
        match *event {
            Event::Notice(text) => sink.hear(&Event::Notice(&self.redactor.mask(text))),
            Event::NotCommitted(why) => sink.hear(&Event::NotCommitted(&self.redactor.mask(why))),
            Event::Stderr(text) => sink.hear(&Event::Stderr(&self.redactor.mask(text))),
            Event::Refused(refusals) => sink.hear(&Event::Refused(&self.mask_refusals(refusals))),
            Event::Done { run, outcome, reason } => {
                sink.hear(&Event::Done { run, outcome, reason: &self.redactor.mask(reason) });
            }
            _ => sink.hear(event),
        }
    }

    /// Whether a test has this promise broken.
    fn breaks(&self, breakage: Breakage) -> bool {
        self.department.dir.breaks(breakage)
    }

    /// The gate, read anew. There is no way to an engine or to an effect that doesn't pass here.
    pub fn check_gate(&self, reading: Reading) -> Result<()> {
        let gate = self.org.gate((self.now)());
        if gate.is_open() || self.breaks(Breakage::GateUnread(reading)) {
            return Ok(());
        }
        Err(RunError::Refused(Refused::Gate(format!("the gate is {}: {}", gate.words(), gate.reason))))
    }

    /// Whether the department is paused, read anew.
    pub fn check_paused(&self) -> Result<()> {
        match self.department.paused()? {
            None => Ok(()),
            Some(paused) => {
                Err(RunError::Refused(Refused::Paused(format!("{} (by {})", paused.reason, paused.by))))
            }
        }
    }

    /// The charter, as a human accepted it.
    pub fn accepted_charter(&self) -> Result<LoadedCharter> {
        match self.org.standing(&self.department)? {
            Standing::Accepted => {}
            other => return Err(RunError::Refused(Refused::NotAccepted(other))),
        }
        let open = self.department.open_to_all()?;
        if !open.is_empty() {
            let what =
                format!("everyone may write to {}, so nobody knows whose rules they are", open.join(", "));
            return Err(RunError::Refused(Refused::Charter(what)));
        }
        self.department.charter().map_err(|error| RunError::Refused(Refused::Charter(error.to_string())))
    }
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Refused::NotAccepted(Standing::Changed(files)) => {
                write!(f, "{} changed since the department was accepted", files.join(", "))
            }
            Refused::NotAccepted(_) => f.write_str("the department was never accepted"),
            Refused::Paused(reason) => write!(f, "the department is paused: {reason}"),
            Refused::Held(what) => write!(f, "its work is held: {what}"),
            Refused::Blocked(reason) => write!(f, "the department is blocked: {reason}"),
            Refused::Gate(what)
            | Refused::Charter(what)
            | Refused::Goal(what)
            | Refused::Limit(what)
            | Refused::Ledger(what)
            | Refused::Budget(what)
            | Refused::NoEngine { what, .. } => f.write_str(what),
        }
    }
}

impl std::fmt::Display for RunError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            RunError::Store(error) => write!(f, "{error}"),
            RunError::Refused(refused) => write!(f, "{refused}"),
        }
    }
}
