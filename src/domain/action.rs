//! The actions: one table of their fields, and the values they become.
//!
//! [`ACTIONS`] is the only list. The parser, the JSON Schema, the closers' "what is open to you" and the charter's
//! `actions` all read it, so a field that the executor doesn't know can't be accepted and one it needs can't be
//! missing. What is allowed is not decided here: see `charter` and `verdict`.

mod act;
mod board;
mod read;
mod table;

pub use act::Act;
pub use read::parse_action;
pub use table::{ACTIONS, RUBRIC};

use super::role::Role;
use serde_json::{Map, Value};
use std::fmt;

/// What a field may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One line of at most 200 characters.
    Line,
    /// Text of any length up to the body's.
    Text,
    /// The id of something that exists, or a name.
    Id,
    /// A list of ids.
    Ids,
    /// A list of department names, at least one.
    Departments,
    /// A list of ids, at least one, or one id.
    IdOrIds,
    /// 2 to 5 parts of a task: each a title and a description, and perhaps a priority.
    Parts,
    /// A validator's verdict. A word that is none counts as a fail, so every word is taken.
    Verdict,
    /// A list of lines.
    Lines,
    /// A message's kind.
    Kind,
    /// Money, not negative.
    Usd,
    /// Names and texts.
    Args,
    /// An action of its own.
    Action,
    /// The six points of a rubric.
    Rubric,
    /// An RFC 3339 time.
    Time,
    /// One of these words.
    OneOf(&'static [&'static str]),
}

impl Shape {
    /// What it is in JSON, for whoever writes one; a time is text of its own form.
    pub fn form(self) -> &'static str {
        match self {
            Shape::Ids | Shape::Departments | Shape::IdOrIds | Shape::Parts | Shape::Lines => "list",
            Shape::Usd => "number",
            Shape::Args | Shape::Action | Shape::Rubric => "object",
            Shape::Time => "time",
            _ => "text",
        }
    }

    /// The only words that count in it, where it takes no others.
    pub fn words(self) -> &'static [&'static str] {
        match self {
            Shape::OneOf(words) => words,
            Shape::Verdict => &["pass", "fail", "not_run"],
            Shape::Rubric => &RUBRIC,
            _ => &[],
        }
    }
}

/// One field of an action.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    pub name: &'static str,
    pub shape: Shape,
}

/// One kind of action.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    pub name: &'static str,
    /// Whether `confidence` is required.
    pub confidence: bool,
    /// The only role that may use it, where there is one.
    pub role: Option<Role>,
    pub required: &'static [Field],
    pub optional: &'static [Field],
}

/// The fields that every action may carry beside its own.
const COMMON: [&str; 4] = ["do", "reason", "confidence", "risk"];

pub fn find_spec(name: &str) -> Option<&'static Spec> {
    ACTIONS.iter().find(|spec| spec.name == name)
}

/// How risky the director itself calls an action. Anything but `none` needs approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Risk {
    None,
    Risky,
    External,
}

impl Risk {
    pub fn parse(text: &str) -> Option<Risk> {
        match text {
            "none" => Some(Risk::None),
            "risky" => Some(Risk::Risky),
            "external" => Some(Risk::External),
            _ => None,
        }
    }
}

/// A whole action: checked in shape, not yet judged.
#[derive(Clone, Debug, PartialEq)]
pub struct Action {
    pub act: Act,
    pub reason: String,
    pub confidence: Option<u8>,
    pub risk: Risk,
    /// The action as it was given, for its hash and for records.
    pub json: Map<String, Value>,
}

/// What is wrong with one action; the model gets the sentence back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionFault {
    pub code: &'static str,
    pub field: String,
    pub what: String,
}

impl fmt::Display for ActionFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.field.is_empty() {
            write!(f, "{}", self.what)
        } else {
            write!(f, "`{}` {}", self.field, self.what)
        }
    }
}

pub(super) fn fault(code: &'static str, field: &str, what: impl Into<String>) -> ActionFault {
    ActionFault { code, field: super::text::one_line(field, 60), what: what.into() }
}

/// Checks the names of an action's fields; `Missing::Allowed` is for a charter's examples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    Refused,
    Allowed,
}

/// Every fault of an action's fields, or none.
pub fn check_fields(json: &Map<String, Value>, missing: Missing) -> Result<&'static Spec, Vec<ActionFault>> {
    let Some(name) = json.get("do").and_then(Value::as_str) else {
        return Err(vec![fault("missing_field", "do", "is missing: it names the action")]);
    };
    let Some(spec) = find_spec(name) else {
        let near = super::id::nearest(name, ACTIONS.iter().map(|spec| spec.name));
        let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        let name = super::text::one_line(name, 60);
        return Err(vec![fault("unknown_action", "do", format!("is `{name}`, which is no action{near}"))]);
    };
    let mut faults = unknown_fields(spec, json);
    if missing == Missing::Refused {
        faults.extend(missing_fields(spec, json));
    }
    for field in spec.required.iter().chain(spec.optional) {
        if let Some(value) = json.get(field.name)
            && let Err(what) = super::action_shape::check(field.shape, value)
        {
            faults.push(fault("bad_field", field.name, what));
        }
    }
    faults.extend(super::action_shape::check_common(json, missing));
    if faults.is_empty() { Ok(spec) } else { Err(faults) }
}

fn unknown_fields(spec: &Spec, json: &Map<String, Value>) -> Vec<ActionFault> {
    let fields = || spec.required.iter().chain(spec.optional).map(|field| field.name);
    let known = |name: &str| COMMON.contains(&name) || fields().any(|field| field == name);
    let unknown = json.keys().filter(|name| !known(name));
    unknown
        .map(|name| match name.as_str() {
            "from" => fault("from_given", name, "is never given: the tool knows who answers"),
            _ => {
                let near = super::id::nearest(name, fields().chain(COMMON));
                let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
                fault("unknown_field", name, format!("is not a field of {}{near}", spec.name))
            }
        })
        .collect()
}

fn missing_fields(spec: &Spec, json: &Map<String, Value>) -> Vec<ActionFault> {
    let missing = |name: &str| json.get(name).is_none_or(Value::is_null);
    let mut faults: Vec<ActionFault> = spec
        .required
        .iter()
        .filter(|field| missing(field.name))
        .map(|field| fault("missing_field", field.name, format!("is missing in {}", spec.name)))
        .collect();
    if missing("reason") {
        faults.push(fault("missing_field", "reason", "is missing: why, in at least 10 characters"));
    }
    if spec.confidence && missing("confidence") {
        faults.push(fault("missing_field", "confidence", format!("is missing in {}: 0 to 100", spec.name)));
    }
    if spec.name == "request_approval" && missing("rubric") && missing("confidence") {
        faults.push(fault("missing_field", "rubric", "is missing: give a rubric or a confidence"));
    }
    let allocates = json.get("kind").and_then(Value::as_str) == Some("BudgetAllocation");
    if allocates && (missing("amount_usd") || json.get("amount_usd").and_then(Value::as_f64) == Some(0.0)) {
        faults.push(fault("missing_field", "amount_usd", "is missing: a BudgetAllocation says how much"));
    }
    if spec.name == "remember" && json.get("tags").and_then(Value::as_array).is_some_and(Vec::is_empty) {
        faults.push(fault("missing_field", "tags", "is empty: an entry has at least one tag"));
    }
    faults
}
