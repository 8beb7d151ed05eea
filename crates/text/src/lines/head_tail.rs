//! Keeps the first and the last lines, and writes a line that reports how many input lines were left out between
//! them.
//!
//! Two rules keep the output readable. A heading is written again after a gap, and only together with an item, so
//! that no item appears under another heading. A gap is written only if its line is shorter than the lines it
//! replaces. A line that is a message is never left out.
//!
//! Memory: the lines that may be among the last, up to a limit. If they exceed it, the earliest are left out.

use std::collections::VecDeque;
use std::sync::Arc;

use super::entry_stage::{EntryRole, HeldEntry, LineEntry};
use super::line_end::LineEnd;
use super::pattern_list::PatternList;
use crate::failures::is_message;
use crate::notice;

/// How many lines are kept. If both `head` and `tail` are 0, all are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct HeadTailLimits {
    pub(super) head: u64,
    pub(super) tail: u64,
    /// A text with at most this many lines is kept whole.
    pub(super) uncut: u64,
    /// Bytes that may be held for the tail.
    pub(super) held: usize,
    /// Whether messages of programs are never left out.
    pub(super) keeps_messages: bool,
}

/// A line of the output.
#[derive(Clone, Copy, Debug)]
pub(super) enum OutputItem<'a> {
    Entry(LineEntry<'a>),
    /// The line that reports how many input lines were left out.
    Gap(&'a str, LineEnd),
}

type EmitItem<'a> = &'a mut dyn FnMut(OutputItem<'_>);

/// A heading, with its line end.
type SharedHeading = Arc<(Vec<u8>, LineEnd)>;

/// A held line, and the heading it belongs to.
#[derive(Debug)]
struct TailLine {
    line: HeldEntry,
    under: Option<SharedHeading>,
    cost: usize,
}

#[derive(Debug, Default)]
pub(super) struct HeadTail {
    most: HeadTailLimits,
    /// Lines that are messages.
    messages: Option<Arc<PatternList>>,
    /// Lines written so far, without headings and gaps.
    printed: u64,
    /// Input lines left out: in the whole text, and in the open gap.
    left_out: u64,
    gap: u64,
    /// The line end of the last line left out. The line that reports the gap gets it.
    end: LineEnd,
    /// The lines of the open gap, while they are no longer than the line that would report it.
    few: Vec<TailLine>,
    few_bytes: usize,
    /// Whether `few` has all lines of the gap.
    are_few: bool,
    last: VecDeque<TailLine>,
    held: usize,
    /// The heading of the following items, and the heading of the line written last.
    heading: Option<SharedHeading>,
    written: Option<SharedHeading>,
}

/// Estimated memory for a held line in addition to its text, in bytes.
const COST: usize = 96;
/// Upper bound for the length of the line that reports a gap, in bytes.
const FEW: usize = 48;

impl HeadTail {
    pub(super) fn new(most: HeadTailLimits, messages: Option<Arc<PatternList>>) -> Self {
        Self { most, messages, ..Self::default() }
    }

    pub(super) fn left_out(&self) -> u64 {
        self.left_out
    }

    fn is_unlimited(&self) -> bool {
        let HeadTailLimits { head, tail, uncut, .. } = self.most;
        head == 0 && tail == 0 && uncut == 0
    }

    /// Adds a line or a heading.
    pub(super) fn entry(&mut self, entry: LineEntry<'_>, next: EmitItem<'_>) {
        if self.is_unlimited() {
            return next(OutputItem::Entry(entry));
        }
        match entry.role {
            EntryRole::Heading => {
                self.heading = Some(Arc::new((entry.text.to_vec(), entry.end)));
                return;
            }
            EntryRole::Line => self.heading = None,
            EntryRole::Item => {}
        }
        let under = self.heading.clone();
        if self.has_room() {
            return self.print(entry, under, next);
        }
        let same = |last: &TailLine| match (&last.under, &under) {
            (Some(last), Some(under)) => Arc::ptr_eq(last, under),
            _ => false,
        };
        let heading = under.as_ref().map_or(0, |heading| heading.0.len());
        let shared = self.last.back().is_some_and(same);
        let cost = entry.text.len() + COST + if shared { 0 } else { heading };
        let waiting = TailLine { line: entry.into(), under, cost };
        let HeadTailLimits { tail, uncut, held, .. } = self.most;
        let whole = if self.left_out > 0 { 0 } else { uncut.saturating_sub(self.printed) };
        let room = tail.max(whole);
        if room == 0 {
            return self.leave_out(waiting, next);
        }
        self.held += cost;
        self.last.push_back(waiting);
        if self.last.len() as u64 > room || self.held > held {
            self.shrink(tail, next);
        }
    }

    /// Begins a line that is written in parts. Returns whether there is room for it at the head.
    pub(super) fn begins(&mut self) -> bool {
        self.heading = None;
        let room = self.is_unlimited() || self.has_room();
        if room {
            self.written = None;
            self.printed += 1;
        }
        room
    }

    /// Begins a line that is written before it has ended, because a reader may wait for it. It counts as the last
    /// line for now: with a tail, the gap is written and there is room for it. Returns whether there is room.
    pub(super) fn begins_early(&mut self, next: EmitItem<'_>) -> bool {
        if self.begins() {
            return true;
        }
        if self.most.tail == 0 {
            return false;
        }
        self.end_gap(true, next);
        self.written = None;
        self.printed += 1;
        true
    }

    /// Ends a line for which [`begins`](Self::begins) had no room. It was too long to be held for the tail, so the
    /// held lines before it are left out, too.
    pub(super) fn long(&mut self, end: LineEnd, next: EmitItem<'_>) {
        self.shrink(0, next);
        self.drop_few();
        self.gap += 1;
        self.left_out += 1;
        self.end = end;
    }

    /// Writes the line that reports the gap, if there is one, and then the last lines.
    pub(super) fn flush(&mut self, next: EmitItem<'_>) {
        self.end_gap(!self.last.is_empty(), next);
        for TailLine { line, under, .. } in std::mem::take(&mut self.last) {
            self.print(line.entry(), under, next);
        }
        self.held = 0;
    }

    /// Flushes if there are last lines: no input has arrived for a while. More lines may be left out later.
    pub(super) fn release(&mut self, next: EmitItem<'_>) {
        if !self.last.is_empty() {
            self.flush(next);
        }
    }

    fn has_room(&self) -> bool {
        // Without a head, but with a tail, no line is at the head.
        self.printed < self.most.head
    }

    fn shrink(&mut self, room: u64, next: EmitItem<'_>) {
        while self.last.len() as u64 > room || self.held > self.most.held {
            let Some(waiting) = self.last.pop_front() else { return };
            self.held -= waiting.cost;
            self.leave_out(waiting, next);
        }
    }

    /// Leaves a line out, unless it is a message.
    fn leave_out(&mut self, waiting: TailLine, next: EmitItem<'_>) {
        let text = &waiting.line.text;
        let is_message = self.most.keeps_messages
            && match &self.messages {
                Some(messages) => messages.matches(text),
                // Items are results of the command, whatever they say.
                None => waiting.under.is_none() && is_message(text),
            };
        if is_message {
            self.end_gap(true, next);
            return self.print(waiting.line.entry(), waiting.under, next);
        }
        self.are_few |= self.gap == 0;
        self.gap += waiting.line.lines;
        self.left_out += waiting.line.lines;
        self.end = waiting.line.end;
        if !self.are_few {
            return;
        }
        self.few_bytes += waiting.line.entry().length();
        if self.few_bytes > FEW {
            self.drop_few();
        } else {
            self.few.push(waiting);
        }
    }

    fn drop_few(&mut self) {
        self.are_few = false;
        self.few_bytes = 0;
        self.few = Vec::new();
    }

    fn end_gap(&mut self, more: bool, next: EmitItem<'_>) {
        if self.gap == 0 {
            return;
        }
        let text = notice::lines_left_out(self.gap);
        // If lines follow, the line needs a line end.
        let end = if more && self.end == LineEnd::Missing { LineEnd::Lf } else { self.end };
        if self.are_few && self.few_bytes <= text.len() + end.bytes().len() {
            self.left_out -= self.gap;
            for TailLine { line, under, .. } in std::mem::take(&mut self.few) {
                self.print(line.entry(), under, next);
            }
        } else {
            next(OutputItem::Gap(&text, end));
            self.written = None;
        }
        self.gap = 0;
        self.drop_few();
    }

    /// Writes a line, preceded by its heading if the line before belongs to another one.
    fn print(&mut self, entry: LineEntry<'_>, under: Option<SharedHeading>, next: EmitItem<'_>) {
        if let Some(heading) = &under
            && !self.written.as_ref().is_some_and(|written| Arc::ptr_eq(written, heading))
        {
            next(OutputItem::Entry(LineEntry::heading(&heading.0, heading.1)));
        }
        self.written = under;
        self.printed += 1;
        next(OutputItem::Entry(entry));
    }
}
