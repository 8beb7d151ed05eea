//! The result of an audit.

use std::fmt;

use serde::Serialize;

/// Why a value can leave although a rule removes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Weakness {
    /// A caller may ask for raw output (`allow_raw: true`).
    RawOutput,
    /// A document for which no branch of `when` applies passes (`otherwise: pass`).
    OtherwisePass,
    /// A failed `test` ends the patches before an operation that removes.
    TestStops,
    /// An operation that removes finds nothing at its path, and the document passes (`lenient_remove`).
    LenientRemove,
    /// An operation copies or moves the value to a place that no rule removes.
    Copied,
    /// A string in which `json_strings` finds no JSON passes (`otherwise: keep`).
    StringFallback,
    /// The document decides where the items are (`root: auto`, `root: first`).
    AutoRoot,
    /// A document that the rules do not fit passes (`on_error: raw`).
    OpenFallback,
    /// Members next to the payload pass (`siblings: keep`).
    Siblings,
    /// The path fits an array or an object, and misses the other.
    PathShape,
    /// The path names one element of an array.
    OneElement,
    /// The value is in a string with JSON, which no `json_strings` names.
    JsonString,
    /// The response of a failed call has another form, and no miss is an error there.
    FailedCall,
    /// No change of a setting stops it.
    Unexplained,
}

impl Weakness {
    /// Returns the name of the weakness in reports.
    ///
    /// ```
    /// assert_eq!(tamis_insight::audit::Weakness::AutoRoot.as_str(), "auto-root");
    /// ```
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::RawOutput => "raw-output",
            Self::OtherwisePass => "otherwise-pass",
            Self::TestStops => "test-stops",
            Self::LenientRemove => "lenient-remove",
            Self::Copied => "copied",
            Self::StringFallback => "string-fallback",
            Self::OpenFallback => "open-fallback",
            Self::Siblings => "siblings",
            Self::AutoRoot => "auto-root",
            Self::PathShape => "path-shape",
            Self::OneElement => "one-element",
            Self::JsonString => "json-string",
            Self::FailedCall => "failed-call",
            Self::Unexplained => "unexplained",
        }
    }
}

impl fmt::Display for Weakness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A document with which a value leaves that a rule removes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Finding {
    /// Why the value can leave.
    pub weakness: Weakness,
    /// The rule that is meant to remove the value.
    pub rule: String,
    /// The path of the value. For `retain` and `select`, which remove everything else, that of an example.
    pub path: String,
    /// The smallest document that was found. The planted value begins with `canary-`, or is a number. For
    /// `redact: secrets` it is a credential.
    pub document: String,
    /// The output.
    pub output: String,
    /// How the document differs from the one that the rules expect, and how the filter was called.
    pub how: Vec<String>,
    /// The change of the rules that stops it.
    pub remedy: String,
}

/// The result of an [`Audit`](super::Audit).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct AuditReport {
    /// The number of places whose values the rules remove. 0 if no rule removes values for safety.
    pub places: u64,
    /// The number of documents that were filtered.
    pub documents: u64,
    /// The number of documents that the filter refused with an error, which lets nothing out.
    pub refused: u64,
    /// Whether the time was enough for all documents, and all places were attacked.
    pub complete: bool,
    /// The weaknesses, one document for each kind of weakness and rule.
    pub findings: Vec<Finding>,
}

/// A document with a value that the rules remove.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlantedDocument {
    /// The rule that removes the value.
    pub rule: String,
    /// The path of the value.
    pub path: String,
    /// The document.
    pub text: String,
    /// The planted value, which the rule removes: a credential for `redact: secrets`. It is plain text, so a document of
    /// escapes may spell it in another way.
    pub value: String,
    /// The digits that the value has, and that are nowhere else.
    pub canary: String,
    /// Whether the value leaves the filter itself.
    pub leaks: bool,
}
