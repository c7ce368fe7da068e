//! Failures: their kinds, and what they still report.

use super::*;

fn check_failure(preset: Preset, stdout: &str, stderr: &str, exit: Exit, kind: FailureKind) -> Failure {
    let (_, result) = read(preset, stdout, stderr, exit);
    let failure = result.expect_err("a failure");
    assert_eq!(failure.kind, kind, "{preset}: {}", failure.message);
    failure
}

fn quota(retry_after_s: Option<u64>) -> FailureKind {
    FailureKind::Quota { reset_at: None, retry_after_s }
}

#[test]
fn claude_failures_are_judged_by_their_fields() {
    let check = |stdout: &str, exit, kind| check_failure(Preset::Claude, stdout, "", exit, kind);
    let auth = check(fixture!("claude-401.out"), BADLY, FailureKind::Auth);
    assert_eq!(auth.message, "Failed to authenticate. API Error: 401 forced 401");
    assert_eq!(auth.cost, Cost::Known(0.0));
    check(fixture!("claude-429.out"), BADLY, quota(Some(1)));
    check(fixture!("claude-500.out"), BADLY, FailureKind::Api(Some(500)));
    check(fixture!("claude-529.out"), BADLY, FailureKind::Overloaded);
    check(fixture!("claude-too-long.out"), BADLY, FailureKind::TooLong);
    check(fixture!("claude-refusal.out"), BADLY, FailureKind::Refused);
    let empty = check(fixture!("claude-empty.out"), WELL, FailureKind::Empty);
    assert_eq!((empty.usage.total(), empty.cost), (Some(986), Cost::Known(0.0029820000000000003)));
    let turns = check(fixture!("claude-max-turns.out"), BADLY, FailureKind::Api(None));
    assert_eq!(turns.message, "Reached maximum number of turns (1)");
    assert_eq!(turns.cost, Cost::Known(0.011478));
    let not_asked = check(fixture!("claude-not-asked.out"), WELL, FailureKind::Empty);
    assert_eq!(not_asked.cost, Cost::Known(0.0));
    let cut = check(fixture!("claude-cut.out"), BADLY, FailureKind::Api(None));
    assert_eq!(cut.cost, Cost::Known(0.001473));
}

#[test]
fn claude_limits_carry_their_reset() {
    let limited = |before: &str, fields: &str| {
        let result = format!("{before}\n{{\"type\":\"result\",\"is_error\":true,\"num_turns\":1,{fields}}}");
        read(Preset::Claude, &result, "", BADLY).1.unwrap_err().kind
    };
    let at = |reset_at| FailureKind::Quota { reset_at: Some(reset_at), retry_after_s: None };
    let rejected =
        r#"{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1778565600}}"#;
    assert_eq!(limited(rejected, r#""api_error_status":429,"result":"x""#), at(1_778_565_600));
    assert_eq!(limited(rejected, r#""result":"You've hit your limit""#), at(1_778_565_600));
    assert_eq!(limited("", r#""result":"Claude AI usage limit reached|1762952400""#), at(1_762_952_400));
    let allowed = rejected.replace("rejected", "allowed");
    assert_eq!(limited(&allowed, r#""result":"Something else""#), FailureKind::Api(None));
    let named = r#"{"type":"assistant","error":"overloaded"}"#;
    assert_eq!(limited(named, r#""api_error_status":null,"result":"x""#), FailureKind::Overloaded);
    assert_eq!(limited("", r#""result":"429 rate limit, quota, overloaded""#), FailureKind::Api(None));
}

#[test]
fn claude_without_a_result_is_no_answer() {
    let ok = fixture!("claude-ok.out");
    let cut: String =
        ok.lines().filter(|line| !line.contains("\"num_turns\"")).collect::<Vec<_>>().join("\n");
    let failure = check_failure(Preset::Claude, &cut, "", WELL, FailureKind::Unreadable);
    assert_eq!((failure.usage.total(), failure.cost), (Some(481), Cost::Unknown));
    check_failure(Preset::Claude, &cut, "killed", STOPPED, FailureKind::Stopped);
    check_failure(Preset::Claude, ok, "", STOPPED, FailureKind::Stopped);
    let retries = fixture!("claude-429.out").lines().take(3).collect::<Vec<_>>().join("\n");
    check_failure(Preset::Claude, &retries, "", STOPPED, quota(Some(1)));
}

#[test]
fn claude_zero_cost_is_believed_only_where_nothing_was_used() {
    let cost = |fields: &str| {
        let line =
            format!("{{\"type\":\"result\",\"num_turns\":1,\"result\":\"x\",\"total_cost_usd\":0,{fields}}}");
        read(Preset::Claude, &line, "", WELL).1.map_or_else(|failure| failure.cost, |answer| answer.cost)
    };
    assert_eq!(cost(r#""is_error":false,"usage":{"input_tokens":9,"output_tokens":1}"#), Cost::Unknown);
    assert_eq!(
        cost(r#""is_error":true,"api_error_status":429,"usage":{"input_tokens":0}"#),
        Cost::Known(0.0)
    );
    assert_eq!(cost(r#""is_error":true,"api_error_status":null,"usage":{"input_tokens":0}"#), Cost::Unknown);
}

#[test]
fn claude_retries_are_events() {
    let (events, _) = read(Preset::Claude, fixture!("claude-529.out"), "", BADLY);
    let statuses = events
        .iter()
        .filter_map(|event| if let Event::Retry { status, .. } = event { Some(*status) } else { None });
    assert_eq!(statuses.collect::<Vec<_>>(), [Some(529)]);
}

#[test]
fn codex_failures_are_judged_by_their_status() {
    let check = |stdout: &str, exit, kind| check_failure(Preset::Codex, stdout, "", exit, kind);
    check(fixture!("codex-401.out"), BADLY, FailureKind::Auth);
    check(fixture!("codex-429.out"), BADLY, quota(None));
    check(fixture!("codex-500.out"), BADLY, FailureKind::Api(None));
    check(fixture!("codex-529.out"), BADLY, FailureKind::Overloaded);
    check(fixture!("codex-cut.out"), BADLY, FailureKind::Api(None));
    check(fixture!("codex-empty.out"), WELL, FailureKind::Empty);
    let unfinished = fixture!("codex-ok.out").lines().take(4).collect::<Vec<_>>().join("\n");
    check(&unfinished, WELL, FailureKind::Unreadable);
    check("error: unexpected argument", Exit { code: Some(2), clean: true }, FailureKind::Exit(2));
}

#[test]
fn gemini_failures_are_read_from_both_streams() {
    let check =
        |stdout: &str, stderr: &str, exit, kind| check_failure(Preset::Gemini, stdout, stderr, exit, kind);
    let exit = |code| Exit { code: Some(code), clean: true };
    let auth = check("", fixture!("gemini-401.err"), exit(145), FailureKind::Auth);
    assert_eq!(auth.message, "forced 401");
    check("", fixture!("gemini-cut.err"), BADLY, FailureKind::Api(None));
    let empty = (fixture!("gemini-empty.out"), fixture!("gemini-empty.err"));
    let empty = check(empty.0, empty.1, WELL, FailureKind::Empty);
    assert_eq!(empty.usage.total(), Some(31_273));
    let limited = fixture!("gemini-401.err")
        .replace("401", "429")
        .replace(r#"\"UNAUTHENTICATED\""#, r#"\"X\",\"details\":[{\"retryDelay\":\"34s\"}]"#);
    check("", &limited, exit(173), quota(Some(34)));
    check("Reasoning first. DONE", "", WELL, FailureKind::Unreadable);
}

#[test]
fn opencode_failures_are_judged_by_their_fields() {
    let check = |stdout: &str, exit, kind| check_failure(Preset::Opencode, stdout, "", exit, kind);
    let auth = fixture!("opencode-401.out");
    assert_eq!(check(auth, BADLY, FailureKind::Auth).message, "forced 401");
    check(&auth.replace("401", "429"), BADLY, quota(Some(30)));
    check(&auth.replace("401", "500"), BADLY, FailureKind::Api(Some(500)));
    check(fixture!("opencode-cut.out"), BADLY, FailureKind::Api(None));
    let empty = check(fixture!("opencode-empty.out"), WELL, FailureKind::Empty);
    assert_eq!(empty.cost, Cost::Known(0.006855));
    let unfinished = fixture!("opencode-ok.out").lines().take(2).collect::<Vec<_>>().join("\n");
    check(&unfinished, WELL, FailureKind::Unreadable);
    let free = fixture!("opencode-ok.out").replace("0.023082", "0");
    assert_eq!(read(Preset::Opencode, &free, "", WELL).1.unwrap().cost, Cost::Unknown);
}

#[test]
fn llm_failures_are_judged_by_exit_and_status() {
    let check =
        |stdout: &str, stderr: &str, exit, kind| check_failure(Preset::Llm, stdout, stderr, exit, kind);
    check("", fixture!("llm-401.err"), BADLY, FailureKind::Auth);
    check("", fixture!("llm-429.err"), BADLY, quota(None));
    check("", fixture!("llm-529.err"), BADLY, FailureKind::Overloaded);
    check(fixture!("llm-cut.out"), fixture!("llm-cut.err"), BADLY, FailureKind::Exit(1));
    check("", fixture!("llm-no-model.err"), BADLY, FailureKind::Exit(1));
    check(fixture!("llm-empty.out"), fixture!("llm-empty.err"), WELL, FailureKind::Empty);
}

#[test]
fn a_line_of_ten_megabytes_is_only_a_line() {
    let long = "x".repeat(10_000_000);
    let text = format!(r#"{{"type":"result","is_error":false,"num_turns":1,"result":"{long}"}}"#);
    let answer = read(Preset::Claude, &text, &long, WELL).1.unwrap();
    assert_eq!(answer.text.len(), long.len());
    let error = format!(r#"{{"type":"turn.failed","error":{{"message":"{long}"}}}}"#);
    let failure = read(Preset::Codex, &error, &long, BADLY).1.unwrap_err();
    assert_eq!(failure.message.chars().count(), 201);
}
