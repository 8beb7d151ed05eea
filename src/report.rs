//! The report of a run.

use std::collections::BTreeMap;

use serde::Serialize;

use tamis_json::error::Error;

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
    /// The reason why the output is JSON although [`Spec::encode`](crate::Spec::encode) names another form:
    /// `duplicate_key`, `lone_surrogate`, `number`, `size`, `not_a_list`, `not_rows` or `siblings`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encode_skipped: Option<&'static str>,
    /// Number of elements of the payload that were read, if it is an array.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub items_seen: Option<u64>,
    /// Number of elements in the output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub items_kept: Option<u64>,
    /// Number of elements that `where` dropped. They are not counted in the other keys.
    #[serde(skip_serializing_if = "is_zero")]
    pub where_dropped: u64,
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
    /// Number of strings that `omit_base64_over` replaced.
    #[serde(skip_serializing_if = "is_zero")]
    pub base64_omitted: u64,
    /// Size of these strings in bytes, without escapes.
    #[serde(skip_serializing_if = "is_zero")]
    pub base64_omitted_bytes: u64,
    /// Number of replaced values, by kind: the kinds of [`Redact::kinds`](crate::spec::Redact::kinds), and `path` for values
    /// at the paths of [`Spec::redact`](crate::Spec::redact).
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub redacted: BTreeMap<String, u64>,
    /// The payload, as a JSON Pointer; `""` is the document itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    /// How each stage ran. Depends on the driver.
    pub plan: Vec<String>,
    /// The error of a failed run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<FailureReport>,
}

/// The report of one entry of `json_strings`: the sums over all strings at its pointer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct InnerReport {
    /// The pointer of the entry.
    pub at: String,
    /// Number of strings whose JSON was filtered.
    pub filtered: u64,
    /// Number of values that are not strings with JSON, and were kept or dropped.
    pub not_json: u64,
    /// Number of bytes of the filtered texts, after unescaping.
    #[serde(rename = "filter_original_bytes")]
    pub original_bytes: u64,
    /// Number of bytes of the texts that are left, before escaping.
    #[serde(rename = "filter_result_bytes")]
    pub result_bytes: u64,
    /// Number of elements of the payloads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub items_seen: Option<u64>,
    /// Number of elements that are left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub items_kept: Option<u64>,
    /// Number of elements that `where` dropped.
    #[serde(skip_serializing_if = "is_zero")]
    pub where_dropped: u64,
    /// Number of values that projections left out, because they are not objects.
    #[serde(skip_serializing_if = "is_zero")]
    pub projection_skipped: u64,
    /// Selected paths that none of the texts has.
    #[serde(rename = "filter_partial_miss", skip_serializing_if = "Vec::is_empty")]
    pub partial_miss: Vec<String>,
    /// The first warning that rules did not apply to a text.
    #[serde(rename = "filter_error", skip_serializing_if = "Option::is_none")]
    pub fallback: Option<String>,
    /// The first reason why `compact` left a text unchanged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compact_error: Option<String>,
    /// Whether a budget shortened a text.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub budget_applied: bool,
    /// Whether a text exceeds its budget.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub budget_exceeded: bool,
    /// Number of operations of `patches` that were applied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patches_applied: Option<u64>,
    /// Number of members that were dropped because their name occurred before.
    #[serde(skip_serializing_if = "is_zero")]
    pub duplicates_dropped: u64,
    /// Whether the rest of a text was neither read nor validated.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub tail_unread: bool,
    /// Number of replaced values, by kind.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub redacted: BTreeMap<String, u64>,
    /// The reports of the entries of `json_strings` inside the texts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub inner: Vec<InnerReport>,
    /// Bytes that the rules inside held and that the meter of the run does not know.
    #[serde(skip)]
    pub(crate) held_peak_bytes: u64,
}

impl InnerReport {
    /// The report of an entry before the first string.
    pub(crate) fn new(at: &str) -> Self {
        Self { at: at.to_owned(), ..Self::default() }
    }

    /// Adds the report of one text.
    pub(crate) fn add(&mut self, one: &Report) {
        let first = self.filtered == 0;
        self.filtered += 1;
        self.original_bytes += one.original_bytes;
        self.result_bytes += one.output_bytes.unwrap_or(one.result_bytes);
        self.items_seen = sum(self.items_seen, one.items_seen);
        self.items_kept = sum(self.items_kept, one.items_kept);
        self.where_dropped += one.where_dropped;
        self.projection_skipped += one.projection_skipped;
        if first {
            self.partial_miss.clone_from(&one.partial_miss);
        } else {
            self.partial_miss.retain(|path| one.partial_miss.contains(path));
        }
        keep_first(&mut self.fallback, one.fallback.as_ref());
        keep_first(&mut self.compact_error, one.compact_error.as_ref());
        self.budget_applied |= one.budget_applied;
        self.budget_exceeded |= one.budget_exceeded;
        self.patches_applied = sum(self.patches_applied, one.patches_applied);
        add_counts(&mut self.redacted, &one.redacted);
        self.duplicates_dropped += one.duplicates_dropped;
        self.tail_unread |= one.tail_unread;
        self.held_peak_bytes = self.held_peak_bytes.max(one.held_peak_bytes);
        Self::add_all(&mut self.inner, &one.inner);
    }

    /// Adds the reports of all entries of one run to those of others.
    pub(crate) fn add_all(sums: &mut Vec<Self>, more: &[Self]) {
        if sums.is_empty() {
            sums.extend_from_slice(more);
            return;
        }
        for (sum, one) in sums.iter_mut().zip(more) {
            sum.merge(one);
        }
    }

    /// Adds the sums of another run.
    fn merge(&mut self, more: &Self) {
        if more.filtered > 0 && self.filtered > 0 {
            self.partial_miss.retain(|path| more.partial_miss.contains(path));
        } else if self.filtered == 0 {
            self.partial_miss.clone_from(&more.partial_miss);
        }
        self.filtered += more.filtered;
        self.not_json += more.not_json;
        self.original_bytes += more.original_bytes;
        self.result_bytes += more.result_bytes;
        self.items_seen = sum(self.items_seen, more.items_seen);
        self.items_kept = sum(self.items_kept, more.items_kept);
        self.where_dropped += more.where_dropped;
        self.projection_skipped += more.projection_skipped;
        keep_first(&mut self.fallback, more.fallback.as_ref());
        keep_first(&mut self.compact_error, more.compact_error.as_ref());
        self.budget_applied |= more.budget_applied;
        self.budget_exceeded |= more.budget_exceeded;
        self.patches_applied = sum(self.patches_applied, more.patches_applied);
        add_counts(&mut self.redacted, &more.redacted);
        self.duplicates_dropped += more.duplicates_dropped;
        self.tail_unread |= more.tail_unread;
        self.held_peak_bytes = self.held_peak_bytes.max(more.held_peak_bytes);
        Self::add_all(&mut self.inner, &more.inner);
    }
}

fn sum(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one + other),
        (one, other) => one.or(other),
    }
}

fn keep_first(first: &mut Option<String>, more: Option<&String>) {
    if first.is_none() {
        *first = more.cloned();
    }
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

/// Adds the counts of replaced values.
pub(crate) fn add_counts(to: &mut BTreeMap<String, u64>, more: &BTreeMap<String, u64>) {
    for (kind, count) in more {
        *to.entry(kind.clone()).or_default() += count;
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}
