//! Adapters to the programs that answer a prompt: two pure halves for each, request to command line
//! and output lines to events and an answer.
//!
//! Nothing here starts a process, reads a file or knows the time. Whoever spawns feeds each line of
//! output to a [`Reader`] and asks it at the end what it has seen. The engines that start nothing
//! (`rules`, `replay`, `script`) have no command line and are not presets.
//!
//! No preset gives the model tools unless the settings name them, and none reads settings out of the
//! working folder: a department may have been cloned from anywhere.

#![expect(clippy::result_large_err, reason = "a failure is no larger than the answer beside it")]

mod answer;
mod claude;
mod codex;
mod command;
mod failure;
mod field;
mod gemini;
mod llm;
mod ollama;
mod opencode;
pub mod rules;
mod usage;

use std::fmt;
use std::str::FromStr;

pub use answer::{Answer, Event, Exit};
pub use failure::{Failure, FailureKind, rest_s};
pub use usage::{Cost, Usage};

/// The longest system prompt that goes into an argument, in bytes. Linux refuses a single argument
/// of 128 KiB; a longer prompt goes in front of the rest on standard input.
pub const SYSTEM_ARGUMENT_LIMIT: usize = 100_000;

/// The clients that harness knows how to call and read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preset {
    Claude,
    Codex,
    Gemini,
    Opencode,
    Llm,
    Ollama,
    Command,
}

impl Preset {
    pub const ALL: [Preset; 7] = [
        Preset::Claude,
        Preset::Codex,
        Preset::Gemini,
        Preset::Opencode,
        Preset::Llm,
        Preset::Ollama,
        Preset::Command,
    ];

    /// The word for it in `org.toml`.
    pub fn name(self) -> &'static str {
        match self {
            Preset::Claude => "claude",
            Preset::Codex => "codex",
            Preset::Gemini => "gemini",
            Preset::Opencode => "opencode",
            Preset::Llm => "llm",
            Preset::Ollama => "ollama",
            Preset::Command => "command",
        }
    }

    /// The program looked for where the settings name none; `command` has none.
    pub fn default_program(self) -> Option<&'static str> {
        match self {
            Preset::Command => None,
            known => Some(known.name()),
        }
    }

    /// What makes the program print its version and do nothing else. A program behind `command`
    /// is the user's own: nothing is known to be harmless there.
    pub fn version_arguments(self) -> Option<&'static [&'static str]> {
        match self {
            Preset::Command => None,
            _ => Some(&["--version"]),
        }
    }

    /// Whether the program can't choose a model by itself.
    pub fn needs_model(self) -> bool {
        self == Preset::Ollama
    }

    /// Which folder the program may be started in.
    pub fn working_folder(self) -> WorkingFolder {
        match self {
            Preset::Gemini => WorkingFolder::Empty,
            _ => WorkingFolder::Department,
        }
    }
}

/// The working folder that is safe for a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkingFolder {
    Department,
    /// The client opens files of its folder because the prompt's text names them, and no switch
    /// turns that off: there must be none to open.
    Empty,
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A preset that doesn't exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownPreset(pub String);

impl fmt::Display for UnknownPreset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = Preset::ALL.iter().map(|preset| preset.name()).collect();
        write!(f, "`{}` is not a preset; there are {}", self.0, names.join(", "))
    }
}

impl std::error::Error for UnknownPreset {}

impl FromStr for Preset {
    type Err = UnknownPreset;

    fn from_str(text: &str) -> Result<Preset, UnknownPreset> {
        let found = Preset::ALL.into_iter().find(|preset| preset.name() == text);
        found.ok_or_else(|| UnknownPreset(text.to_owned()))
    }
}

/// One engine as `org.toml` defines it.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    pub preset: Preset,
    pub model: Option<String>,
    /// For `command`, the program and its arguments. Elsewhere empty, or the program to start in
    /// place of the preset's own, with what must come before the preset's arguments.
    pub command: Vec<String>,
    /// Added after the preset's own arguments.
    pub extra_args: Vec<String>,
    /// Tools the model may use, in the client's own names; none where empty.
    pub tools: Vec<String>,
    pub timeout_s: u64,
    /// What a step counts as where the client reports no cost.
    pub worst_case_usd: f64,
}

/// What is asked: the prompt in its two parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request<'a> {
    /// The stable layers.
    pub system: &'a str,
    /// The live state and the closer.
    pub prompt: &'a str,
}

impl Request<'_> {
    /// The prompt as one text, for engines that take no system prompt: the very bytes that `harness prompt` shows.
    pub fn whole(&self) -> String {
        [self.system, self.prompt].concat()
    }

    fn system_fits_argument(&self) -> bool {
        self.system.len() <= SYSTEM_ARGUMENT_LIMIT && !self.system.contains('\0')
    }
}

/// How the program is started. `env` comes on top of the minimal environment that every child gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLine {
    pub program: String,
    pub args: Vec<String>,
    pub stdin: String,
    pub env: Vec<(String, String)>,
    /// The stable layers, for a client that takes them from a file.
    pub system_file: Option<SystemFile>,
}

/// A system prompt that a client reads from the file that a variable names. Where it can't be written, the whole
/// prompt goes to standard input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SystemFile {
    pub variable: &'static str,
    pub text: String,
}

/// What a preset adds to the program's name.
#[derive(Default)]
struct Call {
    args: Vec<String>,
    stdin: String,
    env: Vec<(String, String)>,
    system_file: Option<SystemFile>,
}

/// The command line that puts the request to the engine.
pub fn command_line(settings: &Settings, request: &Request) -> CommandLine {
    let call = match settings.preset {
        Preset::Claude => claude::call(settings, request),
        Preset::Codex => codex::call(settings, request),
        Preset::Gemini => gemini::call(settings, request),
        Preset::Opencode => opencode::call(settings, request),
        Preset::Llm => llm::call(settings, request),
        Preset::Ollama => ollama::call(settings, request),
        Preset::Command => command::call(settings, request),
    };
    let (program, before) = match settings.command.split_first() {
        Some((program, before)) => (program.clone(), before),
        None => (settings.preset.default_program().unwrap_or_default().to_owned(), [].as_slice()),
    };
    let Call { args, stdin, env, system_file } = call;
    CommandLine { program, args: [before, &args].concat(), stdin, env, system_file }
}

/// Reads one call's output, line by line.
///
/// Lines come without their line ends and already as valid text. Those of the two streams may come
/// in any order; within a stream, in theirs.
pub struct Reader(State);

enum State {
    Claude(claude::Reader),
    Codex(codex::Reader),
    Gemini(gemini::Reader),
    Opencode(opencode::Reader),
    Llm(llm::Reader),
    Ollama(ollama::Reader),
    Command(command::Reader),
}

impl Reader {
    pub fn new(preset: Preset) -> Reader {
        Reader(match preset {
            Preset::Claude => State::Claude(Default::default()),
            Preset::Codex => State::Codex(Default::default()),
            Preset::Gemini => State::Gemini(Default::default()),
            Preset::Opencode => State::Opencode(Default::default()),
            Preset::Llm => State::Llm(Default::default()),
            Preset::Ollama => State::Ollama(Default::default()),
            Preset::Command => State::Command(Default::default()),
        })
    }

    pub fn stdout_line(&mut self, line: &str) -> Vec<Event> {
        match &mut self.0 {
            State::Claude(reader) => reader.stdout_line(line),
            State::Codex(reader) => reader.stdout_line(line),
            State::Gemini(reader) => reader.stdout_line(line),
            State::Opencode(reader) => reader.stdout_line(line),
            State::Llm(reader) => reader.stdout_line(line),
            State::Ollama(reader) => reader.stdout_line(line),
            State::Command(reader) => reader.stdout_line(line),
        }
    }

    pub fn stderr_line(&mut self, line: &str) -> Vec<Event> {
        match &mut self.0 {
            State::Claude(reader) => reader.stderr_line(line),
            State::Codex(reader) => reader.stderr_line(line),
            State::Gemini(reader) => reader.stderr_line(line),
            State::Opencode(reader) => reader.stderr_line(line),
            State::Llm(reader) => reader.stderr_line(line),
            State::Ollama(reader) => reader.stderr_line(line),
            State::Command(reader) => reader.stderr_line(line),
        }
    }

    pub fn finish(self, exit: Exit) -> Result<Answer, Failure> {
        match self.0 {
            State::Claude(reader) => reader.finish(exit),
            State::Codex(reader) => reader.finish(exit),
            State::Gemini(reader) => reader.finish(exit),
            State::Opencode(reader) => reader.finish(exit),
            State::Llm(reader) => reader.finish(exit),
            State::Ollama(reader) => reader.finish(exit),
            State::Command(reader) => reader.finish(exit),
        }
    }
}

#[cfg(test)]
mod tests;
