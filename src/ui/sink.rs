//! What listens to a run: a person, or a script that wants one JSON object a line.

use super::Ui;
use super::waiting::Waiting;
use crate::domain::event::{Event, Sink};
use crate::domain::text::{one_line, visible};

/// A person at a terminal, or a log: a line for each thing that matters, on stderr. At a terminal there is a spinner while
/// an engine thinks, and the text of answers as it comes where that was asked for.
pub struct Progress {
    ui: Ui,
    stream: bool,
    /// Nothing is carried out: what is allowed would be done.
    shown: bool,
    waiting: Waiting,
    /// The text of an answer that was shown last did not end its line.
    open_line: bool,
}

impl Progress {
    pub fn new(ui: Ui) -> Progress {
        Progress { ui, stream: false, shown: false, waiting: Waiting::default(), open_line: false }
    }

    /// Also the text of answers, as it comes.
    pub fn streaming(ui: Ui) -> Progress {
        Progress { stream: ui.watched(), ..Progress::new(ui) }
    }

    /// Of a run that carries nothing out.
    pub fn of_a_dry_run(self) -> Progress {
        Progress { shown: true, ..self }
    }

    fn chunk(&mut self, text: &str) {
        if !self.stream {
            return;
        }
        self.waiting.stop();
        let shown = visible(text);
        self.ui.piece(&shown);
        self.open_line = !shown.ends_with('\n');
    }

    fn close_line(&mut self) {
        if std::mem::take(&mut self.open_line) {
            self.ui.piece("\n");
        }
    }
}

impl Sink for Progress {
    fn hear(&mut self, event: &Event<'_>) {
        if let Event::Chunk(text) = event {
            return self.chunk(text);
        }
        self.waiting.stop();
        self.close_line();
        let line = match event {
            Event::Start { run, dept, .. } => format!("{dept}: {run} starts"),
            Event::Step { role, engine, item, .. } => {
                let item = item.map(|id| format!(" about {id}")).unwrap_or_default();
                self.ui.notice(&format!("  {role} asks {engine}{item}"));
                if self.ui.watched() {
                    self.waiting.start(&format!("{engine} thinks"));
                }
                return;
            }
            Event::Chunk(_) => return,
            Event::Stderr(text) => format!("  engine: {}", one_line(text, 300)),
            Event::Decision { keyword, id, .. } => {
                format!("  decides {keyword} {}", id.unwrap_or("")).trim_end().to_string()
            }
            Event::Action(action) => {
                let verdict = match action.verdict.as_str() {
                    "allow" => String::new(),
                    verdict => {
                        format!(": {verdict}, by {}", action.rule).trim_end_matches(", by ").to_string()
                    }
                };
                let what = format!("{} {}", action.name, one_line(&action.target, 200));
                let would = if self.shown && verdict.is_empty() { "would " } else { "" };
                format!("  {would}{}{verdict}", what.trim_end())
            }
            Event::Refused(refusals) => {
                for refusal in *refusals {
                    self.ui.notice(&format!(
                        "  refused: {}: {}",
                        refusal.code,
                        one_line(&refusal.message, 300)
                    ));
                }
                return;
            }
            Event::Notice(text) => format!("  {}", one_line(text, 400)),
            // The refusals say which actions are refused; how a run ended, and whether it is committed, is for the
            // answer to say.
            Event::Judged(_) | Event::Usage { .. } | Event::Done { .. } | Event::NotCommitted(_) => return,
        };
        self.ui.notice(&line);
    }
}

/// A script: every event as one JSON object on stdout.
pub struct Lines {
    ui: Ui,
}

impl Lines {
    pub fn new(ui: Ui) -> Lines {
        Lines { ui }
    }
}

impl Sink for Lines {
    fn hear(&mut self, event: &Event<'_>) {
        self.ui.line(&event.to_json().to_string());
    }
}
