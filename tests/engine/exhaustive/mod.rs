//! Small worlds: every text, and every program on every document, up to a size.
//!
//! Random tests find likely errors. These tests are complete: within the stated size, the verdicts and outputs are right for
//! every input. `TAMIS_WORLD=large` makes the worlds one size larger: 14 million texts, 40 million pairs of a program and a
//! document, some minutes.

mod verdicts;
mod worlds;

/// The number of sizes by which the worlds are larger than by default.
fn larger() -> usize {
    match std::env::var("TAMIS_WORLD").as_deref() {
        Ok("large") => 1,
        Ok(other) => panic!("TAMIS_WORLD={other} is no world: large"),
        Err(_) => 0,
    }
}
