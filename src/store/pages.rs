//! Files that the user names on the command line, outside the organisation's own folders too.

use super::dir::Dir;
use super::disk::Disk;
use super::fault::{Fault, Result, StoreError};
use std::path::{Path, PathBuf};

/// What every page of ours has near its beginning.
const OURS: &str = "<meta name=\"generator\" content=\"harness ";
/// The largest page that is looked into.
const PAGE_MAX: u64 = 64 * 1024 * 1024;

/// The largest file of the user's that is read.
const GIVEN_MAX: u64 = 16 * 1024 * 1024;

/// The text of a file that the user names.
pub fn read_given(path: &Path) -> Result<String> {
    let wrong = |what: &'static str| StoreError::new(path, "read", Fault::WrongType(what));
    let name =
        path.file_name().and_then(|name| name.to_str()).ok_or_else(|| wrong("not the name of a file"))?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let text = Dir::open(folder, Disk::without_sync())?.read(name, GIVEN_MAX)?;
    let missing = || StoreError::io(path, "read", std::io::Error::from(std::io::ErrorKind::NotFound));
    text.map(|text| text.text).ok_or_else(missing)
}

/// Where a page goes. A file that is there is replaced where it is such a page; anything else is left alone.
pub struct PagePlace {
    dir: Dir,
    folder: PathBuf,
    name: String,
    taken: bool,
}

impl PagePlace {
    pub fn find(path: &Path, disk: &Disk) -> Result<PagePlace> {
        let wrong = |what: &'static str| StoreError::new(path, "write", Fault::WrongType(what));
        let name =
            path.file_name().and_then(|name| name.to_str()).ok_or_else(|| wrong("not the name of a file"))?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let dir = Dir::open(folder, disk.clone())?;
        let taken = dir.stat(name)?.is_some();
        if taken {
            let there = dir.read_bytes(name, PAGE_MAX)?.map(|(bytes, _)| bytes).unwrap_or_default();
            let head = String::from_utf8_lossy(&there[..there.len().min(4096)]).into_owned();
            if !head.contains(OURS) {
                let what = "it is there already and is no report page; name another file".to_string();
                return Err(StoreError::new(path, "replace", Fault::Format(what)));
            }
        }
        let folder = folder.canonicalize().map_err(|error| StoreError::io(folder, "find", error))?;
        Ok(PagePlace { dir, folder, name: name.to_string(), taken })
    }

    /// Whether a page is there already.
    pub fn is_taken(&self) -> bool {
        self.taken
    }

    pub fn path(&self) -> PathBuf {
        self.folder.join(&self.name)
    }

    /// Writes the page, and says where it is.
    pub fn write(&self, text: &str) -> Result<PathBuf> {
        self.dir.replace(&self.name, text.as_bytes())?;
        Ok(self.path())
    }
}
