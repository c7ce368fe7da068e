//! Messages as files: the inbox, the outbox and the archive of a department.
//!
//! An open message is `inbox/<id>.md`. Closing one rewrites it in place and then moves it to `archive/inbox/YYYY-MM/`,
//! so that it is never in two places and never open again; the archive is what later deliveries look through before
//! they deliver, so that nothing arrives twice. A plain file that somebody dropped into the inbox is a message too.

use super::breakage::Breakage;
use super::dir::{Dir, Entry, EntryKind, Text};
use super::fault::{Fault, Result, StoreError};
use super::names::{Namer, modified, stem};
use super::org::Department;
use super::write::TEMPORARY;
use crate::domain::id::is_leftover;
use crate::domain::message::{Found, Message, Receipt, parse_message};
use crate::domain::time::{Time, render_month};

/// The largest message that is read.
pub const MESSAGE_MAX: u64 = 1024 * 1024;

/// A message and the file it stands in.
#[derive(Clone, Debug)]
pub struct Filed {
    pub message: Message,
    pub file: String,
}

/// A file that can't be taken as a message, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    pub file: String,
    pub why: String,
}

/// What a folder of messages holds.
#[derive(Clone, Debug, Default)]
pub struct Mail {
    /// Oldest first.
    pub messages: Vec<Filed>,
    /// Closed, and still in the inbox because a crash came before they were put away.
    pub closed: Vec<Filed>,
    pub unreadable: Vec<Unreadable>,
    /// The names of files that are never read, because other programs keep copies and working files by such names.
    pub left: Vec<String>,
    /// How many files there are beyond those that were read.
    pub beyond: usize,
}

/// Where a message was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Inbox,
    Archive,
    Outbox,
    OldOutbox,
}

impl Place {
    pub const ALL: [Place; 4] = [Place::Inbox, Place::Archive, Place::Outbox, Place::OldOutbox];

    pub fn folder(self) -> &'static str {
        match self {
            Place::Inbox => "inbox",
            Place::Archive => "archive/inbox",
            Place::Outbox => "outbox",
            Place::OldOutbox => "archive/outbox",
        }
    }

    fn by_month(self) -> bool {
        matches!(self, Place::Archive | Place::OldOutbox)
    }
}

/// An id, and how to get at its file.
#[derive(Clone, Debug)]
pub struct Location {
    pub id: String,
    pub place: Place,
    /// Beneath the department's folder.
    pub folder: String,
    pub file: String,
}

/// Hidden files that systems and repositories put into any folder.
const EVERYWHERE: [&str; 6] = [".DS_Store", ".directory", ".gitignore", ".gitkeep", ".keep", ".localized"];

/// What lies in a folder of messages, and the names of other programs' copies and working files among it. What every
/// folder may hold, and what this program writes beside a file, is not worth a word.
pub(super) fn list_mail(dir: &Dir) -> Result<(Vec<Entry>, Vec<String>)> {
    let mut entries = dir.list_every()?;
    let left = entries.extract_if(.., |entry| is_leftover(&entry.name)).map(|entry| entry.name);
    let is_news = |name: &String| !name.starts_with(TEMPORARY) && !EVERYWHERE.contains(&name.as_str());
    let left = left.filter(is_news).collect();
    Ok((entries, left))
}

impl Department {
    /// What was sent and has not yet been put away, oldest first.
    pub fn outbox(&self) -> Result<Mail> {
        match self.dir.find("outbox")? {
            Some(dir) => self.read_folder(&dir, Place::Outbox),
            None => Ok(Mail::default()),
        }
    }

    pub(super) fn read_folder(&self, dir: &Dir, place: Place) -> Result<Mail> {
        let (entries, left) = list_mail(dir)?;
        Ok(Mail { left, ..self.read_entries(dir, place, entries)? })
    }

    pub(super) fn read_entries(&self, dir: &Dir, place: Place, entries: Vec<Entry>) -> Result<Mail> {
        let mut mail = Mail::default();
        let mut namer = Namer::new(self, dir, place);
        for entry in entries {
            match self.read_entry(dir, &entry, &mut namer) {
                Ok(Some(message)) => mail.messages.push(Filed { message, file: entry.name }),
                // It went between the listing and the reading: another process handled it.
                Ok(None) => {}
                Err(error) if error.is_disk() => return Err(error),
                Err(error) => {
                    mail.unreadable.push(Unreadable { file: entry.name, why: error.fault.to_string() })
                }
            }
        }
        mail.messages
            .sort_by(|a, b| (a.message.created, &a.message.id).cmp(&(b.message.created, &b.message.id)));
        Ok(mail)
    }

    pub(super) fn read_entry(
        &self,
        dir: &Dir,
        entry: &Entry,
        namer: &mut Namer<'_>,
    ) -> Result<Option<Message>> {
        let wrong = |fault: Fault| Err(StoreError::new(dir.join(&entry.name), "read", fault));
        match entry.kind {
            EntryKind::Link => return wrong(Fault::Link),
            EntryKind::Folder => return wrong(Fault::WrongType("a folder")),
            EntryKind::Other => return wrong(Fault::WrongType("a pipe, socket or device")),
            EntryKind::NotUtf8 => return wrong(Fault::Format("its name is not UTF-8".to_string())),
            EntryKind::File => {}
        }
        let Some(text) = dir.read(&entry.name, MESSAGE_MAX)? else { return Ok(None) };
        let id = namer.id_of(&entry.name, &text.stat)?;
        self.parse(dir, &entry.name, &id, &text).map(Some)
    }

    fn parse(&self, dir: &Dir, name: &str, id: &str, text: &Text) -> Result<Message> {
        let modified = modified(&text.stat);
        let found = Found { id, name: stem(name), modified, dept: self.dept.as_str() };
        parse_message(&text.text, &found).map_err(|fault| StoreError::format(dir.join(name), fault))
    }

    /// The ids there are in one place, without reading a file.
    pub fn locations(&self, place: Place) -> Result<Vec<Location>> {
        let Some(dir) = self.dir.find(place.folder())? else { return Ok(Vec::new()) };
        if !place.by_month() {
            return self.locations_in(&dir, place);
        }
        // The archive is a tree by month. Links in it are not followed.
        let mut locations = Vec::new();
        for entry in walkdir::WalkDir::new(dir.path()).min_depth(2).max_depth(2).follow_links(false) {
            let Ok(entry) = entry else { continue };
            let (Some(file), Some(month)) = (entry.file_name().to_str(), entry.path().parent()) else {
                continue;
            };
            let Some(month) = month.file_name().and_then(|name| name.to_str()) else { continue };
            if entry.file_type().is_file() && !is_leftover(file) {
                let folder = format!("{}/{month}", place.folder());
                locations.push(Location {
                    id: stem(file).to_string(),
                    place,
                    folder,
                    file: file.to_string(),
                });
            }
        }
        Ok(locations)
    }

    /// Reads the message at a location.
    pub fn read_at(&self, location: &Location) -> Result<Option<Filed>> {
        let Some(dir) = self.dir.find(&location.folder)? else { return Ok(None) };
        let Some(text) = dir.read(&location.file, MESSAGE_MAX)? else { return Ok(None) };
        let message = self.parse(&dir, &location.file, &location.id, &text)?;
        Ok(Some(Filed { message, file: location.file.clone() }))
    }

    pub(super) fn locations_in(&self, dir: &Dir, place: Place) -> Result<Vec<Location>> {
        let mut namer = Namer::new(self, dir, place);
        let mut locations = Vec::new();
        for entry in list_mail(dir)?.0.into_iter().filter(|entry| entry.kind == EntryKind::File) {
            let Some(stat) = dir.stat(&entry.name)? else { continue };
            let id = namer.id_of(&entry.name, &stat)?;
            locations.push(Location { id, place, folder: place.folder().to_string(), file: entry.name });
        }
        Ok(locations)
    }

    /// Moves a message on. The file is rewritten in place; one that is then closed goes to the archive.
    pub fn mark(&self, filed: &Filed, receipt: &Receipt, waits_for: Option<&str>) -> Result<()> {
        let inbox = self.dir.make("inbox")?;
        let name = format!("{}.md", filed.message.id);
        // A dropped file gets its id's name first: the rewrite changes the time from which its id may be derived.
        if filed.file != name {
            inbox.move_to(&filed.file, &inbox, &name)?;
        }
        let text = filed.message.marked(receipt, waits_for);
        inbox.replace(&name, text.as_bytes())?;
        if receipt.status.is_open() { Ok(()) } else { self.put_away(&name, receipt.at) }
    }

    /// Puts away a closed message that a crash left in the inbox between its rewrite and its move.
    pub fn put_away_closed(&self, filed: &Filed) -> Result<()> {
        let message = &filed.message;
        let at = message.receipt(message.status).map_or(message.created, |receipt| receipt.at);
        self.put_away(&filed.file, at)
    }

    fn put_away(&self, name: &str, at: Time) -> Result<()> {
        let inbox = self.dir.make("inbox")?;
        let archive = self.dir.make_lasting(&format!("archive/inbox/{}", render_month(at)))?;
        inbox.move_to(name, &archive, name)
    }

    /// Puts a message into the inbox, once: one that arrived earlier and was read, handled or set aside counts.
    pub fn deliver(&self, id: &str, text: &str) -> Result<()> {
        let name = format!("{id}.md");
        if self.find_delivered(id)?.is_none() {
            self.dir.make_lasting("inbox")?.create(&name, text.as_bytes())?;
        }
        Ok(())
    }

    /// Where a message went after delivery. Inbox, then archive, then quarantine: a move in between can't hide it.
    pub fn find_delivered(&self, id: &str) -> Result<Option<Location>> {
        let name = format!("{id}.md");
        let mut folders = vec![(Place::Inbox, "inbox".to_string())];
        if let Some(archive) = self.dir.find("archive/inbox")? {
            let months = archive.list()?.into_iter().filter(|entry| entry.kind == EntryKind::Folder);
            folders.extend(months.map(|month| (Place::Archive, format!("archive/inbox/{}", month.name))));
        }
        folders.push((Place::Inbox, ".harness/quarantine".to_string()));
        if self.dir.breaks(Breakage::NoTombstoneCheck) {
            folders.truncate(1);
        }
        for (place, folder) in folders {
            if let Some(dir) = self.dir.find(&folder)?
                && dir.stat(&name)?.is_some()
            {
                return Ok(Some(Location { id: id.to_string(), place, folder, file: name }));
            }
        }
        Ok(None)
    }

    /// Makes sure of what a run moved last: it may have died before the new places were synced, and a later sync of the
    /// old one would then leave a file in neither.
    pub fn sync_moved(&self) -> Result<()> {
        let archive = self.dir.find("archive/inbox")?;
        let months = archive.as_ref().map_or(Ok(Vec::new()), Dir::list)?;
        let months = months.iter().rev().take(2).map(|month| format!("archive/inbox/{}", month.name));
        for folder in months.chain([".harness/quarantine".to_string()]) {
            if let Some(dir) = self.dir.find(&folder)? {
                dir.sync()?;
            }
        }
        Ok(())
    }
}
