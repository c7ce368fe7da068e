//! Asking engines: the first of the list that answers, with what it cost.
//!
//! An engine that isn't there, is overloaded or out of quota is passed over for the next one; a bad answer is not, and
//! once an action has been planned nothing is asked again. Engines that start nothing (`rules`, `script`, `replay`)
//! take the same way.

use super::listen::Listening;
use super::{Effects, Refused, Result, RunError, Shop};
use crate::domain::event::Event;
use crate::domain::message::Message;
use crate::domain::playbook::parse_playbook;
use crate::domain::prompt::Prompt;
use crate::domain::role::{Mode, Role};
use crate::domain::settings::EngineSettings;
use crate::domain::time::render_rfc3339;
use crate::engines::{self, Preset, Request, WorkingFolder, rules};
use crate::process::child::{self, ChildSpec, How, Limits, Output};
use crate::process::find::find_program;
use crate::store::runs::Active;
use std::ffi::{OsStr, OsString};
use std::time::{Duration, Instant};

/// The most that an engine may print.
const STDOUT_MAX: usize = 16 * 1024 * 1024;
const STDERR_MAX: usize = 1024 * 1024;
/// How long an engine may stay after it gave its result.
const AFTER_RESULT: Duration = Duration::from_secs(5);
/// What every child gets of the environment.
pub(super) const PASSED: [&str; 6] = ["PATH", "HOME", "USER", "LOGNAME", "LANG", "TMPDIR"];

/// What is asked.
pub struct Ask<'a> {
    pub run: &'a str,
    pub role: Role,
    pub mode: Mode,
    pub prompt: &'a Prompt,
    pub items: &'a [Message],
    pub at_hand: Option<&'a Message>,
    pub nonce: &'a str,
    pub active: &'a Active,
}

/// What came of asking.
#[derive(Clone, Debug)]
pub enum Reply {
    Answered(Answered),
    /// An engine was asked and failed; what it said is kept.
    Failed {
        said: Answered,
        why: String,
    },
    /// The run was told to stop; what it cost counts all the same.
    Cancelled(Answered),
}

/// An engine's answer and what it cost.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Answered {
    pub engine: String,
    pub model: Option<String>,
    pub text: String,
    pub input_tokens: Option<u64>,
    pub cache_read_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
    pub cost_usd: Option<f64>,
    pub counted_usd: f64,
    pub duration_s: f64,
    pub warnings: Vec<String>,
}

enum Tried {
    Reply(Box<Reply>),
    /// Nothing was asked: the next one's turn.
    Next(String),
    /// It was asked and could not take the question: the next one's turn.
    Passed(Box<Answered>, String),
}

impl Shop<'_> {
    /// Asks the engines in their order.
    pub fn ask(&self, ask: &Ask<'_>) -> Result<Reply> {
        let mut passed: Vec<String> = Vec::new();
        let mut asked = None;
        for name in &self.engines {
            let why = match self.ask_one(name, ask)? {
                Tried::Reply(reply) => return Ok(*reply),
                Tried::Next(why) => why,
                Tried::Passed(said, why) => {
                    asked = Some(said);
                    why
                }
            };
            passed.push(format!("{name}: {why}"));
        }
        if let Some(said) = asked {
            return Ok(Reply::Failed { said: *said, why: passed.join("; ") });
        }
        if self.engines.iter().all(|name| name == "rules") {
            return Ok(Reply::Answered(no_rule(ask)));
        }
        Err(RunError::Refused(Refused::NoEngine(format!(
            "no engine can be asked now: {}",
            passed.join("; ")
        ))))
    }

    fn ask_one(&self, name: &str, ask: &Ask<'_>) -> Result<Tried> {
        if name == "rules" {
            return self.ask_rules(ask);
        }
        if let Some(run) = name.strip_prefix("replay:") {
            return self.ask_replay(run, ask);
        }
        let Some(settings) = self.settings.engines.get(name) else {
            return Ok(Tried::Next("it is not in org.toml".to_string()));
        };
        match settings.preset.as_str() {
            "rules" => self.ask_rules(ask),
            "script" => self.ask_script(name, settings, ask),
            _ => self.ask_client(name, settings, ask),
        }
    }

    fn tell_step(&self, engine: &str, ask: &Ask<'_>) {
        let item = ask.at_hand.map(|message| message.id.as_str());
        self.tell(&Event::Step { role: ask.role.name(), mode: ask.mode.name(), engine, item });
    }

    fn ask_rules(&self, ask: &Ask<'_>) -> Result<Tried> {
        let Some(text) = self.department.dir.read("playbook.toml", crate::store::charters::CHARTER_MAX)?
        else {
            return Ok(Tried::Next("there is no playbook".to_string()));
        };
        let question = rules::Question {
            dept: self.department.dept.as_str(),
            role: ask.role,
            items: ask.items,
            at_hand: ask.at_hand,
            nonce: ask.nonce,
            now: (self.now)(),
        };
        let answer = parse_playbook(&text.text)
            .map_err(|fault| fault.to_string())
            .and_then(|playbook| rules::answer(&playbook, &question));
        match answer {
            Ok(Some(text)) => {
                self.count_run(ask)?;
                self.tell_step("rules", ask);
                Ok(answered("rules", text))
            }
            Ok(None) => Ok(Tried::Next("no rule matches".to_string())),
            Err(why) => Ok(Tried::Next(why)),
        }
    }

    /// The next numbered answer of a folder, with this step's nonce and message put in.
    fn ask_script(&self, name: &str, settings: &EngineSettings, ask: &Ask<'_>) -> Result<Tried> {
        let Some(folder) = &settings.folder else { return Ok(Tried::Next("it names no folder".to_string())) };
        self.count_run(ask)?;
        let path = std::path::Path::new(folder);
        let text = match self.effects {
            Effects::CarriedOut => self.department.next_script(path)?,
            Effects::Shown => {
                let ahead = self.shown_scripts.replace(self.shown_scripts.get() + 1);
                self.department.peek_script(path, ahead)?
            }
        };
        let Some(text) = text else {
            return Ok(Tried::Next(format!("{folder} has no further answer")));
        };
        Ok(answered(name, fill_in(&text, ask)))
    }

    /// The recorded answer of an earlier run to the same step.
    fn ask_replay(&self, run: &str, ask: &Ask<'_>) -> Result<Tried> {
        match self.department.recorded_answer(
            run,
            ask.role.name(),
            ask.at_hand.map(|message| message.id.as_str()),
        )? {
            Some(text) => {
                self.count_run(ask)?;
                Ok(answered("replay", renew_nonce(&text, ask.nonce)))
            }
            None => Ok(Tried::Next(format!("{run} has no answer to this step"))),
        }
    }

    fn ask_client(&self, name: &str, settings: &EngineSettings, ask: &Ask<'_>) -> Result<Tried> {
        if let Some(at) = self.org.not_before(name, (self.now)())? {
            return Ok(Tried::Next(format!("out of quota until {}", render_rfc3339(at))));
        }
        let Ok(preset) = settings.preset.parse::<Preset>() else {
            return Ok(Tried::Next(format!("org.toml has no preset `{}`", settings.preset)));
        };
        let request = Request { system: ask.prompt.stable(), prompt: ask.prompt.tail() };
        let line = engines::command_line(&to_settings(preset, settings), &request);
        let path = self.variables.get("PATH").map(String::as_str).unwrap_or("/usr/local/bin:/usr/bin:/bin");
        let Some(program) = find_program(OsStr::new(&line.program), OsStr::new(path)) else {
            return Ok(Tried::Next(format!("`{}` is not on PATH", line.program)));
        };
        self.tell_step(name, ask);
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
        self.run_client(name, settings, preset, &spec, ask)
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
        let began = Instant::now();
        let mut listening = Listening::new(self, preset)?;
        let mut active = ask.active.clone();
        let ended = child::run(&self.guard, spec, self.interrupt, &mut |output| {
            if let Output::Started { guard, engine } = &output {
                active.guard_pid = Some(guard.pid);
                active.engine_pid = engine.as_ref().map(|engine| engine.pid);
                if self.effects == Effects::CarriedOut {
                    // For people and for stopping; a run goes on without it.
                    let _ignored = self.department.write_active(&active);
                }
            }
            listening.hear(self, &output)
        });
        let (reader, raw) = listening.finish(self);
        let mut said = Answered {
            engine: name.to_string(),
            duration_s: began.elapsed().as_secs_f64(),
            ..Answered::default()
        };
        let ended = match ended {
            Ok(ended) => ended,
            Err(error) => {
                // Nothing was started, so nothing was spent.
                self.settle(&spend, &said)?;
                return Ok(Tried::Next(format!("it can't be started: {error}")));
            }
        };
        let clean = matches!(ended.how, How::Exited | How::AfterResult);
        let code = if ended.how == How::AfterResult { Some(0) } else { ended.code };
        let finished = reader.finish(engines::Exit { code, clean });
        match &finished {
            Ok(answer) => said.fill(&answer.usage, answer.cost, settings),
            Err(failure) => said.fill(&failure.usage, failure.cost, settings),
        }
        self.settle(&spend, &said)?;
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
        let now = (self.now)();
        let why = match ended.how {
            How::Exited | How::AfterResult => failure.to_string(),
            how if failure.message.is_empty() => say_how(how, settings.timeout_seconds),
            how => format!("{} ({})", say_how(how, settings.timeout_seconds), failure.message),
        };
        if self.effects == Effects::CarriedOut
            && let Some(at) = failure.kind.not_before(now.timestamp())
            && let Some(at) = chrono::DateTime::from_timestamp(at, 0)
        {
            self.org.set_not_before(name, at, &why)?;
        }
        said.text = raw;
        if failure.kind.falls_back() && matches!(ended.how, How::Exited | How::NotStarted { .. }) {
            self.tell(&Event::Notice(&format!("{name} can't answer now: {why}")));
            return Ok(Tried::Passed(Box::new(said), why));
        }
        Ok(Tried::Reply(Box::new(Reply::Failed { said, why: format!("{name}: {why}") })))
    }
}

impl Answered {
    fn fill(&mut self, usage: &engines::Usage, cost: engines::Cost, settings: &EngineSettings) {
        self.input_tokens = usage.input_tokens;
        self.cache_read_tokens = usage.cache_read_tokens;
        self.output_tokens = usage.output_tokens;
        (self.cost_usd, self.counted_usd) = match cost {
            engines::Cost::Known(usd) => (Some(usd), usd),
            engines::Cost::Unknown => (None, settings.worst_case_usd),
        };
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

fn say_how(how: How, timeout: u64) -> String {
    match how {
        How::StartDeadline => "it said nothing at all for too long and was ended".to_string(),
        How::IdleDeadline => "it fell silent for too long and was ended".to_string(),
        How::TotalDeadline => format!("it took longer than {timeout} s and was ended"),
        How::OutputCap => format!("it printed more than {STDOUT_MAX} bytes and was ended"),
        How::NotStarted { os_error } => {
            format!("it can't be started: {}", std::io::Error::from_raw_os_error(os_error))
        }
        How::GuardLost => "its guard was lost".to_string(),
        How::Exited | How::AfterResult | How::Stopped => "it ended".to_string(),
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

fn answered(engine: &str, text: String) -> Tried {
    let said = Answered { engine: engine.to_string(), text, cost_usd: Some(0.0), ..Answered::default() };
    Tried::Reply(Box::new(Reply::Answered(said)))
}

/// Where there is no engine but the rules, what they don't cover is the human's.
fn no_rule(ask: &Ask<'_>) -> Answered {
    let id = ask.at_hand.or(ask.items.first()).map(|message| message.id.clone()).unwrap_or_default();
    let reason = "no rule of the playbook matches, and there is no other engine";
    let text = match ask.role {
        Role::Orchestrator => format!("ESCALATE {id} {reason}\n"),
        _ => {
            let action = serde_json::json!([{"do": "escalate", "id": id, "reason": reason}]);
            format!("{reason}\n\n{}\n{action:#}\n```\n", crate::domain::live_state::opening_line(ask.nonce))
        }
    };
    Answered { engine: "rules".to_string(), text, cost_usd: Some(0.0), ..Answered::default() }
}

fn fill_in(text: &str, ask: &Ask<'_>) -> String {
    let id = ask.at_hand.or(ask.items.first()).map(|message| message.id.as_str()).unwrap_or("");
    text.replace("{{ nonce }}", ask.nonce).replace("{{ message_id }}", id)
}

/// A recorded answer carries the nonce of its own step.
fn renew_nonce(text: &str, nonce: &str) -> String {
    let Some((_, after)) = text.rsplit_once("```actions ") else { return text.to_string() };
    let old: String = after.chars().take_while(|c| c.is_ascii_alphanumeric()).collect();
    text.replace(&format!("```actions {old}"), &format!("```actions {nonce}"))
}
