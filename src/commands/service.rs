//! `harness service print|install|uninstall|status`: pulses by the operating system's own scheduler.

use super::app::{App, Result};
use super::service_status;
use crate::domain::id::Dept;
use crate::domain::service_unit::{Surroundings, Target, render_units};
use crate::domain::time::render_rfc3339;
use crate::error::{CommandError, Kind};
use crate::run::service::prove::{Bare, Proof, clients, engine_lists, prove, prove_in};
use crate::run::service::{Host, Lingering, Service, ServiceError, Survives};
use crate::run::verify::{Check, Verdict};
use crate::store::org::Org;
use crate::store::service::Installed;
use crate::ui::Answer;
use serde_json::json;
use std::path::{Path, PathBuf};

/// Let the system's scheduler run the organisation
///
/// One unit for each department, so that a long run holds up no other. The timer pulses every 30 s (cron: every 60 s)
/// and `tick` decides what is due; new mail starts a pulse at once (not with cron). Nothing is installed unless you ask.
///
/// Examples:
///   harness service print --target systemd
///   harness service install --yes
///   harness service status
///   harness service uninstall --yes
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct ServiceArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Print the unit files, and install nothing
    ///
    /// Examples:
    ///   harness service print --target systemd
    ///   harness service print business --target cron
    #[command(verbatim_doc_comment)]
    Print(PrintArgs),
    /// Show what will be done, ask, and do it
    ///
    /// Where there is no terminal it does not ask, and does nothing without --yes.
    ///
    /// Examples:
    ///   harness service install --dry-run
    ///   harness service install --target systemd --yes
    #[command(verbatim_doc_comment)]
    Install(ChangeArgs),
    /// Take everything away again
    ///
    /// Examples:
    ///   harness service uninstall --dry-run
    ///   harness service uninstall --yes
    #[command(verbatim_doc_comment)]
    Uninstall(ChangeArgs),
    /// Show what is installed, whether it runs, the last pulse and the next
    ///
    /// Examples:
    ///   harness service status
    ///   harness service status --json
    #[command(verbatim_doc_comment)]
    Status(StatusArgs),
}

#[derive(Debug, clap::Args)]
struct PrintArgs {
    /// Departments [default: all]
    #[arg(value_name = "DEPT")]
    depts: Vec<String>,
    /// Whose files [default: what this machine has]
    #[arg(long, value_name = "TARGET")]
    target: Option<Target>,
}

#[derive(Debug, clap::Args)]
struct ChangeArgs {
    /// Who starts the pulses [default: what is installed, or what this machine has]
    #[arg(long, value_name = "TARGET")]
    target: Option<Target>,
    /// Don't ask
    #[arg(long)]
    yes: bool,
    /// Show what would be done, and touch nothing
    #[arg(long)]
    dry_run: bool,
}

#[derive(Debug, clap::Args)]
struct StatusArgs {
    /// Who starts the pulses [default: what is installed, or what this machine has]
    #[arg(long, value_name = "TARGET")]
    target: Option<Target>,
}

pub fn run(args: &ServiceArgs, app: &App<'_>) -> Result<Answer> {
    match &args.verb {
        Verb::Print(args) => print(args, app),
        Verb::Install(args) => install(args, app),
        Verb::Uninstall(args) => uninstall(args, app),
        Verb::Status(args) => service_status::run(args.target, app),
    }
}

impl From<ServiceError> for CommandError {
    fn from(error: ServiceError) -> CommandError {
        let failed = CommandError::failed(error.message);
        match error.hint {
            Some(hint) => failed.hint(hint),
            None => failed,
        }
    }
}

/// What all verbs start from.
pub struct Desk<'a> {
    pub org: Org,
    pub host: Host<'a>,
    pub target: Target,
    pub installed: Option<Installed>,
}

impl<'a> Desk<'a> {
    pub fn open(
        app: &'a App<'_>,
        random: &'a dyn Fn() -> [u8; 8],
        target: Option<Target>,
    ) -> Result<Desk<'a>> {
        let org = app.org()?;
        let installed = org.installed()?;
        let mut host = host(app, random)?;
        let before = installed.as_ref().and_then(|installed| Target::parse(&installed.target));
        let target = target.or(before).unwrap_or_else(|| host.usual_target());
        host.units = units_folder(app, target)?;
        Ok(Desk { org, host, target, installed })
    }

    /// The root that the installed units are named after, where that is no longer this one.
    fn moved_from(&self) -> Result<Option<String>> {
        Ok(self.installed.as_ref().map(|installed| self.org.moved_from(installed)).transpose()?.flatten())
    }

    /// The units of some departments, with a PATH in which their engines were started.
    pub fn service(&self, app: &App<'_>, depts: Vec<Dept>) -> Result<(Service, Proof)> {
        let proof = prove_path(app, &self.org, None)?;
        let service = self.service_with(app, depts, proof.path.clone())?;
        Ok((service, proof))
    }

    pub fn service_with(&self, app: &App<'_>, depts: Vec<Dept>, path: String) -> Result<Service> {
        let (user, logname) = user(app)?;
        let surroundings = Surroundings {
            program: text(&self.host.guard)?,
            root: text(&self.org.real_root()?)?,
            home: text(&home(app)?)?,
            user,
            logname,
            path,
            config_home: config_home(app).map(str::to_string),
        };
        let units = render_units(self.target, &surroundings, &depts).map_err(|fault| {
            CommandError::failed(fault)
                .code("bad_path")
                .hint("move it to a path that a unit file can name, or choose another --target")
        })?;
        Ok(Service { target: self.target, surroundings, depts, units })
    }
}

/// This machine, with no folder of unit files yet.
pub fn host<'a>(app: &'a App<'_>, random: &'a dyn Fn() -> [u8; 8]) -> Result<Host<'a>> {
    Ok(Host {
        guard: program(app)?,
        variables: app.ctx.variables(),
        disk: app.ctx.disk(),
        uid: app.ctx.uid(),
        units: PathBuf::new(),
        temporary: app.ctx.temporary(),
        random,
    })
}

fn program(app: &App<'_>) -> Result<PathBuf> {
    app.ctx.program().map_err(|error| CommandError::failed(format!("can't find this program: {error}")))
}

fn home(app: &App<'_>) -> Result<PathBuf> {
    app.ctx.home().ok_or_else(|| CommandError::failed("HOME is not set").hint("set it to your home folder"))
}

/// As the program itself takes it: one that is not absolute counts as none.
fn config_home<'a>(app: &'a App<'_>) -> Option<&'a str> {
    app.ctx.variable("XDG_CONFIG_HOME").filter(|folder| Path::new(folder).is_absolute())
}

fn user(app: &App<'_>) -> Result<(String, String)> {
    let (user, logname) = (app.ctx.variable("USER"), app.ctx.variable("LOGNAME"));
    match (user.or(logname), logname.or(user)) {
        (Some(user), Some(logname)) => Ok((user.to_string(), logname.to_string())),
        _ => {
            let random = || app.ctx.random();
            let name = host(app, &random)?.user_name().ok_or_else(|| {
                CommandError::failed("neither USER nor LOGNAME is set").hint("set it: `USER=$(id -un)`")
            })?;
            Ok((name.clone(), name))
        }
    }
}

fn text(path: &Path) -> Result<String> {
    let text = path.to_str().map(str::to_string);
    text.ok_or_else(|| {
        CommandError::failed(format!("{} is not UTF-8, and no unit file can name it", path.display()))
            .code("bad_path")
    })
}

/// The folder of the user's unit files.
pub fn units_folder(app: &App<'_>, target: Target) -> Result<PathBuf> {
    let nowhere = || CommandError::failed("HOME is not set, so there is no place for unit files");
    match target {
        Target::Systemd => Ok(app.ctx.config_base().ok_or_else(nowhere)?.join("systemd/user")),
        Target::Launchd => Ok(app.ctx.home().ok_or_else(nowhere)?.join("Library/LaunchAgents")),
        Target::Cron => Ok(PathBuf::new()),
    }
}

/// The PATH for the service, and the proof that the engines start in it. One that is given is only tried.
pub fn prove_path(app: &App<'_>, org: &Org, given: Option<&str>) -> Result<Proof> {
    let settings = org.settings()?;
    let mut configs = Vec::new();
    for dept in org.departments()?.departments {
        if let Some(department) = org.department(&dept)? {
            configs.push(department.config()?);
        }
    }
    let (user, logname) = user(app)?;
    let (guard, home, cwd) = (program(app)?, text(&home(app)?)?, org.real_root()?);
    let bare = Bare { guard: &guard, home: &home, user: &user, logname: &logname, cwd: &cwd };
    let lists = engine_lists(&settings, &configs);
    let mut proof = match given {
        Some(path) => prove_in(&settings, &lists, path, &bare),
        None => prove(&settings, &lists, app.ctx.variable("PATH").unwrap_or_default(), &bare),
    };
    // A service has no variables of a login's; which ones an engine wants is known, their values are never written.
    for client in clients(&settings, &lists) {
        for name in client.env {
            let what = format!(
                "{} wants {name}, which a service gets only from the scheduler's own environment",
                client.name
            );
            proof.checks.push(Check { name: format!("variable {name}"), verdict: Verdict::NotRun, what });
        }
    }
    Ok(proof)
}

fn print(args: &PrintArgs, app: &App<'_>) -> Result<Answer> {
    let random = || app.ctx.random();
    let desk = Desk::open(app, &random, args.target)?;
    let depts = match args.depts.as_slice() {
        [] => desk.org.departments()?.departments,
        names => {
            let found = names.iter().map(|name| Ok(app.department(&desk.org, name)?.dept));
            found.collect::<Result<Vec<Dept>>>()?
        }
    };
    let (service, proof) = desk.service(app, depts)?;
    let mut text = String::new();
    for unit in &service.units {
        text.push_str(&with_place(service.target, &desk.host.units.join(&unit.name), &unit.text));
    }
    let files: Vec<_> = service
        .units
        .iter()
        .map(|unit| json!({"name": unit.name, "folder": desk.host.units, "text": unit.text}))
        .collect();
    let data = json!({
        "target": service.target.name(), "files": files, "path": proof.path, "checks": checks_json(&proof.checks),
        "pulse_s": service.target.pulse_seconds(),
    });
    Ok(Answer::new("harness.service-print/1", data, text).warnings(proof.faults()))
}

/// A file's text with its place in a comment, so that several can be told apart and each is still valid.
fn with_place(target: Target, path: &Path, text: &str) -> String {
    match target {
        Target::Systemd => format!("# {}\n{text}\n", path.display()),
        Target::Launchd => {
            let place = path.display().to_string().replace("--", "- -");
            match text.split_once('\n') {
                Some((first, rest)) => format!("{first}\n<!-- {place} -->\n{rest}"),
                None => text.to_string(),
            }
        }
        Target::Cron => text.to_string(),
    }
}

fn checks_json(checks: &[Check]) -> serde_json::Value {
    let row =
        |check: &Check| json!({"check": check.name, "result": check.verdict.word(), "what": check.what});
    checks.iter().map(row).collect()
}

fn install(args: &ChangeArgs, app: &App<'_>) -> Result<Answer> {
    app.require_human("service install")?;
    let random = || app.ctx.random();
    let desk = Desk::open(app, &random, args.target)?;
    if let Some(installed) = desk.installed.as_ref().filter(|there| there.target != desk.target.name()) {
        return Err(CommandError::failed(format!("a service of {} is installed already", installed.target))
            .hint(format!("take it away first: `harness service uninstall --target {}`", installed.target)));
    }
    let (service, proof) = desk.service(app, desk.org.departments()?.departments)?;
    if let [fault, ..] = proof.faults().as_slice() {
        return Err(CommandError::failed(format!("nothing was installed: {fault}"))
            .code("engine_not_found")
            .hint("make it start in a bare environment, or name another engine in .harness/org.toml"));
    }
    let plan = plan_text(&desk, &service, &proof);
    if args.dry_run {
        let data =
            json!({"target": desk.target.name(), "dry_run": true, "plan": plan.lines().collect::<Vec<_>>()});
        return Ok(Answer::new("harness.service-install/1", data, format!("{plan}Nothing was touched.\n")));
    }
    confirm(app, args, &plan, "Install it?")?;
    let mut checks = proof.checks;
    checks.push(desk.host.verify(&service)?);
    app.audit(
        &desk.org,
        "service install",
        &format!("{} for {}", desk.target.name(), names(&service.depts)),
    )?;
    desk.org.make_logs(&service.depts)?;
    if let Some(before) = desk.moved_from()? {
        desk.host.uninstall(desk.target, &before)?;
    }
    match desk.host.install(&service) {
        Ok(done) => checks.extend(done),
        Err(error) => {
            // Whatever was there before is gone too: half of a service is worse than none.
            desk.org.remove_service()?;
            return Err(CommandError::from(error).hint("nothing is installed now"));
        }
    }
    let (turned_on, lingering) = linger(&desk, &service);
    checks.extend(lingering);
    desk.org.write_installed(&Installed {
        schema: 1,
        target: desk.target.name().to_string(),
        root: service.surroundings.root.clone(),
        at: render_rfc3339(app.ctx.now()),
        path: service.surroundings.path.clone(),
        turned_lingering_on: turned_on || desk.installed.is_some_and(|before| before.turned_lingering_on),
    })?;
    let text = format!("{}{}", check_lines(&checks), next_steps(&desk.org, &service)?);
    let data = json!({"target": service.target.name(), "departments": service.depts, "checks": checks_json(&checks)});
    Ok(Answer::new("harness.service-install/1", data, text))
}

fn names(depts: &[Dept]) -> String {
    depts.iter().map(Dept::as_str).collect::<Vec<_>>().join(", ")
}

fn plan_text(desk: &Desk<'_>, service: &Service, proof: &Proof) -> String {
    let (target, pulse) = (desk.target.name(), desk.target.pulse_seconds());
    let mut text =
        format!("This will let {target} pulse {} departments every {pulse} s:\n", service.depts.len());
    match desk.target {
        Target::Cron => text.push_str("  write into your crontab:\n"),
        _ => text.push_str(&format!("  write into {}:\n", desk.host.units.display())),
    }
    for unit in &service.units {
        match desk.target {
            Target::Cron => unit.text.lines().for_each(|line| text.push_str(&format!("    {line}\n"))),
            _ => text.push_str(&format!("    {}\n", unit.name)),
        }
    }
    text.push_str(match desk.target {
        Target::Systemd => {
            "  systemctl --user daemon-reload, enable, restart\n  loginctl enable-linger, where it is off\n"
        }
        Target::Launchd => "  launchctl bootstrap, each\n",
        Target::Cron => "  crontab -\n",
    });
    text.push_str(&format!("  PATH={}\n", service.surroundings.path));
    for check in &proof.checks {
        text.push_str(&format!("  {}: {}: {}\n", check.name, check.verdict.word(), check.what));
    }
    text
}

/// Nothing is changed that nobody agreed to.
fn confirm(app: &App<'_>, args: &ChangeArgs, plan: &str, question: &str) -> Result<()> {
    if !args.yes && !app.ui.can_ask() {
        return Err(CommandError::new(Kind::Usage, "this changes your system, and nobody is here to ask")
            .hint("say `--yes`, or `--dry-run` to see what would be done"));
    }
    plan.lines().for_each(|line| app.ui.notice(line));
    match args.yes || app.ui.ask(question) {
        true => Ok(()),
        false => Err(CommandError::failed("nothing was changed")),
    }
}

/// Lingering: whether installing turned it on, and the line that says how it stands.
fn linger(desk: &Desk<'_>, service: &Service) -> (bool, Option<Check>) {
    if desk.target != Target::Systemd {
        return (false, None);
    }
    let check = |verdict, what: String| Some(Check { name: "survives logout".to_string(), verdict, what });
    match desk.host.make_linger(&service.surroundings.user) {
        Lingering::WasOn => (false, check(Verdict::Passed, "lingering was on".to_string())),
        Lingering::TurnedOn => (true, check(Verdict::Passed, "lingering is on now".to_string())),
        Lingering::Step(command) => {
            let what =
                format!("it stops at logout until somebody with the right to gives this command: {command}");
            (false, check(Verdict::NotRun, what))
        }
    }
}

/// A line for each check.
pub fn check_lines(checks: &[Check]) -> String {
    let line = |check: &Check| format!("{:<8} {}: {}\n", check.verdict.word(), check.name, check.what);
    checks.iter().map(line).collect()
}

fn next_steps(org: &Org, service: &Service) -> Result<String> {
    let mut off = Vec::new();
    for dept in &service.depts {
        if let Some(department) = org.department(dept)?
            && !department.config()?.auto_loop
        {
            off.push(dept.to_string());
        }
    }
    let mut text = String::from("Installed. To take it away: harness service uninstall\n");
    if let Some(first) = off.first() {
        text.push_str(&format!(
            "autoLoop is off in {}, so nothing runs there yet. To let one run: harness config set {first} autoLoop true\n",
            off.join(", ")
        ));
    }
    Ok(text)
}

fn uninstall(args: &ChangeArgs, app: &App<'_>) -> Result<Answer> {
    app.require_human("service uninstall")?;
    let random = || app.ctx.random();
    let desk = Desk::open(app, &random, args.target)?;
    let mut roots = vec![text(&desk.org.real_root()?)?];
    roots.extend(desk.moved_from()?);
    let mut depts = Vec::new();
    for root in &roots {
        depts.extend(desk.host.departments_with_units(desk.target, root)?);
    }
    depts.sort();
    depts.dedup();
    let plan = format!(
        "This will stop the pulses of {} departments ({}), end what they run, and remove their units and logs.\n",
        depts.len(),
        names(&depts)
    );
    let schema = "harness.service-uninstall/1";
    if args.dry_run {
        let data = json!({"target": desk.target.name(), "departments": depts, "dry_run": true});
        return Ok(Answer::new(schema, data, format!("{plan}Nothing was touched.\n")));
    }
    if depts.is_empty() && desk.installed.is_none() {
        let data = json!({"target": desk.target.name(), "removed": []});
        return Ok(Answer::new(
            schema,
            data,
            format!("No service of {} is installed.\n", desk.target.name()),
        ));
    }
    confirm(app, args, &plan, "Remove it?")?;
    app.audit(&desk.org, "service uninstall", &format!("{} of {}", desk.target.name(), names(&depts)))?;
    let mut removed = Vec::new();
    for root in &roots {
        removed.extend(desk.host.uninstall(desk.target, root)?);
    }
    if desk.installed.as_ref().is_some_and(|installed| installed.turned_lingering_on)
        && let Ok((user, _)) = user(app)
        && desk.host.survives_logout(desk.target, &user) == Survives::Yes
        && desk.host.stop_lingering(&user)
    {
        removed.push("lingering, which installing had turned on".to_string());
    }
    desk.org.remove_service()?;
    removed.push(desk.org.own.join("logs").display().to_string());
    let text: String = removed.iter().map(|what| format!("removed {what}\n")).collect();
    let data = json!({"target": desk.target.name(), "removed": removed});
    Ok(Answer::new(schema, data, format!("{text}To have it again: harness service install\n")))
}
