//! Calls Ollama and reads its plain text: the answer on standard output and, with `--verbose`,
//! counts on standard error (`prompt eval count:    28 token(s)`, `eval count:    144 token(s)`).
//!
//! It has no system prompt and no tools here. Its cost is unknown, not zero: some of its models run
//! at a provider's. An engine that really costs nothing says so with a worst case of 0.

use super::answer::{Answer, Event, Exit, Gathered};
use super::failure::Failure;
use super::{Call, Request, Settings};

pub fn call(settings: &Settings, request: &Request) -> Call {
    // Thoughts would come on standard output in front of the answer, decisions and all.
    let mut args: Vec<String> = ["run", "--verbose", "--hidethinking"].map(str::to_owned).into();
    args.extend_from_slice(&settings.extra_args);
    // Whatever follows the model would be taken for the prompt.
    args.extend(settings.model.clone());
    Call { args, stdin: request.whole(), ..Call::default() }
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
        if let Some(count) = parse_count(line, "prompt eval count:") {
            self.gathered.usage.input_tokens = Some(count);
        } else if let Some(count) = parse_count(line, "eval count:") {
            self.gathered.usage.output_tokens = Some(count);
            return vec![Event::Result];
        } else {
            self.gathered.error_line(line);
        }
        Vec::new()
    }

    pub fn finish(self, exit: Exit) -> Result<Answer, Failure> {
        self.gathered.conclude(exit)
    }
}

fn parse_count(line: &str, name: &str) -> Option<u64> {
    line.trim_start().strip_prefix(name)?.split_whitespace().next()?.parse().ok()
}
