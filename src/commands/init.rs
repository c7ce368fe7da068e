//! `harness init`: makes an organisation and its departments.

use super::app::{App, Result};
use super::charter::claims;
use super::init_git::{Wish, first_commit, make_repository, wish};
use crate::domain::gate::{Gate, GateState};
use crate::domain::id::Dept;
use crate::error::{CommandError, Kind};
use crate::run::survey::shell_word;
use crate::store::charters::Standing;
use crate::store::org::Org;
use crate::store::template::{FIVE, LaidOut, Template, check_targets, lay_out_department, lay_out_root};
use crate::ui::Answer;
use serde_json::json;

/// Make an organisation and its departments
///
/// Without names, the five departments of the template: business, rd, technology, management, marketing. With names,
/// each of those from the template's generic department. A file that exists is never overwritten, so it is safe to run
/// again. What it writes it also accepts, and it enables the gate where there is none.
///
/// With --git each department becomes a git repository, and every run that changes something ends in a commit. At a
/// terminal it asks.
///
/// Examples:
///   harness init --root ./org
///   harness init --git --root ./org
///   harness init support --root ./org
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct InitArgs {
    /// Departments to make from the generic department
    #[arg(value_name = "DEPT")]
    departments: Vec<String>,
    /// Show what would be made, and touch nothing
    #[arg(long)]
    dry_run: bool,
    /// Make each department a git repository, with a commit for every run
    #[arg(long, conflicts_with = "no_git")]
    git: bool,
    /// Make none, and ask nothing
    #[arg(long)]
    no_git: bool,
}

impl InitArgs {
    fn wish(&self) -> Option<Wish> {
        match (self.git, self.no_git) {
            (true, _) => Some(Wish::Git),
            (_, true) => Some(Wish::NoGit),
            _ => None,
        }
    }
}

pub fn run(args: &InitArgs, app: &App<'_>) -> Result<Answer> {
    app.require_human("init")?;
    let (names, template) = if args.departments.is_empty() {
        (FIVE.map(str::to_string).to_vec(), Template::Own)
    } else {
        (args.departments.clone(), Template::Generic)
    };
    let parse = |name: &String| {
        Dept::parse(name).map_err(|fault| {
            let error = CommandError::new(Kind::Usage, fault);
            match Dept::suggest(name) {
                Some(near) => error.hint(format!("such as `harness init {near}`")),
                None => error.hint("such as `harness init support`"),
            }
        })
    };
    let depts = names.iter().map(parse).collect::<Result<Vec<Dept>>>()?;
    if args.dry_run {
        return Ok(dry_run(app, &depts));
    }
    let git = wish(app, args.wish());
    check_targets(&app.root, &depts, &app.ctx.disk())?;
    let is_new = Org::find(&app.root, &app.ctx.disk())?.is_none();
    let org = lay_out_root(&app.root, &app.ctx.disk())?;
    app.key()?;
    let org = org.sealed(app.seal());
    let mut warnings = Vec::new();
    if is_new && org.begin_anew()? {
        warnings.push(
            "another organisation was here before; this is a new one, and what was signed in that one counts for \
             nothing here"
                .to_string(),
        );
    }
    app.audit(&org, "init", &format!("made or completed {}", names.join(", ")))?;
    let mut made = Vec::new();
    for dept in &depts {
        if git == Wish::Git {
            make_repository(app, &org, dept, &mut warnings)?;
        }
        let laid_out = lay_out_department(&org, dept, template)?;
        let accepted = accept(app, &org, &laid_out, &mut warnings)?;
        if git == Wish::Git {
            first_commit(app, &org, &laid_out.department, &mut warnings)?;
        }
        made.push((laid_out, accepted));
    }
    let gate = enable_gate(app, &org)?;
    Ok(report(app, &org, &made, &gate).warnings(warnings))
}

/// The template's five departments, for the demo.
pub fn make_five(app: &App<'_>) -> Result<Answer> {
    run(&InitArgs { departments: Vec::new(), dry_run: false, git: false, no_git: true }, app)
}

fn dry_run(app: &App<'_>, depts: &[Dept]) -> Answer {
    let root = app.root.display().to_string();
    let folders: Vec<String> = depts.iter().map(|dept| format!("{root}/org-{dept}")).collect();
    let text = format!("would make what is missing in {root}/.harness and in\n  {}\n", folders.join("\n  "));
    Answer::new("harness.init/1", json!({"root": root, "departments": depts, "dry_run": true}), text)
}

/// Accepts what is the template's own text; anything else waits for a human to look at it.
fn accept(app: &App<'_>, org: &Org, laid_out: &LaidOut, warnings: &mut Vec<String>) -> Result<Accepted> {
    let department = &laid_out.department;
    if org.standing(department)? == Standing::Accepted {
        return Ok(Accepted::Before);
    }
    if laid_out.is_template {
        org.accept(department, &department.pinned()?, app.ctx.now())?;
        warnings.extend(claims(department));
        return Ok(Accepted::Now);
    }
    let dept = &department.dept;
    warnings.push(format!(
        "org-{dept} was there with a charter, playbook or prompts of its own: `harness charter accept {dept}` shows and accepts them"
    ));
    Ok(Accepted::Not)
}

/// Whether a department's charter, playbook and prompts are accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Accepted {
    Before,
    Now,
    Not,
}

/// Enables a gate that isn't there yet; one that somebody closed stays closed.
fn enable_gate(app: &App<'_>, org: &Org) -> Result<Gate> {
    if org.own.stat("gate.json")?.is_none() {
        org.write_gate(&Gate::new(GateState::Enabled, "enabled by init", "user", app.ctx.now()))?;
    }
    // By the id that the organisation has got meanwhile.
    Ok(org.clone().sealed(app.seal()).gate(app.ctx.now()))
}

/// What has to be typed first, so that the commands after it find the organisation; nothing where they do already.
fn say_root(app: &App<'_>, org: &Org) -> Option<String> {
    if app.ctx.root_variable().or_else(|| app.ctx.home()).is_some_and(|found| found == app.root) {
        return None;
    }
    let whole = org.real_root().unwrap_or_else(|_| app.root.clone());
    Some(format!("export HARNESS_ROOT={}", shell_word(&whole.display().to_string())))
}

fn report(app: &App<'_>, org: &Org, made: &[(LaidOut, Accepted)], gate: &Gate) -> Answer {
    let root = app.root.display().to_string();
    let mut text = format!("Organisation in {root}\n");
    for (laid_out, accepted) in made {
        let dept = &laid_out.department.dept;
        let state = match (laid_out.written, accepted) {
            (0, Accepted::Now) => {
                "was there already, and is now accepted: it is the template's own".to_string()
            }
            (0, _) => "was there already, nothing changed".to_string(),
            (1, _) => "1 file written".to_string(),
            (count, _) => format!("{count} files written"),
        };
        text.push_str(&format!("  org-{dept}: {state}\n"));
    }
    text.push_str(&format!("Gate: {}\n\nNext:\n", gate.words()));
    let first = made.first().map(|(laid_out, _)| laid_out.department.dept.to_string()).unwrap_or_default();
    let kind = if first == "business" { "Directive" } else { "Note" };
    let steps = [
        format!("harness send --to {first} --kind {kind} --subject 'A first message' --body 'What you want'"),
        format!("harness prompt {first} --explain"),
        format!("harness run-loop {first}"),
        "harness status".to_string(),
    ];
    for line in say_root(app, org).into_iter().chain(steps) {
        text.push_str(&format!("  {line}\n"));
    }
    let departments: Vec<_> = made
        .iter()
        .map(|(laid_out, _)| json!({"dept": laid_out.department.dept, "files_written": laid_out.written}))
        .collect();
    let data = json!({"root": org.root.path(), "departments": departments, "gate": gate});
    let undo = "remove the folders of the departments that are listed, before anything is in them";
    Answer::new("harness.init/1", data, text).undo(undo).account()
}
