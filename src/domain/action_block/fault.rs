//! What is wrong with an answer that should hold an actions block, in sentences that its author can act on.
//!
//! The sentences never spell out an opening line: in a prompt, the last one must be the one to copy.

use std::fmt;

use super::{MAX_DEPTH, MAX_ENTRIES};
use crate::domain::text::one_line;

const MOST_FAULTS: usize = 16;
const SHOWN_CHARS: usize = 40;
const HOW_TO_QUOTE: &str = "copy this step's opening line exactly, or quote inside a longer fence";

/// One fault, at a line of the answer that counts from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockFault {
    pub line: usize,
    pub kind: BlockFaultKind,
}

/// An `index` counts entries from 0, as in the array; the sentences count from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlockFaultKind {
    NoBlock,
    /// The answer ends inside the block.
    CutOff,
    /// A line that should close the block, which opens on line `opened`, has text after its backticks.
    NotClosed {
        opened: usize,
    },
    NoNonce,
    WrongNonce {
        found: String,
    },
    QuotedBlock(Quote),
    TwoBlocks {
        first: usize,
    },
    NotJson {
        column: usize,
        message: String,
    },
    NotArray {
        found: &'static str,
    },
    NotObject {
        index: usize,
        found: &'static str,
    },
    DuplicateKey {
        index: usize,
        key: String,
    },
    EmptyWithoutReason,
    TooDeep,
    TooLarge,
    /// How many faults were left out after the ones before this.
    More {
        count: usize,
    },
}

/// What makes a block with the right nonce quoted text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Quote {
    /// It stands inside another fence, which opens on this line.
    Fence(usize),
    Indented,
    Marked,
}

impl BlockFault {
    /// A stable name for records and counts.
    pub fn code(&self) -> &'static str {
        match self.kind {
            BlockFaultKind::NoBlock => "no_block",
            BlockFaultKind::CutOff | BlockFaultKind::NotClosed { .. } => "unclosed_block",
            BlockFaultKind::NoNonce => "no_nonce",
            BlockFaultKind::WrongNonce { .. } => "wrong_nonce",
            BlockFaultKind::QuotedBlock(_) => "quoted_block",
            BlockFaultKind::TwoBlocks { .. } => "two_blocks",
            BlockFaultKind::NotJson { .. } => "not_json",
            BlockFaultKind::NotArray { .. } => "not_array",
            BlockFaultKind::NotObject { .. } => "not_object",
            BlockFaultKind::DuplicateKey { .. } => "duplicate_key",
            BlockFaultKind::EmptyWithoutReason => "empty_without_reason",
            BlockFaultKind::TooDeep => "too_deep",
            BlockFaultKind::TooLarge => "too_large",
            BlockFaultKind::More { .. } => "more_faults",
        }
    }
}

impl fmt::Display for BlockFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            BlockFaultKind::NotJson { column, .. } => write!(f, "line {}, column {column}: ", self.line)?,
            _ => write!(f, "line {}: ", self.line)?,
        }
        write!(f, "{}", self.kind)
    }
}

impl fmt::Display for BlockFaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoBlock => f.write_str(
                "the answer ends without an actions block; end it with one, or with an empty array in one and a \
                 sentence that says why there is nothing to do",
            ),
            Self::CutOff => f.write_str(
                "the actions block that opens here is cut off: the answer ends before a line of backticks closes it",
            ),
            Self::NotClosed { opened } => write!(
                f,
                "the actions block that opens on line {opened} is not closed: the line that closes it must hold \
                 backticks alone"
            ),
            Self::NoNonce => write!(f, "this actions block has no nonce, so it is quoted text; {HOW_TO_QUOTE}"),
            Self::WrongNonce { found } => {
                let found = one_line(found, SHOWN_CHARS);
                write!(f, "this actions block has another nonce, `{found}`, so it is quoted text; {HOW_TO_QUOTE}")
            }
            Self::QuotedBlock(quote) => write!(f, "this actions block is quoted text: {quote}"),
            Self::TwoBlocks { first } => {
                write!(f, "a second actions block; put all actions into the one that opens on line {first}")
            }
            Self::NotJson { message, .. } => write!(f, "the actions block is not JSON: {message}"),
            Self::NotArray { found } => {
                write!(f, "the actions block holds {found}, not an array; put the actions between [ and ]")
            }
            Self::NotObject { index, found } => write!(f, "entry {} is {found}, not an object", index + 1),
            Self::DuplicateKey { index, key } => {
                write!(f, "entry {} has the field `{}` twice in one object", index + 1, one_line(key, SHOWN_CHARS))
            }
            Self::EmptyWithoutReason => {
                f.write_str("an empty array needs a sentence outside the block that says why there is nothing to do")
            }
            Self::TooDeep => write!(f, "the JSON is nested more than {MAX_DEPTH} deep"),
            Self::TooLarge => write!(f, "more than {MAX_ENTRIES} entries"),
            Self::More { count } => write!(f, "and {count} more"),
        }
    }
}

impl fmt::Display for Quote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Quote::Fence(line) => {
                write!(f, "it stands inside the fence that opens on line {line}; close that first")
            }
            Quote::Indented => {
                f.write_str("it is indented by four spaces or more; start it at the left margin")
            }
            Quote::Marked => f.write_str("it stands after `>`; start it at the left margin"),
        }
    }
}

/// The first faults, and how many more there were: a hostile answer can't make the list as long as itself.
#[derive(Debug, Default)]
pub(super) struct Faults {
    first: Vec<BlockFault>,
    left_out: usize,
}

impl Faults {
    pub(super) fn push(&mut self, line: usize, kind: BlockFaultKind) {
        if self.first.len() < MOST_FAULTS {
            self.first.push(BlockFault { line, kind });
        } else {
            self.left_out += 1;
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.first.is_empty()
    }

    pub(super) fn into_vec(mut self) -> Vec<BlockFault> {
        if let (Some(last), count @ 1..) = (self.first.last(), self.left_out) {
            self.first.push(BlockFault { line: last.line, kind: BlockFaultKind::More { count } });
        }
        self.first
    }
}
