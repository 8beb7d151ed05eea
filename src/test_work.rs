//! Work, counted where it is done: for the tests that assert what hostile input costs (`filter/costs/`).
//!
//! Knows nothing of what is done. Only tests count: in any other build [`count`] does nothing, and the optimiser drops what it
//! is told. A unit is one entry that is visited (a slot, a place of a trie, a test of a branch, a member, an element that
//! moves), or eight bytes that are compared, hashed, gone through or copied ([`words`]). It is counted in the innermost loop,
//! never by the call: else quadratic work would be one call. A loop that does not count is not seen: one that is new, and goes over
//! what grows with the input or the rules, needs a line here.

/// What the work is for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum WorkKind {
    /// Names looked up among the rules, and the tables for that.
    Names,
    /// Tests of branches.
    Branches,
    /// Texts that are split, compared and patched.
    Tree,
    /// Bytes that wait: in memory, in the file, on their way in and out.
    Hold,
    /// Strings that are cut, items that are rendered.
    Tail,
    /// Places of results in a history: noted, decided on, replaced.
    History,
}

#[cfg(test)]
pub(crate) use counting::{WorkDone, count, done};

/// Counts so many units.
#[cfg(not(test))]
#[inline(always)]
pub(crate) const fn count(_: WorkKind, _: usize) {}

/// The units that so many bytes are.
#[inline(always)]
pub(crate) const fn words(bytes: usize) -> usize {
    bytes.div_ceil(8)
}

#[cfg(test)]
mod counting {
    use std::cell::Cell;

    use super::WorkKind;

    /// Units done, by what they are for.
    pub(crate) type WorkDone = [u64; 6];

    thread_local! {
        static DONE: Cell<WorkDone> = const { Cell::new([0; 6]) };
    }

    pub(crate) fn count(work: WorkKind, units: usize) {
        let mut done = DONE.get();
        done[work as usize] += units as u64;
        DONE.set(done);
    }

    /// What this thread did since it was asked last.
    pub(crate) fn done() -> WorkDone {
        DONE.take()
    }
}
