//! What the fuzz targets do: one file a target, each with a function that takes bytes and panics when a promise is broken.
//!
//! Knows no fuzzer: a target is deterministic, without a clock or a source of randomness of its own (the library's one clock, after
//! which a page has no article, is off under a fuzzer). `fuzz_targets/` hands these functions to libfuzzer; `tests/fuzz.rs` of
//! the library replays seeds and regressions through them, with a stable compiler. Generators, drivers and models are those of
//! the library's tests.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a panic is the finding"
)]

pub mod async_body;
pub mod budget;
pub mod chunks;
pub mod evade;
pub mod filter_vs_model;
pub mod history;
pub mod html;
mod input;
pub mod json_verdict;
pub mod manifest;
#[allow(dead_code, reason = "not every target needs all of it")]
mod models;
pub mod patch_vs_tree;
mod programs;
// The library's inside is seen by a fuzzer alone; `src/scan/tests.rs` replays this target.
#[cfg(fuzzing)]
pub mod scan_diff;
pub mod template;
pub mod text;

#[allow(dead_code, reason = "not every target needs all of it")]
#[path = "../../tests/model/check.rs"]
pub(crate) mod check;
#[allow(dead_code, reason = "not every target needs all of it")]
#[path = "../../tests/common/drivers.rs"]
pub(crate) mod drivers;
#[allow(dead_code, reason = "not every target needs all of it")]
#[path = "../../tests/model/mod.rs"]
pub(crate) mod model;
#[allow(dead_code, reason = "not every target needs all of it")]
#[path = "../../tests/common/prng.rs"]
pub(crate) mod prng;

/// A target: its name, and what it does with an input.
pub type Target = (&'static str, fn(&[u8]));

/// All targets.
pub const TARGETS: &[Target] = &[
    ("budget", budget::run),
    ("chunks", chunks::run),
    ("async_body", async_body::run),
    ("history", history::run),
    ("html", html::run),
    ("manifest", manifest::run),
    ("patch_vs_tree", patch_vs_tree::run),
    ("template", template::run),
    ("text", text::run),
    ("evade", evade::run),
    ("filter_vs_model", filter_vs_model::run),
    ("json_verdict", json_verdict::run),
    #[cfg(fuzzing)]
    ("scan_diff", scan_diff::run),
];

/// The program of a target: under libfuzzer what it fuzzes, else one that replays the files that are its arguments.
#[cfg(fuzzing)]
#[macro_export]
macro_rules! fuzz {
    ($target:ident) => {
        libfuzzer_sys::fuzz_target!(|data: &[u8]| $crate::$target::run(data));
    };
}

/// The program of a target: under libfuzzer what it fuzzes, else one that replays the files that are its arguments.
#[cfg(not(fuzzing))]
#[macro_export]
macro_rules! fuzz {
    ($target:ident) => {
        fn main() -> std::io::Result<()> {
            for file in std::env::args_os().skip(1) {
                $crate::$target::run(&std::fs::read(file)?);
            }
            Ok(())
        }
    };
}
