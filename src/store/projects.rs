//! Projects as files under the root's `.harness/projects/`: the one place there that a director's words may change.
//!
//! Every change is made under the organisation's lock, on the file as it is at that moment, and by `domain::project`,
//! which finds a change that was made before by its key.

use super::breakage::Breakage;
use super::directives::PROJECTS;
use super::fault::{Fault, Result, StoreError};
use super::lock::lock;
use super::org::Org;
use crate::domain::id::is_id;
use crate::domain::project::{Project, ProjectEffect, apply, parse_project};

/// The largest project that is changed: its log grows by a line with each change.
const FILE_MAX: u64 = 1024 * 1024;

impl Org {
    /// A project as its file says; none where there is no such file.
    pub fn project(&self, id: &str) -> Result<Option<Project>> {
        let Some(dir) = self.own.find(PROJECTS)? else { return Ok(None) };
        let name = format!("{id}.md");
        let Some(text) = dir.read(&name, FILE_MAX)? else { return Ok(None) };
        parse_project(&text.text, id).map(Some).map_err(|why| StoreError::format(dir.join(&name), why))
    }

    /// Makes a change of a project, once. The lock is held for that moment alone.
    pub fn change_project(&self, effect: &ProjectEffect) -> Result<()> {
        if !is_id(&effect.id) {
            return Err(StoreError::format(self.own.join(PROJECTS), "that is no id of a project"));
        }
        let again = ProjectEffect { key: "-".to_string(), ..effect.clone() };
        let effect = if self.own.breaks(Breakage::ChangedAgain) { &again } else { effect };
        let _held = lock(&self.own, "lock")?;
        let dir = self.own.make_lasting(PROJECTS)?;
        let name = format!("{}.md", effect.id);
        let text = dir.read(&name, FILE_MAX)?;
        let failed = |why: String| StoreError::new(dir.join(&name), "change", Fault::Format(why));
        match apply(text.as_ref().map(|text| text.text.as_str()), effect).map_err(failed)? {
            Some(text) => dir.replace(&name, text.as_bytes()),
            // Whoever made the change may have died before it was sure.
            None if dir.breaks(Breakage::FoundIsSure) => Ok(()),
            None => dir.sync(),
        }
    }
}
