//! The presets side by side: their command lines, what they print, and what they never do.
//!
//! Fixtures in `tests/fixtures/engines/` are what real clients printed against a loopback server,
//! with paths and ids taken out. What they can't be made to print is put together in the tests.

macro_rules! fixture {
    ($name:literal) => {
        include_str!(concat!("../../../tests/fixtures/engines/", $name))
    };
}

mod answers;
mod any_output;
mod failures;
mod lines;

use super::*;

pub const WELL: Exit = Exit { code: Some(0), clean: true };
pub const BADLY: Exit = Exit { code: Some(1), clean: true };
pub const STOPPED: Exit = Exit { code: Some(0), clean: false };

pub fn read(preset: Preset, stdout: &str, stderr: &str, exit: Exit) -> (Vec<Event>, Result<Answer, Failure>) {
    let mut reader = Reader::new(preset);
    let mut events: Vec<Event> = stderr.lines().flat_map(|line| reader.stderr_line(line)).collect();
    events.extend(stdout.lines().flat_map(|line| reader.stdout_line(line)));
    (events, reader.finish(exit))
}
