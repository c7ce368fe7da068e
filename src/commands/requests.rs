//! What the commands for approvals, questions and escalations have in common: finding one by its id, and resolving it.

use super::app::{App, Result};
use super::running::{Order, settle_department};
use crate::domain::id::{Match, match_id};
use crate::domain::message::Provenance;
use crate::domain::request::{Request, RequestKind, RequestStatus, Resolution};
use crate::domain::text::one_line;
use crate::domain::time::render_rfc3339;
use crate::domain::verdict::{Circumstances, Verdict, judge_action, role_of};
use crate::error::{CommandError, Kind};
use crate::run::Effects;
use crate::run::cycle::Work;
use crate::store::org::{Department, Org};
use crate::ui::sink::Progress;

/// A request and whose it is.
pub struct FoundRequest {
    pub department: Department,
    pub request: Request,
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
        found.extend(
            requests
                .requests
                .into_iter()
                .map(|request| FoundRequest { department: department.clone(), request }),
        );
    }
    found.sort_by(|a, b| (a.request.created, &a.request.id).cmp(&(b.request.created, &b.request.id)));
    Ok((found, warnings))
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
    if request.is_expired(app.ctx.now()) {
        let expires = request.expires().map(render_rfc3339).unwrap_or_default();
        return Err(CommandError::failed(format!("`{id}` expired at {expires}")).code("expired"));
    }
    Ok(Before::Open)
}

/// What resolving a request would come to. Nothing is touched.
pub fn preview(app: &App<'_>, org: &Org, one: &FoundRequest, status: RequestStatus) -> Result<String> {
    match before(app, one, status)? {
        Before::CarriedOut => return Ok(format!("was {status} already")),
        Before::Waits => return Ok(format!("is {status}, and would be settled now")),
        Before::Open => {}
    }
    let Ok(action) = one.request.action() else { return Ok(format!("would be {status}")) };
    if status != RequestStatus::Approved {
        return Ok(format!("would be {status}; nothing of it would be carried out"));
    }
    let charter = super::charter::load(&one.department)?;
    let receivers = |name: &str, kind: &str| org.receiver(name, kind);
    let role = role_of(one.request.text("action").unwrap_or_default());
    let (dept, provenance) = (&one.department.dept, Provenance::Department);
    let at = Circumstances { dept, role, provenance, receivers: Some(&receivers) };
    let ruling = judge_action(&charter.rules, &action, &at);
    Ok(match ruling.verdict {
        Verdict::Refuse => {
            format!("would be {status}, but today's rules refuse it: {} ({})", ruling.message, ruling.code)
        }
        _ => format!("would be {status} and carried out"),
    })
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
    app.audit(org, kind.folder(), &format!("{id} of {dept}: {status}: {why}"))?;
    let key = app.key()?;
    let resolution = Resolution { status, at: app.ctx.now(), by: "user", why };
    let request = one.department.resolve(kind, id, &key, &resolution)?;
    if request.status != status {
        return Err(CommandError::failed(format!("`{id}` was {} meanwhile", request.status)).code("resolved"));
    }
    carry_out(app, dept.as_str(), id, status)
}

fn carry_out(app: &App<'_>, dept: &str, id: &str, status: RequestStatus) -> Result<String> {
    let order = Order {
        dept,
        kind: "loop",
        work: Work::Loop { max_iterations: 1 },
        engines: vec!["rules".to_string()],
        effects: Effects::CarriedOut,
    };
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
