//! Encodings of documents that take fewer tokens than JSON: [`toon`].
//!
//! An encoder gets a valid JSON text and returns the encoded text, or the reason for which the document cannot be
//! carried. Nothing recurses on the depth of a document.
#![cfg_attr(
    not(test),
    expect(dead_code, reason = "the rule `encode` of specs does not use the encoders yet")
)]

mod document;
mod number;
mod table;
#[cfg(test)]
mod tests;
pub(crate) mod toon;

/// Why an encoding cannot carry a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SkipReason {
    /// An object has two members of one name.
    DuplicateKey,
    /// A string contains half a pair of surrogates.
    LoneSurrogate,
    /// A reader would not get the exact value of a number back.
    Number,
    /// The document has too many values.
    Size,
}
