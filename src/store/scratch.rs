//! A folder for an organisation that is made to be thrown away: it goes when it is dropped, whatever is in it.

use super::fault::{Result, StoreError};
use super::identity::forget_at;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// A folder of its own, the owner's alone.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
    /// The user's configuration folder, where it holds what is known of an organisation made here.
    known_in: Option<PathBuf>,
}

impl Scratch {
    /// Makes `base/harness-<what>-<random>`, which must be new: a name that somebody else chose is never taken.
    pub fn make(base: &Path, what: &str, random: &[u8]) -> Result<Scratch> {
        let path = base.join(format!("harness-{what}-{}", crate::domain::digest::hex(random)));
        let made = std::fs::DirBuilder::new().mode(0o700).create(&path);
        made.map_err(|error| StoreError::io(&path, "make the folder", error))?;
        // The real path: what is bound to a root is bound to this one.
        let real = std::fs::canonicalize(&path).map_err(|error| StoreError::io(&path, "find", error))?;
        Ok(Scratch { path: real, known_in: None })
    }

    /// For an organisation under the user's own key: what the configuration folder then knows of it goes with it.
    pub fn known_in(mut self, folder: Option<PathBuf>) -> Scratch {
        self.known_in = folder;
        self
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Puts a file into it, for a tool to look at.
    pub fn write(&self, name: &str, text: &str) -> Result<PathBuf> {
        let path = self.path.join(name);
        std::fs::write(&path, text).map_err(|error| StoreError::io(&path, "write", error))?;
        Ok(path)
    }

    /// Removes it, and says whether nothing of it is left.
    pub fn remove(&self) -> bool {
        let forgotten = self.known_in.as_ref().is_none_or(|folder| forget_at(folder, &self.path));
        let _ignored = std::fs::remove_dir_all(&self.path);
        forgotten && !super::org::is_there(&self.path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        self.remove();
    }
}
