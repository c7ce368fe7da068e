//! Judging a whole answer: every action's fields, secrets, the charter, and what only the state can tell.
//!
//! Nothing is carried out before everything has been judged. One refusal refuses the answer.

pub mod approved;
mod projects;

use projects::Ahead;
pub use projects::rule_portfolio;

use super::action::{Act, Action, parse_action};
use super::action_block::RawAction;
use super::board::Board;
use super::charter::Charter;
use super::ledger::{ActionLine, Line, Refusal};
use super::memory::TOOL_TAGS;
use super::message::{Message, Provenance};
use super::planning::{BoardWork, Judged, action_id, hops_after};
use super::portfolio::Portfolio;
use super::redact::Redactor;
use super::request::subject_of;
use super::schedule::SCHEDULES_MAX;
use super::time::{Time, parse_rfc3339};
use super::verdict::{Circumstances, Ruling, Verdict, judge_action, strictest};
use std::collections::{BTreeMap, BTreeSet};

mod board;
pub use board::judge_on_board;

/// The state that an answer is judged in.
pub struct Bench<'a> {
    pub charter: &'a Charter,
    pub at: Circumstances<'a>,
    /// Open messages of the department.
    pub inbox: &'a [Message],
    /// Further messages that a `ref` or a verdict may name.
    pub known: &'a [Message],
    pub at_hand: Option<&'a Message>,
    pub redactor: &'a Redactor,
    /// The end of the ledger, for limits over time.
    pub ledger: &'a [Line],
    /// How many messages were sent in each thread before, from its start on.
    pub sent: &'a BTreeMap<String, u64>,
    pub now: Time,
    /// The ids that the prompt showed, which evidence may cite.
    pub shown: &'a [String],
    /// Names of pipelines.
    pub pipelines: &'a [String],
    /// What is already waiting for approval: its subject, and the approval's id.
    pub pending: &'a [(String, String)],
    /// What the human was asked: the question, and its id.
    pub asked: &'a [(String, String)],
    /// Names of schedules that have not ended.
    pub schedules: &'a [String],
    /// The department's board as it is.
    pub board: &'a Board,
    /// The run and the step, from which the ids of what is made follow.
    pub run: &'a str,
    pub step: u64,
    /// The directives and projects there are.
    pub portfolio: &'a Portfolio,
}

/// An answer that is refused: why, and the verdict on each of its actions.
#[derive(Clone, Debug, Default)]
pub struct RefusedActions {
    pub refusals: Vec<Refusal>,
    pub verdicts: Vec<ActionLine>,
}

/// Judges every action; all refusals, or the judged actions.
pub fn judge_answer(raw: &[RawAction], bench: &Bench<'_>) -> Result<Vec<Judged>, RefusedActions> {
    let mut refusals = Vec::new();
    let mut judged = Vec::new();
    let mut places = Vec::new();
    let mut verdicts = Vec::new();
    // What one action makes, a later one may use: the board moves on as the answer is judged.
    let mut bench_board = BoardWork::new(bench.board.clone(), bench.run, bench.step);
    let mut ahead = Ahead::of(bench.portfolio);
    for entry in raw {
        let name = entry.value.get("do").and_then(serde_json::Value::as_str).unwrap_or("?");
        let place =
            format!("line {}, action {} ({})", entry.line, entry.index + 1, super::text::one_line(name, 40));
        match parse_action(&entry.value) {
            Err(faults) => {
                let code = faults.first().map(|fault| fault.code).unwrap_or_default();
                verdicts.push(bench.verdict_line(entry, Verdict::Refuse, code, "the fields of actions"));
                let told = faults
                    .iter()
                    .map(|fault| Refusal { code: fault.code.into(), message: format!("{place}: {fault}") });
                refusals.extend(told);
            }
            Ok(action) => {
                let ruling = bench.rule(&action, &ahead);
                let ruling = bench.rule_board(entry.index, &action, ruling, &mut bench_board);
                if ruling.verdict == Verdict::Allow {
                    ahead.move_on(entry.index, &action, bench.answered_by(&action));
                }
                verdicts.push(bench.verdict_line(entry, ruling.verdict, ruling.code, &ruling.rule));
                if ruling.verdict == Verdict::Refuse {
                    let hint = ruling.hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
                    let message = format!("{place}: {} [{}]{hint}", ruling.message, ruling.rule);
                    refusals.push(Refusal { code: ruling.code.into(), message });
                }
                judged.push(Judged { action, ruling });
                places.push(place);
            }
        }
    }
    refusals.extend(bench.rule_whole(raw.len(), &judged));
    refusals.extend(done_twice(&judged, &places));
    if refusals.is_empty() { Ok(judged) } else { Err(RefusedActions { refusals, verdicts }) }
}

fn refuse(code: &'static str, rule: &str, message: String) -> Ruling {
    Ruling { verdict: Verdict::Refuse, code, rule: rule.to_string(), message, hint: None }
}

/// A pipeline is one of `org.toml`, and what it works on is an open task: when it is asked for, and again once it was
/// approved.
pub fn rule_dispatch(action: &Action, board: &Board, is_pipeline: impl Fn(&str) -> bool) -> Option<Ruling> {
    let Act::Dispatch { pipeline, task, .. } = &action.act else { return None };
    let is_open = |id: &String| board.find_task(id).is_some_and(super::task::Task::is_open);
    if let Some(task) = task.as_ref().filter(|id| !is_open(id)) {
        let what = format!("`{task}` is no open task of this department");
        return Some(refuse("unknown_task", "the board", what));
    }
    let what = || format!("there is no pipeline `{pipeline}`");
    (!is_pipeline(pipeline)).then(|| refuse("unknown_pipeline", "org.toml [pipelines]", what()))
}

impl Bench<'_> {
    /// A verdict as it is told where nothing comes of the action.
    fn verdict_line(&self, entry: &RawAction, verdict: Verdict, code: &str, rule: &str) -> ActionLine {
        let name = entry.value.get("do").and_then(serde_json::Value::as_str).unwrap_or("?");
        ActionLine {
            id: action_id(self.run, self.step, entry.index),
            name: super::text::one_line(name, 40),
            verdict: verdict.to_string(),
            code: code.to_string(),
            rule: rule.to_string(),
            ..ActionLine::default()
        }
    }

    /// The strictest ruling on one action.
    fn rule(&self, action: &Action, ahead: &Ahead<'_>) -> Ruling {
        let at = Circumstances { provenance: self.at.provenance.max(self.trust(action)), ..self.at };
        let mut rulings = vec![judge_action(self.charter, &action.json, &at)];
        let text = serde_json::Value::Object(action.json.clone()).to_string();
        if let Some(kind) = self.redactor.find(&text) {
            let message = format!("it holds what looks like a secret ({kind})");
            rulings.push(refuse("secret", "secrets", message));
        }
        rulings.extend(self.rule_state(action));
        rulings.extend(ahead.rule(action, self.answered_by(action)));
        rulings.extend(self.rule_pending(action, &rulings));
        strictest(rulings).unwrap_or_else(|| refuse("not_judged", "judging", "no rule spoke".to_string()))
    }

    /// The message that an action answers, where it would send one; else the one at hand.
    fn answered_by(&self, action: &Action) -> Option<&Message> {
        let reference = match &action.act {
            Act::SendMessage { reference, .. } => reference.as_deref(),
            _ => None,
        };
        self.referred(reference)
    }

    /// One approval may be pending for each subject: asking twice gives the human nothing new.
    fn rule_pending(&self, action: &Action, rulings: &[Ruling]) -> Option<Ruling> {
        let asked = match &action.act {
            Act::AskHuman { question, .. } => return self.rule_asked(question),
            Act::RequestApproval { action, .. } => &action.json,
            _ if rulings.iter().any(|ruling| ruling.verdict == Verdict::NeedsApproval) => &action.json,
            _ => return None,
        };
        let subject = subject_of(asked);
        let (_, id) = self.pending.iter().find(|(known, _)| *known == subject)?;
        Some(refuse(
            "approval_pending",
            "approvals",
            format!("{id} already waits for a human's word on that"),
        ))
    }

    /// A question is asked once, whatever the answer was.
    fn rule_asked(&self, question: &str) -> Option<Ruling> {
        let (_, id) = self.asked.iter().find(|(known, _)| same_words(known) == same_words(question))?;
        Some(refuse("asked_before", "questions", format!("{id} asked the human that")))
    }

    fn rule_state(&self, action: &Action) -> Option<Ruling> {
        match &action.act {
            Act::MarkMessage { id, status } => self.rule_mark(id, *status),
            Act::SendMessage { reference, .. } => self.rule_sending(reference.as_deref()),
            Act::Escalate { id, .. } if !self.is_item(id) => Some(refuse(
                "unknown_item",
                "the inbox",
                format!("`{id}` is no open message or item of this department"),
            )),
            Act::AskHuman { due: Some(due), .. } if parse_rfc3339(due).is_some_and(|due| due < self.now) => {
                let what = format!("`due` is {due}, which has passed: nobody could answer in time");
                Some(refuse("past_due", "questions", what))
            }
            Act::AskHuman { unblocks, .. } => unblocks.iter().find(|id| !self.is_item(id)).map(|id| {
                refuse(
                    "unknown_item",
                    "the inbox",
                    format!("`{id}` in `unblocks` is no open message of this department"),
                )
            }),
            Act::Schedule { name, .. } if self.schedules.contains(name) => Some(refuse(
                "schedule_exists",
                "schedules/",
                format!("there is a schedule `{name}`; unschedule it in a step before, or take another name"),
            )),
            Act::Schedule { .. } if self.schedules.len() >= SCHEDULES_MAX => Some(refuse(
                "too_many_schedules",
                "schedules/",
                format!("there are {} schedules; the most is {SCHEDULES_MAX}", self.schedules.len()),
            )),
            Act::Unschedule { name } if !self.schedules.contains(name) => {
                Some(refuse("no_schedule", "schedules/", format!("there is no schedule `{name}`")))
            }
            Act::Remember { tags, .. } => rule_tags(tags),
            Act::Validate { id, evidence, .. } => self.rule_evidence(id, evidence),
            Act::Dispatch { .. } => {
                rule_dispatch(action, self.board, |name| self.pipelines.iter().any(|known| known == name))
            }
            // What could not be carried out is not put before the human.
            Act::RequestApproval { action, .. } => self.rule_state(action),
            _ => None,
        }
    }

    fn is_item(&self, id: &str) -> bool {
        self.inbox.iter().any(|message| message.id == id)
            || self.at_hand.is_some_and(|message| message.id == id)
            || self.is_task(id)
    }

    fn is_task(&self, id: &str) -> bool {
        self.board.find_task(id).is_some_and(super::task::Task::is_open)
    }

    fn rule_mark(&self, id: &str, status: super::message::Status) -> Option<Ruling> {
        let Some(message) = self.inbox.iter().find(|message| message.id == id) else {
            return Some(refuse(
                "not_open",
                "the inbox",
                format!("`{id}` is no open message of this department"),
            ));
        };
        if !message.status.may_become(status) {
            let what = format!("`{id}` is {} and can't become {status}", message.status);
            return Some(refuse("status_back", "the inbox", what));
        }
        None
    }

    /// What a message that an action names is to be trusted; what it would carry on is no more than that.
    fn trust(&self, action: &Action) -> Provenance {
        let reference = match &action.act {
            Act::SendMessage { reference, .. } => reference.as_deref(),
            Act::RequestApproval { action, .. } => return self.trust(action),
            _ => None,
        };
        self.referred(reference).map_or(Provenance::Human, |message| message.provenance)
    }

    /// The message that one answers: the one it names, else the one at hand.
    fn referred(&self, reference: Option<&str>) -> Option<&Message> {
        match reference {
            Some(id) => self.known.iter().chain(self.inbox).find(|message| message.id == id),
            None => self.at_hand,
        }
    }

    fn rule_sending(&self, reference: Option<&str>) -> Option<Ruling> {
        let referred = self.referred(reference);
        if let (Some(id), None) = (reference, referred) {
            let what = format!("`{id}` in `ref` is no message shown here");
            return Some(refuse("unknown_ref", "the inbox", what));
        }
        let hops = hops_after(referred, self.at_hand);
        let most = self.charter.limits.thread_hops;
        (hops > most).then(|| {
            let what = format!("the thread has gone round {} times, and the most is {most}", hops - 1);
            refuse("thread_hops", "charter.toml [limits] thread_hops", what)
        })
    }

    /// Evidence cites what the prompt showed; an id that the tool never issued is made up.
    fn rule_evidence(&self, id: &str, evidence: &str) -> Option<Ruling> {
        if self.at_hand.is_none_or(|message| message.id != id) {
            return Some(refuse(
                "unknown_item",
                "the task",
                format!("`{id}` is not what was to be validated"),
            ));
        }
        let cited = issued_ids(evidence);
        if cited.is_empty() {
            return Some(refuse(
                "no_evidence",
                "evidence",
                "`evidence` cites no id of this prompt".to_string(),
            ));
        }
        let unknown = cited.into_iter().find(|id| !self.shown.contains(id))?;
        // Not the id itself: the refusal goes into the next prompt, and the id would then stand in it.
        let end = unknown.rsplit('-').next().unwrap_or_default();
        let what = format!("it cites an id that ends in `{end}` and is not in this prompt");
        Some(refuse("unknown_evidence", "evidence", what))
    }

    /// What holds for the answer as a whole.
    fn rule_whole(&self, count: usize, judged: &[Judged]) -> Vec<Refusal> {
        let mut refusals = Vec::new();
        let mut refuse = |code: &str, message: String| refusals.push(Refusal { code: code.into(), message });
        let limits = &self.charter.limits;
        let count = count as u64;
        if count > limits.actions_per_step {
            refuse(
                "actions_per_step",
                format!("{count} actions in one answer; the most is {}", limits.actions_per_step),
            );
        }
        let sent =
            judged.iter().filter(|one| matches!(one.action.act, Act::SendMessage { .. })).count() as u64;
        for (code, seconds, name, new, most) in [
            ("actions_per_hour", 3_600, None, count, limits.actions_per_hour),
            ("actions_per_day", 86_400, None, count, limits.actions_per_day),
            ("messages_per_hour", 3_600, Some("send_message"), sent, limits.messages_per_hour),
        ] {
            let before = self.done_within(seconds, name);
            if new > 0 && before + new > most {
                refuse(code, format!("{before} before and {new} now; the most is {most}"));
            }
        }
        for (thread, new) in self.threads(judged) {
            let (before, most) = (self.sent.get(thread).copied().unwrap_or(0), limits.messages_per_thread);
            if before + new > most {
                let what = format!(
                    "{before} before and {new} now in the thread {thread}; the most is {most}. \
                     Close it, or escalate it to the human"
                );
                refuse("messages_per_thread", what);
            }
        }
        for message in said_twice(judged) {
            refuse("asked_twice", message);
        }
        refusals
    }

    /// The threads that an answer adds messages to, with how many.
    fn threads(&self, judged: &[Judged]) -> BTreeMap<&str, u64> {
        let mut threads = BTreeMap::new();
        for one in judged {
            let act = match &one.action.act {
                Act::RequestApproval { action, .. } => &action.act,
                act => act,
            };
            if let Act::SendMessage { reference, .. } = act
                && let Some(message) = self.referred(reference.as_deref())
            {
                *threads.entry(message.thread.as_str()).or_insert(0) += 1;
            }
        }
        threads
    }

    fn done_within(&self, seconds: i64, name: Option<&str>) -> u64 {
        let actions = self.recent_actions(seconds);
        actions.filter(|action| name.is_none_or(|name| action.name == name)).count() as u64
    }

    fn recent_actions(&self, seconds: i64) -> impl Iterator<Item = &ActionLine> {
        let recent = self.ledger.iter().filter_map(|line| match line {
            Line::Step(step) => Some(step),
            Line::Run(_) => None,
        });
        let recent = recent.filter(move |step| {
            parse_rfc3339(&step.at).is_some_and(|at| (self.now - at).num_seconds() < seconds)
                && step.outcome == "ok"
        });
        recent.flat_map(|step| &step.actions)
    }
}

/// What an answer may do to one thing only once: the second of them is refused, with its place.
fn done_twice(judged: &[Judged], places: &[String]) -> Vec<Refusal> {
    let (mut seen, mut refusals) = (BTreeSet::new(), Vec::new());
    for (one, place) in judged.iter().zip(places) {
        let (code, what, twice) = match &one.action.act {
            Act::MarkMessage { id, .. } => ("marked_twice", id, "is marked twice; mark it once"),
            Act::UpdateProject { id, .. } => {
                ("changed_twice", id, "is changed twice; change it once, with all fields")
            }
            Act::CurateMemory { file, .. } => {
                ("curated_twice", file, "is written twice; write it once, whole")
            }
            _ => continue,
        };
        if !seen.insert((code, what)) {
            refusals.push(Refusal { code: code.into(), message: format!("{place}: `{what}` {twice}") });
        }
    }
    refusals
}

/// What one answer asks the human twice: approval of one subject, or one question.
fn said_twice(judged: &[Judged]) -> Vec<String> {
    let (mut seen, mut twice) = (Vec::new(), Vec::new());
    for one in judged {
        let (what, again) = match &one.action.act {
            Act::AskHuman { question, .. } => {
                (same_words(question), "one question is asked twice; ask it once")
            }
            Act::RequestApproval { action, .. } => (subject_of(&action.json), APPROVED_ONCE),
            _ if one.ruling.verdict == Verdict::NeedsApproval => {
                (subject_of(&one.action.json), APPROVED_ONCE)
            }
            _ => continue,
        };
        if seen.contains(&(again, what.clone())) {
            twice.push(again.to_string());
        }
        seen.push((again, what));
    }
    twice
}

const APPROVED_ONCE: &str = "approval of one subject is asked twice; one may wait for each, so ask for one";

/// A question as it is compared with others: case and spaces don't make it another one.
fn same_words(question: &str) -> String {
    question.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

/// Some tags say that the tool wrote an entry.
fn rule_tags(tags: &[String]) -> Option<Ruling> {
    let tag = tags.iter().find(|tag| TOOL_TAGS.contains(&tag.trim()))?;
    let what = format!("the tag `{}` is for what the tool itself writes down", tag.trim());
    Some(refuse("reserved_tag", "memory", what))
}

/// Every id of the tool's form in a text, once each.
pub fn issued_ids(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
    let ids: std::collections::BTreeSet<&str> = words.filter(|word| is_issued_form(word)).collect();
    ids.into_iter().map(str::to_string).collect()
}

/// Whether a word has the form of an id that the tool issues: `m-20261118-004201-7f3k2q`.
fn is_issued_form(word: &str) -> bool {
    let parts: Vec<&str> = word.split('-').collect();
    let digits =
        |text: &str, length: usize| text.len() == length && text.bytes().all(|byte| byte.is_ascii_digit());
    parts.len() == 4
        && parts[0].len() == 1
        && digits(parts[1], 8)
        && digits(parts[2], 6)
        && parts[3].len() == 6
}
