//! Lays an answer out as claude's `stream-json`: an init line, partial text, the whole message, the result.
//!
//! The lines carry what an adapter reads and what it must skip; they claim no more about the real client.

use crate::script::{ApiError, Script};
use serde_json::{Value, json};

const SESSION: &str = "00000000-0000-4000-8000-000000000000";
const DELTA_CHARS: usize = 40;

pub fn lines(text: &str, script: &Script, args: &[String]) -> Vec<Value> {
    let model = args.iter().skip_while(|arg| *arg != "--model").nth(1).map_or("fake-1", String::as_str);
    let mut lines = vec![init(model)];
    if let Some(error) = script.error() {
        lines.extend(error.reset.map(rate_limit));
        lines.push(error_result(&error));
        return lines;
    }
    lines.extend(deltas(text));
    lines.push(assistant(text, model));
    lines.push(result(text, script));
    lines
}

fn init(model: &str) -> Value {
    json!({"type": "system", "subtype": "init", "session_id": SESSION, "model": model, "tools": []})
}

fn deltas(text: &str) -> Vec<Value> {
    let chars: Vec<char> = text.chars().collect();
    let delta = |part: &[char]| {
        let text: String = part.iter().collect();
        json!({"type": "stream_event", "session_id": SESSION, "event":
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}})
    };
    chars.chunks(DELTA_CHARS).map(delta).collect()
}

fn assistant(text: &str, model: &str) -> Value {
    json!({"type": "assistant", "session_id": SESSION, "message":
        {"role": "assistant", "model": model, "content": [{"type": "text", "text": text}]}})
}

fn result(text: &str, script: &Script) -> Value {
    let usage = script.usage();
    let mut line = json!({
        "type": "result", "subtype": "success", "is_error": false, "num_turns": 1, "duration_ms": 1,
        "result": text, "session_id": SESSION, "permission_denials": [],
        "usage": {"input_tokens": usage.input, "cache_creation_input_tokens": usage.cache_write,
                  "cache_read_input_tokens": 0, "output_tokens": usage.output},
    });
    if let Some(cost) = usage.cost {
        line["total_cost_usd"] = json!(cost);
    }
    line
}

fn rate_limit(reset: i64) -> Value {
    json!({"type": "rate_limit_event", "session_id": SESSION, "rate_limit_info":
        {"status": "rejected", "resetsAt": reset, "rateLimitType": "five_hour"}})
}

/// `subtype` says "success" on API errors: `is_error` is the field to judge by.
fn error_result(error: &ApiError) -> Value {
    let text = match error.reset {
        Some(reset) => format!("Claude AI usage limit reached|{reset}"),
        None => format!("API Error: {}", error.status),
    };
    json!({
        "type": "result", "subtype": "success", "is_error": true, "api_error_status": error.status,
        "num_turns": 1, "duration_ms": 1, "result": text, "session_id": SESSION, "total_cost_usd": 0,
        "usage": {"input_tokens": 0, "cache_creation_input_tokens": 0,
                  "cache_read_input_tokens": 0, "output_tokens": 0},
    })
}
