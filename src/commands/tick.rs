//! `harness tick`: one pulse, made for timers.

use super::app::{App, Result};
use super::running::{Order, Scheduled, run_scheduled, settle_department};
use crate::domain::event::{Event, Sink};
use crate::domain::id::Dept;
use crate::domain::service_unit::SERVICE_VARIABLE;
use crate::domain::text::one_line;
use crate::domain::wake::{BACKLOG_ITERATIONS, Wake};
use crate::domain::why::State;
use crate::error::Kind;
use crate::process::interrupt::Interrupt;
use crate::process::siblings::{Sibling, SiblingEnd, run_siblings};
use crate::run::cycle::Work;
use crate::run::look::{Eye, inspect};
use crate::run::stalled::{Movement, find_stalled};
use crate::run::stop::is_running;
use crate::run::tick::{Crew, Due, Ran, Report, Tick};
use crate::run::{Effects, Slot};
use crate::store::org::Org;
use crate::store::pulse::Pulse;
use crate::ui::sink::Progress;
use crate::ui::table::render_table;
use crate::ui::{Answer, Format};
use serde_json::{Value, json};
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::time::Duration;

/// How many runs go on side by side where nobody says otherwise.
const JOBS: u64 = 4;
/// After this time a tick starts nothing more: what finds no place by then is for the next one.
const PATIENCE: Duration = Duration::from_secs(60);

/// Look at every department once, and run what is due
///
/// Made for cron, systemd timers and launchd. A department runs when it is due and has something to do; otherwise it
/// costs ten stats, and a receipt says why. `harness why DEPT` shows it. Every ten minutes the files in its folders are
/// looked at too, so that one changed in place is noticed. It never queues and never overlaps a run, prints nothing when
/// all is well and nobody watches, and exits 0 unless harness itself failed.
///
/// Where nobody looked at a department for an hour, what came meanwhile is worked off in portions of five steps a run.
///
/// Examples:
///   harness tick
///   harness tick business rd --jobs 2
///   harness tick --dry-run
///   harness tick --json
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct TickArgs {
    /// The departments to look at; all of them where none is named
    #[arg(value_name = "DEPT")]
    depts: Vec<String>,
    /// How many runs may go on side by side
    #[arg(long, value_name = "N", default_value_t = JOBS, value_parser = clap::value_parser!(u64).range(1..=64))]
    jobs: u64,
    /// Also fail where a department did: 12 where its run failed, 1 where its config can't be read
    #[arg(long)]
    strict: bool,
    /// Show what would run and what would not, and touch nothing
    #[arg(long)]
    dry_run: bool,
}

pub fn run(args: &TickArgs, app: &App<'_>) -> Result<Answer> {
    // What says so itself is refused at once; looking for ancestors waits until there is something to do.
    if app.ctx.inside_run() {
        app.require_human("tick")?;
    }
    let org = app.org()?;
    if args.dry_run {
        return show(app, &org, &departments(args, app, &org)?);
    }
    let pulse = org.touch_alive()?;
    let depts = departments(args, app, &org)?;
    org.note_looks((!args.depts.is_empty()).then_some(&depts), &pulse)?;
    let mut warnings = keep_logs_small(app, &org, &depts);
    let reports = pulse_once(app, &org, pulse, depts, args.jobs as usize)?;
    warnings.extend(escalate_stalled(app, &org, &reports));
    let here = |report: &&Report| app.ui.format == Format::Json || !report.elsewhere;
    warnings.extend(reports.iter().filter(here).filter_map(unmade));
    Ok(answer(args, app, &org, &reports).warnings(warnings))
}

/// What a tick would run now, by the same gates that it asks.
fn show(app: &App<'_>, org: &Org, depts: &[Dept]) -> Result<Answer> {
    let key = || app.key().ok();
    let (eye, mut wake) = (Eye::resting(org, app.ctx.now(), &key), org.wake_to_act_on()?);
    let (mut rows, mut data) = (Vec::new(), Vec::new());
    for dept in depts {
        let Some(department) = org.department(dept)? else { continue };
        let entry = wake.departments.remove(dept.as_str()).unwrap_or_default();
        let gates = inspect(&eye, &department, entry).gates;
        let failed = gates.iter().find(|line| line.verdict == State::Failed);
        // What speaks for a run is the wake check, which is asked last.
        let why = failed.or(gates.last()).map(|line| one_line(&line.evidence, 300)).unwrap_or_default();
        let word = if failed.is_none() { "run" } else { "stay" };
        rows.push(vec![dept.to_string(), word.to_string(), why.clone()]);
        data.push(json!({"dept": dept, "runs": failed.is_none(), "why": why}));
    }
    let text = render_table(&["DEPARTMENT", "WOULD", "WHY"], &rows, app.ui.width());
    Ok(Answer::new("harness.tick/1", json!({"departments": data, "dry_run": true}), text))
}

/// Under a scheduler, what is said goes to logs. One that can't be kept small is no reason not to pulse.
fn keep_logs_small(app: &App<'_>, org: &Org, depts: &[Dept]) -> Vec<String> {
    if app.ctx.variable(SERVICE_VARIABLE).is_none() {
        return Vec::new();
    }
    depts.iter().filter_map(|dept| org.rotate_log(dept).err()).map(|error| error.to_string()).collect()
}

/// A run's end is when open work may be left with nothing that moves it; a quiet tick costs nothing for that.
fn escalate_stalled(app: &App<'_>, org: &Org, reports: &[Report]) -> Vec<String> {
    if !reports.iter().any(|report| matches!(report.ran, Some(Ran::Ended { .. }))) {
        return Vec::new();
    }
    match find_stalled(org, app.ctx.now()) {
        Ok(Movement::Stalled(stalled)) => super::stalled::escalate(app, org, &stalled),
        Ok(_) => Vec::new(),
        Err(error) => vec![format!("whether work is stalled can't be seen: {error}")],
    }
}

/// The warning that a run is not committed, where that is so.
fn unmade(report: &Report) -> Option<String> {
    match &report.ran {
        Some(Ran::Ended { not_committed: Some(why), .. }) => {
            Some(format!("{}: not committed yet: {why}", report.dept))
        }
        _ => None,
    }
}

impl TickArgs {
    /// The arguments in their plainest form, as timers write them; none where they need to be parsed as a whole.
    pub fn parse_plain(arguments: &[&str]) -> Option<TickArgs> {
        let depts = arguments.iter().map(|name| name.to_string()).collect();
        let plain = arguments.iter().all(|name| Dept::parse(name).is_ok());
        plain.then_some(TickArgs { depts, jobs: JOBS, strict: false, dry_run: false })
    }
}

/// One pulse over some departments. Where all is quiet and nobody asks, there is nothing to say of any.
pub fn pulse_once(
    app: &App<'_>,
    org: &Org,
    pulse: Pulse,
    depts: Vec<Dept>,
    jobs: usize,
) -> Result<Vec<Report>> {
    let key = || app.key().ok();
    let eye = Eye { org, now: app.ctx.now(), pulse, key: &key, outer: OnceCell::new() };
    let tick = Tick { eye, depts };
    let seen = tick.look()?;
    if seen.is_quiet() && app.ui.format == Format::Text && !app.ui.is_watched() {
        return Ok(Vec::new());
    }
    // Looking harms nobody; what follows is not for engines and what they start.
    app.require_human("tick")?;
    Ok(tick.act(&seen, &mut Shift { app, org, places: Places::Beside(jobs), engines: &[] })?)
}

/// One pulse over every department by these engines, each run in this very process, one after the other: for a clock
/// that is set by hand, which no other process knows.
pub fn pulse_here(app: &App<'_>, org: &Org, engines: &[String]) -> Result<Vec<Report>> {
    let pulse = org.touch_alive()?;
    let depts = org.departments()?.departments;
    org.note_looks(None, &pulse)?;
    let key = || app.key().ok();
    let tick = Tick { eye: Eye { org, now: app.ctx.now(), pulse, key: &key, outer: OnceCell::new() }, depts };
    let reports = tick.act(&tick.look()?, &mut Shift { app, org, places: Places::Here, engines })?;
    escalate_stalled(app, org, &reports);
    Ok(reports)
}

fn departments(args: &TickArgs, app: &App<'_>, org: &Org) -> Result<Vec<Dept>> {
    if args.depts.is_empty() {
        return Ok(org.departments()?.departments);
    }
    let named = args.depts.iter().map(|name| Ok(app.department(org, name)?.dept));
    let mut depts = named.collect::<Result<Vec<Dept>>>()?;
    depts.sort();
    depts.dedup();
    Ok(depts)
}

/// Whether harness itself failed. A config that can't be read is its department's failure, and holds up no other;
/// settings that can't be hold up all of them.
fn is_broken(args: &TickArgs, org: &Org, report: &Report) -> bool {
    let unreadable = || args.strict || org.settings().is_err();
    match report.receipt.code.as_str() {
        "not_settled" => true,
        "unreadable" => unreadable(),
        _ => matches!(report.ran, Some(Ran::Broke(_))),
    }
}

fn answer(args: &TickArgs, app: &App<'_>, org: &Org, reports: &[Report]) -> Answer {
    let broke = reports.iter().any(|report| is_broken(args, org, report));
    let failed = reports
        .iter()
        .any(|report| matches!(&report.ran, Some(Ran::Ended { outcome, .. }) if outcome == "failed"));
    let exit = match (broke, failed && args.strict) {
        (true, _) => 1,
        (false, true) => 12,
        (false, false) => 0,
    };
    let watched = app.ui.is_watched();
    let rows: Vec<Vec<String>> = reports
        .iter()
        .filter(|report| watched || is_bad(report))
        .map(|report| {
            let Report { dept, receipt, .. } = report;
            vec![dept.to_string(), receipt.code.clone(), one_line(&receipt.why, 300)]
        })
        .collect();
    let text = if rows.is_empty() {
        String::new()
    } else {
        render_table(&["DEPARTMENT", "RECEIPT", "WHY"], &rows, app.ui.width())
    };
    let data = json!({"departments": reports.iter().map(to_json).collect::<Vec<_>>()});
    Answer::new("harness.tick/1", data, text).exit(exit)
}

/// What cron should mail about.
fn is_bad(report: &Report) -> bool {
    match &report.ran {
        Some(Ran::Ended { outcome, .. }) => outcome == "failed",
        Some(Ran::Broke(_)) => true,
        _ => report.is_new && matches!(report.receipt.code.as_str(), "not_settled" | "unreadable"),
    }
}

fn to_json(report: &Report) -> Value {
    let Report { dept, receipt, is_new, ran, .. } = report;
    let mut row = json!({
        "dept": dept, "receipt": receipt.code, "why": receipt.why, "since": receipt.at, "new": is_new,
    });
    if let Some(Ran::Ended { run, outcome, reason, not_committed }) = ran {
        row["run"] =
            json!({"run": run, "outcome": outcome, "reason": reason, "not_committed": not_committed});
    }
    row
}

/// Where departments are run.
enum Places {
    /// One in this very process, several each in a process of its own, so many side by side.
    Beside(usize),
    /// In this very process, one after the other.
    Here,
}

/// Runs departments.
struct Shift<'a> {
    app: &'a App<'a>,
    org: &'a Org,
    places: Places,
    /// Engines by name; empty means as configured.
    engines: &'a [String],
}

impl Crew for Shift<'_> {
    fn settle(&mut self, dept: &Dept) -> std::result::Result<(), String> {
        let order = order(dept, 1, vec!["rules".to_string()]);
        match settle_department(self.app, &order, &mut Quiet) {
            Ok(_) => Ok(()),
            // Busy by now: whoever holds it does it.
            Err(error) if error.kind == Kind::Busy => Ok(()),
            Err(error) => Err(error.cause.to_string()),
        }
    }

    fn run(&mut self, due: &[Due]) -> Vec<Ran> {
        // What surely has nothing open is only looked at, and needs no place and no process.
        let (bare, work): (Vec<&Due>, Vec<&Due>) = due.iter().partition(|due| self.is_surely_bare(due));
        let mut ran: BTreeMap<&Dept, Ran> = bare.iter().map(|due| (&due.dept, self.run_one(due))).collect();
        if !work.is_empty() {
            let found = match self.places {
                Places::Here => work.iter().map(|due| self.run_one(due)).collect(),
                Places::Beside(jobs) => self.run_places(&work, jobs.saturating_sub(self.count_running())),
            };
            ran.extend(work.iter().map(|due| &due.dept).zip(found));
        }
        let none = || Ran::Broke("nobody ran it".to_string());
        due.iter().map(|due| ran.remove(&due.dept).unwrap_or_else(none)).collect()
    }
}

impl Shift<'_> {
    /// No mail, no task, and no beat that would bring one.
    fn is_surely_bare(&self, due: &Due) -> bool {
        let Ok(Some(department)) = self.org.department(&due.dept) else { return false };
        !due.cause.is_beat() && ["inbox", "tasks"].iter().all(|folder| department.is_bare(folder))
    }

    /// Runs that other ticks and people have started; they take places too.
    fn count_running(&self) -> usize {
        let depts = self.org.departments().map(|found| found.departments).unwrap_or_default();
        let running = |dept: &Dept| matches!(self.org.department(dept), Ok(Some(department)) if is_running(&department));
        depts.iter().filter(|dept| running(dept)).count()
    }

    fn run_places(&self, work: &[&Due], free: usize) -> Vec<Ran> {
        match work[..] {
            [one] if free > 0 => vec![self.run_one(one)],
            _ => self.run_beside(work, free),
        }
    }

    /// Each due department gets a tick of its own, which looks again and writes its own receipt.
    fn run_beside(&self, due: &[&Due], free: usize) -> Vec<Ran> {
        let program = match self.app.ctx.program() {
            Ok(program) => program,
            Err(error) => return due.iter().map(|_| Ran::Broke(error.to_string())).collect(),
        };
        let sibling = |(index, due): (usize, &&Due)| Sibling {
            args: vec![
                "tick".into(),
                due.dept.as_str().into(),
                "--root".into(),
                self.app.root.clone().into(),
                "--jobs".into(),
                "64".into(),
            ],
            env: self.app.ctx.sibling_variables(index),
        };
        let siblings: Vec<Sibling> = due.iter().enumerate().map(sibling).collect();
        let Ok(interrupt) = Interrupt::listen() else {
            return due.iter().map(|_| Ran::Broke("can't listen for signals".to_string())).collect();
        };
        let ends = run_siblings(&program, &siblings, free, PATIENCE, &|| interrupt.asked());
        let wake = self.org.wake();
        let not_committed = |due: &Due| {
            let unmade = self.org.department(&due.dept).ok()??.unmade_commit().ok()?;
            unmade.map(|unmade| unmade.why)
        };
        due.iter().zip(ends).map(|(due, end)| told(&wake, due, end, not_committed(due))).collect()
    }

    fn run_one(&self, due: &Due) -> Ran {
        let most = match self.max_iterations(&due.dept) {
            Ok(most) if due.fenced => most.min(BACKLOG_ITERATIONS),
            Ok(most) => most,
            Err(why) => return Ran::Broke(why),
        };
        let order = order(&due.dept, most, self.engines.to_vec());
        let slot = Slot { cause: due.cause.clone(), last_run: due.last_run.clone() };
        let mut sink: Box<dyn Sink> = match self.app.ui.is_watched() {
            true => Box::new(Progress::new(self.app.ui)),
            false => Box::new(Quiet),
        };
        match run_scheduled(self.app, &order, slot, sink.as_mut()) {
            Ok(Scheduled::Ended(end)) => {
                let (run, not_committed) = (end.run, end.not_committed);
                Ran::Ended { run, outcome: end.outcome.word().to_string(), reason: end.reason, not_committed }
            }
            Ok(Scheduled::Nothing(why)) => Ran::Not { code: "nothing_open".to_string(), why },
            Err(error) if error.kind == Kind::Busy => {
                Ran::Not { code: "busy".to_string(), why: error.cause.to_string() }
            }
            Err(error) if error.kind == Kind::Refused => {
                Ran::Not { code: error.code.unwrap_or("refused").to_string(), why: error.cause.to_string() }
            }
            Err(error) => Ran::Broke(error.cause.to_string()),
        }
    }

    fn max_iterations(&self, dept: &Dept) -> std::result::Result<u64, String> {
        let department = self.org.department(dept).map_err(|error| error.to_string())?;
        let config = department.map(|department| department.config()).transpose();
        let named = config.map_err(|error| error.to_string())?.and_then(|config| config.max_iterations);
        match named {
            Some(most) => Ok(most),
            None => self
                .org
                .settings()
                .map(|settings| settings.defaults.max_iterations)
                .map_err(|e| e.to_string()),
        }
    }
}

/// What became of a department that had a tick of its own.
fn told(wake: &Wake, due: &Due, end: SiblingEnd, not_committed: Option<String>) -> Ran {
    match end {
        SiblingEnd::NotStarted => Ran::Not {
            code: "no_slot".to_string(),
            why: "no place was free; the next tick looks again".to_string(),
        },
        SiblingEnd::Failed(why) => Ran::Broke(why),
        SiblingEnd::Exited(Some(0)) => {
            let entry = wake.departments.get(due.dept.as_str()).cloned().unwrap_or_default();
            let (receipt, settled) = (entry.receipt, entry.settled.unwrap_or_default());
            let ran = match receipt.code.as_str() {
                "ran" => {
                    let (run, outcome, reason) = (settled.run, settled.outcome, receipt.why.clone());
                    Ran::Ended { run, outcome, reason, not_committed }
                }
                _ => Ran::Not { code: receipt.code.clone(), why: receipt.why.clone() },
            };
            Ran::Elsewhere(Box::new(ran), receipt)
        }
        SiblingEnd::Exited(code) => {
            let code = code.map_or_else(|| "a signal".to_string(), |code| code.to_string());
            Ran::Broke(format!("its tick ended with {code}"))
        }
    }
}

fn order(dept: &Dept, max_iterations: u64, engines: Vec<String>) -> Order<'_> {
    Order {
        dept: dept.as_str(),
        kind: "scheduler",
        work: Work::Loop { max_iterations },
        engines,
        effects: Effects::CarriedOut,
    }
}

/// Nobody watches.
struct Quiet;

impl Sink for Quiet {
    fn hear(&mut self, _event: &Event<'_>) {}
}
