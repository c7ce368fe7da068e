//! Calls Codex and reads `codex exec --json`: one JSON object a line.
//!
//! The text is the last completed `agent_message`; `turn.completed` brings the usage and ends well,
//! `turn.failed` ends badly. An item of type `error` is a warning. There is no cost, no model name
//! and no system prompt: all of the prompt goes to standard input.
//!
//! One leniency. A failure's status stands nowhere but at a fixed place of the error message
//! (`unexpected status 401 ...`, `exceeded retry limit, last status: 429 ...`); the number is taken
//! from there. Failures that carry no number, as this client's for 500, stay without a status.

use serde_json::Value;

use super::answer::{Answer, Event, Exit, Gathered};
use super::failure::{Failure, FailureKind};
use super::field;
use super::usage::Usage;
use super::{Call, Request, Settings};

/// What takes each tool away from the model. The client ignores keys that its version doesn't know.
const TOOL_SWITCHES: [(&str, &str); 9] = [
    ("shell", "features.shell_tool=false"),
    ("shell", "features.unified_exec=false"),
    ("view_image", "features.view_image=false"),
    ("image_generation", "features.image_generation=false"),
    ("multi_agent", "features.multi_agent=false"),
    ("goals", "features.goals=false"),
    ("apps", "features.apps=false"),
    ("plugins", "features.plugins=false"),
    ("web_search", "web_search=\"disabled\""),
];

const STATUS_PREFIXES: [&str; 2] = ["unexpected status ", "exceeded retry limit, last status: "];

pub fn call(settings: &Settings, request: &Request) -> Call {
    // The user's configuration may start servers that give the model tools; a login is still read.
    let mut args = vec!["exec", "--json", "--ephemeral", "--skip-git-repo-check", "--ignore-user-config"];
    args.extend(["-s", "read-only"]);
    if let Some(model) = &settings.model {
        args.extend(["-m", model]);
    }
    args.extend(["-c", "project_doc_max_bytes=0"]);
    let allowed = |tool: &str| settings.tools.iter().any(|name| name == tool);
    for (_, switch) in TOOL_SWITCHES.iter().filter(|(tool, _)| !allowed(tool)) {
        args.extend(["-c", switch]);
    }
    args.extend(settings.extra_args.iter().map(String::as_str));
    args.push("-");
    let args = args.into_iter().map(str::to_owned).collect();
    Call { args, stdin: request.whole(), ..Call::default() }
}

#[derive(Default)]
pub struct Reader {
    gathered: Gathered,
    turn_ended: bool,
}

impl Reader {
    pub fn stdout_line(&mut self, line: &str) -> Vec<Event> {
        let Some(line) = field::parse_object(line) else { return Vec::new() };
        match field::text(&line, "/type") {
            Some("item.completed") => self.item(&line),
            Some("error") => self.gathered.warn(field::text(&line, "/message").unwrap_or_default()),
            Some("turn.completed") => {
                self.gathered.usage = usage(&line);
                self.end_turn()
            }
            Some("turn.failed") => {
                let message = field::text(&line, "/error/message").unwrap_or_default();
                self.gathered.fault = Some((kind(message), message.to_owned()));
                self.end_turn()
            }
            _ => Vec::new(),
        }
    }

    pub fn stderr_line(&mut self, line: &str) -> Vec<Event> {
        self.gathered.error_line(line);
        Vec::new()
    }

    pub fn finish(mut self, exit: Exit) -> Result<Answer, Failure> {
        if !self.turn_ended && exit == (Exit { code: Some(0), clean: true }) {
            let last_words = self.gathered.last_error_line().to_owned();
            self.gathered.fault = Some((FailureKind::Unreadable, last_words));
        }
        self.gathered.conclude(exit)
    }

    fn item(&mut self, line: &Value) -> Vec<Event> {
        match field::text(line, "/item/type") {
            Some("agent_message") => {
                self.gathered.text = field::text(line, "/item/text").unwrap_or_default().to_owned();
                vec![Event::Text(self.gathered.text.clone())]
            }
            Some("error") => self.gathered.warn(field::text(line, "/item/message").unwrap_or_default()),
            _ => Vec::new(),
        }
    }

    fn end_turn(&mut self) -> Vec<Event> {
        self.turn_ended = true;
        vec![Event::Result]
    }
}

/// Here the input counts those tokens too that came from the cache.
fn usage(line: &Value) -> Usage {
    let cached = field::count(line, "/usage/cached_input_tokens");
    let input = field::count(line, "/usage/input_tokens");
    Usage {
        input_tokens: input.map(|input| input.saturating_sub(cached.unwrap_or(0))),
        cache_write_tokens: None,
        cache_read_tokens: cached,
        output_tokens: field::count(line, "/usage/output_tokens"),
    }
}

fn kind(message: &str) -> FailureKind {
    let status = STATUS_PREFIXES.iter().find_map(|prefix| field::status_after(message, prefix));
    status.map_or(FailureKind::Api(None), FailureKind::of_status)
}
