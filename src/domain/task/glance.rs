//! A glance at a task's file: where it stands and how much it matters, without reading the rest.
//!
//! A board of ten thousand tasks shows a few dozen. For the others their place in the count is enough. The glance takes
//! only what the tool itself writes, key by key; at anything else it says nothing, and the file is read whole.

use super::{Priority, TaskStatus};

/// Keys whose value is a time.
const TIMES: [&[u8]; 6] = [b"created", b"heard", b"due", b"due_told", b"nudged", b"closed"];
/// Keys whose value is plain text, whatever it says.
const TEXTS: [&[u8]; 13] = [
    b"title",
    b"worker",
    b"assignment",
    b"created_by",
    b"project",
    b"vouched",
    b"verdict",
    b"verdict_by",
    b"approved_by",
    b"waits_for",
    b"provenance",
    b"mentioned",
    b"help_told",
];

/// Where an open task stands and how much it matters; none where the file must be read to know.
pub fn glance(bytes: &[u8], id: &[u8]) -> Option<(TaskStatus, Priority)> {
    let mut rest = bytes.strip_prefix(b"---\n")?;
    let (mut status, mut priority, mut seen, mut named) = (None, None, 0u32, 0);
    loop {
        let end = newline(rest)?;
        let line = &rest[..end];
        rest = &rest[end + 1..];
        if line == b"---" {
            break;
        }
        let (key, value) = split(line)?;
        let bit = match key {
            b"schema" if value == b"1" => 0,
            b"id" if value == id => 1,
            b"status" => {
                status = Some(match value {
                    b"inbox" => TaskStatus::Inbox,
                    b"in_progress" => TaskStatus::InProgress,
                    b"review" => TaskStatus::Review,
                    _ => return None,
                });
                2
            }
            b"priority" => {
                priority = Some(match value {
                    b"high" => Priority::High,
                    b"medium" => Priority::Medium,
                    b"low" => Priority::Low,
                    _ => return None,
                });
                3
            }
            b"owner" => 4,
            b"depends_on" | b"not_twin_of" => {
                named += 1;
                continue;
            }
            _ => match TIMES.iter().position(|known| *known == key) {
                Some(at) if value.len() == 20 && value[19] == b'Z' => 5 + at,
                _ => 11 + TEXTS.iter().position(|known| *known == key)?,
            },
        };
        // A key that stands there twice is for the reader that says so.
        if seen & (1 << bit) != 0 {
            return None;
        }
        seen |= 1 << bit;
    }
    let (status, priority) = (status?, priority?);
    let needed = (1 << 0) | (1 << 1) | (1 << 5) | (1 << 11);
    let owned = status == TaskStatus::Inbox || seen & (1 << 4) != 0;
    (seen & needed == needed && owned && named <= 2).then_some((status, priority))
}

/// A line's key and value; none where the value is not as the tool would write it.
fn split(line: &[u8]) -> Option<(&[u8], &[u8])> {
    // Keys are short: a byte after another is faster than anything that looks at many at once.
    let colon = line.iter().position(|byte| *byte == b':')?;
    let value = line.get(colon + 2..)?;
    (line[colon + 1] == b' ' && !value.is_empty()).then_some((&line[..colon], value))
}

/// Where the line ends, eight bytes at a time.
fn newline(bytes: &[u8]) -> Option<usize> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let mut at = 0;
    for chunk in bytes.chunks_exact(8) {
        let word = u64::from_le_bytes(chunk.try_into().ok()?) ^ (ONES * u64::from(b'\n'));
        let found = word.wrapping_sub(ONES) & !word & (ONES << 7);
        if found != 0 {
            return Some(at + found.trailing_zeros() as usize / 8);
        }
        at += 8;
    }
    bytes[at..].iter().position(|byte| *byte == b'\n').map(|end| at + end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::task::parse_task;
    use proptest::prelude::*;

    const LINES: [&str; 18] = [
        "schema: 1",
        "schema: 2",
        "id: t-1",
        "id: t-2",
        "title: A task",
        "title: \"Fix: it\"",
        "status: inbox",
        "status: review",
        "status: done",
        "priority: high",
        "priority: urgent",
        "owner: ann",
        "created: 2026-11-18T00:00:00Z",
        "created: then",
        "depends_on: [t-2]",
        "mine: 1",
        "# a comment",
        "nudges: 1",
    ];

    proptest! {
        /// What the glance takes, the reader takes too, and says the same of it.
        #[test]
        fn it_agrees_with_the_reader(picked in prop::collection::vec(0usize..18, 0..9), whole in any::<bool>()) {
            let good = if whole { "schema: 1\nid: t-1\ntitle: T\ncreated: 2026-11-18T00:00:00Z\n" } else { "" };
            let lines: String = picked.iter().map(|at| format!("{}\n", LINES[*at])).collect();
            let text = format!("---\n{good}{lines}---\nDo it.\n");
            if let Some(seen) = glance(text.as_bytes(), b"t-1") {
                let read = parse_task(&text, "t-1");
                let read = read.map_err(|fault| TestCaseError::fail(format!("{fault}\n{text}")))?;
                prop_assert_eq!(seen, (read.status, read.priority));
            }
        }

        #[test]
        fn newlines_are_found(bytes in prop::collection::vec(prop_oneof![Just(b'\n'), any::<u8>()], 0..40)) {
            prop_assert_eq!(newline(&bytes), bytes.iter().position(|byte| *byte == b'\n'));
        }
    }

    #[test]
    fn what_the_tool_writes_is_taken() {
        let text = "---\nschema: 1\nid: t-1\ntitle: \"Fix: it\"\nstatus: in_progress\npriority: low\nowner: ann\nworker: ann\ncreated_by: user\ncreated: 2026-11-18T00:00:00Z\nheard: 2026-11-18T00:00:00Z\nprovenance: human\ndepends_on: [t-2]\n---\nDo it.\n";
        assert_eq!(glance(text.as_bytes(), b"t-1"), Some((TaskStatus::InProgress, Priority::Low)));
        assert_eq!(glance(text.as_bytes(), b"t-2"), None);
    }
}
