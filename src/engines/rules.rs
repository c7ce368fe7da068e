//! The embedded engine: it answers from the playbook, in the same protocol as any model, and starts nothing.

use crate::domain::agent::Agent;
use crate::domain::board::Board;
use crate::domain::live_state::opening_line;
use crate::domain::message::Message;
use crate::domain::playbook::{Playbook, message_values, render_actions, work_values};
use crate::domain::portfolio::Portfolio;
use crate::domain::role::Role;
use crate::domain::template::render_text;
use crate::domain::time::Time;
use serde_json::Value;

/// The longest result of an agent.
const RESULT_MAX: usize = 64 * 1024;

/// In `not_twin_of`: every open task that the board holds to be much like the new one.
const NEAR: &str = "near";

/// What the rules are asked.
#[derive(Clone, Debug)]
pub struct Question<'a> {
    pub dept: &'a str,
    pub role: Role,
    /// The open messages that a decision may name, oldest first.
    pub items: &'a [Message],
    pub at_hand: Option<&'a Message>,
    pub nonce: &'a str,
    pub now: Time,
    /// The agent that is asked about the task at hand; none where it is the director.
    pub agent: Option<&'a Agent>,
    /// The directives and projects there are.
    pub portfolio: &'a Portfolio,
    /// The board; none where an agent is asked.
    pub board: Option<&'a Board>,
}

/// The answer of the first rule that matches; none where no rule does.
pub fn answer(playbook: &Playbook, question: &Question<'_>) -> Result<Option<String>, String> {
    if let Some(agent) = question.agent {
        return work(playbook, agent, question);
    }
    match question.role {
        Role::Orchestrator => Ok(decide(playbook, question)),
        Role::Worker | Role::Validator => act(playbook, question),
        _ => Ok(None),
    }
}

/// Puts the tasks that a new one is much like in the place of `near`: a rule can't know their ids when it is written.
fn name_near(action: &mut Value, board: &Board) {
    let text = |key: &str| action.get(key).and_then(Value::as_str).unwrap_or_default();
    let near = board.near_twins(text("title"), text("description"), &[]);
    let Some(Value::Array(named)) = action.get_mut("not_twin_of") else { return };
    if !named.iter().any(|name| name == NEAR) {
        return;
    }
    named.retain(|name| name != NEAR);
    named.extend(near.into_iter().map(|(id, _)| Value::String(id)));
    // An empty list says nothing, and would be refused.
    if let (true, Some(fields)) = (named.is_empty(), action.as_object_mut()) {
        fields.remove("not_twin_of");
    }
}

/// What an agent hands back for its task.
fn work(playbook: &Playbook, agent: &Agent, question: &Question<'_>) -> Result<Option<String>, String> {
    let Some(task) = question.at_hand else { return Ok(None) };
    let Some(rule) = playbook.find_work(agent, task) else { return Ok(None) };
    let values = work_values(question.dept, agent, task, question.portfolio);
    render_text(&rule.result, &values, RESULT_MAX)
        .map(Some)
        .map_err(|what| format!("work `{}`: {what}", rule.name))
}

fn decide(playbook: &Playbook, question: &Question<'_>) -> Option<String> {
    question.items.iter().find_map(|message| {
        let rule = playbook.find_rule(message, question.now)?;
        let reason = if rule.decision == "ESCALATE" { format!(" {}", rule.why) } else { String::new() };
        Some(format!("{} (rule `{}`)\n\n{} {}{reason}\n", rule.why, rule.name, rule.decision, message.id))
    })
}

fn act(playbook: &Playbook, question: &Question<'_>) -> Result<Option<String>, String> {
    let Some(message) = question.at_hand else { return Ok(None) };
    let Some(rule) = playbook.find_rule(message, question.now) else { return Ok(None) };
    // A rule is for the role that its decision names.
    let for_validator = rule.decision == "NEXT_VALIDATOR";
    if rule.actions.is_empty() || for_validator != (question.role == Role::Validator) {
        return Ok(None);
    }
    let values = message_values(question.dept, message, question.portfolio);
    let mut actions =
        render_actions(rule, &values).map_err(|what| format!("rule `{}`: {what}", rule.name))?;
    if let Some(board) = question.board {
        actions.iter_mut().for_each(|action| name_near(action, board));
    }
    let block = format!("{:#}", Value::Array(actions));
    Ok(Some(format!(
        "{} (rule `{}`)\n\n{}\n{block}\n```\n",
        rule.why,
        rule.name,
        opening_line(question.nonce)
    )))
}
