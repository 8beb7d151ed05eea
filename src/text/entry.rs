//! Lines on their way out, after the patterns: what each stands for, and the stages that they go through.
//!
//! A stage is linear in its entries, and what it holds has a limit. Counts are of lines of the input: an entry that stands for
//! several equal ones says for how many, and a heading that tamis writes stands for none.

use super::lines::{End, Line};

/// The role of an entry in the output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Role {
    /// A line by itself.
    #[default]
    Line,
    /// The heading of the items that follow. It is no line of the input.
    Heading,
    /// A line under the heading before it.
    Item,
}

/// A line on its way out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry<'a> {
    pub(super) text: &'a [u8],
    pub(super) end: End,
    pub(super) role: Role,
    /// Lines of the input that it stands for.
    pub(super) lines: u64,
    /// Those of them that are written shorter.
    pub(super) shortened: u64,
}

impl<'a> Entry<'a> {
    /// A line of the input, as it is.
    pub(super) fn line(line: Line<'a>) -> Self {
        Self { text: line.text, end: line.end, role: Role::Line, lines: 1, shortened: 0 }
    }

    pub(super) fn heading(text: &'a [u8], end: End) -> Self {
        Self { text, end, role: Role::Heading, lines: 0, shortened: 0 }
    }

    /// Bytes in the output.
    pub(super) fn length(&self) -> usize {
        self.text.len() + self.end.bytes().len()
    }
}

/// The same, held.
#[derive(Clone, Debug, Default)]
pub(super) struct Held {
    pub(super) text: Vec<u8>,
    pub(super) end: End,
    pub(super) role: Role,
    pub(super) lines: u64,
    pub(super) shortened: u64,
}

impl Held {
    pub(super) fn entry(&self) -> Entry<'_> {
        let Self { text, end, role, lines, shortened } = self;
        Entry { text, end: *end, role: *role, lines: *lines, shortened: *shortened }
    }
}

impl From<Entry<'_>> for Held {
    fn from(entry: Entry<'_>) -> Self {
        let Entry { text, end, role, lines, shortened } = entry;
        Self { text: text.to_vec(), end, role, lines, shortened }
    }
}

/// Takes what a stage hands on.
pub(super) type Pass<'a> = &'a mut dyn FnMut(Entry<'_>);

pub(super) trait EntryStage: Send {
    fn entry(&mut self, entry: Entry<'_>, next: Pass<'_>);

    /// Hands on what is held: the text is complete, or a line comes by that is too long to be held.
    fn flush(&mut self, next: Pass<'_>);

    /// Hands on what is held, for no input has come for a while.
    fn release(&mut self, next: Pass<'_>) {
        self.flush(next);
    }

    /// Bytes that were looked at beside those of the patterns.
    #[cfg(test)]
    fn steps(&self) -> u64 {
        0
    }
}

/// Takes an entry through stages, the first to the last. The depth is that of the list, a handful.
pub(super) fn through(stages: &mut [Box<dyn EntryStage>], entry: Entry<'_>, out: Pass<'_>) {
    match stages.split_first_mut() {
        None => out(entry),
        Some((first, rest)) => first.entry(entry, &mut |entry| through(rest, entry, out)),
    }
}

/// Flushes stages, the first to the last.
pub(super) fn flush(stages: &mut [Box<dyn EntryStage>], out: Pass<'_>) {
    if let Some((first, rest)) = stages.split_first_mut() {
        first.flush(&mut |entry| through(rest, entry, out));
        flush(rest, out);
    }
}

/// Releases what stages hold, the first to the last.
pub(super) fn release(stages: &mut [Box<dyn EntryStage>], out: Pass<'_>) {
    if let Some((first, rest)) = stages.split_first_mut() {
        first.release(&mut |entry| through(rest, entry, out));
        release(rest, out);
    }
}
