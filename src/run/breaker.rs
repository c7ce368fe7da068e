//! What the tool does by itself when something goes wrong again and again: it pauses a department, or trips the gate.
//!
//! Three runs in a row that died trip the gate. A department that spent five times in a row without changing anything
//! is paused and escalated, once; three such departments within an hour trip the gate.

use super::notify::{Notice, subject};
use super::{Result, Shop};
use crate::domain::audit::Deed;
use crate::domain::event::Event;
use crate::domain::front_matter::FrontMatter;
use crate::domain::gate::{Gate, GateState};
use crate::domain::id::{IdKind, derived_id};
use crate::domain::ledger::{Line, RunLine, idle_spending};
use crate::domain::request::RequestKind;
use crate::domain::time::{Time, parse_rfc3339, render_rfc3339};

const DEATHS: usize = 3;
const IDLE_SPENDING: usize = 5;
const PAUSED_DEPARTMENTS: usize = 3;
const HOUR: i64 = 3_600;

/// What the tool hands over to the human by itself.
pub(super) struct ToolEscalation<'a> {
    pub run: &'a str,
    /// In a word; alike ones are notified of once in a while.
    pub topic: &'a str,
    pub text: &'a str,
    pub body: String,
    /// What deals with it.
    pub command: String,
}

impl Shop<'_> {
    /// The last runs of the department, newest first, those of jobs among them.
    fn last_runs(&self) -> Result<Vec<RunLine>> {
        let lines = self.department.ledger_tail(0, 60)?;
        let runs = lines.into_iter().rev().filter_map(|line| match line {
            Line::Run(run) => Some(run),
            Line::Step(_) => None,
        });
        Ok(runs.collect())
    }

    /// Trips the gate where the last runs all died.
    pub(super) fn check_deaths(&self) -> Result<()> {
        let mut runs = self.last_runs()?;
        runs.retain(|run| run.kind != "dispatch");
        let dead: Vec<&str> =
            runs.iter().take_while(|run| run.outcome == "killed").map(|run| run.run.as_str()).collect();
        if dead.len() < DEATHS || !dead.len().is_multiple_of(DEATHS) {
            return Ok(());
        }
        let dept = &self.department.dept;
        self.trip(&format!("{} runs of {dept} in a row died: {}", dead.len(), dead.join(", ")))
    }

    /// Pauses a department that spends and changes nothing.
    pub(super) fn check_spending(&self) -> Result<()> {
        let runs = self.last_runs()?;
        let idle = idle_spending(&runs);
        // Whoever lets it run again gives it as many runs again, and not one.
        let again = !idle.is_empty() && idle.len().is_multiple_of(IDLE_SPENDING);
        if !again || self.watch.is_beat() || self.department.paused()?.is_some() {
            return Ok(());
        }
        let usd: f64 = idle.iter().take(IDLE_SPENDING).map(|run| run.counted_usd).sum();
        let reason = format!("{IDLE_SPENDING} runs in a row spent {usd:.2} USD and changed nothing");
        let now = render_rfc3339((self.now)());
        self.department.pause(&now, "harness", &reason)?;
        self.escalate_department(&idle[0].run, &reason)?;
        self.trip_where_many_are_paused()
    }

    fn escalate_department(&self, run: &str, reason: &str) -> Result<()> {
        let dept = &self.department.dept;
        self.escalate_by_tool(&ToolEscalation {
            run,
            topic: "spending",
            text: reason,
            body: format!("{reason}; the department is paused. `harness resume {dept}` lets it run again.\n"),
            command: format!("harness resume {dept}"),
        })?;
        self.tell(&Event::Notice(&format!("{dept} is paused: {reason}")));
        Ok(())
    }

    /// Hands something over to the human by itself; the file it wrote, beneath the department.
    pub(super) fn escalate_by_tool(&self, about: &ToolEscalation<'_>) -> Result<String> {
        let dept = &self.department.dept;
        let ToolEscalation { run, topic, .. } = about;
        let id = derived_id(IdKind::Escalation, (self.now)(), &format!("{run}/{topic}"));
        let text = self.escalation_text(&id, run, (self.now)(), &about.body);
        self.department.dir.make("escalations")?.create(&format!("{id}.md"), text.as_bytes())?;
        self.notify(Notice {
            kind: "escalation",
            id: id.clone(),
            text: about.text.to_string(),
            command: about.command.clone(),
            alike: format!("{topic} {dept} {}", subject(about.text)),
        });
        Ok(format!("escalations/{id}.md"))
    }

    /// The file of an escalation by the tool, signed.
    pub(super) fn escalation_text(&self, id: &str, run: &str, created: Time, body: &str) -> String {
        let mut front = FrontMatter::default();
        front.set_number("schema", 1);
        for (key, value) in [("id", id), ("from", "harness"), ("run", run), ("status", "pending")] {
            front.set_text(key, value);
        }
        front.set_text("created", render_rfc3339(created));
        front.set_text("provenance", "department");
        self.department.sign_request(&front.render(body), &self.key, RequestKind::Escalation)
    }

    fn trip_where_many_are_paused(&self) -> Result<()> {
        let now = (self.now)();
        let mut names = Vec::new();
        for dept in self.org.departments()?.departments {
            let Some(department) = self.org.department(&dept)? else { continue };
            let recent = department
                .paused()?
                .filter(|paused| paused.by == "harness")
                .and_then(|paused| parse_rfc3339(&paused.at));
            if recent.is_some_and(|at| (now - at).num_seconds() < HOUR) {
                names.push(dept.to_string());
            }
        }
        if names.len() < PAUSED_DEPARTMENTS {
            return Ok(());
        }
        self.trip(&format!(
            "{} departments were paused within an hour for spending without changing anything: {}",
            names.len(),
            names.join(", ")
        ))
    }

    /// Closes the gate, with the evidence in its reason.
    fn trip(&self, reason: &str) -> Result<()> {
        let now = (self.now)();
        self.org.write_gate(&Gate::new(GateState::Tripped, reason, "harness", now))?;
        self.org.write_audit(&Deed {
            at: now,
            by: "harness",
            command: "gate",
            what: &format!("tripped: {reason}"),
        })?;
        self.tell(&Event::Notice(&format!("the gate is tripped: {reason}")));
        let command = "harness gate show".to_string();
        let (id, text, alike) = (String::new(), reason.to_string(), format!("trip {reason}"));
        self.notify(Notice { kind: "trip", id, text, command, alike });
        Ok(())
    }
}
