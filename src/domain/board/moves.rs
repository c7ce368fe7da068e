//! Who a task is given to, and how it moves: inbox, in_progress, review, done.

use super::{Actor, At, Board, BoardFault, Done, Job, Vouch, fault, refuse, say};
use crate::domain::agent::Works;
use crate::domain::charter::DoneNeeds;
use crate::domain::digest::sha256;
use crate::domain::task::{Section, Task, TaskStatus};
use crate::domain::time::render_rfc3339;

/// What tells one giving of a task from every other, also from one to the same agent in the same second.
fn mark_of(task: &Task, owner: &str, at: &At<'_>) -> String {
    let before = task.assignment.as_deref().unwrap_or_default();
    let what = format!("{}/{owner}/{}/{}/{before}", task.id, at.source, render_rfc3339(at.now));
    format!("as-{}", &sha256(what.as_bytes())[..12])
}

impl Board {
    /// Gives a task to an agent, who works on it from then on.
    pub(super) fn assign(&mut self, id: &str, owner: &str, at: &At<'_>) -> Result<Done, BoardFault> {
        if !matches!(at.actor, Actor::Human | Actor::Director) {
            return refuse("who_may", format!("`{id}` is not {}'s to give", at.actor.name()));
        }
        let task = self.open(id)?;
        let agent = self.owner(owner)?;
        if task.status == TaskStatus::Review {
            return refuse(
                "in_review",
                format!("`{id}` is in review: move it back to inbox first, with what is missing"),
            );
        }
        if !task.waits_for.is_empty() {
            return refuse("task_waits", format!("`{id}` waits for {}", task.waits_for.join(", ")));
        }
        let blockers: Vec<&str> = self.blockers(task).collect();
        if !blockers.is_empty() {
            return refuse("blocked", format!("`{id}` is blocked by {}", blockers.join(", ")));
        }
        if task.status == TaskStatus::InProgress && task.owner.as_deref() == Some(owner) {
            return refuse("already_assigned", format!("`{id}` is {owner}'s already"));
        }
        self.check_rework(task, owner, at)?;
        if let Some(helped) = task.assists.as_ref().and_then(|helped| self.tasks.get(helped))
            && helped.owner.as_deref() == Some(owner)
        {
            return refuse(
                "assist_self",
                format!("{owner} works on {} and can't be its own help", helped.id),
            );
        }
        let works = agent.works.clone();
        let assignment = Some(mark_of(task, owner, at));
        let task = self.edit(id)?;
        task.assignment = assignment.clone();
        (task.owner, task.worker) = (Some(owner.to_string()), Some(owner.to_string()));
        (task.status, task.heard) = (TaskStatus::InProgress, at.now);
        (task.nudges, task.nudged) = (0, None);
        let (agent, task, project) = (owner.to_string(), id.to_string(), task.project.clone());
        let job = Job { agent, works, task, assignment, project, directive: None };
        let jobs = if job.works == Works::ByItself { Vec::new() } else { vec![job] };
        Ok(Done {
            target: format!("{id} {owner}"),
            what: format!("{id} is {owner}'s"),
            created: Vec::new(),
            jobs,
        })
    }

    /// Who may own a task: an agent of the roster, and never the director.
    fn owner(&self, name: &str) -> Result<&crate::domain::agent::Agent, BoardFault> {
        if crate::domain::agent::is_reserved(name, &self.dept) {
            return Err(fault(
                "not_an_owner",
                format!("`{name}` can't own a task: the director delegates, and an agent does it"),
            )
            .hint("`harness agent list` shows who is there"));
        }
        match self.agents.get(name) {
            Some(agent) if agent.is_active() => Ok(agent),
            Some(_) => refuse("agent_retired", format!("`{name}` has left the roster")),
            None => {
                let names: Vec<&str> = self
                    .agents
                    .values()
                    .filter(|agent| agent.is_active())
                    .map(|agent| agent.name.as_str())
                    .collect();
                let hint = if names.is_empty() {
                    "nobody is on the roster yet".to_string()
                } else {
                    format!("there are: {}", names.join(", "))
                };
                Err(fault(
                    "unknown_agent",
                    format!("there is no agent `{}`", crate::domain::text::one_line(name, 40)),
                )
                .hint(hint))
            }
        }
    }

    /// What came back from review goes on where it was, as long as its worker is there.
    fn check_rework(&self, task: &Task, owner: &str, at: &At<'_>) -> Result<(), BoardFault> {
        let (Actor::Director, TaskStatus::Inbox, Some(last)) = (at.actor, task.status, &task.owner) else {
            return Ok(());
        };
        if last == owner || self.owner(last).is_err() {
            return Ok(());
        }
        refuse(
            "rework",
            format!("`{}` came back from review: it goes on with its last worker, {last}", task.id),
        )
    }

    pub(super) fn shift(
        &mut self,
        id: &str,
        status: TaskStatus,
        comment: &str,
        vouch: Vouch,
        at: &At<'_>,
    ) -> Result<Done, BoardFault> {
        let from = match self.tasks.get(id) {
            Some(task) if task.status == TaskStatus::Done && at.actor == Actor::Human => TaskStatus::Done,
            _ => self.open(id)?.status,
        };
        self.check_move(id, from, status, at)?;
        if at.actor == Actor::Director && comment.trim().is_empty() {
            return refuse("no_comment", format!("say in a comment why `{id}` moves"));
        }
        let mut jobs = Vec::new();
        match (from, status) {
            (TaskStatus::Inbox, TaskStatus::InProgress) => jobs = self.start(id, at)?,
            (_, TaskStatus::Review) => self.touch(id)?.status = TaskStatus::Review,
            (_, TaskStatus::Done) => self.finish(id, vouch, at)?,
            (TaskStatus::Review, _) => self.send_back(id),
            (TaskStatus::Done, _) => self.reopen(id, at)?,
            _ => {
                let task = self.touch(id)?;
                (task.status, task.owner) = (TaskStatus::Inbox, None);
            }
        }
        let task = self.touch(id)?;
        if !comment.trim().is_empty() {
            let section = match status {
                TaskStatus::Done => Section::Evidence,
                TaskStatus::Inbox => Section::Next,
                _ => Section::Progress,
            };
            say(task, section, comment, at);
        }
        task.heard = at.now;
        Ok(Done {
            target: format!("{id} {status}"),
            what: format!("{id} is {status}"),
            created: Vec::new(),
            jobs,
        })
    }

    /// Which moves there are, and whose they are.
    fn check_move(&self, id: &str, from: TaskStatus, to: TaskStatus, at: &At<'_>) -> Result<(), BoardFault> {
        use TaskStatus::{Done, InProgress, Inbox, Review};
        let legal = match (from, to) {
            (Review, Done | Inbox) => matches!(at.actor, Actor::Human | Actor::Director),
            (InProgress, Review) => match at.actor {
                Actor::Human => true,
                Actor::Agent(name) => {
                    self.tasks.get(id).is_some_and(|task| task.owner.as_deref() == Some(name))
                }
                _ => false,
            },
            (Inbox, InProgress) | (InProgress | Done, Inbox) => at.actor == Actor::Human,
            _ => false,
        };
        if legal {
            return Ok(());
        }
        let who = at.actor.name();
        let fault = fault("bad_move", format!("`{id}` is {from}, and {who} can't make it {to}"));
        Err(match at.actor {
            Actor::Director => {
                fault.hint("the director moves a task only out of review: to done, or to inbox for rework")
            }
            Actor::Human if to == Done => fault.hint("a task is done after review: move it there first"),
            Actor::Human => fault.hint("a task goes inbox, in_progress, review, done, and back to inbox"),
            _ => fault,
        })
    }

    /// A person lets the one it came back to go on.
    fn start(&mut self, id: &str, at: &At<'_>) -> Result<Vec<Job>, BoardFault> {
        let Some(owner) = self.open(id)?.owner.clone() else {
            return Err(fault("no_owner", format!("`{id}` has no owner"))
                .hint(format!("give it to somebody: `harness task assign {id} NAME`")));
        };
        self.assign(id, &owner, at).map(|done| done.jobs)
    }

    fn finish(&mut self, id: &str, vouch: Vouch, at: &At<'_>) -> Result<(), BoardFault> {
        let needs = self.rules.done_needs.clone();
        let vouches = vouch == Vouch::ForValidator && at.actor == Actor::Human;
        let task = self.edit(id)?;
        if vouches {
            (task.verdict, task.verdict_by) = (Some("pass".to_string()), Some("user".to_string()));
        }
        if needs.contains(&DoneNeeds::Validator) && task.verdict.as_deref() != Some("pass") {
            let found = task
                .verdict
                .as_deref()
                .map_or("no verdict".to_string(), |verdict| format!("the verdict `{verdict}`"));
            let what = format!(
                "`{id}` has {found}, and a task is done after a validator's pass (charter.toml [board] done_needs)"
            );
            return Err(match at.actor {
                Actor::Human => fault("needs_validation", what)
                    .hint("if you have checked it yourself, in the validator's place: `--vouch`"),
                _ => fault("needs_validation", what),
            });
        }
        let word = if at.actor == Actor::Human { Some("user") } else { at.vouched };
        if needs.contains(&DoneNeeds::Approval) && word.is_none() {
            return refuse(
                "needs_approval",
                format!("`{id}` is done when a human has approved it (charter.toml [board] done_needs)"),
            );
        }
        task.approved_by = word.map(str::to_string);
        (task.status, task.closed) = (TaskStatus::Done, Some(at.now));
        (task.waits_for, task.mentioned) = (Vec::new(), Vec::new());
        Ok(())
    }

    /// Back to inbox, to its last worker, where that one is still there.
    pub(super) fn send_back(&mut self, id: &str) {
        let worker = self.tasks.get(id).and_then(|task| task.worker.clone());
        let worker = worker.filter(|name| self.owner(name).is_ok());
        if let Ok(task) = self.touch(id) {
            (task.status, task.owner) = (TaskStatus::Inbox, worker);
            (task.verdict, task.verdict_by, task.approved_by) = (None, None, None);
        }
    }

    /// A done task comes back, and what rested on it and isn't done goes back with it.
    fn reopen(&mut self, id: &str, at: &At<'_>) -> Result<(), BoardFault> {
        let task = self.touch(id)?;
        (task.status, task.owner, task.closed) = (TaskStatus::Inbox, None, None);
        (task.verdict, task.verdict_by, task.approved_by) = (None, None, None);
        let (title, description) = (task.title.clone(), task.description().to_string());
        self.check_twin(Some(id), &title, &description)?;
        self.check_cycle(id)?;
        for dependent in self.dependents(id) {
            self.unassign_blocked(&dependent, &format!("{id} was reopened"), at)?;
        }
        Ok(())
    }

    /// A blocked task is unassigned.
    pub(super) fn unassign_blocked(&mut self, id: &str, why: &str, at: &At<'_>) -> Result<(), BoardFault> {
        let task = self.open(id)?;
        let idle = task.status == TaskStatus::Inbox && task.owner.is_none();
        if idle || !self.is_blocked(task) {
            return Ok(());
        }
        let task = self.edit(id)?;
        (task.status, task.owner) = (TaskStatus::Inbox, None);
        (task.verdict, task.verdict_by, task.approved_by) = (None, None, None);
        say(
            task,
            Section::Context,
            &format!("Back to inbox, unassigned: {why}."),
            &At { actor: Actor::Tool, ..*at },
        );
        Ok(())
    }

    pub(super) fn depend(
        &mut self,
        id: &str,
        on: &[String],
        drop: &[String],
        at: &At<'_>,
    ) -> Result<Done, BoardFault> {
        if !matches!(at.actor, Actor::Human | Actor::Director) {
            return refuse("who_may", format!("what `{id}` depends on is not {}'s to say", at.actor.name()));
        }
        self.open(id)?;
        self.check_dependencies(on)?;
        let task = self.edit(id)?;
        task.depends_on.retain(|old| !drop.contains(old));
        for on in on {
            if !task.depends_on.contains(on) {
                task.depends_on.push(on.clone());
            }
        }
        self.check_cycle(id)?;
        self.unassign_blocked(id, &format!("it now waits for {}", on.join(", ")), at)?;
        let blockers: Vec<&str> = self.blockers(self.open(id)?).collect();
        let what = match blockers.is_empty() {
            true => format!("{id} waits for nothing"),
            false => format!("{id} waits for {}", blockers.join(", ")),
        };
        Ok(Done { target: id.to_string(), what, ..Done::default() })
    }
}
