//! Calls Gemini CLI and reads `-o json`: one document over many lines, on standard output where it
//! went well, or after traces on standard error where it didn't.
//!
//! A document opens with a line `{` and closes with a line `}`. Its exit code is the HTTP status
//! modulo 256 and isn't looked at. Its system prompt can only be given as a file, which a variable
//! names.
//!
//! Two limits of the client's: no switch takes away its tools that only read the working folder, and
//! `@path` in a prompt opens a file there. It must be started in an empty one
//! ([`WorkingFolder::Empty`](super::WorkingFolder)).

use serde_json::Value;

use super::answer::{Answer, Event, Exit, Gathered};
use super::failure::{Failure, FailureKind};
use super::field;
use super::usage::Usage;
use super::{Call, Request, Settings, SystemFile};

pub fn call(settings: &Settings, request: &Request) -> Call {
    // `none` is no extension's and no server's name: neither the user's nor the folder's are loaded.
    let fixed = ["-p", "", "-o", "json", "--skip-trust", "-e", "none", "--allowed-mcp-server-names=none"];
    let mut args: Vec<String> = fixed.map(str::to_owned).into();
    if let Some(model) = &settings.model {
        args.extend(["-m".to_owned(), model.clone()]);
    }
    args.extend(settings.tools.iter().map(|tool| format!("--allowed-tools={tool}")));
    args.extend_from_slice(&settings.extra_args);
    // Without it the client starts a second process of itself.
    let env = vec![("GEMINI_CLI_NO_RELAUNCH".to_owned(), "true".to_owned())];
    if request.system.is_empty() {
        return Call { args, stdin: request.whole(), env, ..Call::default() };
    }
    let system_file = Some(SystemFile { variable: "GEMINI_SYSTEM_MD", text: request.system.to_owned() });
    Call { args, stdin: request.prompt.to_owned(), env, system_file }
}

#[derive(Default)]
pub struct Reader {
    gathered: Gathered,
    stdout: Document,
    stderr: Document,
    result_seen: bool,
}

impl Reader {
    pub fn stdout_line(&mut self, line: &str) -> Vec<Event> {
        match self.stdout.line(line) {
            Some(document) => self.result(&document),
            None => Vec::new(),
        }
    }

    pub fn stderr_line(&mut self, line: &str) -> Vec<Event> {
        self.gathered.error_line(line);
        let document = self.stderr.line(line).filter(|document| document.get("error").is_some());
        let Some(document) = document else { return Vec::new() };
        self.result_seen = true;
        self.gathered.fault = Some(fault(&document));
        vec![Event::Result]
    }

    pub fn finish(mut self, exit: Exit) -> Result<Answer, Failure> {
        if !self.result_seen && exit == (Exit { code: Some(0), clean: true }) {
            let last_words = self.gathered.last_error_line().to_owned();
            self.gathered.fault = Some((FailureKind::Unreadable, last_words));
        }
        self.gathered.conclude(exit)
    }

    fn result(&mut self, document: &Value) -> Vec<Event> {
        self.result_seen = true;
        self.gathered.text = field::text(document, "/response").unwrap_or_default().to_owned();
        let models = document.pointer("/stats/models").and_then(Value::as_object);
        for (name, model) in models.into_iter().flatten() {
            self.gathered.usage = self.gathered.usage.plus(&usage(model));
            // The others route the question or shorten the history.
            if model.pointer("/roles/main").is_some() {
                self.gathered.model = Some(name.clone());
            }
        }
        if document.get("error").is_some_and(|error| !error.is_null()) {
            self.gathered.fault = Some(fault(document));
        }
        vec![Event::Text(self.gathered.text.clone()), Event::Result]
    }
}

/// Here `input` leaves out what came from the cache, and thoughts are beside the candidates.
fn usage(model: &Value) -> Usage {
    let count = |name: &str| field::count(model, &format!("/tokens/{name}"));
    let sum = |a: Option<u64>, b: Option<u64>| [a, b].into_iter().flatten().reduce(u64::saturating_add);
    Usage {
        input_tokens: sum(count("input"), count("tool")),
        cache_write_tokens: None,
        cache_read_tokens: count("cached"),
        output_tokens: sum(count("candidates"), count("thoughts")),
    }
}

/// The error of a document. Its message is often the provider's own reply, which says more.
fn fault(document: &Value) -> (FailureKind, String) {
    let message = field::text(document, "/error/message").unwrap_or_default();
    let reply = field::parse_object(message).unwrap_or_default();
    let said = field::text(&reply, "/error/message").unwrap_or(message);
    let status = field::status(document, "/error/code").or(field::status(&reply, "/error/code"));
    let silent = field::text(document, "/response").is_some_and(|text| text.trim().is_empty());
    let kind = match status.map(FailureKind::of_status) {
        Some(FailureKind::Quota { .. }) => {
            FailureKind::Quota { reset_at: None, retry_after_s: retry_delay(&reply) }
        }
        Some(kind) => kind,
        None if silent => FailureKind::Empty,
        None => FailureKind::Api(None),
    };
    (kind, said.to_owned())
}

/// The delay that the provider asks for, as in `"retryDelay": "34.1s"`, rounded up.
fn retry_delay(reply: &Value) -> Option<u64> {
    let details = reply.pointer("/error/details")?.as_array()?;
    let delay = details.iter().find_map(|detail| field::text(detail, "/retryDelay"))?;
    let seconds: f64 = delay.strip_suffix('s')?.parse().ok()?;
    (seconds >= 0.0).then(|| seconds.ceil() as u64)
}

/// Puts a document together from its lines. Text inside it can't close it: JSON has no line ends
/// in strings, and what is inside is indented.
#[derive(Default)]
struct Document {
    open: Option<String>,
}

impl Document {
    /// The document, when this line completes one.
    fn line(&mut self, line: &str) -> Option<Value> {
        let Some(open) = &mut self.open else {
            if line == "{" {
                self.open = Some("{\n".to_owned());
            }
            return field::parse_object(line);
        };
        open.push_str(line);
        open.push('\n');
        if line != "}" {
            return None;
        }
        field::parse_object(&self.open.take()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_provider_may_name_the_delay() {
        let check = |delay: &str, expected| {
            let reply = json!({"error": {"details": [{"@type": "Help"}, {"retryDelay": delay}]}});
            assert_eq!(retry_delay(&reply), expected, "{delay}");
        };
        check("34.074824224s", Some(35));
        check("60s", Some(60));
        check("-1s", None);
        check("NaNs", None);
        check("soon", None);
    }

    #[test]
    fn a_document_may_come_on_one_line_or_on_many() {
        let check = |lines: &[&str], expected: &[Value]| {
            let mut document = Document::default();
            let found: Vec<Value> = lines.iter().filter_map(|line| document.line(line)).collect();
            assert_eq!(found, expected);
        };
        check(&["{\"a\": 1}"], &[json!({"a": 1})]);
        check(&["trace {", "}", "{", "  \"a\": 1", "}", "{}"], &[json!({"a": 1}), json!({})]);
        check(&["{", "not JSON", "}", "{", "}"], &[json!({})]);
        check(&["{", "  \"a\": 1"], &[]);
    }
}
