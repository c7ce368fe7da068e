//! Calls `llm` and reads its plain text: the answer on standard output, `Token usage: 1,234 input,
//! 5 output` and errors on standard error.
//!
//! One leniency. Where the provider's library failed, the last line of standard error is
//! `Error: Error code: 429 - ...`, and the number is taken from that place; other errors have no
//! status. A cut stream leaves half an answer on standard output: only the exit code tells.

use super::answer::{Answer, Event, Exit, Gathered};
use super::failure::{Failure, FailureKind};
use super::field;
use super::usage::Usage;
use super::{Call, Request, Settings};

pub fn call(settings: &Settings, request: &Request) -> Call {
    let mut args = Vec::new();
    if let Some(model) = &settings.model {
        args.extend(["-m", model]);
    }
    args.extend(["-n", "-u"]);
    let as_argument = !request.system.is_empty() && request.system_fits_argument();
    if as_argument {
        args.extend(["-s", request.system]);
    }
    for tool in &settings.tools {
        args.extend(["-T", tool]);
    }
    args.extend(settings.extra_args.iter().map(String::as_str));
    let stdin = if as_argument { request.prompt.to_owned() } else { request.whole() };
    Call { args: args.into_iter().map(str::to_owned).collect(), stdin, ..Call::default() }
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
        if let Some(usage) = line.strip_prefix("Token usage: ") {
            self.gathered.usage = parse_usage(usage);
            return vec![Event::Result];
        }
        self.gathered.error_line(line);
        Vec::new()
    }

    pub fn finish(mut self, exit: Exit) -> Result<Answer, Failure> {
        let last_words = self.gathered.last_error_line();
        if exit.clean
            && exit.code != Some(0)
            && let Some(status) = field::status_after(last_words, "Error: Error code: ")
        {
            self.gathered.fault = Some((FailureKind::of_status(status), last_words.to_owned()));
        }
        self.gathered.conclude(exit)
    }
}

/// Counts have commas between thousands, and a comma and a space between them.
fn parse_usage(text: &str) -> Usage {
    let count = |name: &str| {
        let number = text.split(", ").find_map(|part| part.trim_end().strip_suffix(name))?;
        number.replace(',', "").parse().ok()
    };
    Usage { input_tokens: count(" input"), output_tokens: count(" output"), ..Usage::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_commas() {
        let check = |text: &str, input, output| {
            let expected = Usage { input_tokens: input, output_tokens: output, ..Usage::default() };
            assert_eq!(parse_usage(text), expected, "{text}");
        };
        check("34 input, 4 output", Some(34), Some(4));
        check("1,234,567 input, 5 output, {\"cached\": 3}", Some(1_234_567), Some(5));
        check("4 output", None, Some(4));
        check("many input", None, None);
    }
}
