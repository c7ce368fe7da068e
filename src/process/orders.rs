//! What a guard hears and says: its run's channel, and signals.
//!
//! SIGTERM is the order to stop, like the channel's end. SIGINT and SIGHUP are survived: they are meant for
//! the run, which will say what it wants. A child's end wakes it, and means nothing here.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};

use super::channel::{Order, Report};

pub struct Orders {
    pub channel: File,
    is_open: bool,
    wake: UnixStream,
    terminated: Arc<AtomicBool>,
    is_obeyed: bool,
}

impl Orders {
    pub fn listen() -> io::Result<Orders> {
        // A handle of its own: the standard one reads ahead, and would swallow an order.
        let channel = File::from(io::stdin().as_fd().try_clone_to_owned()?);
        let (wake, waker) = UnixStream::pair()?;
        wake.set_nonblocking(true)?;
        let terminated = Arc::new(AtomicBool::new(false));
        signal_hook::flag::register(SIGTERM, Arc::clone(&terminated))?;
        // Handlers that do nothing: to ignore these two would make the engine ignore them as well.
        signal_hook::flag::register(SIGINT, Arc::default())?;
        signal_hook::flag::register(SIGHUP, Arc::default())?;
        signal_hook::low_level::pipe::register(SIGTERM, waker.try_clone()?)?;
        signal_hook::low_level::pipe::register(SIGCHLD, waker)?;
        Ok(Orders { channel, is_open: true, wake, terminated, is_obeyed: false })
    }

    /// Waits for an order, a signal or the limit, whichever comes first.
    pub fn wait(&mut self, limit: Option<Duration>) -> Option<Order> {
        let limit = limit.and_then(|limit| Timespec::try_from(limit).ok());
        let mut fds = [PollFd::new(&self.wake, PollFlags::IN), PollFd::new(&self.channel, PollFlags::IN)];
        // A channel at its end is always ready: left in, waiting would turn into spinning.
        let watched = if self.is_open { &mut fds[..] } else { &mut fds[..1] };
        let _ = poll(watched, limit.as_ref());
        let has_spoken = self.is_open && !fds[1].revents().is_empty();
        let _ = (&self.wake).read(&mut [0; 64]);
        if self.was_terminated() && !self.is_obeyed {
            self.is_obeyed = true;
            return Some(Order::Stop);
        }
        if has_spoken { self.read_order() } else { None }
    }

    /// Whether a SIGTERM has come, also one that nobody waited for.
    pub fn was_terminated(&self) -> bool {
        self.terminated.load(Ordering::Relaxed)
    }

    fn read_order(&mut self) -> Option<Order> {
        let mut byte = [0];
        match self.channel.read(&mut byte) {
            Ok(1) => Order::parse(byte[0]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => None,
            _ => {
                self.is_open = false;
                Some(Order::Stop)
            }
        }
    }

    pub fn report(&mut self, report: Report) {
        // A run that died can't be told; the cleaning up goes on without it.
        let _ = self.channel.write_all(&report.bytes());
    }
}
