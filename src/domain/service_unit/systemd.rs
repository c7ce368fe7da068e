//! systemd units of the user's own manager: a service, a timer and a path unit for each department.
//!
//! Escaping, by what systemd does with each setting: a percent sign begins a specifier everywhere and is doubled. In
//! `ExecStart=` and `Environment=` words are quoted, with backslashes before backslashes and quotes. In `ExecStart=` a
//! dollar begins a variable; but not in the program's own path, so doubling would be wrong there, and the prefix `:`
//! turns variables off for the whole line instead. Paths in other settings are taken as they stand to the line's end.

use super::{NICE, PULSE_SECONDS, Surroundings, Target, UnitFile, log_path, unit_name, watched};
use crate::domain::id::Dept;

/// How the names of unit files end.
pub const ENDINGS: [&str; 3] = ["service", "timer", "path"];

pub fn render(surroundings: &Surroundings, dept: &Dept) -> [UnitFile; 3] {
    let name = unit_name(Target::Systemd, &surroundings.root, dept);
    let texts = [service(surroundings, dept), timer(&name, dept), path(surroundings, &name, dept)];
    let mut endings = ENDINGS.into_iter();
    texts.map(|text| UnitFile { name: format!("{name}.{}", endings.next().unwrap_or_default()), text })
}

fn service(surroundings: &Surroundings, dept: &Dept) -> String {
    let Surroundings { program, root, .. } = surroundings;
    let words = [program.as_str(), "--root", root, "tick", dept.as_str()];
    let no_variables = if words.iter().any(|word| word.contains('$')) { ":" } else { "" };
    let command: Vec<String> = words.into_iter().map(quoted).collect();
    let environment: String = surroundings
        .variables(Target::Systemd)
        .into_iter()
        .map(|(name, value)| format!("Environment={}\n", always_quoted(&format!("{name}={value}"))))
        .collect();
    let log = plain(&log_path(root, dept));
    format!(
        "[Unit]\n\
         Description=harness: a pulse of {dept}\n\
         # A pulse that fails is tried again at the next one, for ever.\n\
         StartLimitIntervalSec=0\n\
         \n\
         [Service]\n\
         Type=oneshot\n\
         WorkingDirectory={root}\n\
         {environment}\
         ExecStart={no_variables}{command}\n\
         Nice={NICE}\n\
         # A run may take as long as it takes; its engines have limits of their own.\n\
         TimeoutStartSec=infinity\n\
         TimeoutStopSec=30s\n\
         # The run itself ends what it started, and records that it was stopped.\n\
         KillMode=mixed\n\
         StandardOutput=append:{log}\n\
         StandardError=append:{log}\n",
        root = plain(root),
        command = command.join(" "),
    )
}

fn timer(name: &str, dept: &Dept) -> String {
    format!(
        "[Unit]\n\
         Description=harness: a pulse of {dept} every {PULSE_SECONDS} s\n\
         \n\
         [Timer]\n\
         OnActiveSec=1s\n\
         OnUnitActiveSec={PULSE_SECONDS}s\n\
         AccuracySec=1s\n\
         Unit={name}.service\n\
         \n\
         [Install]\n\
         WantedBy=timers.target\n"
    )
}

fn path(surroundings: &Surroundings, name: &str, dept: &Dept) -> String {
    let changed: String = watched(&surroundings.root, dept)
        .iter()
        .map(|folder| format!("PathChanged={}\n", plain(folder)))
        .collect();
    format!(
        "[Unit]\n\
         Description=harness: a pulse of {dept} when something arrives\n\
         # A path unit that meets a limit is off until somebody notices.\n\
         StartLimitIntervalSec=0\n\
         \n\
         [Path]\n\
         {changed}\
         TriggerLimitIntervalSec=0\n\
         Unit={name}.service\n\
         \n\
         [Install]\n\
         WantedBy=paths.target\n"
    )
}

/// A value that is taken as it stands, but for specifiers.
fn plain(value: &str) -> String {
    value.replace('%', "%%")
}

/// A word of a command line.
fn quoted(word: &str) -> String {
    let is_plain = word.chars().all(|c| c.is_ascii_alphanumeric() || "/._-+,@".contains(c));
    if is_plain { word.to_string() } else { always_quoted(word) }
}

fn always_quoted(word: &str) -> String {
    format!("\"{}\"", plain(word).replace('\\', "\\\\").replace('"', "\\\""))
}
