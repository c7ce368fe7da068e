//! `harness logs`: the running step's output as it comes.

use super::app::{App, Result};
use crate::domain::text::visible;
use crate::run::stop::is_running;
use crate::ui::Answer;
use serde_json::json;
use std::time::Duration;

/// How often a followed log is looked at.
const LOOK: Duration = Duration::from_millis(200);
const LOG_MAX: u64 = 64 * 1024 * 1024;

/// Show the running step's output
///
/// Without a run, the output of the last step. -f goes on until the run ends.
///
/// Examples:
///   harness logs business
///   harness logs business -f
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct LogsArgs {
    /// The department
    dept: String,
    /// Go on until the run ends
    #[arg(long, short)]
    follow: bool,
}

pub fn run(args: &LogsArgs, app: &App<'_>) -> Result<Answer> {
    let org = app.org()?;
    let department = app.department(&org, &args.dept)?;
    let read = || -> Result<String> {
        Ok(department.dir.read(".harness/live.log", LOG_MAX)?.map(|text| text.text).unwrap_or_default())
    };
    let mut text = read()?;
    if args.follow {
        let mut shown = 0;
        loop {
            let running = is_running(&department);
            text = read()?;
            // A new step begins a new log.
            shown = if text.len() < shown { 0 } else { shown };
            if text.is_char_boundary(shown) && text.len() > shown {
                app.ui.line(visible(text[shown..].trim_end_matches('\n')).as_ref());
                shown = text.len();
            }
            if !running {
                return Ok(Answer::new("harness.logs/1", json!({"dept": args.dept}), ""));
            }
            std::thread::sleep(LOOK);
        }
    }
    let shown = visible(&text).into_owned();
    Ok(Answer::new("harness.logs/1", json!({"dept": args.dept, "text": text}), shown))
}
