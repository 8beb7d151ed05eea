//! What became of one command's output, in numbers, and the one line that says so in the output.

use serde::Serialize;

use crate::notice;
use crate::text::{TextReport, is_zero};

/// What one run over a command's output did.
///
/// Characters are Unicode scalar values, counted as in [`TextReport`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct CommandReport {
    /// The filter that ran; `None` if none did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
    /// Why the output passed unfiltered, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passed: Option<PassThroughReason>,
    /// How the command ended, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Whether the output is another than the raw one.
    pub changed: bool,
    /// Whether lines are missing in it, or parts of lines.
    pub cut: bool,
    /// Where all of the output is, if that was said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub full_output: Option<String>,
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
    /// Lines that came out, with headings and those that say what was left out.
    pub lines_out: u64,
    /// Lines that were removed.
    pub lines_removed: u64,
    /// Lines that went into another that came out and is equal or alike.
    pub lines_folded: u64,
    /// Lines that came out shorter, or below a heading that they have in common.
    pub lines_shortened: u64,
    /// Lines that a head and a tail left out, with all those that a line stood for.
    pub lines_left_out: u64,
    /// Lines of which a terminal would not show all: other text was written over a part of them.
    #[serde(skip_serializing_if = "is_zero")]
    pub lines_overwritten: u64,
    /// Lines of the output that have the form of a notice of tamis, and are marked with `| `.
    #[serde(skip_serializing_if = "is_zero")]
    pub lines_marked: u64,
}

/// Why an output passed unfiltered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PassThroughReason {
    /// Filters are turned off.
    Disabled,
    /// It is not certain which command's output it is.
    Unclear,
    /// No filter is for this command.
    NoFilter,
    /// The command was asked for a format that programs read.
    MachineFormat,
    /// The output is JSON or XML.
    Structured,
    /// A filter that needs the whole output would have had to hold too much.
    TooLong,
    /// A filter that needs text was given something else.
    NotText,
}

impl CommandReport {
    pub(super) fn of(text: &TextReport) -> Self {
        Self {
            changed: text.changed,
            cut: cut(text) > 0,
            bytes_in: text.bytes_in,
            bytes_out: text.bytes_out,
            chars_in: text.chars_in,
            chars_out: text.chars_out,
            lines_in: text.lines_in,
            lines_out: text.lines_out,
            lines_removed: text.lines_removed,
            lines_folded: text.lines_folded,
            lines_shortened: text.lines_shortened,
            lines_left_out: text.lines_left_out,
            lines_overwritten: text.lines_overwritten,
            lines_marked: text.lines_marked,
            ..Self::default()
        }
    }
}

/// Lines that are not what they were.
fn cut(text: &TextReport) -> u64 {
    let TextReport { lines_removed, lines_folded, lines_shortened, lines_left_out, .. } = text;
    lines_removed + lines_folded + lines_shortened + lines_left_out + text.lines_overwritten
}

/// The line that says what was cut and where all of it is; `None` if nothing was.
pub(super) fn note(filter: &str, text: &TextReport, full_output: Option<&str>) -> Option<String> {
    if cut(text) == 0 {
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
    Some(notice::cut(filter, &parts.join(", "), full_output))
}
