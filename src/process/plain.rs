//! A program started without a guard, so that it can be killed as a machine's mishap would kill it.
//!
//! This is for drill and selftest alone: whatever must not be left behind runs under `child`.

use super::stop::ProcessId;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const BEAT: Duration = Duration::from_millis(5);

/// A program that runs. Dropped, it is killed.
#[derive(Debug)]
pub struct Plain {
    child: Child,
}

impl Plain {
    /// Starts it with no input; what it says is dropped.
    pub fn start(
        program: &Path,
        args: &[OsString],
        env: &[(OsString, OsString)],
        cwd: &Path,
    ) -> io::Result<Plain> {
        let mut command = Command::new(program);
        command.args(args).env_clear().envs(env.iter().map(|(name, value)| (name, value))).current_dir(cwd);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().map(|child| Plain { child })
    }

    pub fn id(&self) -> Option<ProcessId> {
        ProcessId::of(self.child.id())
    }

    /// SIGKILL, and nothing else.
    pub fn kill(&mut self) -> io::Result<()> {
        self.child.kill()?;
        self.child.wait().map(|_| ())
    }

    /// Its exit code; none where a signal ended it, or where it is still there after `limit`.
    pub fn wait(&mut self, limit: Duration) -> Option<i32> {
        let until = Instant::now() + limit;
        while Instant::now() < until {
            match self.child.try_wait() {
                Ok(Some(status)) => return status.code(),
                Ok(None) => thread::sleep(BEAT),
                Err(_) => return None,
            }
        }
        None
    }

    pub fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }
}

impl Drop for Plain {
    fn drop(&mut self) {
        let _ignored = self.kill();
    }
}

/// Looks until something is so, or the time is up.
pub fn wait_until(limit: Duration, mut is_so: impl FnMut() -> bool) -> bool {
    let until = Instant::now() + limit;
    while !is_so() {
        if Instant::now() >= until {
            return false;
        }
        thread::sleep(BEAT);
    }
    true
}
