//! Goal intake: a department without an objective asks its questions once, and the answers are filed.

use super::{Refused, Result, RunError, Shop};
use crate::domain::digest::sha256;
use crate::domain::event::Event;
use crate::domain::front_matter::{FrontMatter, Value};
use crate::domain::goal::{file_answer, parse_intake};
use crate::domain::id::{IdKind, derived_id};
use crate::domain::plan::{Effect, Finish, PLAN_SCHEMA, Plan, Planned};
use crate::domain::request::{Request, RequestKind, RequestStatus};
use crate::domain::time::render_rfc3339;
use crate::store::charters::LoadedCharter;
use crate::store::fault::Fault;
use crate::store::journal::{EntryKind, EntryName};
use crate::store::template::INTAKE;

/// The largest goal that is read.
const GOAL_MAX: u64 = 1024 * 1024;
const GOAL: &str = "goal.toml";

impl Shop<'_> {
    /// A goal that can't be read is somebody's words: nobody is asked to work towards it, or for another one, until it
    /// is put right by hand.
    pub(super) fn check_goal(&self) -> Result<()> {
        match self.department.goal() {
            Err(error) if !matches!(error.fault, Fault::Io(_)) => {
                Err(RunError::Refused(Refused::Goal(error.to_string())))
            }
            read => Ok(read.map(|_| ())?),
        }
    }

    /// Asks what the department is for, where nobody has said so and it has not asked before.
    pub(super) fn ask_goal(&self, charter: &LoadedCharter) -> Result<()> {
        if self.department.goal()?.is_some_and(|goal| !goal.objective.trim().is_empty()) {
            return Ok(());
        }
        let asked = self.department.requests(RequestKind::Question, &self.key)?.requests;
        if asked.iter().any(|request| request.text("intake").is_some()) {
            return Ok(());
        }
        let dept = self.department.dept.as_str();
        let questions = parse_intake(INTAKE, dept).unwrap_or_default();
        let now = (self.now)();
        let mut effects = Vec::new();
        let id = |field: &str| derived_id(IdKind::Question, now, &format!("{dept}/intake/{field}"));
        // All are of one second: sorted, their ids keep the questions in the order in which they are asked.
        let mut ids: Vec<String> = questions.iter().map(|question| id(&question.field)).collect();
        ids.sort();
        for (question, id) in questions.iter().zip(ids) {
            let mut front = FrontMatter::default();
            front.set_number("schema", 1);
            for (key, value) in
                [("id", id.as_str()), ("from", dept), ("run", self.run_id.as_str()), ("status", "pending")]
            {
                front.set_text(key, value);
            }
            front.set_text("created", render_rfc3339(now));
            front.set_text("provenance", "department");
            front.set_text("intake", &question.field);
            front.set("options", Value::List(Vec::new()));
            let text = front.render(&format!("{}\n", question.text.trim()));
            let text = self.department.sign_request(&text, &self.key, RequestKind::Question);
            effects.push(Planned {
                action: None,
                effect: Effect::Create { path: format!("questions/{id}.md"), text },
            });
        }
        self.carry_out_intake(&effects, charter)?;
        self.notify_of(&effects);
        let notice =
            format!("{dept} has no objective and asks {} questions: harness questions", questions.len());
        self.tell(&Event::Notice(&notice));
        Ok(())
    }

    fn carry_out_intake(&self, effects: &[Planned], charter: &LoadedCharter) -> Result<()> {
        let name = EntryName { run: format!("{}.intake", self.run_id), step: 0, kind: EntryKind::Plan };
        let plan = Plan {
            schema: PLAN_SCHEMA,
            run: self.run_id.clone(),
            step: 0,
            dept: self.department.dept.to_string(),
            charter: charter.hash.clone(),
            role: String::new(),
            provenance: "department".to_string(),
            actions: Vec::new(),
            before: self.before(effects)?,
            effects: effects.to_vec(),
            finish: Finish::default(),
            failures: 0,
        };
        self.journal.write(&name, &plan)?;
        self.carry_out(&name, plan)?;
        Ok(self.journal.sync()?)
    }

    /// Whether no other question of the intake is still open.
    pub(super) fn is_last_of_intake(&self, request: &Request) -> Result<bool> {
        let asked = self.department.requests(RequestKind::Question, &self.key)?.requests;
        let open = |other: &&Request| {
            other.id != request.id && other.text("intake").is_some() && other.status == RequestStatus::Pending
        };
        Ok(asked.iter().find(open).is_none())
    }

    /// What an answered question of the intake changes: the goal, and a line of memory under `intake`.
    pub(super) fn file_intake(&self, request: &Request) -> Result<Vec<Planned>> {
        let (Some(field), RequestStatus::Answered) = (request.text("intake"), request.status) else {
            return Ok(Vec::new());
        };
        let answer = request.text("resolved_why").unwrap_or_default();
        let now = self.department.dir.read(GOAL, GOAL_MAX)?.map(|text| text.text);
        let mut effects = Vec::new();
        if let Some(text) = file_answer(now.as_deref().unwrap_or_default(), field, answer) {
            let before = now.map(|text| sha256(text.as_bytes()));
            effects.push(Planned {
                action: None,
                effect: Effect::Replace { path: GOAL.to_string(), before, text },
            });
        }
        let day = super::requests::resolved_at(request).format("%Y-%m-%d");
        let mut entry = format!("- {} [intake] human\n", request.id);
        for line in request.body.trim().lines().chain(answer.lines()) {
            entry.push_str(&format!("  {line}\n"));
        }
        effects.push(Planned {
            action: None,
            effect: Effect::Append { path: format!("memory/{day}.md"), text: entry },
        });
        Ok(effects)
    }
}
