//! Switches that turn shortcuts off, so that tests can compare them with the walk and benches can measure them.
//!
//! Output, report and errors must be the same with and without each path. Only builds with debug assertions and
//! for fuzzers have the switches. In other builds [`is_off`] is a constant, and the checks are optimised away. `plain_walk` turns
//! every shortcut of the JSON machine off: every member and element goes through `json/machine/walk.rs`, and every
//! question to [`Handler::value`](crate::Handler::value).

/// A shortcut. The comment says what replaces it while it is off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    not(any(debug_assertions, fuzzing)),
    allow(dead_code, reason = "only tests and benches name them all")
)]
pub enum FastPath {
    /// The loop that carries policies out, with all loops in it. The walk handles each token.
    Policies,
    /// The loop over the members of a container with a policy of the handler, which is asked about each instead.
    PolicyMembers,
    /// The loops inside containers that are dropped or copied. The walk handles each token.
    DroppedContainers,
    /// The loop over elements. The walk handles each scalar, or the handler is asked about it.
    Elements,
    /// Handling a member whose dropped string goes on in the next window. The walk handles it.
    CutStrings,
    /// Writes inside a string that need no scan. They are scanned like all others.
    ShortWrites,
    /// Skipping a container by bracket masks. The brackets are found among the tokens.
    BracketMasks,
    /// Skipping rows of a container without the masks of a window. They are scanned like all others.
    BracketRows,
    /// Handling the brackets of several blocks at once. They are handled one by one.
    BracketBatches,
    /// Looking at the members of an object before the handler is asked. The handler has to read it.
    LookAhead,
    /// Masks of eight blocks at a time. They are computed block by block.
    MaskRows,
}

#[cfg(fuzzing)]
pub use switches::named;
#[cfg(any(debug_assertions, fuzzing))]
pub use switches::{is_off, plain_walk, without};

/// Whether a path must not be used.
#[cfg(not(any(debug_assertions, fuzzing)))]
#[inline(always)]
pub const fn is_off(_: FastPath) -> bool {
    false
}

#[cfg(any(debug_assertions, fuzzing))]
impl FastPath {
    /// All shortcuts.
    pub const ALL: [Self; 11] = [
        Self::Policies,
        Self::PolicyMembers,
        Self::DroppedContainers,
        Self::Elements,
        Self::CutStrings,
        Self::ShortWrites,
        Self::BracketMasks,
        Self::BracketRows,
        Self::BracketBatches,
        Self::LookAhead,
        Self::MaskRows,
    ];

    /// Returns the path for a number, in turn.
    pub fn cycle(number: usize) -> Self {
        Self::ALL.get(number % Self::ALL.len()).copied().unwrap_or(Self::Policies)
    }

    const fn bit(self) -> u16 {
        1 << self as u16
    }
}

#[cfg(any(debug_assertions, fuzzing))]
mod switches {
    use std::cell::Cell;

    use crate::fast_paths::FastPath;

    thread_local! {
        /// The paths that are off, one bit each.
        static OFF: Cell<u16> = const { Cell::new(0) };
    }

    /// Turns all paths on again, also after a panic.
    struct SwitchGuard;

    impl Drop for SwitchGuard {
        fn drop(&mut self) {
            OFF.set(0);
        }
    }

    fn without_all<T>(paths: &[FastPath], run: impl FnOnce() -> T) -> T {
        OFF.set(paths.iter().fold(0, |bits, path| bits | path.bit()));
        let _guard = SwitchGuard;
        run()
    }

    /// Calls `run` while this thread does not use a path. Calls must not be nested.
    pub fn without<T>(path: FastPath, run: impl FnOnce() -> T) -> T {
        without_all(&[path], run)
    }

    /// Calls `run` while the machines of this thread use no shortcut. Calls must not be nested.
    pub fn plain_walk<T>(run: impl FnOnce() -> T) -> T {
        use FastPath::{BracketMasks, LookAhead, Policies, ShortWrites};
        // The others are parts of these, except for the masks, which are not the machine's.
        without_all(&[Policies, ShortWrites, BracketMasks, LookAhead], run)
    }

    /// Whether a path must not be used.
    #[inline(always)]
    pub fn is_off(path: FastPath) -> bool {
        OFF.get() & path.bit() != 0
    }

    /// Returns the path with this name.
    #[cfg(fuzzing)]
    pub fn named(name: &str) -> Option<FastPath> {
        FastPath::ALL.into_iter().find(|path| format!("{path:?}") == name)
    }
}
