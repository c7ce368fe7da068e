//! Why something on disk could not be read or written: a kind to branch on, with the path and what was being done.

use crate::domain::schema::tells_newer;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// What is done that needs no more than reading.
const READING: [&str; 4] = ["read", "open", "list", "look at"];

/// What is wrong with it.
#[derive(Debug)]
pub enum Fault {
    /// A link stands where a file or folder should.
    Link,
    /// A pipe, device, socket or folder stands where a file should, or the other way round.
    WrongType(&'static str),
    TooLarge {
        size: u64,
        most: u64,
    },
    NotUtf8,
    /// There already, with other bytes.
    Conflict,
    /// Its format is wrong; the text says how.
    Format(String),
    Io(io::Error),
}

/// A fault, and where it was met.
#[derive(Debug)]
pub struct StoreError {
    pub path: PathBuf,
    pub doing: &'static str,
    pub fault: Fault,
}

/// What store's functions return.
pub type Result<T> = std::result::Result<T, StoreError>;

impl StoreError {
    pub fn new(path: impl AsRef<Path>, doing: &'static str, fault: Fault) -> StoreError {
        StoreError { path: path.as_ref().to_path_buf(), doing, fault }
    }

    pub fn io(path: impl AsRef<Path>, doing: &'static str, error: impl Into<io::Error>) -> StoreError {
        let error = error.into();
        match error.raw_os_error() {
            // O_NOFOLLOW on a link, in the two ways kernels put it.
            Some(code) if code == rustix::io::Errno::LOOP.raw_os_error() => {
                StoreError::new(path, doing, Fault::Link)
            }
            _ => StoreError::new(path, doing, Fault::Io(error)),
        }
    }

    pub fn format(path: impl AsRef<Path>, what: impl fmt::Display) -> StoreError {
        StoreError::new(path, "read", Fault::Format(what.to_string()))
    }

    /// Whether the disk failed, and not the one file that was read: what nobody may read is that file's own fault.
    pub fn is_disk(&self) -> bool {
        matches!(&self.fault, Fault::Io(error) if error.kind() != io::ErrorKind::PermissionDenied)
    }

    /// What a person can do about it, where there is something.
    pub fn hint(&self) -> Option<String> {
        let path = self.path.display();
        // A file that could not be written may not be there.
        let folder = self.path.parent().unwrap_or(&self.path).display();
        match &self.fault {
            Fault::Link => Some(format!("replace the link by the file itself: `ls -l {path}`")),
            Fault::WrongType(_) => Some(format!("put a plain file or folder in its place: `ls -ld {path}`")),
            Fault::TooLarge { .. } => Some(format!("make it shorter: `wc -c {path}`")),
            Fault::NotUtf8 => Some(format!("save it as UTF-8: `file {path}`")),
            Fault::Format(what) => {
                newer_hint(what).or_else(|| Some(format!("put it right, or move it away: {path}")))
            }
            Fault::Io(error) => match error.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                    Some(format!("free some space: `df -h {folder}`"))
                }
                io::ErrorKind::PermissionDenied if READING.contains(&self.doing) => {
                    Some(format!("look at who may read it: `ls -ld {path}`"))
                }
                io::ErrorKind::ReadOnlyFilesystem => Some(format!(
                    "that disk can only be read as it is mounted: `df {folder}` says which one it is"
                )),
                io::ErrorKind::PermissionDenied => {
                    Some(format!("look at who may write there: `ls -ld {folder}`"))
                }
                _ => None,
            },
            Fault::Conflict => None,
        }
    }
}

/// What helps against a file that a newer program wrote; none where that is not what is wrong with it.
pub fn newer_hint(what: &str) -> Option<String> {
    let version = env!("CARGO_PKG_VERSION");
    tells_newer(what).then(|| format!("a newer harness wrote it: upgrade harness (this is {version})"))
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "can't {} {}: {}", self.doing, self.path.display(), self.fault)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Link => f.write_str("it is a link, and links are not followed"),
            Fault::WrongType(found) => write!(f, "it is {found}"),
            Fault::TooLarge { size, most } => write!(f, "it has {size} bytes, and the most is {most}"),
            Fault::NotUtf8 => f.write_str("it is not UTF-8 text"),
            Fault::Conflict => f.write_str("it is there already, with other content"),
            Fault::Format(what) => f.write_str(what),
            Fault::Io(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for StoreError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.fault {
            Fault::Io(error) => Some(error),
            _ => None,
        }
    }
}
