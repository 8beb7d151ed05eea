//! The report of a read: the size of the window, and the offset of the rest.

use std::fmt::Write as _;

use super::Window;
use crate::entry::{EntryHeader, EntryKind};

/// Facts that the stages of a window collect.
#[derive(Debug, Default)]
pub(super) struct WindowFacts {
    /// Bytes of the window that were written, without marks.
    pub(super) bytes: u64,
    /// Whether more bytes follow.
    pub(super) more: bool,
    /// Bytes of the whole window, from offset 0.
    pub(super) total: Option<u64>,
    /// Whether the window is the characters of a string.
    pub(super) is_string: bool,
    pub(super) lines: Option<u64>,
    pub(super) matches: Option<u64>,
    pub(super) long_lines: u64,
    pub(super) items: Option<u64>,
    pub(super) more_items: bool,
    /// Items were asked for, and there is no array.
    pub(super) no_items: bool,
}

/// Returns the sentence about values of a result that were replaced, by its door or by a filter.
///
/// ```text
/// 2 values in this result were replaced by marks such as [redacted:KIND] and cannot be fetched
/// ```
pub fn replaced(count: u64) -> String {
    let (values, were) = if count == 1 { ("value", "was") } else { ("values", "were") };
    format!(
        "{count} {values} in this result {were} replaced by marks such as [redacted:KIND] and cannot be fetched"
    )
}

/// The report of a read. A window that was cut always has a [`next_offset`](Self::next_offset).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WindowReport {
    /// The form of the written bytes: a JSON text or a part of one, or text.
    pub kind: EntryKind,
    /// The tool, or the command, whose result the entry is.
    pub tool: String,
    /// Bytes of the entry.
    pub entry_bytes: u64,
    /// Whether the entry has the whole result. Otherwise it has the beginning, because a limit was reached.
    pub entry_complete: bool,
    /// Where the written bytes begin in the window.
    pub offset: u64,
    /// Bytes of the window that were written, without marks of imitated notices.
    pub bytes: u64,
    /// Where the window goes on, if the limit cut it.
    pub next_offset: Option<u64>,
    /// Bytes of the whole window, if it was read to its end.
    pub total: Option<u64>,
    /// Lines of the text up to the last line of the window, if it was read to its end: for a window without a last
    /// line, all lines of the text.
    pub lines: Option<u64>,
    /// Lines that match, if the text was searched to its end.
    pub matches: Option<u64>,
    /// Lines that were too long to be searched as a whole.
    pub long_lines: u64,
    /// Number of items, if all were read.
    pub items: Option<u64>,
    /// Whether items follow after the window.
    pub more_items: bool,
    /// How many values of the whole result were replaced before it was stored, such as credentials.
    pub redacted: u64,
    remark: Option<String>,
}

impl WindowReport {
    pub(super) fn new(header: &EntryHeader, window: &Window, facts: &WindowFacts) -> Self {
        let as_text = window.lines.is_some() || window.grep.is_some() || facts.is_string;
        let mut report = Self {
            kind: if as_text { EntryKind::Text } else { header.meta.kind() },
            tool: header.meta.tool().to_owned(),
            entry_bytes: header.size,
            entry_complete: header.complete,
            offset: window.offset,
            bytes: facts.bytes,
            next_offset: facts.more.then(|| window.offset.saturating_add(facts.bytes)),
            total: facts.total,
            lines: facts.lines,
            matches: facts.matches,
            long_lines: facts.long_lines,
            items: facts.items,
            more_items: facts.more_items,
            redacted: header.meta.redacted(),
            remark: None,
        };
        report.remark = report.describe(window);
        report
    }

    /// Returns a line about the window for its reader, without brackets: the offset of the rest, or the reason for an
    /// empty window. `None` if the window is complete and not empty.
    ///
    /// ```text
    /// bytes 0-16383 of 48213; for the next, the same with offset=16384
    /// ```
    #[must_use]
    pub fn remark(&self) -> Option<&str> {
        self.remark.as_deref()
    }

    fn describe(&self, window: &Window) -> Option<String> {
        let mut remarks = Vec::new();
        if let Some(next) = self.next_offset {
            let mut cut = format!("bytes {}-{}", self.offset, next.saturating_sub(1));
            if let Some(total) = self.total {
                _ = write!(cut, " of {total}");
            }
            remarks.push(cut);
            remarks.push(format!("for the next, the same with offset={next}"));
        } else if self.bytes == 0 {
            remarks.push(self.why_empty());
        } else if let (Some(range), Some(count)) = (window.items, self.items)
            && range.first >= count
        {
            let are = if count == 1 { "is" } else { "are" };
            remarks.push(format!("there {are} {}", plural(count, "item")));
        }
        if self.long_lines > 0 {
            let lines = plural(self.long_lines, "line");
            remarks.push(format!("{lines} longer than 64 KiB, searched in pieces"));
        }
        if !self.entry_complete && self.next_offset.is_none() {
            remarks.push(String::from(
                "the stored result has only the beginning: a limit was reached",
            ));
        }
        if self.redacted > 0 {
            remarks.push(replaced(self.redacted));
        }
        (!remarks.is_empty()).then(|| remarks.join("; "))
    }

    /// Returns the reason for a window without bytes.
    fn why_empty(&self) -> String {
        if let Some(total) = self.total.filter(|total| self.offset > 0 && self.offset >= *total) {
            return format!(
                "nothing at offset {}: the window has {}",
                self.offset,
                plural(total, "byte")
            );
        }
        match (self.matches, self.lines) {
            (Some(0), _) => String::from("no line matches"),
            (_, Some(lines)) => format!("the text has {}", plural(lines, "line")),
            _ => String::from("the value is empty"),
        }
    }
}

fn plural(count: u64, one: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        count => format!("{count} {one}s"),
    }
}
