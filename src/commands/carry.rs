//! `harness export` and `harness import`: a department as a template, without its history and its secrets.

use super::app::{App, Result};
use crate::domain::id::Dept;
use crate::domain::redact::Redactor;
use crate::domain::time::render_rfc3339;
use crate::error::{CommandError, Kind};
use crate::store::org::{Department, Org};
use crate::store::portable::{Manifest, Meets, TEMPLATE_SCHEMA, TemplateFile, read_template, write_template};
use crate::store::template::{Template, lay_out_department};
use crate::ui::Answer;
use serde_json::json;
use std::path::PathBuf;

/// Write a department as a template
///
/// A folder with charter, playbook, goal, notes, prompts, agents and schedules: how the department works, and nothing of
/// what it did. No mail, run, memory, decision or task is in it. What looks like a secret is masked, and said.
/// Without -o the folder is DEPT-template.
///
/// Examples:
///   harness export business
///   harness export business -o ./templates/business
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct ExportArgs {
    /// The department
    dept: String,
    /// The folder to write; it must be empty, or not there yet
    #[arg(long, short, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Show what would be in it, and write nothing
    #[arg(long)]
    dry_run: bool,
}

/// Make a department from a template
///
/// Nothing is overwritten: a file that is there with another text is a collision, all of them are shown, and nothing is
/// written. What comes from elsewhere counts for nothing until you have looked at it: `harness charter accept` shows it.
///
/// Examples:
///   harness import ./business-template
///   harness import ./business-template --as sales --dry-run
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct ImportArgs {
    /// The template's folder
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// The name of the new department [default: the one it was made from]
    #[arg(long = "as", value_name = "DEPT")]
    name: Option<String>,
    /// Show what would be made and what collides, and write nothing
    #[arg(long)]
    dry_run: bool,
}

pub fn export(args: &ExportArgs, app: &App<'_>) -> Result<Answer> {
    app.require_human("export")?;
    let org = app.org()?;
    let department = app.department(&org, &args.dept)?;
    let folder = args.output.clone().unwrap_or_else(|| PathBuf::from(format!("{}-template", args.dept)));
    let settings = org.settings()?;
    let names = settings.engines.values().flat_map(|engine| &engine.env);
    let secrets: Vec<String> = names.filter_map(|name| app.ctx.variable(name).map(str::to_string)).collect();
    let (files, masked) = scrub(department.template_files()?, &secrets);
    let manifest = Manifest {
        schema: TEMPLATE_SCHEMA,
        department: args.dept.clone(),
        exported: render_rfc3339(app.ctx.now()),
        harness: env!("CARGO_PKG_VERSION").to_string(),
    };
    if !args.dry_run {
        write_template(&folder, &manifest, &files, &app.ctx.disk())?;
    }
    let verb = if args.dry_run { "would write" } else { "wrote" };
    let mut text = format!("{verb} {} files to {}\n", files.len(), folder.display());
    files.iter().for_each(|(name, _)| text.push_str(&format!("  {name}\n")));
    text.push_str(&format!("To make a department from it: harness import {}\n", folder.display()));
    let warnings = masked.iter().map(|name| format!("{name}: what looks like a secret was masked")).collect();
    let names: Vec<&String> = files.iter().map(|(name, _)| name).collect();
    let data = json!({"dept": args.dept, "folder": folder, "files": names, "masked": masked, "dry_run": args.dry_run});
    let answer = Answer::new("harness.export/1", data, text).warnings(warnings);
    if args.dry_run {
        return Ok(answer);
    }
    Ok(answer.undo(format!("remove the folder {}", folder.display())).account())
}

/// The files without what looks like a secret or is one that an engine is given, and the names of those that had any.
fn scrub(files: Vec<TemplateFile>, secrets: &[String]) -> (Vec<TemplateFile>, Vec<String>) {
    let redactor = Redactor::new(secrets);
    let mut masked = Vec::new();
    let clean = files.into_iter().map(|(name, text)| {
        let clean = redactor.mask(&text).into_owned();
        if clean != text {
            masked.push(name.clone());
        }
        (name, clean)
    });
    let clean = clean.collect();
    (clean, masked)
}

pub fn import(args: &ImportArgs, app: &App<'_>) -> Result<Answer> {
    app.require_human("import")?;
    let org = app.org()?;
    let (manifest, files) = read_template(&args.folder, &app.ctx.disk())?;
    let name = args.name.as_ref().unwrap_or(&manifest.department);
    let dept =
        Dept::parse(name).map_err(|fault| CommandError::new(Kind::Usage, fault).code("bad_department"))?;
    let files: Vec<TemplateFile> =
        files.into_iter().map(|file| renamed(file, &manifest.department, name)).collect();
    let found = org.department(&dept)?;
    let met = meetings(found.as_ref(), &files)?;
    let collisions: Vec<&str> =
        met.iter().filter(|(_, meets)| *meets == Meets::Other).map(|(name, _)| *name).collect();
    if !collisions.is_empty() {
        return Err(collide(&dept, &collisions));
    }
    if !args.dry_run {
        write(app, &org, &dept, &files)?;
    }
    // What was a department before is never to be removed with what came in.
    let undo = match found {
        Some(_) => format!("To undo: remove the files listed above from org-{dept}, and nothing else"),
        None => format!("To undo: remove the folder org-{dept}"),
    };
    Ok(report(args, &dept, &met, &undo))
}

fn meetings<'a>(found: Option<&Department>, files: &'a [TemplateFile]) -> Result<Vec<(&'a str, Meets)>> {
    let mut met = Vec::new();
    for (name, text) in files {
        let meets = found.map_or(Ok(Meets::Nothing), |department| department.meets(name, text))?;
        met.push((name.as_str(), meets));
    }
    Ok(met)
}

fn collide(dept: &Dept, names: &[&str]) -> CommandError {
    let what = format!("org-{dept} has other texts in {}; nothing was written", names.join(", "));
    CommandError::failed(what)
        .code("collision")
        .hint(format!("import it under another name, and {dept} stays as it is: `--as DEPT`"))
        .hint("`--dry-run` shows what would be written")
}

fn write(app: &App<'_>, org: &Org, dept: &Dept, files: &[TemplateFile]) -> Result<()> {
    app.audit(org, "import", &format!("made {dept} from a template of {} files", files.len()))?;
    let dir = org.root.make(&crate::store::org::folder_name(dept))?;
    org.department_in(dept, dir).write_template(files)?;
    // The rest of what a department has: folders, memory, logs. Nothing that is there is changed.
    lay_out_department(org, dept, Template::Generic)?;
    Ok(())
}

/// A charter names its department; the new one's must name itself.
fn renamed((name, text): TemplateFile, old: &str, new: &str) -> TemplateFile {
    if name != "charter.toml" || old == new {
        return (name, text);
    }
    let line = |line: &str| match line.split_once('=') {
        Some((key, value)) if key.trim() == "department" && value.trim() == format!("\"{old}\"") => {
            format!("department = \"{new}\"")
        }
        _ => line.to_string(),
    };
    let lines: Vec<String> = text.lines().map(line).collect();
    (name, lines.join("\n") + "\n")
}

fn report(args: &ImportArgs, dept: &Dept, met: &[(&str, Meets)], undo: &str) -> Answer {
    let new = met.iter().filter(|(_, meets)| *meets == Meets::Nothing).count();
    let verb = if args.dry_run { "would make" } else { "made" };
    let mut text = format!(
        "{verb} org-{dept} from {}: {new} files new, {} there already\n",
        args.folder.display(),
        met.len() - new
    );
    met.iter()
        .filter(|(_, meets)| *meets == Meets::Nothing)
        .for_each(|(name, _)| text.push_str(&format!("  {name}\n")));
    if !args.dry_run && new > 0 {
        text.push_str(&format!("Look at it and accept it: harness charter accept {dept}\n{undo}\n"));
    }
    let names: Vec<&str> = met.iter().map(|(name, _)| *name).collect();
    Answer::new(
        "harness.import/1",
        json!({"dept": dept, "files": names, "new": new, "dry_run": args.dry_run}),
        text,
    )
    .account()
}
