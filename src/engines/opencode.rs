//! Calls opencode and reads `opencode run --format json`: one JSON object a line.
//!
//! The text is that of the last message's `text` parts; each `step_finish` brings tokens and cost,
//! and one whose reason isn't `tool-calls` is the last. An `error` fails the call. The prompt is
//! standard input, which the client reads to its end where it isn't a terminal; it takes no system
//! prompt from outside.
//!
//! A limit of the client's: while it waits to try again it prints nothing, so a call stopped in that
//! time doesn't say why.

use serde_json::{Map, Value};

use super::answer::{Answer, Event, Exit, Gathered};
use super::failure::{Failure, FailureKind};
use super::field;
use super::usage::{Cost, Usage};
use super::{Call, Request, Settings};

pub fn call(settings: &Settings, request: &Request) -> Call {
    // With a title given, the model isn't asked for one.
    let mut args: Vec<String> =
        ["run", "--format", "json", "--pure", "--title", "harness"].map(str::to_owned).into();
    if let Some(model) = &settings.model {
        args.extend(["-m".to_owned(), model.clone()]);
    }
    args.extend_from_slice(&settings.extra_args);
    let env = vec![
        ("OPENCODE_PERMISSION".to_owned(), permission(&settings.tools)),
        // The folder's own settings can name programs, which the client starts before it asks.
        ("OPENCODE_DISABLE_PROJECT_CONFIG".to_owned(), "1".to_owned()),
        ("OPENCODE_DISABLE_AUTOUPDATE".to_owned(), "1".to_owned()),
    ];
    Call { args, stdin: request.whole(), env, ..Call::default() }
}

/// Rules in order, of which the last that matches counts. A denied tool isn't shown to the model.
fn permission(tools: &[String]) -> String {
    let mut rules = Map::from_iter([("*".to_owned(), Value::from("deny"))]);
    rules.extend(tools.iter().map(|tool| (tool.clone(), Value::from("allow"))));
    Value::Object(rules).to_string()
}

#[derive(Default)]
pub struct Reader {
    gathered: Gathered,
    message: Option<String>,
    cost: Option<Cost>,
    finished: bool,
}

impl Reader {
    pub fn stdout_line(&mut self, line: &str) -> Vec<Event> {
        let Some(line) = field::parse_object(line) else { return Vec::new() };
        match field::text(&line, "/type") {
            Some("text") => self.text(&line),
            Some("step_finish") => self.step_finish(&line),
            Some("error") => {
                self.gathered.fault = Some(fault(&line));
                vec![Event::Result]
            }
            _ => Vec::new(),
        }
    }

    pub fn stderr_line(&mut self, line: &str) -> Vec<Event> {
        self.gathered.error_line(line);
        Vec::new()
    }

    pub fn finish(mut self, exit: Exit) -> Result<Answer, Failure> {
        self.gathered.cost = self.cost.unwrap_or_default();
        let well = exit == Exit { code: Some(0), clean: true };
        if well && !self.finished && self.gathered.fault.is_none() {
            let last_words = self.gathered.last_error_line().to_owned();
            self.gathered.fault = Some((FailureKind::Unreadable, last_words));
        }
        self.gathered.conclude(exit)
    }

    fn text(&mut self, line: &Value) -> Vec<Event> {
        let Some(text) = field::text(line, "/part/text") else { return Vec::new() };
        let message = field::text(line, "/part/messageID");
        if self.message.as_deref() != message {
            self.message = message.map(str::to_owned);
            self.gathered.text.clear();
        }
        if !self.gathered.text.is_empty() {
            self.gathered.text.push('\n');
        }
        self.gathered.text.push_str(text);
        vec![Event::Text(text.to_owned())]
    }

    fn step_finish(&mut self, line: &Value) -> Vec<Event> {
        let usage = usage(line);
        let cost = Cost::reported(field::number(line, "/part/cost"), &usage);
        self.gathered.usage = self.gathered.usage.plus(&usage);
        self.cost = Some(self.cost.map_or(cost, |before| before.plus(cost)));
        self.finished = field::text(line, "/part/reason") != Some("tool-calls");
        if self.finished { vec![Event::Result] } else { Vec::new() }
    }
}

/// Here reasoning is beside the output, and the cache beside the input.
fn usage(line: &Value) -> Usage {
    let count = |name: &str| field::count(line, &format!("/part/tokens/{name}"));
    let output = [count("output"), count("reasoning")];
    Usage {
        input_tokens: count("input"),
        cache_write_tokens: count("cache/write"),
        cache_read_tokens: count("cache/read"),
        output_tokens: output.into_iter().flatten().reduce(u64::saturating_add),
    }
}

fn fault(line: &Value) -> (FailureKind, String) {
    let name = field::text(line, "/error/name").unwrap_or_default();
    let message = field::text(line, "/error/data/message").unwrap_or(name);
    let kind = match (field::status(line, "/error/data/statusCode"), name) {
        (Some(status), _) => with_delay(FailureKind::of_status(status), line),
        (None, "ProviderAuthError") => FailureKind::Auth,
        (None, "ContextOverflowError") => FailureKind::TooLong,
        (None, _) => FailureKind::Api(None),
    };
    (kind, message.to_owned())
}

fn with_delay(kind: FailureKind, line: &Value) -> FailureKind {
    let header = field::text(line, "/error/data/responseHeaders/retry-after");
    match kind {
        FailureKind::Quota { reset_at, .. } => {
            FailureKind::Quota { reset_at, retry_after_s: header.and_then(|text| text.trim().parse().ok()) }
        }
        other => other,
    }
}
