//! What is said to git and what it answers: arguments, environment, streams. No repository is touched here.
//!
//! Nothing that a repository brings along may be executed: no hook, no fsmonitor, no filter, no external diff, no
//! helper that fetches what is missing. So only plumbing is used that knows no attributes, every call carries the same
//! settings, and the environment is a short list. What signs a commit is taken from the user's own settings alone.

use std::collections::BTreeMap;

/// Where a commit is made before the branch moves on to it.
pub const NEXT: &str = "refs/harness/next";

/// Settings that no repository can override: the command line wins over its files.
const SAFE: [&str; 6] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.pager=cat",
    "gc.auto=0",
    "maintenance.auto=false",
];

/// Variables that git gets from the user: who they are, and what their signing needs. None that names a repository.
const PASSED: [&str; 22] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "TMPDIR",
    "TZ",
    "XDG_CONFIG_HOME",
    "XDG_RUNTIME_DIR",
    "GNUPGHOME",
    "GPG_TTY",
    "SSH_AUTH_SOCK",
    "DBUS_SESSION_BUS_ADDRESS",
    "EMAIL",
    "GIT_AUTHOR_NAME",
    "GIT_AUTHOR_EMAIL",
    "GIT_COMMITTER_NAME",
    "GIT_COMMITTER_EMAIL",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
    "DISPLAY",
    "WAYLAND_DISPLAY",
];

/// Fixed ones: nothing is fetched, asked or paged, and what it says is in plain English.
const FIXED: [(&str, &str); 8] = [
    ("LC_ALL", "C"),
    ("GIT_ALLOW_PROTOCOL", "none"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_EDITOR", "false"),
    ("GIT_PAGER", "cat"),
    ("GIT_ATTR_NOSYSTEM", "1"),
];

/// The environment of every call.
pub fn environment(variables: &BTreeMap<String, String>) -> Vec<(String, String)> {
    let passed =
        PASSED.iter().filter_map(|name| variables.get(*name).map(|value| (name.to_string(), value.clone())));
    let fixed = FIXED.iter().map(|(name, value)| (name.to_string(), value.to_string()));
    passed.chain(fixed).collect()
}

/// A call's arguments, behind the settings that make it safe.
pub fn arguments(own: &[&str]) -> Vec<String> {
    let safe = SAFE.iter().flat_map(|setting| ["-c", setting]);
    safe.chain(own.iter().copied()).map(str::to_string).collect()
}

/// What `rev-parse` says of the place it stands in.
pub const ASK_PLACE: [&str; 6] = [
    "rev-parse",
    "--is-bare-repository",
    "--is-inside-work-tree",
    "--absolute-git-dir",
    "--show-prefix",
    "HEAD",
];

/// Where a department stands in its repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitPlace {
    pub git_dir: String,
    /// The department's folder beneath the top, with a slash at its end; empty where it is the top.
    pub prefix: String,
    /// The commit that is checked out; none before the first.
    pub head: Option<String>,
}

/// Reads the answer to [`ASK_PLACE`]; else why there is nothing to commit to.
pub fn parse_place(stdout: &str, stderr: &str) -> Result<GitPlace, String> {
    let lines: Vec<&str> = stdout.lines().collect();
    match &lines[..] {
        ["true", ..] => Err("it is a bare repository, which has no work tree".to_string()),
        [_, "false", ..] => Err("it is no work tree".to_string()),
        ["false", "true", git_dir, prefix, rest @ ..] => {
            let head = rest.first().filter(|head| is_object(head)).map(|head| head.to_string());
            Ok(GitPlace { git_dir: git_dir.to_string(), prefix: prefix.to_string(), head })
        }
        _ => Err(first_line(stderr)),
    }
}

/// The first thing that git complains about.
pub fn first_line(stderr: &str) -> String {
    let line = stderr.lines().find(|line| !line.trim().is_empty()).unwrap_or("git gave no reason");
    super::text::one_line(line.trim_start_matches("fatal: ").trim_start_matches("error: "), 300)
}

fn is_object(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The branch that a `HEAD` file names.
pub fn parse_head(text: &str) -> Option<&str> {
    text.trim_end().strip_prefix("ref: ").filter(|name| name.starts_with("refs/heads/"))
}

/// Who commits, and whether they sign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Committer {
    /// `Name <address>`.
    pub author: String,
    pub committer: String,
    /// Such as `+0100`.
    pub zone: String,
    pub signs: bool,
}

/// Reads `git var -l`: the settings first, and then who the user is.
pub fn parse_committer(stdout: &str) -> Result<Committer, String> {
    let last = |key: &str| stdout.lines().rev().find_map(|line| line.strip_prefix(key));
    let unknown = || {
        "git does not know who you are: set it with `git config --global user.name` and `user.email`"
            .to_string()
    };
    let (author, zone) = last("GIT_AUTHOR_IDENT=").and_then(split_ident).ok_or_else(unknown)?;
    let (committer, _) = last("GIT_COMMITTER_IDENT=").and_then(split_ident).ok_or_else(unknown)?;
    let signs = last("commit.gpgsign=")
        .is_some_and(|value| matches!(value.to_ascii_lowercase().as_str(), "true" | "yes" | "on" | "1" | ""));
    Ok(Committer { author, committer, zone, signs })
}

/// `Name <address> seconds zone`; none where git had to make the name or address up.
fn split_ident(ident: &str) -> Option<(String, String)> {
    let (who, when) = ident.rsplit_once("> ")?;
    let (name, address) = who.split_once(" <")?;
    let zone = when.split(' ').nth(1)?;
    let made_up = name.is_empty() || address.is_empty() || address.ends_with("(none)");
    (!made_up).then(|| (format!("{who}>"), zone.to_string()))
}

/// The settings that say which program signs, from `config --list --show-scope -z`: those of the repository are not
/// taken, whatever they say, for they would name a program.
pub fn signing_settings(stdout: &str) -> Vec<String> {
    const PROGRAMS: [&str; 5] = [
        "gpg.program",
        "gpg.openpgp.program",
        "gpg.x509.program",
        "gpg.ssh.program",
        "gpg.ssh.defaultkeycommand",
    ];
    let mut parts = stdout.split('\0');
    let mut own: BTreeMap<&str, &str> = BTreeMap::from([
        ("gpg.program", "gpg"),
        ("gpg.openpgp.program", "gpg"),
        ("gpg.x509.program", "gpgsm"),
        ("gpg.ssh.program", "ssh-keygen"),
        ("gpg.ssh.defaultkeycommand", ""),
    ]);
    while let (Some(scope), Some(entry)) = (parts.next(), parts.next()) {
        let (key, value) = entry.split_once('\n').unwrap_or((entry, ""));
        if matches!(scope, "system" | "global")
            && let Some(known) = PROGRAMS.iter().find(|known| **known == key)
        {
            own.insert(known, value);
            if *known == "gpg.program" {
                own.insert("gpg.openpgp.program", value);
            }
        }
    }
    own.iter().map(|(key, value)| format!("{key}={value}")).collect()
}

/// One file of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Beneath the department's folder.
    pub path: String,
    /// What the commit holds there; none where the file is gone.
    pub bytes: Option<Vec<u8>>,
    /// What is staged there afterwards, where a human staged something else.
    pub staged: Option<Vec<u8>>,
}

/// A commit to be made.
#[derive(Clone, Debug)]
pub struct Commit<'a> {
    pub prefix: &'a str,
    pub parent: Option<&'a str>,
    pub changes: &'a [Change],
    pub message: &'a str,
    pub by: &'a Committer,
    /// Seconds since 1970.
    pub at: i64,
}

/// What `fast-import` reads: the files, what they were before, and the commit. It answers what [`parse_import`] reads.
pub fn import_stream(commit: &Commit<'_>) -> Vec<u8> {
    let mut stream = Vec::new();
    let mut mark = 0;
    let mut blob = |stream: &mut Vec<u8>, bytes: &[u8]| {
        mark += 1;
        stream.extend_from_slice(format!("blob\nmark :{mark}\ndata {}\n", bytes.len()).as_bytes());
        stream.extend_from_slice(bytes);
        stream.extend_from_slice(format!("\nget-mark :{mark}\n").as_bytes());
        mark
    };
    let mut changes = String::new();
    for change in commit.changes {
        let path = quote(&format!("{}{}", commit.prefix, change.path));
        match commit.parent {
            Some(parent) => stream.extend_from_slice(format!("ls {parent} {path}\n").as_bytes()),
            None => stream.extend_from_slice(b"progress missing\n"),
        }
        match &change.bytes {
            Some(bytes) => changes.push_str(&format!("M 100644 :{} {path}\n", blob(&mut stream, bytes))),
            None => changes.push_str(&format!("D {path}\n")),
        }
        if let Some(staged) = &change.staged {
            blob(&mut stream, staged);
        }
    }
    let Commit { by, at, message, .. } = commit;
    let last = mark + 1;
    let head = format!(
        "commit {NEXT}\nmark :{last}\nauthor {} {at} {zone}\ncommitter {} {at} {zone}\ndata {}\n{message}\n",
        by.author,
        by.committer,
        message.len(),
        zone = by.zone,
    );
    stream.extend_from_slice(head.as_bytes());
    if let Some(parent) = commit.parent {
        stream.extend_from_slice(format!("from {parent}\n").as_bytes());
    }
    stream.extend_from_slice(changes.as_bytes());
    stream.extend_from_slice(format!("\nget-mark :{last}\ndone\n").as_bytes());
    stream
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
    /// The objects of each change: in the commit, and staged.
    pub objects: Vec<(Option<String>, Option<String>)>,
    /// The files that the commit changes.
    pub changed: Vec<String>,
    pub commit: String,
}

/// Reads the answer to [`import_stream`].
pub fn parse_import(stdout: &str, changes: &[Change]) -> Option<Imported> {
    let mut lines = stdout.lines();
    let mut imported = Imported::default();
    for change in changes {
        let before =
            lines.next()?.split('\t').next()?.split_once(" blob ").map(|(_, object)| object.to_string());
        let object = match &change.bytes {
            Some(_) => Some(lines.next().filter(|line| is_object(line))?.to_string()),
            None => None,
        };
        let staged = match &change.staged {
            Some(_) => Some(lines.next().filter(|line| is_object(line))?.to_string()),
            None => object.clone(),
        };
        if object != before {
            imported.changed.push(change.path.clone());
        }
        imported.objects.push((object, staged));
    }
    imported.commit = lines.next().filter(|line| is_object(line))?.to_string();
    Some(imported)
}

/// What `update-index -z --index-info` reads, so that the index agrees with the commit.
pub fn index_lines(prefix: &str, changes: &[Change], imported: &Imported) -> Vec<u8> {
    let mut lines = Vec::new();
    let none = "0".repeat(imported.commit.len());
    for (change, (_, staged)) in changes.iter().zip(&imported.objects) {
        let (mode, object) = match staged {
            Some(object) => ("100644", object),
            None => ("0", &none),
        };
        lines.extend_from_slice(format!("{mode} {object} 0\t{prefix}{}\0", change.path).as_bytes());
    }
    lines
}

/// What `update-ref --stdin` reads: the branch moves on from where it was, and the scratch name goes.
pub fn ref_lines(branch: &str, new: &str, old: Option<&str>) -> String {
    let moved = match old {
        Some(old) => format!("update {branch} {new} {old}\n"),
        None => format!("create {branch} {new}\n"),
    };
    format!("start\n{moved}delete {NEXT}\nprepare\ncommit\n")
}

/// What `cat-file --batch` reads for some paths: as committed, and as staged.
pub fn batch_lines(place: &GitPlace, paths: &[&str]) -> String {
    let mut lines = String::new();
    for path in paths {
        let path = format!("{}{path}", place.prefix);
        match &place.head {
            Some(head) => lines.push_str(&format!("{head}:{path}\n")),
            None => lines.push_str("0 missing\n"),
        }
        lines.push_str(&format!(":{path}\n"));
    }
    lines
}

/// Reads the answer of `cat-file --batch`: each object's bytes, in their order; none for what is not there.
pub fn parse_batch(stdout: &[u8]) -> Vec<Option<Vec<u8>>> {
    let mut objects = Vec::new();
    let mut rest = stdout;
    while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
        let head = String::from_utf8_lossy(&rest[..end]).into_owned();
        rest = &rest[end + 1..];
        let size = head.split(' ').nth(2).and_then(|size| size.parse::<usize>().ok());
        match size.filter(|size| is_object(head.split(' ').next().unwrap_or("")) && *size < rest.len()) {
            Some(size) => {
                objects.push(Some(rest[..size].to_vec()));
                rest = &rest[size + 1..];
            }
            None => objects.push(None),
        }
    }
    objects
}

#[cfg(test)]
mod tests {
    use super::*;

    const OBJECT: &str = "0123456789012345678901234567890123456789";
    const OTHER: &str = "1123456789012345678901234567890123456789";

    #[test]
    fn places_are_told_apart() {
        let place = |head: Option<&str>| {
            Ok(GitPlace {
                git_dir: "/a/.git".into(),
                prefix: "org-rd/".into(),
                head: head.map(str::to_string),
            })
        };
        let check = |stdout: &str, stderr: &str, expected| assert_eq!(parse_place(stdout, stderr), expected);
        check(&format!("false\ntrue\n/a/.git\norg-rd/\n{OBJECT}\n"), "", place(Some(OBJECT)));
        check("false\ntrue\n/a/.git\norg-rd/\nHEAD\n", "fatal: ambiguous argument 'HEAD'", place(None));
        check("true\nfalse\n/a\n\n", "", Err("it is a bare repository, which has no work tree".to_string()));
        check("", "fatal: not a git repository\nmore", Err("not a git repository".to_string()));
    }

    #[test]
    fn who_commits_is_known_or_not() {
        let check = |stdout: &str, expected: Option<bool>| {
            assert_eq!(parse_committer(stdout).ok().map(|by| by.signs), expected, "{stdout}");
        };
        let ident =
            |who: &str| format!("GIT_COMMITTER_IDENT={who} 1 +0100\nGIT_AUTHOR_IDENT={who} 1 +0100\n");
        check(&ident("A B <a@b>"), Some(false));
        check(&format!("commit.gpgsign=true\n{}", ident("A B <a@b>")), Some(true));
        check(&ident("A B <a@host.(none)>"), None);
        check(&ident(" <a@b>"), None);
        check("", None);
        let by = parse_committer(&ident("A > B <a@b>")).unwrap();
        assert_eq!((by.author.as_str(), by.zone.as_str()), ("A > B <a@b>", "+0100"));
    }

    #[test]
    fn a_repository_never_says_what_signs() {
        let listed = "local\0gpg.program\n/tmp/evil\0global\0gpg.ssh.program\n/usr/bin/own\0local\0gpg.ssh.defaultkeycommand\nevil\0";
        let settings = signing_settings(listed);
        assert!(settings.contains(&"gpg.program=gpg".to_string()), "{settings:?}");
        assert!(settings.contains(&"gpg.ssh.program=/usr/bin/own".to_string()), "{settings:?}");
        assert!(settings.contains(&"gpg.ssh.defaultkeycommand=".to_string()), "{settings:?}");
    }

    #[test]
    fn a_stream_and_its_answer() {
        let changes = [
            Change { path: "a b\"é".into(), bytes: Some(b"x\n".to_vec()), staged: None },
            Change { path: "gone".into(), bytes: None, staged: None },
            Change { path: "same".into(), bytes: Some(b"s".to_vec()), staged: Some(b"t".to_vec()) },
        ];
        let by = Committer {
            author: "A <a@b>".into(),
            committer: "A <a@b>".into(),
            zone: "+0000".into(),
            signs: false,
        };
        let commit = Commit {
            prefix: "p/",
            parent: Some(OBJECT),
            changes: &changes,
            message: "rd: x\n",
            by: &by,
            at: 7,
        };
        let stream = String::from_utf8(import_stream(&commit)).unwrap();
        assert_eq!(
            stream,
            format!(
                "ls {OBJECT} \"p/a b\\\"\\303\\251\"\nblob\nmark :1\ndata 2\nx\n\nget-mark :1\nls {OBJECT} \"p/gone\"\n\
                 ls {OBJECT} \"p/same\"\nblob\nmark :2\ndata 1\ns\nget-mark :2\nblob\nmark :3\ndata 1\nt\nget-mark :3\n\
                 commit refs/harness/next\nmark :4\nauthor A <a@b> 7 +0000\ncommitter A <a@b> 7 +0000\ndata 6\nrd: x\n\n\
                 from {OBJECT}\nM 100644 :1 \"p/a b\\\"\\303\\251\"\nD \"p/gone\"\nM 100644 :2 \"p/same\"\n\nget-mark :4\ndone\n"
            )
        );
        let answer = format!(
            "missing p/a\n{OBJECT}\n100644 blob {OBJECT}\tp/gone\n100644 blob {OTHER}\tp/same\n{OTHER}\n{OBJECT}\n{OTHER}\n"
        );
        let imported = parse_import(&answer, &changes).unwrap();
        assert_eq!(imported.changed, ["a b\"é", "gone"]);
        assert_eq!(imported.commit, OTHER);
        let lines = String::from_utf8(index_lines("p/", &changes, &imported)).unwrap();
        assert_eq!(
            lines,
            format!(
                "100644 {OBJECT} 0\tp/a b\"é\00 {} 0\tp/gone\0100644 {OBJECT} 0\tp/same\0",
                "0".repeat(40)
            )
        );
        assert_eq!(parse_import("nonsense\n", &changes), None);
    }

    #[test]
    fn objects_are_read_off_a_batch() {
        let answer = format!("{OBJECT} blob 3\na\nb\n{OBJECT}:x missing\n{OBJECT} blob 0\n\n");
        assert_eq!(parse_batch(answer.as_bytes()), [Some(b"a\nb".to_vec()), None, Some(Vec::new())]);
    }
}
