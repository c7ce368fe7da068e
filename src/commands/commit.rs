//! `harness commit`: commits what was written in a department since its last commit.

use super::app::{App, Result};
use super::running::{commit_department, show_commit};
use crate::error::CommandError;
use crate::run::commit::{Committed, Made};
use crate::ui::Answer;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Commit what was written in a department
///
/// Every run ends in a commit of its own. This is for what came from elsewhere meanwhile, as messages that other
/// departments delivered, and for commits that could not be made: each run that waits gets its own, but runs that wrote
/// the same file share one. Only files that harness wrote are committed, never your own changes, with the same care as at
/// the end of a run: no hook, filter or other program of the repository runs.
///
/// Examples:
///   harness commit rd
///   harness commit rd --dry-run
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct CommitArgs {
    /// The department
    dept: String,
    /// Show which files would be committed, and commit nothing
    #[arg(long)]
    dry_run: bool,
}

pub fn run(args: &CommitArgs, app: &App<'_>) -> Result<Answer> {
    app.require_human("commit")?;
    let org = app.org()?;
    app.department(&org, &args.dept)?;
    if args.dry_run {
        return answer(&args.dept, &show_commit(app, &args.dept)?, Doing::Shown);
    }
    app.audit(&org, "commit", &args.dept)?;
    answer(&args.dept, &commit_department(app, &args.dept)?, Doing::Done)
}

/// Whether it was done.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Doing {
    Done,
    Shown,
}

fn answer(dept: &str, committed: &Committed, doing: Doing) -> Result<Answer> {
    match committed {
        Committed::Done { commits, left } => {
            let warnings = left.iter().map(|what| format!("left out: {what}")).collect();
            let text = match doing {
                Doing::Done => format!(
                    "{}Undo the commit{}, and keep the files: git -C org-{dept} reset --mixed HEAD~{}\n",
                    commits.iter().map(line).collect::<String>(),
                    if commits.len() == 1 { "" } else { "s" },
                    commits.len()
                ),
                Doing::Shown => format!(
                    "{dept}: would commit\n{}",
                    commits.iter().map(|made| format!("  {}{}", line(made), list(made))).collect::<String>()
                ),
            };
            Ok(Answer::new("harness.commit/1", data(dept, commits, left, doing), text).warnings(warnings))
        }
        Committed::Nothing => Ok(Answer::new(
            "harness.commit/1",
            data(dept, &[], &[], doing),
            format!("{dept}: nothing to commit\n"),
        )),
        Committed::Off(why) => Err(CommandError::failed(format!("nothing is committed: {why}"))
            .code("no_commits")
            .hint(format!(
                "make a repository: `git init org-{dept}`, or `harness init --git` for new departments"
            ))),
        Committed::Later(why) => Err(CommandError::failed(format!("not committed: {why}"))
            .code("not_committed")
            .hint(format!("put that right, then `harness commit {dept}`; the next run commits it too"))),
    }
}

/// One commit: its short name where it has one, its subject, and how many files.
fn line(made: &Made) -> String {
    let count =
        if made.files.len() == 1 { "1 file".to_string() } else { format!("{} files", made.files.len()) };
    let short = made.commit.get(..12).unwrap_or(&made.commit);
    format!("{short} {} ({count})\n", made.subject).trim_start().to_string()
}

fn list(made: &Made) -> String {
    made.files.iter().map(|path| format!("    {path}\n")).collect()
}

/// The newest commit is told by itself too.
fn data(dept: &str, commits: &[Made], left: &[String], doing: Doing) -> Value {
    let id = |made: &Made| Some(made.commit.clone()).filter(|commit| !commit.is_empty());
    let files: BTreeSet<&String> = commits.iter().flat_map(|made| &made.files).collect();
    let each = commits.iter().map(
        |made| json!({"commit": id(made), "subject": made.subject, "runs": made.runs, "files": made.files}),
    );
    json!({
        "dept": dept,
        "commit": commits.last().and_then(id),
        "subject": commits.last().map(|made| &made.subject),
        "files": files,
        "left": left,
        "commits": each.collect::<Vec<_>>(),
        "dry_run": doing == Doing::Shown,
    })
}
