//! Small worlds: every text, and every program on every document, up to a size.
//!
//! Random tests find likely errors. These tests are complete: within the stated size, the verdicts and outputs are right for
//! every input. That takes `TAMIS_EFFORT=full`: without it, texts are one byte shorter, and a tenth of the largest documents is
//! tried. `TAMIS_EFFORT=large` makes the worlds one size larger: 14 million texts, 40 million pairs of a program and a document,
//! some minutes.

use tamis_testkit::effort::{TestEffort, effort};

mod verdicts;
mod worlds;

/// The number of sizes by which the worlds are larger than with full effort.
fn larger() -> usize {
    usize::from(effort() == TestEffort::Large)
}

/// Whether the worlds are whole.
fn is_complete() -> bool {
    effort() >= TestEffort::Full
}
