//! systemd's user manager: `systemd-analyze verify`, `systemctl --user` and `loginctl`.

use super::{Asked, Host, Lingering, Placed, Result, Service, Survives, UnitState, check, failed};
use crate::domain::id::Dept;
use crate::domain::service_unit::{Target, unit_name};
use crate::run::verify::{Check, Verdict};
use std::collections::BTreeMap;

/// Units that are started by themselves; the services are started by these.
const STARTED: [&str; 2] = [".timer", ".path"];

/// Checked in a folder of their own, before they are placed where the manager would read them.
pub fn verify(host: &Host<'_>, service: &Service) -> Result<Check> {
    let scratch = host.scratch()?;
    let mut args = vec!["--user".to_string(), "--man=no".to_string(), "verify".to_string()];
    for unit in &service.units {
        args.push(scratch.write(&unit.name, &unit.text)?.display().to_string());
    }
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    // Without a login there is no such folder, and the verifier wants one.
    let runtime = scratch.path().display().to_string();
    let more: &[(&str, &str)] = match host.variables.get("XDG_RUNTIME_DIR") {
        Some(_) => &[],
        None => &[("XDG_RUNTIME_DIR", &runtime)],
    };
    let told = match host.ask_with("systemd-analyze", &args, "", more) {
        Asked::NotThere => {
            return Ok(check("verified", Verdict::NotRun, "there is no `systemd-analyze` here"));
        }
        Asked::Told(told) => told,
    };
    // It also speaks of other units of the user's. A setting that it passes over is a warning, and a fault here.
    let is_ours = |line: &&str| service.units.iter().any(|unit| line.contains(&unit.name));
    let faults: Vec<&str> = told.stderr.lines().chain(told.stdout.lines()).filter(is_ours).collect();
    match () {
        () if !faults.is_empty() => Err(failed(
            format!("systemd does not take the units: {}", faults.join("; ")),
            "nothing was installed",
        )),
        () if told.is_ok() => Ok(check(
            "verified",
            Verdict::Passed,
            format!("systemd-analyze takes {} units", service.units.len()),
        )),
        () => Ok(check(
            "verified",
            Verdict::NotRun,
            format!("systemd-analyze could not look: {}", told.complaint()),
        )),
    }
}

pub fn install(host: &Host<'_>, service: &Service) -> Result<Vec<Check>> {
    let placed = host.place(&service.units)?;
    let mut checks =
        vec![check("placed", Verdict::Passed, format!("{} units in {}", placed.len(), host.units.display()))];
    systemctl(host, &["daemon-reload"])?;
    let started: Vec<&str> = service
        .units
        .iter()
        .map(|unit| unit.name.as_str())
        .filter(|name| STARTED.iter().any(|ending| name.ends_with(ending)))
        .collect();
    systemctl(host, &[&["enable"], started.as_slice()].concat())?;
    // What runs from an earlier installation takes its new settings only so.
    systemctl(host, &[&["restart"], started.as_slice()].concat())?;
    let states = states(host, service)?;
    let idle: Vec<String> = states
        .iter()
        .filter(|state| !matches!(state.running.as_str(), "waiting" | "running"))
        .map(|state| format!("{} is {}", state.dept, state.running))
        .collect();
    if !idle.is_empty() {
        return Err(failed(
            format!("systemd took the units and does not pulse: {}", idle.join(", ")),
            "look at them: `systemctl --user status 'harness-*'`",
        ));
    }
    checks.push(check("started", Verdict::Passed, format!("{} timers wait", states.len())));
    Ok(checks)
}

fn systemctl(host: &Host<'_>, args: &[&str]) -> Result<String> {
    host.must("systemctl", &[&["--user"], args].concat(), "").map_err(|mut error| {
        if !host.variables.contains_key("XDG_RUNTIME_DIR") {
            error.hint = Some(
                "the user's systemd is not reachable from here: log in as this user (not with su or sudo), or choose `--target cron`"
                    .to_string(),
            );
        }
        error
    })
}

pub fn uninstall(host: &Host<'_>, root: &str) -> Result<Vec<String>> {
    let names = host.unit_names(Target::Systemd, root)?;
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let units: Vec<&str> = names.iter().map(String::as_str).collect();
    let (started, services): (Vec<&str>, Vec<&str>) =
        units.iter().partition(|name| STARTED.iter().any(|ending| name.ends_with(ending)));
    // The files go whatever the manager says: without them nothing starts again.
    let told = match started.is_empty() {
        true => Ok(String::new()),
        false => systemctl(host, &[&["disable", "--now"], started.as_slice()].concat()),
    };
    let stopped = match services.is_empty() {
        true => Ok(String::new()),
        false => systemctl(host, &[&["stop"], services.as_slice()].concat()),
    };
    let removed = host.take_away(&names)?;
    told.and(stopped)?;
    systemctl(host, &["daemon-reload"])?;
    // A unit that failed is remembered until it is forgotten; none having failed is no error.
    let _ignored = host.ask("systemctl", &[&["--user", "reset-failed"], units.as_slice()].concat(), "");
    Ok(removed)
}

pub fn states(host: &Host<'_>, service: &Service) -> Result<Vec<UnitState>> {
    let root = &service.surroundings.root;
    let mut states = Vec::new();
    for dept in &service.depts {
        let installed = host.placed(service, dept)?;
        let (running, detail) = match installed {
            Placed::No => ("stopped".to_string(), String::new()),
            _ => running(host, root, dept),
        };
        states.push(UnitState { dept: dept.clone(), installed, running, detail });
    }
    Ok(states)
}

fn running(host: &Host<'_>, root: &str, dept: &Dept) -> (String, String) {
    let name = unit_name(Target::Systemd, root, dept);
    let [service, timer, path] = [".service", ".timer", ".path"].map(|ending| format!("{name}{ending}"));
    let args = ["--user", "show", "--property=Id,LoadState,ActiveState,Result", &service, &timer, &path];
    let told = match host.ask("systemctl", &args, "") {
        Asked::NotThere => return ("not known".to_string(), "there is no `systemctl` here".to_string()),
        Asked::Told(told) if !told.is_ok() => return ("not known".to_string(), told.complaint()),
        Asked::Told(told) => told,
    };
    let units = parse_units(&told.stdout);
    let value = |unit: &str, key: &str| {
        units.get(unit).and_then(|unit| unit.get(key)).map(String::as_str).unwrap_or_default().to_string()
    };
    let (timer_state, path_state) = (value(&timer, "ActiveState"), value(&path, "ActiveState"));
    let word = match (value(&timer, "LoadState").as_str(), value(&service, "ActiveState").as_str()) {
        (load, _) if load != "loaded" => "not loaded",
        (_, "activating" | "active") => "running",
        (_, "failed") => "failed",
        _ if timer_state == "active" => "waiting",
        _ => "stopped",
    };
    let mut detail = Vec::new();
    if word == "failed" {
        detail.push(format!("the last pulse failed: {}", value(&service, "Result")));
    }
    if word != "not loaded" && path_state != "active" {
        detail.push(format!("its path unit is {path_state}, so mail waits for the timer"));
    }
    (word.to_string(), detail.join("; "))
}

/// `Key=value` lines, a paragraph for each unit, by the unit's id.
fn parse_units(text: &str) -> BTreeMap<String, BTreeMap<String, String>> {
    let paragraphs = text.split("\n\n").map(|paragraph| {
        let pairs = paragraph.lines().filter_map(|line| line.split_once('='));
        pairs.map(|(key, value)| (key.to_string(), value.to_string())).collect::<BTreeMap<_, _>>()
    });
    paragraphs.filter_map(|unit| Some((unit.get("Id")?.clone(), unit))).collect()
}

pub fn lingers(host: &Host<'_>, user: &str) -> Survives {
    match host.ask("loginctl", &["show-user", user, "--property=Linger"], "") {
        Asked::NotThere => Survives::NotKnown("there is no `loginctl` here".to_string()),
        Asked::Told(told) => match told.stdout.trim() {
            "Linger=yes" => Survives::Yes,
            "Linger=no" => Survives::No,
            _ => Survives::NotKnown(told.complaint()),
        },
    }
}

pub fn make_linger(host: &Host<'_>, user: &str) -> Lingering {
    if lingers(host, user) == Survives::Yes {
        return Lingering::WasOn;
    }
    let enabled = host.ask("loginctl", &["enable-linger", user], "");
    // The command's word is not enough: some systems say yes and ask for a password that nobody can give.
    match enabled {
        Asked::Told(told) if told.is_ok() && lingers(host, user) == Survives::Yes => Lingering::TurnedOn,
        _ => Lingering::Step(format!("sudo loginctl enable-linger {user}")),
    }
}
