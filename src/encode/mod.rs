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

use crate::report::EncodeSkip;
use crate::spec::Encode;

/// Encodes a valid JSON text. `depth`: the number of containers around the payload.
pub(crate) fn encode(form: Encode, text: &[u8], depth: usize) -> Result<String, EncodeSkip> {
    match form {
        Encode::Toon => toon::encode(text),
        Encode::Csv => rows::csv(text, depth),
        Encode::Markdown => rows::markdown(text, depth),
        // Written without this function.
        Encode::Json => Err(EncodeSkip::NotRows),
    }
}
