//! The report of a run. The submodules have what its fields say: the steps of its plan, words, and a place.

mod cuts;
mod inner;
mod payload_path;
mod plan;
mod words;

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use tamis_factor::Factored;
use tamis_json::error::{Error, ErrorKind};

pub use cuts::{BudgetCuts, CutPlace, CutPlaceUnit, KeptParts, KeptReason};
pub use inner::InnerReport;
pub use payload_path::PayloadPath;
pub use plan::{ExecutionMode, PatchesMode, PlanStep};
pub use words::{ContentSource, EncodeSkip, FactorSkip, PreferSkip, SkipReason, WhenBranch};

/// The report of one run: sizes, what was cut, and how. Serialises to keys of the names of the fields; seven of
/// them then begin with `filter_` (`filter_applied`, `filter_error` for `fallback`). Keys that do
/// not apply are left out.
///
/// ```
/// use tamis::{Program, Spec, filter_slice};
///
/// let program = Program::compile(&Spec::new().select("id").max_items(1))?;
/// let (output, report) = filter_slice(&program, br#"[{"id":1,"x":2},{"id":3}]"#)?;
/// assert_eq!(output, br#"[{"id":1}]"#);
/// assert!(report.applied);
/// assert_eq!(report.items_truncated_from, Some(2));
/// # Ok::<(), tamis::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// Whether the output was made by the rules.
    #[serde(rename = "filter_applied")]
    pub applied: bool,
    /// Number of bytes of the document that were consumed; a final newline does not count. If `stop_early` stops after
    /// an `extract`, a `retain` or `patches`, number of bytes of the output of these.
    #[serde(rename = "filter_original_bytes")]
    pub original_bytes: u64,
    /// Size of the filtered output in bytes, before `budget` and `compact`.
    #[serde(rename = "filter_result_bytes")]
    pub result_bytes: u64,
    /// Size of the output in bytes, if `budget` or `compact` changed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_bytes: Option<u64>,
    /// Length of the payload before `max_items`, if something was cut. Absent after `stop_early`, because the rest of
    /// the array was not read.
    #[serde(rename = "filter_items_truncated_from", skip_serializing_if = "Option::is_none")]
    pub items_truncated_from: Option<u64>,
    /// Selected paths that no item has.
    #[serde(rename = "filter_partial_miss", skip_serializing_if = "Vec::is_empty")]
    pub partial_miss: Vec<String>,
    /// Selected paths that were not found in the whole run, for a warning: those of `partial_miss`, or in a
    /// stream of documents those that no document has. Not serialised.
    #[serde(skip)]
    pub missed: Vec<MissedPath>,
    /// Whether it is known which selected paths the document has: an item was an object and had one of them.
    #[serde(skip)]
    pub(crate) select_judged: bool,
    /// `where` dropped the document, one of many.
    #[serde(skip)]
    pub(crate) is_dropped: bool,
    /// The reason why rules were skipped.
    #[serde(rename = "filter_skipped", skip_serializing_if = "Option::is_none")]
    pub skipped: Option<SkipReason>,
    /// A warning that rules did not apply, with the reason: a total miss, patches that failed, a `content` filter
    /// without content (and what is written instead), or a tool without a filter of a known type in its registry, whose
    /// full response passes.
    #[serde(rename = "filter_error", skip_serializing_if = "Option::is_none")]
    pub fallback: Option<String>,
    /// The branch of `when` that applied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<WhenBranch>,
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
    /// Blocks that a `content` filter left out of pages because they are not part of the main texts. Navigation and hidden text are
    /// not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<LeftOut>,
    /// Whether a budget shortened the output.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub budget_applied: bool,
    /// Whether the output exceeds its budget, because nothing more could be left out or because `compact` made it
    /// longer.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub budget_exceeded: bool,
    /// The parts that a budget left out which prefers information.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget_cuts: Option<BudgetCuts>,
    /// The reason why the budget kept the first items although [`Spec::prefer`](crate::Spec::prefer) asks for information.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefer_skipped: Option<PreferSkip>,
    /// The budget in bytes, if it shortened the output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget_limit: Option<u64>,
    /// Size of the filtered output in bytes, if a budget shortened it; equal to `result_bytes`.
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
    /// Whether tokens were estimated at four bytes each: the call has no vocabulary.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub tokens_estimated: bool,
    /// The reason why `compact` left the filtered output unchanged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compact_error: Option<String>,
    /// The reason why the output is JSON although [`Spec::encode`](crate::Spec::encode) names another form.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encode_skipped: Option<EncodeSkip>,
    /// Counts of the members that [`Spec::factor`](crate::Spec::factor) wrote once, and the bytes that it saved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub factored: Option<Factored>,
    /// The reason why the document was not factored although [`Spec::factor`](crate::Spec::factor) asks for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub factor_skipped: Option<FactorSkip>,
    /// Number of elements of the payload that were read, if it is an array.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub items_seen: Option<u64>,
    /// Number of elements in the output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub items_kept: Option<u64>,
    /// Number of elements that `where` dropped. They are not counted in the other keys.
    #[serde(skip_serializing_if = "is_zero")]
    pub where_dropped: u64,
    /// Number of values that `on_kind: keep` kept although they are of another kind than a path needs.
    #[serde(skip_serializing_if = "is_zero")]
    pub kind_kept: u64,
    /// Number of values that `omit` left out.
    #[serde(skip_serializing_if = "is_zero")]
    pub omitted_members: u64,
    /// Number of values that projections left out, because they are not objects.
    #[serde(skip_serializing_if = "is_zero")]
    pub projection_skipped: u64,
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
    /// The reports of the entries of `json_strings`, in their order. Absent without the rule.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub inner: Vec<InnerReport>,
    /// Number of strings, and of `data:` URLs in other strings, that `omit_base64_over` replaced.
    #[serde(skip_serializing_if = "is_zero")]
    pub base64_omitted: u64,
    /// Size of these in bytes, without escapes.
    #[serde(skip_serializing_if = "is_zero")]
    pub base64_omitted_bytes: u64,
    /// Number of replaced values, by kind: the kinds of [`Redact::kinds`](crate::spec::Redact::kinds), and `path` for values
    /// at the paths of [`Spec::redact`](crate::Spec::redact).
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub redacted: BTreeMap<String, u64>,
    /// The place of the payload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root: Option<PayloadPath>,
    /// How each stage ran. Depends on the driver. Each step is written as one line.
    pub plan: Vec<PlanStep>,
    /// The error of a failed run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<FailureReport>,
}

/// The part of pages that a `content` filter left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LeftOut {
    /// The number of blocks of text: paragraphs, headings, items, cells.
    pub blocks: u64,
    /// The number of their words. In scripts without spaces, every character counts.
    pub words: u64,
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

impl MissedPath {
    /// Creates the report of a path, and of the one that was probably meant.
    #[must_use]
    pub fn new(path: impl Into<String>, meant: Option<String>) -> Self {
        Self { path: path.into(), meant }
    }
}

/// The error of a failed run in a report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FailureReport {
    /// [`Error::kind`](crate::Error::kind), in words.
    #[serde(serialize_with = "kind_in_words")]
    pub kind: ErrorKind,
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
            kind: error.kind(),
            offset: error.offset(),
            path: error.path().to_owned(),
            message: error.full_message(),
        }
    }
}

/// Adds the counts of replaced values.
pub(crate) fn add_counts(to: &mut BTreeMap<String, u64>, more: &BTreeMap<String, u64>) {
    for (kind, count) in more {
        *to.entry(kind.clone()).or_default() += count;
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn kind_in_words<S: Serializer>(kind: &ErrorKind, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(kind.as_str())
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}
