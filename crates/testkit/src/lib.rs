//! Shared code of the tests, fuzz targets, benches and examples of tamis.
//!
//! - [`drivers`] and `adapters` run one document through every public entry point and compare the results.
//! - [`model`], [`tail`], `text`, `commands` and `history` hold slow and simple models of the rules, with generators of
//!   inputs for them; `content` and `patch` hold generators and comparisons for pages and JSON Patch.
//! - [`cases`] reads cases from TOML files and turns each into a test that can be run by its name.
//! - [`clock`] measures the processor time of a thread.
//! - [`effort`] says how many inputs the tests try.
//! - `fuzz` holds what the fuzz targets do.
//! - [`loops`] generates inputs for the comparison of the JSON machine's loops with its walk.
//! - [`data`] makes the documents of the benches and has the specs for them.
//!
//! The kit compiles with any subset of the features of tamis. A module that needs a feature exists only with that feature.

#![allow(
    missing_docs,
    reason = "the kit is not published; a name that needs an explanation has one"
)]
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a panic in the kit fails the test that uses it"
)]

#[cfg(feature = "http-body")]
pub mod adapters;
pub mod cases;
pub mod clock;
#[cfg(feature = "command")]
pub mod commands;
#[cfg(feature = "content")]
pub mod content;
pub mod data;
pub mod drivers;
pub mod effort;
#[cfg(feature = "fuzz")]
pub mod fuzz;
#[cfg(feature = "text")]
pub mod history;
pub mod loops;
pub mod model;
pub mod options;
#[cfg(feature = "fuzz")]
pub mod patch;
pub mod paths;
pub mod prng;
pub mod tail;
#[cfg(feature = "text")]
pub mod text;
#[cfg(feature = "tokens")]
pub mod tokens;

/// Returns the options of a call whose tokens are counted.
#[must_use]
pub fn call_options() -> tamis::CallOptions {
    tamis::CallOptions::new().with_token_counter(tamis_tokens::o200k_base())
}
