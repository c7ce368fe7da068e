//! The user's key: in their configuration folder, outside the organisation, readable by them alone.
//!
//! Fences, plans and approvals are derived from it. It is made on first use, and never printed.

use super::dir::Dir;
use super::disk::Disk;
use super::fault::{Fault, Result, StoreError};
use crate::domain::digest::{hex, hmac_sha256};
use crate::domain::id::suffix;
use std::fmt;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::Path;

/// The key's name in the configuration folder.
const NAME: &str = "key";

/// A secret of 32 bytes.
#[derive(Clone)]
pub struct Key([u8; 32]);

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

impl Key {
    /// Stands in where something is only shown and the key can't be had. Nothing is ever signed with it.
    pub fn placeholder() -> Key {
        Key([0; 32])
    }

    /// The marker of a department's fences in the stable part of a prompt.
    pub fn fence(&self, dept: &str) -> String {
        suffix(&hmac_sha256(&self.0, format!("fence\0{dept}").as_bytes())[..12])
    }

    /// The signature of some content for one purpose.
    pub fn sign(&self, purpose: &str, content: &[u8]) -> String {
        let mut bytes = format!("{purpose}\0").into_bytes();
        bytes.extend_from_slice(content);
        hex(&hmac_sha256(&self.0, &bytes))
    }
}

/// Reads the key; none where there is none.
pub fn find_key(folder: &Path, disk: &Disk) -> Result<Option<Key>> {
    match super::org::is_there(folder) {
        true => load(&Dir::open(folder, disk.clone())?),
        false => Ok(None),
    }
}

/// Reads the key, or makes it from fresh random bytes.
pub fn load_or_create(folder: &Path, disk: &Disk, random: impl FnOnce() -> [u8; 32]) -> Result<Key> {
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .map_err(|error| StoreError::io(folder, "make the folder", error))?;
    let dir = Dir::open(folder, disk.clone())?;
    if let Some(key) = load(&dir)? {
        return Ok(key);
    }
    let text = format!("{}\n", hex(&random()));
    match dir.create_private(NAME, text.as_bytes()) {
        Ok(()) => {}
        // Another process was first: its key is the key.
        Err(error) if matches!(error.fault, Fault::Conflict) => {}
        Err(error) => return Err(error),
    }
    load(&dir)?.ok_or_else(|| StoreError::format(dir.join(NAME), "it vanished"))
}

fn load(dir: &Dir) -> Result<Option<Key>> {
    let path = dir.join(NAME);
    let Some((file, _)) = dir.open_file(NAME)? else { return Ok(None) };
    let mode = file.metadata().map_err(|error| StoreError::io(&path, "look at", error))?.permissions().mode();
    if mode & 0o077 != 0 {
        let what = format!("others may read it; make it yours alone: chmod 600 {}", path.display());
        return Err(StoreError::format(&path, what));
    }
    let text = dir.read(NAME, 1_024)?.map(|text| text.text).unwrap_or_default();
    match parse_hex(text.trim()) {
        Some(bytes) => Ok(Some(Key(bytes))),
        None => Err(StoreError::format(&path, "it is not a key: 64 hexadecimal digits")),
    }
}

fn parse_hex(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0u8; 32];
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    for (index, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[index * 2..index * 2 + 2], 16).ok()?;
    }
    Some(bytes)
}
