//! Cutting an engine's output into lines of text as it comes.
//!
//! A line ends at `\n`, with a `\r` before it dropped. What isn't UTF-8 becomes U+FFFD, judged by the whole
//! line, so that a character that two reads share stays whole. A line longer than the cap is cut there and
//! says by how much: no engine can make the run hold more.

use std::borrow::Cow;

/// One line of output without its end.
#[derive(Debug, PartialEq, Eq)]
pub struct Line<'a> {
    pub text: Cow<'a, str>,
    /// How many bytes of it were dropped because of the cap.
    pub cut: usize,
}

/// What has come of a line that isn't complete.
#[derive(Debug)]
pub struct LineBuffer {
    cap: usize,
    bytes: Vec<u8>,
    cut: usize,
}

impl LineBuffer {
    pub fn new(cap: usize) -> LineBuffer {
        LineBuffer { cap, bytes: Vec::new(), cut: 0 }
    }

    /// Takes what was read and hands on every line that is complete.
    pub fn push(&mut self, chunk: &[u8], on_line: &mut dyn FnMut(Line<'_>)) {
        for piece in chunk.split_inclusive(|byte| *byte == b'\n') {
            match piece.strip_suffix(b"\n") {
                Some(end) => {
                    self.keep(end);
                    self.hand_on(on_line);
                }
                None => self.keep(piece),
            }
        }
    }

    /// Hands on what came after the last line end, if anything did.
    pub fn finish(&mut self, on_line: &mut dyn FnMut(Line<'_>)) {
        if !self.bytes.is_empty() || self.cut > 0 {
            self.hand_on(on_line);
        }
    }

    fn keep(&mut self, piece: &[u8]) {
        let room = self.cap.saturating_sub(self.bytes.len()).min(piece.len());
        self.bytes.extend_from_slice(&piece[..room]);
        self.cut += piece.len() - room;
    }

    fn hand_on(&mut self, on_line: &mut dyn FnMut(Line<'_>)) {
        let bytes = match self.bytes.strip_suffix(b"\r") {
            Some(bytes) if self.cut == 0 => bytes,
            _ => &self.bytes,
        };
        on_line(Line { text: String::from_utf8_lossy(bytes), cut: self.cut });
        self.bytes.clear();
        self.cut = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lines(cap: usize, chunks: &[&[u8]]) -> Vec<(String, usize)> {
        let mut buffer = LineBuffer::new(cap);
        let mut lines = Vec::new();
        let mut keep = |line: Line<'_>| lines.push((line.text.into_owned(), line.cut));
        for chunk in chunks {
            buffer.push(chunk, &mut keep);
        }
        buffer.finish(&mut keep);
        lines
    }

    fn check(chunks: &[&[u8]], expected: &[(&str, usize)]) {
        let expected: Vec<(String, usize)> =
            expected.iter().map(|(text, cut)| (text.to_string(), *cut)).collect();
        assert_eq!(lines(8, chunks), expected);
    }

    #[test]
    fn cuts_lines() {
        check(&[], &[]);
        check(&[b"one\ntwo\r\n\nfour"], &[("one", 0), ("two", 0), ("", 0), ("four", 0)]);
        check(&[b"on", b"e", b"\n"], &[("one", 0)]);
        check(&[b"\xe2\x86", b"\x92\n"], &[("\u{2192}", 0)]);
        check(&[b"a\xffb\n"], &[("a\u{fffd}b", 0)]);
        check(&[b"12345678", b"9ab\nnext\n"], &[("12345678", 3), ("next", 0)]);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

        #[test]
        fn any_cut_is_the_same(bytes in proptest::collection::vec(any::<u8>(), 0..200), cut in 0usize..200) {
            let cut = cut.min(bytes.len());
            prop_assert_eq!(lines(16, &[&bytes[..cut], &bytes[cut..]]), lines(16, &[&bytes]));
        }
    }
}
