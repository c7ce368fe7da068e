//! Installing, removing and looking at the pulses that the operating system's scheduler gives.
//!
//! What a unit says is `domain::service_unit`'s; here it is verified with the system's own tool before anything is
//! placed, placed, handed to the scheduler, and taken back where that fails. Nothing half installed is left.

mod cron;
mod launchd;
pub mod prove;
mod systemd;

use super::verify::{Check, Verdict};
use crate::domain::id::Dept;
use crate::domain::service_unit::{Surroundings, Target, UnitFile, department_of};
use crate::process::find::find_program;
use crate::process::tool::{Told, Tool, ask};
use crate::store::disk::Disk;
use crate::store::fault::StoreError;
use crate::store::scratch::Scratch;
use crate::store::service::UnitFolder;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

/// How long a tool of the system may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// What such a tool gets of the environment: enough to find the user's manager, and nothing of the organisation's.
const PASSED: [&str; 7] =
    ["HOME", "USER", "LOGNAME", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "DBUS_SESSION_BUS_ADDRESS", "TMPDIR"];
/// Where the system's own tools are, where no PATH says it.
const SYSTEM_FOLDERS: &str = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";

/// The machine, as far as installing needs it.
pub struct Host<'a> {
    /// This program, which guards what it starts.
    pub guard: PathBuf,
    pub variables: &'a BTreeMap<String, String>,
    pub disk: Disk,
    pub uid: u32,
    /// The folder of the target's unit files; cron has none.
    pub units: PathBuf,
    /// Where folders to be thrown away are made.
    pub temporary: PathBuf,
    pub random: &'a dyn Fn() -> [u8; 8],
}

/// What is to be installed.
#[derive(Clone, Debug)]
pub struct Service {
    pub target: Target,
    pub surroundings: Surroundings,
    pub depts: Vec<Dept>,
    pub units: Vec<UnitFile>,
}

/// Why it could not be done, and what helps.
#[derive(Debug)]
pub struct ServiceError {
    pub message: String,
    pub hint: Option<String>,
}

impl From<StoreError> for ServiceError {
    fn from(error: StoreError) -> ServiceError {
        ServiceError { hint: error.hint(), message: error.to_string() }
    }
}

type Result<T> = std::result::Result<T, ServiceError>;

fn failed(message: impl Into<String>, hint: impl Into<String>) -> ServiceError {
    ServiceError { message: message.into(), hint: Some(hint.into()) }
}

/// What came of asking a tool.
pub(super) enum Asked {
    NotThere,
    Told(Told),
}

impl<'a> Host<'a> {
    /// The same machine, with another folder of unit files.
    pub fn with_units(&self, units: PathBuf) -> Host<'a> {
        Host {
            guard: self.guard.clone(),
            variables: self.variables,
            disk: self.disk.clone(),
            uid: self.uid,
            units,
            temporary: self.temporary.clone(),
            random: self.random,
        }
    }
}

impl Host<'_> {
    /// Runs a tool of the system by its name.
    fn ask(&self, name: &str, args: &[&str], stdin: &str) -> Asked {
        self.ask_with(name, args, stdin, &[])
    }

    fn ask_with(&self, name: &str, args: &[&str], stdin: &str, more: &[(&str, &str)]) -> Asked {
        let Some(program) = self.find(name) else { return Asked::NotThere };
        let passed = PASSED.iter().filter_map(|name| Some((*name, self.variables.get(*name)?.as_str())));
        let fixed = [("PATH", self.path()), ("LC_ALL", "C".to_string())];
        let mut env: Vec<(OsString, OsString)> =
            passed.map(|(name, value)| (name.into(), value.into())).collect();
        env.extend(fixed.into_iter().map(|(name, value)| (name.into(), value.into())));
        env.extend(more.iter().map(|(name, value)| (name.into(), value.into())));
        let tool = Tool {
            program,
            args: args.iter().map(OsString::from).collect(),
            env,
            cwd: PathBuf::from("/"),
            stdin: stdin.as_bytes().to_vec(),
            limit: PATIENCE,
        };
        match ask(&self.guard, &tool) {
            Ok(told) => Asked::Told(told),
            Err(error) => Asked::Told(Told {
                how: crate::process::child::How::GuardLost,
                code: None,
                stdout: String::new(),
                stderr: error.to_string(),
            }),
        }
    }

    /// The user's name, where the environment doesn't say it.
    pub fn user_name(&self) -> Option<String> {
        match self.ask("id", &["-un"], "") {
            Asked::Told(told) if told.is_ok() => {
                Some(told.stdout.trim().to_string()).filter(|name| !name.is_empty())
            }
            _ => None,
        }
    }

    fn find(&self, name: &str) -> Option<PathBuf> {
        find_program(OsStr::new(name), OsStr::new(&self.path()))
    }

    fn path(&self) -> String {
        match self.variables.get("PATH").filter(|path| !path.is_empty()) {
            Some(path) => path.clone(),
            None => SYSTEM_FOLDERS.to_string(),
        }
    }

    fn scratch(&self) -> Result<Scratch> {
        Ok(Scratch::make(&self.temporary, "units", &(self.random)())?)
    }

    /// Asks a tool that must be there and must agree.
    fn must(&self, name: &str, args: &[&str], stdin: &str) -> Result<String> {
        match self.ask(name, args, stdin) {
            Asked::Told(told) if told.is_ok() => Ok(told.stdout),
            Asked::Told(told) => Err(failed(
                format!("`{name} {}` failed: {}", args.join(" "), told.complaint()),
                format!("try it by hand: `{name} {}`", args.join(" ")),
            )),
            Asked::NotThere => Err(failed(
                format!("there is no `{name}` here"),
                "choose another target: `--target systemd`, `--target launchd` or `--target cron`",
            )),
        }
    }

    /// Who would start the pulses on this machine, where nobody says.
    pub fn usual_target(&self) -> Target {
        match () {
            () if cfg!(target_os = "macos") => Target::Launchd,
            () if self.find("systemctl").is_some() => Target::Systemd,
            () => Target::Cron,
        }
    }

    /// Whether the system's own tool takes the units as they are.
    pub fn verify(&self, service: &Service) -> Result<Check> {
        match service.target {
            Target::Systemd => systemd::verify(self, service),
            Target::Launchd => launchd::verify(self, service),
            Target::Cron => Ok(check("verified", Verdict::NotRun, "crontab checks it when it takes it")),
        }
    }

    /// Puts the units in place and starts them. What goes wrong takes them back.
    pub fn install(&self, service: &Service) -> Result<Vec<Check>> {
        let root = &service.surroundings.root;
        let before = self.departments_with_units(service.target, root)?;
        if before.iter().any(|dept| !service.depts.contains(dept)) {
            // Departments that are gone would be pulsed for ever.
            self.uninstall(service.target, root)?;
        }
        let installed = match service.target {
            Target::Systemd => systemd::install(self, service),
            Target::Launchd => launchd::install(self, service),
            Target::Cron => cron::install(self, service),
        };
        if installed.is_err() {
            // The first error is the one to report; a second one while taking back adds nothing.
            let _ignored = self.uninstall(service.target, &service.surroundings.root);
        }
        installed
    }

    /// Takes every unit of the organisation away, of departments that are gone too; what was removed.
    pub fn uninstall(&self, target: Target, root: &str) -> Result<Vec<String>> {
        match target {
            Target::Systemd => systemd::uninstall(self, root),
            Target::Launchd => launchd::uninstall(self, root),
            Target::Cron => cron::uninstall(self, root),
        }
    }

    /// How each department's pulse stands.
    pub fn states(&self, service: &Service) -> Result<Vec<UnitState>> {
        match service.target {
            Target::Systemd => systemd::states(self, service),
            Target::Launchd => launchd::states(self, service),
            Target::Cron => cron::states(self, service),
        }
    }

    /// Whether pulses go on when the user has logged out.
    pub fn survives_logout(&self, target: Target, user: &str) -> Survives {
        match target {
            Target::Systemd => systemd::lingers(self, user),
            // Agents belong to the login; only a daemon of the system's outlives it.
            Target::Launchd => Survives::No,
            Target::Cron => Survives::Yes,
        }
    }

    /// Turns lingering on where the system lets us; what was done.
    pub fn make_linger(&self, user: &str) -> Lingering {
        systemd::make_linger(self, user)
    }

    pub fn stop_lingering(&self, user: &str) -> bool {
        matches!(self.ask("loginctl", &["disable-linger", user], ""), Asked::Told(told) if told.is_ok())
    }

    /// The departments that have a unit of this organisation's.
    pub fn departments_with_units(&self, target: Target, root: &str) -> Result<Vec<Dept>> {
        match target {
            Target::Cron => cron::departments(self, root),
            _ => {
                let names = self.unit_names(target, root)?;
                let mut depts: Vec<Dept> =
                    names.iter().filter_map(|name| department_of(target, root, name)).collect();
                depts.sort();
                depts.dedup();
                Ok(depts)
            }
        }
    }

    /// The names of this organisation's unit files that are there.
    fn unit_names(&self, target: Target, root: &str) -> Result<Vec<String>> {
        let Some(folder) = UnitFolder::find(&self.units, &self.disk)? else { return Ok(Vec::new()) };
        let names = folder.names()?.into_iter();
        Ok(names.filter(|name| department_of(target, root, name).is_some()).collect())
    }

    fn place(&self, units: &[UnitFile]) -> Result<Vec<String>> {
        let folder = UnitFolder::make(&self.units, &self.disk)?;
        let mut placed = Vec::new();
        for unit in units {
            folder.write(&unit.name, &unit.text)?;
            placed.push(folder.path(&unit.name).display().to_string());
        }
        Ok(placed)
    }

    fn take_away(&self, names: &[String]) -> Result<Vec<String>> {
        let Some(folder) = UnitFolder::find(&self.units, &self.disk)? else { return Ok(Vec::new()) };
        let mut removed = Vec::new();
        for name in names {
            folder.remove(name)?;
            removed.push(folder.path(name).display().to_string());
        }
        folder.remove_where_empty();
        Ok(removed)
    }

    /// Whether the files of a department are there, and say what they would say if they were installed now.
    fn placed(&self, service: &Service, dept: &Dept) -> Result<Placed> {
        let Some(folder) = UnitFolder::find(&self.units, &self.disk)? else { return Ok(Placed::No) };
        let root = &service.surroundings.root;
        let is_ours =
            |unit: &&UnitFile| department_of(service.target, root, &unit.name).as_ref() == Some(dept);
        let (mut there, mut same, mut all) = (0, 0, 0);
        for unit in service.units.iter().filter(is_ours) {
            let text = folder.read(&unit.name)?;
            all += 1;
            there += usize::from(text.is_some());
            same += usize::from(text.as_deref() == Some(&unit.text));
        }
        Ok(Placed::of(there, same, all))
    }
}

/// Whether a unit is where it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placed {
    Yes,
    /// It is there and says something else, or part of it is missing.
    Differs,
    No,
}

impl Placed {
    fn of(there: usize, same: usize, all: usize) -> Placed {
        match () {
            () if there == 0 => Placed::No,
            () if same == all => Placed::Yes,
            () => Placed::Differs,
        }
    }

    pub fn word(self) -> &'static str {
        match self {
            Placed::Yes => "yes",
            Placed::Differs => "differs",
            Placed::No => "no",
        }
    }
}

/// A department's pulse.
#[derive(Clone, Debug)]
pub struct UnitState {
    pub dept: Dept,
    pub installed: Placed,
    /// `waiting`, `running`, `stopped`, `failed`, `not loaded` or `not known`.
    pub running: String,
    /// What the scheduler said, where that helps.
    pub detail: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Survives {
    Yes,
    No,
    /// Nobody could say; why.
    NotKnown(String),
}

/// What became of lingering.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lingering {
    WasOn,
    TurnedOn,
    /// The command that somebody with more rights has to give.
    Step(String),
}

fn check(name: &str, verdict: Verdict, what: impl Into<String>) -> Check {
    Check { name: name.to_string(), verdict, what: what.into() }
}
