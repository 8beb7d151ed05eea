//! The fuzz targets: one file each, with a function that takes bytes and panics when a promise is broken.
//!
//! A target does not depend on a fuzzer, and it is deterministic: it has no clock and no source of randomness. (The library has
//! one clock, which bounds the search for the article of a page. It is off under a fuzzer.) The package in `fuzz/` hands these
//! functions to libfuzzer. `tests/engine/fuzz.rs` replays the seeds and the regressions with a stable compiler.

pub mod async_body;
pub mod budget;
pub mod chunks;
pub mod evade;
pub mod factor;
pub mod filter_vs_model;
pub mod history;
pub mod html;
mod input;
pub mod json_verdict;
// Needs internals that only a fuzzer's build exports; `src/filter/loop_diff.rs` replays this target.
#[cfg(fuzzing)]
pub mod loop_vs_walk;
pub mod manifest;
pub mod patch_vs_tree;
mod programs;
// Needs internals that only a fuzzer's build exports; `crates/json/src/scan/tests.rs` replays this target.
#[cfg(fuzzing)]
pub mod scan_diff;
pub mod template;
pub mod text;

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
    ("factor", factor::run),
    #[cfg(fuzzing)]
    ("loop_vs_walk", loop_vs_walk::run),
    #[cfg(fuzzing)]
    ("scan_diff", scan_diff::run),
];
