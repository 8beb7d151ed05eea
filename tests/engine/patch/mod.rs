//! Patches beside others: the json-patch crate over random documents, the pointers of RFC 6901, and what reShapr does
//! otherwise. That what streams does what a tree does is tested inside (`src/filter/run/document/tests.rs`); cases are in
//! `tests/cases/patches.toml`.

mod oracle;
mod pointers;
mod reshapr;
