//! Facts about a document that a first pass finds, and a run begins with.

use super::root::Payload;
use crate::report::WhenBranch;

/// Facts about a document that are known before a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DocumentFacts {
    /// The branch of `when`. `None` if it is unknown, or if the program has no branches.
    pub(in crate::filter) branch: Option<WhenBranch>,
    /// The place of the payload. `None` if it is unknown, or if it needs no search.
    pub(in crate::filter) payload: Option<Payload>,
    /// The input is a factored document. The run holds it to restore it, so a first pass over it finds nothing else.
    pub(in crate::filter) is_factored: bool,
}

impl DocumentFacts {
    /// Returns whether a first pass has found anything.
    pub(crate) fn is_known(self) -> bool {
        self != Self::default()
    }
}
