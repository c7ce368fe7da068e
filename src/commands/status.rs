//! `harness status`: what needs the human, then the gate and the departments.

use super::app::{App, Result};
use super::charter::standing_warning;
use crate::domain::id::Dept;
use crate::domain::request::{RequestKind, RequestStatus};
use crate::domain::text::one_line;
use crate::domain::time::render_age;
use crate::store::org::{Department, Org};
use crate::ui::table::render_table;
use crate::ui::{Answer, bold};
use serde_json::json;

/// Show how the organisation is
///
/// It begins with what needs you: a row each, with the reason and the one command that deals with it. Then the gate,
/// and a line for each department. `harness` alone does the same.
///
/// Examples:
///   harness status
///   harness status --json
#[derive(Debug, Default, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct StatusArgs {
    /// One department alone
    #[arg(value_name = "DEPT")]
    dept: Option<String>,
}

/// One thing that waits for a person.
struct Need {
    dept: String,
    what: String,
    command: String,
}

/// One department, as far as it could be read.
struct Row {
    dept: Dept,
    open: usize,
    oldest: String,
    quarantined: usize,
    accepted: bool,
}

pub fn run(args: &StatusArgs, app: &App<'_>) -> Result<Answer> {
    let org = app.org()?;
    let depts = match &args.dept {
        Some(name) => vec![app.department(&org, name)?.dept],
        None => org.departments()?.departments,
    };
    let gate = org.gate();
    let mut needs = Vec::new();
    if !gate.is_open() {
        let what = format!("the gate is {}: {}", gate.words(), gate.reason);
        needs.push(Need { dept: String::new(), what, command: "harness gate enable".to_string() });
    }
    for (name, why) in org.departments()?.passed_over {
        let command = format!("ls -ld {}", shell_word(&org.root.join(&name).display().to_string()));
        needs.push(Need { dept: String::new(), what: format!("{name} was passed over: {why}"), command });
    }
    let mut rows = Vec::new();
    for dept in depts {
        if let Some(department) = org.department(&dept)? {
            rows.push(look(app, &org, &department, &mut needs));
        }
    }
    let text = render(app, &gate, &needs, &rows);
    let data = json!({
        "root": org.root.path(),
        "gate": gate,
        "needs_you": needs.iter().map(|need| json!({"dept": need.dept, "what": need.what, "command": need.command})).collect::<Vec<_>>(),
        "departments": rows.iter().map(|row| json!({
            "dept": row.dept,
            "open_messages": row.open,
            "quarantined": row.quarantined,
            "accepted": row.accepted,
        })).collect::<Vec<_>>(),
    });
    Ok(Answer::new("harness.status/1", data, text))
}

/// A path as a shell takes it.
fn shell_word(path: &str) -> String {
    let plain = path.chars().all(|c| c.is_alphanumeric() || "/._-+".contains(c));
    if plain { path.to_string() } else { format!("'{}'", path.replace('\'', "'\\''")) }
}

/// What one department says. One that can't be read is a need of its own, and hides no other.
fn look(app: &App<'_>, org: &Org, department: &Department, needs: &mut Vec<Need>) -> Row {
    let dept = &department.dept;
    let mut row =
        Row { dept: dept.clone(), open: 0, oldest: "-".to_string(), quarantined: 0, accepted: false };
    let mut need = |what: String, command: String| needs.push(Need { dept: dept.to_string(), what, command });
    match department.inbox() {
        Ok(mail) => {
            row.open = mail.messages.len();
            if let Some(first) = mail.messages.first() {
                row.oldest = render_age(first.message.created, app.ctx.now());
            }
            for file in mail.unreadable {
                need(
                    format!("inbox/{} is not a message: {}", file.file, file.why),
                    format!("harness inbox {dept}"),
                );
            }
        }
        Err(error) => need(error.to_string(), format!("harness inbox {dept}")),
    }
    match (department.charter(), standing_warning(org, department)) {
        (Err(error), _) => {
            need(format!("{error}; everything is refused"), format!("harness charter check {dept}"));
        }
        (Ok(_), Ok(None)) => row.accepted = true,
        (Ok(_), Ok(Some(_))) => need(
            "its charter, playbook or prompts are not accepted".to_string(),
            format!("harness charter accept {dept}"),
        ),
        (Ok(_), Err(error)) => need(error.cause.to_string(), format!("harness charter accept {dept}")),
    }
    waiting(app, department, &mut need);
    let quarantine =
        department.dir.find(".harness/quarantine").and_then(|dir| dir.map(|dir| dir.list()).transpose());
    if let Ok(Some(entries)) = quarantine {
        row.quarantined = entries.iter().filter(|entry| !entry.name.ends_with(".reason")).count();
    }
    if row.quarantined > 0 {
        let path = department.dir.join(".harness/quarantine");
        need(
            format!("{} set aside in quarantine", row.quarantined),
            format!("ls {}", shell_word(&path.display().to_string())),
        );
    }
    row
}

/// What waits for a word of the human, and why the department does not run.
fn waiting(app: &App<'_>, department: &Department, need: &mut impl FnMut(String, String)) {
    let dept = &department.dept;
    if let Ok(Some(blocked)) = department.blocked() {
        need(format!("blocked: {}", blocked.reason), format!("harness recover {dept} --unblock"));
    }
    if let Ok(Some(paused)) = department.paused() {
        need(format!("paused by {}: {}", paused.by, paused.reason), format!("harness resume {dept}"));
    }
    let Ok(key) = app.key() else { return };
    for kind in RequestKind::ALL {
        let Ok(found) = department.requests(kind, &key) else { continue };
        for (file, why) in found.refused {
            need(format!("{}/{file} counts for nothing: {why}", kind.folder()), "harness verify".to_string());
        }
        for request in found.requests.iter().filter(|request| request.status == RequestStatus::Pending) {
            let id = &request.id;
            let age = render_age(request.created, app.ctx.now());
            let (what, command) = match kind {
                RequestKind::Approval => ("wants to", format!("harness approvals show {id}")),
                RequestKind::Question => ("asks", format!("harness questions answer {id} TEXT")),
                RequestKind::Escalation => {
                    ("escalates", format!("harness escalations resolve {id} --why TEXT"))
                }
            };
            let action = request.text("action").map(|action| format!(" {action}:")).unwrap_or_default();
            let reasoning = crate::domain::text::one_line(request.reasoning(), 200);
            need(format!("{what}{action} {reasoning} ({age})"), command);
        }
    }
}

fn render(app: &App<'_>, gate: &crate::domain::gate::Gate, needs: &[Need], rows: &[Row]) -> String {
    let mut text = String::new();
    if needs.is_empty() {
        text.push_str("Nothing needs you.\n");
    } else {
        text.push_str(&format!("{}\n", bold(&format!("Needs you ({})", needs.len()))));
        for need in needs {
            let dept = if need.dept.is_empty() { String::new() } else { format!("{}: ", need.dept) };
            text.push_str(&format!(
                "  {dept}{}\n    {}\n",
                one_line(&need.what, 300),
                one_line(&need.command, 300)
            ));
        }
    }
    text.push_str(&format!("\nGate: {}\n\n", gate.words()));
    let table: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            let accepted = if row.accepted { "yes" } else { "no" };
            vec![row.dept.to_string(), row.open.to_string(), row.oldest.clone(), accepted.to_string()]
        })
        .collect();
    text.push_str(&render_table(&["DEPARTMENT", "OPEN", "OLDEST", "ACCEPTED"], &table, app.ui.width()));
    text
}
