//! `harness memory`: what a director remembers of its own decisions, and the entries that its department keeps.

use super::app::{App, Result};
use crate::domain::id::{IdKind, new_id};
use crate::domain::ledger::memory_lines;
use crate::domain::memory::{Entry, TAGS_MAX, TOOL_TAGS, parse_curated, stale_points};
use crate::domain::message::Provenance;
use crate::domain::redact::Redactor;
use crate::domain::text::{one_line, visible};
use crate::domain::time::{Time, render_local, render_rfc3339};
use crate::error::{CommandError, Kind};
use crate::store::org::Department;
use crate::ui::{Answer, bold};
use serde_json::{Value, json};

/// The longest entry, in bytes.
const TEXT_MAX: usize = 16 * 1024;

/// Show what a director remembers
///
/// With a department: its last iterations, newest first, as they stand in its prompt, then MEMORY.md; --raw prints the
/// lines alone. `add`, `search` and `show` are for the tagged entries of each day, from which MEMORY.md is made.
///
/// Examples:
///   harness memory business
///   harness memory business --limit 3 --raw
///   harness memory search digest
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment, args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct MemoryArgs {
    /// The department
    #[arg(required = true)]
    dept: Option<String>,
    /// At most so many iterations
    #[arg(long, value_name = "N", default_value_t = 12)]
    limit: usize,
    /// The lines alone
    #[arg(long)]
    raw: bool,
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    Add(AddArgs),
    Search(SearchArgs),
    Show(ShowArgs),
}

/// Add an entry to today's memory, and print its id alone
///
/// The summarizer reads it the next time that it consolidates memory; until then `search` and `show` find it.
///
/// Examples:
///   harness memory add business --text 'The owner wants one mail a week.' \
///       --tag preference
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
struct AddArgs {
    /// The department
    dept: String,
    /// What to remember, or - to read it from stdin
    #[arg(long, value_name = "TEXT|-")]
    text: String,
    /// A tag; give it again for several
    #[arg(long, value_name = "TAG", required = true)]
    tag: Vec<String>,
    /// What it rests on; give it again for several
    #[arg(long = "ref", value_name = "ID")]
    refs: Vec<String>,
    /// Show the entry, and add nothing
    #[arg(long)]
    dry_run: bool,
}

/// Find entries, newest first, in every department
///
/// Examples:
///   harness memory search digest
///   harness memory search '' --tag status --dept business
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
struct SearchArgs {
    /// What the entry holds, in any case
    text: String,
    /// Entries with this tag alone
    #[arg(long, value_name = "TAG")]
    tag: Option<String>,
    /// Entries of this department alone
    #[arg(long, value_name = "DEPT")]
    dept: Option<String>,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: usize,
}

/// Show MEMORY.md, SELF.md and the latest entries of a department
///
/// What is older than 30 days is marked with its age, and the curated files say when they were last consolidated.
///
/// Examples:
///   harness memory show business
///   harness memory show business --tag plan --limit 3
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
struct ShowArgs {
    /// The department
    dept: String,
    /// Entries with this tag alone
    #[arg(long, value_name = "TAG")]
    tag: Option<String>,
    /// At most so many entries
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
}

pub fn run(args: &MemoryArgs, app: &App<'_>) -> Result<Answer> {
    match &args.verb {
        None => decisions(args, app),
        Some(Verb::Add(args)) => add(args, app),
        Some(Verb::Search(args)) => search(args, app),
        Some(Verb::Show(args)) => show(args, app),
    }
}

fn decisions(args: &MemoryArgs, app: &App<'_>) -> Result<Answer> {
    let org = app.org()?;
    let dept = args.dept.as_deref().unwrap_or_default();
    let department = app.department(&org, dept)?;
    let lines = memory_lines(&department.ledger_tail(0, args.limit)?, args.limit);
    let memory = curated(&department, "MEMORY")?;
    let raw: String = lines.iter().map(|line| format!("{}\n", visible(line))).collect();
    let text = if args.raw {
        raw
    } else {
        let none = if lines.is_empty() { "none yet\n" } else { "" };
        let heading = bold("Recent decisions, newest first");
        format!("{heading}\n{raw}{none}\n{}\n", visible(parse_curated(&memory).text.trim_end()))
    };
    let data = json!({"dept": dept, "decisions": lines, "memory": memory});
    Ok(Answer::new("harness.memory/1", data, text))
}

fn curated(department: &Department, name: &str) -> Result<String> {
    let text = department.dir.read(&format!("memory/{name}.md"), 1024 * 1024)?;
    Ok(text.map(|text| text.text).unwrap_or_default())
}

fn add(args: &AddArgs, app: &App<'_>) -> Result<Answer> {
    app.require_human("memory add")?;
    let org = app.org()?;
    let department = app.department(&org, &args.dept)?;
    let text = super::send::read_body(&args.text)?;
    let usage = |what: String| Err(CommandError::new(Kind::Usage, what));
    if text.trim().is_empty() {
        return usage("there is nothing to remember".to_string());
    }
    if text.len() > TEXT_MAX {
        return usage(format!("the text is longer than {TEXT_MAX} bytes"));
    }
    if let Some(kind) = Redactor::new(&[]).find(&text) {
        return Err(CommandError::refused(format!("it holds what looks like a secret ({kind})"))
            .code("secret")
            .hint("memory is shown to models and kept in git: say where the secret is, not what it is"));
    }
    if args.tag.len() > TAGS_MAX {
        return usage(format!("an entry has at most {TAGS_MAX} tags"));
    }
    if let Some(tag) = args.tag.iter().find(|tag| !is_tag(tag)) {
        return usage(format!("`{}` can't be a tag: use letters, digits, - and _", one_line(tag, 40)));
    }
    if let Some(tag) = args.tag.iter().find(|tag| TOOL_TAGS.contains(&tag.as_str())) {
        return usage(format!("the tag `{tag}` is for what harness itself writes down"));
    }
    if let Some(id) = args.refs.iter().find(|id| !crate::domain::id::is_id(id)) {
        return usage(format!("`{}` can't be an id", one_line(id, 60)));
    }
    let now = app.ctx.now();
    let entry = Entry {
        day: now.format("%Y-%m-%d").to_string(),
        key: new_id(IdKind::Entry, now, &app.ctx.random()),
        tags: args.tag.clone(),
        provenance: Provenance::Human,
        refs: args.refs.clone(),
        text,
    };
    if args.dry_run {
        let text = entry.render();
        return Ok(Answer::new("harness.memory_add/1", json!({"dry_run": true, "entry": text}), text));
    }
    let what = format!("{} of {}: {}", entry.key, department.dept, one_line(&entry.text, 200));
    app.audit(&org, "memory add", &what)?;
    department.append_memory(&entry)?;
    let data = json!({"id": entry.key, "dept": department.dept});
    let undo = format!("take {} out of org-{}/memory/{}.md", entry.key, department.dept, entry.day);
    Ok(Answer::new("harness.memory_add/1", data, format!("{}\n", entry.key)).undo(undo))
}

/// A tag is one word.
fn is_tag(tag: &str) -> bool {
    (1..=40).contains(&tag.len()) && tag.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_'))
}

fn is_wanted(entry: &Entry, tag: Option<&String>) -> bool {
    tag.is_none_or(|tag| entry.tags.iter().any(|known| known == tag))
}

fn search(args: &SearchArgs, app: &App<'_>) -> Result<Answer> {
    let org = app.org()?;
    let depts = match &args.dept {
        Some(name) => vec![app.department(&org, name)?.dept],
        None => org.departments()?.departments,
    };
    let mut found: Vec<(String, Entry)> = Vec::new();
    for dept in depts {
        let Some(department) = org.department(&dept)? else { continue };
        let entries = department.memory_entries("")?.into_iter();
        let wanted = entries.filter(|entry| entry.holds(&args.text) && is_wanted(entry, args.tag.as_ref()));
        found.extend(wanted.map(|entry| (dept.to_string(), entry)));
    }
    // Newest day first; within a day, the last entry first.
    found.reverse();
    found.sort_by(|a, b| b.1.day.cmp(&a.1.day));
    let all = found.len();
    found.truncate(args.limit);
    let now = app.ctx.now();
    let mut text: String = found.iter().map(|(dept, entry)| render(Some(dept), entry, now)).collect();
    if all == 0 {
        text.push_str("Nothing of that is remembered.\n");
    } else if all > found.len() {
        text.push_str(&format!("[cut: {} older entries]\n", all - found.len()));
    }
    let rows: Vec<Value> = found.iter().map(|(dept, entry)| to_json(dept, entry, now)).collect();
    Ok(Answer::new("harness.memory_search/1", json!({"entries": rows, "found": all}), text))
}

fn render(dept: Option<&str>, entry: &Entry, now: Time) -> String {
    let dept = dept.map(|dept| format!("{dept} ")).unwrap_or_default();
    let stale = entry.stale(now).map(|age| format!(" ({age})")).unwrap_or_default();
    let external = if entry.provenance == Provenance::External { " external" } else { "" };
    let head = format!("{} {dept}[{}]{external}{stale} {}", entry.day, entry.tags.join(", "), entry.key);
    let text = visible(&entry.text).trim_end().replace('\n', "\n  ");
    format!("{}\n  {text}\n", bold(&visible(&head)))
}

fn to_json(dept: &str, entry: &Entry, now: Time) -> Value {
    json!({
        "dept": dept,
        "day": entry.day,
        "id": entry.key,
        "tags": entry.tags,
        "provenance": entry.provenance.name(),
        "refs": entry.refs,
        "text": entry.text,
        "age_days": entry.age_days(now),
        "stale": entry.stale(now).is_some(),
    })
}

fn show(args: &ShowArgs, app: &App<'_>) -> Result<Answer> {
    let org = app.org()?;
    let department = app.department(&org, &args.dept)?;
    let now = app.ctx.now();
    let mut text = String::new();
    let mut data = json!({"dept": args.dept});
    for name in ["MEMORY", "SELF"] {
        let file = parse_curated(&curated(&department, name)?);
        let when = match file.consolidated {
            Some(at) => format!("last consolidated {}", render_local(at)),
            None => "never consolidated".to_string(),
        };
        let stale = stale_points(&file.text, now);
        text.push_str(&format!(
            "{} ({when})\n{}\n",
            bold(&format!("{name}.md")),
            visible(file.text.trim_end())
        ));
        text.push_str(&stale.iter().map(|point| format!("  old: {}\n", visible(point))).collect::<String>());
        text.push('\n');
        data[name.to_lowercase()] = json!({
            "consolidated": file.consolidated.map(render_rfc3339), "text": file.text, "stale": stale,
        });
    }
    let mut entries = department.memory_entries("")?;
    entries.retain(|entry| is_wanted(entry, args.tag.as_ref()));
    let all = entries.len();
    entries.reverse();
    entries.truncate(args.limit);
    text.push_str(&format!("{}\n", bold("Entries, newest first")));
    text.push_str(&entries.iter().map(|entry| render(None, entry, now)).collect::<String>());
    if all == 0 {
        text.push_str(if args.tag.is_some() { "none with that tag\n" } else { "none yet\n" });
    } else if all > entries.len() {
        text.push_str(&format!("[cut: {} older entries]\n", all - entries.len()));
    }
    data["entries"] = entries.iter().map(|entry| to_json(&args.dept, entry, now)).collect();
    data["found"] = json!(all);
    Ok(Answer::new("harness.memory_show/1", data, text))
}
