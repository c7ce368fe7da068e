//! From judged actions to effects: what each action will change, by names that follow from run, step and index alone.

use super::action::{Act, Action};
use super::digest::sha256;
use super::front_matter::{FrontMatter, Value};
use super::id::{Dept, IdKind, derived_id};
use super::ledger::ActionLine;
use super::message::{Draft, Message, Provenance, Status, render_message};
use super::plan::{Effect, Marking, Planned};
use super::text::one_line;
use super::time::{Time, render_rfc3339, render_ts};
use super::verdict::{Ruling, Verdict};
use serde_json::{Map, json};

/// What planning needs to know of the step.
#[derive(Clone, Debug)]
pub struct StepFacts<'a> {
    pub dept: &'a Dept,
    pub run: &'a str,
    pub step: u64,
    pub now: Time,
    /// The message the step is about.
    pub at_hand: Option<&'a Message>,
    /// Every message that a `ref` may name.
    pub known: &'a [Message],
    pub provenance: Provenance,
    /// The approval that the actions are carried out by.
    pub vouched: Option<&'a str>,
    pub expires_hours: u64,
    /// The curated files as they are, by name.
    pub curated: &'a [(String, String)],
}

/// One action with its verdict.
#[derive(Clone, Debug)]
pub struct Judged {
    pub action: Action,
    pub ruling: Ruling,
}

/// What a step's actions come to.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    pub effects: Vec<Planned>,
    pub lines: Vec<ActionLine>,
    /// What each action came to, in a sentence, in their order.
    pub results: Vec<String>,
    /// Lines for the history, without ordinals.
    pub history: Vec<String>,
}

/// The id of one action: `<run>/<step>/<index>`.
pub fn action_id(run: &str, step: u64, index: usize) -> String {
    format!("{run}/{step}/{index}")
}

/// How often a thread has gone round once it is answered: naming another message doesn't begin it anew.
pub fn hops_after(led_by: Option<&Message>, at_hand: Option<&Message>) -> u64 {
    led_by.into_iter().chain(at_hand).map(|message| message.hops + 1).max().unwrap_or(0)
}

/// Plans every action. Where one needs approval, the rest goes on and the message at hand waits for it.
pub fn plan_actions(judged: &[Judged], facts: &StepFacts<'_>) -> Outcome {
    let (outcome, marks) = (Outcome::default(), Vec::new());
    let mut planning = Planning { facts, outcome, marks, waits: None };
    for (index, one) in judged.iter().enumerate() {
        planning.add(index, one);
    }
    planning.finish()
}

/// A message to be moved on.
struct Mark {
    action: Option<usize>,
    id: String,
    status: Status,
    why: String,
    waits_for: Option<String>,
}

struct Planning<'a> {
    facts: &'a StepFacts<'a>,
    outcome: Outcome,
    /// Marks come last, the message at hand's the very last.
    marks: Vec<Mark>,
    /// What the message at hand waits for.
    waits: Option<String>,
}

impl Planning<'_> {
    fn add(&mut self, index: usize, judged: &Judged) {
        let (target, result) = match judged.ruling.verdict {
            Verdict::NeedsApproval => self.ask_approval(index, &judged.action, &judged.ruling),
            _ => self.carry_out(index, &judged.action),
        };
        self.outcome.results.push(result);
        self.outcome.lines.push(ActionLine {
            id: action_id(self.facts.run, self.facts.step, index),
            name: judged.action.act.name().to_string(),
            target,
            verdict: judged.ruling.verdict.to_string(),
            code: judged.ruling.code.to_string(),
            thread: self.thread_of(index, &judged.action),
        });
    }

    /// The thread that a message belongs to; one that answers nothing begins its own.
    fn thread_of(&self, index: usize, action: &Action) -> Option<String> {
        let Act::SendMessage { reference, .. } = &action.act else { return None };
        let led_by = self.led_by(reference.as_deref());
        Some(led_by.map_or_else(|| self.id(IdKind::Message, index), |message| message.thread.clone()))
    }

    /// The message that one answers: the one it names, else the one at hand.
    fn led_by(&self, reference: Option<&str>) -> Option<&Message> {
        let named = reference.and_then(|id| self.facts.known.iter().find(|known| known.id == *id));
        named.or(self.facts.at_hand)
    }

    fn id(&self, kind: IdKind, index: usize) -> String {
        derived_id(kind, self.facts.now, &action_id(self.facts.run, self.facts.step, index))
    }

    fn push(&mut self, index: usize, effect: Effect) {
        self.outcome.effects.push(Planned { action: Some(index), effect });
    }

    /// A line for the history; words of an external text's making are not carried on by it.
    fn tell(&mut self, line: String, words: &str) {
        let ts = render_ts(self.facts.now);
        let words =
            if self.facts.provenance == Provenance::External { "(led by external text)" } else { words };
        self.outcome.history.push(format!("{ts} {line}: {}", one_line(words, 120)));
    }

    fn carry_out(&mut self, index: usize, action: &Action) -> (String, String) {
        match &action.act {
            Act::SendMessage { .. } => self.send(index, action),
            Act::MarkMessage { id, status } => {
                let why = action.reason.clone();
                self.marks.push(Mark {
                    action: Some(index),
                    id: id.clone(),
                    status: *status,
                    why,
                    waits_for: None,
                });
                (format!("{id} {status}"), format!("{id} is {status}"))
            }
            Act::LogDecision { title, decision, why, refs, project } => {
                let id = action_id(self.facts.run, self.facts.step, index);
                let mut text =
                    format!("## {} {} ({id})\n\n", render_ts(self.facts.now), one_line(title, 200));
                text.push_str(&format!("{}\n\nWhy: {}\n", decision.trim_end(), why.trim_end()));
                let project = project.iter().map(|project| format!("project {project}"));
                let trail: Vec<String> = refs.iter().cloned().chain(project).collect();
                if !trail.is_empty() {
                    text.push_str(&format!("\nRefs: {}\n", trail.join(", ")));
                }
                text.push('\n');
                self.push(index, Effect::Append { path: "decisions.md".into(), text });
                self.tell("decided".to_string(), title);
                (String::new(), "in decisions.md".to_string())
            }
            Act::Remember { text, tags, refs } => self.remember(index, text, tags, refs),
            Act::CurateMemory { file, text } => self.curate(index, file, text),
            Act::WriteWeekly { text } => {
                let id = action_id(self.facts.run, self.facts.step, index);
                let text = format!("## {} ({id})\n\n{}\n\n", render_ts(self.facts.now), text.trim_end());
                self.push(index, Effect::Append { path: "weekly.md".into(), text });
                (String::new(), "in weekly.md".to_string())
            }
            Act::Dispatch { pipeline, args, task, project } => {
                let id = self.id(IdKind::Job, index);
                let job = json!({
                    "schema": 1, "id": id, "pipeline": pipeline, "args": args, "task": task, "project": project,
                    "run": self.facts.run, "created": render_rfc3339(self.facts.now),
                    "provenance": self.facts.provenance.name(),
                });
                self.push(
                    index,
                    Effect::Create { path: format!(".harness/jobs/{id}.json"), text: format!("{job:#}\n") },
                );
                (format!("{pipeline} {id}"), format!("job {id} is queued"))
            }
            Act::AskHuman { .. } => self.ask_human(index, action),
            Act::RequestApproval { action: inner, confidence } => {
                let inner = Action { confidence: Some(*confidence), ..(**inner).clone() };
                self.request(index, &inner, action)
            }
            Act::Escalate { id, to } => self.escalate(index, id, to.as_deref(), &action.reason),
            Act::Validate { id, verdict, evidence } => self.validate(index, id, verdict, evidence),
        }
    }

    fn send(&mut self, index: usize, action: &Action) -> (String, String) {
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
            project: inherited(project, |message| &message.project),
            directive: inherited(directive, |message| &message.directive),
            reference: reference.clone().or_else(|| led_by.map(|message| message.id.clone())),
            thread: led_by.map(|message| message.thread.clone()),
            hops: hops_after(led_by, facts.at_hand),
            // A department's words are no longer the human's, whoever led to them.
            provenance: self.trust(led_by),
            vouched: facts.vouched.map(str::to_string),
            created: facts.now,
        };
        let text = render_message(&draft);
        self.push(index, Effect::Create { path: format!("outbox/{id}.md"), text: text.clone() });
        for dept in to {
            self.push(index, Effect::Deliver { dept: dept.to_string(), id: id.clone(), text: text.clone() });
        }
        let names: Vec<&str> = to.iter().map(Dept::as_str).collect();
        let names = names.join(", ");
        self.tell(format!("sent {id} {kind} to {names}"), subject);
        (format!("{id} {kind} to {names}"), format!("{id} was sent to {names}"))
    }

    /// The least trusted of what led to a message. What a human approved is the department's own.
    fn trust(&self, led_by: Option<&Message>) -> Provenance {
        let named = led_by.filter(|_| self.facts.vouched.is_none()).map(|message| message.provenance);
        self.facts.provenance.max(named.unwrap_or(Provenance::Department)).max(Provenance::Department)
    }

    fn remember(&mut self, index: usize, text: &str, tags: &[String], refs: &[String]) -> (String, String) {
        let id = action_id(self.facts.run, self.facts.step, index);
        let path = format!("memory/{}.md", self.facts.now.format("%Y-%m-%d"));
        let refs = if refs.is_empty() { String::new() } else { format!(" refs: {}", refs.join(", ")) };
        let mut entry = format!("- {id} [{}] {}{refs}\n", tags.join(", "), self.facts.provenance.name());
        for line in text.trim_end().lines() {
            entry.push_str(&format!("  {line}\n"));
        }
        self.push(index, Effect::Append { path: path.clone(), text: entry });
        (String::new(), format!("in {path}"))
    }

    fn curate(&mut self, index: usize, file: &str, text: &str) -> (String, String) {
        let path = format!("memory/{file}.md");
        let before = self.facts.curated.iter().find(|(name, _)| *name == path);
        let before = before.map(|(_, text)| sha256(text.as_bytes()));
        let text = format!("{}\n", text.trim_end());
        self.push(index, Effect::Replace { path: path.clone(), before, text });
        (file.to_string(), format!("{path} is replaced"))
    }

    fn ask_human(&mut self, index: usize, action: &Action) -> (String, String) {
        let Act::AskHuman { question, options, unblocks, due } = &action.act else {
            return Default::default();
        };
        let id = self.id(IdKind::Question, index);
        let mut front = self.head(&id);
        front.set("options", Value::List(options.clone()));
        front.set("unblocks", Value::List(unblocks.clone()));
        if let Some(due) = due {
            front.set_text("due", due);
        }
        front.set_text("reason", &action.reason);
        let text = front.render(&format!("{}\n", question.trim_end()));
        self.push(index, Effect::Create { path: format!("questions/{id}.md"), text });
        for blocked in unblocks {
            self.hold(index, blocked, &id, "waits for an answer of the human");
        }
        self.tell(format!("asked the human {id}"), question);
        (id.clone(), format!("{id} waits for an answer"))
    }

    /// The keys that questions, escalations and approvals have in common.
    fn head(&self, id: &str) -> FrontMatter {
        let mut front = FrontMatter::default();
        front.set_number("schema", 1);
        front.set_text("id", id);
        front.set_text("from", self.facts.dept.as_str());
        front.set_text("run", self.facts.run);
        front.set_text("status", "pending");
        front.set_text("created", render_rfc3339(self.facts.now));
        front.set_text("provenance", self.facts.provenance.name());
        front
    }

    fn hold(&mut self, index: usize, id: &str, waits_for: &str, why: &str) {
        if self.facts.at_hand.is_some_and(|message| message.id == id) {
            self.waits = Some(waits_for.to_string());
        } else {
            self.marks.push(Mark {
                action: Some(index),
                id: id.to_string(),
                status: Status::Acknowledged,
                why: why.to_string(),
                waits_for: Some(waits_for.to_string()),
            });
        }
    }

    fn escalate(&mut self, index: usize, id: &str, to: Option<&str>, reason: &str) -> (String, String) {
        let escalation = self.id(IdKind::Escalation, index);
        let mut front = self.head(&escalation);
        front.set_text("about", id);
        if let Some(to) = to {
            front.set_text("to", to);
        }
        let text = front.render(&format!("{}\n", reason.trim_end()));
        self.push(index, Effect::Create { path: format!("escalations/{escalation}.md"), text });
        self.hold(index, id, &escalation, "escalated to the human");
        self.tell(format!("escalated {id} as {escalation}"), reason);
        (id.to_string(), format!("{escalation} waits for the human"))
    }

    fn validate(&mut self, index: usize, id: &str, verdict: &str, evidence: &str) -> (String, String) {
        self.tell(format!("validated {id} as {verdict}"), evidence);
        if verdict != "pass" {
            let notice = self.id(IdKind::Message, index);
            let draft = Draft {
                id: notice.clone(),
                from: "harness".to_string(),
                to: vec![self.facts.dept.clone()],
                kind: "System".to_string(),
                subject: format!("Validation of {id}: {verdict}"),
                body: evidence.to_string(),
                amount_usd: None,
                project: None,
                directive: None,
                reference: Some(id.to_string()),
                thread: None,
                hops: 0,
                provenance: self.facts.provenance.max(Provenance::Department),
                vouched: None,
                created: self.facts.now,
            };
            let (dept, text) = (self.facts.dept.to_string(), render_message(&draft));
            self.push(index, Effect::Deliver { dept, id: notice, text });
        }
        (format!("{id} {verdict}"), format!("{id}: {verdict}"))
    }

    fn request(&mut self, index: usize, inner: &Action, outer: &Action) -> (String, String) {
        let ruling = Ruling {
            verdict: Verdict::NeedsApproval,
            code: "requested",
            rule: "request_approval".to_string(),
            message: outer.reason.clone(),
            hint: None,
        };
        self.ask_approval(index, inner, &ruling)
    }

    /// Writes the exact action down; nothing of it is carried out until a human has approved it.
    fn ask_approval(&mut self, index: usize, action: &Action, ruling: &Ruling) -> (String, String) {
        let id = self.id(IdKind::Approval, index);
        let json = serde_json::Value::Object(action.json.clone());
        let exact = format!("{json:#}");
        let mut front = self.head(&id);
        front.set_text("action", action.act.name());
        front.set_text("code", ruling.code);
        front.set_text("rule", &ruling.rule);
        front.set_text("action_sha256", sha256(exact.as_bytes()));
        if let Some(confidence) = action.confidence {
            front.set_number("confidence", confidence);
        }
        let expires =
            self.facts.now + chrono::TimeDelta::hours(i64::try_from(self.facts.expires_hours).unwrap_or(72));
        front.set_text("expires", render_rfc3339(expires));
        if let Some(message) = self.facts.at_hand {
            front.set_text("about", &message.id);
        }
        front.set_text("why", &ruling.message);
        let text = front.render(&format!("{}\n\n```json\n{exact}\n```\n", action.reason.trim_end()));
        self.push(index, Effect::Create { path: format!("approvals/{id}.md"), text });
        self.waits.get_or_insert_with(|| id.clone());
        self.tell(format!("asked approval {id} of {}", action.act.name()), &ruling.message);
        (id.clone(), format!("waits for approval as {id}"))
    }

    /// The marks, the message at hand's last. Where it waits for something, that is its mark.
    fn finish(mut self) -> Outcome {
        let at_hand = self.facts.at_hand.map(|message| message.id.clone());
        let is_at_hand = |id: &str| at_hand.as_deref() == Some(id);
        let mut marks = std::mem::take(&mut self.marks);
        if let (Some(waits), Some(id)) = (self.waits.take(), at_hand.clone()) {
            for mark in marks.iter().filter(|mark| is_at_hand(&mark.id)) {
                if let Some(index) = mark.action {
                    self.outcome.results[index] = format!("held: {id} waits for {waits}");
                    self.outcome.lines[index].code = "held".to_string();
                }
            }
            marks.retain(|mark| !is_at_hand(&mark.id));
            let why = format!("waits for {waits}");
            marks.push(Mark { action: None, id, status: Status::Acknowledged, why, waits_for: Some(waits) });
        }
        marks.sort_by_key(|mark| is_at_hand(&mark.id));
        for Mark { action, id, status, why, waits_for } in marks {
            let mark = Marking {
                status: status.name().to_string(),
                at: render_rfc3339(self.facts.now),
                by: self.facts.dept.to_string(),
                run: self.facts.run.to_string(),
                why,
                waits_for,
            };
            self.outcome.effects.push(Planned { action, effect: Effect::Mark { id, mark } });
        }
        self.outcome
    }
}

/// The escalation that an orchestrator's ESCALATE comes to, as an action of its own.
pub fn escalation(id: &str, reason: &str) -> Action {
    let mut json = Map::new();
    json.insert("do".into(), json!("escalate"));
    json.insert("id".into(), json!(id));
    json.insert("reason".into(), json!(reason));
    Action {
        act: Act::Escalate { id: id.to_string(), to: None },
        reason: reason.to_string(),
        confidence: None,
        risk: super::action::Risk::None,
        json,
    }
}
