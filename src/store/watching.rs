//! File notifications from the departments' folders, for `watch`. Where the system gives none, time alone is left.

use super::fault::{Result, StoreError};
use super::org::{Org, folder_name};
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// What a message, an answer or a human's change moves. The tool's own state is left out: its runs would wake it.
const FOLDERS: [&str; 6] = ["inbox", "tasks", "approvals", "questions", "escalations", "schedules"];
/// Changes that come together count as one.
const TOGETHER: Duration = Duration::from_millis(200);

/// A watch on the folders of every department.
pub struct Watching {
    watcher: RecommendedWatcher,
    events: Receiver<notify::Result<notify::Event>>,
    watched: BTreeSet<PathBuf>,
}

impl Watching {
    pub fn start(org: &Org) -> Result<Watching> {
        let (sender, events) = channel();
        let watcher = notify::recommended_watcher(sender).map_err(|error| failed(org, &error))?;
        let mut watching = Watching { watcher, events, watched: BTreeSet::new() };
        watching.refresh(org)?;
        Ok(watching)
    }

    /// Takes in departments and folders that are new.
    pub fn refresh(&mut self, org: &Org) -> Result<()> {
        for dept in org.departments()?.departments {
            for folder in FOLDERS {
                let path = org.root.join(&folder_name(&dept)).join(folder);
                if !path.is_dir() || self.watched.contains(&path) {
                    continue;
                }
                self.watcher
                    .watch(&path, RecursiveMode::NonRecursive)
                    .map_err(|error| failed(org, &error))?;
                self.watched.insert(path);
            }
        }
        // A folder that went and comes again is a new one.
        self.watched.retain(|path| path.is_dir());
        Ok(())
    }

    /// Waits until something changes, or the time is over; whether something did.
    pub fn wait(&self, most: Duration) -> bool {
        match self.events.recv_timeout(most) {
            Ok(event) if is_change(&event) => {
                while self.events.recv_timeout(TOGETHER).is_ok() {}
                true
            }
            Ok(_) | Err(RecvTimeoutError::Timeout) => false,
            // The watcher is gone; without this the caller would ask again and again.
            Err(RecvTimeoutError::Disconnected) => {
                std::thread::sleep(most);
                false
            }
        }
    }
}

/// Reading is no change; an event that tells of lost ones is.
fn is_change(event: &notify::Result<notify::Event>) -> bool {
    event.as_ref().map_or(true, |event| !matches!(event.kind, EventKind::Access(_)))
}

fn failed(org: &Org, error: &notify::Error) -> StoreError {
    StoreError::io(org.root.path(), "watch", std::io::Error::other(error.to_string()))
}
