//! The run's end of a guard's channel.
//!
//! It never waits: what can't be sent now goes with the next call, and what has not come yet is not there.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;

use rustix::event::{PollFd, PollFlags};

use super::channel::{Order, Report, ReportBuffer, frame_input};

#[derive(Debug)]
pub struct Link {
    /// None once the guard has gone: it alone holds the other end.
    stream: Option<UnixStream>,
    outgoing: Vec<u8>,
    /// Whether the engine's whole input has gone out; before that an order could only be taken for input.
    is_fed: bool,
    reports: ReportBuffer,
}

impl Link {
    /// The link, with the engine's input on its way, and the end that is the guard's standard input.
    pub fn new(input: &[u8]) -> io::Result<(Link, UnixStream)> {
        let (stream, other) = UnixStream::pair()?;
        stream.set_nonblocking(true)?;
        let outgoing = frame_input(input);
        let link = Link { stream: Some(stream), outgoing, is_fed: false, reports: ReportBuffer::default() };
        Ok((link, other))
    }

    pub fn is_open(&self) -> bool {
        self.stream.is_some()
    }

    pub fn poll_fd(&self) -> Option<PollFd<'_>> {
        let wants = if self.outgoing.is_empty() { PollFlags::IN } else { PollFlags::IN | PollFlags::OUT };
        self.stream.as_ref().map(|stream| PollFd::new(stream, wants))
    }

    pub fn order(&mut self, order: Order) {
        if self.is_fed {
            self.outgoing.push(order.byte());
            self.send();
        } else if let Some(stream) = &self.stream {
            // Half an input followed by the end: the guard goes without starting anything.
            self.outgoing.clear();
            let _ = stream.shutdown(Shutdown::Write);
        }
    }

    pub fn send(&mut self) {
        let Some(mut stream) = self.stream.as_ref().filter(|_| !self.outgoing.is_empty()) else { return };
        match stream.write(&self.outgoing) {
            Ok(sent) => drop(self.outgoing.drain(..sent)),
            Err(error) if is_momentary(&error) => {}
            // The guard went; what it said before is still to be read.
            Err(_) => self.outgoing.clear(),
        }
        self.is_fed |= self.outgoing.is_empty();
    }

    pub fn receive(&mut self) -> Vec<Report> {
        let Some(mut stream) = self.stream.as_ref() else { return Vec::new() };
        let mut bytes = [0; 64];
        match stream.read(&mut bytes) {
            Ok(read) if read > 0 => return self.reports.push(&bytes[..read]),
            Err(error) if is_momentary(&error) => {}
            _ => self.stream = None,
        }
        Vec::new()
    }
}

fn is_momentary(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

#[cfg(test)]
mod tests {
    use super::super::channel::read_input;
    use super::*;

    #[test]
    fn orders_follow_the_input() {
        let (mut link, mut guard) = Link::new(b"prompt").unwrap();
        link.send();
        link.order(Order::Stop);
        link.order(Order::Now);
        assert_eq!(read_input(&mut guard).unwrap(), b"prompt");
        let mut orders = [0; 2];
        guard.read_exact(&mut orders).unwrap();
        assert_eq!(&orders, b"SK");
    }

    #[test]
    fn an_order_amid_the_input_ends_it() {
        let (mut link, mut guard) = Link::new(&[7; 4_000_000]).unwrap();
        link.send();
        link.order(Order::Stop);
        assert!(read_input(&mut guard).is_err());
        assert!(link.is_open());
    }

    #[test]
    fn what_the_guard_said_last_is_heard() {
        let (mut link, mut guard) = Link::new(&[7; 4_000_000]).unwrap();
        link.send();
        guard.write_all(&Report::NotStarted(2).bytes()).unwrap();
        drop(guard);
        link.send();
        assert_eq!(link.receive(), [Report::NotStarted(2)]);
        assert_eq!(link.receive(), []);
        assert!(!link.is_open());
    }
}
