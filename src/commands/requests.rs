//! What the commands for approvals, questions and escalations have in common: finding one by its id, and resolving it.

use super::app::{App, Result};
use super::running::{Order, at_shop, settle_department};
use crate::domain::id::{Match, match_id};
use crate::domain::request::{Request, RequestKind, RequestStatus, Resolution};
use crate::domain::text::one_line;
use crate::domain::time::{Time, render_rfc3339};
use crate::error::{CommandError, Kind};
use crate::run::Effects;
use crate::run::cycle::Work;
use crate::store::org::{Department, Org};
use crate::ui::sink::Progress;

/// A request and whose it is.
pub struct FoundRequest {
    pub department: Department,
    pub request: Request,
    /// What the audit log says of one whose file is pending: it was put back as it had been.
    pub recorded: Option<(RequestStatus, Time)>,
}

impl FoundRequest {
    pub fn is_pending(&self) -> bool {
        self.request.status == RequestStatus::Pending && self.recorded.is_none()
    }
}

/// Every request of one kind in the organisation, oldest first; what can't be trusted is a warning.
pub fn all(app: &App<'_>, org: &Org, kind: RequestKind) -> Result<(Vec<FoundRequest>, Vec<String>)> {
    let key = app.key()?;
    let (mut found, mut warnings) = (Vec::new(), Vec::new());
    for dept in org.departments()?.departments {
        let Some(department) = org.department(&dept)? else { continue };
        let requests = department.requests(kind, &key)?;
        for (file, why) in requests.refused {
            warnings.push(format!(
                "org-{dept}/{}/{} counts for nothing: {why}",
                kind.folder(),
                one_line(&file, 100)
            ));
        }
        found.extend(requests.requests.into_iter().map(|request| FoundRequest {
            department: department.clone(),
            request,
            recorded: None,
        }));
    }
    warnings.extend(note_recorded(org, kind, &mut found)?);
    found.sort_by(|a, b| (a.request.created, &a.request.id).cmp(&(b.request.created, &b.request.id)));
    Ok((found, warnings))
}

/// Notes what the audit log says of those whose files are pending; a warning for each that was put back.
fn note_recorded(org: &Org, kind: RequestKind, found: &mut [FoundRequest]) -> Result<Vec<String>> {
    let mut pending: Vec<&mut FoundRequest> = found.iter_mut().filter(|one| one.is_pending()).collect();
    let wanted: Vec<(&str, &str)> =
        pending.iter().map(|one| (one.request.id.as_str(), one.department.dept.as_str())).collect();
    let recorded = org.recorded(&wanted)?;
    let mut warnings = Vec::new();
    for (one, recorded) in pending.iter_mut().zip(recorded) {
        one.recorded = recorded.resolved;
        if let Some((status, since)) = recorded.resolved {
            let (dept, folder, id) = (&one.department.dept, kind.folder(), &one.request.id);
            let since = render_rfc3339(since);
            warnings.push(format!(
                "org-{dept}/{folder}/{id}.md says pending, and the audit log has it as {status} since {since}"
            ));
        }
    }
    Ok(warnings)
}

/// The one that an id or the end of one names.
pub fn find(app: &App<'_>, org: &Org, kind: RequestKind, wanted: &str) -> Result<FoundRequest> {
    let (found, warnings) = all(app, org, kind)?;
    let what = kind.folder();
    match match_id(wanted, found.iter().map(|one| one.request.id.as_str())) {
        Match::One(id) => {
            let one = found.into_iter().find(|one| one.request.id == id);
            one.ok_or_else(|| CommandError::failed(format!("there is nothing `{wanted}` in {what}")))
        }
        Match::Many(ids) => {
            let error =
                CommandError::failed(format!("`{wanted}` fits several of the {what}")).code("ambiguous_id");
            Err(error.hint(format!("give more of the id: {}", ids.join(", "))))
        }
        Match::None => {
            let tampered =
                warnings.into_iter().find(|warning| !wanted.is_empty() && warning.contains(wanted));
            let error = match tampered {
                Some(warning) => CommandError::refused(warning).code("tampered"),
                None => {
                    CommandError::failed(format!("there is nothing `{}` in {what}", one_line(wanted, 60)))
                        .code("not_found")
                }
            };
            Err(error.hint(format!("`harness {what}` lists what is there")))
        }
    }
}

/// How a request stands before it is resolved.
enum Before {
    Open,
    /// Resolved so, and something came in between: it is carried out now.
    Waits,
    CarriedOut,
}

fn before(app: &App<'_>, one: &FoundRequest, status: RequestStatus) -> Result<Before> {
    let request = &one.request;
    let id = &request.id;
    if request.status == status {
        return Ok(if request.is_told() { Before::CarriedOut } else { Before::Waits });
    }
    if request.status != RequestStatus::Pending {
        let since = request.text("resolved_at").unwrap_or("then");
        let what = format!("`{id}` is {} since {since}", request.status);
        return Err(CommandError::failed(what).code("resolved").hint("a resolution is never changed"));
    }
    if let Some((other, since)) = one.recorded.filter(|(recorded, _)| *recorded != status) {
        let what = format!(
            "`{id}` is {other} since {}, by the audit log; its file was put back",
            render_rfc3339(since)
        );
        return Err(CommandError::failed(what).code("resolved").hint("a resolution is never changed"));
    }
    if request.is_expired(app.ctx.now()) && one.recorded.is_none() {
        let expires = request.expires().map(render_rfc3339).unwrap_or_default();
        return Err(CommandError::failed(format!("`{id}` expired at {expires}")).code("expired"));
    }
    Ok(Before::Open)
}

/// What resolving a request would come to. Nothing is touched.
pub fn preview(app: &App<'_>, one: &FoundRequest, status: RequestStatus) -> Result<String> {
    match before(app, one, status)? {
        Before::CarriedOut => return Ok(format!("was {status} already")),
        Before::Waits => return Ok(format!("is {status}, and would be settled now")),
        Before::Open => {}
    }
    if one.request.action().is_err() {
        return Ok(format!("would be {status}"));
    }
    if status != RequestStatus::Approved {
        return Ok(format!("would be {status}; nothing of it would be carried out"));
    }
    let order = Order { effects: Effects::Shown, ..order(one.department.dept.as_str()) };
    match at_shop(app, &order, |shop| shop.preview_approved(&one.request)) {
        Err(error) if error.kind == Kind::Refused => {
            Ok(format!("would be {status}, and would wait: {}", error.cause))
        }
        said => said,
    }
}

/// Resolves a request, and carries out what follows where the department is free. Says what became of it.
pub fn resolve(
    app: &App<'_>,
    org: &Org,
    kind: RequestKind,
    one: &FoundRequest,
    status: RequestStatus,
    why: &str,
) -> Result<String> {
    let (id, dept) = (&one.request.id, &one.department.dept);
    match before(app, one, status)? {
        Before::CarriedOut => return Ok(format!("was {status} already")),
        Before::Waits => return carry_out(app, dept.as_str(), id, status),
        Before::Open => {}
    }
    let key = app.key()?;
    let resolution = Resolution { status, at: app.ctx.now(), by: "user", why };
    let request = one.department.resolve(org, kind, id, &key, &resolution)?;
    if request.status != status {
        return Err(CommandError::failed(format!("`{id}` was {} meanwhile", request.status)).code("resolved"));
    }
    carry_out(app, dept.as_str(), id, status)
}

fn order(dept: &str) -> Order<'_> {
    Order {
        dept,
        kind: "loop",
        work: Work::Loop { max_iterations: 1 },
        engines: vec!["rules".to_string()],
        effects: Effects::CarriedOut,
    }
}

fn carry_out(app: &App<'_>, dept: &str, id: &str, status: RequestStatus) -> Result<String> {
    let order = order(dept);
    let quiet = crate::ui::Ui { quiet: true, ..app.ui };
    match settle_department(app, &order, &mut Progress::new(quiet)) {
        Ok(told) => Ok(told
            .into_iter()
            .find(|told| told.id == id)
            .map_or_else(|| status.to_string(), |told| told.what)),
        Err(error) if error.kind == Kind::Busy => {
            let run = error.code.map(str::to_string).unwrap_or_default();
            let by = app
                .org()?
                .department(&crate::domain::id::Dept::parse(dept).map_err(CommandError::failed)?)?;
            let run = by.and_then(|by| by.active().ok().flatten()).map_or(run, |active| active.run);
            Ok(format!("{status}, waiting for {run}"))
        }
        Err(error) if error.kind == Kind::Refused => Ok(format!("{status}, and waits: {}", error.cause)),
        Err(error) => Err(error),
    }
}
