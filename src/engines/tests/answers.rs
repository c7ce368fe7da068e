//! Answers, as each client prints them.

use super::*;

fn check_answer(preset: Preset, stdout: &str, stderr: &str, tokens: [u64; 2], cost: Cost) -> Answer {
    let (events, result) = read(preset, stdout, stderr, WELL);
    let answer = result.unwrap_or_else(|failure| panic!("{preset}: {failure}"));
    assert_eq!(answer.text, "Reasoning first. DONE", "{preset}");
    let expected = tokens.map(Some);
    assert_eq!([answer.usage.input_tokens, answer.usage.output_tokens], expected, "{preset}");
    assert_eq!(answer.cost, cost, "{preset}");
    assert!(events.contains(&Event::Result), "{preset}");
    let streamed: String = events
        .iter()
        .filter_map(|event| if let Event::Text(text) = event { Some(&**text) } else { None })
        .collect();
    assert_eq!(streamed.trim_end(), answer.text, "{preset}");
    answer
}

#[test]
fn answers_are_read() {
    let claude = check_answer(Preset::Claude, fixture!("claude-ok.out"), "", [476, 5], Cost::Known(0.001503));
    assert_eq!(claude.model.as_deref(), Some("claude-sonnet-4-5"));
    let codex = check_answer(Preset::Codex, fixture!("codex-ok.out"), "", [9879, 5], Cost::Unknown);
    assert_eq!(codex.warnings.len(), 1, "an item of type error is a warning: {:?}", codex.warnings);
    let gemini = (fixture!("gemini-ok.out"), fixture!("gemini-ok.err"));
    let gemini = check_answer(Preset::Gemini, gemini.0, gemini.1, [7788, 5], Cost::Unknown);
    assert_eq!(gemini.model.as_deref(), Some("gemini-2.5-flash"));
    check_answer(Preset::Opencode, fixture!("opencode-ok.out"), "", [7669, 5], Cost::Known(0.023082));
    check_answer(Preset::Llm, fixture!("llm-ok.out"), fixture!("llm-ok.err"), [45, 5], Cost::Unknown);
    let counts = "total duration:       1s\nprompt eval count:    28 token(s)\nprompt eval rate:  1 tokens/s\n\
                  eval count:           144 token(s)\neval rate:            81.85 tokens/s";
    check_answer(Preset::Ollama, "Reasoning first. DONE", counts, [28, 144], Cost::Unknown);
}

#[test]
fn a_command_answers_with_its_lines() {
    let (events, result) = read(Preset::Command, "\nfirst\n\nlast", "noise", WELL);
    assert_eq!(result.unwrap().text, "\nfirst\n\nlast");
    assert_eq!(events.len(), 4);
    let (_, result) = read(Preset::Command, "half", "first\nout of\tpaper\n\n", BADLY);
    assert_eq!(result.unwrap_err().to_string(), "the engine exited with 1: out of paper");
}

#[test]
fn claude_denials_are_warnings() {
    let (events, result) = read(Preset::Claude, fixture!("claude-denied.out"), "", WELL);
    let answer = result.unwrap();
    assert_eq!(answer.text, "All done here.");
    assert_eq!(answer.warnings, ["the tool `Bash` was denied"]);
    assert!(events.contains(&Event::Warning(answer.warnings[0].clone())));
}

#[test]
fn text_of_a_good_result_marks_no_limit() {
    let line = r#"{"type":"result","is_error":false,"num_turns":1,"result":"limit reached|1762952400"}"#;
    assert_eq!(read(Preset::Claude, line, "", WELL).1.unwrap().text, "limit reached|1762952400");
}

#[test]
fn opencode_answers_with_its_last_message() {
    let text =
        |id: u8, text: &str| format!(r#"{{"type":"text","part":{{"messageID":"{id}","text":"{text}"}}}}"#);
    let finish = |reason: &str| {
        format!(
            r#"{{"type":"step_finish","part":{{"reason":"{reason}","cost":0.5,"tokens":{{"input":1}}}}}}"#
        )
    };
    let lines =
        [text(1, "Let me look."), finish("tool-calls"), text(2, "Now"), text(2, "DONE"), finish("stop")];
    let answer = read(Preset::Opencode, &lines.join("\n"), "", WELL).1.unwrap();
    assert_eq!((answer.text.as_str(), answer.cost), ("Now\nDONE", Cost::Known(1.0)));
    let half = read(Preset::Opencode, &lines[..2].join("\n"), "", WELL).1.unwrap_err();
    assert_eq!(half.kind, FailureKind::Unreadable);
}
