//! `harness event emit`: something happened, and departments should know at once.

use super::app::{App, Result};
use super::send::read_body;
use crate::domain::digest::sha256;
use crate::domain::id::{Dept, IdKind, is_id, new_id};
use crate::domain::message::{Draft, Provenance, render_message};
use crate::domain::text::one_line;
use crate::error::{CommandError, Kind};
use crate::store::events::{PER_HOUR, Taken, WINDOW_S};
use crate::store::org::{Department, Org};
use crate::ui::Answer;
use serde_json::{Value, json};

/// Tell departments that something happened
///
/// The event arrives as a message from harness and makes the department due at once. For hooks and scripts: the same
/// type with the same text within a minute is one event, and a department gets 30 of them an hour at the most. What
/// --body holds counts as external text.
///
/// Examples:
///   harness event emit deploy-finished --to technology
///   git log -1 | harness event emit commit --to technology --body -
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct EventArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Emit an event; prints the ids of the messages it becomes, a line each
    Emit(EmitArgs),
}

#[derive(Debug, clap::Args)]
struct EmitArgs {
    /// What happened, in a word, such as deploy-finished
    #[arg(value_name = "TYPE")]
    event: String,
    /// The department that gets it; give it again for several. All of them where none is named
    #[arg(long, value_name = "DEPT", alias = "dept")]
    to: Vec<String>,
    /// More about it, or - to read it from stdin
    #[arg(long, value_name = "TEXT|-")]
    body: Option<String>,
    /// Show what would be delivered, and deliver nothing
    #[arg(long)]
    dry_run: bool,
}

pub fn run(args: &EventArgs, app: &App<'_>) -> Result<Answer> {
    let Verb::Emit(args) = &args.verb;
    app.require_human("event emit")?;
    if !is_id(&args.event) || args.event.len() > 64 {
        let shown = one_line(&args.event, 60);
        return Err(CommandError::new(Kind::Usage, format!("`{shown}` can't be a type"))
            .hint("letters, digits, hyphens, dots and underscores, such as deploy-finished"));
    }
    let org = app.org()?;
    let names = match args.to.as_slice() {
        [] => org.departments()?.departments.iter().map(Dept::to_string).collect(),
        named => named.to_vec(),
    };
    let departments =
        names.iter().map(|name| app.department(&org, name)).collect::<Result<Vec<Department>>>()?;
    let body = args.body.as_deref().map(read_body).transpose()?;
    let (mut rows, mut text, mut storms) = (Vec::new(), String::new(), Vec::new());
    for department in &departments {
        let draft = draft(app, args, department, body.as_deref());
        if args.dry_run {
            text.push_str(&render_message(&draft));
            continue;
        }
        let taken = deliver(app, &org, department, args, &draft)?;
        let id = match &taken {
            Taken::New => draft.id.clone(),
            Taken::Again(id) => id.clone(),
            Taken::Storm(_) => {
                storms.push(department.dept.to_string());
                continue;
            }
        };
        text.push_str(&format!("{id}\n"));
        rows.push(to_json(department, &id, &taken));
    }
    if !storms.is_empty() {
        let error = CommandError::refused(format!(
            "{} had {PER_HOUR} events within the hour, which is the most: `{}` was not delivered there",
            storms.join(", "),
            args.event
        ));
        return Err(error.code("event_storm").hint("emit less often, or send one message that says it all"));
    }
    let data = json!({"event": args.event, "delivered": rows, "dry_run": args.dry_run});
    Ok(Answer::new("harness.event/1", data, text))
}

fn to_json(department: &Department, id: &str, taken: &Taken) -> Value {
    json!({"dept": department.dept, "id": id, "collapsed": matches!(taken, Taken::Again(_))})
}

fn deliver(
    app: &App<'_>,
    org: &Org,
    department: &Department,
    args: &EmitArgs,
    draft: &Draft,
) -> Result<Taken> {
    let (dept, now) = (&department.dept, app.ctx.now());
    let alike = format!("{} {}", args.event, sha256(draft.body.as_bytes()));
    let taken = org.take_event(dept, &alike, &draft.id, now)?;
    match &taken {
        Taken::New => {
            app.audit(org, "event", &format!("{} to {dept} as {}", args.event, draft.id))?;
            department.deliver(&draft.id, &render_message(draft))?;
        }
        Taken::Again(id) => {
            app.ui.notice(&format!("{dept}: the same event came less than {WINDOW_S} s ago, as {id}"));
        }
        Taken::Storm(_) => {}
    }
    Ok(taken)
}

fn draft(app: &App<'_>, args: &EmitArgs, department: &Department, body: Option<&str>) -> Draft {
    let now = app.ctx.now();
    Draft {
        id: new_id(IdKind::Message, now, &app.ctx.random()),
        from: "harness".to_string(),
        to: vec![department.dept.clone()],
        kind: "System".to_string(),
        subject: format!("Event {}", args.event),
        body: body.map_or_else(|| format!("{}\n", args.event), |body| format!("{}\n", body.trim_end())),
        amount_usd: None,
        project: None,
        directive: None,
        reference: None,
        thread: None,
        hops: 0,
        // Nobody knows where a text on stdin came from.
        provenance: if body.is_some() { Provenance::External } else { Provenance::Human },
        vouched: None,
        created: now,
    }
}
