//! A launchd agent for each department: every 30 s, at load, and when something arrives.
//!
//! Values stand in XML as they are, but for the five characters that XML escapes; launchd expands nothing.

use super::{NICE, PULSE_SECONDS, Surroundings, Target, UnitFile, log_path, unit_name, watched};
use crate::domain::id::Dept;

/// launchd starts no job more often than this, in seconds; without it, every ten.
const THROTTLE: u64 = 5;

pub fn render(surroundings: &Surroundings, dept: &Dept) -> UnitFile {
    let Surroundings { program, root, .. } = surroundings;
    let label = unit_name(Target::Launchd, root, dept);
    let words = [program.as_str(), "--root", root, "tick", dept.as_str()];
    let words: String = words.iter().map(|word| format!("    {}\n", string(word))).collect();
    let environment: String = surroundings
        .variables(Target::Launchd)
        .iter()
        .map(|(name, value)| format!("    <key>{name}</key>\n    {}\n", string(value)))
        .collect();
    let watched: String =
        watched(root, dept).iter().map(|folder| format!("    {}\n", string(folder))).collect();
    let log = string(&log_path(root, dept));
    let text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n\
         <plist version=\"1.0\">\n\
         <dict>\n  \
         <key>Label</key>\n  <string>{label}</string>\n  \
         <key>ProgramArguments</key>\n  <array>\n{words}  </array>\n  \
         <key>WorkingDirectory</key>\n  {root}\n  \
         <key>EnvironmentVariables</key>\n  <dict>\n{environment}  </dict>\n  \
         <key>StartInterval</key>\n  <integer>{PULSE_SECONDS}</integer>\n  \
         <key>WatchPaths</key>\n  <array>\n{watched}  </array>\n  \
         <key>RunAtLoad</key>\n  <true/>\n  \
         <key>ThrottleInterval</key>\n  <integer>{THROTTLE}</integer>\n  \
         <key>Nice</key>\n  <integer>{NICE}</integer>\n  \
         <key>StandardOutPath</key>\n  {log}\n  \
         <key>StandardErrorPath</key>\n  {log}\n\
         </dict>\n</plist>\n",
        root = string(root),
    );
    UnitFile { name: format!("{label}.plist"), text }
}

fn string(value: &str) -> String {
    let escaped = value
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&apos;");
    format!("<string>{escaped}</string>")
}
