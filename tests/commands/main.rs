//! The output of commands: saved outputs of real tools through their filters, registries, rules as data.

#![cfg(feature = "command")]
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test states what must hold, also in its helpers"
)]

#[allow(dead_code, reason = "not every test needs all of it")]
#[path = "../common/prng.rs"]
mod prng;

mod atoms;
mod drivers;
mod gaps;
mod hostile;
mod memory;
mod model;
mod modelled;
mod random;
mod readme;
mod registry;
mod rules;
mod transcripts;
