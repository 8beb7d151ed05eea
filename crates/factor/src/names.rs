//! The names of members: those that are reserved, and those that an object has twice.

use std::collections::HashSet;

use tamis_json::test_work::{WorkKind, count};

use crate::hash::hash;
use crate::reader::unescape;

/// The names that a factored document has. A document that has one of its own is not factored.
const RESERVED: [&[u8]; 5] = [b"_factored", b"_all", b"_made", b"_items", b"$ref"];

/// Returns whether a name is one of those of a factored document. Takes the text after unescaping.
#[inline]
pub(crate) fn is_reserved(name: &[u8]) -> bool {
    matches!(name.first(), Some(b'_' | b'$')) && RESERVED.contains(&name)
}

/// Returns whether a path of a template may have a name.
pub(crate) fn is_plain(name: &[u8]) -> bool {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    !name.is_empty() && name.iter().all(is_plain)
}

/// An object up to this number of names is searched one by one.
const FEW: usize = 24;
/// An object with more names is treated as one that has a name twice.
const MOST: usize = 1 << 16;

/// An open container.
#[derive(Debug)]
struct OpenContainer {
    /// Its offset.
    start: u64,
    object: bool,
    /// The number of hashes before its own.
    first: usize,
    /// All of its hashes, if they are many.
    many: Option<HashSet<u64>>,
}

/// The open containers, with the hashes of the names that each has.
#[derive(Debug, Default)]
pub(crate) struct OpenNames {
    open: Vec<OpenContainer>,
    hashes: Vec<u64>,
    text: Vec<u8>,
    /// A name is reserved.
    pub(crate) reserved: bool,
    /// An object has a name twice, or more names than can be known.
    pub(crate) repeated: bool,
}

impl OpenNames {
    /// Opens a container.
    #[inline]
    pub(crate) fn open(&mut self, start: u64, object: bool) {
        self.open.push(OpenContainer { start, object, first: self.hashes.len(), many: None });
    }

    /// Closes the innermost container, and returns its offset and the number of those around it.
    #[inline]
    pub(crate) fn close(&mut self) -> u64 {
        let Some(closed) = self.open.pop() else { return 0 };
        self.hashes.truncate(closed.first);
        closed.start
    }

    /// Returns the number of open containers.
    #[inline]
    pub(crate) fn depth(&self) -> usize {
        self.open.len()
    }

    /// Returns the offset of the innermost container, if it is an object.
    pub(crate) fn owner(&self) -> Option<u64> {
        self.open.last().filter(|open| open.object).map(|open| open.start)
    }

    /// Adds a name, as spelled, to the innermost object.
    #[inline]
    pub(crate) fn add(&mut self, name: &[u8], escaped: bool) {
        if !escaped {
            self.reserved |= is_reserved(name);
            return self.add_hash(hash(name));
        }
        self.text.clear();
        // A lone surrogate has more than one spelling.
        self.repeated |= !unescape(name, &mut self.text);
        self.reserved |= is_reserved(&self.text);
        self.add_hash(hash(&self.text));
    }

    #[inline]
    fn add_hash(&mut self, hash: u64) {
        let Some(open) = self.open.last_mut() else { return };
        let own = self.hashes.get(open.first..).unwrap_or_default();
        if own.len() < FEW {
            count(WorkKind::Names, own.len() / 8 + 1);
            self.repeated |= own.contains(&hash);
            self.hashes.push(hash);
            return;
        }
        let many = open.many.get_or_insert_with(|| own.iter().copied().collect());
        if many.len() >= MOST {
            self.repeated = true;
            return;
        }
        count(WorkKind::Names, 1);
        self.repeated |= !many.insert(hash);
    }
}
