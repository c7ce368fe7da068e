//! `wake.json`, `alive` and the receipts: what a tick leaves for the next, and what it looks at.

use super::dir::{Dir, EntryKind, Stat};
use super::fault::Result;
use super::lock::lock;
use super::org::{Department, Org, folder_name};
use crate::domain::digest::hex;
use crate::domain::id::Dept;
use crate::domain::portfolio::Portfolio;
use crate::domain::time::Time;
use crate::domain::wake::{
    LOOKED_AT, Observation, Part, Parts, Receipt, WAKE_SCHEMA, Wake, digest, parse_wake,
};
use serde_json::json;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::hash::Hasher;

const WAKE: &str = "wake.json";
const ALIVE: &str = "alive";
const RECEIPTS: &str = "receipts.jsonl";
/// The largest `wake.json` that is read: thousands of departments.
const WAKE_MAX: u64 = 64 * 1024 * 1024;
/// How many messages are looked at for whether something holds them back.
const HELD_MAX: usize = 512;
/// Of more files than this in one folder, size and time count instead of what they hold.
const HASHED_FILES: usize = 256;
/// The largest file that is hashed; of a larger one, size and time count.
const HASHED_MAX: u64 = 1024 * 1024;
/// The organisation's own files that change what a tick may do.
const ORG_LOOKED_AT: [&str; 6] =
    ["gate.json", "org.toml", "accepted.json", "engines.json", "directives", "projects"];

/// The moment of a tick, by the clock of the disk it looks at.
#[derive(Clone, Copy, Debug)]
pub struct Pulse {
    /// Seconds and nanoseconds: what changed then or later counts as moved at the next look.
    began: (i64, u32),
    /// How long ago the tick before was, in seconds; none where there was none.
    pub since_last_s: Option<i64>,
}

impl Pulse {
    /// For looking without a tick: nothing counts as moved by its age.
    pub fn unmoved() -> Pulse {
        Pulse { began: (i64::MAX, 0), since_last_s: None }
    }
}

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
                digest(held.map(|message| message.id.as_str()))
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
    /// Together with the organisation's own files: a change of those concerns every department.
    pub fn with(mut self, org: &Looked) -> Looked {
        self.stamp ^= org.stamp.rotate_left(32);
        self.racy |= org.racy;
        self
    }

    pub fn stamp(&self) -> String {
        format!("{:016x}", self.stamp)
    }
}

impl Org {
    /// Touches `alive`, the first thing of every tick.
    pub fn touch_alive(&self) -> Result<Pulse> {
        let is_new = self.own.stat(ALIVE)?.is_none();
        let (before, after) = self.own.touch(ALIVE)?;
        let since_last_s = (!is_new).then_some(after.modified_s - before.modified_s);
        Ok(Pulse { began: (after.changed_s, after.changed_ns), since_last_s })
    }

    /// What earlier ticks saw. A file that is missing or damaged is as good as an empty one.
    pub fn wake(&self) -> Wake {
        self.own.read(WAKE, WAKE_MAX).ok().flatten().map(|text| parse_wake(&text.text)).unwrap_or_default()
    }

    pub fn has_wake(&self) -> bool {
        matches!(self.own.stat(WAKE), Ok(Some(_)))
    }

    /// Changes `wake.json`, one at a time; what is the same afterwards is not written.
    pub fn update_wake(&self, now: Time, change: impl FnOnce(&mut Wake)) -> Result<()> {
        let _held = lock(&self.own, "lock")?;
        let before = self.wake();
        let mut wake = before.clone();
        change(&mut wake);
        if wake == before {
            return Ok(());
        }
        (wake.schema, wake.at) = (WAKE_SCHEMA, now.timestamp());
        let text = serde_json::to_string(&wake)
            .map_err(|error| super::fault::StoreError::format(self.own.join(WAKE), error))?;
        self.own.replace_lazily(WAKE, format!("{text}\n").as_bytes())
    }

    /// Reads what stands outside the departments.
    pub fn outer(&self) -> Result<Outer> {
        Ok(Outer { accepted: self.accepted_digests()?, portfolio: self.portfolio()? })
    }

    /// The stamp of the organisation's own files.
    pub fn look(&self, pulse: &Pulse) -> Result<Looked> {
        look(&self.own, ORG_LOOKED_AT.iter().map(|name| name.to_string()), pulse)
    }

    /// The stamp of a department: ten stats, and nothing opened.
    pub fn look_at(&self, dept: &Dept, pulse: &Pulse) -> Result<Looked> {
        let folder = folder_name(dept);
        look(&self.root, LOOKED_AT.iter().map(|path| format!("{folder}/{path}")), pulse)
    }
}

fn look(dir: &Dir, paths: impl Iterator<Item = String>, pulse: &Pulse) -> Result<Looked> {
    let mut hash = Fnv::new();
    let (mut racy, mut active) = (false, false);
    for path in paths {
        let Some(stat) = dir.stat(&path)? else {
            hash.write_u8(0);
            continue;
        };
        write_stat(&mut hash, &stat);
        racy |= (stat.changed_s, stat.changed_ns) >= pulse.began;
        active = path.ends_with("/active.json");
    }
    Ok(Looked { stamp: hash.finish(), racy, active })
}

fn write_stat(hash: &mut impl Hasher, stat: &Stat) {
    hash.write_u64(stat.inode);
    hash.write_u64(stat.size);
    hash.write_i64(stat.modified_s);
    hash.write_u32(stat.modified_ns);
    hash.write_i64(stat.changed_s);
    hash.write_u32(stat.changed_ns);
}

/// FNV-1a, 64 bits. The same in every build and process, which the standard hasher is not, and a stamp is nobody's
/// secret: whoever can choose a file's times can also leave the file alone.
struct Fnv(u64);

impl Fnv {
    fn new() -> Fnv {
        Fnv(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Fnv {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

fn digest_stat(stat: Option<&Stat>) -> String {
    let text = |stat: &Stat| format!("{} {}.{}", stat.size, stat.modified_s, stat.modified_ns);
    stat.map_or_else(|| "gone".to_string(), text)
}

impl Department {
    /// The stat of one part, as a text to compare; and whether it is as young as the look itself.
    pub fn stat_part(&self, part: Part, pulse: &Pulse) -> Result<(String, bool)> {
        let Some(path) = part.path() else { return Ok(Default::default()) };
        let Some(stat) = self.dir.stat(path)? else { return Ok(("none".to_string(), false)) };
        let mut hash = Fnv::new();
        write_stat(&mut hash, &stat);
        Ok((format!("{:016x}", hash.finish()), (stat.changed_s, stat.changed_ns) >= pulse.began))
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
                let entries = folder.list()?;
                let many = entries.len() > HASHED_FILES;
                for entry in entries {
                    let name = format!("{path}/{}", entry.name);
                    let digest = match entry.kind {
                        EntryKind::File if many => digest_stat(folder.stat(&entry.name)?.as_ref()),
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
                Ok(Some(stat)) => digest_stat(Some(&stat)),
                _ => error.fault.to_string(),
            },
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

    /// Adds a receipt to `.harness/receipts.jsonl`. It can be done without: nothing is synced.
    pub fn append_receipt(&self, receipt: &Receipt) -> Result<()> {
        let line = json!({"schema": 1, "at": receipt.at, "code": receipt.code, "why": receipt.why});
        self.own()?.append_lazily(RECEIPTS, &format!("{line}\n"))
    }

    /// The end of the receipts, oldest first.
    pub fn receipts(&self, most: u64) -> Result<Vec<Receipt>> {
        let Some(own) = self.dir.find(".harness")? else { return Ok(Vec::new()) };
        let text = super::tail::read_tail(&own, RECEIPTS, most)?.text;
        Ok(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
    }
}
