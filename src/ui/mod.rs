//! The only writer of stdout and stderr.
//!
//! stdout is for the answer and nothing else; notices, warnings and errors go to stderr. Text that comes from files or
//! models is made visible here or by the tables, so that nothing but what one sees reaches a terminal.
#![expect(clippy::disallowed_methods, reason = "ui is the layer that writes to stdout and stderr")]

pub mod bar;
pub mod columns;
mod keys;
pub mod manual;
pub mod page;
pub mod sink;
pub mod table;
#[cfg(feature = "top")]
pub mod top;
pub mod waiting;
pub mod wrap;

use crate::domain::text::visible;
use anstyle::{AnsiColor, Style};
use keys::Key;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};

/// The schema of a document that says what went wrong.
const ERROR_SCHEMA: &str = "harness.error/1";

/// Whether to use colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Color {
    #[default]
    Auto,
    Always,
    Never,
}

/// How the answer is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Text,
    Json,
}

/// A command's answer, in both forms.
#[derive(Debug)]
pub struct Answer {
    /// Such as `harness.status/1`.
    pub schema: &'static str,
    pub data: Value,
    /// What a person sees; may hold styles.
    pub text: String,
    pub warnings: Vec<String>,
    /// What helps, where the answer is not what was wanted.
    pub hints: Vec<String>,
    /// How to undo what was done, for a person at a terminal; where the answer is an id alone, it can't stand there.
    pub undo: Option<String>,
    /// Whether the text only tells what was done, which `--quiet` leaves out.
    pub is_account: bool,
    pub exit: u8,
    /// Where what was asked for did not come about, why; scripts get it beside the data.
    pub shortfall: Option<Shortfall>,
}

/// Why an answer is none that was hoped for: a run that failed, say, which has its figures all the same.
#[derive(Debug)]
pub struct Shortfall {
    pub code: &'static str,
    pub message: String,
    pub hints: Vec<String>,
}

impl Answer {
    pub fn new(schema: &'static str, data: Value, text: impl Into<String>) -> Answer {
        Answer {
            schema,
            data,
            text: text.into(),
            warnings: Vec::new(),
            hints: Vec::new(),
            undo: None,
            is_account: false,
            exit: 0,
            shortfall: None,
        }
    }

    pub fn shortfall(mut self, shortfall: Shortfall) -> Answer {
        self.shortfall = Some(shortfall);
        self
    }

    pub fn warnings(mut self, warnings: Vec<String>) -> Answer {
        self.warnings = warnings;
        self
    }

    pub fn hint(mut self, hint: impl Into<String>) -> Answer {
        self.hints.push(hint.into());
        self
    }

    pub fn undo(mut self, how: impl Into<String>) -> Answer {
        self.undo = Some(how.into());
        self
    }

    /// Says that the text only tells what was done.
    pub fn account(mut self) -> Answer {
        self.is_account = true;
        self
    }

    pub fn exit(mut self, exit: u8) -> Answer {
        self.exit = exit;
        self
    }
}

/// A failure, in the form in which it is shown.
#[derive(Debug)]
pub struct Failure<'a> {
    pub code: &'a str,
    pub exit: u8,
    pub message: String,
    pub causes: Vec<String>,
    pub hints: &'a [String],
}

impl Failure<'_> {
    fn to_json(&self) -> Value {
        json!({
            "code": self.code,
            "exit": self.exit,
            "message": self.message,
            "causes": self.causes,
            "hints": self.hints,
        })
    }
}

/// Where output goes, and in which form.
#[derive(Clone, Copy, Debug)]
pub struct Ui {
    pub format: Format,
    pub color: Color,
    pub quiet: bool,
    /// What `COLUMNS` says; it counts where there is no terminal to ask.
    pub columns: Option<usize>,
}

impl Ui {
    /// Prints the answer; its warnings go to stderr, or into the document. The exit code is the answer's, or 1 where
    /// stdout takes no more: a file cut short by a full disk must not look like a success.
    pub fn answer(&self, answer: &Answer) -> u8 {
        let printed = match self.format {
            Format::Text => {
                for warning in &answer.warnings {
                    self.warn(warning);
                }
                let left_out = self.quiet && answer.is_account && answer.exit == 0;
                let printed = if left_out { Ok(()) } else { self.print(&answer.text) };
                if let Some(undo) = answer.undo.as_ref().filter(|_| self.watched()) {
                    self.complain(&faint(&format!("To undo: {}\n", visible(undo))));
                }
                if !answer.hints.is_empty() {
                    self.complain(&render_hints(&answer.hints));
                }
                printed
            }
            Format::Json => {
                let ok = answer.exit == 0;
                let failure = answer.shortfall.as_ref().map(|Shortfall { code, message, hints }| Failure {
                    code,
                    exit: answer.exit,
                    message: message.clone(),
                    causes: Vec::new(),
                    hints,
                });
                self.print(&render_json(&Document {
                    schema: if failure.is_some() { ERROR_SCHEMA } else { answer.schema },
                    ok,
                    data: &answer.data,
                    warnings: &answer.warnings,
                    error: failure.map(|failure| failure.to_json()),
                }))
            }
        };
        match printed {
            Ok(()) => answer.exit,
            Err(error) => {
                self.complain(&format!("error: can't write the answer to stdout: {error}\n"));
                1
            }
        }
    }

    pub fn failure(&self, failure: &Failure<'_>) {
        if self.format == Format::Json {
            let document = json!({"schema": ERROR_SCHEMA, "ok": false, "error": failure.to_json()});
            // Where even this can't be written, the exit code still says it.
            let _ignored = self.print(&render_json(&document));
            return;
        }
        let red = Style::new().fg_color(Some(AnsiColor::Red.into())).bold();
        let mut text = format!("{red}error:{red:#} {}\n", visible(&failure.message));
        for cause in &failure.causes {
            text.push_str(&format!("  because: {}\n", visible(cause)));
        }
        text.push_str(&render_hints(failure.hints));
        self.complain(&text);
    }

    /// A notice with styles of its own; whatever in it came from outside was made visible before.
    pub fn notice_styled(&self, text: &str) {
        if !self.quiet && self.format == Format::Text {
            self.complain(&format!("{text}\n"));
        }
    }

    /// What a person may want to know and a script doesn't.
    pub fn notice(&self, text: &str) {
        if !self.quiet && self.format == Format::Text {
            self.complain(&format!("{}\n", visible(text)));
        }
    }

    /// A piece of text on stderr that may not end its line; made visible before.
    pub fn piece(&self, text: &str) {
        if !self.quiet && self.format == Format::Text {
            self.complain(text);
        }
    }

    /// Whether the answer goes to a terminal.
    pub fn shows(&self) -> bool {
        io::stdout().is_terminal()
    }

    /// Whether a person sees what goes on: only then are there spinners and streams.
    pub fn watched(&self) -> bool {
        !self.quiet && self.format == Format::Text && io::stderr().is_terminal()
    }

    pub fn warn(&self, text: &str) {
        let yellow = Style::new().fg_color(Some(AnsiColor::Yellow.into()));
        self.complain(&format!("{yellow}warning:{yellow:#} {}\n", visible(text)));
    }

    /// One line of a stream on stdout; a reader that has gone is no error.
    pub fn line(&self, text: &str) {
        let _ignored = self.print(&format!("{text}\n"));
    }

    fn print(&self, text: &str) -> io::Result<()> {
        // Without a style there is nothing to strip, and looking at every byte for one takes longer than the rest.
        let written = if memchr::memchr(b'\x1b', text.as_bytes()).is_some() {
            let mut stream = anstream::AutoStream::new(io::stdout(), self.choice());
            stream.write_all(text.as_bytes()).and_then(|()| stream.flush())
        } else {
            io::stdout().write_all(text.as_bytes()).and_then(|()| io::stdout().flush())
        };
        match written {
            // A closed pipe is no error: the reader has seen enough.
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
            _ => Ok(()),
        }
    }

    fn complain(&self, text: &str) {
        let mut stream = anstream::AutoStream::new(io::stderr(), self.choice());
        let _ignored = stream.write_all(text.as_bytes());
    }

    fn choice(&self) -> anstream::ColorChoice {
        match self.color {
            Color::Auto => anstream::ColorChoice::Auto,
            Color::Always => anstream::ColorChoice::Always,
            Color::Never => anstream::ColorChoice::Never,
        }
    }

    /// Whether a person reads the answer as it comes.
    pub fn is_watched(&self) -> bool {
        !self.quiet && self.format == Format::Text && io::stdout().is_terminal()
    }

    /// Whether a person is there to answer a question.
    pub fn can_ask(&self) -> bool {
        self.format == Format::Text && io::stdin().is_terminal() && io::stderr().is_terminal()
    }

    /// Asks for yes or no; anything but yes is no.
    pub fn ask(&self, question: &str) -> bool {
        self.complain(&format!("{question} [y/N] "));
        let mut answer = String::new();
        let read = io::stdin().read_line(&mut answer);
        read.is_ok() && matches!(answer.trim(), "y" | "Y" | "yes")
    }

    /// Asks for one of some keys until one of them is pressed; `q` where nobody is there to press one.
    pub fn ask_key(&self, question: &str, keys: &[char]) -> char {
        loop {
            self.complain(&format!("{question} "));
            match keys::read_key() {
                Ok(Key::Letter(key)) if keys.contains(&key) => {
                    self.complain(&format!("{key}\n"));
                    return key;
                }
                Ok(Key::Letter(_) | Key::Other) => self.complain("\n"),
                Ok(Key::End) | Err(_) => {
                    self.complain("\n");
                    return 'q';
                }
            }
        }
    }

    /// Asks for a line of text.
    pub fn ask_line(&self, question: &str) -> String {
        self.complain(&format!("{question} "));
        let mut answer = String::new();
        let _ignored = io::stdin().read_line(&mut answer);
        answer.trim_end().to_string()
    }

    /// Columns of the terminal; without one, what `COLUMNS` says, else 80.
    pub fn width(&self) -> usize {
        terminal_width().or(self.columns).unwrap_or(80)
    }
}

fn render_hints(hints: &[String]) -> String {
    let cyan = Style::new().fg_color(Some(AnsiColor::Cyan.into()));
    hints.iter().map(|hint| format!("{cyan}hint:{cyan:#} {}\n", visible(hint))).collect()
}

/// One document. What a terminal would not show is written as an escape, which JSON readers undo.
/// What an answer is as a document; its data is written out as it is, not copied first.
#[derive(serde::Serialize)]
struct Document<'a> {
    schema: &'a str,
    ok: bool,
    data: &'a Value,
    warnings: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Value>,
}

fn render_json(document: &impl serde::Serialize) -> String {
    let mut text = serde_json::to_string_pretty(document).unwrap_or_default();
    text.push('\n');
    if matches!(visible(&text), Cow::Borrowed(_)) {
        return text;
    }
    let mut safe = String::with_capacity(text.len() + 64);
    for c in text.chars() {
        match visible(c.encode_utf8(&mut [0; 4])) {
            Cow::Borrowed(_) => safe.push(c),
            Cow::Owned(_) => {
                c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| safe.push_str(&format!("\\u{unit:04x}")));
            }
        }
    }
    safe
}

fn terminal_width() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
    (size.ws_col > 0).then_some(usize::from(size.ws_col))
}

/// How states look where there is colour; the word beside always says the same.
pub const GOOD: Style = Style::new().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Green)));
pub const BAD: Style = Style::new().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Red)));
pub const WAITS: Style = Style::new().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Yellow)));
pub const BUSY: Style = Style::new().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Blue)));

/// Bold, where there is colour.
pub fn bold(text: &str) -> String {
    let bold = Style::new().bold();
    format!("{bold}{text}{bold:#}")
}

/// Faint, where there is colour.
pub fn faint(text: &str) -> String {
    let faint = Style::new().dimmed();
    format!("{faint}{text}{faint:#}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_shows_nothing_that_a_terminal_would_obey() {
        let hostile = "\u{9b}31m\u{202e}\u{7f}\u{e0041} ⚠\u{fe0f} é";
        let text = render_json(&json!({"subject": hostile}));
        assert_eq!(visible(&text), text);
        let read: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(read["subject"], hostile);
        assert!(text.contains("é"), "{text}");
    }
}
