//! Running a tool to its end, in moments, without a guard: git, and what git starts to sign.
//!
//! It gets no mark of a run, for what it may leave behind (an agent that holds the user's keys) is the user's. It has a
//! group of its own, so that Ctrl-C at the terminal doesn't tear it off in the middle, and a time limit.

use super::pipe::Pipe;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How often it is asked whether the tool has ended, where its output doesn't say so.
const BEAT: Duration = Duration::from_millis(20);
const CHUNK: usize = 64 * 1024;

/// A tool to run. Nothing is inherited but what is named here.
#[derive(Debug, Clone)]
pub struct QuickSpec<'a> {
    /// Absolute; see `find`.
    pub program: PathBuf,
    pub args: Vec<String>,
    pub env: &'a [(String, String)],
    pub cwd: &'a Path,
    pub stdin: Vec<u8>,
    pub limit: Duration,
    pub output_bytes: usize,
}

/// What it said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuickEnd {
    /// None where a signal ended it.
    pub code: Option<i32>,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
}

/// Runs a tool to its end. One that takes too long or says too much is killed, and that is an error.
pub fn run_quick(spec: QuickSpec<'_>) -> io::Result<QuickEnd> {
    let until = Instant::now() + spec.limit;
    let mut command = Command::new(&spec.program);
    command.args(&spec.args).env_clear().envs(spec.env.iter().map(|(name, value)| (name, value)));
    command.current_dir(spec.cwd).process_group(0);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let stdin = child.stdin.take();
    let input = spec.stdin;
    // From a thread: it may answer before it has read everything. A tool that stops reading breaks the pipe.
    thread::Builder::new().spawn(move || stdin.map(|mut stdin| stdin.write_all(&input)))?;
    let ended = listen(&mut child, until, spec.output_bytes);
    if ended.is_err() {
        let _ = child.kill();
        let _ = child.wait();
    }
    ended
}

fn listen(child: &mut Child, until: Instant, most: usize) -> io::Result<QuickEnd> {
    let mut pipes = [
        Pipe::new(child.stdout.take().map(OwnedFd::from), most)?,
        Pipe::new(child.stderr.take().map(OwnedFd::from), most)?,
    ];
    let mut heard = [Vec::new(), Vec::new()];
    let mut buffer = vec![0; CHUNK];
    let mut code = None;
    loop {
        let mut more = false;
        for (pipe, said) in pipes.iter_mut().zip(&mut heard) {
            while !pipe.is_over()
                && let Some(bytes) = pipe.read(&mut buffer)
            {
                said.extend_from_slice(bytes);
                more = true;
            }
            if pipe.is_over() {
                return Err(io::Error::other(format!("it printed more than {most} bytes")));
            }
        }
        let is_silent = pipes.iter().all(|pipe| pipe.file.is_none());
        if let (Some(code), false) = (code, more) {
            let [stdout, stderr] = heard;
            return Ok(QuickEnd { code, stdout, stderr });
        }
        code = match (code, is_silent) {
            (None, true) => Some(wait(child, until)?),
            (None, false) => child.try_wait()?.map(|status| status.code()),
            (known, _) => known,
        };
        if Instant::now() >= until {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "it took too long and was ended"));
        }
        if code.is_none() {
            wait_for_output(&pipes)?;
        }
    }
}

fn wait(child: &mut Child, until: Instant) -> io::Result<Option<i32>> {
    while Instant::now() < until {
        if let Some(status) = child.try_wait()? {
            return Ok(status.code());
        }
        thread::sleep(Duration::from_micros(200));
    }
    Err(io::Error::new(io::ErrorKind::TimedOut, "it took too long and was ended"))
}

fn wait_for_output(pipes: &[Pipe; 2]) -> io::Result<()> {
    let timeout = Timespec::try_from(BEAT).map_err(io::Error::other)?;
    let files = pipes.iter().filter_map(|pipe| pipe.file.as_ref());
    let mut fds: Vec<PollFd<'_>> = files.map(|file| PollFd::new(file, PollFlags::IN)).collect();
    match poll(&mut fds, Some(&timeout)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str, stdin: &[u8], limit_ms: u64) -> io::Result<QuickEnd> {
        run_quick(QuickSpec {
            program: "/bin/sh".into(),
            args: vec!["-c".into(), script.into()],
            env: &[("A".to_string(), "b".to_string())],
            cwd: Path::new("/"),
            stdin: stdin.to_vec(),
            limit: Duration::from_millis(limit_ms),
            output_bytes: 100_000,
        })
    }

    #[test]
    fn what_it_says_and_how_it_ends() {
        let ended = sh("cat; echo $A >&2; exit 3", b"hello", 5_000).unwrap();
        assert_eq!((ended.code, &*ended.stdout, &*ended.stderr), (Some(3), &b"hello"[..], &b"b\n"[..]));
        assert_eq!(sh("kill -9 $$", b"", 5_000).unwrap().code, None);
    }

    #[test]
    fn it_is_ended_where_it_takes_too_long_or_says_too_much() {
        assert_eq!(sh("sleep 20", b"", 50).unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert!(sh("while :; do echo xxxxxxxxxxxxxxxx; done", b"", 5_000).is_err());
    }

    #[test]
    fn a_pipe_that_somebody_holds_open_holds_nobody_up() {
        let started = Instant::now();
        let ended = sh("sleep 3 & echo x", b"", 10_000).unwrap();
        assert_eq!(&*ended.stdout, b"x\n");
        assert!(started.elapsed() < Duration::from_secs(2));
    }
}
