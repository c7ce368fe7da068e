//! A department as a template: the files that say how it works, without what it did.
//!
//! A template is a folder with `template.toml` and the files beside it, so that it can be read, compared and kept in
//! git like any other. Nothing of a history is in it: no mail, no runs, no memory, no decisions, no task.

use super::dir::{Dir, EntryKind};
use super::disk::Disk;
use super::fault::{Fault, Result, StoreError};
use super::org::Department;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The newest format this program knows.
pub const TEMPLATE_SCHEMA: u64 = 1;
/// What says that a folder is a template.
pub const MANIFEST: &str = "template.toml";
/// The files that make a department what it is.
const FILES: [&str; 5] = ["charter.toml", "charter.md", "playbook.toml", "goal.toml", "notes.md"];
/// Folders whose files do, with how those are named.
const FOLDERS: [(&str, &str); 3] = [("prompts", ".md"), ("agents", ".md"), ("schedules", ".toml")];
const FILE_MAX: u64 = 1024 * 1024;
const FILES_MAX: usize = 500;

/// `template.toml`.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    pub schema: u64,
    /// The department it was made from.
    pub department: String,
    pub exported: String,
    pub harness: String,
}

/// A name beneath the department's folder, and the text.
pub type TemplateFile = (String, String);

/// How a template's file stands to what is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meets {
    Nothing,
    Same,
    /// Another text stands there already.
    Other,
}

impl Department {
    /// What a template of this department holds.
    pub fn template_files(&self) -> Result<Vec<TemplateFile>> {
        read_files(&self.dir)
    }

    /// What stands where a template's file would go.
    pub fn meets(&self, name: &str, text: &str) -> Result<Meets> {
        Ok(match self.dir.read_bytes(name, FILE_MAX)? {
            None => Meets::Nothing,
            Some((bytes, _)) if bytes == text.as_bytes() => Meets::Same,
            Some(_) => Meets::Other,
        })
    }

    /// Writes a template's files; one that is there with other bytes stops it.
    pub fn write_template(&self, files: &[TemplateFile]) -> Result<()> {
        files.iter().try_for_each(|(name, text)| create(&self.dir, name, text))
    }
}

/// Writes a template into a folder, made where it is missing and empty otherwise.
pub fn write_template(folder: &Path, manifest: &Manifest, files: &[TemplateFile], disk: &Disk) -> Result<()> {
    std::fs::create_dir_all(folder).map_err(|error| StoreError::io(folder, "make the folder", error))?;
    let dir = Dir::open(folder, disk.clone())?;
    if !dir.list()?.is_empty() {
        let what = "it is not empty; name a folder that is, or one that isn't there yet".to_string();
        return Err(StoreError::new(folder, "write a template into", Fault::Format(what)));
    }
    files.iter().try_for_each(|(name, text)| create(&dir, name, text))?;
    let text = toml::to_string(manifest).map_err(|error| StoreError::format(folder.join(MANIFEST), error))?;
    // Last: a folder without it is no template, so that half a one is never taken for a whole.
    create(&dir, MANIFEST, &text)
}

/// Reads a template from a folder. Files that don't belong to one are named, and left out.
pub fn read_template(folder: &Path, disk: &Disk) -> Result<(Manifest, Vec<TemplateFile>)> {
    let dir = Dir::open(folder, disk.clone())?;
    let path = folder.join(MANIFEST);
    let text = dir.read(MANIFEST, FILE_MAX)?;
    let text =
        text.ok_or_else(|| StoreError::format(&path, "it is missing, so this folder is no template"))?;
    if let Some(schema) = crate::domain::charter::other_schema(&text.text, TEMPLATE_SCHEMA) {
        let what = format!("its schema is {schema}, and this program knows {TEMPLATE_SCHEMA}");
        return Err(StoreError::format(&path, what));
    }
    let manifest = toml::from_str(&text.text).map_err(|error| StoreError::format(&path, error.message()))?;
    Ok((manifest, read_files(&dir)?))
}

fn read_files(dir: &Dir) -> Result<Vec<TemplateFile>> {
    let mut files = Vec::new();
    for name in FILES {
        if let Some(text) = dir.read(name, FILE_MAX)? {
            files.push((name.to_string(), text.text));
        }
    }
    for (folder, ending) in FOLDERS {
        let Some(inside) = dir.find(folder)? else { continue };
        for entry in inside.list()? {
            if entry.kind != EntryKind::File || !entry.name.ends_with(ending) {
                continue;
            }
            if files.len() >= FILES_MAX {
                return Err(StoreError::format(inside.path(), format!("more than {FILES_MAX} files")));
            }
            if let Some(text) = inside.read(&entry.name, FILE_MAX)? {
                files.push((format!("{folder}/{}", entry.name), text.text));
            }
        }
    }
    Ok(files)
}

fn create(dir: &Dir, name: &str, text: &str) -> Result<()> {
    let (dir, file) = match name.rsplit_once('/') {
        Some((folder, file)) => (dir.make(folder)?, file),
        None => (dir.clone(), name),
    };
    dir.create(file, text.as_bytes()).map(|_| ())
}
