//! Finds out which credentials and personal data are in a document, and where.
//!
//! A person who lets a model call a tool can see what its responses hold before they leave. [`SensitiveReport`] names the
//! kinds and the paths, and never the values.
//!
//! ```
//! use tamis_insight::sensitive::SensitiveReport;
//!
//! let report = SensitiveReport::of(br#"{"users": [{"mail": "mira@example.org", "password": "tide"}]}"#);
//! let found: Vec<_> = report.places.iter().map(|one| (one.path.as_str(), one.kind.as_str())).collect();
//! assert_eq!(found, [("users[].mail", "email"), ("users[].password", "named")]);
//! ```

// ```text
// document ─┬▶ scan ─▶ machine ─▶ values (handler) ─▶ search of each string, key and number ─▶ places
//           └▶ search of the whole text ─▶ places, if the document turns out not to be JSON
// ```
//
// Invariants: memory is bounded, whatever the document is. Nothing depends on how the input was cut into chunks.

mod places;
mod search;
#[cfg(test)]
mod tests;
mod values;

use std::collections::BTreeMap;

use serde::Serialize;
use tamis_text::secrets::TextForm;

use places::FoundPlaces;
use search::Search;
use values::JsonScan;

/// The credentials and personal data of documents.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SensitiveReport {
    /// The places, by path and kind.
    pub places: Vec<SensitivePlace>,
}

/// How much of a kind is at a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SensitivePlace {
    /// The path, with `[]` for the elements of arrays. Empty in a text that is not JSON, and at the root. A name that is
    /// itself a credential or personal is replaced by a mark, such as `[redacted:email]`.
    pub path: String,
    /// The kind, as in the marks of `redact`; `named` if only the name of the member shows it.
    pub kind: String,
    /// The number of values.
    pub count: u64,
}

impl SensitiveReport {
    /// Searches a document, or any other text.
    #[must_use]
    pub fn of(document: &[u8]) -> Self {
        let mut scan = SensitiveScan::new();
        scan.write(document);
        scan.end();
        scan.into_report()
    }

    /// Returns how much there is of each kind.
    #[must_use]
    pub fn kinds(&self) -> BTreeMap<&str, u64> {
        let mut kinds = BTreeMap::new();
        for place in &self.places {
            *kinds.entry(place.kind.as_str()).or_default() += place.count;
        }
        kinds
    }
}

/// Searches documents while their bytes arrive. The places of all documents are counted together.
///
/// Chunks may be cut anywhere. A document that is not valid JSON, or that has a key over the limit, is searched as one
/// text. Containers that are nested deeper than 64 levels are searched as a whole.
///
/// Memory: at most 10,000 places with 4 MiB of paths, for the report and for the open document. Work is linear in the
/// document.
///
/// ```
/// use tamis_insight::sensitive::SensitiveScan;
///
/// let mut scan = SensitiveScan::new();
/// for chunk in [r#"{"mail": "mira@exam"#, r#"ple.org"}"#] {
///     scan.write(chunk.as_bytes());
/// }
/// scan.end();
/// scan.write(br#"{"mail": "noor@example.org"}"#);
/// scan.end();
/// assert_eq!(scan.into_report().places[0].count, 2);
/// ```
#[derive(Debug)]
pub struct SensitiveScan {
    json: JsonScan,
    /// The open document as a text.
    text: Search,
    found: FoundPlaces,
}

impl Default for SensitiveScan {
    fn default() -> Self {
        Self::new()
    }
}

impl SensitiveScan {
    /// Creates a search that has found nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self {
            json: JsonScan::new(),
            text: Search::new(TextForm::Plain),
            found: FoundPlaces::default(),
        }
    }

    /// Reads the next bytes of a document.
    pub fn write(&mut self, chunk: &[u8]) {
        self.json.write(chunk);
        self.text.write(chunk);
    }

    /// Ends a document. The next bytes begin another one.
    pub fn end(&mut self) {
        let of_text = self.text.end();
        match self.json.end() {
            Some(places) => self.found.add_all(places),
            None => {
                for (kind, count) in of_text {
                    self.found.add("", &kind, count);
                }
            }
        }
    }

    /// Returns what was found in the documents that were ended.
    #[must_use]
    pub fn into_report(self) -> SensitiveReport {
        let places = self.found.into_iter();
        let places = places.map(|(path, kind, count)| SensitivePlace { path, kind, count });
        SensitiveReport { places: places.collect() }
    }

    /// Returns a text with marks in place of credentials and personal data, such as an error with names of a document.
    ///
    /// ```
    /// use tamis_insight::sensitive::SensitiveScan;
    ///
    /// let text = SensitiveScan::redacted("expected an array at mira@example.org");
    /// assert_eq!(text, "expected an array at [redacted:email]");
    /// ```
    #[must_use]
    pub fn redacted(text: &str) -> String {
        search::redacted(text)
    }
}
