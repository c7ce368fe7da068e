//! `wake.json`: what a tick leaves for the next, and what it looks at.

use super::dir::{Dir, EntryKind, Stat};
use super::fault::{Result, StoreError};
use super::lock::lock;
use super::org::{Department, Org, folder_name};
use super::pulse::Pulse;
use crate::domain::config::{DirectorConfig, seen_config};
use crate::domain::digest::hex;
use crate::domain::id::{Dept, is_leftover};
use crate::domain::portfolio::Portfolio;
use crate::domain::time::Time;
use crate::domain::wake::{
    LOOKED_AT, Observation, Part, Parts, WAKE_SCHEMA, Wake, digest, newer_wake, parse_wake, render_wake,
};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::io::{BufRead, Read};

const WAKE: &str = "wake.json";
/// The largest `wake.json` that is read: thousands of departments.
const WAKE_MAX: u64 = 64 * 1024 * 1024;
/// How many messages are looked at for whether something holds them back.
const HELD_MAX: usize = 512;
/// Of more files than this in one folder, names and sizes count instead of what they hold; never times, which a backup
/// or `touch` moves and no model call should follow.
const HASHED_FILES: usize = 4_096;
/// How much of it is read at a time for its first line.
const HEAD_BYTES: usize = 8 * 1024;
/// The largest file that is hashed; of a larger one, its size counts.
const HASHED_MAX: u64 = 1024 * 1024;
/// The organisation's own files that change what a tick may do.
const ORG_LOOKED_AT: [&str; 6] =
    ["gate.json", "org.toml", "accepted.json", "engines.json", "directives", "projects"];

/// What stands outside the departments and is part of their fingerprints.
#[derive(Clone, Debug, Default)]
pub struct Outer {
    accepted: BTreeMap<String, String>,
    portfolio: Portfolio,
}

impl Outer {
    /// A department's parts: what was accepted of it, and which of its mail a directive or project holds back.
    pub fn parts(&self, department: &Department) -> Result<Parts> {
        let accepted = self.accepted.get(department.dept.as_str()).cloned().unwrap_or_default();
        let held = match self.portfolio.since() {
            None => String::new(),
            Some(_) => {
                let mail = department.inbox_oldest(HELD_MAX)?.messages;
                let held =
                    mail.iter().map(|filed| &filed.message).filter(|m| self.portfolio.holds(m).is_some());
                let held: Vec<&str> = held.map(|message| message.id.as_str()).collect();
                // The same as where nothing could be held back: the first directive is no change to anybody.
                if held.is_empty() { String::new() } else { digest(held) }
            }
        };
        let part = |part: Part, digest: String| (part.name().to_string(), digest);
        Ok(Parts::from([part(Part::Charter, accepted), part(Part::Held, held)]))
    }
}

/// Stats of a department's files, as one stamp.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Looked {
    stamp: u64,
    /// Something changed as late as this very look: another change could leave the same stat.
    pub racy: bool,
    /// `.harness/active.json` is there: a run goes on, or died.
    pub active: bool,
}

impl Looked {
    /// What could not be looked at, and so is never as it was.
    pub fn unseen() -> Looked {
        Looked { stamp: 0, racy: true, active: false }
    }

    /// Together with the organisation's own files: a change of those concerns every department.
    pub fn with(mut self, org: &Looked) -> Looked {
        self.stamp ^= org.stamp.rotate_left(32);
        self.racy |= org.racy;
        self
    }

    /// A number that JSON keeps exactly, and never 0.
    pub fn stamp(&self) -> u64 {
        (self.stamp >> 11) | 1
    }
}

impl Org {
    /// What earlier ticks saw. A file that is missing or damaged is as good as an empty one.
    pub fn wake(&self) -> Wake {
        self.own.read(WAKE, WAKE_MAX).ok().flatten().map(|text| parse_wake(&text.text)).unwrap_or_default()
    }

    /// The same for whoever starts runs by it. Damaged text is as good as none, since the next tick writes it anew. What
    /// can't be a file, or is a newer program's, is never written: every tick would forget what the runs before it left,
    /// and ask again.
    pub fn wake_to_act_on(&self) -> Result<Wake> {
        let Some((bytes, _)) = self.own.read_bytes(WAKE, WAKE_MAX)? else { return Ok(Wake::default()) };
        let text = String::from_utf8_lossy(&bytes);
        match newer_wake(&text) {
            None => Ok(parse_wake(&text)),
            Some(schema) => {
                let what = format!("its schema is {schema}, and this program knows {WAKE_SCHEMA}");
                Err(StoreError::format(self.own.join(WAKE), what))
            }
        }
    }

    /// The first line of `wake.json`; empty where there is none.
    pub fn wake_line(&self) -> Vec<u8> {
        let Ok(Some((file, _))) = self.own.open_file(WAKE) else { return Vec::new() };
        let mut line = Vec::with_capacity(HEAD_BYTES);
        let mut reader = std::io::BufReader::with_capacity(HEAD_BYTES, file.take(WAKE_MAX));
        // What can't be read to its end is no head, and is then seen to be none.
        let _ignored = reader.read_until(b'\n', &mut line);
        line
    }

    pub fn has_wake(&self) -> bool {
        matches!(self.own.stat(WAKE), Ok(Some(_)))
    }

    /// Changes `wake.json`, one at a time; what is the same afterwards is not written, and a newer program's never is.
    pub fn update_wake(&self, now: Time, change: impl FnOnce(&mut Wake)) -> Result<()> {
        let _held = lock(&self.own, "lock")?;
        let before = self.wake_to_act_on()?;
        let mut wake = before.clone();
        change(&mut wake);
        // What lies in the future was written before the clock went back, and would call every tick to a close look.
        if wake == before && wake.at <= now.timestamp() {
            return Ok(());
        }
        (wake.schema, wake.at) = (WAKE_SCHEMA, now.timestamp());
        self.own.replace_lazily(WAKE, render_wake(&wake).as_bytes())
    }

    /// Notes a config that was changed and audited, so that no tick takes it for a change by hand.
    pub fn remember_config(&self, dept: &Dept, config: &DirectorConfig, now: Time) {
        if !self.has_wake() {
            return;
        }
        // The config counts all the same. A tick names what is wrong with wake.json, and audits the change once more.
        let _ignored = self.update_wake(now, |wake| {
            if let Some(entry) = wake.departments.get_mut(dept.as_str()) {
                entry.config = Some(seen_config(&Ok(config.clone())));
            }
        });
    }

    /// Reads what stands outside the departments.
    pub fn outer(&self) -> Result<Outer> {
        Ok(Outer { accepted: self.accepted_digests()?, portfolio: self.portfolio()? })
    }

    /// The stamp of the organisation's own files.
    pub fn look(&self, pulse: &Pulse) -> Result<Looked> {
        look(&self.own, "", &ORG_LOOKED_AT, pulse)
    }

    /// The stamp of a department: ten stats, and nothing opened.
    pub fn look_at(&self, dept: &Dept, pulse: &Pulse) -> Result<Looked> {
        look(&self.root, &folder_name(dept), &LOOKED_AT, pulse)
    }

    /// The stamp of a full look: over every file of every part. 0 where something is as young as the look.
    pub fn look_at_files(&self, dept: &Dept, pulse: &Pulse) -> Result<u64> {
        let Some(department) = self.department(dept)? else { return Ok(0) };
        let mut files = Files::default();
        for part in Part::ALL {
            files.add(&department.stat_part(part, pulse)?);
        }
        files.stamp(&department, pulse)
    }
}

fn look(dir: &Dir, folder: &str, names: &[&str], pulse: &Pulse) -> Result<Looked> {
    let mut stamp = 0;
    let (mut racy, mut active) = (false, false);
    let mut path = String::with_capacity(96);
    for name in names {
        path.clear();
        if !folder.is_empty() {
            path.push_str(folder);
            path.push('/');
        }
        path.push_str(name);
        let Some(stat) = dir.stat(&path)? else {
            stamp = mix(stamp, 1);
            continue;
        };
        stamp = mix_stat(stamp, &stat);
        racy |= (stat.changed_s, stat.changed_ns) >= pulse.began;
        active = name.ends_with("/active.json");
    }
    Ok(Looked { stamp, racy, active })
}

fn mix_stat(stamp: u64, stat: &Stat) -> u64 {
    let times = [stat.modified_s as u64, stat.changed_s as u64];
    let parts = u64::from(stat.modified_ns) << 32 | u64::from(stat.changed_ns);
    [stat.inode, stat.size, times[0], times[1], parts].into_iter().fold(stamp, mix)
}

/// Takes a number into a stamp. The same in every build and process, which the standard hasher is not. A stamp is
/// nobody's secret: whoever can choose a file's times can also leave the file alone.
fn mix(stamp: u64, number: u64) -> u64 {
    let mixed = (stamp.rotate_left(5) ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ (mixed >> 29)
}

fn digest_size(stat: Option<&Stat>) -> String {
    stat.map_or_else(|| "gone".to_string(), |stat| format!("{} bytes", stat.size))
}

/// The stats of a part, of the folder and of every file in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartStat {
    stamp: u64,
    /// Something is as young as the look itself.
    pub racy: bool,
}

impl PartStat {
    /// As a text to compare.
    pub fn text(&self) -> String {
        format!("{:016x}", self.stamp)
    }

    fn take(&mut self, stat: Option<&Stat>, pulse: &Pulse) {
        self.stamp = stat.map_or_else(|| mix(self.stamp, 1), |stat| mix_stat(self.stamp, stat));
        self.racy |= stat.is_some_and(|stat| (stat.changed_s, stat.changed_ns) >= pulse.began);
    }
}

/// The stamp of a full look, while it is put together from the parts.
#[derive(Debug, Default)]
pub struct Files(PartStat);

impl Files {
    pub fn add(&mut self, part: &PartStat) {
        self.0.stamp = mix(self.0.stamp, part.stamp);
        self.0.racy |= part.racy;
    }

    /// With the folder of daily memory, which may make consolidation due. A number that JSON keeps exactly; 0 where
    /// something is as young as the look.
    pub fn stamp(mut self, department: &Department, pulse: &Pulse) -> Result<u64> {
        self.0.take(department.dir.stat("memory")?.as_ref(), pulse);
        Ok(if self.0.racy { 0 } else { (self.0.stamp >> 11) | 1 })
    }
}

impl Department {
    /// The stats of one part: of a folder, also of what is in it, since a file changed in place moves no folder.
    pub fn stat_part(&self, part: Part, pulse: &Pulse) -> Result<PartStat> {
        let mut found = PartStat::default();
        let Some(path) = part.path() else { return Ok(found) };
        let stat = self.dir.stat(path)?;
        found.take(stat.as_ref(), pulse);
        let is_folder = stat.is_some_and(|stat| stat.kind == EntryKind::Folder);
        let Some(folder) = is_folder.then(|| self.dir.find(path)).transpose()?.flatten() else {
            return Ok(found);
        };
        for entry in folder.list()? {
            found.stamp = entry.name.bytes().fold(found.stamp, |stamp, byte| mix(stamp, u64::from(byte)));
            found.take(folder.stat(&entry.name)?.as_ref(), pulse);
        }
        Ok(found)
    }

    /// Every file of every part, with a digest of what it holds.
    pub fn observe(&self) -> Result<Observation> {
        let mut seen = Observation::new();
        for part in Part::ALL {
            self.observe_part(part, &mut seen)?;
        }
        Ok(seen)
    }

    /// The files of one part.
    pub fn observe_part(&self, part: Part, seen: &mut Observation) -> Result<()> {
        let Some(path) = part.path() else { return Ok(()) };
        match self.dir.stat(path)?.map(|stat| stat.kind) {
            None => Ok(()),
            Some(EntryKind::File) => {
                seen.insert(path.to_string(), self.digest_file(path));
                Ok(())
            }
            Some(EntryKind::Folder) => {
                let Some(folder) = self.dir.find(path)? else { return Ok(()) };
                let mut entries = folder.list()?;
                entries.retain(|entry| !is_leftover(&entry.name));
                let many = entries.len() > HASHED_FILES;
                for entry in entries {
                    let name = format!("{path}/{}", entry.name);
                    let digest = match entry.kind {
                        EntryKind::File if many => digest_size(folder.stat(&entry.name)?.as_ref()),
                        EntryKind::File => self.digest_file(&name),
                        other => format!("{other:?}"),
                    };
                    seen.insert(name, digest);
                }
                Ok(())
            }
            Some(other) => {
                seen.insert(path.to_string(), format!("{other:?}"));
                Ok(())
            }
        }
    }

    /// What a file holds; what can't be read is told apart by what is wrong with it.
    fn digest_file(&self, path: &str) -> String {
        match self.dir.read_bytes(path, HASHED_MAX) {
            Ok(Some((bytes, _))) => hex(&Sha256::digest(&bytes)[..8]),
            Ok(None) => "gone".to_string(),
            Err(error) => match self.dir.stat(path) {
                Ok(Some(stat)) => digest_size(Some(&stat)),
                _ => error.fault.to_string(),
            },
        }
    }

    /// Whether a folder is missing, or surely holds nothing.
    pub fn is_bare(&self, folder: &str) -> bool {
        match self.dir.find(folder) {
            Ok(Some(dir)) => dir.list().is_ok_and(|entries| entries.is_empty()),
            Ok(None) => true,
            Err(_) => false,
        }
    }

    /// Whether anything lies in the journal.
    pub fn has_journal(&self) -> Result<bool> {
        let journal = self.dir.find(".harness/journal")?;
        Ok(journal
            .map_or(Ok(Vec::new()), |journal| journal.list())?
            .iter()
            .any(|entry| entry.kind == EntryKind::File))
    }
}

#[cfg(test)]
mod tests {
    use super::super::disk::Disk;
    use super::*;

    /// Touches `alive` until the disk's clock has moved on.
    fn later(org: &Org, than: &Pulse) -> Pulse {
        loop {
            let pulse = org.touch_alive().unwrap();
            if pulse.began > than.began {
                return pulse;
            }
        }
    }

    #[test]
    fn what_is_as_young_as_the_look_counts_as_moved() {
        let folder = tempfile::tempdir().unwrap();
        let dept = Dept::parse("rd").unwrap();
        let inbox = folder.path().join("org-rd/inbox");
        std::fs::create_dir_all(&inbox).unwrap();
        std::fs::create_dir_all(folder.path().join(".harness")).unwrap();
        let org = Org::find(folder.path(), &Disk::new(None)).unwrap().unwrap();
        let first = org.touch_alive().unwrap();
        std::fs::write(inbox.join("a"), "a").unwrap();
        let racy = org.look_at(&dept, &first).unwrap();
        assert!(racy.racy);
        let pulse = later(&org, &first);
        let calm = org.look_at(&dept, &later(&org, &pulse)).unwrap();
        assert!(!calm.racy);
        assert_eq!(calm.stamp(), racy.stamp());
        std::fs::write(inbox.join("b"), "b").unwrap();
        assert_ne!(org.look_at(&dept, &pulse).unwrap().stamp(), calm.stamp());
    }

    #[test]
    fn a_change_of_the_organisation_concerns_every_department() {
        let looked = |stamp: u64, racy: bool| Looked { stamp, racy, active: false };
        let with = |org: u64| looked(7, false).with(&looked(org, false)).stamp();
        assert_ne!(with(1 << 20), with(1 << 21));
        assert!(looked(7, false).with(&looked(1, true)).racy);
        assert_ne!(looked(0, false).stamp(), 0);
    }
}
