//! What is kept beside the user's key of two files that would pay for being put back: how the gate was last set, and
//! the last line of the budget's book.
//!
//! `organisations/<id>.gate` is the gate as it was last written, `organisations/<id>.book` the signature of the book's
//! last line. Neither is synced: after a power loss one may know of less than there is, never of more. A copy of an
//! organisation, which has the other's id until it gets one of its own, has no marks.

use super::fault::Result;
use super::identity::{Place, Seal};
use super::org::Org;
use crate::domain::gate::Gate;
use std::path::PathBuf;

const GATE: &str = "gate";
const BOOK: &str = "book";
pub(super) const KINDS: [&str; 2] = [GATE, BOOK];
const MARK_MAX: u64 = 256 * 1024;

impl Org {
    /// Where marks of this organisation are, by its id.
    fn marked(&self) -> Option<(&Seal, &str)> {
        match (&self.seal, &self.binding.org, &self.place) {
            (Some(seal), Some(id), Place::Here | Place::MovedFrom(_)) => Some((seal, id)),
            _ => None,
        }
    }

    /// Keeps how the gate was set.
    pub(super) fn mark_gate(&self, json: &str) -> Result<()> {
        self.marked().map_or(Ok(()), |(seal, id)| seal.write_mark(&format!("{id}.{GATE}"), json))
    }

    /// The gate as it was last set by this program, where that closed it. A mark that can't be read says nothing.
    pub(super) fn gate_closed_before(&self) -> Option<Gate> {
        let (seal, id) = self.marked()?;
        let text = seal.read_mark(&format!("{id}.{GATE}")).ok()??;
        serde_json::from_str::<Gate>(&text).ok().filter(|gate| !gate.is_open())
    }

    /// Keeps the signature of the book's last line.
    pub(super) fn mark_book(&self, mac: &str) -> Result<()> {
        self.marked().map_or(Ok(()), |(seal, id)| seal.write_mark(&format!("{id}.{BOOK}"), mac))
    }

    /// The signature of the last line that is known to have been written.
    pub(super) fn book_end(&self) -> Result<Option<String>> {
        let Some((seal, id)) = self.marked() else { return Ok(None) };
        let text = seal.read_mark(&format!("{id}.{BOOK}"))?;
        Ok(text.map(|text| text.trim().to_string()).filter(|mac| mac.len() == 64))
    }

    /// The file of [`Org::book_end`], for whoever has to put it right.
    pub(super) fn book_mark_path(&self) -> Option<PathBuf> {
        self.marked().map(|(seal, id)| seal.known_path(id).with_extension(BOOK))
    }
}

impl Seal {
    fn write_mark(&self, name: &str, text: &str) -> Result<()> {
        match self.known_folder()? {
            Some(dir) => dir.replace_lazily(name, format!("{text}\n").as_bytes()),
            None => Ok(()),
        }
    }

    /// Removes the marks of an organisation.
    pub(super) fn remove_marks(&self, id: &str) -> Result<()> {
        let Some(dir) = self.known_folder()? else { return Ok(()) };
        for name in KINDS.map(|kind| format!("{id}.{kind}")) {
            if dir.stat(&name)?.is_some() {
                dir.remove_unsynced(&name)?;
            }
        }
        Ok(())
    }

    fn read_mark(&self, name: &str) -> Result<Option<String>> {
        let Some(dir) = self.known_folder()? else { return Ok(None) };
        Ok(dir.read(name, MARK_MAX)?.map(|text| text.text))
    }
}
