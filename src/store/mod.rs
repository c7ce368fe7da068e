//! The only layer that knows a path: formats on disk, locks, atomic writes.
//!
//! Everything is read and written beneath an open folder ([`dir::Dir`]), never through a path, so that no link can
//! lead out of the place it stands in. It never spawns, judges or prints.
#![expect(clippy::disallowed_methods, reason = "store is the layer that reads and writes files")]

pub mod append;
pub mod apply;
pub mod audit;
pub mod breakage;
pub mod budget;
pub mod cases;
pub mod charters;
pub mod copy;
pub mod dir;
pub mod directives;
pub mod disk;
pub mod effects;
pub mod engines;
pub mod events;
pub mod fault;
pub mod git;
pub mod glances;
pub mod identity;
pub mod inbox;
pub mod jobs;
pub mod journal;
pub mod key;
mod ledger_faults;
pub mod load;
pub mod lock;
mod marks;
pub mod memory;
pub mod messages;
mod modes;
mod names;
pub mod notices;
pub mod org;
pub mod outbox;
pub mod pages;
pub mod portable;
pub mod projects;
pub mod prompts;
pub mod pulse;
pub mod quarantine;
pub mod receipts;
pub mod records;
mod remembered;
pub mod requests;
pub mod rewind;
pub mod room;
pub mod runs;
pub mod schedules;
pub mod scratch;
pub mod scripts;
pub mod service;
pub mod sweep;
pub mod tail;
pub mod tasks;
pub mod template;
pub mod unmade;
pub mod wake;
pub mod watching;
pub mod write;
pub mod written;
