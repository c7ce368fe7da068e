//! `harness inbox` and `harness outbox`: a department's mail, a line each.

use super::app::{App, Result};
use super::message::to_json;
use crate::domain::time::render_age;
use crate::store::messages::{Filed, Mail, Unreadable};
use crate::ui::Answer;
use crate::ui::table::render_table;
use serde_json::json;

/// How many names of files that are left alone are said.
const LEFT_SHOWN: usize = 5;

/// How many files that are no messages are said one by one; the rest is counted.
const UNREADABLE_SHOWN: usize = 20;

/// List a department's open messages
///
/// Oldest first. A plain file that was dropped into the inbox is listed as a Note. What can't be taken as a message is
/// named with the reason, and moved to quarantine by the next run. Hidden files and other programs' copies (note.md~,
/// #note.md#, note.bak, note.tmp) are left alone, and named too.
///
/// Examples:
///   harness inbox business
///   harness inbox business --json
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct InboxArgs {
    /// The department
    dept: String,
}

/// List what a department sent
///
/// Oldest first. Messages older than 30 days are in archive/outbox/.
///
/// Examples:
///   harness outbox management
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct OutboxArgs {
    /// The department
    dept: String,
}

pub fn inbox(args: &InboxArgs, app: &App<'_>) -> Result<Answer> {
    let org = app.org()?;
    let department = app.department(&org, &args.dept)?;
    let mail = department.inbox()?;
    let row = |filed: &Filed| {
        let message = &filed.message;
        vec![
            message.id.clone(),
            message.status.to_string(),
            render_age(message.created, app.ctx.now()),
            message.kind.clone(),
            message.from.clone(),
            message.subject.clone(),
        ]
    };
    let rows: Vec<Vec<String>> = mail.messages.iter().map(row).collect();
    let text = if rows.is_empty() {
        format!("The inbox of {} is empty.\n", args.dept)
    } else {
        render_table(&["ID", "STATUS", "AGE", "KIND", "FROM", "SUBJECT"], &rows, app.ui.width())
    };
    // Whatever is wrong with the charter, the mail is shown.
    let standing = super::charter::standing_warning(&org, &department);
    let standing = standing.unwrap_or_else(|error| Some(error.cause.to_string()));
    let warnings = warnings(&args.dept, "inbox", &mail.unreadable);
    let warnings = warnings.into_iter().chain(left_alone(&args.dept, &mail.left)).chain(standing).collect();
    let mut answer = answer("harness.inbox/1", &mail, text).warnings(warnings);
    answer.data["left_alone"] = json!(mail.left);
    Ok(answer)
}

pub fn outbox(args: &OutboxArgs, app: &App<'_>) -> Result<Answer> {
    let org = app.org()?;
    let department = app.department(&org, &args.dept)?;
    let mail = department.outbox()?;
    let row = |filed: &Filed| {
        let message = &filed.message;
        vec![
            message.id.clone(),
            render_age(message.created, app.ctx.now()),
            message.kind.clone(),
            message.to.join(", "),
            message.subject.clone(),
        ]
    };
    let rows: Vec<Vec<String>> = mail.messages.iter().map(row).collect();
    let text = if rows.is_empty() {
        format!("{} has sent nothing in the last 30 days.\n", args.dept)
    } else {
        render_table(&["ID", "AGE", "KIND", "TO", "SUBJECT"], &rows, app.ui.width())
    };
    Ok(answer("harness.outbox/1", &mail, text).warnings(warnings(&args.dept, "outbox", &mail.unreadable)))
}

fn answer(schema: &'static str, mail: &Mail, text: String) -> Answer {
    let messages: Vec<_> = mail.messages.iter().map(|filed| to_json(&filed.message)).collect();
    let unreadable: Vec<_> =
        mail.unreadable.iter().map(|file| json!({"file": file.file, "why": file.why})).collect();
    Answer::new(schema, json!({"messages": messages, "unreadable": unreadable}), text)
}

/// What is never read is said, so that nobody waits for an answer to it.
fn left_alone(dept: &str, names: &[String]) -> Option<String> {
    let shown: Vec<String> =
        names.iter().take(LEFT_SHOWN).map(|name| crate::domain::text::one_line(name, 100)).collect();
    let more = match names.len() - shown.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!names.is_empty()).then(|| {
        let shown = shown.join(", ");
        format!("left alone in org-{dept}/inbox: {shown}{more}; by such names other programs keep copies, so rename what is a message")
    })
}

fn warnings(dept: &str, folder: &str, unreadable: &[Unreadable]) -> Vec<String> {
    let name = |file: &Unreadable| crate::domain::text::one_line(&file.file, 100);
    let say =
        |file: &Unreadable| format!("org-{dept}/{folder}/{} is not a message: {}", name(file), file.why);
    let more = unreadable.len().saturating_sub(UNREADABLE_SHOWN);
    let more = (more > 0)
        .then(|| format!("{more} more files in org-{dept}/{folder} are no messages; --json lists all"));
    unreadable.iter().take(UNREADABLE_SHOWN).map(say).chain(more).collect()
}
