//! [`CommandReport`]: the result of filtering a command's output. Also the words that report what was cut.

use std::collections::BTreeMap;

use serde::Serialize;
use tamis_text::lines::is_zero;

use tamis::text::TextReport;

/// The result of filtering the output of one command.
///
/// Characters are Unicode scalar values, counted as in [`TextReport`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct CommandReport {
    /// Name of the filter that was applied, or `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
    /// Why the output was passed through, if it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passed: Option<PassThroughReason>,
    /// Exit code of the command, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Whether the filtered output differs from the raw one.
    pub changed: bool,
    /// Whether lines or parts of lines were removed.
    pub cut: bool,
    /// Where the full output can be read, if given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub full_output: Option<String>,
    /// Bytes of the raw output.
    pub bytes_in: u64,
    /// Bytes of the filtered output.
    pub bytes_out: u64,
    /// Characters of the raw output.
    pub chars_in: u64,
    /// Characters of the filtered output.
    pub chars_out: u64,
    /// Lines of the raw output.
    pub lines_in: u64,
    /// Lines of the filtered output, including headings and the lines that report what was left out.
    pub lines_out: u64,
    /// Lines that were removed.
    pub lines_removed: u64,
    /// Lines that were replaced by an equal or similar line of the output.
    pub lines_folded: u64,
    /// Lines that were written in a shorter form, or as items under a heading.
    pub lines_shortened: u64,
    /// Lines left out between head and tail.
    pub lines_left_out: u64,
    /// Lines that a terminal would not show completely, because other text overwrote a part of them.
    #[serde(skip_serializing_if = "is_zero")]
    pub lines_overwritten: u64,
    /// Lines that look like a notice of tamis and were marked with `| `.
    #[serde(skip_serializing_if = "is_zero")]
    pub lines_marked: u64,
    /// Lines of the filtered output that the [cap](crate::OutputCap) of the call left out, in whole or in part.
    #[serde(skip_serializing_if = "is_zero")]
    pub lines_capped: u64,
    /// Credentials that were replaced before the filter, by kind.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub redacted: BTreeMap<String, u64>,
}

/// Why an output was passed through without filtering.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PassThroughReason {
    /// Filters are disabled.
    Disabled,
    /// It is not certain which command printed the output.
    Unclear,
    /// No filter matches the command.
    NoFilter,
    /// The command was asked for a machine-readable format.
    MachineFormat,
    /// The output is JSON or XML.
    Structured,
    /// A filter needs the whole output, and that exceeds the limit `held`.
    TooLong,
    /// A filter needs text, and the output is not UTF-8.
    NotText,
}

impl CommandReport {
    /// Creates the report of an output that was filtered, or only counted, as a text.
    pub(super) fn of(text: &TextReport) -> Self {
        let TextReport {
            changed,
            bytes_in,
            bytes_out,
            chars_in,
            chars_out,
            lines_in,
            lines_out,
            lines_removed,
            lines_folded,
            lines_shortened,
            lines_left_out,
            lines_overwritten,
            lines_marked,
            ..
        } = *text;
        Self {
            changed,
            cut: lines_cut(text) > 0,
            bytes_in,
            bytes_out,
            chars_in,
            chars_out,
            lines_in,
            lines_out,
            lines_removed,
            lines_folded,
            lines_shortened,
            lines_left_out,
            lines_overwritten,
            lines_marked,
            lines_capped: 0,
            redacted: BTreeMap::new(),
            filter: None,
            passed: None,
            exit_code: None,
            full_output: None,
        }
    }
}

impl CommandReport {
    /// Adds what a [`TextRedactor`](tamis::text::TextRedactor) before the filter did: the counts of the text that it read, and
    /// the numbers of replaced credentials.
    pub fn add_redaction(&mut self, read: &TextReport, redacted: BTreeMap<String, u64>) {
        self.changed |= read.changed || !redacted.is_empty();
        (self.bytes_in, self.chars_in, self.lines_in) =
            (read.bytes_in, read.chars_in, read.lines_in);
        self.lines_overwritten += read.lines_overwritten;
        self.redacted = redacted;
    }

    /// Adds the counts of the next part of the output.
    pub(super) fn add(&mut self, part: &Self) {
        self.changed |= part.changed;
        self.cut |= part.cut;
        self.bytes_in += part.bytes_in;
        self.bytes_out += part.bytes_out;
        self.chars_in += part.chars_in;
        self.chars_out += part.chars_out;
        self.lines_in += part.lines_in;
        self.lines_out += part.lines_out;
        self.lines_removed += part.lines_removed;
        self.lines_folded += part.lines_folded;
        self.lines_shortened += part.lines_shortened;
        self.lines_left_out += part.lines_left_out;
        self.lines_overwritten += part.lines_overwritten;
        self.lines_marked += part.lines_marked;
    }

    /// Returns the counts of the text.
    pub(super) fn text(&self) -> TextReport {
        let mut text = TextReport::default();
        text.changed = self.changed;
        text.bytes_in = self.bytes_in;
        text.bytes_out = self.bytes_out;
        text.chars_in = self.chars_in;
        text.chars_out = self.chars_out;
        text.lines_in = self.lines_in;
        text.lines_out = self.lines_out;
        text.lines_removed = self.lines_removed;
        text.lines_folded = self.lines_folded;
        text.lines_shortened = self.lines_shortened;
        text.lines_left_out = self.lines_left_out;
        text.lines_overwritten = self.lines_overwritten;
        text.lines_marked = self.lines_marked;
        text
    }
}

/// Number of lines that were cut in any way.
pub(super) fn lines_cut(text: &TextReport) -> u64 {
    let TextReport { lines_removed, lines_folded, lines_shortened, lines_left_out, .. } = text;
    lines_removed + lines_folded + lines_shortened + lines_left_out + text.lines_overwritten
}

/// Describes what was cut, or returns `None` if nothing was.
pub(super) fn said(text: &TextReport) -> Option<String> {
    if lines_cut(text) == 0 {
        return None;
    }
    let mut parts = Vec::new();
    let out = text.lines_removed + text.lines_left_out;
    if out > 0 {
        parts.push(format!("{out} of {} lines left out", text.lines_in));
    }
    if text.lines_folded > 0 {
        parts.push(format!("{} folded", text.lines_folded));
    }
    if text.lines_shortened > 0 {
        parts.push(format!("{} shortened", text.lines_shortened));
    }
    if text.lines_overwritten > 0 {
        parts.push(format!("{} overwritten", text.lines_overwritten));
    }
    Some(parts.join(", "))
}
