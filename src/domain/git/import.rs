//! The streams of a commit: what is asked of `cat-file`, and what `fast-import`, `update-index` and `update-ref` read.
//!
//! Several commits, each on top of the one before it, are one stream: starting git is what costs.

use super::{Committer, is_object};

/// Where commits are made. The name is gone again at the end of the stream.
const NEXT: &str = "refs/harness/next";

/// One file of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Beneath the department's folder.
    pub path: String,
    /// What the commit holds there; none where the file is gone.
    pub bytes: Option<Vec<u8>>,
}

/// A commit to be made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Draft {
    pub changes: Vec<Change>,
    pub message: String,
}

/// Commits to be made, each on top of the one before it.
#[derive(Clone, Debug)]
pub struct Import<'a> {
    pub prefix: &'a str,
    pub parent: Option<&'a str>,
    pub drafts: &'a [Draft],
    /// What is staged afterwards, where a human staged something else than what is committed.
    pub staged: &'a [Change],
    pub by: &'a Committer,
    /// Seconds since 1970.
    pub at: i64,
}

/// What `fast-import` reads. It answers what [`parse_import`] reads.
pub fn import_stream(import: &Import<'_>) -> Vec<u8> {
    let mut stream = Stream::default();
    for change in import.staged {
        stream.blob(change);
    }
    let mut before = import.parent.map(str::to_string);
    for draft in import.drafts {
        before = Some(stream.commit(import, draft, before.as_deref()));
    }
    // A name that points nowhere is not written, and what a killed commit left under it goes.
    let nowhere = "0".repeat(import.parent.map_or(40, str::len));
    stream.say(&format!("reset {NEXT}\nfrom {nowhere}\n\ndone\n"));
    stream.bytes
}

#[derive(Default)]
struct Stream {
    bytes: Vec<u8>,
    mark: usize,
}

impl Stream {
    fn say(&mut self, text: &str) {
        self.bytes.extend_from_slice(text.as_bytes());
    }

    /// A file's bytes, under a mark.
    fn blob(&mut self, change: &Change) -> Option<usize> {
        let bytes = change.bytes.as_ref()?;
        self.mark += 1;
        self.say(&format!("blob\nmark :{}\ndata {}\n", self.mark, bytes.len()));
        self.bytes.extend_from_slice(bytes);
        self.say(&format!("\nget-mark :{}\n", self.mark));
        Some(self.mark)
    }

    /// A commit, and the mark it stands under.
    fn commit(&mut self, import: &Import<'_>, draft: &Draft, before: Option<&str>) -> String {
        let mut changes = String::new();
        for change in &draft.changes {
            let path = quote(&format!("{}{}", import.prefix, change.path));
            match self.blob(change) {
                Some(mark) => changes.push_str(&format!("M 100644 :{mark} {path}\n")),
                None => changes.push_str(&format!("D {path}\n")),
            }
        }
        self.mark += 1;
        let (mark, Committer { author, committer, zone, .. }) = (self.mark, import.by);
        let (at, length, message) = (import.at, draft.message.len(), &draft.message);
        let from = before.map(|before| format!("from {before}\n")).unwrap_or_default();
        self.say(&format!(
            "commit {NEXT}\nmark :{mark}\nauthor {author} {at} {zone}\ncommitter {committer} {at} {zone}\n\
             data {length}\n{message}\n{from}{changes}\nget-mark :{mark}\n"
        ));
        format!(":{mark}")
    }
}

/// A path as `fast-import` reads it.
fn quote(path: &str) -> String {
    let mut quoted = String::from("\"");
    for byte in path.bytes() {
        match byte {
            b'"' | b'\\' => quoted.extend(['\\', char::from(byte)]),
            0x20..=0x7e => quoted.push(char::from(byte)),
            _ => quoted.push_str(&format!("\\{byte:03o}")),
        }
    }
    quoted.push('"');
    quoted
}

/// What was made of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    pub commits: Vec<String>,
    /// What the index holds afterwards: each path, and its object; none where the file is gone.
    pub index: Vec<(String, Option<String>)>,
}

/// Reads the answer to [`import_stream`].
pub fn parse_import(stdout: &str, import: &Import<'_>) -> Option<Imported> {
    let mut objects = stdout.lines().map(|line| is_object(line).then(|| line.to_string()));
    let mut object_of = |change: &Change| match change.bytes {
        Some(_) => objects.next().flatten().map(Some),
        None => Some(None),
    };
    let mut imported = Imported::default();
    let mut staged = Vec::new();
    for change in import.staged {
        staged.push((change.path.clone(), object_of(change)?));
    }
    for draft in import.drafts {
        for change in &draft.changes {
            let object = object_of(change)?;
            imported.index.retain(|(path, _)| *path != change.path);
            imported.index.push((change.path.clone(), object));
        }
        imported.commits.push(object_of(&Change { path: String::new(), bytes: Some(Vec::new()) })??);
    }
    imported.index.retain(|(path, _)| staged.iter().all(|(other, _)| other != path));
    imported.index.extend(staged);
    Some(imported)
}

/// What `update-index -z --index-info` reads, so that the index agrees with the commits.
pub fn index_lines(prefix: &str, imported: &Imported) -> Vec<u8> {
    let mut lines = Vec::new();
    let none = "0".repeat(imported.commits.first().map_or(40, String::len));
    for (path, object) in &imported.index {
        let (mode, object) = match object {
            Some(object) => ("100644", object),
            None => ("0", &none),
        };
        lines.extend_from_slice(format!("{mode} {object} 0\t{prefix}{path}\0").as_bytes());
    }
    lines
}

/// What `update-ref --stdin` reads: the branch moves on, if it still is where it was.
pub fn ref_lines(branch: &str, new: &str, old: Option<&str>) -> String {
    match old {
        Some(old) => format!("update {branch} {new} {old}\n"),
        None => format!("create {branch} {new}\n"),
    }
}

/// One thing that `cat-file --batch` is asked for, from where it stands: a file as committed or as staged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked<'a> {
    Head,
    Committed(&'a str),
    Staged(&'a str),
}

/// What `cat-file --batch` reads.
pub fn batch_lines(asked: &[Asked<'_>]) -> String {
    let line = |asked: &Asked<'_>| match asked {
        Asked::Head => "HEAD\n".to_string(),
        // It reads a name a line: such a path can't be asked for, and counts as not there.
        Asked::Committed(path) | Asked::Staged(path) if path.contains('\n') => "0\n".to_string(),
        Asked::Committed(path) => format!("HEAD:./{path}\n"),
        Asked::Staged(path) => format!(":./{path}\n"),
    };
    asked.iter().map(line).collect()
}

/// An object of the repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    pub id: String,
    pub bytes: Vec<u8>,
}

/// Reads the answer of `cat-file --batch`: each object, in their order; none for what is not there.
pub fn parse_batch(stdout: &[u8]) -> Vec<Option<Object>> {
    let mut objects = Vec::new();
    let mut rest = stdout;
    while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
        let head = String::from_utf8_lossy(&rest[..end]).into_owned();
        rest = &rest[end + 1..];
        let mut words = head.split(' ');
        let id = words.next().filter(|word| is_object(word));
        let size = words.nth(1).and_then(|size| size.parse::<usize>().ok()).filter(|size| *size < rest.len());
        match (id, size) {
            (Some(id), Some(size)) => {
                objects.push(Some(Object { id: id.to_string(), bytes: rest[..size].to_vec() }));
                rest = &rest[size + 1..];
            }
            _ => objects.push(None),
        }
    }
    objects
}

#[cfg(test)]
mod tests {
    use super::*;

    const OBJECT: &str = "0123456789012345678901234567890123456789";
    const OTHER: &str = "1123456789012345678901234567890123456789";

    fn change(path: &str, bytes: Option<&str>) -> Change {
        Change { path: path.into(), bytes: bytes.map(|bytes| bytes.as_bytes().to_vec()) }
    }

    #[test]
    fn a_stream_and_its_answer() {
        let first = vec![change("a b\"é", Some("x\n")), change("gone", None), change("log", Some("1"))];
        let drafts = [
            Draft { changes: first, message: "rd: x\n".into() },
            Draft { changes: vec![change("log", Some("12"))], message: "rd: y\n".into() },
        ];
        let by = Committer {
            author: "A <a@b>".into(),
            committer: "A <a@b>".into(),
            zone: "+0000".into(),
            signs: false,
        };
        let staged = [change("log", Some("t"))];
        let import =
            Import { prefix: "p/", parent: Some(OBJECT), drafts: &drafts, staged: &staged, by: &by, at: 7 };
        let stream = String::from_utf8(import_stream(&import)).unwrap();
        let who = "author A <a@b> 7 +0000\ncommitter A <a@b> 7 +0000";
        assert_eq!(
            stream,
            format!(
                "blob\nmark :1\ndata 1\nt\nget-mark :1\nblob\nmark :2\ndata 2\nx\n\nget-mark :2\n\
                 blob\nmark :3\ndata 1\n1\nget-mark :3\ncommit refs/harness/next\nmark :4\n{who}\ndata 6\nrd: x\n\n\
                 from {OBJECT}\nM 100644 :2 \"p/a b\\\"\\303\\251\"\nD \"p/gone\"\nM 100644 :3 \"p/log\"\n\nget-mark :4\n\
                 blob\nmark :5\ndata 2\n12\nget-mark :5\ncommit refs/harness/next\nmark :6\n{who}\ndata 6\nrd: y\n\n\
                 from :4\nM 100644 :5 \"p/log\"\n\nget-mark :6\nreset refs/harness/next\nfrom {}\n\ndone\n",
                "0".repeat(40)
            )
        );
        let answer = [OTHER, OBJECT, OBJECT, OTHER, OBJECT, OBJECT].join("\n");
        let imported = parse_import(&answer, &import).unwrap();
        assert_eq!(imported.commits, [OTHER, OBJECT]);
        let lines = String::from_utf8(index_lines("p/", &imported)).unwrap();
        let none = "0".repeat(40);
        assert_eq!(
            lines,
            format!("100644 {OBJECT} 0\tp/a b\"é\00 {none} 0\tp/gone\0100644 {OTHER} 0\tp/log\0")
        );
        assert_eq!(parse_import("nonsense\n", &import), None);
    }

    #[test]
    fn objects_are_read_off_a_batch() {
        let answer = format!("{OBJECT} blob 3\na\nb\n{OBJECT}:x missing\n{OTHER} blob 0\n\n");
        let object = |id: &str, bytes: &[u8]| Some(Object { id: id.into(), bytes: bytes.to_vec() });
        assert_eq!(parse_batch(answer.as_bytes()), [object(OBJECT, b"a\nb"), None, object(OTHER, b"")]);
        let asked = [Asked::Head, Asked::Committed("a b"), Asked::Staged("c"), Asked::Committed("d\ne")];
        assert_eq!(batch_lines(&asked), "HEAD\nHEAD:./a b\n:./c\n0\n");
    }
}
