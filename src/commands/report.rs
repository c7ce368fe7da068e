//! `harness report`: a page with pictures, in one file.

use super::app::{App, Result};
use super::stats::since;
use crate::domain::report::lay_out_page;
use crate::error::{CommandError, Kind};
use crate::run::gather::{About, gather};
use crate::run::survey::Surveyor;
use crate::store::pages::PagePlace;
use crate::ui::Answer;
use crate::ui::page::render_report;
use serde_json::json;
use std::path::{Path, PathBuf};

/// Write a page with pictures, to open in a browser
///
/// One file that fetches nothing: spend and runs over time, outcomes by department, who wrote to whom, what waits for
/// you, the latest decisions and refusals. Every chart has its numbers as a table beneath it. Without options it covers
/// 14 days and is written to report.html; a page that is there is replaced, any other file is left alone.
///
/// Examples:
///   harness report
///   harness report --since 30d -o november.html
///   harness report -o - > page.html
///   harness report --dry-run
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct ReportArgs {
    /// Where to write it; `-` is stdout
    #[arg(long, short, value_name = "FILE", default_value = "report.html")]
    output: PathBuf,
    /// From then on: a span such as 30d, a date, or a time
    #[arg(long, value_name = "TIME", default_value = "14d")]
    since: String,
    /// Say where the page would be written, and write nothing
    #[arg(long)]
    dry_run: bool,
}

pub fn run(args: &ReportArgs, app: &App<'_>) -> Result<Answer> {
    let page = make(app, &Told::of(app, &args.since))?;
    if args.output == Path::new("-") {
        return Ok(Answer::new("harness.report/1", json!({"html": page}), page));
    }
    app.require_human("report")?;
    let place = PagePlace::find(&args.output, &app.ctx.disk())?;
    let replaces = place.is_taken();
    let path = if args.dry_run { place.path() } else { place.write(&page)? };
    let url = format!("file://{}", url_path(&path));
    let text = match (args.dry_run, replaces) {
        (true, true) => format!("Would write over the page in {}\n", path.display()),
        (true, false) => format!("Would write {}\n", path.display()),
        (false, true) => format!("Wrote {} over the page that was there\nOpen it: {url}\n", path.display()),
        (false, false) => format!("Wrote {}\nOpen it: {url}\n", path.display()),
    };
    let data = json!({
        "path": path, "url": url, "bytes": page.len(), "replaced": replaces, "dry_run": args.dry_run,
    });
    Ok(Answer::new("harness.report/1", data, text).account())
}

/// What a page covers, and what it says of itself.
pub struct Told {
    pub since: String,
    pub command: String,
    pub root: String,
}

impl Told {
    fn of(app: &App<'_>, since: &str) -> Told {
        Told {
            since: since.to_string(),
            command: format!("harness report --since {since}"),
            root: app.root.display().to_string(),
        }
    }
}

/// Writes the page of an organisation into a file, and says where it is.
pub fn write(app: &App<'_>, path: &Path, since: &str) -> Result<PathBuf> {
    write_as(app, &PagePlace::find(path, &app.ctx.disk())?, &Told::of(app, since))
}

/// The same at a place that was found before, with what it says of itself.
pub fn write_as(app: &App<'_>, place: &PagePlace, told: &Told) -> Result<PathBuf> {
    Ok(place.write(&make(app, told)?)?)
}

fn make(app: &App<'_>, told: &Told) -> Result<String> {
    let from = since(app, Some(&told.since))?;
    let org = app.org()?;
    let surveyor = Surveyor {
        org: &org,
        key: app.key().ok(),
        now: app.ctx.now(),
        path: app.ctx.variable("PATH").unwrap_or_default(),
    };
    let about = About {
        since: from,
        command: told.command.clone(),
        root: told.root.clone(),
        version: env!("CARGO_PKG_VERSION").to_string(),
    };
    let facts = gather(&surveyor, about)?;
    render_report(&lay_out_page(&facts))
        .map_err(|what| CommandError::new(Kind::Bug, format!("the report page: {what}")))
}

/// A path as a browser takes it.
pub fn url_path(path: &Path) -> String {
    let text = path.display().to_string();
    let mut url = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"/._-~".contains(&byte) {
            url.push(char::from(byte));
        } else {
            url.push_str(&format!("%{byte:02X}"));
        }
    }
    url
}
