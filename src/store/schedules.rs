//! Schedules as files, and up to where each is dealt with: `schedules/<name>.toml` and `.harness/schedules.json`.

use super::charters::write_json;
use super::dir::EntryKind;
use super::fault::{Result, StoreError};
use super::lock::{Lock, lock};
use super::org::Department;
use crate::domain::schedule::{Schedule, ScheduleFile, is_schedule_name, parse_schedule, render_schedule};
use crate::domain::time::{Time, parse_rfc3339, render_month, render_rfc3339};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

const FOLDER: &str = "schedules";
const DEALT: &str = "schedules.json";
const FILE_MAX: u64 = 64 * 1024;

/// What the folder of schedules holds.
#[derive(Clone, Debug, Default)]
pub struct Schedules {
    /// By name, sorted.
    pub schedules: Vec<(String, Schedule)>,
    /// Files that can't be used, and why.
    pub refused: Vec<(String, String)>,
}

/// Up to where each schedule is dealt with, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DealtWith {
    schema: u64,
    #[serde(default)]
    schedules: BTreeMap<String, Dealt>,
}

/// One schedule's; another one with the same name has another `created`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Dealt {
    created: String,
    until: String,
}

impl DealtWith {
    pub fn until(&self, name: &str, schedule: &Schedule) -> Option<Time> {
        let dealt = self.schedules.get(name).filter(|dealt| dealt.created == schedule.file.created)?;
        parse_rfc3339(&dealt.until)
    }

    pub fn set(&mut self, name: &str, schedule: &Schedule, until: Time) {
        let dealt = Dealt { created: schedule.file.created.clone(), until: render_rfc3339(until) };
        self.schedules.insert(name.to_string(), dealt);
    }

    /// Forgets schedules that are gone.
    pub fn keep(&mut self, names: &[(String, Schedule)]) {
        self.schedules.retain(|name, _| names.iter().any(|(known, _)| known == name));
    }
}

impl Department {
    /// Every schedule; one that can't be used hides no other.
    pub fn schedules(&self) -> Result<Schedules> {
        let mut found = Schedules::default();
        let Some(dir) = self.dir.find(FOLDER)? else { return Ok(found) };
        for entry in dir.list()? {
            let Some(name) = entry.name.strip_suffix(".toml") else { continue };
            let parsed = match (entry.kind, is_schedule_name(name)) {
                (EntryKind::File, true) => match dir.read(&entry.name, FILE_MAX) {
                    Ok(None) => continue,
                    Ok(Some(text)) => parse_schedule(&text.text),
                    Err(error) => Err(error.fault.to_string()),
                },
                (EntryKind::File, false) => Err("its name can't be a schedule's".to_string()),
                _ => Err("it is no plain file".to_string()),
            };
            match parsed {
                Ok(schedule) => found.schedules.push((name.to_string(), schedule)),
                Err(why) => found.refused.push((entry.name.clone(), why)),
            }
        }
        Ok(found)
    }

    /// The texts of all schedules, by path beneath the department.
    pub fn schedule_texts(&self) -> Result<Vec<(String, String)>> {
        let Some(dir) = self.dir.find(FOLDER)? else { return Ok(Vec::new()) };
        let mut texts = Vec::new();
        for entry in dir.list()?.into_iter().filter(|entry| entry.kind == EntryKind::File) {
            if let Ok(Some(text)) = dir.read(&entry.name, FILE_MAX) {
                texts.push((format!("{FOLDER}/{}", entry.name), text.text));
            }
        }
        Ok(texts)
    }

    /// Adds a schedule. One that has ended makes room; another one with the name is a conflict.
    pub fn add_schedule(&self, name: &str, file: &ScheduleFile) -> Result<()> {
        let _held = self.lock_schedules()?;
        let dir = self.dir.make(FOLDER)?;
        let file_name = format!("{name}.toml");
        let there = self.schedules()?.schedules.into_iter().find(|(known, _)| known == name);
        if there.is_some_and(|(_, schedule)| schedule.is_ended()) {
            return dir.replace(&file_name, render_schedule(file).as_bytes());
        }
        dir.create(&file_name, render_schedule(file).as_bytes()).map(|_| ())
    }

    /// Takes a schedule away; whether it was there.
    pub fn remove_schedule(&self, name: &str) -> Result<bool> {
        let _held = self.lock_schedules()?;
        let Some(dir) = self.dir.find(FOLDER)? else { return Ok(false) };
        let file_name = format!("{name}.toml");
        let there = dir.stat(&file_name)?.is_some();
        if there {
            dir.remove(&file_name)?;
        }
        Ok(there)
    }

    /// Puts a schedule that has fired for the last time, or was ended, into the archive.
    pub fn put_away_schedule(&self, name: &str, now: Time) -> Result<()> {
        let Some(dir) = self.dir.find(FOLDER)? else { return Ok(()) };
        let archive = self.dir.make(&format!("archive/schedules/{}", render_month(now)))?;
        let mut to = format!("{name}.toml");
        let mut count = 1;
        while archive.stat(&to)?.is_some() {
            count += 1;
            to = format!("{name}-{count}.toml");
        }
        dir.move_to(&format!("{name}.toml"), &archive, &to)
    }

    /// One at a time: firing and changing schedules.
    pub fn lock_schedules(&self) -> Result<Lock> {
        lock(&self.own()?, "schedules.lock")
    }

    pub fn dealt_with(&self) -> Result<DealtWith> {
        let Some(own) = self.dir.find(".harness")? else { return Ok(DealtWith::default()) };
        let Some(text) = own.read(DEALT, 1024 * 1024)? else {
            return Ok(DealtWith { schema: 1, ..DealtWith::default() });
        };
        serde_json::from_str(&text.text).map_err(|error| StoreError::format(own.join(DEALT), error))
    }

    pub fn write_dealt_with(&self, dealt: &DealtWith) -> Result<()> {
        write_json(&self.own()?, DEALT, dealt)
    }
}
