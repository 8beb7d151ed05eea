//! The time that a computation takes, for tests that bound it.

use std::time::Duration;

/// The time that this thread has run for. Unlike the time of a clock it does not depend on other threads and programs.
#[cfg(unix)]
#[must_use]
pub fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).expect("a time since the thread began")
}

/// The time since the first call: the standard library has no other time on this system.
#[cfg(not(unix))]
#[must_use]
pub fn cpu_time() -> Duration {
    static BEGIN: std::sync::LazyLock<std::time::Instant> =
        std::sync::LazyLock::new(std::time::Instant::now);
    BEGIN.elapsed()
}
