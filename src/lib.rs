//! `harness` runs an organisation of LLM directors from plain files.
//!
//! The layers, and which may name which, are in ARCHITECTURE.md; `tests/it/tidy.rs` holds them.

pub mod cli;
pub mod commands;
pub mod ctx;
pub mod domain;
pub mod engines;
pub mod error;
pub mod process;
pub mod run;
pub mod store;
pub mod ui;
