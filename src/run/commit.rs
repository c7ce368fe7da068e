//! One run, one commit: exactly the files that were written, and never a human's own changes.
//!
//! The files are those that were noted before they were written ([`crate::store::written`]). The commit is made beside
//! the branch, from what is committed and those files alone; then the index is told of them, and last the branch moves
//! on, if it still stands where it did. Killed in between, the notes are still there and the next commit takes them in.
//! Whatever goes wrong is said in a word: the run stands, and the commit follows.

use super::git::{Git, succeeded};
use super::{Effects, Shop};
use crate::domain::commit::{
    Note, Standing, Telling, fold_notes, is_change, render_commit, runs_of, with_entries,
};
use crate::domain::digest::sha256;
use crate::domain::event::Event;
use crate::domain::git::{
    ASK_PLACE, Change, Commit, Committer, GitPlace, Imported, NEXT, batch_lines, import_stream, index_lines,
    parse_batch, parse_committer, parse_head, parse_import, parse_place, ref_lines, signing_settings,
};
use crate::domain::redact::Redactor;
use crate::domain::time::Time;
use crate::process::quick::QuickEnd;
use crate::store::git::{find_repository, index_is_locked, read_head, under_way};
use crate::store::lock::{Attempt, try_lock};
use crate::store::org::{Department, Org};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

/// The largest file that is committed.
const FILE_MAX: u64 = 64 * 1024 * 1024;
/// How long another git is waited for, and how often one looks.
const PATIENCE: Duration = Duration::from_secs(2);
const BEAT: Duration = Duration::from_millis(50);

/// What a commit is made with.
pub struct Committing<'a> {
    pub org: &'a Org,
    pub department: &'a Department,
    pub variables: &'a BTreeMap<String, String>,
    pub redactor: &'a Redactor,
    pub now: Time,
    /// Said instead of what the runs did.
    pub subject: Option<String>,
    /// Trailers beyond those of the runs.
    pub trailers: Vec<(String, String)>,
}

/// What became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Committed {
    Done {
        commit: String,
        subject: String,
        files: Vec<String>,
        left: Vec<String>,
    },
    /// Nothing was written that is not committed.
    Nothing,
    /// There is no work tree, or commits are off.
    Off(String),
    /// It can't be done now, and follows later.
    Later(String),
}

/// Why a commit is not made now, or that there is nothing to commit.
enum Halt {
    Later(String),
    Nothing,
}

impl From<String> for Halt {
    fn from(why: String) -> Halt {
        Halt::Later(why)
    }
}

type Step<T> = Result<T, Halt>;

impl Shop<'_> {
    /// Ends a run with its commit. The department's lock is held. Nothing here fails a run.
    pub fn commit(&self) {
        self.tell_commit(&self.committing());
    }

    /// The same, with a subject of its own.
    pub fn commit_as(&self, subject: String) {
        self.tell_commit(&Committing { subject: Some(subject), ..self.committing() });
    }

    fn tell_commit(&self, committing: &Committing<'_>) {
        if self.effects == Effects::Shown {
            return;
        }
        match committing.commit() {
            Committed::Later(why) => self.tell(&Event::Notice(&format!("not committed yet: {why}"))),
            Committed::Done { left, .. } => {
                for what in left {
                    self.tell(&Event::Notice(&format!("left out of the commit: {what}")));
                }
            }
            Committed::Nothing | Committed::Off(_) => {}
        }
    }

    /// A commit by itself, under the lock; none where a run holds it. Only where a human accepted the department.
    pub fn committed_locked(&self) -> super::Result<Option<Committed>> {
        let Attempt::Held(_lock) = try_lock(&self.department.own()?, "lock")? else { return Ok(None) };
        self.accepted_charter()?;
        Ok(Some(self.committing().commit()))
    }

    pub fn committing(&self) -> Committing<'_> {
        Committing {
            org: &self.org,
            department: &self.department,
            variables: self.variables,
            redactor: &self.redactor,
            now: (self.now)(),
            subject: None,
            trailers: Vec::new(),
        }
    }
}

/// What is to be committed, and what is left to the human.
struct Picked {
    changes: Vec<Change>,
    left: Vec<String>,
}

impl Committing<'_> {
    /// Commits what was noted.
    pub fn commit(&self) -> Committed {
        match self.org.settings() {
            Ok(settings) if settings.git.commit => {}
            Ok(_) => return Committed::Off("commits are off: `[git] commit` in org.toml".to_string()),
            Err(error) => return Committed::Later(error.to_string()),
        }
        if find_repository(self.department.dir.path()).is_none() {
            let dept = &self.department.dept;
            return Committed::Off(format!("org-{dept} is not in a git repository"));
        }
        let noted = match self.department.noted() {
            Ok(noted) if noted.notes.is_empty() => return Committed::Nothing,
            Ok(noted) => noted,
            Err(error) => return Committed::Later(error.to_string()),
        };
        match self.commit_notes(&noted.notes) {
            Ok(done) => match self.department.forget(noted) {
                Ok(()) => done,
                Err(error) => Committed::Later(error.to_string()),
            },
            Err(Halt::Nothing) => Committed::Nothing,
            Err(Halt::Later(why)) => Committed::Later(why),
        }
    }

    fn commit_notes(&self, notes: &[Note]) -> Step<Committed> {
        let git = Git::find(self.variables, self.department.dir.path())
            .ok_or_else(|| "there is no git on PATH".to_string())?;
        let files = fold_notes(notes);
        let paths: String = files.keys().map(|path| format!("{path}\0")).collect();
        let [place, ignored, who] = git.ask_together([
            (&ASK_PLACE[..], Vec::new()),
            (&["check-ignore", "-z", "--stdin"][..], paths.into_bytes()),
            (&["var", "-l"][..], Vec::new()),
        ]);
        let (place, branch) = self.look(&git, place?)?;
        let files = without_ignored(ignored?, files)?;
        let Picked { changes, left } = self.pick(&git, &place, files)?;
        let paths: Vec<String> = changes.iter().map(|change| change.path.clone()).collect();
        // Records alone are no change: they go with the next commit.
        if !is_change(&paths) {
            return Err(Halt::Nothing);
        }
        let by = parse_committer(&String::from_utf8_lossy(&succeeded(who?)?))?;
        let message = self.message(notes, &paths)?;
        wait_for_index(Path::new(&place.git_dir))?;
        let commit = Commit {
            prefix: &place.prefix,
            parent: place.head.as_deref(),
            changes: &changes,
            message: &message,
            by: &by,
            at: self.now.timestamp(),
        };
        let imported = self.import(&git, &commit)?;
        if !is_change(&imported.changed) {
            git.call(&["update-ref", "-d", NEXT], Vec::new())?;
            // Where only a record differs the notes stay, for the commit that has more to say.
            return if imported.changed.is_empty() { Ok(Committed::Nothing) } else { Err(Halt::Nothing) };
        }
        // The index first: killed before the branch moves, the next commit finds both; the other way round a human's
        // commit in between would quietly take the run's changes back.
        git.call(&["update-index", "-z", "--index-info"], index_lines(&place.prefix, &changes, &imported))?;
        let commit = if by.signs { sign(&git, &by, &commit, &imported)? } else { imported.commit.clone() };
        let reflog = format!("commit (harness): {}", message.lines().next().unwrap_or_default());
        let moved = ref_lines(&branch, &commit, place.head.as_deref());
        git.call(&["update-ref", "-m", &reflog, "--stdin"], moved.into_bytes())?;
        let subject = message.lines().next().unwrap_or_default().to_string();
        Ok(Committed::Done { commit, subject, files: imported.changed, left })
    }

    /// Where the department stands, and on which branch; else the word for why there is no commit.
    fn look(&self, git: &Git<'_>, said: QuickEnd) -> Step<(GitPlace, String)> {
        let (stdout, stderr) = (String::from_utf8_lossy(&said.stdout), String::from_utf8_lossy(&said.stderr));
        let place = parse_place(&stdout, &stderr)?;
        let git_dir = Path::new(&place.git_dir);
        if let Some(what) = under_way(git_dir) {
            return Err(format!("{what} is under way").into());
        }
        let head = read_head(git_dir).unwrap_or_default();
        let branch = match parse_head(&head) {
            Some(branch) if !branch.ends_with("/.invalid") => branch.to_string(),
            // A repository may keep its branches in another format; then git says which it is.
            _ => {
                let said = git.ask(&["symbolic-ref", "-q", "HEAD"], Vec::new())?;
                let name = String::from_utf8_lossy(&said.stdout).trim_end().to_string();
                if name.is_empty() {
                    return Err("HEAD is detached: no branch is checked out".to_string().into());
                }
                name
            }
        };
        if !place.prefix.is_empty() && !self.is_tracked(git)? {
            return Err(format!(
                "the repository above org-{} does not track it: `git add` its charter.toml to have it committed there",
                self.department.dept
            )
            .into());
        }
        Ok((place, branch))
    }

    /// A repository further up, as of somebody's home folder, counts only where the department is in it.
    fn is_tracked(&self, git: &Git<'_>) -> Step<bool> {
        Ok(!git.call(&["ls-files", "-z", "--", "charter.toml"], Vec::new())?.is_empty())
    }

    /// What each file is in the commit. A file that somebody changed after it was written is theirs.
    fn pick(&self, git: &Git<'_>, place: &GitPlace, files: BTreeMap<String, Standing>) -> Step<Picked> {
        let logs: Vec<&str> = files
            .iter()
            .filter(|(_, standing)| matches!(standing, Standing::Added(_)))
            .map(|(path, _)| path.as_str())
            .collect();
        let mut before = match logs.is_empty() {
            true => Vec::new(),
            false => {
                parse_batch(&git.call(&["cat-file", "--batch"], batch_lines(place, &logs).into_bytes())?)
            }
        }
        .into_iter();
        let mut picked = Picked { changes: Vec::new(), left: Vec::new() };
        for (path, standing) in files {
            let there = match self.department.dir.read_bytes(&path, FILE_MAX) {
                Ok(there) => there.map(|(bytes, _)| bytes),
                Err(error) => {
                    picked.left.push(error.to_string());
                    continue;
                }
            };
            let change = |bytes, staged| Change { path: path.clone(), bytes, staged };
            match (standing, there) {
                (Standing::Gone, _) => picked.changes.push(change(None, None)),
                (Standing::Added(entries), there) => {
                    let (committed, staged) = (before.next().flatten(), before.next().flatten());
                    picked.changes.push(added(&path, &entries, committed, staged, there));
                }
                (_, None) => picked.changes.push(change(None, None)),
                (Standing::Whole { sha256: written }, Some(bytes)) if sha256(&bytes) != written => {
                    picked.left.push(format!("{path} was changed since it was written"));
                }
                (_, bytes) => picked.changes.push(change(bytes, None)),
            }
        }
        Ok(picked)
    }

    fn message(&self, notes: &[Note], paths: &[String]) -> Step<String> {
        let dept = self.department.dept.as_str();
        let runs = runs_of(notes, dept);
        let lines = match runs.is_empty() {
            true => Vec::new(),
            false => self.department.ledger_tail(0, 64).map_err(|error| error.to_string())?,
        };
        let telling = Telling {
            dept,
            runs: &runs,
            lines: &lines,
            paths,
            subject: self.subject.clone(),
            trailers: self.trailers.clone(),
        };
        Ok(self.redactor.mask(&render_commit(&telling)).into_owned())
    }

    fn import(&self, git: &Git<'_>, commit: &Commit<'_>) -> Step<Imported> {
        // What a killed commit left under the scratch name is written over.
        let said = git.call(&["fast-import", "--quiet", "--force", "--done"], import_stream(commit))?;
        let imported = parse_import(&String::from_utf8_lossy(&said), commit.changes);
        imported.ok_or_else(|| "git fast-import gave an answer that can't be read".to_string().into())
    }
}

/// The files that `check-ignore` did not name.
fn without_ignored(
    said: QuickEnd,
    mut files: BTreeMap<String, Standing>,
) -> Step<BTreeMap<String, Standing>> {
    if !matches!(said.code, Some(0 | 1)) {
        return Err(crate::domain::git::first_line(&String::from_utf8_lossy(&said.stderr)).into());
    }
    let ignored = String::from_utf8_lossy(&said.stdout);
    let ignored: BTreeSet<&str> = ignored.split('\0').collect();
    files.retain(|path, _| !ignored.contains(path.as_str()));
    Ok(files)
}

/// A log with its entries, on top of what is committed: lines of a human's in the same file stay theirs.
fn added(
    path: &str,
    entries: &[String],
    committed: Option<Vec<u8>>,
    staged: Option<Vec<u8>>,
    there: Option<Vec<u8>>,
) -> Change {
    let path = path.to_string();
    let Some(committed) = committed else {
        // A file that git doesn't know yet is new as a whole.
        return Change { path, bytes: there, staged: None };
    };
    let staged = staged.filter(|staged| *staged != committed).map(|staged| with_entries(&staged, entries));
    Change { path, bytes: Some(with_entries(&committed, entries)), staged }
}

/// Waits a little for another git that is writing the index.
fn wait_for_index(git_dir: &Path) -> Step<()> {
    let mut waited = Duration::ZERO;
    while index_is_locked(git_dir) {
        if waited >= PATIENCE {
            let lock = git_dir.join("index.lock");
            return Err(format!("another git holds {}", lock.display()).into());
        }
        std::thread::sleep(BEAT);
        waited += BEAT;
    }
    Ok(())
}

/// The same commit once more, signed as the user has set it up. What signs is never taken from the repository.
fn sign(git: &Git<'_>, by: &Committer, commit: &Commit<'_>, imported: &Imported) -> Step<String> {
    let listed = git.call(&["config", "--list", "--show-scope", "-z"], Vec::new())?;
    let settings = signing_settings(&String::from_utf8_lossy(&listed));
    let tree = format!("{}^{{tree}}", imported.commit);
    let (author, committer) = (split(&by.author), split(&by.committer));
    let date = format!("@{} {}", commit.at, by.zone);
    let git = git.with_env(&[
        ("GIT_AUTHOR_NAME", author.0),
        ("GIT_AUTHOR_EMAIL", author.1),
        ("GIT_AUTHOR_DATE", &date),
        ("GIT_COMMITTER_NAME", committer.0),
        ("GIT_COMMITTER_EMAIL", committer.1),
        ("GIT_COMMITTER_DATE", &date),
    ]);
    let mut args: Vec<&str> = settings.iter().flat_map(|setting| ["-c", setting]).collect();
    args.extend(["commit-tree", "-S", "-F", "-"]);
    if let Some(parent) = commit.parent {
        args.extend(["-p", parent]);
    }
    args.push(&tree);
    let said = git.call(&args, commit.message.as_bytes().to_vec())?;
    Ok(String::from_utf8_lossy(&said).trim_end().to_string())
}

/// `Name <address>` in its parts.
fn split(ident: &str) -> (&str, &str) {
    let (name, address) = ident.rsplit_once(" <").unwrap_or((ident, ""));
    (name, address.trim_end_matches('>'))
}
