//! `harness simulate`: the whole organisation on a clock that is set by hand, in a scratch copy.
//!
//! Time jumps from one moment at which something can happen to the next: a letter comes, a moment that the wake check
//! named has come, an approval is answered. In between a pulse every 30 seconds would find nothing, so none is made.

use super::app::{App, Result};
use super::report::Told;
use super::requests::{all, resolve};
use super::send::{Letter, check_letter, send};
use super::stats::summary;
use super::tick::pulse_here;
use super::trial::Trial;
use crate::domain::request::{RequestKind, RequestStatus};
use crate::domain::simulation::{Figures, Post, Sender, parse_mail};
use crate::domain::time::{Time, parse_since, parse_span, render_rfc3339};
use crate::error::{CommandError, Kind};
use crate::process::interrupt::Interrupt;
use crate::run::tick::Ran;
use crate::store::copy::{play_by_rules, starts_nothing};
use crate::store::org::Org;
use crate::store::pages::{PagePlace, read_given};
use crate::ui::table::{Align, Cell, render_columns};
use crate::ui::{Answer, bold};
use chrono::TimeDelta;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// How far apart pulses are, as services make them.
const PULSE_S: i64 = 30;

/// Rehearse days of the whole organisation
///
/// Copies the organisation to a scratch folder and lets it live there on a clock that is set by hand: schedules, budgets,
/// limits, active hours and retries count as they would. Every autoLoop is taken as on. It begins with what is open now,
/// and with the letters of --mail. Without options it is one week by the rules of the playbooks. Nothing real is touched,
/// no program is started but `true` for a pipeline, no model is asked, and it costs nothing.
///
/// It ends with the numbers of `harness stats`, what the wake check saved, and a report page. The same seed, beginning
/// and files give the same figures.
///
/// The file of --mail is TOML: `schema = 1`, then a `[[mail]]` for each letter with at, every, from, to, kind, subject
/// and body; harness-org(5) explains it.
///
/// Examples:
///   harness simulate
///   harness simulate --days 30 --mail ./month.toml --approvals approve --after 4h
///   harness simulate --days 7 --engine rules --seed 7 -o week.html
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct SimulateArgs {
    /// How many days
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(i64).range(1..=366))]
    days: i64,
    /// Who answers: `rules`, or an engine of org.toml with the preset `script`
    #[arg(long, value_name = "ENGINE", default_value = "rules")]
    engine: String,
    /// The letters that come in
    #[arg(long, value_name = "FILE")]
    mail: Option<PathBuf>,
    /// What becomes of approvals
    #[arg(long, value_name = "POLICY", default_value = "leave")]
    approvals: Policy,
    /// How long you take to answer one: a span such as 4h
    #[arg(long, value_name = "SPAN", default_value = "1h")]
    after: String,
    /// When it begins: a date or a time [default: now]
    #[arg(long, value_name = "TIME")]
    from: Option<String>,
    /// Where chance begins
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Where to write the report page
    #[arg(long, short, value_name = "FILE", default_value = "simulation.html")]
    output: PathBuf,
}

/// What becomes of approvals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Policy {
    /// All are approved
    Approve,
    /// All are rejected
    Reject,
    /// Nobody looks at them, and they expire
    Leave,
}

pub fn run(args: &SimulateArgs, app: &App<'_>) -> Result<Answer> {
    app.require_human("simulate")?;
    check_engine(args, app)?;
    let start = match args.from.as_deref() {
        None => app.ctx.now(),
        Some(text) => parse_since(text, app.ctx.now()).ok_or_else(|| {
            usage(format!("`{text}` is no time")).hint("a date such as `2026-11-01`, or a time in RFC 3339")
        })?,
    };
    let end = start + TimeDelta::days(args.days);
    let posts = load_mail(args, start, end)?;
    // A page that can't be written is told before the days are lived, not after.
    let place = PagePlace::find(&args.output, &app.ctx.disk())?;
    let trial = Trial::of(app, start, args.seed)?;
    play_by_rules(trial.scratch.path())?;
    let trial = trial.remembering(app, start, args.seed);
    let surroundings = trial.app();
    let mut life = Life::begin(args, &surroundings, posts, end)?;
    let stopped = life.live()?;
    let told = Told {
        since: format!("{}d", args.days),
        command: format!(
            "harness simulate --days {} --engine {} --seed {}",
            args.days, args.engine, args.seed
        ),
        root: format!("a simulation of {}", app.root.display()),
    };
    let page = super::report::write_as(&surroundings, &place, &told)?;
    life.answer(args, start, &page, stopped)
}

fn usage(message: String) -> CommandError {
    CommandError::new(Kind::Usage, message)
}

/// Only engines that start nothing: what is rehearsed must cost nothing.
fn check_engine(args: &SimulateArgs, app: &App<'_>) -> Result<()> {
    let settings = app.org()?.settings()?;
    let name = &args.engine;
    super::running::check_engines(std::slice::from_ref(name), &settings)?;
    let free =
        name == "rules" || settings.engines.get(name).is_some_and(|engine| starts_nothing(&engine.preset));
    if free {
        return Ok(());
    }
    Err(CommandError::refused(format!("`{name}` would start a program, and a simulation costs nothing"))
        .code("engine_costs")
        .hint("use `--engine rules`, or an engine with the preset `script`"))
}

fn load_mail(args: &SimulateArgs, start: Time, end: Time) -> Result<Vec<Post>> {
    let Some(path) = &args.mail else { return Ok(Vec::new()) };
    let text = read_given(path)?;
    parse_mail(&text, start, end)
        .map_err(|why| usage(format!("{}: {why}", path.display())).hint("harness-org(5) shows the format"))
}

/// An organisation that lives on a clock set by hand.
struct Life<'a> {
    app: &'a App<'a>,
    org: Org,
    engines: Vec<String>,
    policy: Policy,
    after: TimeDelta,
    posts: std::iter::Peekable<std::vec::IntoIter<Post>>,
    end: Time,
    interrupt: Interrupt,
    figures: Figures,
    pulses: u64,
    runs: u64,
    came: u64,
    resolved: u64,
    broke: Vec<String>,
}

impl<'a> Life<'a> {
    fn begin(args: &SimulateArgs, app: &'a App<'a>, posts: Vec<Post>, end: Time) -> Result<Life<'a>> {
        let after = parse_span(&args.after).filter(|seconds| *seconds <= 366 * 86_400);
        let after = after.ok_or_else(|| usage(format!("`{}` is no span such as 4h", args.after)))?;
        let org = app.org()?;
        for dept in org.departments()?.departments {
            let department = app.department(&org, dept.as_str())?;
            let mut config = department.config()?;
            config.auto_loop = true;
            department.write_config(&config)?;
        }
        let mut seen = std::collections::BTreeSet::new();
        for post in posts.iter().filter(|post| seen.insert(post.entry)) {
            let checked = match post.from {
                Sender::User => check_letter(app, &letter(post)),
                Sender::File => app.department(&org, &post.to).map(|_| ()),
            };
            checked.map_err(|mut error| {
                let file = args.mail.as_deref().unwrap_or(Path::new("")).display();
                error.cause = anyhow::anyhow!("{file}: mail {}: {:#}", post.entry, error.cause);
                error
            })?;
        }
        let interrupt = Interrupt::listen()
            .map_err(|error| CommandError::failed(format!("can't listen for signals: {error}")))?;
        Ok(Life {
            app,
            org,
            engines: vec![args.engine.clone()],
            policy: args.approvals,
            after: TimeDelta::seconds(after),
            posts: posts.into_iter().peekable(),
            end,
            interrupt,
            figures: Figures::default(),
            pulses: 0,
            runs: 0,
            came: 0,
            resolved: 0,
            broke: Vec::new(),
        })
    }

    /// Until the end, or until somebody interrupts it.
    fn live(&mut self) -> Result<bool> {
        loop {
            let now = self.app.ctx.now();
            if now >= self.end || self.interrupt.asked().is_some() {
                return Ok(now < self.end);
            }
            self.bring_mail(now)?;
            let next_answer = self.answer_approvals(now)?;
            let ran = self.pulse()?;
            let soon = now + TimeDelta::seconds(PULSE_S);
            let next = if ran { Some(soon) } else { self.next_moment(next_answer) };
            // What comes after the end is no part of it: the numbers and the page count up to the clock.
            self.app.ctx.set_now(next.map_or(self.end, |next| next.max(soon)).min(self.end));
        }
    }

    fn bring_mail(&mut self, now: Time) -> Result<()> {
        while let Some(post) = self.posts.next_if(|post| post.at <= now) {
            self.figures.take_post(now);
            self.came += 1;
            match post.from {
                Sender::User => {
                    send(self.app, &letter(&post))?;
                }
                Sender::File => {
                    let inbox = self.app.department(&self.org, &post.to)?.dir.make("inbox")?;
                    let text = format!("# {}\n\n{}\n", post.subject, post.body);
                    inbox.create(&format!("letter-{}.md", self.came), text.as_bytes())?;
                }
            }
        }
        Ok(())
    }

    /// Answers what has waited long enough; when the next one has.
    fn answer_approvals(&mut self, now: Time) -> Result<Option<Time>> {
        let status = match self.policy {
            Policy::Approve => RequestStatus::Approved,
            Policy::Reject => RequestStatus::Rejected,
            Policy::Leave => return Ok(None),
        };
        let kind = RequestKind::Approval;
        let (found, _) = all(self.app, &self.org, kind)?;
        let mut next = None;
        for one in found.iter().filter(|one| one.request.status == RequestStatus::Pending) {
            let at = one.request.created + self.after;
            if one.request.is_expired(now) {
                continue;
            }
            if at > now {
                next = next.into_iter().chain([at]).min();
                continue;
            }
            resolve(self.app, &self.org, kind, one, status, "by the policy of a simulation")?;
            self.resolved += 1;
        }
        Ok(next)
    }

    /// One pulse; whether a department ran.
    fn pulse(&mut self) -> Result<bool> {
        self.pulses += 1;
        let mut ran = false;
        for report in pulse_here(self.app, &self.org, &self.engines)? {
            match &report.ran {
                Some(Ran::Ended { .. }) => {
                    self.runs += 1;
                    ran = true;
                }
                Some(Ran::Broke(why)) if self.broke.len() < 10 => {
                    self.broke.push(format!("{}: {why}", report.dept));
                }
                // What was looked at for the first time, and found bare, is quiet from now on.
                _ => {}
            }
        }
        Ok(ran)
    }

    fn next_moment(&mut self, next_answer: Option<Time>) -> Option<Time> {
        let moments = self.org.wake().idle.into_values().filter_map(|idle| idle.1);
        let moments = moments.filter_map(|second| chrono::DateTime::from_timestamp(second, 0));
        moments.chain(self.posts.peek().map(|post| post.at)).chain(next_answer).min()
    }

    fn answer(mut self, args: &SimulateArgs, start: Time, page: &Path, stopped: bool) -> Result<Answer> {
        let until = self.app.ctx.now().min(self.end);
        let mut beats = 0;
        for dept in self.org.departments()?.departments {
            let Some(department) = self.org.department(&dept)? else { continue };
            let figures = &mut self.figures;
            department.count_ledger(start, &mut |line| figures.take(line, start))?;
            let interval = department.config()?.auto_interval_seconds.max(1);
            beats += (until - start).num_seconds() as u64 / interval;
        }
        let heading = format!(
            "{} days from {}, engine {}, seed {}",
            args.days,
            render_rfc3339(start),
            args.engine,
            args.seed
        );
        let (stats, numbers, mut warnings) = summary(self.app, &heading, start)?;
        warnings.extend(self.broke.iter().cloned());
        if stopped {
            warnings.push(format!("it was interrupted at {}", render_rfc3339(until)));
        }
        let text = format!("{stats}\n{}\n{}", self.costs(start, until, beats), self.ending(page));
        let data = json!({
            "days": args.days, "from": render_rfc3339(start), "until": render_rfc3339(until),
            "engine": args.engine, "seed": args.seed, "pulses": self.pulses, "runs": self.runs,
            "mail": self.came, "approvals_answered": self.resolved,
            "cost": self.cost_json(start, until, beats), "stats": numbers, "report": page,
        });
        let exit = match (stopped, self.interrupt.is_from_keyboard()) {
            (true, true) => 130,
            (true, false) => 13,
            (false, _) => u8::from(!self.broke.is_empty()),
        };
        Ok(Answer::new("harness.simulate/1", data, text).warnings(warnings).exit(exit))
    }

    fn costs(&self, start: Time, until: Time, beats: u64) -> String {
        let figures = &self.figures;
        let (idle_hours, idle_calls) = figures.idle_hours(start, until);
        let each = |count: Option<f64>| count.map_or("-".to_string(), |count| format!("{count:.1}"));
        let hourly = |calls: u64, hours: u64| {
            if hours == 0 { "-".to_string() } else { format!("{:.2}", calls as f64 / hours as f64) }
        };
        let hours = ((until - start).num_seconds() as u64 / 3_600).max(1);
        let heartbeat = figures.heartbeat_bytes(beats);
        let row =
            |name: &str, with: String, without: String| vec![Cell::from(name), with.into(), without.into()];
        let rows = [
            row("engine calls", figures.calls.to_string(), beats.to_string()),
            row("prompt bytes", figures.prompt_bytes.to_string(), heartbeat.to_string()),
            row(
                "calls a handled message",
                each(figures.per_message(figures.calls)),
                each(figures.per_message(beats)),
            ),
            row(
                "bytes a handled message",
                each(figures.per_message(figures.prompt_bytes)),
                each(figures.per_message(heartbeat)),
            ),
            row(
                &format!("calls in each of {idle_hours} idle hours"),
                hourly(idle_calls, idle_hours),
                hourly(beats, hours),
            ),
        ];
        let headings = [("COST", Align::Left), ("WAKE CHECK", Align::Right), ("HEARTBEAT", Align::Right)];
        let share = figures.prefix_share().map_or(String::new(), |share| {
            format!("{:.0}% of the prompts' bytes are their stable part.\n", share * 100.0)
        });
        format!("{}{share}", render_columns(&headings, &rows, self.app.ui.width()))
    }

    fn cost_json(&self, start: Time, until: Time, beats: u64) -> Value {
        let figures = &self.figures;
        let (idle_hours, idle_calls) = figures.idle_hours(start, until);
        json!({
            "calls": figures.calls, "by_engine": figures.by_engine, "prompt_bytes": figures.prompt_bytes,
            "prefix_bytes": figures.prefix_bytes, "handled": figures.handled,
            "idle_hours": idle_hours, "idle_calls": idle_calls,
            "heartbeat_calls": beats, "heartbeat_bytes": figures.heartbeat_bytes(beats),
        })
    }

    fn ending(&self, page: &Path) -> String {
        let answered = match self.policy {
            Policy::Leave => "approvals were left alone".to_string(),
            Policy::Approve => format!("{} approvals were approved", self.resolved),
            Policy::Reject => format!("{} approvals were rejected", self.resolved),
        };
        format!(
            "{} letters came in, {answered}. {} pulses were needed; nothing real was touched.\n{} file://{}\n",
            self.came,
            self.pulses,
            bold("Open the report:"),
            super::report::url_path(page)
        )
    }
}

fn letter(post: &Post) -> Letter<'_> {
    Letter { to: &post.to, kind: &post.kind, subject: &post.subject, body: &post.body }
}
