//! `harness commit`: commits what was written in a department since its last commit.

use super::app::{App, Result};
use super::running::commit_department;
use crate::error::CommandError;
use crate::run::commit::Committed;
use crate::ui::Answer;
use serde_json::json;

/// Commit what was written in a department
///
/// Every run ends in a commit of its own. This is for what came from elsewhere meanwhile, as messages that other
/// departments delivered, and for a commit that could not be made. Only files that harness wrote are committed, never
/// your own changes, with the same care as at the end of a run: no hook, filter or other program of the repository runs.
///
/// Examples:
///   harness commit rd
///   harness commit rd --dry-run
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct CommitArgs {
    /// The department
    dept: String,
    /// Show which files would be looked at, and commit nothing
    #[arg(long)]
    dry_run: bool,
}

pub fn run(args: &CommitArgs, app: &App<'_>) -> Result<Answer> {
    app.require_human("commit")?;
    let org = app.org()?;
    let department = app.department(&org, &args.dept)?;
    if args.dry_run {
        let mut files: Vec<String> = department.noted()?.notes.into_iter().map(|note| note.path).collect();
        files.sort();
        files.dedup();
        let list: String = files.iter().map(|path| format!("  {path}\n")).collect();
        let text = format!("{}: {} files were written since the last commit\n{list}", args.dept, files.len());
        return Ok(Answer::new(
            "harness.commit/1",
            json!({"dept": args.dept, "files": files, "dry_run": true}),
            text,
        ));
    }
    app.audit(&org, "commit", &args.dept)?;
    answer(&args.dept, &commit_department(app, &args.dept)?)
}

fn answer(dept: &str, committed: &Committed) -> Result<Answer> {
    match committed {
        Committed::Done { commit, subject, files, left } => {
            let warnings = left.iter().map(|what| format!("left out: {what}")).collect();
            let count =
                if files.len() == 1 { "1 file".to_string() } else { format!("{} files", files.len()) };
            let short = commit.get(..12).unwrap_or(commit);
            let text = format!(
                "{short} {subject} ({count})\nUndo the commit, and keep the files: git -C org-{dept} reset --mixed HEAD~1\n"
            );
            let data =
                json!({"dept": dept, "commit": commit, "subject": subject, "files": files, "left": left});
            Ok(Answer::new("harness.commit/1", data, text).warnings(warnings))
        }
        Committed::Nothing => Ok(Answer::new(
            "harness.commit/1",
            json!({"dept": dept, "commit": null, "files": []}),
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
