//! Counters of work for the tests that bound the cost of hostile input (`filter/costs/`).
//!
//! Only tests count: in other builds [`count`] does nothing and is optimised away. A unit is one visited entry (a slot,
//! a node of a trie, a condition of a branch, a member, an element that moves), or eight bytes that are compared,
//! hashed, read or copied ([`words`]). Work is counted in the innermost loop and never per call, because a call may
//! hide quadratic work. A loop that does not count is invisible to these tests, so a new loop over input or rules needs
//! a call of [`count`].

/// The purpose of counted work.
#[derive(Clone, Copy, Debug)]
pub(crate) enum WorkKind {
    /// Lookups of names in the rules, and building the tables for them.
    Names,
    /// Conditions of branches.
    Branches,
    /// Splitting, comparing and patching texts.
    Tree,
    /// Holding bytes in memory and in the file.
    Hold,
    /// Cutting strings and rendering items.
    Tail,
    /// Recording, deciding and replacing results of a history.
    History,
}

#[cfg(test)]
pub(crate) use counting::{WorkDone, count, done};

/// Counts units of work.
#[cfg(not(test))]
#[inline(always)]
pub(crate) const fn count(_: WorkKind, _: usize) {}

/// Returns the units for a number of bytes.
#[inline(always)]
pub(crate) const fn words(bytes: usize) -> usize {
    bytes.div_ceil(8)
}

#[cfg(test)]
mod counting {
    use std::cell::Cell;

    use super::WorkKind;

    /// Units of work by purpose.
    pub(crate) type WorkDone = [u64; 6];

    thread_local! {
        static DONE: Cell<WorkDone> = const { Cell::new([0; 6]) };
    }

    pub(crate) fn count(work: WorkKind, units: usize) {
        let mut done = DONE.get();
        done[work as usize] += units as u64;
        DONE.set(done);
    }

    /// Returns the work of this thread since the last call.
    pub(crate) fn done() -> WorkDone {
        DONE.take()
    }
}
