//! Patches compared with other implementations: the json-patch crate on random documents, the pointers of RFC 6901, and
//! differences from reShapr. The unit tests in `src/filter/run/document/tests.rs` compare streaming patches with the
//! tree; cases are in `tests/cases/filter/patches.toml`.

mod oracle;
mod pointers;
mod reshapr;
