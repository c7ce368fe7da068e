//! Which id a message's file has.
//!
//! Its name gives it, where that is safe as an id and no other file has it, here or in the archive. Otherwise the id is
//! derived from the name and the time of the file, so that it is the same however often it is looked at.

use super::dir::{Dir, EntryKind, Stat};
use super::fault::Result;
use super::messages::Place;
use super::org::Department;
use crate::domain::id::{IdKind, derived_id, is_id, is_made_id};
use crate::domain::time::Time;
use chrono::DateTime;
use std::path::Path;

impl Dir {
    /// When something in this folder or beneath it was last written; none where that can't be told.
    pub fn written_at(&self, path: &Path) -> Option<Time> {
        let inside = path.strip_prefix(self.path()).unwrap_or(path);
        let name = inside.file_name()?.to_str()?;
        let folder = match inside.parent()?.to_str()? {
            "" => self.clone(),
            folder => self.find(folder).ok()??,
        };
        folder.stat(name).ok()?.map(|stat| modified(&stat))
    }
}

/// When a file was last written, to the microsecond.
pub fn modified(stat: &Stat) -> Time {
    DateTime::from_timestamp(stat.modified_s, stat.modified_ns / 1_000 * 1_000).unwrap_or_default()
}

/// The endings of a text.
const ENDINGS: [&str; 4] = ["markdown", "md", "text", "txt"];

/// A file's name without the ending of a text.
pub fn stem(name: &str) -> &str {
    name.rsplit_once('.').map_or(
        name,
        |(stem, extension)| {
            if ENDINGS.contains(&extension) { stem } else { name }
        },
    )
}

/// Gives the files of one folder their ids, each by itself.
pub struct Namer<'a> {
    department: &'a Department,
    dir: &'a Dir,
    place: Place,
    /// The months of the archive, opened when a name first needs them.
    months: Option<Vec<Dir>>,
}

impl<'a> Namer<'a> {
    pub fn new(department: &'a Department, dir: &'a Dir, place: Place) -> Namer<'a> {
        Namer { department, dir, place, months: None }
    }

    pub fn id_of(&mut self, name: &str, stat: &Stat) -> Result<String> {
        let stem = stem(name);
        let free = is_id(stem) && !self.is_used(stem, name)?;
        Ok(if free { stem.to_string() } else { derived_id(IdKind::Message, modified(stat), name) })
    }

    /// Whether another file has the name: `todo.md` beside `todo.txt`, or a `todo.md` that was archived long ago.
    fn is_used(&mut self, stem: &str, name: &str) -> Result<bool> {
        let own = format!("{stem}.md");
        if name != own && self.has_rival(stem, name)? {
            return Ok(true);
        }
        if self.place != Place::Inbox || is_made_id(stem) {
            return Ok(false);
        }
        for month in self.months()? {
            if month.stat(&own)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a file that comes first has the stem: the text `.md`, else the first by name.
    fn has_rival(&self, stem: &str, name: &str) -> Result<bool> {
        let others = ENDINGS.iter().map(|ending| format!("{stem}.{ending}")).chain([stem.to_string()]);
        for other in others.filter(|other| other.ends_with(".md") || other.as_str() < name) {
            if self.dir.stat(&other)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn months(&mut self) -> Result<&[Dir]> {
        if self.months.is_none() {
            let mut months = Vec::new();
            if let Some(archive) = self.department.dir.find("archive/inbox")? {
                for entry in archive.list()?.into_iter().filter(|entry| entry.kind == EntryKind::Folder) {
                    months.extend(archive.find(&entry.name)?);
                }
            }
            self.months = Some(months);
        }
        Ok(self.months.as_deref().unwrap_or_default())
    }
}
