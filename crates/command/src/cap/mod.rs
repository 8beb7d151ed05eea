//! [`OutputCap`]: the limits of a call for any output of a command, filtered or not.
//!
//! The cap is one stage, after the filter. [`run`] has the stage, and [`tamis_text::cut`] the choice of lines. It does not know
//! commands or rules.

mod capped_sink;
mod hints;
mod run;
#[cfg(test)]
mod tests;

use serde::Serialize;
use tamis_json::limits::Limits;
use tamis_text::cut::{CutReport, CutSize, CutUnit};
use tamis_text::notice;

use super::full_output::FullOutput;

pub(super) use capped_sink::CappedSink;
pub(super) use hints::hints;
pub(super) use run::{CapHints, CapRun};

/// Limits for the output of a command, whatever the command and its filter.
///
/// Use it where a model reads the output: a listing of a million lines has no filter, but must not fill the context.
/// The first and the last lines are kept, and of the rest the passages that have the most new names, numbers and words for each
/// byte, those with words of the command first. In the output of tests and in logs, failures come before anything else. A
/// line says how many lines were left out at each place, and the last line where they can be read.
///
/// The lines that report what was left out count, too. Only a limit of fewer than about hundred tokens is exceeded by them. With
/// a limit of one line, only the last of them is written. A token is estimated at four bytes, or fewer if the text is one of short tokens, such as
/// numbers; see [`with_exact_tokens`](Self::with_exact_tokens). A line that is too long is cut between two characters.
///
/// Lines that look like a notice of tamis are prefixed with a mark: `| [tamis …`.
///
/// Memory: the output, at most [`Limits::held`](Limits::with_held) bytes of it. While it is cut, what is known about its lines
/// takes four to eight times as much, and up to twenty times if most lines are short. A longer output loses the less important
/// half of the held text each time. Time: linear.
///
/// ```
/// use tamis_command::OutputCap;
///
/// let text: String = (1..=1000).map(|n| if n == 500 { "error: x\n".into() } else { format!("{n}\n") }).collect();
/// let (output, report) = OutputCap::new().with_max_lines(9).apply(text.as_bytes(), "full.log");
/// assert_eq!(
///     String::from_utf8(output).unwrap(),
///     "1\n2\n3\n4\n... 495 lines left out\nerror: x\n... 499 lines left out\n1000\n\
///      [tamis: 994 of 1000 lines left out; full output: full.log (lines 5-999)]\n"
/// );
/// assert_eq!(report.lines_left_out, 994);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutputCap {
    max_lines: Option<u64>,
    max_tokens: Option<u64>,
    max_tokens_if_cut: Option<u64>,
    max_bytes: Option<u64>,
    max_chars_if_failed: Option<u64>,
    /// The size of outputs that are never cut.
    whole_bytes: u64,
    whole_chars_if_failed: u64,
    /// The lowest exit code of a failure, if that is not 1.
    least_failure: Option<i32>,
    exact_tokens: bool,
}

impl OutputCap {
    /// Creates a cap without limits.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the maximum number of lines. 0 means no limit.
    ///
    /// ### Default
    /// No limit.
    #[must_use]
    pub fn with_max_lines(mut self, lines: u64) -> Self {
        self.max_lines = Some(lines).filter(|lines| *lines > 0);
        self
    }

    /// Sets the maximum number of tokens. 0 means no limit.
    ///
    /// ### Default
    /// No limit.
    #[must_use]
    pub fn with_max_tokens(mut self, tokens: u64) -> Self {
        self.max_tokens = Some(tokens).filter(|tokens| *tokens > 0);
        self
    }

    /// Sets the maximum number of bytes, whatever their tokens are. 0 means no limit. A limit of tokens is four bytes for each then.
    ///
    /// Use it where the reader counts bytes or characters.
    ///
    /// ### Default
    /// No limit.
    #[must_use]
    pub fn with_max_bytes(mut self, bytes: u64) -> Self {
        self.max_bytes = Some(bytes).filter(|bytes| *bytes > 0);
        self
    }

    /// Sets the maximum number of tokens of an output that does not fit into the limits, if it is lower than that of
    /// [`with_max_tokens`](Self::with_max_tokens). 0 means that there is no other maximum.
    ///
    /// Use it where the reader would only get the beginning of a long output: an output that fits is complete, and of a
    /// longer one the reader fetches what is needed.
    ///
    /// ### Default
    /// 0.
    #[must_use]
    pub fn with_max_tokens_if_cut(mut self, tokens: u64) -> Self {
        self.max_tokens_if_cut = Some(tokens).filter(|tokens| *tokens > 0);
        self
    }

    /// Sets the maximum number of characters of the output of a command whose exit code is not 0. It takes the place of
    /// [`with_max_tokens_if_cut`](Self::with_max_tokens_if_cut). 0 means that failures have no other limit.
    ///
    /// Use it where the reader shows less of a failure than of a success: coding agents do.
    ///
    /// ### Default
    /// 0.
    #[must_use]
    pub fn with_max_chars_if_failed(mut self, chars: u64) -> Self {
        self.max_chars_if_failed = Some(chars).filter(|chars| *chars > 0);
        self
    }

    /// Sets the sizes up to which an output is never cut, whatever its tokens are: in bytes, and in characters if the command failed.
    ///
    /// Use it where the reader shows outputs of these sizes whole.
    ///
    /// ### Default
    /// 0 and 0.
    #[must_use]
    pub fn with_whole(mut self, bytes: u64, chars_if_failed: u64) -> Self {
        self.whole_bytes = bytes;
        self.whole_chars_if_failed = chars_if_failed;
        self
    }

    /// Sets the lowest exit code that counts as a failure. `diff` and `grep` end with 1 if there are differences, or no matches.
    ///
    /// ### Default
    /// 1. Negative exit codes are failures, too.
    #[must_use]
    pub fn with_least_failure(mut self, code: i32) -> Self {
        self.least_failure = Some(code);
        self
    }

    /// Returns whether a command with this exit code has failed.
    #[must_use]
    pub fn is_failure(&self, exit_code: Option<i32>) -> bool {
        exit_code.is_some_and(|code| code < 0 || code >= self.least_failure.unwrap_or(1))
    }

    /// Sets whether tokens are counted with the vocabulary `o200k_base` instead of estimated. Each line is counted by
    /// itself. It takes time, and memory for the vocabulary.
    ///
    /// ### Default
    /// `false`.
    #[must_use]
    pub fn with_exact_tokens(mut self, exact: bool) -> Self {
        self.exact_tokens = exact;
        self
    }

    /// Returns whether there is no limit.
    #[must_use]
    pub fn is_unlimited(&self) -> bool {
        self.max_lines.is_none() && self.max_tokens.is_none() && self.max_bytes.is_none()
    }

    /// Applies the cap to a complete text, which no filter applies to. `full_output` is where the text can be read.
    ///
    /// For the output of a command that may have a filter, use
    /// [`CommandFilter::with_cap`](crate::CommandFilter::with_cap).
    #[must_use]
    pub fn apply(&self, text: &[u8], full_output: impl Into<FullOutput>) -> (Vec<u8>, CapReport) {
        let mut out = Vec::new();
        let mut run = CapRun::new(self, CapHints::default(), &Limits::new(), true);
        run.write(text, &mut out);
        let full_output = full_output.into();
        let report = run.end(false, None, &mut out, |report| {
            Some(notice::cut("", &report.said(), Some(&full_output.with_lines_of(report, true))))
        });
        (out, report)
    }

    /// Returns the limits as a size.
    fn size(&self) -> CutSize {
        let of_tokens = self.max_tokens.map_or(u64::MAX, |tokens| tokens.saturating_mul(4));
        CutSize {
            lines: self.max_lines.unwrap_or(u64::MAX),
            bytes: self.max_bytes.unwrap_or(u64::MAX).min(of_tokens),
        }
    }

    /// Returns the limits of an output that is cut.
    fn size_if_cut(&self) -> CutSize {
        let size = self.size();
        let bytes = self.max_tokens_if_cut.map_or(u64::MAX, |tokens| tokens.saturating_mul(4));
        CutSize { bytes: size.bytes.min(bytes), ..size }
    }

    /// Returns whether an output of this size is never cut.
    fn is_whole(&self, bytes: u64, chars: u64, has_failed: bool) -> bool {
        match has_failed && self.max_chars_if_failed.is_some() {
            true => chars <= self.whole_chars_if_failed,
            false => bytes <= self.whole_bytes,
        }
    }

    /// Returns the limits of the output of a command that failed. A character has at least one byte.
    fn size_if_failed(&self) -> Option<CutSize> {
        Some(CutSize { bytes: self.max_chars_if_failed?, ..self.size() })
    }

    /// Returns the unit of the limits.
    fn unit(&self) -> CutUnit {
        let has_tokens = self.max_tokens.is_some() || self.max_tokens_if_cut.is_some();
        match self.exact_tokens && has_tokens && self.max_bytes.is_none() {
            true => CutUnit::Tokens(tamis_tokens::o200k_base()),
            false => CutUnit::Bytes,
        }
    }
}

/// The lines and bytes that a cap left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct CapReport {
    /// Lines of the text before the cap.
    pub lines: u64,
    /// Bytes of the text before the cap.
    pub bytes: u64,
    /// Lines that were left out, in whole or in part.
    pub lines_left_out: u64,
    /// Bytes that were left out.
    pub bytes_left_out: u64,
    /// The numbers of the first and the last line that were left out, counted from 1. Kept failures may be between them.
    pub range: Option<(u64, u64)>,
    /// Whether a line was left out in part.
    pub splits_line: bool,
    /// The number of the first byte that was left out, counted from 0.
    #[serde(skip)]
    pub first_byte: Option<u64>,
}

impl CapReport {
    fn of(cut: &CutReport) -> Self {
        Self {
            lines: cut.lines,
            bytes: cut.bytes,
            lines_left_out: cut.lines_left_out,
            bytes_left_out: cut.bytes_left_out,
            range: cut.range,
            splits_line: cut.splits_line,
            first_byte: cut.byte_range.map(|(first, _)| first),
        }
    }

    /// Returns whether anything was left out.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.bytes_left_out > 0
    }

    /// Describes what was left out.
    pub(super) fn said(&self) -> String {
        match self.splits_line {
            true => format!("{} of {} bytes left out", self.bytes_left_out, self.bytes),
            false => format!("{} of {} lines left out", self.lines_left_out, self.lines),
        }
    }
}
