//! What was sent long ago is put away, so that the outbox shows the last month.

use super::dir::EntryKind;
use super::fault::Result;
use super::messages::{Location, Place};
use super::org::Department;
use crate::domain::time::{Time, render_month};
use chrono::{NaiveDate, TimeDelta, TimeZone, Utc};

/// How long a sent message stays in the outbox.
const DAYS: i64 = 30;

impl Department {
    /// Where a sent message or a task was put away to from its place, if it was.
    pub fn find_put_away(&self, path: &str) -> Result<Option<String>> {
        let Some((folder @ ("outbox" | "tasks"), name)) = path.split_once('/') else { return Ok(None) };
        let Some(months) = self.dir.find(&format!("archive/{folder}"))? else { return Ok(None) };
        for month in months.list()? {
            let place = format!("archive/{folder}/{}/{name}", month.name);
            if month.kind == EntryKind::Folder && self.dir.stat(&place)?.is_some() {
                return Ok(Some(place));
            }
        }
        Ok(None)
    }

    /// Moves what is older than 30 days to `archive/outbox/YYYY-MM/`. The department's lock is held.
    pub fn put_away_sent(&self, now: Time) -> Result<()> {
        let Some(outbox) = self.dir.find(Place::Outbox.folder())? else { return Ok(()) };
        for (location, sent) in self.old_sent(now)? {
            let month = format!("{}/{}", Place::OldOutbox.folder(), render_month(sent));
            outbox.move_to(&location.file, &self.dir.make_lasting(&month)?, &location.file)?;
        }
        Ok(())
    }

    /// What was sent more than 30 days ago and lies in the outbox, with its day.
    pub fn old_sent(&self, now: Time) -> Result<Vec<(Location, Time)>> {
        let sent = self.locations(Place::Outbox)?.into_iter();
        let dated = sent.filter_map(|location| day_of(&location.id).map(|day| (location, day)));
        Ok(dated.filter(|(_, day)| now - *day > TimeDelta::days(DAYS)).collect())
    }
}

/// The day in an id that the tool made: `m-20261118-...`.
fn day_of(id: &str) -> Option<Time> {
    let day = id.split('-').nth(1)?;
    let day = NaiveDate::parse_from_str(day, "%Y%m%d").ok()?;
    Some(Utc.from_utc_datetime(&day.and_hms_opt(0, 0, 0)?))
}

#[cfg(test)]
mod tests {
    use super::super::dir::Dir;
    use super::super::disk::Disk;
    use super::*;
    use crate::domain::id::Dept;
    use crate::domain::time::parse_rfc3339;

    #[test]
    fn a_month_stays_and_the_rest_is_put_away() {
        let folder = tempfile::tempdir().unwrap();
        let dir = Dir::open(folder.path(), Disk::new(None)).unwrap();
        let outbox = dir.make("outbox").unwrap();
        for name in ["m-20261018-000000-aaaaaa.md", "m-20261020-000000-bbbbbb.md", "mine.md"] {
            outbox.create(name, b"x").unwrap();
        }
        let department =
            Department { dept: Dept::parse("rd").unwrap(), dir: dir.clone(), binding: Default::default() };
        let now = parse_rfc3339("2026-11-18T00:42:01Z").unwrap();
        for _ in 0..2 {
            department.put_away_sent(now).unwrap();
            let left: Vec<String> = outbox.list().unwrap().into_iter().map(|entry| entry.name).collect();
            assert_eq!(left, ["m-20261020-000000-bbbbbb.md", "mine.md"]);
            assert!(dir.stat("archive/outbox/2026-10/m-20261018-000000-aaaaaa.md").unwrap().is_some());
        }
    }
}
