//! Compares the files of a root with a scenario's `expected/`, and rewrites `expected/` from them.
//!
//! Files and links are compared byte for byte; folders without a file are not, for git can't keep them. In `expected/`:
//! `name.any` says that `name` is there, whatever it holds; text may hold the placeholders of `pattern`; `.ignore`
//! lists globs (`*` within a name, `**` across folders, a trailing `/` for all beneath) of files that may be there or
//! not. A `.gitignore` is kept as `dot.gitignore`, or git would obey it inside the scenario.

use crate::pattern::{Places, compare};
use crate::sandbox::write;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

const KEPT: (&str, &str) = ("dot.gitignore", ".gitignore");

#[derive(Debug, PartialEq, Clone)]
enum Entry {
    File(Vec<u8>),
    Link(String),
    /// A pipe, a socket, a device: never opened.
    Other,
}

type Tree = BTreeMap<String, Entry>;

fn load(folder: &Path) -> Tree {
    let entries = walkdir::WalkDir::new(folder).into_iter().filter_map(Result::ok);
    let files = entries.filter(|entry| !entry.file_type().is_dir());
    files.map(|entry| (name(folder, entry.path()), load_entry(&entry))).collect()
}

fn name(folder: &Path, path: &Path) -> String {
    path.strip_prefix(folder).unwrap().display().to_string()
}

fn load_entry(entry: &walkdir::DirEntry) -> Entry {
    match entry.file_type() {
        kind if kind.is_symlink() => Entry::Link(fs::read_link(entry.path()).unwrap().display().to_string()),
        kind if kind.is_file() => Entry::File(fs::read(entry.path()).unwrap()),
        _ => Entry::Other,
    }
}

fn lay_down(path: &Path, entry: &Entry) {
    match entry {
        Entry::File(bytes) => write(path, bytes),
        Entry::Link(target) => {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::os::unix::fs::symlink(target, path).unwrap();
        }
        Entry::Other => {}
    }
}

/// Copies a scenario's folder; one that isn't there is an empty one.
pub fn copy(from: &Path, to: &Path) {
    for (name, entry) in load(from) {
        lay_down(&to.join(name.replace(KEPT.0, KEPT.1)), &entry);
    }
}

/// What a scenario expects of its root.
struct Expected {
    /// By the name in the root: the name in `expected/` and what it holds; none for `name.any`.
    files: BTreeMap<String, (String, Option<Entry>)>,
    ignored: Vec<String>,
}

impl Expected {
    fn load(folder: &Path) -> Self {
        let mut tree = load(folder);
        let ignored = match tree.remove(".ignore") {
            Some(Entry::File(bytes)) => {
                String::from_utf8(bytes).unwrap().lines().map(str::to_owned).collect()
            }
            _ => Vec::new(),
        };
        let files = tree.into_iter().map(|(kept, entry)| match kept.strip_suffix(".any") {
            Some(name) => (name.replace(KEPT.0, KEPT.1), (kept.clone(), None)),
            None => (kept.replace(KEPT.0, KEPT.1), (kept, Some(entry))),
        });
        Self { files: files.collect(), ignored }
    }

    fn ignores(&self, name: &str) -> bool {
        self.ignored.iter().any(|pattern| glob(pattern, name))
    }
}

pub fn faults(expected: &Path, root: &Path, places: &Places) -> Vec<String> {
    let (expected, mut actual) = (Expected::load(expected), load(root));
    let mut faults = Vec::new();
    for (name, (_, wanted)) in &expected.files {
        match (wanted, actual.remove(name)) {
            (_, None) => faults.push(format!("{name} is missing")),
            (None, Some(_)) => {}
            (Some(wanted), Some(given)) => faults.extend(difference(name, wanted, &given, places)),
        }
    }
    let others = actual.keys().filter(|name| !expected.ignores(name));
    faults.extend(others.map(|name| format!("{name} is not expected")));
    faults
}

fn difference(name: &str, wanted: &Entry, given: &Entry, places: &Places) -> Option<String> {
    match (wanted, hide(given, places)) {
        (wanted, given) if *wanted == given => None,
        (Entry::File(wanted), Entry::File(given)) => {
            let (Ok(wanted), Ok(given)) = (std::str::from_utf8(wanted), std::str::from_utf8(&given)) else {
                return Some(format!("{name} differs and is not text"));
            };
            compare(wanted, given).err().map(|difference| format!("{name} differs:\n{difference}"))
        }
        (wanted, given) => Some(format!("{name} is {given:?} instead of {wanted:?}")),
    }
}

fn hide(entry: &Entry, places: &Places) -> Entry {
    match entry {
        Entry::File(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => Entry::File(places.hide(text).into_bytes()),
            Err(_) => entry.clone(),
        },
        Entry::Link(target) => Entry::Link(places.hide(target)),
        Entry::Other => Entry::Other,
    }
}

/// Makes `expected/` say what is there now; what matches already, and `.ignore`, stay as they are.
pub fn rewrite(folder: &Path, root: &Path, places: &Places) {
    let (mut expected, actual) = (Expected::load(folder), load(root));
    for (name, given) in actual.iter().filter(|(_, entry)| **entry != Entry::Other) {
        match expected.files.remove(name) {
            Some((_, None)) => continue,
            Some((_, Some(wanted))) if difference(name, &wanted, given, places).is_none() => continue,
            None if expected.ignores(name) => continue,
            Some((kept, _)) => fs::remove_file(folder.join(kept)).unwrap(),
            None => {}
        }
        lay_down(&folder.join(name.replace(KEPT.1, KEPT.0)), &hide(given, places));
    }
    for (kept, _) in expected.files.values() {
        fs::remove_file(folder.join(kept)).unwrap();
    }
}

fn glob(pattern: &str, name: &str) -> bool {
    if pattern.ends_with('/') {
        return glob(&format!("{pattern}**"), name);
    }
    match (pattern.strip_prefix("**"), pattern.strip_prefix('*')) {
        (Some(rest), _) => suffixes(name).any(|suffix| glob(rest, suffix)),
        (None, Some(rest)) => {
            let segment = name.find('/').unwrap_or(name.len());
            suffixes(name)
                .filter(|suffix| name.len() - suffix.len() <= segment)
                .any(|suffix| glob(rest, suffix))
        }
        (None, None) => match (pattern.chars().next(), name.chars().next()) {
            (None, None) => true,
            (Some(p), Some(n)) if p == n => glob(&pattern[p.len_utf8()..], &name[n.len_utf8()..]),
            _ => false,
        },
    }
}

fn suffixes(name: &str) -> impl Iterator<Item = &str> {
    name.char_indices().map(|(at, _)| &name[at..]).chain([""])
}

#[cfg(test)]
mod tests {
    use super::glob;

    #[test]
    fn globs_know_folders() {
        for (pattern, name, matches) in [
            ("a/b", "a/b", true),
            ("a/*", "a/b", true),
            ("a/*", "a/b/c", false),
            ("*.md", "a/b.md", false),
            ("**/*.md", "a/b.md", true),
            ("org-*/.harness/", "org-rd/.harness/runs.jsonl", true),
            ("org-*/.harness/", "org-rd/.harness/journal/x", true),
            ("org-*/.harness/", "org-rd/notes.md", false),
            ("*", "", true),
            ("", "a", false),
        ] {
            assert_eq!(glob(pattern, name), matches, "{pattern} on {name}");
        }
    }
}
