//! `harness message show|thread|mark`: one message, its thread, and moving it on.

use super::app::{App, Result};
use crate::domain::id::{Dept, Match, match_id};
use crate::domain::message::{Message, Receipt, Status};
use crate::domain::text::{one_line, visible};
use crate::domain::time::{render_age, render_local, render_rfc3339};
use crate::error::{CommandError, Kind};
use crate::store::lock::{Attempt, try_lock};
use crate::store::messages::{Filed, Location, Place};
use crate::store::org::{Department, Org};
use crate::ui::Answer;
use crate::ui::table::render_table;
use serde_json::{Value, json};

/// Show one message, its thread, or mark it
///
/// A message is named by its id or any unambiguous part of the id's end. What a message says never changes; only its
/// status moves on.
///
/// Examples:
///   harness message show 7f3k2q
///   harness message thread 7f3k2q
///   harness message mark 7f3k2q --status archived --why 'handled by phone'
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct MessageArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    Show(ShowArgs),
    Thread(ThreadArgs),
    Mark(MarkArgs),
}

/// Show one message in full
///
/// It is looked for in every department's inbox, archive and outbox. Any unambiguous part of the id's end will do.
///
/// Examples:
///   harness message show 7f3k2q
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
struct ShowArgs {
    /// The message's id, or the end of it
    id: String,
}

/// Show every message of a thread, oldest first
///
/// Examples:
///   harness message thread 7f3k2q
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
struct ThreadArgs {
    /// The id of any message of the thread, or the end of it
    id: String,
}

/// Move a message on, by hand
///
/// Statuses only move on: pending, acknowledged, actioned, archived. The message keeps a receipt of who, when and why.
/// An actioned or archived one leaves the inbox for archive/inbox/. There is no way back; send it again instead.
///
/// Examples:
///   harness message mark 7f3k2q --status archived --why 'handled by phone'
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
struct MarkArgs {
    /// The message's id, or the end of it
    id: String,
    /// The new status
    #[arg(long)]
    status: Status,
    /// Why, for the receipt
    #[arg(long, value_name = "TEXT")]
    why: String,
    /// The department, where the message went to several
    #[arg(long, value_name = "DEPT")]
    dept: Option<String>,
    /// Show what would change, and touch nothing
    #[arg(long)]
    dry_run: bool,
}

pub fn run(args: &MessageArgs, app: &App<'_>) -> Result<Answer> {
    match &args.verb {
        Verb::Show(args) => show(args, app),
        Verb::Thread(args) => thread(args, app),
        Verb::Mark(args) => mark(args, app),
    }
}

/// A message and the department whose copy it is.
pub struct FoundMessage {
    pub department: Department,
    pub place: Place,
    pub filed: Filed,
}

/// The message that an id or the end of one names, anywhere in the organisation.
pub fn find(org: &Org, wanted: &str) -> Result<FoundMessage> {
    let copies = find_copies(org, wanted)?;
    copies.into_iter().next().ok_or_else(|| no_message(wanted))
}

/// The copy that one department has of a message, received or sent.
pub fn find_copy_of(org: &Org, dept: &Dept, wanted: &str) -> Result<FoundMessage> {
    let copies = find_copies(org, wanted)?;
    let others: Vec<String> = copies.iter().map(|copy| format!("`{}`", copy.department.dept)).collect();
    copies.into_iter().find(|copy| copy.department.dept == *dept).ok_or_else(|| {
        CommandError::failed(format!("`{wanted}` is a message of {}, not of `{dept}`", others.join(" and ")))
            .code("no_message")
            .hint(format!("`harness inbox {dept}` lists what is open there"))
    })
}

fn no_message(wanted: &str) -> CommandError {
    CommandError::failed(format!("there is no message `{}`", one_line(wanted, 100)))
        .code("no_message")
        .hint("`harness inbox DEPT` and `harness outbox DEPT` list them")
}

/// Every copy of it: the recipients' first, for they hold the status.
fn find_copies(org: &Org, wanted: &str) -> Result<Vec<FoundMessage>> {
    let mut located: Vec<(Department, Location)> = Vec::new();
    for dept in org.departments()?.departments {
        let Some(department) = org.department(&dept)? else { continue };
        for place in Place::ALL {
            for location in department.locations(place)? {
                if location.id.ends_with(wanted) {
                    located.push((department.clone(), location));
                }
            }
        }
    }
    let id = match match_id(wanted, located.iter().map(|(_, location)| location.id.as_str())) {
        Match::One(id) => id,
        Match::None => return Err(no_message(wanted)),
        Match::Many(ids) => {
            let error =
                CommandError::failed(format!("`{wanted}` fits several messages")).code("ambiguous_id");
            return Err(error.hint(format!("give more of the id: {}", ids[..ids.len().min(8)].join(", "))));
        }
    };
    let (mut copies, mut damaged) = (Vec::new(), None);
    located.retain(|(_, location)| location.id == id);
    located.sort_by_key(|(_, location)| matches!(location.place, Place::Outbox | Place::OldOutbox));
    for (department, location) in located {
        match department.read_at(&location) {
            Ok(Some(filed)) => copies.push(FoundMessage { department, place: location.place, filed }),
            Ok(None) => {}
            Err(error) => damaged = Some(error),
        }
    }
    // A damaged copy in one department hides no whole one in another.
    match damaged {
        Some(error) if copies.is_empty() => Err(error.into()),
        _ => Ok(copies),
    }
}

fn show(args: &ShowArgs, app: &App<'_>) -> Result<Answer> {
    let org = app.org()?;
    let copies = find_copies(&org, &args.id)?;
    let Some(first) = copies.first() else { return Err(no_message(&args.id)) };
    let mut text = render_letter(&first.filed.message);
    for copy in &copies {
        let (dept, folder) = (&copy.department.dept, copy.place.folder());
        text.push_str(&format!("\nIn org-{dept}/{folder}: {}", copy.filed.message.status));
        for receipt in copy.filed.message.receipts() {
            text.push_str(&format!("\n  {}", render_receipt(&receipt)));
        }
    }
    text.push('\n');
    let places: Vec<Value> = copies
        .iter()
        .map(|copy| {
            json!({
                "dept": copy.department.dept,
                "folder": copy.place.folder(),
                "status": copy.filed.message.status.name(),
                "receipts": receipts_json(&copy.filed.message),
            })
        })
        .collect();
    let mut data = to_json(&first.filed.message);
    data["body"] = json!(first.filed.message.body);
    data["copies"] = json!(places);
    Ok(Answer::new("harness.message/1", data, text))
}

fn thread(args: &ThreadArgs, app: &App<'_>) -> Result<Answer> {
    let org = app.org()?;
    let wanted = find(&org, &args.id)?.filed.message.thread;
    let mut messages: Vec<Message> = Vec::new();
    for dept in org.departments()?.departments {
        let Some(department) = org.department(&dept)? else { continue };
        for place in Place::ALL {
            for location in department.locations(place)? {
                // One damaged file elsewhere is no reason to show nothing; `inbox` names it.
                let Ok(Some(filed)) = department.read_at(&location) else { continue };
                let message = filed.message;
                let known = messages.iter().any(|known| known.id == message.id);
                if message.thread == wanted && !known {
                    messages.push(message);
                }
            }
        }
    }
    messages.sort_by_key(Message::place_in_story);
    let rows: Vec<Vec<String>> = messages
        .iter()
        .map(|message| {
            vec![
                message.id.clone(),
                render_age(message.created, app.ctx.now()),
                message.kind.clone(),
                format!("{} to {}", message.from, message.to.join(", ")),
                message.subject.clone(),
            ]
        })
        .collect();
    let text = render_table(&["ID", "AGE", "KIND", "FROM, TO", "SUBJECT"], &rows, app.ui.width());
    let data = json!({"thread": wanted, "messages": messages.iter().map(to_json).collect::<Vec<_>>()});
    Ok(Answer::new("harness.thread/1", data, text))
}

fn mark(args: &MarkArgs, app: &App<'_>) -> Result<Answer> {
    app.require_human("message mark")?;
    let org = app.org()?;
    if args.why.trim().is_empty() || args.status == Status::Pending {
        let error = CommandError::new(Kind::Usage, "a message is moved on from pending, and says why");
        return Err(error.hint("`--status acknowledged|actioned|archived --why TEXT`"));
    }
    let copy = copy_to_mark(args, app, &org)?;
    if args.dry_run {
        return Ok(would_mark(args, &copy));
    }
    // A run that reads the message now must not find it changed under its hands.
    let Attempt::Held(_lock) = try_lock(&copy.department.own()?, "lock")? else {
        let dept = &copy.department.dept;
        return Err(CommandError::new(Kind::Busy, format!("a run holds `{dept}`"))
            .hint("try again when it has ended"));
    };
    let copy = copy_to_mark(args, app, &org)?;
    let FoundMessage { department, place, filed } = &copy;
    let data = mark_data(args, &copy);
    if filed.message.status == args.status {
        if *place == Place::Inbox && !args.status.is_open() {
            department.put_away_closed(filed)?;
        }
        let text = format!("{} in {} is {} already\n", filed.message.id, department.dept, args.status);
        return Ok(Answer::new("harness.mark/1", data, text));
    }
    let what = mark_words(args, &copy);
    app.audit(&org, "message mark", &format!("{what}: {}", args.why))?;
    let receipt = Receipt {
        status: args.status,
        at: app.ctx.now(),
        by: "user".to_string(),
        run: "none".to_string(),
        why: args.why.trim().to_string(),
    };
    department.mark(filed, &receipt, filed.message.waits_for.as_deref())?;
    let undo = "there is no way back; `harness send` sends it again";
    Ok(Answer::new("harness.mark/1", data, format!("marked {what}\n")).undo(undo).account())
}

fn mark_words(args: &MarkArgs, copy: &FoundMessage) -> String {
    let message = &copy.filed.message;
    format!("{} in {}: {} to {}", message.id, copy.department.dept, message.status, args.status)
}

fn mark_data(args: &MarkArgs, copy: &FoundMessage) -> Value {
    let message = &copy.filed.message;
    json!({"id": message.id, "dept": copy.department.dept, "from": message.status.name(), "to": args.status.name()})
}

fn would_mark(args: &MarkArgs, copy: &FoundMessage) -> Answer {
    let text = format!("would mark {}\n", mark_words(args, copy));
    Answer::new("harness.mark/1", mark_data(args, copy), text)
}

/// The copy that is meant: an open one that may become what is asked, or one that is that already.
fn copy_to_mark(args: &MarkArgs, app: &App<'_>, org: &Org) -> Result<FoundMessage> {
    let mut copies = find_copies(org, &args.id)?;
    copies.retain(|copy| matches!(copy.place, Place::Inbox | Place::Archive));
    if let Some(name) = &args.dept {
        let wanted = app.department(org, name)?;
        copies.retain(|copy| copy.department.dept == wanted.dept);
    }
    if copies.iter().any(|copy| copy.place == Place::Inbox) {
        copies.retain(|copy| copy.place == Place::Inbox);
    }
    if copies.len() > 1 {
        let names: Vec<String> = copies.iter().map(|copy| copy.department.dept.to_string()).collect();
        let error = CommandError::failed(format!("`{}` is in the inbox of {}", args.id, names.join(", ")));
        return Err(error.code("ambiguous_copy").hint("say whose copy: `--dept DEPT`"));
    }
    let Some(copy) = copies.pop() else {
        return Err(CommandError::failed(format!("`{}` is in no inbox", args.id))
            .hint(format!("see `harness message show {}`", args.id)));
    };
    let (message, wanted) = (&copy.filed.message, args.status);
    let may = copy.place == Place::Inbox && message.status.may_become(wanted);
    if may || message.status == wanted {
        return Ok(copy);
    }
    let what = format!("`{}` is {} and can't become {wanted}", message.id, message.status);
    Err(CommandError::failed(what)
        .code("status_moves_on")
        .hint("statuses only move on; send the message again instead"))
}

fn render_letter(message: &Message) -> String {
    let mut text = format!("{}\n", crate::ui::bold(&visible(&message.subject)));
    let to = message.to.join(", ");
    text.push_str(&format!("{} from {} to {}, ", message.kind, message.from, visible(&to)));
    text.push_str(&format!("{}, {}\n", render_local(message.created), message.provenance.name()));
    let mut facts = vec![message.id.clone(), format!("thread {}, hop {}", message.thread, message.hops)];
    for (name, value) in
        [("ref", &message.reference), ("project", &message.project), ("directive", &message.directive)]
    {
        if let Some(value) = value {
            facts.push(format!("{name} {value}"));
        }
    }
    text.push_str(&format!("{}\n\n{}\n", visible(&facts.join(", ")), visible(message.body.trim_end())));
    text
}

fn render_receipt(receipt: &Receipt) -> String {
    let run =
        if receipt.run == "none" { String::new() } else { format!(" in {}", one_line(&receipt.run, 60)) };
    let (by, why) = (one_line(&receipt.by, 60), one_line(&receipt.why, 300));
    format!("{} {} by {by}{run}: {why}", render_local(receipt.at), receipt.status)
}

fn receipts_json(message: &Message) -> Vec<Value> {
    let to_json = |receipt: Receipt| {
        json!({
            "status": receipt.status.name(),
            "at": render_rfc3339(receipt.at),
            "by": receipt.by,
            "run": receipt.run,
            "why": receipt.why,
        })
    };
    message.receipts().into_iter().map(to_json).collect()
}

/// A message without its body, as JSON.
pub fn to_json(message: &Message) -> Value {
    json!({
        "id": message.id,
        "from": message.from,
        "to": message.to,
        "kind": message.kind,
        "subject": message.subject,
        "project": message.project,
        "directive": message.directive,
        "ref": message.reference,
        "thread": message.thread,
        "hops": message.hops,
        "provenance": message.provenance.name(),
        "created": render_rfc3339(message.created),
        "status": message.status.name(),
        "waits_for": message.waits_for,
    })
}
