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
    /// Whether owner and dependencies say what they seem to: no quotes, no escapes, no comment. Else they need a reader.
    pub fn is_plain(&self) -> bool {
        let safe = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b',' | b' ');
        self.owner.unwrap_or_default().iter().chain(self.depends_on).all(safe)
    }

    /// The tasks that it depends on.
    pub fn depends_on(&self) -> impl Iterator<Item = &'a [u8]> {
        self.depends_on.split(|byte| *byte == b',').map(<[u8]>::trim_ascii).filter(|id| !id.is_empty())
    }
}

/// The keys that the tool writes, in the order in which it writes them: the next line's is mostly the next one here.
const KEYS: [&[u8]; 26] = [
    b"schema: ",
    b"id: ",
    b"title: ",
    b"status: ",
    b"priority: ",
    b"owner: ",
    b"worker: ",
    b"assignment: ",
    b"created_by: ",
    b"created: ",
    b"heard: ",
    b"due: ",
    b"due_told: ",
    b"help_told: ",
    b"project: ",
    b"provenance: ",
    b"vouched: ",
    b"nudged: ",
    b"verdict: ",
    b"verdict_by: ",
    b"approved_by: ",
    b"closed: ",
    b"depends_on: ",
    b"not_twin_of: ",
    b"waits_for: ",
    b"mentioned: ",
];
const SCHEMA: usize = 0;
const ID: usize = 1;
const TITLE: usize = 2;
const STATUS: usize = 3;
const PRIORITY: usize = 4;
const OWNER: usize = 5;
const CREATED: usize = 9;
const HEARD: usize = 10;
const DUE: usize = 11;
const DUE_TOLD: usize = 12;
const NUDGED: usize = 17;
const CLOSED: usize = 21;
const DEPENDS_ON: usize = 22;

/// The place of a line's key, looked for from where it is likely to be.
#[inline]
fn place(line: &[u8], likely: usize) -> Option<usize> {
    if KEYS.get(likely).is_some_and(|key| line.starts_with(key)) {
        return Some(likely);
    }
    let first = line.first()?;
    let is_here = |at: &usize| KEYS[*at].first() == Some(first) && line.starts_with(KEYS[*at]);
    (likely..KEYS.len()).find(is_here).or_else(|| (0..KEYS.len()).find(is_here))
}

/// What can be seen of an open task; none where the file must be read to know.
pub fn glance<'a>(bytes: &'a [u8], id: &[u8]) -> Option<Glance<'a>> {
    let mut rest = bytes.strip_prefix(b"---\n")?;
    let (mut status, mut priority, mut owner, mut depends_on) = (None, None, None, &b""[..]);
    let (mut seen, mut likely) = (0u32, 0);
    loop {
        let end = newline(rest)?;
        let line = &rest[..end];
        rest = &rest[end + 1..];
        if line == b"---" {
            break;
        }
        let at = place(line, likely)?;
        likely = at + 1;
        let value = &line[KEYS[at].len()..];
        match at {
            SCHEMA if value != b"1" => return None,
            ID if value != id => return None,
            STATUS => {
                status = Some(match value {
                    b"inbox" => TaskStatus::Inbox,
                    b"in_progress" => TaskStatus::InProgress,
                    b"review" => TaskStatus::Review,
                    _ => return None,
                });
            }
            PRIORITY => {
                priority = Some(match value {
                    b"high" => Priority::High,
                    b"medium" => Priority::Medium,
                    b"low" => Priority::Low,
                    _ => return None,
                });
            }
            OWNER if !value.is_empty() => owner = Some(value),
            // Times are as the tool writes them.
            CREATED | HEARD | DUE | DUE_TOLD | NUDGED | CLOSED if value.len() != 20 || value[19] != b'Z' => {
                return None;
            }
            DEPENDS_ON => depends_on = value.strip_prefix(b"[")?.strip_suffix(b"]")?,
            _ if value.is_empty() => return None,
            _ => {}
        }
        // A key that stands there twice is for the reader that says so.
        if seen & (1 << at) != 0 {
            return None;
        }
        seen |= 1 << at;
    }
    let (status, priority) = (status?, priority?);
    let needed = (1 << SCHEMA) | (1 << ID) | (1 << TITLE) | (1 << CREATED);
    let owned = status == TaskStatus::Inbox || owner.is_some();
    (seen & needed == needed && owned).then_some(Glance { status, priority, owner, depends_on })
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
                if !seen.is_plain() {
                    return Ok(());
                }
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
