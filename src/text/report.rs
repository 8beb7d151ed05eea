//! What a text filter did, in numbers.

use serde::Serialize;

/// What one run of a text filter did.
///
/// Characters are Unicode scalar values; a byte that is part of none counts as one unless it looks like a character's
/// later byte. A last line without a line end is a line if it has text. Where the text is the inside of a JSON string,
/// bytes are those of its spelling, all else is about the text that it spells.
///
/// ```
/// use tamis::{TextProgram, TextSpec};
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
    /// Whether an operation did anything. If not, the text is what it was.
    pub changed: bool,
    /// Bytes that went in.
    pub bytes_in: u64,
    /// Bytes that came out.
    pub bytes_out: u64,
    /// Characters that went in.
    pub chars_in: u64,
    /// Characters that came out.
    pub chars_out: u64,
    /// Lines that went in.
    pub lines_in: u64,
    /// Lines that came out, with headings and those that say how many were left out.
    pub lines_out: u64,
    /// Lines that were removed.
    pub lines_removed: u64,
    /// Lines that went into another that came out and is equal or alike.
    pub lines_folded: u64,
    /// Lines that came out shorter, or below a header that they have in common.
    pub lines_shortened: u64,
    /// Lines that `max_lines` left out, with all those that a line stood for.
    pub lines_left_out: u64,
    /// Lines of which a terminal would not show all: a carriage return or backspaces came, and other text was written over it.
    #[serde(skip_serializing_if = "is_zero")]
    pub lines_overwritten: u64,
    /// Lines of the input that have the form of a notice of tamis, and are marked with `| `.
    #[serde(skip_serializing_if = "is_zero")]
    pub lines_marked: u64,
    /// Lines longer than the limit `line`: removed where there are patterns and they were not certain, else passed.
    pub lines_too_long: u64,
    /// Nothing was left, and the text for that stands instead.
    pub was_empty: bool,
}

/// For what is rare: it is said where it happened.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
pub(crate) fn is_zero(count: &u64) -> bool {
    *count == 0
}
