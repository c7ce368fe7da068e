//! `harness inbox` and `harness outbox`: a department's mail, a line each.

use super::app::{App, Result};
use super::message::to_json;
use crate::domain::time::render_age;
use crate::store::messages::{Filed, Mail, Unreadable};
use crate::ui::Answer;
use crate::ui::table::render_table;
use serde_json::json;

/// List a department's open messages
///
/// Oldest first. A plain file that was dropped into the inbox is listed as a Note. What can't be taken as a message is
/// named with the reason, and moved to quarantine by the next run.
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
    let warnings = warnings(&args.dept, "inbox", &mail.unreadable).into_iter().chain(standing).collect();
    Ok(answer("harness.inbox/1", &mail, text).warnings(warnings))
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

fn warnings(dept: &str, folder: &str, unreadable: &[Unreadable]) -> Vec<String> {
    let name = |file: &Unreadable| crate::domain::text::one_line(&file.file, 100);
    unreadable
        .iter()
        .map(|file| format!("org-{dept}/{folder}/{} is not a message: {}", name(file), file.why))
        .collect()
}
