//! Proof that a step is carried out exactly once: killed, starved and cut off from power at every operation.
//!
//! `stage` plays a small organisation's run again and again from the same start; `tree` is a folder as a value, `facts`
//! and `books` say what must hold of it in the end. `kills`, `errors` and `power` each let one kind of thing go wrong at
//! every operation; `breakages` breaks the protocol on purpose and wants to see those tests fail. `model` is a disk of
//! which only what was synced is sure.
//!
//! The short form takes a sample where the whole would take minutes; `HARNESS_SLOW_TESTS=1` takes everything.

pub mod books;
mod breakages;
mod errors;
mod facts;
mod kills;
pub mod model;
mod power;
mod processes;
mod proof;
mod stage;
pub mod tree;

/// Whether everything is to be tried, and not a sample.
fn is_slow() -> bool {
    std::env::var_os("HARNESS_SLOW_TESTS").is_some_and(|value| value == "1")
}

/// Every `stride`-th number from 1 to `last`, and the last; all of them in the long form.
fn sample(last: u64, stride: u64) -> Vec<u64> {
    let stride = if is_slow() { 1 } else { stride };
    (1..=last).filter(|number| number % stride == 0 || *number == last).collect()
}

#[track_caller]
fn none(what: &str, problems: Vec<String>) {
    assert!(problems.is_empty(), "{what}:\n{}", problems.join("\n"));
}
