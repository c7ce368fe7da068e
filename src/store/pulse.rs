//! `alive`: when the last pulse was, and when each department was last looked at. Every tick touches it first thing.
//!
//! It is the one file that is written in place: a quiet tick writes nothing else, and replacing it would cost more than
//! all that it looks at. What a crash tears in it is read as a look that nobody remembers.

use super::dir::EntryKind;
use super::fault::{Fault, Result, StoreError};
use super::lock::{Attempt, try_lock};
use super::org::Org;
use crate::domain::id::Dept;
use crate::domain::time::Time;
use crate::domain::wake::FULL_LOOK_S;
use crate::domain::wake::looks::{Looks, Note};

const NAME: &str = "alive";
/// The largest one that is read: tens of thousands of departments.
const MAX: u64 = 4 * 1024 * 1024;

/// A run that takes longer counts as a look at its end too.
const LONG_RUN_S: i64 = 60;

/// The moment of a tick, by the clock of the disk it looks at.
#[derive(Clone, Debug)]
pub struct Pulse {
    /// Seconds and nanoseconds: what changed then or later counts as moved at the next look.
    pub(super) began: (i64, u32),
    /// The same in seconds; none where this is no tick.
    now_s: Option<i64>,
    /// When departments were looked at before this tick.
    looks: Looks,
}

impl Pulse {
    /// For looking without a tick: nothing counts as moved by its age.
    pub fn unmoved() -> Pulse {
        Pulse { began: (i64::MAX, 0), now_s: None, looks: Looks::none() }
    }

    /// How long nobody has looked at a department, in seconds; 0 where nobody ever did, or this is no tick.
    pub fn since_s(&self, dept: &Dept) -> i64 {
        let last = self.looks.last(dept.as_str());
        last.zip(self.now_s).map_or(0, |(last, now)| (now - last).max(0))
    }

    /// Whether so much time has passed since another one that looks are worth noting again.
    pub fn is_long_after(&self, other: &Pulse) -> bool {
        self.now_s.zip(other.now_s).is_some_and(|(now, before)| now - before >= LONG_RUN_S)
    }

    /// Whether this look is a full one, which it is every ten minutes: where none of them has begun since the last
    /// look, it is not. So nothing needs to be written to remember it.
    pub fn is_full(&self, dept: &Dept) -> bool {
        let slot = |at: i64| at.div_euclid(FULL_LOOK_S);
        let last = self.looks.last(dept.as_str());
        self.now_s.is_some_and(|now| last.map(slot) != Some(slot(now)))
    }
}

impl Org {
    /// Touches `alive`, the first thing of every tick.
    pub fn touch_alive(&self) -> Result<Pulse> {
        let looks = self.looks().unwrap_or_else(|_| Looks::none());
        let (_, after) = self.own.touch(NAME)?;
        Ok(Pulse { began: (after.changed_s, after.changed_ns), now_s: Some(after.modified_s), looks })
    }

    /// Notes that these departments were looked at, or all of them where none is named.
    pub fn note_looks(&self, depts: Option<&[Dept]>, pulse: &Pulse) -> Result<()> {
        let names: Option<Vec<String>> = depts.map(|depts| depts.iter().map(Dept::to_string).collect());
        let Some(now) = pulse.now_s else { return Ok(()) };
        if let Note::InPlace(pieces) = pulse.looks.note(names.as_deref(), now) {
            return self.own.write_at(NAME, &pieces);
        }
        // Whoever holds it is another tick, as a rule; what it looks at is found again by the next one.
        let Attempt::Held(_held) = try_lock(&self.own, "lock")? else { return Ok(()) };
        let text = self.looks_text();
        let looks = if text.is_empty() { pulse.looks.clone() } else { Looks::parse(&text, i64::MAX) };
        match looks.note(names.as_deref(), now) {
            Note::InPlace(pieces) => self.own.write_at(NAME, &pieces),
            Note::Anew(text) => self.own.replace_lazily(NAME, text.as_bytes()),
        }
    }

    /// When departments were last looked at.
    pub fn looks(&self) -> Result<Looks> {
        let Some(stat) = self.own.stat(NAME)? else { return Ok(Looks::none()) };
        let text = if stat.size == 0 { String::new() } else { self.looks_text() };
        Ok(Looks::parse(&text, stat.modified_s))
    }

    /// The lines as they stand. What is no text, or too long, is damaged, and nothing else depends on it.
    fn looks_text(&self) -> String {
        match self.own.read_bytes(NAME, MAX) {
            Ok(Some((bytes, _))) => String::from_utf8_lossy(&bytes).into_owned(),
            Ok(None) => String::new(),
            Err(_) => "unreadable".to_string(),
        }
    }

    /// When the last pulse was; none where there never was one.
    pub fn read_pulse(&self) -> Result<Option<Time>> {
        let Some(stat) = self.own.stat(NAME)? else { return Ok(None) };
        if stat.kind != EntryKind::File {
            return Err(StoreError::new(self.own.join(NAME), "read", Fault::WrongType("not a plain file")));
        }
        let at = chrono::DateTime::from_timestamp(stat.modified_s, stat.modified_ns);
        at.map(Some).ok_or_else(|| StoreError::format(self.own.join(NAME), "its time is none"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::disk::Disk;
    use super::*;

    #[test]
    fn each_department_has_its_own_last_look() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join(".harness")).unwrap();
        let org = Org::find(folder.path(), &Disk::new(None)).unwrap().unwrap();
        let [rd, hr] = ["rd", "hr"].map(|name| Dept::parse(name).unwrap());
        let first = org.touch_alive().unwrap();
        assert!(first.is_full(&rd) && first.since_s(&rd) == 0);
        org.note_looks(Some(std::slice::from_ref(&rd)), &first).unwrap();
        let looks = org.looks().unwrap();
        assert!(looks.last("rd").is_some() && looks.last("hr").is_none());
        let second = org.touch_alive().unwrap();
        assert!(second.is_full(&hr));
        org.note_looks(None, &second).unwrap();
        assert!(org.looks().unwrap().last("hr").is_some());
        // What is damaged is made anew by whoever looks next.
        let path = folder.path().join(".harness/alive");
        for depts in [None, Some(std::slice::from_ref(&rd))] {
            std::fs::write(&path, b"\xff\xfe nonsense").unwrap();
            org.note_looks(depts, &org.touch_alive().unwrap()).unwrap();
            assert!(org.looks().unwrap().last("rd").is_some(), "{depts:?}");
        }
        // Half an hour ago by what it says, though it was touched just now.
        let now = second.now_s.unwrap();
        std::fs::write(&path, format!("{:012} *\n{now:012} rd\n", now - 1_800)).unwrap();
        let third = org.touch_alive().unwrap();
        assert!(third.since_s(&hr) >= 1_800 && third.is_full(&hr) && third.since_s(&rd) < 600);
    }
}
