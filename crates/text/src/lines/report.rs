//! [`TextReport`]: the result of filtering a text.

use serde::Serialize;

/// The result of filtering one text.
///
/// Characters are Unicode scalar values. In invalid UTF-8, each byte that is not a continuation byte counts as one. A
/// last line without a line end counts if it has text. For a [`QuotedTextFilter`](crate::QuotedTextFilter), bytes are
/// those of the encoded string; all other fields describe the decoded text.
///
/// ```
/// use tamis::text::{TextProgram, TextSpec};
///
/// let program = TextProgram::compile(&TextSpec::new().strip_lines_matching("^DEBUG"))?;
/// let (_, report) = program.apply("DEBUG é\nready\n".as_bytes());
/// assert!(report.changed);
/// assert_eq!((report.bytes_in, report.chars_in, report.lines_in), (15, 14, 2));
/// assert_eq!((report.bytes_out, report.chars_out, report.lines_out), (6, 6, 1));
/// assert_eq!(report.lines_removed, 1);
/// # Ok::<(), tamis::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct TextReport {
    /// Whether an operation changed anything. If not, the output equals the input.
    pub changed: bool,
    /// Bytes of the input.
    pub bytes_in: u64,
    /// Bytes of the output.
    pub bytes_out: u64,
    /// Characters of the input.
    pub chars_in: u64,
    /// Characters of the output.
    pub chars_out: u64,
    /// Lines of the input.
    pub lines_in: u64,
    /// Lines of the output, including headings and the lines that report how many were left out.
    pub lines_out: u64,
    /// Input lines that were removed.
    pub lines_removed: u64,
    /// Input lines that were replaced by an equal or similar line of the output.
    pub lines_folded: u64,
    /// Input lines that were written in a shorter form, or as items under a heading.
    pub lines_shortened: u64,
    /// Input lines left out because of `max_lines`.
    pub lines_left_out: u64,
    /// Input lines that a terminal would not show completely, because text after a carriage return or backspaces
    /// overwrote a part of them.
    #[serde(skip_serializing_if = "is_zero")]
    pub lines_overwritten: u64,
    /// Input lines that look like a notice of tamis and were marked with `| `.
    #[serde(skip_serializing_if = "is_zero")]
    pub lines_marked: u64,
    /// Lines longer than the limit `line`. If there are patterns and the beginning of such a line did not decide, it
    /// was removed.
    pub lines_too_long: u64,
    /// Whether nothing was left and the text of `on_empty` was written.
    pub was_empty: bool,
}

/// Omits rare counts from serialized reports if they are 0.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "signature required by serde")]
pub fn is_zero(count: &u64) -> bool {
    *count == 0
}
