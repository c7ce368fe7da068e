//! Approvals, questions and escalations as files: reading them with their signatures, and resolving them.

use super::fault::{Result, StoreError};
use super::key::Key;
use super::org::Department;
use crate::domain::request::{Request, RequestKind, RequestStatus, Resolution, parse_request};

/// The largest request that is read.
const REQUEST_MAX: u64 = 1024 * 1024;

/// What a folder of requests holds.
#[derive(Clone, Debug, Default)]
pub struct Requests {
    /// Oldest first.
    pub requests: Vec<Request>,
    /// Files that can't be trusted, and why. They are never rewritten or moved.
    pub refused: Vec<(String, String)>,
}

impl Department {
    /// Signs for this department's requests of one kind.
    pub fn signer<'a>(&'a self, key: &'a Key, kind: RequestKind) -> impl Fn(&str) -> String + 'a {
        move |content| key.sign(kind.folder(), format!("{}\0{content}", self.dept).as_bytes())
    }

    /// Every request of one kind.
    pub fn requests(&self, kind: RequestKind, key: &Key) -> Result<Requests> {
        self.requests_where(kind, key, &|_| true)
    }

    /// Those that wait, and those that can't be read. One whose front matter says that it is resolved is passed over
    /// before its signature is looked at: there may be years of them, and `verify` looks at all.
    pub fn pending_requests(&self, kind: RequestKind, key: &Key) -> Result<Requests> {
        self.requests_where(kind, key, &|text| !is_resolved(text))
    }

    fn requests_where(
        &self,
        kind: RequestKind,
        key: &Key,
        wanted: &dyn Fn(&str) -> bool,
    ) -> Result<Requests> {
        let mut found = Requests::default();
        let Some(dir) = self.dir.find(kind.folder())? else { return Ok(found) };
        let sign = self.signer(key, kind);
        for entry in dir.list()? {
            let Some(id) = entry.name.strip_suffix(".md") else { continue };
            let read = dir.read(&entry.name, REQUEST_MAX);
            let parsed = read.and_then(|text| match text.filter(|text| wanted(&text.text)) {
                Some(text) => parse_request(&text.text, id, &sign)
                    .map(Some)
                    .map_err(|what| StoreError::format(dir.join(&entry.name), what)),
                None => Ok(None),
            });
            match parsed {
                Ok(Some(request)) => found.requests.push(request),
                Ok(None) => {}
                Err(error) => found.refused.push((entry.name.clone(), error.fault.to_string())),
            }
        }
        Ok(found)
    }

    pub fn request(&self, kind: RequestKind, id: &str, key: &Key) -> Result<Option<Request>> {
        let name = format!("{}/{id}.md", kind.folder());
        let Some(text) = self.dir.read(&name, REQUEST_MAX)? else { return Ok(None) };
        let parsed = parse_request(&text.text, id, &self.signer(key, kind));
        parsed.map(Some).map_err(|what| StoreError::format(self.dir.join(&name), what))
    }

    /// Writes a resolution. A request that is no longer pending keeps the one it has.
    pub fn resolve(
        &self,
        kind: RequestKind,
        id: &str,
        key: &Key,
        resolution: &Resolution<'_>,
    ) -> Result<Request> {
        let _held = super::lock::lock(&self.own()?, "requests.lock")?;
        let missing = || StoreError::format(self.dir.join(kind.folder()).join(id), "it is not there");
        let request = self.request(kind, id, key)?.ok_or_else(missing)?;
        if request.status != RequestStatus::Pending {
            return Ok(request);
        }
        let sign = self.signer(key, kind);
        let text = request.resolved(resolution, &sign);
        self.dir.make(kind.folder())?.replace(&format!("{id}.md"), text.as_bytes())?;
        self.request(kind, id, key)?.ok_or_else(missing)
    }

    /// Whether what a message waits for is still open. What can't be read is: a forged file frees nothing.
    pub fn still_waits(&self, id: &str, key: &Key) -> bool {
        let Some(kind) = RequestKind::of_id(id) else { return true };
        match self.request(kind, id, key) {
            Ok(Some(request)) => request.status == RequestStatus::Pending || !request.is_told(),
            _ => true,
        }
    }
}

/// Whether a request's front matter has a resolution, with a signature under it. One without is a forgery to be named.
fn is_resolved(text: &str) -> bool {
    let split = text.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n"));
    let Some((front, _)) = split else { return false };
    let value = |key: &str| front.lines().find_map(|line| line.strip_prefix(key));
    let words = ["approved", "rejected", "expired", "answered", "resolved"];
    value("status: ").is_some_and(|status| words.contains(&status)) && value("resolution_mac: ").is_some()
}
