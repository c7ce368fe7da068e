//! Judging an action by a charter: pure, three-valued, and the strictest rule wins.
//!
//! Every rule looks at the action and says nothing, `needs approval` or `refuse`, with a code and its own name, so
//! that a refusal can always be traced to a line of the charter. What needs the state of the organisation (whose
//! message, which limits are used up) is judged where that state is loaded.

use super::action::{Risk, find_spec};
use super::charter::{Charter, RECEIVED_EVERYWHERE};
use super::id::Dept;
use super::message::Provenance;
use super::role::Role;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::fmt;

/// What becomes of an action. Ordered: the strictest is the greatest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum Verdict {
    #[serde(rename = "allow")]
    Allow,
    #[serde(rename = "needs approval")]
    NeedsApproval,
    #[serde(rename = "refuse")]
    Refuse,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Verdict::Allow => "allow",
            Verdict::NeedsApproval => "needs approval",
            Verdict::Refuse => "refuse",
        })
    }
}

/// A verdict with the rule that gave it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Ruling {
    pub verdict: Verdict,
    pub code: &'static str,
    /// Where the rule stands, such as `charter.toml [sends]`.
    pub rule: String,
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// What a charter's rules need to know beside the action.
#[derive(Clone, Copy)]
pub struct Circumstances<'a> {
    pub dept: &'a Dept,
    pub role: Role,
    /// The least trusted of what led to the step.
    pub provenance: Provenance,
    /// Whether a department exists and receives a kind; not asked where there is none.
    pub receivers: Option<&'a Receivers<'a>>,
}

impl<'a> Circumstances<'a> {
    /// A worker, led by a department, with nobody asked who receives what.
    pub fn plain(dept: &'a Dept) -> Circumstances<'a> {
        Circumstances { dept, role: Role::Worker, provenance: Provenance::Department, receivers: None }
    }
}

/// Who receives what: a department's name and a kind, and what is known of it.
pub type Receivers<'a> = dyn Fn(&str, &str) -> Receiver + 'a;

/// What is known of a recipient.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Receiver {
    Receives,
    DoesNotReceive,
    Unknown,
}

/// Judges one action whose fields were checked.
pub fn judge_action(charter: &Charter, json: &Map<String, Value>, at: &Circumstances<'_>) -> Ruling {
    let mut rulings = Vec::new();
    judge_name(charter, json, at, &mut rulings);
    judge_sending(charter, json, at, &mut rulings);
    judge_approval(charter, json, at, &mut rulings);
    if let Some(inner) = json.get("action").and_then(Value::as_object) {
        // What the rules refuse can't be approved into being either.
        let inner = judge_action(charter, inner, at);
        if inner.verdict == Verdict::Refuse {
            rulings.push(inner);
        }
    }
    strictest(rulings).unwrap_or_else(|| Ruling {
        verdict: Verdict::Allow,
        code: "in_charter",
        rule: "charter.toml".to_string(),
        message: format!("`{}` is in the charter of `{}`", name_of(json), at.dept),
        hint: None,
    })
}

/// The strictest of some rulings; among equals, the first.
pub fn strictest(rulings: Vec<Ruling>) -> Option<Ruling> {
    rulings.into_iter().reduce(|worst, next| if next.verdict > worst.verdict { next } else { worst })
}

fn name_of(json: &Map<String, Value>) -> &str {
    json.get("do").and_then(Value::as_str).unwrap_or("")
}

/// The codes of the refusals that come from a charter, a role or the organisation alone, and not from a moment's state.
pub const REFUSALS: [&str; 6] = [
    "role_may_not",
    "action_not_in_charter",
    "kind_not_sent",
    "recipient_not_allowed",
    "kind_not_received",
    "no_such_department",
];

fn refuse(code: &'static str, rule: &str, message: String) -> Ruling {
    Ruling { verdict: Verdict::Refuse, code, rule: rule.to_string(), message, hint: None }
}

fn wait(code: &'static str, rule: &str, message: String) -> Ruling {
    Ruling { verdict: Verdict::NeedsApproval, code, rule: rule.to_string(), message, hint: None }
}

/// The actions a role may use at all; a role narrows the charter and never widens it.
pub fn role_may(role: Role, action: &str) -> bool {
    let only = find_spec(action).and_then(|spec| spec.role);
    match role {
        Role::Orchestrator => false,
        Role::Worker => only.is_none(),
        Role::Validator => matches!(action, "validate" | "comment_task" | "escalate"),
        Role::Documenter => matches!(action, "write_weekly" | "ask_human" | "remember" | "mark_message"),
        Role::Summarizer => matches!(action, "curate_memory" | "remember" | "mark_message"),
    }
}

/// The role that may use an action: its own, where it has one, else the worker.
pub fn role_of(action: &str) -> Role {
    find_spec(action).and_then(|spec| spec.role).unwrap_or(Role::Worker)
}

fn judge_name(
    charter: &Charter,
    json: &Map<String, Value>,
    at: &Circumstances<'_>,
    rulings: &mut Vec<Ruling>,
) {
    let name = name_of(json);
    if !role_may(at.role, name) {
        rulings.push(refuse("role_may_not", "roles", format!("the {} may not use `{name}`", at.role)));
    }
    if !charter.actions.iter().any(|known| known == name) {
        let message = format!("`{name}` is not among the actions in the charter of `{}`", at.dept);
        let mut ruling = refuse("action_not_in_charter", "charter.toml actions", message);
        ruling.hint = Some(format!("`{}` may use {}", at.dept, charter.actions.join(", ")));
        rulings.push(ruling);
    }
}

fn judge_sending(
    charter: &Charter,
    json: &Map<String, Value>,
    at: &Circumstances<'_>,
    rulings: &mut Vec<Ruling>,
) {
    if name_of(json) != "send_message" {
        return;
    }
    let kind = json.get("kind").and_then(Value::as_str).unwrap_or("");
    let to = json.get("to").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let Some(allowed) = charter.sends.get(kind) else {
        let what = if kind.is_empty() { "without a kind".to_string() } else { format!("of `{kind}`") };
        let message = format!("`send_message` {what} is not in the charter of `{}`", at.dept);
        let mut ruling = refuse("kind_not_sent", "charter.toml [sends]", message);
        let kinds: Vec<&str> = charter.sends.keys().map(String::as_str).collect();
        let kinds = if kinds.is_empty() { "nothing".to_string() } else { kinds.join(", ") };
        ruling.hint = Some(format!("`{}` may send {kinds}; see `harness charter show {}`", at.dept, at.dept));
        rulings.push(ruling);
        return;
    };
    for name in to.iter().filter_map(Value::as_str) {
        if !allowed.iter().any(|known| known == name) {
            let message =
                format!("`send_message` of `{kind}` to `{name}` is not in the charter of `{}`", at.dept);
            let mut ruling =
                refuse("recipient_not_allowed", &format!("charter.toml [sends] {kind}"), message);
            let names: Vec<String> = allowed.iter().map(|name| format!("`{name}`")).collect();
            let dept = at.dept;
            let names = if names.is_empty() { "nobody".to_string() } else { names.join(" and ") };
            ruling.hint =
                Some(format!("`{dept}` may send {kind} to {names}; see `harness charter show {dept}`"));
            rulings.push(ruling);
        }
        judge_receiver(kind, name, at, rulings);
    }
}

fn judge_receiver(kind: &str, name: &str, at: &Circumstances<'_>, rulings: &mut Vec<Ruling>) {
    let Some(receivers) = at.receivers else { return };
    match receivers(name, kind) {
        Receiver::Receives => {}
        Receiver::DoesNotReceive if RECEIVED_EVERYWHERE.contains(&kind) => {}
        Receiver::DoesNotReceive => {
            let message = format!("`{name}` does not receive `{kind}`");
            let rule = format!("charter.toml receives, of {name}");
            rulings.push(refuse("kind_not_received", &rule, message));
        }
        Receiver::Unknown => {
            let message = format!("there is no department `{name}`");
            rulings.push(refuse("no_such_department", "the organisation", message));
        }
    }
}

fn judge_approval(
    charter: &Charter,
    json: &Map<String, Value>,
    at: &Circumstances<'_>,
    rulings: &mut Vec<Ruling>,
) {
    let rules = &charter.approval;
    let name = name_of(json);
    if name == "request_approval" {
        // Asking a human needs no human's leave: how sure or risky the action is, is theirs to weigh.
        return;
    }
    let lists = |names: &[String]| names.iter().any(|known| known == name);
    if lists(&rules.actions) {
        rulings.push(wait(
            "action_needs_approval",
            "charter.toml [approval] actions",
            format!("`{name}` waits for a human"),
        ));
    }
    if let Some(kind) = json.get("kind").and_then(Value::as_str)
        && rules.kinds.iter().any(|known| known == kind)
    {
        rulings.push(wait(
            "kind_needs_approval",
            "charter.toml [approval] kinds",
            format!("a `{kind}` waits for a human"),
        ));
    }
    // Examples may leave confidence out; a real answer can't where it is required.
    let confidence = json.get("confidence").and_then(Value::as_u64).unwrap_or(100);
    let below = u64::from(rules.confidence_below);
    if confidence < below {
        let message = format!("its confidence is {confidence}, and below {below} a human decides");
        rulings.push(wait("confidence_low", "charter.toml [approval] confidence_below", message));
    }
    judge_budget(charter, json, rulings);
    let amount = ["amount_usd", "budget_usd"].iter().find_map(|key| json.get(*key).and_then(Value::as_f64));
    if let Some(amount) = amount
        && amount > rules.spend_above_usd
    {
        let message = format!("{amount} USD is above {} USD", rules.spend_above_usd);
        rulings.push(wait("spend_high", "charter.toml [approval] spend_above_usd", message));
    }
    if at.provenance == Provenance::External && lists(&rules.from_external) {
        let message = format!("`{name}` waits for a human, because an external message led to it");
        rulings.push(wait("external_led", "charter.toml [approval] from_external", message));
    }
    if at.provenance == Provenance::External && matches!(name, "create_project" | "update_project") {
        let message = "what an external message led to changes a project only with approval".to_string();
        rulings.push(wait("external_project", "projects", message));
    }
    if at.provenance == Provenance::External && name == "curate_memory" {
        let message = "what an external message led to enters curated memory only with approval".to_string();
        rulings.push(wait("external_memory", "memory", message));
    }
    let risk = json.get("risk").and_then(Value::as_str).and_then(Risk::parse);
    if risk.is_some_and(|risk| risk != Risk::None) {
        rulings.push(wait("risk_declared", "risk", "it is declared as risky or external".to_string()));
    }
}

/// A project's budget is money given, as a BudgetAllocation is: who may not give that, or only with a human's yes, sets
/// no budget by itself either.
fn judge_budget(charter: &Charter, json: &Map<String, Value>, rulings: &mut Vec<Ruling>) {
    if json.get("budget_usd").and_then(Value::as_f64).is_none_or(|usd| usd <= 0.0) {
        return;
    }
    let kind = "BudgetAllocation";
    if !charter.sends.contains_key(kind) || charter.approval.kinds.iter().any(|known| known == kind) {
        let message = "a budget waits for a human, as a `BudgetAllocation` does".to_string();
        rulings.push(wait("budget_needs_approval", "charter.toml [sends] and [approval] kinds", message));
    }
}
