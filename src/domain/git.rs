//! What is said to git and what it answers: arguments, environment, streams. No repository is touched here.
//!
//! Nothing that a repository brings along may be executed: no hook, no fsmonitor, no filter, no external diff, no
//! helper that fetches what is missing. So only plumbing is used that knows no attributes, every call carries the same
//! settings, and the environment is a short list. What signs a commit is taken from the user's own settings alone.

pub mod import;

use std::collections::BTreeMap;

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

/// What `git var -l` says: the settings that count here, and who the user is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variables {
    pub is_bare: bool,
    /// Whether the work tree is named by the settings instead of standing around its `.git`.
    pub names_work_tree: bool,
    /// Whether the settings name a file of what is ignored everywhere.
    pub names_excludes: bool,
    /// Else why git knows of nobody.
    pub by: Result<Committer, String>,
}

/// Reads `git var -l`: the settings first, of which the last counts, and then who the user is.
pub fn parse_variables(stdout: &str) -> Variables {
    let last = |key: &str| stdout.lines().rev().find_map(|line| line.strip_prefix(key));
    let is_true = |key: &str| {
        let value = last(key).map(str::to_ascii_lowercase);
        matches!(value.as_deref(), Some("true" | "yes" | "on" | "1" | ""))
    };
    let ident = |key: &str| last(key).and_then(split_ident);
    let by = match (ident("GIT_AUTHOR_IDENT="), ident("GIT_COMMITTER_IDENT=")) {
        (Some((author, zone)), Some((committer, _))) => {
            Ok(Committer { author, committer, zone, signs: is_true("commit.gpgsign=") })
        }
        _ => {
            Err("git does not know who you are: set it with `git config --global user.name` and `user.email`"
                .to_string())
        }
    };
    Variables {
        is_bare: is_true("core.bare="),
        names_work_tree: last("core.worktree=").is_some(),
        names_excludes: last("core.excludesfile=").is_some(),
        by,
    }
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

/// The lines of the `.gitignore` that `init` writes: none of what harness commits is ignored by them.
const OWN_IGNORES: [&str; 3] = [".harness/*", "!.harness/director-config.json", "!.harness/director-runs/"];

/// Whether a file of ignored names surely ignores nothing that harness commits, so that git needn't be asked.
pub fn ignores_nothing(text: &str) -> bool {
    let rules = text.lines().map(str::trim_end).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let rules: Vec<&str> = rules.collect();
    rules.is_empty() || rules == OWN_IGNORES
}

#[cfg(test)]
mod tests {
    use super::*;

    const OBJECT: &str = "0123456789012345678901234567890123456789";

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
            assert_eq!(parse_variables(stdout).by.ok().map(|by| by.signs), expected, "{stdout}");
        };
        let ident =
            |who: &str| format!("GIT_COMMITTER_IDENT={who} 1 +0100\nGIT_AUTHOR_IDENT={who} 1 +0100\n");
        check(&ident("A B <a@b>"), Some(false));
        check(&format!("commit.gpgsign=true\n{}", ident("A B <a@b>")), Some(true));
        check(&ident("A B <a@host.(none)>"), None);
        check(&ident(" <a@b>"), None);
        check("", None);
        let by = parse_variables(&ident("A > B <a@b>")).by.unwrap();
        assert_eq!((by.author.as_str(), by.zone.as_str()), ("A > B <a@b>", "+0100"));
    }

    #[test]
    fn the_last_of_a_setting_counts() {
        let variables = parse_variables("core.bare=true\ncore.bare=false\ncore.excludesfile=~/x\n");
        assert!(!variables.is_bare && variables.names_excludes && !variables.names_work_tree);
        assert!(parse_variables("core.bare=false\ncore.bare=true\n").is_bare);
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
    fn only_what_surely_ignores_nothing_is_taken_as_such() {
        let own = include_str!("../../org-template/shared/gitignore");
        for (text, expected) in
            [("", true), ("# a\n\n", true), (own, true), ("outbox/\n", false), (".harness/*\n", false)]
        {
            assert_eq!(ignores_nothing(text), expected, "{text}");
        }
    }
}
