//! Asking git: one place that finds the program, sets the safe environment and reads what it says.

use crate::domain::git::{arguments, environment, first_line};
use crate::process::find::find_program;
use crate::process::quick::{QuickEnd, QuickSpec, run_quick};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a call may take: a repository on a slow disk, or somebody who types a passphrase.
const LIMIT: Duration = Duration::from_secs(60);
const OUTPUT_MAX: usize = 256 * 1024 * 1024;

/// Git in one folder.
#[derive(Debug)]
pub struct Git<'a> {
    program: PathBuf,
    env: Vec<(String, String)>,
    cwd: &'a Path,
}

/// What git said where it did what it was asked.
pub type Said = Result<Vec<u8>, String>;

impl<'a> Git<'a> {
    /// None where there is no git on the machine.
    pub fn find(variables: &BTreeMap<String, String>, cwd: &'a Path) -> Option<Git<'a>> {
        let path = variables.get("PATH").map(String::as_str).unwrap_or("/usr/local/bin:/usr/bin:/bin");
        let program = find_program(OsStr::new("git"), OsStr::new(path))?;
        Some(Git { program, env: environment(variables), cwd })
    }

    /// The same with further variables.
    pub fn with_env(&self, more: &[(&str, &str)]) -> Git<'a> {
        let mut env = self.env.clone();
        env.retain(|(name, _)| !more.iter().any(|(other, _)| other == name));
        env.extend(more.iter().map(|(name, value)| (name.to_string(), value.to_string())));
        Git { program: self.program.clone(), env, cwd: self.cwd }
    }

    /// One call, however it ends.
    pub fn ask(&self, args: &[&str], stdin: Vec<u8>) -> Result<QuickEnd, String> {
        let spec = QuickSpec {
            program: self.program.clone(),
            args: arguments(args),
            env: &self.env,
            cwd: self.cwd,
            stdin,
            limit: LIMIT,
            output_bytes: OUTPUT_MAX,
        };
        run_quick(spec).map_err(|error| format!("git {}: {error}", args.first().unwrap_or(&"")))
    }

    /// Several calls that don't depend on each other, side by side: each costs the start of a process.
    pub fn ask_together<const N: usize>(
        &self,
        calls: [(&[&str], Vec<u8>); N],
    ) -> [Result<QuickEnd, String>; N] {
        std::thread::scope(|scope| {
            let asked = calls.map(|(args, stdin)| scope.spawn(move || self.ask(args, stdin)));
            asked.map(|asked| asked.join().unwrap_or_else(|_| Err("asking git broke off".to_string())))
        })
    }

    /// One call that must succeed.
    pub fn call(&self, args: &[&str], stdin: Vec<u8>) -> Said {
        succeeded(self.ask(args, stdin)?)
    }
}

/// What a call said that must have succeeded.
pub fn succeeded(ended: QuickEnd) -> Said {
    match ended.code {
        Some(0) => Ok(ended.stdout),
        _ => Err(first_line(&String::from_utf8_lossy(&ended.stderr))),
    }
}
