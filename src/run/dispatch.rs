//! Dispatched jobs: each is a run of its own, with its own lock, deadline and gate check, started after the plan that
//! queued it is closed.
//!
//! A job goes through queued, started, ended and settled. Settling happens under the department's lock: the result
//! becomes a message, the run gets its record, and the job's files go. One that was started and has no end is unknown:
//! it is escalated, and never tried again by itself.

use super::reserve::at_worst;
use super::{Refused, Result, RunError, Shop};
use crate::domain::budget::Spend;
use crate::domain::event::Event;
use crate::domain::gate::Reading;
use crate::domain::id::{IdKind, derived_id};
use crate::domain::ledger::RunLine;
use crate::domain::message::{Draft, Provenance, render_message};
use crate::domain::plan::{Effect, Planned};
use crate::domain::record::RunStory;
use crate::domain::settings::Pipeline;
use crate::domain::text::cut;
use crate::domain::time::{parse_rfc3339, render_rfc3339};
use crate::process::child::{self, ChildSpec, Flow, How, Limits, Output};
use crate::process::lines::LineBuffer;
use crate::process::stop::{GRACE, ProcessId, end_marked};
use crate::store::jobs::{Job, JobEnded, JobFiles, JobStarted};
use crate::store::lock::{Attempt, lock, try_lock};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// How much of a job's output its message and record keep.
const OUTPUT_KEPT: usize = 64 * 1024;
const OUTPUT_MAX: usize = 64 * 1024 * 1024;
/// The outcome of a job that was started and has no end.
const UNKNOWN: &str = "unknown";

impl Shop<'_> {
    /// Runs the jobs that are queued, one after another. The department's lock is not held.
    pub fn run_jobs(&self) -> Result<()> {
        if self.department.jobs()?.is_empty() {
            return Ok(());
        }
        let Attempt::Held(jobs_lock) = try_lock(&self.department.own()?, "jobs.lock")? else { return Ok(()) };
        for files in self.department.jobs()? {
            if files.ended.is_none() && (self.interrupt)().is_none() {
                self.run_job(&files)?;
            }
        }
        drop(jobs_lock);
        let _lock = lock(&self.department.own()?, "lock")?;
        self.settle_jobs()?;
        self.commit();
        Ok(())
    }

    fn run_job(&self, files: &JobFiles) -> Result<()> {
        let job = &files.job;
        if let Some(started) = &files.started {
            // Its run held this lock and is gone: whether the work was done, nobody can tell.
            let _left = end_marked(&started.run, GRACE);
            self.settle_dead(&started.run)?;
            let reason = format!(
                "{} was started as {} and died; whether it did its work is unknown",
                job.id, started.run
            );
            return self.end_job(job, UNKNOWN, reason, String::new());
        }
        self.check_gate(Reading::Job)?;
        if let Some(engine) = &job.engine {
            return self.run_agent(job, engine);
        }
        if !self.is_wanted(job)? {
            return self.end_job(job, "cancelled", super::agent::NOT_CURRENT.to_string(), String::new());
        }
        let Some(pipeline) = self.settings.pipelines.get(&job.pipeline) else {
            return self.end_job(
                job,
                "failed",
                format!("there is no pipeline `{}` in org.toml", job.pipeline),
                String::new(),
            );
        };
        let command = match fill_in(pipeline, job) {
            Ok(command) => command,
            Err(missing) => {
                let reason = format!(
                    "the pipeline `{}` needs `{missing}`, which the action did not give",
                    job.pipeline
                );
                return self.end_job(job, "failed", reason, String::new());
            }
        };
        if let Some(hold) = self.org.portfolio()?.held(job.project.as_deref(), job.directive.as_deref()) {
            self.tell(&Event::Notice(&format!("{} stays queued: {hold}", job.id)));
            return Ok(());
        }
        let run = run_of(job);
        let spend = self.job_spend(&run, job, pipeline);
        match self.reserve_spend(&spend) {
            Err(RunError::Refused(Refused::Budget(why))) => {
                self.tell(&Event::Notice(&format!("{} stays queued: {why}", job.id)));
                return Ok(());
            }
            reserved => reserved?,
        }
        let me = ProcessId::of(std::process::id());
        let started = JobStarted {
            run: run.clone(),
            at: render_rfc3339((self.now)()),
            pid: std::process::id(),
            start_time: me.as_ref().map_or(0, |me| me.start),
            boot: me.map(|me| me.boot).unwrap_or_default(),
        };
        self.department.write_job_started(&job.id, &started)?;
        self.tell(&Event::Start { run: &run, dept: self.department.dept.as_str(), kind: "dispatch" });
        let (outcome, reason, output) = self.run_pipeline(&run, pipeline, command);
        // What a program cost nobody reports: it counts at its worst case.
        self.org.settle(&spend.id, &at_worst(&spend), (self.now)())?;
        self.end_job(job, outcome, reason, output)
    }

    fn job_spend(&self, run: &str, job: &Job, pipeline: &Pipeline) -> Spend {
        Spend {
            id: format!("{run}/1"),
            at: render_rfc3339((self.now)()),
            dept: self.department.dept.to_string(),
            run: run.to_string(),
            project: job.project.clone(),
            directive: job.directive.clone(),
            usd: pipeline.worst_case_usd,
            tokens: pipeline.worst_case_tokens,
            ..Spend::default()
        }
    }

    fn run_pipeline(
        &self,
        run: &str,
        pipeline: &Pipeline,
        command: Vec<String>,
    ) -> (&'static str, String, String) {
        let timeout = Duration::from_secs(pipeline.timeout_seconds);
        let mut command = command.into_iter();
        let spec = ChildSpec {
            program: PathBuf::from(command.next().unwrap_or_default()),
            args: command.map(OsString::from).collect(),
            env: self.job_environment(run, pipeline),
            cwd: self.department.dir.path().to_path_buf(),
            stdin: Vec::new(),
            limits: Limits {
                start: timeout,
                idle: timeout,
                total: timeout,
                after_result: timeout,
                stdout_bytes: OUTPUT_MAX,
                stderr_bytes: OUTPUT_MAX,
            },
        };
        let mut output = String::new();
        let mut lines = LineBuffer::new(64 * 1024);
        let mut keep = |line: &str| {
            output.push_str(&self.redactor.mask(line));
            output.push('\n');
            // The end of a long output says how it went; its start is dropped.
            if output.len() > OUTPUT_KEPT * 2 {
                let from = output.len() - OUTPUT_KEPT;
                let from =
                    (from..output.len()).find(|at| output.is_char_boundary(*at)).unwrap_or(output.len());
                output.replace_range(..from, "[cut]\n");
            }
        };
        let ended = child::run(&self.guard, &spec, self.interrupt, &mut |event| {
            if let Output::Stdout(bytes) | Output::Stderr(bytes) = event {
                lines.push(bytes, &mut |line| keep(&line.text));
            }
            Flow::Continue
        });
        lines.finish(&mut |line| keep(&line.text));
        let (outcome, reason) = match ended {
            Err(error) => ("failed", format!("it can't be started: {error}")),
            Ok(ended) => match (ended.how, ended.code) {
                (How::Exited, Some(0)) => ("done", "it ended with exit code 0".to_string()),
                (How::Exited, Some(code)) => ("failed", format!("it ended with exit code {code}")),
                (How::Stopped, _) => ("cancelled", "it was stopped".to_string()),
                (How::NotStarted { os_error }, _) => (
                    "failed",
                    format!("it can't be started: {}", std::io::Error::from_raw_os_error(os_error)),
                ),
                (How::Exited, None) => ("failed", "a signal ended it".to_string()),
                (how, _) => {
                    ("failed", format!("it was ended: {how:?} after at most {} s", pipeline.timeout_seconds))
                }
            },
        };
        (outcome, reason, output)
    }

    fn job_environment(&self, run: &str, pipeline: &Pipeline) -> Vec<(OsString, OsString)> {
        let passed =
            super::client::PASSED.iter().map(|name| name.to_string()).chain(pipeline.env.iter().cloned());
        let mut env: Vec<(OsString, OsString)> = passed
            .filter_map(|name| self.variables.get(&name).map(|value| (name.into(), value.into())))
            .collect();
        for (name, value) in [
            ("HARNESS_RUN", run),
            ("HARNESS_DEPT", self.department.dept.as_str()),
            ("HARNESS_ROLE", "dispatch"),
        ] {
            env.push((name.into(), value.into()));
        }
        env
    }

    fn end_job(&self, job: &Job, outcome: &str, reason: String, output: String) -> Result<()> {
        let output = cut(&output, OUTPUT_KEPT * 2).0.to_string();
        let ended = JobEnded {
            at: render_rfc3339((self.now)()),
            outcome: outcome.to_string(),
            reason,
            output,
            cost_usd: None,
            counted_usd: None,
        };
        Ok(self.department.write_job_ended(&job.id, &ended)?)
    }

    /// Delivers and records the results of jobs that have ended. The department's lock is held.
    pub fn settle_jobs(&self) -> Result<()> {
        for files in self.department.jobs()? {
            let Some(ended) = &files.ended else { continue };
            match self.check_gate(Reading::JobResult) {
                Ok(()) => {}
                Err(RunError::Refused(Refused::Gate(_))) => return Ok(()),
                Err(error) => return Err(error),
            }
            // A run of its own has a commit of its own.
            let run = run_of(&files.job);
            self.department
                .writing_for(&run, || self.settle_job(&files.job, files.started.as_ref(), ended))?;
        }
        Ok(())
    }

    fn settle_job(&self, job: &Job, started: Option<&JobStarted>, ended: &JobEnded) -> Result<()> {
        let run = run_of(job);
        let dept = &self.department.dept;
        let id = derived_id(
            IdKind::Message,
            parse_rfc3339(&ended.at).unwrap_or_default(),
            &format!("{}/result", job.id),
        );
        let draft = Draft {
            id: id.clone(),
            from: "harness".to_string(),
            to: vec![dept.clone()],
            kind: "System".to_string(),
            subject: format!("{} {}: {}", job.what(), job.id, ended.outcome),
            body: format!("{}\n\n{}", ended.reason, ended.output),
            amount_usd: None,
            project: job.project.clone(),
            directive: job.directive.clone(),
            reference: None,
            thread: None,
            hops: 0,
            // What a program printed may come from anywhere.
            provenance: Provenance::External,
            vouched: None,
            created: parse_rfc3339(&ended.at).unwrap_or_default(),
        };
        let on_board = self.result_on_board(job, ended)?;
        // An agent's task in review is an item by itself; every other end is told by a message.
        let told_by_message = job.agent.is_none() || on_board.is_none();
        let mut effects = on_board.unwrap_or_default();
        if told_by_message {
            let deliver = Effect::Deliver { dept: dept.to_string(), id, text: render_message(&draft) };
            effects.push(Planned { action: None, effect: deliver });
        }
        let escalated = (ended.outcome == UNKNOWN).then(|| self.escalate_job(job, &run, ended));
        effects.extend(escalated.iter().cloned());
        let line = RunLine {
            schema: 1,
            at: ended.at.clone(),
            run,
            kind: "dispatch".to_string(),
            started: started.map_or(&ended.at, |started| &started.at).clone(),
            outcome: ended.outcome.clone(),
            reason: self.redactor.mask(&ended.reason).into_owned(),
            iterations: 0,
            steps: 0,
            cost_usd: ended.cost_usd,
            counted_usd: ended.counted_usd.unwrap_or_else(|| {
                self.settings.pipelines.get(&job.pipeline).map_or(0.0, |pipeline| pipeline.worst_case_usd)
            }),
            changed: true,
            agent: job.agent.clone(),
            task: job.task.clone(),
            project: job.project.clone(),
            ..RunLine::default()
        };
        let entries = [format!("{} for {}", job.what(), job.run)];
        let story = RunStory { entries: &entries, output: &ended.output };
        self.close_run_with(line, &story, "", effects)?;
        self.department.remove_job(&job.id)?;
        self.notify_of(escalated.as_slice());
        self.tell(&Event::Notice(&format!("{} ended: {}", job.id, ended.outcome)));
        Ok(())
    }
}

impl Shop<'_> {
    /// Nobody can tell whether the work was done: that is for a human to find out, who alone may have it done again.
    fn escalate_job(&self, job: &Job, run: &str, ended: &JobEnded) -> Planned {
        let at = parse_rfc3339(&ended.at).unwrap_or_default();
        let id = derived_id(IdKind::Escalation, at, &format!("{}/unknown", job.id));
        let body = format!("{}: {}. It is not tried again by itself.\n", job.what(), ended.reason);
        let text = self.escalation_text(&id, run, at, &self.redactor.mask(&body));
        Planned { action: None, effect: Effect::Create { path: format!("escalations/{id}.md"), text } }
    }
}

/// The run that carries a job out.
pub(super) fn run_of(job: &Job) -> String {
    derived_id(IdKind::Run, parse_rfc3339(&job.created).unwrap_or_default(), &job.id)
}

/// The pipeline's command with `{name}` filled in from the action's arguments; else the name that is missing.
fn fill_in(pipeline: &Pipeline, job: &Job) -> std::result::Result<Vec<String>, String> {
    let value = |name: &str| match name {
        "project" => job.project.clone().or_else(|| job.args.get(name).cloned()),
        "task" => job.task.clone().or_else(|| job.args.get(name).cloned()),
        name => job.args.get(name).cloned(),
    };
    let mut command = Vec::new();
    for part in &pipeline.command {
        let mut filled = String::new();
        let mut rest = part.as_str();
        while let Some((before, after)) = rest.split_once('{') {
            let Some((name, after)) = after.split_once('}') else { break };
            filled.push_str(before);
            filled.push_str(&value(name).ok_or_else(|| name.to_string())?);
            rest = after;
        }
        filled.push_str(rest);
        command.push(filled);
    }
    Ok(command)
}
