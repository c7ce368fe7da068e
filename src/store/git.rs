//! What the files of a repository say without asking git: where one begins, what is under way in it, who holds it.

use std::path::{Path, PathBuf};

/// The largest `HEAD` that is read.
const HEAD_MAX: u64 = 4096;

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

/// What is under way in a repository.
pub fn under_way(git_dir: &Path) -> Option<&'static str> {
    UNDER_WAY.iter().find(|(file, _)| is_there(&git_dir.join(file))).map(|(_, what)| *what)
}

/// The text of a repository's `HEAD`.
pub fn read_head(git_dir: &Path) -> Option<String> {
    use std::io::Read;
    let mut text = String::new();
    std::fs::File::open(git_dir.join("HEAD")).ok()?.take(HEAD_MAX).read_to_string(&mut text).ok()?;
    Some(text)
}

/// Whether another git is writing the index.
pub fn index_is_locked(git_dir: &Path) -> bool {
    is_there(&git_dir.join("index.lock"))
}

fn is_there(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok()
}
