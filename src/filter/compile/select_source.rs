//! One selected source.

use tamis_json::path::Path;
use tamis_json::path::trie::{Cursor, NodeId};

/// One selected source.
#[derive(Clone, Debug)]
pub(in crate::filter) struct SelectSource {
    /// The path as written, for the report.
    pub(in crate::filter) text: String,
    /// The length of the text without its projection.
    pub(in crate::filter) path_len: usize,
    /// The output key is the last name of the path and has no escapes. A member whose key has the same length in the input
    /// is spelled the same.
    pub(in crate::filter) key_is_name: bool,
    pub(in crate::filter) path: Path,
    /// Present if a value of another kind than the path needs is kept: the positions of the steps that need an array.
    pub(in crate::filter) keeps_kinds: Option<Vec<usize>>,
    /// Kept with a payload that is a single object: neither a hit if found, nor a miss if not.
    pub(in crate::filter) passing: bool,
    /// The position of its value in the exclude trie.
    pub(in crate::filter) exclude: Cursor,
    /// The node of its projection. Then its leaves are found or missed, not the source itself.
    pub(in crate::filter) projection: Option<NodeId>,
    /// For a leaf of a projection: the node of the braces that it is in.
    pub(in crate::filter) braces: Option<NodeId>,
}

impl SelectSource {
    /// Returns the projection as it is written, with a word before it for messages.
    pub(in crate::filter) fn braces_as_written(&self) -> String {
        let written = self.text.get(self.path_len..).unwrap_or_default().trim();
        if written.is_empty() { String::new() } else { format!(", of it {written}") }
    }

    /// Returns whether the source is exactly the value at `depth`: a member that a fast loop may take by its name.
    pub(super) fn is_plain_at(&self, depth: usize) -> bool {
        // Every field is named: the machine does not write a source with a new property until it is considered here.
        let Self {
            text: _,
            path_len: _,
            key_is_name: _,
            path,
            // Such a value is not at the end of the path.
            keeps_kinds: _,
            passing: _,
            exclude,
            projection,
            braces: _,
        } = self;
        path.0.len() == depth && !exclude.is_hit() && projection.is_none()
    }
}
