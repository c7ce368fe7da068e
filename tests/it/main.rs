//! Every test that starts the built program: one binary, so that it links once.
//!
//! One module a topic of the program: `init`, `messages`, `charters`, `prompts`, `status`, `schema`, `output`;
//! `decisions`, `answers`, `actions`, `rules`, `loops`, `engines`, `stopping`, `records`, `redaction` and `demo` for
//! what a run does; `process` runs engines of every awkward shape through the real guard; `reading` is for files that
//! are hostile, `crashes` for a disk that fails and a process that dies, `org_v1` for an organisation that must load
//! for ever. `sandbox`, `outcome` and `desk` are what a test is written with; `scenarios` runs the folders of
//! `tests/scenarios`; `tidy` holds the rules of the house; `readme` runs what the README shows.
#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests stand outside the layers, and a failed set-up must end the test"
)]

mod actions;
mod answers;
mod approvals;
mod archives;
mod arrivals;
mod audit;
mod board;
mod breaker;
mod budgets;
mod carry;
mod charters;
mod clients;
mod commits;
mod completions;
mod configs;
mod crash;
mod crashes;
mod crowd;
mod decisions;
mod demo;
mod desk;
mod directives;
mod doctor;
mod dry_runs;
mod engines;
mod events;
mod evil;
mod fake;
mod fuzz;
mod gate;
mod gate_readings;
mod health;
mod help;
mod history;
mod house;
mod hurt;
mod init;
mod injection;
mod judged_again;
mod limits;
mod load;
mod looks;
mod loops;
mod man;
mod memory;
mod messages;
mod notices;
mod office;
mod org_v1;
mod outcome;
mod output;
mod pattern;
mod playbooks;
mod prefixes;
mod process;
mod projects;
mod prompts;
mod provenance;
mod put_back;
mod questions;
mod reading;
mod readme;
mod records;
mod redaction;
mod rehearsals;
mod replays;
mod report;
mod rules;
mod sandbox;
mod scenarios;
mod schedules;
mod schema;
mod selftests;
mod service;
mod simulations;
mod snapshot;
mod soak;
mod stats;
mod status;
mod stopping;
mod supply;
mod terminal;
mod ticks;
mod tidy;
mod top;
mod trust;
mod undo;
mod upkeep;
mod watched;
mod whys;
