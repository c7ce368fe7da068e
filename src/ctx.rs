//! The only file that reads the clock, randomness and the environment; everything below is handed values.
//!
//! Debug builds also read `HARNESS_TEST_NOW`, `HARNESS_TEST_SEED`, `HARNESS_TEST_FAULT`, `HARNESS_TEST_TRACE` and
//! `HARNESS_TEST_BREAK`, which fix the clock and the randomness, make the disk fail on purpose and break one promise of
//! the protocol. A release build knows none of them.
#![expect(
    clippy::disallowed_methods,
    reason = "this is the file that reads clock, randomness and environment"
)]

use crate::domain::time::{Time, parse_rfc3339};
use crate::domain::zone::Zone;
use crate::store::breakage::Breakage;
use crate::store::disk::{Disk, Mishap, Plan};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What the process was given by its surroundings.
#[derive(Debug)]
pub struct Ctx {
    variables: BTreeMap<String, String>,
    fixed_now: Cell<Option<Time>>,
    seed: Option<Cell<u64>>,
    disk: Disk,
    inside_run: bool,
    root_variable: Option<PathBuf>,
    is_virtual: bool,
}

impl Ctx {
    pub fn from_process() -> Ctx {
        let variables: BTreeMap<String, String> = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        let test = |name: &str| variables.get(name).filter(|_| cfg!(debug_assertions));
        let fixed_now = test("HARNESS_TEST_NOW").and_then(|text| parse_rfc3339(text));
        let seed = test("HARNESS_TEST_SEED").and_then(|text| text.parse().ok()).map(Cell::new);
        let disk = Disk::new(test_plan(&test));
        // Asked for by itself: a value that is no UTF-8 is not among the variables, and counts all the same.
        let inside_run = std::env::var_os("HARNESS_RUN").is_some();
        // A root that is no UTF-8 is one too: without it the command would speak of another organisation.
        let root_variable =
            std::env::var_os("HARNESS_ROOT").filter(|root| !root.is_empty()).map(PathBuf::from);
        let fixed_now = Cell::new(fixed_now);
        Ctx { fixed_now, seed, disk, inside_run, root_variable, is_virtual: false, variables }
    }

    /// The same surroundings with a clock that is set by hand, a seed, and another disk: for what is only tried.
    pub fn virtual_at(&self, now: Time, seed: u64, disk: Disk) -> Ctx {
        Ctx {
            variables: self.variables.clone(),
            fixed_now: Cell::new(Some(now)),
            seed: Some(Cell::new(seed)),
            disk,
            inside_run: self.inside_run,
            root_variable: self.root_variable.clone(),
            is_virtual: true,
        }
    }

    /// Sets a clock that is set by hand.
    pub fn set_now(&self, now: Time) {
        self.fixed_now.set(Some(now));
    }

    pub fn now(&self) -> Time {
        self.fixed_now.get().unwrap_or_else(chrono::Utc::now)
    }

    /// Seconds since some fixed point, for durations; it never goes back.
    pub fn clock(&self) -> std::time::Instant {
        std::time::Instant::now()
    }

    pub fn random<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0u8; N];
        match &self.seed {
            Some(seed) => bytes.iter_mut().for_each(|byte| *byte = next(seed)),
            None => fill(&mut bytes),
        }
        bytes
    }

    pub fn variables(&self) -> &BTreeMap<String, String> {
        &self.variables
    }

    /// The path of this program, which guards the engines it starts.
    pub fn program(&self) -> std::io::Result<PathBuf> {
        std::env::current_exe()
    }

    /// What a process started beside this one gets beside the environment: in tests a seed of its own.
    pub fn sibling_variables(&self, index: usize) -> Vec<(String, String)> {
        let seed = self.seed.as_ref().map(Cell::get);
        let other = |seed: u64| seed.wrapping_add(1_000_003 * (index as u64 + 1)).to_string();
        seed.map(|seed| ("HARNESS_TEST_SEED".to_string(), other(seed))).into_iter().collect()
    }

    /// A variable; empty counts as not set.
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Whether this process was started inside a run. Set at all counts, whatever the value.
    pub fn inside_run(&self) -> bool {
        self.inside_run
    }

    /// Whether something is only tried, in folders that are thrown away.
    pub fn is_virtual(&self) -> bool {
        self.is_virtual
    }

    /// The name of this machine's zone in the tz database; UTC where it can't be told.
    pub fn timezone(&self) -> String {
        let named = self.variable("TZ").map(|name| name.trim_start_matches(':').to_string());
        let found =
            named.filter(|name| Zone::find(name).is_some()).or_else(|| iana_time_zone::get_timezone().ok());
        found.filter(|name| Zone::find(name).is_some()).unwrap_or_else(|| "UTC".to_string())
    }

    /// The organisation's root where no `--root` says otherwise: HARNESS_ROOT, whatever its bytes; empty counts as not
    /// set.
    pub fn root_variable(&self) -> Option<PathBuf> {
        self.root_variable.clone()
    }

    /// The organisation's root where no `--root` and no HARNESS_ROOT say otherwise.
    pub fn home(&self) -> Option<PathBuf> {
        self.variable("HOME").map(PathBuf::from)
    }

    /// Where programs keep what the user configured.
    pub fn config_base(&self) -> Option<PathBuf> {
        let base = self.variable("XDG_CONFIG_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
        base.or_else(|| self.home().map(|home| home.join(".config")))
    }

    /// Where the user's key is.
    pub fn config_folder(&self) -> Option<PathBuf> {
        self.config_base().map(|base| base.join("harness"))
    }

    /// Where folders that are thrown away are made.
    pub fn temporary(&self) -> PathBuf {
        PathBuf::from(self.variable("TMPDIR").unwrap_or("/tmp"))
    }

    /// The user's number.
    pub fn uid(&self) -> u32 {
        rustix::process::getuid().as_raw()
    }

    /// The disk. Its operations are counted together, however often it is asked for.
    pub fn disk(&self) -> Disk {
        self.disk.clone()
    }
}

fn test_plan<'a>(test: &impl Fn(&str) -> Option<&'a String>) -> Option<Plan> {
    let mishap = test("HARNESS_TEST_FAULT").and_then(|text| parse_mishap(text));
    let trace = test("HARNESS_TEST_TRACE").map(PathBuf::from);
    let breakage = test("HARNESS_TEST_BREAK").and_then(|name| Breakage::parse(name));
    let asked = mishap.is_some() || trace.is_some() || breakage.is_some();
    asked.then_some(Plan { mishap, trace, breakage })
}

/// `die-before:17`, `die-after:17`, `die-torn:17`, `fail-once:17:28`, `fail-torn:17:28`, `fail-from:17:28`.
fn parse_mishap(text: &str) -> Option<(u64, Mishap)> {
    let mut parts = text.split(':');
    let (name, at) = (parts.next()?, parts.next()?.parse().ok()?);
    let mut code = || parts.next().and_then(|code| code.parse().ok());
    let mishap = match name {
        "die-before" => Mishap::DieBefore,
        "die-after" => Mishap::DieAfter,
        "die-torn" => Mishap::DieTorn,
        "fail-once" => Mishap::FailOnce(code()?),
        "fail-torn" => Mishap::FailTorn(code()?),
        "fail-from" => Mishap::FailFrom(code()?),
        _ => return None,
    };
    Some((at, mishap))
}

fn next(seed: &Cell<u64>) -> u8 {
    seed.set(seed.get().wrapping_add(0x9e37_79b9_7f4a_7c15));
    let mut z = seed.get();
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z >> 24) as u8
}

#[cfg(target_os = "linux")]
fn fill(bytes: &mut [u8]) {
    let mut filled = 0;
    while filled < bytes.len() {
        match rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty()) {
            Ok(count) => filled += count,
            Err(rustix::io::Errno::INTR) => {}
            // A machine that can't give randomness can't give a secret either.
            Err(_) => std::process::abort(),
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn fill(bytes: &mut [u8]) {
    use std::io::Read;
    let read = std::fs::File::open("/dev/urandom").and_then(|mut file| file.read_exact(bytes));
    if read.is_err() {
        std::process::abort();
    }
}
