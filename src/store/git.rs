//! What the files of a repository say without asking git: where one begins, what is under way in it, who holds it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The largest `HEAD` that is read.
const HEAD_MAX: u64 = 4096;
/// The largest list of ignored names that is read.
const IGNORES_MAX: u64 = 64 * 1024;

/// What a human is in the middle of, by the file that git leaves for it.
const UNDER_WAY: [(&str, &str); 6] = [
    ("MERGE_HEAD", "a merge"),
    ("rebase-merge", "a rebase"),
    ("rebase-apply", "a rebase"),
    ("CHERRY_PICK_HEAD", "a cherry-pick"),
    ("REVERT_HEAD", "a revert"),
    ("BISECT_LOG", "a bisect"),
];

/// The nearest folder, from a department upwards, that has a `.git`.
pub fn find_repository(department: &Path) -> Option<PathBuf> {
    let whole = std::fs::canonicalize(department).ok()?;
    whole.ancestors().find(|folder| is_there(&folder.join(".git"))).map(Path::to_path_buf)
}

/// Where a department stands in a repository, as the files say it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repository {
    pub top: PathBuf,
    /// What belongs to this work tree.
    pub git_dir: PathBuf,
    /// What all work trees share.
    pub common: PathBuf,
    /// The department's folder beneath the top, with a slash at its end; empty where it is the top.
    pub prefix: String,
}

/// The repository that a department stands in; none where its files say nothing that can be read.
pub fn open_repository(department: &Path) -> Option<Repository> {
    let top = find_repository(department)?;
    let whole = std::fs::canonicalize(department).ok()?;
    let beneath = whole.strip_prefix(&top).ok()?.to_str()?;
    let prefix = if beneath.is_empty() { String::new() } else { format!("{beneath}/") };
    let dot = top.join(".git");
    let git_dir = match std::fs::symlink_metadata(&dot).ok()?.is_file() {
        // A submodule, or a work tree beside the first.
        true => top.join(read_short(&dot, HEAD_MAX)?.strip_prefix("gitdir: ")?.trim_end()),
        false => dot,
    };
    let common = match read_short(&git_dir.join("commondir"), HEAD_MAX) {
        Some(text) => git_dir.join(text.trim_end()),
        None => git_dir.clone(),
    };
    Some(Repository { top, git_dir, common, prefix })
}

impl Repository {
    /// The lists of ignored names that may count for some paths of the department, but those that settings name; none
    /// where one can't be read.
    pub fn ignore_lists(&self, paths: &BTreeSet<&str>, user: Option<&Path>) -> Option<Vec<String>> {
        let mut files = vec![self.common.join("info/exclude"), self.top.join(".gitignore")];
        files.extend(user.map(Path::to_path_buf));
        let mut folders: BTreeSet<PathBuf> = BTreeSet::new();
        for path in paths {
            let whole = Path::new(&self.prefix).join(path);
            folders.extend(whole.ancestors().skip(1).map(Path::to_path_buf));
        }
        files.extend(folders.iter().map(|folder| self.top.join(folder).join(".gitignore")));
        let there = files.iter().filter(|file| is_there(file));
        there.map(|file| read_short(file, IGNORES_MAX)).collect()
    }
}

/// What is under way in a repository.
pub fn under_way(git_dir: &Path) -> Option<&'static str> {
    UNDER_WAY.iter().find(|(file, _)| is_there(&git_dir.join(file))).map(|(_, what)| *what)
}

/// The text of a repository's `HEAD`.
pub fn read_head(git_dir: &Path) -> Option<String> {
    read_short(&git_dir.join("HEAD"), HEAD_MAX)
}

/// A file that is no longer than that; none where it is, or can't be read.
fn read_short(path: &Path, most: u64) -> Option<String> {
    use std::io::Read;
    // Opening a pipe would wait for whoever writes to it.
    std::fs::metadata(path).ok().filter(|file| file.is_file() && file.len() <= most)?;
    let mut text = String::new();
    std::fs::File::open(path).ok()?.take(most).read_to_string(&mut text).ok()?;
    Some(text)
}

/// Whether another git is writing the index.
pub fn index_is_locked(git_dir: &Path) -> bool {
    is_there(&git_dir.join("index.lock"))
}

fn is_there(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok()
}
