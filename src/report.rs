//! What one run did.

use serde::Serialize;

use crate::error::Error;

/// What one run did: sizes, what was cut, and how. Serialises to the keys of SPEC §11 of the same names; keys whose
/// condition does not hold are left out.
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
    /// Whether the rules ran and made the output (kimbap: `filter_applied`).
    pub filter_applied: bool,
    /// Bytes of the document that were consumed; a final newline does not count. When `stop_early` stops behind an
    /// `extract`, a `retain` or `patches`, bytes of what those left.
    pub filter_original_bytes: u64,
    /// Bytes of the filtered output, in front of `budget` and `compact`.
    pub filter_result_bytes: u64,
    /// Bytes of the output, where `budget` or `compact` made others of the filtered ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_bytes: Option<u64>,
    /// The payload's length before `max_items`, when something was cut. Left out after `stop_early`, which does not
    /// learn it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter_items_truncated_from: Option<u64>,
    /// Selected paths that no item had.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub filter_partial_miss: Vec<String>,
    /// Selected paths that nothing in the run had, for a warning: those of `filter_partial_miss`, or of a stream of documents
    /// those that no document had. Not serialised.
    #[serde(skip)]
    pub missed: Vec<MissedPath>,
    /// Whether it is known which selected paths the document had: an object was among the items, and it had one of them.
    #[serde(skip)]
    pub(crate) select_judged: bool,
    /// Why rules were skipped: `raw_output`, `error_response` or `raw_mode`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter_skipped: Option<&'static str>,
    /// A warning: that rules do not apply, and why (a total miss, patches that failed); of a `content` filter that there was no
    /// content, and what is left instead; of a tool that its registry has no filter of a known type for that the full
    /// response passes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter_error: Option<String>,
    /// The branch of `when` that applied: `when[0]`, or `otherwise`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Operations of `patches` that were applied, tests that held among them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patches_applied: Option<u64>,
    /// Removes that had nothing to remove, where `lenient_remove` allows it.
    #[serde(skip_serializing_if = "is_zero")]
    pub patches_without_effect: u64,
    /// The `test` among `patches` that failed and ended the sequence
    /// ([`OnTestFailure::Stop`](crate::OnTestFailure::Stop)).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patch_stopped_at: Option<String>,
    /// Where the text of a `content` filter is from: `article` (the main text of a page), `body` (a page without what is no
    /// content), `page` (all of its text that is not hidden, or a line that says that all of it is), `fields` (of a JSON
    /// answer), `text` (it was text), `response` (as it came, for nothing else was found).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_from: Option<&'static str>,
    /// Whether a `content` filter left out a part of a page because the page hides it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub content_hidden: bool,
    /// Whether a budget made the output shorter.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub budget_applied: bool,
    /// Whether the output is longer than its budget, because nothing more could be left out, or because `compact` made it
    /// longer.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub budget_exceeded: bool,
    /// The budget in bytes, where it made the output shorter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget_limit: Option<u64>,
    /// Bytes of the filtered output, where a budget made it shorter: `filter_result_bytes`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget_original_bytes: Option<u64>,
    /// Bytes of the output, marks and what `compact` made of the items among them. More than the limit with
    /// `budget_exceeded`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget_result_bytes: Option<u64>,
    /// The budget in tokens, where it made the output shorter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_limit: Option<u64>,
    /// Tokens of the filtered output, where they are estimated, or of a `content` filter's text: what else a budget drops is
    /// not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_original: Option<u64>,
    /// Tokens of the output, counted like its bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_result: Option<u64>,
    /// Tokens were not counted (that takes the feature `tokens`) but estimated, at four bytes each.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub tokens_estimated: bool,
    /// Why `compact` left the filtered output as it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compact_error: Option<String>,
    /// Elements of the payload that were seen, if it is an array.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub items_seen: Option<u64>,
    /// Elements that are in the output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub items_kept: Option<u64>,
    /// The payload has at least as many elements; set when `stop_early` stopped before its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub items_at_least: Option<u64>,
    /// The rest of the input was not read, let alone validated.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub tail_unread: bool,
    /// Members that were dropped because their name came before. Complete under `duplicate_keys: count`; else those
    /// that were met. A member that two outputs look for counts for each; paths that begin alike look once, up to a wildcard.
    #[serde(skip_serializing_if = "is_zero")]
    pub duplicates_dropped: u64,
    /// The most bytes that waited at once, in memory and in the temporary file. Depends on the driver and the chunks.
    pub held_peak_bytes: u64,
    /// The payload, as a JSON Pointer; `""` is the document itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    /// Per stage, how it ran. Depends on the driver.
    pub plan: Vec<String>,
    /// Why the run failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<FailureReport>,
}

/// A selected path that was not found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MissedPath {
    /// The path, as the spec has it.
    pub path: String,
    /// The path that was probably meant: the same with the nearest name that an item has. Only where the call asked for it
    /// ([`CallOptions::suggest`](crate::CallOptions::suggest)).
    pub meant: Option<String>,
}

/// The error of a run that failed, as the report has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FailureReport {
    /// [`ErrorKind`](crate::ErrorKind) in words.
    pub kind: &'static str,
    /// [`Error::offset`](crate::Error::offset).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// [`Error::path`](crate::Error::path).
    pub path: String,
    /// [`Error::message`](crate::Error::message), and what the operating system said.
    pub message: String,
}

impl From<&Error> for FailureReport {
    fn from(error: &Error) -> Self {
        Self {
            kind: error.kind().as_str(),
            offset: error.offset(),
            path: error.path().to_owned(),
            message: match error.io_error() {
                Some(cause) => format!("{}: {cause}", error.message()),
                None => error.message().to_owned(),
            },
        }
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}
