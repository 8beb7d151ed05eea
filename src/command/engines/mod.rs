//! Filters that data does not suffice for, by name: stages on lines, as those of `text` are.
//!
//! An engine knows one tool's output and nothing of commands, rules or bytes. It holds little, loses no failure, and lets
//! pass what it does not know.

mod cargo_test;
mod go_test;
mod make;

use crate::text::more::MakeEngine;

/// Their names.
pub(super) const NAMES: [&str; 3] = ["cargo-test", "go-test", "make"];

/// The engine of a name.
pub(super) fn find(name: &str) -> Option<MakeEngine> {
    let make = match name {
        "cargo-test" => cargo_test::make,
        "go-test" => go_test::make,
        "make" => make::make,
        _ => return None,
    };
    Some(MakeEngine::new(move |_| make()))
}
