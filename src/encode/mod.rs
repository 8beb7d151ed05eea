//! Encodings of documents that take fewer tokens than JSON: [`toon`], and [`rows`] for CSV and Markdown.
//!
//! An encoder gets a valid JSON text and returns the encoded text, or the reason for which the document cannot be
//! carried. Nothing recurses on the depth of a document.
mod document;
mod number;
mod rows;
mod table;
#[cfg(test)]
mod tests;
mod toon;

use crate::spec::Encode;

/// Why an encoding cannot carry a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SkipReason {
    /// An object has two members of one name.
    DuplicateKey,
    /// A string contains half a pair of surrogates.
    LoneSurrogate,
    /// A reader would not get the exact value of a number back.
    Number,
    /// The document is too large.
    Size,
    /// The payload is not an array.
    NotAList,
    /// An element is not an object with scalar members.
    NotRows,
    /// No element has a member.
    Empty,
    /// Most cells would be empty.
    Sparse,
    /// The payload has siblings.
    Siblings,
}

impl SkipReason {
    /// Returns the word for the report.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::DuplicateKey => "duplicate_key",
            Self::LoneSurrogate => "lone_surrogate",
            Self::Number => "number",
            Self::Size => "size",
            Self::NotAList => "not_a_list",
            Self::NotRows => "not_rows",
            Self::Empty => "empty",
            Self::Sparse => "sparse",
            Self::Siblings => "siblings",
        }
    }
}

/// Encodes a valid JSON text. `depth`: the number of containers around the payload.
pub(crate) fn encode(form: Encode, text: &[u8], depth: usize) -> Result<String, SkipReason> {
    match form {
        Encode::Toon => toon::encode(text),
        Encode::Csv => rows::csv(text, depth),
        Encode::Markdown => rows::markdown(text, depth),
        // Written without this function.
        Encode::Json => Err(SkipReason::NotRows),
    }
}
