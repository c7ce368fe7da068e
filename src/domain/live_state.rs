//! Live state: what a prompt shows of the department as it is, fenced and capped.
//!
//! Text from outside the tool is data. It goes into a fence whose marker it can't know and can't close: in the stable
//! part a secret of the department, in the tail the step's nonce. What is cut leaves a mark with the count.

use super::action::{ACTIONS, Field, Spec};
use super::board::{Board, Item};
use super::charter::Charter;
use super::goal::Goal;
use super::ledger::Refusal;
use super::memory::parse_curated;
use super::message::{Message, Provenance};
use super::portfolio::Portfolio;
use super::role::Role;
use super::settings::Caps;
use super::text::{as_one_line, cut, escape_fence, one_line};
use super::time::{Time, render_rfc3339};
use super::verdict::role_may;
use minijinja::Value;
use minijinja::value::Serde;
use serde_json::json;
use std::collections::BTreeMap;

mod board;
mod inbox;

pub use inbox::is_arrival;

/// Windows of the history begin at a multiple of this, so that they don't slide with every step.
const WINDOW: usize = 32;

/// Where the stable part of a prompt ends; no data can hold it, because control characters are made visible.
pub const STABLE_ENDS: &str = "\u{1}stable-ends\u{1}";

/// Everything a prompt shows beside its instructions.
#[derive(Clone, Debug)]
pub struct LiveState {
    pub charter: Charter,
    pub prose: String,
    pub memory: String,
    pub style: String,
    pub notes: String,
    pub goal: Goal,
    /// With ordinals, oldest first.
    pub history: Vec<(u64, String)>,
    /// How many of its last entries are not in the ledger yet: mail that the next step is the first to see.
    pub arrived: usize,
    pub decisions: Vec<String>,
    /// The oldest of what is open, and how many files of the inbox come after them.
    pub inbox: Vec<Message>,
    pub inbox_beyond: usize,
    /// The last messages sent, oldest first, and how many were sent before them.
    pub outbox: Vec<Message>,
    pub outbox_before: usize,
    pub refusals: Vec<Refusal>,
    pub board: Board,
    /// Tasks that something can be done about, in their order, and how many there are beside them.
    pub items: Vec<Message>,
    pub items_more: usize,
    pub caps: Caps,
    /// The directives and projects of the organisation, and what each has cost.
    pub portfolio: Portfolio,
    pub spent: BTreeMap<String, f64>,
    /// The department's secret marker.
    pub secret: String,
}

/// What changes with every step.
#[derive(Clone, Debug)]
pub struct Moment {
    pub now: String,
    pub nonce: String,
    pub message: Option<Message>,
    /// The refusals of the try before, in the same step.
    pub repair: Vec<Refusal>,
    /// What a summarizer or documenter is shown beside live state.
    pub material: String,
}

/// Text inside a fence.
pub fn fence(token: &str, label: &str, text: &str) -> String {
    ["<<<DATA ", token, " ", label, "\n", &escape_fence(text.trim_end()), "\n>>>DATA ", token].concat()
}

/// The line that opens an ACTIONS block in this step.
pub fn opening_line(nonce: &str) -> String {
    format!("```actions {nonce}")
}

/// The values that `live-state.md` and the closers see.
pub fn template_values(dept: &str, role: Role, mode: &str, live: &LiveState, moment: &Moment) -> Value {
    let secret = |label: &str, text: &str| {
        if text.trim().is_empty() { String::new() } else { fence(&live.secret, label, text) }
    };
    let fresh = |label: &str, text: &str| {
        if text.is_empty() { String::new() } else { fence(&moment.nonce, label, text) }
    };
    let caps = &live.caps;
    let (items, items_cut) = nameable(live);
    let values = json!({
        "dept": dept,
        "role": role.name(),
        "mode": mode,
        "stable_ends": STABLE_ENDS,
        "charter": charter_values(live),
        "memory": secret("MEMORY.md", &shorten(&parse_curated(&live.memory).text, caps.memory_bytes)),
        "self": secret("SELF.md", &shorten(&parse_curated(&live.style).text, caps.memory_bytes)),
        "material": fresh("material", &moment.material),
        "notes": own_text(&live.notes, caps.notes_bytes),
        "goal": goal_values(live),
        "history": secret("history", &history_text(&live.history, caps)),
        "projects": fresh("projects", &entries(&live.portfolio.lines(&live.spent, role), caps.projects_entries, caps.inbox_bytes)),
        "board": fresh("board", &board::board_text(live, role, moment)),
        "eligible": fresh("eligible", &board::eligible_text(live, role, moment)),
        "item": moment.message.as_ref().and_then(|message| message.item.as_ref()).map(|item| item.kind.name()).unwrap_or_default(),
        "decisions": fresh("decisions", &entries(&live.decisions, caps.decisions_entries, usize::MAX)),
        "inbox": fresh("inbox", &inbox::inbox_text(live, role, moment)),
        "outbox": fresh("outbox", &inbox::outbox_text(live, role, moment)),
        "refusals": fresh("refusals", &refusal_text(&live.refusals, caps.refusals_entries)),
        "message": moment.message.as_ref().map(|message| fresh("message", &whole(message, caps.message_bytes))).unwrap_or_default(),
        "message_id": moment.message.as_ref().map(|message| message.id.clone()).unwrap_or_default(),
        "now": moment.now,
        "nonce": moment.nonce,
        "opening": if role.acts() { opening_line(&moment.nonce) } else { String::new() },
        "actions": open_actions(&live.charter, role),
        "items": items,
        "items_cut": items_cut,
        "repair": fresh("refusals", &refusal_text(&moment.repair, caps.refusals_entries)),
    });
    Value::from(Serde(&values))
}

impl LiveState {
    /// Whether all that can be done is to find help for what is at work anyway.
    pub fn is_only_help(&self) -> bool {
        let is_help = |message: &Message| message.item.as_ref().is_some_and(|item| item.kind.is_help());
        self.eligible_items().all(is_help)
    }

    /// Works out what can be done on the board now.
    pub fn work_out(&mut self, now: Time) {
        let eligible = self.board.eligible(now);
        let letter = |item: &Item| Some(Message::of_task(self.board.find_task(&item.id)?, item.kind));
        self.items = eligible.iter().take(self.caps.eligible_entries).filter_map(letter).collect();
        self.items_more = eligible.len() - self.items.len();
    }

    /// What is there to be done, and all that a decision may name: open messages that wait for nothing, and eligible tasks.
    pub fn eligible_items(&self) -> impl Iterator<Item = &Message> {
        self.eligible_mail().chain(&self.items)
    }

    fn eligible_mail(&self) -> impl Iterator<Item = &Message> {
        self.inbox.iter().filter(|message| message.waits_for.is_none())
    }
}

/// What a decision may name, as much of the mail as the inbox shows and every eligible task shown; and how many more
/// there are.
fn nameable(live: &LiveState) -> (Vec<serde_json::Value>, usize) {
    let mail = live.eligible_mail().take(live.caps.inbox_entries);
    let items: Vec<_> =
        mail.chain(&live.items).map(|message| json!({"id": message.id, "what": what(message)})).collect();
    let all = live.eligible_items().count() + live.inbox_beyond + live.items_more;
    let cut = all - items.len();
    (items, cut)
}

fn charter_values(live: &LiveState) -> serde_json::Value {
    let rules = &live.charter;
    let sends: Vec<_> = rules.sends.iter().map(|(kind, to)| json!({"kind": kind, "to": to})).collect();
    let limits: Vec<_> =
        rules.limits.named().iter().map(|(name, value)| json!({"name": name, "value": value})).collect();
    json!({
        "mandate": own_text(&rules.mandate, live.caps.charter_bytes),
        "prose": own_text(&live.prose, live.caps.charter_bytes),
        "receives": rules.receives,
        "sends": sends,
        "actions": rules.actions,
        "limits": limits,
        "approval": {
            "confidence_below": rules.approval.confidence_below,
            "kinds": rules.approval.kinds,
            "actions": rules.approval.actions,
            "spend_above_usd": rules.approval.spend_above_usd,
            "from_external": rules.approval.from_external,
        },
    })
}

fn goal_values(live: &LiveState) -> serde_json::Value {
    let most = live.caps.notes_bytes;
    let metrics: Vec<String> =
        live.goal.success_metrics.iter().map(|metric| own_text(metric, most)).collect();
    json!({
        "objective": own_text(&live.goal.objective, most),
        "success_metrics": metrics,
        "target_date": own_text(&live.goal.target_date, most),
    })
}

fn open_actions(charter: &Charter, role: Role) -> Vec<serde_json::Value> {
    let open = ACTIONS
        .iter()
        .filter(|spec| role_may(role, spec.name) && charter.actions.iter().any(|name| name == spec.name));
    let names = |fields: &[Field]| fields.iter().map(|field| field.name).collect::<Vec<_>>();
    open.map(|spec| {
        json!({
            "name": spec.name,
            "required": names(spec.required),
            "optional": names(spec.optional),
            "fields": fields_of(spec),
            "confidence": spec.confidence,
        })
    })
    .collect()
}

fn fields_of(spec: &Spec) -> Vec<serde_json::Value> {
    let told = |field: &Field, optional: bool| {
        json!({
            "name": field.name,
            "form": field.shape.form(),
            "words": field.shape.words(),
            "optional": optional,
        })
    };
    let required = spec.required.iter().map(|field| told(field, false));
    required.chain(spec.optional.iter().map(|field| told(field, true))).collect()
}

/// The human's own text: not fenced, but what would be taken for a fence or a block is still escaped.
fn own_text(text: &str, most: usize) -> String {
    escape_fence(&shorten(text, most)).into_owned()
}

fn shorten(text: &str, most: usize) -> String {
    match cut(text, most) {
        (_, 0) => text.to_string(),
        (kept, lost) => format!("{kept}\n[cut: {lost} more bytes]"),
    }
}

/// Some lines, at most so many and so long, with a mark for the rest.
fn entries(lines: &[String], most: usize, bytes: usize) -> String {
    entries_of(lines, lines.len(), most, bytes)
}

/// The first lines of so many, and a mark that says how many are missing.
fn entries_of(lines: &[String], all: usize, most: usize, bytes: usize) -> String {
    let mut text = String::new();
    let mut shown = 0;
    for line in lines.iter().take(most) {
        if text.len() + line.len() > bytes {
            break;
        }
        text.push_str(line);
        text.push('\n');
        shown += 1;
    }
    if shown < all {
        text.push_str(&format!("[cut: {} more entries]\n", all - shown));
    }
    text
}

/// The most entries of history that a prompt shows: at least a window.
pub fn history_shown(caps: &Caps) -> usize {
    caps.history_entries.max(WINDOW)
}

/// The last ordinal that is cut: at most so many entries are shown, and always from the same one on until a whole window
/// has gone by.
fn cut_before(last: u64, caps: &Caps) -> u64 {
    let (most, window) = (history_shown(caps) as u64, WINDOW as u64);
    last.saturating_sub(most).div_ceil(window) * window
}

fn history_text(history: &[(u64, String)], caps: &Caps) -> String {
    let Some((last, _)) = history.last() else { return String::new() };
    let before = cut_before(*last, caps);
    let length = (caps.history_bytes / caps.history_entries.max(1)).max(40);
    let mut text = String::with_capacity(history.iter().map(|(_, line)| line.len() + 8).sum());
    let first = history.iter().find(|(ordinal, _)| *ordinal > before).map_or(1, |(ordinal, _)| *ordinal);
    if first > 1 {
        text.push_str(&format!("[cut: {} earlier entries]\n", first - 1));
    }
    for (ordinal, line) in history.iter().filter(|(ordinal, _)| *ordinal > before) {
        text.push_str(&ordinal.to_string());
        text.push_str(". ");
        text.push_str(&as_one_line(line, length));
        text.push('\n');
    }
    text
}

fn what(message: &Message) -> String {
    if let Some(item) = &message.item {
        return format!("task, {}", item.kind.name());
    }
    format!("{} from {}", message.kind, message.from)
}

/// A subject as a role may see it. One who acts sees words of external text only where that message is the one at hand:
/// a step has the least trusted provenance of what it was shown.
fn subject(message: &Message, role: Role, moment: &Moment) -> String {
    let at_hand = moment.message.as_ref().is_some_and(|at_hand| at_hand.id == message.id);
    if role.acts() && message.provenance == Provenance::External && !at_hand {
        return "[external]".to_string();
    }
    one_line(&message.subject, 120)
}

fn refusal_text(refusals: &[Refusal], most: usize) -> String {
    let lines: Vec<String> = refusals
        .iter()
        .map(|refusal| format!("- {}: {}", refusal.code, one_line(&refusal.message, 400)))
        .collect();
    entries(&lines, most, usize::MAX)
}

/// A message in full, as a letter: its heading lines and its body.
fn whole(message: &Message, most: usize) -> String {
    let mut text = format!("id: {}\nfrom: {}\nkind: {}\n", message.id, message.from, message.kind);
    text.push_str(&format!("subject: {}\n", one_line(&message.subject, 400)));
    text.push_str(&format!("created: {}\n", render_rfc3339(message.created)));
    text.push_str(&format!("provenance: {}\n", message.provenance.name()));
    for (name, value) in
        [("project", &message.project), ("directive", &message.directive), ("ref", &message.reference)]
    {
        if let Some(value) = value {
            text.push_str(&format!("{name}: {}\n", one_line(value, 120)));
        }
    }
    if let Some(amount) = message.amount_usd() {
        text.push_str(&format!("amount_usd: {amount}\n"));
    }
    text.push('\n');
    text.push_str(&shorten(&message.body, most));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn history_windows_start_at_a_multiple_and_grow_at_the_end() {
        let caps = Caps { history_entries: 96, ..Caps::default() };
        let history = |count: u64| (1..=count).map(|n| (n, format!("entry {n}"))).collect::<Vec<_>>();
        let text = |count: u64| history_text(&history(count), &caps);
        assert!(text(96).starts_with("1. entry 1\n"));
        assert!(text(97).starts_with("[cut: 32 earlier entries]\n33. entry 33\n"));
        for count in 97..128 {
            assert!(text(count + 1).starts_with(&text(count)), "{count}");
        }
        assert!(text(129).starts_with("[cut: 64 earlier entries]\n65. "));
        assert_eq!(text(0), "");
    }

    #[test]
    fn a_cut_leaves_its_count() {
        let lines: Vec<String> = (0..5).map(|n| format!("line {n}")).collect();
        assert_eq!(entries(&lines, 2, 1_000), "line 0\nline 1\n[cut: 3 more entries]\n");
        assert_eq!(entries(&lines, 9, 14), "line 0\nline 1\n[cut: 3 more entries]\n");
        assert_eq!(shorten("äbc", 2), "ä\n[cut: 2 more bytes]");
    }
}
