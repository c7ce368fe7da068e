//! A message: its front matter and body, and how its status may move.
//!
//! The content of a message never changes after delivery; [`Message::digest`] is taken over that part alone. What
//! changes is the status, each change with a receipt of who, in which run, and why. Keys this file doesn't know
//! survive, because a change is made on the front matter as it was read.

use super::board::ItemKind;
use super::front_matter::{FrontMatter, FrontMatterFault, Value, parse_front_matter};
use super::id::{Dept, is_id, is_made_id};
use super::task::Task;
use super::time::{Time, parse_rfc3339, render_rfc3339};
use chrono::TimeDelta;
use sha2::{Digest, Sha256};
use std::fmt;

/// The newest format this program knows.
pub const MESSAGE_SCHEMA: u64 = 1;
/// The longest subject, in characters.
pub const SUBJECT_MAX: usize = 200;
/// The longest body, in bytes.
pub const BODY_MAX: usize = 256 * 1024;

/// Whom a file that somebody dropped is from.
const FROM_FILE: &str = "file";

/// How far a text can be trusted. Ordered: the least trusted is the greatest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Provenance {
    Human,
    Department,
    External,
}

impl Provenance {
    pub fn name(self) -> &'static str {
        match self {
            Provenance::Human => "human",
            Provenance::Department => "department",
            Provenance::External => "external",
        }
    }

    pub fn parse(text: &str) -> Option<Provenance> {
        [Provenance::Human, Provenance::Department, Provenance::External]
            .into_iter()
            .find(|p| p.name() == text)
    }
}

/// Where a message stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum Status {
    Pending,
    Acknowledged,
    Actioned,
    Archived,
}

impl Status {
    pub const ALL: [Status; 4] = [Status::Pending, Status::Acknowledged, Status::Actioned, Status::Archived];

    pub fn name(self) -> &'static str {
        match self {
            Status::Pending => "pending",
            Status::Acknowledged => "acknowledged",
            Status::Actioned => "actioned",
            Status::Archived => "archived",
        }
    }

    pub fn parse(text: &str) -> Option<Status> {
        Status::ALL.into_iter().find(|status| status.name() == text)
    }

    /// An open message is in the inbox; the others are in the archive.
    pub fn is_open(self) -> bool {
        self < Status::Actioned
    }

    /// Statuses only move on: pending, acknowledged, actioned, archived.
    pub fn may_become(self, next: Status) -> bool {
        next > self
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Who moved a message on, in which run, and why. A message leaves `pending` only with one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    pub status: Status,
    pub at: Time,
    pub by: String,
    /// The run, or `none` where a person did it by hand.
    pub run: String,
    pub why: String,
}

/// What a new message says.
#[derive(Clone, Debug)]
pub struct Draft {
    pub id: String,
    pub from: String,
    pub to: Vec<Dept>,
    pub kind: String,
    pub subject: String,
    pub body: String,
    pub amount_usd: Option<f64>,
    pub project: Option<String>,
    pub directive: Option<String>,
    pub reference: Option<String>,
    pub thread: Option<String>,
    pub hops: u64,
    pub provenance: Provenance,
    /// The approval by which a human vouched for it.
    pub vouched: Option<String>,
    pub created: Time,
}

/// A message as it was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    pub id: String,
    pub from: String,
    pub to: Vec<String>,
    pub kind: String,
    pub subject: String,
    pub project: Option<String>,
    pub directive: Option<String>,
    pub reference: Option<String>,
    pub thread: String,
    pub hops: u64,
    pub provenance: Provenance,
    pub created: Time,
    pub status: Status,
    pub waits_for: Option<String>,
    pub body: String,
    /// Set where this is a task of the board that was put on the table as a letter; no file can say so.
    pub item: Option<Box<TaskItem>>,
    front: FrontMatter,
}

/// A task on the table: why it is eligible, and what rules of a playbook ask of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskItem {
    pub kind: ItemKind,
    pub owner: String,
    pub priority: &'static str,
    pub verdict: String,
    /// The sections in which something was said.
    pub said: Vec<&'static str>,
    pub description: String,
}

/// Why a file can't be taken as a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MessageFault {
    FrontMatter(FrontMatterFault),
    Schema(String),
    Field { key: &'static str, what: String },
}

impl fmt::Display for MessageFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MessageFault::FrontMatter(fault) => write!(f, "{fault}"),
            MessageFault::Schema(found) => {
                write!(f, "its schema is {found}, and this program knows {MESSAGE_SCHEMA}")
            }
            MessageFault::Field { key, what } => write!(f, "`{key}` {what}"),
        }
    }
}

/// What the folder tells about a file beside its text.
#[derive(Clone, Debug)]
pub struct Found<'a> {
    /// The id that its name gives it.
    pub id: &'a str,
    /// Its first heading stands for a subject; this is used where there is none.
    pub name: &'a str,
    pub modified: Time,
    pub dept: &'a str,
}

/// The text of a message that was moved on by runs that are to count for nothing, as it was when it arrived; none where
/// it was not. What counts is told by the receipt's run and moment.
pub fn reopen(text: &str, counts_for_nothing: &dyn Fn(&str, Time) -> bool) -> Option<String> {
    let split = parse_front_matter(text).ok()?;
    let mut front = split.front?;
    let moved = |status: &Status, part: &str| format!("{status}_{part}");
    let undone = Status::ALL.iter().any(|status| {
        let at = front.text(&moved(status, "at")).and_then(parse_rfc3339);
        let run = front.text(&moved(status, "run"));
        at.zip(run).is_some_and(|(at, run)| counts_for_nothing(run, at))
    });
    if !undone {
        return None;
    }
    front.set_text("status", Status::Pending.name());
    front.remove("waits_for");
    for status in Status::ALL {
        for part in ["at", "by", "run", "why"] {
            front.remove(&moved(&status, part));
        }
    }
    Some(front.render(split.body))
}

/// Renders a new message, status pending.
pub fn render_message(draft: &Draft) -> String {
    let mut front = FrontMatter::default();
    front.set_number("schema", MESSAGE_SCHEMA);
    front.set_text("id", &draft.id);
    front.set_text("from", &draft.from);
    front.set("to", Value::List(draft.to.iter().map(ToString::to_string).collect()));
    front.set_text("kind", &draft.kind);
    front.set_text("subject", &draft.subject);
    if let Some(amount) = draft.amount_usd {
        front.set_number("amount_usd", amount);
    }
    for (key, value) in
        [("project", &draft.project), ("directive", &draft.directive), ("ref", &draft.reference)]
    {
        if let Some(value) = value {
            front.set_text(key, value);
        }
    }
    front.set_text("thread", draft.thread.as_ref().unwrap_or(&draft.id));
    front.set_number("hops", draft.hops);
    front.set_text("provenance", draft.provenance.name());
    if let Some(approval) = &draft.vouched {
        front.set_text("vouched", approval);
    }
    set_created(&mut front, draft.created);
    front.set_text("status", Status::Pending.name());
    let newline = if draft.body.is_empty() || draft.body.ends_with('\n') { "" } else { "\n" };
    front.render(&format!("{}{newline}", draft.body))
}

/// Reads a message. A plain file, and a front matter that leaves keys out, is taken as a note from `file`.
pub fn parse_message(text: &str, found: &Found<'_>) -> Result<Message, MessageFault> {
    let split = parse_front_matter(text).map_err(MessageFault::FrontMatter)?;
    let plain = split.front.is_none();
    let mut front = split.front.unwrap_or_default();
    check_schema(&front)?;
    if !is_delivered(&front, found) {
        disown(&mut front);
    }
    let text_of = |key: &str| front.text(key).map(str::to_string);
    let id = text_of("id").unwrap_or_else(|| found.id.to_string());
    if id != found.id {
        return field("id", format!("is `{}`, but the file's name says `{}`", clip(&id), found.id));
    }
    let status = match front.text("status") {
        None => Status::Pending,
        Some(text) => Status::parse(text).ok_or_else(|| unknown("status", text))?,
    };
    let provenance = match front.text("provenance") {
        None => Provenance::External,
        Some(text) => Provenance::parse(text).ok_or_else(|| unknown("provenance", text))?,
    };
    let created = match front.text("created") {
        None => found.modified,
        Some(text) => within_second(&front, parse_rfc3339(text).ok_or_else(|| unknown("created", text))?),
    };
    let hops = match front.text("hops") {
        None => 0,
        Some(text) => text.parse().map_err(|_| unknown("hops", text))?,
    };
    let from = text_of("from").unwrap_or_else(|| FROM_FILE.to_string());
    let kind = text_of("kind").unwrap_or_else(|| "Note".to_string());
    if !is_kind(&kind) {
        return Err(unknown("kind", &kind));
    }
    if !is_id(&from) {
        return Err(unknown("from", &from));
    }
    let to = if plain || front.get("to").is_none() { vec![found.dept.to_string()] } else { front.list("to") };
    let subject = text_of("subject").unwrap_or_else(|| first_heading(split.body, found.name));
    let message = Message {
        thread: text_of("thread").unwrap_or_else(|| id.clone()),
        project: text_of("project"),
        directive: text_of("directive"),
        reference: text_of("ref"),
        waits_for: text_of("waits_for"),
        body: split.body.to_string(),
        item: None,
        id,
        from,
        to,
        kind,
        subject,
        hops,
        provenance,
        created,
        status,
        front,
    };
    message.check_receipts()?;
    Ok(message)
}

/// Whether a file has the form of what this program delivers: an id that was made, which its name and its front matter
/// both give. Whoever chooses a file's text alone, as by a mail that something saves as a file, can't give it that.
fn is_delivered(front: &FrontMatter, found: &Found<'_>) -> bool {
    is_made_id(found.id) && found.name == found.id && front.text("id") == Some(found.id)
}

/// What a dropped file says of its sender counts for nothing, also once it has the name of an id: a mail that begins
/// with `provenance: human` would else be the human's.
fn disown(front: &mut FrontMatter) {
    for (key, value) in [("from", FROM_FILE), ("provenance", Provenance::External.name())] {
        if front.get(key).is_some() {
            front.set_text(key, value);
        }
    }
    if front.text("kind") == Some("System") {
        front.set_text("kind", "Note");
    }
}

/// The key that says how many microseconds after `created` something was made. What was sent within one second keeps
/// its order by it.
const WITHIN_SECOND: &str = "created_us";

/// Writes down when something was made: to the second for people, and what is left of it beside that.
pub fn set_created(front: &mut FrontMatter, at: Time) {
    front.set_text("created", render_rfc3339(at));
    let micros = at.timestamp_subsec_micros();
    if micros > 0 {
        front.set_number(WITHIN_SECOND, micros);
    }
}

/// A moment of whole seconds with its microseconds, where the front matter says so. What else stands there counts for
/// nothing: it only puts in order.
pub fn within_second(front: &FrontMatter, at: Time) -> Time {
    let micros = front.text(WITHIN_SECOND).and_then(|text| text.parse::<u32>().ok());
    let micros = micros.filter(|micros| *micros < 1_000_000 && at.timestamp_subsec_nanos() == 0);
    at + TimeDelta::microseconds(i64::from(micros.unwrap_or(0)))
}

fn check_schema(front: &FrontMatter) -> Result<(), MessageFault> {
    match front.text("schema") {
        None => Ok(()),
        Some(text) if text.parse::<u64>().is_ok_and(|schema| schema <= MESSAGE_SCHEMA) => Ok(()),
        Some(text) => Err(MessageFault::Schema(clip(text))),
    }
}

fn field<T>(key: &'static str, what: String) -> Result<T, MessageFault> {
    Err(MessageFault::Field { key, what })
}

fn unknown(key: &'static str, text: &str) -> MessageFault {
    MessageFault::Field { key, what: format!("can't be `{}`", clip(text)) }
}

fn clip(text: &str) -> String {
    super::text::one_line(text, 60)
}

/// A kind is one word in letters and digits, such as `BuildRequest`.
pub fn is_kind(text: &str) -> bool {
    (1..=40).contains(&text.len())
        && text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

fn first_heading(body: &str, name: &str) -> String {
    let heading = body.lines().find_map(|line| line.trim_start().strip_prefix('#'));
    let heading = heading.map(|line| line.trim_start_matches('#').trim()).filter(|line| !line.is_empty());
    super::text::one_line(heading.unwrap_or(name), SUBJECT_MAX)
}

impl Message {
    /// By what messages are put in the order of their story. What an answer sends is dated to the second in which it
    /// came, and what a person sends more closely: within a second an answer comes after what it answers.
    pub fn place_in_story(&self) -> (i64, u64, Time, String) {
        (self.created.timestamp(), self.hops, self.created, self.id.clone())
    }

    /// A task of the board as a letter on the table: its title is the subject, all that is known of it the body.
    pub fn of_task(task: &Task, kind: ItemKind) -> Message {
        let mut said: Vec<&'static str> =
            task.comments().iter().map(|comment| comment.section.name()).collect();
        said.dedup();
        let item = TaskItem {
            kind,
            owner: task.owner.clone().unwrap_or_default(),
            priority: task.priority.name(),
            verdict: task.verdict.clone().unwrap_or_default(),
            said,
            description: task.description().to_string(),
        };
        Message {
            id: task.id.clone(),
            from: "board".to_string(),
            to: Vec::new(),
            kind: "Task".to_string(),
            subject: task.title.clone(),
            project: task.project.clone(),
            directive: None,
            reference: None,
            thread: task.id.clone(),
            hops: 0,
            provenance: task.provenance,
            created: task.created,
            status: Status::Pending,
            waits_for: task.waits_for.first().cloned(),
            body: task.letter(kind.name()),
            item: Some(Box::new(item)),
            front: FrontMatter::default(),
        }
    }

    /// A status past `pending` without who, which run and why was not set by the tool.
    fn check_receipts(&self) -> Result<(), MessageFault> {
        if self.status == Status::Pending || self.receipt(self.status).is_some() {
            return Ok(());
        }
        field("status", format!("is `{}` without a receipt of who, which run and why", self.status))
    }

    pub fn receipt(&self, status: Status) -> Option<Receipt> {
        let text = |part: &str| self.front.text(&format!("{status}_{part}")).map(str::to_string);
        let at = parse_rfc3339(&text("at")?)?;
        Some(Receipt { status, at, by: text("by")?, run: text("run")?, why: text("why")? })
    }

    pub fn receipts(&self) -> Vec<Receipt> {
        Status::ALL.into_iter().filter_map(|status| self.receipt(status)).collect()
    }

    /// The file with the message moved on. Content and unknown keys stay as they are.
    pub fn marked(&self, receipt: &Receipt, waits_for: Option<&str>) -> String {
        let mut front = self.adopted();
        front.set_text("status", receipt.status.name());
        for (part, value) in [
            ("at", render_rfc3339(receipt.at)),
            ("by", receipt.by.clone()),
            ("run", receipt.run.clone()),
            ("why", receipt.why.clone()),
        ] {
            front.set_text(&format!("{}_{part}", receipt.status), value);
        }
        match waits_for {
            Some(id) => front.set_text("waits_for", id),
            None => front.remove("waits_for"),
        }
        front.render(&self.body)
    }

    /// The front matter with every key of the content written out, as a dropped file has none.
    fn adopted(&self) -> FrontMatter {
        let mut front = self.front.clone();
        if front.get("schema").is_none() {
            front.set_number("schema", MESSAGE_SCHEMA);
        }
        for (key, value) in self.content() {
            match value {
                _ if front.get(key).is_some() => {}
                Value::Text(number) if key == "hops" => front.set_number(key, number),
                _ if key == "created" => set_created(&mut front, self.created),
                value => front.set(key, value),
            }
        }
        front
    }

    fn content(&self) -> Vec<(&'static str, Value)> {
        let text = |text: &str| Value::Text(text.to_string());
        let mut content = vec![
            ("id", text(&self.id)),
            ("from", text(&self.from)),
            ("to", Value::List(self.to.clone())),
            ("kind", text(&self.kind)),
            ("subject", text(&self.subject)),
        ];
        let optional = [("project", &self.project), ("directive", &self.directive), ("ref", &self.reference)];
        content.extend(optional.into_iter().filter_map(|(key, v)| v.as_ref().map(|v| (key, text(v)))));
        content.extend([
            ("thread", text(&self.thread)),
            ("hops", text(&self.hops.to_string())),
            ("provenance", text(self.provenance.name())),
            ("created", text(&render_rfc3339(self.created))),
        ]);
        if let Some(amount) = self.front.text("amount_usd") {
            content.push(("amount_usd", text(amount)));
        }
        content
    }

    /// The digest of the part that never changes, whatever happened to the message since.
    pub fn digest(&self) -> String {
        let mut hash = Sha256::new();
        for (key, value) in self.content() {
            let value = match value {
                Value::Text(text) => text,
                Value::List(items) => items.join("\u{1f}"),
            };
            hash.update(format!("{key}\u{1e}{value}\u{1e}").as_bytes());
        }
        hash.update(self.body.as_bytes());
        super::digest::hex(&hash.finalize())
    }

    /// Whether it says that it is the human's. Nothing proves that.
    pub fn claims_human(&self) -> bool {
        self.from == "user" || self.provenance == Provenance::Human
    }

    pub fn amount_usd(&self) -> Option<f64> {
        self.front.text("amount_usd").and_then(|text| text.parse().ok())
    }

    pub fn extra(&self, key: &str) -> Option<&str> {
        self.front.text(key)
    }
}
