//! The playbook: rules by which the embedded engine answers routine mail, in the protocol of any model.
//!
//! Each rule has `when` (which messages), `decision` (what the orchestrator says of them) and `actions` (what the worker
//! answers), whose texts are templates that see the message. The first rule that matches wins; where none does, the
//! next engine is asked.

mod actions;
mod values;

pub use actions::render_actions;
pub use values::{message_values, work_values};

use super::action::find_spec;
use super::agent::Agent;
use super::board::ItemKind;
use super::charter::{other_schema, toml_fault};
use super::message::{Message, Status};
use super::task::Section;
use super::template::render_text;
use super::time::{Time, parse_span};
use serde::Deserialize;
use std::fmt;
use values::sample_values;

/// The newest format this program knows.
pub const PLAYBOOK_SCHEMA: u64 = 1;
/// The longest text that one field may render to.
const FIELD_MAX: usize = 256 * 1024;
/// The decisions that a rule may name.
const DECISIONS: [&str; 4] = ["NEXT_WORKER", "NEXT_WORKER_CEO_MODE", "NEXT_VALIDATOR", "ESCALATE"];

/// `playbook.toml`.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Playbook {
    pub schema: u64,
    #[serde(default, rename = "rule")]
    pub rules: Vec<Rule>,
    /// What agents whose engine is `rules` answer to their tasks.
    #[serde(default)]
    pub work: Vec<WorkRule>,
}

/// What an agent hands back for a task.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct WorkRule {
    pub name: String,
    #[serde(default)]
    pub when: WorkWhen,
    /// The result, a template that sees the task and the agent.
    pub result: String,
}

/// Which agents and tasks a result is for; every key that is given must match.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct WorkWhen {
    pub agent: OneOrMany,
    pub role: OneOrMany,
    /// With `*` for any text; the case of letters doesn't matter.
    pub title: Option<String>,
}

/// One rule.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    pub name: String,
    pub decision: String,
    pub why: String,
    pub when: When,
    #[serde(default)]
    pub actions: Vec<toml::Table>,
}

/// Which messages a rule is for; every key that is given must match.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct When {
    pub kind: OneOrMany,
    pub from: OneOrMany,
    /// With `*` for any text; the case of letters doesn't matter.
    pub subject: Option<String>,
    pub status: OneOrMany,
    /// At least this old: `30m`, `2h`, `1d`.
    pub age: Option<String>,
    /// For tasks of the board: why they are eligible, such as `delegate` or `review`. Without it a rule is for mail.
    pub item: OneOrMany,
    pub owner: OneOrMany,
    pub verdict: OneOrMany,
    /// Sections of the task in which something was said, all of them.
    pub said: OneOrMany,
}

/// A text or a list of texts; empty matches everything.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(untagged)]
pub enum OneOrMany {
    #[default]
    Any,
    One(String),
    Many(Vec<String>),
}

impl OneOrMany {
    fn is_given(&self) -> bool {
        *self != OneOrMany::Any
    }

    fn matches(&self, text: &str) -> bool {
        match self {
            OneOrMany::Any => true,
            OneOrMany::One(one) => one == text,
            OneOrMany::Many(many) => many.iter().any(|one| one == text),
        }
    }

    fn items(&self) -> Vec<&str> {
        match self {
            OneOrMany::Any => Vec::new(),
            OneOrMany::One(one) => vec![one],
            OneOrMany::Many(many) => many.iter().map(String::as_str).collect(),
        }
    }
}

/// Why a playbook can't be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlaybookFault(pub String);

impl fmt::Display for PlaybookFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Reads and checks a playbook; every template in it must render for some message.
pub fn parse_playbook(text: &str) -> Result<Playbook, PlaybookFault> {
    if let Some(found) = other_schema(text, PLAYBOOK_SCHEMA) {
        return Err(PlaybookFault(format!(
            "its schema is {found}, and this program knows {PLAYBOOK_SCHEMA}"
        )));
    }
    let playbook: Playbook =
        toml::from_str(text).map_err(|error| PlaybookFault(toml_fault(text, &error).to_string()))?;
    for (index, rule) in playbook.rules.iter().enumerate() {
        let fault =
            |what: String| PlaybookFault(format!("rule `{}`: {what}", super::text::one_line(&rule.name, 60)));
        if playbook.rules[..index].iter().any(|other| other.name == rule.name) {
            return Err(fault("its name is taken".to_string()));
        }
        rule.check().map_err(fault)?;
    }
    for work in &playbook.work {
        let fault =
            |what: String| PlaybookFault(format!("work `{}`: {what}", super::text::one_line(&work.name, 60)));
        render_text(&work.result, &sample_values(), FIELD_MAX).map_err(fault)?;
    }
    Ok(playbook)
}

impl Rule {
    fn check(&self) -> Result<(), String> {
        if !DECISIONS.contains(&self.decision.as_str()) {
            return Err(format!("`decision` must be one of {}", DECISIONS.join(", ")));
        }
        if self.why.trim().chars().count() < super::action_shape::REASON_MIN {
            return Err("`why` must say why, in at least 10 characters".to_string());
        }
        self.when.check()?;
        let (acts, checks) = (self.decision.starts_with("NEXT_WORKER"), self.decision == "NEXT_VALIDATOR");
        if acts == self.actions.is_empty() && !checks {
            let what = if acts { "needs `actions`" } else { "can't have `actions`" };
            return Err(format!("a rule that decides {} {what}", self.decision));
        }
        for (index, action) in self.actions.iter().enumerate() {
            let name = action.get("do").and_then(toml::Value::as_str).unwrap_or("");
            if find_spec(name).is_none() {
                return Err(format!(
                    "action {} is `{}`, which is no action",
                    index + 1,
                    super::text::one_line(name, 40)
                ));
            }
            actions::check_action(action, &sample_values())
                .map_err(|what| format!("action {}: {what}", index + 1))?;
        }
        Ok(())
    }
}

impl When {
    fn check(&self) -> Result<(), String> {
        let given = self.kind.is_given()
            || self.from.is_given()
            || self.status.is_given()
            || self.subject.is_some()
            || self.item.is_given()
            || self.age.is_some();
        if !given {
            return Err("`when` must say which messages it is for".to_string());
        }
        let of_tasks = self.owner.is_given() || self.verdict.is_given() || self.said.is_given();
        if of_tasks && !self.item.is_given() {
            return Err("`when.owner`, `verdict` and `said` are for tasks: give `when.item` too".to_string());
        }
        let known = |item: &&&str| ItemKind::parse(item).is_none();
        if let Some(item) = self.item.items().iter().find(known) {
            return Err(format!("`when.item` can't be `{}`", super::text::one_line(item, 40)));
        }
        if let Some(section) = self.said.items().iter().find(|section| Section::parse(section).is_none()) {
            return Err(format!("`when.said` can't be `{}`", super::text::one_line(section, 40)));
        }
        if let Some(status) = self.status.items().iter().find(|status| Status::parse(status).is_none()) {
            return Err(format!("`when.status` can't be `{}`", super::text::one_line(status, 40)));
        }
        match &self.age {
            Some(age) if parse_span(age).is_none() => {
                Err("`when.age` must be such as 30m, 2h or 1d".to_string())
            }
            _ => Ok(()),
        }
    }

    /// Whether a message is meant.
    pub fn matches(&self, message: &Message, now: Time) -> bool {
        let old_enough = self
            .age
            .as_deref()
            .and_then(parse_span)
            .is_none_or(|seconds| (now - message.created).num_seconds() >= seconds);
        let of_task = match &message.item {
            None => !self.item.is_given(),
            Some(item) => {
                self.item.is_given()
                    && self.item.matches(item.kind.name())
                    && self.owner.matches(&item.owner)
                    && self.verdict.matches(&item.verdict)
                    && self.said.items().iter().all(|section| item.said.contains(section))
            }
        };
        of_task
            && old_enough
            && self.kind.matches(&message.kind)
            && self.from.matches(&message.from)
            && self.status.matches(message.status.name())
            && self
                .subject
                .as_ref()
                .is_none_or(|glob| glob_matches(&glob.to_lowercase(), &message.subject.to_lowercase()))
    }
}

/// `*` stands for any text. Linear: the last `*` is the only place to come back to.
fn glob_matches(glob: &str, text: &str) -> bool {
    let parts: Vec<&str> = glob.split('*').collect();
    let (Some(first), Some(last)) = (parts.first(), parts.last()) else { return glob == text };
    if parts.len() == 1 {
        return glob == text;
    }
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    for part in &parts[1..parts.len() - 1] {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.len() >= last.len() && rest.ends_with(last)
}

impl Playbook {
    /// The first rule for a message.
    pub fn find_rule(&self, message: &Message, now: Time) -> Option<&Rule> {
        self.rules.iter().find(|rule| rule.when.matches(message, now))
    }

    /// What an agent hands back for a task; none where no rule is for it.
    pub fn find_work(&self, agent: &Agent, task: &Message) -> Option<&WorkRule> {
        let title = task.subject.to_lowercase();
        self.work.iter().find(|work| {
            work.when.agent.matches(&agent.name)
                && work.when.role.matches(&agent.role)
                && work.when.title.as_ref().is_none_or(|glob| glob_matches(&glob.to_lowercase(), &title))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(rule: &str, fault: Option<&str>) {
        let found =
            parse_playbook(&format!("schema = 1\n[[rule]]\nname = \"a\"\nwhy = \"because of that\"\n{rule}"));
        match (found, fault) {
            (Ok(_), None) => {}
            (Err(found), Some(fault)) => assert!(found.0.contains(fault), "{found}"),
            (found, _) => panic!("{rule}: {found:?}"),
        }
    }

    const ACTION: &str = "[[rule.actions]]\ndo = \"mark_message\"\nid = \"{{ message.id }}\"\n";

    #[test]
    fn rules_are_checked_when_they_are_read() {
        check(&format!("decision = \"NEXT_WORKER\"\nwhen = {{ kind = \"Note\" }}\n{ACTION}"), None);
        check("decision = \"ESCALATE\"\nwhen = { age = \"2h\" }", None);
        check("decision = \"DONE\"\nwhen = { kind = \"Note\" }", Some("decision"));
        check("decision = \"ESCALATE\"\nwhen = {}", Some("which messages"));
        check("decision = \"ESCALATE\"\nwhen = { kinds = \"Note\" }", Some("unknown field"));
        check("decision = \"ESCALATE\"\nwhen = { age = \"soon\" }", Some("when.age"));
        check("decision = \"NEXT_WORKER\"\nwhen = { kind = \"Note\" }", Some("needs `actions`"));
        check(
            &format!("decision = \"ESCALATE\"\nwhen = {{ kind = \"Note\" }}\n{ACTION}"),
            Some("can't have"),
        );
        let action = ACTION.replace("message.id", "message.nothing");
        check(
            &format!("decision = \"NEXT_WORKER\"\nwhen = {{ kind = \"Note\" }}\n{action}"),
            Some("not defined"),
        );
        let action = ACTION.replace("mark_message", "mark");
        check(
            &format!("decision = \"NEXT_WORKER\"\nwhen = {{ kind = \"Note\" }}\n{action}"),
            Some("no action"),
        );
    }

    #[test]
    fn globs_match_any_text() {
        let check = |glob: &str, text: &str, expected: bool| {
            assert_eq!(glob_matches(glob, text), expected, "{glob} {text}")
        };
        check("stop *", "stop it", true);
        check("*launch*", "the launch of it", true);
        check("a*b*c", "axxbyyc", true);
        check("a*b*c", "acb", false);
        check("ab*ba", "aba", false);
        check("same", "same", true);
        check("", "", true);
        check("*", "", true);
        check(&"*a".repeat(50), &"a".repeat(49), false);
    }
}
