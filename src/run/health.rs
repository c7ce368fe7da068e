//! How the organisation is: each check passed, failed or not run. It reads, starts nothing, and repairs nothing.

mod money;
mod runs;

use super::service::Host;
use super::service::prove::{clients, engine_lists, not_there};
use super::stalled::{Movement, Stalled, find_stalled};
use super::stop::is_running;
use super::verify::{Check, Verdict};
use crate::domain::config::DirectorConfig;
use crate::domain::gate::Gate;
use crate::domain::health::{
    Pulse, Standing, State, ghost_rate, judge_clock, judge_department, judge_pulse, judge_room, overall,
    stale_after_s,
};
use crate::domain::id::Dept;
use crate::domain::ledger::Line;
use crate::domain::service_unit::Target;
use crate::domain::settings::Settings;
use crate::domain::time::{Time, parse_rfc3339};
use crate::domain::wake::looks::Looks;
use crate::domain::wake::{Entry, Part};
use crate::store::charters::{self, Accepted};
use crate::store::fault::Result;
use crate::store::org::{Department, Org};
use crate::store::service::Installed;
use std::path::PathBuf;

/// More iterations than there are ghosts to look for.
const ITERATIONS: usize = 60;

/// What the checks start from.
pub struct Clinic<'a> {
    pub org: &'a Org,
    pub host: &'a Host<'a>,
    pub now: Time,
    /// The PATH of whoever asks; the service's own is used where one is installed.
    pub user_path: &'a str,
    /// Where each target's unit files are.
    pub units: &'a dyn Fn(Target) -> Option<PathBuf>,
}

/// A department's word.
#[derive(Clone, Debug)]
pub struct Word {
    pub dept: Dept,
    pub state: State,
    pub why: String,
}

/// Everything that was looked at.
#[derive(Clone, Debug)]
pub struct Health {
    pub state: State,
    pub words: Vec<Word>,
    pub checks: Vec<Check>,
    pub stalled: Vec<Stalled>,
}

impl Health {
    pub fn failed(&self) -> usize {
        self.checks.iter().filter(|check| check.verdict == Verdict::Failed).count()
    }
}

/// A department with what every check needs of it.
pub(super) struct Ward {
    department: Department,
    config: std::result::Result<DirectorConfig, String>,
    /// Why it can't be looked at, where that is so.
    unreadable: Option<String>,
    runs: bool,
}

/// What is told of all departments in one place.
struct Seen<'a> {
    pulse: &'a Pulse,
    looks: &'a Looks,
    accepted: Result<Accepted>,
    gate: Gate,
}

impl Ward {
    fn interval_s(&self) -> u64 {
        self.config.as_ref().map_or(60, |config| config.auto_interval_seconds)
    }
}

pub(super) fn check(name: &str, verdict: Verdict, what: impl Into<String>) -> Check {
    Check { name: name.to_string(), verdict, what: what.into() }
}

/// Faults fail a check; none lets it pass with the word given.
pub(super) fn judged(name: &str, faults: Vec<String>, passed: impl Into<String>) -> Check {
    match faults.is_empty() {
        true => check(name, Verdict::Passed, passed),
        false => check(name, Verdict::Failed, faults.join("; ")),
    }
}

/// A check that could not be made is shown as such.
pub(super) fn made(name: &str, made: Result<Check>) -> Check {
    made.unwrap_or_else(|error| check(name, Verdict::NotRun, error.to_string()))
}

/// Why a department would not run, whatever came.
fn what_blocks(department: &Department, seen: &Seen<'_>) -> Option<String> {
    if !seen.gate.is_open() {
        return Some(format!("the gate is {}", seen.gate.words()));
    }
    match department.blocked() {
        Ok(Some(blocked)) => return Some(blocked.reason),
        Err(error) => return Some(error.to_string()),
        Ok(None) => {}
    }
    match department.paused() {
        Ok(Some(paused)) => return Some(format!("paused by {}: {}", paused.by, paused.reason)),
        Err(error) => return Some(error.to_string()),
        Ok(None) => {}
    }
    if let Err(error) = department.charter() {
        return Some(error.to_string());
    }
    if let Err(error) = department.goal() {
        return Some(error.to_string());
    }
    match seen.accepted.as_ref().map(|accepted| accepted.standing(department)) {
        Ok(Ok(charters::Standing::Accepted)) => None,
        Ok(Ok(_)) => Some("its charter, playbook or prompts are not accepted".to_string()),
        Ok(Err(error)) => Some(error.to_string()),
        Err(error) => Some(error.to_string()),
    }
}

impl Clinic<'_> {
    pub fn examine(&self) -> Result<Health> {
        let (mut wards, wake) = (Vec::new(), self.org.wake());
        for dept in self.org.departments()?.departments {
            let Some(department) = self.org.department(&dept)? else { continue };
            let config = department.config().map_err(|error| error.to_string());
            let unreadable = what_hides(&department, &config, wake.departments.get(dept.as_str()));
            let runs = is_running(&department);
            wards.push(Ward { department, config, unreadable, runs });
        }
        let pulse = self.pulse();
        let looks = self.org.looks().unwrap_or_else(|_| Looks::none());
        let seen = Seen {
            pulse: &pulse,
            looks: &looks,
            accepted: self.org.accepted(),
            gate: self.org.gate(self.now),
        };
        let words: Vec<Word> = wards.iter().map(|ward| self.word(ward, &seen)).collect();
        let states: Vec<State> = words.iter().map(|word| word.state).collect();
        let settings = self.org.settings().map_err(|error| error.to_string());
        let installed = self.org.installed();
        let mut checks = vec![
            self.gate(),
            self.last_pulse(&wards, &pulse),
            self.departments(&words, &wards),
            self.engines(&settings, &wards, installed.as_ref().ok().and_then(Option::as_ref)),
            self.quota(&settings, &wards),
            self.budget(&settings, &wards),
            runs::stale(&wards),
            runs::journals(&wards),
            runs::commits(&wards),
            made("ghost rate", ghosts(&wards)),
            self.units(&wards, installed),
            made("schedules", schedules(&wards)),
            made("disk", self.disk()),
            made("clock", self.clock(&pulse)),
        ];
        let (stalled, movement) = self.stalled();
        checks.push(movement);
        Ok(Health { state: overall(&states), words, checks, stalled })
    }

    fn pulse(&self) -> Pulse {
        if let Err(error) = self.org.read_wake() {
            return Pulse::Unreadable(error.to_string());
        }
        match self.org.read_pulse() {
            Ok(Some(at)) => Pulse::At(at),
            Ok(None) => Pulse::Never,
            Err(error) => Pulse::Unreadable(error.to_string()),
        }
    }

    /// A department's word. What a tick of another department saw says nothing of this one.
    fn word(&self, ward: &Ward, seen: &Seen<'_>) -> Word {
        let own = seen.looks.last(ward.department.dept.as_str());
        let looked = match (seen.pulse, own.and_then(|at| chrono::DateTime::from_timestamp(at, 0))) {
            (Pulse::At(_), None) => Pulse::Never,
            (Pulse::At(_), Some(at)) => Pulse::At(at),
            (other, _) => other.clone(),
        };
        let standing = Standing {
            auto_loop: match (&ward.unreadable, &ward.config) {
                (Some(why), _) | (None, Err(why)) => Err(why.clone()),
                (None, Ok(config)) => Ok(config.auto_loop),
            },
            interval_s: ward.interval_s(),
            looked,
            blocked: what_blocks(&ward.department, seen),
            runs: ward.runs,
        };
        let (state, why) = judge_department(&standing, self.now);
        Word { dept: ward.department.dept.clone(), state, why }
    }

    fn gate(&self) -> Check {
        let gate = self.org.gate(self.now);
        let verdict = if gate.is_open() { Verdict::Passed } else { Verdict::Failed };
        check("gate", verdict, format!("{}: {}", gate.words(), gate.reason))
    }

    /// Pulses are wanted where a department is to run by itself; a long run of one stands for its pulses.
    fn last_pulse(&self, wards: &[Ward], pulse: &Pulse) -> Check {
        let name = "last pulse";
        let wanted = wards.iter().filter(|ward| ward.config.as_ref().is_ok_and(|config| config.auto_loop));
        let shortest = wanted.map(|ward| stale_after_s(ward.interval_s())).min();
        let (state, why) = judge_pulse(pulse, shortest.unwrap_or(0), self.now);
        let line = format!("{}: {why}", state.word());
        match state {
            State::Unreadable => check(name, Verdict::Failed, line),
            _ if shortest.is_none() => check(name, Verdict::NotRun, "off: autoLoop is on in no department"),
            State::Healthy => check(name, Verdict::Passed, line),
            _ if wards.iter().any(|ward| ward.runs) => {
                check(name, Verdict::Passed, "healthy: a run is under way")
            }
            _ => check(name, Verdict::Failed, line),
        }
    }

    /// What keeps a department that should run from running. What a person paused is as it should be.
    fn departments(&self, words: &[Word], wards: &[Ward]) -> Check {
        let stuck = words.iter().zip(wards).filter(|(word, ward)| match word.state {
            State::Unreadable => ward.unreadable.is_some(),
            State::Stale | State::NeverRan => true,
            State::Blocked => self.org.gate(self.now).is_open() && !self.is_paused_by_user(&ward.department),
            _ => false,
        });
        let faults: Vec<String> =
            stuck.map(|(word, _)| format!("{} is {}: {}", word.dept, word.state.word(), word.why)).collect();
        judged("departments", faults, format!("{} can run, and those that should are looked at", wards.len()))
    }

    fn is_paused_by_user(&self, department: &Department) -> bool {
        matches!(department.blocked(), Ok(None))
            && matches!(department.paused(), Ok(Some(paused)) if paused.by != "harness")
    }

    /// Whether every department has an engine, in the PATH of the service where one is installed.
    fn engines(
        &self,
        settings: &std::result::Result<Settings, String>,
        wards: &[Ward],
        installed: Option<&Installed>,
    ) -> Check {
        let name = "engine found";
        let settings = match settings {
            Ok(settings) => settings,
            Err(why) => return check(name, Verdict::Failed, why.clone()),
        };
        let configs: Vec<DirectorConfig> = wards.iter().filter_map(|ward| ward.config.clone().ok()).collect();
        let lists = engine_lists(settings, &configs);
        let path = installed.map_or(self.user_path, |installed| installed.path.as_str());
        let (mut found, mut missing, mut faults) = (Vec::new(), Vec::new(), Vec::new());
        for client in clients(settings, &lists) {
            match (client.find(path), client.find(self.user_path)) {
                (Some(program), _) => found.push(format!("{} ({})", client.name, program.display())),
                (None, Some(program)) => {
                    faults.push(format!(
                        "{} is {}, and not in the service's PATH",
                        client.name,
                        program.display()
                    ));
                }
                (None, None) => {
                    let check = not_there(&client, &lists);
                    let list = if check.verdict == Verdict::Failed { &mut faults } else { &mut missing };
                    list.push(format!("{}: {}", client.name, check.what));
                }
            }
        }
        match (faults.is_empty(), missing.is_empty(), found.is_empty()) {
            (false, ..) => check(name, Verdict::Failed, faults.join("; ")),
            (true, false, _) => check(name, Verdict::NotRun, missing.join("; ")),
            (true, true, false) => check(name, Verdict::Passed, found.join(", ")),
            (true, true, true) => check(name, Verdict::Passed, "no department asks a program"),
        }
    }

    fn units(&self, wards: &[Ward], installed: Result<Option<Installed>>) -> Check {
        let name = "departments without a unit";
        let installed = match installed {
            Ok(Some(installed)) => installed,
            Ok(None) => return check(name, Verdict::NotRun, "off: no service is installed"),
            Err(error) => return check(name, Verdict::Failed, error.to_string()),
        };
        let Some(target) = Target::parse(&installed.target) else {
            return check(
                name,
                Verdict::Failed,
                format!("service.json names the target `{}`", installed.target),
            );
        };
        let Ok(root) = self.org.real_root() else {
            return check(name, Verdict::NotRun, "the root can't be found");
        };
        let folder = (self.units)(target).unwrap_or_default();
        let host = self.host.with_units(folder);
        match host.departments_with_units(target, &root.display().to_string()) {
            Err(error) => check(name, Verdict::NotRun, error.message),
            Ok(with) => {
                let without: Vec<String> = wards
                    .iter()
                    .map(|ward| &ward.department.dept)
                    .filter(|dept| !with.contains(dept))
                    .map(ToString::to_string)
                    .collect();
                match without.is_empty() {
                    true => check(
                        name,
                        Verdict::Passed,
                        format!("{} has a unit for each of {}", target.name(), wards.len()),
                    ),
                    false => check(
                        name,
                        Verdict::Failed,
                        format!("{}: `harness service install` makes them", without.join(", ")),
                    ),
                }
            }
        }
    }

    fn disk(&self) -> Result<Check> {
        Ok(match judge_room(self.org.room()?) {
            Ok(said) => check("disk", Verdict::Passed, said),
            Err(why) => check("disk", Verdict::Failed, why),
        })
    }

    fn clock(&self, pulse: &Pulse) -> Result<Check> {
        let mut written = Vec::new();
        written.extend(self.org.last_audited()?.map(|at| ("the audit", at)));
        if let Pulse::At(at) = pulse {
            written.push(("the last pulse", *at));
        }
        written.extend(parse_rfc3339(&self.org.gate(self.now).at).map(|at| ("the gate", at)));
        Ok(match judge_clock(self.now, &written) {
            Ok(said) => check("clock", Verdict::Passed, said),
            Err(why) => check("clock", Verdict::Failed, why),
        })
    }

    fn stalled(&self) -> (Vec<Stalled>, Check) {
        let name = "stalled";
        match find_stalled(self.org, self.now) {
            Err(error) => (Vec::new(), check(name, Verdict::NotRun, error.to_string())),
            Ok(Movement::NothingOpen) => {
                (Vec::new(), check(name, Verdict::Passed, "no directive and no task is open"))
            }
            Ok(Movement::Moves(why)) => (Vec::new(), check(name, Verdict::Passed, why)),
            Ok(Movement::Stalled(stalled)) => {
                let named: Vec<String> = stalled
                    .iter()
                    .take(10)
                    .map(|one| {
                        format!("{} {} ({}), last touched by {}", one.what, one.id, one.title, one.dept)
                    })
                    .collect();
                let what = format!(
                    "{}: nothing anywhere is open, waiting or scheduled that could move it",
                    named.join("; ")
                );
                (stalled, check(name, Verdict::Failed, what))
            }
        }
    }
}

/// What keeps a tick from looking at a department: a config or a folder that can't be read, or what the last one said.
fn what_hides(
    department: &Department,
    config: &std::result::Result<DirectorConfig, String>,
    entry: Option<&Entry>,
) -> Option<String> {
    if let Err(why) = config {
        return Some(why.clone());
    }
    let folders = Part::ALL.into_iter().filter_map(Part::path).filter(|path| !path.contains('.'));
    for folder in folders {
        if let Err(error) = department.dir.find(folder) {
            return Some(error.to_string());
        }
    }
    let receipt = &entry?.receipt;
    let failed = ["unreadable", "not_settled", "broke"].contains(&receipt.code.as_str());
    failed.then(|| format!("the last tick says {}: {}", receipt.code, receipt.why))
}

fn ghosts(wards: &[Ward]) -> Result<Check> {
    let mut lines: Vec<Line> = Vec::new();
    for ward in wards {
        lines.extend(ward.department.ledger_tail(0, ITERATIONS)?);
    }
    let rate = ghost_rate(&lines);
    Ok(match (rate.steps, rate.is_too_high()) {
        (0, _) => check("ghost rate", Verdict::NotRun, "nobody has decided anything yet"),
        (_, true) => check("ghost rate", Verdict::Failed, rate.to_string()),
        (_, false) => check("ghost rate", Verdict::Passed, rate.to_string()),
    })
}

/// A schedule that can't be used never comes, and nothing else would say so.
fn schedules(wards: &[Ward]) -> Result<Check> {
    let (mut count, mut faults) = (0, Vec::new());
    for ward in wards {
        let found = ward.department.schedules()?;
        count += found.schedules.len();
        let dept = &ward.department.dept;
        faults.extend(found.refused.iter().map(|(file, why)| format!("org-{dept}/schedules/{file}: {why}")));
    }
    Ok(judged("schedules", faults, format!("{count} can be used")))
}
