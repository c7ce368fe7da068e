//! `harness prompt`: exactly the bytes that an engine would get.

use super::app::{App, Result};
use super::charter::{load, standing_warning};
use super::message::find_copy_of;
use crate::domain::id::Dept;
use crate::domain::live_state::{LiveState, Moment};
use crate::domain::message::Message;
use crate::domain::prompt::{Context, Layer, Prompt, Selection, assemble_prompt};
use crate::domain::role::{Mode, Role, has_ceo_mode};
use crate::error::{CommandError, Kind};
use crate::run::upkeep::{material, material_text};
use crate::store::key::Key;
use crate::store::org::Org;
use crate::store::prompts::PromptFiles;
use crate::ui::Answer;
use crate::ui::table::render_table;
use serde_json::json;
use std::sync::Arc;

/// What stands for the nonce and the time, so that the same state gives the same bytes.
const NONCE: &str = "00000000";
const NOW: &str = "0000-00-00T00:00:00Z";
/// Wider than any terminal: where a layer comes from is what `--explain` is for, and is never cut.
const PATHS_WHOLE: usize = 1_000;

/// Print the prompt a director would get
///
/// Exactly the bytes an engine would get, with the nonce and the time as fixed placeholders. Without --message, the
/// oldest open message is the one at hand. --explain lists the layers instead: where each comes from, its size, and
/// whether it is in the stable prefix that providers can cache.
///
/// Examples:
///   harness prompt business
///   harness prompt business --role worker --mode ceo --message 7f3k2q
///   harness prompt business --explain
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct PromptArgs {
    /// The department
    dept: String,
    /// The role
    #[arg(long, default_value = "orchestrator")]
    role: Role,
    /// The mode; ceo is for the worker of business alone
    #[arg(long, default_value = "normal")]
    mode: Mode,
    /// The message at hand: its id, or the end of it
    #[arg(long, value_name = "ID")]
    message: Option<String>,
    /// With live state and the task at hand, as an engine gets it; so it is without this option
    #[arg(long, conflicts_with = "no_context")]
    context: bool,
    /// The instructions alone, without live state and the task at hand
    #[arg(long)]
    no_context: bool,
    /// List the layers instead of the text
    #[arg(long)]
    explain: bool,
}

pub fn run(args: &PromptArgs, app: &App<'_>) -> Result<Answer> {
    let org = app.org()?;
    let department = app.department(&org, &args.dept)?;
    if args.mode == Mode::Ceo && !has_ceo_mode(&args.dept, args.role) {
        let error = CommandError::new(Kind::Usage, "ceo mode is for the worker of `business` alone");
        return Err(error.hint("`harness prompt business --role worker --mode ceo`"));
    }
    let charter = if args.no_context { None } else { Some(load(&department)?) };
    let mut warnings: Vec<String> = standing_warning(&org, &department)?.into_iter().collect();
    let selection = Selection { dept: &args.dept, role: args.role, mode: args.mode };
    let sources = Arc::new(PromptFiles::of(&org, &department)?);
    let prompt = if let Some(charter) = charter {
        let key = app.key().unwrap_or_else(|error| {
            warnings
                .push(format!("{}; the fences here carry a placeholder instead of the secret", error.cause));
            Key::placeholder()
        });
        let mut live = department.live_state(&charter, &org.settings()?, &key)?;
        live.work_out(app.ctx.now());
        org.add_portfolio(&mut live)?;
        let message = at_hand(args, &org, &department.dept, &live)?;
        let material = material_text(&material(&department, args.role, app.ctx.now())?);
        let (now, nonce) = (NOW.to_string(), NONCE.to_string());
        let moment = Moment { now, nonce, message, repair: Vec::new(), material };
        assemble_prompt(sources, &selection, Some(&Context { live: &live, moment: &moment }))
    } else {
        assemble_prompt(sources, &selection, None)
    };
    let prompt = prompt.map_err(|fault| {
        CommandError::failed(format!("can't make the prompt: {fault}"))
            .code("bad_prompt")
            .hint("put that file right, or move it away: a built-in one takes its place where there is one")
    })?;
    let data = json!({
        "dept": args.dept,
        "role": args.role.name(),
        "mode": args.mode.name(),
        "bytes": prompt.text.len(),
        "stable_bytes": prompt.stable_bytes,
        "prefix_sha256": prompt.prefix_sha256(),
        "layers": prompt.layers,
        "prompt": prompt.text,
    });
    let text = if args.explain { explain(&prompt) } else { prompt.text };
    Ok(Answer::new("harness.prompt/1", data, text).warnings(warnings))
}

/// The message that was named, else the oldest open one that waits for nothing.
fn at_hand(args: &PromptArgs, org: &Org, dept: &Dept, live: &LiveState) -> Result<Option<Message>> {
    match &args.message {
        Some(wanted)
            if let Some(task) = live.items.iter().find(|item| item.id.ends_with(wanted.as_str())) =>
        {
            Ok(Some(task.clone()))
        }
        Some(wanted) => Ok(Some(find_copy_of(org, dept, wanted)?.filed.message)),
        None => Ok(live.eligible_items().next().cloned()),
    }
}

fn explain(prompt: &Prompt) -> String {
    let row = |layer: &Layer| {
        let stable = match layer.stable_bytes {
            _ if layer.stable => "yes".to_string(),
            0 => "no".to_string(),
            bytes => format!("{bytes}"),
        };
        let origin = if layer.origin.is_empty() { "-" } else { &layer.origin };
        vec![
            layer.layer.to_string(),
            layer.name.clone(),
            layer.state.to_string(),
            layer.bytes.to_string(),
            layer.tokens.to_string(),
            stable,
            origin.to_string(),
        ]
    };
    let rows: Vec<Vec<String>> = prompt.layers.iter().map(row).collect();
    let headings = ["LAYER", "NAME", "STATE", "BYTES", "TOKENS", "STABLE", "FROM"];
    let mut text = render_table(&headings, &rows, PATHS_WHOLE);
    let (stable, all) = (prompt.stable_bytes, prompt.text.len());
    let share = stable * 100 / all.max(1);
    text.push_str(&format!("{all} bytes, of which {stable} ({share} %) are the same from step to step\n"));
    text
}
