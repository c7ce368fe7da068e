//! What listens to a run: a person, or a script that wants one JSON object a line.

use super::Ui;
use crate::domain::event::{Event, Sink};
use crate::domain::text::{one_line, visible};

/// A person at a terminal, or a log: a line for each thing that matters, on stderr.
pub struct Progress {
    ui: Ui,
    stream: bool,
}

impl Progress {
    pub fn new(ui: Ui) -> Progress {
        Progress { ui, stream: false }
    }

    /// Also the text of answers, as it comes.
    pub fn streaming(ui: Ui) -> Progress {
        Progress { ui, stream: true }
    }
}

impl Sink for Progress {
    fn hear(&mut self, event: &Event<'_>) {
        let line = match event {
            Event::Start { run, dept, .. } => format!("{dept}: {run} starts"),
            Event::Step { role, engine, item, .. } => {
                let item = item.map(|id| format!(" about {id}")).unwrap_or_default();
                format!("  {role} asks {engine}{item}")
            }
            Event::Chunk(text) if self.stream => return self.ui.notice(visible(text).trim_end_matches('\n')),
            Event::Chunk(_) => return,
            Event::Stderr(text) => format!("  engine: {}", one_line(text, 300)),
            Event::Decision { keyword, id, .. } => {
                format!("  decides {keyword} {}", id.unwrap_or("")).trim_end().to_string()
            }
            Event::Action(action) => {
                let verdict =
                    if action.verdict == "allow" { String::new() } else { format!(": {}", action.verdict) };
                let what = format!("{} {}", action.name, one_line(&action.target, 200));
                format!("  {}{verdict}", what.trim_end())
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
            Event::Usage { .. } | Event::Done { .. } => return,
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
