//! The treatment of a response that no filter reads.

/// The treatment of a response without a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// It is forwarded unfiltered.
    Pass,
    /// The client gets this status instead.
    Refuse(u16),
}

impl Action {
    /// The response to requests that nobody has allowed.
    pub(super) const REFUSE: Self = Self::Refuse(403);
}
