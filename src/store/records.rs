//! Records: one file each while they are young, and a month's file each once they are packed.
//!
//! A pack is written whole beside its place and renamed before the first of its records is removed, so that a record is
//! always in one of the two, and after a crash perhaps in both.

use super::dir::{Dir, EntryKind};
use super::fault::{Fault, Result, StoreError};
use super::org::Department;
use super::runs::RECORDS;
use crate::domain::pack::{Place, month_of_record, parse_pack, render_packed};
use crate::domain::time::{Time, render_ts};
use std::collections::{BTreeMap, BTreeSet};

const PACKED: &str = ".harness/director-runs/packed";
/// The largest record or pack that is read.
const RECORD_MAX: u64 = 64 * 1024 * 1024;
/// From this size on, a month goes on in another file.
const PACK_FULL: usize = 32 * 1024 * 1024;

/// Where every record is.
pub struct Records {
    department: Department,
    /// By name, the pack and the place in it.
    packed: BTreeMap<String, (String, Place)>,
}

/// What packing did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PackedCount {
    pub records: usize,
    pub packs: usize,
    pub bytes: u64,
}

impl Department {
    pub fn records(&self) -> Result<Records> {
        let mut packed = BTreeMap::new();
        if let Some(dir) = self.dir.find(PACKED)? {
            for pack in names_in(&dir)? {
                let Some(text) = dir.read(&pack, RECORD_MAX)? else { continue };
                for place in parse_pack(&text.text) {
                    packed.insert(place.name.clone(), (pack.clone(), place));
                }
            }
        }
        Ok(Records { department: self.clone(), packed })
    }

    pub fn read_record(&self, name: &str) -> Result<Option<String>> {
        match self.read_loose(name)? {
            Some(text) => Ok(Some(text)),
            None if self.dir.find(PACKED)?.is_some() => self.records()?.read(name),
            None => Ok(None),
        }
    }

    fn read_loose(&self, name: &str) -> Result<Option<String>> {
        let Some(dir) = self.dir.find(RECORDS)? else { return Ok(None) };
        Ok(dir.read(name, RECORD_MAX)?.map(|text| text.text))
    }

    /// The names of the records that are files of their own, oldest first.
    fn loose_names(&self) -> Result<Vec<String>> {
        self.dir.find(RECORDS)?.map_or(Ok(Vec::new()), |dir| names_in(&dir))
    }

    /// The names of all records, oldest first.
    pub fn record_names(&self) -> Result<Vec<String>> {
        Ok(self.records()?.names()?.into_iter().collect())
    }

    /// How many records are older than a moment and not yet packed.
    pub fn count_old_records(&self, before: Time) -> Result<usize> {
        Ok(self.old_records(before)?.len())
    }

    fn old_records(&self, before: Time) -> Result<Vec<String>> {
        let limit = render_ts(before);
        let is_old = |name: &String| name.as_str() < limit.as_str() && month_of_record(name).is_some();
        Ok(self.loose_names()?.into_iter().filter(is_old).collect())
    }

    /// Packs the records that are older than a moment, by month. The department's lock is held.
    pub fn pack_records(&self, before: Time) -> Result<PackedCount> {
        let mut months: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for name in self.old_records(before)? {
            if let Some(month) = month_of_record(&name) {
                months.entry(month).or_default().push(name);
            }
        }
        let mut count = PackedCount::default();
        for (month, names) in months {
            self.pack_month(&month, &names, &mut count)?;
        }
        Ok(count)
    }

    fn pack_month(&self, month: &str, names: &[String], count: &mut PackedCount) -> Result<()> {
        let dir = self.dir.make_lasting(PACKED)?;
        let loose = self.dir.make(RECORDS)?;
        let packed = self.records()?;
        let (mut pack, mut text) = open_pack(&dir, month)?;
        let mut done: Vec<&String> = Vec::new();
        for name in names {
            let Some(record) = self.read_loose(name)? else { continue };
            let known = packed.read_packed(name)?;
            if known.is_some() && known.as_ref() != Some(&record) {
                return Err(StoreError::new(loose.join(name), "pack", Fault::Conflict));
            }
            if known.is_none() {
                if text.len() + record.len() > PACK_FULL && !text.is_empty() {
                    dir.replace(&pack, text.as_bytes())?;
                    (pack, text) = (next_pack(&dir, month)?, String::new());
                    count.packs += 1;
                }
                text.push_str(&render_packed(name, &record));
                count.bytes += record.len() as u64;
            }
            done.push(name);
        }
        dir.replace(&pack, text.as_bytes())?;
        count.packs += 1;
        // Nothing goes before what it was packed into was read again, and found to hold it.
        let packed = self.records()?;
        for name in done {
            if packed.read_packed(name)? != self.read_loose(name)? {
                return Err(StoreError::new(loose.join(name), "pack", Fault::Conflict));
            }
            loose.remove(name)?;
            count.records += 1;
        }
        Ok(())
    }
}

impl Records {
    /// The names of all records, oldest first.
    pub fn names(&self) -> Result<BTreeSet<String>> {
        let loose = self.department.loose_names()?;
        Ok(self.packed.keys().cloned().chain(loose).collect())
    }

    pub fn read(&self, name: &str) -> Result<Option<String>> {
        match self.department.read_loose(name)? {
            Some(text) => Ok(Some(text)),
            None => self.read_packed(name),
        }
    }

    fn read_packed(&self, name: &str) -> Result<Option<String>> {
        let Some((pack, place)) = self.packed.get(name) else { return Ok(None) };
        let Some(dir) = self.department.dir.find(PACKED)? else { return Ok(None) };
        let Some((mut file, _)) = dir.open_file(pack)? else { return Ok(None) };
        let failed = |error: std::io::Error| StoreError::io(dir.join(pack), "read", error);
        let mut bytes = vec![0; place.length];
        use std::io::{Read, Seek, SeekFrom};
        file.seek(SeekFrom::Start(place.start as u64)).map_err(failed)?;
        file.read_exact(&mut bytes).map_err(failed)?;
        let text = String::from_utf8(bytes);
        text.map(Some).map_err(|_| StoreError::new(dir.join(pack), "read", Fault::NotUtf8))
    }
}

/// The last pack of a month, with what it holds.
fn open_pack(dir: &Dir, month: &str) -> Result<(String, String)> {
    let names = names_in(dir)?;
    let last = names
        .into_iter()
        .filter(|name| name.starts_with(month))
        .max_by_key(|name| (name.len(), name.clone()));
    match last {
        Some(name) => {
            let text = dir.read(&name, RECORD_MAX)?.map(|text| text.text).unwrap_or_default();
            Ok((name, text))
        }
        None => Ok((format!("{month}.md"), String::new())),
    }
}

fn next_pack(dir: &Dir, month: &str) -> Result<String> {
    let count = names_in(dir)?.iter().filter(|name| name.starts_with(month)).count();
    Ok(format!("{month}-{}.md", count + 1))
}

fn names_in(dir: &Dir) -> Result<Vec<String>> {
    let files = dir.list()?.into_iter().filter(|entry| entry.kind == EntryKind::File);
    Ok(files.map(|entry| entry.name).filter(|name| name.ends_with(".md")).collect())
}

#[cfg(test)]
mod tests {
    use super::super::disk::Disk;
    use super::*;
    use crate::domain::id::Dept;
    use crate::domain::time::parse_rfc3339;

    #[test]
    fn a_packed_record_is_read_as_before_and_packing_again_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let dir = Dir::open(folder.path(), Disk::new(None)).unwrap();
        let department = Department { dept: Dept::parse("rd").unwrap(), dir, binding: Default::default() };
        let names = ["20260801T000000Z_loop.md", "20260831T000000Z_loop.md", "20261101T000000Z_loop.md"];
        for name in names {
            department.write_record(name, &format!("# {name}\n")).unwrap();
        }
        let before = parse_rfc3339("2026-10-01T00:00:00Z").unwrap();
        assert_eq!(department.count_old_records(before).unwrap(), 2);
        let count = department.pack_records(before).unwrap();
        assert_eq!((count.records, count.packs), (2, 1));
        // A crash may have left one of them beside its pack.
        department.write_record(names[0], &format!("# {}\n", names[0])).unwrap();
        department.pack_records(before).unwrap();
        assert_eq!(department.record_names().unwrap(), names);
        for name in names {
            assert_eq!(department.read_record(name).unwrap().unwrap(), format!("# {name}\n"));
        }
        let pack =
            department.dir.read(".harness/director-runs/packed/2026-08.md", 1000).unwrap().unwrap().text;
        assert_eq!(pack.matches("<!-- record ").count(), 2);
    }
}
