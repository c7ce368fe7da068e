//! Calls Claude Code and reads its `stream-json`: one JSON object a line, the last of them of type
//! `result`.
//!
//! What is read: `system`/`api_retry`, `rate_limit_event`, `stream_event`, the `error` of `assistant`,
//! and `result`, which alone makes an answer. It is judged by `is_error` and `num_turns`; `subtype`
//! says "success" on API errors, and a prompt taken for one of the client's own commands ends well
//! with no turn at all.
//!
//! One leniency. Older versions put a limit's reset nowhere but at the end of the error text, as
//! `...|1762952400`; it is taken from there, from error results only, which the client writes and
//! the model doesn't.

use serde_json::Value;

use super::answer::{Answer, Event, Exit, Gathered};
use super::failure::{Failure, FailureKind};
use super::field;
use super::usage::{Cost, Usage};
use super::{Call, Request, Settings};

/// Timers of the client's runtime fire at once where the delay is longer than this.
const LONGEST_TIMER_MS: u64 = i32::MAX as u64;

pub fn call(settings: &Settings, request: &Request) -> Call {
    // Without a system prompt of ours the client sends its own, which is 40 KB: an empty one stays.
    let (system, stdin) = if request.system_fits_argument() {
        (request.system, request.prompt.to_owned())
    } else {
        ("", request.whole())
    };
    let mut args =
        owned(&["-p", "--output-format", "stream-json", "--verbose", "--include-partial-messages"]);
    args.extend(tool_args(&settings.tools));
    args.extend(owned(&["--system-prompt", system, "--no-session-persistence", "--setting-sources", ""]));
    if let Some(model) = &settings.model {
        args.extend(owned(&["--model", model]));
    }
    args.extend_from_slice(&settings.extra_args);
    Call { args, stdin, env: environment(settings.timeout_s), ..Call::default() }
}

/// A tool may be narrowed, as in `Bash(git *)`: its name makes it available, the whole allows it.
fn tool_args(tools: &[String]) -> Vec<String> {
    let mut names: Vec<&str> = tools.iter().filter_map(|tool| tool.split('(').next()).collect();
    names.dedup();
    let mut args = owned(&["--tools", &names.join(",")]);
    if !tools.is_empty() {
        args.push("--allowedTools".to_owned());
        args.extend_from_slice(tools);
    }
    args
}

fn environment(timeout_s: u64) -> Vec<(String, String)> {
    let timeout_ms = timeout_s.saturating_mul(1000).min(LONGEST_TIMER_MS).to_string();
    let pairs = [
        ("CLAUDE_CODE_MAX_RETRIES", "2"),
        ("API_TIMEOUT_MS", &timeout_ms),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        // Without these, `@path` in anyone's message puts that file into the prompt. Versions before
        // 2.1.326 know only the second.
        ("CLAUDE_CODE_DISABLE_FILE_MENTIONS", "1"),
        ("CLAUDE_CODE_DISABLE_ATTACHMENTS", "1"),
    ];
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
}

fn owned(args: &[&str]) -> Vec<String> {
    args.iter().map(|arg| (*arg).to_owned()).collect()
}

#[derive(Default)]
pub struct Reader {
    gathered: Gathered,
    /// Messages whose stream is over, and the one that is open: what is known where no result comes.
    streamed: Usage,
    open: Usage,
    /// The last retry, as long as nothing has come of it.
    waiting: Option<Retry>,
    limit: Limit,
    /// The client's name for the error in its last assistant message.
    error_name: Option<String>,
    result_seen: bool,
}

#[derive(Clone, Copy)]
struct Retry {
    status: Option<u16>,
    delay_ms: Option<u64>,
}

#[derive(Default)]
struct Limit {
    rejected: bool,
    reset_at: Option<i64>,
    retry_after_s: Option<u64>,
}

impl Reader {
    pub fn stdout_line(&mut self, line: &str) -> Vec<Event> {
        let Some(line) = field::parse_object(line) else { return Vec::new() };
        match field::text(&line, "/type") {
            Some("stream_event") => self.stream_event(&line),
            Some("system") if field::text(&line, "/subtype") == Some("api_retry") => self.retry(&line),
            Some("rate_limit_event") => self.rate_limit(&line),
            Some("assistant") => {
                self.error_name = field::text(&line, "/error").map(str::to_owned);
                Vec::new()
            }
            Some("result") => self.result(&line),
            _ => Vec::new(),
        }
    }

    pub fn stderr_line(&mut self, line: &str) -> Vec<Event> {
        self.gathered.error_line(line);
        Vec::new()
    }

    pub fn finish(mut self, exit: Exit) -> Result<Answer, Failure> {
        if !self.result_seen {
            self.gathered.usage = self.streamed.plus(&self.open);
            self.gathered.fault = self.fault_without_result(exit);
        }
        self.gathered.conclude(exit)
    }

    fn stream_event(&mut self, line: &Value) -> Vec<Event> {
        match field::text(line, "/event/type") {
            Some("message_start") => {
                self.waiting = None;
                self.streamed = self.streamed.plus(&std::mem::take(&mut self.open));
                self.open = usage(line, "/event/message/usage");
                self.gathered.model = field::text(line, "/event/message/model").map(str::to_owned);
                Vec::new()
            }
            Some("message_delta") => {
                self.open = newer(usage(line, "/event/usage"), self.open);
                Vec::new()
            }
            Some("content_block_delta") if field::text(line, "/parent_tool_use_id").is_none() => {
                let text = field::text(line, "/event/delta/text");
                text.map(|text| Event::Text(text.to_owned())).into_iter().collect()
            }
            _ => Vec::new(),
        }
    }

    fn retry(&mut self, line: &Value) -> Vec<Event> {
        let status = field::status(line, "/error_status");
        let delay_ms = field::count(line, "/retry_delay_ms");
        if status == Some(429) {
            self.limit.retry_after_s = delay_ms.map(|delay| delay.div_ceil(1000));
        }
        self.waiting = Some(Retry { status, delay_ms });
        vec![Event::Retry { status, delay_ms }]
    }

    /// A rejection may still be made up for by credit beyond the plan: it counts once the result
    /// is an error.
    fn rate_limit(&mut self, line: &Value) -> Vec<Event> {
        self.limit.rejected = field::text(line, "/rate_limit_info/status") == Some("rejected");
        let reset = field::count(line, "/rate_limit_info/resetsAt");
        self.limit.reset_at = reset.and_then(|reset| i64::try_from(reset).ok());
        Vec::new()
    }

    fn result(&mut self, line: &Value) -> Vec<Event> {
        self.result_seen = true;
        let reported = usage(line, "/usage");
        let streamed = self.streamed.plus(&self.open);
        // A version that gives up on a cut stream reports zeros for what it had begun.
        self.gathered.usage = if reported.total() > Some(0) { reported } else { newer(streamed, reported) };
        self.gathered.fault = self.fault(line);
        self.gathered.cost = self.cost(line);
        self.gathered.text = field::text(line, "/result").unwrap_or_default().to_owned();
        let mut events = self.denials(line);
        events.push(Event::Result);
        events
    }

    fn denials(&mut self, line: &Value) -> Vec<Event> {
        let denials = line.pointer("/permission_denials").and_then(Value::as_array);
        let names = denials.into_iter().flatten().filter_map(|denial| field::text(denial, "/tool_name"));
        let warnings: Vec<String> = names.map(|name| format!("the tool `{name}` was denied")).collect();
        warnings.iter().flat_map(|warning| self.gathered.warn(warning)).collect()
    }

    /// Zero is no cost only where the provider turned the request down or none was made. A lost
    /// connection also reports zero, and what was under way may be billed.
    fn cost(&self, line: &Value) -> Cost {
        let lost = failed(line) && field::status(line, "/api_error_status").is_none();
        let reported = Cost::reported(field::number(line, "/total_cost_usd"), &self.gathered.usage);
        if lost && reported == Cost::Known(0.0) { Cost::Unknown } else { reported }
    }

    fn fault(&self, line: &Value) -> Option<(FailureKind, String)> {
        if failed(line) {
            let said = field::text(line, "/result").or(field::text(line, "/errors/0"));
            let message = said.or(field::text(line, "/subtype")).unwrap_or_default();
            return Some((self.kind(line, message), message.to_owned()));
        }
        let produced = self.gathered.usage.output_tokens > Some(0);
        let asked = field::count(line, "/num_turns").map_or(produced, |turns| turns > 0);
        (!asked).then(|| (FailureKind::Empty, "the client answered without asking the model".to_owned()))
    }

    fn kind(&self, line: &Value, message: &str) -> FailureKind {
        if field::text(line, "/terminal_reason") == Some("prompt_too_long") {
            return FailureKind::TooLong;
        }
        if field::text(line, "/stop_reason") == Some("refusal") {
            return FailureKind::Refused;
        }
        let name = field::text(line, "/api_error_type").or(self.error_name.as_deref());
        let kind = match field::status(line, "/api_error_status") {
            Some(status) => FailureKind::of_status(status),
            None => self.kind_of_name(name.unwrap_or_default(), message),
        };
        self.with_reset(kind, message)
    }

    fn kind_of_name(&self, name: &str, message: &str) -> FailureKind {
        match name {
            "rate_limit" | "rate_limit_error" | "billing_error" => FailureKind::of_status(429),
            "overloaded" | "overloaded_error" => FailureKind::Overloaded,
            "authentication_failed" | "authentication_error" | "permission_error" => FailureKind::Auth,
            _ if self.limit.rejected || reset_in_text(message).is_some() => FailureKind::of_status(429),
            _ => FailureKind::Api(None),
        }
    }

    fn with_reset(&self, kind: FailureKind, message: &str) -> FailureKind {
        match kind {
            FailureKind::Quota { .. } => FailureKind::Quota {
                reset_at: self.limit.reset_at.or_else(|| reset_in_text(message)),
                retry_after_s: self.limit.retry_after_s,
            },
            other => other,
        }
    }

    /// Told by the server to wait for long, the client waits until it is stopped. Then the reason
    /// is what it was waiting for.
    fn fault_without_result(&self, exit: Exit) -> Option<(FailureKind, String)> {
        let waiting = self.waiting.and_then(|retry| Some((retry.status?, retry.delay_ms)));
        if let Some((status, delay_ms)) = waiting {
            let delay = delay_ms.map(|delay| format!(", in {} s", delay.div_ceil(1000)));
            let message = format!("it would have tried again{}", delay.unwrap_or_default());
            return Some((self.with_reset(FailureKind::of_status(status), ""), message));
        }
        let well = exit == Exit { code: Some(0), clean: true };
        well.then(|| (FailureKind::Unreadable, self.gathered.last_error_line().to_owned()))
    }
}

fn failed(result: &Value) -> bool {
    let by_name = field::text(result, "/subtype").is_some_and(|subtype| subtype.starts_with("error"));
    by_name || result.pointer("/is_error") == Some(&Value::Bool(true))
}

fn usage(line: &Value, pointer: &str) -> Usage {
    let count = |name: &str| field::count(line, &format!("{pointer}/{name}"));
    Usage {
        input_tokens: count("input_tokens"),
        cache_write_tokens: count("cache_creation_input_tokens"),
        cache_read_tokens: count("cache_read_input_tokens"),
        output_tokens: count("output_tokens"),
    }
}

/// The counts of `newer`, and of `older` where it has none.
fn newer(newer: Usage, older: Usage) -> Usage {
    Usage {
        input_tokens: newer.input_tokens.or(older.input_tokens),
        cache_write_tokens: newer.cache_write_tokens.or(older.cache_write_tokens),
        cache_read_tokens: newer.cache_read_tokens.or(older.cache_read_tokens),
        output_tokens: newer.output_tokens.or(older.output_tokens),
    }
}

/// The leniency of the module's head: ten digits after the last bar, and nothing behind them.
fn reset_in_text(message: &str) -> Option<i64> {
    let (_, digits) = message.trim_end().rsplit_once('|')?;
    let ten_digits = digits.len() == 10 && digits.bytes().all(|byte| byte.is_ascii_digit());
    ten_digits.then(|| digits.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reset_in_text_is_ten_digits_at_the_end() {
        let check = |text: &str, expected| assert_eq!(reset_in_text(text), expected, "{text}");
        check("Claude AI usage limit reached|1762952400", Some(1_762_952_400));
        check("limit reached|1762952400\n", Some(1_762_952_400));
        check("limit reached|1762952400 or so", None);
        check("limit reached|17629524000", None);
        check("limit reached 1762952400", None);
        check("", None);
    }

    #[test]
    fn a_narrowed_tool_is_available_by_its_name() {
        let check = |tools: &[&str], expected: &[&str]| assert_eq!(tool_args(&owned(tools)), owned(expected));
        check(&[], &["--tools", ""]);
        check(&["Read"], &["--tools", "Read", "--allowedTools", "Read"]);
        check(
            &["Bash(git log *)", "Bash(git show *)", "Read"],
            &["--tools", "Bash,Read", "--allowedTools", "Bash(git log *)", "Bash(git show *)", "Read"],
        );
    }

    #[test]
    fn a_timeout_stays_within_what_timers_can_hold() {
        let timeout = |seconds| environment(seconds)[1].1.clone();
        assert_eq!(timeout(600), "600000");
        assert_eq!(timeout(u64::MAX), "2147483647");
    }
}
