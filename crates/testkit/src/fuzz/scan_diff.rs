//! `scan_diff`: every kernel that this machine has says what the scalar one says, mask by mask, however the text is cut.
//!
//! Kernels are no part of the library's interface, so what is done is in `src/scan/diff.rs`.

/// Runs the target on an input.
pub fn run(data: &[u8]) {
    tamis::fuzzing::scan_diff(data);
}
