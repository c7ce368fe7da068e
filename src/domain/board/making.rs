//! Making tasks, changing what they say, joining and splitting them.

use super::{Actor, At, Board, BoardFault, Done, Fields, Part, fault, refuse, say};
use crate::domain::task::{NewTask, Section, Task, TaskStatus};
use crate::domain::time::{Time, render_rfc3339};
use std::collections::BTreeSet;

/// How the one deliverable of an assist task is named.
const DELIVERABLE: &str = "deliverable:";

/// A day that has passed makes a task late before anybody has seen it.
fn check_due(due: Option<Time>, at: &At<'_>) -> Result<(), BoardFault> {
    let Some(due) = due.filter(|due| *due < at.now) else { return Ok(()) };
    let what = format!("the due date {} has passed: it is {}", render_rfc3339(due), render_rfc3339(at.now));
    Err(fault("past_due", what).hint("give a time that is still to come, or none"))
}

impl Board {
    pub(super) fn create(&mut self, new: &NewTask, at: &At<'_>) -> Result<Done, BoardFault> {
        self.check_may_make(at)?;
        check_due(new.due, at)?;
        self.check_dependencies(&new.depends_on)?;
        self.check_known(&new.not_twin_of)?;
        self.check_twin(None, &new.title, &new.description)?;
        self.check_near_twins(None, &new.title, &new.description, &new.not_twin_of)?;
        if let Some(helped) = &new.assists {
            self.check_assist(helped, &new.description)?;
        }
        self.make(new, at)
    }

    fn make(&mut self, new: &NewTask, at: &At<'_>) -> Result<Done, BoardFault> {
        let id = (at.new_id)(0);
        let mut task = Task::new(&id, new, at.actor.name(), at.provenance, at.now);
        let mut seen = BTreeSet::new();
        task.depends_on.retain(|on| seen.insert(on.clone()));
        task.vouched = at.vouched.map(str::to_string);
        self.insert(task);
        let mut done = Done { target: id.clone(), what: format!("{id} is on the board"), ..Done::default() };
        if let Some(owner) = &new.owner {
            // Where it can't be given, it is not made either: its id says nothing to anybody.
            let assigned = self.assign(&id, owner, at).map_err(|fault| BoardFault {
                message: fault.message.replace(&format!("`{id}`"), "the new task"),
                ..fault
            })?;
            done.what = format!("{id} is on the board, and {owner}'s");
            done.jobs = assigned.jobs;
        }
        done.created.push(id);
        Ok(done)
    }

    fn check_may_make(&self, at: &At<'_>) -> Result<(), BoardFault> {
        match at.actor {
            Actor::Human | Actor::Director => Ok(()),
            _ => refuse("who_may", format!("a task is not {}'s to make or change", at.actor.name())),
        }
    }

    pub(super) fn check_known(&self, ids: &[String]) -> Result<(), BoardFault> {
        match ids.iter().find(|id| !self.tasks.contains_key(*id)) {
            None => Ok(()),
            Some(id) => refuse(
                "unknown_task",
                format!("there is no task `{}`", crate::domain::text::one_line(id, 60)),
            ),
        }
    }

    /// What may be depended on: tasks that are there, and not what was merged away, which is never done.
    pub(super) fn check_dependencies(&self, ids: &[String]) -> Result<(), BoardFault> {
        self.check_known(ids)?;
        let is_merged = |id: &&String| self.tasks.get(*id).is_some_and(|task| task.merged_into.is_some());
        ids.iter().find(is_merged).map_or(Ok(()), |merged| self.open(merged).map(|_| ()))
    }

    /// A task that helps another carries one deliverable, and helps no helper.
    fn check_assist(&self, helped: &str, description: &str) -> Result<(), BoardFault> {
        if self.open(helped)?.assists.is_some() {
            return refuse("assist_of_assist", format!("`{helped}` is itself there to help another"));
        }
        let named = description.lines().filter(|line| {
            line.trim_start_matches(['-', '*', '#', ' ']).to_lowercase().starts_with(DELIVERABLE)
        });
        match named.count() {
            1 => Ok(()),
            count => Err(fault(
                "one_deliverable",
                format!("a task that assists carries one deliverable, and this one names {count}"),
            )
            .hint("say it in a line of the description: `Deliverable: ...`")),
        }
    }

    pub(super) fn update(&mut self, id: &str, fields: &Fields, at: &At<'_>) -> Result<Done, BoardFault> {
        self.check_may_make(at)?;
        let task = self.open(id)?;
        if *fields == Fields::default() {
            return refuse("nothing_changed", format!("nothing of `{id}` would change"));
        }
        check_due(fields.due, at)?;
        if fields.title.is_some() || fields.description.is_some() {
            let title = fields.title.as_deref().unwrap_or(&task.title);
            let description = fields.description.as_deref().unwrap_or(task.description());
            let named: Vec<String> = task.not_twin_of.iter().chain(&fields.not_twin_of).cloned().collect();
            if task.assists.is_some() && fields.description.is_some() {
                self.check_assist(task.assists.as_deref().unwrap_or_default(), description)?;
            }
            self.check_twin(Some(id), title, description)?;
            self.check_near_twins(Some(id), title, description, &named)?;
        }
        self.check_known(&fields.not_twin_of)?;
        let task = self.edit(id)?;
        let (title, description) = (task.title.clone(), task.description().to_string());
        if let Some(title) = &fields.title {
            task.title = title.trim().to_string();
        }
        if let Some(description) = &fields.description {
            task.set_description(description);
        }
        if task.title != title || task.description() != description {
            // The verdict was on what it said before.
            (task.verdict, task.verdict_by, task.approved_by) = (None, None, None);
        }
        task.priority = fields.priority.unwrap_or(task.priority);
        task.due = fields.due.or(task.due);
        task.project = fields.project.clone().or_else(|| task.project.clone());
        task.not_twin_of.extend(fields.not_twin_of.iter().cloned());
        task.provenance = task.provenance.max(at.provenance);
        if let Some(on) = &fields.depends_on {
            let drop = std::mem::take(&mut self.touch(id)?.depends_on);
            let drop: Vec<String> = drop.into_iter().filter(|old| !on.contains(old)).collect();
            self.depend(id, on, &drop, at)?;
        }
        Ok(Done { target: id.to_string(), what: format!("{id} is changed"), ..Done::default() })
    }

    /// Joins duplicates into one task, which goes back to `inbox`: what is asked of it has changed. The duplicates leave
    /// the board, and what waited for them waits for it.
    pub(super) fn merge(&mut self, id: &str, duplicates: &[String], at: &At<'_>) -> Result<Done, BoardFault> {
        self.check_may_make(at)?;
        self.open(id)?;
        if duplicates.is_empty() {
            return refuse("nothing_changed", "no duplicate is named");
        }
        for duplicate in duplicates {
            if duplicate == id {
                return refuse("merge_self", format!("`{id}` can't be merged into itself"));
            }
            self.open(duplicate)?;
        }
        let is_joined = |on: &String| on == id || duplicates.contains(on);
        let mut inherited = Vec::new();
        for duplicate in duplicates {
            let gone = self.edit(duplicate)?;
            inherited.extend(gone.depends_on.iter().filter(|on| !is_joined(on)).cloned());
            (gone.status, gone.owner, gone.waits_for) = (TaskStatus::Inbox, None, Vec::new());
            (gone.verdict, gone.verdict_by, gone.mentioned) = (None, None, Vec::new());
            (gone.merged_into, gone.closed) = (Some(id.to_string()), Some(at.now));
            say(gone, Section::Context, &format!("Merged into {id}."), at);
            let (title, description) = (gone.title.clone(), gone.description().to_string());
            let provenance = gone.provenance;
            let kept = self.edit(id)?;
            kept.provenance = kept.provenance.max(provenance);
            say(kept, Section::Context, &format!("Merged {duplicate}: {title}\n\n{description}"), at);
            for dependent in self.dependents(duplicate) {
                let task = self.edit(&dependent)?;
                task.depends_on.retain(|on| on != duplicate);
                if dependent != id && !task.depends_on.iter().any(|on| on == id) {
                    task.depends_on.push(id.to_string());
                }
            }
        }
        let kept = self.edit(id)?;
        kept.depends_on.retain(|on| !is_joined(on));
        for on in inherited {
            if !kept.depends_on.contains(&on) {
                kept.depends_on.push(on);
            }
        }
        if kept.status != TaskStatus::Inbox {
            self.send_back(id);
        }
        self.check_cycle(id)?;
        self.unassign_blocked(id, "it took over what a duplicate waited for", at)?;
        for dependent in self.dependents(id) {
            self.unassign_blocked(&dependent, &format!("it now waits for {id}"), at)?;
        }
        let what = format!("{} merged into {id}", duplicates.join(", "));
        Ok(Done { target: id.to_string(), what, ..Done::default() })
    }

    /// Splits a task that nobody works on: the parts are new tasks, and the whole waits for all of them.
    pub(super) fn split(&mut self, id: &str, parts: &[Part], at: &At<'_>) -> Result<Done, BoardFault> {
        self.check_may_make(at)?;
        let whole = self.open(id)?;
        if whole.status != TaskStatus::Inbox {
            return refuse(
                "split_only_inbox",
                format!("`{id}` is {}, and only a task in inbox is split", whole.status),
            );
        }
        if !(2..=5).contains(&parts.len()) {
            return refuse("parts", format!("it has {} parts, and must have 2 to 5", parts.len()));
        }
        let (priority, project, due) = (whole.priority, whole.project.clone(), whole.due);
        let mut done = Done { target: id.to_string(), ..Done::default() };
        for (index, part) in parts.iter().enumerate() {
            let new = NewTask {
                title: part.title.clone(),
                description: part.description.clone(),
                priority: part.priority.unwrap_or(priority),
                depends_on: Vec::new(),
                owner: None,
                due,
                project: project.clone(),
                assists: None,
                not_twin_of: Vec::new(),
            };
            // Parts of one task share its words and paths; only a true twin is one too many.
            self.check_twin(None, &new.title, &new.description)?;
            let new_id = |_: usize| (at.new_id)(index);
            done.created.extend(self.make(&new, &At { new_id: &new_id, ..*at })?.created);
        }
        self.depend(id, &done.created.clone(), &[], at)?;
        done.what = format!("{id} waits for its parts {}", done.created.join(", "));
        Ok(done)
    }
}
