//! Asking engines: the first of the list that answers, with what it cost.
//!
//! An engine that isn't there, is overloaded or out of quota is passed over for the next one; a bad answer is not, and
//! once an action has been planned nothing is asked again. Engines that start nothing (`rules`, `script`, `replay`)
//! take the same way.

use super::{Effects, Refused, Result, RunError, Shop};
use crate::domain::agent::Agent;
use crate::domain::board::Board;
use crate::domain::event::Event;
use crate::domain::gate::Reading;
use crate::domain::ledger::{NO_ENGINE, Refusal};
use crate::domain::message::Message;
use crate::domain::playbook::parse_playbook;
use crate::domain::portfolio::Portfolio;
use crate::domain::prompt::Prompt;
use crate::domain::role::{Mode, Role};
use crate::domain::settings::EngineSettings;
use crate::domain::text::one_line;
use crate::engines::{self, rules};
use crate::store::runs::Active;

/// How much of a refusal is told to the human.
const REASON_MAX: usize = 240;

/// What is asked.
pub struct Ask<'a> {
    pub run: &'a str,
    pub role: Role,
    pub mode: Mode,
    pub prompt: &'a Prompt,
    pub items: &'a [Message],
    pub at_hand: Option<&'a Message>,
    pub nonce: &'a str,
    /// The run to be shown as active; none for a job, which has files of its own.
    pub active: Option<&'a Active>,
    /// The agent whose engine is asked, where it is one's.
    pub agent: Option<&'a Agent>,
    /// The directives and projects there are.
    pub portfolio: &'a Portfolio,
    /// The department's board; none where an agent is asked.
    pub board: Option<&'a Board>,
    /// The try before this one; none on the first.
    pub before: Option<Before<'a>>,
}

/// An answer that was refused, and is to be put right.
#[derive(Clone, Copy)]
pub struct Before<'a> {
    pub engine: &'a str,
    pub refusals: &'a [Refusal],
}

impl Ask<'_> {
    /// What was refused for good in an answer of the rules: they would say the same again.
    fn rule_refused(&self) -> Option<&Refusal> {
        let before = self.before.filter(|before| before.engine == "rules")?;
        before.refusals.iter().find(|refusal| !PASSING.contains(&refusal.code.as_str()))
    }
}

/// The refusals that pass with time: an hour later the same answer may stand.
const PASSING: [&str; 5] =
    ["actions_per_hour", "actions_per_day", "messages_per_hour", "too_soon", "nudge_grace"];

/// What came of asking.
#[derive(Clone, Debug)]
pub enum Reply {
    Answered(Answered),
    /// An engine was asked and failed; what it said is kept.
    Failed {
        said: Answered,
        why: String,
    },
    /// One was asked and could not take the question, and then the gate, the budget or a limit said no.
    Held {
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
    #[serde(default)]
    pub cache_write_tokens: Option<u64>,
    pub cache_read_tokens: Option<u64>,
    pub output_tokens: Option<u64>,
    pub cost_usd: Option<f64>,
    pub counted_usd: f64,
    pub duration_s: f64,
    pub warnings: Vec<String>,
}

pub(super) enum Tried {
    Reply(Box<Reply>),
    /// Nothing was asked: the next one's turn.
    Next(String),
    /// It was asked and could not take the question: the next one's turn.
    Passed(Box<Answered>, String),
}

impl Shop<'_> {
    /// Asks the engines in their order.
    pub fn ask(&self, ask: &Ask<'_>) -> Result<Reply> {
        self.check_held(ask.at_hand)?;
        let mut passed: Vec<String> = Vec::new();
        let mut asked: Option<Answered> = None;
        for name in &self.engines {
            let tried = self.ask_one(name, ask);
            if let (Err(RunError::Refused(refused)), Some(said)) = (&tried, &asked) {
                passed.push(refused.to_string());
                return Ok(Reply::Held { said: said.clone(), why: passed.join("; ") });
            }
            let why = match tried? {
                Tried::Reply(mut reply) => {
                    asked.iter().for_each(|earlier| reply.said_mut().add(earlier));
                    return Ok(*reply);
                }
                Tried::Next(why) => why,
                Tried::Passed(mut said, why) => {
                    asked.iter().for_each(|earlier| said.add(earlier));
                    asked = Some(*said);
                    why
                }
            };
            passed.push(format!("{name}: {why}"));
        }
        if let Some(said) = asked {
            return Ok(Reply::Failed { said, why: passed.join("; ") });
        }
        if ask.rule_refused().is_some() || self.engines.iter().all(|name| name == "rules") {
            return Ok(Reply::Answered(no_rule(ask)));
        }
        let what = format!("{NO_ENGINE}: {}", passed.join("; "));
        Err(RunError::Refused(Refused::NoEngine { what, not_before: self.not_before()? }))
    }

    /// Asks one engine. The gate is read anew for each: the one before it may have taken minutes to say no.
    pub(super) fn ask_one(&self, name: &str, ask: &Ask<'_>) -> Result<Tried> {
        self.check_gate(Reading::Engine)?;
        self.check_paused()?;
        let tried = self.try_engine(name, ask)?;
        if !matches!(tried, Tried::Next(_)) {
            self.asked.set(self.asked.get() + 1);
        }
        Ok(tried)
    }

    fn try_engine(&self, name: &str, ask: &Ask<'_>) -> Result<Tried> {
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

    pub(super) fn tell_step(&self, engine: &str, ask: &Ask<'_>) {
        let item = ask.at_hand.map(|message| message.id.as_str());
        self.tell(&Event::Step { role: ask.role.name(), mode: ask.mode.name(), engine, item });
    }

    fn ask_rules(&self, ask: &Ask<'_>) -> Result<Tried> {
        if ask.rule_refused().is_some() {
            return Ok(Tried::Next("what its rule says was refused".to_string()));
        }
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
            agent: ask.agent,
            portfolio: ask.portfolio,
            board: ask.board,
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
            Effects::CarriedOut => self.department.next_script(path, ask.role.name())?,
            Effects::Shown => {
                let ahead = self.shown_scripts.replace(self.shown_scripts.get() + 1);
                self.department.peek_script(path, ask.role.name(), ahead)?
            }
        };
        let Some(text) = text else {
            return Ok(Tried::Next(format!("{folder} has no further answer")));
        };
        self.tell_step(name, ask);
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
                self.tell_step("replay", ask);
                Ok(answered("replay", renew_nonce(&text, ask.nonce)))
            }
            None => Ok(Tried::Next(format!("{run} has no answer to this step"))),
        }
    }
}

impl Reply {
    fn said_mut(&mut self) -> &mut Answered {
        match self {
            Reply::Answered(said) | Reply::Cancelled(said) => said,
            Reply::Failed { said, .. } | Reply::Held { said, .. } => said,
        }
    }
}

impl Answered {
    /// Adds what was asked before it cost.
    pub(super) fn add(&mut self, earlier: &Answered) {
        let sum = |a: Option<u64>, b: Option<u64>| a.zip(b).map(|(a, b)| a + b).or(a).or(b);
        self.input_tokens = sum(self.input_tokens, earlier.input_tokens);
        self.cache_write_tokens = sum(self.cache_write_tokens, earlier.cache_write_tokens);
        self.cache_read_tokens = sum(self.cache_read_tokens, earlier.cache_read_tokens);
        self.output_tokens = sum(self.output_tokens, earlier.output_tokens);
        // Unknown and known add up to unknown, counted at what both are counted for.
        self.cost_usd = self.cost_usd.zip(earlier.cost_usd).map(|(a, b)| a + b);
        self.counted_usd += earlier.counted_usd;
        self.duration_s += earlier.duration_s;
    }

    pub(super) fn fill(&mut self, usage: &engines::Usage, cost: engines::Cost, settings: &EngineSettings) {
        self.input_tokens = usage.input_tokens;
        self.cache_write_tokens = usage.cache_write_tokens;
        self.cache_read_tokens = usage.cache_read_tokens;
        self.output_tokens = usage.output_tokens;
        (self.cost_usd, self.counted_usd) = match cost {
            engines::Cost::Known(usd) => (Some(usd), usd),
            engines::Cost::Unknown => (None, settings.worst_case_usd),
        };
    }
}

fn answered(engine: &str, text: String) -> Tried {
    let said = Answered { engine: engine.to_string(), text, cost_usd: Some(0.0), ..Answered::default() };
    Tried::Reply(Box::new(Reply::Answered(said)))
}

/// Where no engine but the rules can be asked, what they don't cover is the human's, and so is what they say that the
/// tool refuses: tried again and again, it would hold up all that came after it.
fn no_rule(ask: &Ask<'_>) -> Answered {
    let is_help = |message: &&Message| message.item.as_ref().is_some_and(|item| item.kind.is_help());
    let open = ask.items.iter().find(|message| !is_help(message));
    let on_table = if ask.role == Role::Orchestrator { open } else { ask.at_hand.or(open) };
    let reason = match ask.rule_refused() {
        None => "no rule of the playbook matches, and there is no other engine".to_string(),
        Some(Refusal { code, message }) => {
            let why = one_line(&format!("{code}: {message}"), REASON_MAX);
            format!("what the playbook's rule answers is refused, and no other engine can be asked; {why}")
        }
    };
    // Help is good to have: where no rule asks for it, nobody needs to hear of it.
    let needed = on_table.filter(|message| !is_help(message)).map(|message| message.id.as_str());
    let text = match (ask.role, needed) {
        (Role::Orchestrator, None) if !ask.items.is_empty() => {
            "No rule asks for help here.\n\nDONE\n".to_string()
        }
        (Role::Orchestrator, id) => format!("ESCALATE {} {reason}\n", id.unwrap_or_default()),
        (_, id) => {
            let action =
                serde_json::json!({"do": "escalate", "id": id.unwrap_or_default(), "reason": reason});
            let helps = id.is_none() && on_table.is_some();
            let actions = serde_json::Value::Array(if helps { Vec::new() } else { vec![action] });
            format!("{reason}\n\n{}\n{actions:#}\n```\n", crate::domain::live_state::opening_line(ask.nonce))
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
