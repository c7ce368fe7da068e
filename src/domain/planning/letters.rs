//! What is sent, and how messages are moved on.

use super::{Mark, Planning, hops_after};
use crate::domain::action::{Act, Action};
use crate::domain::id::{Dept, IdKind};
use crate::domain::message::{Draft, Message, Provenance, Status, render_message};
use crate::domain::plan::Effect;

impl Planning<'_> {
    /// The thread that a message belongs to; one that answers nothing begins its own.
    pub(super) fn thread_of(&self, index: usize, action: &Action) -> Option<String> {
        let reference = match &action.act {
            Act::SendMessage { reference, .. } => reference,
            // What is asked for counts as what waits for a human does.
            Act::RequestApproval { action, .. } => return self.thread_of(index, action),
            _ => return None,
        };
        let led_by = self.led_by(reference.as_deref());
        Some(led_by.map_or_else(|| self.id(IdKind::Message, index), |message| message.thread.clone()))
    }

    /// The message that one answers: the one it names, else the one at hand.
    pub(super) fn led_by(&self, reference: Option<&str>) -> Option<&Message> {
        let named = reference.and_then(|id| self.facts.known.iter().find(|known| known.id == *id));
        named.or(self.facts.at_hand)
    }

    pub(super) fn send(&mut self, index: usize, action: &Action) -> (String, String) {
        let Act::SendMessage { to, kind, subject, body, amount_usd, reference, project, directive } =
            &action.act
        else {
            return Default::default();
        };
        let facts = self.facts;
        let id = self.id(IdKind::Message, index);
        let led_by = self.led_by(reference.as_deref());
        let inherited = |own: &Option<String>, of: fn(&Message) -> &Option<String>| {
            own.clone().or_else(|| led_by.and_then(|message| of(message).clone()))
        };
        let draft = Draft {
            id: id.clone(),
            from: facts.dept.to_string(),
            to: to.clone(),
            kind: kind.clone(),
            subject: subject.trim().to_string(),
            body: body.clone(),
            amount_usd: *amount_usd,
            project: inherited(project, |message| &message.project).or_else(|| self.new_project.clone()),
            directive: inherited(directive, |message| &message.directive),
            reference: reference.clone().or_else(|| led_by.map(|message| message.id.clone())),
            thread: led_by.map(|message| message.thread.clone()),
            hops: hops_after(led_by, facts.at_hand),
            // A department's words are no longer the human's, whoever led to them.
            provenance: self.trust(led_by),
            vouched: facts.vouched.map(str::to_string),
            created: self.moment(index),
        };
        let text = render_message(&draft);
        self.push(index, Effect::Create { path: format!("outbox/{id}.md"), text: text.clone() });
        for dept in to {
            self.push(index, Effect::Deliver { dept: dept.to_string(), id: id.clone(), text: text.clone() });
        }
        if let (Some(project), Some(usd)) = (&draft.project, draft.amount_usd)
            && draft.kind == "BudgetAllocation"
        {
            self.allocate(index, &id, project, usd);
        }
        let names: Vec<&str> = to.iter().map(Dept::as_str).collect();
        let names = names.join(", ");
        self.tell(format!("sent {id} {kind} to {names}"), subject);
        (format!("{id} {kind} to {names}"), format!("{id} was sent to {names}"))
    }

    /// The least trusted of what led to a message. What a human approved is the department's own.
    pub(super) fn trust(&self, led_by: Option<&Message>) -> Provenance {
        let named = led_by.filter(|_| self.facts.vouched.is_none()).map(|message| message.provenance);
        self.facts.provenance.max(named.unwrap_or(Provenance::Department)).max(Provenance::Department)
    }

    pub(super) fn mark(&mut self, index: usize, id: &str, status: Status, why: &str) -> (String, String) {
        self.marks.push(Mark {
            action: Some(index),
            id: id.to_string(),
            status,
            why: why.to_string(),
            waits_for: None,
        });
        (format!("{id} {status}"), format!("{id} is {status}"))
    }
}
