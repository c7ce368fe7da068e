//! Unit files for the operating system's own scheduler: one pulse of one department each.
//!
//! A pulse is `harness --root ROOT tick DEPT`; `tick` decides what is due, so that a unit never has to change when a
//! config does. Everything a unit says is absolute and complete, because whatever starts it has no terminal's
//! environment: program, root, working folder, HOME, USER, LOGNAME, PATH, and where its output goes.
//!
//! It writes no file and starts nothing. What can't be said safely in a unit is refused here.

mod cron;
mod launchd;
mod systemd;

use super::digest::sha256;
use super::id::Dept;
use std::fmt;

pub use cron::{CRON_LINE_MAX, block_of, without_block};

/// How long there is between two pulses, in seconds.
pub const PULSE_SECONDS: u64 = 30;
/// The same under cron, which knows no shorter time.
pub const CRON_PULSE_SECONDS: u64 = 60;
/// How willing a pulse is to wait for others.
const NICE: i32 = 10;
/// Tells `tick` that its output goes to a log whose size it keeps.
pub const SERVICE_VARIABLE: &str = "HARNESS_SERVICE";

/// Who starts the pulses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Target {
    Systemd,
    Launchd,
    Cron,
}

impl Target {
    pub fn name(self) -> &'static str {
        match self {
            Target::Systemd => "systemd",
            Target::Launchd => "launchd",
            Target::Cron => "cron",
        }
    }

    pub fn parse(text: &str) -> Option<Target> {
        [Target::Systemd, Target::Launchd, Target::Cron].into_iter().find(|target| target.name() == text)
    }

    /// Seconds between two pulses.
    pub fn pulse_seconds(self) -> u64 {
        match self {
            Target::Cron => CRON_PULSE_SECONDS,
            Target::Systemd | Target::Launchd => PULSE_SECONDS,
        }
    }
}

/// What every unit of an organisation has in common. Paths are absolute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Surroundings {
    /// This program.
    pub program: String,
    pub root: String,
    pub home: String,
    pub user: String,
    pub logname: String,
    /// In which every engine was found.
    pub path: String,
    /// XDG_CONFIG_HOME where it is set: the user's key lies beneath it, and without it a pulse would look elsewhere.
    pub config_home: Option<String>,
}

impl Surroundings {
    /// Every variable that a pulse gets.
    fn variables(&self, target: Target) -> Vec<(&'static str, &str)> {
        let mut variables = vec![
            ("HOME", self.home.as_str()),
            ("USER", &self.user),
            ("LOGNAME", &self.logname),
            ("PATH", &self.path),
        ];
        variables.extend(self.config_home.as_deref().map(|folder| ("XDG_CONFIG_HOME", folder)));
        variables.push((SERVICE_VARIABLE, target.name()));
        variables
    }
}

/// A file to be installed: its name, and its text. Cron has one piece of the crontab instead, without a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitFile {
    pub name: String,
    pub text: String,
}

/// Why no unit can be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnitFault {
    /// No unit file can hold it as it is.
    Unsayable { what: &'static str, value: String, why: &'static str },
    /// Cron cuts longer lines off, and runs what is left.
    CronLineTooLong { dept: String, bytes: usize },
}

impl fmt::Display for UnitFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UnitFault::Unsayable { what, value, why } => {
                write!(f, "the {what} `{value}` can't stand in a unit file: {why}")
            }
            UnitFault::CronLineTooLong { dept, bytes } => write!(
                f,
                "the crontab line of {dept} would have {bytes} bytes, and cron takes {CRON_LINE_MAX} at the most"
            ),
        }
    }
}

/// What tells the units of one organisation from those of another on the same machine.
pub fn organisation_id(root: &str) -> String {
    sha256(root.as_bytes()).chars().take(8).collect()
}

/// The name that the units of a department share: a systemd unit without its ending, or a launchd label.
pub fn unit_name(target: Target, root: &str, dept: &Dept) -> String {
    let id = organisation_id(root);
    match target {
        Target::Launchd => format!("harness.{dept}.{id}"),
        Target::Systemd | Target::Cron => format!("harness-{dept}-{id}"),
    }
}

/// The department whose unit a file name of this organisation is.
pub fn department_of(target: Target, root: &str, file: &str) -> Option<Dept> {
    let id = organisation_id(root);
    let name = match target {
        Target::Systemd => {
            let (stem, ending) = file.rsplit_once('.')?;
            systemd::ENDINGS.contains(&ending).then_some(stem)?.strip_prefix("harness-")?.strip_suffix(&id)?
        }
        Target::Launchd => file.strip_suffix(".plist")?.strip_prefix("harness.")?.strip_suffix(&id)?,
        Target::Cron => return None,
    };
    Dept::parse(name.strip_suffix(['-', '.'])?).ok()
}

/// Where the output of a department's pulses goes.
pub fn log_path(root: &str, dept: &Dept) -> String {
    format!("{root}/.harness/logs/{dept}.log")
}

/// The folders whose change starts a pulse at once.
fn watched(root: &str, dept: &Dept) -> [String; 4] {
    ["inbox", "approvals", "questions", "escalations"].map(|folder| format!("{root}/org-{dept}/{folder}"))
}

/// Every file that these departments need.
pub fn render_units(
    target: Target,
    surroundings: &Surroundings,
    depts: &[Dept],
) -> Result<Vec<UnitFile>, UnitFault> {
    check_surroundings(surroundings)?;
    match target {
        Target::Systemd => Ok(depts.iter().flat_map(|dept| systemd::render(surroundings, dept)).collect()),
        Target::Launchd => Ok(depts.iter().map(|dept| launchd::render(surroundings, dept)).collect()),
        Target::Cron => cron::render(surroundings, depts).map(|unit| vec![unit]),
    }
}

fn check_surroundings(surroundings: &Surroundings) -> Result<(), UnitFault> {
    let Surroundings { program, root, home, user, logname, path, config_home } = surroundings;
    let folders = [("program's path", program), ("root", root), ("home folder", home)];
    for (what, value) in folders.into_iter().chain(config_home.iter().map(|folder| ("config folder", folder)))
    {
        check_value(what, value)?;
        if !value.starts_with('/') {
            return Err(unsayable(what, value, "it is not absolute"));
        }
    }
    for (what, value) in [("user name", user), ("login name", logname), ("PATH", path)] {
        check_value(what, value)?;
    }
    let relative = path.split(':').any(|folder| !folder.starts_with('/'));
    if relative { Err(unsayable("PATH", path, "a folder of it is not absolute")) } else { Ok(()) }
}

/// No format has a way to write a line end in a path, and systemd takes a backslash at the end of a line for one that
/// goes on, and drops spaces there.
fn check_value(what: &'static str, value: &str) -> Result<(), UnitFault> {
    match () {
        () if value.is_empty() => Err(unsayable(what, value, "it is empty")),
        () if value.chars().any(char::is_control) => {
            Err(unsayable(what, value, "it holds a line end or another control character"))
        }
        // XML has no way at all to write these two.
        () if value.contains(['\u{fffe}', '\u{ffff}']) => {
            Err(unsayable(what, value, "it holds a character that no XML may hold"))
        }
        () if value.ends_with('\\') || value.ends_with(char::is_whitespace) => {
            Err(unsayable(what, value, "it ends in a backslash or a space"))
        }
        () => Ok(()),
    }
}

fn unsayable(what: &'static str, value: &str, why: &'static str) -> UnitFault {
    UnitFault::Unsayable { what, value: super::text::one_line(value, 200), why }
}

#[cfg(test)]
mod tests;
