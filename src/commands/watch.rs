//! `harness watch`: ticks in the foreground, at once where a file changes and else by time.

use super::app::{App, Result};
use super::tick::pulse_once;
use crate::domain::text::one_line;
use crate::domain::time::render_local;
use crate::error::CommandError;
use crate::process::interrupt::Interrupt;
use crate::run::tick::Report;
use crate::store::org::Org;
use crate::store::watching::Watching;
use crate::ui::Answer;
use serde_json::json;
use std::time::Duration;

/// How often signals are asked for while nothing happens.
const BEAT: Duration = Duration::from_millis(250);

/// Run what is due, here and now, until interrupted
///
/// Does in the foreground what a timer and path units do: a tick whenever mail arrives or you decide something, and
/// every 30 seconds besides. A line for each department whose receipt changes. Ctrl-C ends it, with what it runs.
///
/// Examples:
///   harness watch
///   harness watch --every 60 --jobs 2
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct WatchArgs {
    /// Seconds between two ticks where nothing happens
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=3600))]
    every: u64,
    /// How many runs may go on side by side
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..=64))]
    jobs: u64,
    /// End after so many ticks
    #[arg(long, value_name = "N")]
    ticks: Option<u64>,
}

pub fn run(args: &WatchArgs, app: &App<'_>) -> Result<Answer> {
    app.require_human("watch")?;
    let org = app.org()?;
    let interrupt = Interrupt::listen()
        .map_err(|error| CommandError::failed(format!("can't listen for signals: {error}")))?;
    let mut watching = Watching::start(&org);
    if let Err(error) = &watching {
        app.ui.warn(&format!("no file notifications, so only every {} s: {error}", args.every));
    }
    let mut count = 0;
    loop {
        count += 1;
        tick(args, app, &org)?;
        if interrupt.asked().is_some() || args.ticks == Some(count) {
            break;
        }
        if let Ok(watching) = &mut watching {
            watching.refresh(&org)?;
        }
        wait(args, &watching.as_ref().ok(), &interrupt);
        if interrupt.asked().is_some() {
            break;
        }
    }
    let exit = if interrupt.is_from_keyboard() { 130 } else { 0 };
    Ok(Answer::new("harness.watch/1", json!({"ticks": count}), "").exit(exit))
}

fn tick(args: &WatchArgs, app: &App<'_>, org: &Org) -> Result<()> {
    let pulse = org.touch_alive()?;
    let depts = org.departments()?.departments;
    let reports = pulse_once(app, org, pulse, depts, args.jobs as usize)?;
    for Report { dept, receipt, .. } in reports.iter().filter(|report| report.is_new) {
        let at = render_local(app.ctx.now());
        app.ui.notice(&format!("{at} {dept}: {}: {}", receipt.code, one_line(&receipt.why, 200)));
    }
    Ok(())
}

fn wait(args: &WatchArgs, watching: &Option<&Watching>, interrupt: &Interrupt) {
    let beats = Duration::from_secs(args.every).as_millis() / BEAT.as_millis();
    for _ in 0..beats {
        let changed = match watching {
            Some(watching) => watching.wait(BEAT),
            None => {
                std::thread::sleep(BEAT);
                false
            }
        };
        if changed || interrupt.asked().is_some() {
            return;
        }
    }
}
