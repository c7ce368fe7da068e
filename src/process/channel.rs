//! What a run and its guard say to each other over the guard's standard input, a socket that both keep open.
//!
//! Run to guard: the engine's standard input, as eight bytes of length (little endian) and that many bytes;
//! then orders of one byte, `S` (stop: ask, wait, kill) and `K` (kill now). The end of the stream is an `S`:
//! that is how the guard hears that its run died.
//!
//! Guard to run: reports of five bytes, a letter and a number (i32, little endian). `P` the engine runs and
//! has this pid; `F` it could not be started, with this OS error; `X` it exited with this code; `K` this
//! signal ended it; `T` this signal told the guard to stop; `L` the guard goes, and this many processes are
//! left (-1: it could not look). A guard that goes without `L` was lost.

use std::io::{self, Read};

/// What the run wants of the guard once the engine is running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    Stop,
    Now,
}

impl Order {
    pub fn byte(self) -> u8 {
        match self {
            Order::Stop => b'S',
            Order::Now => b'K',
        }
    }

    pub fn parse(byte: u8) -> Option<Order> {
        match byte {
            b'S' => Some(Order::Stop),
            b'K' => Some(Order::Now),
            _ => None,
        }
    }
}

/// What the guard tells the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Report {
    Started(i32),
    NotStarted(i32),
    Exited(i32),
    Killed(i32),
    Told(i32),
    Left(Option<u32>),
}

const REPORT_BYTES: usize = 5;

impl Report {
    pub fn bytes(self) -> [u8; REPORT_BYTES] {
        let (letter, number) = match self {
            Report::Started(pid) => (b'P', pid),
            Report::NotStarted(os_error) => (b'F', os_error),
            Report::Exited(code) => (b'X', code),
            Report::Killed(signal) => (b'K', signal),
            Report::Told(signal) => (b'T', signal),
            Report::Left(left) => (b'L', left.map_or(-1, |n| i32::try_from(n).unwrap_or(i32::MAX))),
        };
        let [a, b, c, d] = number.to_le_bytes();
        [letter, a, b, c, d]
    }

    pub fn parse([letter, a, b, c, d]: [u8; REPORT_BYTES]) -> Option<Report> {
        let number = i32::from_le_bytes([a, b, c, d]);
        match letter {
            b'P' => Some(Report::Started(number)),
            b'F' => Some(Report::NotStarted(number)),
            b'X' => Some(Report::Exited(number)),
            b'K' => Some(Report::Killed(number)),
            b'T' => Some(Report::Told(number)),
            b'L' => Some(Report::Left(u32::try_from(number).ok())),
            _ => None,
        }
    }
}

/// Puts reports together again from reads that end anywhere.
#[derive(Debug, Default)]
pub struct ReportBuffer {
    bytes: Vec<u8>,
}

impl ReportBuffer {
    /// The reports that `bytes` completes; one of an unknown letter is skipped.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<Report> {
        self.bytes.extend_from_slice(bytes);
        let (whole, rest) = self.bytes.as_chunks::<REPORT_BYTES>();
        let reports = whole.iter().filter_map(|chunk| Report::parse(*chunk)).collect();
        self.bytes = rest.to_vec();
        reports
    }
}

/// The engine's standard input as the run sends it.
pub fn frame_input(input: &[u8]) -> Vec<u8> {
    let mut framed = (input.len() as u64).to_le_bytes().to_vec();
    framed.extend_from_slice(input);
    framed
}

/// The engine's standard input as the guard takes it, whole; an error where the run went away before its end.
pub fn read_input(from: &mut dyn Read) -> io::Result<Vec<u8>> {
    let mut length = [0; 8];
    from.read_exact(&mut length)?;
    let length = u64::from_le_bytes(length);
    let mut input = Vec::new();
    if from.take(length).read_to_end(&mut input)? as u64 == length {
        Ok(input)
    } else {
        Err(io::ErrorKind::UnexpectedEof.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(pieces: &[&[u8]], expected: &[Report]) {
        let mut buffer = ReportBuffer::default();
        let reports: Vec<Report> = pieces.iter().flat_map(|piece| buffer.push(piece)).collect();
        assert_eq!(reports, expected);
    }

    #[test]
    fn reports_survive_any_cut() {
        check(&[b"P\x07\0", b"\0\0X\x03", b"\0\0\0"], &[Report::Started(7), Report::Exited(3)]);
        check(&[b"?\0\0\0\0F\x02\0\0\0"], &[Report::NotStarted(2)]);
        check(&[b"L\xff\xff\xff\xffL\0\0\0\0"], &[Report::Left(None), Report::Left(Some(0))]);
        check(&[b"K\x09\0\0"], &[]);
    }

    #[test]
    fn input_cut_off_is_an_error() {
        let framed = frame_input(b"prompt");
        assert!(read_input(&mut &framed[..framed.len() - 1]).is_err());
        assert!(read_input(&mut &framed[..3]).is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

        #[test]
        fn any_bytes_are_taken(bytes in proptest::collection::vec(any::<u8>(), 0..64), cut in 0usize..64) {
            let cut = cut.min(bytes.len());
            let mut buffer = ReportBuffer::default();
            let mut reports = buffer.push(&bytes[..cut]);
            reports.extend(buffer.push(&bytes[cut..]));
            prop_assert_eq!(reports, ReportBuffer::default().push(&bytes));
        }

        #[test]
        fn input_and_orders_come_back(input in proptest::collection::vec(any::<u8>(), 0..300), number: i32) {
            let framed = frame_input(&input);
            let mut from = framed.as_slice();
            prop_assert_eq!(read_input(&mut from).ok(), Some(input));
            prop_assert!(from.is_empty());
            for report in [Report::Started(number), Report::Exited(number), Report::Told(number)] {
                prop_assert_eq!(Report::parse(report.bytes()), Some(report));
            }
            for order in [Order::Stop, Order::Now] {
                prop_assert_eq!(Order::parse(order.byte()), Some(order));
            }
        }
    }
}
