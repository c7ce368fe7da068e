//! The inbox of a department, whole or only its oldest messages, and one message of it by its id.
//!
//! A run needs the oldest of what is open and not all of it: an inbox that somebody filled with a hundred thousand
//! files costs a run a listing and one look at each name that doesn't tell its own time, and no more memory than that.

use super::dir::{Dir, Entry};
use super::fault::Result;
use super::messages::{Filed, Mail, Place, list_mail};
use super::names::{Namer, modified, stem};
use super::org::Department;
use crate::domain::id::made_at;
use crate::domain::time::Time;
use chrono::SubsecRound;

impl Department {
    /// The open messages, oldest first, and what lies among them and is none.
    pub fn inbox(&self) -> Result<Mail> {
        Ok(without_closed(self.read_inbox()?))
    }

    /// The oldest of the open messages: of so many files, with the rest only counted.
    pub fn inbox_oldest(&self, most: usize) -> Result<Mail> {
        let Some(dir) = self.dir.find("inbox")? else { return Ok(Mail::default()) };
        let (entries, left) = list_mail(&dir)?;
        let beyond = entries.len().saturating_sub(most);
        let entries = if beyond == 0 { entries } else { oldest(&dir, entries, most)? };
        let mail = self.read_entries(&dir, Place::Inbox, entries)?;
        Ok(without_closed(Mail { beyond, left, ..mail }))
    }

    /// Everything in the inbox; a closed message lies there for a moment before it is put away.
    fn read_inbox(&self) -> Result<Mail> {
        match self.dir.find("inbox")? {
            Some(dir) => self.read_folder(&dir, Place::Inbox),
            None => Ok(Mail::default()),
        }
    }

    /// A message of the inbox, open or not. Where its file has its name no other is looked at.
    pub fn find_in_inbox(&self, id: &str) -> Result<Option<Filed>> {
        let Some(dir) = self.dir.find("inbox")? else { return Ok(None) };
        let name = format!("{id}.md");
        let mut namer = Namer::new(self, &dir, Place::Inbox);
        let file = match dir.stat(&name)? {
            Some(stat) if namer.id_of(&name, &stat)? == id => name,
            _ => match self.locations_in(&dir, Place::Inbox)?.into_iter().find(|there| there.id == id) {
                Some(location) => location.file,
                None => return Ok(None),
            },
        };
        let Some(stat) = dir.stat(&file)? else { return Ok(None) };
        let entry = Entry { name: file, kind: stat.kind };
        let message = self.read_entry(&dir, &entry, &mut namer)?;
        Ok(message.map(|message| Filed { message, file: entry.name }))
    }
}

fn without_closed(mut mail: Mail) -> Mail {
    let is_closed = |filed: &mut Filed| !filed.message.status.is_open();
    mail.closed = mail.messages.extract_if(.., is_closed).collect();
    mail
}

/// The oldest entries, by the second in a made id or else in which the file was written; of one second, the files
/// written first. In the order of their names.
fn oldest(dir: &Dir, entries: Vec<Entry>, most: usize) -> Result<Vec<Entry>> {
    let written = |name: &str| Ok(dir.stat(name)?.map(|stat| modified(&stat)).unwrap_or_default());
    let mut timed: Vec<(Time, Entry)> = Vec::with_capacity(entries.len());
    for entry in entries {
        let at = made_at(stem(&entry.name)).map_or_else(|| written(&entry.name), Ok)?;
        timed.push((at.trunc_subsecs(0), entry));
    }
    timed.sort_by(|(a, left), (b, right)| (a, &left.name).cmp(&(b, &right.name)));
    // Where the cut goes through a second, names tell nothing: only there is it worth looking at each file.
    if let (Some(&(kept, _)), Some(&(left, _))) = (timed.get(most.wrapping_sub(1)), timed.get(most))
        && kept == left
    {
        let from = timed.partition_point(|(at, _)| *at < kept);
        let to = timed.partition_point(|(at, _)| *at <= kept);
        for (at, entry) in &mut timed[from..to] {
            *at = written(&entry.name)?;
        }
        timed[from..to].sort_by(|(a, left), (b, right)| (a, &left.name).cmp(&(b, &right.name)));
    }
    timed.truncate(most);
    let mut entries: Vec<Entry> = timed.into_iter().map(|(_, entry)| entry).collect();
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(entries)
}
