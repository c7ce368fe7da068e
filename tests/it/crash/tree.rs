//! A folder with everything in it, as a value that can be compared and put back; who may read it is left out.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::rc::Rc;

/// What stands at a path: a folder, or a file with its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    Folder,
    File(Rc<Vec<u8>>),
}

/// Every path beneath a folder. A folder sorts before what is in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree(pub BTreeMap<String, Entry>);

impl Tree {
    pub fn read(top: &Path) -> Tree {
        let mut entries = BTreeMap::new();
        for found in walkdir::WalkDir::new(top).min_depth(1) {
            let found = found.unwrap();
            let path = found.path().strip_prefix(top).unwrap().to_str().unwrap().to_owned();
            let entry = if found.file_type().is_dir() {
                Entry::Folder
            } else {
                Entry::File(Rc::new(fs::read(found.path()).unwrap()))
            };
            entries.insert(path, entry);
        }
        Tree(entries)
    }

    /// Makes the folder equal to this tree, touching what differs alone.
    pub fn put(&self, top: &Path) {
        let there = Tree::read(top);
        for path in there.0.keys().rev().filter(|path| !self.0.contains_key(*path)) {
            let path = top.join(path);
            if path.is_dir() { fs::remove_dir(path).unwrap() } else { fs::remove_file(path).unwrap() }
        }
        for (path, entry) in self.0.iter().filter(|(path, entry)| there.0.get(*path) != Some(entry)) {
            write(&top.join(path), entry);
        }
    }

    /// The files, with their text; what isn't text is shown as nearly as can be.
    pub fn files(&self) -> impl Iterator<Item = (&str, String)> {
        self.0.iter().filter_map(|(path, entry)| match entry {
            Entry::File(bytes) => Some((path.as_str(), String::from_utf8_lossy(bytes).into_owned())),
            Entry::Folder => None,
        })
    }

    pub fn text(&self, path: &str) -> Option<String> {
        match self.0.get(path)? {
            Entry::File(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
            Entry::Folder => None,
        }
    }

    /// The files that lie directly in a folder.
    pub fn names_in(&self, folder: &str) -> Vec<&str> {
        let start = format!("{folder}/");
        let names = self.0.keys().filter_map(|path| path.strip_prefix(start.as_str()));
        names.filter(|name| !name.contains('/')).collect()
    }

    /// The paths at which two trees differ.
    pub fn differences(&self, other: &Tree) -> Vec<String> {
        let paths = self.0.keys().chain(other.0.keys());
        let mut differ: Vec<String> =
            paths.filter(|path| self.0.get(*path) != other.0.get(*path)).cloned().collect();
        differ.sort();
        differ.dedup();
        differ
    }
}

fn write(path: &Path, entry: &Entry) {
    match entry {
        Entry::Folder => fs::create_dir(path).unwrap(),
        Entry::File(bytes) => fs::write(path, bytes.as_slice()).unwrap(),
    }
}
