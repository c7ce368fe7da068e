//! The floor that an idle tick is measured against: a walk over the same folders that does the same stats, and no more.
//!
//! It is built by `cargo bench` in the profile of the program it stands beside.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a program of the benches: it prints one line and has no layers"
)]

use director_harness::domain::wake::LOOKED_AT;
use std::path::PathBuf;

fn main() -> std::io::Result<()> {
    let root = PathBuf::from(std::env::args_os().nth(1).unwrap_or_default());
    let mut sum = 0u64;
    for entry in std::fs::read_dir(&root)? {
        let name = entry?.file_name();
        if !name.to_string_lossy().starts_with("org-") {
            continue;
        }
        let folder = root.join(&name);
        for path in LOOKED_AT {
            if let Ok(stat) = std::fs::symlink_metadata(folder.join(path)) {
                sum = sum.wrapping_add(stat.len());
            }
        }
    }
    println!("{sum}");
    Ok(())
}
