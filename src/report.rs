//! The report of a run.

use serde::Serialize;

use crate::error::Error;

/// The report of one run: sizes, what was cut, and how. Serialises to the keys of SPEC §11 with the same names. Keys
/// that do not apply are left out.
///
/// ```
/// use tamis::{Program, Spec, filter_slice};
///
/// let program = Program::compile(&Spec::new().select("id").max_items(1))?;
/// let (output, report) = filter_slice(&program, br#"[{"id":1,"x":2},{"id":3}]"#)?;
/// assert_eq!(output, br#"[{"id":1}]"#);
/// assert!(report.filter_applied);
/// assert_eq!(report.filter_items_truncated_from, Some(2));
/// # Ok::<(), tamis::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// Whether the output was made by the rules (kimbap: `filter_applied`).
    pub filter_applied: bool,
    /// Number of bytes of the document that were consumed; a final newline does not count. If `stop_early` stops after
    /// an `extract`, a `retain` or `patches`, number of bytes of the output of these.
    pub filter_original_bytes: u64,
    /// Size of the filtered output in bytes, before `budget` and `compact`.
    pub filter_result_bytes: u64,
    /// Size of the output in bytes, if `budget` or `compact` changed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_bytes: Option<u64>,
    /// Length of the payload before `max_items`, if something was cut. Absent after `stop_early`, because the rest of
    /// the array was not read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter_items_truncated_from: Option<u64>,
    /// Selected paths that no item has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub filter_partial_miss: Vec<String>,
    /// Selected paths that were not found in the whole run, for a warning: those of `filter_partial_miss`, or in a
    /// stream of documents those that no document has. Not serialised.
    #[serde(skip)]
    pub missed: Vec<MissedPath>,
    /// Whether it is known which selected paths the document has: an item was an object and had one of them.
    #[serde(skip)]
    pub(crate) select_judged: bool,
    /// The reason why rules were skipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter_skipped: Option<SkipReason>,
    /// A warning that rules did not apply, with the reason: a total miss, patches that failed, a `content` filter
    /// without content (and what is written instead), or a tool without a filter of a known type in its registry, whose
    /// full response passes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter_error: Option<String>,
    /// The branch of `when` that applied: `when[0]`, or `otherwise`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Number of operations of `patches` that were applied, including tests that held.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patches_applied: Option<u64>,
    /// Number of `remove` operations without a value to remove, where `lenient_remove` allows that.
    #[serde(skip_serializing_if = "is_zero")]
    pub patches_without_effect: u64,
    /// The `test` of `patches` that failed and ended the sequence
    /// ([`OnTestFailure::Stop`](crate::spec::OnTestFailure::Stop)).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patch_stopped_at: Option<String>,
    /// The source of the text of a `content` filter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_from: Option<ContentSource>,
    /// Whether a `content` filter left out a hidden part of a page.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub content_hidden: bool,
    /// Whether a budget shortened the output.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub budget_applied: bool,
    /// Whether the output exceeds its budget, because nothing more could be left out or because `compact` made it
    /// longer.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub budget_exceeded: bool,
    /// The budget in bytes, if it shortened the output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget_limit: Option<u64>,
    /// Size of the filtered output in bytes, if a budget shortened it; equal to `filter_result_bytes`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget_original_bytes: Option<u64>,
    /// Size of the output in bytes, including marks and the text that `compact` rendered. More than the limit with
    /// `budget_exceeded`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget_result_bytes: Option<u64>,
    /// The budget in tokens, if it shortened the output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_limit: Option<u64>,
    /// Number of tokens of the filtered output if tokens are estimated, or of the text of a `content` filter. Otherwise
    /// the bytes that a budget drops are not counted in tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_original: Option<u64>,
    /// Number of tokens of the output, as its bytes are counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_result: Option<u64>,
    /// Whether tokens were estimated at four bytes each. Feature `tokens` counts them instead.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub tokens_estimated: bool,
    /// The reason why `compact` left the filtered output unchanged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compact_error: Option<String>,
    /// Number of elements of the payload that were read, if it is an array.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub items_seen: Option<u64>,
    /// Number of elements in the output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub items_kept: Option<u64>,
    /// A lower bound for the number of elements of the payload, if `stop_early` stopped before its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub items_at_least: Option<u64>,
    /// Whether the rest of the input was neither read nor validated.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub tail_unread: bool,
    /// Number of members that were dropped because their name occurred before. Complete under `duplicate_keys: count`;
    /// otherwise only those that were seen. A member that two outputs need counts for each; paths with a common
    /// beginning count once up to their first wildcard.
    #[serde(skip_serializing_if = "is_zero")]
    pub duplicates_dropped: u64,
    /// Maximum number of bytes held at once, in memory and in the temporary file. Depends on the driver and the chunks.
    pub held_peak_bytes: u64,
    /// Number of strings that `omit_base64_over` replaced.
    #[serde(skip_serializing_if = "is_zero")]
    pub base64_omitted: u64,
    /// Size of these strings in bytes, without escapes.
    #[serde(skip_serializing_if = "is_zero")]
    pub base64_omitted_bytes: u64,
    /// The payload, as a JSON Pointer; `""` is the document itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    /// How each stage ran. Depends on the driver.
    pub plan: Vec<String>,
    /// The error of a failed run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<FailureReport>,
}

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

/// A selected path that was not found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MissedPath {
    /// The path as declared in the spec.
    pub path: String,
    /// The path that was probably meant: the declared one with the closest name that an item has. Present only if the
    /// call asked for suggestions (see [`CallOptions`](crate::CallOptions)).
    pub meant: Option<String>,
}

/// The error of a failed run in a report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FailureReport {
    /// The [`ErrorKind`](crate::ErrorKind) in words.
    pub kind: &'static str,
    /// [`Error::offset`](crate::Error::offset).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// [`Error::path`](crate::Error::path).
    pub path: String,
    /// [`Error::message`](crate::Error::message), followed by the name of the limit or by the error of the operating
    /// system, if there is one.
    pub message: String,
}

impl From<&Error> for FailureReport {
    fn from(error: &Error) -> Self {
        Self {
            kind: error.kind().as_str(),
            offset: error.offset(),
            path: error.path().to_owned(),
            message: error.full_message(),
        }
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}
