//! Asking a client: its command line, its process under the guard, what it printed, and what that cost.

use super::ask::{Answered, Ask, Reply, Tried};
use super::listen::Listening;
use super::reserve::worst_tokens;
use super::{Effects, Result, Shop};
use crate::domain::event::Event;
use crate::domain::settings::EngineSettings;
use crate::domain::time::render_rfc3339;
use crate::engines::{self, Preset, Request, WorkingFolder};
use crate::process::child::{self, ChildSpec, How, Limits, Output};
use crate::process::find::find_program;
use std::ffi::{OsStr, OsString};
use std::time::{Duration, Instant};

/// The most that an engine may print.
const STDOUT_MAX: usize = 16 * 1024 * 1024;
const STDERR_MAX: usize = 1024 * 1024;
/// How long an engine may stay after it gave its result.
const AFTER_RESULT: Duration = Duration::from_secs(5);
/// What every child gets of the environment.
pub(super) const PASSED: [&str; 6] = ["PATH", "HOME", "USER", "LOGNAME", "LANG", "TMPDIR"];

impl Shop<'_> {
    pub(super) fn ask_client(&self, name: &str, settings: &EngineSettings, ask: &Ask<'_>) -> Result<Tried> {
        let state = self.org.engine_state(name)?;
        if let Some(at) = state.not_before((self.now)()) {
            let at = render_rfc3339(at);
            return Ok(Tried::Next(match state.rests {
                0 => format!("out of quota until {at}"),
                _ => format!("it rests until {at} ({})", state.why),
            }));
        }
        let Ok(preset) = settings.preset.parse::<Preset>() else {
            return Ok(Tried::Next(format!("org.toml has no preset `{}`", settings.preset)));
        };
        let request = Request { system: ask.prompt.stable(), prompt: ask.prompt.tail() };
        let mut line = engines::command_line(&to_settings(preset, settings), &request);
        self.put_system_file(&mut line, &request, ask)?;
        let path = self.variables.get("PATH").map(String::as_str).unwrap_or("/usr/local/bin:/usr/bin:/bin");
        let Some(program) = find_program(OsStr::new(&line.program), OsStr::new(path)) else {
            return Ok(Tried::Next(format!("`{}` is not on PATH", line.program)));
        };
        let timeout = Duration::from_secs(settings.timeout_seconds);
        let spec = ChildSpec {
            program,
            args: line.args.iter().map(OsString::from).collect(),
            env: self.environment(settings, &line.env, ask),
            cwd: match preset.working_folder() {
                WorkingFolder::Department => self.department.dir.path().to_path_buf(),
                WorkingFolder::Empty => self.department.own()?.make("empty")?.path().to_path_buf(),
            },
            stdin: line.stdin.into_bytes(),
            limits: Limits {
                start: timeout.min(first_byte(preset)),
                idle: timeout.min(silence(preset)),
                total: timeout,
                after_result: AFTER_RESULT,
                stdout_bytes: STDOUT_MAX,
                stderr_bytes: STDERR_MAX,
            },
        };
        let tried = self.run_client(name, settings, preset, &spec, ask)?;
        if state.rests > 0
            && self.effects == Effects::CarriedOut
            && matches!(&tried, Tried::Reply(reply) if matches!(**reply, Reply::Answered(_)))
        {
            self.org.forget_rests(name)?;
        }
        Ok(tried)
    }

    /// Writes the stable layers where a client takes them from a file. Showing writes nothing: then all is asked at once.
    fn put_system_file(
        &self,
        line: &mut engines::CommandLine,
        request: &Request<'_>,
        ask: &Ask<'_>,
    ) -> Result<()> {
        let Some(file) = line.system_file.take() else { return Ok(()) };
        if self.effects == Effects::Shown {
            line.stdin = request.whole();
            return Ok(());
        }
        // A job may ask while a step does.
        let name = if ask.active.is_some() { "system.md" } else { "system-job.md" };
        let path = self.department.put_system_prompt(name, &file.text)?;
        line.env.push((file.variable.to_string(), path.display().to_string()));
        Ok(())
    }

    fn environment(
        &self,
        settings: &EngineSettings,
        own: &[(String, String)],
        ask: &Ask<'_>,
    ) -> Vec<(OsString, OsString)> {
        let passed = PASSED.iter().map(|name| name.to_string()).chain(settings.env.iter().cloned());
        let mut env: Vec<(OsString, OsString)> = passed
            .filter_map(|name| self.variables.get(&name).map(|value| (name.into(), value.into())))
            .collect();
        env.extend(own.iter().map(|(name, value)| (name.into(), value.into())));
        for (name, value) in [
            ("HARNESS_RUN", ask.run),
            ("HARNESS_DEPT", self.department.dept.as_str()),
            ("HARNESS_ROLE", ask.role.name()),
        ] {
            env.push((name.into(), value.into()));
        }
        env
    }

    fn run_client(
        &self,
        name: &str,
        settings: &EngineSettings,
        preset: Preset,
        spec: &ChildSpec,
        ask: &Ask<'_>,
    ) -> Result<Tried> {
        let spend = self.reserve(settings, ask)?;
        let worst = worst_tokens(settings, ask);
        self.tell_step(name, ask);
        let began = Instant::now();
        let mut listening = match Listening::new(self, preset) {
            Ok(listening) => listening,
            Err(error) => {
                self.settle(&spend, &nothing_spent(), worst)?;
                return Err(error);
            }
        };
        let mut active = ask.active.cloned();
        let ended = child::run(&self.guard, spec, self.interrupt, &mut |output| {
            if let Output::Started { guard, engine } = &output
                && let Some(active) = active.as_mut().filter(|_| self.effects == Effects::CarriedOut)
            {
                active.guard_pid = Some(guard.pid);
                active.engine_pid = engine.as_ref().map(|engine| engine.pid);
                // For people and for stopping; a run goes on without it.
                let _ignored = self.department.write_active(active);
            }
            listening.hear(self, &output)
        });
        let (reader, raw) = listening.finish(self);
        let mut said = Answered {
            engine: name.to_string(),
            duration_s: began.elapsed().as_secs_f64(),
            ..Answered::default()
        };
        let started = ended.and_then(|ended| match ended.how {
            How::NotStarted { os_error } => Err(std::io::Error::from_raw_os_error(os_error)),
            _ => Ok(ended),
        });
        let ended = match started {
            Ok(ended) => ended,
            Err(error) => {
                self.settle(&spend, &nothing_spent(), worst)?;
                let why = format!("it can't be started: {error}");
                self.tell(&Event::Notice(&format!("{name} can't answer now: {why}")));
                return Ok(Tried::Next(why));
            }
        };
        let clean = matches!(ended.how, How::Exited | How::AfterResult);
        let code = if ended.how == How::AfterResult { Some(0) } else { ended.code };
        let finished = reader.finish(engines::Exit { code, clean });
        match &finished {
            Ok(answer) => said.fill(&answer.usage, answer.cost, settings),
            Err(failure) => said.fill(&failure.usage, failure.cost, settings),
        }
        self.settle(&spend, &said, worst)?;
        if ended.how == How::Stopped || (self.interrupt)().is_some() {
            said.text = raw;
            return Ok(Tried::Reply(Box::new(Reply::Cancelled(said))));
        }
        match finished {
            Ok(answer) => {
                said.model = answer.model;
                said.text = answer.text;
                said.warnings = answer.warnings;
                Ok(Tried::Reply(Box::new(Reply::Answered(said))))
            }
            Err(failure) => self.judge_failure(name, settings, &ended, &failure, said, raw),
        }
    }

    fn judge_failure(
        &self,
        name: &str,
        settings: &EngineSettings,
        ended: &child::Ended,
        failure: &engines::Failure,
        mut said: Answered,
        raw: String,
    ) -> Result<Tried> {
        let how = say_how(ended, settings.timeout_seconds);
        let why = match ended.how {
            How::Exited | How::AfterResult => failure.to_string(),
            _ if failure.message.is_empty() => how,
            _ => format!("{how} ({})", failure.message),
        };
        // A client may print the very key that was refused; from here on it goes to files and people.
        let why = self.redactor.mask(&why).into_owned();
        if self.effects == Effects::CarriedOut && failure.kind.passes() {
            self.let_rest(name, &failure.kind, &why)?;
        }
        said.text = raw;
        if failure.kind.falls_back() && ended.how == How::Exited {
            self.tell(&Event::Notice(&format!("{name} can't answer now: {why}")));
            return Ok(Tried::Passed(Box::new(said), why));
        }
        Ok(Tried::Reply(Box::new(Reply::Failed { said, why: format!("{name}: {why}") })))
    }
}

impl Shop<'_> {
    /// Keeps every department from asking an engine again before it can answer: until the time it gave, else for a
    /// stated while that grows.
    fn let_rest(&self, name: &str, kind: &engines::FailureKind, why: &str) -> Result<()> {
        let now = (self.now)();
        let before = self.org.engine_state(name)?.rests;
        // Seconds are how long the client itself paused between its tries: it has paused, and was turned down again.
        let told = kind.not_before(now.timestamp()).filter(|at| *at >= now.timestamp() + engines::rest_s(0));
        let (at, rests) = match told {
            Some(at) => (at, 0),
            None => (now.timestamp() + engines::rest_s(before), before.saturating_add(1)),
        };
        let Some(at) = chrono::DateTime::from_timestamp(at, 0) else { return Ok(()) };
        Ok(self.org.set_not_before(name, at, why, rests)?)
    }
}

/// How long a client may take to its first byte: those that stream say something at once.
fn first_byte(preset: Preset) -> Duration {
    match preset {
        Preset::Claude | Preset::Codex => Duration::from_secs(120),
        _ => Duration::MAX,
    }
}

/// How long a client may be silent: a model that thinks is, and a connection that died is for ever.
fn silence(preset: Preset) -> Duration {
    match preset {
        Preset::Claude | Preset::Codex => Duration::from_secs(300),
        _ => Duration::MAX,
    }
}

/// What is settled where nothing was started.
fn nothing_spent() -> Answered {
    Answered { cost_usd: Some(0.0), ..Answered::default() }
}

fn say_how(ended: &child::Ended, timeout: u64) -> String {
    match ended.how {
        How::StartDeadline => "it said nothing at all for too long and was ended".to_string(),
        How::IdleDeadline => "it fell silent for too long and was ended".to_string(),
        How::TotalDeadline => format!("it took longer than {timeout} s and was ended"),
        How::OutputCap if ended.stderr_bytes > STDERR_MAX as u64 => {
            format!("it printed more than {STDERR_MAX} bytes to stderr and was ended")
        }
        How::OutputCap => format!("it printed more than {STDOUT_MAX} bytes and was ended"),
        How::GuardLost => "its guard was lost".to_string(),
        How::Exited | How::NotStarted { .. } | How::AfterResult | How::Stopped => "it ended".to_string(),
    }
}

fn to_settings(preset: Preset, settings: &EngineSettings) -> engines::Settings {
    engines::Settings {
        preset,
        model: settings.model.clone(),
        command: settings.command.clone(),
        extra_args: settings.args.clone(),
        tools: settings.tools.clone(),
        timeout_s: settings.timeout_seconds,
        worst_case_usd: settings.worst_case_usd,
    }
}
