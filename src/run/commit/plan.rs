//! What a commit is made of: asking git what it has, and laying out each commit's files and message.
//!
//! Only what differs from what is committed is a change. Starting git is what costs, so two calls learn everything: the
//! settings with who the user is, and each file as committed and as staged.

use super::{Committing, FILE_MAX, Halt, Made, Step};
use crate::domain::commit::batches::{Batch, batches};
use crate::domain::commit::{Note, Standing, Telling, fold_notes, is_change, render_commit, with_entries};
use crate::domain::digest::sha256;
use crate::domain::git::import::{Asked, Change, Draft, Object, batch_lines, parse_batch};
use crate::domain::git::{
    ASK_PLACE, Committer, GitPlace, Variables, first_line, ignores_nothing, parse_head, parse_place,
    parse_variables,
};
use crate::domain::id::made_at;
use crate::run::git::{Git, succeeded};
use crate::store::git::{Repository, open_repository, read_head, under_way};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// What is to be committed, each commit on top of the one before it.
pub(super) struct Work<'a> {
    pub git: Git<'a>,
    pub place: GitPlace,
    pub branch: String,
    pub by: Committer,
    pub drafts: Vec<Draft>,
    /// The runs of each.
    pub runs: Vec<Vec<String>>,
    pub staged: Vec<Change>,
    pub left: Vec<String>,
}

/// What git has of the files: as committed, and as staged where a human staged something else.
#[derive(Default)]
struct Ground {
    committed: BTreeMap<String, Vec<u8>>,
    staged: BTreeMap<String, Vec<u8>>,
}

/// What each batch changes, and what is left to the human.
#[derive(Default)]
struct Picked {
    batches: Vec<(Vec<String>, Vec<Change>)>,
    staged: BTreeMap<String, Vec<u8>>,
    left: Vec<String>,
}

impl Committing<'_> {
    /// What the notes come to; nothing where all of it is committed already.
    pub(super) fn plan(&self, notes: &[Note]) -> Step<Option<Work<'_>>> {
        let git = Git::find(self.variables, self.department.dir.path())
            .ok_or_else(|| "there is no git on PATH".to_string())?;
        let repository = open_repository(self.department.dir.path());
        let mut files = fold_notes(notes);
        let asked = ask_for(&files);
        let [who, objects] = git.ask_together([
            (&["var", "-l"][..], Vec::new()),
            (&["cat-file", "--batch"][..], batch_lines(&asked).into_bytes()),
        ]);
        // It exits with an error where it knows of nobody, and says everything else all the same.
        let variables = parse_variables(&String::from_utf8_lossy(&who?.stdout));
        if variables.is_bare {
            return Err("it is a bare repository, which has no work tree".to_string().into());
        }
        let objects = parse_batch(&succeeded(objects?)?);
        let (place, branch) = self.look(&git, repository.as_ref(), &variables, &objects)?;
        let ground = Ground::of(&asked, objects);
        self.drop_ignored(&git, repository.as_ref(), &variables, &mut files)?;
        let picked = self.pick(&batches(notes, self.department.dept.as_str()), &files, ground);
        if picked.batches.iter().all(|(_, changes)| changes.is_empty()) {
            return Ok(None);
        }
        let merged = self.merge_quiet(picked.batches);
        // Records alone are no change: they go with the next commit.
        if merged.is_empty() {
            return Err(Halt::Nothing);
        }
        let (runs, drafts) = self.tell_all(merged)?;
        let staged =
            picked.staged.into_iter().map(|(path, bytes)| Change { path, bytes: Some(bytes) }).collect();
        Ok(Some(Work { git, place, branch, by: variables.by?, drafts, runs, staged, left: picked.left }))
    }

    /// Where the department stands, and on which branch; else the word for why there is no commit.
    fn look(
        &self,
        git: &Git<'_>,
        repository: Option<&Repository>,
        variables: &Variables,
        objects: &[Option<Object>],
    ) -> Step<(GitPlace, String)> {
        let place = match repository {
            Some(Repository { git_dir, prefix, .. }) if !variables.names_work_tree => GitPlace {
                git_dir: git_dir.display().to_string(),
                prefix: prefix.clone(),
                head: objects.first().cloned().flatten().map(|head| head.id),
            },
            // What the files don't say, git does.
            _ => {
                let said = git.ask(&ASK_PLACE, Vec::new())?;
                parse_place(&String::from_utf8_lossy(&said.stdout), &String::from_utf8_lossy(&said.stderr))?
            }
        };
        let git_dir = Path::new(&place.git_dir);
        if let Some(what) = under_way(git_dir) {
            return Err(format!("{what} is under way").into());
        }
        let branch = match parse_head(&read_head(git_dir).unwrap_or_default()) {
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
        // A repository further up, as of somebody's home folder, counts only where the department is in it.
        let is_tracked = objects.get(1).is_some_and(Option::is_some);
        if !place.prefix.is_empty() && !is_tracked {
            return Err(format!(
                "the repository above org-{} does not track it: `git add` its charter.toml to have it committed there",
                self.department.dept
            )
            .into());
        }
        Ok((place, branch))
    }

    /// Takes out what git ignores. It is asked only where there is a list that may ignore something.
    fn drop_ignored(
        &self,
        git: &Git<'_>,
        repository: Option<&Repository>,
        variables: &Variables,
        files: &mut BTreeMap<String, Standing>,
    ) -> Step<()> {
        let paths: BTreeSet<&str> = files.keys().map(String::as_str).collect();
        let user = self.user_ignores();
        let lists = repository.and_then(|repository| repository.ignore_lists(&paths, user.as_deref()));
        let harmless = lists.is_some_and(|lists| lists.iter().all(|text| ignores_nothing(text)));
        if harmless && !variables.names_excludes && !variables.names_work_tree {
            return Ok(());
        }
        let asked: String = paths.iter().map(|path| format!("{path}\0")).collect();
        let said = git.ask(&["check-ignore", "-z", "--stdin"], asked.into_bytes())?;
        if !matches!(said.code, Some(0 | 1)) {
            return Err(first_line(&String::from_utf8_lossy(&said.stderr)).into());
        }
        let ignored = String::from_utf8_lossy(&said.stdout);
        let ignored: BTreeSet<&str> = ignored.split('\0').collect();
        files.retain(|path, _| !ignored.contains(path.as_str()));
        Ok(())
    }

    /// The user's own list of what is ignored everywhere.
    fn user_ignores(&self) -> Option<PathBuf> {
        let folder =
            |name: &str| self.variables.get(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let settings = folder("XDG_CONFIG_HOME").or_else(|| Some(folder("HOME")?.join(".config")))?;
        Some(settings.join("git/ignore"))
    }

    /// What each batch changes. A file that somebody changed after it was written is theirs.
    fn pick(&self, batches: &[Batch<'_>], files: &BTreeMap<String, Standing>, mut ground: Ground) -> Picked {
        let mut picked = Picked::default();
        for (index, batch) in batches.iter().enumerate() {
            let mut changes = Vec::new();
            for (path, standing) in fold_notes(batch.notes.iter().copied()) {
                if !files.contains_key(&path) {
                    continue;
                }
                let there = match self.department.dir.read_bytes(&path, FILE_MAX) {
                    Ok(there) => there.map(|(bytes, _)| bytes),
                    Err(error) => {
                        picked.left.push(error.to_string());
                        continue;
                    }
                };
                let bytes = match (standing, there) {
                    (Standing::Gone, _) => None,
                    (Standing::Added(entries), there) => {
                        let later = batches[index + 1..].iter().any(|later| later.touches(&path));
                        picked.stage(&path, &entries, &ground);
                        ground.added(&path, &entries, if later { None } else { there })
                    }
                    (Standing::Whole { sha256: written }, Some(bytes)) if sha256(&bytes) != written => {
                        picked.left.push(format!("{path} was changed since it was written"));
                        continue;
                    }
                    (_, there) => there,
                };
                if ground.committed.get(&path) != bytes.as_ref() {
                    ground.commit(&path, bytes.as_deref());
                    changes.push(Change { path, bytes });
                }
            }
            picked.batches.push((batch.runs.iter().map(|run| run.to_string()).collect(), changes));
        }
        picked
    }

    /// Batches that hold nothing but records go with the next one that has something to say, else with the one before.
    fn merge_quiet(&self, batches: Vec<(Vec<String>, Vec<Change>)>) -> Vec<(Vec<String>, Vec<Change>)> {
        let mut merged: Vec<(Vec<String>, Vec<Change>)> = Vec::new();
        let (mut runs, mut changes) = (Vec::new(), Vec::new());
        let last = batches.len() - 1;
        for (index, (more_runs, more)) in batches.into_iter().enumerate() {
            runs.extend(if more.is_empty() { Vec::new() } else { more_runs });
            changes.extend(more);
            let named = index == last && self.subject.is_some() && !changes.is_empty();
            if named || is_change(changes.iter().map(|change: &Change| change.path.as_str())) {
                merged.push((std::mem::take(&mut runs), std::mem::take(&mut changes)));
            }
        }
        if let Some(before) = merged.last_mut() {
            before.0.extend(runs);
            before.1.extend(changes);
        }
        merged
    }

    /// The drafts with their messages, and the runs of each.
    fn tell_all(&self, batches: Vec<(Vec<String>, Vec<Change>)>) -> Step<(Vec<Vec<String>>, Vec<Draft>)> {
        // Ids begin with the moment their run began, so that nothing older has to be read.
        let oldest = batches.iter().flat_map(|(runs, _)| runs).filter_map(|run| made_at(run)).min();
        let lines = match oldest {
            None => Vec::new(),
            Some(oldest) => self.department.ledger_since(oldest).map_err(|error| error.to_string())?,
        };
        let last = batches.len() - 1;
        let (mut all, mut drafts) = (Vec::new(), Vec::new());
        for (index, (runs, changes)) in batches.into_iter().enumerate() {
            let paths: Vec<String> = changes.iter().map(|change| change.path.clone()).collect();
            let named: Vec<&str> = runs.iter().map(String::as_str).collect();
            let telling = Telling {
                dept: self.department.dept.as_str(),
                runs: &named,
                lines: &lines,
                paths: &paths,
                subject: self.subject.clone().filter(|_| index == last),
            };
            let message = self.redactor.mask(&render_commit(&telling)).into_owned();
            drafts.push(Draft { changes, message });
            all.push(runs);
        }
        Ok((all, drafts))
    }
}

impl Work<'_> {
    /// The commits in words, with their ids where they are made.
    pub(super) fn made(&self, commits: &[String]) -> Vec<Made> {
        let made = |(index, (draft, runs)): (usize, (&Draft, &Vec<String>))| Made {
            commit: commits.get(index).cloned().unwrap_or_default(),
            subject: draft.message.lines().next().unwrap_or_default().to_string(),
            runs: runs.clone(),
            files: draft.changes.iter().map(|change| change.path.clone()).collect(),
        };
        self.drafts.iter().zip(&self.runs).enumerate().map(made).collect()
    }
}

/// What git is asked about some files: where it stands, whether the department is in it, each file as committed, and
/// logs as staged too.
fn ask_for(files: &BTreeMap<String, Standing>) -> Vec<Asked<'_>> {
    let mut asked = vec![Asked::Head, Asked::Staged("charter.toml")];
    for (path, standing) in files {
        asked.push(Asked::Committed(path));
        if matches!(standing, Standing::Added(_)) {
            asked.push(Asked::Staged(path));
        }
    }
    asked
}

impl Ground {
    fn of(asked: &[Asked<'_>], objects: Vec<Option<Object>>) -> Ground {
        let mut ground = Ground::default();
        for (asked, object) in asked.iter().zip(objects) {
            match (asked, object) {
                (Asked::Committed(path), Some(object)) => {
                    drop(ground.committed.insert(path.to_string(), object.bytes))
                }
                (Asked::Staged(path), Some(object)) => {
                    drop(ground.staged.insert(path.to_string(), object.bytes))
                }
                _ => {}
            }
        }
        // What is staged as it is committed was staged by nobody.
        let Ground { committed, staged } = &mut ground;
        staged.retain(|path, staged| committed.get(path).is_some_and(|committed| committed != staged));
        ground
    }

    /// A log with its entries, on top of what is committed: lines of a human's in the same file stay theirs.
    fn added(&self, path: &str, entries: &[String], there: Option<Vec<u8>>) -> Option<Vec<u8>> {
        match (self.committed.get(path), there) {
            (Some(committed), _) => Some(with_entries(committed, entries)),
            // A file that git doesn't know yet is new as a whole.
            (None, Some(there)) => Some(there),
            (None, None) => Some(with_entries(b"", entries)),
        }
    }

    fn commit(&mut self, path: &str, bytes: Option<&[u8]>) {
        match bytes {
            Some(bytes) => drop(self.committed.insert(path.to_string(), bytes.to_vec())),
            None => drop(self.committed.remove(path)),
        }
    }
}

impl Picked {
    /// What a human staged in a log stays staged, with the entries.
    fn stage(&mut self, path: &str, entries: &[String], ground: &Ground) {
        if let Some(staged) = self.staged.get(path).or_else(|| ground.staged.get(path)) {
            let staged = with_entries(staged, entries);
            self.staged.insert(path.to_string(), staged);
        }
    }
}
