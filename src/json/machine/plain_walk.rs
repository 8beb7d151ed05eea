//! A switch that turns all shortcuts of machines off, so that tests can compare them with the walk.
//!
//! While the switch is on, every member and element goes through `walk.rs`, and every question to
//! [`Handler::value`](crate::json::Handler::value). Output, report and errors must be the same as without it. Only
//! builds for tests and for fuzzers have the switch. In other builds [`is_on`] is a constant, and the checks are
//! optimised away.

#[cfg(any(test, fuzzing))]
pub(crate) use switch::plain_walk;

#[cfg(any(test, fuzzing))]
pub(super) use switch::is_on;

/// Whether machines must not use shortcuts.
#[cfg(not(any(test, fuzzing)))]
#[inline(always)]
pub(super) const fn is_on() -> bool {
    false
}

#[cfg(any(test, fuzzing))]
mod switch {
    use std::cell::Cell;

    thread_local! {
        static ON: Cell<bool> = const { Cell::new(false) };
    }

    /// Turns the switch off again, also after a panic.
    struct SwitchGuard;

    impl Drop for SwitchGuard {
        fn drop(&mut self) {
            ON.set(false);
        }
    }

    /// Calls `run` while the machines of this thread use no shortcut. Calls must not be nested.
    pub(crate) fn plain_walk<T>(run: impl FnOnce() -> T) -> T {
        ON.set(true);
        let _guard = SwitchGuard;
        run()
    }

    /// Whether machines must not use shortcuts.
    pub(in crate::json::machine) fn is_on() -> bool {
        ON.get()
    }
}
