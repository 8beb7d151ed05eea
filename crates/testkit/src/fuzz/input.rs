//! The use of the bytes of an input: [`Input`] splits them into choices and a document.
//!
//! ```text
//! ┌────────┬───────────────┬──────────────────────────────┐
//! │ length │ choices       │ the document, or what it is  │
//! │ 1 byte │ `length` long │ generated from               │
//! └────────┴───────────────┴──────────────────────────────┘
//! ```
//!
//! Choices and document do not share bytes. So a mutation of one does not change the other, and any document becomes a
//! seed when choices are put before it.

use std::ops::Range;

use arbitrary::{Arbitrary, Unstructured};

use crate::model::complete::completion;
use crate::model::dom::Node;
use crate::model::{generate, runs};
use crate::prng::Choices;

/// Containers inside one another in what the models, which recurse, are given.
const MODEL_DEPTH: usize = 150;
/// The maximum white space before a document, so that it begins anywhere in a block and a window.
const SHIFT: usize = 4200;
/// The number of bytes that arrive one at a time. That many chunks cost as much as whole runs over long documents.
const STRETCH: usize = 160;

/// Bytes as choices. Behind their end every choice is the first, and nothing that is rare happens.
pub(crate) struct Choose<'a>(Unstructured<'a>);

impl<'a> Choose<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(Unstructured::new(bytes))
    }

    /// Where to cut `length` bytes: ascending offsets, perhaps with empty chunks between them.
    pub(crate) fn cuts(&mut self, length: usize) -> Vec<usize> {
        let count = self.below(6);
        let mut cuts: Vec<usize> = (0..count).map(|_| self.below(length + 1)).collect();
        cuts.sort_unstable();
        cuts
    }

    /// Returns the range in which bytes arrive one at a time: all of a short document, a stretch of a longer one. The
    /// stretch varies even after the choices are used up.
    pub(crate) fn byte_by_byte(&mut self, length: usize) -> Range<usize> {
        let Some(room) = length.checked_sub(STRETCH + 1) else { return 1..length };
        let from = 1 + (self.below(room + 1) + length.wrapping_mul(0x9e37_79b9)) % (room + 1);
        from..from + STRETCH
    }
}

impl Choices for Choose<'_> {
    fn next_u64(&mut self) -> u64 {
        u64::arbitrary(&mut self.0).unwrap_or_default()
    }

    fn below(&mut self, bound: usize) -> usize {
        self.0.int_in_range(0..=bound.saturating_sub(1)).unwrap_or_default()
    }

    fn one_in(&mut self, odds: usize) -> bool {
        !self.0.is_empty() && self.below(odds) == 0
    }
}

/// An input, taken apart.
pub(crate) struct Input<'a> {
    pub(crate) choices: Choose<'a>,
    /// The bytes after the choices.
    pub(crate) rest: &'a [u8],
}

impl<'a> Input<'a> {
    pub(crate) fn new(data: &'a [u8]) -> Self {
        let (length, data) = data.split_first().unwrap_or((&0, &[]));
        let (choices, rest) = data.split_at(data.len().min(usize::from(*length)));
        Self { choices: Choose::new(choices), rest }
    }

    /// Returns a valid document, generated from the bytes after the choices.
    pub(crate) fn valid(&mut self) -> String {
        let mut bytes = Choose::new(self.rest);
        match self.choices.below(4) {
            0 | 1 => generate::document(&mut bytes),
            2 => generate::compact_document(&mut bytes),
            _ => runs::document(&mut bytes),
        }
    }

    /// Returns any document: the bytes after the choices, or generated from them, possibly with one byte changed or
    /// with white space before it.
    pub(crate) fn document(&mut self) -> Vec<u8> {
        let mut document = match self.choices.below(4) {
            0..=2 => self.rest.to_vec(),
            _ => {
                let mut document = self.valid().into_bytes();
                if self.choices.one_in(3) {
                    let at = self.choices.below(document.len());
                    let byte = self.choices.below(256) as u8;
                    if let Some(changed) = document.get_mut(at) {
                        *changed = byte;
                    }
                }
                document
            }
        };
        if self.choices.one_in(6) {
            let shift = self.choices.below(SHIFT);
            document.splice(0..0, std::iter::repeat_n(b' ', shift));
        }
        document
    }
}

/// A document as the models have it, if it is valid and not too deep for them.
pub(crate) fn node(document: &[u8]) -> Option<Node> {
    let text = std::str::from_utf8(document).ok()?;
    let valid = completion(document).is_some_and(|end| end.is_empty());
    (valid && depth(document) <= MODEL_DEPTH).then(|| Node::parse(text))
}

/// Containers inside one another in a valid document; no less if it is not valid.
pub(crate) fn depth(document: &[u8]) -> usize {
    let (mut now, mut most) = (0_usize, 0);
    let (mut string, mut escaped) = (false, false);
    for byte in document {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if string => escaped = true,
            b'"' => string = !string,
            b'[' | b'{' if !string => {
                now += 1;
                most = most.max(now);
            }
            b']' | b'}' if !string => now = now.saturating_sub(1),
            _ => {}
        }
    }
    most
}
