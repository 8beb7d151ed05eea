//! Stages after the patterns, and the entries they exchange: lines on their way to the output.
//!
//! A stage does linear work in its entries, and everything it holds has a limit. Counts refer to input lines: an
//! entry that replaces several lines has their number, and a heading written by tamis has the number 0.

use super::line_end::LineEnd;
use super::line_sink::TextLine;

/// The role of an entry in the output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum EntryRole {
    /// An independent line.
    #[default]
    Line,
    /// The heading of the following items. It is not an input line.
    Heading,
    /// A line under the preceding heading.
    Item,
}

/// A line of the output, or several lines replaced by one.
#[derive(Clone, Copy, Debug)]
pub(super) struct LineEntry<'a> {
    pub(super) text: &'a [u8],
    pub(super) end: LineEnd,
    pub(super) role: EntryRole,
    /// Number of input lines that the entry replaces.
    pub(super) lines: u64,
    /// Number of those lines that are written in a shorter form.
    pub(super) shortened: u64,
}

impl<'a> LineEntry<'a> {
    /// Creates the entry of an unchanged input line.
    pub(super) fn line(line: TextLine<'a>) -> Self {
        Self { text: line.text, end: line.end, role: EntryRole::Line, lines: 1, shortened: 0 }
    }

    pub(super) fn heading(text: &'a [u8], end: LineEnd) -> Self {
        Self { text, end, role: EntryRole::Heading, lines: 0, shortened: 0 }
    }

    /// Length in the output, in bytes.
    pub(super) fn length(&self) -> usize {
        self.text.len() + self.end.bytes().len()
    }
}

/// An owned [`LineEntry`], for stages that hold entries.
#[derive(Clone, Debug, Default)]
pub(super) struct HeldEntry {
    pub(super) text: Vec<u8>,
    pub(super) end: LineEnd,
    pub(super) role: EntryRole,
    pub(super) lines: u64,
    pub(super) shortened: u64,
}

impl HeldEntry {
    pub(super) fn entry(&self) -> LineEntry<'_> {
        let Self { text, end, role, lines, shortened } = self;
        LineEntry { text, end: *end, role: *role, lines: *lines, shortened: *shortened }
    }
}

impl From<LineEntry<'_>> for HeldEntry {
    fn from(entry: LineEntry<'_>) -> Self {
        let LineEntry { text, end, role, lines, shortened } = entry;
        Self { text: text.to_vec(), end, role, lines, shortened }
    }
}

/// Receives the entries that a stage writes.
pub(super) type EmitEntry<'a> = &'a mut dyn FnMut(LineEntry<'_>);

pub(super) trait EntryStage: Send {
    fn entry(&mut self, entry: LineEntry<'_>, next: EmitEntry<'_>);

    /// Writes everything held: the text has ended, or a line follows that is too long to be held.
    fn flush(&mut self, next: EmitEntry<'_>);

    /// Writes everything held that a reader may be waiting for: no input has arrived for a while.
    fn release(&mut self, next: EmitEntry<'_>) {
        self.flush(next);
    }

    /// Bytes examined, except by patterns; for tests of linear work.
    #[cfg(test)]
    fn steps(&self) -> u64 {
        0
    }
}

/// Passes an entry through the stages in order. Recursion is as deep as the list, which has a handful of stages.
pub(super) fn through(
    stages: &mut [Box<dyn EntryStage>],
    entry: LineEntry<'_>,
    out: EmitEntry<'_>,
) {
    match stages.split_first_mut() {
        None => out(entry),
        Some((first, rest)) => first.entry(entry, &mut |entry| through(rest, entry, out)),
    }
}

/// Flushes the stages in order. The output of each passes through the later ones.
pub(super) fn flush(stages: &mut [Box<dyn EntryStage>], out: EmitEntry<'_>) {
    if let Some((first, rest)) = stages.split_first_mut() {
        first.flush(&mut |entry| through(rest, entry, out));
        flush(rest, out);
    }
}

/// Releases the stages in order. The output of each passes through the later ones.
pub(super) fn release(stages: &mut [Box<dyn EntryStage>], out: EmitEntry<'_>) {
    if let Some((first, rest)) = stages.split_first_mut() {
        first.release(&mut |entry| through(rest, entry, out));
        release(rest, out);
    }
}
