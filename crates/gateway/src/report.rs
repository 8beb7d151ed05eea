//! Messages to the user on standard error.

/// Reports on standard error, as a line of its own. Nothing can be done if that fails.
pub(crate) fn report(message: impl std::fmt::Display) {
    use std::io::Write as _;
    // One write, so that lines of several processes are not mixed.
    _ = std::io::stderr().lock().write_all(format!("tamis: {message}\n").as_bytes());
}
