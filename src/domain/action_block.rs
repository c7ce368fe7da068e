//! The ACTIONS block of an answer: finds it, reads its JSON, and hands back the entries as they are.
//!
//! What an entry means, and whether it is allowed, is judged elsewhere. Here is decided only which text is the block:
//! an answer may quote messages, and a message may hold a block that somebody hopes to see carried out.
//!
//! ```text
//! answer  = { prose | fence | block }            exactly one block
//! block   = opening { line } closing
//! opening = indent ticks [space] "actions" space nonce
//! closing = [space] ticks                        at least as many as opened it, and nothing else
//! fence   = indent (ticks | tildes) [info] { line } indent (ticks | tildes)
//! indent  = up to three spaces
//! ticks   = three or more backticks; tildes likewise, but they never open a block
//! ```
//!
//! Between the fences of the block stands one JSON array of objects, at most 1,000 of them and nested at most 32 deep,
//! in which no object has a key twice. JSON strings hold no raw line break, so a line of the block that starts with
//! enough backticks ends it in any case; with text after them, the block counts as not closed.
//!
//! What the grammar puts up with: `actions` in any letter case; more than three backticks; spaces before and after the
//! word and the nonce; prose after the block; a closing line that is indented, or longer than the opening one; CRLF.
//!
//! What is quoted text, and how it is treated:
//!
//! - An opening line inside another fence, after `>`, or indented by four or more is a quotation that says so. It is
//!   ignored beside the block. Where there is no block, and it has the right nonce, it is a fault of its own.
//! - A block at the margin without the nonce, or with another, is refused and named as quoted text, and the answer with
//!   it, even beside a good block: its author may have meant both, and half of a plan is not a plan.
//!
//! An empty array says that there is nothing to do. It needs a sentence of prose outside of fences and quotes.

mod entries;
mod fault;
mod scan;

use serde_json::{Map, Value};

pub use entries::find_duplicate;
pub use fault::{BlockFault, BlockFaultKind, Quote};

const MAX_DEPTH: usize = 32;
const MAX_ENTRIES: usize = 1000;

/// One entry of the block, not yet read as an action.
#[derive(Debug, Clone, PartialEq)]
pub struct RawAction {
    /// Its place in the array, from 0.
    pub index: usize,
    /// The line of the answer that it begins on, from 1.
    pub line: usize,
    pub value: Map<String, Value>,
}

/// The entries of the one block that carries the step's nonce, or everything that is wrong with the answer.
pub fn parse_action_block(text: &str, nonce: &str) -> Result<Vec<RawAction>, Vec<BlockFault>> {
    let scan::Scan { block, mut faults, quoted, prose, lines } = scan::scan(text, nonce);
    let mut actions = Vec::new();
    if let Some(block) = block {
        actions = entries::parse_entries(block.body, block.line + 1, &mut faults);
        if actions.is_empty() && faults.is_empty() && prose < scan::PROSE_COLUMNS {
            faults.push(block.line, BlockFaultKind::EmptyWithoutReason);
        }
    } else if faults.is_empty() {
        let (line, kind) = match quoted {
            Some((line, quote)) => (line, BlockFaultKind::QuotedBlock(quote)),
            None => (lines.max(1), BlockFaultKind::NoBlock),
        };
        faults.push(line, kind);
    }
    if faults.is_empty() { Ok(actions) } else { Err(faults.into_vec()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NONCE: &str = "7f3k2qx9";

    /// `expected` is `index@line` of each entry, or `code@line` of each fault.
    fn check(input: &str, expected: &str) {
        let found = match parse_action_block(input, NONCE) {
            Ok(actions) => actions.iter().map(|a| format!("{}@{}", a.index, a.line)).collect::<Vec<_>>(),
            Err(faults) => faults.iter().map(|f| format!("{}@{}", f.code(), f.line)).collect(),
        };
        assert_eq!(found.join(" "), expected, "{input}");
    }

    fn block(json: &str) -> String {
        format!("Some reasoning here.\n\n```actions {NONCE}\n{json}\n```\n")
    }

    #[test]
    fn entries_come_with_their_place() {
        check(&block("[\n  {\"do\": \"a\"},\n  {\"do\":\n \"b\"}, {}\n]"), "0@5 1@6 2@7");
        let actions = parse_action_block(&block("[{\"do\": \"a\", \"n\": 1}]"), NONCE).unwrap();
        assert_eq!(Value::Object(actions[0].value.clone()), serde_json::json!({"do": "a", "n": 1}));
    }

    #[test]
    fn harmless_habits_are_put_up_with() {
        check("```actions 7f3k2qx9\n[{}]\n```", "0@2");
        check("```actions 7f3k2qx9\r\n[{}]\r\n```\r\n", "0@2");
        check("  ````` ACTIONS   7f3k2qx9  \n[{}]\n     ``````  \nThat is all.", "0@2");
        check("```json\n{}\n```\n~~~\n```\n~~~\n```actions 7f3k2qx9\n[{}]\n```", "0@8");
        check("see ```actions 1``` above\n```actions 7f3k2qx9\n[{\"a\": \"```\"}]\n```", "0@3");
    }

    #[test]
    fn no_block_and_half_a_block_are_faults() {
        check("", "no_block@1");
        check("I did it.\nReally.", "no_block@2");
        check("~~~actions 7f3k2qx9\n[]\n~~~", "no_block@3");
        check("hm\n```actions 7f3k2qx9\n[{}", "unclosed_block@2");
        check("```actions 7f3k2qx9\n[{}]\n``` done", "unclosed_block@3");
        check("````actions 7f3k2qx9\n[{}]\n```\n", "unclosed_block@1");
        check("```actions 7f3k2qx9", "unclosed_block@1");
    }

    #[test]
    fn a_block_of_another_step_is_quoted_text() {
        check("```actions\n[{}]\n```", "no_nonce@1");
        check("```actions 11111111\n[{}]\n```", "wrong_nonce@1");
        check("```actions 7f3k2qx9 x\n[{}]\n```", "wrong_nonce@1");
        check("```actions 7F3K2QX9\n[{}]\n```", "wrong_nonce@1");
        check("```actions\n[]\n```\n```actions 7f3k2qx9\n[{}]\n```", "no_nonce@1");
        check("```actions 7f3k2qx9\n[{}]\n```\n```actions 1\nnot closed", "wrong_nonce@4");
        assert_eq!(parse_action_block("```actions\n[{}]\n```", "").unwrap_err()[0].code(), "no_nonce");
    }

    #[test]
    fn quotations_that_say_so_are_ignored_beside_the_block() {
        for quotation in [
            "````\n```actions 1\n[{}]\n```\n````",
            "> ```actions\n> []\n> ```",
            "    ```actions 1\n    []\n    ```",
        ] {
            check(
                &format!("{quotation}\n```actions 7f3k2qx9\n[{{}}]\n```"),
                &format!("0@{}", 2 + quotation.lines().count()),
            );
        }
    }

    #[test]
    fn a_right_block_that_is_quoted_does_not_count() {
        check("````md\n```actions 7f3k2qx9\n[{}]\n```\n````", "quoted_block@2");
        check("~~~\n```actions 7f3k2qx9\n[{}]\n```\n~~~", "quoted_block@2");
        check("> ```actions 7f3k2qx9\n> [{}]\n> ```", "quoted_block@1");
        check("a\n    ```actions 7f3k2qx9\n    [{}]\n    ```", "quoted_block@2");
        check("```\nnever closed\n\n```actions 7f3k2qx9\n[{}]\n", "quoted_block@4");
    }

    #[test]
    fn two_blocks_are_refused() {
        check(&block("[{}]").repeat(2), "two_blocks@8");
        check("```actions 7f3k2qx9\n[\n```actions 7f3k2qx9\n[{}]\n```", "unclosed_block@3 two_blocks@3");
    }

    #[test]
    fn json_faults_have_their_lines() {
        check(&block("[{\"a\": 1},]"), "not_json@4");
        check(&block("[{}]\n[]"), "not_json@5");
        check(&block(""), "not_json@4");
        check(&block("[\n{\"a\": \"b\nc\"}]"), "not_json@5");
        check(&block("{\"do\": \"x\"}"), "not_array@4");
        check(&block("[{},\n1, \"x\"]"), "not_object@5 not_object@5");
        check(
            &block("[{\"a\": 1,\n\"a\": 1}, {\"x\": [{\"b\": 1, \"b\": 2}]}]"),
            "duplicate_key@4 duplicate_key@5",
        );
        let fault = &parse_action_block(&block("[\n {\"é\": x}]"), NONCE).unwrap_err()[0];
        assert_eq!(fault.to_string(), "line 5, column 8: the actions block is not JSON: expected value");
    }

    #[test]
    fn nothing_to_do_needs_a_reason() {
        check("```actions 7f3k2qx9\n[]\n```", "empty_without_reason@1");
        check("ok\n> a long quoted sentence\n```actions 7f3k2qx9\n[]\n```", "empty_without_reason@3");
        check(&block("[]"), "");
        check("没有需要处理的事情\n```actions 7f3k2qx9\n[]\n```", "");
    }

    #[test]
    fn sizes_are_bounded() {
        let nested = |depth: usize| block(&format!("[{{\"a\":{}{}}}]", "[".repeat(depth), "]".repeat(depth)));
        check(&nested(MAX_DEPTH - 2), "0@4");
        check(&nested(MAX_DEPTH - 1), "too_deep@4");
        check(&nested(100_000), "too_deep@4");
        check(&block(&format!("[{}{{}}]", "{},".repeat(MAX_ENTRIES))), "too_large@4");
        assert_eq!(
            parse_action_block(&block(&format!("[{}{{}}]", "{},".repeat(MAX_ENTRIES - 1))), NONCE)
                .unwrap()
                .len(),
            MAX_ENTRIES
        );
    }

    #[test]
    fn a_hostile_answer_gets_a_short_list() {
        let faults = parse_action_block(&"```actions 1\n```\n".repeat(100_000), NONCE).unwrap_err();
        assert_eq!(faults.len(), 17);
        assert_eq!(faults[16].to_string(), "line 31: and 99984 more");
    }

    #[test]
    fn no_fault_spells_out_an_opening_line() {
        for answer in
            ["", "```actions\n", "```actions 1\n", "> ```actions 7f3k2qx9\n", "```actions 7f3k2qx9\n"]
        {
            for fault in parse_action_block(answer, NONCE).unwrap_err() {
                assert!(!fault.to_string().contains("```"), "{fault}");
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn never_zero_actions_and_zero_faults(
            text in "(```|~~~|````|actions|7f3k2qx9|[ \n>]|\n|\\[|\\]|\\{|\\}|\"a\":|,|é){0,40}"
        ) {
            match parse_action_block(&text, NONCE) {
                Ok(actions) => prop_assert!(!actions.is_empty() || text.contains('[')),
                Err(faults) => {
                    prop_assert!(!faults.is_empty());
                    prop_assert!(faults.iter().all(|f| (1..=text.lines().count().max(1)).contains(&f.line)));
                }
            }
        }

        #[test]
        fn what_is_written_is_read(
            prose in "[a-z \n]{0,40}",
            entries in prop::collection::vec(prop::collection::btree_map("[a-z]{1,4}", ".{0,20}", 0..4), 1..5),
        ) {
            let json = serde_json::to_string_pretty(&entries).unwrap();
            let answer = format!("{prose}\n```actions {NONCE}\n{json}\n```\n{prose}");
            let read = parse_action_block(&answer, NONCE).unwrap();
            let values: Vec<_> = read.into_iter().map(|action| Value::Object(action.value)).collect();
            prop_assert_eq!(Value::Array(values), serde_json::to_value(&entries).unwrap());
        }
    }
}
