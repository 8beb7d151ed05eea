//! Words in a report: why something was left undone, and what was taken.

use std::fmt;

use serde::{Serialize, Serializer};

/// The reason why rules were skipped in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SkipReason {
    /// The document is text output in a member `raw`, which rules on items do not apply to.
    RawOutput,
    /// The response of a failed call ([`CallOptions`](crate::CallOptions)).
    ErrorResponse,
    /// The call asked for raw output ([`CallOptions`](crate::CallOptions)).
    RawMode,
    /// The document lacks a path of [`Spec::requires`](crate::Spec::requires).
    Shape,
}

impl SkipReason {
    /// Returns the word for this reason in a report.
    ///
    /// ```
    /// assert_eq!(tamis::SkipReason::RawMode.as_str(), "raw_mode");
    /// ```
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::RawOutput => "raw_output",
            Self::ErrorResponse => "error_response",
            Self::RawMode => "raw_mode",
            Self::Shape => "shape",
        }
    }
}

/// The source of the text that a `content` filter wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ContentSource {
    /// The main text of a page.
    Article,
    /// A page without the elements that are not content.
    Body,
    /// All visible text of a page, or a line that says that all of it is hidden.
    Page,
    /// Fields of a JSON response.
    Fields,
    /// The document was text.
    Text,
    /// The unchanged response, because nothing else was found.
    Response,
}

impl ContentSource {
    /// Returns the word for this source in a report.
    ///
    /// ```
    /// assert_eq!(tamis::content::ContentSource::Article.as_str(), "article");
    /// ```
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Article => "article",
            Self::Body => "body",
            Self::Page => "page",
            Self::Fields => "fields",
            Self::Text => "text",
            Self::Response => "response",
        }
    }
}

/// The reason why the output is JSON although [`Spec::encode`](crate::Spec::encode) names another form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum EncodeSkip {
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

impl EncodeSkip {
    /// Returns the word for this reason in a report.
    ///
    /// ```
    /// assert_eq!(tamis::EncodeSkip::NotRows.as_str(), "not_rows");
    /// ```
    #[must_use]
    pub fn as_str(self) -> &'static str {
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

/// The reason why a document was not factored although [`Spec::factor`](crate::Spec::factor) asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FactorSkip {
    /// The document has a name that factored documents use.
    Names,
    /// The factored document would not be 3 % shorter.
    Gain,
    /// The document is too large.
    Size,
    /// `stop_early` reads a part of the document only.
    StopEarly,
    /// The output is in another form than JSON.
    Encode,
    /// A summary replaces the items.
    Compact,
    /// Each item is a line.
    Lines,
    /// The output is the text of strings.
    Strings,
    /// White space is kept.
    Whitespace,
}

impl FactorSkip {
    /// Returns the word for this reason in a report.
    ///
    /// ```
    /// assert_eq!(tamis::FactorSkip::StopEarly.as_str(), "stop_early");
    /// ```
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Names => "names",
            Self::Gain => "gain",
            Self::Size => "size",
            Self::StopEarly => "stop_early",
            Self::Encode => "encode",
            Self::Compact => "compact",
            Self::Lines => "lines",
            Self::Strings => "strings",
            Self::Whitespace => "whitespace",
        }
    }
}

impl FactorSkip {
    /// Returns the reason of the crate that factors.
    pub(crate) fn of(skip: tamis_factor::FactorSkip) -> Self {
        match skip {
            tamis_factor::FactorSkip::Names => Self::Names,
            tamis_factor::FactorSkip::Gain => Self::Gain,
            tamis_factor::FactorSkip::Size => Self::Size,
        }
    }
}

/// The reason why [`Prefer::Information`](crate::spec::Prefer::Information) left a document to
/// [`Prefer::Order`](crate::spec::Prefer::Order).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PreferSkip {
    /// The document is too long to be held in memory.
    Size,
    /// The budget is too small for any part with the marks around it.
    Room,
}

impl PreferSkip {
    /// Returns the word for this reason in a report.
    ///
    /// ```
    /// assert_eq!(tamis::PreferSkip::Size.as_str(), "size");
    /// ```
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Size => "size",
            Self::Room => "room",
        }
    }
}

/// A branch of `when`. Displays as `when[0]` or `otherwise`, and is written so in a report.
///
/// ```
/// assert_eq!(tamis::WhenBranch::Number(1).to_string(), "when[1]");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WhenBranch {
    /// The branch with this index.
    Number(usize),
    /// The rules that apply if no branch does.
    Otherwise,
}

impl fmt::Display for WhenBranch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "when[{number}]"),
            Self::Otherwise => f.write_str("otherwise"),
        }
    }
}

impl Serialize for WhenBranch {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
