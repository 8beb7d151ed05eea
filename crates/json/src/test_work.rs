//! Counters of work for the tests that bound the cost of hostile input (`filter/costs/`).
//!
//! Only builds with debug assertions count: in others [`count`] does nothing and is optimised away. A unit is one visited entry (a slot,
//! a node of a trie, a condition of a branch, a member, an element that moves), or eight bytes that are compared,
//! hashed, read or copied ([`words`]). Work is counted in the innermost loop and never per call, because a call may
//! hide quadratic work. A loop that does not count is invisible to these tests, so a new loop over input or rules needs
//! a call of [`count`].
//!
//! [`count_route`] counts the members and elements that the JSON machine handles in a loop, and those that it handles in
//! its walk. The result of a run does not show whether a loop works, because the walk does the same, only slower.

/// The purpose of counted work.
#[derive(Clone, Copy, Debug)]
pub enum WorkKind {
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

/// The code of the JSON machine that handled a member, or an element that is not a container.
#[derive(Clone, Copy, Debug)]
pub enum MachineRoute {
    /// A loop over many members.
    LoopMember,
    /// A loop over many elements.
    LoopElement,
    /// The walk, which handles one token at a time, for a member.
    WalkMember,
    /// The walk, for an element.
    WalkElement,
}

#[cfg(debug_assertions)]
pub use counting::{RouteCount, RouteCounts, WorkDone, count, count_route, done, routes};

/// Counts units of work.
#[cfg(not(debug_assertions))]
#[inline(always)]
pub const fn count(_: WorkKind, _: usize) {}

/// Counts members or elements by the code that handled them. A loop calls it once for each run of them.
#[cfg(not(debug_assertions))]
#[inline(always)]
pub const fn count_route(_: MachineRoute, _: usize) {}

/// Returns the units for a number of bytes.
#[inline(always)]
pub const fn words(bytes: usize) -> usize {
    bytes.div_ceil(8)
}

#[cfg(debug_assertions)]
mod counting {
    use std::cell::Cell;

    use crate::test_work::{MachineRoute, WorkKind};

    /// Units of work by purpose.
    pub type WorkDone = [u64; 6];

    /// The members or elements that one [`MachineRoute`] handled.
    #[derive(Clone, Copy, Debug, Default)]
    pub struct RouteCount {
        /// Members or elements.
        pub members: u64,
        /// Calls of [`count_route`]: for loops, the runs of members between interruptions.
        pub runs: u64,
    }

    /// Counts by [`MachineRoute`].
    pub type RouteCounts = [RouteCount; 4];

    thread_local! {
        static DONE: Cell<WorkDone> = const { Cell::new([0; 6]) };
        static ROUTES: Cell<RouteCounts> = const { Cell::new([RouteCount { members: 0, runs: 0 }; 4]) };
    }

    /// Counts members or elements by the code that handled them. A loop calls it once for each run of them.
    pub fn count_route(route: MachineRoute, members: usize) {
        let mut routes = ROUTES.get();
        if let Some(count) = routes.get_mut(route as usize) {
            count.members += members as u64;
            count.runs += 1;
        }
        ROUTES.set(routes);
    }

    /// Returns the members and elements that the machines of this thread handled since the last call.
    pub fn routes() -> RouteCounts {
        ROUTES.take()
    }

    /// Counts units of work.
    pub fn count(work: WorkKind, units: usize) {
        let mut done = DONE.get();
        if let Some(count) = done.get_mut(work as usize) {
            *count += units as u64;
        }
        DONE.set(done);
    }

    /// Returns the work of this thread since the last call.
    pub fn done() -> WorkDone {
        DONE.take()
    }
}
