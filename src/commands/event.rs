//! `harness event emit`: something happened, and departments should know at once.

use super::app::{App, Result};
use super::send::read_body;
use crate::domain::digest::sha256;
use crate::domain::id::{Dept, IdKind, is_id, new_id};
use crate::domain::message::{Draft, Provenance, render_message};
use crate::domain::text::one_line;
use crate::domain::time::Time;
use crate::domain::wake::Receipt;
use crate::error::{CommandError, Kind};
use crate::store::events::{PER_HOUR, Storm, Taken, WINDOW_S};
use crate::store::org::{Department, Org};
use crate::ui::Answer;
use serde_json::{Value, json};

/// Tell departments that something happened
///
/// The event arrives as a message from harness and makes the department due at once. For hooks and scripts: the same
/// type with the same text within a minute is one event, and a department gets 30 of them an hour at the most: what comes
/// beyond is refused, and a receipt of the department counts it. What --body holds counts as external text.
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
    /// Emit an event, and print the ids of the messages it becomes, a line each
    ///
    /// Examples:
    ///   harness event emit deploy-finished --to technology
    ///   git log -1 | harness event emit commit --to technology --body -
    #[command(verbatim_doc_comment)]
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
    let (mut rows, mut text, mut faults) = (Vec::new(), String::new(), Vec::new());
    for department in &departments {
        let draft = draft(app, args, department, body.as_deref());
        if args.dry_run {
            text.push_str(&render_message(&draft));
            continue;
        }
        match deliver(app, &org, department, args, &draft) {
            Ok((id, taken)) => {
                text.push_str(&format!("{id}\n"));
                rows.push(
                    json!({"dept": department.dept, "id": id, "collapsed": matches!(taken, Taken::Again(_))}),
                );
            }
            Err(error) => faults.push((department, error)),
        }
    }
    let mut data = json!({"event": args.event, "delivered": rows, "dry_run": args.dry_run});
    if rows.is_empty() && !faults.is_empty() {
        return Err(faults.remove(0).1);
    }
    // Whoever has it must be told, also where another department couldn't get it.
    let exit = faults.iter().map(|(_, error)| error.kind.exit()).max().unwrap_or(0);
    let (mut warnings, mut refused) = (Vec::new(), Vec::new());
    for (department, error) in &faults {
        warnings.push(format!("not delivered to {}: {}", department.dept, error.cause));
        refused.push(json!({"dept": department.dept, "why": error.cause.to_string()}));
    }
    data["not_delivered"] = Value::from(refused);
    let answer = Answer::new("harness.event/1", data, text).warnings(warnings).exit(exit);
    if args.dry_run {
        return Ok(answer);
    }
    Ok(answer.undo("harness message mark ID --status archived --why TEXT"))
}

fn deliver(
    app: &App<'_>,
    org: &Org,
    department: &Department,
    args: &EmitArgs,
    draft: &Draft,
) -> Result<(String, Taken)> {
    let (dept, now) = (&department.dept, app.ctx.now());
    let alike = format!("{} {}", args.event, sha256(draft.body.as_bytes()));
    let taken = org.take_event(dept, &alike, &draft.id, now)?;
    let id = match &taken {
        Taken::New(over) => {
            if let Some(storm) = over {
                tell_of_storm(department, storm, now)?;
            }
            app.audit(org, "event", &format!("{} to {dept} as {}", args.event, draft.id))?;
            department.deliver(&draft.id, &render_message(draft))?;
            draft.id.clone()
        }
        // Noted, and then whoever emitted it died, or the disk was full: it comes now.
        Taken::Again(id) if department.find_delivered(id)?.is_none() => {
            app.audit(org, "event", &format!("{} to {dept} as {id}", args.event))?;
            department.deliver(id, &render_message(&Draft { id: id.clone(), ..draft.clone() }))?;
            return Ok((id.clone(), Taken::New(None)));
        }
        Taken::Again(id) => {
            app.ui.notice(&format!("{dept}: the same event came less than {WINDOW_S} s ago, as {id}"));
            id.clone()
        }
        Taken::Storm(storm) => {
            // A storm must not fill the receipts either: its first one, and then every tenfold.
            if storm.refused.checked_ilog10().is_some_and(|power| 10u64.pow(power) == storm.refused) {
                tell_of_storm(department, storm, now)?;
            }
            let error = CommandError::refused(format!(
                "{dept} had {PER_HOUR} events within the hour, which is the most: `{}` was not delivered there, \
                 as {} since {}",
                args.event, storm.refused, storm.from
            ));
            return Err(error
                .code("event_storm")
                .hint("emit less often, or send one message that says it all"));
        }
    };
    Ok((id, taken))
}

/// What was not delivered leaves a trace where one looks for it: `harness why`.
fn tell_of_storm(department: &Department, storm: &Storm, now: Time) -> Result<()> {
    let Storm { from, to, refused, .. } = storm;
    let why =
        format!("{refused} events from {from} to {to} were not delivered: {PER_HOUR} an hour are the most");
    let receipt = Receipt { from: Some(from.clone()), ..Receipt::new(now, "event_storm", why) };
    Ok(department.append_receipt(&receipt)?)
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
