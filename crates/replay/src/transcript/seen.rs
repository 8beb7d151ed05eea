//! Identifiers that were read before, in any file.

use std::collections::HashSet;

use crate::facts::hash;

/// The most identifiers that are remembered. Later ones count as new.
const MOST: usize = 4_000_000;

/// A set of identifiers, as hashes.
#[derive(Debug, Default)]
pub(crate) struct Seen(HashSet<u64>);

impl Seen {
    /// Adds an identifier. Returns whether it is new.
    pub(crate) fn insert(&mut self, id: &str) -> bool {
        let hash = hash(id.as_bytes());
        if self.0.len() >= MOST { !self.0.contains(&hash) } else { self.0.insert(hash) }
    }
}
