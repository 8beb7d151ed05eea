//! `scan_diff`: every kernel that this machine supports returns the same masks as the scalar one, however the text is
//! cut.
//!
//! Kernels are not part of the library's interface, so the target is implemented in `crates/json/src/scan/diff.rs`.

/// Runs the target on an input.
pub fn run(data: &[u8]) {
    tamis::fuzzing::scan_diff(data);
}
