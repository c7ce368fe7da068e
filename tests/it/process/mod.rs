//! Engines of every awkward shape, run through the real guard: what comes back, and that nothing survives.
//!
//! Every shape runs five times side by side.

mod engine;
mod hundred;
mod killed;
mod shapes;
mod strays;
