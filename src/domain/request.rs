//! What waits for a human: approvals, questions and escalations, as files with one front matter.
//!
//! Each has an id, a status that begins as `pending`, and a signature over everything that must not change. A human's
//! resolution is signed too, and bound to that signature, so that neither the request nor the answer can be forged or
//! moved to another request. What was tampered with is named and refused; it is never put right in silence.

use super::digest::{same, sha256};
use super::front_matter::{FrontMatter, parse_front_matter};
use super::text::one_line;
use super::time::{Time, parse_rfc3339, render_rfc3339};
use serde_json::{Map, Value};
use std::fmt;

/// Keys that a resolution adds or changes; everything else is fixed.
const CHANGING: [&str; 8] =
    ["status", "mac", "resolved_at", "resolved_by", "resolved_why", "resolution_mac", "carried_out", "told"];

/// Which kind of request it is; its folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestKind {
    Approval,
    Question,
    Escalation,
}

impl RequestKind {
    pub const ALL: [RequestKind; 3] = [RequestKind::Approval, RequestKind::Question, RequestKind::Escalation];

    pub fn folder(self) -> &'static str {
        match self {
            RequestKind::Approval => "approvals",
            RequestKind::Question => "questions",
            RequestKind::Escalation => "escalations",
        }
    }

    /// By the first letter of an id.
    pub fn of_id(id: &str) -> Option<RequestKind> {
        match id.get(..2)? {
            "a-" => Some(RequestKind::Approval),
            "q-" => Some(RequestKind::Question),
            "e-" => Some(RequestKind::Escalation),
            _ => None,
        }
    }
}

/// How it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestStatus {
    Pending,
    Approved,
    Rejected,
    Expired,
    Answered,
    Resolved,
}

impl RequestStatus {
    const ALL: [RequestStatus; 6] = [
        RequestStatus::Pending,
        RequestStatus::Approved,
        RequestStatus::Rejected,
        RequestStatus::Expired,
        RequestStatus::Answered,
        RequestStatus::Resolved,
    ];

    pub fn name(self) -> &'static str {
        match self {
            RequestStatus::Pending => "pending",
            RequestStatus::Approved => "approved",
            RequestStatus::Rejected => "rejected",
            RequestStatus::Expired => "expired",
            RequestStatus::Answered => "answered",
            RequestStatus::Resolved => "resolved",
        }
    }

    pub fn parse(text: &str) -> Option<RequestStatus> {
        RequestStatus::ALL.into_iter().find(|status| status.name() == text)
    }
}

impl fmt::Display for RequestStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A request as it was read.
#[derive(Clone, Debug)]
pub struct Request {
    pub id: String,
    pub status: RequestStatus,
    pub created: Time,
    pub body: String,
    front: FrontMatter,
}

/// A human's answer, or an expiry.
#[derive(Clone, Debug)]
pub struct Resolution<'a> {
    pub status: RequestStatus,
    pub at: Time,
    pub by: &'a str,
    pub why: &'a str,
}

/// Signs some content; the store has the key.
pub type Sign<'a> = dyn Fn(&str) -> String + 'a;

/// What makes a request count in one organisation, and in no other.
#[derive(Clone, Debug, Default)]
pub struct Binding {
    /// The organisation's id; none in one that has none yet.
    pub org: Option<String>,
    /// When it got its id, where it was there before: what was signed until then names none.
    pub adopted: Option<Time>,
    /// Why nothing that is signed counts here.
    pub refused: Option<String>,
}

impl Binding {
    fn check(&self, named: Option<&str>, created: Time) -> Result<(), String> {
        if let Some(why) = &self.refused {
            return Err(why.clone());
        }
        match (&self.org, named) {
            (None, None) => Ok(()),
            (Some(org), Some(named)) if org == named => Ok(()),
            (_, Some(_)) => Err("it was signed for another organisation".to_string()),
            (Some(_), None) if self.adopted.is_some_and(|adopted| created <= adopted) => Ok(()),
            (Some(_), None) => Err("it names no organisation, and this one has an id".to_string()),
        }
    }
}

/// Adds the organisation and the signature to a new request.
pub fn sign_request(text: &str, binding: &Binding, sign: &Sign<'_>) -> String {
    let Ok(split) = parse_front_matter(text) else { return text.to_string() };
    let mut front = split.front.unwrap_or_default();
    if let Some(org) = &binding.org {
        front.set_text("org", org);
    }
    let mac = sign(&fixed_part(&front, split.body));
    front.set_text("mac", mac);
    front.render(split.body)
}

/// Everything that must not change, as one text.
fn fixed_part(front: &FrontMatter, body: &str) -> String {
    let mut text = String::new();
    for (key, value) in front.entries().filter(|(key, _)| !CHANGING.contains(key)) {
        text.push_str(&format!("{key}\u{1e}{value:?}\u{1e}"));
    }
    text + body
}

/// Reads a request and checks its signatures.
pub fn parse_request(text: &str, id: &str, binding: &Binding, sign: &Sign<'_>) -> Result<Request, String> {
    let split = parse_front_matter(text).map_err(|fault| fault.to_string())?;
    let front = split.front.ok_or("it has no front matter")?;
    if front.text("schema") != Some("1") {
        return Err(format!(
            "its schema is {}, and this program knows 1",
            front.text("schema").unwrap_or("missing")
        ));
    }
    if front.text("id") != Some(id) {
        return Err("its id is not that of its name".to_string());
    }
    let mac = front.text("mac").ok_or("it carries no signature")?;
    if !same(mac, &sign(&fixed_part(&front, split.body))) {
        return Err(
            "it was changed after it was written: its signature is not that of its content".to_string()
        );
    }
    let status = front.text("status").and_then(RequestStatus::parse).ok_or("its status is unknown")?;
    let created = front.text("created").and_then(parse_rfc3339).ok_or("it says not when it was created")?;
    binding.check(front.text("org"), created)?;
    let request = Request { id: id.to_string(), status, created, body: split.body.to_string(), front };
    request.check_resolution(sign)?;
    Ok(request)
}

impl Request {
    pub fn text(&self, key: &str) -> Option<&str> {
        self.front.text(key)
    }

    pub fn list(&self, key: &str) -> Vec<String> {
        self.front.list(key)
    }

    /// A status that no human set, and no expiry, is a forgery.
    fn check_resolution(&self, sign: &Sign<'_>) -> Result<(), String> {
        if self.status == RequestStatus::Pending {
            return Ok(());
        }
        let mac = self
            .text("resolution_mac")
            .ok_or_else(|| format!("it is {} without a signature", self.status))?;
        let part = self.resolution_part(
            self.status.name(),
            self.text("resolved_at").unwrap_or(""),
            self.text("resolved_by").unwrap_or(""),
            self.text("resolved_why").unwrap_or(""),
        );
        if same(mac, &sign(&part)) {
            Ok(())
        } else {
            Err(format!("the signature under `{}` is not right", self.status))
        }
    }

    fn resolution_part(&self, status: &str, at: &str, by: &str, why: &str) -> String {
        let bound = self.text("mac").unwrap_or("");
        ["resolution", bound, status, at, by, why].join("\u{1e}")
    }

    /// The file with its resolution, signed.
    pub fn resolved(&self, resolution: &Resolution<'_>, sign: &Sign<'_>) -> String {
        let mut front = self.front.clone();
        let (at, why) = (render_rfc3339(resolution.at), resolution.why.trim());
        let part = self.resolution_part(resolution.status.name(), &at, resolution.by, why);
        front.set_text("status", resolution.status.name());
        front.set_text("resolved_at", at);
        front.set_text("resolved_by", resolution.by);
        front.set_text("resolved_why", why);
        front.set_text("resolution_mac", sign(&part));
        front.render(&self.body)
    }

    /// The file with the mark that its outcome was carried out and told, and by which run.
    pub fn told(&self, run: &str) -> String {
        let mut front = self.front.clone();
        front.set_text("told", run);
        front.render(&self.body)
    }

    pub fn is_told(&self) -> bool {
        self.text("told").is_some()
    }

    /// When it is over, unanswered: an approval has an expiry, a question may have a day by which it is due.
    pub fn expires(&self) -> Option<Time> {
        self.text("expires").or_else(|| self.text("due")).and_then(parse_rfc3339)
    }

    pub fn is_expired(&self, now: Time) -> bool {
        let expires = self.expires();
        self.status == RequestStatus::Pending && expires.is_some_and(|expires| expires <= now)
    }

    /// The exact action of an approval, where its hash is right.
    pub fn action(&self) -> Result<Map<String, Value>, String> {
        let (_, after) = self.body.rsplit_once("```json\n").ok_or("it holds no action")?;
        let (exact, _) = after.rsplit_once("\n```").ok_or("its action is cut off")?;
        if self.text("action_sha256") != Some(&sha256(exact.as_bytes())) {
            return Err("its action is not the one its hash names".to_string());
        }
        match serde_json::from_str(exact) {
            Ok(Value::Object(action)) => Ok(action),
            _ => Err("its action is not a JSON object".to_string()),
        }
    }

    /// The director's reasoning: what stands before the action.
    pub fn reasoning(&self) -> &str {
        self.body.split("\n\n```json").next().unwrap_or(&self.body).trim()
    }
}

/// What an action would do, in a line for whoever is to decide: the rest is in the action itself.
pub fn headline(action: &Map<String, Value>) -> String {
    let text = |key: &str| action.get(key).and_then(Value::as_str).unwrap_or_default();
    let name = text("do");
    let line = match name {
        "send_message" => {
            let amount = action.get("amount_usd").map(|usd| format!(" of {usd} USD")).unwrap_or_default();
            let to = receivers(action).replace(' ', ", ");
            format!("send {}{amount} to {to}: {}", text("kind"), text("subject"))
        }
        _ => {
            let about = ["title", "name", "pipeline", "file", "question", "text", "id"];
            let about = about.into_iter().map(text).find(|about| !about.is_empty()).unwrap_or_default();
            format!("{name} {about}").trim_end().to_string()
        }
    };
    one_line(&line, 200)
}

/// In whatever order they are named.
fn receivers(action: &Map<String, Value>) -> String {
    let named = action.get("to").and_then(Value::as_array).into_iter().flatten();
    let names: std::collections::BTreeSet<&str> = named.filter_map(Value::as_str).collect();
    names.into_iter().collect::<Vec<_>>().join(" ")
}

/// What an approval is about: one may be pending for each. For a message, its kind, recipients and project.
pub fn subject_of(action: &Map<String, Value>) -> String {
    let text = |key: &str| action.get(key).map(ToString::to_string).unwrap_or_default();
    match action.get("do").and_then(Value::as_str) {
        Some("send_message") => {
            format!("send_message {} {} {}", text("kind"), receivers(action), text("project"))
        }
        Some(name) => {
            let target = ["id", "pipeline", "file", "name", "title"].map(&text).join(" ");
            format!("{name} {}", target.trim())
        }
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sign(content: &str) -> String {
        sha256(format!("key{content}").as_bytes())
    }

    const TEXT: &str = "---\nschema: 1\nid: a-1\nstatus: pending\ncreated: 2026-11-18T00:00:00Z\nexpires: 2026-11-21T00:00:00Z\n---\nwhy\n";

    fn own() -> Binding {
        Binding { org: Some("one".to_string()), ..Binding::default() }
    }

    fn signed() -> String {
        sign_request(TEXT, &own(), &sign)
    }

    fn approve(request: &Request) -> String {
        let at = parse_rfc3339("2026-11-19T00:00:00Z").unwrap();
        request.resolved(&Resolution { status: RequestStatus::Approved, at, by: "user", why: "fine" }, &sign)
    }

    #[test]
    fn a_request_and_its_resolution_hold() {
        let request = parse_request(&signed(), "a-1", &own(), &sign).unwrap();
        assert_eq!(request.status, RequestStatus::Pending);
        let approved = parse_request(&approve(&request), "a-1", &own(), &sign).unwrap();
        assert_eq!(approved.status, RequestStatus::Approved);
    }

    #[test]
    fn every_forgery_is_named() {
        let good = signed();
        let request = parse_request(&good, "a-1", &own(), &sign).unwrap();
        let approved = approve(&request);
        let check = |text: String, part: &str| {
            let fault = parse_request(&text, "a-1", &own(), &sign).unwrap_err();
            assert!(fault.contains(part), "{fault}");
        };
        check(good.replace("why\n", "other\n"), "changed after");
        check(good.replace("2026-11-21", "2027-11-21"), "changed after");
        check(good.replace("status: pending", "status: approved"), "without a signature");
        check(approved.replace("status: approved", "status: rejected"), "is not right");
        check(approved.replace("resolved_by: user", "resolved_by: root"), "is not right");
        check(TEXT.to_string(), "no signature");
        check(good.replace("id: a-1", "id: a-2"), "not that of its name");
        check(good.replace("schema: 1", "schema: 2"), "schema");
    }

    #[test]
    fn it_counts_in_its_own_organisation_alone() {
        let at = |text: &str| parse_rfc3339(text);
        let bare = sign_request(TEXT, &Binding::default(), &sign);
        let check = |text: &str, binding: Binding, part: Option<&str>| {
            let fault = parse_request(text, "a-1", &binding, &sign).err();
            match part {
                None => assert_eq!(fault, None),
                Some(part) => assert!(fault.as_deref().unwrap_or_default().contains(part), "{fault:?}"),
            }
        };
        check(&signed(), own(), None);
        check(&signed(), Binding { org: Some("two".to_string()), ..own() }, Some("another organisation"));
        check(&signed(), Binding::default(), Some("another organisation"));
        check(&signed(), Binding { refused: Some("a copy".to_string()), ..own() }, Some("a copy"));
        check(
            &signed().replace("org: one", "org: two"),
            Binding { org: Some("two".to_string()), ..own() },
            Some("changed"),
        );
        check(&bare, own(), Some("names no organisation"));
        check(&bare, Binding { adopted: at("2026-11-18T00:00:00Z"), ..own() }, None);
        check(&bare, Binding { adopted: at("2026-11-17T00:00:00Z"), ..own() }, Some("names no organisation"));
        check(&bare, Binding::default(), None);
    }

    #[test]
    fn it_expires() {
        let request = parse_request(&signed(), "a-1", &own(), &sign).unwrap();
        assert!(request.is_expired(parse_rfc3339("2026-11-21T00:00:00Z").unwrap()));
        assert!(!request.is_expired(parse_rfc3339("2026-11-20T23:59:59Z").unwrap()));
    }
}
