//! The floor that `task list` is measured against: every file of a folder, read once as text.
//!
//! It is built by `cargo bench` in the profile of the program it stands beside.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a program of the benches: it reads files, prints one line and has no layers"
)]

fn main() -> std::io::Result<()> {
    let folder = std::env::args().nth(1).unwrap_or_default();
    let (mut files, mut bytes) = (0, 0);
    for entry in std::fs::read_dir(folder)? {
        bytes += std::fs::read_to_string(entry?.path())?.len();
        files += 1;
    }
    println!("{files} files, {bytes} bytes");
    Ok(())
}
