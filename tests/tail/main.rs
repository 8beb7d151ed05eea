//! Budget and compact against models that read the whole text, through every driver and every kind of cut.
//!
//! The models (`text.rs`, `budget.rs`, `compact.rs`) start from what the rules on items leave, which other tests check.

#![cfg(feature = "template")]
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test states what must hold, also in its helpers"
)]

#[allow(dead_code, reason = "not every test needs all of it")]
#[path = "../common/drivers.rs"]
mod drivers;
#[allow(dead_code, reason = "not every test needs all of it")]
#[path = "../common/prng.rs"]
mod prng;

mod budget;
mod compact;
mod corpus;
mod generate;
mod memory;
mod promise;
mod random;
mod text;
