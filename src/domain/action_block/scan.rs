//! Finds the fences of an answer, line by line: this step's block, blocks that only look like it, and prose.
//!
//! It deliberately never looks into the block; the grammar that it follows is in `action_block.rs`.

use super::fault::{BlockFaultKind, Faults, Quote};
use crate::domain::text::{cut, width};

/// How much prose makes a sentence: ten letters, or five wide characters.
pub(super) const PROSE_COLUMNS: usize = 10;

const SHORTEST_FENCE: usize = 3;
const DEEPEST_INDENT: usize = 3;
const SHOWN_BYTES: usize = 160;
const ACTIONS: &str = "actions";

/// What an answer holds.
#[derive(Debug, Default)]
pub(super) struct Scan<'a> {
    pub(super) block: Option<Block<'a>>,
    pub(super) faults: Faults,
    /// The first opening line with the right nonce that is quoted text.
    pub(super) quoted: Option<(usize, Quote)>,
    /// Columns of letters and digits outside of fences and quotes; counted no further than [`PROSE_COLUMNS`].
    pub(super) prose: usize,
    pub(super) lines: usize,
}

/// This step's block: the line of its opening fence, and what stands between that and the closing one.
#[derive(Debug)]
pub(super) struct Block<'a> {
    pub(super) line: usize,
    pub(super) body: &'a str,
}

pub(super) fn scan<'a>(answer: &'a str, nonce: &'a str) -> Scan<'a> {
    let mut scanner = Scanner { answer, nonce, state: State::Prose, first: None, scan: Scan::default() };
    let mut start = 0;
    for (index, text) in answer.split_inclusive('\n').enumerate() {
        scanner.take(Line { number: index + 1, start, text: text.trim_end() });
        start += text.len();
    }
    if let State::Block(OpenBlock { owner: Owner::ThisStep, line, .. }) = scanner.state {
        scanner.scan.faults.push(line, BlockFaultKind::CutOff);
    }
    scanner.scan
}

struct Scanner<'a> {
    answer: &'a str,
    nonce: &'a str,
    state: State,
    /// Where the first block of this step opens.
    first: Option<usize>,
    scan: Scan<'a>,
}

#[derive(Clone, Copy)]
struct Line<'a> {
    number: usize,
    start: usize,
    text: &'a str,
}

#[derive(Clone, Copy)]
enum State {
    Prose,
    /// In a fence that is no actions block.
    Fence {
        mark: char,
        length: usize,
        line: usize,
    },
    Block(OpenBlock),
}

#[derive(Clone, Copy)]
struct OpenBlock {
    owner: Owner,
    length: usize,
    line: usize,
    /// Where the line after the opening one starts.
    body: usize,
}

#[derive(Clone, Copy)]
enum Owner {
    ThisStep,
    Foreign,
}

impl<'a> Scanner<'a> {
    fn take(&mut self, line: Line<'a>) {
        self.scan.lines = line.number;
        match self.state {
            State::Prose => self.take_prose(line),
            State::Fence { mark, length, .. } if closes(line.text, mark, length) => self.state = State::Prose,
            State::Fence { line: opened, .. } => self.note_quoted(line, Quote::Fence(opened)),
            State::Block(block) if leading(line.text.trim_start(), '`') < block.length => {}
            State::Block(block) => {
                self.state = State::Prose;
                self.end_block(block, line);
            }
        }
    }

    fn take_prose(&mut self, line: Line<'a>) {
        if let Some(opening) = Opening::parse(line.text) {
            self.state = self.open(opening, line);
            return;
        }
        let is_marked = line.text.trim_start().starts_with('>');
        self.note_quoted(line, if is_marked { Quote::Marked } else { Quote::Indented });
        if !is_marked && self.scan.prose < PROSE_COLUMNS {
            let words: String =
                line.text.chars().filter(|c| c.is_alphanumeric()).take(PROSE_COLUMNS).collect();
            self.scan.prose += width(&words);
        }
    }

    fn open(&mut self, opening: Opening<'a>, line: Line<'a>) -> State {
        let Opening { mark, length, .. } = opening;
        let owner = match opening.nonce() {
            None => return State::Fence { mark, length, line: line.number },
            Some(nonce) => self.judge_nonce(nonce, line.number),
        };
        let body = self.answer[line.start..].find('\n').map_or(self.answer.len(), |end| line.start + end + 1);
        State::Block(OpenBlock { owner, length, line: line.number, body })
    }

    fn judge_nonce(&mut self, found: &str, line: usize) -> Owner {
        let kind = match (found, self.first) {
            ("", _) => BlockFaultKind::NoNonce,
            (found, _) if found != self.nonce => {
                BlockFaultKind::WrongNonce { found: cut(found, SHOWN_BYTES).0.to_owned() }
            }
            (_, Some(first)) => {
                self.scan.faults.push(line, BlockFaultKind::TwoBlocks { first });
                return Owner::ThisStep;
            }
            (_, None) => {
                self.first = Some(line);
                return Owner::ThisStep;
            }
        };
        self.scan.faults.push(line, kind);
        Owner::Foreign
    }

    /// A line that starts with enough backticks ends the block in any case: no JSON has such a line.
    fn end_block(&mut self, block: OpenBlock, line: Line<'a>) {
        let is_closed = line.text.trim_start().bytes().all(|b| b == b'`');
        match block.owner {
            Owner::Foreign => {}
            Owner::ThisStep if !is_closed => {
                self.scan.faults.push(line.number, BlockFaultKind::NotClosed { opened: block.line });
            }
            Owner::ThisStep => {
                let body = &self.answer[block.body..line.start];
                self.scan.block.get_or_insert(Block { line: block.line, body });
            }
        }
        if !is_closed {
            self.take_prose(line);
        }
    }

    fn note_quoted(&mut self, line: Line<'a>, quote: Quote) {
        if self.scan.quoted.is_some() {
            return;
        }
        let inner = line.text.trim_start_matches(|c: char| c.is_whitespace() || c == '>');
        let nonce = Opening::parse(inner).and_then(|opening| opening.nonce());
        if nonce.is_some_and(|nonce| !nonce.is_empty() && nonce == self.nonce) {
            self.scan.quoted = Some((line.number, quote));
        }
    }
}

struct Opening<'a> {
    mark: char,
    length: usize,
    info: &'a str,
}

impl<'a> Opening<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let indent = leading(line, ' ');
        let rest = line.get(indent..).filter(|_| indent <= DEEPEST_INDENT)?;
        let mark = rest.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
        let length = leading(rest, mark);
        let info = rest[length..].trim();
        let is_inline_code = mark == '`' && info.contains('`');
        (length >= SHORTEST_FENCE && !is_inline_code).then_some(Opening { mark, length, info })
    }

    /// What follows the word `actions`, where this opens an actions block.
    fn nonce(&self) -> Option<&'a str> {
        let (word, rest) = self.info.split_once(char::is_whitespace).unwrap_or((self.info, ""));
        (self.mark == '`' && word.eq_ignore_ascii_case(ACTIONS)).then_some(rest.trim_start())
    }
}

fn closes(line: &str, mark: char, length: usize) -> bool {
    let indent = leading(line, ' ');
    let run = leading(&line[indent..], mark);
    indent <= DEEPEST_INDENT && run >= length && indent + run == line.len()
}

/// How often the ASCII character stands at the start.
fn leading(text: &str, mark: char) -> usize {
    text.len() - text.trim_start_matches(mark).len()
}
