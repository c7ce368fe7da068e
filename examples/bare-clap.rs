//! The floor that start-up is measured against: one argument, read by clap, and one line printed.
//!
//! It is built by `cargo bench` in the profile of the program it stands beside, with the same clap and its features.
#![expect(clippy::print_stdout, reason = "a program of the benches: it prints one line and has no layers")]

use clap::Parser;

/// Print the version
#[derive(Parser)]
#[command(name = "bare-clap", version)]
struct Bare {
    /// Read, and shown after the version
    word: Option<String>,
}

fn main() {
    let bare = Bare::parse();
    println!("bare-clap {} {}", env!("CARGO_PKG_VERSION"), bare.word.unwrap_or_default());
}
