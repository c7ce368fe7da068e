//! `harness top`: the organisation as it works, in the terminal.
//!
//! It keeps no state of its own and writes none: it shows the same survey as `status`, and a key does what the command of
//! that name does.

use super::app::{App, Result};
use crate::error::{CommandError, Kind};
use crate::ui::Answer;

/// Watch the organisation as it works
///
/// Departments with their state, the output of the selected one's run as it comes, and what needs you. Keys do what the
/// commands of that name do: s stops a run, p pauses or resumes, a approves, r rejects, enter shows an approval or answers
/// a question. It needs a terminal; q gives it back.
///
/// Examples:
///   harness top
///   harness top --every 5s
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct TopArgs {
    /// How often to look
    #[arg(long, value_name = "SPAN", default_value = "1s")]
    every: String,
}

pub fn run(args: &TopArgs, app: &App<'_>) -> Result<Answer> {
    let seconds =
        crate::domain::time::parse_span(&args.every).filter(|seconds| *seconds > 0).ok_or_else(|| {
            CommandError::new(Kind::Usage, format!("`{}` is no span", args.every))
                .hint("such as `1s` or `10s`")
        })?;
    app.org()?;
    if !app.ui.can_ask() || !app.ui.shows() {
        return Err(CommandError::failed("`harness top` needs a terminal")
            .code("no_terminal")
            .hint("`harness status` shows the same once; `harness status --json` is for scripts"));
    }
    watch(app, std::time::Duration::from_secs(seconds.unsigned_abs()))
}

#[cfg(not(feature = "top"))]
fn watch(_app: &App<'_>, _every: std::time::Duration) -> Result<Answer> {
    let error = CommandError::failed("this harness was built without `top`").code("not_built");
    Err(error.hint("build it with `cargo install --path . --features top`"))
}

#[cfg(feature = "top")]
fn watch(app: &App<'_>, every: std::time::Duration) -> Result<Answer> {
    super::top_view::watch(app, every)
}
