//! The member of an inspected object between its key and its value.

use crate::path::trie::NodeId;

/// A member whose value has not begun.
#[derive(Clone, Debug, Default)]
pub(super) struct PendingMember {
    /// Position of the key's opening quote in the chunk, unless `split`.
    pub(super) at: usize,
    /// Absolute offset of the key's opening quote.
    pub(super) offset: u64,
    /// Position after the closing quote.
    pub(super) end: usize,
    /// The key began in an earlier chunk. `held` contains it, and the bytes after it up to `upto`.
    pub(super) split: bool,
    pub(super) held: Vec<u8>,
    /// The bytes of the chunk before this position are in `held`, too (if white space is kept).
    pub(super) upto: usize,
    /// Length of the key with its quotes in `held`; 0 until the key is complete.
    pub(super) key_len: usize,
    /// The key exceeds the limit and is not held.
    pub(super) long: bool,
    /// The key exceeds the limit, and the handler needs it.
    pub(super) needed: bool,
    /// The entry of the name in the table of the handler's policy, if it was looked up there.
    pub(super) entry: Option<NodeId>,
}

impl PendingMember {
    /// Becomes a copy of another member, in its own allocation.
    pub(super) fn copy_from(&mut self, other: &Self) {
        let mut held = std::mem::take(&mut self.held);
        held.clone_from(&other.held);
        *self = Self { held, ..*other };
    }
}
