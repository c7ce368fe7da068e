//! Being asked to stop by signal: SIGINT from the keyboard, SIGTERM from everyone else.
//!
//! Once means stop cleanly; a second SIGINT means now. It ends nothing by itself: whoever waits asks it.
//! SIGHUP is left alone: under `nohup` it is ignored, and a handler would undo that.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};

/// How soon to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    Cleanly,
    Now,
}

/// The signals that came since `listen`.
#[derive(Debug)]
pub struct Interrupt {
    // One byte a SIGINT. A flag would make one of two that come before anybody asks.
    presses: UnixStream,
    pressed: AtomicUsize,
    terminated: Arc<AtomicBool>,
}

impl Interrupt {
    /// Takes both signals over for the rest of the process's life.
    pub fn listen() -> io::Result<Interrupt> {
        let (presses, sender) = UnixStream::pair()?;
        presses.set_nonblocking(true)?;
        signal_hook::low_level::pipe::register(SIGINT, sender)?;
        let terminated = Arc::new(AtomicBool::new(false));
        signal_hook::flag::register(SIGTERM, Arc::clone(&terminated))?;
        Ok(Interrupt { presses, pressed: AtomicUsize::new(0), terminated })
    }

    /// Whether to stop, and how soon. Once asked, it stays asked.
    pub fn asked(&self) -> Option<Stop> {
        match self.count_presses() {
            0 if self.terminated.load(Ordering::Relaxed) => Some(Stop::Cleanly),
            0 => None,
            1 => Some(Stop::Cleanly),
            _ => Some(Stop::Now),
        }
    }

    /// Whether the keyboard asked: that is exit 130, where a SIGTERM is a cancellation.
    pub fn is_from_keyboard(&self) -> bool {
        self.count_presses() > 0
    }

    fn count_presses(&self) -> usize {
        let mut bytes = [0; 16];
        if let Ok(more) = (&self.presses).read(&mut bytes) {
            self.pressed.fetch_add(more, Ordering::Relaxed);
        }
        self.pressed.load(Ordering::Relaxed)
    }
}
