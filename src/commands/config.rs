//! `harness config get|set`: a department's own settings.

use super::app::{App, Result};
use super::running::check_engines;
use crate::domain::config::{KEYS, shown_value as shown};
use crate::error::{CommandError, Kind};
use crate::ui::Answer;
use serde_json::{Value, json};

/// Show or change how a department is run
///
/// Keys: autoLoop (true, false), autoIntervalSeconds (30 to 3600), engine (names with commas between them),
/// maxIterations (1 to 1000), routing (ask, auto), proactive (true, false), activeHours (such as 08:00-18:00, or
/// mon-fri 08:00-18:00 Europe/Berlin), missedRuns (skip, latest), maxQuietSeconds (60 to 2592000). A change counts
/// from the next tick on.
///
/// Examples:
///   harness config get business
///   harness config set business autoLoop true
///   harness config set business activeHours 'mon-fri 08:00-18:00'
///   harness config set business activeHours default
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct ConfigArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Show all keys that are set, or the value of one
    ///
    /// Examples:
    ///   harness config get business
    ///   harness config get business autoLoop
    #[command(verbatim_doc_comment)]
    Get(GetArgs),
    /// Change one key
    ///
    /// Examples:
    ///   harness config set business autoLoop true
    ///   harness config set business activeHours 'mon-fri 08:00-18:00'
    ///   harness config set business activeHours default
    #[command(verbatim_doc_comment)]
    Set(SetArgs),
}

#[derive(Debug, clap::Args)]
struct GetArgs {
    /// The department
    dept: String,
    /// The key; all of them where none is named
    key: Option<String>,
}

#[derive(Debug, clap::Args)]
struct SetArgs {
    /// The department
    dept: String,
    /// The key
    key: String,
    /// Its value, or `default` to take it away again
    #[arg(allow_hyphen_values = true)]
    value: String,
    /// Show what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
}

pub fn run(args: &ConfigArgs, app: &App<'_>) -> Result<Answer> {
    match &args.verb {
        Verb::Get(args) => get(args, app),
        Verb::Set(args) => set(args, app),
    }
}

fn get(args: &GetArgs, app: &App<'_>) -> Result<Answer> {
    let org = app.org()?;
    let config = app.department(&org, &args.dept)?.config()?;
    let mut values = config.values();
    values.shift_remove("schema");
    let Some(key) = &args.key else {
        let text: String = values.iter().map(|(key, value)| format!("{key} = {}\n", shown(value))).collect();
        let data = json!({"dept": args.dept, "config": values});
        return Ok(Answer::new("harness.config/1", data, text));
    };
    if !KEYS.iter().any(|(name, _)| name == key) {
        return Err(unknown(&config.with(key, "").err().map(|fault| fault.to_string()).unwrap_or_default()));
    }
    let value = values.get(key).cloned().unwrap_or(Value::Null);
    let text = if value.is_null() { "default\n".to_string() } else { format!("{}\n", shown(&value)) };
    Ok(Answer::new("harness.config/1", json!({"dept": args.dept, "key": key, "value": value}), text))
}

fn set(args: &SetArgs, app: &App<'_>) -> Result<Answer> {
    app.require_human("config set")?;
    let org = app.org()?;
    let department = app.department(&org, &args.dept)?;
    let before = department.config()?;
    let after = before.with(&args.key, &args.value).map_err(|fault| unknown(&fault.to_string()))?;
    if let Some(engines) = after.engine.as_ref().filter(|_| args.key == "engine") {
        check_engines(engines, &org.settings()?)?;
    }
    let (old, new) = (value_in(&before, &args.key), value_in(&after, &args.key));
    let SetArgs { dept, key, .. } = args;
    let data = json!({"dept": dept, "key": key, "before": old, "after": new, "dry_run": args.dry_run});
    if old == new {
        return Ok(Answer::new(
            "harness.config/1",
            data,
            format!("{dept}: {key} is {} already.\n", shown(&new)),
        ));
    }
    let (old, new) = (shown(&old), shown(&new));
    if args.dry_run {
        return Ok(Answer::new(
            "harness.config/1",
            data,
            format!("{dept}: {key} would be {new} instead of {old}.\n"),
        ));
    }
    app.audit(&org, "config", &format!("{dept}: {key} is {new} instead of {old}"))?;
    department.write_config(&after)?;
    org.remember_config(&department.dept, &after, app.ctx.now());
    let text = format!("{dept}: {key} is {new}. To undo: harness config set {dept} {key} {}\n", quoted(&old));
    Ok(Answer::new("harness.config/1", data, text).account())
}

fn unknown(fault: &str) -> CommandError {
    let keys: Vec<&str> = KEYS.iter().map(|(name, _)| *name).collect();
    CommandError::new(Kind::Usage, fault)
        .code("bad_config")
        .hint(format!("the keys are: {}", keys.join(", ")))
}

fn value_in(config: &crate::domain::config::DirectorConfig, key: &str) -> Value {
    config.values().get(key).cloned().unwrap_or(Value::Null)
}

fn quoted(value: &str) -> String {
    if value.contains(' ') { format!("'{value}'") } else { value.to_string() }
}
