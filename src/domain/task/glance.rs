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

/// What can be seen of an open task; none where the file must be read to know.
///
/// The first five keys stand where the tool puts them. Those after them may come in any order, each once. A line is told
/// by its first byte and a comparison with a constant: looking its key up in a table costs ten times that.
pub fn glance<'a>(bytes: &'a [u8], id: &[u8]) -> Option<Glance<'a>> {
    let rest = bytes.strip_prefix(b"---\nschema: 1\nid: ")?.strip_prefix(id)?;
    let (_, rest) = value(rest.strip_prefix(b"\ntitle: ")?)?;
    let (status, rest) = status(rest.strip_prefix(b"status: ")?)?;
    let (priority, mut rest) = priority(rest.strip_prefix(b"priority: ")?)?;
    let (mut owner, mut depends_on, mut seen) = (None, None, 0u32);
    while !rest.starts_with(b"---\n") {
        let (key, after) = key(rest)?;
        let (found, next) = if TIMES & (1 << key) != 0 { time(after)? } else { value(after)? };
        // A key that stands there twice is for the reader that says so.
        if seen & (1 << key) != 0 {
            return None;
        }
        seen |= 1 << key;
        match key {
            OWNER => owner = Some(found),
            DEPENDS_ON => depends_on = Some(found),
            _ => {}
        }
        rest = next;
    }
    let depends_on = match depends_on {
        Some(list) => list.strip_prefix(b"[")?.strip_suffix(b"]")?,
        None => b"",
    };
    let owned = status == TaskStatus::Inbox || owner.is_some();
    (owned && seen & (1 << CREATED) != 0).then_some(Glance { status, priority, owner, depends_on })
}

const CREATED: u32 = 2;
const DEPENDS_ON: u32 = 5;
const OWNER: u32 = 13;
/// The keys whose values are times.
const TIMES: u32 = 1 << CREATED | 1 << 4 | 1 << 6 | 1 << 7 | 1 << 8 | 1 << 12;

/// The key of a line, as a number, and what follows it.
#[inline(always)]
fn key(line: &[u8]) -> Option<(u32, &[u8])> {
    let is = |key: &'static [u8]| line.starts_with(key);
    let (number, length) = match line.first()? {
        b'a' if is(b"assignment: ") => (0, 12),
        b'a' if is(b"approved_by: ") => (1, 13),
        b'a' if is(b"assists: ") => (21, 9),
        b'c' if is(b"created: ") => (CREATED, 9),
        b'c' if is(b"created_by: ") => (3, 12),
        b'c' if is(b"closed: ") => (4, 8),
        b'd' if is(b"depends_on: ") => (DEPENDS_ON, 12),
        b'd' if is(b"due: ") => (6, 5),
        b'd' if is(b"due_told: ") => (7, 10),
        b'h' if is(b"heard: ") => (8, 7),
        b'h' if is(b"help_told: ") => (9, 11),
        b'm' if is(b"mentioned: ") => (10, 11),
        b'n' if is(b"not_twin_of: ") => (11, 13),
        b'n' if is(b"nudged: ") => (12, 8),
        b'o' if is(b"owner: ") => (OWNER, 7),
        b'p' if is(b"provenance: ") => (14, 12),
        b'p' if is(b"project: ") => (15, 9),
        b'v' if is(b"verdict: ") => (16, 9),
        b'v' if is(b"verdict_by: ") => (17, 12),
        b'v' if is(b"vouched: ") => (18, 9),
        b'w' if is(b"worker: ") => (19, 8),
        b'w' if is(b"waits_for: ") => (20, 11),
        _ => return None,
    };
    Some((number, &line[length..]))
}

/// A status that ends its line, and what follows.
#[inline]
fn status(rest: &[u8]) -> Option<(TaskStatus, &[u8])> {
    match rest.get(2)? {
        b'b' => rest.strip_prefix(b"inbox\n").map(|rest| (TaskStatus::Inbox, rest)),
        b'_' => rest.strip_prefix(b"in_progress\n").map(|rest| (TaskStatus::InProgress, rest)),
        _ => rest.strip_prefix(b"review\n").map(|rest| (TaskStatus::Review, rest)),
    }
}

/// A priority that ends its line, and what follows.
#[inline]
fn priority(rest: &[u8]) -> Option<(Priority, &[u8])> {
    match rest.first()? {
        b'h' => rest.strip_prefix(b"high\n").map(|rest| (Priority::High, rest)),
        b'm' => rest.strip_prefix(b"medium\n").map(|rest| (Priority::Medium, rest)),
        _ => rest.strip_prefix(b"low\n").map(|rest| (Priority::Low, rest)),
    }
}

/// A time that ends its line, as the tool writes it, and what follows.
#[inline(always)]
fn time(rest: &[u8]) -> Option<(&[u8], &[u8])> {
    let (time, rest) = rest.split_first_chunk::<21>()?;
    let form = b"0000-00-00T00:00:00Z\n";
    // The upper half of a byte tells a digit from all but a few marks, and surely from the end of a line.
    let fits = |byte: u8, form: u8| if form == b'0' { byte & 0xf0 == 0x30 } else { byte == form };
    let all = time.iter().zip(form).fold(true, |all, (byte, form)| all & fits(*byte, *form));
    all.then_some((&time[..20], rest))
}

/// A value up to the end of its line, and what follows; none where it is empty.
#[inline(always)]
fn value(rest: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = newline(rest).filter(|end| *end > 0)?;
    Some((&rest[..end], &rest[end + 1..]))
}

/// Where the line ends, eight bytes at a time.
#[inline(always)]
fn newline(bytes: &[u8]) -> Option<usize> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let (mut at, mut rest) = (0, bytes);
    while let Some((eight, next)) = rest.split_first_chunk::<8>() {
        let word = u64::from_le_bytes(*eight) ^ (ONES * u64::from(b'\n'));
        let found = word.wrapping_sub(ONES) & !word & (ONES << 7);
        if found != 0 {
            return Some(at + found.trailing_zeros() as usize / 8);
        }
        (at, rest) = (at + 8, next);
    }
    rest.iter().position(|byte| *byte == b'\n').map(|end| at + end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::task::parse_task;
    use proptest::prelude::*;

    /// Where a file may begin, and lines that may follow.
    const STARTS: [&str; 6] = [
        "schema: 1\nid: t-1\ntitle: A task\nstatus: inbox\npriority: high\n",
        "schema: 1\nid: t-1\ntitle: \"Fix: it\"\nstatus: review\npriority: low\ncreated: 2026-11-18T00:00:00Z\n",
        "schema: 1\nid: t-1\ntitle: A task\nstatus: in_progress\npriority: medium\nowner: ann\n",
        "schema: 1\nid: t-1\ntitle: A task\nstatus: done\npriority: medium\n",
        "schema: 2\nid: t-1\ntitle: A task\nstatus: inbox\npriority: urgent\n",
        "schema: 1\nid: t-2\nstatus: inbox\n",
    ];
    const LINES: [&str; 28] = [
        "schema: 1",
        "id: t-1",
        "title: A task",
        "status: inbox",
        "priority: high",
        "owner: ann",
        "owner: \"ann\"",
        "owner:",
        "owner: ",
        "worker: ann",
        "created: 2026-11-18T00:00:00Z",
        "created: then",
        "created: 2026-11-1\nnudges: 2:00Z",
        "created_by: user",
        "heard: 2026-11-18T00:00:00Z",
        "due: 2026-11-18T00:00:00Z",
        "due: 2026-11-18",
        "depends_on: [t-2]",
        "depends_on: [t-2, t-3]",
        "depends_on: []",
        "depends_on: t-2",
        "not_twin_of: [t-2]",
        "waits_for: [a-1]",
        "mentioned: [lead]",
        "mine: 1",
        "# a comment",
        "nudges: 1",
        "provenance: department",
    ];

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]
        /// What the glance takes, the reader takes too, and says the same of it.
        #[test]
        fn it_agrees_with_the_reader(start in 0usize..6, picked in prop::collection::vec(0usize..28, 0..5)) {
            let lines: String = picked.iter().map(|at| format!("{}\n", LINES[*at])).collect();
            let text = format!("---\n{}{lines}---\nDo it.\n", STARTS[start]);
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

    /// A key that is told by a wrong length, or not at all, makes every file that has it be read whole.
    #[test]
    fn what_the_tool_writes_is_taken() {
        let time = "2026-11-18T00:00:00Z";
        let start = "---\nschema: 1\nid: t-1\ntitle: \"Fix: it\"\nstatus: in_progress\npriority: low\n";
        let must = format!("created: {time}\nowner: ann\n");
        let texts = ["worker", "assignment", "created_by", "help_told", "project", "assists", "provenance"];
        let more = ["vouched", "verdict", "verdict_by", "approved_by"];
        let lists = ["depends_on", "not_twin_of", "waits_for", "mentioned"];
        let times = ["heard", "due", "due_told", "nudged", "closed"];
        let mut lines: Vec<String> =
            texts.into_iter().chain(more).map(|key| format!("{key}: department\n")).collect();
        lines.extend(lists.map(|key| format!("{key}: [t-2]\n")));
        lines.extend(times.map(|key| format!("{key}: {time}\n")));
        for _ in 0..lines.len() {
            lines.rotate_left(1);
            let text = format!("{start}{}{must}---\nDo it.\n", lines.concat());
            let seen = glance(text.as_bytes(), b"t-1").unwrap();
            assert_eq!((seen.status, seen.priority), (TaskStatus::InProgress, Priority::Low));
            let depends_on: Vec<_> = seen.depends_on().collect();
            assert_eq!((seen.owner, depends_on), (Some(&b"ann"[..]), vec![&b"t-2"[..]]));
            assert_eq!(glance(text.as_bytes(), b"t-2"), None);
            assert_eq!(glance(text.replace("worker", "wrker").as_bytes(), b"t-1"), None);
            assert_eq!(glance(format!("{start}{must}{must}---\nx\n").as_bytes(), b"t-1"), None);
        }
    }
}
