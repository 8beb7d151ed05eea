//! Engines: filters in code that rules select by name, if operations cannot describe them.
//!
//! An engine is a line stage. It knows the output of one tool, and nothing of commands, rules or bytes. It holds
//! little, never drops a failure, and keeps lines that it does not recognise.

mod cargo_test;
mod go_test;
mod go_test_json;
mod make;
mod snippets;

use tamis_text::lines::rule_ops::StageFactory;

/// The names of the engines.
pub(super) const NAMES: [&str; 5] = ["cargo-test", "go-test", "go-test-json", "make", "snippets"];

/// Returns the engine with a name.
pub(super) fn find(name: &str) -> Option<StageFactory> {
    let make = match name {
        "cargo-test" => cargo_test::make,
        "go-test" => go_test::make,
        "go-test-json" => go_test_json::make,
        "make" => make::make,
        "snippets" => snippets::make,
        _ => return None,
    };
    Some(StageFactory::new(move |_| make()))
}
