//! `harness selftest`: the crash matrix on the user's own disk.
//!
//! A run is made to die at each operation of the file layer, before it, half way through it and after it; then it is
//! recovered, and what is there must be what an undisturbed run leaves.

use super::app::{App, Result};
use super::init;
use super::running::{Order, run_department};
use super::send::{Letter, send};
use crate::ctx::Ctx;
use crate::domain::event::{Event, Sink};
use crate::domain::selftest::{Bag, Death, compare_bags, fill_bag};
use crate::domain::text::one_line;
use crate::domain::time::Time;
use crate::error::{CommandError, Kind};
use crate::process::plain::Plain;
use crate::run::Effects;
use crate::run::cycle::Work;
use crate::run::verify::{Verdict, verify};
use crate::store::copy::copy_organisation;
use crate::store::disk::{Disk, Mishap, Plan};
use crate::store::effects::effect_files;
use crate::store::scratch::Scratch;
use crate::store::template::FIVE;
use crate::ui::{Answer, Ui};
use serde_json::json;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const DEPT: &str = "business";
/// What the folder of a scratch organisation is called: only there may a run die on purpose.
const SCRATCH: &str = "selftest";
/// How long one run may take before it counts as hanging.
const PATIENCE: Duration = Duration::from_secs(60);
/// More rounds than a directive takes to go round.
const ROUNDS: usize = 20;
/// How many faults are shown.
const SHOWN: usize = 10;

/// Kill runs at every operation on your own disk, and prove recovery
///
/// Makes a scratch organisation in the current folder and lets a run die before, half way through and after operations
/// of the file layer, with and without the receivers acting in between. Each time the next run must leave exactly what
/// an undisturbed run leaves, recovering twice must change nothing, and `verify` must pass. Without options every
/// seventh operation is taken; with --crash, each one. It costs nothing and touches no organisation of yours. Exit 1 where
/// one case fails.
///
/// Examples:
///   harness selftest
///   harness selftest --crash --dir /mnt/slow
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct SelftestArgs {
    /// Take every operation
    #[arg(long)]
    crash: bool,
    /// Take every so many operations
    #[arg(long, value_name = "N", conflicts_with = "crash", default_value_t = 7, value_parser = clap::value_parser!(u16).range(1..))]
    every: u16,
    /// The folder whose disk is tried
    #[arg(long, value_name = "DIR", default_value = ".")]
    dir: PathBuf,
}

/// Run a department and die at an operation
#[derive(Debug, clap::Args)]
pub struct DieArgs {
    /// At which operation
    at: u64,
    /// `before`, `torn` or `after` it
    death: String,
    /// The moment on its clock, in seconds
    now: i64,
}

struct Silent;

impl Sink for Silent {
    fn hear(&mut self, _event: &Event<'_>) {}
}

/// The run that dies. Anywhere but in a scratch organisation it is refused.
pub fn die(args: &DieArgs, app: &App<'_>) -> Result<Answer> {
    let name = app.root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let death = Death::parse(&args.death).filter(|_| name.starts_with(&format!("harness-{SCRATCH}-")));
    let now = chrono::DateTime::from_timestamp(args.now, 0);
    let (Some(death), Some(now)) = (death, now) else {
        return Err(CommandError::refused("this is a part of `harness selftest`"));
    };
    let mishap = match death {
        Death::Before => Mishap::DieBefore,
        Death::Torn => Mishap::DieTorn,
        Death::After => Mishap::DieAfter,
    };
    let ctx = app.ctx.virtual_at(now, 2, app.ctx.disk().dying(args.at, mishap));
    run_one(&App { ctx: &ctx, ui: app.ui, root: app.root.clone() }, DEPT)?;
    Ok(Answer::new("harness.die/1", json!({}), ""))
}

fn run_one(app: &App<'_>, dept: &str) -> Result<()> {
    let order = Order {
        dept,
        kind: "loop",
        work: Work::Loop { max_iterations: 10 },
        engines: vec!["rules".to_string()],
        effects: Effects::CarriedOut,
    };
    run_department(app, &order, &mut Silent).map(|_| ())
}

pub fn run(args: &SelftestArgs, app: &App<'_>) -> Result<Answer> {
    app.require_human("selftest")?;
    let begun = Instant::now();
    let matrix = Matrix::prepare(app, &args.dir)?;
    let [alone, acted] = [matrix.reference(Others::Wait)?, matrix.reference(Others::Act)?];
    let step = if args.crash { 1 } else { usize::from(args.every) };
    let (mut cases, mut faults) = (0, Vec::new());
    for at in (1..=matrix.operations).step_by(step) {
        for death in Death::ALL {
            for (others, expected) in [(Others::Wait, &alone), (Others::Act, &acted)] {
                cases += 1;
                let found = matrix.try_case(at, death, others, expected)?;
                let said = |fault: String| {
                    let when = if others == Others::Act { ", the others acting in between" } else { "" };
                    format!("{} operation {at}{when}: {fault}", death.word())
                };
                faults.extend(found.into_iter().map(said));
            }
        }
    }
    let seconds = begun.elapsed().as_secs_f64();
    let mut text = format!(
        "{cases} crashes at {} of {} operations, each recovered twice and verified, in {seconds:.1} s on {}\n",
        matrix.operations.div_ceil(step as u64),
        matrix.operations,
        matrix.folder.display()
    );
    match faults.len() {
        0 => text.push_str("passed: nothing was lost and nothing happened twice\n"),
        count => text.push_str(&format!("failed: {count} faults\n")),
    }
    for fault in faults.iter().take(SHOWN) {
        text.push_str(&format!("  {}\n", one_line(fault, 300)));
    }
    let data = json!({
        "operations": matrix.operations, "cases": cases, "faults": faults, "duration_s": seconds,
        "folder": matrix.folder,
    });
    Ok(Answer::new("harness.selftest/1", data, text).exit(u8::from(!faults.is_empty())))
}

/// Whether the departments that business writes to act between the crash and the recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Others {
    Wait,
    Act,
}

/// What every case begins with.
struct Matrix<'a> {
    app: &'a App<'a>,
    ui: Ui,
    program: PathBuf,
    env: Vec<(OsString, OsString)>,
    folder: PathBuf,
    stage: Scratch,
    now: Time,
    operations: u64,
}

impl<'a> Matrix<'a> {
    fn prepare(app: &'a App<'a>, folder: &Path) -> Result<Matrix<'a>> {
        let program = app
            .ctx
            .program()
            .map_err(|error| CommandError::failed(format!("can't find this program: {error}")))?;
        let stage = Scratch::make(folder, SCRATCH, &app.ctx.random::<8>())?;
        let is_kept = |name: &str| !name.starts_with("HARNESS_") || name == "HARNESS_TEST_BREAK";
        let kept = app.ctx.variables().iter().filter(|(name, _)| is_kept(name));
        let mut matrix = Matrix {
            app,
            ui: Ui { quiet: true, ..app.ui },
            program,
            env: kept.map(|(name, value)| (name.into(), value.into())).collect(),
            folder: stage.path().parent().unwrap_or(folder).to_path_buf(),
            stage,
            now: app.ctx.now(),
            operations: 0,
        };
        let ctx = matrix.clock(1, Disk::without_sync());
        let staged = matrix.at(&ctx, &matrix.stage);
        init::make_five(&staged)?;
        let letter = Letter { to: DEPT, kind: "Directive", subject: "A selftest", body: "Sell a digest." };
        send(&staged, &letter)?;
        matrix.operations = matrix.count()?;
        Ok(matrix)
    }

    fn clock(&self, seed: u64, disk: Disk) -> Ctx {
        self.app.ctx.virtual_at(self.now, seed, disk)
    }

    fn at<'b>(&self, ctx: &'b Ctx, scratch: &Scratch) -> App<'b> {
        App { ctx, ui: self.ui, root: scratch.path().to_path_buf() }
    }

    /// A fresh copy of the stage.
    fn copy(&self) -> Result<Scratch> {
        let scratch = Scratch::make(&self.folder, SCRATCH, &self.app.ctx.random::<8>())?;
        copy_organisation(self.stage.path(), scratch.path())?;
        Ok(scratch)
    }

    /// How many operations an undisturbed run has.
    fn count(&self) -> Result<u64> {
        let scratch = self.copy()?;
        let disk = Disk::new(Some(Plan::default()));
        let ctx = self.clock(2, disk.clone());
        run_one(&self.at(&ctx, &scratch), DEPT)?;
        match disk.operations() {
            0 => Err(CommandError::new(Kind::Bug, "a run without an operation")),
            count => Ok(count),
        }
    }

    fn bag(&self, scratch: &Scratch) -> Result<Bag> {
        Ok(fill_bag(&effect_files(scratch.path())?))
    }

    fn let_others_act(&self, app: &App<'_>) -> Result<()> {
        FIVE.iter().filter(|dept| **dept != DEPT).try_for_each(|dept| run_one(app, dept))
    }

    /// What an undisturbed run leaves.
    fn reference(&self, others: Others) -> Result<Bag> {
        let scratch = self.copy()?;
        let ctx = self.clock(2, Disk::new(None));
        let app = self.at(&ctx, &scratch);
        run_one(&app, DEPT)?;
        if others == Others::Act {
            self.settle(&app, &scratch)?;
        }
        self.bag(&scratch)
    }

    /// Rounds of everybody until nothing changes any more: when each of them acted no longer shows.
    fn settle(&self, app: &App<'_>, scratch: &Scratch) -> Result<()> {
        let mut before = self.bag(scratch)?;
        for _ in 0..ROUNDS {
            self.let_others_act(app)?;
            run_one(app, DEPT)?;
            let after = self.bag(scratch)?;
            if after == before {
                return Ok(());
            }
            before = after;
        }
        Err(CommandError::failed(format!("the organisation was not quiet after {ROUNDS} rounds")))
    }

    /// What is wrong after a crash and its recovery.
    fn try_case(&self, at: u64, death: Death, others: Others, expected: &Bag) -> Result<Vec<String>> {
        let scratch = self.copy()?;
        if let Some(fault) = self.crash(&scratch, at, death)? {
            return Ok(vec![fault]);
        }
        let ctx = self.clock(3, Disk::new(None));
        let app = self.at(&ctx, &scratch);
        if others == Others::Act {
            self.let_others_act(&app)?;
        }
        run_one(&app, DEPT)?;
        if others == Others::Act {
            self.settle(&app, &scratch)?;
        }
        let found = self.bag(&scratch)?;
        let mut faults = compare_bags(expected, &found);
        run_one(&app, DEPT)?;
        let again = compare_bags(&found, &self.bag(&scratch)?);
        faults.extend(again.into_iter().map(|fault| format!("recovered twice: {fault}")));
        let checks = verify(&app.org()?, &app.key()?, app.ctx.now())?;
        let failed = checks.into_iter().filter(|check| check.verdict == Verdict::Failed);
        faults.extend(failed.map(|check| format!("verify: {}: {}", check.name, check.what)));
        Ok(faults)
    }

    /// A run of its own that dies; what is wrong where it doesn't.
    fn crash(&self, scratch: &Scratch, at: u64, death: Death) -> Result<Option<String>> {
        let mut args: Vec<OsString> = vec!["--root".into(), scratch.path().into(), "die".into()];
        args.extend(
            [at.to_string(), death.word().to_string(), self.now.timestamp().to_string()].map(OsString::from),
        );
        let mut run = Plain::start(&self.program, &args, &self.env, scratch.path()).map_err(|error| {
            CommandError::failed(format!("can't start {}: {error}", self.program.display()))
        })?;
        Ok(match run.wait(PATIENCE) {
            Some(code) => Some(format!("the run was to die, and ended with {code}")),
            None if run.has_ended() => None,
            None => Some("the run hangs".to_string()),
        })
    }
}
