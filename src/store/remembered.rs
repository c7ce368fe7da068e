//! What a disk remembers of a scratch organisation: open folders, what they hold, and files that were read.
//!
//! Nobody else writes there, so what was read stays true until it is written through the same disk, which then forgets
//! it. A simulation reads the same few hundred files thousands of times; opening them was most of what it did.

use super::dir::{Listed, Stat};
use std::collections::HashMap;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// So many open folders at the most: a process may not have many more.
const FOLDERS_MOST: usize = 400;
/// So many bytes of files, and then it begins anew.
const BYTES_MOST: usize = 64 * 1024 * 1024;

/// A file as it was read, and what its stat said then.
type Contents = (Arc<[u8]>, Stat);

/// A folder is known by its handle: while it is remembered, every copy of it has the same one.
#[derive(Debug, Default)]
pub struct Remembered {
    folders: HashMap<PathBuf, Arc<OwnedFd>>,
    listings: HashMap<RawFd, Arc<Vec<Listed>>>,
    files: HashMap<RawFd, HashMap<String, Contents>>,
    bytes: usize,
}

impl Remembered {
    pub fn folder(&self, path: &Path) -> Option<Arc<OwnedFd>> {
        self.folders.get(path).cloned()
    }

    pub fn keep_folder(&mut self, path: &Path, fd: &Arc<OwnedFd>) {
        if self.folders.len() < FOLDERS_MOST {
            self.folders.insert(path.to_path_buf(), Arc::clone(fd));
        }
    }

    /// Only what is under a remembered handle: the number of any other may be given to another folder.
    fn is_known(&self, path: &Path, fd: RawFd) -> bool {
        self.folders.get(path).is_some_and(|known| known.as_raw_fd() == fd)
    }

    pub fn listing(&self, fd: BorrowedFd<'_>) -> Option<Arc<Vec<Listed>>> {
        self.listings.get(&fd.as_raw_fd()).cloned()
    }

    pub fn keep_listing(&mut self, path: &Path, fd: BorrowedFd<'_>, listing: &Arc<Vec<Listed>>) {
        if self.is_known(path, fd.as_raw_fd()) {
            self.listings.insert(fd.as_raw_fd(), Arc::clone(listing));
        }
    }

    pub fn file(&self, fd: BorrowedFd<'_>, name: &str) -> Option<Contents> {
        self.files.get(&fd.as_raw_fd())?.get(name).cloned()
    }

    pub fn keep_file(&mut self, path: &Path, fd: BorrowedFd<'_>, name: &str, bytes: &[u8], stat: Stat) {
        if !self.is_known(path, fd.as_raw_fd()) {
            return;
        }
        if self.bytes + bytes.len() > BYTES_MOST {
            self.files.clear();
            self.bytes = 0;
        }
        self.bytes += bytes.len();
        self.files.entry(fd.as_raw_fd()).or_default().insert(name.to_string(), (bytes.into(), stat));
    }

    /// Something is written under a name of a folder.
    pub fn forget(&mut self, fd: BorrowedFd<'_>, name: &str) {
        self.listings.remove(&fd.as_raw_fd());
        if let Some((bytes, _)) = self.files.get_mut(&fd.as_raw_fd()).and_then(|files| files.remove(name)) {
            self.bytes -= bytes.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::dir::Dir;
    use super::super::disk::Disk;

    const MOST: u64 = 1024;

    /// A folder on a disk that remembers, and the same folder on one that does not.
    fn folder() -> (tempfile::TempDir, Dir, Dir) {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("a")).unwrap();
        let open = |disk| Dir::open(folder.path(), disk).unwrap();
        let (kept, plain) = (open(Disk::scratch()), open(Disk::without_sync()));
        (folder, kept, plain)
    }

    fn read(dir: &Dir, path: &str) -> Option<String> {
        dir.read(path, MOST).unwrap().map(|text| text.text)
    }

    fn names(dir: &Dir, folder: &str) -> Vec<String> {
        let entries = dir.find(folder).unwrap().unwrap().list().unwrap();
        entries.into_iter().map(|entry| entry.name).collect()
    }

    #[test]
    fn what_was_read_is_read_once() {
        let (_folder, kept, plain) = folder();
        plain.make("a").unwrap().replace("x", b"one").unwrap();
        assert_eq!((read(&kept, "a/x").as_deref(), names(&kept, "a")), (Some("one"), vec!["x".to_string()]));
        // Nobody else writes there: who does all the same is not seen.
        plain.make("a").unwrap().replace("x", b"two").unwrap();
        plain.make("a").unwrap().replace("y", b"new").unwrap();
        assert_eq!((read(&kept, "a/x").as_deref(), names(&kept, "a")), (Some("one"), vec!["x".to_string()]));
    }

    #[test]
    fn whatever_is_written_through_it_is_seen_at_once() {
        let (_folder, kept, plain) = folder();
        let check = |path: &str, expected: Option<&str>| {
            assert_eq!(read(&kept, path).as_deref(), expected, "{path}");
            assert_eq!(read(&plain, path).as_deref(), expected, "{path} as it is");
            let (folder, name) = path.split_once('/').unwrap();
            assert_eq!(names(&kept, folder).contains(&name.to_string()), expected.is_some(), "{path}");
        };
        check("a/x", None);
        let a = kept.make("a").unwrap();
        a.create("x", b"one").unwrap();
        check("a/x", Some("one"));
        a.replace("x", b"two").unwrap();
        check("a/x", Some("two"));
        a.append("x", b" and three").unwrap();
        check("a/x", Some("two and three"));
        a.truncate("x", 3).unwrap();
        check("a/x", Some("two"));
        let b = kept.make("b").unwrap();
        a.move_to("x", &b, "y").unwrap();
        check("a/x", None);
        check("b/y", Some("two"));
        b.rename_lazily("y", "z").unwrap();
        check("b/y", None);
        check("b/z", Some("two"));
        b.replace_lazily("z", b"four").unwrap();
        check("b/z", Some("four"));
        b.append_lazily("z", " five").unwrap();
        check("b/z", Some("four five"));
        b.remove("z").unwrap();
        check("b/z", None);
    }

    #[test]
    fn a_folder_that_is_made_later_is_found() {
        let (_folder, kept, _) = folder();
        assert!(kept.find("later").unwrap().is_none());
        kept.make("later").unwrap().create("x", b"one").unwrap();
        assert_eq!(read(&kept, "later/x").as_deref(), Some("one"));
        assert!(names(&kept, ".").contains(&"later".to_string()));
    }
}
