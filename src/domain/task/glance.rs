//! A glance at a task's file: where it stands and how much it matters, without reading the rest.
//!
//! A board of ten thousand tasks shows a few dozen. For the others their place in the count is enough. The glance takes
//! only what the tool itself writes, key by key; at anything else it says nothing, and the file is read whole.

use super::{Priority, TaskStatus};

/// What a glance at an open task sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Glance<'a> {
    pub status: TaskStatus,
    pub priority: Priority,
    pub owner: Option<&'a [u8]>,
    /// What stands between the brackets of the list.
    depends_on: &'a [u8],
}

impl<'a> Glance<'a> {
    /// The tasks that it depends on.
    pub fn depends_on(&self) -> impl Iterator<Item = &'a [u8]> {
        self.depends_on.split(|byte| *byte == b',').map(<[u8]>::trim_ascii).filter(|id| !id.is_empty())
    }
}

/// The place of a key among those that the tool writes. A comparison by length comes first in every arm, so that most
/// cost two instructions: this is most of what a glance does.
fn place(key: &[u8]) -> Option<u32> {
    Some(match key {
        b"schema" => 0,
        b"id" => 1,
        b"status" => 2,
        b"priority" => 3,
        b"owner" => 4,
        b"created" => 5,
        b"heard" => 6,
        b"due" => 7,
        b"due_told" => 8,
        b"nudged" => 9,
        b"closed" => 10,
        b"title" => 11,
        b"worker" => 12,
        b"assignment" => 13,
        b"created_by" => 14,
        b"project" => 15,
        b"vouched" => 16,
        b"verdict" => 17,
        b"verdict_by" => 18,
        b"approved_by" => 19,
        b"waits_for" => 20,
        b"provenance" => 21,
        b"mentioned" => 22,
        b"help_told" => 23,
        b"depends_on" => 24,
        b"not_twin_of" => 25,
        _ => return None,
    })
}

/// What can be seen of an open task; none where the file must be read to know.
pub fn glance<'a>(bytes: &'a [u8], id: &[u8]) -> Option<Glance<'a>> {
    let mut rest = bytes.strip_prefix(b"---\n")?;
    let (mut status, mut priority, mut owner, mut depends_on, mut seen) = (None, None, None, &b""[..], 0u32);
    loop {
        let end = newline(rest)?;
        let line = &rest[..end];
        rest = &rest[end + 1..];
        if line == b"---" {
            break;
        }
        let (key, value) = split(line)?;
        let bit = place(key)?;
        match bit {
            0 if value != b"1" => return None,
            1 if value != id => return None,
            2 => {
                status = Some(match value {
                    b"inbox" => TaskStatus::Inbox,
                    b"in_progress" => TaskStatus::InProgress,
                    b"review" => TaskStatus::Review,
                    _ => return None,
                });
            }
            3 => {
                priority = Some(match value {
                    b"high" => Priority::High,
                    b"medium" => Priority::Medium,
                    b"low" => Priority::Low,
                    _ => return None,
                });
            }
            4 => owner = Some(plain(value)?),
            // Times are as the tool writes them.
            5..=10 if value.len() != 20 || value[19] != b'Z' => return None,
            24 => depends_on = plain(value.strip_prefix(b"[")?.strip_suffix(b"]")?)?,
            _ => {}
        }
        // A key that stands there twice is for the reader that says so.
        if seen & (1 << bit) != 0 {
            return None;
        }
        seen |= 1 << bit;
    }
    let (status, priority) = (status?, priority?);
    let needed = (1 << 0) | (1 << 1) | (1 << 5) | (1 << 11);
    let owned = status == TaskStatus::Inbox || owner.is_some();
    (seen & needed == needed && owned).then_some(Glance { status, priority, owner, depends_on })
}

/// A text that needs no reader to know what it says: no quotes, no escapes, no comment.
fn plain(value: &[u8]) -> Option<&[u8]> {
    let safe = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b',' | b' ');
    value.iter().all(safe).then_some(value)
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

    const LINES: [&str; 24] = [
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
        "depends_on: [t-2, t-3]",
        "depends_on: []",
        "depends_on: t-2",
        "owner: \"ann\"",
        "not_twin_of: [t-2]",
        "due: 2026-11-18T00:00:00Z",
    ];

    proptest! {
        /// What the glance takes, the reader takes too, and says the same of it.
        #[test]
        fn it_agrees_with_the_reader(picked in prop::collection::vec(0usize..24, 0..9), whole in any::<bool>()) {
            let good = if whole { "schema: 1\nid: t-1\ntitle: T\ncreated: 2026-11-18T00:00:00Z\n" } else { "" };
            let lines: String = picked.iter().map(|at| format!("{}\n", LINES[*at])).collect();
            let text = format!("---\n{good}{lines}---\nDo it.\n");
            if let Some(seen) = glance(text.as_bytes(), b"t-1") {
                let read = parse_task(&text, "t-1");
                let read = read.map_err(|fault| TestCaseError::fail(format!("{fault}\n{text}")))?;
                prop_assert_eq!((seen.status, seen.priority), (read.status, read.priority));
                prop_assert_eq!(seen.owner.map(<[u8]>::to_vec), read.owner.map(String::into_bytes));
                let depends_on: Vec<Vec<u8>> = read.depends_on.into_iter().map(String::into_bytes).collect();
                prop_assert_eq!(seen.depends_on().map(<[u8]>::to_vec).collect::<Vec<_>>(), depends_on);
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
        let seen = glance(text.as_bytes(), b"t-1").unwrap();
        assert_eq!((seen.status, seen.priority), (TaskStatus::InProgress, Priority::Low));
        assert_eq!(
            (seen.owner, seen.depends_on().collect::<Vec<_>>()),
            (Some(&b"ann"[..]), vec![&b"t-2"[..]])
        );
        assert_eq!(glance(text.as_bytes(), b"t-2"), None);
    }
}
