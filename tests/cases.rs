//! Cases as data, each through every driver: `tests/cases/*.toml`.
//!
//! A case says a document, a spec, and what must come out; `case/mod.rs` has the fields. Whatever the case says, all
//! drivers and all splits must agree.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test states what must hold, also in its helpers"
)]

#[path = "common/adapters.rs"]
mod adapters;
#[allow(dead_code, reason = "not every test needs all of it")]
#[path = "common/drivers.rs"]
mod drivers;
#[allow(dead_code, reason = "not every test needs all of it")]
#[path = "common/prng.rs"]
mod prng;

#[path = "common/options.rs"]
mod options;

mod case;

/// One test for each file, and one that no file was forgotten.
macro_rules! files {
    ($($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                case::run_file(stringify!($name));
            }
        )*

        #[test]
        fn every_file_has_its_test() {
            let mut expected = vec![$(concat!(stringify!($name), ".toml")),*];
            expected.sort_unstable();
            assert_eq!(case::files(), expected);
        }
    };
}

/// A name that is too long to be held matches nothing, or is an error; it is never overlooked.
#[test]
fn short_keys() {
    case::run_short_keys();
}

files! {
    budget
    calls
    chunks
    compact
    document
    drops
    duplicates
    exclude
    extract
    items
    limits
    misses
    order
    patches
    paths
    report
    retain
    root
    select
    text_filter
    verbatim
    when
    wildcards
}
