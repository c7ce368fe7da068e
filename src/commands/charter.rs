//! `harness charter show|check|test|accept`: what a department may do, whether an action would pass, and accepting a
//! change.

use super::app::{App, Result};
use crate::domain::action::{Missing, check_fields};
use crate::domain::action_block::find_duplicate;
use crate::domain::charter::Charter;
use crate::domain::id::Dept;
use crate::domain::message::Provenance;
use crate::domain::role::Role;
use crate::domain::text::visible;
use crate::domain::verdict::{Circumstances, Receiver, Ruling, Verdict, judge_action};
use crate::error::{CommandError, Kind};
use crate::store::charters::{LoadedCharter, Pinned, Standing};
use crate::store::fault::newer_hint;
use crate::store::org::{Department, Org};
use crate::ui::Answer;
use serde_json::{Map, Value, json};

/// Show, check, test or accept a department's charter
///
/// The charter says what a department may do; the tool checks every action against it. An edit counts once you have
/// accepted it.
///
/// Examples:
///   harness charter show business
///   harness charter check business
///   harness charter test business --since 7d
///   harness charter accept business
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct CharterArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    Show(ShowArgs),
    Check(CheckArgs),
    Test(super::charter_test::TestArgs),
    Accept(AcceptArgs),
}

/// Show what a department may do
///
/// The rules as the tool reads them, and whether a human has accepted them.
///
/// Examples:
///   harness charter show business
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
struct ShowArgs {
    /// The department
    dept: String,
}

/// Check a charter, or judge one action by it
///
/// Without an action: the rules are read, their examples judged, and every kind that is sent must be received where it
/// goes. With one: the verdict, its code and the rule that gave it; exit 0 where it is allowed or needs approval, 3
/// where it is refused. Fields may be left out; a real answer that lacks them would be refused.
///
/// Examples:
///   harness charter check business
///   harness charter check business \
///       --action '{"do": "send_message", "to": ["marketing"], "kind": "Decision"}'
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
struct CheckArgs {
    /// The department
    dept: String,
    /// The action, as the director would write it
    #[arg(long, value_name = "JSON")]
    action: Option<String>,
    /// The role that would use it
    #[arg(long, default_value = "worker")]
    role: Role,
    /// Judge as if an external message had led to it
    #[arg(long)]
    external: bool,
}

/// Accept a department's charter, playbook and prompts as they are now
///
/// Shows what changed since they were last accepted, and pins their hashes outside the department's folder. Until then
/// its runs are refused. At a terminal it asks first. The first time it also says how many messages in the inbox claim
/// to come from you: a file in the form of a delivered message is believed in what it says of its sender.
///
/// Examples:
///   harness charter accept business
///   harness charter accept business --yes
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
struct AcceptArgs {
    /// The department
    dept: String,
    /// Don't ask
    #[arg(long)]
    yes: bool,
    /// Show the difference, and accept nothing
    #[arg(long)]
    dry_run: bool,
}

pub fn run(args: &CharterArgs, app: &App<'_>) -> Result<Answer> {
    match &args.verb {
        Verb::Show(args) => show(args, app),
        Verb::Check(args) => check(args, app),
        Verb::Test(args) => super::charter_test::run(args, app),
        Verb::Accept(args) => accept(args, app),
    }
}

/// A charter that can't be used refuses everything, and says so in the kind of its error.
pub fn load(department: &Department) -> Result<LoadedCharter> {
    department.charter().map_err(|error| {
        let dept = &department.dept;
        let path = error.path.display();
        let hint = newer_hint(&error.fault.to_string())
            .unwrap_or_else(|| format!("put it right in {path}, then `harness charter accept {dept}`"));
        CommandError::refused(error).code("charter_unusable").hint(hint)
    })
}

/// What to tell about files that no human has accepted yet.
pub fn standing_warning(org: &Org, department: &Department) -> Result<Option<String>> {
    let dept = &department.dept;
    Ok(match org.standing(department)? {
        Standing::Accepted => None,
        Standing::Never => Some(format!(
            "`{dept}` was never accepted, and its runs are refused: `harness charter accept {dept}`"
        )),
        Standing::Changed(files) => {
            let files = files.join(", ");
            Some(format!(
                "{files} changed since `{dept}` was accepted, and its runs are refused: `harness charter accept {dept}`"
            ))
        }
    })
}

fn show(args: &ShowArgs, app: &App<'_>) -> Result<Answer> {
    let org = app.org()?;
    let department = app.department(&org, &args.dept)?;
    let charter = load(&department)?;
    let warnings = standing_warning(&org, &department)?;
    let rules = &charter.rules;
    let mut text =
        format!("{}\n{}\n\n", crate::ui::bold(&format!("Charter of {}", args.dept)), visible(&rules.mandate));
    text.push_str(&format!("Receives  {}\n", list(&rules.receives)));
    for (kind, to) in &rules.sends {
        text.push_str(&format!("Sends     {kind} to {}\n", to.join(", ")));
    }
    if rules.sends.is_empty() {
        text.push_str("Sends     nothing\n");
    }
    text.push_str(&format!("Actions   {}\n", list(&rules.actions)));
    let limits: Vec<String> =
        rules.limits.named().iter().map(|(name, value)| format!("{name} {value}")).collect();
    text.push_str(&format!("Limits    {}\n", limits.join(", ")));
    text.push_str(&format!("Approval  {}\n", approval_line(rules)));
    text.push_str(&format!("Examples  {}, all as they should be\n", rules.examples.len()));
    let standing = if warnings.is_none() { "yes" } else { "no" };
    text.push_str(&format!("Accepted  {standing}\n\n{}\n", visible(charter.prose.trim())));
    let data = json!({
        "dept": args.dept,
        "mandate": rules.mandate,
        "receives": rules.receives,
        "sends": rules.sends,
        "actions": rules.actions,
        "limits": rules.limits.named().iter().map(|(name, value)| (name.to_string(), json!(value))).collect::<Map<_, _>>(),
        "prose": charter.prose,
        "accepted": warnings.is_none(),
        "sha256": charter.hash,
    });
    Ok(Answer::new("harness.charter/1", data, text).warnings(warnings.into_iter().collect()))
}

fn list(items: &[String]) -> String {
    if items.is_empty() { "nothing".to_string() } else { items.join(", ") }
}

fn approval_line(rules: &Charter) -> String {
    let approval = &rules.approval;
    let mut parts = vec![format!("confidence below {}", approval.confidence_below)];
    parts.push(format!("above {} USD", approval.spend_above_usd));
    if !approval.kinds.is_empty() {
        parts.push(format!("kinds {}", approval.kinds.join(", ")));
    }
    if !approval.actions.is_empty() {
        parts.push(format!("actions {}", approval.actions.join(", ")));
    }
    if !approval.from_external.is_empty() {
        parts.push(format!("when external text led to it {}", approval.from_external.join(", ")));
    }
    format!("{}; open for {} hours", parts.join("; "), approval.expires_hours)
}

fn check(args: &CheckArgs, app: &App<'_>) -> Result<Answer> {
    let org = app.org()?;
    let department = app.department(&org, &args.dept)?;
    let charter = load(&department)?;
    let warnings: Vec<String> = standing_warning(&org, &department)?.into_iter().collect();
    let answer = match &args.action {
        Some(action) => check_action(args, &org, &department.dept, &charter.rules, action)?,
        None => {
            check_playbook(&department, &department.pinned()?)?;
            check_whole(&org, &department.dept, &charter.rules)?
        }
    };
    let warnings = warnings.into_iter().chain(answer.warnings.clone()).collect();
    Ok(answer.warnings(warnings))
}

fn check_action(args: &CheckArgs, org: &Org, dept: &Dept, charter: &Charter, text: &str) -> Result<Answer> {
    let usage = |what: String| CommandError::new(Kind::Usage, what);
    let example = r#"such as {"do": "send_message", "to": ["rd"], "kind": "Note", ...}; `harness schema actions` has all"#;
    let value: Value = serde_json::from_str(text)
        .map_err(|error| usage(format!("the action is not JSON: {error}")).hint(example))?;
    let json = value
        .as_object()
        .ok_or_else(|| usage("the action must be a JSON object".to_string()).hint(example))?;
    if let Some(key) = find_duplicate(text) {
        return Err(
            usage(format!("the action has `{key}` twice")).hint("an answer with that would be refused")
        );
    }
    let receivers = |name: &str, kind: &str| org.receiver(name, kind);
    let provenance = if args.external { Provenance::External } else { Provenance::Department };
    let at = Circumstances { dept, role: args.role, provenance, receivers: Some(&receivers) };
    let ruling = match check_fields(json, Missing::Allowed) {
        Ok(_) => judge_action(charter, json, &at),
        Err(faults) => {
            let message = faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
            let code = faults.first().map_or("bad_field", |fault| fault.code);
            Ruling {
                verdict: Verdict::Refuse,
                code,
                rule: "the action's fields".to_string(),
                message,
                hint: None,
            }
        }
    };
    let missing = match check_fields(json, Missing::Refused) {
        Err(faults) if ruling.verdict != Verdict::Refuse => {
            let names: Vec<String> = faults.iter().map(|fault| fault.field.clone()).collect();
            vec![format!("as an answer it would still be refused: {} missing or too short", names.join(", "))]
        }
        _ => Vec::new(),
    };
    let hint = ruling.hint.as_ref().map(|hint| format!("hint: {hint}\n")).unwrap_or_default();
    let text =
        format!("{}: {} ({})\nrule: {}\n{hint}", ruling.verdict, ruling.message, ruling.code, ruling.rule);
    let exit = if ruling.verdict == Verdict::Refuse { 3 } else { 0 };
    Ok(Answer::new("harness.charter-check/1", json!(ruling), text).warnings(missing).exit(exit))
}

fn check_whole(org: &Org, dept: &Dept, charter: &Charter) -> Result<Answer> {
    let mut faults = Vec::new();
    for (kind, to) in &charter.sends {
        for name in to {
            match org.receiver(name, kind) {
                Receiver::Receives => {}
                Receiver::DoesNotReceive => {
                    faults.push(format!("{kind} goes to `{name}`, which does not receive it"))
                }
                Receiver::Unknown => faults.push(format!("{kind} goes to `{name}`, which is not there")),
            }
        }
    }
    if !faults.is_empty() {
        let error = CommandError::failed(format!(
            "the charter of `{dept}` sends what nobody receives: {}",
            faults.join("; ")
        ));
        return Err(error.code("kind_not_received").hint("change `receives` there, or `[sends]` here"));
    }
    let count = charter.examples.len();
    let text = format!(
        "The charter of {dept} is sound: {count} examples as they should be, every kind is received, and its playbook can be used.\n"
    );
    Ok(Answer::new("harness.charter-check/1", json!({"dept": dept, "examples": count, "sound": true}), text))
}

fn accept(args: &AcceptArgs, app: &App<'_>) -> Result<Answer> {
    app.require_human("charter accept")?;
    let org = app.org()?;
    let department = app.department(&org, &args.dept)?;
    let dept = &department.dept;
    load(&department)?;
    let standing = org.standing(&department)?;
    if standing == Standing::Accepted {
        let text = format!("{dept} is accepted as it is; nothing changed.\n");
        return Ok(Answer::new("harness.charter-accept/1", json!({"dept": dept, "changed": []}), text));
    }
    let seen = department.pinned()?;
    check_playbook(&department, &seen)?;
    let before = org.accepted_texts(&department)?;
    let difference = render_difference(&before, &seen);
    let changed = changed_files(&before, &seen);
    let data = json!({"dept": dept, "changed": changed, "difference": difference});
    // Of a folder that came from elsewhere the mail came along, and it is believed in what it says of its sender.
    let mut warnings: Vec<String> =
        claims(&department).into_iter().filter(|_| standing == Standing::Never).collect();
    if args.dry_run {
        return Ok(Answer::new("harness.charter-accept/1", data, difference).warnings(warnings));
    }
    if !args.yes && app.ui.can_ask() {
        app.ui.notice(difference.trim_end());
        warnings.drain(..).for_each(|warning| app.ui.notice(&format!("warning: {warning}")));
        if !app.ui.ask(&format!("Accept this for {dept}?")) {
            return Err(CommandError::failed("nothing was accepted"));
        }
    }
    app.audit(&org, "charter accept", &format!("{dept}: {}", changed.join(", ")))?;
    org.accept(&department, &seen, app.ctx.now())?;
    let text = format!("{difference}Accepted for {dept}: {}\n", changed.join(", "));
    let undo = format!("put the files back as they were, and `harness charter accept {dept}`");
    Ok(Answer::new("harness.charter-accept/1", data, text).warnings(warnings).undo(undo))
}

/// What to tell a human who accepts a department of whose mail some claims to be theirs.
pub fn claims(department: &Department) -> Option<String> {
    let dept = &department.dept;
    let mail = match department.inbox() {
        Ok(mail) => mail.messages,
        Err(error) => return Some(error.to_string()),
    };
    let count = mail.iter().filter(|filed| filed.message.claims_human()).count();
    let messages = match count {
        0 => return None,
        1 => "1 message in its inbox says that it is".to_string(),
        count => format!("{count} messages in its inbox say that they are"),
    };
    Some(format!("{messages} from you, and would be believed: `harness inbox {dept}` lists what is there"))
}

fn check_playbook(department: &Department, seen: &Pinned) -> Result<()> {
    let Some(text) = seen.get("playbook.toml") else { return Ok(()) };
    crate::domain::playbook::parse_playbook(text).map(|_| ()).map_err(|fault| {
        let path = department.dir.join("playbook.toml");
        let hint = newer_hint(&fault.to_string());
        let hint = hint
            .unwrap_or_else(|| format!("put it right, then `harness charter accept {}`", department.dept));
        CommandError::refused(format!("can't use {}: {fault}", path.display()))
            .code("playbook_unusable")
            .hint(hint)
    })
}

fn changed_files(before: &Pinned, now: &Pinned) -> Vec<String> {
    let names: std::collections::BTreeSet<&String> = before.keys().chain(now.keys()).collect();
    names.into_iter().filter(|name| before.get(*name) != now.get(*name)).cloned().collect()
}

fn render_difference(before: &Pinned, now: &Pinned) -> String {
    let mut text = String::new();
    for name in changed_files(before, now) {
        let empty = String::new();
        let (old, new) = (before.get(&name).unwrap_or(&empty), now.get(&name).unwrap_or(&empty));
        let diff = similar::TextDiff::from_lines(old.as_str(), new.as_str());
        let unified =
            diff.unified_diff().context_radius(3).header(&format!("accepted/{name}"), &name).to_string();
        // Whole and with everything visible: nobody is to accept what they couldn't see.
        text.push_str(&visible(&unified));
    }
    text
}
