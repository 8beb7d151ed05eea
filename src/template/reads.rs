//! Which members of its data a template can read: only these are parsed.

use std::collections::BTreeSet;

/// The members of the data that a template can read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reads {
    /// It names the data as a whole.
    All,
    Named(BTreeSet<String>),
}

impl Reads {
    pub(super) fn has(&self, name: &[u8]) -> bool {
        match self {
            Self::All => true,
            Self::Named(names) => std::str::from_utf8(name).is_ok_and(|name| names.contains(name)),
        }
    }
}
