//! The PATH that a service gets, and the proof that every engine is found and starts in it.
//!
//! Under a scheduler there is no login shell and no PATH of a terminal. So each engine's own version command is run in a
//! bare environment (HOME, USER, LOGNAME and the PATH in question, nothing else): first in the shortest PATH, then in
//! the whole one of the user's, because a client may need an interpreter that lies elsewhere.

use crate::domain::config::DirectorConfig;
use crate::domain::settings::{EngineSettings, Settings};
use crate::engines::Preset;
use crate::process::find::find_program;
use crate::process::tool::{Tool, ask};
use crate::run::verify::{Check, Verdict};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a version command may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// What every PATH has at its end.
const USUAL: [&str; 5] = ["/usr/local/bin", "/opt/homebrew/bin", "/usr/bin", "/bin", "/usr/sbin"];

/// An engine that starts a program.
#[derive(Clone, Debug)]
pub struct Client {
    pub name: String,
    pub preset: Preset,
    pub program: String,
    /// Arguments that come before the preset's own.
    before: Vec<String>,
    /// Variables that it is to be given.
    pub env: Vec<String>,
    pub has_tools: bool,
}

impl Client {
    pub fn of(name: &str, settings: &EngineSettings) -> Option<Client> {
        let preset: Preset = settings.preset.parse().ok()?;
        let (program, before) = match settings.command.split_first() {
            Some((program, before)) => (program.clone(), before.to_vec()),
            None => (preset.default_program()?.to_string(), Vec::new()),
        };
        let (env, has_tools) = (settings.env.clone(), !settings.tools.is_empty());
        Some(Client { name: name.to_string(), preset, program, before, env, has_tools })
    }

    pub fn find(&self, path: &str) -> Option<PathBuf> {
        find_program(OsStr::new(&self.program), OsStr::new(path))
    }

    /// Runs its version command with these variables and no others.
    fn ask_version(&self, bare: &Bare<'_>, path: &str) -> Check {
        let name = format!("engine {}", self.name);
        let check = |verdict, what: String| Check { name: name.clone(), verdict, what };
        let Some(program) = self.find(path) else {
            return check(Verdict::Failed, format!("`{}` is not in the service's PATH", self.program));
        };
        let Some(version) = self.preset.version_arguments() else {
            let what = format!(
                "{} is there; it is not started, for nothing is known to be harmless",
                program.display()
            );
            return check(Verdict::NotRun, what);
        };
        let args = self.before.iter().map(String::as_str).chain(version.iter().copied());
        let variables = [("HOME", bare.home), ("USER", bare.user), ("LOGNAME", bare.logname), ("PATH", path)];
        let tool = Tool {
            program: program.clone(),
            args: args.map(OsString::from).collect(),
            env: variables.iter().map(|(name, value)| (name.into(), value.into())).collect(),
            cwd: bare.cwd.to_path_buf(),
            stdin: Vec::new(),
            limit: PATIENCE,
        };
        match ask(bare.guard, &tool) {
            Ok(told) if told.is_ok() => {
                let version = crate::domain::text::one_line(told.stdout.trim(), 80);
                check(Verdict::Passed, format!("{}: {version}", program.display()))
            }
            Ok(told) => check(Verdict::Failed, format!("{}: {}", program.display(), told.complaint())),
            Err(error) => check(Verdict::Failed, format!("{}: {error}", program.display())),
        }
    }
}

/// The bare environment.
pub struct Bare<'a> {
    pub guard: &'a Path,
    pub home: &'a str,
    pub user: &'a str,
    pub logname: &'a str,
    pub cwd: &'a Path,
}

/// The PATH, and what was found in it.
#[derive(Clone, Debug)]
pub struct Proof {
    pub path: String,
    pub checks: Vec<Check>,
}

impl Proof {
    pub fn faults(&self) -> Vec<String> {
        let failed = self.checks.iter().filter(|check| check.verdict == Verdict::Failed);
        failed.map(|check| format!("{}: {}", check.name, check.what)).collect()
    }
}

/// The lists of engines that departments have: each is asked in its order.
pub fn engine_lists(settings: &Settings, configs: &[DirectorConfig]) -> Vec<Vec<String>> {
    let lists: BTreeSet<Vec<String>> = configs
        .iter()
        .map(|config| config.engine.clone().unwrap_or_else(|| settings.defaults.engine.clone()))
        .collect();
    lists.into_iter().collect()
}

/// The clients among some lists of engines.
pub fn clients(settings: &Settings, lists: &[Vec<String>]) -> Vec<Client> {
    let names: BTreeSet<&String> = lists.iter().flatten().collect();
    names.into_iter().filter_map(|name| Client::of(name, settings.engines.get(name)?)).collect()
}

/// Whether some list has no other engine than this one.
pub fn is_alone(name: &str, lists: &[Vec<String>]) -> bool {
    lists.iter().any(|list| list.iter().all(|engine| engine == name))
}

/// Finds a PATH in which every client starts that the user has at all.
pub fn prove(settings: &Settings, lists: &[Vec<String>], user_path: &str, bare: &Bare<'_>) -> Proof {
    let clients = clients(settings, lists);
    let here: Vec<(&Client, PathBuf)> =
        clients.iter().filter_map(|client| Some((client, client.find(user_path)?))).collect();
    let mut proof = Proof { path: String::new(), checks: Vec::new() };
    for path in [shortest(&here), whole(user_path)] {
        let checks: Vec<Check> = here.iter().map(|(client, _)| client.ask_version(bare, &path)).collect();
        // What can't be started to see may need an interpreter that lies elsewhere: it gets the whole PATH.
        let all = checks.iter().all(|check| check.verdict == Verdict::Passed);
        proof = Proof { path, checks };
        if all {
            break;
        }
    }
    let missing = clients.iter().filter(|client| !here.iter().any(|(found, _)| found.name == client.name));
    proof.checks.extend(missing.map(|client| not_there(client, lists)));
    proof
}

/// The same in a PATH that is given, as that of a service which is installed.
pub fn prove_in(settings: &Settings, lists: &[Vec<String>], path: &str, bare: &Bare<'_>) -> Proof {
    let check = |client: &Client| match client.find(path) {
        Some(_) => client.ask_version(bare, path),
        None => Check { name: format!("engine {}", client.name), ..not_there(client, lists) },
    };
    Proof { path: path.to_string(), checks: clients(settings, lists).iter().map(check).collect() }
}

/// An engine that is nowhere: a fault where nothing else can be asked, else something that was not looked at.
pub fn not_there(client: &Client, lists: &[Vec<String>]) -> Check {
    let name = format!("engine {}", client.name);
    let program = &client.program;
    match is_alone(&client.name, lists) {
        true => {
            let what = format!("`{program}` is not on PATH, and a department has no other engine");
            Check { name, verdict: Verdict::Failed, what }
        }
        false => {
            let what = format!("`{program}` is not on PATH; mail that no other engine takes will wait");
            Check { name, verdict: Verdict::NotRun, what }
        }
    }
}

/// The folders of the clients, then the usual ones.
fn shortest(here: &[(&Client, PathBuf)]) -> String {
    let folders =
        here.iter().filter_map(|(_, program)| program.parent()).map(|folder| folder.display().to_string());
    joined(folders.chain(USUAL.iter().map(ToString::to_string)))
}

/// The absolute folders of the user's PATH, then the usual ones.
fn whole(user_path: &str) -> String {
    joined(user_path.split(':').map(str::to_string).chain(USUAL.iter().map(ToString::to_string)))
}

fn joined(folders: impl Iterator<Item = String>) -> String {
    let mut seen = Vec::new();
    for folder in folders.filter(|folder| folder.starts_with('/')) {
        if !seen.contains(&folder) {
            seen.push(folder);
        }
    }
    seen.join(":")
}
