//! Text filters: cases as data (`tests/text/*.toml`), a model that reads the operations off the whole text, and input that
//! nobody sends in good faith.

#![cfg(feature = "text")]
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

mod cases;
mod drivers;
mod generate;
mod hostile;
mod model;
mod random;
mod release;
mod spelling;
