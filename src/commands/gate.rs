//! `harness gate show|check|trip|disable|enable`: whether anything may run.

use super::app::{App, Result};
use crate::domain::gate::{Gate, GateState};
use crate::error::{CommandError, Kind};
use crate::ui::Answer;
use serde_json::json;

/// Show, check, close or open the safety gate
///
/// Where the gate is closed, no engine is asked and nothing is carried out. What runs is not ended by it: `harness
/// stop-all` does both.
///
/// Examples:
///   harness gate show
///   harness gate disable --why 'closed over the holidays'
///   harness gate enable
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct GateArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Show the gate with who set it, when and why
    ///
    /// Examples:
    ///   harness gate show
    #[command(verbatim_doc_comment)]
    Show,
    /// Exit 0 where the gate is open, else 3
    ///
    /// Examples:
    ///   harness gate check && echo open
    #[command(verbatim_doc_comment)]
    Check,
    /// Close it as an emergency
    ///
    /// No engine is asked and no plan is applied until it is enabled. `stop-all` also ends what runs.
    ///
    /// Examples:
    ///   harness gate trip --why 'it writes to everybody'
    #[command(verbatim_doc_comment)]
    Trip(WhyArgs),
    /// Close it
    ///
    /// Examples:
    ///   harness gate disable --why 'closed over the holidays'
    #[command(verbatim_doc_comment)]
    Disable(WhyArgs),
    /// Open it
    ///
    /// Examples:
    ///   harness gate enable
    #[command(verbatim_doc_comment)]
    Enable(EnableArgs),
}

#[derive(Debug, clap::Args)]
struct WhyArgs {
    /// Why
    #[arg(long, value_name = "TEXT")]
    why: String,
    /// Say what would happen, and touch nothing
    #[arg(long)]
    dry_run: bool,
}

#[derive(Debug, clap::Args)]
struct EnableArgs {
    /// Say what would happen, and touch nothing
    #[arg(long)]
    dry_run: bool,
}

/// What the gate is to be.
struct Order<'a> {
    verb: &'static str,
    state: GateState,
    why: &'a str,
    dry_run: bool,
    undo: &'static str,
}

pub fn run(args: &GateArgs, app: &App<'_>) -> Result<Answer> {
    match &args.verb {
        Verb::Show => show(app, 0),
        Verb::Check => {
            let open = app.org()?.gate(app.ctx.now()).is_open();
            show(app, if open { 0 } else { 3 })
        }
        Verb::Trip(args) => set(app, &closing("trip", GateState::Tripped, args)),
        Verb::Disable(args) => set(app, &closing("disable", GateState::Disabled, args)),
        Verb::Enable(args) => set(
            app,
            &Order {
                verb: "enable",
                state: GateState::Enabled,
                why: "enabled by hand",
                dry_run: args.dry_run,
                undo: "harness gate disable --why TEXT",
            },
        ),
    }
}

fn closing<'a>(verb: &'static str, state: GateState, args: &'a WhyArgs) -> Order<'a> {
    Order { verb, state, why: &args.why, dry_run: args.dry_run, undo: "harness gate enable" }
}

fn show(app: &App<'_>, exit: u8) -> Result<Answer> {
    let gate = app.org()?.gate(app.ctx.now());
    Ok(Answer::new("harness.gate/1", json_of(&gate), text_of(&gate)).exit(exit))
}

fn text_of(gate: &Gate) -> String {
    let since =
        if gate.at.is_empty() { String::new() } else { format!(", since {} by {}", gate.at, gate.by) };
    format!("{}{since}: {}\n", gate.words(), crate::domain::text::one_line(&gate.reason, 500))
}

fn json_of(gate: &Gate) -> serde_json::Value {
    json!({"state": gate.state, "open": gate.is_open(), "reason": gate.reason, "by": gate.by, "at": gate.at})
}

fn set(app: &App<'_>, order: &Order<'_>) -> Result<Answer> {
    let Order { verb, why, .. } = order;
    app.require_human(&format!("gate {verb}"))?;
    if why.trim().is_empty() {
        return Err(CommandError::new(Kind::Usage, "say why: `--why TEXT`"));
    }
    let org = app.org()?;
    let gate = Gate::new(order.state, why.trim(), "user", app.ctx.now());
    if order.dry_run {
        let mut data = json_of(&gate);
        data["dry_run"] = json!(true);
        let text =
            format!("Would be {}; is {}", text_of(&gate).trim_end(), text_of(&org.gate(app.ctx.now())));
        return Ok(Answer::new("harness.gate/1", data, text));
    }
    // Closing comes before everything else; opening is written down first.
    if gate.is_open() {
        app.audit(&org, "gate", &format!("{verb}: {why}"))?;
        org.write_gate(&gate)?;
        let now = app.org()?.gate(app.ctx.now());
        if !now.is_open() {
            let what = format!("it is still closed: {}", now.reason);
            return Err(CommandError::failed(what).code("gate_closed").hint("`harness verify` says more"));
        }
    } else {
        org.write_gate(&gate)?;
        app.audit(&org, "gate", &format!("{verb}: {why}"))?;
    }
    let text = format!("{}To undo: {}\n", text_of(&gate), order.undo);
    Ok(Answer::new("harness.gate/1", json_of(&gate), text).account())
}
