//! What commands print, kept as files under `tests/snapshots` and compared whole.
//!
//! `UPDATE_SNAPSHOTS=1 cargo test --test it` writes them anew; the difference is then read like any other change.

use crate::sandbox::{Sandbox, write};
use std::path::{Path, PathBuf};

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots").join(format!("{name}.txt"))
}

/// Holds a text against its snapshot; `[..]` in the snapshot is any text within a line.
#[track_caller]
pub fn check(name: &str, text: &str) {
    let path = path(name);
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        write(&path, text.as_bytes());
        return;
    }
    let expected = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}; UPDATE_SNAPSHOTS=1 writes it", path.display()));
    if let Err(difference) = crate::pattern::compare(&expected, text) {
        panic!("tests/snapshots/{name}.txt is not what is printed:\n{difference}");
    }
}

/// What a command prints at a width, held against `<name>-<columns>`, no line wider than that.
#[track_caller]
pub fn at_widths(sandbox: &Sandbox, name: &str, args: &[&str]) {
    for columns in [80usize, 120] {
        let sandbox = sandbox.clone().env("COLUMNS", columns.to_string());
        let text = steady(&sandbox.places().hide(&sandbox.start(args).finish().take_stdout()));
        let wide: Vec<&str> = text.lines().filter(|line| line.chars().count() > columns).collect();
        assert!(wide.is_empty(), "{args:?} at {columns} columns: {wide:#?}");
        check(&format!("{name}-{columns}"), &text);
    }
}

/// The text with the random end of every id the same.
fn steady(text: &str) -> String {
    let mut parts = text.split("-20261118-004201-");
    let mut steady = parts.next().unwrap_or_default().to_string();
    for part in parts {
        steady.push_str("-20261118-004201-xxxxxx");
        steady.push_str(&part[6..]);
    }
    steady
}
