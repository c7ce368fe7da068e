//! Every file that runs change on purpose, as text: what is compared after a crash.

use super::fault::{Result, StoreError};
use std::path::Path;

/// Folders and files of a department that hold what its runs did; records, ledgers and logs are derived from it.
const KEPT: [&str; 13] = [
    "inbox",
    "outbox",
    "archive",
    "tasks",
    "agents",
    "approvals",
    "questions",
    "escalations",
    "schedules",
    "memory",
    "decisions.md",
    "weekly.md",
    "goal.toml",
];

/// The path and text of each, beneath the root, in a fixed order. Temporary files are none of them.
pub fn effect_files(root: &Path) -> Result<Vec<(String, String)>> {
    let mut files = Vec::new();
    for entry in walkdir::WalkDir::new(root).sort_by_file_name().into_iter().filter_map(|entry| entry.ok()) {
        let Ok(inside) = entry.path().strip_prefix(root) else { continue };
        let mut parts = inside.iter().filter_map(|part| part.to_str());
        let department = parts.next().is_some_and(|first| first.starts_with("org-"));
        let kept = parts.next().is_some_and(|second| KEPT.contains(&second));
        let hidden = entry.file_name().to_str().is_none_or(|name| name.starts_with('.'));
        if !department || !kept || hidden || !entry.file_type().is_file() {
            continue;
        }
        let text = std::fs::read_to_string(entry.path())
            .map_err(|error| StoreError::io(entry.path(), "read", error))?;
        files.push((inside.display().to_string(), text));
    }
    Ok(files)
}
