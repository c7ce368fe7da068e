//! Starting, watching and ending other programs: the only layer that spawns.
//!
//! It knows nothing of models or organisations. An engine is a program with arguments, an environment and
//! limits; a run is known by its mark, the value of one variable in the environment of everything it started.
//!
//! `child` runs an engine through the `guard`: `running` is the engine while it runs, `channel` what run
//! and guard say to each other (`link` and `orders` are its two ends), `pipe` and `lines` its output,
//! `deadline` when its time is up. `stop` finds and ends processes, `family` tells which belong together,
//! `orphans` are those that lost their parents, `table` is the operating system's own list of all.
//! `interrupt` hears signals, `find` finds programs. `quick` runs a well-known tool that needs no guard, `tool` asks one
//! something under a guard, `plain` starts one that the drill means to kill.

#![expect(
    clippy::disallowed_methods,
    reason = "this layer spawns, and reads /proc: the state of processes, not data"
)]

mod channel;
pub mod child;
mod deadline;
mod family;
pub mod find;
pub mod guard;
pub mod interrupt;
pub mod lines;
mod link;
mod orders;
mod orphans;
mod pipe;
pub mod plain;
#[cfg(target_os = "linux")]
mod procfs;
#[cfg(any(test, not(target_os = "linux")))]
mod ps;
pub mod quick;
mod running;
pub mod siblings;
pub mod stop;
mod table;
pub mod tool;

/// The variable whose value, a run's id, marks every process that belongs to the run.
pub const MARK: &str = "HARNESS_RUN";
