//! Finds the values at given paths while a document streams through.
//!
//! The finder is a handler of the machine. It follows all paths at once: an open container has one place in the trie of
//! the paths for each way that leads to it. Its policy lets the machine skip all members whose names no path has.

mod finder;
mod paths;
#[cfg(test)]
mod tests;

pub use finder::ValueFinder;
pub use paths::ValuePaths;

use std::ops::Range;

use smallvec::SmallVec;

use crate::ValueKind;

/// The type of a JSON value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JsonKind {
    /// `{…}`
    Object,
    /// `[…]`
    Array,
    /// `"…"`
    String,
    /// A number, in any notation.
    Number,
    /// `true` or `false`
    Bool,
    /// `null`
    Null,
}

impl From<ValueKind> for JsonKind {
    fn from(kind: ValueKind) -> Self {
        match kind {
            ValueKind::Object => Self::Object,
            ValueKind::Array => Self::Array,
            ValueKind::String | ValueKind::EmptyString => Self::String,
            ValueKind::Number => Self::Number,
            ValueKind::Bool => Self::Bool,
            ValueKind::Null => Self::Null,
        }
    }
}

/// A value at one of the paths of a [`ValueFinder`], and its place in the document.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FoundValue {
    /// The position of the path among those that were given to [`ValuePaths::new`].
    pub path: usize,
    /// The type of the value.
    pub kind: JsonKind,
    /// The bytes of the value, from its first one to after its last one, including the quotes of a string.
    pub span: Range<u64>,
    /// The bytes of the member's name with its quotes. `None` for elements of arrays and for the document itself.
    pub key: Option<Range<u64>>,
    pub(super) indices: SmallVec<[u64; 2]>,
}

impl FoundValue {
    /// Returns the first byte of the member or element: that of its name, or of the value if it has no name.
    #[must_use]
    pub fn start(&self) -> u64 {
        self.key.as_ref().map_or(self.span.start, |key| key.start)
    }

    /// Returns the positions of the elements that the wildcards of the path stand for, one for each wildcard.
    ///
    /// ```
    /// use tamis::json::ValuePaths;
    ///
    /// let paths = ValuePaths::new(["rows[].cells[]"])?;
    /// let found = paths.find(br#"{"rows": [{}, {"cells": [10, 20]}]}"#)?;
    /// assert_eq!(found[1].indices(), [1, 1]);
    /// # Ok::<(), tamis::Error>(())
    /// ```
    #[must_use]
    pub fn indices(&self) -> &[u64] {
        &self.indices
    }
}
