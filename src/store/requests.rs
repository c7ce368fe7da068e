//! Approvals, questions and escalations as files: reading them with their signatures, and resolving them.

use super::dir::Dir;
use super::fault::{Result, StoreError};
use super::key::Key;
use super::org::{Department, Org};
use crate::domain::audit::{Deed, render_resolved};
use crate::domain::request::{Request, RequestKind, RequestStatus, Resolution, parse_request, sign_request};
use crate::domain::time::render_rfc3339;

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
    fn signer<'a>(&'a self, key: &'a Key, kind: RequestKind) -> impl Fn(&str) -> String + 'a {
        move |content| key.sign(kind.folder(), format!("{}\0{content}", self.dept).as_bytes())
    }

    /// A new request, signed for this department of this organisation.
    pub fn sign_request(&self, text: &str, key: &Key, kind: RequestKind) -> String {
        sign_request(text, &self.binding, &self.signer(key, kind))
    }

    /// Every request of one kind.
    pub fn requests(&self, kind: RequestKind, key: &Key) -> Result<Requests> {
        let mut found = Requests::default();
        let Some(dir) = self.requests_folder(kind)? else { return Ok(found) };
        let sign = self.signer(key, kind);
        for entry in dir.list()? {
            let Some(id) = entry.name.strip_suffix(".md") else { continue };
            let read = if dir.everyone_writes() {
                Err(open_folder(&dir))
            } else {
                dir.read(&entry.name, REQUEST_MAX)
            };
            let parsed = read.and_then(|text| match text {
                Some(text) => parse_request(&text.text, id, &self.binding, &sign)
                    .map(Some)
                    .map_err(|what| StoreError::format(dir.join(&entry.name), what)),
                None => Ok(None),
            });
            match parsed {
                Ok(request) => found.requests.extend(request),
                Err(error) => found.refused.push((entry.name.clone(), error.fault.to_string())),
            }
        }
        Ok(found)
    }

    pub fn request(&self, kind: RequestKind, id: &str, key: &Key) -> Result<Option<Request>> {
        let name = format!("{id}.md");
        let Some(dir) = self.requests_folder(kind)? else { return Ok(None) };
        if dir.everyone_writes() {
            return Err(open_folder(&dir));
        }
        let Some(text) = dir.read(&name, REQUEST_MAX)? else { return Ok(None) };
        let parsed = parse_request(&text.text, id, &self.binding, &self.signer(key, kind));
        parsed.map(Some).map_err(|what| StoreError::format(dir.join(&name), what))
    }

    /// Its files are read as the owner's alone are: one that everyone may write to is refused.
    fn requests_folder(&self, kind: RequestKind) -> Result<Option<Dir>> {
        Ok(self.dir.find(kind.folder())?.map(|dir| dir.as_private()))
    }

    /// Writes a resolution, once it stands in the audit log. A request that is no longer pending keeps the one it has,
    /// and so does one of which the log says so: a file that was put back as it had been is not open again.
    pub fn resolve(
        &self,
        org: &Org,
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
        let at = match org.recorded(&[(id, self.dept.as_str())])?.remove(0).resolved {
            Some((status, at)) if status == resolution.status => at,
            Some((status, at)) => {
                let what = format!("the audit log has it as {status} since {}", render_rfc3339(at));
                return Err(StoreError::format(self.dir.join(kind.folder()).join(id), what));
            }
            None => {
                let what = render_resolved(id, self.dept.as_str(), resolution.status, resolution.why);
                let (at, by, command) = (resolution.at, resolution.by, kind.folder());
                org.write_audit(&Deed { at, by, command, what: &what })?;
                at
            }
        };
        let sign = self.signer(key, kind);
        let text = request.resolved(&Resolution { at, ..*resolution }, &sign);
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

fn open_folder(dir: &Dir) -> StoreError {
    let what = "everyone may write into its folder, so nobody knows whose it is; look at it, then chmod 755";
    StoreError::format(dir.path(), what)
}
