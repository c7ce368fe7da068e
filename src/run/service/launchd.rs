//! launchd: `plutil -lint` and `launchctl` in the domain of the user's login.

use super::{Asked, Host, Placed, Result, Service, UnitState, check, failed};
use crate::domain::id::Dept;
use crate::domain::service_unit::{Target, unit_name};
use crate::run::verify::{Check, Verdict};

pub fn verify(host: &Host<'_>, service: &Service) -> Result<Check> {
    let scratch = host.scratch()?;
    for unit in &service.units {
        let path = scratch.write(&unit.name, &unit.text)?.display().to_string();
        match host.ask("plutil", &["-lint", &path], "") {
            Asked::NotThere => return Ok(check("verified", Verdict::NotRun, "there is no `plutil` here")),
            Asked::Told(told) if told.is_ok() => {}
            Asked::Told(told) => {
                let message = format!("plutil does not take {}: {}", unit.name, told.complaint());
                return Err(failed(message, "nothing was installed"));
            }
        }
    }
    Ok(check("verified", Verdict::Passed, format!("plutil takes {} agents", service.units.len())))
}

pub fn install(host: &Host<'_>, service: &Service) -> Result<Vec<Check>> {
    let placed = host.place(&service.units)?;
    let domain = format!("gui/{}", host.uid);
    for (unit, path) in service.units.iter().zip(&placed) {
        let label = unit.name.trim_end_matches(".plist");
        // One that is loaded from before goes first; none being there is no error.
        let _ignored = host.ask("launchctl", &["bootout", &format!("{domain}/{label}")], "");
        host.must("launchctl", &["bootstrap", &domain, path], "")?;
    }
    let states = states(host, service)?;
    let idle: Vec<String> = states
        .iter()
        .filter(|state| state.running == "not loaded")
        .map(|state| format!("{}: {}", state.dept, state.detail))
        .collect();
    if !idle.is_empty() {
        let message = format!("launchd took the agents and did not load them: {}", idle.join(", "));
        return Err(failed(message, format!("look at them: `launchctl print {domain}`")));
    }
    Ok(vec![
        check("placed", Verdict::Passed, format!("{} agents in {}", placed.len(), host.units.display())),
        check("started", Verdict::Passed, format!("{} agents are loaded", states.len())),
    ])
}

pub fn uninstall(host: &Host<'_>, root: &str) -> Result<Vec<String>> {
    let names = host.unit_names(Target::Launchd, root)?;
    let mut still_there = Vec::new();
    for name in &names {
        let service = format!("gui/{}/{}", host.uid, name.trim_end_matches(".plist"));
        // Not loaded is what is wanted, so that the question afterwards counts, not the order's answer.
        let _ignored = host.ask("launchctl", &["bootout", &service], "");
        if let Asked::Told(told) = host.ask("launchctl", &["print", &service], "")
            && told.is_ok()
        {
            still_there.push(service);
        }
    }
    let removed = host.take_away(&names)?;
    match still_there.first() {
        None => Ok(removed),
        Some(service) => Err(failed(
            format!("launchd still has {}", still_there.join(", ")),
            format!("try it by hand: `launchctl bootout {service}`"),
        )),
    }
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
    let service = format!("gui/{}/{}", host.uid, unit_name(Target::Launchd, root, dept));
    let told = match host.ask("launchctl", &["print", &service], "") {
        Asked::NotThere => return ("not known".to_string(), "there is no `launchctl` here".to_string()),
        Asked::Told(told) if !told.is_ok() => return ("not loaded".to_string(), told.complaint()),
        Asked::Told(told) => told,
    };
    let value = |key: &str| {
        let line = told.stdout.lines().find_map(|line| line.trim().strip_prefix(key));
        line.and_then(|rest| rest.trim_start().strip_prefix("= ")).map(str::to_string)
    };
    let exit = value("last exit code").filter(|code| !code.starts_with('0') && !code.starts_with('('));
    match (value("state").as_deref(), exit) {
        (Some("running"), _) => ("running".to_string(), String::new()),
        (_, Some(code)) => ("failed".to_string(), format!("the last pulse exited with {code}")),
        _ => ("waiting".to_string(), String::new()),
    }
}
