//! A directive: what the human wants of the organisation, as a file under the root's `.harness/directives/`.
//!
//! Only the human changes one. It arrives at business as a message of kind Directive, whose id the file holds, so that
//! a delivery which a crash cut off can be made up for and never happens twice. Keys this file doesn't know survive.

use super::allowance::{Allowance, render_usd};
use super::front_matter::{FrontMatter, parse_front_matter};
use super::id::Dept;
use super::message::{BODY_MAX, Draft, Provenance, render_message, set_created, within_second};
use super::priority::Priority;
use super::text::one_line;
use super::time::{Time, parse_due, parse_rfc3339, parse_since, render_rfc3339};
use std::fmt;

/// The newest format this program knows.
pub const DIRECTIVE_SCHEMA: u64 = 1;

/// Who gets directives.
pub const RECEIVER: &str = "business";

/// How a directive stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirectiveStatus {
    Open,
    Paused,
    Completed,
    Cancelled,
}

impl DirectiveStatus {
    pub const ALL: [DirectiveStatus; 4] = [
        DirectiveStatus::Open,
        DirectiveStatus::Paused,
        DirectiveStatus::Completed,
        DirectiveStatus::Cancelled,
    ];

    pub fn name(self) -> &'static str {
        match self {
            DirectiveStatus::Open => "open",
            DirectiveStatus::Paused => "paused",
            DirectiveStatus::Completed => "completed",
            DirectiveStatus::Cancelled => "cancelled",
        }
    }

    pub fn parse(text: &str) -> Option<DirectiveStatus> {
        DirectiveStatus::ALL.into_iter().find(|status| status.name() == text)
    }

    /// Whether its work waits: mail, jobs and spending that belong to it.
    pub fn holds(self) -> bool {
        matches!(self, DirectiveStatus::Paused | DirectiveStatus::Cancelled)
    }
}

impl fmt::Display for DirectiveStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A directive as it was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Directive {
    pub id: String,
    pub title: String,
    pub body: String,
    pub status: DirectiveStatus,
    pub priority: Priority,
    pub allowance: Allowance,
    /// A date or a moment, as it was given.
    pub deadline: Option<String>,
    /// The message by which it arrives at business.
    pub message: String,
    pub created: Time,
    front: FrontMatter,
}

/// What a new directive says.
#[derive(Clone, Debug)]
pub struct NewDirective {
    pub id: String,
    pub title: String,
    pub body: String,
    pub priority: Priority,
    pub allowance: Allowance,
    pub deadline: Option<String>,
    pub message: String,
    pub created: Time,
}

/// Whether a text can be a deadline: a date or an RFC 3339 moment.
pub fn is_deadline(text: &str) -> bool {
    text.contains('-') && parse_since(text, Time::UNIX_EPOCH).is_some()
}

/// Whether a deadline has passed already; one that is no deadline has not.
pub fn is_past(deadline: &str, now: Time) -> bool {
    parse_due(deadline).is_some_and(|end| end < now)
}

/// The file of a new directive, open.
pub fn render_directive(new: &NewDirective) -> String {
    let mut front = FrontMatter::default();
    front.set_number("schema", DIRECTIVE_SCHEMA);
    front.set_text("id", &new.id);
    front.set_text("title", &new.title);
    front.set_text("status", DirectiveStatus::Open.name());
    front.set_text("priority", new.priority.name());
    new.allowance.write(&mut front);
    if let Some(deadline) = &new.deadline {
        front.set_text("deadline", deadline);
    }
    front.set_text("message", &new.message);
    set_created(&mut front, new.created);
    let newline = if new.body.is_empty() || new.body.ends_with('\n') { "" } else { "\n" };
    front.render(&format!("{}{newline}", new.body))
}

/// Reads a directive; `id` is what its file's name says.
pub fn parse_directive(text: &str, id: &str) -> Result<Directive, String> {
    let split = parse_front_matter(text).map_err(|fault| fault.to_string())?;
    let front = split.front.ok_or("it has no front matter")?;
    match front.text("schema").and_then(|text| text.parse::<u64>().ok()) {
        Some(schema) if schema <= DIRECTIVE_SCHEMA => {}
        _ => {
            let found = one_line(front.text("schema").unwrap_or("missing"), 40);
            return Err(format!("its schema is {found}, and this program knows {DIRECTIVE_SCHEMA}"));
        }
    }
    if front.text("id") != Some(id) {
        return Err("its id is not that of its name".to_string());
    }
    let needed = |key: &str| front.text(key).ok_or_else(|| format!("`{key}` is missing"));
    let bad = |key: &str, text: &str| format!("`{key}` can't be `{}`", one_line(text, 60));
    let status = needed("status")?;
    let status = DirectiveStatus::parse(status).ok_or_else(|| bad("status", status))?;
    let priority = front.text("priority").unwrap_or("medium");
    let priority = Priority::parse(priority).ok_or_else(|| bad("priority", priority))?;
    let created = needed("created")?;
    let created = parse_rfc3339(created).ok_or_else(|| bad("created", created))?;
    let deadline = front.text("deadline").map(str::to_string);
    if let Some(deadline) = deadline.as_deref().filter(|deadline| !is_deadline(deadline)) {
        return Err(bad("deadline", deadline));
    }
    Ok(Directive {
        id: id.to_string(),
        title: needed("title")?.to_string(),
        body: split.body.to_string(),
        status,
        priority,
        allowance: Allowance::parse(&front)?,
        deadline,
        message: needed("message")?.to_string(),
        created,
        front,
    })
}

/// Who moved a directive, and why.
#[derive(Clone, Debug)]
pub struct Move<'a> {
    pub status: DirectiveStatus,
    pub at: Time,
    pub why: &'a str,
}

impl Directive {
    /// The file with another status.
    pub fn moved(&self, to: &Move<'_>) -> String {
        let mut front = self.front.clone();
        front.set_text("status", to.status.name());
        front.set_text("status_at", render_rfc3339(to.at));
        front.set_text("status_why", to.why);
        front.render(&self.body)
    }

    /// Whether its message was delivered; what became of it since is business's own matter.
    pub fn is_delivered(&self) -> bool {
        self.front.text("delivered").is_some()
    }

    /// The file with the mark that its message was delivered.
    pub fn delivered(&self, at: Time) -> String {
        let mut front = self.front.clone();
        front.set_text("delivered", render_rfc3339(at));
        front.render(&self.body)
    }

    /// Why it stands as it does, and since when.
    pub fn status_why(&self) -> Option<(&str, &str)> {
        Some((self.front.text("status_at")?, self.front.text("status_why")?))
    }

    /// When it was given, closer than to the second: what was given later in the same second comes later.
    pub fn given(&self) -> Time {
        within_second(&self.front, self.created)
    }

    /// The message by which it arrives at business: the same bytes however often it is made.
    pub fn to_message(&self, to: &Dept) -> String {
        let mut terms = format!("Priority: {}.", self.priority);
        if let Some(deadline) = &self.deadline {
            terms.push_str(&format!(" Deadline: {deadline}."));
        }
        for (amount, unit) in [
            (self.allowance.usd.map(render_usd), "USD"),
            (self.allowance.tokens.map(|tokens| tokens.to_string()), "tokens"),
            (self.allowance.runs.map(|runs| runs.to_string()), "runs"),
        ] {
            if let Some(amount) = amount {
                terms.push_str(&format!(" Budget: {amount} {unit}."));
            }
        }
        render_message(&Draft {
            id: self.message.clone(),
            from: "user".to_string(),
            to: vec![to.clone()],
            kind: "Directive".to_string(),
            subject: self.title.clone(),
            body: format!("{}\n\n{terms}\n", self.body.trim_end()).trim_start().to_string(),
            amount_usd: None,
            project: None,
            directive: Some(self.id.clone()),
            reference: None,
            thread: None,
            hops: 0,
            provenance: Provenance::Human,
            vouched: None,
            created: self.given(),
        })
    }
}

/// The longest text of a directive: its message adds a line of terms.
pub const DIRECTIVE_BODY_MAX: usize = BODY_MAX - 1024;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn new(title: &str, body: &str) -> NewDirective {
        NewDirective {
            id: "d-20261118-004201-7f3k2q".to_string(),
            title: title.to_string(),
            body: body.to_string(),
            priority: Priority::High,
            allowance: Allowance { usd: Some(50.0), tokens: None, runs: Some(9) },
            deadline: Some("2026-12-01".to_string()),
            message: "m-20261118-004201-7f3k2q".to_string(),
            created: parse_rfc3339("2026-11-18T00:42:01Z").unwrap(),
        }
    }

    #[test]
    fn deadlines_are_dates_or_moments() {
        for (text, ok) in
            [("2026-12-01", true), ("2026-12-01T10:00:00Z", true), ("soon", false), ("7d", false)]
        {
            assert_eq!(is_deadline(text), ok, "{text}");
        }
    }

    #[test]
    fn a_deadline_lasts_until_the_end_of_its_day() {
        let now = parse_rfc3339("2026-11-18T12:00:00Z").unwrap();
        for (text, past) in [
            ("2026-11-17", true),
            ("2026-11-18", false),
            ("2026-11-18T11:59:59Z", true),
            ("2026-11-18T12:00:00Z", false),
        ] {
            assert_eq!(is_past(text, now), past, "{text}");
        }
    }

    #[test]
    fn a_newer_schema_and_another_id_are_refused() {
        let text = render_directive(&new("Grow", "More."));
        let id = "d-20261118-004201-7f3k2q";
        assert!(parse_directive(&text, id).is_ok());
        assert!(parse_directive(&text, "d-1").is_err());
        let newer = text.replace("schema: 1", "schema: 2");
        assert_eq!(parse_directive(&newer, id).unwrap_err(), "its schema is 2, and this program knows 1");
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(title in "[^\\p{C}]{1,80}", body in any::<String>(), why in "[^\\p{C}]{1,40}") {
            prop_assume!(!title.trim().is_empty() && !why.trim().is_empty());
            let new = new(title.trim(), &body);
            let read = parse_directive(&render_directive(&new), &new.id).unwrap();
            prop_assert_eq!(&read.title, &new.title);
            prop_assert_eq!(read.body.trim_end_matches('\n'), body.trim_end_matches('\n'));
            prop_assert_eq!(read.allowance, new.allowance);
            let to = Move { status: DirectiveStatus::Paused, at: new.created, why: why.trim() };
            let moved = parse_directive(&read.moved(&to), &new.id).unwrap();
            prop_assert_eq!(moved.status, DirectiveStatus::Paused);
            prop_assert_eq!(moved.status_why().unwrap().1, why.trim());
            prop_assert_eq!(moved.body, read.body);
        }

        #[test]
        fn any_text_is_read_or_refused(text in any::<String>()) {
            let _ = parse_directive(&text, "d-1");
            let _ = parse_directive(&format!("---\n{text}\n---\n"), "d-1");
        }
    }
}
