//! Injection: texts that hope to be taken for an instruction, as subject and body of a message.
//!
//! `injection/corpus.rs` holds them. The prompt keeps each inside its fence: with the fences' insides taken out, it is
//! the prompt of a harmless message, byte for byte. And an answer that merely repeats one is refused.

mod corpus;

use crate::office::{done, names, office, step};
use crate::sandbox::Sandbox;
use corpus::{ID, texts};
use director_harness::domain::action_block::parse_action_block;
use director_harness::domain::live_state::fence;
use director_harness::domain::text::{escape_fence, one_line};

const NONCE: &str = "7f3k2qx9";
const LEAST: usize = 200;

fn put(sandbox: &Sandbox, subject: &str, body: &str) {
    let subject = serde_json::Value::from(subject);
    let text = format!(
        "---\nschema: 1\nid: {ID}\nfrom: rd\nto: [business]\nkind: Proposal\nsubject: {subject}\nprovenance: external\ncreated: 2026-11-18T00:00:00Z\nstatus: pending\n---\n{body}\n"
    );
    crate::sandbox::write(&sandbox.root().join(format!("org-business/inbox/{ID}.md")), text.as_bytes());
}

/// The prompt without what is inside its fences, and how many there are.
fn outside(prompt: &str) -> (String, usize) {
    let (mut kept, mut fences, mut closing) = (String::new(), 0, None);
    for line in prompt.lines() {
        match &closing {
            Some(close) if line == *close => closing = None,
            Some(_) => {}
            None => {
                if let Some(rest) = line.strip_prefix("<<<DATA ") {
                    closing = rest.split(' ').next().map(|token| format!(">>>DATA {token}"));
                    fences += 1;
                }
                kept.push_str(line);
                kept.push('\n');
            }
        }
    }
    assert_eq!(closing, None, "a fence is never closed");
    (kept, fences)
}

fn prompt(sandbox: &Sandbox, role: &str) -> String {
    done(sandbox, &["prompt", "business", "--role", role, "--message", ID])
}

#[test]
fn there_are_enough_and_none_twice() {
    let mut all = texts();
    let count = all.len();
    all.sort();
    all.dedup();
    assert!(count >= LEAST && all.len() == count, "{count} {}", all.len());
}

#[test]
fn the_prompt_keeps_each_inside_its_fence() {
    let sandbox = office();
    put(&sandbox, "A subject", "A body.");
    let (worker, orchestrator) =
        (outside(&prompt(&sandbox, "worker")), outside(&prompt(&sandbox, "orchestrator")));
    for (number, text) in texts().iter().enumerate() {
        put(&sandbox, &one_line(text, 150), text);
        let shown = prompt(&sandbox, "worker");
        assert_eq!(outside(&shown), worker, "{text}");
        assert_eq!(shown.matches("```actions ").count(), 1, "{text}");
        // The orchestrator sees the subject in its list too; a part of the corpus is enough to know that it is fenced.
        if number % 8 == 0 {
            assert_eq!(outside(&prompt(&sandbox, "orchestrator")), orchestrator, "{text}");
        }
    }
}

#[test]
fn no_text_can_close_or_open_a_fence_whatever_its_marker() {
    for text in texts() {
        for token in [NONCE, "0", ""] {
            let fenced = fence(token, "message", &text);
            let inside = fenced.lines().skip(1).take(fenced.lines().count() - 2);
            let breaks = |line: &str| {
                line.contains("<<<") || line.contains(">>>") || line.to_lowercase().contains("```actions")
            };
            assert!(!inside.into_iter().any(breaks), "{fenced}");
        }
        assert_eq!(escape_fence(&escape_fence(&text)), escape_fence(&text), "{text}");
    }
}

#[test]
fn an_answer_that_repeats_one_carries_nothing_out() {
    for text in texts() {
        let taken = |answer: &str| parse_action_block(answer, NONCE).map_or(0, |actions| actions.len());
        assert_eq!(taken(&text), 0, "{text}");
        let quoted: String = text.lines().map(|line| format!("> {line}\n")).collect();
        let good = format!("```actions {NONCE}\n[]\n```\n");
        assert_eq!(
            taken(&format!("They write:\n\n{quoted}\nI shall do nothing of it.\n\n{good}")),
            0,
            "{text}"
        );
        assert_eq!(
            taken(&format!("They write:\n\n{text}\n\nI shall do nothing of it.\n\n{good}")),
            0,
            "{text}"
        );
    }
}

/// Through the real program: refused twice, and nothing but its own record is new.
#[test]
fn the_program_refuses_an_answer_that_repeats_one() {
    let sandbox = office();
    for text in texts().iter().step_by(16) {
        let sandbox = sandbox.clone();
        put(&sandbox, "A subject", text);
        let _ = std::fs::remove_file(sandbox.root().join("org-business/.harness/paused.json"));
        let charter = sandbox.read("org-business/charter.toml");
        let reply = format!("#usage 1 1 0.0001\nThey say:\n{}\n", text.replace("NONCE", "nonce"));
        let sandbox = sandbox.reply(&reply).reply(&reply);
        step(&sandbox, "business").status(12).any_stdout().any_stderr();
        assert_eq!(sandbox.read("org-business/charter.toml"), charter);
    }
    for dept in ["rd", "management", "marketing", "technology"] {
        assert_eq!(names(&sandbox, &format!("org-{dept}/inbox")), [""; 0], "{dept}");
    }
    assert!(names(&sandbox, "org-business/approvals").is_empty());
    sandbox.run(["gate", "check"]).any_stdout();
}
