//! Small worlds, whole: every text, and every program over every document, up to a size.
//!
//! Random tests find what is likely. Here nothing is left out: within the stated size the verdicts and outputs are right for all
//! inputs there are. `TAMIS_WORLD=large` makes the worlds one size larger: 14 million texts, 40 million pairs of a program and a
//! document, some minutes.

mod verdicts;
mod worlds;

/// How much larger the worlds are than they are by default.
fn larger() -> usize {
    match std::env::var("TAMIS_WORLD").as_deref() {
        Ok("large") => 1,
        Ok(other) => panic!("TAMIS_WORLD={other} is no world: large"),
        Err(_) => 0,
    }
}
