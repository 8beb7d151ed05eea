//! The first lines stay, the last ones too if they are wanted, and one line more says how many lines of the input were left out.
//!
//! A gap never puts a line under another one's heading: the heading of the lines that follow it is written again, and a heading
//! is written with its first item only. Lines are left out only where the line that says so is shorter than they are.
//!
//! Holds the lines that may be among the last, up to a limit; of those beyond it the earlier ones are left out.

use std::collections::VecDeque;
use std::sync::Arc;

use super::entry::{Entry, Held, Role};
use super::lines::End;
use crate::notice;

/// How much is to stay; 0 lines at the head and at the tail are no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Most {
    pub(super) head: u64,
    pub(super) tail: u64,
    /// A text of no more lines stays whole.
    pub(super) uncut: u64,
    /// Bytes that may be held for the tail.
    pub(super) held: usize,
}

/// What comes out.
#[derive(Clone, Copy, Debug)]
pub(super) enum Out<'a> {
    Entry(Entry<'a>),
    /// The line that says what was left out, with the number of lines of the input.
    Gap(&'a str, End),
}

type Next<'a> = &'a mut dyn FnMut(Out<'_>);

/// A heading: its text and how it ends.
type Heading = Arc<(Vec<u8>, End)>;

/// A line that is held, and the heading that it stands under.
#[derive(Debug)]
struct Waiting {
    line: Held,
    under: Option<Heading>,
    cost: usize,
}

#[derive(Debug, Default)]
pub(super) struct Cut {
    most: Most,
    /// Lines that came out.
    printed: u64,
    /// Lines of the input that were left out, all of them and since the last gap.
    left_out: u64,
    gap: u64,
    /// How the last line ended that was left out: as the one that speaks of it will.
    end: End,
    /// The lines of the gap, while they are no longer than the line that would speak of them.
    few: Vec<Waiting>,
    few_bytes: usize,
    /// They are all here.
    are_few: bool,
    last: VecDeque<Waiting>,
    held: usize,
    /// The heading of what comes, and the one that the last line that came out stands under.
    heading: Option<Heading>,
    written: Option<Heading>,
}

/// Bytes that a held line costs beside its text.
const COST: usize = 96;
/// Lines of a gap that are few: no line that speaks of one is longer than so many bytes.
const FEW: usize = 48;

impl Cut {
    pub(super) fn new(most: Most) -> Self {
        Self { most, ..Self::default() }
    }

    pub(super) fn left_out(&self) -> u64 {
        self.left_out
    }

    fn is_unlimited(&self) -> bool {
        let Most { head, tail, uncut, .. } = self.most;
        head == 0 && tail == 0 && uncut == 0
    }

    /// Takes a line or a heading.
    pub(super) fn entry(&mut self, entry: Entry<'_>, next: Next<'_>) {
        if self.is_unlimited() {
            return next(Out::Entry(entry));
        }
        match entry.role {
            Role::Heading => {
                self.heading = Some(Arc::new((entry.text.to_vec(), entry.end)));
                return;
            }
            Role::Line => self.heading = None,
            Role::Item => {}
        }
        let under = self.heading.clone();
        if self.has_room() {
            return self.print(entry, under, next);
        }
        let same = |last: &Waiting| match (&last.under, &under) {
            (Some(last), Some(under)) => Arc::ptr_eq(last, under),
            _ => false,
        };
        let heading = under.as_ref().map_or(0, |heading| heading.0.len());
        let shared = self.last.back().is_some_and(same);
        let cost = entry.text.len() + COST + if shared { 0 } else { heading };
        let waiting = Waiting { line: entry.into(), under, cost };
        let Most { tail, uncut, held, .. } = self.most;
        let whole = if self.left_out > 0 { 0 } else { uncut.saturating_sub(self.printed) };
        let room = tail.max(whole);
        if room == 0 {
            return self.leave_out(waiting);
        }
        self.held += cost;
        self.last.push_back(waiting);
        if self.last.len() as u64 > room || self.held > held {
            self.shrink(tail);
        }
    }

    /// A line that passes in parts begins: whether there is room for it at the head.
    pub(super) fn begins(&mut self) -> bool {
        self.heading = None;
        let room = self.is_unlimited() || self.has_room();
        if room {
            self.written = None;
            self.printed += 1;
        }
        room
    }

    /// The same for a line that nobody has waited for: it is the last one for now.
    pub(super) fn begins_early(&mut self, next: Next<'_>) -> bool {
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

    /// A line for which there was no room has ended, and was too long to be held. So was none of those before it.
    pub(super) fn long(&mut self, end: End) {
        self.shrink(0);
        self.drop_few();
        self.gap += 1;
        self.left_out += 1;
        self.end = end;
    }

    /// The line that says what was left out, if anything was, and the last lines.
    pub(super) fn flush(&mut self, next: Next<'_>) {
        self.end_gap(!self.last.is_empty(), next);
        for Waiting { line, under, .. } in std::mem::take(&mut self.last) {
            self.print(line.entry(), under, next);
        }
        self.held = 0;
    }

    /// The same if there are last lines, for no input has come for a while. More may be left out later.
    pub(super) fn release(&mut self, next: Next<'_>) {
        if !self.last.is_empty() {
            self.flush(next);
        }
    }

    fn has_room(&self) -> bool {
        // With a tail alone, no line is at the head.
        self.printed < self.most.head
    }

    fn shrink(&mut self, room: u64) {
        while self.last.len() as u64 > room || self.held > self.most.held {
            let Some(waiting) = self.last.pop_front() else { return };
            self.held -= waiting.cost;
            self.leave_out(waiting);
        }
    }

    fn leave_out(&mut self, waiting: Waiting) {
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

    fn end_gap(&mut self, more: bool, next: Next<'_>) {
        if self.gap == 0 {
            return;
        }
        let text = notice::lines_left_out(self.gap);
        // Before others it needs an end.
        let end = if more && self.end == End::Missing { End::Lf } else { self.end };
        if self.are_few && self.few_bytes <= text.len() + end.bytes().len() {
            self.left_out -= self.gap;
            for Waiting { line, under, .. } in std::mem::take(&mut self.few) {
                self.print(line.entry(), under, next);
            }
        } else {
            next(Out::Gap(&text, end));
            self.written = None;
        }
        self.gap = 0;
        self.drop_few();
    }

    /// Hands a line on, with its heading if the line before stands under another one.
    fn print(&mut self, entry: Entry<'_>, under: Option<Heading>, next: Next<'_>) {
        if let Some(heading) = &under
            && !self.written.as_ref().is_some_and(|written| Arc::ptr_eq(written, heading))
        {
            next(Out::Entry(Entry::heading(&heading.0, heading.1)));
        }
        self.written = under;
        self.printed += 1;
        next(Out::Entry(entry));
    }
}
