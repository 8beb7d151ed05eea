//! Pruning of histories: every shape, through every driver, at every cut, beside a model that is obviously right.

#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "in a test a panic is the report"
)]

mod cases;
mod drivers;
mod generate;
mod hostile;
mod jumble;
mod model;
#[path = "../common/prng.rs"]
#[allow(dead_code, reason = "other tests use more of it")]
mod prng;
mod random;
mod shapeless;
