//! Calls any program of the user's: the whole prompt on standard input, the answer on standard output.
//!
//! Nothing is known of usage, cost or the reasons of a failure, and no line of output says that the
//! result is complete: that is the exit's to say.

use super::answer::{Answer, Event, Exit, Gathered};
use super::failure::Failure;
use super::{Call, Request, Settings};

pub fn call(settings: &Settings, request: &Request) -> Call {
    Call { args: settings.extra_args.clone(), stdin: request.whole(), ..Call::default() }
}

#[derive(Default)]
pub struct Reader {
    gathered: Gathered,
}

impl Reader {
    pub fn stdout_line(&mut self, line: &str) -> Vec<Event> {
        self.gathered.text_line(line)
    }

    pub fn stderr_line(&mut self, line: &str) -> Vec<Event> {
        self.gathered.error_line(line);
        Vec::new()
    }

    pub fn finish(self, exit: Exit) -> Result<Answer, Failure> {
        self.gathered.conclude(exit)
    }
}
