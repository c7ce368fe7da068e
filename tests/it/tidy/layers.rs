//! Which layer may name which: the arrows of ARCHITECTURE.md as a table.
//!
//! A layer is a folder or a file at the top of `src`. It names another through `crate::`, through enough `super::`
//! to reach the top, or, in `main.rs`, through the library's own name; groups (`crate::{a, b::c}`) are looked into.

use super::TextFile;
use super::source::{Kind, only};

const LAYERS: [(&str, &[&str]); 11] = [
    ("domain", &[]),
    ("store", &["domain"]),
    ("process", &["domain"]),
    ("engines", &["domain"]),
    ("ui", &["domain"]),
    // It hands out the disk, which a crash test's variables can make fail.
    ("ctx", &["domain", "store"]),
    ("error", &["domain", "store"]),
    // Not ui: a run reports through what the domain declares, so that another front end can listen.
    ("run", &["domain", "store", "engines", "process"]),
    ("commands", &["domain", "store", "engines", "process", "run", "ui", "ctx", "error", "cli"]),
    ("cli", &["commands", "domain", "ui", "ctx", "error"]),
    // The guard of an engine must start without the command line being read.
    ("main", &["cli", "process", "ctx", "error"]),
];
const LIBRARY: &str = "director_harness::";

fn allowed(layer: &str) -> Option<&'static [&'static str]> {
    LAYERS.iter().find(|(name, _)| *name == layer).map(|(_, may)| *may)
}

pub fn faults(file: &TextFile) -> Vec<String> {
    let inside = file.path.trim_start_matches("src/").trim_end_matches(".rs");
    let layer = inside.split('/').next().unwrap_or_default();
    if layer == "lib" {
        return Vec::new();
    }
    let Some(may) = allowed(layer) else {
        return vec![file.fault(1, &format!("`{layer}` is no layer that tidy knows"))];
    };
    let named = names(&only(&file.text, Kind::Code), depth(inside)).into_iter();
    let refused = named.filter(|(_, name)| name != layer && !may.contains(&name.as_str()));
    refused.map(|(line, name)| file.fault(line, &format!("{layer} may not use {name}"))).collect()
}

/// How many `super::` lead from a file's own module to the top.
fn depth(inside: &str) -> usize {
    inside.trim_end_matches("/mod").split('/').filter(|part| *part != "main").count()
}

/// The layers that code names, each with its line. What is no layer (a constant, a macro) is left out.
fn names(code: &str, depth: usize) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for at in ["crate::", LIBRARY].iter().flat_map(|opening| ends(code, opening)).chain(tops(code, depth)) {
        let line = |offset: usize| code[..at + offset].matches('\n').count() + 1;
        found.extend(first_names(&code[at..]).into_iter().map(|(offset, name)| (line(offset), name)));
    }
    found.retain(|(_, name)| allowed(name).is_some());
    found.sort();
    found.dedup();
    found
}

fn ends(code: &str, opening: &str) -> Vec<usize> {
    code.match_indices(opening).map(|(at, _)| at + opening.len()).collect()
}

/// Where a chain of `super::` has reached the top: a module within the file takes one more.
fn tops(code: &str, depth: usize) -> Vec<usize> {
    let chains = code.match_indices("super::").filter(|(at, _)| !code[..*at].ends_with("super::"));
    let tops = chains.filter_map(|(at, step)| {
        let after = code[at..].trim_start_matches(step);
        let end = code.len() - after.len();
        ((end - at) / step.len() == depth + inner_modules(&code[..at])).then_some(end)
    });
    tops.collect()
}

/// How many modules, opened within the file, are still open at the end of this text.
fn inner_modules(code: &str) -> usize {
    let mut open = Vec::new();
    for (at, c) in code.char_indices() {
        match c {
            '{' => open.push(code[..at].trim_end().rsplit([' ', '\n']).nth(1) == Some("mod")),
            '}' => drop(open.pop()),
            _ => {}
        }
    }
    open.into_iter().filter(|is_module| *is_module).count()
}

/// The first name of a path, or of each path in a group, with its place.
fn first_names(path: &str) -> Vec<(usize, String)> {
    if !path.starts_with('{') {
        return word(path).map(|name| vec![(0, name)]).unwrap_or_default();
    }
    let (mut depth, mut names, mut expected) = (0, Vec::new(), false);
    for (at, c) in path.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            c if expected && depth == 1 && !c.is_whitespace() => {
                names.extend(word(&path[at..]).map(|name| (at, name)));
                expected = false;
            }
            _ => {}
        }
        expected |= depth == 1 && (c == ',' || (c == '{' && at == 0));
        if depth == 0 {
            break;
        }
    }
    names
}

fn word(text: &str) -> Option<String> {
    let word: String = text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    (!word.is_empty()).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, text: &str, expected: &[&str]) {
        let file = TextFile { path: path.to_owned(), text: text.to_owned() };
        assert_eq!(faults(&file), expected, "{text}");
    }

    #[test]
    fn what_points_the_wrong_way_is_named() {
        let domain = "src/domain/x.rs";
        check(domain, "//! x\n\nuse crate::store::load;\n", &["src/domain/x.rs:3: domain may not use store"]);
        check(domain, "let x = crate::run::step();", &["src/domain/x.rs:1: domain may not use run"]);
        check(domain, "use super::super::store;", &["src/domain/x.rs:1: domain may not use store"]);
        let inner = "mod tests {\n  fn a() {}\n  use super::super::super::ui::x;\n}";
        check(domain, inner, &["src/domain/x.rs:3: domain may not use ui"]);
        check("src/domain/mod.rs", "use super::{run, x};", &["src/domain/mod.rs:1: domain may not use run"]);
        let group = "use crate::{\n  domain::{id, ui},\n  store::load,\n  process,\n};";
        let both =
            ["src/domain/x.rs:3: domain may not use store", "src/domain/x.rs:4: domain may not use process"];
        check(domain, group, &both);
        check("src/run/step.rs", "use crate::ui::sink;", &["src/run/step.rs:1: run may not use ui"]);
        check(
            "src/store/a/b.rs",
            "pub(in crate::engines) use x;",
            &["src/store/a/b.rs:1: store may not use engines"],
        );
        check("src/main.rs", "use director_harness::store;", &["src/main.rs:1: main may not use store"]);
        check("src/extra.rs", "//! x\n", &["src/extra.rs:1: `extra` is no layer that tidy knows"]);
    }

    #[test]
    fn what_points_the_right_way_passes() {
        check("src/domain/x.rs", "use crate::domain::id; // crate::store\nlet x = \"crate::store\";", &[]);
        check("src/domain/x.rs", "use super::store; crate::some_macro!(); crate::VERSION", &[]);
        check("src/domain/x.rs", "use super::run; mod tests { use super::super::run; }", &[]);
        check("src/domain/mod.rs", "pub mod run;\nmod tests {\n  use super::run;\n}", &[]);
        check("src/run/step.rs", "use crate::{domain::ui, store, process::child, engines};", &[]);
        check("src/commands/init.rs", "use crate::{ui, run, cli::Cli};", &[]);
        check("src/main.rs", "fn main() { director_harness::cli::main() }", &[]);
        check("src/lib.rs", "pub use crate::store::x;", &[]);
    }
}
