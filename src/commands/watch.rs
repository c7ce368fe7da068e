//! `harness watch`: ticks in the foreground, at once where a file changes and else by time.

use super::app::{App, Result};
use crate::domain::id::Dept;
use crate::domain::text::one_line;
use crate::domain::time::render_local;
use crate::domain::wake::Receipt;
use crate::error::CommandError;
use crate::process::interrupt::Interrupt;
use crate::process::siblings::{Crowd, Sibling};
use crate::run::look::Eye;
use crate::run::stop::is_running;
use crate::run::tick::Tick;
use crate::store::org::Org;
use crate::store::watching::Watching;
use crate::ui::Answer;
use serde_json::json;
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// How often signals are asked for while nothing happens.
const BEAT: Duration = Duration::from_millis(250);
/// A run writes files too: not each of them is a reason to look again at once.
const BETWEEN: Duration = Duration::from_millis(500);
/// Ticks that wait for the ends of their runs, beside those whose runs have a place.
const SPARE: usize = 4;

/// Run what is due, here and now, until interrupted
///
/// Does in the foreground what a timer and path units do: a tick whenever mail arrives or you decide something, and
/// every 30 seconds besides. A long run of one department holds up no other. A line for each department whose receipt
/// changes. Ctrl-C ends it, with what it runs.
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
    let mut watch = Watch { args, app, org: &org, crowd: Crowd::default(), told: receipts(&org), started: 0 };
    let mut count = 0;
    loop {
        count += 1;
        watch.look()?;
        if interrupt.asked().is_some() || args.ticks == Some(count) {
            break;
        }
        if let Ok(watching) = &mut watching {
            watching.refresh(&org)?;
        }
        watch.wait(watching.as_ref().ok(), &interrupt);
        if interrupt.asked().is_some() {
            break;
        }
    }
    watch.crowd.wait(&|| interrupt.asked());
    watch.tell();
    let exit = if interrupt.is_from_keyboard() { 130 } else { 0 };
    Ok(Answer::new("harness.watch/1", json!({"ticks": count}), "").exit(exit))
}

/// A watch: it looks by itself, and starts a tick beside it for what has moved.
struct Watch<'a> {
    args: &'a WatchArgs,
    app: &'a App<'a>,
    org: &'a Org,
    crowd: Crowd,
    /// The receipts that were told of.
    told: BTreeMap<String, Receipt>,
    /// How many ticks were started.
    started: usize,
}

impl Watch<'_> {
    fn look(&mut self) -> Result<()> {
        let (app, org) = (self.app, self.org);
        let pulse = org.touch_alive()?;
        let depts = org.departments()?.departments;
        let key = || app.key().ok();
        let tick =
            Tick { eye: Eye { org, now: app.ctx.now(), pulse, key: &key, outer: OnceCell::new() }, depts };
        let seen = tick.look()?;
        // What runs changes its own files; it is looked at when it has ended.
        let runs =
            |dept: &Dept| matches!(org.department(dept), Ok(Some(department)) if is_running(&department));
        let moved: Vec<&Dept> = seen.moved().filter(|dept| !runs(dept)).collect();
        // What moved is the tick's to note, which else would neither know how long nobody had looked, nor look at files.
        let stays: Vec<Dept> = tick.depts.iter().filter(|dept| !moved.contains(dept)).cloned().collect();
        org.note_looks((!moved.is_empty()).then_some(&stays), &tick.eye.pulse)?;
        if moved.is_empty() || self.crowd.count() >= self.args.jobs as usize + SPARE {
            return Ok(());
        }
        let mut args = vec!["tick".into()];
        args.extend(moved.iter().map(|dept| dept.as_str().into()));
        args.extend(["--root".into(), app.root.clone().into()]);
        args.extend(["--jobs".into(), self.args.jobs.to_string().into()]);
        let program = app.ctx.program().map_err(CommandError::failed)?;
        let sibling = Sibling { args, env: app.ctx.sibling_variables(self.started) };
        self.started += 1;
        self.crowd
            .start(&program, &sibling)
            .map_err(|error| CommandError::failed(format!("can't start a tick: {error}")))
    }

    /// Until a file changes, a tick has ended, the time is over, or somebody asks to stop.
    fn wait(&mut self, watching: Option<&Watching>, interrupt: &Interrupt) {
        let began = Instant::now();
        let (mut changed, mut ended) = (false, false);
        while began.elapsed() < Duration::from_secs(self.args.every) && interrupt.asked().is_none() {
            if (changed || ended) && began.elapsed() >= BETWEEN {
                return;
            }
            match watching {
                Some(watching) => changed |= watching.wait(BEAT),
                None => std::thread::sleep(BEAT),
            }
            if self.crowd.reap() {
                ended = true;
                self.tell();
            }
        }
    }

    /// A line for each receipt that is new.
    fn tell(&mut self) {
        let now = receipts(self.org);
        for (dept, receipt) in &now {
            if self.told.get(dept).is_none_or(|told| !told.is_like(receipt)) && !receipt.code.is_empty() {
                let at = render_local(self.app.ctx.now());
                self.app.ui.notice(&format!(
                    "{at} {dept}: {}: {}",
                    receipt.code,
                    one_line(&receipt.why, 200)
                ));
            }
        }
        self.told = now;
    }
}

fn receipts(org: &Org) -> BTreeMap<String, Receipt> {
    org.wake().departments.into_iter().map(|(dept, entry)| (dept, entry.receipt)).collect()
}
