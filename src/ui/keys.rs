//! One key at a terminal, without a line's end.
//!
//! A key counts only for the question it follows: what was typed before is thrown away, and so is what is more than one
//! plain key, such as an arrow (which ends in a letter) or something pasted. The terminal is put back as it was, also
//! where the key is Ctrl-C: for as long as one key is waited for, that is a key like any other.

use rustix::termios::{LocalModes, OptionalActions, QueueSelector, SpecialCodeIndex, Termios};
use rustix::termios::{tcflush, tcgetattr, tcsetattr};
use std::io;

/// What was pressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    Letter(char),
    /// Ctrl-C, Ctrl-D, or nobody there any more.
    End,
    /// Anything else.
    Other,
}

/// Waits for one key.
pub fn read_key() -> io::Result<Key> {
    let stdin = io::stdin();
    let _restored = OneByOne::begin()?;
    tcflush(&stdin, QueueSelector::IFlush)?;
    let mut bytes = [0_u8; 64];
    let count = loop {
        match rustix::io::read(&stdin, &mut bytes) {
            Err(rustix::io::Errno::INTR) => {}
            read => break read?,
        }
    };
    Ok(match &bytes[..count] {
        [] | [3] | [4] => Key::End,
        [byte] if byte.is_ascii_alphabetic() => Key::Letter(char::from(byte.to_ascii_lowercase())),
        _ => Key::Other,
    })
}

/// The terminal without lines and echo, until it goes.
struct OneByOne {
    before: Termios,
}

impl OneByOne {
    fn begin() -> io::Result<OneByOne> {
        let before = tcgetattr(io::stdin())?;
        let mut keys = before.clone();
        keys.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG);
        keys.special_codes[SpecialCodeIndex::VMIN] = 1;
        keys.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(io::stdin(), OptionalActions::Now, &keys)?;
        Ok(OneByOne { before })
    }
}

impl Drop for OneByOne {
    fn drop(&mut self) {
        let _gone = tcsetattr(io::stdin(), OptionalActions::Now, &self.before);
    }
}
