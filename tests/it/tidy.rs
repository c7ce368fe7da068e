//! Holds the rules of the house over the repository: a rule that nothing checks is soon none.
//!
//! Each rule takes text and gives faults as `path:line: what`. The first test of `checks` runs them all over the real
//! tree; the others show each rule failing on a bad sample. What a rule reads of Rust comes from `source`, which
//! tells code, comments and literals apart; no rule compiles anything.

mod layers;
mod rules;
mod source;

use std::fs;
use std::path::Path;

/// A file of the repository, by its path from the top.
struct TextFile {
    path: String,
    text: String,
}

impl TextFile {
    fn fault(&self, line: usize, what: &str) -> String {
        format!("{}:{line}: {what}", self.path)
    }
}

fn top() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every text file under a folder, sorted; none where the folder isn't there.
fn files(folder: &str) -> Vec<TextFile> {
    let entries =
        walkdir::WalkDir::new(top().join(folder)).sort_by_file_name().into_iter().filter_map(Result::ok);
    let paths = entries.filter(|entry| entry.file_type().is_file()).map(walkdir::DirEntry::into_path);
    paths.filter_map(|path| read(&path)).collect()
}

fn read(path: &Path) -> Option<TextFile> {
    let text = fs::read_to_string(path).ok()?;
    Some(TextFile { path: path.strip_prefix(top()).unwrap().display().to_string(), text })
}

fn rust_files(folder: &str) -> Vec<TextFile> {
    files(folder).into_iter().filter(|file| file.path.ends_with(".rs")).collect()
}

#[cfg(test)]
mod checks;
