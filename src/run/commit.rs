//! One run, one commit: exactly the files that were written, and never a human's own changes.
//!
//! The files are those that were noted before they were written ([`crate::store::written`]). The commit is made beside
//! the branch, from what is committed and those files alone; then the index is told of them, and last the branch moves
//! on, if it still stands where it did. Killed in between, the notes are still there and the next commit takes them in.
//! Whatever goes wrong is said in a word: the run stands, and the commit follows.

mod plan;

use super::git::Git;
use super::{Effects, Shop};
use crate::domain::commit::Note;
use crate::domain::event::Event;
use crate::domain::git::import::{Import, import_stream, index_lines, parse_import, ref_lines};
use crate::domain::git::{Committer, signing_settings};
use crate::domain::redact::Redactor;
use crate::domain::time::Time;
use crate::store::git::{find_repository, index_is_locked};
use crate::store::lock::{Attempt, try_lock};
use crate::store::org::{Department, Org};
use crate::store::written::Noted;
use plan::Work;
use std::collections::BTreeMap;
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
    pub scope: Scope,
    /// Said instead of what the last run did.
    pub subject: Option<String>,
}

/// Whose writing is committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Everything that waits.
    All,
    /// What this process wrote; the rest waits on.
    Here,
}

/// One commit, made or to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    /// Empty where it is only shown.
    pub commit: String,
    pub subject: String,
    pub runs: Vec<String>,
    pub files: Vec<String>,
}

/// What became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Committed {
    /// In their order, and what was left out.
    Done { commits: Vec<Made>, left: Vec<String> },
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
            Committed::Later(why) => self.tell(&Event::NotCommitted(&why)),
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

    /// What a commit would be. Nothing is touched.
    pub fn shown_commit(&self) -> super::Result<Committed> {
        self.accepted_charter()?;
        Ok(self.committing().show())
    }

    pub fn committing(&self) -> Committing<'_> {
        Committing {
            org: &self.org,
            department: &self.department,
            variables: self.variables,
            redactor: &self.redactor,
            now: (self.now)(),
            scope: Scope::All,
            subject: None,
        }
    }
}

impl Committing<'_> {
    /// Commits what was noted. That it could not be done is marked until it is.
    pub fn commit(&self) -> Committed {
        let committed = self.commit_noted();
        let marked = match &committed {
            Committed::Later(why) => self.department.mark_unmade(self.now, &self.redactor.mask(why)),
            _ => self.department.unmark_unmade(),
        };
        match (marked, committed) {
            (Err(error), Committed::Later(why)) => Committed::Later(format!("{why}; {error}")),
            (_, committed) => committed,
        }
    }

    fn commit_noted(&self) -> Committed {
        let noted = match self.noted() {
            Ok(noted) => noted,
            Err(why) => return why,
        };
        match self.make(&noted.notes) {
            Ok(done) => match self.department.forget(noted) {
                Ok(()) => done,
                Err(error) => Committed::Later(error.to_string()),
            },
            Err(Halt::Nothing) => Committed::Nothing,
            Err(Halt::Later(why)) => Committed::Later(why),
        }
    }

    /// What would be committed. Nothing is touched.
    pub fn show(&self) -> Committed {
        let noted = match self.noted() {
            Ok(noted) => noted,
            Err(why) => return why,
        };
        match self.plan(&noted.notes) {
            Ok(Some(work)) => Committed::Done { commits: work.made(&[]), left: work.left },
            Ok(None) | Err(Halt::Nothing) => Committed::Nothing,
            Err(Halt::Later(why)) => Committed::Later(why),
        }
    }

    /// What waits to be committed; else why nothing is.
    fn noted(&self) -> Result<Noted, Committed> {
        match self.org.settings() {
            Ok(settings) if settings.git.commit => {}
            Ok(_) => return Err(Committed::Off("commits are off: `[git] commit` in org.toml".to_string())),
            Err(error) => return Err(Committed::Later(error.to_string())),
        }
        if find_repository(self.department.dir.path()).is_none() {
            let dept = &self.department.dept;
            return Err(Committed::Off(format!("org-{dept} is not in a git repository")));
        }
        let noted = match self.scope {
            Scope::All => self.department.noted(),
            Scope::Here => self.department.noted_here(),
        };
        match noted {
            Ok(noted) if noted.notes.is_empty() => Err(Committed::Nothing),
            Ok(noted) => Ok(noted),
            Err(error) => Err(Committed::Later(error.to_string())),
        }
    }

    fn make(&self, notes: &[Note]) -> Step<Committed> {
        let Some(work) = self.plan(notes)? else { return Ok(Committed::Nothing) };
        let Work { git, place, branch, by, drafts, staged, .. } = &work;
        wait_for_index(Path::new(&place.git_dir))?;
        let parent = place.head.as_deref();
        let import = Import { prefix: &place.prefix, parent, drafts, staged, by, at: self.now.timestamp() };
        // What a killed commit left under the scratch name is written over.
        let said = git.call(&["fast-import", "--quiet", "--force", "--done"], import_stream(&import))?;
        let imported = parse_import(&String::from_utf8_lossy(&said), &import)
            .ok_or_else(|| "git fast-import gave an answer that can't be read".to_string())?;
        // The index first: killed before the branch moves, the next commit finds both; the other way round a human's
        // commit in between would quietly take the run's changes back.
        git.call(&["update-index", "-z", "--index-info"], index_lines(&place.prefix, &imported))?;
        let commits = if by.signs { sign(git, &import, &imported.commits)? } else { imported.commits };
        let last = commits.last().cloned().unwrap_or_default();
        let made = work.made(&commits);
        let subject = made.last().map(|made| made.subject.as_str()).unwrap_or_default();
        let reflog = format!("commit (harness): {subject}");
        let moved = ref_lines(branch, &last, parent);
        git.call(&["update-ref", "-m", &reflog, "--stdin"], moved.into_bytes())?;
        Ok(Committed::Done { commits: made, left: work.left })
    }
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

/// The same commits once more, signed as the user has set it up. What signs is never taken from the repository.
fn sign(git: &Git<'_>, import: &Import<'_>, commits: &[String]) -> Step<Vec<String>> {
    let listed = git.call(&["config", "--list", "--show-scope", "-z"], Vec::new())?;
    let settings = signing_settings(&String::from_utf8_lossy(&listed));
    let Committer { author, committer, zone, .. } = import.by;
    let (author, committer) = (split(author), split(committer));
    let date = format!("@{} {zone}", import.at);
    let git = git.with_env(&[
        ("GIT_AUTHOR_NAME", author.0),
        ("GIT_AUTHOR_EMAIL", author.1),
        ("GIT_AUTHOR_DATE", &date),
        ("GIT_COMMITTER_NAME", committer.0),
        ("GIT_COMMITTER_EMAIL", committer.1),
        ("GIT_COMMITTER_DATE", &date),
    ]);
    let mut signed: Vec<String> = Vec::new();
    for (commit, draft) in commits.iter().zip(import.drafts) {
        let tree = format!("{commit}^{{tree}}");
        let mut args: Vec<&str> = settings.iter().flat_map(|setting| ["-c", setting]).collect();
        args.extend(["commit-tree", "-S", "-F", "-"]);
        if let Some(parent) = signed.last().map(String::as_str).or(import.parent) {
            args.extend(["-p", parent]);
        }
        args.push(&tree);
        let said = git.call(&args, draft.message.as_bytes().to_vec())?;
        signed.push(String::from_utf8_lossy(&said).trim_end().to_string());
    }
    Ok(signed)
}

/// `Name <address>` in its parts.
fn split(ident: &str) -> (&str, &str) {
    let (name, address) = ident.rsplit_once(" <").unwrap_or((ident, ""));
    (name, address.trim_end_matches('>'))
}
