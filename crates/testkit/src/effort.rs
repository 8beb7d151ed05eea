//! How much the tests with random and with exhaustive inputs try: the environment variable `TAMIS_EFFORT`.
//!
//! Without the variable, they try a tenth: every kind of check runs on each change, in a time that a person waits for.
//! `TAMIS_EFFORT=full` is for a nightly run. `TAMIS_EFFORT=large` also makes the exhaustive worlds one size larger.
//! Seeds are numbers that count from 0, so a smaller run tries the first inputs of a larger one.

/// The share of the inputs that is tried without the variable.
const SHARE: u64 = 10;

/// The effort of this run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TestEffort {
    /// A tenth of the random inputs, and worlds that take about a tenth of the time.
    Tenth,
    /// All random inputs, and whole worlds.
    Full,
    /// All random inputs, and worlds that are one size larger.
    Large,
}

/// Returns the effort that `TAMIS_EFFORT` asks for.
///
/// # Panics
///
/// Panics if the variable has another value than `full` and `large`, so that a typing error does not test less.
pub fn effort() -> TestEffort {
    match std::env::var("TAMIS_EFFORT").as_deref() {
        Err(_) | Ok("") => TestEffort::Tenth,
        Ok("full") => TestEffort::Full,
        Ok("large") => TestEffort::Large,
        Ok(other) => panic!("TAMIS_EFFORT={other}: expected full, large or no value"),
    }
}

/// Returns how many of `full` inputs to try: all, or a tenth, and at least one.
pub fn share(full: u64) -> u64 {
    if effort() == TestEffort::Tenth { full.div_ceil(SHARE) } else { full }
}
