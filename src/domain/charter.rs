//! A department's charter: the rules that the tool enforces, as they stand in `charter.toml`.
//!
//! A key it doesn't know is refused, because a rule that is written down and not read is worse than none. Judging an
//! action by these rules is `verdict`'s.

use super::action::{ACTIONS, Missing, check_fields, find_spec};
use super::id::{Dept, nearest};
use super::message::is_kind;
use super::verdict::{Circumstances, Verdict, judge_action};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;

/// The newest format this program knows.
pub const CHARTER_SCHEMA: u64 = 1;
/// The shortest prose that counts as a charter.
pub const PROSE_MIN: usize = 100;
/// Kinds that every department receives, named in no charter.
pub const RECEIVED_EVERYWHERE: [&str; 3] = ["Note", "Answer", "System"];

/// The rules of one department.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Charter {
    /// The format of this file: 1.
    pub schema: u64,
    /// The department's name; the folder is `org-<department>`.
    pub department: String,
    /// What it is there for, in a sentence.
    pub mandate: String,
    /// The kinds of message it receives, beside Note, Answer and System.
    pub receives: Vec<String>,
    /// The actions it may use.
    pub actions: Vec<String>,
    /// For each kind it may send, the departments that may get it.
    pub sends: BTreeMap<String, Vec<String>>,
    /// How much it may do; what isn't named has the value shown here.
    #[serde(default)]
    pub limits: Limits,
    /// Rules of its board.
    #[serde(default)]
    pub board: Board,
    /// What waits for a human.
    #[serde(default)]
    pub approval: Approval,
    /// Actions with the verdict they must get; checked when the charter is loaded.
    #[serde(default, rename = "example")]
    pub examples: Vec<Example>,
}

/// How much a department may do. Limits are inclusive.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    pub actions_per_step: u64,
    pub actions_per_hour: u64,
    pub actions_per_day: u64,
    pub messages_per_hour: u64,
    pub messages_per_thread: u64,
    pub thread_hops: u64,
    pub steps_per_run: u64,
    pub runs_per_hour: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            actions_per_step: 12,
            actions_per_hour: 60,
            actions_per_day: 300,
            messages_per_hour: 30,
            messages_per_thread: 40,
            thread_hops: 12,
            steps_per_run: 30,
            runs_per_hour: 30,
        }
    }
}

impl Limits {
    pub fn named(&self) -> [(&'static str, u64); 8] {
        [
            ("actions_per_step", self.actions_per_step),
            ("actions_per_hour", self.actions_per_hour),
            ("actions_per_day", self.actions_per_day),
            ("messages_per_hour", self.messages_per_hour),
            ("messages_per_thread", self.messages_per_thread),
            ("thread_hops", self.thread_hops),
            ("steps_per_run", self.steps_per_run),
            ("runs_per_hour", self.runs_per_hour),
        ]
    }
}

/// What a task needs before it is done, and how many agents there may be.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Board {
    /// `validator`, `approval`, or both.
    pub done_needs: Vec<DoneNeeds>,
    pub agents_max: u64,
}

impl Default for Board {
    fn default() -> Board {
        Board { done_needs: vec![DoneNeeds::Validator], agents_max: 8 }
    }
}

/// One thing that a task needs before it is done.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum DoneNeeds {
    Validator,
    Approval,
}

/// What waits for a human.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Approval {
    /// An action with less confidence than this waits.
    pub confidence_below: u8,
    /// Messages of these kinds wait.
    pub kinds: Vec<String>,
    /// These actions wait.
    pub actions: Vec<String>,
    /// An amount above this waits.
    pub spend_above_usd: f64,
    /// These actions wait when an external message led to them.
    pub from_external: Vec<String>,
    /// How long a request stays open.
    pub expires_hours: u64,
}

impl Default for Approval {
    fn default() -> Approval {
        Approval {
            confidence_below: 70,
            kinds: vec!["BudgetAllocation".to_string()],
            actions: vec!["dispatch".to_string()],
            spend_above_usd: 500.0,
            from_external: vec!["send_message".to_string(), "dispatch".to_string()],
            expires_hours: 72,
        }
    }
}

/// An action and the verdict it must get. Confidence counts as 100 where it isn't given.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Example {
    /// The action, with as many of its fields as the rule needs.
    #[cfg_attr(test, schemars(with = "std::collections::BTreeMap<String, serde_json::Value>"))]
    pub action: toml::Table,
    /// `allow`, `needs approval` or `refuse`.
    pub verdict: Verdict,
}

/// Why a charter can't be used. Until it can, everything is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CharterFault {
    Toml { line: Option<usize>, what: String },
    Schema(i64),
    Department { found: String, expected: String },
    Value { key: String, what: String },
    Example { number: usize, what: String },
    Prose(usize),
}

impl fmt::Display for CharterFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CharterFault::Toml { line: Some(line), what } => write!(f, "line {line}: {what}"),
            CharterFault::Toml { line: None, what } => f.write_str(what),
            CharterFault::Schema(found) => {
                write!(f, "its schema is {found}, and this program knows {CHARTER_SCHEMA}")
            }
            CharterFault::Department { found, expected } => {
                write!(f, "it is the charter of `{found}`, in the folder of `{expected}`")
            }
            CharterFault::Value { key, what } => write!(f, "`{key}` {what}"),
            CharterFault::Example { number, what } => write!(f, "example {number}: {what}"),
            CharterFault::Prose(found) => {
                write!(
                    f,
                    "its prose has {found} characters; a charter that says less than {PROSE_MIN} refuses everything"
                )
            }
        }
    }
}

/// Reads the rules, checks every name in them, and judges the examples.
pub fn parse_charter(text: &str, dept: &Dept) -> Result<Charter, CharterFault> {
    // The schema is looked at first: a newer file may well have keys that are unknown here.
    if let Some(schema) = other_schema(text, CHARTER_SCHEMA) {
        return Err(CharterFault::Schema(schema));
    }
    let charter: Charter = toml::from_str(text).map_err(|error| toml_fault(text, &error))?;
    if charter.department != dept.as_str() {
        let found = super::text::one_line(&charter.department, 63);
        return Err(CharterFault::Department { found, expected: dept.to_string() });
    }
    charter.check_names()?;
    charter.check_examples(dept)?;
    Ok(charter)
}

/// The `schema` of a TOML file, where it is another than the one that is known.
pub fn other_schema(text: &str, known: u64) -> Option<i64> {
    let table = text.parse::<toml::Table>().ok()?;
    let schema = table.get("schema")?.as_integer()?;
    (u64::try_from(schema) != Ok(known)).then_some(schema)
}

/// A TOML error with its line, in one sentence.
pub fn toml_fault(text: &str, error: &toml::de::Error) -> CharterFault {
    let line = error.span().map(|span| text[..span.start.min(text.len())].matches('\n').count() + 1);
    CharterFault::Toml { line, what: super::text::one_line(error.message(), 300) }
}

/// Whether the prose is long enough to be one.
pub fn check_prose(prose: &str) -> Result<(), CharterFault> {
    match prose.trim().chars().count() {
        count if count < PROSE_MIN => Err(CharterFault::Prose(count)),
        _ => Ok(()),
    }
}

fn value_fault<T>(key: &str, what: String) -> Result<T, CharterFault> {
    Err(CharterFault::Value { key: key.to_string(), what })
}

impl Charter {
    pub fn receives(&self, kind: &str) -> bool {
        RECEIVED_EVERYWHERE.contains(&kind) || self.receives.iter().any(|known| known == kind)
    }

    fn check_names(&self) -> Result<(), CharterFault> {
        let kinds = self.receives.iter().map(|kind| ("receives", kind));
        let kinds = kinds.chain(self.sends.keys().map(|kind| ("sends", kind)));
        for (key, kind) in kinds.chain(self.approval.kinds.iter().map(|kind| ("approval.kinds", kind))) {
            if !is_kind(kind) {
                return value_fault(
                    key,
                    format!("names `{}`, which can't be a kind", super::text::one_line(kind, 40)),
                );
            }
        }
        for (kind, to) in &self.sends {
            for name in to {
                Dept::parse(name)
                    .or_else(|fault| value_fault(&format!("sends.{kind}"), format!("names {fault}")))?;
            }
        }
        let lists = [
            ("actions", &self.actions),
            ("approval.actions", &self.approval.actions),
            ("approval.from_external", &self.approval.from_external),
        ];
        for (key, names) in lists {
            check_action_names(key, names)?;
        }
        self.check_numbers()
    }

    fn check_numbers(&self) -> Result<(), CharterFault> {
        if self.approval.confidence_below > 100 {
            return value_fault("approval.confidence_below", "is more than 100".to_string());
        }
        if !self.approval.spend_above_usd.is_finite() || self.approval.spend_above_usd < 0.0 {
            return value_fault("approval.spend_above_usd", "must be a number of USD, 0 or more".to_string());
        }
        if !(1..=8_760).contains(&self.approval.expires_hours) {
            return value_fault("approval.expires_hours", "must be from 1 to 8760".to_string());
        }
        Ok(())
    }

    fn check_examples(&self, dept: &Dept) -> Result<(), CharterFault> {
        for (index, example) in self.examples.iter().enumerate() {
            let fault = |what: String| CharterFault::Example { number: index + 1, what };
            let json = serde_json::to_value(&example.action).map_err(|error| fault(error.to_string()))?;
            let json = json.as_object().cloned().unwrap_or_default();
            check_fields(&json, Missing::Allowed)
                .map_err(|faults| fault(faults.first().map(ToString::to_string).unwrap_or_default()))?;
            let ruling = judge_action(self, &json, &Circumstances::plain(dept));
            if ruling.verdict != example.verdict {
                return Err(fault(format!(
                    "should be `{}`, but the rules say `{}` ({}: {})",
                    example.verdict, ruling.verdict, ruling.code, ruling.message
                )));
            }
        }
        Ok(())
    }
}

fn check_action_names(key: &str, names: &[String]) -> Result<(), CharterFault> {
    let Some(name) = names.iter().find(|name| find_spec(name).is_none()) else { return Ok(()) };
    let near = nearest(name, ACTIONS.iter().map(|spec| spec.name));
    let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    value_fault(key, format!("names `{}`, which is no action{near}", super::text::one_line(name, 60)))
}
