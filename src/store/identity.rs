//! Which organisation this is: its id, and what the user's configuration folder knows of it.
//!
//! `.harness/id.json` holds the id under the user's key. Beside the key, `organisations/<id>.json` says where the
//! organisation is and how far its audit log had come. So what was signed in another organisation, or in a copy of this
//! one, counts for nothing here; one that was moved stays what it was; and a log that was cut is noticed.

use super::dir::Dir;
use super::disk::Disk;
use super::fault::{Result, StoreError};
use super::key::Key;
use super::org::Org;
use crate::domain::audit::Head;
use crate::domain::digest::same;
use crate::domain::request::Binding;
use crate::domain::time::{Time, parse_rfc3339, render_rfc3339};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const ID: &str = "id.json";
const KNOWN: &str = "organisations";
const FILE_MAX: u64 = 64 * 1024;

/// The user's key and the folder it is in.
#[derive(Clone, Debug)]
pub struct Seal {
    pub key: Key,
    pub folder: PathBuf,
    pub disk: Disk,
}

/// `id.json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct IdFile {
    schema: u64,
    id: String,
    /// When it got its id, where the organisation was there before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    adopted: Option<String>,
    mac: String,
}

/// `organisations/<id>.json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Known {
    pub schema: u64,
    pub id: String,
    pub root: String,
    /// The last line of the audit log that is known of.
    pub audit_seq: u64,
    pub audit_hash: String,
}

/// How the organisation stands to what is known of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// It has no id, or nobody wrote down where it is.
    Unknown,
    Here,
    /// It was there, and is no longer.
    MovedFrom(String),
    /// It is still there: this is a copy.
    CopyOf(String),
    /// Its `id.json` can't be used.
    Bad(String),
}

impl Known {
    pub fn head(&self) -> Head {
        Head { seq: self.audit_seq, hash: self.audit_hash.clone() }
    }
}

impl Seal {
    fn sign(&self, id: &str, adopted: Option<&str>) -> String {
        self.key.sign("organisation", format!("{id}\0{}", adopted.unwrap_or_default()).as_bytes())
    }

    /// The folder beside the key; none where it isn't there yet.
    pub(super) fn known_folder(&self) -> Result<Option<Dir>> {
        match super::org::is_there(&self.folder) {
            true => Dir::open(&self.folder, self.disk.clone())?.as_private().find(KNOWN),
            false => Ok(None),
        }
    }

    pub fn known(&self, id: &str) -> Result<Option<Known>> {
        let Some(dir) = self.known_folder()? else { return Ok(None) };
        let name = format!("{id}.json");
        let Some(text) = dir.read(&name, FILE_MAX)? else { return Ok(None) };
        serde_json::from_str(&text.text).map(Some).map_err(|error| StoreError::format(dir.join(&name), error))
    }

    /// The organisation that is known to be at a place.
    fn known_at(&self, root: &str) -> Result<Option<Known>> {
        let Some(dir) = self.known_folder()? else { return Ok(None) };
        for entry in dir.list()? {
            let Some(id) = entry.name.strip_suffix(".json") else { continue };
            if let Ok(Some(known)) = self.known(id)
                && known.root == root
            {
                return Ok(Some(known));
            }
        }
        Ok(None)
    }

    /// A new organisation begins at a place where another was: what is known of that one stays, but not as being there.
    /// Whether there was another.
    pub fn give_up(&self, root: &str) -> Result<bool> {
        let Some(known) = self.known_at(root)? else { return Ok(false) };
        self.remember(&Known { root: format!("{root} (given up)"), ..known })?;
        Ok(true)
    }

    /// Leaves nothing of an organisation that was made to be thrown away.
    pub fn forget(&self, root: &Path) -> Result<()> {
        let Some(known) = self.known_at(&root.display().to_string())? else { return Ok(()) };
        self.remove_marks(&known.id)?;
        self.known_folder()?.map_or(Ok(()), |dir| dir.remove_unsynced(&format!("{}.json", known.id)))
    }

    /// Where what is known of an organisation is kept, for whoever has to put it right.
    pub fn known_path(&self, id: &str) -> PathBuf {
        self.folder.join(KNOWN).join(format!("{id}.json"))
    }

    /// Not synced: after a power loss it may know of fewer lines than there are, never of more.
    pub fn remember(&self, known: &Known) -> Result<()> {
        let dir = Dir::open(&self.folder, self.disk.clone())?.as_private().make(KNOWN)?;
        let text = serde_json::to_string(known).map_err(|error| StoreError::format(dir.path(), error))?;
        dir.replace_lazily(&format!("{}.json", known.id), format!("{text}\n").as_bytes())
    }
}

impl Org {
    /// The organisation with the user's key at hand, its id checked by it.
    pub fn sealed(mut self, seal: Option<Seal>) -> Org {
        self.keyless = seal.is_none();
        self.seal = seal;
        self.bind();
        self
    }

    /// For a root in which nothing was: whether another organisation was there before, which this one is not.
    pub fn begin_anew(&self) -> Result<bool> {
        self.seal.as_ref().map_or(Ok(false), |seal| seal.give_up(&self.whole_root()?))
    }

    /// A copy that is only tried: it has its id, and is never given a key.
    pub fn unsealed(mut self) -> Org {
        self.bind();
        self
    }

    pub fn is_sealed(&self) -> bool {
        self.seal.is_some()
    }

    /// Binds what is signed here to the organisation's id, as it is now.
    pub(super) fn bind(&mut self) {
        let file = read_id(&self.own);
        let bad = |error: &StoreError| Place::Bad(error.to_string());
        self.place = match (&self.seal, &file) {
            (None, _) => Place::Unknown,
            (Some(_), Err(error)) => bad(error),
            (Some(seal), Ok(file)) => self.place_by(seal, file.as_ref()).unwrap_or_else(|error| bad(&error)),
        };
        let refused = match &self.place {
            Place::CopyOf(root) => {
                Some(format!("this organisation is a copy of {root}, and it was signed there"))
            }
            Place::Bad(why) => Some(why.clone()),
            Place::Unknown | Place::Here | Place::MovedFrom(_) => None,
        };
        let file = file.ok().flatten();
        let adopted = file.as_ref().and_then(|file| file.adopted.as_deref()).and_then(parse_rfc3339);
        self.binding = Arc::new(Binding { org: file.map(|file| file.id), adopted, refused });
    }

    fn place_by(&self, seal: &Seal, file: Option<&IdFile>) -> Result<Place> {
        let (root, path) = (self.whole_root()?, self.own.join(ID));
        let Some(file) = file else {
            return Ok(match seal.known_at(&root)? {
                None => Place::Unknown,
                Some(known) => Place::Bad(format!(
                    "{} is gone, and the organisation had an id; put it back, or remove {} to begin anew",
                    path.display(),
                    seal.known_path(&known.id).display()
                )),
            });
        };
        if !same(&file.mac, &seal.sign(&file.id, file.adopted.as_deref())) {
            return Ok(Place::Bad(format!("{}: its signature is not that of your key", path.display())));
        }
        let Some(known) = seal.known(&file.id)? else { return Ok(Place::Unknown) };
        if known.root == root {
            return Ok(Place::Here);
        }
        if id_at(Path::new(&known.root), &seal.disk).is_some_and(|id| id == file.id) {
            return Ok(Place::CopyOf(known.root));
        }
        let other = seal.known_at(&root)?;
        let bad = |other: Known| format!("{} is not the id it had, {}", path.display(), other.id);
        Ok(other.map_or(Place::MovedFrom(known.root), |other| Place::Bad(bad(other))))
    }

    fn whole_root(&self) -> Result<String> {
        let root = std::fs::canonicalize(self.root.path());
        let root = root.map_err(|error| StoreError::io(self.root.path(), "find", error))?;
        Ok(root.display().to_string())
    }

    /// What is known of it beside the key, where it is here.
    pub fn known(&self) -> Result<Option<Known>> {
        match (&self.seal, &self.binding.org) {
            (Some(seal), Some(id)) if self.place == Place::Here => seal.known(id),
            _ => Ok(None),
        }
    }

    /// The file of [`Org::known`].
    pub fn known_path(&self) -> Option<PathBuf> {
        self.seal.as_ref().zip(self.binding.org.as_ref()).map(|(seal, id)| seal.known_path(id))
    }

    /// Gives the organisation an id where it has none, and writes down where it is; what that came to, in words. One
    /// whose id can't be trusted keeps what it has: that is for a human to look at. The organisation's lock is held.
    pub(super) fn identify(&mut self, now: Time, head: &Head) -> Result<Option<String>> {
        let Some(seal) = self.seal.clone() else { return Ok(None) };
        self.bind();
        let root = self.whole_root()?;
        let told = match &self.place {
            Place::Here | Place::Bad(_) => return Ok(None),
            Place::Unknown => {
                // Somebody put a backup back and removed what was known: the marks knew more than it has.
                self.binding.org.iter().try_for_each(|id| seal.remove_marks(id))?;
                None
            }
            Place::MovedFrom(from) => Some(format!("it was moved from {from} to {root}")),
            Place::CopyOf(of) => {
                let told = format!("it is a copy of {of}, and has an id of its own from now on");
                self.write_id(&seal, now, None)?;
                Some(told)
            }
        };
        if self.own.stat(ID)?.is_none() {
            // What was signed before names no organisation, and counts all the same.
            self.write_id(&seal, now, (head.seq > 0).then(|| render_rfc3339(now)))?;
        }
        if let Some(IdFile { id, .. }) = read_id(&self.own)? {
            let (audit_seq, audit_hash) = (head.seq, head.hash.clone());
            seal.remember(&Known { schema: 1, id, root, audit_seq, audit_hash })?;
        }
        self.bind();
        Ok(told)
    }

    fn write_id(&self, seal: &Seal, now: Time, adopted: Option<String>) -> Result<()> {
        let (nanos, root) = (now.timestamp_nanos_opt().unwrap_or_default(), self.whole_root()?);
        let before = read_id(&self.own).ok().flatten().map(|file| file.id).unwrap_or_default();
        let id = seal.key.sign("organisation id", format!("{nanos}\0{root}\0{before}").as_bytes())[..24]
            .to_string();
        let mac = seal.sign(&id, adopted.as_deref());
        super::charters::write_json(&self.own, ID, &IdFile { schema: 1, id, adopted, mac })
    }
}

fn read_id(own: &Dir) -> Result<Option<IdFile>> {
    let Some(text) = own.read(ID, FILE_MAX)? else { return Ok(None) };
    let file = serde_json::from_str::<IdFile>(&text.text);
    let file = file.map_err(|error| StoreError::format(own.join(ID), error))?;
    let plain =
        |id: &str| !id.is_empty() && id.len() <= 64 && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if file.schema != 1 || !plain(&file.id) {
        return Err(StoreError::format(own.join(ID), "it holds no id that this program knows"));
    }
    Ok(Some(file))
}

/// Removes what the user's configuration folder knows of an organisation that is thrown away; whether nothing is left.
pub(super) fn forget_at(folder: &Path, root: &Path) -> bool {
    let Ok(entries) = std::fs::read_dir(folder.join(KNOWN)) else { return true };
    let paths = entries.flatten().map(|entry| entry.path());
    let at_root = |path: &PathBuf| {
        let known = std::fs::read_to_string(path).ok().and_then(|text| serde_json::from_str(&text).ok());
        known.is_some_and(|known: Known| Path::new(&known.root) == root)
    };
    let forget = |path: PathBuf| {
        let marks = super::marks::KINDS.map(|kind| path.with_extension(kind));
        marks
            .into_iter()
            .filter(|mark| mark.exists())
            .chain([path])
            .map(std::fs::remove_file)
            .all(|removed| removed.is_ok())
    };
    // Every one of them, also where another could not be removed.
    paths.filter(at_root).fold(true, |all, path| forget(path) & all)
}

/// The id of the organisation at a place, where there is one.
fn id_at(root: &Path, disk: &Disk) -> Option<String> {
    let own = Dir::open(root, disk.clone()).ok()?.find(".harness").ok().flatten()?;
    read_id(&own).ok().flatten().map(|file| file.id)
}
