//! A document as a tree of raw pieces, split only along the paths that operations touch. All other text is kept as it
//! is.
//!
//! The tree handles valid, minified JSON texts and the operations of RFC 6902 ([`patch`]), but no rules and no stages.
//! Used for operations that cannot be applied while a document streams.
//!
//! ```text
//! {"a":{"b":[1,2]},"c":{"d":3}}           remove /a/b/0
//! node 0: {"a": node 1, "c": {"d":3}}     node 1: {"b": node 2}     node 2: [ 2 ]
//! ```
//!
//! Invariants: a value is a piece of text or a node, and a node belongs to one value. Text and nodes are charged to a
//! [`Meter`], together up to the limit `item`. Nothing recurses. Splitting a container costs its length, once.

mod equal;
mod number;
pub mod patch;
#[cfg(test)]
mod tests;
mod walk;

use crate::error::{LimitName, Raise};
use crate::limits::Meter;
use crate::test_work::{WorkKind, count, words};
pub use equal::equal;
use equal::name;
use walk::{Children, Span};

/// A document that can be patched.
#[derive(Debug)]
pub struct Tree {
    /// The document, followed by the values that were added.
    text: Vec<u8>,
    /// Length of the document at the beginning of the text.
    original: usize,
    nodes: Vec<TreeNode>,
    root: TreeValue,
    limit: u64,
    used: u64,
    meter: Meter,
}

/// A container that was split.
#[derive(Debug)]
enum TreeNode {
    Object(Vec<TreeMember>),
    Array(Vec<TreeValue>),
}

#[derive(Clone, Copy, Debug)]
struct TreeMember {
    key: TextSpan,
    value: TreeValue,
}

/// Bytes of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TextSpan {
    at: u32,
    len: u32,
}

/// A piece of text, or the node with the number `at` if `len` is [`NODE`]. Eight bytes, because arrays may have many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TreeValue(TextSpan);

const NODE: u32 = u32::MAX;

/// Iterates over the members of an object (keys as spelled, without quotes) or the elements of an array (with empty
/// keys). `text` is valid and minified.
pub fn children(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let of = move |(from, to): Span| text.get(from..to).unwrap_or_default();
    Children::of(text.as_bytes())
        .into_iter()
        .flatten()
        .map(move |child| (of(child.key), of(child.value)))
}

/// Returns a text that two valid JSON numbers have in common if and only if they have the same value.
pub fn canonical_number(text: &[u8]) -> Vec<u8> {
    number::canonical(text)
}

/// Whether two JSON numbers have the same value, exactly.
pub fn same_number(a: &str, b: &str) -> bool {
    number::equal(a.as_bytes(), b.as_bytes())
}

/// Compares the values of two JSON numbers, exactly.
pub fn compare_numbers(a: &[u8], b: &[u8]) -> std::cmp::Ordering {
    number::compare(a, b)
}

/// The place of a value.
#[derive(Clone, Copy, Debug)]
enum TreePlace {
    Root,
    /// The child at this position of a node.
    Child(usize, usize),
}

impl TreeValue {
    fn node(self) -> Option<usize> {
        (self.0.len == NODE).then_some(self.0.at as usize)
    }
}

impl Tree {
    /// Creates the tree of a valid, minified document. The tree takes at most `limit` bytes.
    pub fn new(document: Vec<u8>, limit: u64) -> Result<Self, Raise> {
        let root = TreeValue(TextSpan { at: 0, len: 0 });
        let mut tree = Self {
            text: Vec::new(),
            original: document.len(),
            nodes: Vec::new(),
            root,
            limit,
            used: 0,
            meter: Meter::default(),
        };
        tree.charge(document.len())?;
        tree.root = TreeValue(tree.piece(0, document.len())?);
        tree.text = document;
        Ok(tree)
    }

    /// Returns the maximum number of bytes that the tree took.
    pub fn peak(&self) -> u64 {
        self.meter.peak()
    }

    /// Returns the unpatched document.
    pub fn original(&self) -> &[u8] {
        self.text.get(..self.original).unwrap_or_default()
    }

    /// Writes the patched document in pieces.
    pub fn write(&self, mut put: impl FnMut(&[u8])) {
        self.write_value(self.root, &mut put);
    }

    fn charge(&mut self, bytes: usize) -> Result<(), Raise> {
        self.meter.charge(LimitName::Item, self.limit, self.used, bytes as u64)?;
        self.used += bytes as u64;
        Ok(())
    }

    fn room(&self) -> u64 {
        self.limit.saturating_sub(self.used)
    }

    #[allow(clippy::unused_self, reason = "a piece is one of this text")]
    fn piece(&self, at: usize, len: usize) -> Result<TextSpan, Raise> {
        // The length that marks a node must not be the length of a piece.
        match (u32::try_from(at), u32::try_from(at.saturating_add(len))) {
            (Ok(at), Ok(end)) if end < NODE => Ok(TextSpan { at, len: end - at }),
            _ => Err(Raise::limit(
                LimitName::Item,
                "a document to patch as a tree must be smaller than 4 GiB",
            )),
        }
    }

    fn text(&self, piece: TextSpan) -> &[u8] {
        let at = piece.at as usize;
        self.text.get(at..at + piece.len as usize).unwrap_or_default()
    }

    /// Appends a text and returns its piece.
    fn add_text(&mut self, text: &[u8]) -> Result<TextSpan, Raise> {
        self.charge(text.len())?;
        let piece = self.piece(self.text.len(), text.len())?;
        count(WorkKind::Tree, words(text.len()));
        self.text.extend_from_slice(text);
        Ok(piece)
    }

    fn get(&self, place: TreePlace) -> TreeValue {
        let found = match place {
            TreePlace::Root => Some(self.root),
            TreePlace::Child(node, at) => match self.nodes.get(node) {
                Some(TreeNode::Object(members)) => members.get(at).map(|member| member.value),
                Some(TreeNode::Array(elements)) => elements.get(at).copied(),
                None => None,
            },
        };
        found.unwrap_or(self.root)
    }

    fn set(&mut self, place: TreePlace, value: TreeValue) {
        match place {
            TreePlace::Root => self.root = value,
            TreePlace::Child(node, at) => match self.nodes.get_mut(node) {
                Some(TreeNode::Object(members)) => {
                    if let Some(member) = members.get_mut(at) {
                        member.value = value;
                    }
                }
                Some(TreeNode::Array(elements)) => {
                    if let Some(element) = elements.get_mut(at) {
                        *element = value;
                    }
                }
                None => {}
            },
        }
    }

    /// Returns the node of the container at a place, splitting the container if needed. `None` for a scalar.
    fn open(&mut self, place: TreePlace) -> Result<Option<usize>, Raise> {
        let value = self.get(place);
        if let Some(node) = value.node() {
            return Ok(Some(node));
        }
        let base = value.0.at as usize;
        let Some(children) = Children::of(self.text(value.0)) else { return Ok(None) };
        let count = Children::of(self.text(value.0)).map_or(0, Iterator::count);
        let size =
            if children.is_object() { size_of::<TreeMember>() } else { size_of::<TreeValue>() };
        self.charge(size_of::<TreeNode>() + count * size)?;
        let piece =
            |span: Span| TextSpan { at: (base + span.0) as u32, len: (span.1 - span.0) as u32 };
        let Some(children) = Children::of(self.text(value.0)) else { return Ok(None) };
        let node = if children.is_object() {
            let members = children.map(|child| TreeMember {
                key: piece(child.key),
                value: TreeValue(piece(child.value)),
            });
            TreeNode::Object(members.collect())
        } else {
            TreeNode::Array(children.map(|child| TreeValue(piece(child.value))).collect())
        };
        let number = self.nodes.len();
        self.nodes.push(node);
        self.set(place, TreeValue(TextSpan { at: number as u32, len: NODE }));
        Ok(Some(number))
    }

    /// Whether a key spells this name.
    fn is_named(&self, key: TextSpan, wanted: &str) -> bool {
        count(WorkKind::Tree, 1);
        *name(self.text(key)) == *wanted.as_bytes()
    }

    /// Calls `with` with the text of a value. The text is charged while it exists.
    fn with_text<T>(
        &mut self,
        value: TreeValue,
        with: impl FnOnce(&mut Self, &[u8]) -> Result<T, Raise>,
    ) -> Result<T, Raise> {
        let mut size = 0;
        self.write_value(value, &mut |bytes: &[u8]| size += bytes.len());
        self.charge(size)?;
        let mut text = Vec::with_capacity(size);
        self.write_value(value, &mut |bytes: &[u8]| text.extend_from_slice(bytes));
        let done = with(self, &text);
        self.used -= size as u64;
        self.meter.release(size as u64);
        done
    }

    fn write_value(&self, value: TreeValue, put: &mut impl FnMut(&[u8])) {
        // The open nodes, each with the number of its children that were written.
        let mut open: Vec<(&TreeNode, usize)> = Vec::new();
        let mut next = Some(value);
        let mut put = |bytes: &[u8]| {
            count(WorkKind::Tree, words(bytes.len()));
            put(bytes);
        };
        loop {
            if let Some(value) = next.take() {
                match value.node().and_then(|node| self.nodes.get(node)) {
                    None => put(self.text(value.0)),
                    Some(node) => {
                        put(if matches!(node, TreeNode::Object(_)) { b"{" } else { b"[" });
                        open.push((node, 0));
                    }
                }
            }
            let Some((node, at)) = open.last_mut() else { return };
            let first = *at == 0;
            match node {
                TreeNode::Object(members) => match members.get(*at) {
                    Some(member) => {
                        put(if first { b"\"" } else { b",\"" });
                        put(self.text(member.key));
                        put(b"\":");
                        next = Some(member.value);
                    }
                    None => put(b"}"),
                },
                TreeNode::Array(elements) => match elements.get(*at) {
                    Some(element) => {
                        if !first {
                            put(b",");
                        }
                        next = Some(*element);
                    }
                    None => put(b"]"),
                },
            }
            *at += 1;
            if next.is_none() {
                open.pop();
            }
        }
    }
}
