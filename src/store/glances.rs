//! A board at a glance: how many tasks stand where, and which come first, at the cost of reading the files once.

use super::fault::{Result, StoreError};
use super::org::Department;
use crate::domain::task::{Priority, TaskStatus, glance, parse_task};
use rustix::fs::{FileType, Mode, OFlags};
use std::os::fd::AsFd;

/// How much of a file a glance looks at: its front matter is at most so long.
const LOOK: usize = 16 * 1024 + 64;
const TASK_MAX: u64 = 4 * 1024 * 1024;

/// One column of the board.
#[derive(Clone, Debug, Default)]
pub struct Standing {
    pub count: usize,
    /// The ids that come first: by priority, then oldest first.
    pub first: Vec<String>,
}

/// The open tasks of a department at a glance.
#[derive(Clone, Debug, Default)]
pub struct Overview {
    pub inbox: Standing,
    pub in_progress: Standing,
    pub review: Standing,
    /// Files that can't be taken, and why.
    pub unreadable: Vec<(String, String)>,
}

/// The first few ids of each priority.
#[derive(Default)]
struct Firsts {
    count: usize,
    by_priority: [Vec<Vec<u8>>; 3],
}

impl Firsts {
    fn take(&mut self, priority: Priority, id: &[u8], most: usize) {
        self.count += 1;
        let first = &mut self.by_priority[priority as usize];
        if first.len() == most && first.last().is_some_and(|last| last.as_slice() <= id) {
            return;
        }
        let at = first.partition_point(|known| known.as_slice() < id);
        first.insert(at, id.to_vec());
        first.truncate(most);
    }

    fn into_standing(self, most: usize) -> Standing {
        let ids = self.by_priority.into_iter().flatten().take(most);
        Standing {
            count: self.count,
            first: ids.map(|id| String::from_utf8_lossy(&id).into_owned()).collect(),
        }
    }
}

impl Department {
    /// Looks at every open task once; `most` ids of each column are kept.
    pub fn overview(&self, most: usize) -> Result<Overview> {
        let mut overview = Overview::default();
        let Some(dir) = self.dir.find("tasks")? else { return Ok(overview) };
        let failed = |error: rustix::io::Errno| StoreError::io(dir.path(), "list", error);
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let listing = rustix::fs::openat(dir.fd(), ".", flags, Mode::empty()).map_err(failed)?;
        let mut columns: [Firsts; 3] = Default::default();
        let mut look = vec![0; LOOK];
        for entry in rustix::fs::Dir::new(listing).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name();
            let Some(id) = name.to_bytes().strip_suffix(b".md").filter(|id| !id.starts_with(b".")) else {
                continue;
            };
            let seen = match entry.file_type() {
                FileType::RegularFile => {
                    look_at(dir.fd(), name, &mut look).and_then(|bytes| glance(bytes, id))
                }
                _ => None,
            };
            let seen = match seen {
                Some(seen) => Ok(seen),
                None => self.read_whole(&String::from_utf8_lossy(id)),
            };
            match seen {
                Ok((TaskStatus::Done, _)) => {}
                Ok((status, priority)) => columns[status as usize].take(priority, id, most),
                Err(why) => overview.unreadable.push((name.to_string_lossy().into_owned(), why)),
            }
        }
        let [inbox, in_progress, review] = columns.map(|column| column.into_standing(most));
        (overview.inbox, overview.in_progress, overview.review) = (inbox, in_progress, review);
        overview.unreadable.sort();
        Ok(overview)
    }

    fn read_whole(&self, id: &str) -> std::result::Result<(TaskStatus, Priority), String> {
        let text =
            self.dir.read(&format!("tasks/{id}.md"), TASK_MAX).map_err(|error| error.fault.to_string())?;
        let text = text.ok_or("it is gone")?;
        let task = parse_task(&text.text, id).map_err(|fault| fault.to_string())?;
        Ok((if task.is_open() { task.status } else { TaskStatus::Done }, task.priority))
    }
}

/// The start of a plain file; none where it is none, or can't be read at once.
fn look_at<'a>(
    dir: std::os::fd::BorrowedFd<'_>,
    name: &std::ffi::CStr,
    look: &'a mut [u8],
) -> Option<&'a [u8]> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = rustix::fs::openat(dir, name, flags, Mode::empty()).ok()?;
    let count = rustix::io::read(file.as_fd(), &mut *look).ok()?;
    look.get(..count)
}
