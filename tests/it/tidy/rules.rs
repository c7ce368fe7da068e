//! The rules about files and words: module docs, sizes, names, declared tests, embedded files, marks left behind.

use super::TextFile;
use super::source::{Kind, functions, only, strings};

const FILE_LINES: usize = 600;
const FUNCTION_LINES: usize = 80;
const ARCHITECTURE_LINES: usize = 150;
const VAGUE: [&str; 8] = ["utils", "util", "helpers", "helper", "manager", "managers", "common", "misc"];
const LEFT_BEHIND: [&str; 2] = ["TODO", "FIXME"];

pub fn module_doc(file: &TextFile) -> Vec<String> {
    let described = file.text.starts_with("//! ");
    if described { Vec::new() } else { vec![file.fault(1, "begin with `//! ` and what the file is for")] }
}

pub fn sizes(file: &TextFile) -> Vec<String> {
    let mut faults = Vec::new();
    let lines = file.text.lines().count();
    if lines > FILE_LINES {
        faults.push(file.fault(lines, &format!("{lines} lines; a file has at most {FILE_LINES}")));
    }
    let long = functions(&file.text).into_iter().filter(|function| function.lines > FUNCTION_LINES);
    faults.extend(long.map(|f| {
        let what = format!("`{}` has {} lines; a function has at most {FUNCTION_LINES}", f.name, f.lines);
        file.fault(f.line, &what)
    }));
    faults
}

pub fn names(file: &TextFile) -> Vec<String> {
    let parts = file.path.split('/').map(|part| part.trim_end_matches(".rs"));
    let vague = parts.filter(|part| part.split(['_', '-']).any(|word| VAGUE.contains(&word)));
    vague.map(|part| file.fault(1, &format!("`{part}` names no part of the problem"))).collect()
}

pub fn marks(file: &TextFile) -> Vec<String> {
    let (code, comments) = (only(&file.text, Kind::Code), only(&file.text, Kind::Comment));
    let mut faults = Vec::new();
    for (index, (code, comment)) in code.lines().zip(comments.lines()).enumerate() {
        let words: Vec<&str> = comment.split(|c: char| !c.is_alphanumeric()).collect();
        let left = LEFT_BEHIND.iter().find(|mark| words.contains(mark));
        faults.extend(left.map(|mark| file.fault(index + 1, &format!("{mark}: do it, or leave it"))));
        let squeezed: String = code.split_whitespace().collect();
        if squeezed.contains("#[allow(") || squeezed.contains("#![allow(") {
            faults.push(file.fault(index + 1, "write `#[expect(..., reason = \"...\")]` instead of allow"));
        }
    }
    faults
}

/// Every test file is declared by the file above it: one that isn't is never compiled and never runs.
pub fn declared(files: &[TextFile]) -> Vec<String> {
    let missing = files.iter().filter(|file| !file.path.ends_with("/main.rs")).filter(|file| {
        let (folder, name) = file.path.trim_end_matches(".rs").rsplit_once('/').unwrap_or_default();
        let parents = [format!("{folder}/main.rs"), format!("{folder}.rs"), format!("{folder}/mod.rs")];
        let mut above = files.iter().filter(|parent| parents.contains(&parent.path));
        name != "mod" && !above.any(|parent| declares(&parent.text, name))
    });
    missing.map(|file| file.fault(1, "no `mod` declares this file, so it never runs")).collect()
}

fn declares(text: &str, name: &str) -> bool {
    let wanted = format!("mod {name};");
    only(text, Kind::Code).lines().any(|line| line.trim().trim_start_matches("pub ") == wanted)
}

/// Every file under a folder of content is named where files are compiled in: one that isn't never ships.
///
/// A table names it by its path from the top (`../../prompts/base/worker.md`) or from the folder (`base/worker.md`),
/// in a file that has `include_str!`.
pub fn embedded(content: &[TextFile], sources: &[TextFile]) -> Vec<String> {
    let tables = sources.iter().filter(|source| only(&source.text, Kind::Code).contains("include_str!"));
    let named: Vec<&str> = tables.flat_map(|table| strings(&table.text)).collect();
    let missing = content.iter().filter(|file| {
        let inside = file.path.split_once('/').map_or("", |(_, inside)| inside);
        let from_top = format!("/{}", file.path);
        !named.iter().any(|name| name == &inside || name == &file.path || name.ends_with(&from_top))
    });
    missing.map(|file| file.fault(1, "no table in src compiles this file in")).collect()
}

pub fn architecture(file: &TextFile) -> Vec<String> {
    let lines = file.text.lines().count();
    let what = format!("{lines} lines; the page has at most {ARCHITECTURE_LINES}");
    if lines > ARCHITECTURE_LINES { vec![file.fault(lines, &what)] } else { Vec::new() }
}
