//! The cases of a rehearsal: folders with messages, numbered answers and `expected.toml`.

use super::dir::{Dir, EntryKind};
use super::disk::Disk;
use super::fault::{Result, StoreError};
use super::messages::MESSAGE_MAX;
use super::org::{Department, Org};
use std::path::{Path, PathBuf};

/// One case.
#[derive(Clone, Debug)]
pub struct Case {
    pub name: String,
    pub folder: PathBuf,
    pub expected: Option<String>,
    /// Names and texts of the messages that it begins with.
    pub messages: Vec<(String, String)>,
}

/// The cases in a folder: each folder in it, or the folder itself where answers lie in it.
pub fn read_cases(folder: &Path) -> Result<Vec<Case>> {
    let disk = Disk::without_sync();
    let top = Dir::open(folder, disk.clone())?;
    if top.stat("expected.toml")?.is_some() || top.stat("01.txt")?.is_some() {
        return Ok(vec![read_case(folder, &disk)?]);
    }
    let folders = top.list()?.into_iter().filter(|entry| entry.kind == EntryKind::Folder);
    folders.map(|entry| read_case(&folder.join(entry.name), &disk)).collect()
}

fn read_case(folder: &Path, disk: &Disk) -> Result<Case> {
    let whole = std::fs::canonicalize(folder).map_err(|error| StoreError::io(folder, "find", error))?;
    let dir = Dir::open(&whole, disk.clone())?;
    let mut messages = Vec::new();
    if let Some(mail) = dir.find("messages")? {
        for entry in mail.list()?.into_iter().filter(|entry| entry.kind == EntryKind::File) {
            if let Some(text) = mail.read(&entry.name, MESSAGE_MAX)? {
                messages.push((entry.name, text.text));
            }
        }
    }
    let name = whole.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let expected = dir.read("expected.toml", 256 * 1024)?.map(|text| text.text);
    Ok(Case { name, folder: whole, expected, messages })
}

/// Puts a case into a scratch copy: its mail is all there is, and the engine `rehearsal` answers from its folder.
pub fn stage_case(org: &Org, department: &Department, case: &Case) -> Result<()> {
    let inbox = department.dir.make("inbox")?;
    for entry in inbox.list()? {
        inbox.remove(&entry.name)?;
    }
    for (name, text) in &case.messages {
        inbox.replace(name, text.as_bytes())?;
    }
    let settings = org.own.read("org.toml", 256 * 1024)?.map(|text| text.text);
    let text = settings.unwrap_or_else(|| "schema = 1\n".to_string());
    let path = org.own.join("org.toml");
    let mut table: toml::Table = toml::from_str(&text).map_err(|error| StoreError::format(&path, error))?;
    let mut engine = toml::Table::new();
    engine.insert("preset".to_string(), "script".into());
    engine.insert("folder".to_string(), case.folder.display().to_string().into());
    let engines = table.entry("engines").or_insert_with(|| toml::Value::Table(toml::Table::new()));
    if let toml::Value::Table(engines) = engines {
        engines.insert("rehearsal".to_string(), toml::Value::Table(engine));
    }
    let text = toml::to_string(&table).map_err(|error| StoreError::format(&path, error))?;
    org.own.replace("org.toml", text.as_bytes())
}
