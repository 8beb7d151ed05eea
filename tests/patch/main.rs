//! Patches beside others: the json-patch crate over random documents, the pointers of RFC 6901, and what reShapr does
//! otherwise. That what streams does what a tree does is tested inside (`src/filter/run/document/tests.rs`); cases are in
//! `tests/cases/patches.toml`.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "in a test a panic is the report"
)]

#[path = "../common/prng.rs"]
#[allow(dead_code, reason = "each test uses a part")]
mod prng;

mod beside;
mod oracle;
mod pointers;
mod reshapr;
