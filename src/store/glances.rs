//! A board at a glance: how many tasks stand where, and which come first, at the cost of reading the files once.

use super::fault::{Result, StoreError};
use super::org::Department;
use crate::domain::task::{Glance, Priority, Task, TaskStatus, glance, parse_task};
use rustix::fs::{FileType, Mode, OFlags};
use std::collections::{BTreeMap, HashSet};
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

/// Which tasks are counted; what is absent asks for nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted<'a> {
    pub priority: Option<Priority>,
    pub owner: Option<&'a str>,
    /// Those alone that wait for another.
    pub blocked: bool,
}

impl Wanted<'_> {
    /// Whether owners or dependencies count.
    fn looks_closer(&self) -> bool {
        self.blocked || self.owner.is_some()
    }

    fn takes(&self, priority: Priority, owner: Option<&[u8]>) -> bool {
        self.priority.is_none_or(|wanted| wanted == priority)
            && self.owner.is_none_or(|wanted| owner == Some(wanted.as_bytes()))
    }
}

/// A task whose dependencies are looked at once all tasks are known.
struct Dependent {
    id: Vec<u8>,
    status: TaskStatus,
    priority: Priority,
    on: Vec<String>,
}

/// What the looks at single tasks come to.
#[derive(Default)]
struct Looks {
    columns: [Firsts; 3],
    /// Every task that is not done, and those that wait; only where blocked ones are asked for.
    open: HashSet<String>,
    dependents: Vec<Dependent>,
}

impl Looks {
    fn take(&mut self, seen: &Glance<'_>, id: &[u8], wanted: &Wanted<'_>, most: usize) {
        if wanted.blocked {
            self.open.insert(String::from_utf8_lossy(id).into_owned());
        }
        if !wanted.takes(seen.priority, seen.owner) {
            return;
        }
        if !wanted.blocked {
            return self.columns[seen.status as usize].take(seen.priority, id, most);
        }
        let on: Vec<String> = seen.depends_on().map(|id| String::from_utf8_lossy(id).into_owned()).collect();
        if !on.is_empty() {
            self.dependents.push(Dependent {
                id: id.to_vec(),
                status: seen.status,
                priority: seen.priority,
                on,
            });
        }
    }

    fn take_read(&mut self, task: &Task, wanted: &Wanted<'_>, most: usize) {
        let owner = task.owner.as_ref().map(String::as_bytes);
        if wanted.blocked {
            self.open.insert(task.id.clone());
        }
        let (id, status, priority) = (task.id.as_bytes(), task.status, task.priority);
        if !wanted.takes(priority, owner) {
            return;
        }
        if !wanted.blocked {
            self.columns[status as usize].take(priority, id, most);
        } else if !task.depends_on.is_empty() {
            self.dependents.push(Dependent {
                id: id.to_vec(),
                status,
                priority,
                on: task.depends_on.clone(),
            });
        }
    }
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
    pub fn overview(&self, wanted: &Wanted<'_>, most: usize) -> Result<Overview> {
        let mut overview = Overview::default();
        let Some(dir) = self.dir.find("tasks")? else { return Ok(overview) };
        let failed = |error: rustix::io::Errno| StoreError::io(dir.path(), "list", error);
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let listing = rustix::fs::openat(dir.fd(), ".", flags, Mode::empty()).map_err(failed)?;
        let mut looks = Looks::default();
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
            if let Some(seen) = seen.filter(|seen| !wanted.looks_closer() || seen.is_plain()) {
                looks.take(&seen, id, wanted, most);
                continue;
            }
            match self.read_whole(&String::from_utf8_lossy(id)) {
                Ok(task) if task.is_open() => looks.take_read(&task, wanted, most),
                Ok(_) => {}
                Err(why) => overview.unreadable.push((name.to_string_lossy().into_owned(), why)),
            }
        }
        self.count_blocked(&mut looks, most)?;
        let [inbox, in_progress, review] = looks.columns.map(|column| column.into_standing(most));
        (overview.inbox, overview.in_progress, overview.review) = (inbox, in_progress, review);
        overview.unreadable.sort();
        Ok(overview)
    }

    /// Counts those that wait for a task which is not done. What is not on the board is looked up once, however many
    /// name it.
    fn count_blocked(&self, looks: &mut Looks, most: usize) -> Result<()> {
        let mut done: BTreeMap<String, bool> = BTreeMap::new();
        for dependent in std::mem::take(&mut looks.dependents) {
            let mut blocked = false;
            for on in &dependent.on {
                if !looks.open.contains(on) && !done.contains_key(on) {
                    done.insert(on.clone(), self.is_done(on)?);
                }
                blocked |= !done.get(on).is_some_and(|done| *done);
            }
            if blocked {
                looks.columns[dependent.status as usize].take(dependent.priority, &dependent.id, most);
            }
        }
        Ok(())
    }

    fn is_done(&self, id: &str) -> Result<bool> {
        if let Ok(task) = self.read_whole(id) {
            return Ok(task.status == TaskStatus::Done);
        }
        Ok(self.archived_task(id)?.is_some_and(|(task, _)| task.status == TaskStatus::Done))
    }

    fn read_whole(&self, id: &str) -> std::result::Result<Task, String> {
        let text =
            self.dir.read(&format!("tasks/{id}.md"), TASK_MAX).map_err(|error| error.fault.to_string())?;
        let text = text.ok_or("it is gone")?;
        parse_task(&text.text, id).map_err(|fault| fault.to_string())
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
