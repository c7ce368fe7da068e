//! What a human decided reaches the department: approved actions are carried out once, and every outcome is told.
//!
//! It happens under the department's lock, through the journal, at the start of a run and after `approvals approve`.
//! An approved action is judged again by today's charter; what that refuses is not carried out, and that is said.

use super::{Result, Shop};
use crate::domain::action::{Act, Action, parse_action};
use crate::domain::audit::{Deed, render_told};
use crate::domain::board::Board;
use crate::domain::budget::Spend;
use crate::domain::digest::sha256;
use crate::domain::event::Event;
use crate::domain::gate::Reading;
use crate::domain::id::{IdKind, derived_id};
use crate::domain::judging::approved::{Carried, Counted};
use crate::domain::judging::{judge_on_board, rule_dispatch, rule_portfolio};
use crate::domain::message::{Draft, Message, Provenance, render_message};
use crate::domain::plan::{Effect, Finish, PLAN_SCHEMA, Plan, Planned};
use crate::domain::planning::{Judged, StepFacts, hops_after, plan_actions};
use crate::domain::request::{Request, RequestKind, RequestStatus, Resolution, subject_of};
use crate::domain::role::Role;
use crate::domain::time::{Time, parse_rfc3339, render_rfc3339};
use crate::domain::verdict::{Circumstances, Ruling, Verdict, judge_action, role_of};
use crate::store::charters::LoadedCharter;
use crate::store::journal::{EntryKind, EntryName};
use crate::store::load::Loaded;
use crate::store::lock::{Attempt, try_lock};
use std::collections::BTreeSet;

/// What became of one request.
#[derive(Clone, Debug)]
pub struct Told {
    pub id: String,
    pub what: String,
}

/// An approved action, and what it is judged in.
struct Case<'a> {
    request: &'a Request,
    action: &'a Action,
    role: Role,
    at_hand: Option<&'a Message>,
    board: &'a Board,
}

impl Shop<'_> {
    /// Settles requests by itself, under the lock; none where another run holds it.
    pub fn settle_requests_locked(&self) -> Result<Option<Vec<Told>>> {
        let Attempt::Held(_lock) = try_lock(&self.department.own()?, "lock")? else { return Ok(None) };
        let charter = self.accepted_charter()?;
        self.recover(&charter)?;
        self.settle_requests(&charter).map(Some)
    }

    /// Expires what is over, carries out what was approved, and tells every outcome. The lock is held.
    pub fn settle_requests(&self, charter: &LoadedCharter) -> Result<Vec<Told>> {
        let mut told = Vec::new();
        for kind in RequestKind::ALL {
            let found = self.department.requests(kind, &self.key)?;
            for (file, why) in found.refused {
                let folder = kind.folder();
                self.tell(&Event::Notice(&format!(
                    "{folder}/{file} can't be trusted and counts for nothing: {why}"
                )));
            }
            for request in found.requests {
                let request = self.expire(kind, request)?;
                if request.status != RequestStatus::Pending && !request.is_told() {
                    told.extend(self.settle_open(kind, &request, charter)?);
                }
            }
        }
        Ok(told)
    }

    /// Settles a request that has a resolution and no mark that it was told.
    fn settle_open(
        &self,
        kind: RequestKind,
        request: &Request,
        charter: &LoadedCharter,
    ) -> Result<Option<Told>> {
        if let Some(why) = self.was_told(request)? {
            let file = format!("{}/{}.md", kind.folder(), request.id);
            self.tell(&Event::Notice(&format!("{file} counts for nothing: {why}")));
            return Ok(None);
        }
        // Where the log was cut, nobody can say what was carried out before.
        if let Err(error) = self.org.check_audit_end() {
            let what = format!("{}, and waits: {error}; see `harness verify`", request.status);
            self.tell(&Event::Notice(&format!("{}: {what}", request.id)));
            return Ok(Some(Told { id: request.id.clone(), what }));
        }
        self.check_gate(Reading::Request)?;
        self.settle_request(kind, request, charter).map(Some)
    }

    /// How it is known that the outcome of a request reached the department before: then the file was put back as it
    /// had been, and what it stood for would happen a second time.
    fn was_told(&self, request: &Request) -> Result<Option<String>> {
        let id = outcome_id(request);
        if self.department.find_delivered(&id)?.is_some() {
            return Ok(Some(format!("its outcome was told before, as {id}")));
        }
        let recorded = self.org.recorded(&[(&request.id, self.department.dept.as_str())])?.remove(0);
        Ok(match recorded.resolved {
            _ if recorded.told => {
                Some("the audit log says that it was carried out and told before".to_string())
            }
            Some((status, at)) if status != request.status => {
                Some(format!("the audit log has it as {status} since {}", render_rfc3339(at)))
            }
            _ => None,
        })
    }

    /// The subjects that wait for approval, with the approvals' ids.
    pub(super) fn pending_subjects(&self) -> Result<Vec<(String, String)>> {
        let found = self.department.requests(RequestKind::Approval, &self.key)?;
        let pending = found.requests.into_iter().filter(|request| request.status == RequestStatus::Pending);
        Ok(pending.filter_map(|request| Some((subject_of(&request.action().ok()?), request.id))).collect())
    }

    /// What the human was asked, with the questions' ids.
    pub(super) fn questions_asked(&self) -> Result<Vec<(String, String)>> {
        let found = self.department.requests(RequestKind::Question, &self.key)?;
        Ok(found.requests.into_iter().map(|request| (request.body, request.id)).collect())
    }

    fn expire(&self, kind: RequestKind, request: Request) -> Result<Request> {
        let now = (self.now)();
        // What was put back as it had been, after it was resolved, is not expired now.
        let dept = self.department.dept.as_str();
        if !request.is_expired(now) || self.org.recorded(&[(&request.id, dept)])?.remove(0).resolved.is_some()
        {
            return Ok(request);
        }
        let why = "nobody decided in time";
        let resolution = Resolution { status: RequestStatus::Expired, at: now, by: "harness", why };
        Ok(self.department.resolve(&self.org, kind, &request.id, &self.key, &resolution)?)
    }

    fn settle_request(&self, kind: RequestKind, request: &Request, charter: &LoadedCharter) -> Result<Told> {
        let loaded = self.load_state(charter)?;
        let approved = kind == RequestKind::Approval && request.status == RequestStatus::Approved;
        let (mut effects, what) = match (kind, request.status) {
            (RequestKind::Approval, RequestStatus::Approved) => self.plan_approved(request, charter, &loaded),
            _ => (Vec::new(), request.status.to_string()),
        };
        let filed = self.file_intake(request)?;
        // What was filed in the goal stands in every prompt from now on: one message tells the director when it is whole.
        if filed.is_empty() {
            effects.push(self.outcome_message(kind, request, &what));
        } else if self.is_last_of_intake(request)? {
            effects.push(self.outcome_message(kind, request, "answered: the goal intake is complete"));
        }
        effects.extend(filed);
        effects.push(self.told_mark(kind, request)?);
        let name = EntryName { run: request.id.clone(), step: 0, kind: EntryKind::Plan };
        let plan = Plan {
            schema: PLAN_SCHEMA,
            run: request.id.clone(),
            step: 0,
            dept: self.department.dept.to_string(),
            charter: charter.hash.clone(),
            role: request.text("action").map_or(Role::Worker, role_of).name().to_string(),
            provenance: Provenance::Department.name().to_string(),
            // For judging again, where the charter changes before a crash is recovered from.
            actions: request.action().ok().filter(|_| approved).into_iter().collect(),
            before: self.before(&effects)?,
            effects,
            finish: Finish::default(),
            failures: 0,
        };
        self.journal.write(&name, &plan)?;
        self.carry_out(&name, plan)?;
        self.journal.sync()?;
        self.audit_told(kind, request, &what)?;
        self.tell(&Event::Notice(&format!("{}: {what}", request.id)));
        Ok(Told { id: request.id.clone(), what })
    }

    /// The effects of an approved action, or why today's rules refuse it.
    fn plan_approved(
        &self,
        request: &Request,
        charter: &LoadedCharter,
        loaded: &Loaded,
    ) -> (Vec<Planned>, String) {
        let action = match request.action().and_then(|json| {
            parse_action(&json)
                .map_err(|faults| faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
        }) {
            Ok(action) => action,
            Err(why) => return (Vec::new(), format!("approved, but it can't be carried out: {why}")),
        };
        let dept = &self.department.dept;
        // Whose action it was; requests of earlier versions don't say.
        let role = request.text("role").and_then(Role::parse).unwrap_or_else(|| role_of(action.act.name()));
        let mut board = loaded.live.board.clone();
        board.release(&request.id);
        let at_hand = request.text("about").and_then(|id| self.find_at_hand(id, loaded));
        let case = Case { request, action: &action, role, at_hand: at_hand.as_ref(), board: &board };
        let ruling = match self.judge_approved(&case, charter, loaded) {
            Ok(ruling) => ruling,
            Err(why) => return (Vec::new(), format!("approved, but {why}")),
        };
        let ruling = Ruling { verdict: Verdict::Allow, code: "approved", ..ruling };
        let resolved = request.text("resolved_at").and_then(parse_rfc3339).unwrap_or_else(|| (self.now)());
        let curated = self.replaceable(loaded);
        let facts = StepFacts {
            dept,
            run: &request.id,
            step: 0,
            now: resolved,
            at_hand: at_hand.as_ref(),
            known: &loaded.live.inbox,
            provenance: Provenance::Department,
            vouched: Some(&request.id),
            expires_hours: charter.rules.approval.expires_hours,
            curated: &curated,
            role,
            board: Some(&board),
            portfolio: &loaded.live.portfolio,
        };
        let outcome = plan_actions(&[Judged { action, ruling }], &facts);
        let what = format!("approved, carried out: {}", outcome.results.join("; "));
        (outcome.effects, what)
    }

    /// Judges an approved action by today's charter, board, projects, limits and budget; why it is refused.
    fn judge_approved(
        &self,
        case: &Case<'_>,
        charter: &LoadedCharter,
        loaded: &Loaded,
    ) -> std::result::Result<Ruling, String> {
        let Case { request, action, role, at_hand, board } = *case;
        let receivers = |name: &str, kind: &str| self.org.receiver(name, kind);
        let (dept, provenance) = (&self.department.dept, Provenance::Department);
        let at = Circumstances { dept, role, provenance, receivers: Some(&receivers) };
        let by_rules =
            |refused: Ruling| format!("today's rules refuse it: {} ({})", refused.message, refused.code);
        let ruling = judge_action(&charter.rules, &action.json, &at);
        if ruling.verdict == Verdict::Refuse {
            return Err(by_rules(ruling));
        }
        if let Some(fault) = judge_on_board(action, at_hand, board, (self.now)(), &request.id) {
            return Err(format!("the board refuses it: {} ({})", fault.message, fault.code));
        }
        if let Some(refused) = rule_portfolio(&loaded.live.portfolio, action, at_hand) {
            return Err(by_rules(refused));
        }
        if let Some(refused) = rule_dispatch(action, board, |name| self.settings.pipelines.contains_key(name))
        {
            return Err(by_rules(refused));
        }
        if let Some(refused) = self.rule_limits(case, charter, loaded).map_err(|error| error.to_string())? {
            return Err(by_rules(refused));
        }
        match self.rule_budget(action) {
            Ok(None) => Ok(ruling),
            Ok(Some(why)) => Err(format!("the budget refuses it: {why}")),
            Err(error) => Err(format!("the budget can't be read: {error}")),
        }
    }

    fn rule_limits(
        &self,
        case: &Case<'_>,
        charter: &LoadedCharter,
        loaded: &Loaded,
    ) -> Result<Option<Ruling>> {
        let approvals = self.department.requests(RequestKind::Approval, &self.key)?.requests;
        let carried = |request: &Request| Carried {
            name: request.text("action").unwrap_or_default().to_string(),
            asked: request.created,
            at: resolved_at(request),
        };
        let approved = |request: &&Request| request.status == RequestStatus::Approved && request.is_told();
        let carried: Vec<Carried> = approvals.iter().filter(approved).map(carried).collect();
        let (mut hops, mut in_thread) = (0, 0);
        if let Act::SendMessage { reference, .. } = &case.action.act {
            let named = reference.as_ref().and_then(|id| self.find_at_hand(id, loaded));
            hops = hops_after(named.as_ref(), case.at_hand);
            in_thread = match named.as_ref().or(case.at_hand) {
                Some(led_by) => self.sent_before(&led_by.thread, &case.request.id)?,
                None => 0,
            };
        }
        let (limits, ledger, now) = (&charter.rules.limits, &loaded.ledger, (self.now)());
        let counted = Counted { limits, ledger, carried: &carried, in_thread, now };
        Ok(counted.rule(&case.request.id, case.action.act.name(), hops))
    }

    /// How many messages of a thread were sent or asked for, but for what an approval asked for.
    fn sent_before(&self, thread: &str, approval: &str) -> Result<u64> {
        let sent = self.department.sent_in(&BTreeSet::from([thread.to_string()]), Some(approval))?;
        Ok(sent.get(thread).copied().unwrap_or(0))
    }

    /// What a pipeline may cost is known before it is queued.
    fn rule_budget(&self, action: &Action) -> Result<Option<String>> {
        let Act::Dispatch { pipeline, project, .. } = &action.act else { return Ok(None) };
        let Some(pipeline) = self.settings.pipelines.get(pipeline) else { return Ok(None) };
        self.would_exceed(&Spend {
            at: render_rfc3339((self.now)()),
            dept: self.department.dept.to_string(),
            project: project.clone(),
            usd: pipeline.worst_case_usd,
            tokens: pipeline.worst_case_tokens,
            ..Spend::default()
        })
    }

    /// What approving would come to. Nothing is touched.
    pub fn preview_approved(&self, request: &Request) -> Result<String> {
        let charter = self.accepted_charter()?;
        self.check_gate(Reading::Request)?;
        let loaded = self.load_state(&charter)?;
        let (effects, what) = self.plan_approved(request, &charter, &loaded);
        Ok(match effects.is_empty() {
            true => format!("would be {what}"),
            false => "would be approved and carried out".to_string(),
        })
    }

    /// Every approval that was carried out stands in the audit log, too: there it can't be taken back.
    fn audit_told(&self, kind: RequestKind, request: &Request, what: &str) -> Result<()> {
        if kind != RequestKind::Approval || request.status != RequestStatus::Approved {
            return Ok(());
        }
        let what = render_told(&request.id, self.department.dept.as_str(), what);
        let (at, by, command) = ((self.now)(), "harness", kind.folder());
        Ok(self.org.write_audit(&Deed { at, by, command, what: &what })?)
    }

    /// The message that brings the outcome to the director.
    fn outcome_message(&self, kind: RequestKind, request: &Request, what: &str) -> Planned {
        let dept = &self.department.dept;
        let (at, id) = (resolved_at(request), outcome_id(request));
        let name = match kind {
            RequestKind::Approval => "Approval",
            RequestKind::Question => "Question",
            RequestKind::Escalation => "Escalation",
        };
        let why = request.text("resolved_why").unwrap_or("");
        let draft = Draft {
            id: id.clone(),
            from: "harness".to_string(),
            to: vec![dept.clone()],
            kind: "System".to_string(),
            subject: format!("{name} {}: {}", request.id, request.status),
            body: format!("{what}\n\n{why}\n\nIt was about:\n\n{}\n", request.reasoning()),
            amount_usd: None,
            project: None,
            directive: None,
            reference: request.text("about").map(str::to_string),
            thread: None,
            hops: 0,
            provenance: outcome_trust(request),
            vouched: None,
            created: at,
        };
        let text = render_message(&draft);
        Planned { action: None, effect: Effect::Deliver { dept: dept.to_string(), id, text } }
    }

    fn told_mark(&self, kind: RequestKind, request: &Request) -> Result<Planned> {
        let path = format!("{}/{}.md", kind.folder(), request.id);
        let before = self.department.dir.read(&path, 1024 * 1024)?.map(|text| sha256(text.text.as_bytes()));
        let effect = Effect::Replace { path, before, text: request.told(&self.run_id) };
        Ok(Planned { action: None, effect })
    }
}

pub(super) fn resolved_at(request: &Request) -> Time {
    request.text("resolved_at").and_then(parse_rfc3339).unwrap_or(request.created)
}

/// The id of the message that brings a request's outcome.
fn outcome_id(request: &Request) -> String {
    derived_id(IdKind::Message, resolved_at(request), &format!("{}/outcome", request.id))
}

/// What a human approved is the department's. In every other outcome the words that were asked stay what they were.
fn outcome_trust(request: &Request) -> Provenance {
    match (request.status, request.text("provenance")) {
        (RequestStatus::Approved, _) => Provenance::Department,
        (_, Some("external")) => Provenance::External,
        _ => Provenance::Department,
    }
}
