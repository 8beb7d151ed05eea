//! The parts that depend on the operating system: signals, waiting for input, a message for what is missing.

#[cfg(not(unix))]
pub(crate) mod console_events;
#[cfg(unix)]
pub(crate) mod signals;
pub(crate) mod silence;
#[cfg(not(unix))]
pub(crate) mod unavailable;
