//! Being asked to stop by signal: SIGINT from the keyboard, SIGHUP from a terminal that closes, SIGTERM from everyone
//! else.
//!
//! Once means stop cleanly; a second SIGINT means now. It ends nothing by itself: whoever waits asks it.
//! SIGHUP is left alone where it is ignored, as under `nohup`: a handler would undo that. Where the system doesn't show
//! what is ignored (other than Linux), it is left alone too, and ends the process as it ends any other.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use super::table::is_ignored;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// How soon to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    Cleanly,
    Now,
}

/// The signals that came since something first listened. There is one for the process: what listens a thousand times
/// takes no more than what listens once, and whoever listens later hears of what came before.
#[derive(Debug)]
struct Signals {
    // One byte a SIGINT. A flag would make one of two that come before anybody asks.
    presses: UnixStream,
    pressed: AtomicUsize,
    terminated: Arc<AtomicBool>,
}

static SIGNALS: OnceLock<Signals> = OnceLock::new();

/// Being asked to stop.
#[derive(Clone, Copy, Debug)]
pub struct Interrupt {
    signals: &'static Signals,
}

impl Interrupt {
    /// Takes the signals over for the rest of the process's life.
    pub fn listen() -> io::Result<Interrupt> {
        if SIGNALS.get().is_none() {
            // Another thread that was faster keeps its own; ours then only adds a listener that nobody asks.
            let _already = SIGNALS.set(Signals::take_over()?);
        }
        let signals = SIGNALS.get().ok_or_else(|| io::Error::other("nothing listens for signals"))?;
        Ok(Interrupt { signals })
    }

    /// Whether to stop, and how soon. Once asked, it stays asked.
    pub fn asked(&self) -> Option<Stop> {
        match self.signals.count_presses() {
            0 if self.signals.terminated.load(Ordering::Relaxed) => Some(Stop::Cleanly),
            0 => None,
            1 => Some(Stop::Cleanly),
            _ => Some(Stop::Now),
        }
    }

    /// Whether the keyboard asked: that is exit 130, where a SIGTERM is a cancellation.
    pub fn is_from_keyboard(&self) -> bool {
        self.signals.count_presses() > 0
    }
}

impl Signals {
    fn take_over() -> io::Result<Signals> {
        let (presses, sender) = UnixStream::pair()?;
        presses.set_nonblocking(true)?;
        signal_hook::low_level::pipe::register(SIGINT, sender)?;
        let terminated = Arc::new(AtomicBool::new(false));
        signal_hook::flag::register(SIGTERM, Arc::clone(&terminated))?;
        if is_ignored(SIGHUP) == Some(false) {
            signal_hook::flag::register(SIGHUP, Arc::clone(&terminated))?;
        }
        Ok(Signals { presses, pressed: AtomicUsize::new(0), terminated })
    }

    fn count_presses(&self) -> usize {
        let mut bytes = [0; 16];
        if let Ok(more) = (&self.presses).read(&mut bytes) {
            self.pressed.fetch_add(more, Ordering::Relaxed);
        }
        self.pressed.load(Ordering::Relaxed)
    }
}
