//! What is said about a task: comments, mentions, nudges, verdicts, and an agent's result.

use super::{Actor, At, Board, BoardFault, Done, fault, refuse, say};
use crate::domain::judging::issued_ids;
use crate::domain::task::{Section, Task, TaskStatus};
use crate::domain::text::one_line;
use crate::domain::time::Time;

/// How long an owner may be silent before a nudge, how long after one before the next, and how many there may be.
pub const NUDGE_AFTER_S: i64 = 3_600;
pub const NUDGE_GRACE_S: i64 = 1_200;
pub const NUDGES_MAX: u64 = 3;

/// The names that a text mentions as `@name`. An address such as `a@b` mentions nobody.
pub fn mentions_in(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices('@') {
        let inside = text[..at].chars().next_back().is_some_and(|c| c.is_alphanumeric() || c == '@');
        let rest = &text[at + 1..];
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '-')).unwrap_or(rest.len());
        let name = rest[..end].trim_end_matches('-');
        if !inside && !name.is_empty() && !found.contains(&name) {
            found.push(name);
        }
    }
    found
}

impl Board {
    pub(super) fn comment(
        &mut self,
        id: &str,
        section: Section,
        text: &str,
        at: &At<'_>,
    ) -> Result<Done, BoardFault> {
        let task = self.open(id)?;
        if text.trim().is_empty() {
            return refuse("no_comment", "the comment is empty");
        }
        self.check_comment(task, section, text, at)?;
        let named = self.named_in(text, at);
        let task = self.edit(id)?;
        say(task, section, text, at);
        hear(task, at);
        mention(task, named);
        Ok(Done { target: id.to_string(), what: format!("in {} of {id}", section.name()), ..Done::default() })
    }

    /// The director comments only where that is its part; everybody else may.
    fn check_comment(
        &self,
        task: &Task,
        section: Section,
        text: &str,
        at: &At<'_>,
    ) -> Result<(), BoardFault> {
        let reviews = task.status == TaskStatus::Review;
        let legal = match at.actor {
            Actor::Human | Actor::Tool => true,
            Actor::Agent(name) => self.agents.contains_key(name),
            Actor::Validator => reviews,
            Actor::Director => {
                let asked = task.mentioned.iter().any(|name| name == "lead");
                let asks = section == Section::Questions && task.created_by == "director";
                let links = issued_ids(text).iter().any(|other| self.is_near(task, other));
                reviews || asked || asks || links
            }
        };
        if legal {
            return Ok(());
        }
        if let Actor::Agent(name) = at.actor {
            return refuse("unknown_agent", format!("there is no agent `{}`", one_line(name, 40)));
        }
        let fault = fault(
            "may_not_comment",
            format!("a comment of {} on `{}` has no place now", at.actor.name(), task.id),
        );
        Err(fault.hint(
            "the director comments on what is in review, in answer to a mention, with a question on a task it made, or to link a twin, or one it is much like, by its id",
        ))
    }

    /// The ones a text names who are there: agents, and the director as `lead`; never the one who speaks.
    fn named_in(&self, text: &str, at: &At<'_>) -> Vec<String> {
        let own = if at.actor == Actor::Director { "lead" } else { at.actor.name() };
        let names = mentions_in(text).into_iter().map(|name| if name == "director" { "lead" } else { name });
        let there =
            |name: &&str| *name == "lead" || self.agents.get(*name).is_some_and(|agent| agent.is_active());
        names.filter(there).filter(|name| *name != own).map(str::to_string).collect()
    }

    pub(super) fn nudge(&mut self, id: &str, text: &str, at: &At<'_>) -> Result<Done, BoardFault> {
        if !matches!(at.actor, Actor::Human | Actor::Director) {
            return refuse("who_may", format!("a nudge is not {}'s", at.actor.name()));
        }
        let task = self.open(id)?;
        let Some(owner) = task.owner.clone().filter(|_| task.status == TaskStatus::InProgress) else {
            return refuse("nobody_to_nudge", format!("`{id}` is {}: nobody is at work on it", task.status));
        };
        let silent = (at.now - task.heard).num_seconds();
        if silent < NUDGE_AFTER_S {
            return refuse(
                "too_soon",
                format!(
                    "{owner} was heard of {} minutes ago; a nudge comes after {}",
                    silent.max(0) / 60,
                    NUDGE_AFTER_S / 60
                ),
            );
        }
        if let Some(last) = task.nudged.filter(|last| (at.now - *last).num_seconds() < NUDGE_GRACE_S) {
            let ago = (at.now - last).num_seconds().max(0) / 60;
            return refuse(
                "nudge_grace",
                format!("{owner} was nudged {ago} minutes ago; the next comes after {}", NUDGE_GRACE_S / 60),
            );
        }
        if task.nudges >= NUDGES_MAX {
            return Err(fault("nudges_max", format!("{owner} was nudged {} times in vain", task.nudges))
                .hint("give the task to another, or escalate it"));
        }
        let task = self.edit(id)?;
        say(task, Section::Questions, &format!("@{owner} {}", text.trim()), at);
        (task.nudges, task.nudged) = (task.nudges + 1, Some(at.now));
        mention(task, vec![owner.clone()]);
        Ok(Done {
            target: format!("{id} {owner}"),
            what: format!("{owner} was nudged about {id}"),
            ..Done::default()
        })
    }

    pub(super) fn validate(
        &mut self,
        id: &str,
        verdict: &str,
        evidence: &str,
        at: &At<'_>,
    ) -> Result<Done, BoardFault> {
        let task = self.open(id)?;
        if at.actor != Actor::Validator {
            return refuse("who_may", format!("a verdict is not {}'s", at.actor.name()));
        }
        if task.status != TaskStatus::Review {
            return refuse(
                "not_in_review",
                format!("`{id}` is {}, and only what is in review is validated", task.status),
            );
        }
        if let Some(given) = task.verdict.as_deref().filter(|given| *given != "not_run") {
            let what = format!("`{id}` has the verdict `{given}`, and nothing was done about it since");
            return Err(fault("has_verdict", what).hint("back in inbox it is reworked, and validated again"));
        }
        let task = self.edit(id)?;
        (task.verdict, task.verdict_by) = (Some(verdict.to_string()), Some(at.source.to_string()));
        say(task, Section::Evidence, &format!("Verdict: {verdict}.\n{evidence}"), at);
        Ok(Done { target: format!("{id} {verdict}"), what: format!("{id}: {verdict}"), ..Done::default() })
    }

    /// What an agent's engine or pipeline came to: a comment, and the task in review, whatever the outcome. The work of
    /// one who no longer owns it, or who was given it anew since, is kept as a comment alone.
    pub(super) fn take_result(
        &mut self,
        id: &str,
        assignment: Option<&str>,
        (outcome, text): (&str, &str),
        at: &At<'_>,
    ) -> Result<Done, BoardFault> {
        let Actor::Agent(agent) = at.actor else {
            return refuse("who_may", format!("a result is not {}'s", at.actor.name()));
        };
        let named = self.named_in(text, at);
        let task = self.edit(id)?;
        let section = if outcome == "done" { Section::Evidence } else { Section::Risks };
        say(task, section, &format!("The work ended: {outcome}.\n{text}"), at);
        let theirs = task.is_work_of(agent, assignment);
        if theirs {
            (task.status, task.heard) = (TaskStatus::Review, at.now);
            (task.nudges, task.nudged) = (0, None);
        }
        mention(task, named);
        let what = if theirs { format!("{id} is in review") } else { format!("{id} has a result") };
        Ok(Done { target: id.to_string(), what, ..Done::default() })
    }

    /// What waited for an approval waits for it no longer.
    pub fn release(&mut self, waits_for: &str) {
        for task in self.tasks.values_mut() {
            task.waits_for.retain(|id| id != waits_for);
        }
    }

    pub(super) fn hold(&mut self, id: &str, waits_for: &str) -> Result<Done, BoardFault> {
        let task = self.edit(id)?;
        if !task.waits_for.iter().any(|known| known == waits_for) {
            task.waits_for.push(waits_for.to_string());
        }
        Ok(Done { target: id.to_string(), what: format!("{id} waits for {waits_for}"), ..Done::default() })
    }

    pub(super) fn offered(&mut self, id: &str) -> Result<Done, BoardFault> {
        let task = self.edit(id)?;
        task.help_told = Some(task.giving().to_string());
        Ok(Done { target: id.to_string(), ..Done::default() })
    }

    pub(super) fn seen(&mut self, id: &str, now: Time) -> Result<Done, BoardFault> {
        let task = self.open(id)?;
        let (mentioned, due) = (task.mentioned.iter().any(|name| name == "lead"), task.due);
        if mentioned {
            self.edit(id)?.mentioned.retain(|name| name != "lead");
        }
        if due.is_some_and(|due| due <= now) && self.open(id)?.due_told != due {
            self.edit(id)?.due_told = due;
        }
        Ok(Done { target: id.to_string(), ..Done::default() })
    }
}

impl Task {
    /// What the giving of a task is called where it is asked whether somebody should help.
    pub(super) fn giving(&self) -> &str {
        self.assignment.as_deref().unwrap_or("-")
    }
}

/// The owner, or somebody in the owner's name, was heard of; one who was mentioned has answered.
fn hear(task: &mut Task, at: &At<'_>) {
    let name = at.actor.name().to_string();
    if task.owner.as_ref() == Some(&name) {
        task.heard = at.now;
        (task.nudges, task.nudged) = (0, None);
    }
    let own = if at.actor == Actor::Director { "lead" } else { name.as_str() };
    task.mentioned.retain(|named| named != own);
}

fn mention(task: &mut Task, names: Vec<String>) {
    for name in names {
        if !task.mentioned.contains(&name) {
            task.mentioned.push(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::mentions_in;

    #[test]
    fn mentions_are_told_from_addresses() {
        let check = |text: &str, expected: &[&str]| assert_eq!(mentions_in(text), expected, "{text}");
        check("@ann please, and @lead.", &["ann", "lead"]);
        check("mail a@b.example, @@x", &[]);
        check("(@ann-2)! @ann-2", &["ann-2"]);
        check("@", &[]);
    }
}
