//! Who is on the roster.

use super::{Actor, At, Board, BoardFault, Done, agent_key, fault, refuse};
use crate::domain::agent::{Agent, NewAgent, Works, is_agent_name, is_reserved, is_title_case};
use crate::domain::id::nearest;
use crate::domain::task::TaskStatus;

impl Board {
    pub(super) fn hire(&mut self, new: &NewAgent, at: &At<'_>) -> Result<Done, BoardFault> {
        if !matches!(at.actor, Actor::Human | Actor::Director) {
            return refuse("who_may", format!("the roster is not {}'s to change", at.actor.name()));
        }
        let name = &new.name;
        if !is_agent_name(name) {
            let shown = crate::domain::text::one_line(name, 40);
            return refuse(
                "agent_name",
                format!("`{shown}` can't be an agent's name: use a-z, 0-9 and -, first a letter, at most 32"),
            );
        }
        if is_reserved(name, &self.dept) {
            return refuse("agent_name", format!("`{name}` stands for somebody else"));
        }
        if let Some(there) = self.agents.get(name) {
            let left = if there.is_active() { "" } else { ", retired" };
            return refuse(
                "agent_taken",
                format!("there is an agent `{name}` already: {}{left}", there.role),
            );
        }
        if !is_title_case(&new.role) {
            return Err(fault(
                "role_case",
                format!("the role `{}` is not in title case", crate::domain::text::one_line(&new.role, 60)),
            )
            .hint("such as `Copy Writer`"));
        }
        let active = self.agents.values().filter(|agent| agent.is_active()).count() as u64;
        if active >= self.rules.agents_max {
            return refuse(
                "agents_max",
                format!(
                    "there are {active} agents, and the most is {} (charter.toml [board] agents_max)",
                    self.rules.agents_max
                ),
            );
        }
        self.check_works(&new.works)?;
        self.changed.insert(agent_key(name));
        self.agents.insert(name.clone(), Agent::new(new, at.actor.name(), at.provenance, at.now));
        let what = format!("{name} is on the roster as {}", new.role);
        Ok(Done { target: name.clone(), what, ..Done::default() })
    }

    /// Engines and pipelines are defined in `org.toml` alone; an agent can only choose among their names.
    fn check_works(&self, works: &Works) -> Result<(), BoardFault> {
        let (word, code, name, known) = match works {
            Works::ByItself => return Ok(()),
            Works::Engine(name) => ("engine", "unknown_engine", name, &self.engines),
            Works::Pipeline(name) => ("pipeline", "unknown_pipeline", name, &self.pipelines),
        };
        if known.contains(name) {
            return Ok(());
        }
        let near = nearest(name, known.iter().map(String::as_str));
        let hint = match near {
            Some(near) => format!("did you mean `{near}`?"),
            None if known.is_empty() => format!("org.toml defines no {word}"),
            None => format!("org.toml has: {}", known.join(", ")),
        };
        Err(fault(
            code,
            format!("there is no {word} `{}` in org.toml", crate::domain::text::one_line(name, 40)),
        )
        .hint(hint))
    }

    pub(super) fn retire(&mut self, name: &str, why: &str, at: &At<'_>) -> Result<Done, BoardFault> {
        if at.actor != Actor::Human {
            return refuse("who_may", "an agent is retired by a human");
        }
        match self.agents.get(name) {
            None => return refuse("unknown_agent", format!("there is no agent `{name}`")),
            Some(agent) if !agent.is_active() => {
                return refuse("agent_retired", format!("`{name}` has left the roster already"));
            }
            Some(_) => {}
        }
        // What it was working on is open again; what is in review stays there for the director.
        let theirs: Vec<String> = self
            .open_tasks()
            .filter(|task| task.owner.as_deref() == Some(name) && task.status != TaskStatus::Review)
            .map(|task| task.id.clone())
            .collect();
        for id in &theirs {
            let task = self.edit(id)?;
            (task.status, task.owner) = (TaskStatus::Inbox, None);
        }
        self.changed.insert(agent_key(name));
        if let Some(agent) = self.agents.get_mut(name) {
            (agent.retired, agent.retired_why) = (Some(at.now), Some(why.trim().to_string()));
        }
        let back =
            if theirs.is_empty() { String::new() } else { format!("; back to inbox: {}", theirs.join(", ")) };
        Ok(Done {
            target: name.to_string(),
            what: format!("{name} has left the roster{back}"),
            ..Done::default()
        })
    }
}
