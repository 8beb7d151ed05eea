//! The reasons for which a document is not encoded.

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
