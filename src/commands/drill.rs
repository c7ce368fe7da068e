//! `harness drill`: in a scratch organisation, runs are killed on purpose and recovery is proved; then everything is
//! stopped, and that is proved.

use super::app::{App, Result};
use super::doctor::answers;
use super::init;
use super::send::{Letter, send};
use crate::domain::ledger::Line;
use crate::error::CommandError;
use crate::process::find::find_program;
use crate::process::plain::{Plain, wait_until};
use crate::process::stop::{ProcessId, marked};
use crate::run::verify::{Check, Verdict, verify};
use crate::store::org::{Department, Org};
use crate::store::scratch::Scratch;
use crate::ui::{Answer, Format};
use serde_json::json;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How long anything may take before it counts as not happening.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long an engine must have been seen at work.
const SETTLED: Duration = Duration::from_millis(200);
/// How often a run is killed at another moment of its life.
const KILLS: u32 = 8;
/// What a child is not given: it makes ids of its own, and its disk works.
const KEPT_BACK: [&str; 4] =
    ["HARNESS_ROOT", "HARNESS_TEST_SEED", "HARNESS_TEST_FAULT", "HARNESS_TEST_TRACE"];

/// Kill runs on purpose, and prove recovery
///
/// Makes a scratch organisation, kills a run while its engine works and others at eight moments of their lives, and
/// proves each time that the next run finishes what was begun, once. Then it stops everything and proves that nothing is
/// left and nothing starts. It uses the embedded engine, costs nothing, and touches no organisation of yours. A line a
/// step; exit 1 where one failed.
///
/// Examples:
///   harness drill
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct DrillArgs {}

type Step = std::result::Result<String, String>;
type Act<'a> = fn(&mut Drill<'a>) -> Step;

struct Drill<'a> {
    app: App<'a>,
    program: PathBuf,
    env: Vec<(OsString, OsString)>,
    /// A program that takes long enough to be killed in.
    sleep: String,
    scratch: Scratch,
    /// How many messages an undisturbed run makes of a directive, and how long it takes.
    usual: (usize, Duration),
    steps: Vec<Check>,
}

pub fn run(_args: &DrillArgs, app: &App<'_>) -> Result<Answer> {
    app.require_human("drill")?;
    let mut drill = Drill::prepare(app)?;
    drill.go();
    let failed = drill.steps.iter().filter(|step| step.verdict != Verdict::Passed).count();
    let data = json!({
        "steps": drill.steps.iter().map(|step| json!({"step": step.name, "result": step.verdict.word(), "what": step.what})).collect::<Vec<_>>(),
        "failed": failed,
    });
    Ok(Answer::new("harness.drill/1", data, "").exit(u8::from(failed > 0)))
}

impl<'a> Drill<'a> {
    fn prepare(app: &App<'a>) -> Result<Drill<'a>> {
        let path = app.ctx.variable("PATH").unwrap_or("/usr/bin:/bin");
        let sleep = find_program(OsStr::new("sleep"), OsStr::new(path)).ok_or_else(|| {
            CommandError::failed("there is no `sleep` on PATH, and an engine that hangs is needed")
        })?;
        let program = app
            .ctx
            .program()
            .map_err(|error| CommandError::failed(format!("can't find this program: {error}")))?;
        let scratch = Scratch::make(&app.ctx.temporary(), "drill", &app.ctx.random::<8>())?
            .known_in(app.ctx.config_folder());
        let kept = app.ctx.variables().iter().filter(|(name, _)| !KEPT_BACK.contains(&name.as_str()));
        Ok(Drill {
            app: App { ctx: app.ctx, ui: app.ui, root: scratch.path().to_path_buf() },
            program,
            env: kept.map(|(name, value)| (name.into(), value.into())).collect(),
            sleep: sleep.display().to_string(),
            scratch,
            usual: (0, Duration::ZERO),
            steps: Vec::new(),
        })
    }

    /// Every step; one that fails ends it, for what follows would prove nothing.
    fn go(&mut self) {
        let steps: [(&str, Act<'a>); 7] = [
            ("an organisation", Drill::make),
            ("an undisturbed run", Drill::run_undisturbed),
            ("a run killed while its engine works", Drill::kill_at_work),
            ("runs killed at other moments", Drill::kill_often),
            ("everything on disk", Drill::verify),
            ("stop-all", Drill::stop_all),
            ("nothing is left", Drill::clean_up),
        ];
        let mut broken = false;
        for (name, step) in steps {
            let (verdict, what) = match broken {
                true => (Verdict::NotRun, "a step before it failed".to_string()),
                false => match step(self) {
                    Ok(what) => (Verdict::Passed, what),
                    Err(why) => (Verdict::Failed, why),
                },
            };
            broken |= verdict == Verdict::Failed;
            if self.app.ui.format == Format::Text {
                let what = crate::domain::text::one_line(&what, 300);
                self.app.ui.line(&format!("{:<8} {name}: {what}", verdict.word()));
            }
            self.steps.push(Check { name: name.to_string(), verdict, what });
        }
    }

    fn org(&self) -> std::result::Result<Org, String> {
        self.app.org().map_err(say)
    }

    fn department(&self, name: &str) -> std::result::Result<Department, String> {
        self.app.department(&self.org()?, name).map_err(say)
    }

    fn make(&mut self) -> Step {
        init::make_five(&self.app).map_err(say)?;
        let sleep = serde_json::to_string(&self.sleep).map_err(|error| error.to_string())?;
        let text = format!(
            "schema = 1\n[defaults]\nengine = [\"rules\"]\n[engines.slow]\npreset = \"command\"\n\
             command = [{sleep}, \"600\"]\nworst_case_usd = 0.0\n[git]\ncommit = false\n"
        );
        self.org()?.own.replace("org.toml", text.as_bytes()).map_err(|error| error.to_string())?;
        Ok(format!("five departments in {}", self.scratch.path().display()))
    }

    fn start(&self, words: &[&str]) -> std::result::Result<Plain, String> {
        let mut args: Vec<OsString> = vec!["--root".into(), self.scratch.path().into()];
        args.extend(words.iter().map(OsString::from));
        Plain::start(&self.program, &args, &self.env, self.scratch.path())
            .map_err(|error| format!("can't start {}: {error}", self.program.display()))
    }

    /// Runs the program to its end and wants this exit code.
    fn expect(&self, words: &[&str], code: i32) -> std::result::Result<(), String> {
        match self.start(words)?.wait(PATIENCE) {
            Some(found) if found == code => Ok(()),
            Some(found) => Err(format!("`harness {}` exited with {found}, not {code}", words.join(" "))),
            None => Err(format!("`harness {}` did not end by itself", words.join(" "))),
        }
    }

    fn directive(&self) -> std::result::Result<String, String> {
        let letter = Letter {
            to: "business",
            kind: "Directive",
            subject: "A drill",
            body: "Runs that work on this are killed on purpose.",
        };
        send(&self.app, &letter).map_err(say)
    }

    fn run_undisturbed(&mut self) -> Step {
        let id = self.directive()?;
        let begun = Instant::now();
        self.expect(&["run-loop", "business"], 0)?;
        self.usual = (answers(&self.org()?, &id).map_err(say)?, begun.elapsed());
        match self.usual.0 {
            0 => Err("it sent nothing on, so nothing can be counted".to_string()),
            count => Ok(format!("a directive becomes {count} messages in {} ms", self.usual.1.as_millis())),
        }
    }

    /// A run whose engine hangs, with its id.
    fn hang(&self, dept: &str) -> std::result::Result<(Plain, String), String> {
        let mut run = self.start(&["run-loop", dept, "--engine", "slow"])?;
        let department = self.department(dept)?;
        let mut id = None;
        wait_until(PATIENCE, || {
            let has_ended = run.has_ended();
            let active = department.active().unwrap_or(None).filter(|active| active.engine_pid.is_some());
            id = active.map(|active| active.run).filter(|_| !has_ended);
            id.is_some() || has_ended
        });
        // An engine that is gone at once would be killed in nothing's midst.
        let at_work =
            || department.active().ok().flatten().and_then(|active| ProcessId::of(active.engine_pid?));
        id = id.filter(|_| !wait_until(SETTLED, || at_work().is_none_or(|engine| !engine.is_alive())));
        id.map(|id| (run, id)).ok_or_else(|| {
            format!("the run of {dept} ended before it could be killed, or never asked its engine")
        })
    }

    fn kill_at_work(&mut self) -> Step {
        let directive = self.directive()?;
        let (mut run, id) = self.hang("business")?;
        run.kill().map_err(|error| format!("{id} can't be killed: {error}"))?;
        let gone = wait_until(PATIENCE, || marked(&id).is_ok_and(|left| left.is_empty()));
        if !gone {
            return Err(format!("processes of {id} are still there"));
        }
        self.expect(&["run-loop", "business"], 0)?;
        let lines = self.department("business")?.ledger_whole().map_err(|error| error.to_string())?;
        let recorded = lines
            .iter()
            .any(|line| matches!(line, Line::Run(run) if run.run == id && run.outcome == "killed"));
        if !recorded {
            return Err(format!("{id} was killed, and no record says so"));
        }
        self.count(&directive)?;
        Ok(format!(
            "{id} and its engine are gone, it is recorded as killed, and the next run did the work once"
        ))
    }

    /// Whether a directive became exactly what it becomes undisturbed.
    fn count(&self, directive: &str) -> std::result::Result<(), String> {
        let found = answers(&self.org()?, directive).map_err(say)?;
        match found == self.usual.0 {
            true => Ok(()),
            false => Err(format!("{directive} became {found} messages, and {} undisturbed", self.usual.0)),
        }
    }

    /// Each is killed a little later in its life than the one before, and then left to the next run.
    fn kill_often(&mut self) -> Step {
        let (mut killed, mut life) = (0, self.usual.1);
        for number in 1..=KILLS {
            let directive = self.directive()?;
            let mut run = self.start(&["run-loop", "business"])?;
            wait_until(life * number / (KILLS + 1), || false);
            if run.has_ended() {
                // The first run of all is slower than those that follow.
                life /= 2;
            } else {
                killed += 1;
            }
            run.kill().map_err(|error| error.to_string())?;
            self.expect(&["run-loop", "business"], 0)?;
            self.count(&directive)?;
        }
        match killed {
            0 => Err("every run had ended before it was killed, so nothing was proved".to_string()),
            _ => Ok(format!("{killed} of {KILLS} in the midst; each directive was carried out once")),
        }
    }

    fn verify(&mut self) -> Step {
        let org = self.org()?;
        let checks = verify(&org, &self.app.key().map_err(say)?, self.app.ctx.now())
            .map_err(|error| error.to_string())?;
        let faults: Vec<String> = checks
            .iter()
            .filter(|check| check.verdict != Verdict::Passed)
            .map(|check| format!("{}: {}", check.name, check.what))
            .collect();
        if faults.is_empty() { Ok(format!("{} checks passed", checks.len())) } else { Err(faults.join("; ")) }
    }

    fn stop_all(&mut self) -> Step {
        let mut hanging = Vec::new();
        for dept in ["business", "rd"] {
            let department = self.department(dept)?;
            let mut config = department.config().map_err(|error| error.to_string())?;
            config.auto_loop = true;
            department.write_config(&config).map_err(|error| error.to_string())?;
            let letter =
                Letter { to: dept, kind: "Note", subject: "A drill", body: "Nobody will answer this." };
            send(&self.app, &letter).map_err(say)?;
            hanging.push(self.hang(dept)?);
        }
        self.expect(&["stop-all", "--why", "a drill"], 0)?;
        for (run, id) in &mut hanging {
            if !wait_until(PATIENCE, || run.has_ended()) {
                return Err(format!("{id} was stopped, and still runs"));
            }
            match marked(id) {
                Ok(left) if left.is_empty() => {}
                Ok(left) => return Err(format!("{} processes of {id} are left", left.len())),
                Err(error) => return Err(format!("processes of {id} can't be looked for: {error}")),
            }
        }
        if self.org()?.gate(self.app.ctx.now()).is_open() {
            return Err("the gate is open".to_string());
        }
        for dept in ["business", "rd"] {
            if self.department(dept)?.config().map_err(|error| error.to_string())?.auto_loop {
                return Err(format!("autoLoop of {dept} is still on"));
            }
        }
        self.expect(&["run-loop", "business"], 3)?;
        Ok("two runs and their engines are gone, the gate is closed, every autoLoop is off, and nothing starts".to_string())
    }

    fn clean_up(&mut self) -> Step {
        self.app.forget(self.scratch.path()).map_err(say)?;
        match self.scratch.remove() {
            true => Ok("the scratch organisation is removed".to_string()),
            false => Err(format!("{} can't be removed", self.scratch.path().display())),
        }
    }
}

fn say(error: CommandError) -> String {
    error.cause.to_string()
}
