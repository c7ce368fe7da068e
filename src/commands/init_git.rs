//! What `harness init` does with git: a repository in each department that is in none, and a first commit.

use super::app::{App, Result};
use crate::domain::redact::Redactor;
use crate::run::commit::{Committed, Committing, Scope};
use crate::run::git::Git;
use crate::store::charters::Standing;
use crate::store::git::find_repository;
use crate::store::org::{Department, Org, folder_name};

/// Whether departments become repositories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    Git,
    NoGit,
}

/// What was asked for; at a terminal, and where git is there, the human is asked.
pub fn wish(app: &App<'_>, git: Option<Wish>) -> Wish {
    match git {
        Some(wish) => wish,
        None if app.ui.can_ask() && Git::find(app.ctx.variables(), &app.root).is_some() => {
            match app.ui.ask("Make each department a git repository, with a commit for every run?") {
                true => Wish::Git,
                false => Wish::NoGit,
            }
        }
        None => Wish::NoGit,
    }
}

/// Makes the department's folder a repository, before anything is written in it: then what is written is committed.
/// One that stands in a repository already is left as it is. What goes wrong is a warning: files work without git.
pub fn make_repository(
    app: &App<'_>,
    org: &Org,
    dept: &crate::domain::id::Dept,
    warnings: &mut Vec<String>,
) -> Result<()> {
    let dir = org.root.make(&folder_name(dept))?;
    if find_repository(dir.path()).is_some() {
        return Ok(());
    }
    let made = match Git::find(app.ctx.variables(), dir.path()) {
        Some(git) => git.call(&["init", "-q"], Vec::new()).map(|_| ()),
        None => Err("there is no git on PATH".to_string()),
    };
    if let Err(why) = made {
        warnings.push(format!("org-{dept} is no git repository: {why}"));
    }
    Ok(())
}

/// The first commit: exactly what `init` wrote.
pub fn first_commit(
    app: &App<'_>,
    org: &Org,
    department: &Department,
    warnings: &mut Vec<String>,
) -> Result<()> {
    if org.standing(department)? != Standing::Accepted {
        return Ok(());
    }
    let committing = Committing {
        org,
        department,
        variables: app.ctx.variables(),
        redactor: &Redactor::new(&[]),
        now: app.ctx.now(),
        scope: Scope::All,
        subject: Some("made by harness init".to_string()),
    };
    if let Committed::Later(why) = committing.commit() {
        warnings.push(format!("org-{} is not committed yet: {why}", department.dept));
    }
    Ok(())
}
