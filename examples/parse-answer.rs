//! An answer's ACTIONS block, read from a file and parsed: what the benches measure of a long or hostile answer.
//!
//! It is built by `cargo bench` in the profile of the program whose parser it calls.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a program of the benches: it reads one file, prints one line and has no layers"
)]

use director_harness::domain::action_block::parse_action_block;
use std::fs::File;
use std::io::{BufRead, BufReader};

fn main() -> std::io::Result<()> {
    let mut words = std::env::args().skip(1);
    let (file, nonce) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let mut answer = String::new();
    // As the program reads an engine: line by line, with a mark for every byte that is no text.
    for line in BufReader::new(File::open(file)?).split(b'\n') {
        answer.push_str(&String::from_utf8_lossy(&line?));
        answer.push('\n');
    }
    let found = parse_action_block(&answer, &nonce);
    println!(
        "{} actions, {} faults",
        found.as_ref().map_or(0, Vec::len),
        found.as_ref().err().map_or(0, Vec::len)
    );
    Ok(())
}
